//! Agents on one store that are killed again and again, and agents that compete for it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::agent::AgentOptions;
use crate::child::{KillLoop, Life, Worker as Process};
use crate::scratch::Scratch;
use crate::verify;
use crate::witness::Expected;
use crate::worker::Worker;

/// Makes the command of a worker program from the worker's arguments.
pub type Program<'a> = dyn Fn(&[String]) -> Command + 'a;

/// How to kill.
#[derive(Debug, Clone, Copy)]
pub struct CrashOptions {
    /// Agents at the same time.
    pub processes: usize,
    /// Agents killed in all.
    pub kills: usize,
    /// After so many kills the store is checked as a whole, and the next one begins.
    pub kills_per_store: usize,
    /// Shortest time between two kills.
    pub pause_ms_min: u64,
    /// Longest time between two kills.
    pub pause_ms_max: u64,
    /// Seed of the victims and of what the agents do.
    pub seed: u64,
}

/// What came out of it.
#[derive(Debug, Default)]
pub struct CrashReport {
    /// Agents that were killed.
    pub kills: usize,
    /// Lines of promises that were checked.
    pub promises: usize,
    /// Stores that were made.
    pub stores: usize,
    /// Checks of the store's own structure.
    pub fscks: usize,
    /// Everything that must not be, one sentence each.
    pub violations: Vec<String>,
    /// Where the first store with a violation was left.
    pub kept: Option<PathBuf>,
}

impl CrashReport {
    /// Adds the outcome of one store; a store with violations is left on the disk.
    fn add(&mut self, expected: &Expected, violations: Vec<String>, scratch: Scratch) {
        self.stores += 1;
        self.promises += expected.promises;
        if !violations.is_empty() && self.kept.is_none() {
            self.kept = Some(scratch.keep());
        }
        self.violations.extend(violations);
    }
}

/// Kills agents at random times. After each kill the store must check clean while the others go on; in the end
/// everything that was promised must be found, before and after a collection, and again after the index was lost.
///
/// # Errors
/// When processes cannot be started. What is wrong with the store is in the report.
pub fn kill_agents(options: &CrashOptions, program: &Program<'_>) -> io::Result<CrashReport> {
    let mut report = CrashReport::default();
    while report.kills < options.kills && report.violations.is_empty() {
        let kills = options.kills_per_store.min(options.kills - report.kills);
        kill_agents_of_one_store(options, kills, program, &mut report)?;
    }
    Ok(report)
}

fn kill_agents_of_one_store(
    options: &CrashOptions,
    kills: usize,
    program: &Program<'_>,
    report: &mut CrashReport,
) -> io::Result<()> {
    let scratch = Scratch::new("crash");
    let store = scratch.join("store");
    let seed = options.seed.wrapping_add(report.stores as u64 * 1000);
    let kill_loop = KillLoop {
        processes: options.processes,
        kills,
        pause_ms_min: options.pause_ms_min,
        pause_ms_max: options.pause_ms_max,
        seed,
    };
    let command = |slot: usize, number: usize| {
        let agent = AgentOptions {
            store: store.clone(),
            workspaces: scratch.path().to_owned(),
            slot,
            seed: seed + number as u64,
            seconds: None,
            gc: true,
        };
        program(&Worker::Agent(agent).arguments())
    };
    let mut violations = Vec::new();
    let mut fscks = 0;
    let lives = kill_loop.run(command, |life: &Life| {
        // The first victims may die before there is a store.
        if store.join("format").exists() {
            fscks += 1;
            violations.extend(verify::findings(&store, false).into_iter().map(|text| format!("live: {text}")));
        }
        if violations.is_empty() { Ok(()) } else { Err(io::Error::other(format!("after life {}", life.number))) }
    });
    report.fscks += fscks;
    let lives = match lives {
        Ok(lives) => lives,
        Err(_) if !violations.is_empty() => Vec::new(),
        Err(error) => return Err(error),
    };
    let expected = Expected::from_lives(&lives);
    report.kills +=
        lives.iter().take(lives.len().saturating_sub(options.processes)).filter(|life| life.ended.killed).count();
    if violations.is_empty() {
        violations = everything_is_there(&store, &expected);
        report.fscks += 2;
    }
    report.add(&expected, violations, scratch);
    Ok(())
}

/// Checks a store that nobody uses any more, collects, loses the index, and checks after each.
fn everything_is_there(store: &Path, expected: &Expected) -> Vec<String> {
    let mut violations = Vec::new();
    let mut stage = |name: &str, found: Vec<String>| {
        violations.extend(found.into_iter().map(|text| format!("{name}: {text}")));
    };
    stage("after the kills", verify::violations(store, expected));
    stage("fsck", verify::findings(store, true));
    stage("gc", verify::collect(store));
    stage("after gc", verify::violations(store, expected));
    stage("fsck after gc", verify::findings(store, true));
    stage("rebuild", verify::lose_and_rebuild_index(store));
    stage("after the rebuild", verify::violations(store, expected));
    stage("fsck after the rebuild", verify::findings(store, true));
    violations
}

/// Lets agents compete while another process collects garbage without pause. Nobody is killed.
///
/// # Errors
/// When processes cannot be started.
pub fn compete(agents: usize, seconds: u64, seed: u64, program: &Program<'_>) -> io::Result<CrashReport> {
    let scratch = Scratch::new("compete");
    let store = scratch.join("store");
    let mut workers: Vec<Worker> = (0..agents)
        .map(|slot| {
            Worker::Agent(AgentOptions {
                store: store.clone(),
                workspaces: scratch.path().to_owned(),
                slot,
                seed: seed + slot as u64,
                seconds: Some(seconds),
                gc: false,
            })
        })
        .collect();
    workers.push(Worker::Collector { store: store.clone(), seconds });
    let running = workers
        .iter()
        .map(|worker| Process::spawn(&mut program(&worker.arguments())))
        .collect::<io::Result<Vec<_>>>()?;
    let mut expected = Expected::default();
    for process in running {
        let ended = process.finish(Duration::from_secs(seconds + 60))?;
        if ended.killed || !ended.status.success() {
            expected.failures.push(format!("a worker did not end by itself: {}", ended.status));
        }
        expected.add_lines(&ended.lines);
    }
    let violations = everything_is_there(&store, &expected);
    let mut report = CrashReport { fscks: 3, ..CrashReport::default() };
    report.add(&expected, violations, scratch);
    Ok(report)
}
