//! Two states of the same files, and what differs between them.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use candy_store::limits::BLOB_BYTES_MAX;
use candy_store::lines::{self, LineCounts};
use candy_store::tree::{Entry, TrackedPath};
use candy_store::{Point, PointKind, Store};

use crate::disk;
use crate::failure::Result;

/// Longest time for counting the lines of one file.
const FILE_WAIT: Duration = Duration::from_millis(200);

/// States before the first edit, of all paths a session tracks.
pub(crate) type Originals = Rc<BTreeMap<TrackedPath, Entry>>;

/// The states before the first edit of a session.
pub(crate) fn originals(store: &Store, session: &str) -> Result<Originals> {
    Ok(Rc::new(store.session_originals(session)?.into_iter().collect()))
}

/// One state of many files.
#[derive(Debug)]
pub(crate) struct Side {
    entries: BTreeMap<TrackedPath, Entry>,
    /// What a point says of paths that were tracked only after it: their first edit was still to come.
    originals: Originals,
    /// Contents that are not in the store: those of files on disk.
    bytes: BTreeMap<TrackedPath, Arc<[u8]>>,
}

impl Side {
    /// The state of a point.
    pub(crate) fn of_point(store: &Store, point: &Point, originals: Originals) -> Result<Self> {
        let entries = store.entries(point.roots)?.into_iter().collect();
        // A kept version holds one path and says nothing about the others.
        let originals = if point.kind == PointKind::Kept { Originals::default() } else { originals };
        Ok(Self { entries, originals, bytes: BTreeMap::new() })
    }

    /// The files of `other` as they are on disk.
    pub(crate) fn of_disk(other: &Self, workspace: &std::path::Path, wanted: &BTreeSet<TrackedPath>) -> Self {
        let mut side = Self { entries: BTreeMap::new(), originals: Originals::default(), bytes: BTreeMap::new() };
        for path in wanted {
            let found = disk::look(&path.resolve(workspace));
            // Contents of unchanged files are not needed again.
            if other.state(path) != Some(&found.entry)
                && let Some(bytes) = found.bytes
            {
                side.bytes.insert(path.clone(), bytes);
            }
            side.entries.insert(path.clone(), found.entry);
        }
        side
    }

    /// The state of a path; `None` when nothing is known about it.
    pub(crate) fn state(&self, path: &TrackedPath) -> Option<&Entry> {
        self.entries.get(path).or_else(|| self.originals.get(path))
    }

    /// All paths it knows.
    pub(crate) fn paths(&self) -> BTreeSet<TrackedPath> {
        self.entries.keys().chain(self.originals.keys()).cloned().collect()
    }

    /// The content of a path, as far as it is to be shown or counted.
    pub(crate) fn content(&self, store: &Store, path: &TrackedPath) -> Result<Content> {
        if let Some(bytes) = self.bytes.get(path) {
            return Ok(Content::Bytes(Arc::clone(bytes)));
        }
        Ok(match self.state(path) {
            Some(Entry::File { size, .. }) if *size > BLOB_BYTES_MAX => Content::Large,
            Some(Entry::File { content, .. }) => Content::Bytes(store.read_blob(*content)?),
            _ => Content::None,
        })
    }
}

/// A content in memory.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// There is no file.
    None,
    /// Its bytes.
    Bytes(Arc<[u8]>),
    /// Too large to be compared line by line.
    Large,
}

impl Content {
    /// The bytes; `None` where there is no file.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::None | Self::Large => None,
        }
    }
}

/// How a file differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    Created,
    Modified,
    Deleted,
    /// Only its mode.
    Mode,
    /// At least one of the states has no content to compare.
    NotComparable,
}

impl ChangeKind {
    /// A stable word for programs.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
            Self::Mode => "mode",
            Self::NotComparable => "not-comparable",
        }
    }
}

/// A file that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) path: TrackedPath,
    pub(crate) kind: ChangeKind,
    /// `None`: nothing is known about it.
    pub(crate) old: Option<Entry>,
    /// `None`: nothing is known about it.
    pub(crate) new: Option<Entry>,
}

