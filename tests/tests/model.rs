//! Random operations of two handles on one store, against a model in memory: whatever was done, in whatever order, each
//! session holds exactly the points, files and redo items that it should.

#![allow(clippy::unwrap_used)] // A test stops at the first surprise.
#![allow(clippy::disallowed_methods)] // The files being edited belong to no store.

use std::collections::BTreeMap;
use std::path::PathBuf;

use candy_store::gc::GcOptions;
use candy_store::{Forked, Id, NewRedoItem, PointKind, RedoKind, Session, SnapshotRequest, Store, Target, Tracking};
use candy_store_tests::agent::{open_store, plan_request, session_options};
use candy_store_tests::rng::Rng;
use candy_store_tests::scratch::Scratch;
use candy_store_tests::verify::{self, Contents};
use candy_store_tests::witness::{Content, Files};
use candy_store_tests::workload::SourceText;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

const NAMES: [&str; 6] = ["a.txt", "b/c.txt", "b/d.txt", "目录/文件.md", "🍬", "-"];
const CONTENTS: usize = 12;
const SESSIONS: usize = 3;
const HANDLES: usize = 2;
const REDO_MAX: usize = 3;

/// Numbers choose among what there is at that moment.
#[derive(Debug, Clone)]
enum Operation {
    /// The agent's edit: track, write (or delete), note.
    Edit {
        handle: usize,
        session: usize,
        file: usize,
        content: Option<usize>,
    },
    /// Somebody else's edit.
    EditByHand {
        file: usize,
        content: Option<usize>,
    },
    Snapshot {
        handle: usize,
        session: usize,
    },
    Undo {
        handle: usize,
        session: usize,
        point: usize,
    },
    Redo {
        handle: usize,
        session: usize,
    },
    ClearRedo {
        handle: usize,
        session: usize,
    },
    Fork {
        handle: usize,
        from: usize,
        to: usize,
    },
    Drop {
        handle: usize,
        session: usize,
    },
    DropPoint {
        handle: usize,
        session: usize,
        point: usize,
    },
    Collect {
        handle: usize,
    },
    Reopen {
        handle: usize,
    },
    RebuildIndex,
}

fn operation() -> impl Strategy<Value = Operation> {
    let handle = 0..HANDLES;
    let session = 0..SESSIONS;
    let file = 0..NAMES.len();
    let content = prop::option::weighted(0.85, 0..CONTENTS);
    let point = 0..64_usize;
    prop_oneof![
        10 => (handle.clone(), session.clone(), file.clone(), content.clone())
            .prop_map(|(handle, session, file, content)| Operation::Edit { handle, session, file, content }),
        2 => (file, content).prop_map(|(file, content)| Operation::EditByHand { file, content }),
        8 => (handle.clone(), session.clone()).prop_map(|(handle, session)| Operation::Snapshot { handle, session }),
        5 => (handle.clone(), session.clone(), point.clone())
            .prop_map(|(handle, session, point)| Operation::Undo { handle, session, point }),
        3 => (handle.clone(), session.clone()).prop_map(|(handle, session)| Operation::Redo { handle, session }),
        1 => (handle.clone(), session.clone()).prop_map(|(handle, session)| Operation::ClearRedo { handle, session }),
        2 => (handle.clone(), session.clone(), session.clone())
            .prop_map(|(handle, from, to)| Operation::Fork { handle, from, to }),
        2 => (handle.clone(), session.clone()).prop_map(|(handle, session)| Operation::Drop { handle, session }),
        2 => (handle.clone(), session, point)
            .prop_map(|(handle, session, point)| Operation::DropPoint { handle, session, point }),
        3 => handle.clone().prop_map(|handle| Operation::Collect { handle }),
        2 => handle.prop_map(|handle| Operation::Reopen { handle }),
        1 => Just(Operation::RebuildIndex),
    ]
}

/// What a session should hold.
#[derive(Debug, Clone, Default)]
struct ModelSession {
    originals: Files,
    points: Vec<(Id, Files)>,
    redo: Vec<(Id, Files)>,
}

