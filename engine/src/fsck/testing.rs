//! Stores full of history for tests, made through the public interface wherever there is one.
#![allow(clippy::disallowed_methods, reason = "tests damage stores behind the engine's back")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::fsck::{FsckOptions, FsckReport, RebuildOptions, RebuildReport, check_path, rebuild};
use crate::gc::{GcOptions, GcReport};
use crate::hash::Hash;
use crate::id::Id;
use crate::index::rows::{PinRow, PointKind, RedoKind, RestoreRow, RestoreStep};
use crate::index::tables::{Logical, Rows as _, RowsExt as _};
use crate::io::RealIo;
use crate::journal::Change;
use crate::object::pending::Pending;
use crate::session::{NewRedoItem, Session, SessionOptions, SnapshotRequest};
use crate::store::{Store, StoreOptions};
use crate::tree::{Entry, TrackedPath};

/// A random number generator of one line (SplitMix64): the same seed gives the same store.
#[derive(Clone)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }
}

/// A workspace and a store.
pub(crate) struct World {
    _folder: tempfile::TempDir,
    pub(crate) cwd: PathBuf,
    pub(crate) store: PathBuf,
}

/// Everything that a person could ask a store for, byte by byte.
pub(crate) type Everything = BTreeMap<String, Contents>;

type Contents = Vec<(TrackedPath, Entry, Option<Vec<u8>>)>;

pub(crate) const FORCE: GcOptions = GcOptions { force: true, dry_run: false };

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (cwd, store) = (root.join("work"), root.join("store"));
        fs::create_dir(&cwd).unwrap();
        Self { _folder: folder, cwd, store }
    }

    pub(crate) fn open(&self) -> Store {
        Store::open(&self.store, &StoreOptions::default()).unwrap()
    }

    pub(crate) fn session(&self, store: &Store, id: &str) -> Session {
        let options =
            SessionOptions { id: id.into(), cwd: self.cwd.clone(), exclude: vec![], max_file_bytes: 64 << 20 };
        store.open_session(&options).unwrap()
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.cwd.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    pub(crate) fn gc(&self) -> GcReport {
        let store = self.open();
        let report = store.gc(&FORCE).unwrap();
        store.close().unwrap();
        report
    }

    pub(crate) fn fsck(&self) -> FsckReport {
        check_path(Arc::new(RealIo), &self.store, &read_data()).unwrap()
    }

    pub(crate) fn rebuild(&self) -> RebuildReport {
        rebuild(Arc::new(RealIo), &self.store, &RebuildOptions::default()).unwrap()
    }

    pub(crate) fn segments(&self) -> Vec<PathBuf> {
        files_below(&self.store.join("segments"))
    }
}

pub(crate) fn read_data() -> FsckOptions {
    FsckOptions { read_data: true, ..FsckOptions::default() }
}

pub(crate) fn take(session: &Session) -> crate::session::Point {
    session.snapshot(&SnapshotRequest::of(PointKind::Operation)).unwrap().point
}

/// All files below a directory.
pub(crate) fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}

