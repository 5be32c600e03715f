//! Finding points and what they hold: questions of people and programs that look at a history from outside.

use crate::error::{Error, ErrorKind, Result};
use crate::index::keys;
use crate::index::rows::PointRow;
use crate::index::tables::{Logical, Rows as _, RowsExt as _};
use crate::io::bytes_path;
use crate::session::{Point, SessionSummary};
use crate::store::Store;
use crate::tree::{Entry, ManifestPath, Node, Roots, TrackedPath};

impl Store {
    /// Points whose identifier begins with these hex digits, in the order of identifiers, at most `max`.
    pub fn points_with_prefix(&self, prefix: &str, max: usize) -> Result<Vec<Point>> {
        let bad = || Error::new(ErrorKind::BadName, "find the point").cause(format!("'{prefix}' is not hexadecimal"));
        if !prefix.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(bad());
        }
        let prefix = prefix.to_ascii_lowercase();
        let whole_bytes = crate::hash::hex_decode(&prefix[..prefix.len() / 2 * 2]).ok_or_else(bad)?;
        self.inner().read(|rows| {
            let mut found = Vec::new();
            rows.scan_raw(Logical::PointIds, &whole_bytes, &mut |id, place| {
                if crate::hash::hex_encode(id).starts_with(&prefix) {
                    found.push(place.to_vec());
                }
                Ok(found.len() < max)
            })?;
            let mut points = Vec::with_capacity(found.len());
            for place in found {
                let Some((session, seq)) = keys::parse_numbered(&place) else { continue };
                points.extend(rows.point(session, seq)?.map(|row| Point::new(session, seq, row)));
            }
            Ok(points)
        })
    }

    /// All points of all sessions at one moment; those of a session together, oldest first.
    pub fn all_points(&self) -> Result<Vec<Point>> {
        self.inner().read(|rows| {
            let mut points = Vec::new();
            rows.scan::<PointRow>(Logical::Points, b"", &mut |key, row| {
                if let Some((session, seq)) = keys::parse_numbered(key) {
                    points.push(Point::new(session, seq, row));
                }
                Ok(())
            })?;
            Ok(points)
        })
    }

    /// One session; `None` when the store has no history of it.
    pub fn session_summary(&self, id: &str) -> Result<Option<SessionSummary>> {
        self.inner().read(|rows| {
            let Some(row) = rows.session(id)? else { return Ok(None) };
            Ok(Some(SessionSummary {
                id: id.to_owned(),
                cwd: bytes_path(&row.cwd),
                created_ms: row.created_ms,
                last_event_ms: row.last_event_ms,
                last_order: row.last_order,
                forked_from: row.forked_from,
                points: rows.points(id)?.len() as u64,
            }))
        })
    }

    /// The tracked paths of a session with their states before the first edit, without opening the session.
    pub fn session_originals(&self, session: &str) -> Result<Vec<(TrackedPath, Entry)>> {
        self.inner().read(|rows| {
            let row = rows.session_or_error(session)?;
            Ok(rows.originals(&row)?.into_iter().map(|(path, (_, entry))| (path, entry)).collect())
        })
    }

    /// What a point says of one path, read along one branch of its tree; `None` when it does not know the path.
    pub fn entry(&self, roots: Roots, path: &TrackedPath) -> Result<Option<Entry>> {
        let (root, wanted) = match path {
            TrackedPath::Workspace(path) => (roots.workspace, path),
            TrackedPath::Absolute(path) => (roots.absolute, path),
        };
        let Some(root) = root else { return Ok(None) };
        self.inner().read_again_on_damage(|inner, rows| {
            let mut hash = root;
            let mut above = None;
            loop {
                let node = inner.reader.node(rows, hash)?;
                if above.is_some_and(|level| node.level() >= level) {
                    // Levels fall strictly, so that made-up nodes cannot lead in circles.
                    return Err(Error::new(ErrorKind::Corrupt, "read a manifest")
                        .cause(format!("node {hash} is not below its parent")));
                }
                above = Some(node.level());
                match descend(&node, wanted) {
                    Step::Down(child) => hash = child,
                    Step::Found(entry) => return Ok(Some(entry)),
                    Step::Missing => return Ok(None),
                }
            }
        })
    }
}

enum Step {
    Down(crate::hash::Hash),
    Found(Entry),
    Missing,
}

