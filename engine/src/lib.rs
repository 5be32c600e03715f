//! The engine of candy-store: a content-addressed, deduplicated, compressed, crash-safe store for the history of files
//! that a coding agent edits.
//!
//! It is
//! - the history of chosen files, taken before an agent touches them, and the way back;
//! - safe to use from several processes at once, and to kill at any moment;
//! - checkable ([`Store::fsck`]) and rebuildable from its own data.
//!
//! It is not
//! - a version control system: no branches, no merges, no network;
//! - a backup against a failing disk: it finds damage, but keeps one copy.
//!
//! ```
//! use candy_store::{PlanRequest, PointKind, SessionOptions, SnapshotRequest, Store, StoreOptions, Target};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let work = folder.path().canonicalize()?;
//! let store = Store::open(&work.join("store"), &StoreOptions::default())?;
//! let cwd = work.join("project");
//! # std::fs::create_dir(&cwd)?;
//! # std::fs::write(cwd.join("a.txt"), "before")?;
//! let session = store.open_session(&SessionOptions {
//!     id: "example".into(),
//!     cwd: cwd.clone(),
//!     exclude: vec![],
//!     max_file_bytes: 0,
//! })?;
//! session.track(&cwd.join("a.txt"))?; // before the first edit
//! let point = session.snapshot(&SnapshotRequest::of(PointKind::Operation))?.point;
//! # std::fs::write(cwd.join("a.txt"), "after")?;
//! let plan = session.plan(&PlanRequest {
//!     target: Target::Point(point.id),
//!     only: vec![],
//!     line_counts: true,
//!     protect_manual_edits: false,
//! })?;
//! let report = session.apply(plan.id, 0)?;
//! assert_eq!(report.restored, 1);
//! # assert_eq!(std::fs::read(cwd.join("a.txt"))?, b"before");
//! # Ok(())
//! # }
//! ```
//!
//! Where things are: `docs/architecture.md` tells the life of a backup, `docs/format.md` every byte on disk.

mod codec;
pub mod error;
pub mod exclude;
pub mod format;
pub mod fsck;
pub mod gc;
pub mod hash;
pub mod id;
mod index;
pub mod io;
mod journal;
pub mod limits;
pub mod lines;
pub mod lock;
mod lookup;
mod object;
pub mod restore;
pub mod segment;
pub mod session;
pub mod stats;
mod store;
pub mod tree;
mod workspace;

pub use error::{Error, ErrorKind, Result};
pub use hash::Hash;
pub use id::Id;
pub use index::rows::{PointKind, RedoKind};
pub use session::{
    Forked, NewRedoItem, NotCaptured, PlanRequest, PlanTicket, Point, RedoItem, RestoreReport, Session, SessionOptions,
    SessionSummary, SnapshotOutcome, SnapshotRequest, SurveyRow, Target, TrackOutcome, Tracking, UnfinishedRestore,
};
pub use store::{Store, StoreOptions};
