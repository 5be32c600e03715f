//! Moves what is needed out of sparse and small segments, then removes them.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::error::{Error, ErrorKind, IoContext as _, Result};
use crate::gc::Run;
use crate::gc::select::{self, Garbage, Victim};
use crate::gc::simulate::Drained;
use crate::hash::Hash;
use crate::id::Id;
use crate::index::apply::{Apply, Counting};
use crate::index::rows::{ObjectKind, ObjectRow, Place, UnlinkRow};
use crate::index::tables::{Rows, Tables};
use crate::io::Open;
use crate::limits::{DRAIN_ROWS_MAX, FRAME_BATCH_BYTES, SEGMENT_READ_MAX};
use crate::object::read::damaged;
use crate::segment::frame::FrameBuilder;
use crate::segment::record::{Encoding, KIND_BLOB, KIND_JOURNAL, KIND_NODE, Record};
use crate::segment::scanner::{Scanner, Stretch};
use crate::segment::segment_path;
use crate::segment::writer::SegmentWriter;
use crate::store::{OwnSegment, chained};

/// Moving ends after this many rounds; what still lies in a victim then keeps it for the next run.
const ROUNDS_MAX: u32 = 4;

/// An object that gets another place, and perhaps another base.
#[derive(Debug)]
pub(super) struct Move {
    pub(super) hash: Hash,
    /// The row the copy was made of: a row that changed meanwhile is left alone.
    pub(super) old: ObjectRow,
    pub(super) encoding: Encoding,
    pub(super) base: Option<Hash>,
    pub(super) payload: Vec<u8>,
}

/// A move whose record is written.
struct Moved {
    hash: Hash,
    old: ObjectRow,
    base: Option<Hash>,
    offset: u64,
    len: u32,
}

/// Moves that share a frame and a transaction.
#[derive(Default)]
pub(super) struct Batch {
    moved: Vec<Moved>,
    frame: Option<FrameBuilder>,
    bytes: usize,
    /// Offsets of what was written to the present segment: bases near by are named by distance.
    near: HashMap<Hash, u64>,
}

