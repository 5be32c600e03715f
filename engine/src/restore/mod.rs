//! Bringing files back to an earlier state.
//!
//! A restore is planned ([`plan`]), its redo point is taken by the session, and then it is applied ([`apply`]) file by
//! file, under a lock of the workspace and a journal entry, from which a restore that a crash interrupted is finished or
//! taken back ([`resume`]). Bytes that nobody expected at a path are never lost: they are kept as a version first.

mod apply;
mod leftover;
mod plan;
mod present;
mod resume;
mod step;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::hash::hex_encode;
use crate::io::{LockMode, path_bytes};
use crate::lock::{Deadline, Lock};
use crate::object::pending::Pending;
use crate::store::Inner;
use crate::tree::{Entry, TrackedPath};

pub(crate) use apply::apply;
pub(crate) use plan::{CountedPairs, PlanOptions, Planner, diff};
pub use plan::{FileAction, Plan, PlannedFile, SkipReason};
pub(crate) use present::{Look, Present};
pub use resume::ResumeHow;
pub(crate) use resume::resume;

/// A file that could not be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedFile {
    /// The file.
    pub path: TrackedPath,
    /// The stable code of the error.
    pub code: &'static str,
    /// The error in words.
    pub message: String,
}

impl FailedFile {
    fn new(path: &TrackedPath, error: &Error) -> Self {
        Self { path: path.clone(), code: error.code(), message: error.to_string() }
    }
}

/// What a restore did.
#[derive(Debug, Default)]
pub(crate) struct Applied {
    /// Files written, created, deleted or given another mode.
    pub(crate) restored: u64,
    /// Files that were as wanted already.
    pub(crate) unchanged: u64,
    /// Files left alone, links among them.
    pub(crate) skipped: u64,
    /// Files that could not be restored. The others were.
    pub(crate) failed: Vec<FailedFile>,
    /// Directories that the deletions left empty. They stay: nobody knows who wants them.
    pub(crate) emptied: Vec<PathBuf>,
    /// States that files were brought to. They are noted as what the agent left behind, so that a change by hand after
    /// a restore is told from the restore.
    pub(crate) noted: Vec<(TrackedPath, Entry)>,
    /// Why the end of the restore could not be recorded: it will be found as unfinished, and finishing it does nothing.
    pub(crate) journal_error: Option<Error>,
}

/// Makes a content durable as a version of its own: the state found at a path, and the objects it needs.
pub(crate) type Keep<'a> = dyn FnMut(&TrackedPath, Entry, Pending) -> Result<()> + Send + 'a;

/// Proof that nobody else restores in a workspace.
#[must_use = "the lock is given up when this is dropped"]
#[derive(Debug)]
pub(crate) struct RestoreLock {
    cwd: PathBuf,
    _lock: Lock,
}

impl RestoreLock {
    /// The workspace it is for.
    fn check(&self, cwd: &Path) -> Result<()> {
        if self.cwd == cwd {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Conflict, "restore")
            .at(cwd)
            .cause(format!("the restore belongs to the workspace {}", self.cwd.display())))
    }
}

fn lock_path(inner: &Inner, cwd: &Path) -> PathBuf {
    let name = hex_encode(&blake3::hash(path_bytes(cwd)).as_bytes()[..16]);
    inner.path.join("locks").join(format!("restore-{name}"))
}

/// Whether somebody restores in a workspace right now.
pub(crate) fn is_restoring(inner: &Inner, cwd: &Path) -> Result<bool> {
    Lock::is_held(&inner.io, &lock_path(inner, cwd))
}

/// Takes the lock of a workspace's restores. Whoever only asks whether a restore is running holds it for a moment, so it
/// is tried for a while.
pub(crate) fn lock_workspace(inner: &Inner, cwd: &Path) -> Result<RestoreLock> {
    let deadline = Deadline::after(LOCK_WAIT);
    match Lock::wait(&inner.io, &lock_path(inner, cwd), LockMode::Exclusive, deadline) {
        Ok(lock) => Ok(RestoreLock { cwd: cwd.to_path_buf(), _lock: lock }),
        Err(error) if error.kind() == ErrorKind::LockTimeout => Err(Error::new(ErrorKind::Conflict, "restore")
            .at(cwd)
            .cause("another restore is running in this workspace")),
        Err(error) => Err(error),
    }
}

/// How long a restore waits for another one in its workspace.
const LOCK_WAIT: Duration = Duration::from_secs(1);
