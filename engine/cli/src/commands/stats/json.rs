//! The JSON of `stats`.

use std::path::Path;

use candy_store::stats::{FormStats, PathStats, SessionStats, StoreStats};
use serde::Serialize;

use crate::json::{CwdJson, PathJson};
use crate::time::rfc3339;

#[derive(Serialize)]
struct FormJson {
    objects: u64,
    raw_bytes: u64,
    stored_bytes: u64,
}

impl FormJson {
    fn of(form: &FormStats) -> Self {
        Self { objects: form.objects, raw_bytes: form.raw_bytes, stored_bytes: form.stored_bytes }
    }
}

#[derive(Serialize)]
struct DiskJson {
    segments: u64,
    segment_bytes: u64,
    live_bytes: u64,
    journal_bytes: u64,
    garbage_bytes: u64,
    slack_bytes: u64,
    large_bytes: u64,
    index_bytes: u64,
    quarantine_bytes: u64,
    total_bytes: u64,
}

#[derive(Serialize)]
struct SessionJson {
    session: String,
    #[serde(flatten)]
    cwd: CwdJson,
    last_event: String,
    points: u64,
    tracked: u64,
    versions: u64,
    version_bytes: u64,
    stored_bytes: u64,
    own_bytes: u64,
}

#[derive(Serialize)]
struct PathStatsJson {
    #[serde(flatten)]
    path: PathJson,
    versions: u64,
    version_bytes: u64,
    stored_bytes: u64,
}

#[derive(Serialize)]
pub(super) struct StatsJson {
    r#type: &'static str,
    #[serde(flatten)]
    path: PathJson,
    points: u64,
    versions: u64,
    version_bytes: u64,
    contents: FormJson,
    full: FormJson,
    deltas: FormJson,
    large: FormJson,
    nodes: FormJson,
    disk: DiskJson,
    lost_objects: u64,
    unreadable_nodes: u64,
    sessions_total: u64,
    sessions: Vec<SessionJson>,
    paths_total: u64,
    paths: Vec<PathStatsJson>,
}

impl StatsJson {
    pub(super) fn of(path: &Path, stats: &StoreStats, top: usize) -> Self {
        let disk = &stats.disk;
        Self {
            r#type: "stats",
            path: PathJson::of(path),
            points: stats.points,
            versions: stats.versions,
            version_bytes: stats.version_bytes,
            contents: FormJson::of(&stats.contents()),
            full: FormJson::of(&stats.full),
            deltas: FormJson::of(&stats.deltas),
            large: FormJson::of(&stats.large),
            nodes: FormJson::of(&stats.nodes),
            disk: DiskJson {
                segments: disk.segments,
                segment_bytes: disk.segment_bytes,
                live_bytes: disk.live_bytes,
                journal_bytes: disk.journal_bytes,
                garbage_bytes: disk.garbage_bytes,
                slack_bytes: disk.slack_bytes,
                large_bytes: disk.large_bytes,
                index_bytes: disk.index_bytes,
                quarantine_bytes: disk.quarantine_bytes,
                total_bytes: disk.total_bytes,
            },
            lost_objects: stats.lost_objects,
            unreadable_nodes: stats.unreadable_nodes,
            sessions_total: stats.sessions.len() as u64,
            sessions: stats.sessions.iter().take(top).map(session_json).collect(),
            paths_total: stats.paths.len() as u64,
            paths: stats.paths.iter().take(top).map(path_json).collect(),
        }
    }
}

fn session_json(session: &SessionStats) -> SessionJson {
    SessionJson {
        session: session.id.clone(),
        cwd: CwdJson::of(&session.cwd),
        last_event: rfc3339(session.last_event_ms),
        points: session.points,
        tracked: session.tracked,
        versions: session.versions,
        version_bytes: session.version_bytes,
        stored_bytes: session.stored_bytes,
        own_bytes: session.own_bytes,
    }
}

fn path_json(path: &PathStats) -> PathStatsJson {
    PathStatsJson {
        path: PathJson::of(&path.path),
        versions: path.versions,
        version_bytes: path.version_bytes,
        stored_bytes: path.stored_bytes,
    }
}
