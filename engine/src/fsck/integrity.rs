//! The checksums of the index file.
//!
//! The database verifies them only when it is alone with the file, so a copy is verified. Opening a copy of a database
//! that is in use recovers it, and recovery may fall back to the commit before when the newest one is damaged; so the
//! rows of the copy are compared with those that were live when it was made.

use std::path::Path;

use crate::codec;
use crate::error::{Error, IoContext as _, Result};
use crate::fsck::{FsckOptions, Place};
use crate::id::Id;
use crate::index::tables::{Logical, Rows, Snapshot, db_error};
use crate::index::{Index, guarded};
use crate::io::Open;
use crate::limits::INDEX_CACHE_BYTES;
use crate::lock::Deadline;

const COPY_BYTES: usize = 1 << 20;

/// A name for everything that the rows say.
pub(crate) fn digest(rows: &dyn Rows) -> Result<blake3::Hash> {
    let mut hasher = blake3::Hasher::new();
    let mut add = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
    };
    add(&codec::encode(&rows.state()?));
    for (number, row) in rows.segments()? {
        add(&number.to_le_bytes());
        add(&codec::encode(&row));
    }
    for hash in rows.dead(usize::MAX)? {
        add(hash.as_bytes());
    }
    for (key, value) in rows.unlinks()? {
        add(&key);
        add(&value);
    }
    rows.each_object(&mut |hash, row| {
        add(hash.as_bytes());
        add(&codec::encode(&row));
        Ok(())
    })?;
    for table in Logical::ALL {
        add(&[table as u8]);
        rows.scan_raw(table, b"", &mut |key, value| {
            add(key);
            add(value);
            Ok(true)
        })?;
    }
    Ok(hasher.finalize())
}

/// Verifies the checksums of the index. `Some` says what is wrong.
pub(crate) fn check(place: &Place, index: &Index, options: &FsckOptions) -> Result<Option<String>> {
    // Removed by gc should this process die: such files are made under the lock that gc takes, too.
    let copy = place.path.join(format!("fsck.{}.tmp", Id::random()));
    let mut live = None;
    // Nobody commits while this transaction is open, and it changes nothing.
    let copied = index.write(Deadline::after(options.lock_wait), |tables| {
        live = Some(digest(tables)?);
        copy_file(place, index.path(), &copy)?;
        Ok(None::<()>)
    });
    let verdict = copied.and_then(|_| guarded("verify the index", || verify(place, &copy)));
    let _ = place.io.remove_file(&copy);
    Ok(match verdict {
        Ok(digest) if Some(digest) == live => None,
        Ok(_) => Some("the newest commit of the index is damaged".to_owned()),
        Err(error) if matches!(error.kind(), crate::ErrorKind::NoSpace | crate::ErrorKind::LockTimeout) => {
            return Err(error);
        }
        Err(error) => Some(error.to_string()),
    })
}

fn copy_file(place: &Place, from: &Path, to: &Path) -> Result<()> {
    let source = place.io.open(from, Open::Read).context("open the index", from)?;
    let target = place.io.open(to, Open::CreateNew).context("create a copy of the index", to)?;
    let mut offset = 0;
    let mut buffer = vec![0; COPY_BYTES];
    loop {
        let count = source.read_at(&mut buffer, offset).context("read the index", from)?;
        if count == 0 {
            return Ok(());
        }
        target.write_all_at(&buffer[..count], offset).context("copy the index to", to)?;
        offset += count as u64;
    }
}

fn verify(place: &Place, copy: &Path) -> Result<blake3::Hash> {
    use redb::ReadableDatabase as _;
    let fail = |error: redb::Error| -> Error { db_error("verify the index", error) };
    let mut builder = redb::Database::builder();
    builder.set_cache_size(INDEX_CACHE_BYTES).set_check_integrity_on_open(true);
    let mut database = place.io.open_database(&builder, copy, false).map_err(|error| fail(error.into()))?;
    database.check_integrity().map_err(|error| fail(error.into()))?;
    let txn = database.begin_read().map_err(|error| fail(error.into()))?;
    digest(&Snapshot::new(txn))
}
