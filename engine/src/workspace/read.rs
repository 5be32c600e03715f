//! Reads files of a workspace.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::error::Result;
use crate::io::{Dir, File, FileKind, Io, Stat, bytes_path, is_absent, path_bytes};
use crate::limits::{BLOB_BYTES_MAX, CAPTURE_TRIES};
use crate::tree::Reason;
use crate::workspace::walk::{Way, way_to};

/// The state of a path, read from disk.
#[derive(Debug)]
pub(crate) enum Capture {
    /// It does not exist, and that is certain.
    Absent,
    /// It is there, or may be, but its content was not read.
    NotCaptured { reason: Reason, detail: Option<String> },
    /// A regular file and its content, all of one moment as far as its stat tells.
    File { stat: Stat, bytes: Arc<[u8]> },
    /// A regular file above [`BLOB_BYTES_MAX`]: the caller streams it and then compares with [`is_same_moment`].
    Large { stat: Stat, file: Box<dyn File> },
}

impl Capture {
    fn not(reason: Reason, detail: impl ToString) -> Self {
        Self::NotCaptured { reason, detail: Some(detail.to_string()) }
    }
}

/// Whether a file has the content it had at an earlier stat, as far as stats tell.
pub(crate) fn is_same_moment(before: &Stat, after: &Stat) -> bool {
    let moment = |stat: &Stat| (stat.size, stat.mtime_ns, stat.ctime_ns, stat.dev, stat.ino);
    moment(before) == moment(after)
}

/// Reads the file at an absolute path whose links are resolved. Files above `bytes_max` are not read.
///
/// Everything that can be wrong with the path itself is an outcome, not an error: one odd path must not stop the others.
pub(crate) fn capture(io: &dyn Io, path: &Path, bytes_max: u64) -> Result<Capture> {
    Ok(capture_way(&way_to(io, path)?, bytes_max))
}

fn capture_way(way: &Way, bytes_max: u64) -> Capture {
    match way {
        Way::Missing => Capture::Absent,
        Way::Blocked { reason, detail } => Capture::NotCaptured { reason: *reason, detail: Some(detail.clone()) },
        Way::Open { dir, name } => capture_in(&**dir, name, bytes_max),
    }
}

/// Reads many files, most of them of the same directory as the one before: that one is kept open.
#[derive(Debug, Default)]
pub(crate) struct Captures {
    /// By its bytes: taking paths apart by components costs as much as the look itself.
    parent: Vec<u8>,
    dir: Option<Box<dyn Dir>>,
}

impl Captures {
    /// As [`capture`] does.
    pub(crate) fn capture(&mut self, io: &dyn Io, path: &Path, bytes_max: u64) -> Result<Capture> {
        let parent_and_name = split_bytes(path);
        if let Some((parent, name)) = parent_and_name
            && self.parent == parent
            && let Some(dir) = &self.dir
        {
            match capture_in(&**dir, name, bytes_max) {
                // The directory may have been made anew since it was opened: only the whole way tells.
                Capture::Absent | Capture::NotCaptured { .. } => {}
                captured => return Ok(captured),
            }
        }
        let way = way_to(io, path)?;
        let captured = capture_way(&way, bytes_max);
        if let (Way::Open { dir, .. }, Some((parent, _))) = (way, parent_and_name) {
            self.parent = parent.to_vec();
            self.dir = Some(dir);
        }
        Ok(captured)
    }
}

/// Directory and name of a resolved path; `None` right below the root.
fn split_bytes(path: &Path) -> Option<(&[u8], &[u8])> {
    let bytes = path_bytes(path);
    let slash = bytes.iter().rposition(|byte| *byte == b'/').filter(|at| *at > 0)?;
    Some((&bytes[..slash], &bytes[slash + 1..]))
}

/// Reads a file of an open directory.
pub(crate) fn capture_in(dir: &dyn Dir, name: &[u8], bytes_max: u64) -> Capture {
    for _ in 0..CAPTURE_TRIES {
        if let Some(captured) = try_capture(dir, name, bytes_max) {
            return captured;
        }
    }
    Capture::not(Reason::Unstable, "it kept changing while it was read")
}

/// Why something that is not a plain file is not read, if so.
pub(crate) fn refusal(kind: FileKind) -> Option<(Reason, &'static str)> {
    match kind {
        FileKind::File => None,
        FileKind::Symlink => Some((Reason::Symlink, "a symbolic link")),
        FileKind::Dir => Some((Reason::NotAFile, "a directory")),
        FileKind::Special => Some((Reason::NotAFile, "a FIFO, socket or device")),
    }
}

