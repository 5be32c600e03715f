//! `candy-store`: the command line. See `docs/cli.md`.

mod args;
mod ask;
mod commands;
mod compare;
mod copy_out;
mod disk;
mod exit;
mod failure;
mod json;
mod names;
mod output;
mod patch;
mod paths;
mod place;
mod progress;
mod settings;
mod style;
mod table;
mod text;
mod time;
mod world;

use std::process::ExitCode;

use clap::Parser as _;

use crate::args::Arguments;
use crate::world::World;

fn main() -> ExitCode {
    let Arguments { global, command } = Arguments::parse();
    let mut world = World::new(global);
    let result = commands::run(&mut world, command);
    world.end(result).into()
}
