//! Paths on the command line: which tracked path they mean.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use candy_store::tree::TrackedPath;

use crate::failure::{Failure, Result};
use crate::text::printable_path;

/// The current directory, with links resolved.
pub(crate) fn current_dir() -> Result<PathBuf> {
    std::env::current_dir()
        .and_then(|path| path.canonicalize())
        .map_err(|error| Failure::usage(format!("cannot find the current directory: {error}")))
}

/// Removes `.` and `..` by the letters of the path. What is not on disk any more has no other meaning.
pub(crate) fn lexical(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// The file that a path means, from a directory: links are followed as far as the path exists, because a history is
/// kept under the name of the file that an edit reaches.
pub(crate) fn absolute(path: &Path, from: &Path) -> PathBuf {
    let whole = lexical(&from.join(path));
    let mut missing = Vec::new();
    let mut existing = Some(whole.as_path());
    while let Some(directory) = existing {
        if let Ok(real) = directory.canonicalize() {
            return missing.iter().rev().fold(real, |path, name| path.join(name));
        }
        missing.extend(directory.file_name());
        existing = directory.parent();
    }
    whole
}

/// The places an argument may mean, best first: what `ls` prints (relative to the workspace), then what a shell
/// completes (relative to the current directory). `./x` and `../x` are always seen from the current directory.
fn readings(path: &Path, workspace: &Path, current: &Path) -> Vec<PathBuf> {
    if path.is_absolute() {
        return vec![lexical(path), absolute(path, current)];
    }
    let dotted = matches!(path.components().next(), Some(Component::CurDir | Component::ParentDir));
    let here = absolute(path, current);
    if dotted { vec![here] } else { vec![lexical(&workspace.join(path)), here] }
}

/// Whether a tracked path is the path, or lies below it.
fn is_at_or_below(tracked: &TrackedPath, workspace: &Path, path: &Path) -> bool {
    tracked.resolve(workspace).starts_with(path)
}

/// The paths among `known` that an argument means: one file, or all below a directory. Empty when there are none.
pub(crate) fn matching<'a>(
    known: impl Iterator<Item = &'a TrackedPath> + Clone,
    workspace: &Path,
    current: &Path,
    argument: &Path,
) -> Vec<TrackedPath> {
    for reading in readings(argument, workspace, current) {
        let found: Vec<_> = known.clone().filter(|path| is_at_or_below(path, workspace, &reading)).cloned().collect();
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// The paths among `known` that the arguments mean together; all of them without arguments. The first argument that
/// means nothing is an error: `unknown` makes it.
pub(crate) fn select(
    known: &BTreeSet<TrackedPath>,
    workspace: &Path,
    arguments: &[PathBuf],
    unknown: impl Fn(&Path) -> Failure,
) -> Result<BTreeSet<TrackedPath>> {
    if arguments.is_empty() {
        return Ok(known.clone());
    }
    let current = current_dir()?;
    let mut selected = BTreeSet::new();
    for argument in arguments {
        let found = matching(known.iter(), workspace, &current, argument);
        if found.is_empty() {
            return Err(unknown(argument));
        }
        selected.extend(found);
    }
    Ok(selected)
}

/// The one file among `known` that an argument means; directories do not count.
pub(crate) fn one(known: &BTreeSet<TrackedPath>, workspace: &Path, argument: &Path) -> Result<Option<TrackedPath>> {
    let current = current_dir()?;
    let wanted = readings(argument, workspace, &current);
    Ok(wanted.iter().find_map(|path| known.iter().find(|tracked| tracked.resolve(workspace) == *path)).cloned())
}

/// Refuses arguments that no path can be made of.
pub(crate) fn check(arguments: &[PathBuf]) -> Result<()> {
    let bad = arguments.iter().find(|path| path.as_os_str().is_empty() || path.as_os_str().as_bytes().contains(&0));
    match bad {
        Some(path) => Err(Failure::usage(format!("cannot use '{}' as a path", printable_path(path)))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tracked(path: &str) -> TrackedPath {
        TrackedPath::new(Path::new("/w"), Path::new(path)).unwrap()
    }

    fn found(argument: &str, current: &str) -> Vec<String> {
        let known: BTreeSet<_> = ["/w/a.rs", "/w/src/a.rs", "/w/src/b.rs", "/w/srcx", "/etc/hosts"].map(tracked).into();
        let found = matching(known.iter(), Path::new("/w"), Path::new(current), Path::new(argument));
        found.iter().map(TrackedPath::display).collect()
    }

    #[test]
    fn a_relative_path_is_first_seen_from_the_workspace_then_from_here() {
        assert_eq!(found("a.rs", "/w/src"), ["a.rs"]);
        assert_eq!(found("b.rs", "/w/src"), ["src/b.rs"]);
        assert_eq!(found("./a.rs", "/w/src"), ["src/a.rs"]);
        assert_eq!(found("../a.rs", "/w/src"), ["a.rs"]);
        assert_eq!(found("nothing", "/w/src"), Vec::<String>::new());
    }

    #[test]
    fn a_directory_means_what_is_below_it_and_not_what_only_begins_like_it() {
        assert_eq!(found("src", "/"), ["src/a.rs", "src/b.rs"]);
        assert_eq!(found("/w/src", "/"), ["src/a.rs", "src/b.rs"]);
        assert_eq!(found(".", "/w/src"), ["src/a.rs", "src/b.rs"]);
        assert_eq!(found("/etc", "/"), ["/etc/hosts"]);
    }

    #[test]
    fn dots_are_taken_away_by_the_letters() {
        assert_eq!(lexical(Path::new("/a/./b/../c")), Path::new("/a/c"));
        assert_eq!(lexical(Path::new("/../x")), Path::new("/x"));
    }
}
