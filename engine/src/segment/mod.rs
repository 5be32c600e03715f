//! Segments: append-only files of frames. See "Segments" in `docs/format.md`.
//!
//! One append is one frame of one or more records under one checksum, so it counts whole or not at all.

pub(crate) mod frame;
pub(crate) mod header;
pub(crate) mod record;
pub mod scanner;
pub(crate) mod writer;

use std::path::{Path, PathBuf};

use crate::id::Id;

/// Path of a segment's file.
pub(crate) fn segment_path(store: &Path, segment: Id) -> PathBuf {
    store.join("segments").join(format!("{segment}.seg"))
}

/// Path of the lock that a segment's writer holds while it may append.
pub(crate) fn segment_lock_path(store: &Path, segment: Id) -> PathBuf {
    store.join("locks").join(segment.to_hex())
}

/// The segment a file name stands for.
pub(crate) fn parse_segment_name(name: &[u8]) -> Option<Id> {
    Id::from_hex(std::str::from_utf8(name).ok()?.strip_suffix(".seg")?)
}
