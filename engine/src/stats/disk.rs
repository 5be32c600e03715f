//! Sizes of the files of a store.

use std::path::Path;

use crate::error::{Error, IoContext as _, Result};
use crate::index::INDEX_FILE;
use crate::io::{FileKind, Io, bytes_path, is_absent};
use crate::stats::DiskStats;

/// Sizes of the files. Those that vanish meanwhile count as nothing.
pub(super) fn measure(io: &dyn Io, store: &Path, disk: &mut DiskStats) -> Result<()> {
    let known = std::mem::take(&mut disk.slack_bytes);
    let (segments, segment_bytes) = tree_bytes(io, &store.join("segments"))?;
    disk.segments = segments;
    disk.segment_bytes = segment_bytes;
    disk.slack_bytes = segment_bytes.saturating_sub(known);
    disk.large_bytes = tree_bytes(io, &store.join("large"))?.1;
    disk.quarantine_bytes = tree_bytes(io, &store.join("quarantine"))?.1;
    disk.index_bytes = tree_bytes(io, &store.join(INDEX_FILE))?.1;
    disk.total_bytes = tree_bytes(io, store)?.1;
    Ok(())
}

/// Number and bytes of the files at and below a path.
fn tree_bytes(io: &dyn Io, path: &Path) -> Result<(u64, u64)> {
    let stat = match io.stat(path) {
        Ok(stat) => stat,
        Err(error) if is_absent(&error) => return Ok((0, 0)),
        Err(error) => return Err(Error::io("look at", path, error)),
    };
    if stat.kind != FileKind::Dir {
        return Ok((1, stat.size));
    }
    let names = match io.list(path) {
        Err(error) if is_absent(&error) => return Ok((0, 0)),
        names => names.context("list", path)?,
    };
    let mut sum = (0, 0);
    for name in names {
        let (files, bytes) = tree_bytes(io, &path.join(bytes_path(&name)))?;
        sum = (sum.0 + files, sum.1 + bytes);
    }
    Ok(sum)
}
