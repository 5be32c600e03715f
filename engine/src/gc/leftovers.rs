//! Files that nothing in the index names: what interrupted operations left behind.
//!
//! A file is removed only when its owner is known to be gone, which no clock decides:
//! - a segment's owner holds the lock of the segment's name;
//! - the writer of a large content holds a shared lock on the file itself from its first byte until its row is
//!   committed; whoever can take that lock exclusively afterwards finds a row or never will;
//! - other temporary files are made under `locks/gc` (by fsck and rebuild) or under `locks/create` (by the creation of
//!   a store); both are held here.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::codec;
use crate::error::{Error, ErrorKind, IoContext as _, Result};
use crate::gc::{Run, orphan_lock};
use crate::hash::Hash;
use crate::id::Id;
use crate::index::rows::{FrameRef, Place, StateRow, UnlinkRow};
use crate::index::tables::Rows as _;
use crate::io::{File, LockMode, Open, bytes_path, is_absent};
use crate::journal::Journal;
use crate::limits::{DRAIN_ROWS_MAX, SEGMENT_READ_MAX};
use crate::lock::Lock;
use crate::object::large::{large_path, parse_large_name};
use crate::segment::frame::Frame;
use crate::segment::header::HEADER_BYTES;
use crate::segment::scanner::{Scanner, Stretch};
use crate::segment::{parse_segment_name, segment_lock_path, segment_path};

