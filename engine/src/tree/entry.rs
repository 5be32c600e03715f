//! What a manifest says of one path.

use serde::{Deserialize, Serialize};

use crate::hash::Hash;

/// Why a path could not be captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Reason {
    /// Excluded by a pattern.
    Excluded,
    /// Larger than the limit at that moment.
    TooLarge,
    /// A directory, FIFO, socket or device.
    NotAFile,
    /// A symbolic link.
    Symlink,
    /// A file with more than one name.
    HardLink,
    /// A file of the store itself.
    Store,
    /// It could not be read.
    Unreadable,
    /// It kept changing while it was read.
    Unstable,
}

impl Reason {
    /// The code in a node.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Excluded => 1,
            Self::TooLarge => 2,
            Self::NotAFile => 3,
            Self::Symlink => 4,
            Self::HardLink => 5,
            Self::Store => 6,
            Self::Unreadable => 7,
            Self::Unstable => 8,
        }
    }

    pub(crate) fn from_code(code: u8) -> Option<Self> {
        [
            Self::Excluded,
            Self::TooLarge,
            Self::NotAFile,
            Self::Symlink,
            Self::HardLink,
            Self::Store,
            Self::Unreadable,
            Self::Unstable,
        ]
        .into_iter()
        .find(|reason| reason.code() == code)
    }

    /// A stable word for programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Excluded => "excluded",
            Self::TooLarge => "too-large",
            Self::NotAFile => "not-a-file",
            Self::Symlink => "symlink",
            Self::HardLink => "hard-link",
            Self::Store => "store",
            Self::Unreadable => "unreadable",
            Self::Unstable => "unstable",
        }
    }
}

/// The state of one path at one moment. Absence is one of the states, never the lack of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entry {
    /// The path did not exist.
    Absent,
    /// A regular file.
    File {
        /// Name of its content.
        content: Hash,
        /// Size in bytes.
        size: u64,
        /// Permission bits.
        mode: u32,
    },
    /// A symbolic link (scope `workspace`).
    Symlink {
        /// Its target.
        target: Vec<u8>,
    },
    /// A directory that is kept for itself (scope `workspace`).
    Directory {
        /// Permission bits.
        mode: u32,
    },
    /// It was there, but its content was not kept.
    NotCaptured {
        /// Why.
        reason: Reason,
    },
    /// Its content was removed from all history on purpose.
    Purged {
        /// Name of the removed content.
        content: Hash,
    },
}

impl Entry {
    /// The content that a reference is held on.
    pub fn content(&self) -> Option<Hash> {
        match self {
            Self::File { content, .. } => Some(*content),
            _ => None,
        }
    }

    /// Size of the content, 0 where there is none.
    pub fn size(&self) -> u64 {
        match self {
            Self::File { size, .. } => *size,
            _ => 0,
        }
    }
}
