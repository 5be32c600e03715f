//! The files of a session as they are now: what plans compare their targets with.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;

use crate::error::Result;
use crate::restore::SkipReason;
use crate::store::Inner;
use crate::tree::{Entry, Reason, TrackedPath};
use crate::workspace::{Found, FoundFile, Source, find};

/// Bytes of files that are kept for counting lines; others are read again.
const BYTES_KEPT_MAX: usize = 64 << 20;

/// What is to be looked at.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    pub(crate) path: TrackedPath,
    /// What the agent left behind at its last edit: anything else is a change by hand.
    pub(crate) note: Option<Entry>,
    /// Its state, where that is known without reading it.
    pub(crate) known: Option<Entry>,
}

/// A file as it is now.
#[derive(Clone, Debug)]
pub(crate) struct Now {
    pub(crate) state: Entry,
    /// Why it cannot be replaced, whatever is wanted in its place.
    pub(crate) obstacle: Option<SkipReason>,
    /// Whether it differs from what the agent left behind.
    pub(crate) changed_by_hand: bool,
    bytes: Option<Arc<[u8]>>,
}

/// The files that were looked at.
#[derive(Debug, Default)]
pub(crate) struct Present {
    cwd: PathBuf,
    files: BTreeMap<TrackedPath, Now>,
}

impl Present {
    /// Looks at files, in parallel. Larger ones than `bytes_max` are not read and cannot be replaced.
    pub(crate) fn look(inner: &Inner, cwd: &Path, looks: Vec<Look>, bytes_max: u64) -> Result<Self> {
        let in_store = directories_of_the_store(inner, looks.iter().map(|look| look.path.resolve(cwd)));
        let files: Vec<(TrackedPath, Now)> = inner.pool().install(|| {
            let looks = looks.into_par_iter();
            looks
                .map(|look| {
                    let now = look_at(inner, cwd, &look, bytes_max, &in_store)?;
                    Ok((look.path, now))
                })
                .collect::<Result<_>>()
        })?;
        let mut present = Self { cwd: cwd.to_path_buf(), files: BTreeMap::new() };
        let mut kept = 0;
        for (path, mut now) in files {
            kept += now.bytes.as_ref().map_or(0, |bytes| bytes.len());
            if kept > BYTES_KEPT_MAX {
                now.bytes = None;
            }
            present.files.insert(path, now);
        }
        Ok(present)
    }

    pub(crate) fn get(&self, path: &TrackedPath) -> Option<&Now> {
        self.files.get(path)
    }

    /// The bytes of a plain file that is small enough to be held in memory; `None` for any other.
    pub(crate) fn bytes(&self, inner: &Inner, path: &TrackedPath) -> Option<Arc<[u8]>> {
        let now = self.get(path)?;
        if let Some(bytes) = &now.bytes {
            return Some(Arc::clone(bytes));
        }
        let content = now.state.content()?;
        if let Ok(bytes) = inner.read_object(content) {
            return Some(bytes);
        }
        match find(&*inner.io, &path.resolve(&self.cwd), u64::MAX) {
            Ok(Found::File(FoundFile { source: Source::Bytes(bytes), content: found, .. })) if found == content => {
                Some(bytes)
            }
            _ => None,
        }
    }
}

fn look_at(inner: &Inner, cwd: &Path, look: &Look, bytes_max: u64, in_store: &HashMap<PathBuf, bool>) -> Result<Now> {
    let path = look.path.resolve(cwd);
    let now = |state: Entry, obstacle, bytes| Now {
        changed_by_hand: changed_by_hand(look.note.as_ref(), &state),
        state,
        obstacle,
        bytes,
    };
    if path.parent().is_some_and(|parent| in_store.get(parent) == Some(&true)) {
        let reason = Reason::Store;
        return Ok(now(Entry::NotCaptured { reason }, Some(SkipReason::State(reason)), None));
    }
    if let Some(known) = &look.known {
        return Ok(now(known.clone(), None, None));
    }
    let found = find(&*inner.io, &path, bytes_max)?;
    let state = found.entry();
    Ok(match found {
        Found::Absent => now(state, None, None),
        Found::File(FoundFile { source: Source::Bytes(bytes), .. }) => now(state, None, Some(bytes)),
        Found::File(_) => now(state, None, None),
        Found::Linked(_) => now(state, Some(SkipReason::State(Reason::HardLink)), None),
        Found::Refused { reason, .. } => now(state, Some(SkipReason::State(reason)), None),
    })
}

/// Which of the directories above the paths belong to the store, by identity: links and other spellings do not help.
fn directories_of_the_store(inner: &Inner, paths: impl Iterator<Item = PathBuf>) -> HashMap<PathBuf, bool> {
    let mut known: HashMap<PathBuf, bool> = HashMap::new();
    for path in paths {
        let mut new = Vec::new();
        let mut inside = false;
        for directory in path.ancestors().skip(1) {
            if let Some(known) = known.get(directory) {
                inside = *known;
                break;
            }
            new.push(directory.to_path_buf());
        }
        for directory in new.into_iter().rev() {
            inside = inside || inner.io.stat(&directory).is_ok_and(|stat| stat.identity() == inner.identity());
            known.insert(directory, inside);
        }
    }
    known
}

/// Whether somebody else changed a file since the agent's last edit. What is not known is not held against anybody.
fn changed_by_hand(note: Option<&Entry>, now: &Entry) -> bool {
    match (note, now) {
        (Some(note @ (Entry::Absent | Entry::File { .. })), Entry::Absent | Entry::File { .. }) => note != now,
        _ => false,
    }
}
