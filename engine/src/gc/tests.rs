#![allow(clippy::disallowed_methods, reason = "tests look behind the engine's back")]

use std::fs;

use super::*;
use crate::fsck::testing::{
    Everything, FORCE, History, Random, World, begin_restore, commit, edit, everything, everything_of, pin, take, text,
};
use crate::index::rows::{PointKind, RedoKind};
use crate::io::Open;
use crate::journal::Change;
use crate::session::{NewRedoItem, SnapshotRequest};

fn size_of(world: &World) -> u64 {
    world.segments().iter().map(|path| fs::metadata(path).unwrap().len()).sum()
}

#[test]
fn what_a_dropped_session_alone_needed_is_freed() {
    let world = World::new();
    let store = world.open();
    let mut random = Random(1);
    let session = world.session(&store, "gone");
    for n in 0..20 {
        let path = world.write(&format!("{n}.rs"), &text(&mut random, 200));
        session.track(&path).unwrap();
    }
    take(&session);
    drop(session);
    store.close().unwrap();
    let before = size_of(&world);
    let store = world.open();
    store.drop_session("gone").unwrap();
    store.close().unwrap();
    let report = world.gc();
    assert!(report.ran && report.held_back.is_none(), "{report:?}");
    assert_eq!(report.dropped_objects, 21);
    assert!(report.freed_bytes > before / 2, "{report:?} of {before}");
    assert!(size_of(&world) < before / 5, "{} of {before}", size_of(&world));
    assert!(world.fsck().findings.is_empty(), "{:?}", world.fsck().findings);
}

#[test]
fn a_dry_run_says_what_the_real_run_then_does() {
    let world = World::new();
    let mut history = History::new(&world, 7);
    history.collect = false;
    history.run(150);
    let store = world.open();
    for session in store.sessions().unwrap().into_iter().skip(1) {
        store.drop_session(&session.id).unwrap();
    }
    let before = size_of(&world);
    let dry = store.gc(&GcOptions { force: true, dry_run: true }).unwrap();
    assert_eq!(size_of(&world), before);
    let mut real = store.gc(&FORCE).unwrap();
    assert!(dry.dropped_objects > 0 && dry.unlinked_segments > 0, "{dry:?}");
    // Bases that were freed on the way are a gain on top.
    real.dropped_objects = real.dropped_objects.min(dry.dropped_objects);
    assert_eq!(real, dry);
}

#[test]
fn whatever_holds_a_content_keeps_it() {
    let world = World::new();
    let store = world.open();
    let session = world.session(&store, "s");
    let mut random = Random(2);
    let mut content = text(&mut random, 300);
    let path = world.write("a.rs", &content);
    session.track(&path).unwrap(); // the original
    let mut points = Vec::new();
    for _ in 0..6 {
        edit(&mut random, &mut content);
        world.write("a.rs", &content);
        points.push(take(&session));
    }
    let redo = NewRedoItem { kind: RedoKind::Code, point: Some(points[1].id), old_leaf: None, items_max: 5 };
    session.redo_push(&redo).unwrap();
    pin(&store, &points[2]);
    begin_restore(&store, &points[3], &points[4]);
    store.fork("s", "fork", &world.cwd).unwrap();
    let mut before = everything(&store).unwrap();
    let seqs: Vec<u64> = points.iter().map(|point| point.seq).collect();
    store.drop_points("s", &seqs).unwrap();
    before.retain(|name, _| !name.starts_with("s point"));
    drop(session);
    store.close().unwrap();
    for _ in 0..3 {
        assert_eq!(world.gc().held_back, None);
        assert_eq!(everything(&world.open()).unwrap(), before);
    }
    let store = world.open();
    store.drop_session("fork").unwrap();
    before.retain(|name, _| !name.starts_with("fork"));
    store.close().unwrap();
    world.gc();
    assert_eq!(everything(&world.open()).unwrap(), before);
    assert!(world.fsck().is_clean());
}

#[test]
fn random_histories_with_collections_read_as_before() {
    collect_histories(0..4);
}

#[test]
#[ignore = "takes minutes: for a run by hand after changes of the collection"]
fn many_random_histories_with_collections_read_as_before() {
    collect_histories(1000..1100);
}

fn collect_histories(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let world = World::new();
        let mut history = History::new(&world, seed);
        history.large = seed % 8 == 3;
        for _ in 0..3 {
            history.run(60);
            let store = world.open();
            let before = everything(&store).unwrap();
            store.close().unwrap();
            let report = world.gc();
            assert_eq!(report.held_back, None);
            let store = world.open();
            assert_eq!(everything(&store).unwrap(), before, "seed {seed}");
            store.close().unwrap();
            let fsck = world.fsck();
            assert!(fsck.is_clean(), "seed {seed}: {:?}", fsck.findings);
        }
    }
}

