//! Chooses the segments whose removal is worth the copying.

use std::collections::HashMap;

use crate::error::Result;
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
    /// Bytes of its records that something needs.
    pub(super) live_bytes: u64,
    /// `None` when the lock file is gone, too.
    pub(super) lock: Option<Lock>,
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
        self.victims.iter().map(|victim| victim.row.end.saturating_sub(victim.live_bytes)).sum()
    }

    fn end_bytes(&self) -> u64 {
        self.victims.iter().map(|victim| victim.row.end).sum()
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

/// Chooses sparse segments, and small ones when there are many. `dead_bytes` are bytes that count as live in the rows
/// but will not for long. With `any_gain` it is enough that the store gets smaller.
pub(super) fn select(
    inner: &Inner,
    segments: &[(u32, SegmentRow)],
    dead_bytes: &HashMap<u32, u64>,
    checkpoint_len: u64,
    any_gain: bool,
) -> Result<Chosen> {
    let mut chosen = Chosen::default();
    for (number, row) in segments {
        let live_bytes = row.live_bytes.saturating_sub(dead_bytes.get(number).copied().unwrap_or(0));
        let sparse = live_bytes.saturating_mul(2) < row.end;
        if !sparse && row.end >= SMALL_SEGMENT_BYTES {
            continue;
        }
        if chosen.victims.len() == VICTIMS_MAX {
            chosen.more = true;
            break;
        }
        if let Some(lock) = Lock::try_orphan(&inner.io, &segment_lock_path(&inner.path, row.id))? {
            chosen.victims.push(Victim { number: *number, row: row.clone(), live_bytes, lock });
        }
    }
    let is_small = |victim: &Victim| victim.row.end < SMALL_SEGMENT_BYTES;
    let merge = chosen.victims.iter().filter(|victim| is_small(victim)).count() >= SMALL_SEGMENTS_MIN;
    let is_sparse = |victim: &Victim| victim.live_bytes.saturating_mul(2) < victim.row.end;
    chosen.victims.retain(|victim| is_sparse(victim) || merge && is_small(victim));

    // Those that give most for the least copying come first.
    chosen.victims.sort_by_key(|victim| (victim.live_bytes, victim.number));
    let mut copied = 0u64;
    let fits = chosen.victims.iter().take_while(|victim| {
        copied = copied.saturating_add(victim.live_bytes);
        copied <= REWRITE_BYTES_MAX
    });
    let fitting = fits.count().max(1).min(chosen.victims.len());
    chosen.more |= fitting < chosen.victims.len();
    chosen.victims.truncate(fitting);

    let needs_checkpoint = chosen.victims.iter().any(|victim| victim.row.journal_bytes > 0);
    let cost = if needs_checkpoint { checkpoint_len } else { 0 };
    let gain = chosen.garbage_bytes().saturating_sub(cost);
    let worth = merge || (any_gain && gain > 0) || gain.saturating_mul(4) >= chosen.end_bytes();
    if !worth {
        chosen.victims.retain(|victim| victim.live_bytes == 0 && victim.row.journal_bytes == 0);
    }
    Ok(chosen)
}
