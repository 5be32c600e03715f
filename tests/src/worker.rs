//! What a worker process is told to do: from arguments, and as arguments.
//!
//! Any program of this workspace can be the worker: the tests have one of their own, `cargo xtask` starts itself.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use candy_store::gc::GcOptions;

use crate::agent::{self, AgentOptions};
use crate::baseline;
use crate::damage_trial::Trials;
use crate::small_disk;
use crate::witness::Promise;

/// Bytes that a bare append writes: what is left of 8 KB of source after compression.
const BASELINE_BYTES: usize = 2500;

/// The kinds of workers.
#[derive(Debug, Clone)]
pub enum Worker {
    /// Works like an agent's process.
    Agent(AgentOptions),
    /// Collects garbage again and again.
    Collector {
        /// The store.
        store: PathBuf,
        /// How long.
        seconds: u64,
    },
    /// Damages a copy of a store with each number of a range and prints what came of it, one line each.
    Damage {
        /// The whole store, which is not touched.
        store: PathBuf,
        /// Where its copy is made.
        copy: PathBuf,
        /// Seed of the damages.
        seed: u64,
        /// The range.
        numbers: Range<u64>,
    },
    /// Fills a small disk, or meets it again read-only; prints what went otherwise than it should.
    SmallDisk {
        /// Where it is mounted.
        mount: PathBuf,
        /// Where the files are, on another disk.
        workspace: PathBuf,
        /// Which of the two.
        read_only: bool,
    },
    /// Answers lines with the time of the bare syncs.
    Baseline {
        /// Where its files are.
        directory: PathBuf,
    },
}

impl Worker {
    /// The arguments that make a worker program do this.
    pub fn arguments(&self) -> Vec<String> {
        let text = |path: &PathBuf| path.to_str().expect("scratch paths are text").to_owned();
        match self {
            Self::Agent(options) => vec![
                "agent".to_owned(),
                text(&options.store),
                text(&options.workspaces),
                options.slot.to_string(),
                options.seed.to_string(),
                options.seconds.map_or_else(|| "-".to_owned(), |seconds| seconds.to_string()),
                options.gc.to_string(),
            ],
            Self::Collector { store, seconds } => vec!["collector".to_owned(), text(store), seconds.to_string()],
            Self::Damage { store, copy, seed, numbers } => {
                let [seed, start, end] = [seed, &numbers.start, &numbers.end].map(u64::to_string);
                vec!["damage".to_owned(), text(store), text(copy), seed, start, end]
            }
            Self::SmallDisk { mount, workspace, read_only } => {
                vec!["small-disk".to_owned(), text(mount), text(workspace), read_only.to_string()]
            }
            Self::Baseline { directory } => vec!["baseline".to_owned(), text(directory)],
        }
    }

    /// Reads them again.
    pub fn parse(arguments: &[String]) -> Option<Self> {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match *words.as_slice() {
            ["agent", store, workspaces, slot, seed, seconds, gc] => Some(Self::Agent(AgentOptions {
                store: store.into(),
                workspaces: workspaces.into(),
                slot: slot.parse().ok()?,
                seed: seed.parse().ok()?,
                seconds: if seconds == "-" { None } else { Some(seconds.parse().ok()?) },
                gc: gc.parse().ok()?,
            })),
            ["collector", store, seconds] => {
                Some(Self::Collector { store: store.into(), seconds: seconds.parse().ok()? })
            }
            ["damage", store, copy, seed, start, end] => Some(Self::Damage {
                store: store.into(),
                copy: copy.into(),
                seed: seed.parse().ok()?,
                numbers: start.parse().ok()?..end.parse().ok()?,
            }),
            ["small-disk", mount, workspace, read_only] => Some(Self::SmallDisk {
                mount: mount.into(),
                workspace: workspace.into(),
                read_only: read_only.parse().ok()?,
            }),
            ["baseline", directory] => Some(Self::Baseline { directory: directory.into() }),
            _ => None,
        }
    }
}

/// Does what the arguments say.
pub fn run(arguments: &[String]) -> ExitCode {
    match Worker::parse(arguments) {
        Some(Worker::Agent(options)) => agent::work(&options),
        Some(Worker::Collector { store, seconds }) => {
            if let Err(error) = collect(&store, Duration::from_secs(seconds)) {
                Promise::Failed { why: format!("gc: {error}") }.print();
            }
        }
        Some(Worker::Damage { store, copy, seed, numbers }) => {
            if let Err(error) = damage(&store, &copy, seed, numbers) {
                eprintln!("damage: {error}");
                return ExitCode::FAILURE;
            }
        }
        Some(Worker::SmallDisk { mount, workspace, read_only }) => {
            let meet = if read_only { small_disk::use_read_only } else { small_disk::fill };
            meet(&mount, &workspace).iter().for_each(|line| println!("{line}"));
        }
        Some(Worker::Baseline { directory }) => {
            if let Err(error) = baseline::serve(&directory, BASELINE_BYTES) {
                eprintln!("baseline: {error}");
                return ExitCode::FAILURE;
            }
        }
        None => {
            eprintln!("not a worker: {arguments:?}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Prints `NUMBER VERDICT DESCRIPTION` for each damage.
fn damage(store: &Path, copy: &Path, seed: u64, numbers: Range<u64>) -> io::Result<()> {
    let trials = Trials::new(store, copy, seed)?;
    for number in numbers {
        let (verdict, text) = trials.run(number)?;
        println!("{number} {} {}", verdict.word(), text.replace('\n', " | "));
    }
    Ok(())
}

fn collect(store: &Path, time: Duration) -> candy_store::Result<()> {
    let store = agent::open_store(store)?;
    let end = Instant::now() + time;
    while Instant::now() < end {
        store.gc(&GcOptions { force: true, dry_run: false })?;
        // Back to back it would hold the index most of the time, which no real collector does.
        std::thread::sleep(Duration::from_millis(100));
    }
    store.close()
}

#[cfg(test)]
mod tests {
    use super::Worker;
    use crate::agent::AgentOptions;

    #[test]
    fn arguments_mean_what_they_were_made_from() {
        let agent =
            AgentOptions { store: "/s".into(), workspaces: "/w".into(), slot: 2, seed: 7, seconds: None, gc: true };
        for worker in [
            Worker::Agent(agent.clone()),
            Worker::Agent(AgentOptions { seconds: Some(5), ..agent }),
            Worker::Collector { store: "/s".into(), seconds: 3 },
            Worker::Damage { store: "/s".into(), copy: "/c".into(), seed: 4, numbers: 10..20 },
            Worker::SmallDisk { mount: "/m".into(), workspace: "/w".into(), read_only: true },
            Worker::Baseline { directory: "/b".into() },
        ] {
            let arguments = worker.arguments();
            assert_eq!(Worker::parse(&arguments).map(|again| again.arguments()), Some(arguments));
        }
    }
}
