//! `snapshot`: a point without any agent.

use std::path::{Path, PathBuf};

use candy_store::{PointKind, SessionOptions, SnapshotOutcome, SnapshotRequest};
use serde::Serialize;

use crate::commands::snapshot_walk::Walk;
use crate::exit::Exit;
use crate::failure::Result;
use crate::json::{PathJson, PointJson};
use crate::names::short;
use crate::paths::{self, current_dir, lexical};
use crate::text::{files, printable, printable_path};
use crate::world::World;

/// Options of `snapshot`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Files, and directories with all that is below them. A path that does not exist is kept as absent.
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Session to take the point in. Default: one for the current directory, `cli:<directory>`.
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// A few words about it, shown by `log`.
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
}

#[derive(Serialize)]
struct NotCapturedJson<'a> {
    #[serde(flatten)]
    path: PathJson,
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
}

#[derive(Serialize)]
struct OutcomeJson<'a> {
    r#type: &'static str,
    point: PointJson,
    not_captured: Vec<NotCapturedJson<'a>>,
}

/// Runs `snapshot`.
pub(crate) fn run(world: &mut World, options: &Options) -> Result<Exit> {
    world.refuse_null("snapshot")?;
    paths::check(&options.paths)?;
    let settings = world.settings();
    let current = current_dir()?;
    let id = options.session.clone().unwrap_or_else(|| format!("cli:{}", printable_path(&current)));
    let store = world.open_or_create("take a point", &current)?;
    // A session keeps the directory that it began in: paths are relative to it.
    let cwd = store.session_summary(&id)?.map_or_else(|| current.clone(), |session| session.cwd);
    let outcome = {
        let _progress = world.progress("taking a point");
        let mut walk = Walk::new(&settings.exclude, &cwd, store.path())?;
        for path in &options.paths {
            walk.add(&lexical(&current.join(path)))?;
        }
        let session = store.open_session(&SessionOptions {
            id,
            cwd: cwd.clone(),
            exclude: settings.exclude.clone(),
            max_file_bytes: settings.max_file_bytes,
        })?;
        let request = SnapshotRequest {
            prompt: options.message.clone(),
            add: walk.files,
            ..SnapshotRequest::of(PointKind::Manual)
        };
        session.snapshot(&request)?
    };
    if world.out.json {
        print_json(world, &outcome)?;
    } else {
        print_text(world, &outcome, &cwd)?;
    }
    Ok(if outcome.not_captured.is_empty() { Exit::Ok } else { Exit::Partial })
}

fn print_json(world: &mut World, outcome: &SnapshotOutcome) -> Result<()> {
    let not_captured = outcome.not_captured.iter().map(|file| NotCapturedJson {
        path: PathJson::of(&file.path),
        reason: file.reason.word(),
        detail: file.detail.as_deref(),
    });
    let point = PointJson::of(&outcome.point);
    world.out.document(&OutcomeJson { r#type: "snapshot", point, not_captured: not_captured.collect() })
}

fn print_text(world: &mut World, outcome: &SnapshotOutcome, cwd: &Path) -> Result<()> {
    let point = &outcome.point;
    let name = world.out.paint.name(&short(point.id));
    let (number, changed) = (files(point.files), point.changed);
    let session = printable(&point.session);
    world.out.line(&format!("point {name} of session {session}: {number}, {changed} changed"))?;
    world.out.detail(&format!("paths are relative to {}", printable_path(cwd)));
    for file in &outcome.not_captured {
        let detail = file.detail.as_deref().map(|detail| format!(": {detail}")).unwrap_or_default();
        world.out.warn(&format!("{} is not captured ({}){detail}", printable_path(&file.path), file.reason.word()));
    }
    Ok(())
}
