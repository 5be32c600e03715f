//! Ending a restore that a crash interrupted.

use crate::error::{Error, ErrorKind, Result};
use crate::id::Id;
use crate::index::rows::{RestoreRow, RestoreStep};
use crate::index::tables::{Logical, RowsExt as _};
use crate::io::bytes_path;
use crate::restore::apply::finish;
use crate::restore::leftover::clear_temporary;
use crate::restore::step::{Journalled, is_in_place};
use crate::restore::{Applied, FailedFile, Keep, RestoreLock};
use crate::store::Inner;
use crate::tree::Entry;
use crate::workspace::{Found, Outcome, find};

/// Which way to end it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResumeHow {
    /// Every file gets its planned state.
    Finish,
    /// Every file gets the state back that it had before the restore.
    Rollback,
}

/// Ends an interrupted restore. Files that match neither side were changed by somebody since: they are left alone and
/// named. Doing it twice, or again after another crash, changes nothing more.
///
/// The restore stays unfinished, to be tried again, only while a file could not be written for another reason.
pub(crate) fn resume(
    inner: &Inner,
    lock: &RestoreLock,
    id: Id,
    how: ResumeHow,
    keep: &mut Keep<'_>,
) -> Result<Applied> {
    // Read under the lock: its owner may have finished it a moment ago.
    let row = inner.read(|rows| rows.get::<RestoreRow>(Logical::Restores, id.as_bytes()))?;
    let mut applied = Applied::default();
    let Some(row) = row else { return Ok(applied) };
    lock.check(&bytes_path(&row.cwd))?;
    let session = row.session.clone();
    let restore = Journalled::new(inner, id, row, keep);
    let mut try_again = false;
    for (at, step) in restore.steps().iter().enumerate() {
        let wanted = match how {
            ResumeHow::Finish => &step.to,
            ResumeHow::Rollback => &step.from,
        };
        match resume_step(&restore, at, step, wanted) {
            Ok(Some(outcome)) => applied.count(&step.path, wanted, Ok(outcome)),
            Ok(None) => applied.failed.push(FailedFile::new(&step.path, &changed_since(step))),
            Err(error) => {
                try_again = true;
                applied.failed.push(FailedFile::new(&step.path, &error));
            }
        }
    }
    if how == ResumeHow::Rollback {
        // The states from before are not what the agent left behind: some may be work by hand.
        applied.noted.clear();
    }
    let done = !restore.is_torn() && !try_again;
    finish(inner, &session, done.then_some(id), &mut applied);
    Ok(applied)
}

fn changed_since(step: &RestoreStep) -> Error {
    Error::new(ErrorKind::Conflict, format!("restore {}", step.path.display()))
        .cause("it was changed after the restore was interrupted, and is left alone")
}

/// `None`: the file matches neither side.
fn resume_step(restore: &Journalled<'_, '_>, at: usize, step: &RestoreStep, wanted: &Entry) -> Result<Option<Outcome>> {
    clear_temporary(restore, at)?;
    let found = match find(&*restore.inner.io, &restore.path(at), u64::MAX)? {
        Found::Refused { reason, detail } => return Ok(Some(Outcome::Refused { reason, detail })),
        found => found,
    };
    let state = found.entry();
    if state == *wanted {
        return Ok(Some(Outcome::Nothing));
    }
    // A mixture is nobody's work; still its bytes are kept before they are overwritten.
    if !is_side(&state, step) && !is_in_place(step) {
        return Ok(None);
    }
    let held = [&step.from, &step.to].into_iter().filter_map(|side| side.content()).collect();
    restore.bring(at, wanted, held).map(Some)
}

/// Whether a state is one of the two sides, or on the way between them: content first, mode last.
fn is_side(state: &Entry, step: &RestoreStep) -> bool {
    let sides = [&step.from, &step.to];
    let mode = |entry: &Entry| match entry {
        Entry::File { mode, .. } => Some(*mode),
        _ => None,
    };
    sides.iter().any(|side| side.content() == state.content() && matches!(side, Entry::Absent | Entry::File { .. }))
        && (mode(state).is_none() || sides.iter().any(|side| mode(side) == mode(state)))
}