fn kind_of(old: Option<&Entry>, new: Option<&Entry>) -> Option<ChangeKind> {
    if old == new {
        return None;
    }
    Some(match (old, new) {
        (Some(Entry::Absent), Some(Entry::File { .. })) => ChangeKind::Created,
        (Some(Entry::File { .. }), Some(Entry::Absent)) => ChangeKind::Deleted,
        (Some(Entry::File { content: old, .. }), Some(Entry::File { content: new, .. })) => {
            if old == new {
                ChangeKind::Mode
            } else {
                ChangeKind::Modified
            }
        }
        _ => ChangeKind::NotComparable,
    })
}

/// What differs among the wanted paths, in their order.
pub(crate) fn changes(old: &Side, new: &Side, wanted: &BTreeSet<TrackedPath>) -> Vec<Change> {
    wanted
        .iter()
        .filter_map(|path| {
            let (old, new) = (old.state(path), new.state(path));
            let kind = kind_of(old, new)?;
            Some(Change { path: path.clone(), kind, old: old.cloned(), new: new.cloned() })
        })
        .collect()
}

/// Counts the lines of one change.
pub(crate) fn count_lines(
    store: &Store,
    old: &Side,
    new: &Side,
    change: &Change,
    until: Instant,
) -> Result<LineCounts> {
    if matches!(change.kind, ChangeKind::Mode | ChangeKind::NotComparable) {
        return Ok(LineCounts::default());
    }
    let (old, new) = (old.content(store, &change.path)?, new.content(store, &change.path)?);
    Ok(count_contents(&old, &new, until))
}

/// Counts the lines between two contents.
pub(crate) fn count_contents(old: &Content, new: &Content, until: Instant) -> LineCounts {
    if matches!(old, Content::Large) || matches!(new, Content::Large) {
        return lines::count_large();
    }
    lines::count(old.bytes(), new.bytes(), Some(until.min(Instant::now() + FILE_WAIT)))
}

#[cfg(test)]
mod tests {
    use candy_store::Hash;
    use candy_store::tree::Reason;

    use super::*;

    fn file(content: &str, mode: u32) -> Entry {
        Entry::File { content: Hash::of_blob(content.as_bytes()), size: content.len() as u64, mode }
    }

    fn path(name: &str) -> TrackedPath {
        TrackedPath::new("/w".as_ref(), &std::path::Path::new("/w").join(name)).unwrap()
    }

    fn side(entries: &[(&str, Entry)], originals: &[(&str, Entry)]) -> Side {
        let map = |pairs: &[(&str, Entry)]| pairs.iter().map(|(name, entry)| (path(name), entry.clone())).collect();
        Side { entries: map(entries), originals: Rc::new(map(originals)), bytes: BTreeMap::new() }
    }

    #[test]
    fn each_way_to_differ_has_its_word() {
        let lost = Entry::NotCaptured { reason: Reason::TooLarge };
        for (old, new, kind) in [
            (Entry::Absent, file("a", 0o644), Some(ChangeKind::Created)),
            (file("a", 0o644), Entry::Absent, Some(ChangeKind::Deleted)),
            (file("a", 0o644), file("b", 0o644), Some(ChangeKind::Modified)),
            (file("a", 0o644), file("a", 0o755), Some(ChangeKind::Mode)),
            (file("a", 0o644), lost.clone(), Some(ChangeKind::NotComparable)),
            (lost.clone(), lost, None),
            (Entry::Absent, Entry::Absent, None),
        ] {
            assert_eq!(kind_of(Some(&old), Some(&new)), kind, "{old:?} {new:?}");
        }
        assert_eq!(kind_of(None, Some(&Entry::Absent)), Some(ChangeKind::NotComparable));
    }

    #[test]
    fn a_path_that_was_tracked_after_a_point_had_its_original_state_then() {
        let before = side(&[], &[("a", file("original", 0o644))]);
        let after = side(&[("a", file("edited", 0o644))], &[]);
        let found = changes(&before, &after, &before.paths());
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].kind, found[0].old.clone()), (ChangeKind::Modified, Some(file("original", 0o644))));
    }
}
