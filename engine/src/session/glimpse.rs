//! Glimpses: contents of untracked files that are about to be touched by something that says no more than a name.
//!
//! When a shell removes a file and the agent's tool then writes it anew, the tool finds nothing there, and an undo would
//! delete what the user had. A glimpse from before the shell ran is the state before the agent's first edit then.
//! Glimpses are kept in memory until the next point: they promise nothing, and files that are only named stay untracked.

use std::path::PathBuf;
use std::sync::Arc;

use crate::error::Result;
use crate::hash::Hash;
use crate::object::pending::{Pending, PendingObject};
use crate::session::track::Resolver;
use crate::session::{Session, State};
use crate::tree::{Entry, TrackedPath};
use crate::workspace::{Capture, Captures};

/// Larger files are not looked at: a command names many that it only reads.
const GLIMPSE_BYTES_MAX: u64 = 4 << 20;

/// Bytes of all glimpses; further files are passed over.
const ALL_BYTES_MAX: usize = 32 << 20;

/// What a file held.
#[derive(Debug)]
pub(super) struct Glimpse {
    pub(super) entry: Entry,
    bytes: Arc<[u8]>,
}

impl Glimpse {
    /// Adds the content to what is about to be committed.
    pub(super) fn store(&self, pending: &mut Pending) {
        if let Some(content) = self.entry.content() {
            pending.add(PendingObject::blob(content, Arc::clone(&self.bytes), None));
        }
    }
}

impl Session {
    /// Remembers the contents of untracked files until the next point. Paths that are not absolute, not plain files,
    /// excluded or large are passed over. Returns how many are remembered.
    pub fn glimpse(&self, paths: &[PathBuf]) -> Result<u64> {
        let mut state = self.lock_state();
        self.refresh(&mut state)?;
        let mut resolver = Resolver::new(&self.inner);
        let mut captures = Captures::default();
        let limit =
            if self.max_file_bytes == 0 { GLIMPSE_BYTES_MAX } else { self.max_file_bytes.min(GLIMPSE_BYTES_MAX) };
        for path in paths.iter().filter(|path| path.is_absolute()) {
            // A word that only looks like a path must not spoil the others.
            let Ok((resolved, in_store)) = resolver.resolve(path) else { continue };
            let Ok(key) = TrackedPath::new(&self.cwd, &resolved) else { continue };
            if self.refusal(path, &resolved, in_store).is_some() || self.is_known(&state, &key) {
                continue;
            }
            let Ok(Capture::File { stat, bytes }) = captures.capture(&*self.inner.io, &resolved, limit) else {
                continue;
            };
            let held: usize = state.glimpses.values().map(|glimpse| glimpse.bytes.len()).sum();
            if held + bytes.len() <= ALL_BYTES_MAX {
                let entry = Entry::File { content: Hash::of_blob(&bytes), size: bytes.len() as u64, mode: stat.mode };
                state.glimpses.insert(key, Glimpse { entry, bytes });
            }
        }
        Ok(state.glimpses.len() as u64)
    }

    /// The first glimpse counts: a later one may already show what a shell made of the file.
    fn is_known(&self, state: &State, path: &TrackedPath) -> bool {
        state.tracked.contains_key(path) || state.glimpses.contains_key(path)
    }
}
