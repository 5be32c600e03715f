//! Bar 6: bad surroundings get one clear reason with the next step, and nothing is overwritten or deleted.
//!
//! The engine is asked here; that the plugin says it once and the agent's tool still runs is asked in the real pi, by
//! `tests/e2e/failures.test.mjs`.

use std::path::{Path, PathBuf};
use std::process::Command;

use candy_store::{ErrorKind, Store, StoreOptions};
use candy_store_tests::damage::{copy_tree, fingerprint};
use candy_store_tests::sample;
use candy_store_tests::scratch::Scratch;
use candy_store_tests::worker::Worker;

use crate::bars::Line;
use crate::{Failure, build, node, workspace};

/// Measures the lines.
pub(crate) fn measure() -> Result<Vec<Line>, Failure> {
    let scratch = Scratch::new("bad");
    let (cases, bad) = refusals(&scratch)?;
    let disk = small_disk(&scratch)?;
    let (tests, failed) = in_the_real_pi()?;
    for complaint in bad.iter().chain(&disk) {
        eprintln!("   {complaint}");
    }
    Ok(vec![
        Line::none("bad stores without a clear refusal", bad.len(), &format!("of {cases}")),
        Line::none("wrongs on a full, then read-only disk", disk.len(), "writes, reads, space freed again"),
        Line::none("failures of the plugin in bad surroundings", failed, &format!("of {tests} tests in the real pi")),
    ])
}

/// A store that must be refused: what was done to it, and the kind of the refusal.
struct Case {
    name: &'static str,
    spoil: fn(&Path) -> std::io::Result<()>,
    kinds: &'static [ErrorKind],
}

const CASES: &[Case] = &[
    Case {
        name: "newer format",
        spoil: |store| rewrite_format(store, "format 1", "format 99"),
        kinds: &[ErrorKind::NewerFormat],
    },
    Case {
        name: "unknown need",
        spoil: |store| rewrite_format(store, "needs -", "needs time-travel"),
        kinds: &[ErrorKind::NewerFormat],
    },
    Case {
        name: "damaged format",
        spoil: |store| flip(&store.join("format"), 30),
        kinds: &[ErrorKind::Corrupt, ErrorKind::NotAStore],
    },
    Case {
        name: "empty format",
        spoil: |store| std::fs::write(store.join("format"), ""),
        kinds: &[ErrorKind::Corrupt, ErrorKind::NotAStore],
    },
    Case {
        name: "overwritten index",
        spoil: |store| overwrite(&store.join("index.redb")),
        kinds: &[ErrorKind::IndexDamaged],
    },
    Case {
        name: "empty index",
        spoil: |store| std::fs::write(store.join("index.redb"), ""),
        kinds: &[ErrorKind::IndexDamaged, ErrorKind::IndexMissing],
    },
    Case {
        name: "no index",
        spoil: |store| std::fs::remove_file(store.join("index.redb")),
        kinds: &[ErrorKind::IndexMissing],
    },
    Case { name: "no store but a letter", spoil: letter, kinds: &[ErrorKind::NotAStore] },
];

/// Opens each spoilt store; returns how many cases there are, and what was not as it must be.
fn refusals(scratch: &Scratch) -> Result<(usize, Vec<String>), Failure> {
    let whole = scratch.join("whole");
    let cwd = scratch.join("work");
    sample::make(&whole, &cwd)?;
    let mut bad = Vec::new();
    for case in CASES {
        let store = scratch.join(&case.name.replace(' ', "-"));
        copy_tree(&whole, &store)?;
        (case.spoil)(&store)?;
        let before = fingerprint(&store)?;
        bad.extend(refused(&store, None, case.kinds).map(|why| format!("{}: {why}", case.name)));
        if stored_bytes(&before) != stored_bytes(&fingerprint(&store)?) {
            bad.push(format!("{}: files changed", case.name));
        }
    }
    let inside = cwd.join("deep/store");
    bad.extend(refused(&inside, Some(cwd.clone()), &[ErrorKind::StoreInWorkspace]).map(|why| format!("inside: {why}")));
    if inside.exists() || cwd.join("deep").exists() {
        bad.push("inside: something was made in the workspace".to_owned());
    }
    Ok((CASES.len() + 1, bad))
}

