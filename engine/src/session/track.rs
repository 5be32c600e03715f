//! Tracking: the state of a file before an agent edits it for the first time.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, ErrorKind, IoContext as _, Result};
use crate::hash::Hash;
use crate::index::keys;
use crate::index::tables::{Logical, RowsExt as _};
use crate::io::{FileKind, Stat, is_absent};
use crate::journal::Change;
use crate::limits::BLOB_BYTES_MAX;
use crate::object::large;
use crate::object::pending::{Pending, PendingObject};
use crate::session::{Seen, Session, State, Tracked};
use crate::store::Inner;
use crate::tree::{Entry, NameError, Reason, TrackedPath};
use crate::workspace::{Capture, Captures, Fingerprints, capture, stat_fingerprint};

/// Links followed on the way to a file that does not exist yet.
const LINKS_MAX: u32 = 40;

/// File systems keep times in steps: a change within the step that the capture fell into may leave the times as they
/// were. Linux stamps with its timer tick (up to 10 ms).
const STEP_NS: i128 = 20_000_000;

/// Times without a fraction of a second come from a file system with coarse steps (FAT: 2 s).
const COARSE_STEP_NS: i128 = 2_000_000_000;

/// What became of a request to track.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tracking {
    /// Captured just now: the state before the edit is durable.
    Tracked(Entry),
    /// Was tracked before; nothing was done.
    Already,
    /// Not captured.
    Skipped {
        /// Why.
        reason: Reason,
        /// More about it, for people.
        detail: Option<String>,
    },
}

/// Answer to [`Session::track`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackOutcome {
    /// What was done.
    pub tracking: Tracking,
    /// The path with every link followed: the identity of the file.
    pub path: PathBuf,
    /// True when no link lies on the way: asking again for this spelling is needless while it is tracked.
    pub cacheable: bool,
}

/// A capture that is ready to be stored.
pub(super) struct Captured {
    pub(super) entry: Entry,
    pub(super) stat: Option<Stat>,
    pub(super) trusted: bool,
    pub(super) detail: Option<String>,
    /// Bytes that may have to be stored.
    pub(super) bytes: Option<Arc<[u8]>>,
}

impl Captured {
    pub(super) fn seen(&self) -> Seen {
        Seen { stat: self.stat, entry: self.entry.clone(), trusted: self.trusted }
    }
}

/// Whether a later change must show in the times of a file captured at `now_ms`.
fn is_trusted(stat: &Stat, now_ms: i64) -> bool {
    let newest = stat.mtime_ns.max(stat.ctime_ns);
    let coarse = stat.mtime_ns % 1_000_000_000 == 0 && stat.ctime_ns % 1_000_000_000 == 0;
    let step = if coarse { COARSE_STEP_NS } else { STEP_NS };
    newest + step < i128::from(now_ms) * 1_000_000
}

/// The path with every symbolic link followed, also where its end does not exist yet.
pub(crate) fn resolve(inner: &Inner, path: &Path) -> Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        match inner.io.real_path(&path) {
            Ok(real) => return Ok(real),
            Err(error) if is_absent(&error) => {}
            Err(error) => return Err(Error::io("resolve", &path, error)),
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(path) };
        let parent = resolve(inner, parent)?;
        let whole = parent.join(name);
        // A link that points to nothing: the tool will create what it points to.
        match inner.io.stat(&whole) {
            Ok(stat) if stat.kind == FileKind::Symlink => {
                let target = inner
                    .io
                    .open_dir(&parent)
                    .and_then(|dir| dir.read_link(crate::io::path_bytes(Path::new(name))))
                    .context("read the link", &whole)?;
                path = lexical(&parent.join(crate::io::bytes_path(&target)));
            }
            _ => return Ok(whole),
        }
    }
    Err(Error::new(ErrorKind::BadName, "resolve").at(path).cause("too many links"))
}

