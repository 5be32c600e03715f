//! The list of tables that hold hashes. gc, fsck and rebuild all count from it; a table that is missing here fails a
//! test.

use crate::codec;
use crate::error::{Error, ErrorKind, Result};
use crate::hash::Hash;
use crate::index::rows::{OriginalRow, PinRow, PointRow, RedoRow, RestoreRow};
use crate::index::tables::{Logical, Rows};

/// Whether rows of a table hold references, and which.
pub(crate) enum Holding {
    /// Each row holds references on these.
    References(fn(&[u8]) -> std::result::Result<Vec<Hash>, codec::CodecError>),
    /// Rows name hashes, but nothing is kept for them.
    NamesOnly,
    /// Rows hold no hash.
    Nothing,
}

/// What a table holds. The match is exhaustive on purpose.
pub(crate) fn holding(table: Logical) -> Holding {
    match table {
        Logical::Points => Holding::References(|bytes| Ok(codec::decode::<PointRow>(bytes)?.roots.hashes().collect())),
        Logical::Originals => Holding::References(|bytes| {
            Ok(codec::decode::<OriginalRow>(bytes)?.entry.and_then(|entry| entry.content()).into_iter().collect())
        }),
        Logical::Redo => Holding::References(|bytes| Ok(codec::decode::<RedoRow>(bytes)?.roots.hashes().collect())),
        Logical::Pins => Holding::References(|bytes| Ok(codec::decode::<PinRow>(bytes)?.roots.hashes().collect())),
        Logical::Restores => Holding::References(|bytes| Ok(restore_references(&codec::decode(bytes)?))),
        Logical::Notes | Logical::Purged => Holding::NamesOnly,
        Logical::Sessions | Logical::PointIds | Logical::Layers => Holding::Nothing,
    }
}

/// What an unfinished restore needs: both states of each file, and the redo point.
pub(crate) fn restore_references(restore: &RestoreRow) -> Vec<Hash> {
    let contents = restore.steps.iter().flat_map(|step| [step.from.content(), step.to.content()]).flatten();
    restore.redo_roots.hashes().chain(contents).collect()
}

/// Is given a table, a row's key and a hash that the row holds a reference on.
pub(crate) type VisitReference<'a> = dyn FnMut(Logical, &[u8], Hash) -> Result<()> + 'a;

/// Calls `visit` with every reference that a logical row holds, with the table and the row's key.
pub(crate) fn each_reference(rows: &dyn Rows, visit: &mut VisitReference<'_>) -> Result<()> {
    for table in Logical::ALL {
        let Holding::References(parse) = holding(table) else { continue };
        rows.scan_raw(table, b"", &mut |key, value| {
            let hashes = parse(value).map_err(|error| {
                Error::new(ErrorKind::IndexDamaged, format!("read a row of the table '{}'", table.name()))
                    .because(error)
            })?;
            for hash in hashes {
                visit(table, key, hash)?;
            }
            Ok(true)
        })?;
    }
    Ok(())
}