impl Run<'_> {
    /// Rewrites and removes what [`select`] chooses.
    pub(super) fn rewrite(&mut self) -> Result<()> {
        let nothing_dead = Drained::default();
        let (segments, links, checkpoint_len) =
            self.inner.read(|rows| Ok((rows.segments()?, nothing_dead.links(rows)?, select::checkpoint_len(rows)?)))?;
        let garbage = Garbage { dead: &HashMap::new(), links: &links, checkpoint_len };
        let mut chosen = select::select(self.inner, &segments, &garbage, self.options.force)?;
        self.report.more |= chosen.more;
        let numbers: HashSet<u32> = chosen.victims.iter().map(|victim| victim.number).collect();
        if numbers.is_empty() {
            return Ok(());
        }
        let occupied = self.inner.read(|rows| self.rows_in(rows, &numbers))?;
        for victim in std::mem::take(&mut chosen.victims) {
            if self.may_go(&victim, &occupied)? {
                chosen.victims.push(victim);
            }
        }
        let numbers: HashSet<u32> = chosen.victims.iter().map(|victim| victim.number).collect();
        match self.empty(&numbers) {
            Ok(()) => {}
            // Without room for copies, those that need none can still go.
            Err(error) if error.kind() == ErrorKind::NoSpace => self.report.held_back = Some(error.to_string()),
            Err(error) => return Err(error),
        }
        let left = self.inner.read(|rows| self.rows_in(rows, &numbers))?;
        let occupied = |victim: &Victim| {
            left.iter().any(|(_, row)| matches!(row.place, Place::Segment { number, .. } if number == victim.number))
        };
        chosen.victims.retain(|victim| !occupied(victim));
        self.report.more |= !left.is_empty();
        self.remove(chosen.victims)
    }

    /// Looks at a victim's bytes before anything of it is given up. Damage that could matter stops the collection;
    /// records of a kind this program does not know keep the segment.
    fn may_go(&self, victim: &Victim, occupied: &[(Hash, ObjectRow)]) -> Result<bool> {
        let path = segment_path(&self.inner.path, victim.row.id);
        let file = self.inner.io.open(&path, Open::Read).context("open the segment", &path)?;
        let bytes = file.read_to_end(0, SEGMENT_READ_MAX).context("read the segment", &path)?;
        let damage = |cause: &str| Err(Error::new(ErrorKind::Corrupt, "collect the segment").at(&path).cause(cause));
        if (bytes.len() as u64) < victim.row.end {
            return damage("it is shorter than the index says");
        }
        let holds_rows = |from: u64, to: u64| {
            occupied.iter().any(|(_, row)| {
                matches!(row.place, Place::Segment { number, offset, .. }
                    if number == victim.number && (from..to).contains(&offset))
            })
        };
        let mut gaps = false;
        for stretch in Scanner::new(victim.row.id, &bytes) {
            match stretch {
                Stretch::Gap { from, to } if from < victim.row.end && holds_rows(from, to) => {
                    return damage("a part of it is damaged");
                }
                Stretch::Gap { from, .. } => gaps |= from < victim.row.end,
                Stretch::Frame(frame) => {
                    let known = |record: &Record<'_>| matches!(record.kind, KIND_BLOB | KIND_NODE | KIND_JOURNAL);
                    if !frame.records.iter().all(|(_, record)| known(record)) {
                        return Ok(false);
                    }
                }
            }
        }
        if gaps && victim.row.journal_bytes > 0 {
            // The history could be what is damaged.
            let state = self.inner.read(|rows| rows.state())?;
            self.follow_history(&state, 0, |_| false)?;
        }
        Ok(true)
    }

    /// Rows that point into the segments, in the order of their places.
    pub(super) fn rows_in(&self, rows: &dyn Rows, numbers: &HashSet<u32>) -> Result<Vec<(Hash, ObjectRow)>> {
        let mut found = Vec::new();
        rows.each_object(&mut |hash, row| {
            if let Place::Segment { number, .. } = row.place
                && numbers.contains(&number)
            {
                found.push((hash, row));
            }
            Ok(())
        })?;
        found.sort_by_key(|(_, row)| match row.place {
            Place::Segment { number, offset, .. } => (number, offset),
            _ => (0, 0),
        });
        Ok(found)
    }

    /// Moves everything out of the segments, as far as that goes.
    fn empty(&mut self, numbers: &HashSet<u32>) -> Result<()> {
        for round in 0..ROUNDS_MAX {
            let occupied = self.inner.read(|rows| self.rows_in(rows, numbers))?;
            if occupied.is_empty() {
                break;
            }
            // Deltas that keep a dead base go first: then the base need not be moved.
            let given_up = if round == 0 { self.rebase(&occupied)? } else { HashSet::new() };
            let mut batch = Batch::default();
            let mut waiting: Vec<(Hash, ObjectRow)> =
                occupied.into_iter().filter(|(hash, _)| !given_up.contains(hash)).rev().collect();
            while !waiting.is_empty() {
                for moving in self.copies_of(&mut waiting)? {
                    self.add(&mut batch, moving)?;
                }
            }
            self.flush(&mut batch)?;
            self.drain()?;
        }
        Ok(())
    }

    /// Takes objects from the end of `waiting`, about as many as go into one frame.
    fn copies_of(&self, waiting: &mut Vec<(Hash, ObjectRow)>) -> Result<Vec<Move>> {
        self.inner.read(|rows| {
            let mut copies = Vec::new();
            let mut bytes = 0;
            while copies.len() < DRAIN_ROWS_MAX
                && bytes < FRAME_BATCH_BYTES
                && let Some((hash, seen)) = waiting.pop()
            {
                if let Some(copy) = self.copy_of(rows, hash, &seen)? {
                    bytes += copy.payload.len();
                    copies.push(copy);
                }
            }
            Ok(copies)
        })
    }

    /// The record of an object as it will stand elsewhere. The object is decoded and hashed first: a copy must not put a
    /// fresh checksum on damaged bytes. `None` when it is gone or elsewhere by now.
    fn copy_of(&self, rows: &dyn Rows, hash: Hash, seen: &ObjectRow) -> Result<Option<Move>> {
        let Some(old) = rows.object(hash)?.filter(|now| now.place == seen.place) else { return Ok(None) };
        let bytes = self.inner.reader.read_uncached(rows, hash)?;
        self.inner.reader.cache().put(hash, &bytes);
        let bytes = self.inner.reader.record_bytes(rows, hash, &old)?;
        let (record, _) = Record::parse(&bytes).ok_or_else(|| damaged(hash, "its record is damaged"))?;
        let encoding = match record.encoding {
            Encoding::DeltaNear(_) => Encoding::Delta,
            other => other,
        };
        let (base, payload) = (old.base, record.payload.to_vec());
        Ok(Some(Move { hash, old, encoding, base, payload }))
    }

    /// Adds a record to the batch; a full batch is written and its rows are flipped.
    pub(super) fn add(&mut self, batch: &mut Batch, moving: Move) -> Result<()> {
        let writer = &self.own(batch)?.writer;
        let frame = batch.frame.get_or_insert_with(|| writer.frame());
        let offset = frame.next_offset();
        let near = moving.base.and_then(|base| batch.near.get(&base)).and_then(|at| u32::try_from(offset - at).ok());
        let (encoding, references) = match (moving.encoding, near) {
            (Encoding::Delta, Some(back)) => (Encoding::DeltaNear(back), vec![]),
            (Encoding::Delta, None) => (Encoding::Delta, moving.base.into_iter().collect()),
            (full, _) => (full, vec![]),
        };
        let record = Record {
            kind: match moving.old.kind {
                ObjectKind::Blob => KIND_BLOB,
                ObjectKind::Node => KIND_NODE,
            },
            encoding,
            raw_len: u32::try_from(moving.old.raw_len).map_err(|_| damaged(moving.hash, "its row is damaged"))?,
            hash: Some(moving.hash),
            references,
            payload: &moving.payload,
        };
        let len = record.encoded_len() as u32;
        frame.push(&record);
        batch.near.insert(moving.hash, offset);
        batch.bytes += len as usize;
        batch.moved.push(Moved { hash: moving.hash, old: moving.old, base: moving.base, offset, len });
        if batch.moved.len() >= DRAIN_ROWS_MAX || batch.bytes >= FRAME_BATCH_BYTES {
            self.flush(batch)?;
        }
        Ok(())
    }

    fn own(&mut self, batch: &mut Batch) -> Result<&mut OwnSegment> {
        let full = batch.frame.is_none() && self.slot.as_ref().is_some_and(|own| own.writer.is_full());
        if full && let Some(own) = self.slot.take() {
            own.writer.seal();
            batch.near.clear();
        }
        if self.slot.is_none() {
            let inner = self.inner;
            let writer = SegmentWriter::create(&inner.io, &inner.path, inner.format.store)?;
            self.slot = Some(OwnSegment { writer, number: None });
        }
        Ok(self.slot.as_mut().expect("it was filled just now"))
    }

    /// Writes and syncs the batch, then points the rows at the copies.
    pub(super) fn flush(&mut self, batch: &mut Batch) -> Result<()> {
        let Some(frame) = batch.frame.take() else { return Ok(()) };
        batch.bytes = 0;
        let moved = std::mem::take(&mut batch.moved);
        let result = self.write_and_flip(frame, &moved);
        if result.is_err() {
            // What follows the last synced byte of the segment is unknown.
            self.slot = None;
        }
        result
    }

    fn write_and_flip(&mut self, frame: FrameBuilder, moved: &[Moved]) -> Result<()> {
        let mut own = self.slot.take().ok_or_else(|| {
            Error::new(ErrorKind::Internal, "move objects").cause("the segment they were written for is gone")
        })?;
        let frame = frame.finish(own.writer.segment(), 0);
        let appended = own.writer.append(&frame)?;
        let durable = own.writer.sync(vec![appended])?;
        self.transact(|tables| {
            let mut state = tables.state()?;
            let (number, mut segment) = crate::store::Inner::own_row(tables, &mut state, &mut own)?;
            tables.put_state(&state)?;
            segment.end = durable.end;
            tables.put_segment(number, &segment)?;
            let nodes = crate::gc::StoredNodes(&self.inner.reader);
            let mut apply = Apply { tables, nodes: &nodes, order: state.order, at_ms: 0, counting: Counting::Live };
            moved.iter().try_for_each(|moved| flip(&mut apply, moved, number))?;
            Ok(Some(()))
        })?;
        self.slot = Some(own);
        Ok(())
    }

    /// Takes empty segments off the list and removes their files. Without a checkpoint, for instance on a full disk,
    /// only those go whose journal nobody needs.
    fn remove(&mut self, victims: Vec<Victim>) -> Result<()> {
        if victims.is_empty() {
            return Ok(());
        }
        let refs: Vec<&Victim> = victims.iter().collect();
        let removed = match self.take_off(&refs, true) {
            Ok(()) => refs,
            Err(error) if error.kind() == ErrorKind::NoSpace => {
                let rest: Vec<&Victim> = refs.into_iter().filter(|victim| victim.row.journal_bytes == 0).collect();
                if !rest.is_empty() {
                    self.take_off(&rest, false)?;
                }
                self.report.held_back = Some(error.to_string());
                self.report.more = true;
                rest
            }
            Err(error) => return Err(error),
        };
        self.report.unlinked_segments += removed.len() as u64;
        self.report.rewritten_segments += removed.iter().filter(|victim| victim.live_bytes > 0).count() as u64;
        self.report.freed_bytes += removed.iter().map(|victim| victim.garbage_bytes()).sum::<u64>();
        self.finish_unlinks()?;
        for victim in victims {
            if let Some(lock) = victim.lock
                && !exists(self.inner, &segment_path(&self.inner.path, victim.row.id))
            {
                lock.remove(&self.inner.io);
            }
        }
        Ok(())
    }

    /// One transaction: checkpoint, rows of the segments gone, their files queued.
    fn take_off(&mut self, victims: &[&Victim], checkpoint: bool) -> Result<()> {
        let mut slot = self.slot.take();
        let mut wrote = false;
        let result = self.transact(|tables| {
            if checkpoint {
                self.inner.write_checkpoint(tables, &mut slot, &mut wrote)?;
            }
            for victim in victims {
                take_off_one(tables, victim.number, victim.row.id)?;
            }
            Ok(Some(()))
        });
        match &result {
            Ok(_) => {
                self.journalled |= checkpoint;
                self.slot = slot;
            }
            Err(_) if wrote => {}
            Err(_) => self.slot = slot,
        }
        result.map(drop)
    }
}

