//! `cat`: one file as a point holds it. No byte is printed before all of them have been verified.

use std::collections::BTreeSet;
use std::io::{Read as _, Seek as _};
use std::path::PathBuf;

use candy_store::limits::BLOB_BYTES_MAX;
use candy_store::tree::{Entry, TrackedPath};
use candy_store::{Error, ErrorKind, Hash, Store};
use serde::Serialize;

use crate::exit::Exit;
use crate::failure::{Failure, Result, no_such_path};
use crate::json::{PathJson, StateJson, base64};
use crate::names;
use crate::paths;
use crate::text::printable_path;
use crate::world::World;

/// Options of `cat`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The point.
    point: String,
    /// The file.
    path: PathBuf,
}

#[derive(Serialize)]
struct ContentJson<'a> {
    r#type: &'static str,
    #[serde(flatten)]
    path: PathJson,
    #[serde(flatten)]
    state: StateJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_b64: Option<String>,
}

/// Runs `cat`.
pub(crate) fn run(world: &mut World, options: &Options) -> Result<Exit> {
    world.refuse_null("cat")?;
    paths::check(std::slice::from_ref(&options.path))?;
    let store = world.open()?;
    let point = names::point(&store, &options.point)?;
    let workspace = names::session(&store, &point.session)?.cwd;
    let entries = store.entries(point.roots)?;
    let known: BTreeSet<TrackedPath> = entries.iter().map(|(path, _)| path.clone()).collect();
    let short = names::short(point.id);
    let path = paths::one(&known, &workspace, &options.path)?.ok_or_else(|| no_such_path(&options.path, &short))?;
    let entry = entries.into_iter().find(|(other, _)| *other == path).map_or(Entry::Absent, |(_, entry)| entry);
    let Entry::File { content, size, .. } = entry else {
        return Err(no_content(options, &entry, &short));
    };
    if world.out.json {
        let bytes = read_whole(&store, content, size)?;
        let text = std::str::from_utf8(&bytes).ok();
        let bytes_b64 = text.is_none().then(|| base64(&bytes));
        let (path, state) = (PathJson::of_tracked(&path), StateJson::of(&entry));
        world.out.document(&ContentJson { r#type: "content", path, state, text, bytes_b64 })?;
    } else if size <= BLOB_BYTES_MAX {
        let bytes = store.read_blob(content)?;
        world.out.bytes(&bytes)?;
    } else {
        let mut file = {
            let _progress = world.progress("reading");
            verified_copy(&store, content)?
        };
        world.out.copy_from(&mut file)?;
    }
    Ok(Exit::Ok)
}

fn no_content(options: &Options, entry: &Entry, point: &str) -> Failure {
    let why = match entry {
        Entry::Absent => "it did not exist then".to_owned(),
        Entry::NotCaptured { reason } => format!("its content was not captured ({})", reason.word()),
        Entry::Purged { .. } => "its content was removed from the history".to_owned(),
        _ => "it is no file".to_owned(),
    };
    let path = printable_path(&options.path);
    Failure::new(ErrorKind::NotFound, format!("cannot print {path} as of point {point}: {why}"))
        .hint(format!("see its other versions with `candy-store log --path {path}`"))
}

/// Copies a content into a file without a name, and verifies it on the way.
fn verified_copy(store: &Store, content: Hash) -> Result<std::fs::File> {
    let directory = std::env::temp_dir();
    let cannot = |action: &str, error| Failure::io(action, &directory, error);
    let mut file = tempfile::tempfile().map_err(|error| cannot("make a temporary file in", error))?;
    store.copy_blob(content, &mut file)?;
    file.rewind().map_err(|error| cannot("read a temporary file in", error))?;
    Ok(file)
}

fn read_whole(store: &Store, content: Hash, size: u64) -> Result<Vec<u8>> {
    if size <= BLOB_BYTES_MAX {
        return Ok(store.read_blob(content)?.to_vec());
    }
    let mut bytes = Vec::new();
    verified_copy(store, content)?
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::from(Error::io("read a temporary file in", std::env::temp_dir(), error)))?;
    Ok(bytes)
}
