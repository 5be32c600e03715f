//! Collection, repair and rebuild, killed before each call that changes something.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::fsck::testing::{FORCE, History, World, copy_tree, everything, logical, read_data};
use crate::fsck::{RebuildOptions, RepairOptions, check_path, rebuild, repair};
use crate::io::{Io, RealIo};
use crate::store::{Store, StoreOptions};
use crate::workspace::hook_io::HookIo;

/// Runs `work` on copies of a store, each time killed one change later, and `after` on what is left. Ends with the
/// first run that was not killed. Says how many there were.
fn killed_everywhere(
    world: &World,
    work: impl Fn(Arc<dyn Io>, &Path) -> crate::Result<()>,
    after: impl Fn(&Path, &str),
) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for changes in 0.. {
        let copy = root.join(format!("copy-{changes}"));
        copy_tree(&world.store, &copy);
        let io = HookIo::new();
        io.die_after(changes);
        let result = work(Arc::new(io.clone()), &copy);
        after(&copy, &format!("killed before change {changes}: {result:?}"));
        fs::remove_dir_all(&copy).unwrap();
        if result.is_ok() {
            return changes;
        }
    }
    unreachable!("there is no end of numbers")
}

fn history(seed: u64) -> World {
    let world = World::new();
    let mut history = History::new(&world, seed);
    history.large = true;
    history.collect = false;
    for _ in 0..9 {
        history.run(7);
    }
    let store = world.open();
    let dropped = store.sessions().unwrap().pop().unwrap();
    store.drop_session(&dropped.id).unwrap();
    store.close().unwrap();
    world
}

fn open(io: Arc<dyn Io>, path: &Path) -> crate::Result<Store> {
    Store::open_with(io, path, &StoreOptions::default())
}

#[test]
fn a_collection_that_is_killed_anywhere_costs_nothing() {
    let world = history(21);
    let before = everything(&world.open()).unwrap();
    let runs = killed_everywhere(
        &world,
        |io, path| {
            let store = open(io, path)?;
            let report = store.gc(&FORCE)?;
            store.close()?;
            assert!(report.ran);
            assert_eq!(report.held_back, None);
            Ok(())
        },
        |path, what| {
            let check = || {
                let report = check_path(Arc::new(RealIo), path, &read_data()).unwrap();
                assert!(report.is_clean(), "{what}: {:?}", report.findings);
                let store = open(Arc::new(RealIo), path).unwrap();
                assert!(everything(&store).unwrap() == before, "{what}");
                store
            };
            let report = check().gc(&FORCE).unwrap();
            assert_eq!(report.held_back, None, "{what}");
            check();
            // What is on disk is enough to have it all again.
            fs::remove_file(path.join("index.redb")).unwrap();
            let report = rebuild(Arc::new(RealIo), path, &RebuildOptions::default()).unwrap();
            assert_eq!(report.losses, Vec::<String>::new(), "{what}");
            check();
        },
    );
    assert!(runs > 15, "{runs} changes");
}

#[test]
fn a_rebuild_that_is_killed_anywhere_can_be_done_again() {
    let world = history(22);
    let store = world.open();
    let before = logical(&store);
    store.close().unwrap();
    let runs = killed_everywhere(
        &world,
        |io, path| rebuild(io, path, &RebuildOptions::default()).map(drop),
        |path, what| {
            let report = rebuild(Arc::new(RealIo), path, &RebuildOptions::default()).unwrap();
            assert_eq!(report.losses, Vec::<String>::new(), "{what}");
            let store = open(Arc::new(RealIo), path).unwrap();
            assert!(logical(&store) == before, "{what}");
            store.gc(&FORCE).unwrap();
            store.close().unwrap();
            let report = check_path(Arc::new(RealIo), path, &read_data()).unwrap();
            assert!(report.is_clean(), "{what}: {:?}", report.findings);
        },
    );
    assert!(runs > 5, "{runs} changes");
}

#[test]
fn a_repair_that_is_killed_anywhere_can_be_done_again() {
    let world = history(23);
    for path in world.segments().into_iter().take(3) {
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&path, bytes).unwrap();
    }
    fs::write(world.store.join("format"), b"nonsense").unwrap();
    let runs = killed_everywhere(
        &world,
        |io, path| repair(io, path, &RepairOptions::default()).map(drop),
        |path, what| {
            let report = repair(Arc::new(RealIo), path, &RepairOptions::default()).unwrap();
            assert!(report.after.is_clean(), "{what}: {:?}", report.after.findings);
            let again = repair(Arc::new(RealIo), path, &RepairOptions::default()).unwrap();
            assert_eq!(again.actions, Vec::<String>::new(), "{what}");
            let store = open(Arc::new(RealIo), path).unwrap();
            assert_eq!(store.gc(&FORCE).unwrap().held_back, None, "{what}");
        },
    );
    assert!(runs > 5, "{runs} changes");
}
