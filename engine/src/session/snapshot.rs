//! Points: the state of every tracked path at one moment, in one transaction.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use rayon::prelude::*;

use crate::error::{Error, ErrorKind, Result};
use crate::hash::Hash;
use crate::id::Id;
use crate::index::keys;
use crate::index::rows::{PinRow, PointKind, PointRow, RedoRow};
use crate::index::tables::{Logical, Rows as _, RowsExt as _, Tables};
use crate::journal::Change;
use crate::limits::PROMPT_CHARS_MAX;
use crate::object::large::StoredLarge;
use crate::object::pending::{Base, Pending, PendingObject};
use crate::session::manifest::Manifest;
use crate::session::points::Point;
use crate::session::track::{Captured, Resolver, capture_file};
use crate::session::{Session, State, Tracked};
use crate::tree::{Entry, Reason, TrackedPath};
use crate::workspace::{Captures, Fingerprints};

/// Files captured before what is pending may be written: bounds memory.
const CAPTURE_CHUNK: usize = 256;

/// What is pending is written beside the capture of more files from this size on: a sync should be worth it.
const WRITE_EARLY_BYTES: usize = 512 << 10;

/// Captured files, each with what was stored of it at once, and the objects that are new.
type Chunk = (Vec<(Captured, Vec<StoredLarge>)>, Vec<PendingObject>);

/// Files that one thread looks at before another one is started for more: starting it takes as long as some of them.
const PARALLEL_STATS_MIN: usize = 256;

/// Threads that look at most: the directory entries are in memory, and the system's locks on them are shared.
const STAT_THREADS: usize = 4;

/// Captures from which on several threads share them: waking them takes as long as some files.
const PARALLEL_CAPTURES_MIN: usize = 8;

/// How often a point is tried when collections of other processes come in between.
const TRIES: u32 = 4;

/// What point to take.
#[derive(Clone, Debug)]
pub struct SnapshotRequest {
    /// What it is for.
    pub kind: PointKind,
    /// The prompt that follows.
    pub prompt: Option<String>,
    /// User message to bind to, if it is known already.
    pub entry: Option<String>,
    /// Oldest unprotected points above this number are dropped; 0 = no cap.
    pub points_max: u64,
    /// Paths to track from now on, absolute. Their state now is their original state, too.
    pub add: Vec<PathBuf>,
}

impl SnapshotRequest {
    /// A point of `kind` and nothing more.
    pub fn of(kind: PointKind) -> Self {
        Self { kind, prompt: None, entry: None, points_max: 0, add: Vec::new() }
    }
}

/// A path whose content is not in the point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotCaptured {
    /// The absolute path.
    pub path: PathBuf,
    /// Why.
    pub reason: Reason,
    /// More about it, for people.
    pub detail: Option<String>,
}

/// A point that was taken.
#[derive(Clone, Debug)]
pub struct SnapshotOutcome {
    /// The point.
    pub point: Point,
    /// Paths whose content is not in it.
    pub not_captured: Vec<NotCaptured>,
    /// Points that the cap dropped.
    pub dropped: u64,
}

/// A path to look at.
struct Candidate {
    key: TrackedPath,
    path: PathBuf,
    /// Content before: what a delta is made against.
    before: Option<Hash>,
}

/// What a point is made of, once everything is captured.
#[derive(Clone, Copy)]
struct NewPoint<'a> {
    request: &'a SnapshotRequest,
    kept: Option<Id>,
    before: &'a Manifest,
    manifest: &'a Manifest,
    new_keys: &'a [TrackedPath],
}

impl Session {
    /// Takes a point of every tracked path. When this returns, it is durable.
    pub fn snapshot(&self, request: &SnapshotRequest) -> Result<SnapshotOutcome> {
        self.snapshot_keeping(request, None)
    }

    /// The same; the cap leaves `kept` alone, for instance the point that is about to be restored.
    pub(super) fn snapshot_keeping(&self, request: &SnapshotRequest, kept: Option<Id>) -> Result<SnapshotOutcome> {
        let mut state = self.lock_state();
        let mut tries = 1;
        loop {
            match self.try_snapshot(&mut state, request, kept) {
                // What the handle remembered was no longer true, for instance because the last point was dropped and
                // collected by another process: look at everything again.
                Err(error)
                    if tries < TRIES && matches!(error.kind(), ErrorKind::Conflict | ErrorKind::ObjectMissing) =>
                {
                    tries += 1;
                    state.manifest = Some(Manifest::default());
                    for tracked in state.tracked.values_mut() {
                        tracked.seen = None;
                    }
                    self.inner.reader.cache().clear();
                }
                result => return result,
            }
        }
    }

