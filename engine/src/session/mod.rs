//! A session: the files one conversation of an agent has touched, and the points one can go back to.

mod fork;
mod glimpse;
mod manage;
mod manifest;
mod points;
mod redo;
mod restore;
mod snapshot;
mod survey;
mod track;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, ErrorKind, Result};
use crate::exclude::Excludes;
use crate::hash::hex_encode;
use crate::id::Id;
use crate::index::rows::SessionRow;
use crate::index::tables::{Rows, RowsExt as _, Tables};
use crate::io::{LockMode, Stat, bytes_path, path_bytes};
use crate::journal::Change;
use crate::limits::SESSION_ID_BYTES_MAX;
use crate::lock::Lock;
use crate::object::pending::Pending;
use crate::session::manifest::Manifest;
use crate::store::{Inner, Store};
use crate::tree::{Entry, TrackedPath};

pub use fork::Forked;
pub use manage::SessionSummary;
pub use points::Point;
pub use redo::{NewRedoItem, RedoItem};
pub use restore::{PlanRequest, PlanTicket, RestoreReport, Target, UnfinishedRestore};
pub use snapshot::{NotCaptured, SnapshotOutcome, SnapshotRequest};
pub use survey::SurveyRow;
pub use track::{TrackOutcome, Tracking};

/// How to open a session.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// Identifier, for instance pi's session id: up to 255 bytes without NUL.
    pub id: String,
    /// The workspace: absolute, with every link resolved. Paths below it are stored relative to it.
    pub cwd: PathBuf,
    /// Patterns of files that are never tracked, see [`Excludes`].
    pub exclude: Vec<String>,
    /// Larger files are recorded as too large and never read; 0 = no limit.
    pub max_file_bytes: u64,
}

/// What is known of a tracked path.
#[derive(Clone, Debug)]
struct Tracked {
    original: Entry,
    /// What the last capture saw.
    seen: Option<Seen>,
}

/// A capture and what it takes to believe that the file is still the same.
#[derive(Clone, Debug)]
struct Seen {
    stat: Option<Stat>,
    entry: Entry,
    /// The file's times were old enough at the capture that a later change must show in them.
    trusted: bool,
}

/// What a handle remembers between calls. Everything here is a hint that transactions check again.
#[derive(Debug, Default)]
struct State {
    /// Revision of the tracked set that `tracked` was read at; 0 = not read.
    revision: u64,
    tracked: BTreeMap<TrackedPath, Tracked>,
    manifest: Option<Manifest>,
    /// Paths tracked since the last point.
    new_paths: HashSet<TrackedPath>,
    plans: restore::Plans,
    survey: Option<Arc<survey::Survey>>,
    /// Untracked files that something named since the last point.
    glimpses: HashMap<TrackedPath, glimpse::Glimpse>,
}

/// An open session.
#[derive(Debug)]
pub struct Session {
    inner: Arc<Inner>,
    id: String,
    cwd: PathBuf,
    excludes: Excludes,
    max_file_bytes: u64,
    created: bool,
    state: Mutex<State>,
    /// Held shared while the session is open anywhere, so that nobody expires it.
    _alive: Option<Lock>,
}

/// Checks a session id: it becomes part of keys.
fn check_id(id: &str) -> Result<()> {
    let cause = if id.is_empty() {
        "it is empty"
    } else if id.len() > SESSION_ID_BYTES_MAX {
        "it is longer than 255 bytes"
    } else if id.contains('\0') {
        "it holds a NUL"
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::BadName, "use the session id").cause(cause))
}

/// The lock that every handle of a session holds shared.
fn alive_path(store: &Path, id: &str) -> PathBuf {
    let name = hex_encode(&blake3::hash(id.as_bytes()).as_bytes()[..16]);
    store.join("locks").join(format!("session-{name}"))
}

