//! Applies changes to the index and keeps the counts. Live transactions and rebuild share this code.

use crate::error::{Error, ErrorKind, Result};
use crate::hash::Hash;
use crate::id::Id;
use crate::index::keys;
use crate::index::references::restore_references;
use crate::index::rows::{
    LayerRow, ObjectKind, ObjectRow, OriginalRow, PinRow, Place, PointRow, RedoRow, RestoreRow, SessionRow,
};
use crate::index::tables::{Logical, Rows as _, RowsExt as _, Tables};
use crate::journal::Change;
use crate::tree::{Entry, Node, TrackedPath};

/// Gives tree nodes during a transaction: from the batch that is being committed, or from disk.
pub(crate) trait NodeBytes {
    fn node(&self, rows: &Tables<'_>, hash: Hash) -> Result<Node>;
}

/// Applies changes of one transaction.
pub(crate) struct Apply<'a, 't> {
    pub(crate) tables: &'a mut Tables<'t>,
    pub(crate) nodes: &'a dyn NodeBytes,
    /// Number of the transaction.
    pub(crate) order: u64,
    pub(crate) at_ms: i64,
    pub(crate) counting: Counting,
}

/// Whether changes keep the counts of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counting {
    /// Each change counts.
    Live,
    /// Nothing is counted: a rebuild counts by reachability once it knows all rows.
    Later,
}

fn missing(hash: Hash) -> Error {
    Error::new(ErrorKind::ObjectMissing, "refer to an object").cause(format!("{hash} has no row"))
}

fn underflow(hash: Hash) -> Error {
    Error::new(ErrorKind::Corrupt, "release an object").cause(format!("the count of {hash} would fall below zero"))
}

/// What collecting one object did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Collected {
    /// Set if its row went.
    pub(crate) removed: Option<Removed>,
    /// Rows that were written.
    pub(crate) rows: usize,
}

/// An object that is gone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Removed {
    /// What it took on disk.
    pub(crate) bytes: u64,
    /// Whether it had a file of its own.
    pub(crate) in_file: bool,
}

impl Apply<'_, '_> {
    /// Adds a reference. The first one on a node takes references on its children, too.
    pub(crate) fn acquire(&mut self, hash: Hash) -> Result<()> {
        if self.counting == Counting::Later {
            return Ok(());
        }
        let row = self.tables.object(hash)?.ok_or_else(|| missing(hash))?;
        self.acquire_row(hash, row)
    }

    /// Adds a reference to an object that must not be lost: nothing new is built on missing bytes.
    fn acquire_with_bytes(&mut self, hash: Hash) -> Result<()> {
        if self.counting == Counting::Later {
            return Ok(());
        }
        let row = self.tables.object(hash)?.filter(|row| !row.is_lost()).ok_or_else(|| missing(hash))?;
        self.acquire_row(hash, row)
    }

    fn acquire_row(&mut self, hash: Hash, mut row: ObjectRow) -> Result<()> {
        if row.refs == 0 {
            self.tables.remove_dead(hash)?;
        }
        row.refs += 1;
        let first = row.kind == ObjectKind::Node && !row.holds_children && !row.is_lost();
        row.holds_children |= first;
        self.tables.put_object(hash, &row)?;
        if first {
            for child in self.nodes.node(self.tables, hash)?.references() {
                self.acquire_with_bytes(child)?;
            }
        }
        Ok(())
    }

    /// A node whose bytes were lost has them again: from now on it keeps its children.
    pub(crate) fn hold_children_again(&mut self, hash: Hash) -> Result<()> {
        let Some(mut row) = self.tables.object(hash)? else { return Ok(()) };
        if row.kind != ObjectKind::Node || row.holds_children || row.refs == 0 {
            return Ok(());
        }
        row.holds_children = true;
        self.tables.put_object(hash, &row)?;
        let children = self.nodes.node(self.tables, hash)?.references();
        children.into_iter().try_for_each(|child| self.acquire_with_bytes(child))
    }

    /// Takes a reference away. What falls to zero waits in the table `dead` for collection.
    pub(crate) fn release(&mut self, hash: Hash) -> Result<()> {
        if self.counting == Counting::Later {
            return Ok(());
        }
        let mut row = self.tables.object(hash)?.ok_or_else(|| underflow(hash))?;
        row.refs = row.refs.checked_sub(1).ok_or_else(|| underflow(hash))?;
        if row.refs == 0 {
            self.tables.put_dead(hash)?;
        }
        self.tables.put_object(hash, &row)
    }

    fn acquire_all(&mut self, hashes: impl IntoIterator<Item = Hash>) -> Result<()> {
        hashes.into_iter().try_for_each(|hash| self.acquire(hash))
    }

