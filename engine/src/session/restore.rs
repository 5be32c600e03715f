//! Going back and forward: which state a session means, and the steps around a restore.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};
use crate::id::Id;
use crate::index::keys;
use crate::index::rows::{PointKind, RestoreRow};
use crate::index::tables::{Logical, RowsExt as _};
use crate::io::path_bytes;
use crate::journal::Change;
use crate::object::pending::Pending;
use crate::restore::{self, Applied, CountedPairs, FailedFile, Look, Plan, PlanOptions, Planner, Present, ResumeHow};
use crate::session::manifest::Manifest;
use crate::session::points::Point;
use crate::session::snapshot::SnapshotRequest;
use crate::session::{Session, State};
use crate::tree::{Entry, Roots, TrackedPath};

/// Plans a handle remembers.
const PLANS_MAX: usize = 16;

/// The state to go back to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A point by its identifier.
    Point(Id),
    /// The state before a user message: the point bound to it, else the nearest older one on the branch, else the
    /// states before the first edits.
    Message {
        /// Entry of the message.
        entry: String,
        /// Entries of the branch, oldest first.
        branch: Vec<String>,
    },
    /// Trees by themselves, for instance those of a redo item whose point is gone.
    Trees(Roots),
}

/// What to plan.
#[derive(Clone, Debug)]
pub struct PlanRequest {
    /// The state to go back to.
    pub target: Target,
    /// Restrict to these paths; empty = all tracked paths.
    pub only: Vec<TrackedPath>,
    /// Count lines: a diff for each changed file.
    pub line_counts: bool,
    /// Skip files that were changed by hand since the agent's last edit.
    pub protect_manual_edits: bool,
}

/// A plan and its name for [`Session::apply`].
#[derive(Clone, Debug)]
pub struct PlanTicket {
    /// Valid until the session is closed or 16 newer plans were made.
    pub id: u64,
    /// The point whose state is planned; `None` when the original states alone are used.
    pub point: Option<Id>,
    /// True when something else than what was asked for stands in.
    pub fallback: bool,
    /// What would be done.
    pub plan: Plan,
}

/// What a restore did.
#[derive(Clone, Debug)]
pub struct RestoreReport {
    /// State before it.
    pub redo_point: Point,
    /// Files written, created, deleted or given another mode.
    pub restored: u64,
    /// Files that were as wanted already.
    pub unchanged: u64,
    /// Files left alone.
    pub skipped: u64,
    /// Files that could not be restored.
    pub failed: Vec<FailedFile>,
    /// Paths at which bytes were found that the plan had not seen; they are kept as a point of kind `Kept`.
    pub kept: Vec<TrackedPath>,
    /// Directories that the deletions left empty; they stay.
    pub emptied: Vec<PathBuf>,
}

impl RestoreReport {
    fn new(redo_point: Point, applied: Applied, kept: Kept) -> Self {
        Self {
            redo_point,
            restored: applied.restored,
            unchanged: applied.unchanged,
            skipped: applied.skipped,
            failed: applied.failed,
            kept: kept.paths,
            emptied: applied.emptied,
        }
    }
}

/// A restore that a crash interrupted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfinishedRestore {
    /// Its identifier.
    pub id: Id,
    /// Session that restored.
    pub session: String,
    /// Milliseconds since 1970.
    pub created_ms: i64,
    /// Number of files in it.
    pub files: u64,
    /// State before it.
    pub redo_point: Id,
}

/// Plans by number.
#[derive(Debug, Default)]
pub(super) struct Plans {
    next: u64,
    plans: VecDeque<PlanTicket>,
}

impl Plans {
    fn add(&mut self, mut ticket: PlanTicket) -> PlanTicket {
        self.next += 1;
        ticket.id = self.next;
        if self.plans.len() == PLANS_MAX {
            self.plans.pop_front();
        }
        self.plans.push_back(ticket.clone());
        ticket
    }

    fn get(&self, id: u64) -> Result<&PlanTicket> {
        self.plans.iter().find(|ticket| ticket.id == id).ok_or_else(|| {
            Error::new(ErrorKind::NotFound, "find the plan")
                .cause("it was made too long ago")
                .with_hint("make the plan again")
        })
    }
}

