//! The index's file, with locks that are not waited for without end.
//!
//! redb waits for its header lock and, when it opens a file, for the writer's lock as long as it takes. Their holder may
//! be a process that was stopped (Ctrl-Z) in the middle of a transaction.

use std::io;
use std::ops::Bound;
use std::time::Duration;

use redb::backends::FileBackend;
use redb::{BackendError, StorageBackend};

use crate::lock::{Backoff, Deadline};

/// How long the index's own locks are waited for. Their holders need well below a second, also on a busy disk.
const WAIT: Duration = Duration::from_secs(3);

/// A file backend whose locks are waited for until a deadline; then the call fails with `TimedOut`.
#[derive(Debug)]
pub(super) struct PatientBackend(pub(super) FileBackend);

impl PatientBackend {
    fn wait(try_lock: impl Fn() -> Result<bool, BackendError>) -> Result<(), BackendError> {
        if try_lock()? {
            return Ok(());
        }
        let deadline = Deadline::after(WAIT);
        let mut backoff = Backoff::new();
        while !deadline.passed() {
            backoff.sleep();
            if try_lock()? {
                return Ok(());
            }
        }
        Err(BackendError::Io(io::Error::from(io::ErrorKind::TimedOut)))
    }
}

impl StorageBackend for PatientBackend {
    fn len(&self) -> Result<u64, io::Error> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), io::Error> {
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> Result<(), io::Error> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> Result<(), io::Error> {
        self.0.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), io::Error> {
        self.0.write(offset, data)
    }

    fn close(&self) -> Result<(), io::Error> {
        self.0.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        Self::wait(|| self.0.try_lock_range(start, end))
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        Self::wait(|| self.0.try_lock_shared_range(start, end))
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.query_lock_range(start, end)
    }
}
