//! One transaction: write what is missing, sync it, commit the rows that refer to it.
//!
//! The frame is appended and synced inside the index's write transaction, after the rows have been prepared and before
//! they are committed. So the order of journal frames is the order of commits, a failed check costs no write, and no
//! row ever points at bytes that were not synced before.

use std::collections::BTreeMap;

use crate::codec;
use crate::error::{Error, ErrorKind, Result};
use crate::hash::Hash;
use crate::index::apply::{Apply, Counting, NodeBytes};
use crate::index::rows::{FrameRef, ObjectKind, ObjectRow, Place, SegmentRow, StateRow, UnlinkRow};
use crate::index::tables::{Logical, Rows as _, RowsExt as _, Tables};
use crate::journal::{Change, Journal};
use crate::limits::{DELTA_CHAIN_BYTES_MAX, DELTA_DEPTH_MAX, FRAME_BATCH_BYTES, FRAME_INSIDE_LOCK_MAX};
use crate::object::encode::{Form, encode_full};
use crate::object::large;
use crate::object::pending::{Pending, PendingObject, Written};
use crate::object::read::{ObjectReader, damaged};
use crate::segment::frame::FrameBuilder;
use crate::segment::record::{Encoding, KIND_BLOB, KIND_JOURNAL, KIND_NODE, Record};
use crate::segment::writer::SegmentWriter;
use crate::store::{Inner, OwnSegment};
use crate::tree::Node;

/// Nodes during a transaction: those being committed are not on disk yet.
struct BatchNodes<'a> {
    pending: &'a Pending,
    reader: &'a ObjectReader,
}

impl NodeBytes for BatchNodes<'_> {
    fn node(&self, rows: &Tables<'_>, hash: Hash) -> Result<Node> {
        match self.pending.get(hash) {
            Some(object) => Node::parse(&object.bytes).map_err(|error| damaged(hash, error.to_string())),
            None => self.reader.node(rows, hash),
        }
    }
}

/// Counts what an object's row takes off its segment, or queues its file for removal.
pub(crate) fn account_removed(tables: &mut Tables<'_>, hash: Hash, row: &ObjectRow) -> Result<()> {
    match row.place {
        Place::Segment { number, len, .. } => {
            if let Some(mut segment) = tables.segment(number)? {
                segment.live_bytes = segment.live_bytes.saturating_sub(u64::from(len));
                tables.put_segment(number, &segment)?;
            }
            Ok(())
        }
        Place::Large { file, .. } => tables.put_unlink(file.as_bytes(), &UnlinkRow::Large { content: hash, file }),
        Place::Lost => Ok(()),
    }
}

/// Counts one more delta on `base`.
pub(crate) fn add_reference(tables: &mut Tables<'_>, base: Hash, mut row: ObjectRow) -> Result<()> {
    row.base_refs += 1;
    tables.put_object(base, &row)
}

/// Depth and chain length of a delta on `base`, or `None` when a chain must end here.
pub(crate) fn chained(base: &ObjectRow, raw_len: u64) -> Option<(u8, u64)> {
    let depth = base.depth + 1;
    let chain_bytes = base.chain_bytes + raw_len;
    let bounded = depth <= DELTA_DEPTH_MAX && chain_bytes <= DELTA_CHAIN_BYTES_MAX;
    (bounded && matches!(base.place, Place::Segment { .. })).then_some((depth, chain_bytes))
}

fn record_of<'a>(object: &'a PendingObject, near: Option<u32>) -> Record<'a> {
    let (encoding, references) = match (object.encoded.form, near) {
        (Form::Raw, _) => (Encoding::Raw, vec![]),
        (Form::Zstd, _) => (Encoding::Zstd, vec![]),
        (Form::Delta { .. }, Some(back)) => (Encoding::DeltaNear(back), vec![]),
        (Form::Delta { base }, None) => (Encoding::Delta, vec![base]),
    };
    Record {
        kind: match object.kind {
            ObjectKind::Blob => KIND_BLOB,
            ObjectKind::Node => KIND_NODE,
        },
        encoding,
        raw_len: u32::try_from(object.raw_len).expect("objects in segments are bounded"),
        hash: Some(object.hash),
        references,
        payload: &object.encoded.payload,
    }
}

/// The rows that one batch adds, and the frame that carries their bytes.
struct Batch {
    frame: FrameBuilder,
    number: u32,
    segment: SegmentRow,
    inserted: Vec<Hash>,
    /// Rows of lost objects that have bytes again.
    healed: Vec<Hash>,
}