/// The trees that a target means, the point they belong to, and whether something else stands in.
pub(super) fn resolve_target(target: &Target, points: &[Point]) -> Result<(Roots, Option<Id>, bool)> {
    match target {
        Target::Trees(roots) => Ok((*roots, None, false)),
        Target::Point(id) => {
            let point = points.iter().find(|point| point.id == *id);
            let point = point.ok_or_else(|| crate::session::points::no_point(*id))?;
            Ok((point.roots, Some(point.id), false))
        }
        Target::Message { entry, branch } => {
            let bound = |entry: &str| {
                points
                    .iter()
                    .rev()
                    .find(|point| point.kind == PointKind::Operation && point.entry.as_deref() == Some(entry))
            };
            if let Some(point) = bound(entry) {
                return Ok((point.roots, Some(point.id), false));
            }
            let older = branch.iter().take_while(|other| *other != entry).collect::<Vec<_>>();
            match older.into_iter().rev().find_map(|entry| bound(entry)) {
                Some(point) => Ok((point.roots, Some(point.id), true)),
                None => Ok((Roots::default(), None, true)),
            }
        }
    }
}

impl Session {
    /// What going back would do. Writes nothing.
    pub fn plan(&self, request: &PlanRequest) -> Result<PlanTicket> {
        let (roots, point, fallback) = resolve_target(&request.target, &self.points()?)?;
        let mut state = self.lock_state();
        self.refresh(&mut state)?;
        let wanted = |path: &TrackedPath| request.only.is_empty() || request.only.contains(path);
        // Everything is read: what a plan says is what will be done.
        let present = self.present(&state, &wanted, |_| None)?;
        let targets = self.targets(&state, roots, &wanted)?;
        let options =
            PlanOptions { line_counts: request.line_counts, protect_manual_edits: request.protect_manual_edits };
        let plan = Planner::new(&self.inner, &present, options, &CountedPairs::default()).plan(targets);
        Ok(state.plans.add(PlanTicket { id: 0, point, fallback, plan }))
    }

    /// The tracked files as they are now. `known` may tell the state of one without reading it.
    pub(super) fn present(
        &self,
        state: &State,
        wanted: &dyn Fn(&TrackedPath) -> bool,
        mut known: impl FnMut(&TrackedPath) -> Option<Entry>,
    ) -> Result<Present> {
        let mut notes = self.notes()?;
        let paths = state.tracked.keys().filter(|path| wanted(path));
        let looks =
            paths.map(|path| Look { path: path.clone(), note: notes.remove(path), known: known(path) }).collect();
        let bytes_max = if self.max_file_bytes == 0 { u64::MAX } else { self.max_file_bytes };
        Present::look(&self.inner, &self.cwd, looks, bytes_max)
    }

    /// What the agent left behind, also in other processes.
    fn notes(&self) -> Result<BTreeMap<TrackedPath, Entry>> {
        let prefix = keys::session_prefix(&self.id);
        self.inner.read(|rows| {
            let mut notes = BTreeMap::new();
            rows.scan::<Entry>(Logical::Notes, &prefix, &mut |key, entry| {
                if let Some(path) = TrackedPath::from_key(&key[prefix.len()..]) {
                    notes.insert(path, entry);
                }
                Ok(())
            })?;
            Ok(notes)
        })
    }

    /// The wanted state of each tracked path: the point's entry, else the state before the first edit. Paths that are
    /// tracked no more stay as they are, whatever the point says: they are not the agent's.
    pub(super) fn targets(
        &self,
        state: &State,
        roots: Roots,
        wanted: &dyn Fn(&TrackedPath) -> bool,
    ) -> Result<BTreeMap<TrackedPath, Entry>> {
        let mut manifest = self.inner.read_again_on_damage(|inner, rows| Manifest::read(inner, rows, roots))?;
        let tracked = state.tracked.iter().filter(|(path, _)| wanted(path));
        Ok(tracked
            .map(|(path, tracked)| {
                let entry = manifest.entries.remove(path).unwrap_or_else(|| tracked.original.clone());
                (path.clone(), entry)
            })
            .collect())
    }

