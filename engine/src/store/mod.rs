//! The store: a directory with segments, large contents and the index.

mod commit;
mod create;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::error::{Error, ErrorKind, IoContext as _, Result};
use crate::format::{self, Access, Format};
use crate::hash::Hash;
use crate::index::Index;
use crate::index::tables::{Rows as _, RowsExt as _, Snapshot};
use crate::io::{Io, RealIo};
use crate::limits::DELTA_DEPTH_MAX;
use crate::lock::Deadline;
use crate::object::pending::Base;
use crate::object::read::ObjectReader;
use crate::segment::writer::SegmentWriter;

pub(crate) use commit::{account_removed, add_reference, chained};
pub(crate) use create::{DIRECTORIES, README_FILE, README_TEXT, make_directory, write_readme};

/// How to open a store.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Make the store when it is missing.
    pub create: bool,
    /// Refuse to write.
    pub read_only: bool,
    /// Folder whose files the store keeps; a store inside it is refused.
    pub workspace: Option<PathBuf>,
    /// How long to wait for what another process holds.
    pub lock_wait: Duration,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { create: true, read_only: false, workspace: None, lock_wait: Duration::from_secs(5) }
    }
}

/// An open store. Cheap to clone; all clones share one handle.
#[derive(Clone, Debug)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) io: Arc<dyn Io>,
    pub(crate) path: PathBuf,
    pub(crate) format: Format,
    /// Why nothing may be written, if so.
    pub(crate) read_only: Option<String>,
    pub(crate) index: Index,
    pub(crate) reader: ObjectReader,
    writer: Mutex<Option<OwnSegment>>,
    lock_wait: Duration,
    closed: AtomicBool,
    created: bool,
    identity: (u64, u64),
    pool: rayon::ThreadPool,
}

/// The segment this handle appends to, and its number in the index once it has one.
#[derive(Debug)]
pub(crate) struct OwnSegment {
    pub(crate) writer: SegmentWriter,
    pub(crate) number: Option<u32>,
}

impl Store {
    /// Opens the store at `path`, on the real file system.
    pub fn open(path: &Path, options: &StoreOptions) -> Result<Self> {
        Self::open_with(Arc::new(RealIo), path, options)
    }

    /// Opens the store at `path` of any file system.
    pub fn open_with(io: Arc<dyn Io>, path: &Path, options: &StoreOptions) -> Result<Self> {
        let (path, format, created) = create::open_or_create(&io, path, options)?;
        let access =
            format.access().map_err(|why| Error::new(ErrorKind::NewerFormat, "open the store").at(&path).cause(why))?;
        let read_only = match access {
            Access::ReadOnly(why) => Some(why),
            Access::Full if options.read_only => Some("it was opened for reading only".to_owned()),
            Access::Full => None,
        };
        let index = Index::with_access(Arc::clone(&io), &path, read_only.is_some());
        let store = Self::assemble(io, path, format, index, read_only, options.lock_wait, created)?;
        store.inner.check_index()?;
        Ok(store)
    }

    /// Opens a store for `fsck`, which keeps everybody else out: `index` holds its lock exclusively.
    pub(crate) fn open_exclusive(
        io: Arc<dyn Io>,
        path: PathBuf,
        format: Format,
        index: Index,
        lock_wait: Duration,
    ) -> Result<Self> {
        let store = Self::assemble(io, path, format, index, None, lock_wait, false)?;
        store.inner.check_index()?;
        Ok(store)
    }

    fn assemble(
        io: Arc<dyn Io>,
        path: PathBuf,
        format: Format,
        index: Index,
        read_only: Option<String>,
        lock_wait: Duration,
        created: bool,
    ) -> Result<Self> {
        let identity = io.stat(&path).context("look at the store", &path)?.identity();
        // Own threads: the global pool of a process we are a guest in is not ours to fill.
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(std::thread::available_parallelism().map_or(2, usize::from).min(4))
            .thread_name(|n| format!("candy-store-{n}"))
            .build()
            .map_err(|error| Error::new(ErrorKind::Io, "start the store's threads").because(error))?;
        Ok(Self {
            inner: Arc::new(Inner {
                index,
                reader: ObjectReader::new(Arc::clone(&io), &path),
                io,
                path,
                format,
                read_only,
                writer: Mutex::new(None),
                lock_wait,
                closed: AtomicBool::new(false),
                created,
                identity,
                pool,
            }),
        })
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    /// Where the store is.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// What its `format` file says.
    pub fn format(&self) -> &Format {
        &self.inner.format
    }

    /// Whether this open made it.
    pub fn created(&self) -> bool {
        self.inner.created
    }

    /// Why the store cannot be written, if so.
    pub fn read_only_reason(&self) -> Option<&str> {
        self.inner.read_only.as_deref()
    }

    /// Whether the store has history of a session.
    pub fn has_session(&self, id: &str) -> Result<bool> {
        Ok(self.inner.read(|rows| rows.session(id))?.is_some())
    }

    /// Reads a content of up to 4 MiB into memory.
    pub fn read_blob(&self, content: Hash) -> Result<Arc<[u8]>> {
        self.inner.read_object(content)
    }

    /// Streams a content of any size to `out`. After an error `out` may hold bytes that must not be used.
    pub fn copy_blob(&self, content: Hash, out: &mut dyn std::io::Write) -> Result<()> {
        self.inner.copy_content(content, out)
    }

    /// Seals the segment and closes the index. Further calls fail with [`ErrorKind::Closed`].
    pub fn close(&self) -> Result<()> {
        self.inner.close()
    }
}

impl Inner {
    pub(crate) fn deadline(&self) -> Deadline {
        Deadline::after(self.lock_wait)
    }