impl Store {
    /// Opens a session, making it when missing.
    pub fn open_session(&self, options: &SessionOptions) -> Result<Session> {
        check_id(&options.id)?;
        let inner = self.inner();
        if !options.cwd.is_absolute() {
            return Err(Error::new(ErrorKind::BadArgument, "open the session")
                .at(&options.cwd)
                .cause("the working directory is not absolute"));
        }
        // Before anything is written: a bad pattern must not leave a session behind.
        let excludes = Excludes::new(&options.exclude, &options.cwd)?;
        let alive_path = alive_path(&inner.path, &options.id);
        let alive = if inner.read_only.is_some() {
            Lock::wait_existing(&inner.io, &alive_path, LockMode::Shared, inner.deadline())?
        } else {
            Some(Lock::wait(&inner.io, &alive_path, LockMode::Shared, inner.deadline())?)
        };
        let created = match inner.read(|rows| rows.session(&options.id))? {
            Some(row) => {
                // Paths are stored relative to the workspace: with another one they would mean other files.
                if row.cwd != path_bytes(&options.cwd) {
                    return Err(Error::new(ErrorKind::Conflict, "open the session")
                        .at(&options.cwd)
                        .cause(format!("its files lie below {}", bytes_path(&row.cwd).display()))
                        .with_hint("start the agent in the session's own directory"));
                }
                false
            }
            None => {
                let opened = Change::SessionOpened {
                    session: options.id.clone(),
                    cwd: path_bytes(&options.cwd).to_vec(),
                    layer: Id::random(),
                };
                inner
                    .commit(&mut Pending::default(), |rows, _| {
                        Ok(rows.session(&options.id)?.is_none().then(|| (vec![opened], ())))
                    })?
                    .is_some()
            }
        };
        Ok(Session {
            inner: Arc::clone(inner),
            id: options.id.clone(),
            cwd: options.cwd.clone(),
            excludes,
            max_file_bytes: options.max_file_bytes,
            created,
            state: Mutex::default(),
            _alive: alive,
        })
    }
}

impl Session {
    /// Identifier.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The workspace.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Whether opening it made it.
    pub fn created(&self) -> bool {
        self.created
    }

    /// Number of tracked paths.
    pub fn tracked_count(&self) -> Result<usize> {
        let mut state = self.lock_state();
        self.refresh(&mut state)?;
        Ok(state.tracked.len())
    }

    /// Tracked paths with their states before the first edit.
    pub fn originals(&self) -> Result<Vec<(TrackedPath, Entry)>> {
        let mut state = self.lock_state();
        self.refresh(&mut state)?;
        Ok(state.tracked.iter().map(|(path, tracked)| (path.clone(), tracked.original.clone())).collect())
    }

    fn lock_state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| {
            // A panic in the middle of an update: forget what was remembered, the index knows.
            self.state.clear_poison();
            let mut guard = PoisonError::into_inner(poisoned);
            *guard = State::default();
            guard
        })
    }

    /// Reads the tracked set again if another handle or process changed it.
    fn refresh(&self, state: &mut State) -> Result<SessionRow> {
        let (row, fresh) = self.inner.read(|rows| {
            let row = rows.session_or_error(&self.id)?;
            if row.tracked_revision == state.revision {
                return Ok((row, None));
            }
            let originals = rows.originals(&row)?;
            Ok((row, Some(originals)))
        })?;
        if let Some(originals) = fresh {
            let mut before = std::mem::take(&mut state.tracked);
            state.tracked = originals
                .into_iter()
                .map(|(path, (_, original))| {
                    let seen = before.remove(&path).and_then(|tracked| tracked.seen);
                    (path, Tracked { original, seen })
                })
                .collect();
            state.revision = row.tracked_revision;
        }
        Ok(row)
    }

    /// The revision of the tracked set after this handle's own transaction: the transaction's number, if nobody else
    /// changed the set since `known`, so that the next refresh is spared; else `known`, so that it is not.
    fn revision_after(&self, rows: &Tables<'_>, known: u64, order: u64) -> Result<u64> {
        let current = rows.session_or_error(&self.id)?.tracked_revision;
        Ok(if current == known { order } else { known })
    }
}

/// Reads all entries of two trees.
pub(crate) fn read_manifest(inner: &Inner, rows: &dyn Rows, roots: crate::tree::Roots) -> Result<Manifest> {
    Manifest::read(inner, rows, roots)
}