#[test]
fn segments_of_live_processes_are_left_alone() {
    let world = World::new();
    let live = world.open();
    let session = world.session(&live, "s");
    let path = world.write("a.rs", &text(&mut Random(3), 300));
    session.track(&path).unwrap();
    let point = take(&session);
    live.drop_points("s", &[point.seq]).unwrap();
    let own = world.segments();
    assert_eq!(own.len(), 1);
    let report = world.gc();
    assert!(report.ran);
    assert!(own.iter().all(|path| path.exists()));
    // The live handle goes on as if nothing had been.
    world.write("a.rs", b"changed");
    take(&session);
    assert_eq!(everything(&live).unwrap().len(), 2);
}

#[test]
fn a_segment_that_its_owner_has_not_committed_to_yet_is_left_alone_and_goes_when_the_owner_does() {
    let world = World::new();
    let store = world.open();
    let inner = store.inner();
    let writer = crate::segment::writer::SegmentWriter::create(&inner.io, &inner.path, inner.format.store).unwrap();
    world.gc();
    assert_eq!(world.segments().len(), 1);
    drop(writer); // as after a kill: the lock is free, its file is still there
    let report = world.gc();
    assert_eq!(world.segments().len(), 0);
    assert_eq!(report.removed_files, 1);
    let locks = fs::read_dir(world.store.join("locks")).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name().into_string().unwrap();
        crate::id::Id::from_hex(&name).is_some()
    });
    assert_eq!(locks.count(), 0);
}

#[test]
fn leftovers_go_and_what_is_being_written_stays() {
    let world = World::new();
    let store = world.open();
    let io = &store.inner().io;
    let leftover = world.store.join("large").join(format!("{}.tmp", crate::id::Id::random()));
    fs::write(&leftover, b"half").unwrap();
    let owned = world.store.join("large").join(format!("{}.tmp", crate::id::Id::random()));
    let file = io.open(&owned, Open::CreateNew).unwrap();
    assert!(file.try_lock(LockMode::Shared).unwrap());
    let orphan = crate::object::large::large_path(&world.store, Hash::of_blob(b"x"), crate::id::Id::random());
    fs::create_dir_all(orphan.parent().unwrap()).unwrap();
    fs::write(&orphan, b"no row").unwrap();
    let top = world.store.join("index.redb.0.tmp");
    fs::write(&top, b"").unwrap();
    store.gc(&FORCE).unwrap();
    assert!(!leftover.exists() && !orphan.exists() && !top.exists());
    assert!(owned.exists());
    drop(file);
    store.gc(&FORCE).unwrap();
    assert!(!owned.exists());
}

#[test]
fn a_large_content_goes_with_its_last_point() {
    let world = World::new();
    let store = world.open();
    let session = world.session(&store, "s");
    let path = world.write("big.bin", &vec![7; 5 << 20]);
    session.track(&path).unwrap();
    take(&session);
    let files = || crate::fsck::testing::files_below(&world.store.join("large")).len();
    assert_eq!(files(), 1);
    store.gc(&FORCE).unwrap();
    assert_eq!(files(), 1);
    drop(session);
    store.drop_session("s").unwrap();
    let report = store.gc(&FORCE).unwrap();
    assert_eq!(files(), 0);
    assert_eq!(report.removed_files, 1);
    assert!(world.fsck().is_clean());
}

#[test]
fn nothing_is_removed_while_damage_is_known() {
    let world = World::new();
    let store = world.open();
    let session = world.session(&store, "s");
    let path = world.write("a.rs", b"one");
    session.track(&path).unwrap();
    drop(session);
    store.drop_session("s").unwrap();
    store.inner().note_damage("a test");
    assert!(!store.gc_due().unwrap());
    let report = store.gc(&FORCE).unwrap();
    assert!(report.ran && report.held_back.as_ref().unwrap().contains("a test"), "{report:?}");
    assert_eq!((report.dropped_objects, report.freed_bytes), (0, 0));
    assert_eq!(store.inner().read(|rows| rows.dead(9)).unwrap().len(), 1);
}

