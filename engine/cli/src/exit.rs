//! Exit codes, all in one place. See "Exit codes" in `docs/cli.md`.

use std::process::ExitCode;

use candy_store::ErrorKind;

/// How the program ends. 130 is not among them: an interrupted program dies of its signal, and the shell says 130.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done; `diff --exit-code` found no difference.
    Ok = 0,
    /// Failed; `diff --exit-code` found a difference.
    Failed = 1,
    /// The command line does not make sense, or a name stands for several things.
    Usage = 2,
    /// Done in part: some files could not be restored or captured.
    Partial = 3,
    /// Damage was found, or is left.
    Damage = 4,
    /// Something else is at it, or something changed underneath.
    Conflict = 5,
    /// There is no store at the path.
    NoStore = 10,
    /// Another process held a lock for too long.
    LockTimeout = 11,
    /// The store needs a newer program.
    NewerFormat = 12,
    /// The disk is full.
    NoSpace = 13,
}

impl Exit {
    /// The number.
    pub(crate) const fn code(self) -> u8 {
        self as u8
    }

    /// The exit of a command that failed with an error of the engine.
    pub(crate) const fn of(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::BadName | ErrorKind::BadArgument | ErrorKind::Ambiguous => Self::Usage,
            ErrorKind::IndexMissing
            | ErrorKind::IndexDamaged
            | ErrorKind::Corrupt
            | ErrorKind::ObjectDamaged
            | ErrorKind::ObjectMissing
            | ErrorKind::HeldBack => Self::Damage,
            ErrorKind::Conflict => Self::Conflict,
            ErrorKind::NoStore | ErrorKind::NotAStore => Self::NoStore,
            ErrorKind::LockTimeout => Self::LockTimeout,
            ErrorKind::NewerFormat => Self::NewerFormat,
            ErrorKind::NoSpace => Self::NoSpace,
            _ => Self::Failed,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_error_has_the_exit_code_that_is_documented() {
        for (kind, code) in [
            (ErrorKind::Io, 1),
            (ErrorKind::NotFound, 1),
            (ErrorKind::Ambiguous, 2),
            (ErrorKind::BadArgument, 2),
            (ErrorKind::ObjectDamaged, 4),
            (ErrorKind::IndexMissing, 4),
            (ErrorKind::HeldBack, 4),
            (ErrorKind::Conflict, 5),
            (ErrorKind::NoStore, 10),
            (ErrorKind::NotAStore, 10),
            (ErrorKind::LockTimeout, 11),
            (ErrorKind::NewerFormat, 12),
            (ErrorKind::NoSpace, 13),
        ] {
            assert_eq!(Exit::of(kind).code(), code, "{kind:?}");
        }
    }
}
