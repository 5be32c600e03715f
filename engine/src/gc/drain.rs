//! Takes the rows of dead objects away, a few at a time.

use crate::error::Result;
use crate::gc::{Run, StoredNodes};
use crate::index::apply::{Apply, Counting};
use crate::index::tables::Rows as _;
use crate::limits::DRAIN_ROWS_MAX;

/// What one transaction took away.
#[derive(Default)]
struct Drained {
    objects: u64,
    large_files: u64,
    large_bytes: u64,
}

impl Run<'_> {
    /// Collects until nothing is dead. Letting go of a node may make its children dead, so this goes on until the end of
    /// the cascade, however long; counts are exact after each transaction.
    pub(super) fn drain(&mut self) -> Result<()> {
        while let Some(drained) = self.drain_some()? {
            self.report.dropped_objects += drained.objects;
            self.report.removed_files += drained.large_files;
            self.report.freed_bytes += drained.large_bytes;
        }
        Ok(())
    }

    fn drain_some(&self) -> Result<Option<Drained>> {
        let nodes = StoredNodes(&self.inner.reader);
        self.transact(|tables| {
            let dead = tables.dead(DRAIN_ROWS_MAX)?;
            if dead.is_empty() {
                return Ok(None);
            }
            let mut drained = Drained::default();
            let order = tables.state()?.order;
            let mut apply = Apply { tables, nodes: &nodes, order, at_ms: 0, counting: Counting::Live };
            let mut rows = 0;
            for hash in dead {
                if rows >= DRAIN_ROWS_MAX {
                    break;
                }
                let collected = apply.collect(hash)?;
                rows += collected.rows;
                if let Some(removed) = collected.removed {
                    drained.objects += 1;
                    if removed.in_file {
                        drained.large_files += 1;
                        drained.large_bytes += removed.bytes;
                    }
                }
            }
            Ok(Some(drained))
        })
    }
}
