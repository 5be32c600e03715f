//! `cargo xtask demo`: the main job in the real pi, from nothing but a checkout.

use crate::{Failure, build, node, program, workspace};

/// What `demo` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Passed on to the demo script.
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// Builds the addon and the command line, installs pi beside the tests, and runs the scripted session.
pub(crate) fn run(options: &Options) -> Result<bool, Failure> {
    eprintln!("building the addon and the command line ...");
    build::addon()?;
    let cli = build::cli()?;
    node::install_packages()?;
    let mut command = node::command("node", &workspace::e2e())?;
    command.arg("demo.mjs").args(&options.arguments).env("CANDY_STORE_BIN", cli);
    program::succeeds(&mut command)
}