/// An open store and its open sessions.
struct Handle {
    store: Store,
    sessions: BTreeMap<usize, Session>,
}

struct World {
    scratch: Scratch,
    cwd: PathBuf,
    contents: Vec<Vec<u8>>,
    handles: Vec<Handle>,
    model: BTreeMap<usize, ModelSession>,
}

impl World {
    fn new() -> Self {
        let scratch = Scratch::new("model");
        let cwd = scratch.join("work");
        std::fs::create_dir(&cwd).unwrap();
        let cwd = cwd.canonicalize().unwrap();
        let mut world = Self { scratch, cwd, contents: contents(), handles: Vec::new(), model: BTreeMap::new() };
        for _ in 0..HANDLES {
            let handle = world.open();
            world.handles.push(handle);
        }
        world
    }

    fn store_path(&self) -> PathBuf {
        self.scratch.join("store")
    }

    fn open(&self) -> Handle {
        Handle { store: open_store(&self.store_path()).unwrap(), sessions: BTreeMap::new() }
    }

    fn run(&mut self, operation: &Operation) {
        match *operation {
            Operation::Edit { handle, session, file, content } => self.edit(handle, session, file, content),
            Operation::EditByHand { file, content } => self.write(file, content),
            Operation::Snapshot { handle, session } => self.snapshot(handle, session),
            Operation::Undo { handle, session, point } => self.undo(handle, session, point),
            Operation::Redo { handle, session } => self.redo(handle, session),
            Operation::ClearRedo { handle, session } => {
                self.session(handle, session).redo_clear().unwrap();
                self.wanted(session).redo.clear();
            }
            Operation::Fork { handle, from, to } => self.fork(handle, from, to),
            Operation::Drop { handle, session } => self.drop_session(handle, session),
            Operation::DropPoint { handle, session, point } => self.drop_point(handle, session, point),
            Operation::Collect { handle } => {
                let report = self.handles[handle].store.gc(&GcOptions { force: true, dry_run: false }).unwrap();
                assert_eq!(report.held_back, None);
            }
            Operation::Reopen { handle } => {
                self.handles[handle].sessions.clear();
                self.handles[handle].store.close().unwrap();
                self.handles[handle] = self.open();
            }
            Operation::RebuildIndex => self.rebuild_index(),
        }
    }

    fn edit(&mut self, handle: usize, session: usize, file: usize, content: Option<usize>) {
        let path = self.cwd.join(NAMES[file]);
        let before = Content::of(&path);
        let outcome = self.session(handle, session).track(&path).unwrap();
        let known = self.wanted(session).originals.contains_key(NAMES[file]);
        match outcome.tracking {
            Tracking::Tracked(_) => assert!(!known, "tracked twice"),
            Tracking::Already => assert!(known, "never tracked"),
            other => panic!("{other:?}"),
        }
        self.wanted(session).originals.entry(NAMES[file].to_owned()).or_insert(before);
        self.write(file, content);
        self.session(handle, session).tool_done(&path, false).unwrap();
    }

    fn write(&self, file: usize, content: Option<usize>) {
        let path = self.cwd.join(NAMES[file]);
        match content {
            Some(content) => {
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(&path, &self.contents[content]).unwrap();
            }
            None => drop(std::fs::remove_file(&path)),
        }
    }

    fn snapshot(&mut self, handle: usize, session: usize) {
        let outcome = self.session(handle, session).snapshot(&SnapshotRequest::of(PointKind::Operation)).unwrap();
        assert_eq!(outcome.not_captured, []);
        let now = self.tracked_now(session);
        assert_eq!(outcome.point.files, now.len() as u64);
        self.wanted(session).points.push((outcome.point.id, now));
    }

