//! Garbage collection: removes what no session, point, original, redo item, pin or restore needs any more.
//!
//! It works in slices. Dead objects lose their rows in small transactions, whose counts are exact after each. Then, for
//! segments whose owner is gone, what is still needed is copied out and synced, the rows are pointed at the copies, and
//! one transaction writes a checkpoint, takes the segments off the list and queues their files for removal. Files go
//! last. Whatever this is interrupted at, the rows and the bytes they name are there.
//!
//! A segment whose lock is held belongs to a live process and is never touched.

mod drain;
mod leftovers;
mod rebase;
mod rewrite;
mod select;
mod simulate;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::gc::select::Garbage;
use crate::gc::simulate::Links;
use crate::hash::Hash;
use crate::index::apply::NodeBytes;
use crate::index::tables::{Rows as _, Tables};
use crate::io::LockMode;
use crate::lock::Lock;
use crate::object::pending::Pending;
use crate::object::read::ObjectReader;
use crate::store::{Inner, OwnSegment, Store};
use crate::tree::Node;

/// A collection is due when the last one is this long ago.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Less garbage than this is not worth a collection before the day is over.
const GARBAGE_BYTES_MIN: u64 = 1 << 20;

/// A collection lets other writers in between its transactions, which are shorter than this.
const PAUSE: Duration = Duration::from_millis(3);

/// How to collect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GcOptions {
    /// Collect even if it is not due, and for smaller gains.
    pub force: bool,
    /// Change nothing, only say what would happen.
    pub dry_run: bool,
}

/// What a collection did, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GcReport {
    /// False: it was not due, or another process collects.
    pub ran: bool,
    /// Contents and tree nodes that nothing needed.
    pub dropped_objects: u64,
    /// Garbage in the files that were removed.
    pub freed_bytes: u64,
    /// Segments whose remaining contents were moved before they were removed.
    pub rewritten_segments: u64,
    /// Segments that were removed, rewritten ones among them.
    pub unlinked_segments: u64,
    /// Large contents and leftovers of interrupted operations that were removed.
    pub removed_files: u64,
    /// Why something that could go was kept.
    pub held_back: Option<String>,
    /// There is more to do: collect again.
    pub more: bool,
}

/// Path of the lock that lets one process at a time collect or check.
pub(crate) fn gc_lock_path(store: &Path) -> PathBuf {
    store.join("locks").join("gc")
}

/// Nodes as they are on disk.
pub(crate) struct StoredNodes<'a>(pub(crate) &'a ObjectReader);

impl NodeBytes for StoredNodes<'_> {
    fn node(&self, rows: &Tables<'_>, hash: Hash) -> Result<Node> {
        self.0.node(rows, hash)
    }
}

/// Removes the files that transactions have queued, for a repair. Says how many. The caller holds `locks/gc`.
pub(crate) fn finish_queued_unlinks(inner: &Inner) -> Result<u64> {
    let options = GcOptions { force: true, dry_run: false };
    let queued = inner.read(|rows| rows.unlinks())?.len() as u64;
    let mut run = Run { inner, options, report: GcReport::default(), slot: None, journalled: false };
    run.finish_unlinks()?;
    Ok(queued)
}

/// A collection under way.
struct Run<'a> {
    inner: &'a Inner,
    options: GcOptions,
    report: GcReport,
    /// The segment that copies and the checkpoint go to: not the handle's own, which must not wait for a collection.
    slot: Option<OwnSegment>,
    /// Whether this run has journalled a transaction. Before a file is removed, one must have been: it takes the number
    /// that a transaction which was synced but never committed may have used, so that a rebuild does not bring that one
    /// back without the contents it needs.
    journalled: bool,
}

impl Store {
    /// Whether a collection is due: the last one is a day ago, or it would free a quarter of the store.
    pub fn gc_due(&self) -> Result<bool> {
        let inner = self.inner();
        let now_ms = inner.io.now_ms();
        let (due, plan) = inner.read(|rows| {
            let state = rows.state()?;
            if state.damage.is_some() {
                return Ok((Some(false), None));
            }
            // A clock that was set back must not put collections off for ever.
            let since_ms = now_ms.saturating_sub(state.last_gc_ms);
            if since_ms.abs() >= DAY_MS || !rows.unlinks()?.is_empty() {
                return Ok((Some(true), None));
            }
            let dead = simulate::drain(rows, &inner.reader, simulate::OBJECTS_MAX_ESTIMATE)?;
            Ok((None, Some((rows.segments()?, dead, select::checkpoint_len(rows)?))))
        })?;
        if let Some(due) = due {
            return Ok(due);
        }
        let Some((segments, dead, checkpoint_len)) = plan else { return Ok(false) };
        let total: u64 = segments.iter().map(|(_, row)| row.end).sum::<u64>() + dead.large_bytes;
        // Finding links takes a look at every object: that is left to the collection itself.
        let garbage = Garbage { dead: &dead.segments, links: &Links::new(), checkpoint_len };
        let chosen = select::select(inner, &segments, &garbage, false)?;
        let gain = chosen.garbage_bytes() + dead.large_bytes;
        Ok(gain >= GARBAGE_BYTES_MIN && gain.saturating_mul(4) >= total)
    }

