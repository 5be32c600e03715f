//! `cargo xtask fuzz`: every target for some seconds, from the corpus in git.

use std::process::Command;

use candy_store_tests::scratch::Scratch;

use crate::{Failure, program, workspace};

/// What `fuzz` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Seconds for each target.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Only this target.
    #[arg(long)]
    target: Option<String>,
    /// Installs cargo-fuzz when it is missing (some two minutes).
    #[arg(long)]
    install: bool,
}

/// Runs the targets one after the other; false when one found something.
pub(crate) fn run(options: &Options) -> Result<bool, Failure> {
    for_seconds(options.seconds, options.target.as_deref(), options.install)
}

/// Runs `only`, or all targets, for `seconds` each.
pub(crate) fn for_seconds(seconds: u64, only: Option<&str>, install: bool) -> Result<bool, Failure> {
    ensure_tool(install)?;
    let root = workspace::root();
    let targets: Vec<String> = targets()?.into_iter().filter(|name| only.is_none_or(|only| only == name)).collect();
    if targets.is_empty() {
        return Err(format!("no fuzz target {}", only.unwrap_or("in fuzz/fuzz_targets")).into());
    }
    let mut clean = true;
    for target in targets {
        println!("fuzzing {target} for {seconds} s");
        // libFuzzer adds what it discovers to the first directory: the corpus in git is only read.
        let found = Scratch::new("fuzz");
        let corpus = root.join("fuzz/corpus").join(&target);
        let mut command = nightly_cargo();
        command.current_dir(&root).args(["fuzz", "run", "--fuzz-dir", "fuzz", &target]).arg(found.path());
        if corpus.exists() {
            command.arg(&corpus);
        }
        command.args(["--", &format!("-max_total_time={seconds}"), "-rss_limit_mb=1024", "-verbosity=0"]);
        command.arg("-print_final_stats=1");
        clean &= program::succeeds(&mut command)?;
    }
    Ok(clean)
}

fn targets() -> Result<Vec<String>, Failure> {
    let directory = workspace::root().join("fuzz/fuzz_targets");
    let entries =
        std::fs::read_dir(&directory).map_err(|error| format!("cannot list {}: {error}", directory.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn ensure_tool(install: bool) -> Result<(), Failure> {
    if program::exists("cargo-fuzz") {
        return Ok(());
    }
    if !install {
        return Err("cargo-fuzz is missing: `cargo install cargo-fuzz --locked`, or say --install".into());
    }
    program::run(program::cargo().args(["install", "cargo-fuzz", "--locked"]))
}

/// Fuzzing needs unstable compiler flags: a nightly toolchain, or the stable one told to accept them.
fn nightly_cargo() -> Command {
    let nightly = Command::new("rustup")
        .args(["run", "nightly", "rustc", "--version"])
        .output()
        .is_ok_and(|output| output.status.success());
    if nightly {
        let mut command = Command::new("rustup");
        command.args(["run", "nightly", "cargo"]);
        // Set by the toolchain this program was started with; they would lead back to it.
        for name in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN"] {
            command.env_remove(name);
        }
        return command;
    }
    let mut command = program::cargo();
    command.env("RUSTC_BOOTSTRAP", "1");
    command
}
