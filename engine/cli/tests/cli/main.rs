//! The program from the outside: what it prints, where, and how it ends.

// A test stops at the first surprise; the files it writes belong to no store.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod diff;
mod fsck;
mod gc;
mod helper;
mod log;
mod look;
mod manners;
mod names;
mod place;
mod restore;
mod restore_to;
mod snapshot;
mod stats;
