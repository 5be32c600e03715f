//! Reads objects back. No byte leaves here that does not hash to the name it was asked for by.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{Error, ErrorKind, IoContext as _, Result};
use crate::hash::Hash;
use crate::id::Id;
use crate::index::rows::{ObjectKind, ObjectRow, Place};
use crate::index::tables::Rows;
use crate::io::{File, Io, Open};
use crate::limits::{BLOB_BYTES_MAX, DELTA_DEPTH_MAX};
use crate::object::cache::ContentCache;
use crate::object::encode::{Form, decode};
use crate::object::large;
use crate::segment::record::{Encoding, KIND_BLOB, KIND_NODE, Record};
use crate::segment::segment_path;
use crate::tree::Node;

/// Longest record: what a blob takes raw, with room for its header.
const RECORD_BYTES_MAX: u32 = (BLOB_BYTES_MAX as u32) * 2;

/// Open segments kept for reading.
const OPEN_FILES_MAX: usize = 32;

/// Reads objects from segments and large files.
#[derive(Debug)]
pub(crate) struct ObjectReader {
    io: Arc<dyn Io>,
    store: PathBuf,
    files: Mutex<HashMap<Id, Arc<dyn File>>>,
    cache: ContentCache,
}

pub(crate) fn damaged(hash: Hash, cause: impl Into<String>) -> Error {
    Error::new(ErrorKind::ObjectDamaged, format!("read the object {hash}")).cause(cause)
}

/// Checks that bytes are the object they are taken for.
pub(crate) fn verify(kind: ObjectKind, hash: Hash, bytes: &[u8]) -> Result<()> {
    let found = match kind {
        ObjectKind::Blob => Hash::of_blob(bytes),
        ObjectKind::Node => Hash::of_node(bytes),
    };
    if found == hash { Ok(()) } else { Err(damaged(hash, "its bytes do not hash to its name")) }
}

impl ObjectReader {
    pub(crate) fn new(io: Arc<dyn Io>, store: &Path) -> Self {
        Self { io, store: store.to_path_buf(), files: Mutex::default(), cache: ContentCache::default() }
    }

    pub(crate) fn cache(&self) -> &ContentCache {
        &self.cache
    }

    /// Closes what is open, for instance because a file was removed.
    pub(crate) fn forget_files(&self) {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn segment_file(&self, segment: Id) -> Result<Arc<dyn File>> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = files.get(&segment) {
            return Ok(Arc::clone(file));
        }
        let path = segment_path(&self.store, segment);
        let file: Arc<dyn File> = self.io.open(&path, Open::Read).context("open the segment", &path)?.into();
        if files.len() >= OPEN_FILES_MAX {
            files.clear();
        }
        files.insert(segment, Arc::clone(&file));
        Ok(file)
    }

    /// The record bytes of an object in a segment.
    pub(crate) fn record_bytes(&self, rows: &dyn Rows, hash: Hash, row: &ObjectRow) -> Result<Vec<u8>> {
        let Place::Segment { number, offset, len } = row.place else {
            let cause = if row.is_lost() { "its bytes are lost" } else { "it is not in a segment" };
            return Err(damaged(hash, cause));
        };
        if len > RECORD_BYTES_MAX {
            return Err(damaged(hash, "its record is impossibly long"));
        }
        let segment = rows.segment(number)?.ok_or_else(|| damaged(hash, "its segment has no row"))?;
        let file = self.segment_file(segment.id).map_err(|error| match error.io_kind() {
            Some(std::io::ErrorKind::NotFound) => {
                damaged(hash, "its segment is gone").at(segment_path(&self.store, segment.id))
            }
            _ => error,
        })?;
        let mut bytes = vec![0; len as usize];
        file.read_exact_at(&mut bytes, offset).map_err(|error| {
            damaged(hash, "its record cannot be read").at(segment_path(&self.store, segment.id)).because(error)
        })?;
        Ok(bytes)
    }

