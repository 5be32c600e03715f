//! `cargo xtask crash`: agents of one store, killed at random times.

use std::process::Command;

use candy_store_tests::crash::{self, CrashOptions, CrashReport};

use crate::Failure;

/// What `crash` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Agents at the same time.
    #[arg(long, default_value_t = 3)]
    processes: usize,
    /// Agents killed in all.
    #[arg(long, default_value_t = 500)]
    kills: usize,
    /// A new store begins after so many kills.
    #[arg(long, default_value_t = 25)]
    kills_per_store: usize,
    /// Seed of victims, pauses and of what the agents do.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Instead of killing, lets that many agents compete with a collector.
    #[arg(long, value_name = "AGENTS")]
    compete: Option<usize>,
    /// How long they compete.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
}

/// Runs the loop; false when something that was promised is not there.
pub(crate) fn run(options: &Options) -> Result<bool, Failure> {
    let report = match options.compete {
        Some(agents) => crash::compete(agents, options.seconds, options.seed, &program()?)?,
        None => crash::kill_agents(&kill_options(options), &program()?)?,
    };
    Ok(conclude(&report))
}

/// A short loop, for `test`.
pub(crate) fn short_loop(kills: usize) -> Result<bool, Failure> {
    let options = Options { processes: 3, kills, kills_per_store: 20, seed: 7, compete: None, seconds: 0 };
    Ok(conclude(&crash::kill_agents(&kill_options(&options), &program()?)?))
}

/// Starts this program again as a worker.
pub(crate) fn program() -> Result<impl Fn(&[String]) -> Command, Failure> {
    let executable = std::env::current_exe()?;
    Ok(move |arguments: &[String]| {
        let mut command = Command::new(&executable);
        command.arg("worker").args(arguments);
        command
    })
}

/// Prints what is wrong, if anything, on standard error.
pub(crate) fn complain(report: &CrashReport) {
    for violation in report.violations.iter().take(10) {
        eprintln!("   {violation}");
    }
    if report.violations.len() > 10 {
        eprintln!("   ... and {} more", report.violations.len() - 10);
    }
    if let Some(kept) = &report.kept {
        eprintln!("   the store is in {}", kept.display());
    }
}

fn kill_options(options: &Options) -> CrashOptions {
    CrashOptions {
        processes: options.processes,
        kills: options.kills,
        kills_per_store: options.kills_per_store,
        pause_ms_min: 10,
        pause_ms_max: 120,
        seed: options.seed,
    }
}

fn conclude(report: &CrashReport) -> bool {
    complain(report);
    println!(
        "{} kills, {} stores, {} promises, {} fscks, {} violations",
        report.kills,
        report.stores,
        report.promises,
        report.fscks,
        report.violations.len()
    );
    report.violations.is_empty()
}
