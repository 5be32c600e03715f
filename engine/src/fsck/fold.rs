//! Replays the journal of a chain of transactions into a new index, with the code that live transactions use.

use std::path::Path;
use std::sync::Arc;

use crate::codec;
use crate::error::{Error, ErrorKind, Result};
use crate::fsck::OnProgress;
use crate::fsck::chain::{Chain, Link};
use crate::hash::Hash;
use crate::id::Id;
use crate::index::NewIndex;
use crate::index::apply::{Apply, Counting, NodeBytes};
use crate::index::keys;
use crate::index::rows::{LayerRow, OriginalRow, PinRow, PointRow, RedoRow, RestoreRow, SessionRow};
use crate::index::tables::{Logical, RowsExt as _, Tables};
use crate::io::Io;
use crate::journal::{Change, Journal};
use crate::tree::{Entry, Node};

/// Changes or rows per transaction: what fits well into memory.
const CHANGES_PER_TRANSACTION: usize = 2_000;

/// Workspace of a session whose beginning is lost. It does not exist, so nothing is ever restored there by accident.
const LOST_WORKSPACE: &[u8] = b"/nonexistent";

/// Names of layers that stand for lost ones.
const LOST_LAYER_CONTEXT: &str = "candy-store 2026-11 layer of a session whose beginning is lost";

/// What was replayed.
#[derive(Debug, Default)]
pub(crate) struct Folded {
    pub(crate) transactions: u64,
    /// What could not be replayed.
    pub(crate) skipped: Vec<String>,
}

/// Counting comes later, so nothing is read meanwhile.
struct NoNodes;

impl NodeBytes for NoNodes {
    fn node(&self, _: &Tables<'_>, hash: Hash) -> Result<Node> {
        Err(Error::new(ErrorKind::Internal, "replay the journal").cause(format!("node {hash} is not to be read")))
    }
}

/// Whether a row of a checkpoint parses. The match is exhaustive on purpose.
fn is_well_formed(table: Logical, value: &[u8]) -> bool {
    fn parses<T: serde::Serialize + serde::de::DeserializeOwned>(value: &[u8]) -> bool {
        codec::decode::<T>(value).is_ok()
    }
    match table {
        Logical::Sessions => parses::<SessionRow>(value),
        Logical::Points => parses::<PointRow>(value),
        Logical::PointIds => keys::parse_numbered(value).is_some(),
        Logical::Layers => parses::<LayerRow>(value),
        Logical::Originals => parses::<OriginalRow>(value),
        Logical::Notes => parses::<Entry>(value),
        Logical::Redo => parses::<RedoRow>(value),
        Logical::Pins => parses::<PinRow>(value),
        Logical::Restores => parses::<RestoreRow>(value),
        Logical::Purged => value.is_empty(),
    }
}

struct Fold<'a> {
    io: &'a Arc<dyn Io>,
    store: &'a Path,
    /// Nothing of the chain is missing, so every change must fit.
    whole: bool,
    folded: Folded,
}

/// Replays `chain` from its oldest transaction on.
pub(crate) fn fold(
    io: &Arc<dyn Io>,
    store: &Path,
    new: &NewIndex,
    chain: &Chain,
    progress: &OnProgress,
) -> Result<Folded> {
    let mut fold = Fold { io, store, whole: chain.is_whole(), folded: Folded::default() };
    let total = chain.links.len() as u64;
    let mut links = chain.links.iter().rev().peekable();
    while links.peek().is_some() {
        progress.tell("replay the journal", fold.folded.transactions, total);
        new.write(|tables| {
            let mut changes = 0;
            while changes < CHANGES_PER_TRANSACTION
                && let Some(link) = links.next()
            {
                changes += fold.transaction(tables, link)?;
            }
            Ok(())
        })?;
    }
    progress.tell("replay the journal", total, total);
    Ok(fold.folded)
}

impl Fold<'_> {
    fn transaction(&mut self, tables: &mut Tables<'_>, link: &Link) -> Result<usize> {
        self.folded.transactions += 1;
        match Journal::read_at(self.io, self.store, link.at)? {
            Journal::Checkpoint { rows, .. } => {
                let count = rows.len();
                for (number, key, value) in rows {
                    match Logical::from_number(number) {
                        Some(table) if is_well_formed(table, &value) => tables.put_raw(table, &key, &value)?,
                        Some(table) => self.skip(format!("a malformed row of the table '{}'", table.name())),
                        None => self.skip(format!("a row of the unknown table {number}")),
                    }
                }
                Ok(count)
            }
            Journal::Changes { at_ms, changes, .. } => {
                for change in &changes {
                    self.change(tables, link.at.order, at_ms, change)?;
                }
                Ok(changes.len().max(1))
            }
        }
    }

    fn skip(&mut self, text: String) {
        const MAX: usize = 100;
        if self.folded.skipped.len() < MAX {
            self.folded.skipped.push(text);
        }
    }

    fn change(&mut self, tables: &mut Tables<'_>, order: u64, at_ms: i64, change: &Change) -> Result<()> {
        let mut apply = Apply { tables, nodes: &NoNodes, order, at_ms, counting: Counting::Later };
        if !self.whole {
            match make_up_for_loss(&mut apply, change)? {
                MadeUp::Ready => {}
                MadeUp::Done => return Ok(()),
                MadeUp::Void(why) => {
                    self.skip(format!("transaction {order}: {why}"));
                    return Ok(());
                }
            }
        }
        match apply.change(change) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Conflict) => {
                self.skip(format!("transaction {order}: {error}"));
                Ok(())
            }
            result => result,
        }
    }
}

/// What was done about a change whose predecessors may be missing.
enum MadeUp {
    /// It can be applied.
    Ready,
    /// It was applied in another way.
    Done,
    /// It means nothing without what is missing.
    Void(&'static str),
}

/// Brings back what a change needs and what is missing: better a session without its workspace than no session.
fn make_up_for_loss(apply: &mut Apply<'_, '_>, change: &Change) -> Result<MadeUp> {
    let session = match change {
        Change::Tracked { session, .. } | Change::PointTaken { session, .. } | Change::RedoPushed { session, .. } => {
            session
        }
        Change::Noted { session, .. } if apply.tables.session(session)?.is_none() => {
            return Ok(MadeUp::Void("a note of a session that is lost"));
        }
        Change::Forked { from, to, cwd, layers, points, sealed } => {
            let source = apply.tables.session(from)?;
            let fits = source.is_some_and(|row| row.layers.last() == Some(sealed));
            if fits || apply.tables.session(to)?.is_some() {
                return Ok(MadeUp::Ready);
            }
            apply.change(&Change::SessionOpened { session: to.clone(), cwd: cwd.clone(), layer: layers[1] })?;
            for (seq, point) in points {
                apply.change(&Change::PointTaken { session: to.clone(), seq: *seq, point: point.clone() })?;
            }
            return Ok(MadeUp::Done);
        }
        _ => return Ok(MadeUp::Ready),
    };
    if apply.tables.session(session)?.is_none() {
        let layer = Id::derived(LOST_LAYER_CONTEXT, &[session.as_bytes()]);
        let cwd = LOST_WORKSPACE.to_vec();
        apply.change(&Change::SessionOpened { session: session.clone(), cwd, layer })?;
    }
    Ok(MadeUp::Ready)
}
