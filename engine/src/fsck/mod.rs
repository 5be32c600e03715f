//! Checking a store, repairing it, and rebuilding its index from its data.
//!
//! - [`Store::fsck`] and [`check_path`] look and change nothing. They work while sessions are live: the index is read
//!   once, and what appears later is not judged.
//! - [`repair`] settles what can be settled without the history of transactions: records of the loss, copies found
//!   elsewhere, counts.
//! - [`rebuild`] makes a new index from segments and large contents alone.

mod chain;
mod check;
mod costs;
mod counts;
mod files;
mod findings;
mod fold;
mod heal;
mod integrity;
mod inventory;
mod layout;
mod objects;
mod rebuild;
mod repair;
mod scan;

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::error::Result;
use crate::gc::gc_lock_path;
use crate::index::Index;
use crate::io::{Io, LockMode};
use crate::lock::{Deadline, Lock};
use crate::store::Store;

pub use findings::{COSTS_LISTED_MAX, Cost, Finding, FindingKind, Severity};
pub use rebuild::{RebuildOptions, RebuildReport, rebuild};
pub use repair::{RepairOptions, RepairReport, repair};

/// What a check is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is being done, in a few words.
    pub phase: &'static str,
    /// Bytes or objects done.
    pub done: u64,
    /// Bytes or objects in all.
    pub total: u64,
}

/// Is told how far a check is.
#[derive(Clone, Default)]
pub struct OnProgress(Option<Arc<dyn Fn(Progress) + Send + Sync>>);

impl OnProgress {
    /// Calls `tell` every now and then.
    pub fn new(tell: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(tell)))
    }

    pub(crate) fn tell(&self, phase: &'static str, done: u64, total: u64) {
        if let Some(tell) = &self.0 {
            tell(Progress { phase, done, total });
        }
    }
}

impl fmt::Debug for OnProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "OnProgress(Some)" } else { "OnProgress(None)" })
    }
}

/// How to check.
#[derive(Clone, Debug)]
pub struct FsckOptions {
    /// Read every content and verify its hash, and the checksums of the index.
    pub read_data: bool,
    /// Write nothing at all. Without it, locks are taken and the index is copied for its check.
    pub read_only: bool,
    /// How long to wait for what another process holds.
    pub lock_wait: Duration,
    /// Is told how far it is.
    pub progress: OnProgress,
}

impl Default for FsckOptions {
    fn default() -> Self {
        Self { read_data: false, read_only: false, lock_wait: Duration::from_secs(5), progress: OnProgress::default() }
    }
}

/// What a check found.
#[derive(Clone, Debug, Default)]
pub struct FsckReport {
    /// Everything, the worst first.
    pub findings: Vec<Finding>,
    /// Sessions in the index.
    pub sessions: u64,
    /// Points in the index.
    pub points: u64,
    /// Contents and tree nodes in the index.
    pub objects: u64,
    /// Objects whose bytes were read and hashed.
    pub objects_read: u64,
    /// Segments scanned.
    pub segments: u64,
    /// Bytes of segments and large contents.
    pub bytes: u64,
}

impl FsckReport {
    /// Whether nothing is wrong. Notices are allowed.
    pub fn is_clean(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity() < Severity::Damage)
    }

    /// Whether a finding of this kind is there.
    pub fn has(&self, kind: FindingKind) -> bool {
        self.findings.iter().any(|finding| finding.kind == kind)
    }
}

impl Store {
    /// Checks the store. Finding damage is no error.
    pub fn fsck(&self, options: &FsckOptions) -> Result<FsckReport> {
        let inner = self.inner();
        let read_only = options.read_only || self.read_only_reason().is_some();
        check_path(Arc::clone(&inner.io), &inner.path, &FsckOptions { read_only, ..options.clone() })
    }
}

/// Checks the store at `path`, even one that cannot be opened. An error means that there is no store there, that it
/// needs a newer program, or that the directory cannot be read at all.
pub fn check_path(io: Arc<dyn Io>, path: &Path, options: &FsckOptions) -> Result<FsckReport> {
    let path = layout::find(&io, path)?;
    let gc_lock = if options.read_only { None } else { take_gc_lock(&io, &path, options.lock_wait) };
    let place = Place { io, path, gc_lock };
    let index = Index::with_access(Arc::clone(&place.io), &place.path, options.read_only);
    let mut checked = check::check(&place, &index, options)?;
    for _ in 1..RUNS_MAX {
        // A collection that ran meanwhile may have moved what the picture of the index still names.
        if place.gc_lock.is_some() || checked.report.is_clean() || !checked.is_outdated(&index, options) {
            break;
        }
        checked = check::check(&place, &index, options)?;
    }
    Ok(checked.report)
}

/// How often a check is begun anew because a collection got in between.
const RUNS_MAX: u32 = 3;

/// Where the store is.
pub(crate) struct Place {
    pub(crate) io: Arc<dyn Io>,
    pub(crate) path: PathBuf,
    /// Keeps collections away, and allows temporary files.
    pub(crate) gc_lock: Option<Lock>,
}

/// Keeps collections away; `None` where the directory of locks is missing or cannot be written, or one goes on and on.
fn take_gc_lock(io: &Arc<dyn Io>, path: &Path, wait: Duration) -> Option<Lock> {
    Lock::wait(io, &gc_lock_path(path), LockMode::Exclusive, Deadline::after(wait)).ok()
}
