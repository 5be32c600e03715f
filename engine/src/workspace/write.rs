//! Changes files of a workspace, so that at every moment a path has either its old or its new bytes, and bytes that
//! nobody expected are in the store before they leave the path.

use std::io;
use std::path::PathBuf;

use crate::error::{Error, ErrorKind, IoContext as _, Result};
use crate::io::{Dir, File, Writer, bytes_path};
use crate::tree::Reason;
use crate::workspace::found::{Found, FoundFile, find_in};
use crate::workspace::in_place::write_in_place;

/// How often a path that keeps changing is tried.
const TRIES: u32 = 8;

/// Set-user-ID and set-group-ID: only for a file that still has the owner they were meant for.
const SET_ID_BITS: u32 = 0o6000;

/// A file's place in an open directory.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) dir: Box<dyn Dir>,
    pub(crate) name: Vec<u8>,
    /// A name in the same directory that nothing else uses.
    pub(crate) temporary: Vec<u8>,
}

impl Place {
    /// The path, for messages.
    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join(bytes_path(&self.name))
    }

    fn temporary_path(&self) -> PathBuf {
        self.dir.path().join(bytes_path(&self.temporary))
    }

    pub(crate) fn find(&self) -> Found {
        find_in(&*self.dir, &self.name, u64::MAX)
    }

    fn find_temporary(&self) -> Found {
        find_in(&*self.dir, &self.temporary, u64::MAX)
    }

    fn remove_temporary(&self) -> Result<()> {
        self.dir.remove_file(&self.temporary).context("remove the temporary file", &self.temporary_path())
    }

    /// Removes the temporary file unless another file has come to its name: that one may be all there is of its bytes.
    fn remove_own_temporary(&self, own: (u64, u64)) -> Result<()> {
        match self.dir.stat(&self.temporary) {
            Ok(stat) if stat.identity() == own => self.remove_temporary(),
            _ => Ok(()),
        }
    }

    /// What was at the path is under the temporary name and cannot go back.
    fn stranded(&self, error: io::Error) -> Error {
        let hint = format!("the file that was there is now {}", self.temporary_path().display());
        Error::io("put back", self.path(), error).with_hint(hint)
    }

    fn sync(&self) -> Result<()> {
        self.dir.sync().context("sync the directory", self.dir.path())
    }
}

/// The store's part in changing a file.
pub(crate) trait Backing {
    /// Whether a content is expected here and safe in the store.
    fn holds(&self, found: &FoundFile) -> bool;
    /// Makes bytes that nobody expected durable in the store.
    fn keep(&mut self, found: &FoundFile) -> Result<()>;
    /// Writes the new content. An error means that what was written must not be used.
    fn fill(&mut self, out: &mut dyn io::Write) -> Result<()>;
    /// Notes durably that the file is about to be overwritten in place: a crash from here on leaves a mixture.
    fn begin_in_place(&mut self) -> Result<()>;
    /// The file is whole again.
    fn end_in_place(&mut self);
}

/// What became of a change.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The path is as wanted now.
    Done,
    /// It was as wanted before.
    Nothing,
    /// Something is there that is left alone.
    Refused { reason: Reason, detail: Option<String> },
}

/// What a finding means for somebody who wants to replace it.
pub(super) enum Occupant {
    Nobody,
    File(FoundFile),
    LeftAlone(Outcome),
}

impl From<Found> for Occupant {
    fn from(found: Found) -> Self {
        match found {
            Found::Absent => Self::Nobody,
            Found::File(file) => Self::File(file),
            Found::Linked(file) => Self::LeftAlone(Outcome::Refused {
                reason: Reason::HardLink,
                detail: Some(format!("a file with {} names", file.stat.nlink)),
            }),
            Found::Refused { reason, detail } => Self::LeftAlone(Outcome::Refused { reason, detail }),
        }
    }
}

pub(super) fn keep_unexpected(backing: &mut dyn Backing, found: &FoundFile) -> Result<()> {
    if backing.holds(found) { Ok(()) } else { backing.keep(found) }
}

fn restless(place: &Place) -> Error {
    Error::new(ErrorKind::Conflict, "restore").at(place.path()).cause("it keeps changing")
}