fn take_off_one(tables: &mut Tables<'_>, number: u32, id: Id) -> Result<()> {
    let row = tables.segment(number)?.filter(|row| row.id == id);
    if row.is_none_or(|row| row.live_bytes != 0) {
        return Err(Error::new(ErrorKind::Corrupt, "remove a segment")
            .cause(format!("the live bytes of segment {id} do not fit the objects that lie in it")));
    }
    tables.remove_segment(number)?;
    tables.put_unlink(id.as_bytes(), &UnlinkRow::Segment(id))
}

fn exists(inner: &crate::store::Inner, path: &Path) -> bool {
    inner.io.stat(path).is_ok()
}

/// Points a row at its copy, unless the row changed since the copy was made.
fn flip(apply: &mut Apply<'_, '_>, moved: &Moved, number: u32) -> Result<()> {
    let Some(mut row) = apply.tables.object(moved.hash)? else { return Ok(()) };
    if row.place != moved.old.place || row.base != moved.old.base {
        return Ok(());
    }
    let old_base = row.base;
    if moved.base != old_base {
        match moved.base {
            None => (row.depth, row.chain_bytes) = (0, row.raw_len),
            Some(base) => {
                let Some(base_row) = apply.tables.object(base)? else { return Ok(()) };
                match chained(&base_row, row.raw_len) {
                    // Deltas on this object were bounded by its depth: it must not grow.
                    Some((depth, bytes)) if depth <= row.depth => (row.depth, row.chain_bytes) = (depth, bytes),
                    _ => return Ok(()),
                }
                crate::store::add_reference(apply.tables, base, base_row)?;
            }
        }
        row.base = moved.base;
    }
    crate::store::account_removed(apply.tables, moved.hash, &row)?;
    row.place = Place::Segment { number, offset: moved.offset, len: moved.len };
    apply.tables.put_object(moved.hash, &row)?;
    if let Some(mut segment) = apply.tables.segment(number)? {
        segment.live_bytes += u64::from(moved.len);
        apply.tables.put_segment(number, &segment)?;
    }
    match old_base {
        Some(base) if moved.base != old_base => apply.release_base(base),
        _ => Ok(()),
    }
}
