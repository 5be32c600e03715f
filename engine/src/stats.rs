//! What a store holds, and what that takes on disk.
//!
//! Everything is counted from one read transaction; a manifest that cannot be read is counted as unreadable and makes
//! nothing fail, so that a damaged store can be looked at.

mod count;
mod disk;
mod garbage;

use std::path::PathBuf;

use crate::error::Result;
use crate::index::rows::ObjectRow;
use crate::store::Store;

/// Objects of one form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FormStats {
    /// How many.
    pub objects: u64,
    /// Bytes before compression.
    pub raw_bytes: u64,
    /// Bytes on disk.
    pub stored_bytes: u64,
}

impl FormStats {
    fn add(&mut self, row: &ObjectRow) {
        self.objects += 1;
        self.raw_bytes += row.raw_len;
        self.stored_bytes += row.stored_len();
    }
}

/// One session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionStats {
    /// Identifier.
    pub id: String,
    /// Its workspace.
    pub cwd: PathBuf,
    /// Milliseconds since 1970.
    pub last_event_ms: i64,
    /// Number of points.
    pub points: u64,
    /// Number of tracked paths.
    pub tracked: u64,
    /// Different contents of its paths: what a copy of each version would be.
    pub versions: u64,
    /// Bytes of all these versions.
    pub version_bytes: u64,
    /// Bytes on disk of the contents it refers to, shared ones included.
    pub stored_bytes: u64,
    /// Bytes on disk of the contents that no other session refers to.
    pub own_bytes: u64,
}

/// One path, over all sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathStats {
    /// The absolute path.
    pub path: PathBuf,
    /// Different contents.
    pub versions: u64,
    /// Bytes of all these versions.
    pub version_bytes: u64,
    /// Bytes on disk of these contents, shared ones included.
    pub stored_bytes: u64,
}

/// What the directory of the store takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskStats {
    /// Number of segments.
    pub segments: u64,
    /// Bytes of all segments.
    pub segment_bytes: u64,
    /// Bytes in segments that something needs.
    pub live_bytes: u64,
    /// Bytes of journal records that a rebuild of the index would need.
    pub journal_bytes: u64,
    /// Bytes of objects that nothing needs any more, in segments and large files: the next collection drops them.
    pub garbage_bytes: u64,
    /// Bytes in segments that belong to nothing: frames around records, records moved or dropped before. They go when
    /// their segment is rewritten.
    pub slack_bytes: u64,
    /// Bytes of large contents.
    pub large_bytes: u64,
    /// Bytes of the index.
    pub index_bytes: u64,
    /// Bytes of what `fsck --repair` set aside.
    pub quarantine_bytes: u64,
    /// Bytes of everything in the directory.
    pub total_bytes: u64,
}

/// What a store holds, and what that takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// Number of points.
    pub points: u64,
    /// Different contents per session and path.
    pub versions: u64,
    /// Bytes of all these versions: what plain copies would take.
    pub version_bytes: u64,
    /// Contents stored by themselves.
    pub full: FormStats,
    /// Contents stored as differences.
    pub deltas: FormStats,
    /// Contents in files of their own.
    pub large: FormStats,
    /// Nodes of manifests.
    pub nodes: FormStats,
    /// The directory.
    pub disk: DiskStats,
    /// Contents and nodes that were damaged, and whose loss was recorded.
    pub lost_objects: u64,
    /// Manifest nodes that could not be read: what they hold is missing in the figures.
    pub unreadable_nodes: u64,
    /// By bytes on disk, largest first.
    pub sessions: Vec<SessionStats>,
    /// By bytes on disk, largest first.
    pub paths: Vec<PathStats>,
}

impl StoreStats {
    /// All contents.
    pub fn contents(&self) -> FormStats {
        let forms = [self.full, self.deltas, self.large];
        forms.into_iter().fold(FormStats::default(), |sum, form| FormStats {
            objects: sum.objects + form.objects,
            raw_bytes: sum.raw_bytes + form.raw_bytes,
            stored_bytes: sum.stored_bytes + form.stored_bytes,
        })
    }
}

impl Store {
    /// Counts everything. Reads each manifest node once per session.
    pub fn stats(&self) -> Result<StoreStats> {
        let inner = self.inner();
        let count = || inner.read(|rows| count::count(rows, &inner.reader));
        let mut stats = count()?;
        if stats.unreadable_nodes > 0 {
            // A collection may have moved them meanwhile.
            inner.reader.forget_files();
            stats = count()?;
        }
        disk::measure(&*inner.io, &inner.path, &mut stats.disk)?;
        Ok(stats)
    }
}

#[cfg(test)]
mod tests;
