//! The command line as clap sees it: global options and the list of commands. Each command's own options are with it.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::commands;
use crate::style::ColorWhen;

const AFTER_HELP: &str = concat!(
    "A POINT is a state one can go back to. It is named by its identifier or the first digits of it (4 or more), by ",
    "`latest`, `latest~2` (two before it), `SESSION:3` (the third newest of a session), or `2h ago`.\n\n",
    "Exit codes: 0 ok, 1 failed, 2 usage, 3 done in part, 4 damage, 5 conflict, 10 no store, 11 lock timeout, 12 store ",
    "newer than this program, 13 no space, 130 interrupted. Treat an unknown code as failure.",
);

/// Looks at, takes back and looks after the undo history of files that a coding agent edited.
#[derive(Debug, Parser)]
#[command(name = "candy-store", version, max_term_width = 100, after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Global {
    /// The store itself. Default: CANDY_STORE_DIR, else where pi's settings put it, else ~/.pi/candy-store.
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) store: Option<PathBuf>,
    /// Print JSON: one document, or one line for each thing.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print raw paths, each followed by a NUL byte, and nothing else.
    #[arg(short = 'z', long = "null", global = true, conflicts_with = "json")]
    pub(crate) null: bool,
    /// Print no progress, notes or headings.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Print more.
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// When to use colours. NO_COLOR and TERM=dumb are respected.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, global = true)]
    pub(crate) color: ColorWhen,
    /// How long to wait for what another process holds.
    #[arg(long, value_name = "SECS", default_value = "5", value_parser = parse_seconds, global = true)]
    pub(crate) lock_wait: Duration,
    /// Change nothing in the store.
    #[arg(long, global = true)]
    pub(crate) read_only: bool,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List sessions, the points of a session, or the history of one file.
    Log(commands::log::Options),
    /// List what a point holds.
    Ls(commands::ls::Options),
    /// Print one file as a point holds it.
    Cat(commands::cat::Options),
    /// Compare a point with the files on disk or with another point.
    Diff(commands::diff::Options),
    /// Bring files back to the state of a point, or copy that state elsewhere.
    Restore(commands::restore::Options),
    /// Take a point, without any agent.
    Snapshot(commands::snapshot::Options),
    /// Show what the store holds and what that takes on disk.
    Stats(commands::stats::Options),
    /// Check the store, and repair it.
    Fsck(commands::fsck::Options),
    /// Remove what nothing needs any more.
    Gc(commands::gc::Options),
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    const SECONDS_MAX: f64 = 86_400.0;
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    if (0.0..=SECONDS_MAX).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err("must be from 0 to 86400 seconds".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_definition_of_the_command_line_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn waits_are_bounded() {
        assert_eq!(parse_seconds("0.5"), Ok(Duration::from_millis(500)));
        for bad in ["-1", "NaN", "inf", "1e9", "x"] {
            assert!(parse_seconds(bad).is_err(), "{bad}");
        }
    }
}