/// Removes `.` and `..` by the letters of the path.
fn lexical(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// Captures a file; a large one is streamed into the store at once, so that its bytes need no memory.
pub(super) fn capture_file(
    inner: &Inner,
    captures: &mut Captures,
    path: &Path,
    max_bytes: u64,
    large: &mut Vec<large::StoredLarge>,
) -> Result<Captured> {
    let now_ms = inner.io.now_ms();
    let limit = if max_bytes == 0 { u64::MAX } else { max_bytes };
    let without_bytes = |entry, stat, detail| Captured { entry, stat, trusted: false, detail, bytes: None };
    Ok(match captures.capture(&*inner.io, path, limit)? {
        Capture::Absent => Captured { trusted: true, ..without_bytes(Entry::Absent, None, None) },
        Capture::NotCaptured { reason, detail } => without_bytes(Entry::NotCaptured { reason }, None, detail),
        Capture::File { stat, bytes } => Captured {
            entry: Entry::File { content: Hash::of_blob(&bytes), size: bytes.len() as u64, mode: stat.mode },
            stat: Some(stat),
            trusted: is_trusted(&stat, now_ms),
            detail: None,
            bytes: Some(bytes),
        },
        Capture::Large { stat, file } => {
            let stored = large::store(&inner.io, &inner.path, &*file, path)?;
            let after = file.stat().context("look at", path)?;
            let moved = (after.size, after.mtime_ns, after.ctime_ns) != (stat.size, stat.mtime_ns, stat.ctime_ns);
            if moved || stored.raw_len != stat.size {
                let _ = inner.io.remove_file(&large::large_path(&inner.path, stored.content, stored.file));
                let reason = Reason::Unstable;
                return Ok(without_bytes(Entry::NotCaptured { reason }, None, None));
            }
            let entry = Entry::File { content: stored.content, size: stored.raw_len, mode: stat.mode };
            large.push(stored);
            Captured { trusted: is_trusted(&stat, now_ms), ..without_bytes(entry, Some(stat), None) }
        }
    })
}

/// Resolves many paths and looks at each directory once.
pub(super) struct Resolver<'a> {
    inner: &'a Inner,
    /// Directory as spelled -> resolved, and whether it is or lies in the store.
    directories: HashMap<PathBuf, (PathBuf, bool)>,
    /// For the looks at the files themselves.
    fingerprints: Fingerprints,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(inner: &'a Inner) -> Self {
        Self { inner, directories: HashMap::new(), fingerprints: Fingerprints::default() }
    }

    /// Whether the path is, or lies in, the store itself: by identity, whatever it is called.
    fn is_in_store(&self, path: &Path) -> bool {
        let store = self.inner.identity();
        path.ancestors().any(|ancestor| self.inner.io.stat(ancestor).is_ok_and(|stat| stat.identity() == store))
    }

    /// The resolved path, and whether it lies in the store.
    pub(super) fn resolve(&mut self, path: &Path) -> Result<(PathBuf, bool)> {
        if let (Some(parent), Some(name)) = (path.parent(), path.file_name()) {
            let known = self.directories.get(parent).cloned();
            let again = known.is_some();
            let (directory, in_store) = match known {
                Some(known) => known,
                None => {
                    let directory = resolve(self.inner, parent)?;
                    let known = (directory.clone(), self.is_in_store(&directory));
                    self.directories.insert(parent.to_path_buf(), known.clone());
                    known
                }
            };
            let whole = directory.join(name);
            let io = &*self.inner.io;
            // Keeping a directory open pays from its second file on.
            let found = if again { self.fingerprints.of(io, &whole)? } else { stat_fingerprint(io, &whole)? };
            match found {
                Some(stat) if stat.kind == FileKind::File => return Ok((whole, in_store)),
                None => return Ok((whole, in_store)),
                // A link, a directory, an error: the slow way knows what to make of it.
                _ => {}
            }
        }
        let resolved = resolve(self.inner, path)?;
        let in_store = self.is_in_store(&resolved);
        Ok((resolved, in_store))
    }
}

impl Session {
    /// Why a resolved path must not be tracked at all.
    pub(super) fn refusal(&self, spelled: &Path, resolved: &Path, in_store: bool) -> Option<Reason> {
        if self.excludes.is_excluded(resolved) || self.excludes.is_excluded(spelled) {
            Some(Reason::Excluded)
        } else if in_store {
            Some(Reason::Store)
        } else {
            None
        }
    }