/// One attempt; `None` when the file moved meanwhile.
fn try_capture(dir: &dyn Dir, name: &[u8], bytes_max: u64) -> Option<Capture> {
    let seen = match dir.stat(name) {
        Ok(stat) => stat,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(Capture::Absent),
        Err(error) => return Some(Capture::not(Reason::Unreadable, error)),
    };
    if let Some((reason, detail)) = refusal(seen.kind) {
        return Some(Capture::not(reason, detail));
    }
    let file = match dir.open_file(name) {
        Ok(file) => file,
        Err(error) => {
            // Gone or no plain file any more: look again. What is still there cannot be opened.
            let now = dir.stat(name).ok()?;
            return (now.identity() == seen.identity()).then(|| Capture::not(Reason::Unreadable, error));
        }
    };
    Some(match read_open(&*file, bytes_max)? {
        Reading::Refused { reason, detail } => Capture::NotCaptured { reason, detail: Some(detail) },
        Reading::Whole { stat, bytes } => Capture::File { stat, bytes },
        Reading::Large { stat } => Capture::Large { stat, file },
    })
}

/// What reading an open file gave.
pub(super) enum Reading {
    Refused {
        reason: Reason,
        detail: String,
    },
    Whole {
        stat: Stat,
        bytes: Arc<[u8]>,
    },
    /// Above [`BLOB_BYTES_MAX`] and not read.
    Large {
        stat: Stat,
    },
}

/// Reads an open file; `None` when it moved meanwhile.
pub(super) fn read_open(file: &dyn File, bytes_max: u64) -> Option<Reading> {
    let refused = |reason, why: &dyn std::fmt::Display| Some(Reading::Refused { reason, detail: why.to_string() });
    let before = match file.stat() {
        Ok(stat) => stat,
        Err(error) => return refused(Reason::Unreadable, &error),
    };
    if before.size > bytes_max {
        return refused(Reason::TooLarge, &format_args!("{} bytes, limit {bytes_max}", before.size));
    }
    if before.size > BLOB_BYTES_MAX {
        return Some(Reading::Large { stat: before });
    }
    let read = read_size(file, before.size as usize).and_then(|bytes| Ok((bytes, file.stat()?)));
    let (bytes, after) = match read {
        Ok(read) => read,
        Err(error) => return refused(Reason::Unreadable, &error),
    };
    let whole = bytes.len() as u64 == before.size && is_same_moment(&before, &after);
    whole.then(|| Reading::Whole { stat: after, bytes: bytes.into() })
}

/// Reads the first `size` bytes, or less when the file has become shorter. Whether it grew tells the next stat.
fn read_size(file: &dyn File, size: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; size];
    let mut done = 0;
    while done < size {
        match file.read_at(&mut bytes[done..], done as u64) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(done);
    Ok(bytes)
}

/// What tells cheaply whether a path is as it was at an earlier look: `None` says that it certainly does not exist.
/// Whenever nothing is certain, the answer equals no other stat, so that the caller captures the path to find out.
pub(crate) fn stat_fingerprint(io: &dyn Io, path: &Path) -> Result<Option<Stat>> {
    match io.stat(path) {
        Ok(stat) => Ok(Some(stat)),
        // A link on the way that points to nothing looks the same: only the slow walk tells.
        Err(error) if is_absent(&error) => Ok(match way_to(io, path)? {
            Way::Missing => None,
            Way::Blocked { .. } => Some(UNKNOWN),
            Way::Open { dir, name } => match dir.stat(&name) {
                Ok(stat) => Some(stat),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(_) => Some(UNKNOWN),
            },
        }),
        Err(_) => Ok(Some(UNKNOWN)),
    }
}

/// [`stat_fingerprint`] of many files, most of them of the same directory as the one before: that one is kept open.
#[derive(Debug, Default)]
pub(crate) struct Fingerprints {
    /// The directory that was looked into last, by its bytes.
    parent: Vec<u8>,
    /// `None`: it cannot be opened.
    dir: Option<Box<dyn Dir>>,
}

impl Fingerprints {
    /// As [`stat_fingerprint`] does, for paths whose links are resolved.
    pub(crate) fn of(&mut self, io: &dyn Io, path: &Path) -> Result<Option<Stat>> {
        let Some((parent, name)) = split_bytes(path) else { return stat_fingerprint(io, path) };
        if self.parent != parent {
            self.parent = parent.to_vec();
            self.dir = io.open_dir(&bytes_path(parent)).ok();
        }
        match self.dir.as_ref().map(|dir| dir.stat(name)) {
            Some(Ok(stat)) => Ok(Some(stat)),
            // Whether it is absent for certain tells only the whole way: the directory may have been made anew.
            _ => stat_fingerprint(io, path),
        }
    }
}

/// The stat of nothing that exists.
const UNKNOWN: Stat = Stat {
    kind: FileKind::Special,
    size: u64::MAX,
    mode: u32::MAX,
    mtime_ns: i128::MIN,
    ctime_ns: i128::MIN,
    dev: u64::MAX,
    ino: u64::MAX,
    nlink: 0,
    uid: u32::MAX,
    gid: u32::MAX,
};