    fn undo(&mut self, handle: usize, session: usize, point: usize) {
        self.session(handle, session);
        let points = &self.wanted(session).points;
        if points.is_empty() {
            return;
        }
        let (target, files) = points[point % points.len()].clone();
        let (redo_point, before) = self.restore(handle, session, Target::Point(target), &files);
        let item =
            NewRedoItem { kind: RedoKind::Code, point: Some(redo_point), old_leaf: None, items_max: REDO_MAX as u64 };
        self.session(handle, session).redo_push(&item).unwrap();
        let redo = &mut self.wanted(session).redo;
        redo.push((redo_point, before));
        if redo.len() > REDO_MAX {
            redo.remove(0);
        }
    }

    fn redo(&mut self, handle: usize, session: usize) {
        let item = self.session(handle, session).redo_peek().unwrap();
        let Some((point, files)) = self.wanted(session).redo.last().cloned() else {
            assert!(item.is_none());
            return;
        };
        let item = item.unwrap();
        assert_eq!(item.point, Some(point));
        // By its trees: the point itself may have been dropped.
        self.restore(handle, session, Target::Trees(item.roots), &files);
        self.session(handle, session).redo_pop().unwrap();
        self.wanted(session).redo.pop();
    }

    /// Restores and compares the disk with what was asked for; returns the redo point and the state before.
    fn restore(&mut self, handle: usize, session: usize, target: Target, files: &Files) -> (Id, Files) {
        let before = self.tracked_now(session);
        let mut wanted = self.wanted(session).originals.clone();
        wanted.extend(files.iter().filter(|(path, _)| before.contains_key(*path)).map(|(p, c)| (p.clone(), *c)));
        let changes = wanted.iter().filter(|(path, content)| before[*path] != **content).count();
        let open = self.session(handle, session);
        let plan = open.plan(&plan_request(target)).unwrap();
        let report = open.apply(plan.id, 0).unwrap();
        assert!(report.failed.is_empty() && report.kept.is_empty() && report.skipped == 0, "{report:?}");
        assert_eq!(report.restored, changes as u64, "{report:?}");
        assert_eq!(self.tracked_now(session), wanted);
        let redo_point = report.redo_point.id;
        self.wanted(session).points.push((redo_point, before.clone()));
        (redo_point, before)
    }

    fn fork(&mut self, handle: usize, from: usize, to: usize) {
        self.session(handle, from);
        let store = &self.handles[handle].store;
        let forked = store.fork(&name(from), &name(to), &self.cwd).unwrap();
        if self.model.contains_key(&to) {
            assert_eq!(forked, Forked::Exists);
            return;
        }
        let source = self.model[&from].clone();
        assert_eq!(forked, Forked::Yes { points: source.points.len() as u64 });
        let ids = store.points(&name(to)).unwrap().into_iter().map(|point| point.id);
        let points = ids.zip(source.points.into_iter().map(|(_, files)| files)).collect();
        self.model.insert(to, ModelSession { originals: source.originals, points, redo: Vec::new() });
    }

    fn drop_session(&mut self, handle: usize, session: usize) {
        if !self.model.contains_key(&session) {
            return;
        }
        let open = self.handles.iter().any(|handle| handle.sessions.contains_key(&session));
        if open {
            // A session that is open anywhere stays.
            self.handles[handle].store.drop_session(&name(session)).unwrap_err();
            self.handles.iter_mut().for_each(|handle| drop(handle.sessions.remove(&session)));
        }
        self.handles[handle].store.drop_session(&name(session)).unwrap();
        self.model.remove(&session);
    }

    fn drop_point(&mut self, handle: usize, session: usize, point: usize) {
        self.session(handle, session);
        let count = self.wanted(session).points.len();
        if count == 0 {
            return;
        }
        let store = &self.handles[handle].store;
        let listed = store.points(&name(session)).unwrap();
        store.drop_points(&name(session), &[listed[point % count].seq]).unwrap();
        self.wanted(session).points.remove(point % count);
    }

