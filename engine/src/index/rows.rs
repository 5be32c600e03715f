//! Values of the index. Their bytes are those of [`crate::codec`], in the order of the fields; see `docs/format.md`.

use serde::{Deserialize, Serialize};

use crate::hash::Hash;
use crate::id::Id;
use crate::tree::{Entry, Roots, TrackedPath};

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ObjectKind {
    Blob,
    Node,
}

/// Where an object's record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Place {
    /// `number` is the segment's number in this index.
    Segment { number: u32, offset: u64, len: u32 },
    /// A file of its own; the identifier makes its name unique for ever.
    Large { file: Id, len: u64 },
    /// Nowhere: its bytes were damaged, and `fsck` has recorded the loss. The row keeps the counts right, and is filled
    /// again when the same content is backed up again.
    Lost,
}

/// An object: a content or a tree node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ObjectRow {
    pub(crate) kind: ObjectKind,
    pub(crate) place: Place,
    pub(crate) raw_len: u64,
    /// References from nodes, points, originals, redo items, pins and restores.
    pub(crate) refs: u64,
    /// Deltas that have this object as their base.
    pub(crate) base_refs: u64,
    /// Nodes: whether references on the children are held. A node that is kept only as a base holds none.
    pub(crate) holds_children: bool,
    pub(crate) base: Option<Hash>,
    pub(crate) depth: u8,
    /// Sum of raw lengths along the chain, this object included.
    pub(crate) chain_bytes: u64,
}

impl ObjectRow {
    /// Bytes it takes on disk.
    pub(crate) fn stored_len(&self) -> u64 {
        match self.place {
            Place::Segment { len, .. } => u64::from(len),
            Place::Large { len, .. } => len,
            Place::Lost => 0,
        }
    }

    /// The row of an object without bytes.
    pub(crate) fn lost(kind: ObjectKind) -> Self {
        Self {
            kind,
            place: Place::Lost,
            raw_len: 0,
            refs: 0,
            base_refs: 0,
            holds_children: false,
            base: None,
            depth: 0,
            chain_bytes: 0,
        }
    }

    /// Whether its bytes are gone for good.
    pub(crate) fn is_lost(&self) -> bool {
        self.place == Place::Lost
    }
}

/// A segment that rows point into.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SegmentRow {
    pub(crate) id: Id,
    /// Everything below this offset was durable at the last commit that used the segment.
    pub(crate) end: u64,
    /// Bytes of records that rows point to.
    pub(crate) live_bytes: u64,
    /// Bytes of journal records newer than the last checkpoint, and of the checkpoint itself.
    pub(crate) journal_bytes: u64,
}

/// The one row of counters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StateRow {
    pub(crate) store: Id,
    /// Number of the last transaction. Journal frames carry it; rebuild sorts by it.
    pub(crate) order: u64,
    /// Frame of the last transaction that was journalled.
    pub(crate) last_frame: Option<FrameRef>,
    pub(crate) next_segment: u32,
    pub(crate) last_gc_ms: i64,
    /// Why nothing may be deleted, until `fsck --repair` settles it.
    pub(crate) damage: Option<String>,
}

/// Names a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct FrameRef {
    pub(crate) order: u64,
    pub(crate) segment: Id,
    pub(crate) offset: u64,
}

/// A session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SessionRow {
    /// The workspace, absolute and resolved.
    pub(crate) cwd: Vec<u8>,
    pub(crate) created_ms: i64,
    pub(crate) last_event_ms: i64,
    /// Number of the transaction of the last event: order without a clock.
    pub(crate) last_order: u64,
    pub(crate) next_seq: u64,
    /// Layers of originals, oldest first; the last is this session's own, the others are shared with forks.
    pub(crate) layers: Vec<Id>,
    pub(crate) next_track: u64,
    pub(crate) next_redo: u64,
    pub(crate) forked_from: Option<String>,
    /// Changes whenever the set of tracked paths does.
    pub(crate) tracked_revision: u64,
}

/// A layer of originals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LayerRow {
    /// Sessions that see it.
    pub(crate) sessions: u64,
}

/// What a layer says of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OriginalRow {
    /// Position in the order in which paths were first tracked.
    pub(crate) order: u64,
    /// State before the first edit; `None` takes back what an older layer says.
    pub(crate) entry: Option<Entry>,
}

/// What a point is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum PointKind {
    /// Start of a session.
    Baseline,
    /// Before an operation of the agent.
    Operation,
    /// Before an undo or redo.
    RedoPoint,
    /// Asked for by a person or a script.
    Manual,
    /// Bytes found at a restore that no plan had seen.
    Kept,
}

impl PointKind {
    /// A stable word for programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Operation => "operation",
            Self::RedoPoint => "redo-point",
            Self::Manual => "manual",
            Self::Kept => "kept",
        }
    }

    /// The kind of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Baseline, Self::Operation, Self::RedoPoint, Self::Manual, Self::Kept]
            .into_iter()
            .find(|kind| kind.word() == word)
    }
}

/// A point: anything one can go back to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PointRow {
    pub(crate) id: Id,
    pub(crate) kind: PointKind,
    pub(crate) created_ms: i64,
    /// The user message it is bound to.
    pub(crate) entry: Option<String>,
    pub(crate) prompt: Option<String>,
    pub(crate) roots: Roots,
    pub(crate) files: u64,
    pub(crate) changed: u64,
    pub(crate) gaps: Vec<String>,
}

/// What a redo item brings back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RedoKind {
    /// Files.
    Code,
    /// The conversation.
    Conversation,
    /// Files and conversation.
    Both,
}

/// An item of the redo stack. It holds its trees itself, whatever happens to the point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RedoRow {
    pub(crate) kind: RedoKind,
    pub(crate) point: Option<Id>,
    pub(crate) roots: Roots,
    pub(crate) old_leaf: Option<String>,
    pub(crate) created_ms: i64,
}

/// A point that gc and caps must leave alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PinRow {
    pub(crate) session: String,
    pub(crate) roots: Roots,
    pub(crate) created_ms: i64,
}

/// One file of a restore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RestoreStep {
    pub(crate) path: TrackedPath,
    /// State the plan saw.
    pub(crate) from: Entry,
    /// State to reach.
    pub(crate) to: Entry,
    /// Name of the temporary file in the same directory.
    pub(crate) temporary: String,
}

/// A restore that has begun and not finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RestoreRow {
    pub(crate) session: String,
    pub(crate) cwd: Vec<u8>,
    pub(crate) created_ms: i64,
    pub(crate) redo_point: Id,
    pub(crate) redo_roots: Roots,
    pub(crate) steps: Vec<RestoreStep>,
}

/// A file to unlink once the transaction that says so is durable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum UnlinkRow {
    Segment(Id),
    Large { content: Hash, file: Id },
}
