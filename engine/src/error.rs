//! The one error type of the engine.
//!
//! An error says what was being done, to which path, why it failed and what to do next. Callers branch on
//! [`Error::kind`] or on the stable [`ErrorKind::code`]; the text is for people and may change.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Result of the engine's operations.
pub type Result<T, E = Error> = std::result::Result<T, E>;

type Source = Box<dyn std::error::Error + Send + Sync + 'static>;

/// What kind of thing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system refused an operation for a reason without a kind of its own.
    Io,
    /// The disk is full or a quota is used up.
    NoSpace,
    /// Permission denied, or the file system is mounted read-only.
    Permission,
    /// There is no store at the path.
    NoStore,
    /// The path holds something that is not a store.
    NotAStore,
    /// The store lies inside the workspace whose files it would have to keep.
    StoreInWorkspace,
    /// The store belongs to another user or others may write to it.
    NotOwner,
    /// The store needs a newer program.
    NewerFormat,
    /// The file system does not honour locks between processes.
    LocksDoNotHold,
    /// Another process held a lock for longer than the deadline.
    LockTimeout,
    /// The index is missing although the store has segments.
    IndexMissing,
    /// The index cannot be read.
    IndexDamaged,
    /// Bytes on disk do not parse as what they claim to be.
    Corrupt,
    /// An object has a row but its bytes are gone or hash to something else.
    ObjectDamaged,
    /// An object that something refers to has no row.
    ObjectMissing,
    /// A segment could not be written; it was abandoned at its last synced length.
    SegmentAbandoned,
    /// No session, point, path or plan of that name.
    NotFound,
    /// A name stands for more than one thing.
    Ambiguous,
    /// A path or identifier is not acceptable.
    BadName,
    /// An argument is not acceptable.
    BadArgument,
    /// Something changed underneath, or another process does the same thing.
    Conflict,
    /// Known damage forbids deletion until it is repaired.
    HeldBack,
    /// The store may be read but not written.
    ReadOnly,
    /// The handle was closed.
    Closed,
    /// A content is larger than the engine handles this way.
    TooLarge,
    /// A defect in this program.
    Internal,
}

impl ErrorKind {
    /// The stable code, for programs and search engines.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Io => "CANDY_IO",
            Self::NoSpace => "CANDY_NO_SPACE",
            Self::Permission => "CANDY_PERMISSION",
            Self::NoStore => "CANDY_NO_STORE",
            Self::NotAStore => "CANDY_NOT_A_STORE",
            Self::StoreInWorkspace => "CANDY_STORE_IN_WORKSPACE",
            Self::NotOwner => "CANDY_NOT_OWNER",
            Self::NewerFormat => "CANDY_NEWER_FORMAT",
            Self::LocksDoNotHold => "CANDY_LOCKS_DO_NOT_HOLD",
            Self::LockTimeout => "CANDY_LOCK_TIMEOUT",
            Self::IndexMissing => "CANDY_INDEX_MISSING",
            Self::IndexDamaged => "CANDY_INDEX_DAMAGED",
            Self::Corrupt => "CANDY_CORRUPT",
            Self::ObjectDamaged => "CANDY_OBJECT_DAMAGED",
            Self::ObjectMissing => "CANDY_OBJECT_MISSING",
            Self::SegmentAbandoned => "CANDY_SEGMENT_ABANDONED",
            Self::NotFound => "CANDY_NOT_FOUND",
            Self::Ambiguous => "CANDY_AMBIGUOUS",
            Self::BadName => "CANDY_BAD_NAME",
            Self::BadArgument => "CANDY_BAD_ARGUMENT",
            Self::Conflict => "CANDY_CONFLICT",
            Self::HeldBack => "CANDY_HELD_BACK",
            Self::ReadOnly => "CANDY_READ_ONLY",
            Self::Closed => "CANDY_CLOSED",
            Self::TooLarge => "CANDY_TOO_LARGE",
            Self::Internal => "CANDY_INTERNAL",
        }
    }

    /// What a person can do next, where that does not depend on the occasion.
    pub const fn hint(self) -> &'static str {
        match self {
            Self::Io => "run `candy-store fsck`; if it finds nothing, look at the disk",
            Self::NoSpace => "free some space, then run `candy-store gc`",
            Self::Permission => "check the owner and the mode of the path",
            Self::NoStore => "check --store, or let the plugin or `candy-store snapshot` create one",
            Self::NotAStore => "choose an empty or new directory for the store",
            Self::StoreInWorkspace => "set `storageDir` to a directory outside the workspace",
            Self::NotOwner => "use a directory of your own with mode 0700",
            Self::NewerFormat => "update this program",
            Self::LocksDoNotHold => "keep the store on a local file system",
            Self::LockTimeout => "another process is busy or stopped; try again, or look for a stopped process",
            Self::IndexMissing | Self::IndexDamaged => "run `candy-store fsck --rebuild-index`",
            Self::Corrupt | Self::ObjectDamaged | Self::ObjectMissing => "run `candy-store fsck --read-data`",
            Self::SegmentAbandoned => "try again: the next write goes to a new segment",
            Self::NotFound => "list what there is with `candy-store log`",
            Self::Ambiguous => "give more characters of the id",
            Self::BadName | Self::BadArgument => "correct the argument",
            Self::Conflict => "try again",
            Self::HeldBack => "run `candy-store fsck --repair`",
            Self::ReadOnly => "use a program that knows this store, or make it writable",
            Self::Closed => "open the store again",
            Self::TooLarge => "export the content with `candy-store cat`",
            Self::Internal => "please report this with the text of the error",
        }
    }
}

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    action: String,
    path: Option<PathBuf>,
    cause: Option<String>,
    source: Option<Source>,
    hint: Option<String>,
}

