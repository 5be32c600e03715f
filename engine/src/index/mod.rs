//! The index: a redb database that several processes write to. It is the authority on what exists.
//!
//! Every call into redb runs under `catch_unwind`, because hot reads skip checksums and a damaged page can make redb
//! panic. Before each transaction the open handle is compared with the file under its name: a rebuild renames a new
//! file in, and commits to the old handle would vanish.

pub(crate) mod apply;
pub(crate) mod keys;
pub(crate) mod references;
pub(crate) mod rows;
pub(crate) mod tables;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::{ConcurrencyMode, Database, ReadOnlyDatabase, ReadableDatabase as _, TransactionError};

use crate::error::{Error, ErrorKind, IoContext as _, Result};
use crate::id::Id;
use crate::index::rows::StateRow;
use crate::index::tables::{Snapshot, Tables, db_error};
use crate::io::{Io, LockMode, is_absent};
use crate::limits::INDEX_CACHE_BYTES;
use crate::lock::{Backoff, Deadline, Lock};

/// Name of the index in the store.
pub(crate) const INDEX_FILE: &str = "index.redb";

/// Below this a smaller index is not worth the time.
const COMPACT_BYTES_MIN: u64 = 2 << 20;

/// Sizes at which closing compacts what was written to: below it there is nothing to gain, above it takes too long.
const COMPACT_AT_CLOSE_MIN: u64 = 512 << 10;
const COMPACT_AT_CLOSE_MAX: u64 = 16 << 20;

/// The open index.
#[derive(Debug)]
pub(crate) struct Index {
    io: Arc<dyn Io>,
    path: PathBuf,
    lock_path: PathBuf,
    open: Mutex<Option<OpenIndex>>,
    /// Held by repair and rebuild, which keep everybody else out for as long as they work.
    exclusive: Option<Lock>,
    /// Opening for writing changes the file, even if nothing is written: recovery marks come and go.
    read_only: bool,
    /// Whether this handle committed anything: only then closing may tidy up.
    wrote: AtomicBool,
}

#[derive(Clone, Debug)]
struct OpenIndex {
    database: Handle,
    identity: (u64, u64),
}

#[derive(Clone)]
enum Handle {
    Writable(Arc<Database>),
    ReadOnly(Arc<ReadOnlyDatabase>),
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Writable(_) => "Writable",
            Self::ReadOnly(_) => "ReadOnly",
        })
    }
}

impl Handle {
    fn begin_read(&self) -> std::result::Result<redb::ReadTransaction, TransactionError> {
        match self {
            Self::Writable(database) => database.begin_read(),
            Self::ReadOnly(database) => database.begin_read(),
        }
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        // Closing a damaged database can panic: only `close` catches that.
        let _ = self.close();
    }
}

/// A database builder with the settings that every opener of one file must share.
pub(crate) fn builder() -> redb::Builder {
    let mut builder = Database::builder();
    builder.set_concurrency_mode(ConcurrencyMode::MultiWriter).set_cache_size(INDEX_CACHE_BYTES);
    builder
}

/// Runs a call into redb; a panic becomes an error.
pub(crate) fn guarded<T>(action: &str, call: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        Err(Error::new(ErrorKind::IndexDamaged, action.to_owned()).cause(format!("the database failed: {text}")))
    })
}

/// Bytes of the file that are in use; `None` while another process is in a transaction.
fn used_bytes(database: &Database) -> Result<Option<u64>> {
    let fail = |error: redb::Error| db_error("look at the index", error);
    let txn = match database.try_begin_write() {
        Ok(txn) => txn,
        Err(TransactionError::WouldBlock) => return Ok(None),
        Err(error) => return Err(fail(error.into())),
    };
    let stats = txn.stats().map_err(|error| fail(error.into()))?;
    txn.abort().map_err(|error| fail(error.into()))?;
    Ok(Some(stats.allocated_pages().saturating_mul(stats.page_size() as u64)))
}

/// An index in the making, which nobody else knows of yet.
#[derive(Debug)]
pub(crate) struct NewIndex(Database);

impl NewIndex {
    /// Runs `work` in a transaction and commits it.
    pub(crate) fn write<T>(&self, work: impl FnOnce(&mut Tables<'_>) -> Result<T>) -> Result<T> {
        let fail = |error: redb::Error| db_error("create the index", error);
        let txn = self.0.begin_write().map_err(|error| fail(error.into()))?;
        let mut tables = Tables::open(&txn)?;
        let value = work(&mut tables)?;
        tables.finish()?;
        txn.commit().map_err(|error| fail(error.into()))?;
        Ok(value)
    }

    /// Runs `work` on what was committed so far.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Snapshot) -> Result<T>) -> Result<T> {
        let txn = self.0.begin_read().map_err(|error| db_error("create the index", error))?;
        work(&Snapshot::new(txn))
    }
}