    /// Unified diff of one file of a plan, from its content now to the planned one. Empty for binary files.
    pub fn diff(&self, plan: u64, path: &TrackedPath) -> Result<String> {
        let plan = self.lock_state().plans.get(plan)?.plan.clone();
        restore::diff(&self.inner, &self.cwd, &plan, path)
    }

    /// Takes the redo point, then restores file by file.
    pub fn apply(&self, plan: u64, points_max: u64) -> Result<RestoreReport> {
        let PlanTicket { plan, point, .. } = self.lock_state().plans.get(plan)?.clone();
        let lock = restore::lock_workspace(&self.inner, &self.cwd)?;
        let request = SnapshotRequest { points_max, ..SnapshotRequest::of(PointKind::RedoPoint) };
        let redo_point = self.snapshot_keeping(&request, point)?.point;
        let mut kept = Kept::default();
        let applied = restore::apply(
            &self.inner,
            &lock,
            &self.id,
            &self.cwd,
            &plan,
            (redo_point.id, redo_point.roots),
            &mut |path, entry, pending| self.keep(&mut kept, path, entry, pending),
        )?;
        Ok(RestoreReport::new(redo_point, applied, kept))
    }

    /// Keeps bytes that no plan had seen as a point of their own, durable when this returns.
    fn keep(&self, kept: &mut Kept, path: &TrackedPath, entry: Entry, mut pending: Pending) -> Result<()> {
        let entries = BTreeMap::from([(path.clone(), entry)]);
        let manifest = Manifest::build(&self.inner, entries, &Manifest::default(), &mut pending);
        self.inner.commit(&mut pending, |rows, _| {
            let seq = rows.session_or_error(&self.id)?.next_seq;
            let point = crate::index::rows::PointRow {
                id: Id::random(),
                kind: PointKind::Kept,
                created_ms: self.inner.io.now_ms(),
                entry: None,
                prompt: Some(path.display()),
                roots: manifest.roots,
                files: 1,
                changed: 1,
                gaps: Vec::new(),
            };
            let change = Change::PointTaken { session: self.id.clone(), seq, point };
            Ok(Some((vec![change], ())))
        })?;
        kept.paths.push(path.clone());
        Ok(())
    }

    /// Restores in this workspace that a crash interrupted, whatever session began them: the files are half restored for
    /// everybody.
    pub fn unfinished_restores(&self) -> Result<Vec<UnfinishedRestore>> {
        if restore::is_restoring(&self.inner, &self.cwd)? {
            // Its owner is alive: it is not interrupted but running.
            return Ok(Vec::new());
        }
        let mut unfinished = Vec::new();
        self.inner.read(|rows| {
            rows.scan::<RestoreRow>(Logical::Restores, b"", &mut |key, row| {
                if row.cwd == path_bytes(&self.cwd)
                    && let Ok(id) = <[u8; 16]>::try_from(key)
                {
                    unfinished.push(UnfinishedRestore {
                        id: Id::from_bytes(id),
                        session: row.session,
                        created_ms: row.created_ms,
                        files: row.steps.len() as u64,
                        redo_point: row.redo_point,
                    });
                }
                Ok(())
            })
        })?;
        Ok(unfinished)
    }

    /// Finishes an interrupted restore or takes it back. Files that match neither side are left alone.
    pub fn resume_restore(&self, id: Id, how: ResumeHow) -> Result<RestoreReport> {
        let lock = restore::lock_workspace(&self.inner, &self.cwd)?;
        let redo_point = self.snapshot(&SnapshotRequest::of(PointKind::RedoPoint))?.point;
        let mut kept = Kept::default();
        let applied = restore::resume(&self.inner, &lock, id, how, &mut |path, entry, pending| {
            self.keep(&mut kept, path, entry, pending)
        })?;
        Ok(RestoreReport::new(redo_point, applied, kept))
    }

    /// The tracked path of an absolute path, by its letters.
    pub fn tracked_path(&self, path: &Path) -> Result<TrackedPath> {
        TrackedPath::new(&self.cwd, path)
            .map_err(|error| Error::new(ErrorKind::BadName, "find the path").at(path).because(error))
    }
}

/// Paths whose unexpected bytes were kept.
#[derive(Debug, Default)]
struct Kept {
    paths: Vec<TrackedPath>,
}