/// Whether the system says that this must not be done here, rather than that it went wrong.
fn is_forbidden(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// A rename that did not work.
enum Hindrance {
    /// Something else is there now: look again.
    Changed,
    /// This name cannot be renamed to at all, for instance because it is a mount point.
    Fixed(io::Error),
    Error(io::Error),
}

impl From<io::Error> for Hindrance {
    fn from(error: io::Error) -> Self {
        use io::ErrorKind as Kind;
        match error.kind() {
            Kind::NotFound | Kind::AlreadyExists => Self::Changed,
            Kind::ResourceBusy | Kind::CrossesDevices => Self::Fixed(error),
            _ if is_forbidden(&error) => Self::Fixed(error),
            _ => Self::Error(error),
        }
    }
}

/// Gives a path a new content and mode, creating it where it is absent. The new bytes are durable under a temporary
/// name before the two are swapped; what comes out is looked at again, and kept if it is not what went before. Where
/// the name cannot be replaced the file is overwritten in place.
pub(crate) fn write_file(place: &Place, mode: u32, backing: &mut dyn Backing) -> Result<Outcome> {
    let original = match place.find().into() {
        Occupant::LeftAlone(outcome) => return Ok(outcome),
        Occupant::Nobody => None,
        Occupant::File(found) => Some(found),
    };
    let file = match place.dir.create_file(&place.temporary) {
        Ok(file) => file,
        // The directory takes no new names, but the file may still be open to writing.
        Err(error) if original.is_some() && is_forbidden(&error) => return write_in_place(place, mode, backing),
        Err(error) => return Err(Error::io("create the temporary file", place.temporary_path(), error)),
    };
    let own = file.stat().context("look at", &place.temporary_path())?.identity();
    let swapped = prepare(place, &*file, mode, original.is_some(), backing).and_then(|()| swap_in(place, backing));
    drop(file);
    match swapped {
        Ok(Swap::Done) => {
            place.sync()?;
            Ok(Outcome::Done)
        }
        Ok(Swap::LeftAlone(outcome)) => {
            place.remove_own_temporary(own)?;
            Ok(outcome)
        }
        Ok(Swap::Fixed(error)) => {
            place.remove_own_temporary(own)?;
            match place.find() {
                Found::Absent => Err(Error::io("create", place.path(), error)),
                _ => write_in_place(place, mode, backing),
            }
        }
        Err(error) => {
            // Best effort, and the first error is the one to tell: resuming the restore finds what is left.
            let _ = place.remove_own_temporary(own);
            Err(error)
        }
    }
}

/// Remembers why writing failed: the error that comes back speaks of the store.
struct Watched<'a> {
    out: Writer<'a>,
    failed: Option<io::Error>,
}

impl io::Write for Watched<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes).inspect_err(|error| {
            self.failed = Some(error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error));
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Writes the new content from the start of an open file on.
pub(super) fn fill_file(place: &Place, file: &dyn File, backing: &mut dyn Backing) -> Result<()> {
    let mut out = Watched { out: Writer::new(file, 0), failed: None };
    let result = backing.fill(&mut out);
    match out.failed {
        Some(error) => Err(Error::io("write the new content of", place.path(), error)),
        None => result,
    }
}

/// Fills the temporary file and makes it like the one it is to replace.
fn prepare(place: &Place, file: &dyn File, mode: u32, replaces: bool, backing: &mut dyn Backing) -> Result<()> {
    let path = place.temporary_path();
    fill_file(place, file, backing)?;
    let mut mode = mode;
    if replaces && let Ok(original) = place.dir.open_file(&place.name) {
        let (theirs, ours) =
            (original.stat().context("look at", &place.path())?, file.stat().context("look at", &path)?);
        // As far as permitted: only root gives files away, and labels may be the system's alone.
        let same_owner = (theirs.uid, theirs.gid) == (ours.uid, ours.gid);
        if !same_owner && file.set_owner(theirs.uid, theirs.gid).is_err() {
            mode &= !SET_ID_BITS;
            let _ = file.set_owner(ours.uid, theirs.gid);
        }
        let _ = file.copy_xattrs(&*original);
    }
    file.set_mode(mode).context("set the mode of", &path)?;
    file.sync_all().context("sync", &path)
}

/// What became of swapping the temporary file in.
enum Swap {
    Done,
    LeftAlone(Outcome),
    /// The name cannot be replaced.
    Fixed(io::Error),
}

fn swap_in(place: &Place, backing: &mut dyn Backing) -> Result<Swap> {
    for _ in 0..TRIES {
        let result = match place.find().into() {
            Occupant::LeftAlone(outcome) => return Ok(Swap::LeftAlone(outcome)),
            Occupant::Nobody => move_in(place),
            Occupant::File(found) => {
                keep_unexpected(backing, &found)?;
                match place.dir.exchange(&place.temporary, &place.name) {
                    Ok(()) => return check_out(place, &found, backing),
                    Err(error) if error.kind() == io::ErrorKind::Unsupported => rename_over(place, &found),
                    Err(error) => Err(error.into()),
                }
            }
        };
        match result {
            Ok(()) => return Ok(Swap::Done),
            Err(Hindrance::Changed) => {}
            Err(Hindrance::Fixed(error)) => return Ok(Swap::Fixed(error)),
            Err(Hindrance::Error(error)) => return Err(Error::io("rename a file to", place.path(), error)),
        }
    }
    Err(restless(place))
}

/// Gives the temporary file a name that is free.
fn move_in(place: &Place) -> Result<(), Hindrance> {
    match place.dir.rename_new(&place.temporary, &place.name) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {
            // No way to do it in one step here: look once more and rename.
            match place.dir.stat(&place.name) {
                Ok(_) => Err(Hindrance::Changed),
                Err(_) => Ok(place.dir.rename(&place.temporary, &place.name)?),
            }
        }
        result => Ok(result?),
    }
}

