//! Locks between processes. The operating system gives them up when the holder dies, so there are no pid files and
//! nothing to clean after a crash. Lock files are files of their own, never the data they guard.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, IoContext as _, Result};
use crate::io::{File, Io, LockMode, Open, is_absent};

/// How long to wait for something another process holds.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Instant);

impl Deadline {
    /// A point in time `wait` from now.
    pub fn after(wait: Duration) -> Self {
        Self(Instant::now() + wait)
    }

    /// Whether it has passed.
    pub fn passed(self) -> bool {
        Instant::now() >= self.0
    }
}

/// Sleeps a little longer each time, with jitter, so that waiting processes do not fall into step.
#[derive(Debug)]
pub(crate) struct Backoff {
    next_us: u64,
    jitter: u64,
}

impl Backoff {
    pub(crate) fn new() -> Self {
        // The address of a local differs between threads and processes: enough to spread them out.
        let here = 0u8;
        Self { next_us: 50, jitter: std::ptr::from_ref(&here).addr() as u64 ^ u64::from(std::process::id()) }
    }

    pub(crate) fn sleep(&mut self) {
        self.jitter = self.jitter.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let spread = self.next_us / 2 + (self.jitter >> 33) % self.next_us;
        std::thread::sleep(Duration::from_micros(spread));
        self.next_us = (self.next_us * 3 / 2).min(5_000);
    }
}

/// A lock that is held until the value is dropped or the process dies.
#[must_use = "the lock is given up when this is dropped"]
#[derive(Debug)]
pub struct Lock {
    file: Box<dyn File>,
    path: PathBuf,
}

impl Lock {
    /// Takes the lock, making its file when missing; `None` when another holder has it.
    pub fn try_new(io: &Arc<dyn Io>, path: &Path, mode: LockMode) -> Result<Option<Self>> {
        let file = io.open(path, Open::Lock).context("open the lock file", path)?;
        let held = file.try_lock(mode).context("lock", path)?;
        Ok(held.then(|| Self { file, path: path.to_path_buf() }))
    }

    /// Takes the lock of an existing file. `Ok(None)`: another holder has it. A missing file counts as free: its
    /// owner closed it in order and nobody ever makes it again, because its name is a random identifier.
    pub(crate) fn try_orphan(io: &Arc<dyn Io>, path: &Path) -> Result<Option<Option<Self>>> {
        let file = match io.open(path, Open::Write) {
            Ok(file) => file,
            Err(error) if is_absent(&error) => return Ok(Some(None)),
            Err(error) => return Err(Error::io("open the lock file", path, error)),
        };
        let held = file.try_lock(LockMode::Exclusive).context("lock", path)?;
        Ok(held.then(|| Some(Self { file, path: path.to_path_buf() })))
    }

    /// Whether somebody holds the lock alone. Askers share it for a moment; a file that is missing is not made.
    pub(crate) fn is_held(io: &Arc<dyn Io>, path: &Path) -> Result<bool> {
        match io.open(path, Open::Read) {
            Ok(file) => Ok(!file.try_lock(LockMode::Shared).context("lock", path)?),
            Err(error) if is_absent(&error) => Ok(false),
            Err(error) => Err(Error::io("open the lock file", path, error)),
        }
    }

    /// Waits for the lock until the deadline.
    pub fn wait(io: &Arc<dyn Io>, path: &Path, mode: LockMode, deadline: Deadline) -> Result<Self> {
        let file = io.open(path, Open::Lock).context("open the lock file", path)?;
        Self::wait_for(file, path, mode, deadline)
    }

    /// The same for one who must not write: without the file there is nobody to wait for.
    pub(crate) fn wait_existing(
        io: &Arc<dyn Io>,
        path: &Path,
        mode: LockMode,
        deadline: Deadline,
    ) -> Result<Option<Self>> {
        match io.open(path, Open::Read) {
            Ok(file) => Self::wait_for(file, path, mode, deadline).map(Some),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(Error::io("open the lock file", path, error)),
        }
    }

    fn wait_for(file: Box<dyn File>, path: &Path, mode: LockMode, deadline: Deadline) -> Result<Self> {
        let mut backoff = Backoff::new();
        loop {
            if file.try_lock(mode).context("lock", path)? {
                return Ok(Self { file, path: path.to_path_buf() });
            }
            if deadline.passed() {
                return Err(Error::new(ErrorKind::LockTimeout, "take the lock")
                    .at(path)
                    .cause("another process holds it"));
            }
            backoff.sleep();
        }
    }

    /// Whether the file that is locked is still the one under its name.
    pub(crate) fn is_named(&self, io: &Arc<dyn Io>) -> bool {
        match (self.file.stat(), io.stat(&self.path)) {
            (Ok(held), Ok(named)) => held.identity() == named.identity(),
            _ => false,
        }
    }

    /// Gives the lock up and removes its file. Only for locks with random names, see [`Lock::try_orphan`].
    pub(crate) fn remove(self, io: &Arc<dyn Io>) {
        // Best effort: a lock file left behind is found by the next collection.
        let _ = io.remove_file(&self.path);
        drop(self.file);
    }
}
