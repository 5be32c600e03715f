//! `log`: sessions, the points of one session, or the history of one file.

mod points;
mod timeline;

use std::path::PathBuf;

use candy_store::Store;

use crate::exit::Exit;
use crate::failure::Result;
use crate::json::SessionJson;
use crate::names;
use crate::style::Paint;
use crate::table::{Cell, Column, Table};
use crate::text::{printable, printable_path};
use crate::time::{age, now_ms};
use crate::world::World;

/// Options of `log`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Session whose points to list: its id or the first characters of it. Default: list the sessions.
    session: Option<String>,
    /// Show the history of one file, over all sessions or in the one given.
    #[arg(long, value_name = "PATH")]
    path: Option<PathBuf>,
    /// Show at most this many, the newest.
    #[arg(short = 'n', long, value_name = "NUMBER")]
    max_count: Option<usize>,
}

impl Options {
    fn max(&self) -> usize {
        self.max_count.unwrap_or(usize::MAX)
    }
}

/// Runs `log`.
pub(crate) fn run(world: &mut World, options: &Options) -> Result<Exit> {
    world.refuse_null("log")?;
    let store = world.open()?;
    let session = options.session.as_deref().map(|name| names::session(&store, name)).transpose()?;
    match (&options.path, session) {
        (Some(path), session) => timeline::run(world, &store, path, session.as_ref(), options.max()),
        (None, Some(session)) => points::run(world, &store, &session, options.max()),
        (None, None) => sessions(world, &store, options.max()),
    }
}

fn sessions(world: &mut World, store: &Store, max: usize) -> Result<Exit> {
    let sessions = store.sessions()?;
    let shown = sessions.iter().take(max);
    if world.out.json {
        for session in shown {
            world.out.document(&SessionJson::of(session))?;
        }
        return Ok(Exit::Ok);
    }
    if sessions.is_empty() {
        world.out.note("the store holds no sessions");
        return Ok(Exit::Ok);
    }
    let mut table = Table::new(&[
        ("SESSION", Column::Flexible),
        ("LAST", Column::Left),
        ("POINTS", Column::Right),
        ("FOLDER", Column::Flexible),
    ]);
    let now = now_ms();
    for session in shown {
        let mut folder = printable_path(&session.cwd);
        if let Some(from) = &session.forked_from {
            folder += &format!("  (fork of {})", printable(from));
        }
        table.row(vec![
            Cell::painted(printable(&session.id), Paint::name),
            age(now, session.last_event_ms).into(),
            session.points.to_string().into(),
            folder.into(),
        ]);
    }
    table.print(&mut world.out)?;
    Ok(Exit::Ok)
}
