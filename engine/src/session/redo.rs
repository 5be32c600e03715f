//! The redo stack of a session.

use crate::error::Result;
use crate::id::Id;
use crate::index::keys;
use crate::index::rows::{RedoKind, RedoRow};
use crate::index::tables::{Logical, Rows as _, RowsExt as _};
use crate::journal::Change;
use crate::object::pending::Pending;
use crate::session::Session;
use crate::session::points::no_point;
use crate::tree::Roots;

/// An item to push.
#[derive(Clone, Debug)]
pub struct NewRedoItem {
    /// What it brings back.
    pub kind: RedoKind,
    /// Point whose files it brings back.
    pub point: Option<Id>,
    /// Leaf of the conversation it goes back to.
    pub old_leaf: Option<String>,
    /// The oldest items above this number go.
    pub items_max: u64,
}

/// An item of the stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedoItem {
    /// What it brings back.
    pub kind: RedoKind,
    /// Point whose files it brings back.
    pub point: Option<Id>,
    /// Leaf of the conversation it goes back to.
    pub old_leaf: Option<String>,
    /// Milliseconds since 1970.
    pub created_ms: i64,
    /// The trees it holds itself.
    pub roots: Roots,
}

impl From<RedoRow> for RedoItem {
    fn from(row: RedoRow) -> Self {
        Self { kind: row.kind, point: row.point, old_leaf: row.old_leaf, created_ms: row.created_ms, roots: row.roots }
    }
}

impl crate::store::Store {
    /// The redo stack of a session, oldest first.
    pub fn redo_items(&self, session: &str) -> Result<Vec<RedoItem>> {
        self.inner().read(|rows| {
            rows.session_or_error(session)?;
            let mut items = Vec::new();
            rows.scan::<RedoRow>(Logical::Redo, &keys::session_prefix(session), &mut |_, row| {
                items.push(row.into());
                Ok(())
            })?;
            Ok(items)
        })
    }
}

impl Session {
    /// The whole stack, oldest first.
    pub fn redo_items(&self) -> Result<Vec<RedoItem>> {
        self.inner.read(|rows| {
            let mut items = Vec::new();
            rows.scan::<RedoRow>(Logical::Redo, &keys::session_prefix(&self.id), &mut |_, row| {
                items.push(row.into());
                Ok(())
            })?;
            Ok(items)
        })
    }

    /// The newest item.
    pub fn redo_peek(&self) -> Result<Option<RedoItem>> {
        Ok(self.redo_items()?.pop())
    }

    /// Pushes an item.
    pub fn redo_push(&self, item: &NewRedoItem) -> Result<()> {
        let created_ms = self.inner.io.now_ms();
        self.inner.commit(&mut Pending::default(), |rows, _| {
            let roots = match item.point {
                Some(id) => {
                    let (session, seq) = rows.find_point(id)?.ok_or_else(|| no_point(id))?;
                    rows.point(&session, seq)?.ok_or_else(|| no_point(id))?.roots
                }
                None => Roots::default(),
            };
            let row =
                RedoRow { kind: item.kind, point: item.point, roots, old_leaf: item.old_leaf.clone(), created_ms };
            let change = Change::RedoPushed { session: self.id.clone(), item: row, items_max: item.items_max };
            Ok(Some((vec![change], ())))
        })?;
        Ok(())
    }

    /// Takes the newest item off. Nothing happens when there is none.
    pub fn redo_pop(&self) -> Result<()> {
        self.redo_change(Change::RedoPopped { session: self.id.clone() })
    }

    /// Empties the stack.
    pub fn redo_clear(&self) -> Result<()> {
        self.redo_change(Change::RedoCleared { session: self.id.clone() })
    }

    fn redo_change(&self, change: Change) -> Result<()> {
        let prefix = keys::session_prefix(&self.id);
        self.inner.commit(&mut Pending::default(), |rows, _| {
            let mut any = false;
            rows.scan_raw(Logical::Redo, &prefix, &mut |_, _| {
                any = true;
                Ok(false)
            })?;
            Ok(any.then(|| (vec![change], ())))
        })?;
        Ok(())
    }
}
