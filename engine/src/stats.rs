//! What a store holds, and what that takes on disk.
//!
//! Everything is counted from one read transaction; a manifest that cannot be read is counted as unreadable and makes
//! nothing fail, so that a damaged store can be looked at.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::error::{IoContext as _, Result};
use crate::hash::Hash;
use crate::index::INDEX_FILE;
use crate::index::rows::{ObjectKind, ObjectRow, Place};
use crate::index::tables::{Rows, RowsExt as _};
use crate::io::{FileKind, Io, bytes_path, is_absent};
use crate::object::read::ObjectReader;
use crate::store::Store;
use crate::tree::{Entry, Node, Roots, TrackedPath};

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
        let count = || inner.read(|rows| Counter::new(&inner.reader).count(rows));
        let mut stats = count()?;
        if stats.unreadable_nodes > 0 {
            // A collection may have moved them meanwhile.
            inner.reader.forget_files();
            stats = count()?;
        }
        measure_disk(&*inner.io, &inner.path, &mut stats.disk)?;
        Ok(stats)
    }
}

/// A content, and which sessions refer to it.
struct Content {
    raw_bytes: u64,
    stored_bytes: u64,
    owner: Owner,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    None,
    One(usize),
    Several,
}

struct Counter<'a> {
    reader: &'a ObjectReader,
    stats: StoreStats,
    contents: HashMap<Hash, Content>,
    paths: BTreeMap<PathBuf, HashSet<Hash>>,
}

impl<'a> Counter<'a> {
    fn new(reader: &'a ObjectReader) -> Self {
        Self { reader, stats: StoreStats::default(), contents: HashMap::new(), paths: BTreeMap::new() }
    }

    fn count(mut self, rows: &dyn Rows) -> Result<StoreStats> {
        self.count_objects(rows)?;
        for (number, (id, row)) in rows.sessions()?.into_iter().enumerate() {
            let cwd = bytes_path(&row.cwd);
            let originals = rows.originals(&row)?;
            let points = rows.points(&id)?;
            let mut versions: HashSet<(TrackedPath, Hash)> = HashSet::new();
            let mut visited = HashSet::new();
            for (path, (_, entry)) in &originals {
                versions.extend(entry.content().map(|content| (path.clone(), content)));
            }
            for (_, point) in &points {
                self.count_manifest(rows, point.roots, &mut visited, &mut versions);
            }
            self.stats.points += points.len() as u64;
            self.add_session(
                number,
                SessionStats {
                    id,
                    cwd,
                    last_event_ms: row.last_event_ms,
                    points: points.len() as u64,
                    tracked: originals.len() as u64,
                    versions: versions.len() as u64,
                    version_bytes: 0,
                    stored_bytes: 0,
                    own_bytes: 0,
                },
                versions,
            );
        }
        Ok(self.finish())
    }

    fn count_objects(&mut self, rows: &dyn Rows) -> Result<()> {
        let mut row_bytes = 0;
        rows.each_object(&mut |hash, row| {
            let stats = &mut self.stats;
            if row.is_lost() {
                stats.lost_objects += 1;
                return Ok(());
            }
            let in_segment = matches!(row.place, Place::Segment { .. });
            let dead = row.refs == 0 && row.base_refs == 0;
            if in_segment {
                row_bytes += row.stored_len();
            }
            if dead {
                stats.disk.garbage_bytes += row.stored_len();
                return Ok(());
            }
            if in_segment {
                stats.disk.live_bytes += row.stored_len();
            }
            match (row.kind, row.place, row.base) {
                (ObjectKind::Node, ..) => stats.nodes.add(&row),
                (ObjectKind::Blob, Place::Large { .. }, _) => stats.large.add(&row),
                (ObjectKind::Blob, _, Some(_)) => stats.deltas.add(&row),
                (ObjectKind::Blob, _, None) => stats.full.add(&row),
            }
            if row.kind == ObjectKind::Blob {
                let (raw_bytes, stored_bytes) = (row.raw_len, row.stored_len());
                self.contents.insert(hash, Content { raw_bytes, stored_bytes, owner: Owner::None });
            }
            Ok(())
        })?;
        self.stats.disk.journal_bytes = rows.segments()?.iter().map(|(_, row)| row.journal_bytes).sum();
        // Completed by the size of the files, see `measure_disk`.
        self.stats.disk.slack_bytes = row_bytes + self.stats.disk.journal_bytes;
        Ok(())
    }