fn descend(node: &Node, wanted: &ManifestPath) -> Step {
    match node {
        Node::Leaf(entries) => match entries.binary_search_by(|(path, _)| path.cmp(wanted)) {
            Ok(at) => Step::Found(entries[at].1.clone()),
            Err(_) => Step::Missing,
        },
        Node::Inner { children, .. } => match children.partition_point(|child| child.first <= *wanted) {
            0 => Step::Missing,
            after => Step::Down(children[after - 1].hash),
        },
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the files of the workspace do not belong to the store")]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::index::rows::PointKind;
    use crate::session::{SessionOptions, SnapshotRequest};
    use crate::store::StoreOptions;

    struct Fixture {
        _folder: tempfile::TempDir,
        cwd: PathBuf,
        store: Store,
    }

    fn fixture() -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let cwd = root.join("work");
        std::fs::create_dir(&cwd).unwrap();
        let store = Store::open(&root.join("store"), &StoreOptions::default()).unwrap();
        Fixture { _folder: folder, cwd, store }
    }

    impl Fixture {
        fn point(&self, session: &str, add: Vec<PathBuf>) -> Point {
            let options =
                SessionOptions { id: session.into(), cwd: self.cwd.clone(), exclude: vec![], max_file_bytes: 0 };
            let session = self.store.open_session(&options).unwrap();
            session.snapshot(&SnapshotRequest { add, ..SnapshotRequest::of(PointKind::Manual) }).unwrap().point
        }
    }

    #[test]
    fn a_point_is_found_by_any_prefix_of_its_identifier() {
        let fixture = fixture();
        let point = fixture.point("a", vec![]);
        fixture.point("b", vec![]);
        let hex = point.id.to_hex();
        for length in [5, 8, 31, 32] {
            let found = fixture.store.points_with_prefix(&hex[..length].to_uppercase(), 9).unwrap();
            assert_eq!(found, std::slice::from_ref(&point), "{length}");
        }
        assert_eq!(fixture.store.points_with_prefix("", 1).unwrap().len(), 1);
        assert_eq!(fixture.store.points_with_prefix("", 9).unwrap().len(), 2);
        let other = if hex.starts_with('f') { "0" } else { "f" };
        assert_eq!(fixture.store.points_with_prefix(&format!("{other}{}", &hex[1..]), 9).unwrap(), []);
        assert_eq!(fixture.store.points_with_prefix("xy", 9).unwrap_err().kind(), ErrorKind::BadName);
    }

    #[test]
    fn all_points_come_session_by_session() {
        let fixture = fixture();
        for session in ["b", "a", "b"] {
            fixture.point(session, vec![]);
        }
        let points = fixture.store.all_points().unwrap();
        let places: Vec<_> = points.iter().map(|point| point.session.as_str()).collect();
        assert_eq!(places, ["a", "b", "b"]);
        assert!(points[1].seq < points[2].seq);
    }

    #[test]
    fn a_session_is_described_without_opening_it() {
        let fixture = fixture();
        fixture.point("a", vec![fixture.cwd.join("new.txt")]);
        assert_eq!(fixture.store.session_summary("b").unwrap(), None);
        assert_eq!(fixture.store.session_summary("a").unwrap().unwrap(), fixture.store.sessions().unwrap()[0]);
        let originals = fixture.store.session_originals("a").unwrap();
        assert_eq!(originals.len(), 1);
        assert_eq!(originals[0].1, Entry::Absent);
    }

    #[test]
    fn each_path_of_a_point_is_found_along_its_branch() {
        let fixture = fixture();
        let names: Vec<String> = (0..500).map(|n| format!("file-{n}.txt")).collect();
        let mut paths = Vec::new();
        for name in &names {
            std::fs::write(fixture.cwd.join(name), name).unwrap();
            paths.push(fixture.cwd.join(name));
        }
        let point = fixture.point("a", paths);
        let entries = fixture.store.entries(point.roots).unwrap();
        assert_eq!(entries.len(), 500);
        for (path, entry) in entries {
            assert_eq!(fixture.store.entry(point.roots, &path).unwrap(), Some(entry), "{path:?}");
        }
        for missing in ["aaa", "file-1", "zzz"] {
            let path = TrackedPath::new(&fixture.cwd, &fixture.cwd.join(missing)).unwrap();
            assert_eq!(fixture.store.entry(point.roots, &path).unwrap(), None);
        }
        let outside = TrackedPath::new(&fixture.cwd, std::path::Path::new("/file-1.txt")).unwrap();
        assert_eq!(fixture.store.entry(point.roots, &outside).unwrap(), None);
    }
}
