//! What draining would do, without doing it: the same steps on a copy of the rows in memory.

use std::collections::HashMap;

use crate::error::Result;
use crate::gc::rebase::only_a_base;
use crate::hash::Hash;
use crate::index::rows::{ObjectRow, Place};
use crate::index::tables::Rows;
use crate::object::read::ObjectReader;

/// Objects looked at for an estimate: about a tenth of a second.
pub(super) const OBJECTS_MAX_ESTIMATE: usize = 5_000;

/// What would go.
#[derive(Debug, Default)]
pub(super) struct Drained {
    pub(super) objects: u64,
    /// Records, by the number of their segment.
    pub(super) segments: HashMap<u32, u64>,
    pub(super) large_bytes: u64,
    pub(super) large_files: u64,
    /// Rows as they would be; `None` = gone.
    changed: HashMap<Hash, Option<ObjectRow>>,
}

/// Bases that only deltas need, by the number of their segment: how many, and their bytes. See [`super::rebase`].
pub(super) type Links = HashMap<u32, (u64, u64)>;

impl Drained {
    /// The links there would be.
    pub(super) fn links(&self, rows: &dyn Rows) -> Result<Links> {
        let mut links = Links::new();
        rows.each_object(&mut |hash, row| {
            let row = self.changed.get(&hash).cloned().unwrap_or(Some(row));
            if let Some(row) = row.filter(only_a_base)
                && let Place::Segment { number, len, .. } = row.place
            {
                let (count, bytes) = links.entry(number).or_default();
                *count += 1;
                *bytes += u64::from(len);
            }
            Ok(())
        })?;
        Ok(links)
    }
}

struct Simulation<'a> {
    rows: &'a dyn Rows,
    reader: &'a ObjectReader,
    queue: Vec<Hash>,
    drained: Drained,
}

/// Simulates a drain of at most `objects_max` objects.
pub(super) fn drain(rows: &dyn Rows, reader: &ObjectReader, objects_max: usize) -> Result<Drained> {
    let queue = rows.dead(objects_max)?;
    let mut simulation = Simulation { rows, reader, queue, drained: Drained::default() };
    let mut looked_at = 0;
    while let Some(hash) = simulation.queue.pop() {
        if looked_at == objects_max {
            break;
        }
        looked_at += 1;
        simulation.collect(hash)?;
    }
    Ok(simulation.drained)
}

impl Simulation<'_> {
    fn row(&self, hash: Hash) -> Result<Option<ObjectRow>> {
        match self.drained.changed.get(&hash) {
            Some(row) => Ok(row.clone()),
            None => self.rows.object(hash),
        }
    }

    fn collect(&mut self, hash: Hash) -> Result<()> {
        let Some(mut row) = self.row(hash)? else { return Ok(()) };
        if row.refs > 0 {
            return Ok(());
        }
        if row.holds_children {
            row.holds_children = false;
            self.drained.changed.insert(hash, Some(row.clone()));
            for child in self.reader.node(self.rows, hash)?.references() {
                self.lower(child, |row| &mut row.refs)?;
            }
        }
        if row.base_refs > 0 {
            return Ok(());
        }
        self.drained.changed.insert(hash, None);
        self.drained.objects += 1;
        match row.place {
            Place::Segment { number, len, .. } => {
                *self.drained.segments.entry(number).or_default() += u64::from(len);
            }
            Place::Large { len, .. } => {
                self.drained.large_bytes += len;
                self.drained.large_files += 1;
            }
            Place::Lost => {}
        }
        row.base.map_or(Ok(()), |base| self.lower(base, |row| &mut row.base_refs))
    }

    fn lower(&mut self, hash: Hash, count: impl FnOnce(&mut ObjectRow) -> &mut u64) -> Result<()> {
        let Some(mut row) = self.row(hash)? else { return Ok(()) };
        let count = count(&mut row);
        *count = count.saturating_sub(1);
        if row.refs == 0 && (row.base_refs == 0 || row.holds_children) {
            self.queue.push(hash);
        }
        self.drained.changed.insert(hash, Some(row));
        Ok(())
    }
}
