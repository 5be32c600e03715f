//! Applying a plan.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::error::{Error, ErrorKind, Result};
use crate::hash::Hash;
use crate::id::Id;
use crate::index::rows::{RestoreRow, RestoreStep};
use crate::index::tables::{Logical, RowsExt as _};
use crate::io::path_bytes;
use crate::journal::Change;
use crate::object::pending::Pending;
use crate::restore::leftover::clear_temporaries;
use crate::restore::plan::{FileAction, Plan, PlannedFile, SkipReason};
use crate::restore::step::{Journalled, keep_found, temporary_name};
use crate::restore::{Applied, FailedFile, Keep, RestoreLock};
use crate::session::read_manifest;
use crate::store::Inner;
use crate::tree::{Entry, Reason, Roots, TrackedPath};
use crate::workspace::{Found, Outcome, find};

/// Files written at the same time.
const WRITERS_MAX: usize = 8;

/// Carries a plan out. `redo` is the point that was taken after the plan was made: what it holds can be gone back to.
///
/// Each file ends with its old or its new bytes; those that fail are named and the others go on. An error means that
/// no file was touched.
pub(crate) fn apply(
    inner: &Inner,
    lock: &RestoreLock,
    session: &str,
    cwd: &Path,
    plan: &Plan,
    redo: (Id, Roots),
    keep: &mut Keep<'_>,
) -> Result<Applied> {
    lock.check(cwd)?;
    let mut applied = Applied::default();
    let unreadable = check_contents(inner, plan);
    let before = inner.read_again_on_damage(|inner, rows| read_manifest(inner, rows, redo.1))?.entries;
    let id = Id::random();
    let mut work = Vec::new();
    for file in &plan.files {
        match file.action {
            FileAction::Unchanged => applied.unchanged += 1,
            FileAction::Skip if file.reason == Some(SkipReason::MissingContent) => {
                applied.failed.push(FailedFile::new(&file.path, &missing_content(file)));
            }
            FileAction::Skip => applied.skipped += 1,
            _ => match before_of(inner, cwd, &before, file, &unreadable, keep) {
                Ok(Before::State(from)) => work.push((step_of(id, work.len(), file, from), file)),
                Ok(Before::LeftAlone { reason, detail }) => applied.refuse(&file.path, reason, detail.as_deref()),
                Err(error) => applied.failed.push(FailedFile::new(&file.path, &error)),
            },
        }
    }
    let older = end_older(inner, session, cwd, plan, keep)?;
    if work.is_empty() {
        if !older.is_empty() {
            applied.journal_error = inner.commit(&mut Pending::default(), |_, _| Ok(Some((older, ())))).err();
        }
        return Ok(applied);
    }
    let (steps, files): (Vec<RestoreStep>, Vec<&PlannedFile>) = work.into_iter().unzip();
    let row = RestoreRow {
        session: session.to_owned(),
        cwd: path_bytes(cwd).to_vec(),
        created_ms: inner.io.now_ms(),
        redo_point: redo.0,
        redo_roots: redo.1,
        steps,
    };
    let mut changes = older;
    changes.push(Change::RestoreBegun { id, restore: row.clone() });
    inner.commit(&mut Pending::default(), |_, _| Ok(Some((changes, ()))))?;
    let restore = Journalled::new(inner, id, row, keep);
    for (file, result) in files.iter().zip(write_all(&restore, &files)) {
        applied.count(&file.path, &file.to, result);
    }
    applied.emptied = emptied(inner, cwd, &files);
    finish(inner, session, (!restore.is_torn()).then_some(id), &mut applied);
    Ok(applied)
}

/// Directories of deleted files that hold nothing any more, but for the workspace itself, which nobody made for a file.
fn emptied(inner: &Inner, cwd: &Path, files: &[&PlannedFile]) -> Vec<PathBuf> {
    let deleted = files.iter().filter(|file| file.action == FileAction::Delete);
    let parents: BTreeSet<PathBuf> =
        deleted.filter_map(|file| file.path.resolve(cwd).parent().map(Path::to_path_buf)).collect();
    let is_empty = |parent: &PathBuf| inner.io.list(parent).is_ok_and(|names| names.is_empty());
    parents.into_iter().filter(|parent| parent != cwd && is_empty(parent)).collect()
}

