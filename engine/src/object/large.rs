//! Contents above `BLOB_BYTES_MAX`: a file each, streamed in and out.
//!
//! ```text
//! magic "CNDYLRG\n" | version u32 | raw length u64 | hash [32] | BLAKE3 of these 52 bytes, cut to 12     64 bytes
//! zstd frame
//! ```

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, ErrorKind, IoContext as _, Result};
use crate::format::FORMAT_VERSION;
use crate::hash::{BlobHasher, Hash};
use crate::id::Id;
use crate::io::{File, Io, LockMode, Open, Reader, Writer, is_absent};
use crate::limits::ZSTD_LEVEL;

const MAGIC: &[u8; 8] = b"CNDYLRG\n";
const HEADER_BYTES: usize = 64;
const CHECKED: usize = 52;
const COPY_BYTES: usize = 256 << 10;

/// Path of a large content: below the first two digits of its name.
pub(crate) fn large_path(store: &Path, content: Hash, file: Id) -> PathBuf {
    let name = content.to_hex();
    store.join("large").join(&name[..2]).join(format!("{name}.{file}"))
}

/// Content and identifier of a file name.
pub(crate) fn parse_large_name(name: &[u8]) -> Option<(Hash, Id)> {
    let (hash, file) = std::str::from_utf8(name).ok()?.split_once('.')?;
    Some((Hash::from_hex(hash)?, Id::from_hex(file)?))
}

fn header(raw_len: u64, content: Hash) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    bytes[12..20].copy_from_slice(&raw_len.to_le_bytes());
    bytes[20..CHECKED].copy_from_slice(content.as_bytes());
    let sum = blake3::hash(&bytes[..CHECKED]);
    bytes[CHECKED..].copy_from_slice(&sum.as_bytes()[..HEADER_BYTES - CHECKED]);
    bytes
}

/// Raw length that the header of a large content gives, if the header is that of `content`.
pub(crate) fn read_header(file: &dyn File, content: Hash) -> Option<u64> {
    let mut head = [0; HEADER_BYTES];
    file.read_exact_at(&mut head, 0).ok()?;
    let raw_len = u64::from_le_bytes(head[12..20].try_into().ok()?);
    (head == header(raw_len, content)).then_some(raw_len)
}

/// A large content that is durable under its final name, but that no row points to yet.
#[derive(Clone, Debug)]
pub(crate) struct StoredLarge {
    pub(crate) content: Hash,
    pub(crate) file: Id,
    pub(crate) raw_len: u64,
    pub(crate) len: u64,
    /// The open file with its lock. While it is held, gc knows that a file without a row still has an owner.
    _owner: Arc<dyn File>,
}

/// Streams a file into `large/`. When this returns, content and name are durable and were read back and verified.
pub(crate) fn store(io: &Arc<dyn Io>, store: &Path, source: &dyn File, source_path: &Path) -> Result<StoredLarge> {
    let file_id = Id::random();
    let temporary = store.join("large").join(format!("{file_id}.tmp"));
    let file: Arc<dyn File> = io.open(&temporary, Open::CreateNew).context("create", &temporary)?.into();
    // From the first byte until its row is committed. gc takes the lock exclusively before it removes a leftover, so if
    // it came between the two calls above and here, this fails and the caller starts again.
    if !file.try_lock(LockMode::Shared).context("lock", &temporary)? {
        return Err(Error::new(ErrorKind::Conflict, "store a large content").at(&temporary).cause("it is locked"));
    }
    let result = fill(io, store, source, source_path, &file, &temporary, file_id);
    if result.is_err() {
        let _ = io.remove_file(&temporary);
    }
    result
}

fn fill(
    io: &Arc<dyn Io>,
    store: &Path,
    source: &dyn File,
    source_path: &Path,
    owned: &Arc<dyn File>,
    temporary: &Path,
    file_id: Id,
) -> Result<StoredLarge> {
    let file: &dyn File = &**owned;
    let mut hasher = BlobHasher::default();
    let mut raw_len = 0u64;
    let mut encoder = zstd::stream::write::Encoder::new(Writer::new(file, HEADER_BYTES as u64), ZSTD_LEVEL)
        .context("compress into", temporary)?;
    let mut buffer = vec![0; COPY_BYTES];
    loop {
        let count = source.read_at(&mut buffer, raw_len).context("read", source_path)?;
        if count == 0 {
            break;
        }
        hasher.update(&buffer[..count]);
        raw_len += count as u64;
        encoder.write_all(&buffer[..count]).context("write", temporary)?;
    }
    encoder.finish().context("write", temporary)?;
    let content = hasher.finish();
    file.write_all_at(&header(raw_len, content), 0).context("write", temporary)?;
    file.sync_data().context("sync", temporary)?;
    copy_file(file, temporary, content, raw_len, &mut std::io::sink())?;
    let len = file.stat().context("look at", temporary)?.size;
    let path = large_path(store, content, file_id);
    let parent = path.parent().expect("a large content lies in a directory");
    match io.create_dir(parent) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            return Err(Error::io("create the directory", parent, error));
        }
        // Made by this process or another one: durable before a row relies on it.
        _ => {
            let large = store.join("large");
            io.sync_dir(&large).context("sync", &large)?;
        }
    }
    io.rename(temporary, &path).context("rename", temporary)?;
    io.sync_dir(parent).context("sync", parent)?;
    Ok(StoredLarge { content, file: file_id, raw_len, len, _owner: Arc::clone(owned) })
}

fn damaged(path: &Path, cause: &str) -> Error {
    Error::new(ErrorKind::ObjectDamaged, "read a large content").at(path).cause(cause)
}

/// Streams a large content out and verifies it. Bytes reach `out` before the verdict: whoever keeps them waits for it.
pub(crate) fn copy(
    io: &Arc<dyn Io>,
    path: &Path,
    content: Hash,
    raw_len: u64,
    out: &mut dyn std::io::Write,
) -> Result<()> {
    let file = match io.open(path, Open::Read) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Err(damaged(path, "its file is gone")),
        Err(error) => return Err(Error::io("open a large content", path, error)),
    };
    copy_file(&*file, path, content, raw_len, out)
}

fn copy_file(file: &dyn File, path: &Path, content: Hash, raw_len: u64, out: &mut dyn std::io::Write) -> Result<()> {
    let mut head = [0; HEADER_BYTES];
    file.read_exact_at(&mut head, 0).map_err(|_| damaged(path, "it is cut short"))?;
    if head != header(raw_len, content) {
        return Err(damaged(path, "its header is damaged"));
    }
    let mut decoder = zstd::stream::read::Decoder::new(Reader::new(file, HEADER_BYTES as u64))
        .context("decompress", path)?
        .single_frame();
    let mut hasher = BlobHasher::default();
    let mut buffer = vec![0; COPY_BYTES];
    let mut done = 0u64;
    loop {
        let count = match decoder.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) => return Err(damaged(path, &error.to_string())),
        };
        done += count as u64;
        if done > raw_len {
            return Err(damaged(path, "it is longer than it says"));
        }
        hasher.update(&buffer[..count]);
        out.write_all(&buffer[..count]).context("write the content of", path)?;
    }
    if done != raw_len || hasher.finish() != content {
        return Err(damaged(path, "its bytes do not hash to its name"));
    }
    Ok(())
}
