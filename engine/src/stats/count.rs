//! Counts objects, and the versions that points and originals name.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

use crate::error::Result;
use crate::hash::Hash;
use crate::index::rows::{ObjectKind, Place};
use crate::index::tables::{Rows, RowsExt as _};
use crate::io::bytes_path;
use crate::object::read::ObjectReader;
use crate::stats::garbage::Objects;
use crate::stats::{PathStats, SessionStats, StoreStats};
use crate::tree::{Entry, Node, Roots, TrackedPath};

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

/// Counts everything but the sizes of files.
pub(super) fn count(rows: &dyn Rows, reader: &ObjectReader) -> Result<StoreStats> {
    let counter = Counter { reader, stats: StoreStats::default(), contents: HashMap::new(), paths: BTreeMap::new() };
    counter.count(rows)
}

struct Counter<'a> {
    reader: &'a ObjectReader,
    stats: StoreStats,
    contents: HashMap<Hash, Content>,
    paths: BTreeMap<PathBuf, HashSet<Hash>>,
}

impl Counter<'_> {
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
        let mut objects = Objects::read(rows)?;
        self.stats.unreadable_nodes += objects.drop_garbage(rows, self.reader)?;
        let stats = &mut self.stats;
        let mut row_bytes = 0;
        for (hash, object) in objects.all() {
            let row = &object.row;
            if row.is_lost() {
                stats.lost_objects += 1;
                continue;
            }
            let in_segment = matches!(row.place, Place::Segment { .. });
            if in_segment {
                row_bytes += row.stored_len();
            }
            if object.is_garbage {
                stats.disk.garbage_bytes += row.stored_len();
                continue;
            }
            if in_segment {
                stats.disk.live_bytes += row.stored_len();
            }
            match (row.kind, row.place, row.base) {
                (ObjectKind::Node, ..) => stats.nodes.add(row),
                (ObjectKind::Blob, Place::Large { .. }, _) => stats.large.add(row),
                (ObjectKind::Blob, _, Some(_)) => stats.deltas.add(row),
                (ObjectKind::Blob, _, None) => stats.full.add(row),
            }
            if row.kind == ObjectKind::Blob {
                let (raw_bytes, stored_bytes) = (row.raw_len, row.stored_len());
                self.contents.insert(*hash, Content { raw_bytes, stored_bytes, owner: Owner::None });
            }
        }
        stats.disk.journal_bytes = rows.segments()?.iter().map(|(_, row)| row.journal_bytes).sum();
        // Completed by the size of the files, see `disk::measure`.
        stats.disk.slack_bytes = row_bytes + stats.disk.journal_bytes;
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