    fn release_all(&mut self, hashes: impl IntoIterator<Item = Hash>) -> Result<()> {
        hashes.into_iter().try_for_each(|hash| self.release(hash))
    }

    /// Collects one object that waits in `dead`. A node lets go of its children; the row goes unless a delta needs the
    /// bytes.
    pub(crate) fn collect(&mut self, hash: Hash) -> Result<Collected> {
        self.tables.remove_dead(hash)?;
        let mut collected = Collected { removed: None, rows: 1 };
        let Some(mut row) = self.tables.object(hash)? else { return Ok(collected) };
        if row.refs > 0 {
            return Ok(collected);
        }
        if row.holds_children {
            let children = self.nodes.node(self.tables, hash)?.references();
            collected.rows += children.len();
            row.holds_children = false;
            self.tables.put_object(hash, &row)?;
            self.release_all(children)?;
        }
        if row.base_refs > 0 {
            return Ok(collected);
        }
        self.tables.remove_object(hash)?;
        crate::store::account_removed(self.tables, hash, &row)?;
        if let Some(base) = row.base {
            collected.rows += 1;
            self.release_base(base)?;
        }
        let in_file = matches!(row.place, Place::Large { .. });
        collected.removed = Some(Removed { bytes: row.stored_len(), in_file });
        Ok(collected)
    }

    /// A delta on `base` is gone.
    pub(crate) fn release_base(&mut self, base: Hash) -> Result<()> {
        let mut row = self.tables.object(base)?.ok_or_else(|| underflow(base))?;
        row.base_refs = row.base_refs.checked_sub(1).ok_or_else(|| underflow(base))?;
        if row.base_refs == 0 && row.refs == 0 {
            self.tables.put_dead(base)?;
        }
        self.tables.put_object(base, &row)
    }

    /// Loads a session, lets `change` work on it, notes the event and stores it.
    fn with_session(&mut self, id: &str, change: impl FnOnce(&mut Self, &mut SessionRow) -> Result<()>) -> Result<()> {
        let mut row = self.tables.session_or_error(id)?;
        change(self, &mut row)?;
        row.last_event_ms = row.last_event_ms.max(self.at_ms);
        row.last_order = self.order;
        self.tables.put_session(id, &row)
    }

    /// Applies one change.
    pub(crate) fn change(&mut self, change: &Change) -> Result<()> {
        match change {
            Change::SessionOpened { session, cwd, layer } => self.open_session(session, cwd, *layer),
            Change::Tracked { session, paths } => self.track(session, paths),
            Change::Untracked { session, path } => self.untrack(session, path),
            Change::Noted { session, paths } => paths.iter().try_for_each(|(path, entry)| {
                self.tables.put(Logical::Notes, &keys::session_path(session, path), entry)
            }),
            Change::PointTaken { session, seq, point } => self.take_point(session, *seq, point),
            Change::Bound { session, seq, entry } => {
                self.edit_point(session, *seq, |point| point.entry = Some(entry.clone()))
            }
            Change::GapsAdded { session, seq, gaps } => self.edit_point(session, *seq, |point| {
                for gap in gaps {
                    if !point.gaps.contains(gap) && point.gaps.len() < crate::limits::GAPS_MAX {
                        point.gaps.push(gap.clone());
                    }
                }
            }),
            Change::PointsDropped { session, seqs } => seqs.iter().try_for_each(|seq| self.drop_point(session, *seq)),
            Change::SessionDropped { session } => self.drop_session(session),
            Change::Forked { from, to, cwd, sealed, layers, points } => {
                self.fork(from, to, cwd, *sealed, *layers, points)
            }
            Change::RedoPushed { session, item, items_max } => self.push_redo(session, item, *items_max),
            Change::RedoPopped { session } => self.pop_redo(session),
            Change::RedoCleared { session } => self.clear_redo(session),
            Change::RestoreBegun { id, restore } => self.begin_restore(*id, restore),
            Change::RestoreFinished { id } => self.finish_restore(*id),
            Change::Pinned { point, pin } => self.pin(*point, pin),
            Change::Unpinned { point } => self.unpin(*point),
            Change::Purged { content } => self.tables.put_raw(Logical::Purged, content.as_bytes(), b""),
        }
    }

    fn open_session(&mut self, session: &str, cwd: &[u8], layer: Id) -> Result<()> {
        if self.tables.session(session)?.is_some() {
            return Ok(());
        }
        self.tables.put(Logical::Layers, layer.as_bytes(), &LayerRow { sessions: 1 })?;
        self.tables.put_session(
            session,
            &SessionRow {
                cwd: cwd.to_vec(),
                created_ms: self.at_ms,
                last_event_ms: self.at_ms,
                last_order: self.order,
                next_seq: 1,
                layers: vec![layer],
                next_track: 0,
                next_redo: 0,
                forked_from: None,
                tracked_revision: self.order,
            },
        )
    }

