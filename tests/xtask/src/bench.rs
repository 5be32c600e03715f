//! `cargo xtask bench`: the timings behind the bars, with more rounds and their spread.

use candy_store_tests::scratch::Scratch;
use candy_store_tests::stats::{Samples, show};

use crate::Failure;
use crate::bars::core::{backup, fork, history};

/// What `bench` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// First backups through the addon.
    #[arg(long, default_value_t = 1000)]
    backups: usize,
    /// Batches of 1,000 files.
    #[arg(long, default_value_t = 9)]
    batches: usize,
}

/// Prints one line for each thing that is timed.
pub(crate) fn run(options: &Options) -> Result<bool, Failure> {
    println!("{:<44} {:>7} {:>10} {:>10} {:>10} {:>10}", "what", "runs", "p50", "p90", "p99", "max");
    let single = backup::through_the_addon(options.backups)?.paired;
    print("bare append + fdatasync + one-row commit", &single.baseline);
    print("first backup of 8 KB through the addon", &single.subject);
    let batch = backup::batch(options.batches)?;
    print("1,000 loose files of 8 KB", &batch.baseline);
    print("1,000 files of 8 KB in one point", &batch.subject);
    let scratch = Scratch::new("bench");
    let written = history::write(&scratch.join("store"), &scratch.join("work"))?;
    print("point of 30 files, one changed", &written.points);
    print("read of a version, cold", &history::read_all(&scratch.join("store"), &written.versions)?);
    print("fork of 200 points x 1,000 files", &fork::forks()?.times);
    Ok(true)
}

fn print(what: &str, samples: &Samples) {
    let [p50, p90, p99, max] = [50, 90, 99, 100].map(|percent| show(samples.percentile(percent)));
    println!("{what:<44} {:>7} {p50:>10} {p90:>10} {p99:>10} {max:>10}", samples.len());
}