#[test]
fn a_collection_that_meets_damage_notes_it_and_keeps_everything() {
    let world = World::new();
    let store = world.open();
    let session = world.session(&store, "s");
    let mut random = Random(4);
    for n in 0..10 {
        let path = world.write(&format!("{n}.rs"), &text(&mut random, 100));
        session.track(&path).unwrap();
    }
    let mut changes = Vec::new();
    for (path, _) in session.originals().unwrap().into_iter().take(8) {
        changes.push(Change::Untracked { session: "s".into(), path });
    }
    commit(&store, changes);
    drop(session);
    store.close().unwrap();
    let segment = world.segments().pop().unwrap();
    let mut bytes = fs::read(&segment).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&segment, &bytes).unwrap();
    let report = world.gc();
    assert!(report.held_back.is_some(), "{report:?}");
    assert_eq!(report.unlinked_segments, 0);
    assert_eq!(fs::read(&segment).unwrap(), bytes);
    let store = world.open();
    assert!(store.inner().read(|rows| rows.state()).unwrap().damage.is_some());
}

#[test]
fn bases_that_only_deltas_need_are_freed() {
    let world = World::new();
    let store = world.open();
    let session = world.session(&store, "s");
    let mut random = Random(5);
    let mut content = text(&mut random, 400);
    let path = world.write("a.rs", &content);
    let request = SnapshotRequest { add: vec![path], ..SnapshotRequest::of(PointKind::Operation) };
    let first = session.snapshot(&request).unwrap().point;
    let mut points = vec![first];
    for _ in 0..30 {
        edit(&mut random, &mut content);
        world.write("a.rs", &content);
        points.push(take(&session));
    }
    // The original is one of the links that could stay; a chain without any is the interesting case.
    commit(&store, vec![Change::Untracked { session: "s".into(), path: session.originals().unwrap()[0].0.clone() }]);
    let seqs: Vec<u64> = points[..30].iter().map(|point| point.seq).collect();
    store.drop_points("s", &seqs).unwrap();
    drop(session);
    store.close().unwrap();
    let store = world.open();
    let before = everything(&store).unwrap();
    store.close().unwrap();
    world.gc();
    let store = world.open();
    assert_eq!(everything(&store).unwrap(), before);
    let mut links = 0;
    store
        .inner()
        .read(|rows| {
            rows.each_object(&mut |_, row| {
                links += u32::from(row.refs == 0);
                Ok(())
            })
        })
        .unwrap();
    assert_eq!(links, 0, "objects that are kept for deltas alone");
    store.close().unwrap();
    assert!(world.fsck().is_clean());
}

#[test]
fn many_small_segments_are_merged() {
    let world = World::new();
    let mut random = Random(6);
    for n in 0..12 {
        let store = world.open();
        let session = world.session(&store, "s");
        let path = world.write(&format!("{n}.rs"), &text(&mut random, 50));
        session.track(&path).unwrap();
        take(&session);
        drop(session);
        store.close().unwrap();
    }
    assert_eq!(world.segments().len(), 12);
    let store = world.open();
    let before = everything(&store).unwrap();
    store.close().unwrap();
    let report = world.gc();
    assert_eq!(report.unlinked_segments, 12);
    assert!(world.segments().len() <= 2);
    let store = world.open();
    assert_eq!(everything(&store).unwrap(), before);
    // Nothing is left to do, however often it is asked for.
    store.close().unwrap();
    let report = world.gc();
    assert_eq!((report.unlinked_segments, report.dropped_objects, report.more), (0, 0, false));
}

#[test]
fn a_collection_is_due_after_a_day_or_when_a_quarter_is_garbage() {
    let world = World::new();
    let store = world.open();
    assert!(!store.gc_due().unwrap());
    assert!(!store.gc(&GcOptions { force: false, dry_run: false }).unwrap().ran);
    let session = world.session(&store, "s");
    let mut noise = vec![0; 3 << 20];
    Random(8).0 = 1;
    let mut random = Random(8);
    noise.iter_mut().for_each(|byte| *byte = random.next() as u8);
    let path = world.write("a.bin", &noise);
    session.track(&path).unwrap();
    drop(session);
    store.close().unwrap();
    let store = world.open();
    assert!(!store.gc_due().unwrap());
    store.drop_session("s").unwrap();
    assert!(store.gc_due().unwrap());
    assert!(store.gc(&GcOptions { force: false, dry_run: false }).unwrap().freed_bytes > 3 << 20);
    assert!(!store.gc_due().unwrap());
    store
        .inner()
        .index
        .write(store.inner().deadline(), |tables| {
            let mut state = tables.state()?;
            state.last_gc_ms -= DAY_MS;
            tables.put_state(&state)?;
            Ok(Some(()))
        })
        .unwrap();
    assert!(store.gc_due().unwrap());
}