    fn own_layer(session: &SessionRow) -> Result<Id> {
        session.layers.last().copied().ok_or_else(|| {
            Error::new(ErrorKind::IndexDamaged, "find a session's originals").cause("the session has no layer")
        })
    }

    fn track(&mut self, session: &str, paths: &[(TrackedPath, Entry)]) -> Result<()> {
        self.with_session(session, |apply, row| {
            let layer = Self::own_layer(row)?;
            for (path, entry) in paths {
                apply.acquire_all(entry.content())?;
                let original = OriginalRow { order: row.next_track, entry: Some(entry.clone()) };
                apply.replace_original(&keys::layer_path(layer, path), Some(&original))?;
                row.next_track += 1;
            }
            row.tracked_revision = apply.order;
            Ok(())
        })
    }

    fn untrack(&mut self, session: &str, path: &TrackedPath) -> Result<()> {
        self.with_session(session, |apply, row| {
            let key = keys::layer_path(Self::own_layer(row)?, path);
            // Only a shared layer below makes it necessary to say "not tracked".
            let taken_back = OriginalRow { order: row.next_track, entry: None };
            let shared = row.layers.len() > 1;
            apply.replace_original(&key, shared.then_some(&taken_back))?;
            row.tracked_revision = apply.order;
            Ok(())
        })
    }

    fn replace_original(&mut self, key: &[u8], new: Option<&OriginalRow>) -> Result<()> {
        if let Some(old) = self.tables.get::<OriginalRow>(Logical::Originals, key)? {
            self.release_all(old.entry.and_then(|entry| entry.content()))?;
        }
        match new {
            Some(row) => self.tables.put(Logical::Originals, key, row),
            None => self.tables.remove(Logical::Originals, key).map(drop),
        }
    }

    fn put_point(&mut self, session: &str, seq: u64, point: &PointRow) -> Result<()> {
        self.acquire_all(point.roots.hashes())?;
        let key = keys::numbered(session, seq);
        self.tables.put(Logical::Points, &key, point)?;
        self.tables.put_raw(Logical::PointIds, point.id.as_bytes(), &key)
    }

    fn take_point(&mut self, session: &str, seq: u64, point: &PointRow) -> Result<()> {
        self.with_session(session, |apply, row| {
            apply.put_point(session, seq, point)?;
            row.next_seq = row.next_seq.max(seq + 1);
            Ok(())
        })
    }

    fn edit_point(&mut self, session: &str, seq: u64, edit: impl FnOnce(&mut PointRow)) -> Result<()> {
        self.with_session(session, |apply, _| {
            // A point that a cap dropped meanwhile needs no binding.
            if let Some(mut point) = apply.tables.point(session, seq)? {
                edit(&mut point);
                apply.tables.put(Logical::Points, &keys::numbered(session, seq), &point)?;
            }
            Ok(())
        })
    }

    fn drop_point(&mut self, session: &str, seq: u64) -> Result<()> {
        let Some(point) = self.tables.point(session, seq)? else { return Ok(()) };
        self.tables.remove(Logical::Points, &keys::numbered(session, seq))?;
        self.tables.remove(Logical::PointIds, point.id.as_bytes())?;
        self.release_all(point.roots.hashes())
    }

    fn drop_session(&mut self, session: &str) -> Result<()> {
        let Some(row) = self.tables.session(session)? else { return Ok(()) };
        for (seq, _) in self.tables.points(session)? {
            self.drop_point(session, seq)?;
        }
        self.clear_redo(session)?;
        let mut notes = Vec::new();
        self.tables.scan_raw(Logical::Notes, &keys::session_prefix(session), &mut |key, _| {
            notes.push(key.to_vec());
            Ok(true)
        })?;
        for key in notes {
            self.tables.remove(Logical::Notes, &key)?;
        }
        for layer in row.layers {
            self.leave_layer(layer)?;
        }
        self.tables.remove(Logical::Sessions, session.as_bytes()).map(drop)
    }

    fn leave_layer(&mut self, layer: Id) -> Result<()> {
        let Some(mut row) = self.tables.get::<LayerRow>(Logical::Layers, layer.as_bytes())? else { return Ok(()) };
        row.sessions = row.sessions.saturating_sub(1);
        if row.sessions > 0 {
            return self.tables.put(Logical::Layers, layer.as_bytes(), &row);
        }
        self.tables.remove(Logical::Layers, layer.as_bytes())?;
        let mut keys = Vec::new();
        self.tables.scan_raw(Logical::Originals, layer.as_bytes(), &mut |key, _| {
            keys.push(key.to_vec());
            Ok(true)
        })?;
        keys.iter().try_for_each(|key| self.replace_original(key, None))
    }

