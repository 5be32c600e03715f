//! `restore`: files back to the state of a point, in place or as copies elsewhere.

mod elsewhere;
mod in_place;
mod report;

use std::path::PathBuf;

use clap::ValueEnum;

use crate::exit::Exit;
use crate::failure::Result;
use crate::names;
use crate::paths;
use crate::world::World;

/// Options of `restore`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The point.
    point: String,
    /// Only these files, or what is below these directories. Default: every file the session tracks.
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Copy the files below this directory, and leave those in place alone. Paths outside of the workspace go below
    /// DIR/_root.
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Change nothing, only say what would be done.
    #[arg(long)]
    dry_run: bool,
    /// What to do about files that are there.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t)]
    overwrite: Overwrite,
    /// Read every restored file again and compare it with the point.
    #[arg(long, conflicts_with = "dry_run")]
    verify: bool,
}

/// What to do about files that are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Overwrite {
    /// Give every file the state of the point.
    #[default]
    Always,
    /// Leave files alone whose content is the same.
    IfChanged,
    /// Only bring back files that are missing.
    Never,
}

/// Runs `restore`.
pub(crate) fn run(world: &mut World, options: &Options) -> Result<Exit> {
    paths::check(&options.paths)?;
    if options.to.is_none() && !options.dry_run {
        world.refuse_read_only("restore in place")?;
    }
    let store = world.open()?;
    let point = names::point(&store, &options.point)?;
    let session = names::session(&store, &point.session)?;
    let report = match &options.to {
        Some(directory) => elsewhere::restore(world, &store, &point, &session, directory, options)?,
        None => in_place::restore(world, &store, &point, &session, options)?,
    };
    report.print(world)?;
    Ok(report.exit())
}
