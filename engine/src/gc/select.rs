//! Chooses the segments whose removal is worth the copying.

use std::collections::HashMap;

use crate::error::Result;
use crate::gc::orphan_lock;
use crate::gc::simulate::Links;
use crate::index::rows::SegmentRow;
use crate::index::tables::{Logical, Rows};
use crate::lock::Lock;
use crate::segment::segment_lock_path;
use crate::store::Inner;

/// Segments below this are small: each costs a file to open and to scan.
const SMALL_SEGMENT_BYTES: u64 = 1 << 20;

/// From this many small segments on they are merged.
const SMALL_SEGMENTS_MIN: usize = 8;

/// Segments that one run takes on: each holds a lock file open.
const VICTIMS_MAX: usize = 256;

/// Bytes that one run copies at most.
const REWRITE_BYTES_MAX: u64 = 256 << 20;

/// A segment to remove. Its owner is gone, and nobody else can think so while the lock is held here.
#[derive(Debug)]
pub(super) struct Victim {
    pub(super) number: u32,
    pub(super) row: SegmentRow,
    /// Bytes of its records that something needs for itself.
    pub(super) live_bytes: u64,
    /// Bases in it that only deltas need.
    links: u64,
    link_bytes: u64,
    /// `None` when the lock file is gone, too.
    pub(super) lock: Option<Lock>,
}

impl Victim {
    /// What goes when it goes.
    pub(super) fn garbage_bytes(&self) -> u64 {
        self.row.end.saturating_sub(self.live_bytes)
    }

    /// What copying it costs. Encoding the deltas on a link anew takes about half of what the link took: headers are
    /// saved, the changes between stay.
    fn cost_bytes(&self) -> u64 {
        self.live_bytes + self.link_bytes / 2
    }

    fn is_sparse(&self) -> bool {
        self.cost_bytes().saturating_mul(2) < self.row.end
    }

    fn is_a_quarter_garbage(&self) -> bool {
        self.cost_bytes().saturating_mul(4) < self.row.end.saturating_mul(3)
    }

    fn is_small(&self) -> bool {
        self.row.end < SMALL_SEGMENT_BYTES
    }
}

/// What is known of the garbage in segments.
pub(super) struct Garbage<'a> {
    /// Bytes that count as live in the rows but will not for long.
    pub(super) dead: &'a HashMap<u32, u64>,
    pub(super) links: &'a Links,
    pub(super) checkpoint_len: u64,
}

/// What was chosen.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    pub(super) victims: Vec<Victim>,
    /// Limits left something for the next run.
    pub(super) more: bool,
}

impl Chosen {
    /// What goes for good when the victims go.
    pub(super) fn garbage_bytes(&self) -> u64 {
        self.victims.iter().map(Victim::garbage_bytes).sum()
    }

    /// Links in the victims.
    pub(super) fn links(&self) -> u64 {
        self.victims.iter().map(|victim| victim.links).sum()
    }

    /// By how much the store gets smaller.
    fn gain_bytes(&self, checkpoint_len: u64) -> u64 {
        let end: u64 = self.victims.iter().map(|victim| victim.row.end).sum();
        let cost: u64 = self.victims.iter().map(Victim::cost_bytes).sum();
        let needs_checkpoint = self.victims.iter().any(|victim| victim.row.journal_bytes > 0);
        end.saturating_sub(cost).saturating_sub(if needs_checkpoint { checkpoint_len } else { 0 })
    }
}

/// About how long a checkpoint of the rows would be.
pub(super) fn checkpoint_len(rows: &dyn Rows) -> Result<u64> {
    let mut raw = 0;
    for table in Logical::ALL {
        rows.scan_raw(table, b"", &mut |key, value| {
            raw += key.len() as u64 + value.len() as u64 + 4;
            Ok(true)
        })?;
    }
    // Hashes and identifiers do not compress, names do.
    Ok(raw / 2)
}

/// Chooses sparse segments, and small ones when there are many. Segments that are less than half garbage are taken only
/// when that frees a quarter of the store. With `any_gain` it is enough that the store gets smaller.
pub(super) fn select(
    inner: &Inner,
    segments: &[(u32, SegmentRow)],
    garbage: &Garbage<'_>,
    any_gain: bool,
) -> Result<Chosen> {
    let total: u64 = segments.iter().map(|(_, row)| row.end).sum();
    let mut chosen = candidates(inner, segments, garbage)?;
    let merge = chosen.victims.iter().filter(|victim| victim.is_small()).count() >= SMALL_SEGMENTS_MIN;
    chosen.victims.retain(|victim| victim.is_a_quarter_garbage() || merge && victim.is_small());
    let frees_a_quarter = chosen.gain_bytes(garbage.checkpoint_len).saturating_mul(4) >= total;
    if !frees_a_quarter && !any_gain {
        chosen.victims.retain(|victim| victim.is_sparse() || merge && victim.is_small());
    }

    // Those that give most for the least copying come first.
    chosen.victims.sort_by_key(|victim| (victim.cost_bytes(), victim.number));
    let mut copied = 0u64;
    let fits = chosen.victims.iter().take_while(|victim| {
        copied = copied.saturating_add(victim.cost_bytes());
        copied <= REWRITE_BYTES_MAX
    });
    let fitting = fits.count().max(1).min(chosen.victims.len());
    chosen.more |= fitting < chosen.victims.len();
    chosen.victims.truncate(fitting);

    let gain = chosen.gain_bytes(garbage.checkpoint_len);
    let end: u64 = chosen.victims.iter().map(|victim| victim.row.end).sum();
    let worth = merge || (any_gain && gain > 0) || gain.saturating_mul(4) >= end;
    if !worth {
        chosen.victims.retain(|victim| victim.row.live_bytes == 0 && victim.row.journal_bytes == 0);
    }
    Ok(chosen)
}

/// Segments that could be worth it and whose owner is gone.
fn candidates(inner: &Inner, segments: &[(u32, SegmentRow)], garbage: &Garbage<'_>) -> Result<Chosen> {
    let mut chosen = Chosen::default();
    for (number, row) in segments {
        let (links, link_bytes) = garbage.links.get(number).copied().unwrap_or_default();
        let dead = garbage.dead.get(number).copied().unwrap_or_default();
        let live_bytes = row.live_bytes.saturating_sub(dead).saturating_sub(link_bytes);
        let mut victim = Victim { number: *number, row: row.clone(), live_bytes, links, link_bytes, lock: None };
        if !victim.is_a_quarter_garbage() && !victim.is_small() {
            continue;
        }
        if chosen.victims.len() == VICTIMS_MAX {
            chosen.more = true;
            break;
        }
        if let Some(lock) = orphan_lock(inner, &segment_lock_path(&inner.path, row.id))? {
            victim.lock = lock;
            chosen.victims.push(victim);
        }
    }
    Ok(chosen)
}
