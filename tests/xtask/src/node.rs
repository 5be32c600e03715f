//! Node.js: pi and the plugin's tests need 22.19 or later, which a machine's own Node often is not.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Failure, program, workspace};

const NEEDED: (u32, u32) = (22, 19);

/// Installs the npm packages of the end-to-end tests unless they are there: pi itself, TypeScript, a current Node.
pub(crate) fn install_packages() -> Result<(), Failure> {
    let directory = workspace::e2e();
    let lock = directory.join("package-lock.json");
    // npm writes this file last, with the time of the installation.
    let installed = directory.join("node_modules/.package-lock.json");
    if modified(&installed) >= modified(&lock) && installed.exists() {
        return Ok(());
    }
    if !program::exists("npm") {
        return Err("npm is missing: install Node.js, whatever version; a current one is then fetched from npm".into());
    }
    let how = if lock.exists() { "ci" } else { "install" };
    program::run(program::program("npm", &directory).args([how, "--no-audit", "--no-fund"]))
}

/// A Node that is new enough: the one of the PATH, else the one that `install_packages` brought.
pub(crate) fn binary() -> Result<PathBuf, Failure> {
    let candidates = [PathBuf::from("node"), workspace::e2e().join("node_modules/node/bin/node")];
    let new_enough = |candidate: &&PathBuf| version(candidate).is_some_and(|found| found >= NEEDED);
    candidates.iter().find(new_enough).cloned().ok_or_else(|| {
        let (major, minor) = NEEDED;
        format!("Node.js {major}.{minor} or later is missing; `npm ci` in tests/e2e brings one").into()
    })
}

/// A command of that Node, in `directory`, where `node` and npm's programs are found first as well.
pub(crate) fn command(name: &str, directory: &Path) -> Result<Command, Failure> {
    let binary = binary()?;
    let mut command = Command::new(if name == "node" { binary.as_os_str() } else { name.as_ref() });
    command.current_dir(directory);
    if let Some(beside) = binary.parent().filter(|parent| parent.is_absolute()) {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let paths = std::iter::once(beside.to_owned()).chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(paths)?);
    }
    Ok(command)
}

fn version(node: &Path) -> Option<(u32, u32)> {
    let output = Command::new(node).arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    parse_version(std::str::from_utf8(&output.stdout).ok()?)
}

/// Major and minor of `v22.19.0`.
fn parse_version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.trim().strip_prefix('v')?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn modified(path: &Path) -> Option<std::time::SystemTime> {
    std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

#[cfg(test)]
mod tests {
    use super::{NEEDED, parse_version};

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(parse_version("v22.19.0\n"), Some((22, 19)));
        assert!(parse_version("v22.9.1").is_some_and(|version| version < NEEDED));
        assert!(parse_version("v24.0.0").is_some_and(|version| version > NEEDED));
        assert_eq!(parse_version("nonsense"), None);
    }
}
