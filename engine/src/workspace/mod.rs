//! The only code that touches the files of a workspace.
//!
//! Parents are walked component by component from an open directory to the next, never through a symbolic link, so
//! whatever is planted on the way, nothing outside the path that was meant is read or written. Whatever is not a regular
//! file is not opened.

mod found;
#[cfg(test)]
pub(crate) mod hook_io;
mod in_place;
mod read;
#[cfg(test)]
mod tests;
mod walk;
mod write;

pub(crate) use found::{Found, FoundFile, Source, find, find_in};
pub(crate) use in_place::write_in_place;
pub(crate) use read::{Capture, Captures, Fingerprints, capture, stat_fingerprint};
pub(crate) use walk::{Way, make_way_to, way_to};
pub(crate) use write::{Backing, Outcome, Place, delete_file, set_mode, write_file};