pub(crate) fn copy_tree(from: &Path, to: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::create_dir(to).unwrap();
    fs::set_permissions(to, fs::Permissions::from_mode(0o700)).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_tree(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// Text of lines; edits of it give small deltas.
pub(crate) fn text(random: &mut Random, lines: usize) -> Vec<u8> {
    (0..lines).flat_map(|n| format!("let value_{n} = compute({});\n", random.next() % 10_000).into_bytes()).collect()
}

pub(crate) fn edit(random: &mut Random, content: &mut Vec<u8>) {
    let at = random.below(content.len() + 1);
    let line = format!("// edited {}\n", random.next());
    let cut = random.below(40).min(content.len() - at);
    content.splice(at..at + cut, line.into_bytes());
}

fn bytes_of(store: &Store, entry: &Entry) -> crate::Result<Option<Vec<u8>>> {
    let Some(content) = entry.content() else { return Ok(None) };
    let mut bytes = Vec::new();
    store.copy_blob(content, &mut bytes)?;
    assert_eq!(Hash::of_blob(&bytes), content, "wrong bytes left the engine");
    Ok(Some(bytes))
}

fn with_bytes(store: &Store, entries: Vec<(TrackedPath, Entry)>) -> crate::Result<Contents> {
    entries
        .into_iter()
        .map(|(path, entry)| {
            let bytes = bytes_of(store, &entry)?;
            Ok((path, entry, bytes))
        })
        .collect()
}

/// Reads every point, original and redo item of a session with all contents.
pub(crate) fn everything_of(store: &Store, session: &str, all: &mut Everything) -> crate::Result<()> {
    for point in store.points(session)? {
        let name = format!("{session} point {} {} {:?}", point.seq, point.id, point.prompt);
        all.insert(name, with_bytes(store, store.entries(point.roots)?)?);
    }
    let originals = store.inner().read(|rows| rows.originals(&rows.session_or_error(session)?))?;
    let originals = originals.into_iter().map(|(path, (_, entry))| (path, entry)).collect();
    all.insert(format!("{session} originals"), with_bytes(store, originals)?);
    for (n, item) in store.redo_items(session)?.into_iter().enumerate() {
        let name = format!("{session} redo {n} {:?}", item.kind);
        all.insert(name, with_bytes(store, store.entries(item.roots)?)?);
    }
    Ok(())
}

/// Reads every point, original, redo item, pin and restore with all contents.
pub(crate) fn everything(store: &Store) -> crate::Result<Everything> {
    let mut all = Everything::new();
    for session in store.sessions()? {
        everything_of(store, &session.id, &mut all)?;
    }
    let mut pins = Vec::new();
    let mut restores = Vec::new();
    store.inner().read(|rows| {
        rows.scan::<PinRow>(Logical::Pins, b"", &mut |key, row| {
            pins.push((Id::from_bytes(key.try_into().unwrap()), row));
            Ok(())
        })?;
        rows.scan::<RestoreRow>(Logical::Restores, b"", &mut |key, row| {
            restores.push((Id::from_bytes(key.try_into().unwrap()), row));
            Ok(())
        })
    })?;
    for (id, pin) in pins {
        all.insert(format!("pin {id}"), with_bytes(store, store.entries(pin.roots)?)?);
    }
    for (id, restore) in restores {
        let steps = restore
            .steps
            .iter()
            .flat_map(|step| [(step.path.clone(), step.from.clone()), (step.path.clone(), step.to.clone())]);
        all.insert(format!("restore {id}"), with_bytes(store, steps.collect())?);
    }
    Ok(all)
}

/// Every row of the logical tables.
pub(crate) fn logical(store: &Store) -> Vec<(Logical, Vec<u8>, Vec<u8>)> {
    let mut all = Vec::new();
    store
        .inner()
        .read(|rows| {
            for table in Logical::ALL {
                rows.scan_raw(table, b"", &mut |key, value| {
                    all.push((table, key.to_vec(), value.to_vec()));
                    Ok(true)
                })?;
            }
            Ok(())
        })
        .unwrap();
    all
}

/// Objects that something refers to, with their counts, once all that is dead is collected.
pub(crate) fn references(store: &Store) -> BTreeMap<Hash, (u64, bool)> {
    let inner = store.inner();
    inner
        .read(|rows| {
            let mut all = BTreeMap::new();
            rows.each_object(&mut |hash, row| {
                all.insert(hash, (row.refs, row.holds_children));
                Ok(())
            })?;
            let mut dead: Vec<Hash> = rows.dead(usize::MAX)?;
            while let Some(hash) = dead.pop() {
                if all.get(&hash) == Some(&(0, true)) {
                    all.insert(hash, (0, false));
                    for child in inner.reader.node(rows, hash)?.references() {
                        let count = all.get_mut(&child).unwrap();
                        count.0 -= 1;
                        if count.0 == 0 {
                            dead.push(child);
                        }
                    }
                }
            }
            all.retain(|_, (refs, _)| *refs > 0);
            Ok(all)
        })
        .unwrap()
}

pub(crate) fn commit(store: &Store, changes: Vec<Change>) {
    store.inner().commit(&mut Pending::default(), |_, _| Ok(Some((changes, ())))).unwrap();
}

pub(crate) fn pin(store: &Store, point: &crate::session::Point) {
    let pin = PinRow { session: point.session.clone(), roots: point.roots, created_ms: 1 };
    commit(store, vec![Change::Pinned { point: point.id, pin }]);
}

/// Begins a restore from one point's entries to another's and leaves it there.
pub(crate) fn begin_restore(store: &Store, from: &crate::session::Point, to: &crate::session::Point) -> Id {
    let entries =
        |point: &crate::session::Point| -> BTreeMap<_, _> { store.entries(point.roots).unwrap().into_iter().collect() };
    let (old, new) = (entries(from), entries(to));
    let steps = new
        .into_iter()
        .map(|(path, to)| {
            let from = old.get(&path).cloned().unwrap_or(Entry::Absent);
            RestoreStep { path, from, to, temporary: ".candy".into() }
        })
        .collect();
    let id = Id::random();
    let restore = RestoreRow {
        session: from.session.clone(),
        cwd: b"/w".to_vec(),
        created_ms: 1,
        redo_point: from.id,
        redo_roots: from.roots,
        steps,
    };
    commit(store, vec![Change::RestoreBegun { id, restore }]);
    id
}

/// Does random things to sessions of a store, the same for the same seed.
pub(crate) struct History<'w> {
    world: &'w World,
    pub(crate) random: Random,
    files: BTreeMap<String, Vec<u8>>,
    sessions: Vec<String>,
    next_session: u32,
    /// Collections happen, too.
    pub(crate) collect: bool,
    pub(crate) large: bool,
}

impl<'w> History<'w> {
    pub(crate) fn new(world: &'w World, seed: u64) -> Self {
        let random = Random(seed);
        Self { world, random, files: BTreeMap::new(), sessions: vec![], next_session: 0, collect: true, large: false }
    }

    fn touch(&mut self, name: &str) -> PathBuf {
        let random = &mut self.random;
        let content = self.files.entry(name.to_owned()).or_insert_with(|| {
            let lines = 1 + random.below(200);
            text(random, lines)
        });
        match random.below(20) {
            0 => content.clear(),
            1 => {
                let lines = 1 + random.below(200);
                *content = text(random, lines);
            }
            2 if self.large => {
                *content = vec![0; (4 << 20) + 1 + random.below(4096)];
                let at = random.below(content.len());
                content[at] = 1;
            }
            _ => {
                content.truncate(1 << 20);
                edit(random, content);
            }
        }
        let content = content.clone();
        self.world.write(name, &content)
    }

    /// Opens the store, does `steps` things in it, closes it.
    pub(crate) fn run(&mut self, steps: usize) {
        let store = self.world.open();
        let mut open: BTreeMap<String, Session> = BTreeMap::new();
        for _ in 0..steps {
            self.step(&store, &mut open);
        }
        drop(open);
        store.close().unwrap();
    }

    fn step(&mut self, store: &Store, open: &mut BTreeMap<String, Session>) {
        if self.sessions.is_empty() || self.random.chance(4) {
            self.next_session += 1;
            self.sessions.push(format!("session-{}", self.next_session));
        }
        let name = self.sessions[self.random.below(self.sessions.len())].clone();
        if !open.contains_key(&name) {
            open.insert(name.clone(), self.world.session(store, &name));
        }
        let session = &open[&name];
        let points = store.points(&name).unwrap();
        match self.random.below(100) {
            0..30 => {
                let file = format!("dir-{}/file-{}.rs", self.random.below(3), self.random.below(12));
                let path = self.touch(&file);
                session.track(&path).unwrap();
            }
            30..75 => {
                let names: Vec<String> = self.files.keys().cloned().collect();
                for _ in 0..1 + self.random.below(3) {
                    if !names.is_empty() {
                        let file = &names[self.random.below(names.len())];
                        self.touch(file);
                    }
                }
                let prompt = Some(format!("prompt {}", self.random.next() % 1000));
                let request = SnapshotRequest { prompt, points_max: 12, ..SnapshotRequest::of(PointKind::Operation) };
                session.snapshot(&request).unwrap();
            }
            75..80 if !points.is_empty() => {
                let dropped = points[self.random.below(points.len())].seq;
                store.drop_points(&name, &[dropped]).unwrap();
            }
            80..84 if !points.is_empty() => {
                let point = points[self.random.below(points.len())].id;
                let item = NewRedoItem { kind: RedoKind::Both, point: Some(point), old_leaf: None, items_max: 3 };
                session.redo_push(&item).unwrap();
            }
            84..86 => session.redo_pop().unwrap(),
            86..88 if !points.is_empty() => pin(store, &points[self.random.below(points.len())]),
            88..89 if points.len() > 1 => {
                begin_restore(store, &points[0], &points[points.len() - 1]);
            }
            89..92 => {
                self.next_session += 1;
                let to = format!("session-{}", self.next_session);
                store.fork(&name, &to, &self.world.cwd).unwrap();
                self.sessions.push(to);
            }
            92..94 if self.sessions.len() > 2 => {
                open.remove(&name);
                store.drop_session(&name).unwrap();
                self.sessions.retain(|other| *other != name);
            }
            94..96 if !points.is_empty() => session.bind(points[points.len() - 1].id, "entry").unwrap(),
            96..98 if self.collect => {
                let report = store.gc(&FORCE).unwrap();
                assert_eq!(report.held_back, None);
            }
            98..100 => {
                let names: Vec<String> = self.files.keys().cloned().collect();
                if !names.is_empty() {
                    let path = self.world.cwd.join(&names[self.random.below(names.len())]);
                    session.tool_done(&path, self.random.chance(50)).unwrap();
                }
            }
            _ => {}
        }
    }
}
