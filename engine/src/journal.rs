//! What transactions do to the logical state, as values.
//!
//! A transaction's changes are written as one journal record in the frame that is synced before the commit, and are
//! applied to the index by the same code that `fsck --rebuild-index` uses to replay them. So the two cannot differ.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::codec;
use crate::error::{Error, ErrorKind, IoContext as _, Result};
use crate::hash::Hash;
use crate::id::Id;
use crate::index::rows::{FrameRef, PinRow, PointRow, RedoRow, RestoreRow};
use crate::io::{Io, Open};
use crate::object::encode::{Form, decode};
use crate::segment::frame::{FRAME_HEADER_BYTES, Frame};
use crate::segment::record::{Encoding, KIND_JOURNAL, Record};
use crate::segment::segment_path;
use crate::tree::{Entry, TrackedPath};

/// One change of the logical state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Change {
    /// A session came into being.
    SessionOpened { session: String, cwd: Vec<u8>, layer: Id },
    /// Paths were tracked for the first time, with their states at that moment.
    Tracked { session: String, paths: Vec<(TrackedPath, Entry)> },
    /// A path is not tracked after all.
    Untracked { session: String, path: TrackedPath },
    /// What the agent left behind at paths, to tell changes by hand.
    Noted { session: String, paths: Vec<(TrackedPath, Entry)> },
    /// A point was taken.
    PointTaken { session: String, seq: u64, point: PointRow },
    /// A point was bound to a user message.
    Bound { session: String, seq: u64, entry: String },
    /// Reasons why the turn after a point is not fully covered.
    GapsAdded { session: String, seq: u64, gaps: Vec<String> },
    /// Points were dropped.
    PointsDropped { session: String, seqs: Vec<u64> },
    /// A session was dropped with all it holds.
    SessionDropped { session: String },
    /// A session was copied. The points stand here whole: the source may be dropped later.
    Forked { from: String, to: String, cwd: Vec<u8>, sealed: Id, layers: [Id; 2], points: Vec<(u64, PointRow)> },
    /// An item was pushed on the redo stack.
    RedoPushed { session: String, item: RedoRow, items_max: u64 },
    /// The newest item was taken off.
    RedoPopped { session: String },
    /// The stack was emptied.
    RedoCleared { session: String },
    /// A restore is about to write files.
    RestoreBegun { id: Id, restore: RestoreRow },
    /// A restore has done what it could.
    RestoreFinished { id: Id },
    /// A point was pinned.
    Pinned { point: Id, pin: PinRow },
    /// A pin was taken off.
    Unpinned { point: Id },
    /// A content was removed from all history on purpose and must not come back.
    Purged { content: Hash },
}

/// The payload of a journal record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Journal {
    /// The changes of one transaction.
    Changes {
        /// The journalled transaction before, as the transaction itself read it under the write lock. It tells rebuild
        /// which of two frames of the same number was committed.
        parent: Option<FrameRef>,
        at_ms: i64,
        changes: Vec<Change>,
    },
    /// The whole logical state after a transaction: rows of the registered tables as (table, key, value). Frames of
    /// lower order need not be read any more.
    Checkpoint { parent: Option<FrameRef>, at_ms: i64, rows: Vec<(u8, Vec<u8>, Vec<u8>)> },
}

impl Journal {
    /// The journal that a record of a checked frame holds, if it holds one that this program understands.
    pub(crate) fn of_record(record: &Record<'_>) -> Option<Self> {
        let form = match (record.kind, record.encoding) {
            (KIND_JOURNAL, Encoding::Raw) => Form::Raw,
            (KIND_JOURNAL, Encoding::Zstd) => Form::Zstd,
            _ => return None,
        };
        let raw = decode(form, record.payload, usize::try_from(record.raw_len).ok()?, None).ok()?;
        codec::decode(&raw).ok()
    }

    /// Reads the journal of a frame back. One that was committed and cannot be read means damage.
    pub(crate) fn read_at(io: &Arc<dyn Io>, store: &Path, at: FrameRef) -> Result<Self> {
        let path = segment_path(store, at.segment);
        let damage = || Error::new(ErrorKind::Corrupt, "read a transaction's journal").at(&path);
        let file = io.open(&path, Open::Read).context("open the segment", &path)?;
        let mut head = [0; FRAME_HEADER_BYTES];
        file.read_exact_at(&mut head, at.offset).map_err(|error| damage().because(error))?;
        let length = Frame::length_of(&head).ok_or_else(damage)?;
        let bytes = file.read_to_end(at.offset, length).context("read the segment", &path)?;
        let frame = Frame::parse_at(at.segment, &bytes, at.offset).ok_or_else(damage)?;
        frame.records.iter().find_map(|(_, record)| Self::of_record(record)).ok_or_else(damage)
    }

    pub(crate) fn parent(&self) -> Option<FrameRef> {
        match self {
            Self::Changes { parent, .. } | Self::Checkpoint { parent, .. } => *parent,
        }
    }

    pub(crate) fn at_ms(&self) -> i64 {
        match self {
            Self::Changes { at_ms, .. } | Self::Checkpoint { at_ms, .. } => *at_ms,
        }
    }
}
