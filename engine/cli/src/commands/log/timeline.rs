//! The history of one file: every point at which it had changed.

use std::path::Path;

use candy_store::tree::{Entry, TrackedPath};
use candy_store::{Point, PointKind, SessionSummary, Store};
use serde::Serialize;

use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::json::{PathJson, PointJson, StateJson};
use crate::names::digits_that_differ;
use crate::paths::{absolute, current_dir};
use crate::style::Paint;
use crate::table::{Cell, Column, Table};
use crate::text::{one_line, printable, printable_path, size};
use crate::time::{age, now_ms};
use crate::world::World;

/// A point and the state that the file had there.
struct Version {
    point: Point,
    entry: Entry,
}

#[derive(Serialize)]
struct VersionJson<'a> {
    r#type: &'static str,
    #[serde(flatten)]
    path: PathJson,
    #[serde(flatten)]
    state: StateJson,
    point: &'a PointJson,
}

/// Prints the history, newest first.
pub(super) fn run(
    world: &mut World,
    store: &Store,
    path: &Path,
    only: Option<&SessionSummary>,
    max: usize,
) -> Result<Exit> {
    let path = absolute(path, &current_dir()?);
    let mut versions = {
        let _progress = world.progress("reading the history");
        match only {
            Some(session) => versions(store, session, &path)?,
            None => {
                let mut all = Vec::new();
                for session in store.sessions()? {
                    all.extend(versions(store, &session, &path)?);
                }
                all
            }
        }
    };
    if versions.is_empty() {
        return Err(Failure::new(
            candy_store::ErrorKind::NotFound,
            format!("cannot find {} in any point", printable_path(&path)),
        )
        .hint("list what a point holds with `candy-store ls POINT`"));
    }
    versions.sort_by_key(|version| std::cmp::Reverse((version.point.created_ms, version.point.seq)));
    versions.truncate(max);
    if world.out.json {
        for version in &versions {
            world.out.document(&VersionJson {
                r#type: "version",
                path: PathJson::of(&path),
                state: StateJson::of(&version.entry),
                point: &PointJson::of(&version.point),
            })?;
        }
        return Ok(Exit::Ok);
    }
    let digits = digits_that_differ(versions.iter().map(|version| &version.point));
    let mut table = Table::new(&[
        ("POINT", Column::Left),
        ("AGE", Column::Left),
        ("KIND", Column::Left),
        ("STATE", Column::Left),
        ("SESSION", Column::Flexible),
        ("PROMPT", Column::Flexible),
    ]);
    let now = now_ms();
    for Version { point, entry } in &versions {
        table.row(vec![
            Cell::painted(&point.id.to_hex()[..digits], Paint::name),
            age(now, point.created_ms).into(),
            Cell::painted(point.kind.word(), Paint::dim),
            state(entry).into(),
            printable(&point.session).into(),
            point.prompt.as_deref().map(one_line).unwrap_or_default().into(),
        ]);
    }
    world.out.note(&printable_path(&path));
    table.print(&mut world.out)?;
    Ok(Exit::Ok)
}

/// The points of a session at which the file had another state than at the point before.
fn versions(store: &Store, session: &SessionSummary, path: &Path) -> Result<Vec<Version>> {
    let Ok(path) = TrackedPath::new(&session.cwd, path) else { return Ok(Vec::new()) };
    let mut versions = Vec::new();
    let mut last: Option<Entry> = None;
    for point in store.points(&session.id)? {
        let Some(entry) = store.entry(point.roots, &path)? else { continue };
        if last.as_ref() == Some(&entry) {
            continue;
        }
        if point.kind != PointKind::Kept {
            last = Some(entry.clone());
        }
        versions.push(Version { point, entry });
    }
    Ok(versions)
}

/// A state in a few words.
fn state(entry: &Entry) -> String {
    match entry {
        Entry::Absent => "absent".to_owned(),
        Entry::File { content, size: bytes, .. } => format!("{} {}", &content.to_hex()[..8], size(*bytes)),
        Entry::Symlink { .. } => "link".to_owned(),
        Entry::Directory { .. } => "directory".to_owned(),
        Entry::NotCaptured { reason } => format!("not captured: {}", reason.word()),
        Entry::Purged { .. } => "purged".to_owned(),
    }
}
