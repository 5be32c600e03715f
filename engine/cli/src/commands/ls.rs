//! `ls`: what a point holds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use candy_store::tree::Entry;
use serde::Serialize;

use crate::exit::Exit;
use crate::failure::{Result, no_such_path};
use crate::json::{PathJson, StateJson, shown_bytes};
use crate::names;
use crate::paths;
use crate::style::Paint;
use crate::table::{Cell, Column, Table};
use crate::text::{printable_bytes, size};
use crate::world::World;

/// Options of `ls`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The point.
    point: String,
    /// A file or a directory. Default: everything.
    path: Option<PathBuf>,
}

#[derive(Serialize)]
struct EntryJson {
    r#type: &'static str,
    #[serde(flatten)]
    path: PathJson,
    #[serde(flatten)]
    state: StateJson,
}

/// Runs `ls`.
pub(crate) fn run(world: &mut World, options: &Options) -> Result<Exit> {
    let arguments: Vec<PathBuf> = options.path.clone().into_iter().collect();
    paths::check(&arguments)?;
    let store = world.open()?;
    let point = names::point(&store, &options.point)?;
    let workspace = names::session(&store, &point.session)?.cwd;
    let entries: BTreeMap<_, _> = store.entries(point.roots)?.into_iter().collect();
    let known: BTreeSet<_> = entries.keys().cloned().collect();
    let selected = paths::select(&known, &workspace, &arguments, |path| no_such_path(path, &names::short(point.id)))?;
    let shown = entries.iter().filter(|(path, _)| selected.contains(path));
    if world.out.null {
        for (path, _) in shown {
            world.out.raw_path(&shown_bytes(path))?;
        }
        return Ok(Exit::Ok);
    }
    if world.out.json {
        for (path, entry) in shown {
            let (path, state) = (PathJson::of_tracked(path), StateJson::of(entry));
            world.out.document(&EntryJson { r#type: "entry", path, state })?;
        }
        return Ok(Exit::Ok);
    }
    let mut table = Table::new(&[("MODE", Column::Left), ("SIZE", Column::Right), ("PATH", Column::Left)]);
    for (path, entry) in shown {
        let (mode, size) = describe(entry);
        table.row(vec![Cell::painted(mode, Paint::dim), size.into(), printable_bytes(&shown_bytes(path)).into()]);
    }
    if entries.is_empty() {
        world.out.note("the point holds nothing: no file was tracked yet");
        return Ok(Exit::Ok);
    }
    table.print(&mut world.out)?;
    Ok(Exit::Ok)
}

/// Mode and size, or the reason why there are none.
fn describe(entry: &Entry) -> (String, String) {
    match entry {
        Entry::Absent => ("absent".to_owned(), String::new()),
        Entry::File { mode, size: bytes, .. } => (format!("-{}", permissions(*mode)), size(*bytes)),
        Entry::Symlink { .. } => ("link".to_owned(), String::new()),
        Entry::Directory { mode } => (format!("d{}", permissions(*mode)), String::new()),
        Entry::NotCaptured { reason } => (format!("({})", reason.word()), String::new()),
        Entry::Purged { .. } => ("(purged)".to_owned(), String::new()),
    }
}

/// Permission bits as `ls -l` shows them.
fn permissions(mode: u32) -> String {
    let mut out = String::with_capacity(9);
    for (shift, special, letter) in [(6, 0o4000, 's'), (3, 0o2000, 's'), (0, 0o1000, 't')] {
        let bits = mode >> shift;
        out.push(if bits & 4 != 0 { 'r' } else { '-' });
        out.push(if bits & 2 != 0 { 'w' } else { '-' });
        out.push(match (mode & special != 0, bits & 1 != 0) {
            (false, false) => '-',
            (false, true) => 'x',
            (true, true) => letter,
            (true, false) => letter.to_ascii_uppercase(),
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_look_as_those_of_ls() {
        assert_eq!(permissions(0o644), "rw-r--r--");
        assert_eq!(permissions(0o4755), "rwsr-xr-x");
        assert_eq!(permissions(0o1776), "rwxrwxrwT");
    }
}
