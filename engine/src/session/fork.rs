//! Forks: a new session that begins with the history of another one and shares every byte with it.

use std::path::Path;

use crate::error::Result;
use crate::id::Id;
use crate::index::tables::RowsExt as _;
use crate::io::path_bytes;
use crate::journal::Change;
use crate::object::pending::Pending;
use crate::session::check_id;
use crate::store::Store;

/// Makes a fork's point ids follow from the source's, so that replaying the fork gives the same ones.
const FORK_CONTEXT: &str = "candy-store 2026-11 point of a fork";

/// What a fork did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forked {
    /// The new session has this many points.
    Yes {
        /// Points copied.
        points: u64,
    },
    /// The source has no history here.
    NoSource,
    /// The new session has history already.
    Exists,
    /// The two have different workspaces: paths would mean other files.
    OtherWorkspace,
}

impl Store {
    /// Copies points, originals and tracked paths of `from` to the new session `to`. The redo stack stays behind: it
    /// names entries of the other conversation.
    pub fn fork(&self, from: &str, to: &str, cwd: &Path) -> Result<Forked> {
        check_id(from)?;
        check_id(to)?;
        let mut no = Forked::NoSource;
        let done = self.inner().commit(&mut Pending::default(), |rows, _| {
            let Some(source) = rows.session(from)? else { return Ok(None) };
            if rows.session(to)?.is_some() {
                no = Forked::Exists;
                return Ok(None);
            }
            if source.cwd != path_bytes(cwd) {
                no = Forked::OtherWorkspace;
                return Ok(None);
            }
            let mut points = rows.points(from)?;
            for (_, point) in &mut points {
                point.id = Id::derived(FORK_CONTEXT, &[to.as_bytes(), point.id.as_bytes()]);
            }
            let count = points.len() as u64;
            let change = Change::Forked {
                from: from.to_owned(),
                to: to.to_owned(),
                cwd: source.cwd.clone(),
                sealed: source.layers.last().copied().unwrap_or(Id::from_bytes([0; 16])),
                layers: [Id::random(), Id::random()],
                points,
            };
            Ok(Some((vec![change], Forked::Yes { points: count })))
        })?;
        Ok(done.unwrap_or(no))
    }
}