/// Why the refusal is not good enough; nothing if it is.
fn refused(store: &Path, workspace: Option<PathBuf>, kinds: &[ErrorKind]) -> Option<String> {
    match Store::open(store, &StoreOptions { workspace, ..StoreOptions::default() }) {
        Ok(_) => Some("was opened".to_owned()),
        Err(error) if !kinds.contains(&error.kind()) => Some(format!("{}: {error}", error.code())),
        Err(error) if error.hint().is_empty() => Some(format!("no next step: {error}")),
        Err(error) if error.path().is_none() => Some(format!("names no path: {error}")),
        Err(_) => None,
    }
}

/// The lines of a fingerprint that are not of lock files, which every look at a store makes.
fn stored_bytes(fingerprint: &str) -> Vec<&str> {
    fingerprint.lines().filter(|line| !line.starts_with("locks/")).collect()
}

fn rewrite_format(store: &Path, from: &str, to: &str) -> std::io::Result<()> {
    let path = store.join("format");
    let line = std::fs::read_to_string(&path)?;
    let (text, _) = line.rsplit_once(" check ").ok_or_else(|| std::io::Error::other("no check in the format line"))?;
    let changed = text.replacen(from, to, 1);
    assert_ne!(changed, text, "the format line has no {from}");
    let check = &blake3::hash(changed.as_bytes()).to_hex()[..8];
    std::fs::write(path, format!("{changed} check {check}\n"))
}

fn flip(path: &Path, offset: usize) -> std::io::Result<()> {
    let mut bytes = std::fs::read(path)?;
    bytes[offset] ^= 1;
    std::fs::write(path, bytes)
}

fn overwrite(path: &Path) -> std::io::Result<()> {
    let length = std::fs::metadata(path)?.len();
    std::fs::write(path, vec![0x5a; usize::try_from(length).map_err(std::io::Error::other)?])
}

fn letter(store: &Path) -> std::io::Result<()> {
    std::fs::remove_dir_all(store)?;
    std::fs::create_dir(store)?;
    std::fs::write(store.join("letter.txt"), "not a store")
}

/// Fills a file system of 3 MB that lives in a mount namespace of its own, then makes it read-only.
fn small_disk(scratch: &Scratch) -> Result<Vec<String>, Failure> {
    let mount = scratch.join("disk");
    let cwd = scratch.join("disk-work");
    std::fs::create_dir(&mount)?;
    std::fs::create_dir(&cwd)?;
    let worker = |read_only: bool| -> Result<String, Failure> {
        let work = Worker::SmallDisk { mount: mount.clone(), workspace: cwd.clone(), read_only };
        let words = std::iter::once("worker".to_owned()).chain(work.arguments());
        let program = std::env::current_exe()?;
        Ok(words.fold(program.display().to_string(), |line, word| format!("{line} '{word}'")))
    };
    let script = format!(
        "mount -t tmpfs -o size=3m tmpfs '{mount}' && {} && mount -o remount,ro '{mount}' && {}",
        worker(false)?,
        worker(true)?,
        mount = mount.display()
    );
    // Root needs a mount namespace only; anybody else may have one inside a user namespace, where that is allowed.
    for namespaces in [vec!["-m"], vec!["-r", "-m"]] {
        let possible = Command::new("unshare").args(&namespaces).args(["--", "true"]).output();
        if possible.is_ok_and(|output| output.status.success()) {
            let output = Command::new("unshare").args(&namespaces).args(["--", "sh", "-c", &script]).output()?;
            let mut wrong: Vec<String> = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
            if !output.status.success() {
                wrong.push(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim()));
            }
            return Ok(wrong);
        }
    }
    Err("a full disk needs a mount namespace, which this machine does not allow".into())
}

/// Runs the plugin's tests of bad surroundings: (tests, failures).
fn in_the_real_pi() -> Result<(usize, usize), Failure> {
    build::addon()?;
    node::install_packages()?;
    let mut command = node::command("node", &workspace::e2e())?;
    command.args(["--test", "--test-reporter=tap", "failures.test.mjs"]).env("CANDY_STORE_BIN", build::cli()?);
    // Its exit code says the same as its closing lines.
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let count = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("# {name} ")));
        line.and_then(|number| number.trim().parse::<usize>().ok()).unwrap_or(0)
    };
    let (tests, failed) = (count("tests"), count("fail") + count("cancelled"));
    if tests == 0 {
        return Err(format!("no test ran: {}", String::from_utf8_lossy(&output.stderr).trim()).into());
    }
    for line in text.lines().filter(|line| line.trim_start().starts_with("not ok")) {
        eprintln!("   {}", line.trim());
    }
    Ok((tests, failed))
}