impl Index {
    pub(crate) fn new(io: Arc<dyn Io>, store: &Path) -> Self {
        Self::with_access(io, store, false)
    }

    /// With `read_only` neither the index nor a lock file is opened for writing.
    pub(crate) fn with_access(io: Arc<dyn Io>, store: &Path, read_only: bool) -> Self {
        Self {
            read_only,
            wrote: AtomicBool::new(false),
            io,
            path: store.join(INDEX_FILE),
            lock_path: store.join("locks").join("index"),
            open: Mutex::new(None),
            exclusive: None,
        }
    }

    /// A handle for one that keeps everybody else out: `lock` is `locks/index`, held exclusively.
    pub(crate) fn with_exclusive_lock(io: Arc<dyn Io>, store: &Path, lock: Lock) -> Self {
        let mut index = Self::new(io, store);
        index.exclusive = Some(lock);
        index
    }

    fn lock_open(&self) -> MutexGuard<'_, Option<OpenIndex>> {
        // A panic while the slot was held leaves at worst a handle that is compared again before use.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the index of a new store under a temporary name and renames it in: it is there whole or not at all.
    pub(crate) fn create(io: &Arc<dyn Io>, store: &Path, state: &StateRow) -> Result<()> {
        let temporary = store.join(format!("{INDEX_FILE}.{}.tmp", Id::random()));
        Self::create_at(io, &temporary, |tables| tables.put_state(state))?;
        let path = store.join(INDEX_FILE);
        io.rename(&temporary, &path).context("rename", &temporary)?;
        io.sync_dir(store).context("sync", store)
    }

