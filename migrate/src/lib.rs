//! Reads undo histories that pi-candy-undo 1.x left behind.
//!
//! A session of the old layout is a directory with a `state.json` and a directory `backups/` of copies named
//! `<first 16 hex digits of sha256 of the stored path>@v<N>`. This crate reads it, bounded and tolerant: what is
//! damaged is named and left out, and nothing is ever written there. The first implementation deletes every backup of a
//! session whose state it does not understand, so not even a note may be put beside it.
//!
//! # Limitations
//! It reads; it does not import into a store yet.

mod backup;
mod session;
mod state;

pub use backup::{BackupName, BackupNameError};
pub use session::{OldSession, Problem, read_session};
pub use state::{FileRecord, OldPoint, OldPointKind, OldRedo, OldState, StateError};