/// An error of the engine. See the [module](self).
#[derive(Debug)]
pub struct Error(Box<Inner>);

impl Error {
    /// An error of `kind` while doing `action` ("read a segment").
    pub fn new(kind: ErrorKind, action: impl Into<String>) -> Self {
        Self(Box::new(Inner { kind, action: action.into(), path: None, cause: None, source: None, hint: None }))
    }

    /// An I/O error while doing `action` to `path`; full disks and missing permissions get their own kind.
    pub fn io(action: impl Into<String>, path: impl AsRef<Path>, source: io::Error) -> Self {
        let kind = match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::NoSpace,
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => ErrorKind::Permission,
            _ => ErrorKind::Io,
        };
        Self::new(kind, action).at(path).because(source)
    }

    /// Names the path.
    #[must_use]
    pub fn at(mut self, path: impl AsRef<Path>) -> Self {
        self.0.path = Some(path.as_ref().to_path_buf());
        self
    }

    /// Names the cause in words.
    #[must_use]
    pub fn cause(mut self, cause: impl Into<String>) -> Self {
        self.0.cause = Some(cause.into());
        self
    }

    /// Keeps the error that caused this one.
    #[must_use]
    pub fn because(mut self, source: impl Into<Source>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Replaces the kind's general hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// What kind of thing went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Short for `kind().code()`.
    pub fn code(&self) -> &'static str {
        self.0.kind.code()
    }

    /// The path it happened to.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// What a person can do next.
    pub fn hint(&self) -> &str {
        self.0.hint.as_deref().unwrap_or_else(|| self.0.kind.hint())
    }

    /// The operating system's error below, if there is one.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        let source = self.0.source.as_ref()?;
        source.downcast_ref::<io::Error>().map(io::Error::kind)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}", self.0.action)?;
        if let Some(path) = &self.0.path {
            write!(f, " {}", path.display())?;
        }
        if let Some(cause) = &self.0.cause {
            write!(f, ": {cause}")?;
        }
        if let Some(source) = &self.0.source {
            write!(f, ": {source}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| source.as_ref() as _)
    }
}

/// Adds the action and the path to an I/O result.
pub(crate) trait IoContext<T> {
    /// `action` is an infinitive: "sync the segment".
    fn context(self, action: &str, path: &Path) -> Result<T>;
}

impl<T> IoContext<T> for io::Result<T> {
    fn context(self, action: &str, path: &Path) -> Result<T> {
        self.map_err(|source| Error::io(action, path, source))
    }
}
