//! Restores through sessions, on the real file system with a hook before each call.
#![allow(clippy::disallowed_methods, reason = "the tests play the user and the agent, who write as they like")]

mod attack;
mod behaviour;
mod crash;
mod fallback;
mod field;
mod field_fidelity;
mod field_history;
mod field_restore;
mod locks;
mod matrix;
mod names;

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::index::rows::PointKind;
use crate::restore::{FileAction, PlannedFile, SkipReason};
use crate::session::{PlanRequest, PlanTicket, Point, RestoreReport, Session, SessionOptions, SnapshotRequest, Target};
use crate::store::{Store, StoreOptions};
use crate::tree::TrackedPath;
use crate::workspace::hook_io::{Call, HookIo};

/// A workspace, a store and a session on it.
struct World {
    folder: tempfile::TempDir,
    io: HookIo,
    cwd: PathBuf,
    store: Store,
    session: Session,
}

fn open(io: &HookIo, root: &Path) -> (Store, Session) {
    let store = Store::open_with(Arc::new(io.clone()), &root.join("store"), &StoreOptions::default()).unwrap();
    let session = open_session(&store, "s", &root.join("work"));
    (store, session)
}

fn open_session(store: &Store, id: &str, cwd: &Path) -> Session {
    let options = SessionOptions { id: id.into(), cwd: cwd.to_path_buf(), exclude: vec![], max_file_bytes: 32 << 20 };
    store.open_session(&options).unwrap()
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("work")).unwrap();
        let io = HookIo::new();
        let (store, session) = open(&io, &root);
        Self { folder, io, cwd: root.join("work"), store, session }
    }

    /// The same session with another limit of sizes.
    fn limit(&mut self, max_file_bytes: u64) {
        let options = SessionOptions { id: "s".into(), cwd: self.cwd.clone(), exclude: vec![], max_file_bytes };
        self.session = self.store.open_session(&options).unwrap();
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    /// As a new process finds it.
    fn restart(&mut self) {
        self.io.clear();
        let _ = self.store.close();
        (self.store, self.session) = open(&self.io, &self.root());
    }

    fn path(&self, name: &str) -> PathBuf {
        self.cwd.join(name)
    }

    /// The user writes a file in place.
    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn read(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.path(name)).ok()
    }

    fn text(&self, name: &str) -> Option<String> {
        self.read(name).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    fn mode(&self, name: &str) -> u32 {
        fs::metadata(self.path(name)).unwrap().mode() & 0o7777
    }

    fn chmod(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// The agent's tool does something to a file.
    fn agent_does(&self, name: &str, tool: impl FnOnce(&Path)) {
        let path = self.path(name);
        self.session.track(&path).unwrap();
        tool(&path);
        self.session.tool_done(&path, false).unwrap();
    }

    fn agent_writes(&self, name: &str, content: impl AsRef<[u8]>) {
        self.agent_does(name, |path| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        });
    }

    /// A turn of the agent begins.
    fn point(&self) -> Point {
        self.session.snapshot(&SnapshotRequest::of(PointKind::Operation)).unwrap().point
    }

    fn plan_with(&self, point: &Point, protect_manual_edits: bool) -> PlanTicket {
        let target = Target::Point(point.id);
        let request = PlanRequest { target, only: vec![], line_counts: true, protect_manual_edits };
        self.session.plan(&request).unwrap()
    }

    fn plan(&self, point: &Point) -> PlanTicket {
        self.plan_with(point, false)
    }

    fn undo(&self, point: &Point) -> RestoreReport {
        self.session.apply(self.plan(point).id, 0).unwrap()
    }

    fn tracked(&self, name: &str) -> TrackedPath {
        self.session.tracked_path(&self.path(name)).unwrap()
    }

    fn planned(&self, ticket: &PlanTicket, name: &str) -> PlannedFile {
        let path = self.tracked(name);
        ticket.plan.files.iter().find(|file| file.path == path).unwrap().clone()
    }

    /// What a point holds of a file.
    fn in_point(&self, point: &Point, name: &str) -> Option<Vec<u8>> {
        let path = self.tracked(name);
        let entries = self.store.entries(point.roots).unwrap();
        let (_, entry) = entries.into_iter().find(|(other, _)| *other == path)?;
        let mut bytes = Vec::new();
        self.store.copy_blob(entry.content()?, &mut bytes).unwrap();
        Some(bytes)
    }

    /// Contents of all kept versions of a file.
    fn kept(&self, name: &str) -> Vec<Vec<u8>> {
        let points = self.session.points().unwrap();
        points
            .iter()
            .filter(|point| point.kind == PointKind::Kept)
            .filter_map(|point| self.in_point(point, name))
            .collect()
    }

    /// Temporary files left anywhere in the workspace.
    fn leftovers(&self) -> Vec<PathBuf> {
        fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
                if entry.file_type().unwrap().is_dir() {
                    walk(&entry.path(), found);
                } else if entry.file_name().to_string_lossy().contains(".candy-") {
                    found.push(entry.path());
                }
            }
        }
        let mut found = Vec::new();
        walk(&self.cwd, &mut found);
        found
    }

    /// Every restore has ended and left nothing behind.
    fn assert_tidy(&self) {
        assert_eq!(self.leftovers(), Vec::<PathBuf>::new());
        assert_eq!(self.session.unfinished_restores().unwrap(), vec![]);
    }
}

/// What must not change of a file that is left alone.
fn identity(path: &Path) -> (u64, i64, i64, i64, i64) {
    let meta = fs::symlink_metadata(path).unwrap();
    (meta.ino(), meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec())
}

fn os_error(code: i32) -> std::io::Error {
    std::io::Error::from_raw_os_error(code)
}

const EBUSY: i32 = 16;
const EACCES: i32 = 13;
const ENOSPC: i32 = 28;
const EINVAL_UNSUPPORTED: std::io::ErrorKind = std::io::ErrorKind::Unsupported;
