//! One file per command: its options, what it does, what it prints.

pub(crate) mod cat;
pub(crate) mod diff;
pub(crate) mod fsck;
pub(crate) mod gc;
pub(crate) mod log;
pub(crate) mod ls;
pub(crate) mod restore;
pub(crate) mod snapshot;
mod snapshot_walk;
pub(crate) mod stats;

use crate::args::Command;
use crate::exit::Exit;
use crate::failure::Result;
use crate::world::World;

/// Runs a command.
pub(crate) fn run(world: &mut World, command: Command) -> Result<Exit> {
    match command {
        Command::Log(options) => log::run(world, &options),
        Command::Ls(options) => ls::run(world, &options),
        Command::Cat(options) => cat::run(world, &options),
        Command::Diff(options) => diff::run(world, &options),
        Command::Restore(options) => restore::run(world, &options),
        Command::Snapshot(options) => snapshot::run(world, &options),
        Command::Stats(options) => stats::run(world, &options),
        Command::Fsck(options) => fsck::run(world, &options),
        Command::Gc(options) => gc::run(world, &options),
    }
}
