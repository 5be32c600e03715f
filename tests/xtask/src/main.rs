//! `cargo xtask`: everything a developer of candy-store runs, each by one command.
//!
//! | command | what it does |
//! |---|---|
//! | `test` | all checks and tests, as CI runs them |
//! | `demo` | builds everything and shows the main job in the real pi |
//! | `addon` | builds the native addon and puts it where the plugin looks for it |
//! | `bars FAMILY` | measures the promises that can be measured, one line each |
//! | `bench` | the timings behind the bars, with more rounds |
//! | `crash` | a kill -9 loop over several processes |
//! | `fuzz` | every fuzz target for some seconds |

// A developer's tool writes files that belong to no store: build products, scratch directories.
#![allow(clippy::disallowed_methods)]

mod bars;
mod bench;
mod build;
mod checks;
mod crash;
mod demo;
mod fuzz;
mod node;
mod program;
mod worker;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Why a command could not do what it was asked to. Its text is shown as it is.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Runs what a developer of candy-store runs.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs all checks and tests.
    Test(checks::Options),
    /// Builds everything and runs the main job in the real pi, against a scripted model on this machine.
    Demo(demo::Options),
    /// Builds the native addon and copies it to plugin/native/.
    Addon,
    /// Measures the bars of a family; exits with 1 when one is missed.
    Bars(bars::Options),
    /// Prints the timings behind the bars, with more rounds.
    Bench(bench::Options),
    /// Kills workers of one store at random times and checks that nothing acknowledged is lost.
    Crash(crash::Options),
    /// Runs every fuzz target for some seconds.
    Fuzz(fuzz::Options),
    /// A process that other commands start and talk to.
    #[command(hide = true)]
    Worker(worker::Options),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Test(options) => checks::run(&options),
        Command::Demo(options) => demo::run(&options),
        Command::Addon => build::addon().map(|path| {
            println!("{}", path.display());
            true
        }),
        Command::Bars(options) => bars::run(&options),
        Command::Bench(options) => bench::run(&options),
        Command::Crash(options) => crash::run(&options),
        Command::Fuzz(options) => fuzz::run(&options),
        Command::Worker(options) => worker::run(&options),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}