    /// Both sessions keep the layers so far, shared, and get a fresh one of their own on top.
    fn fork(
        &mut self,
        from: &str,
        to: &str,
        cwd: &[u8],
        sealed: Id,
        layers: [Id; 2],
        points: &[(u64, PointRow)],
    ) -> Result<()> {
        let mut source = self.tables.session_or_error(from)?;
        if Self::own_layer(&source)? != sealed || self.tables.session(to)?.is_some() {
            return Err(Error::new(ErrorKind::Conflict, "fork the session").cause("a session changed meanwhile"));
        }
        for layer in &source.layers {
            let mut row =
                self.tables.get::<LayerRow>(Logical::Layers, layer.as_bytes())?.unwrap_or(LayerRow { sessions: 1 });
            row.sessions += 1;
            self.tables.put(Logical::Layers, layer.as_bytes(), &row)?;
        }
        let mut fork = SessionRow {
            cwd: cwd.to_vec(),
            created_ms: self.at_ms,
            last_event_ms: self.at_ms,
            last_order: self.order,
            next_seq: source.next_seq,
            layers: source.layers.clone(),
            next_track: source.next_track,
            next_redo: 0,
            forked_from: Some(from.to_owned()),
            tracked_revision: self.order,
        };
        for (session, layer) in [(&mut source, layers[0]), (&mut fork, layers[1])] {
            self.tables.put(Logical::Layers, layer.as_bytes(), &LayerRow { sessions: 1 })?;
            session.layers.push(layer);
        }
        self.tables.put_session(from, &source)?;
        self.tables.put_session(to, &fork)?;
        points.iter().try_for_each(|(seq, point)| self.put_point(to, *seq, point))
    }

    fn push_redo(&mut self, session: &str, item: &RedoRow, items_max: u64) -> Result<()> {
        self.with_session(session, |apply, row| {
            apply.acquire_all(item.roots.hashes())?;
            apply.tables.put(Logical::Redo, &keys::numbered(session, row.next_redo), item)?;
            row.next_redo += 1;
            let all = apply.redo_keys(session)?;
            let surplus = all.len().saturating_sub(usize::try_from(items_max.max(1)).unwrap_or(usize::MAX));
            all[..surplus].iter().try_for_each(|key| apply.remove_redo(key))
        })
    }

    fn pop_redo(&mut self, session: &str) -> Result<()> {
        self.redo_keys(session)?.last().map_or(Ok(()), |key| self.remove_redo(key))
    }

    fn clear_redo(&mut self, session: &str) -> Result<()> {
        self.redo_keys(session)?.iter().try_for_each(|key| self.remove_redo(key))
    }

    fn redo_keys(&self, session: &str) -> Result<Vec<Vec<u8>>> {
        let mut all = Vec::new();
        self.tables.scan_raw(Logical::Redo, &keys::session_prefix(session), &mut |key, _| {
            all.push(key.to_vec());
            Ok(true)
        })?;
        Ok(all)
    }

    fn remove_redo(&mut self, key: &[u8]) -> Result<()> {
        if let Some(row) = self.tables.get::<RedoRow>(Logical::Redo, key)? {
            self.release_all(row.roots.hashes())?;
        }
        self.tables.remove(Logical::Redo, key).map(drop)
    }

    fn begin_restore(&mut self, id: Id, restore: &RestoreRow) -> Result<()> {
        self.acquire_all(restore_references(restore))?;
        self.tables.put(Logical::Restores, id.as_bytes(), restore)
    }

    fn finish_restore(&mut self, id: Id) -> Result<()> {
        let Some(restore) = self.tables.get::<RestoreRow>(Logical::Restores, id.as_bytes())? else { return Ok(()) };
        self.release_all(restore_references(&restore))?;
        self.tables.remove(Logical::Restores, id.as_bytes()).map(drop)
    }

    fn pin(&mut self, point: Id, pin: &PinRow) -> Result<()> {
        self.unpin(point)?;
        self.acquire_all(pin.roots.hashes())?;
        self.tables.put(Logical::Pins, point.as_bytes(), pin)
    }

    fn unpin(&mut self, point: Id) -> Result<()> {
        if let Some(pin) = self.tables.get::<PinRow>(Logical::Pins, point.as_bytes())? {
            self.release_all(pin.roots.hashes())?;
            self.tables.remove(Logical::Pins, point.as_bytes())?;
        }
        Ok(())
    }
}