/// Takes all steps. Each waits for the disk most of the time, so several are taken at once; the file system then makes
/// many of them durable together.
fn write_all(restore: &Journalled<'_, '_>, files: &[&PlannedFile]) -> Vec<Result<Outcome>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut results = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = files.get(at) else { return results };
            let from = restore.steps()[at].from.content();
            // What the plan saw and the redo point holds; bytes that came in between are kept as a version of their
            // own.
            let held = from.filter(|content| file.from.content() == Some(*content)).into_iter().collect();
            results.push((at, restore.bring(at, &file.to, held)));
        }
    };
    let mut results = std::thread::scope(|scope| {
        let others: Vec<_> = (1..files.len().min(WRITERS_MAX)).map(|_| scope.spawn(work)).collect();
        let mut results = work();
        for other in others {
            results.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        results
    });
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Reads and hashes every content that will be written, so that a missing one is known before the first write.
fn check_contents(inner: &Inner, plan: &Plan) -> HashMap<Hash, Error> {
    let wanted: HashSet<Hash> =
        plan.files.iter().filter(|file| file.action.writes()).filter_map(|file| file.to.content()).collect();
    inner.pool().install(|| {
        wanted
            .into_par_iter()
            .filter_map(|content| {
                let result = inner.copy_content(content, &mut std::io::sink());
                result.err().map(|error| (content, error))
            })
            .collect()
    })
}

fn missing_content(file: &PlannedFile) -> Error {
    let cause = match file.to.content() {
        Some(content) => format!("its content {content} cannot be read"),
        None => "its content cannot be read".to_owned(),
    };
    Error::new(ErrorKind::ObjectMissing, format!("restore {}", file.path.display())).cause(cause)
}

/// What a restore goes back to if it is taken back.
enum Before {
    /// A state whose content is safe in the store.
    State(Entry),
    /// It cannot be kept, so it is not replaced.
    LeftAlone { reason: Reason, detail: Option<String> },
}

fn before_of(
    inner: &Inner,
    cwd: &Path,
    before: &BTreeMap<TrackedPath, Entry>,
    file: &PlannedFile,
    unreadable: &HashMap<Hash, Error>,
    keep: &mut Keep<'_>,
) -> Result<Before> {
    if let Some(error) = file.to.content().and_then(|content| unreadable.get(&content)) {
        return Err(Error::new(error.kind(), format!("restore {}", file.path.display())).cause(error.to_string()));
    }
    match before.get(&file.path) {
        Some(state @ (Entry::Absent | Entry::File { .. })) => Ok(Before::State(state.clone())),
        Some(Entry::NotCaptured { reason }) => Ok(Before::LeftAlone { reason: *reason, detail: None }),
        Some(_) => Ok(Before::LeftAlone { reason: Reason::NotAFile, detail: None }),
        // Not tracked any more, so the redo point does not have it: it becomes a version of its own.
        None => match find(&*inner.io, &file.path.resolve(cwd), u64::MAX)? {
            Found::Absent => Ok(Before::State(Entry::Absent)),
            Found::File(found) => {
                keep_found(inner, cwd, keep, &file.path, &found)?;
                Ok(Before::State(found.entry()))
            }
            Found::Linked(_) => Ok(Before::LeftAlone { reason: Reason::HardLink, detail: None }),
            Found::Refused { reason, detail } => Ok(Before::LeftAlone { reason, detail }),
        },
    }
}

fn step_of(restore: Id, at: usize, file: &PlannedFile, from: Entry) -> RestoreStep {
    let temporary = temporary_name(restore, at, &file.path);
    RestoreStep { path: file.path.clone(), from, to: file.to.clone(), temporary }
}

/// What ends restores of the same session that a crash interrupted before: this one says anew what each of their files
/// is to be.
fn end_older(inner: &Inner, session: &str, cwd: &Path, plan: &Plan, keep: &mut Keep<'_>) -> Result<Vec<Change>> {
    let planned: HashSet<&TrackedPath> = plan.files.iter().map(|file| &file.path).collect();
    let mut older = Vec::new();
    inner.read(|rows| {
        rows.scan::<RestoreRow>(Logical::Restores, b"", &mut |key, row| {
            if let Ok(id) = <[u8; 16]>::try_from(key)
                && row.session == session
                && row.cwd == path_bytes(cwd)
                && row.steps.iter().all(|step| planned.contains(&step.path))
            {
                older.push((Id::from_bytes(id), row));
            }
            Ok(())
        })
    })?;
    let mut changes = Vec::new();
    for (id, row) in older {
        let interrupted = Journalled::new(inner, id, row, keep);
        // One whose temporary files cannot be cleared stays, to be resumed.
        if clear_temporaries(&interrupted).is_ok() {
            changes.push(Change::RestoreFinished { id });
        }
    }
    Ok(changes)
}

/// Notes what the files are now and, with `done`, that the restore is over.
pub(super) fn finish(inner: &Inner, session: &str, done: Option<Id>, applied: &mut Applied) {
    let mut changes = Vec::new();
    if !applied.noted.is_empty() {
        changes.push(Change::Noted { session: session.to_owned(), paths: applied.noted.clone() });
    }
    changes.extend(done.map(|id| Change::RestoreFinished { id }));
    if !changes.is_empty() {
        applied.journal_error = inner.commit(&mut Pending::default(), |_, _| Ok(Some((changes, ())))).err();
    }
}