    /// Decodes one record, given the bytes of its base.
    fn decode_record(hash: Hash, row: &ObjectRow, bytes: &[u8], base: Option<&[u8]>) -> Result<Vec<u8>> {
        let (record, used) = Record::parse(bytes).ok_or_else(|| damaged(hash, "its record is damaged"))?;
        let kind = match row.kind {
            ObjectKind::Blob => KIND_BLOB,
            ObjectKind::Node => KIND_NODE,
        };
        if used != bytes.len() || record.hash != Some(hash) || record.kind != kind {
            return Err(damaged(hash, "another record is in its place"));
        }
        if u64::from(record.raw_len) != row.raw_len
            || row.raw_len > BLOB_BYTES_MAX.max(crate::limits::NODE_BYTES_MAX as u64)
        {
            return Err(damaged(hash, "its record has another length"));
        }
        let form = match record.encoding {
            Encoding::Raw => Form::Raw,
            Encoding::Zstd => Form::Zstd,
            Encoding::Delta | Encoding::DeltaNear(_) => Form::Delta { base: row.base.unwrap_or(hash) },
        };
        if matches!(form, Form::Delta { .. }) != base.is_some() {
            return Err(damaged(hash, "its record does not fit its row"));
        }
        decode(form, record.payload, record.raw_len as usize, base).map_err(|error| damaged(hash, error.to_string()))
    }

    /// Reads an object into memory. Large contents up to `BLOB_BYTES_MAX` only; see [`ObjectReader::copy`].
    pub(crate) fn read(&self, rows: &dyn Rows, hash: Hash) -> Result<Arc<[u8]>> {
        if let Some(bytes) = self.cache.get(hash) {
            return Ok(bytes);
        }
        let bytes = self.read_uncached(rows, hash)?;
        self.cache.put(hash, &bytes);
        Ok(bytes)
    }

    /// Reads an object from disk whatever the cache holds.
    pub(crate) fn read_uncached(&self, rows: &dyn Rows, hash: Hash) -> Result<Arc<[u8]>> {
        let missing = |hash| Error::new(ErrorKind::ObjectMissing, "read an object").cause(format!("{hash} has no row"));
        let row = rows.object(hash)?.ok_or_else(|| missing(hash))?;
        if let Place::Large { .. } = row.place {
            return Err(Error::new(ErrorKind::TooLarge, "read a content into memory").cause(hash.to_hex()));
        }
        // Down to the first full copy, then up again.
        let mut chain = vec![(hash, row)];
        let mut bytes: Option<Arc<[u8]>> = None;
        while let Some(base) = chain.last().and_then(|(_, row)| row.base) {
            if chain.len() > usize::from(DELTA_DEPTH_MAX) + 1 {
                return Err(damaged(hash, "its chain of deltas does not end"));
            }
            if let Some(cached) = self.cache.get(base) {
                bytes = Some(cached);
                break;
            }
            let row = rows.object(base)?.ok_or_else(|| missing(base))?;
            chain.push((base, row));
        }
        for (hash, row) in chain.iter().rev() {
            let record = self.record_bytes(rows, *hash, row)?;
            bytes = Some(Self::decode_record(*hash, row, &record, bytes.as_deref())?.into());
        }
        let bytes = bytes.expect("the chain has at least the object itself");
        verify(chain[0].1.kind, hash, &bytes)?;
        Ok(bytes)
    }

    /// Streams a content of any size to `out`. Bytes of a large content reach `out` before the verdict.
    pub(crate) fn copy(&self, rows: &dyn Rows, hash: Hash, out: &mut dyn std::io::Write) -> Result<()> {
        let row = rows.object(hash)?.ok_or_else(|| {
            Error::new(ErrorKind::ObjectMissing, "read an object").cause(format!("{hash} has no row"))
        })?;
        match row.place {
            Place::Large { file, .. } => {
                large::copy(&self.io, &large::large_path(&self.store, hash, file), hash, row.raw_len, out)
            }
            Place::Segment { .. } | Place::Lost => {
                out.write_all(&self.read(rows, hash)?).map_err(|error| Error::io("write a content", "", error))
            }
        }
    }

    /// Reads and parses a tree node.
    pub(crate) fn node(&self, rows: &dyn Rows, hash: Hash) -> Result<Node> {
        Node::parse(&self.read(rows, hash)?).map_err(|error| damaged(hash, error.to_string()))
    }
}
