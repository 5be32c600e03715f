//! Directories for one test or one bar.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A directory that is removed when dropped.
///
/// It lies beside the running program, that is, on the disk of the build: the system's temporary directory is memory on
/// many machines, where a sync costs nothing and proves nothing.
#[derive(Debug)]
#[must_use = "the directory is removed when this value is dropped"]
pub struct Scratch {
    directory: TempDir,
}

impl Scratch {
    /// Makes an empty directory whose name begins with `name`. With `CANDY_SCRATCH` set, it lies there.
    ///
    /// # Panics
    /// When the directory cannot be made.
    pub fn new(name: &str) -> Self {
        let base = match std::env::var_os("CANDY_SCRATCH") {
            Some(base) => PathBuf::from(base),
            None => {
                let program = std::env::current_exe().expect("the running program has a path");
                program.parent().expect("a program lies in a directory").join("scratch")
            }
        };
        std::fs::create_dir_all(&base).unwrap_or_else(|error| panic!("cannot make {}: {error}", base.display()));
        let directory = tempfile::Builder::new()
            .prefix(&format!("{name}-"))
            .tempdir_in(&base)
            .unwrap_or_else(|error| panic!("cannot make a directory in {}: {error}", base.display()));
        Self { directory }
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The path `name` in the directory.
    pub fn join(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Leaves the directory where it is, to be looked at, and returns its path.
    pub fn keep(self) -> PathBuf {
        self.directory.keep()
    }
}