/// Replaces a file where two names cannot be swapped, after one more look at its content.
fn rename_over(place: &Place, found: &FoundFile) -> Result<(), Hindrance> {
    match place.find() {
        Found::File(now) if now.content == found.content => Ok(place.dir.rename(&place.temporary, &place.name)?),
        _ => Err(Hindrance::Changed),
    }
}

/// Looks at what came out under the temporary name, keeps it if it is not what was seen, and removes it.
fn check_out(place: &Place, seen: &FoundFile, backing: &mut dyn Backing) -> Result<Swap> {
    let refused = match place.find_temporary().into() {
        Occupant::Nobody => return Ok(Swap::Done),
        Occupant::File(out) => {
            let kept = if out.content == seen.content { Ok(()) } else { keep_unexpected(backing, &out) };
            match kept {
                Ok(()) => {
                    place.remove_temporary()?;
                    return Ok(Swap::Done);
                }
                Err(error) => Err(error),
            }
        }
        Occupant::LeftAlone(outcome) => Ok(outcome),
    };
    // What came out must not go: it goes back to where it was.
    place.dir.exchange(&place.temporary, &place.name).map_err(|error| place.stranded(error))?;
    refused.map(Swap::LeftAlone)
}

/// Removes a file: it is moved aside, looked at again, and only then unlinked. The directory stays.
pub(crate) fn delete_file(place: &Place, backing: &mut dyn Backing) -> Result<Outcome> {
    for _ in 0..TRIES {
        let seen = match place.find().into() {
            Occupant::Nobody => return Ok(Outcome::Nothing),
            Occupant::LeftAlone(outcome) => return Ok(outcome),
            Occupant::File(found) => found,
        };
        keep_unexpected(backing, &seen)?;
        let moved = match place.dir.rename_new(&place.name, &place.temporary) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                // Nothing else uses the temporary name, so a plain rename replaces nothing.
                place.dir.rename(&place.name, &place.temporary)
            }
            result => result,
        };
        match moved {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(Error::io("remove", place.path(), error)),
        }
        let refused = match place.find_temporary().into() {
            Occupant::Nobody => Ok(Outcome::Done),
            Occupant::File(out) => {
                let kept = if out.content == seen.content { Ok(()) } else { keep_unexpected(backing, &out) };
                match kept {
                    Ok(()) => {
                        place.remove_temporary()?;
                        Ok(Outcome::Done)
                    }
                    Err(error) => Err(error),
                }
            }
            Occupant::LeftAlone(outcome) => Ok(outcome),
        };
        if !matches!(refused, Ok(Outcome::Done)) {
            place.dir.rename_new(&place.temporary, &place.name).map_err(|error| place.stranded(error))?;
        }
        place.sync()?;
        return refused;
    }
    Err(restless(place))
}

/// Gives a file that was just looked at another mode. `Nothing`: another file is there by now.
pub(crate) fn set_mode(place: &Place, seen: &FoundFile, mode: u32) -> Result<Outcome> {
    let file = match place.dir.open_file(&place.name) {
        Ok(file) => file,
        Err(_) => return Ok(Outcome::Nothing),
    };
    let stat = file.stat().context("look at", &place.path())?;
    if stat.identity() != seen.stat.identity() || stat.nlink > 1 {
        return Ok(Outcome::Nothing);
    }
    file.set_mode(mode).context("set the mode of", &place.path())?;
    file.sync_all().context("sync", &place.path())?;
    Ok(Outcome::Done)
}
