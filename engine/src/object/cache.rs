//! Recently used contents, bounded by bytes: the bases of the next deltas. A hint, never the truth.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::hash::Hash;
use crate::limits::CONTENT_CACHE_BYTES;

/// A cache of decoded, verified contents.
#[derive(Debug, Default)]
pub(crate) struct ContentCache(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    by_hash: HashMap<Hash, (u64, Arc<[u8]>)>,
    bytes: usize,
    clock: u64,
}

impl ContentCache {
    fn entries(&self) -> std::sync::MutexGuard<'_, Entries> {
        // Nothing in here can be half done in a way that matters: a lost entry is read again.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, hash: Hash) -> Option<Arc<[u8]>> {
        let mut entries = self.entries();
        entries.clock += 1;
        let clock = entries.clock;
        let entry = entries.by_hash.get_mut(&hash)?;
        entry.0 = clock;
        Some(Arc::clone(&entry.1))
    }

    pub(crate) fn put(&self, hash: Hash, content: &Arc<[u8]>) {
        if content.len() > CONTENT_CACHE_BYTES / 4 {
            return;
        }
        let mut entries = self.entries();
        entries.clock += 1;
        let clock = entries.clock;
        if let Some((_, old)) = entries.by_hash.insert(hash, (clock, Arc::clone(content))) {
            entries.bytes -= old.len();
        }
        entries.bytes += content.len();
        if entries.bytes > CONTENT_CACHE_BYTES {
            entries.evict();
        }
    }

    pub(crate) fn clear(&self) {
        *self.entries() = Entries::default();
    }
}

impl Entries {
    /// Drops the older half: rare enough that sorting is cheap.
    fn evict(&mut self) {
        let mut ages: Vec<u64> = self.by_hash.values().map(|(clock, _)| *clock).collect();
        ages.sort_unstable();
        let keep_from = ages[ages.len() / 2];
        self.by_hash.retain(|_, (clock, _)| *clock >= keep_from);
        self.bytes = self.by_hash.values().map(|(_, content)| content.len()).sum();
    }
}