impl Run<'_> {
    /// Removes the files that earlier transactions, of this run or of one that was interrupted, have queued.
    pub(super) fn finish_unlinks(&mut self) -> Result<()> {
        let queued = self.inner.read(|rows| rows.unlinks())?;
        if queued.is_empty() {
            return Ok(());
        }
        self.journal_before_removal()?;
        let mut directories = BTreeSet::new();
        for (_, bytes) in &queued {
            let row: UnlinkRow = codec::decode(bytes).map_err(|error| {
                Error::new(ErrorKind::IndexDamaged, "read a row of the table 'unlink'").because(error)
            })?;
            let path = match row {
                UnlinkRow::Segment(id) => segment_path(&self.inner.path, id),
                UnlinkRow::Large { content, file } => large_path(&self.inner.path, content, file),
            };
            self.remove_file(&path)?;
            directories.extend(path.parent().map(Path::to_path_buf));
        }
        // A row that is gone while the file is not would leave the file for ever.
        for directory in directories {
            match self.inner.io.sync_dir(&directory) {
                Err(error) if !is_absent(&error) => return Err(Error::io("sync", &directory, error)),
                _ => {}
            }
        }
        for part in queued.chunks(DRAIN_ROWS_MAX) {
            self.transact(|tables| {
                part.iter().try_for_each(|(key, _)| tables.remove_unlink(key))?;
                Ok(Some(()))
            })?;
        }
        self.inner.reader.forget_files();
        Ok(())
    }

    /// Refuses to work with an index that is older than the segments, for instance one from a backup: what it does not
    /// know of would be removed, and a checkpoint of it would take the place of newer history. One transaction more
    /// than the index knows is what a kill between its sync and its commit leaves behind.
    pub(super) fn check_index_is_current(&self) -> Result<()> {
        let ends: HashMap<Id, u64> =
            self.inner.read(|rows| Ok(rows.segments()?.into_iter().map(|(_, row)| (row.id, row.end)).collect()))?;
        let mut newest: Option<(u64, PathBuf)> = None;
        for id in self.list(&self.inner.path.join("segments"))?.iter().filter_map(|name| parse_segment_name(name)) {
            let path = segment_path(&self.inner.path, id);
            let end = ends.get(&id).copied().unwrap_or(0).max(HEADER_BYTES as u64);
            let order = self.newest_order(id, &path, end)?;
            if newest.as_ref().is_none_or(|(newest, _)| *newest < order) {
                newest = Some((order, path));
            }
        }
        // The state after the files: live processes go on meanwhile.
        let known = self.inner.read(|rows| rows.state())?.order;
        match newest.filter(|(order, _)| *order > known + 1) {
            Some((order, path)) => Err(Error::new(ErrorKind::Corrupt, "collect garbage")
                .at(path)
                .cause(format!("it has transaction {order}, the index knows {known} only: the index is an older one"))
                .with_hint("run `candy-store fsck --rebuild-index`")),
            None => Ok(()),
        }
    }

    /// The highest order of a frame at or behind `from`, 0 if there is none. Usually nothing is there to be read.
    fn newest_order(&self, id: Id, path: &Path, from: u64) -> Result<u64> {
        let file = match self.inner.io.open(path, Open::Read) {
            Ok(file) => file,
            Err(error) if is_absent(&error) => return Ok(0),
            Err(error) => return Err(Error::io("open the segment", path, error)),
        };
        let tail = file.read_to_end(from, SEGMENT_READ_MAX).context("read the segment", path)?;
        let (mut at, mut newest) = (0, 0);
        while let Some(frame) = tail.get(at..).and_then(|rest| Frame::parse_at(id, rest, from + at as u64)) {
            newest = newest.max(frame.order);
            at += frame.length as usize;
        }
        Ok(newest)
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        match self.inner.io.remove_file(path) {
            Err(error) if !is_absent(&error) => Err(Error::io("remove", path, error)),
            _ => Ok(()),
        }
    }

    pub(super) fn remove_leftovers(&mut self) -> Result<()> {
        self.unregistered_segments()?;
        self.orphaned_large_files()?;
        self.temporary_files()?;
        self.lock_files()
    }

    fn list(&self, directory: &Path) -> Result<Vec<Vec<u8>>> {
        match self.inner.io.list(directory) {
            Ok(names) => Ok(names),
            Err(error) if is_absent(&error) => Ok(Vec::new()),
            Err(error) => Err(Error::io("list", directory, error)),
        }
    }

    /// Counts a leftover and removes it, unless nothing is to be changed.
    fn remove_leftover(&mut self, path: &Path, bytes: u64) -> Result<()> {
        if !self.options.dry_run {
            self.remove_file(path)?;
        }
        self.report.freed_bytes += bytes;
        self.report.removed_files += 1;
        Ok(())
    }

    /// Segments whose owner died before its first commit.
    fn unregistered_segments(&mut self) -> Result<()> {
        let directory = self.inner.path.join("segments");
        let registered = self.registered()?;
        let names = self.list(&directory)?;
        let ids = names.iter().filter_map(|name| parse_segment_name(name)).filter(|id| !registered.contains(id));
        let mut removed = false;
        for id in ids {
            let lock_path = segment_lock_path(&self.inner.path, id);
            let Some(lock) = orphan_lock(self.inner, &lock_path)? else { continue };
            // Its owner may have committed and gone since the list of segments was read. Nobody can from here on.
            let state = self.inner.read(|rows| rows.state())?;
            if self.registered()?.contains(&id) {
                continue;
            }
            let path = segment_path(&self.inner.path, id);
            let file = self.inner.io.open(&path, Open::Read).context("open the segment", &path)?;
            let bytes = file.read_to_end(0, SEGMENT_READ_MAX).context("read the segment", &path)?;
            drop(file);
            if self.holds_history(id, &bytes, &state)? {
                return Err(Error::new(ErrorKind::Corrupt, "collect the segment")
                    .at(&path)
                    .cause("it has no row in the index, but holds committed transactions: the index is an older one")
                    .with_hint("run `candy-store fsck --rebuild-index`"));
            }
            self.remove_leftover(&path, bytes.len() as u64)?;
            removed = true;
            if let Some(lock) = lock.filter(|_| !self.options.dry_run) {
                lock.remove(&self.inner.io);
            }
        }
        if removed && !self.options.dry_run {
            self.inner.io.sync_dir(&directory).context("sync", &directory)?;
        }
        Ok(())
    }

    fn registered(&self) -> Result<HashSet<Id>> {
        self.inner.read(|rows| {
            let mut ids: HashSet<Id> = rows.segments()?.into_iter().map(|(_, row)| row.id).collect();
            for (_, bytes) in rows.unlinks()? {
                if let Ok(UnlinkRow::Segment(id)) = codec::decode(&bytes) {
                    ids.insert(id);
                }
            }
            Ok(ids)
        })
    }

    /// Whether a frame of a segment without a row was committed as far as anybody can tell.
    fn holds_history(&self, id: Id, bytes: &[u8], state: &StateRow) -> Result<bool> {
        let orders: Vec<(u64, u64)> = Scanner::new(id, bytes)
            .filter_map(|stretch| match stretch {
                Stretch::Frame(frame) if frame.order > 0 => Some((frame.order, frame.offset)),
                _ => None,
            })
            .collect();
        // The number after the last is that of a transaction which was synced and not committed.
        if orders.iter().any(|(order, _)| *order > state.order + 1) {
            return Ok(true);
        }
        let Some(lowest) = orders.iter().map(|(order, _)| *order).min() else { return Ok(false) };
        let frames: HashSet<FrameRef> =
            orders.into_iter().map(|(order, offset)| FrameRef { order, segment: id, offset }).collect();
        self.follow_history(state, lowest, |at| frames.contains(&at))
    }

    /// Goes back along the chain of committed frames until `stop` says so, which is returned, or to a number below
    /// `lowest`, or to a checkpoint: nothing before it is needed. A frame that is not there is damage.
    pub(super) fn follow_history(
        &self,
        state: &StateRow,
        lowest: u64,
        stop: impl Fn(FrameRef) -> bool,
    ) -> Result<bool> {
        let mut next = state.last_frame;
        while let Some(at) = next.filter(|at| at.order >= lowest) {
            if stop(at) {
                return Ok(true);
            }
            let journal = Journal::read_at(&self.inner.io, &self.inner.path, at)
                .map_err(|error| Error::new(ErrorKind::Corrupt, "follow the history").because(error))?;
            match journal {
                Journal::Checkpoint { .. } => break,
                Journal::Changes { parent, .. } => next = parent,
            }
        }
        Ok(false)
    }

    fn orphaned_large_files(&mut self) -> Result<()> {
        let directory = self.inner.path.join("large");
        for name in self.list(&directory)? {
            let below = directory.join(bytes_path(&name));
            if name.ends_with(b".tmp") {
                self.remove_unowned(&below, None)?;
            } else if name.len() == 2 {
                for name in self.list(&below)? {
                    if let Some((content, file)) = parse_large_name(&name) {
                        self.remove_unowned(&below.join(bytes_path(&name)), Some((content, file)))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Removes a large file if nobody writes it and, under its final name, no row points to it.
    fn remove_unowned(&mut self, path: &PathBuf, named: Option<(Hash, Id)>) -> Result<()> {
        if let Some((content, file)) = named
            && self.has_row(content, file)?
        {
            return Ok(());
        }
        let (how, lock) = match self.inner.read_only {
            Some(_) => (Open::Read, LockMode::Shared),
            None => (Open::Write, LockMode::Exclusive),
        };
        let open: Box<dyn File> = match self.inner.io.open(path, how) {
            Ok(file) => file,
            Err(error) if is_absent(&error) => return Ok(()),
            Err(error) => return Err(Error::io("open", path, error)),
        };
        if !open.try_lock(lock).context("lock", path)? {
            return Ok(());
        }
        // The owner may have committed between the first look and the lock. From here on nobody can.
        if let Some((content, file)) = named
            && self.has_row(content, file)?
        {
            return Ok(());
        }
        let bytes = open.stat().context("look at", path)?.size;
        self.remove_leftover(path, bytes)
    }

    fn has_row(&self, content: Hash, file: Id) -> Result<bool> {
        self.inner.read(|rows| {
            let row = rows.object(content)?;
            Ok(row.is_some_and(|row| matches!(row.place, Place::Large { file: named, .. } if named == file)))
        })
    }

    fn temporary_files(&mut self) -> Result<()> {
        let lock_path = self.inner.path.join("locks").join("create");
        let Some(_lock) = self.creation_lock(&lock_path)? else { return Ok(()) };
        for name in self.list(&self.inner.path.clone())? {
            if name.ends_with(b".tmp") {
                let path = self.inner.path.join(bytes_path(&name));
                let bytes = self.inner.io.stat(&path).map_or(0, |stat| stat.size);
                self.remove_leftover(&path, bytes)?;
            }
        }
        Ok(())
    }

    /// The lock under which stores are made; `None` while one is.
    fn creation_lock(&self, path: &Path) -> Result<Option<Option<Lock>>> {
        match self.inner.read_only {
            Some(_) => orphan_lock(self.inner, path),
            None => Ok(Lock::try_new(&self.inner.io, path, LockMode::Exclusive)?.map(Some)),
        }
    }

    /// Lock files of segments that are gone.
    fn lock_files(&mut self) -> Result<()> {
        if self.options.dry_run {
            return Ok(());
        }
        for name in self.list(&self.inner.path.join("locks"))? {
            let Some(id) = std::str::from_utf8(&name).ok().and_then(Id::from_hex) else { continue };
            if self.inner.io.stat(&segment_path(&self.inner.path, id)).is_ok() {
                continue;
            }
            if let Some(Some(lock)) = Lock::try_orphan(&self.inner.io, &segment_lock_path(&self.inner.path, id))? {
                lock.remove(&self.inner.io);
            }
        }
        Ok(())
    }
}