    /// Makes a durable, closed database file at `path` and fills it.
    pub(crate) fn create_at(
        io: &Arc<dyn Io>,
        path: &Path,
        fill: impl FnOnce(&mut Tables<'_>) -> Result<()>,
    ) -> Result<()> {
        Self::create_in_parts(io, path, |new| new.write(fill))
    }

    /// The same in any number of transactions.
    pub(crate) fn create_in_parts<T>(
        io: &Arc<dyn Io>,
        path: &Path,
        fill: impl FnOnce(&NewIndex) -> Result<T>,
    ) -> Result<T> {
        let value = guarded("create the index", || {
            let database = io
                .open_database(&builder(), path, true)
                .map_err(|error| db_error("create the index", error).at(path))?;
            let new = NewIndex(database);
            // Tables come into being with the first write transaction, and whoever reads next expects all of them.
            new.write(|_| Ok(()))?;
            let value = fill(&new)?;
            new.0.close().map_err(|error| db_error("close the index", error).at(path))?;
            Ok(value)
        })?;
        let file = io.open(path, crate::io::Open::Write).context("open", path)?;
        file.sync_data().context("sync", path)?;
        Ok(value)
    }

    /// The handle, opened anew when another file has taken the name. The caller holds `locks/index` shared.
    fn handle(&self) -> Result<Handle> {
        let stat = self.io.stat(&self.path).map_err(|error| {
            let kind = if is_absent(&error) { ErrorKind::IndexMissing } else { ErrorKind::Io };
            Error::new(kind, "open the index").at(&self.path).because(error)
        })?;
        let mut open = self.lock_open();
        if let Some(current) = open.as_ref().filter(|current| current.identity == stat.identity()) {
            return Ok(current.database.clone());
        }
        if let Some(outdated) = open.take() {
            guarded("close the index", || {
                drop(outdated);
                Ok(())
            })?;
        }
        let handle = guarded("open the index", || {
            let opened = if self.read_only {
                let opened = self.io.open_database_read_only(&builder(), &self.path);
                opened.map(|database| Handle::ReadOnly(Arc::new(database)))
            } else {
                let opened = self.io.open_database(&builder(), &self.path, false);
                opened.map(|database| Handle::Writable(Arc::new(database)))
            };
            opened.map_err(|error| db_error("open the index", error).at(&self.path))
        })?;
        *open = Some(OpenIndex { database: handle.clone(), identity: stat.identity() });
        Ok(handle)
    }

    fn writable(&self) -> Result<Arc<Database>> {
        match self.handle()? {
            Handle::Writable(database) => Ok(database),
            Handle::ReadOnly(_) => Err(Error::new(ErrorKind::ReadOnly, "write the index")
                .at(&self.path)
                .cause("it was opened for reading")),
        }
    }

    fn shared_lock(&self, deadline: Deadline) -> Result<Option<Lock>> {
        if self.exclusive.is_some() {
            return Ok(None);
        }
        if self.read_only {
            return Lock::wait_existing(&self.io, &self.lock_path, LockMode::Shared, deadline);
        }
        Lock::wait(&self.io, &self.lock_path, LockMode::Shared, deadline).map(Some)
    }

    /// Runs `work` in a read transaction.
    pub(crate) fn read<T>(&self, deadline: Deadline, work: impl FnOnce(&Snapshot) -> Result<T>) -> Result<T> {
        let _lock = self.shared_lock(deadline)?;
        let database = self.handle()?;
        guarded("read the index", || {
            let txn = database.begin_read().map_err(|error| db_error("read the index", error).at(&self.path))?;
            work(&Snapshot::new(txn))
        })
    }

    /// Runs `work` in the one write transaction of the store and commits what it did, durably, if it says `Some`.
    /// `None` takes everything back.
    pub(crate) fn write<T>(
        &self,
        deadline: Deadline,
        work: impl FnOnce(&mut Tables<'_>) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let _lock = self.shared_lock(deadline)?;
        let database = self.writable()?;
        guarded("write the index", || {
            let mut backoff = Backoff::new();
            let txn = loop {
                match database.try_begin_write() {
                    Ok(txn) => break txn,
                    Err(TransactionError::WouldBlock) if !deadline.passed() => backoff.sleep(),
                    Err(TransactionError::WouldBlock) => {
                        return Err(Error::new(ErrorKind::LockTimeout, "write the index")
                            .at(&self.path)
                            .cause("another process is in a transaction"));
                    }
                    Err(error) => return Err(db_error("write the index", error).at(&self.path)),
                }
            };
            let mut tables = Tables::open(&txn)?;
            let result = work(&mut tables).and_then(|value| tables.finish().map(|()| value));
            match result {
                Ok(Some(value)) => {
                    txn.commit().map_err(|error| db_error("commit to the index", error).at(&self.path))?;
                    self.wrote.store(true, Ordering::Relaxed);
                    Ok(Some(value))
                }
                Ok(None) => {
                    txn.abort().map_err(|error| db_error("write the index", error).at(&self.path))?;
                    Ok(None)
                }
                Err(error) => {
                    // The first error is the one to tell; redb takes the transaction back when it is dropped, too.
                    let _ = txn.abort();
                    Err(error)
                }
            }
        })
    }

    /// Closes the handle, so that nothing has to be repaired at the next open.
    pub(crate) fn close(&self) -> Result<()> {
        if self.wrote.swap(false, Ordering::Relaxed) {
            // Best effort: an index with holes is as good as one without.
            let _ = self.compact_if(Self::is_worth_it_at_close);
        }
        let Some(open) = self.lock_open().take() else { return Ok(()) };
        let Handle::Writable(database) = open.database else { return Ok(()) };
        match Arc::try_unwrap(database) {
            Ok(database) => guarded("close the index", || {
                database.close().map_err(|error| db_error("close the index", error).at(&self.path))
            }),
            // A transaction of another thread still runs; the database closes when it ends.
            Err(_) => Ok(()),
        }
    }

    /// Gives unused space of the file back, where no other process is in the way.
    pub(crate) fn compact(&self) -> Result<()> {
        self.compact_if(|size, used| size >= COMPACT_BYTES_MIN && used * 2 < size)
    }

    /// Small files are compacted in some milliseconds; a large one is left to the collection, so that nobody waits.
    fn is_worth_it_at_close(size: u64, used: u64) -> bool {
        (COMPACT_AT_CLOSE_MIN..COMPACT_AT_CLOSE_MAX).contains(&size) && used + used / 16 < size
    }

    /// Compacts if `is_worth_it` says so of the file's length and the bytes in use.
    fn compact_if(&self, is_worth_it: fn(u64, u64) -> bool) -> Result<()> {
        let _lock = match &self.exclusive {
            Some(_) => None,
            None => match Lock::try_new(&self.io, &self.lock_path, LockMode::Exclusive)? {
                Some(lock) => Some(lock),
                None => return Ok(()),
            },
        };
        let mut open = self.lock_open();
        let Some(current) = open.as_mut() else { return Ok(()) };
        let Handle::Writable(database) = &mut current.database else { return Ok(()) };
        let Some(database) = Arc::get_mut(database) else { return Ok(()) };
        let size = self.io.stat(&self.path).context("look at the index", &self.path)?.size;
        let Some(used) = guarded("look at the index", || used_bytes(database))? else { return Ok(()) };
        if !is_worth_it(size, used) {
            return Ok(());
        }
        guarded("compact the index", || match database.compact() {
            Ok(_) | Err(redb::CompactionError::TransactionInProgress) => Ok(()),
            Err(error) => Err(db_error("compact the index", error).at(&self.path)),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn lock_path(&self) -> &Path {
        &self.lock_path
    }
}