    fn try_snapshot(&self, state: &mut State, request: &SnapshotRequest, kept: Option<Id>) -> Result<SnapshotOutcome> {
        self.refresh(state)?;
        if state.manifest.is_none() {
            state.manifest = Some(self.last_manifest()?);
        }
        let before = state.manifest.take().unwrap_or_default();
        let result = self.snapshot_after(state, request, kept, &before);
        match result {
            Ok((outcome, manifest)) => {
                state.manifest = Some(manifest);
                Ok(outcome)
            }
            Err(error) => {
                state.manifest = Some(before);
                Err(error)
            }
        }
    }

    /// The manifest of the newest point that holds all paths. One that cannot be read only costs time: everything is
    /// looked at again.
    fn last_manifest(&self) -> Result<Manifest> {
        let last = self.inner.read(|rows| {
            let points = rows.points(&self.id)?;
            Ok(points.into_iter().rev().find(|(_, point)| point.kind != PointKind::Kept))
        })?;
        let Some((_, point)) = last else { return Ok(Manifest::default()) };
        Ok(self.inner.read_again_on_damage(|inner, rows| Manifest::read(inner, rows, point.roots)).unwrap_or_default())
    }

    fn snapshot_after(
        &self,
        state: &mut State,
        request: &SnapshotRequest,
        kept: Option<Id>,
        before: &Manifest,
    ) -> Result<(SnapshotOutcome, Manifest)> {
        let mut pending = Pending::default();
        let mut not_captured = Vec::new();
        let mut candidates = Vec::new();
        let looked_at = self.unchanged(state)?;
        let mut entries: BTreeMap<TrackedPath, Entry> = looked_at
            .into_iter()
            .filter_map(|(key, tracked, unchanged)| {
                if unchanged.is_none() {
                    candidates.push(self.candidate(key.clone(), key.resolve(&self.cwd), before, Some(tracked)));
                }
                Some((key.clone(), unchanged?))
            })
            .collect();
        let added = self.added(state, request, before, &mut not_captured)?;
        let mut new_keys: Vec<TrackedPath> = added.iter().map(|candidate| candidate.key.clone()).collect();
        candidates.extend(added);

        let mut captures: BTreeMap<TrackedPath, Captured> = BTreeMap::new();
        for chunk in candidates.chunks(CAPTURE_CHUNK) {
            let (captured, objects) = self.capture_while_writing(chunk, &mut pending)?;
            objects.into_iter().for_each(|object| pending.add(object));
            for (candidate, (captured, large)) in chunk.iter().zip(captured) {
                pending.large.extend(large);
                if let Entry::NotCaptured { reason } = captured.entry
                    && !state.tracked.contains_key(&candidate.key)
                {
                    let detail = captured.detail;
                    not_captured.push(NotCaptured { path: candidate.path.clone(), reason, detail });
                    continue;
                }
                entries.insert(candidate.key.clone(), captured.entry.clone());
                captures.insert(candidate.key.clone(), captured);
            }
        }
        for (key, entry) in &entries {
            if let Entry::NotCaptured { reason } = entry {
                let detail = captures.get(key).and_then(|captured| captured.detail.clone());
                not_captured.push(NotCaptured { path: key.resolve(&self.cwd), reason: *reason, detail });
            }
        }

        new_keys.retain(|key| entries.contains_key(key));
        let manifest = Manifest::build(&self.inner, entries, before, &mut pending);
        let new = NewPoint { request, kept, before, manifest: &manifest, new_keys: &new_keys };
        let (point, dropped) = self.commit_point(state, &new, &mut pending)?;
        self.keep_bytes(&pending);
        for (key, captured) in captures {
            let seen = captured.seen();
            match state.tracked.get_mut(&key) {
                Some(tracked) => tracked.seen = Some(seen),
                None => {
                    let tracked = Tracked { original: captured.entry, seen: Some(seen) };
                    state.tracked.insert(key, tracked);
                }
            }
        }
        state.new_paths.clear();
        state.glimpses.clear();
        Ok((SnapshotOutcome { point, not_captured, dropped }, manifest))
    }