    pub(crate) fn pool(&self) -> &rayon::ThreadPool {
        &self.pool
    }

    /// Device and inode of the store's directory.
    pub(crate) fn identity(&self) -> (u64, u64) {
        self.identity
    }

    fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::new(ErrorKind::Closed, "use the store").at(&self.path));
        }
        Ok(())
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        self.check_open()?;
        match &self.read_only {
            Some(why) => Err(Error::new(ErrorKind::ReadOnly, "write to the store").at(&self.path).cause(why.as_str())),
            None => Ok(()),
        }
    }

    /// Whether the index belongs to this store.
    fn check_index(&self) -> Result<()> {
        let state = self.read(|rows| rows.state())?;
        if state.store == self.format.store {
            return Ok(());
        }
        Err(Error::new(ErrorKind::IndexDamaged, "open the index")
            .at(self.index.path())
            .cause("it belongs to another store"))
    }

    /// Runs `work` in a read transaction.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Snapshot) -> Result<T>) -> Result<T> {
        self.check_open()?;
        self.index.read(self.deadline(), work)
    }

    /// A reader that meets a missing file or wrong bytes looks the row up again: gc may have moved the object.
    pub(crate) fn read_again_on_damage<T>(&self, mut work: impl FnMut(&Self, &Snapshot) -> Result<T>) -> Result<T> {
        match self.read(|rows| work(self, rows)) {
            Err(error) if matches!(error.kind(), ErrorKind::ObjectDamaged | ErrorKind::Io) => {
                self.reader.forget_files();
                self.read(|rows| work(self, rows))
            }
            result => result,
        }
    }

    pub(crate) fn read_object(&self, hash: Hash) -> Result<Arc<[u8]>> {
        if let Some(bytes) = self.reader.cache().get(hash) {
            return Ok(bytes);
        }
        self.read_again_on_damage(|inner, rows| inner.reader.read(rows, hash))
    }

    /// What a delta of the object after `hash` is best made against: the object itself, or, where its chain may not grow
    /// any more, the full copy at the chain's end. Forty edits away it still saves more than a new full copy.
    pub(crate) fn delta_base(&self, hash: Hash) -> Result<Base> {
        let hash = self.read(|rows| {
            let row = rows.object(hash)?;
            if row.as_ref().is_none_or(|row| row.depth < DELTA_DEPTH_MAX) {
                return Ok(hash);
            }
            let mut end = hash;
            for _ in 0..=DELTA_DEPTH_MAX {
                match rows.object(end)?.and_then(|row| row.base) {
                    Some(base) => end = base,
                    None => break,
                }
            }
            Ok(end)
        })?;
        Ok(Base { hash, bytes: self.read_object(hash)? })
    }

    /// Streams a content to `out`. After an error `out` may hold bytes that must not be used.
    pub(crate) fn copy_content(&self, content: Hash, out: &mut dyn std::io::Write) -> Result<()> {
        let mut out = Touched { out, touched: false };
        self.read_again_on_damage(|inner, rows| {
            // A second attempt must not follow what the first one left in `out`.
            if out.touched {
                return Err(Error::new(ErrorKind::ObjectDamaged, "read a content").cause(content.to_hex()));
            }
            inner.reader.copy(rows, content, &mut out)
        })
    }

    pub(crate) fn lock_writer(&self) -> MutexGuard<'_, Option<OwnSegment>> {
        // A panic while appending leaves the slot in an unknown state; `commit` abandons the segment on any error.
        self.writer.lock().unwrap_or_else(|poisoned| {
            self.writer.clear_poison();
            let mut guard = PoisonError::into_inner(poisoned);
            *guard = None;
            guard
        })
    }

    /// The `format` file again: another program may have changed it since.
    pub(crate) fn check_format(&self) -> Result<()> {
        let now = format::read(&self.io, &self.path)?;
        if now.as_ref() == Some(&self.format) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Conflict, "write to the store")
            .at(&self.path)
            .cause("its format changed while it was open")
            .with_hint("open the store again with an up-to-date program"))
    }

    fn close(&self) -> Result<()> {
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        if let Some(own) = self.lock_writer().take() {
            own.writer.seal();
        }
        self.reader.forget_files();
        self.reader.cache().clear();
        self.index.close()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // What is acknowledged is durable already; this only saves the next open some work.
        let _ = self.close();
    }
}

/// Forwards and remembers whether anything was written.
struct Touched<'a> {
    out: &'a mut dyn std::io::Write,
    touched: bool,
}

impl std::io::Write for Touched<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.touched |= !bytes.is_empty();
        self.out.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}
