//! Finds the files below a directory, without following a link, and without those that are excluded.

use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use candy_store::exclude::Excludes;
use candy_store::io::{Dir, FileKind, Io as _, RealIo};

use crate::failure::{Failure, Result};

/// Files found so far.
pub(super) struct Walk {
    excludes: Excludes,
    /// Directories of which nothing can be included.
    pruned: Vec<PathBuf>,
    /// Device and inode of the store.
    store: (u64, u64),
    /// The files, absolute.
    pub(super) files: Vec<PathBuf>,
}

impl Walk {
    /// Nothing found yet.
    pub(super) fn new(patterns: &[String], workspace: &Path, store: &Path) -> Result<Self> {
        let identity = RealIo.stat(store).map_err(|error| Failure::io("look at the store", store, error))?.identity();
        Ok(Self {
            excludes: Excludes::new(patterns, workspace)?,
            pruned: pruned(patterns, workspace),
            store: identity,
            files: Vec::new(),
        })
    }

    /// Adds a file, whatever it is, or what is below a directory.
    pub(super) fn add(&mut self, path: &Path) -> Result<()> {
        // What was named may be a link to a directory; what is found below is not followed.
        match path.canonicalize() {
            Ok(real) if real.is_dir() => {
                let dir = RealIo.open_dir(&real).map_err(|error| Failure::io("open the directory", &real, error))?;
                self.walk(&*dir, &real)
            }
            _ => {
                self.files.push(path.to_path_buf());
                Ok(())
            }
        }
    }

    fn walk(&mut self, dir: &dyn Dir, path: &Path) -> Result<()> {
        if self.pruned.iter().any(|pruned| pruned == path)
            || RealIo.stat(path).is_ok_and(|stat| stat.identity() == self.store)
        {
            return Ok(());
        }
        let cannot = |error| Failure::io("list the directory", path, error);
        for name in dir.list().map_err(cannot)? {
            let below = path.join(std::ffi::OsStr::from_bytes(&name));
            match dir.stat(&name).map(|stat| stat.kind) {
                Ok(FileKind::Dir) => match dir.open_dir(&name) {
                    Ok(next) => self.walk(&*next, &below)?,
                    Err(error) if is_gone(&error) => {}
                    Err(error) => return Err(Failure::io("open the directory", &below, error)),
                },
                Ok(FileKind::File) if !self.excludes.is_excluded(&below) => self.files.push(below),
                // Links, FIFOs, sockets and devices are never kept.
                Ok(_) => {}
                Err(error) if is_gone(&error) => {}
                Err(error) => return Err(Failure::io("look at", &below, error)),
            }
        }
        Ok(())
    }
}

/// Whether something vanished, or became something else, while it was looked at.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The directories that patterns like `node_modules/**` exclude whole. With a pattern that takes files back in, none:
/// what it means is known only file by file.
fn pruned(patterns: &[String], workspace: &Path) -> Vec<PathBuf> {
    if patterns.iter().any(|pattern| pattern.starts_with('!')) {
        return Vec::new();
    }
    let literal = |text: &&str| !text.is_empty() && !text.contains(['*', '?', '[', ']', '{', '}', '\\', '!']);
    let whole = patterns.iter().filter_map(|pattern| pattern.strip_suffix("/**")).filter(literal);
    whole.map(|directory| workspace.join(directory)).collect()
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the files belong to no store")]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn found(patterns: &[&str]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let work = root.join("w");
        for directory in ["w/src", "w/node_modules/x", "w/sub/node_modules", "w/store", "elsewhere"] {
            std::fs::create_dir_all(root.join(directory)).unwrap();
        }
        for file in ["src/a", "node_modules/x/i.js", "sub/node_modules/j.js", "store/index", "yarn.lock", ".env"] {
            std::fs::write(work.join(file), file).unwrap();
        }
        std::fs::write(root.join("elsewhere/secret"), "s").unwrap();
        symlink(root.join("elsewhere"), work.join("link")).unwrap();
        let patterns: Vec<String> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        let mut walk = Walk::new(&patterns, &work, &work.join("store")).unwrap();
        walk.add(&work).unwrap();
        let name = |path: &PathBuf| path.strip_prefix(&work).unwrap().to_str().unwrap().to_owned();
        walk.files.iter().map(name).collect()
    }

    #[test]
    fn excluded_files_links_and_the_store_are_left_out() {
        let defaults = candy_store::exclude::DEFAULT_EXCLUDES;
        assert_eq!(found(&defaults), ["src/a", "sub/node_modules/j.js"]);
    }

    #[test]
    fn a_pattern_that_takes_back_is_honoured_below_an_excluded_directory() {
        let found = found(&["node_modules/**", "!node_modules/x/**"]);
        assert!(found.contains(&"node_modules/x/i.js".to_owned()), "{found:?}");
    }
}