impl Inner {
    /// Commits `pending` and the changes that `decide` makes of the state it finds. `decide` runs inside the write
    /// transaction, may run only once, and says `None` when nothing is to be done after all.
    ///
    /// When this returns, everything is durable. After an error nothing has happened, and `pending` must be made anew:
    /// what was written ahead may lie in a segment that is given up.
    pub(crate) fn commit<T>(
        &self,
        pending: &mut Pending,
        decide: impl FnOnce(&Tables<'_>, u64) -> Result<Option<(Vec<Change>, T)>>,
    ) -> Result<Option<T>> {
        self.check_writable()?;
        let mut slot = self.lock_writer();
        let mut wrote = false;
        let result = self.write_ahead(&mut slot, pending).and_then(|()| {
            self.index.write(self.deadline(), |tables| {
                self.check_format()?;
                let at_ms = self.io.now_ms();
                let order = tables.state()?.order + 1;
                let Some((changes, value)) = decide(tables, order)? else { return Ok(None) };
                self.write_inside(tables, &mut slot, pending, changes, at_ms, &mut wrote)?;
                Ok(Some(value))
            })
        });
        match &result {
            Ok(_) => {
                if slot.as_ref().is_some_and(|own| own.writer.is_full())
                    && let Some(own) = slot.take()
                {
                    own.writer.seal();
                }
            }
            Err(error) => {
                // A segment is abandoned after any failed write or sync: what follows its last synced byte is unknown.
                if wrote || matches!(error.kind(), ErrorKind::SegmentAbandoned | ErrorKind::Io | ErrorKind::NoSpace) {
                    *slot = None;
                }
                if error.kind() == ErrorKind::Corrupt {
                    self.note_damage(&error.to_string());
                }
            }
        }
        result
    }

    /// Puts the store into the state in which nothing is deleted. Best effort: fsck finds the damage again.
    pub(crate) fn note_damage(&self, what: &str) {
        let _ = self.index.write(self.deadline(), |tables| {
            let mut state = tables.state()?;
            if state.damage.is_some() {
                return Ok(None);
            }
            state.damage = Some(what.to_owned());
            tables.put_state(&state)?;
            Ok(Some(()))
        });
    }

    fn own<'a>(&self, slot: &'a mut Option<OwnSegment>) -> Result<&'a mut OwnSegment> {
        if slot.is_none() {
            let writer = SegmentWriter::create(&self.io, &self.path, self.format.store)?;
            *slot = Some(OwnSegment { writer, number: None });
        }
        Ok(slot.as_mut().expect("it was filled just now"))
    }

    /// Writes and syncs what is pending so far and lets go of its bytes, for batches that do not fit into memory.
    pub(crate) fn flush(&self, pending: &mut Pending) -> Result<()> {
        self.check_writable()?;
        let mut slot = self.lock_writer();
        let result = self.write_frames(&mut slot, pending);
        if result.is_err() {
            *slot = None;
        }
        pending.shed_bytes();
        result
    }

    /// Writes and syncs a large batch before the index is asked for, so that nobody waits for it.
    fn write_ahead(&self, slot: &mut Option<OwnSegment>, pending: &mut Pending) -> Result<()> {
        if pending.unwritten_bytes() <= FRAME_INSIDE_LOCK_MAX {
            return Ok(());
        }
        self.write_frames(slot, pending)
    }

    fn write_frames(&self, slot: &mut Option<OwnSegment>, pending: &mut Pending) -> Result<()> {
        // What the index has already is not written; it is a hint, checked again inside the transaction.
        let wanted: Vec<usize> = self.read(|rows| {
            let mut wanted = Vec::new();
            for (at, object) in pending.objects().iter().enumerate() {
                if object.written.is_none() && !rows.has_bytes(object.hash)? {
                    wanted.push(at);
                }
            }
            Ok(wanted)
        })?;
        let own = self.own(slot)?;
        let mut places: Vec<(usize, Written)> = Vec::with_capacity(wanted.len());
        let mut appended = Vec::new();
        let mut from = 0;
        while from < wanted.len() {
            let mut frame = own.writer.frame();
            let mut bytes = 0;
            let start = from;
            while from < wanted.len() && (bytes < FRAME_BATCH_BYTES || from == start) {
                let object = &pending.objects()[wanted[from]];
                let record = record_of(object, None);
                let written = Written {
                    segment: own.writer.segment(),
                    offset: frame.next_offset(),
                    len: record.encoded_len() as u32,
                };
                frame.push(&record);
                places.push((wanted[from], written));
                bytes += object.encoded.payload.len();
                from += 1;
            }
            let frame = frame.finish(own.writer.segment(), 0);
            appended.push(own.writer.append(&frame)?);
        }
        let durable = own.writer.sync(appended)?;
        debug_assert_eq!(durable.records.len(), places.len());
        pending.set_written(&places);
        Ok(())
    }

    fn write_inside(
        &self,
        tables: &mut Tables<'_>,
        slot: &mut Option<OwnSegment>,
        pending: &mut Pending,
        changes: Vec<Change>,
        at_ms: i64,
        wrote: &mut bool,
    ) -> Result<()> {
        let mut state = tables.state()?;
        state.order += 1;
        let own = self.own(slot)?;
        if !pending.written_only_to(own.writer.segment()) {
            return Err(Error::new(ErrorKind::Conflict, "write a batch")
                .at(&self.path)
                .cause("the segment it was begun in is closed"));
        }
        let mut batch = Self::start_batch(tables, &mut state, own)?;
        Self::insert_objects(tables, pending, &mut batch)?;
        self.insert_large(tables, pending)?;
        let nodes = BatchNodes { pending, reader: &self.reader };
        let mut apply = Apply { tables, nodes: &nodes, order: state.order, at_ms, counting: Counting::Live };
        changes.iter().try_for_each(|change| apply.change(change))?;
        batch.healed.iter().try_for_each(|hash| apply.hold_children_again(*hash))?;
        for hash in &batch.inserted {
            // Nothing refers to it after all, for instance because another process was first.
            if tables.object(*hash)?.is_some_and(|row| row.refs == 0 && row.base_refs == 0) {
                tables.put_dead(*hash)?;
            }
        }
        let journal = Journal::Changes { parent: state.last_frame, at_ms, changes };
        self.finish_batch(tables, state, own, batch, &journal, wrote)
    }

    fn start_batch(tables: &mut Tables<'_>, state: &mut StateRow, own: &mut OwnSegment) -> Result<Batch> {
        let (number, segment) = Self::own_row(tables, state, own)?;
        Ok(Batch { frame: own.writer.frame(), number, segment, inserted: Vec::new(), healed: Vec::new() })
    }

    /// The segment's row, with a number if it has none yet.
    pub(crate) fn own_row(
        tables: &mut Tables<'_>,
        state: &mut StateRow,
        own: &mut OwnSegment,
    ) -> Result<(u32, SegmentRow)> {
        let id = own.writer.segment();
        let known = match own.number {
            // A rebuilt index may have given the number to another segment.
            Some(number) => tables.segment(number)?.filter(|row| row.id == id).map(|row| (number, row)),
            None => None,
        };
        let known = match known {
            Some(known) => Some(known),
            None => tables.segments()?.into_iter().find(|(_, row)| row.id == id),
        };
        let (number, segment) = known.unwrap_or_else(|| {
            let number = state.next_segment;
            state.next_segment += 1;
            (number, SegmentRow { id, end: 0, live_bytes: 0, journal_bytes: 0 })
        });
        own.number = Some(number);
        tables.put_segment(number, &segment)?;
        Ok((number, segment))
    }

    /// Adds a row for each object that has none, and its record to the frame unless it was written ahead.
    fn insert_objects(tables: &mut Tables<'_>, pending: &mut Pending, batch: &mut Batch) -> Result<()> {
        // Sorted insertion keeps the tree compact, but bases must come before their deltas: depths are taken from rows.
        for at in 0..pending.objects().len() {
            let object = &pending.objects()[at];
            let hash = object.hash;
            let before = tables.object(hash)?;
            if before.as_ref().is_some_and(|row| !row.is_lost()) {
                continue;
            }
            let raw_len = object.raw_len;
            let mut chain = None;
            if let Form::Delta { base } = object.encoded.form {
                let row = tables.object(base)?;
                chain = row.and_then(|row| chained(&row, raw_len).map(|(depth, bytes)| (base, row, depth, bytes)));
                if chain.is_none() {
                    pending.drop_base(at);
                }
            }
            let object = &pending.objects()[at];
            let written = object.written.unwrap_or_else(|| {
                let offset = batch.frame.next_offset();
                let near = chain.as_ref().and_then(|(_, row, ..)| match row.place {
                    Place::Segment { number, offset: base, .. } if number == batch.number => {
                        u32::try_from(offset - base).ok()
                    }
                    _ => None,
                });
                let record = record_of(object, near);
                batch.frame.push(&record);
                Written { segment: batch.segment.id, offset, len: record.encoded_len() as u32 }
            });
            let (base, depth, chain_bytes) = match chain {
                Some((base, row, depth, chain_bytes)) => {
                    add_reference(tables, base, row)?;
                    (Some(base), depth, chain_bytes)
                }
                None => (None, 0, raw_len),
            };
            let place = Place::Segment { number: batch.number, offset: written.offset, len: written.len };
            let row = ObjectRow {
                kind: object.kind,
                place,
                raw_len,
                refs: before.as_ref().map_or(0, |row| row.refs),
                base_refs: 0,
                holds_children: false,
                base,
                depth,
                chain_bytes,
            };
            tables.put_object(hash, &row)?;
            batch.segment.live_bytes += u64::from(written.len);
            if before.is_some() {
                batch.healed.push(hash);
            }
            batch.inserted.push(hash);
        }
        Ok(())
    }

    fn insert_large(&self, tables: &mut Tables<'_>, pending: &Pending) -> Result<()> {
        for large in &pending.large {
            let before = tables.object(large.content)?;
            if before.as_ref().is_some_and(|row| !row.is_lost()) {
                // The content was there; the new file has no row and may go.
                let path = large::large_path(&self.path, large.content, large.file);
                let _ = self.io.remove_file(&path);
                continue;
            }
            let row = ObjectRow {
                kind: ObjectKind::Blob,
                place: Place::Large { file: large.file, len: large.len },
                raw_len: large.raw_len,
                refs: before.map_or(0, |row| row.refs),
                base_refs: 0,
                holds_children: false,
                base: None,
                depth: 0,
                chain_bytes: large.raw_len,
            };
            tables.put_object(large.content, &row)?;
        }
        Ok(())
    }

    /// Adds the journal record, stores the counters, then appends and syncs the frame.
    fn finish_batch(
        &self,
        tables: &mut Tables<'_>,
        mut state: StateRow,
        own: &mut OwnSegment,
        mut batch: Batch,
        journal: &Journal,
        wrote: &mut bool,
    ) -> Result<()> {
        let raw = codec::encode(journal);
        let encoded = encode_full(&raw);
        let record = Record {
            kind: KIND_JOURNAL,
            encoding: if encoded.form == Form::Raw { Encoding::Raw } else { Encoding::Zstd },
            raw_len: u32::try_from(raw.len()).map_err(|_| {
                Error::new(ErrorKind::TooLarge, "journal a transaction").cause("it changes too much at once")
            })?,
            hash: None,
            references: vec![],
            payload: &encoded.payload,
        };
        batch.segment.journal_bytes += record.encoded_len() as u64;
        batch.frame.push(&record);
        let frame = batch.frame.finish(own.writer.segment(), state.order);
        state.last_frame = Some(FrameRef { order: state.order, segment: own.writer.segment(), offset: frame.offset });
        batch.segment.end = frame.offset + frame.bytes.len() as u64;
        tables.put_segment(batch.number, &batch.segment)?;
        tables.put_state(&state)?;
        *wrote = true;
        let appended = own.writer.append(&frame)?;
        let durable = own.writer.sync(vec![appended])?;
        assert_eq!(durable.end, batch.segment.end, "rows are committed only for what was synced");
        Ok(())
    }

    /// Writes the whole logical state as one journal record, so that older frames are not needed any more. The caller
    /// removes rows of segments in the same transaction.
    pub(crate) fn write_checkpoint(
        &self,
        tables: &mut Tables<'_>,
        slot: &mut Option<OwnSegment>,
        wrote: &mut bool,
    ) -> Result<()> {
        let mut state = tables.state()?;
        state.order += 1;
        let own = self.own(slot)?;
        let mut batch = Self::start_batch(tables, &mut state, own)?;
        let mut rows = Vec::new();
        for table in Logical::ALL {
            tables.scan_raw(table, b"", &mut |key, value| {
                rows.push((table as u8, key.to_vec(), value.to_vec()));
                Ok(true)
            })?;
        }
        let outdated: BTreeMap<u32, SegmentRow> =
            tables.segments()?.into_iter().filter(|(_, row)| row.journal_bytes > 0).collect();
        for (number, mut row) in outdated {
            row.journal_bytes = 0;
            tables.put_segment(number, &row)?;
        }
        batch.segment.journal_bytes = 0;
        let journal = Journal::Checkpoint { parent: state.last_frame, at_ms: self.io.now_ms(), rows };
        self.finish_batch(tables, state, own, batch, &journal, wrote)
    }
}
