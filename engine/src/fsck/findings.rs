//! What a check can find, one code a kind.

use std::path::PathBuf;

use crate::hash::Hash;
use crate::id::Id;
use crate::tree::TrackedPath;

/// Most costs listed with one finding; [`Finding::costs_total`] counts all.
pub const COSTS_LISTED_MAX: usize = 100;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing is wrong: a leftover that gc removes, damage to bytes that nothing needs, or a loss that was recorded.
    Notice,
    /// Something is wrong. `--repair` or `--rebuild-index` settles it.
    Damage,
}

impl Severity {
    /// A stable word for programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Notice => "notice",
            Self::Damage => "damage",
        }
    }
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $code:literal, $severity:ident, $hint:expr;)+) => {
        /// Kinds of findings.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum FindingKind { $($(#[doc = $doc])+ $name,)+ }

        impl FindingKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The stable code.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$name => $code,)+ }
            }

            /// How bad it is.
            pub const fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity,)+ }
            }

            /// What to do about it.
            pub const fn hint(self) -> &'static str {
                match self { $(Self::$name => $hint,)+ }
            }
        }
    };
}

const REPAIR: &str = "run `candy-store fsck --repair`";
const REBUILD: &str = "run `candy-store fsck --rebuild-index`";
const GC: &str = "`candy-store gc` removes it";
const NOTHING: &str = "nothing needs to be done";

codes! {
    /// The `format` file is missing, damaged or contradicts the rest.
    Format = "CANDY_FSCK_FORMAT", Damage, REPAIR;
    /// The note for people is missing or was changed.
    Readme = "CANDY_FSCK_README", Notice, "`candy-store fsck --repair` writes it again";
    /// A directory of the store is missing.
    Directory = "CANDY_FSCK_DIRECTORY", Damage, REPAIR;
    /// Something that is not the store's.
    ForeignFile = "CANDY_FSCK_FOREIGN_FILE", Notice, "move it elsewhere";
    /// A file that an interrupted operation left behind.
    Leftover = "CANDY_FSCK_LEFTOVER", Notice, GC;
    /// A removal that was decided and not carried out.
    UnlinkPending = "CANDY_FSCK_UNLINK_PENDING", Notice, GC;
    /// There is no index.
    IndexMissing = "CANDY_FSCK_INDEX_MISSING", Damage, REBUILD;
    /// The index cannot be read, or its own checksums do not hold.
    IndexDamaged = "CANDY_FSCK_INDEX_DAMAGED", Damage, REBUILD;
    /// The index knows less than the segments: it is an older one.
    IndexStale = "CANDY_FSCK_INDEX_STALE", Damage, REBUILD;
    /// A transaction was written and is not in the index.
    Uncommitted = "CANDY_FSCK_UNCOMMITTED", Notice, "nothing, after a crash; if the index was damaged, `candy-store fsck --rebuild-index` brings the transaction back";
    /// Rows of the index contradict one another.
    IndexRows = "CANDY_FSCK_INDEX_ROWS", Damage, REBUILD;
    /// A part of the check could not be done.
    NotChecked = "CANDY_FSCK_NOT_CHECKED", Notice, "run the check again without `--read-only`, or later";
    /// An operation met damage, and nothing is deleted until it is settled.
    DamageNoted = "CANDY_FSCK_DAMAGE_NOTED", Damage, REPAIR;
    /// A segment's file is gone.
    SegmentMissing = "CANDY_FSCK_SEGMENT_MISSING", Damage, REPAIR;
    /// A segment's file cannot be read.
    SegmentUnreadable = "CANDY_FSCK_SEGMENT_UNREADABLE", Damage, "look at the disk, then run `candy-store fsck --repair`";
    /// A segment's header is damaged.
    SegmentHeader = "CANDY_FSCK_SEGMENT_HEADER", Damage, REPAIR;
    /// A segment is shorter than what was synced.
    SegmentShort = "CANDY_FSCK_SEGMENT_SHORT", Damage, REPAIR;
    /// Bytes that something needs are no whole frame.
    FrameDamaged = "CANDY_FSCK_FRAME_DAMAGED", Damage, REPAIR;
    /// Bytes that nothing needs are no whole frame.
    DeadBytesDamaged = "CANDY_FSCK_DEAD_BYTES_DAMAGED", Notice, NOTHING;
    /// The history of transactions is not whole: a rebuild would lose some.
    JournalDamaged = "CANDY_FSCK_JOURNAL_DAMAGED", Damage, REPAIR;
    /// A content or tree node cannot be read.
    ObjectDamaged = "CANDY_FSCK_OBJECT_DAMAGED", Damage, REPAIR;
    /// Something refers to an object that the index does not know.
    ObjectMissing = "CANDY_FSCK_OBJECT_MISSING", Damage, REPAIR;
    /// A content or tree node is lost, as an earlier repair recorded.
    ObjectLost = "CANDY_FSCK_OBJECT_LOST", Notice, "restore the file from elsewhere and run `candy-store fsck --repair`";
    /// Counts do not fit what there is.
    Count = "CANDY_FSCK_COUNT", Damage, REPAIR;
    /// A restore has begun and not finished.
    RestoreUnfinished = "CANDY_FSCK_RESTORE_UNFINISHED", Notice, "start the agent in that workspace, it offers to finish the restore";
}

/// What damage costs: one path of one point, or of a session's originals.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cost {
    /// The session.
    pub session: String,
    /// The point; `None` for the original state of a path, an item of the redo stack or a restore.
    pub point: Option<Id>,
    /// The path; `None` when a node is unreadable, so that nobody knows which paths it held.
    pub path: Option<TrackedPath>,
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What kind.
    pub kind: FindingKind,
    /// For people.
    pub message: String,
    /// File it concerns.
    pub path: Option<PathBuf>,
    /// Segment it concerns.
    pub segment: Option<Id>,
    /// First byte in the segment.
    pub offset: Option<u64>,
    /// Object it concerns.
    pub object: Option<Hash>,
    /// Sessions, points and paths that it costs, at most [`COSTS_LISTED_MAX`].
    pub costs: Vec<Cost>,
    /// Number of all costs.
    pub costs_total: u64,
}

impl Finding {
    pub(crate) fn new(kind: FindingKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            path: None,
            segment: None,
            offset: None,
            object: None,
            costs: Vec::new(),
            costs_total: 0,
        }
    }

    pub(crate) fn at(mut self, path: impl Into<PathBuf>) -> Self {
        self.path = Some(path.into());
        self
    }

    pub(crate) fn in_segment(mut self, segment: Id, offset: u64) -> Self {
        self.segment = Some(segment);
        self.offset = Some(offset);
        self
    }

    pub(crate) fn of_object(mut self, object: Hash) -> Self {
        self.object = Some(object);
        self
    }

    /// The stable code.
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// How bad it is.
    pub fn severity(&self) -> Severity {
        self.kind.severity()
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        self.kind.hint()
    }
}