    /// Before a tool runs: makes the file's state durable if the path is new.
    pub fn track(&self, path: &Path) -> Result<TrackOutcome> {
        if !path.is_absolute() {
            return Err(Error::new(ErrorKind::BadArgument, "track").at(path).cause("the path is not absolute"));
        }
        let (resolved, in_store) = Resolver::new(&self.inner).resolve(path)?;
        let outcome = |tracking| TrackOutcome { tracking, path: resolved.clone(), cacheable: resolved == path };
        let key = match TrackedPath::new(&self.cwd, &resolved) {
            Ok(key) => key,
            // The workspace itself, or the root: directories without a name below a root.
            Err(NameError::Empty) => {
                return Ok(outcome(Tracking::Skipped { reason: Reason::NotAFile, detail: None }));
            }
            Err(error) => return Err(Error::new(ErrorKind::BadName, "track").at(path).because(error)),
        };
        let mut state = self.lock_state();
        self.refresh(&mut state)?;
        if state.tracked.contains_key(&key) {
            return Ok(outcome(Tracking::Already));
        }
        let skipped = |reason, detail| Ok(outcome(Tracking::Skipped { reason, detail }));
        if let Some(reason) = self.refusal(path, &resolved, in_store) {
            return skipped(reason, None);
        }
        let mut pending = Pending::default();
        let captured =
            capture_file(&self.inner, &mut Captures::default(), &resolved, self.max_file_bytes, &mut pending.large)?;
        if let Entry::NotCaptured { reason } = captured.entry {
            return skipped(reason, captured.detail);
        }
        // Always: a look at what the store has already would be outdated if a collection came in between.
        if let (Some(bytes), Some(content)) = (&captured.bytes, captured.entry.content()) {
            debug_assert!(bytes.len() as u64 <= BLOB_BYTES_MAX);
            pending.add(PendingObject::blob(content, Arc::clone(bytes), None));
        }
        // What a shell removed a moment ago was there when the turn began.
        let glimpse = state.glimpses.get(&key).filter(|_| captured.entry == Entry::Absent);
        if let Some(glimpse) = glimpse {
            glimpse.store(&mut pending);
        }
        let original = glimpse.map_or_else(|| captured.entry.clone(), |glimpse| glimpse.entry.clone());
        let paths = vec![(key.clone(), original.clone())];
        let changes = vec![Change::Tracked { session: self.id.clone(), paths }];
        let known = state.revision;
        let revision = self
            .inner
            .commit(&mut pending, |rows, order| Ok(Some((changes, self.revision_after(rows, known, order)?))))?;
        self.keep_bytes(&pending);
        state.revision = revision.unwrap_or(known);
        state.new_paths.insert(key.clone());
        state.tracked.insert(key, Tracked { original: original.clone(), seen: Some(captured.seen()) });
        Ok(outcome(Tracking::Tracked(original)))
    }

    /// Remembers what was just stored: the bases of the next deltas.
    pub(super) fn keep_bytes(&self, pending: &Pending) {
        for object in pending.objects() {
            if object.bytes.len() as u64 == object.raw_len {
                self.inner.reader.cache().put(object.hash, &object.bytes);
            }
        }
    }

    /// After a tool ran: notes what the file looks like, so that changes by hand can be told later. With `failed`, a
    /// path that was tracked since the last point and is unchanged is forgotten, so that a later edit by hand is not
    /// taken for the agent's.
    pub fn tool_done(&self, path: &Path, failed: bool) -> Result<()> {
        let resolved = resolve(&self.inner, path)?;
        let Ok(key) = TrackedPath::new(&self.cwd, &resolved) else { return Ok(()) };
        let mut state = self.lock_state();
        self.refresh(&mut state)?;
        let Some(tracked) = state.tracked.get(&key) else { return Ok(()) };
        let note_key = keys::session_path(&self.id, &key);
        let note: Option<Entry> = self.inner.read(|rows| rows.get(Logical::Notes, &note_key))?;
        let now = self.look(&resolved, note.as_ref())?;
        let before = tracked.seen.as_ref().map_or(&tracked.original, |seen| &seen.entry);
        if failed && now == *before && state.new_paths.contains(&key) {
            return self.untrack(&mut state, &key);
        }
        if note.as_ref() == Some(&now) {
            return Ok(());
        }
        // Durable at once: with an older note the agent's own bytes would look like an edit by hand after a crash.
        let change = Change::Noted { session: self.id.clone(), paths: vec![(key, now)] };
        self.inner.commit(&mut Pending::default(), |_, _| Ok(Some((vec![change], ()))))?;
        Ok(())
    }

    /// The state of a file, hashed but not stored. Large contents are told by their size alone.
    fn look(&self, path: &Path, note: Option<&Entry>) -> Result<Entry> {
        Ok(match capture(&*self.inner.io, path, BLOB_BYTES_MAX)? {
            Capture::Absent => Entry::Absent,
            Capture::File { stat, bytes } => {
                Entry::File { content: Hash::of_blob(&bytes), size: stat.size, mode: stat.mode }
            }
            Capture::NotCaptured { reason, .. } => Entry::NotCaptured { reason },
            Capture::Large { .. } => note.cloned().unwrap_or(Entry::NotCaptured { reason: Reason::TooLarge }),
        })
    }

    fn untrack(&self, state: &mut State, key: &TrackedPath) -> Result<()> {
        let change = Change::Untracked { session: self.id.clone(), path: key.clone() };
        let known = state.revision;
        let revision = self.inner.commit(&mut Pending::default(), |rows, order| {
            Ok(Some((vec![change], self.revision_after(rows, known, order)?)))
        })?;
        state.revision = revision.unwrap_or(known);
        state.tracked.remove(key);
        state.new_paths.remove(key);
        Ok(())
    }
}
