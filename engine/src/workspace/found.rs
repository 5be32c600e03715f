//! What a restore finds at a path: a capture with the name of its content.

use std::path::Path;
use std::sync::Arc;

use crate::error::Result;
use crate::hash::{BlobHasher, Hash};
use crate::io::{Dir, File, Io, Stat};
use crate::limits::CAPTURE_TRIES;
use crate::tree::{Entry, Reason};
use crate::workspace::read::{Capture, Reading, capture_in, is_same_moment, read_open};
use crate::workspace::walk::{Way, way_to};

/// How much of a large file is hashed at a time.
const HASH_BYTES: usize = 256 << 10;

/// What is at a path.
#[derive(Debug)]
pub(crate) enum Found {
    /// Nothing, for certain.
    Absent,
    /// A regular file.
    File(FoundFile),
    /// A regular file with more names than one. Writing to one would change the others, or cut them apart: neither is
    /// what anybody asked for.
    Linked(FoundFile),
    /// Something that a restore leaves alone.
    Refused { reason: Reason, detail: Option<String> },
}

/// A regular file and the name of its content.
#[derive(Debug)]
pub(crate) struct FoundFile {
    pub(crate) stat: Stat,
    pub(crate) content: Hash,
    pub(crate) source: Source,
}

/// Where the bytes of a file can be had.
#[derive(Debug)]
pub(crate) enum Source {
    Bytes(Arc<[u8]>),
    /// Too large for memory. The file is open, whatever its name is now.
    Large(Arc<dyn File>),
}

impl FoundFile {
    /// What a manifest says of it.
    pub(crate) fn entry(&self) -> Entry {
        Entry::File { content: self.content, size: self.stat.size, mode: self.stat.mode }
    }
}

impl Found {
    fn of(file: FoundFile) -> Self {
        if file.stat.nlink > 1 { Self::Linked(file) } else { Self::File(file) }
    }

    /// What a manifest says of it.
    pub(crate) fn entry(&self) -> Entry {
        match self {
            Self::Absent => Entry::Absent,
            Self::File(file) | Self::Linked(file) => file.entry(),
            Self::Refused { reason, .. } => Entry::NotCaptured { reason: *reason },
        }
    }
}

/// Reads what is at an absolute path. Files above `bytes_max` are refused.
pub(crate) fn find(io: &dyn Io, path: &Path, bytes_max: u64) -> Result<Found> {
    Ok(match way_to(io, path)? {
        Way::Missing => Found::Absent,
        Way::Blocked { reason, detail } => Found::Refused { reason, detail: Some(detail) },
        Way::Open { dir, name } => find_in(&*dir, &name, bytes_max),
    })
}

/// Reads what is at a name of an open directory.
pub(crate) fn find_in(dir: &dyn Dir, name: &[u8], bytes_max: u64) -> Found {
    until_still(|| name_content(capture_in(dir, name, bytes_max)))
}

fn until_still(mut attempt: impl FnMut() -> Option<Found>) -> Found {
    (0..CAPTURE_TRIES).find_map(|_| attempt()).unwrap_or_else(|| Found::Refused {
        reason: Reason::Unstable,
        detail: Some("it kept changing while it was read".to_owned()),
    })
}

/// Reads an open file, through this very descriptor.
pub(super) fn find_open(file: &Arc<dyn File>) -> Found {
    until_still(|| match read_open(&**file, u64::MAX)? {
        Reading::Refused { reason, detail } => Some(Found::Refused { reason, detail: Some(detail) }),
        Reading::Whole { stat, bytes } => Some(whole(stat, bytes)),
        Reading::Large { stat } => large(stat, Arc::clone(file)),
    })
}

/// Names the content of a capture; `None` when the file moved meanwhile.
fn name_content(capture: Capture) -> Option<Found> {
    match capture {
        Capture::Absent => Some(Found::Absent),
        Capture::NotCaptured { reason, detail } => Some(Found::Refused { reason, detail }),
        Capture::File { stat, bytes } => Some(whole(stat, bytes)),
        Capture::Large { stat, file } => large(stat, file.into()),
    }
}

fn whole(stat: Stat, bytes: Arc<[u8]>) -> Found {
    Found::of(FoundFile { stat, content: Hash::of_blob(&bytes), source: Source::Bytes(bytes) })
}

fn large(stat: Stat, file: Arc<dyn File>) -> Option<Found> {
    match hash_large(&*file, &stat) {
        Ok(content) => Some(Found::of(FoundFile { stat, content: content?, source: Source::Large(file) })),
        Err(error) => Some(Found::Refused { reason: Reason::Unreadable, detail: Some(error.to_string()) }),
    }
}

fn hash_large(file: &dyn File, before: &Stat) -> std::io::Result<Option<Hash>> {
    let mut hasher = BlobHasher::default();
    let mut buffer = vec![0; HASH_BYTES];
    let mut offset = 0;
    loop {
        match file.read_at(&mut buffer, offset) {
            Ok(0) => break,
            Ok(count) => {
                hasher.update(&buffer[..count]);
                offset += count as u64;
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let still = offset == before.size && is_same_moment(before, &file.stat()?);
    Ok(still.then(|| hasher.finish()))
}