#[test]
fn one_collection_at_a_time() {
    let world = World::new();
    let store = world.open();
    let _lock = Lock::try_new(&store.inner().io, &gc_lock_path(&world.store), LockMode::Exclusive).unwrap().unwrap();
    assert!(!store.gc(&FORCE).unwrap().ran);
}

#[test]
fn files_queued_by_a_collection_that_was_interrupted_are_removed_by_the_next() {
    let world = World::new();
    let store = world.open();
    let id = crate::id::Id::random();
    let path = crate::segment::segment_path(&world.store, id);
    fs::write(&path, b"whatever").unwrap();
    store
        .inner()
        .index
        .write(store.inner().deadline(), |tables| {
            tables.put_unlink(id.as_bytes(), &crate::index::rows::UnlinkRow::Segment(id))?;
            Ok(Some(()))
        })
        .unwrap();
    assert!(store.gc_due().unwrap());
    store.gc(&FORCE).unwrap();
    assert!(!path.exists());
    assert!(store.inner().read(|rows| rows.unlinks()).unwrap().is_empty());
}

#[test]
fn on_a_full_disk_what_needs_no_room_goes_and_the_rest_stays_whole() {
    let world = World::new();
    let store = world.open();
    let session = world.session(&store, "s");
    session.track(&world.write("a.rs", &text(&mut Random(9), 100))).unwrap();
    take(&session);
    let gone = world.session(&store, "gone");
    gone.track(&world.write("big.bin", &vec![7; 5 << 20])).unwrap();
    gone.track(&world.write("b.rs", &text(&mut Random(10), 400))).unwrap();
    drop((session, gone));
    store.drop_session("gone").unwrap();
    store.close().unwrap();

    let io = crate::workspace::hook_io::HookIo::new();
    let store = Store::open_with(std::sync::Arc::new(io.clone()), &world.store, &Default::default()).unwrap();
    let before = everything(&store).unwrap();
    io.set(|call, _| match call {
        crate::workspace::hook_io::Call::Write => Err(std::io::ErrorKind::StorageFull.into()),
        _ => Ok(()),
    });
    let report = store.gc(&FORCE).unwrap();
    assert!(report.held_back.is_some() && report.more, "{report:?}");
    assert!(crate::fsck::testing::files_below(&world.store.join("large")).is_empty());
    assert_eq!(report.unlinked_segments, 0);
    assert_eq!(world.segments().len(), 1);
    io.clear();
    assert_eq!(everything(&store).unwrap(), before);
    assert!(world.fsck().is_clean());
    let report = store.gc(&FORCE).unwrap();
    assert_eq!((report.held_back, report.unlinked_segments), (None, 1));
    assert_eq!(everything(&store).unwrap(), before);
    assert!(world.fsck().is_clean());
}

#[test]
fn writers_a_collector_and_a_checker_at_the_same_time() {
    let world = World::new();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|n| {
                let world = &world;
                scope.spawn(move || {
                    let mut random = Random(n);
                    let id = format!("writer-{n}");
                    let mut content = text(&mut random, 100);
                    for round in 0..12 {
                        // A handle of its own each time, as a process would have it.
                        let store = world.open();
                        let session = world.session(&store, &id);
                        let path = world.write(&format!("{n}/{}.rs", round % 4), &content);
                        session.track(&path).unwrap();
                        for _ in 0..4 {
                            edit(&mut random, &mut content);
                            world.write(&format!("{n}/{}.rs", round % 4), &content);
                            let request =
                                SnapshotRequest { points_max: 6, ..SnapshotRequest::of(PointKind::Operation) };
                            session.snapshot(&request).unwrap();
                        }
                        let fork = format!("fork-{n}-{round}");
                        store.fork(&id, &fork, &world.cwd).unwrap();
                        if round % 2 == 0 {
                            store.drop_session(&fork).unwrap();
                        }
                        everything_of(&store, &id, &mut Everything::new()).unwrap();
                        drop(session);
                        store.close().unwrap();
                    }
                })
            })
            .collect();
        let others = scope.spawn(|| {
            let mut rounds = 0;
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let report = world.gc();
                assert_eq!(report.held_back, None);
                let fsck = world.fsck();
                assert!(fsck.is_clean(), "{:?}", fsck.findings);
                rounds += 1;
            }
            rounds
        });
        let results: Vec<_> = writers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(others.join().unwrap() > 0);
        results.into_iter().for_each(|result| result.unwrap());
    });
    let store = world.open();
    let before = everything(&store).unwrap();
    store.close().unwrap();
    world.gc();
    world.rebuild();
    assert_eq!(everything(&world.open()).unwrap(), before);
    assert!(world.fsck().is_clean());
}