    /// All tracked files, with the entries of those that provably did not change since they were captured.
    pub(super) fn unchanged<'s>(&self, state: &'s State) -> Result<Vec<(&'s TrackedPath, &'s Tracked, Option<Entry>)>> {
        let tracked: Vec<(&TrackedPath, &Tracked)> = state.tracked.iter().collect();
        let io = &*self.inner.io;
        let look = |fingerprints: &mut Fingerprints, (path, tracked): (&'s TrackedPath, &'s Tracked)| {
            let same = match &tracked.seen {
                Some(seen) if seen.trusted => fingerprints.of(io, &path.resolve(&self.cwd))? == seen.stat,
                _ => false,
            };
            let entry = tracked.seen.as_ref().filter(|_| same).map(|seen| seen.entry.clone());
            Ok((path, tracked, entry))
        };
        let part = tracked.len().div_ceil(STAT_THREADS).max(PARALLEL_STATS_MIN);
        let look_at = |part: &[(&'s TrackedPath, &'s Tracked)]| -> Result<Vec<_>> {
            let mut fingerprints = Fingerprints::default();
            part.iter().map(|one| look(&mut fingerprints, *one)).collect()
        };
        // Threads of their own: those of a pool spin for a while when their work is done, and are in the way then.
        std::thread::scope(|scope| {
            let (mine, others) = tracked.split_at(part.min(tracked.len()));
            let others: Vec<_> = others.chunks(part).map(|part| scope.spawn(|| look_at(part))).collect();
            let mut all = look_at(mine)?;
            for other in others {
                all.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
            }
            Ok(all)
        })
    }

    fn candidate(&self, key: TrackedPath, path: PathBuf, before: &Manifest, tracked: Option<&Tracked>) -> Candidate {
        let content = before.entries.get(&key).and_then(Entry::content);
        let content = content.or_else(|| tracked.and_then(|tracked| tracked.original.content()));
        Candidate { key, path, before: content }
    }

    /// The paths that the request adds and that may be tracked.
    fn added(
        &self,
        state: &State,
        request: &SnapshotRequest,
        before: &Manifest,
        not_captured: &mut Vec<NotCaptured>,
    ) -> Result<Vec<Candidate>> {
        let mut added: BTreeMap<TrackedPath, Candidate> = BTreeMap::new();
        if request.add.is_empty() {
            return Ok(Vec::new());
        }
        let place = |resolver: &mut Resolver<'_>, path: &PathBuf| -> Result<Result<(TrackedPath, PathBuf), Reason>> {
            let (resolved, in_store) = resolver.resolve(path)?;
            if let Some(reason) = self.refusal(path, &resolved, in_store) {
                return Ok(Err(reason));
            }
            let key = TrackedPath::new(&self.cwd, &resolved)
                .map_err(|error| Error::new(ErrorKind::BadName, "track").at(path).because(error))?;
            Ok(Ok((key, resolved)))
        };
        let places: Vec<_> = self.inner.pool().install(|| {
            let paths = request.add.par_iter();
            paths.map_init(|| Resolver::new(&self.inner), place).collect::<Result<_>>()
        })?;
        for (path, place) in request.add.iter().zip(places) {
            match place {
                Err(reason) => not_captured.push(NotCaptured { path: path.clone(), reason, detail: None }),
                Ok((key, _)) if state.tracked.contains_key(&key) => {}
                Ok((key, resolved)) => {
                    added.insert(key.clone(), self.candidate(key, resolved, before, None));
                }
            }
        }
        Ok(added.into_values().collect())
    }

    /// Captures the next files while what was captured before them is written and synced.
    fn capture_while_writing(&self, chunk: &[Candidate], pending: &mut Pending) -> Result<Chunk> {
        if pending.unwritten_bytes() < WRITE_EARLY_BYTES {
            return self.capture_chunk(chunk);
        }
        let (written, captured) = std::thread::scope(|scope| {
            let writing = scope.spawn(|| self.inner.flush(pending));
            let captured = self.capture_chunk(chunk);
            (writing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), captured)
        });
        written.and(captured)
    }

    /// Captures files in parallel and encodes what the store does not have.
    fn capture_chunk(&self, chunk: &[Candidate]) -> Result<Chunk> {
        let capture = |captures: &mut Captures, candidate: &Candidate| {
            let mut large = Vec::new();
            let captured = capture_file(&self.inner, captures, &candidate.path, self.max_file_bytes, &mut large)?;
            Ok((captured, large))
        };
        let few = chunk.len() < PARALLEL_CAPTURES_MIN;
        let mut captured: Vec<(Captured, Vec<StoredLarge>)> = if few {
            let mut captures = Captures::default();
            chunk.iter().map(|candidate| capture(&mut captures, candidate)).collect::<Result<_>>()?
        } else {
            let all = || chunk.par_iter().map_init(Captures::default, capture).collect::<Result<_>>();
            self.inner.pool().install(all)?
        };
        let new: Vec<usize> = self.inner.read(|rows| {
            let mut new = Vec::new();
            for (at, (captured, _)) in captured.iter().enumerate() {
                if let (Some(_), Some(content)) = (&captured.bytes, captured.entry.content())
                    && !rows.has_bytes(content)?
                {
                    new.push(at);
                }
            }
            Ok(new)
        })?;
        let encode = |at: &usize| {
            // A base that cannot be read only costs the delta.
            let base: Option<Base> = chunk[*at].before.and_then(|hash| self.inner.delta_base(hash).ok());
            let captured = &captured[*at].0;
            let (bytes, content) = (captured.bytes.as_ref()?, captured.entry.content()?);
            Some(PendingObject::blob(content, Arc::clone(bytes), base.as_ref()))
        };
        let objects: Vec<PendingObject> = if few {
            new.iter().filter_map(encode).collect()
        } else {
            self.inner.pool().install(|| new.par_iter().filter_map(encode).collect())
        };
        captured.iter_mut().for_each(|(captured, _)| captured.bytes = None);
        Ok((captured, objects))
    }

    fn commit_point(&self, state: &mut State, new: &NewPoint<'_>, pending: &mut Pending) -> Result<(Point, u64)> {
        let NewPoint { request, kept, before, manifest, new_keys } = *new;
        let known = state.revision;
        let mut changes = Vec::new();
        if !new_keys.is_empty() {
            let paths = new_keys.iter().map(|key| (key.clone(), manifest.entries[key].clone())).collect();
            changes.push(Change::Tracked { session: self.id.clone(), paths });
        }
        let prompt = request.prompt.as_ref().map(|prompt| prompt.chars().take(PROMPT_CHARS_MAX).collect());
        let row = PointRow {
            id: Id::random(),
            kind: request.kind,
            created_ms: self.inner.io.now_ms(),
            entry: request.entry.clone(),
            prompt,
            roots: manifest.roots,
            files: manifest.entries.len() as u64,
            changed: manifest.changed_since(before),
            gaps: Vec::new(),
        };
        let tracks = !new_keys.is_empty();
        let done = self.inner.commit(pending, |rows, order| {
            // Nodes shared with the point before are taken for granted below; so it must still be there.
            for root in before.roots.hashes() {
                if !rows.object(root)?.is_some_and(|row| row.refs > 0 && row.holds_children) {
                    return Err(Error::new(ErrorKind::Conflict, "take a point").cause("the point before is gone"));
                }
            }
            let session = rows.session_or_error(&self.id)?;
            let seq = session.next_seq;
            changes.push(Change::PointTaken { session: self.id.clone(), seq, point: row.clone() });
            let surplus = self.surplus(rows, request.points_max, request.kind, kept)?;
            let dropped = surplus.len() as u64;
            if dropped > 0 {
                changes.push(Change::PointsDropped { session: self.id.clone(), seqs: surplus });
            }
            let revision = if tracks { self.revision_after(rows, known, order)? } else { known };
            Ok(Some((changes, (Point::new(&self.id, seq, row), dropped, revision))))
        })?;
        let (point, dropped, revision) =
            done.ok_or_else(|| Error::new(ErrorKind::Internal, "take a point").cause("the transaction did nothing"))?;
        state.revision = revision;
        Ok((point, dropped))
    }

    /// The oldest points above the cap. The baseline, pins and what the redo stack names stay.
    fn surplus(&self, rows: &Tables<'_>, points_max: u64, kind: PointKind, kept: Option<Id>) -> Result<Vec<u64>> {
        let counted = |kind| matches!(kind, PointKind::Operation | PointKind::RedoPoint);
        if points_max == 0 || !counted(kind) {
            return Ok(Vec::new());
        }
        // Counting keys is cheap; reading the rows of a long session is not, and is needed only at the cap.
        let mut all: u64 = 0;
        rows.scan_raw(Logical::Points, &keys::session_prefix(&self.id), &mut |_, _| {
            all += 1;
            Ok(true)
        })?;
        if all < points_max {
            return Ok(Vec::new());
        }
        let points: Vec<_> = rows.points(&self.id)?.into_iter().filter(|(_, point)| counted(point.kind)).collect();
        // The new point is one of them, and always stays.
        let Some(mut excess) = (points.len() as u64 + 1).checked_sub(points_max) else { return Ok(Vec::new()) };
        let mut named: Vec<Id> = kept.into_iter().collect();
        rows.scan::<RedoRow>(Logical::Redo, &keys::session_prefix(&self.id), &mut |_, row| {
            named.extend(row.point);
            Ok(())
        })?;
        let mut surplus = Vec::new();
        for (seq, point) in points {
            if excess == 0 {
                break;
            }
            let pinned = rows.get::<PinRow>(Logical::Pins, point.id.as_bytes())?.is_some();
            if !named.contains(&point.id) && !pinned {
                surplus.push(seq);
                excess -= 1;
            }
        }
        Ok(surplus)
    }
}