    /// Loses the index while no one has it open; the segments must be enough.
    fn rebuild_index(&mut self) {
        for handle in self.handles.drain(..) {
            drop(handle.sessions);
            handle.store.close().unwrap();
        }
        assert_eq!(verify::lose_and_rebuild_index(&self.store_path()), [""; 0]);
        self.handles = (0..HANDLES).map(|_| self.open()).collect();
    }

    /// Compares everything that can be seen through one handle with the model.
    fn check(&mut self, handle: usize) {
        let mut contents = Contents::default();
        let store = &self.handles[handle].store;
        let mut listed: Vec<String> = store.sessions().unwrap().into_iter().map(|session| session.id).collect();
        listed.sort_unstable();
        assert_eq!(listed, self.model.keys().map(|&session| name(session)).collect::<Vec<_>>());
        let sessions: Vec<usize> = self.model.keys().copied().collect();
        for session in sessions {
            let originals = self.session(handle, session).originals().unwrap();
            let store = &self.handles[handle].store;
            let mut read = |entries: &[(candy_store::tree::TrackedPath, candy_store::tree::Entry)]| -> Files {
                entries.iter().map(|(path, entry)| (path.display(), contents.of(store, entry).unwrap())).collect()
            };
            let wanted = &self.model[&session];
            assert_eq!(read(&originals), wanted.originals);
            let points = store.points(&name(session)).unwrap();
            assert_eq!(points.len(), wanted.points.len());
            for (point, (id, files)) in points.iter().zip(&wanted.points) {
                assert_eq!(point.id, *id);
                assert_eq!(read(&store.entries(point.roots).unwrap()), *files);
            }
            let redo = store.redo_items(&name(session)).unwrap();
            assert_eq!(redo.len(), wanted.redo.len());
            for (item, (id, files)) in redo.iter().zip(&wanted.redo) {
                assert_eq!(item.point, Some(*id));
                assert_eq!(read(&store.entries(item.roots).unwrap()), *files);
            }
        }
    }

    fn check_all(&mut self) {
        (0..HANDLES).for_each(|handle| self.check(handle));
        self.check_disk();
        self.handles[0].store.gc(&GcOptions { force: true, dry_run: false }).unwrap();
        self.check(1);
        self.check_disk();
    }

    fn check_disk(&self) {
        assert_eq!(verify::findings(&self.store_path(), true), [""; 0]);
    }

    fn session(&mut self, handle: usize, session: usize) -> &Session {
        self.model.entry(session).or_default();
        let Handle { store, sessions } = &mut self.handles[handle];
        let cwd = &self.cwd;
        sessions.entry(session).or_insert_with(|| store.open_session(&session_options(&name(session), cwd)).unwrap())
    }

    fn wanted(&mut self, session: usize) -> &mut ModelSession {
        self.model.entry(session).or_default()
    }

    /// The session's tracked files as they lie on the disk.
    fn tracked_now(&self, session: usize) -> Files {
        let paths = self.model[&session].originals.keys();
        paths.map(|path| (path.clone(), Content::of(&self.cwd.join(path)))).collect()
    }
}

fn name(session: usize) -> String {
    format!("session-{session}")
}

/// Nothing, little, near copies of each other, noise, and odd line ends.
fn contents() -> Vec<Vec<u8>> {
    let mut rng = Rng::new(5);
    let mut text = SourceText::generate(&mut rng, 6000);
    let mut contents = vec![Vec::new(), b"x".to_vec(), b"one\r\ntwo\r\n".to_vec(), rng.noise(3000), vec![0; 10_000]];
    while contents.len() < CONTENTS {
        contents.push(text.bytes());
        text.edit(&mut rng);
    }
    contents
}

proptest! {
    #![proptest_config(ProptestConfig {
        // One case syncs some hundred times.
        cases: 48,
        max_shrink_iters: 400,
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_session_holds_what_the_model_holds(operations in prop::collection::vec(operation(), 1..40)) {
        let mut world = World::new();
        for operation in &operations {
            world.run(operation);
        }
        world.check_all();
    }
}
