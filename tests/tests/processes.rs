//! Several processes on one store: killed at random times, and competing with a collector.
//!
//! `cargo xtask crash` and `cargo xtask bars core` run the same loops for longer.

use std::process::Command;

use candy_store_tests::crash::{CrashOptions, CrashReport, compete, kill_agents};

fn program(arguments: &[String]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_store-worker"));
    command.args(arguments);
    command
}

fn assert_clean(report: &CrashReport) {
    let shown: Vec<&String> = report.violations.iter().take(20).collect();
    assert!(report.violations.is_empty(), "{shown:#?}\nthe store is in {:?}", report.kept);
}

#[test]
fn what_was_promised_before_a_kill_is_there_after_it() {
    let options =
        CrashOptions { processes: 3, kills: 24, kills_per_store: 12, pause_ms_min: 20, pause_ms_max: 160, seed: 1 };
    let report = kill_agents(&options, &program).expect("processes can be started");
    assert_clean(&report);
    assert_eq!(report.kills, 24);
    assert!(report.promises > 100, "the agents hardly did anything: {report:?}");
}

#[test]
fn four_writers_and_a_collector_never_meet_an_error() {
    let report = compete(4, 5, 2, &program).expect("processes can be started");
    assert_clean(&report);
    assert!(report.promises > 100, "the agents hardly did anything: {report:?}");
}
