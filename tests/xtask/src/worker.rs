//! The hidden command that makes this program a worker of its own loops.

use crate::Failure;

/// What a worker is told, see `candy_store_tests::worker`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    arguments: Vec<String>,
}

/// Works until done.
pub(crate) fn run(options: &Options) -> Result<bool, Failure> {
    Ok(candy_store_tests::worker::run(&options.arguments) == std::process::ExitCode::SUCCESS)
}