    /// Removes what nothing needs any more. Never in the way of other processes for longer than a short transaction.
    ///
    /// While damage is known and not settled by `fsck --repair`, nothing is removed and the report says so.
    pub fn gc(&self, options: &GcOptions) -> Result<GcReport> {
        let inner = self.inner();
        if !options.dry_run {
            inner.check_writable()?;
        }
        if !options.force && !self.gc_due()? {
            return Ok(GcReport::default());
        }
        // A look reads one snapshot of the index: it is in nobody's way and takes no lock.
        let lock = match options.dry_run {
            true => None,
            false => match Lock::try_new(&inner.io, &gc_lock_path(&inner.path), LockMode::Exclusive)? {
                None => return Ok(GcReport::default()),
                lock => lock,
            },
        };
        let report = GcReport { ran: true, ..GcReport::default() };
        let mut run = Run { inner, options: *options, report, slot: None, journalled: false };
        let result = if options.dry_run { run.look() } else { run.collect() };
        if let Some(own) = run.slot.take() {
            own.writer.seal();
        }
        match result {
            Ok(()) => {}
            Err(error) => run.explain(error)?,
        }
        drop(lock);
        Ok(run.report)
    }
}

impl Run<'_> {
    /// Everything, in the order in which it gives space back soonest.
    fn collect(&mut self) -> Result<()> {
        self.check_damage()?;
        self.check_index_is_current()?;
        self.finish_unlinks()?;
        self.drain()?;
        self.finish_unlinks()?;
        self.rewrite()?;
        self.finish_unlinks()?;
        self.remove_leftovers()?;
        let now_ms = self.inner.io.now_ms();
        self.transact(|tables| {
            let mut state = tables.state()?;
            state.last_gc_ms = now_ms;
            tables.put_state(&state)?;
            Ok(Some(()))
        })?;
        self.inner.index.compact()
    }

    /// What [`Run::collect`] would do.
    fn look(&mut self) -> Result<()> {
        self.check_damage()?;
        self.check_index_is_current()?;
        let (segments, dead, links, checkpoint_len) = self.inner.read(|rows| {
            let dead = simulate::drain(rows, &self.inner.reader, usize::MAX)?;
            let links = dead.links(rows)?;
            Ok((rows.segments()?, dead, links, select::checkpoint_len(rows)?))
        })?;
        self.report.removed_files = dead.large_files;
        let garbage = Garbage { dead: &dead.segments, links: &links, checkpoint_len };
        let chosen = select::select(self.inner, &segments, &garbage, self.options.force)?;
        self.report.dropped_objects = dead.objects + chosen.links();
        self.report.unlinked_segments = chosen.victims.len() as u64;
        self.report.rewritten_segments = chosen.victims.iter().filter(|victim| victim.live_bytes > 0).count() as u64;
        self.report.freed_bytes = chosen.garbage_bytes() + dead.large_bytes;
        self.report.more = chosen.more;
        self.remove_leftovers()
    }

    fn check_damage(&self) -> Result<()> {
        match self.inner.read(|rows| rows.state())?.damage {
            Some(damage) => Err(Error::new(ErrorKind::HeldBack, "collect garbage").cause(damage)),
            None => Ok(()),
        }
    }

    /// A transaction that may delete: only of a store whose format is still the one known, and without known damage.
    fn transact<T>(&self, work: impl FnOnce(&mut Tables<'_>) -> Result<Option<T>>) -> Result<Option<T>> {
        std::thread::sleep(PAUSE);
        self.inner.index.write(self.inner.deadline(), |tables| {
            self.inner.check_format()?;
            if let Some(damage) = tables.state()?.damage {
                return Err(Error::new(ErrorKind::HeldBack, "collect garbage").cause(damage));
            }
            work(tables)
        })
    }

    /// Sees to it that this run has journalled a transaction. On a full disk it goes without: space comes first.
    fn journal_before_removal(&mut self) -> Result<()> {
        if self.journalled {
            return Ok(());
        }
        match self.inner.commit(&mut Pending::default(), |_, _| Ok(Some((Vec::new(), ())))) {
            Ok(_) => self.journalled = true,
            Err(error) if error.kind() == ErrorKind::NoSpace => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Reasons to stop that are no failure become part of the report. Damage is noted, so that nothing is deleted.
    fn explain(&mut self, error: Error) -> Result<()> {
        match error.kind() {
            ErrorKind::HeldBack | ErrorKind::NoSpace | ErrorKind::LockTimeout => {}
            ErrorKind::Corrupt | ErrorKind::ObjectDamaged | ErrorKind::ObjectMissing if !self.options.dry_run => {
                self.inner.note_damage(&error.to_string());
            }
            ErrorKind::Corrupt | ErrorKind::ObjectDamaged | ErrorKind::ObjectMissing => {}
            _ => return Err(error),
        }
        self.report.more = true;
        self.report.held_back = Some(error.to_string());
        Ok(())
    }
}

/// Takes the lock of an owner that is gone; `None` when it is alive. Whoever must not write opens nothing for writing:
/// a look at the lock has to do, and removes nothing.
fn orphan_lock(inner: &Inner, path: &Path) -> Result<Option<Option<Lock>>> {
    match inner.read_only {
        Some(_) => Ok((!Lock::is_held(&inner.io, path)?).then_some(None)),
        None => Lock::try_orphan(&inner.io, path),
    }
}
