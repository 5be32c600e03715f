//! Other programs, run from the checkout's top directory.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::{Failure, workspace};

/// `cargo`, the one that started this program if cargo did.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace::root());
    command
}

/// A program of the PATH, working in `directory`.
pub(crate) fn program(name: impl AsRef<OsStr>, directory: &Path) -> Command {
    let mut command = Command::new(name);
    command.current_dir(directory);
    command
}

/// Runs with the output shown. True when it succeeded.
pub(crate) fn succeeds(command: &mut Command) -> Result<bool, Failure> {
    let status = command.status().map_err(|error| format!("cannot run {}: {error}", describe(command)))?;
    Ok(status.success())
}

/// Runs with the output shown; an unsuccessful end is a failure.
pub(crate) fn run(command: &mut Command) -> Result<(), Failure> {
    if succeeds(command)? { Ok(()) } else { Err(format!("failed: {}", describe(command)).into()) }
}

/// Runs and returns what it printed on standard output; its standard error is shown.
pub(crate) fn output(command: &mut Command) -> Result<String, Failure> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot run {}: {error}", describe(command)))?;
    if !output.status.success() {
        return Err(format!("failed: {}", describe(command)).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// True when `name --version` runs.
pub(crate) fn exists(name: &str) -> bool {
    let quiet =
        Command::new(name).arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

fn describe(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
