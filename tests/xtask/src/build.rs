//! The release builds that tests, demo and bars use: the addon and the command line.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{Failure, program, workspace};

/// Builds the addon and copies it to `plugin/native/pi-candy-undo.node`, where the plugin looks first.
pub(crate) fn addon() -> Result<PathBuf, Failure> {
    let built = artifact("plugin/native/Cargo.toml", |message| {
        let is_addon = message["target"]["kind"].as_array()?.iter().any(|kind| kind == "cdylib");
        let files = message["filenames"].as_array().filter(|_| is_addon)?;
        let library = |file: &&str| [".so", ".dylib", ".dll"].iter().any(|ending| file.ends_with(ending));
        files.iter().filter_map(Value::as_str).find(library).map(PathBuf::from)
    })?;
    let target = workspace::root().join("plugin/native/pi-candy-undo.node");
    // A running pi may have the old file mapped: replacing its bytes would crash it, replacing its name does not.
    let fresh = target.with_extension("node.new");
    std::fs::copy(&built, &fresh)
        .and_then(|_| std::fs::rename(&fresh, &target))
        .map_err(|error| format!("cannot copy {} to {}: {error}", built.display(), target.display()))?;
    Ok(target)
}

/// Builds the command line and returns the program's path.
pub(crate) fn cli() -> Result<PathBuf, Failure> {
    artifact("engine/cli/Cargo.toml", |message| {
        let is_program = message["target"]["kind"].as_array()?.iter().any(|kind| kind == "bin");
        message["executable"].as_str().filter(|_| is_program).map(PathBuf::from)
    })
}

/// Builds the package of a manifest and picks a path from what cargo reports of that very package.
fn artifact(manifest: &str, pick: impl Fn(&Value) -> Option<PathBuf>) -> Result<PathBuf, Failure> {
    let manifest = workspace::root().join(manifest);
    let mut command = program::cargo();
    command.args(["build", "--release", "--message-format", "json-render-diagnostics", "--manifest-path"]);
    let report = program::output(command.arg(&manifest))?;
    let of_package = |message: &Value| {
        let path = message["manifest_path"].as_str().map(Path::new);
        message["reason"] == "compiler-artifact" && path.is_some_and(|path| same_file(path, &manifest))
    };
    report
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(of_package)
        .find_map(|message| pick(&message))
        .ok_or_else(|| format!("cargo built nothing that fits from {}", manifest.display()).into())
}

fn same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