    fn count_manifest(
        &mut self,
        rows: &dyn Rows,
        roots: Roots,
        visited: &mut HashSet<(bool, Hash)>,
        versions: &mut HashSet<(TrackedPath, Hash)>,
    ) {
        let mut waiting: Vec<(bool, Hash)> = Vec::new();
        waiting.extend(roots.workspace.map(|root| (false, root)));
        waiting.extend(roots.absolute.map(|root| (true, root)));
        // Each node once: made-up nodes cannot lead in circles, and points share most of theirs.
        while let Some((absolute, hash)) = waiting.pop() {
            if !visited.insert((absolute, hash)) {
                continue;
            }
            match self.reader.node(rows, hash) {
                Ok(Node::Inner { children, .. }) => {
                    waiting.extend(children.into_iter().map(|child| (absolute, child.hash)));
                }
                Ok(Node::Leaf(entries)) => {
                    for (path, entry) in entries {
                        let Entry::File { content, .. } = entry else { continue };
                        let path = if absolute { TrackedPath::Absolute(path) } else { TrackedPath::Workspace(path) };
                        versions.insert((path, content));
                    }
                }
                Err(_) => self.stats.unreadable_nodes += 1,
            }
        }
    }

    fn add_session(&mut self, number: usize, mut session: SessionStats, versions: HashSet<(TrackedPath, Hash)>) {
        let mut seen = HashSet::new();
        for (path, hash) in versions {
            if let Some(content) = self.contents.get_mut(&hash) {
                session.version_bytes += content.raw_bytes;
                if seen.insert(hash) {
                    session.stored_bytes += content.stored_bytes;
                    content.owner = match content.owner {
                        Owner::None => Owner::One(number),
                        _ => Owner::Several,
                    };
                }
            }
            self.paths.entry(path.resolve(&session.cwd)).or_default().insert(hash);
        }
        self.stats.versions += session.versions;
        self.stats.version_bytes += session.version_bytes;
        self.stats.sessions.push(session);
    }

    fn finish(mut self) -> StoreStats {
        for content in self.contents.values() {
            if let Owner::One(number) = content.owner {
                self.stats.sessions[number].own_bytes += content.stored_bytes;
            }
        }
        for (path, hashes) in &self.paths {
            let contents = || hashes.iter().filter_map(|hash| self.contents.get(hash));
            self.stats.paths.push(PathStats {
                path: path.clone(),
                versions: hashes.len() as u64,
                version_bytes: contents().map(|content| content.raw_bytes).sum(),
                stored_bytes: contents().map(|content| content.stored_bytes).sum(),
            });
        }
        self.stats.paths.sort_by(|a, b| b.stored_bytes.cmp(&a.stored_bytes).then_with(|| a.path.cmp(&b.path)));
        self.stats.sessions.sort_by(|a, b| b.stored_bytes.cmp(&a.stored_bytes).then_with(|| a.id.cmp(&b.id)));
        self.stats
    }
}

/// Sizes of the files. Those that vanish meanwhile count as nothing.
fn measure_disk(io: &dyn Io, store: &Path, disk: &mut DiskStats) -> Result<()> {
    let known = std::mem::take(&mut disk.slack_bytes);
    let (segments, segment_bytes) = tree_bytes(io, &store.join("segments"))?;
    disk.segments = segments;
    disk.segment_bytes = segment_bytes;
    disk.slack_bytes = segment_bytes.saturating_sub(known);
    disk.large_bytes = tree_bytes(io, &store.join("large"))?.1;
    disk.quarantine_bytes = tree_bytes(io, &store.join("quarantine"))?.1;
    disk.index_bytes = tree_bytes(io, &store.join(INDEX_FILE))?.1;
    disk.total_bytes = tree_bytes(io, store)?.1;
    Ok(())
}

/// Number and bytes of the files at and below a path.
fn tree_bytes(io: &dyn Io, path: &Path) -> Result<(u64, u64)> {
    let stat = match io.stat(path) {
        Ok(stat) => stat,
        Err(error) if is_absent(&error) => return Ok((0, 0)),
        Err(error) => return Err(crate::Error::io("look at", path, error)),
    };
    if stat.kind != FileKind::Dir {
        return Ok((1, stat.size));
    }
    let names = match io.list(path) {
        Err(error) if is_absent(&error) => return Ok((0, 0)),
        names => names.context("list", path)?,
    };
    let mut sum = (0, 0);
    for name in names {
        let (files, bytes) = tree_bytes(io, &path.join(bytes_path(&name)))?;
        sum = (sum.0 + files, sum.1 + bytes);
    }
    Ok(sum)
}

#[cfg(test)]
mod tests;
