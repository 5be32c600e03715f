//! `cargo xtask test`: all checks and tests, in the order in which they fail fastest.

use std::path::PathBuf;
use std::time::Instant;

use clap::ValueEnum;

use crate::{Failure, build, crash, fuzz, node, program, workspace};

/// What `test` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Leaves a part out; may be given several times.
    #[arg(long, value_enum)]
    skip: Vec<Part>,
    /// Runs only this part; may be given several times.
    #[arg(long, value_enum)]
    only: Vec<Part>,
    /// Seconds for each fuzz target.
    #[arg(long, default_value_t = 15)]
    fuzz_seconds: u64,
    /// Processes killed in the kill -9 loop.
    #[arg(long, default_value_t = 60)]
    kills: usize,
}

/// One of the things that are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// The Rust code has rustfmt's form.
    Format,
    /// clippy has nothing to say.
    Lint,
    /// cargo test of the whole workspace.
    Rust,
    /// The addon and the command line build in release form.
    Build,
    /// The plugin's types fit.
    Types,
    /// The addon's tests and the plugin's unit tests.
    Plugin,
    /// The real pi with the plugin.
    E2e,
    /// Workers killed at random times.
    Crash,
    /// Every fuzz target, shortly.
    Fuzz,
    /// Licences and sources of the dependencies, where cargo-deny is installed.
    Deny,
}

/// How a part ended.
enum Ended {
    Passed,
    Failed,
    LeftOut(&'static str),
}

/// Runs the parts; goes on after a failure, so that one run shows all of them.
pub(crate) fn run(options: &Options) -> Result<bool, Failure> {
    let mut lines = Vec::new();
    let mut clean = true;
    for &part in Part::value_variants() {
        if options.skip.contains(&part) || !(options.only.is_empty() || options.only.contains(&part)) {
            continue;
        }
        let name = name(part);
        println!("\n=== {name} ===");
        let start = Instant::now();
        let ended = run_part(part, options).unwrap_or_else(|error| {
            eprintln!("{name}: {error}");
            Ended::Failed
        });
        let verdict = match ended {
            Ended::Passed => "ok".to_owned(),
            Ended::Failed => "FAILED".to_owned(),
            Ended::LeftOut(why) => format!("left out: {why}"),
        };
        clean &= !matches!(ended, Ended::Failed);
        let line = format!("{name:<8} {:>4} s  {verdict}", start.elapsed().as_secs());
        println!("--- {line}");
        lines.push(line);
    }
    println!("\n{}", lines.join("\n"));
    Ok(clean)
}

fn run_part(part: Part, options: &Options) -> Result<Ended, Failure> {
    let e2e = workspace::e2e();
    let passed = match part {
        Part::Format => program::succeeds(program::cargo().args(["fmt", "--all", "--check"]))?,
        Part::Lint => {
            let mut command = program::cargo();
            command.args(["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]);
            program::succeeds(&mut command)?
        }
        Part::Rust => program::succeeds(program::cargo().args(["test", "--workspace", "--quiet"]))?,
        Part::Build => {
            build::addon()?;
            build::cli()?;
            true
        }
        Part::Types => {
            node::install_packages()?;
            program::succeeds(node::command("npm", &e2e)?.args(["run", "--silent", "typecheck"]))?
        }
        Part::Plugin => {
            node::install_packages()?;
            build::addon()?;
            let addon =
                program::succeeds(node::command("node", &workspace::root())?.arg("--test").args(addon_tests()?))?;
            program::succeeds(node::command("npm", &e2e)?.args(["run", "--silent", "test:plugin"]))? && addon
        }
        Part::E2e => {
            node::install_packages()?;
            build::addon()?;
            let cli = build::cli()?;
            let mut command = node::command("npm", &e2e)?;
            program::succeeds(command.args(["test", "--silent"]).env("CANDY_STORE_BIN", cli))?
        }
        Part::Crash => crash::short_loop(options.kills)?,
        Part::Fuzz => {
            if !program::exists("cargo-fuzz") {
                return Ok(Ended::LeftOut("`cargo install cargo-fuzz --locked` brings what it needs"));
            }
            fuzz::for_seconds(options.fuzz_seconds, None, false)?
        }
        Part::Deny => {
            if !program::exists("cargo-deny") {
                return Ok(Ended::LeftOut("cargo-deny is not installed"));
            }
            program::succeeds(program::cargo().args(["deny", "check", "bans", "licenses", "sources"]))?
        }
    };
    Ok(if passed { Ended::Passed } else { Ended::Failed })
}

/// The test files of the addon; older Nodes do not expand patterns themselves.
fn addon_tests() -> Result<Vec<PathBuf>, Failure> {
    let directory = workspace::root().join("plugin/native/test");
    let mut tests = Vec::new();
    for entry in
        std::fs::read_dir(&directory).map_err(|error| format!("cannot list {}: {error}", directory.display()))?
    {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(".test.mjs") {
            tests.push(path);
        }
    }
    tests.sort_unstable();
    Ok(tests)
}

fn name(part: Part) -> String {
    part.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}
