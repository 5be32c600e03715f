//! The writing end of a segment. Exactly one process appends to a segment, while it holds the segment's lock.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, ErrorKind, IoContext as _, Result};
use crate::format::FORMAT_VERSION;
use crate::id::Id;
use crate::io::{File, Io, LockMode, Open};
use crate::limits::SEGMENT_BYTES_MAX;
use crate::lock::Lock;
use crate::segment::frame::{FinishedFrame, FrameBuilder};
use crate::segment::header::{HEADER_BYTES, SegmentHeader};
use crate::segment::{segment_lock_path, segment_path};

/// How often a new segment's lock is tried under a fresh name.
const LOCK_TRIES: u32 = 8;

/// Bytes that are in the segment but may not survive a power cut.
#[must_use = "not durable until synced"]
#[derive(Debug)]
pub(crate) struct Appended {
    records: Vec<(u64, u32)>,
}

/// Proof that a sync returned after the bytes were written.
#[derive(Clone, Debug)]
pub(crate) struct Durable {
    /// Offset and length of each record of the synced frames, in order.
    pub(crate) records: Vec<(u64, u32)>,
    /// Length of the segment up to which everything is durable.
    pub(crate) end: u64,
}

/// A segment this process appends to.
#[derive(Debug)]
pub(crate) struct SegmentWriter {
    io: Arc<dyn Io>,
    file: Box<dyn File>,
    lock: Lock,
    path: PathBuf,
    segment: Id,
    end: u64,
}

impl SegmentWriter {
    /// Makes a new segment. When this returns, its name and its header are durable.
    pub(crate) fn create(io: &Arc<dyn Io>, store_path: &Path, store: Id) -> Result<Self> {
        let (segment, lock) = Self::new_lock(io, store_path)?;
        let path = segment_path(store_path, segment);
        let file = io.open(&path, Open::CreateNew).context("create the segment", &path)?;
        let header = SegmentHeader { version: FORMAT_VERSION, segment, store, created_ms: io.now_ms() };
        let written = file
            .write_all_at(&header.encode(), 0)
            .and_then(|()| file.sync_data())
            .context("write the segment", &path)
            .and_then(|()| {
                let parent = store_path.join("segments");
                io.sync_dir(&parent).context("sync", &parent)
            });
        if let Err(error) = written {
            let _ = io.remove_file(&path);
            lock.remove(io);
            return Err(error);
        }
        Ok(Self { io: Arc::clone(io), file, lock, path, segment, end: HEADER_BYTES as u64 })
    }

    /// The lock comes before the segment: one without a held lock is one whose owner is gone.
    fn new_lock(io: &Arc<dyn Io>, store_path: &Path) -> Result<(Id, Lock)> {
        for _ in 0..LOCK_TRIES {
            let segment = Id::random();
            let lock_path = segment_lock_path(store_path, segment);
            // gc removes lock files that nobody holds. If it came between making the file and locking it, the lock is
            // taken or has no name any more, and would not be seen by anybody.
            if let Some(lock) = Lock::try_new(io, &lock_path, LockMode::Exclusive)?
                && lock.is_named(io)
            {
                return Ok((segment, lock));
            }
        }
        Err(Error::new(ErrorKind::LocksDoNotHold, "lock a new segment")
            .at(store_path)
            .cause("the locks of new segments are taken"))
    }

    pub(crate) fn segment(&self) -> Id {
        self.segment
    }

    /// Starts a frame at the end of the segment.
    pub(crate) fn frame(&self) -> FrameBuilder {
        FrameBuilder::new(self.end)
    }

    /// Whether the segment is long enough to be sealed.
    pub(crate) fn is_full(&self) -> bool {
        self.end >= SEGMENT_BYTES_MAX
    }

    /// Writes a frame that was started at this end.
    pub(crate) fn append(&mut self, frame: &FinishedFrame) -> Result<Appended> {
        assert_eq!(frame.offset, self.end, "the frame was built for this end of the segment");
        self.file.write_all_at(&frame.bytes, frame.offset).context("append to the segment", &self.path)?;
        self.end = frame.offset + frame.bytes.len() as u64;
        Ok(Appended { records: frame.records.clone() })
    }

    /// Makes appends durable. After an error the caller must abandon this writer: the kernel marks the pages clean,
    /// so that a second sync of the same file would lie.
    pub(crate) fn sync(&mut self, appended: Vec<Appended>) -> Result<Durable> {
        self.file.sync_data().map_err(|error| {
            let kind = Error::io("", "", std::io::Error::from(error.kind())).kind();
            let kind = if kind == ErrorKind::Io { ErrorKind::SegmentAbandoned } else { kind };
            Error::new(kind, "sync the segment").at(&self.path).because(error)
        })?;
        let records = appended.into_iter().flat_map(|appended| appended.records).collect();
        Ok(Durable { records, end: self.end })
    }

    /// Stops appending. The segment keeps what is synced; whatever follows is no frame or refers to nothing.
    pub(crate) fn seal(self) {
        self.lock.remove(&self.io);
    }
}
