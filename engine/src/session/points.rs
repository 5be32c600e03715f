//! Points as values, and what can be said of them afterwards.

use crate::error::{Error, ErrorKind, Result};
use crate::id::Id;
use crate::index::rows::{PointKind, PointRow};
use crate::index::tables::RowsExt as _;
use crate::journal::Change;
use crate::limits::GAPS_MAX;
use crate::object::pending::Pending;
use crate::session::Session;
use crate::store::Store;
use crate::tree::{Entry, Roots, TrackedPath};

/// Longest word for a gap, in characters.
const GAP_CHARS_MAX: usize = 64;

/// Anything one can go back to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Unique in the store.
    pub id: Id,
    /// Session it belongs to.
    pub session: String,
    /// Rises with each point of the session.
    pub seq: u64,
    /// What it is for.
    pub kind: PointKind,
    /// Milliseconds since 1970.
    pub created_ms: i64,
    /// User message it is bound to: the state before that message's turn.
    pub entry: Option<String>,
    /// First characters of the prompt.
    pub prompt: Option<String>,
    /// Its two trees.
    pub roots: Roots,
    /// Paths in it, absent ones included.
    pub files: u64,
    /// Paths that differ from the point before.
    pub changed: u64,
    /// Why the turn that follows is not fully covered.
    pub gaps: Vec<String>,
}

impl Point {
    pub(crate) fn new(session: &str, seq: u64, row: PointRow) -> Self {
        Self {
            id: row.id,
            session: session.to_owned(),
            seq,
            kind: row.kind,
            created_ms: row.created_ms,
            entry: row.entry,
            prompt: row.prompt,
            roots: row.roots,
            files: row.files,
            changed: row.changed,
            gaps: row.gaps,
        }
    }
}

pub(crate) fn no_point(id: Id) -> Error {
    Error::new(ErrorKind::NotFound, "find the point").cause(format!("no point {id}"))
}

impl Store {
    /// All points of a session, oldest first.
    pub fn points(&self, session: &str) -> Result<Vec<Point>> {
        let rows = self.inner().read(|rows| {
            rows.session_or_error(session)?;
            rows.points(session)
        })?;
        Ok(rows.into_iter().map(|(seq, row)| Point::new(session, seq, row)).collect())
    }

    /// A point by its identifier.
    pub fn point(&self, id: Id) -> Result<Point> {
        self.inner().read(|rows| {
            let (session, seq) = rows.find_point(id)?.ok_or_else(|| no_point(id))?;
            let row = rows.point(&session, seq)?.ok_or_else(|| no_point(id))?;
            Ok(Point::new(&session, seq, row))
        })
    }

    /// All entries of a point, workspace paths first, each in the order of its bytes.
    pub fn entries(&self, roots: Roots) -> Result<Vec<(TrackedPath, Entry)>> {
        let manifest =
            self.inner().read_again_on_damage(|inner, rows| crate::session::read_manifest(inner, rows, roots))?;
        Ok(manifest.entries.into_iter().collect())
    }

    /// Whether the index has a content and its bytes are not known to be lost, without reading them.
    pub fn has_content(&self, content: crate::hash::Hash) -> Result<bool> {
        self.inner().read(|rows| rows.has_bytes(content))
    }

    /// Drops points. What nothing else needs is freed by the next collection.
    pub fn drop_points(&self, session: &str, seqs: &[u64]) -> Result<()> {
        let change = Change::PointsDropped { session: session.to_owned(), seqs: seqs.to_vec() };
        self.inner().commit(&mut Pending::default(), |rows, _| {
            rows.session_or_error(session)?;
            Ok(Some((vec![change], ())))
        })?;
        Ok(())
    }
}

impl Session {
    /// All points, oldest first.
    pub fn points(&self) -> Result<Vec<Point>> {
        let rows = self.inner.read(|rows| rows.points(&self.id))?;
        Ok(rows.into_iter().map(|(seq, row)| Point::new(&self.id, seq, row)).collect())
    }

    /// Binds a point to the user message it precedes.
    pub fn bind(&self, point: Id, entry: &str) -> Result<()> {
        self.edit_point(point, |seq| Change::Bound { session: self.id.clone(), seq, entry: entry.to_owned() })
    }

    /// Adds reasons why the turn after a point is not fully covered.
    pub fn add_gaps(&self, point: Id, gaps: &[String]) -> Result<()> {
        let gaps: Vec<String> =
            gaps.iter().take(GAPS_MAX).map(|gap| gap.chars().take(GAP_CHARS_MAX).collect()).collect();
        self.edit_point(point, |seq| Change::GapsAdded { session: self.id.clone(), seq, gaps })
    }

    fn edit_point(&self, point: Id, change: impl FnOnce(u64) -> Change) -> Result<()> {
        self.inner.commit(&mut Pending::default(), |rows, _| {
            let (session, seq) = rows.find_point(point)?.ok_or_else(|| no_point(point))?;
            if session != self.id {
                return Err(no_point(point));
            }
            Ok(Some((vec![change(seq)], ())))
        })?;
        Ok(())
    }
}
