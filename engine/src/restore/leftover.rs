//! Temporary files that an interrupted restore left behind.

use crate::error::{Error, ErrorKind, IoContext as _, Result};
use crate::hash::Hash;
use crate::io::bytes_path;
use crate::restore::step::Journalled;
use crate::tree::Entry;
use crate::workspace::{Found, FoundFile, Place, Source, find_in, way_to};

/// Removes the temporary files of all steps.
pub(super) fn clear_temporaries(restore: &Journalled<'_, '_>) -> Result<()> {
    (0..restore.steps().len()).try_for_each(|at| clear_temporary(restore, at))
}

/// Removes the temporary file of a step. It holds the new bytes or a part of them, or the old bytes that were swapped
/// out; anything else is kept as a version before it goes.
pub(super) fn clear_temporary(restore: &Journalled<'_, '_>, at: usize) -> Result<()> {
    // Where there is no way to the file, there is none to the temporary one either.
    let Ok(place) = restore.place(at, way_to(&*restore.inner.io, &restore.path(at))?) else { return Ok(()) };
    let leftover = place.dir.path().join(bytes_path(&place.temporary));
    match find_in(&*place.dir, &place.temporary, u64::MAX) {
        Found::Absent => return Ok(()),
        Found::File(found) => {
            if !is_ours(restore, at, &place, &found) {
                restore.keep_found(at, &found)?;
            }
        }
        Found::Linked(_) | Found::Refused { .. } => {
            return Err(Error::new(ErrorKind::Conflict, "remove the temporary file")
                .at(leftover)
                .cause("it is not a plain file with one name"));
        }
    }
    place.dir.remove_file(&place.temporary).context("remove the temporary file", &leftover)?;
    place.dir.sync().context("sync the directory", place.dir.path())
}

/// Whether the bytes of a temporary file are in the store.
fn is_ours(restore: &Journalled<'_, '_>, at: usize, place: &Place, found: &FoundFile) -> bool {
    let step = &restore.steps()[at];
    let sides: Vec<Hash> = [&step.from, &step.to].into_iter().filter_map(Entry::content).collect();
    if sides.contains(&found.content) {
        return true;
    }
    match &found.source {
        // Written from the start on, so an unfinished one is a beginning of the whole.
        Source::Bytes(bytes) => {
            let begins = |hash: &Hash| restore.inner.read_object(*hash).is_ok_and(|whole| whole.starts_with(bytes));
            bytes.is_empty() || sides.iter().any(begins)
        }
        // Too large to compare. As long as the file still has its old bytes, nothing was swapped out.
        Source::Large(_) => {
            let before = place.find().entry();
            before == step.from && found.stat.mode == TEMPORARY_MODE && found.stat.size <= step.to.size()
        }
    }
}

/// Mode of a file that is being filled.
const TEMPORARY_MODE: u32 = 0o600;
