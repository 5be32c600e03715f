//! Sessions from the outside: listing, dropping, expiring.

use std::path::PathBuf;

use crate::error::{Error, ErrorKind, Result};
use crate::index::tables::RowsExt as _;
use crate::io::{LockMode, bytes_path};
use crate::journal::Change;
use crate::lock::Lock;
use crate::object::pending::Pending;
use crate::session::{alive_path, check_id};
use crate::store::Store;

/// Sessions that stay, however old they are: a clock that jumps must not clean everything.
const SESSIONS_KEPT_MIN: usize = 20;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// A session as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSummary {
    /// Identifier.
    pub id: String,
    /// Its workspace.
    pub cwd: PathBuf,
    /// Milliseconds since 1970.
    pub created_ms: i64,
    /// Milliseconds since 1970.
    pub last_event_ms: i64,
    /// Order of the last event among all sessions, without a clock.
    pub last_order: u64,
    /// Session it was forked from.
    pub forked_from: Option<String>,
    /// Number of points.
    pub points: u64,
}

impl Store {
    /// All sessions, the one with the newest event first.
    pub fn sessions(&self) -> Result<Vec<SessionSummary>> {
        let mut sessions = self.inner().read(|rows| {
            let mut sessions = Vec::new();
            for (id, row) in rows.sessions()? {
                let points = rows.points(&id)?.len() as u64;
                sessions.push(SessionSummary {
                    id,
                    cwd: bytes_path(&row.cwd),
                    created_ms: row.created_ms,
                    last_event_ms: row.last_event_ms,
                    last_order: row.last_order,
                    forked_from: row.forked_from,
                    points,
                });
            }
            Ok(sessions)
        })?;
        sessions.sort_by(|a, b| b.last_order.cmp(&a.last_order).then_with(|| a.id.cmp(&b.id)));
        Ok(sessions)
    }

    /// Drops a session with all it holds. A session that is open anywhere is refused.
    pub fn drop_session(&self, id: &str) -> Result<()> {
        check_id(id)?;
        self.inner().read(|rows| rows.session_or_error(id))?;
        if self.try_drop_session(id)? {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Conflict, "drop the session")
            .cause(format!("session '{id}' is open"))
            .with_hint("close the agent that uses it"))
    }

    /// Drops sessions whose last event is more than `days` ago, except open ones and the newest twenty. Says how many.
    pub fn expire_sessions(&self, days: u32) -> Result<u64> {
        let oldest_ms = self.inner().io.now_ms() - i64::from(days) * DAY_MS;
        let mut dropped = 0;
        for session in self.sessions()?.into_iter().skip(SESSIONS_KEPT_MIN) {
            if session.last_event_ms < oldest_ms && self.try_drop_session(&session.id)? {
                dropped += 1;
            }
        }
        Ok(dropped)
    }

    fn try_drop_session(&self, id: &str) -> Result<bool> {
        let inner = self.inner();
        let Some(_lock) = Lock::try_new(&inner.io, &alive_path(&inner.path, id), LockMode::Exclusive)? else {
            return Ok(false);
        };
        let change = Change::SessionDropped { session: id.to_owned() };
        inner.commit(&mut Pending::default(), |rows, _| Ok(rows.session(id)?.is_some().then(|| (vec![change], ()))))?;
        Ok(true)
    }
}
