//! What a check says of whole stores, and of ones with one thing wrong.

use std::fs;
use std::sync::Arc;

use crate::fsck::testing::{History, Random, World, pin, read_data, take, text};
use crate::fsck::{FindingKind, FsckOptions, OnProgress, check_path};
use crate::hash::Hash;
use crate::id::Id;
use crate::index::references::{Holding, each_reference, holding};
use crate::index::rows::{
    LayerRow, ObjectKind, ObjectRow, OriginalRow, PinRow, PointKind, PointRow, RedoKind, RedoRow,
};
use crate::index::rows::{RestoreRow, RestoreStep, SessionRow};
use crate::index::tables::{Logical, Rows as _, Tables};
use crate::io::RealIo;
use crate::store::Store;
use crate::tree::{Entry, ManifestPath, Roots, TrackedPath};

fn change(store: &Store, work: impl FnOnce(&mut Tables<'_>)) {
    store
        .inner()
        .index
        .write(store.inner().deadline(), |tables| {
            work(tables);
            Ok(Some(()))
        })
        .unwrap();
}

/// A closed store with a session of a few files and points.
fn small() -> World {
    let world = World::new();
    let store = world.open();
    let session = world.session(&store, "s");
    let mut random = Random(1);
    for n in 0..4 {
        let path = world.write(&format!("{n}.rs"), &text(&mut random, 50));
        session.track(&path).unwrap();
    }
    let point = take(&session);
    world.write("0.rs", b"changed");
    take(&session);
    pin(&store, &point);
    drop(session);
    store.close().unwrap();
    world
}

#[test]
fn a_whole_store_has_no_findings_and_is_not_changed() {
    let world = World::new();
    History::new(&world, 11).run(80);
    world.gc();
    let before: Vec<_> = world.segments().iter().map(|path| fs::read(path).unwrap()).collect();
    let report = world.fsck();
    assert_eq!(report.findings, []);
    assert!(report.objects > 0 && report.objects_read == report.objects && report.points > 0);
    let after: Vec<_> = world.segments().iter().map(|path| fs::read(path).unwrap()).collect();
    assert_eq!(before, after);
    let names: Vec<_> = fs::read_dir(&world.store).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 7, "{names:?}");
}

#[test]
fn a_check_works_while_sessions_are_live_and_when_it_may_write_nothing() {
    let world = small();
    let store = world.open();
    let session = world.session(&store, "s");
    take(&session);
    assert_eq!(store.fsck(&read_data()).unwrap().findings, []);
    let read_only = FsckOptions { read_only: true, ..read_data() };
    let report = store.fsck(&read_only).unwrap();
    assert!(report.is_clean() && report.has(FindingKind::NotChecked));
    take(&session);
}

#[test]
fn progress_is_told() {
    let world = small();
    let told = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let count = Arc::clone(&told);
    let progress = OnProgress::new(move |_| {
        count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    });
    check_path(Arc::new(RealIo), &world.store, &FsckOptions { progress, ..read_data() }).unwrap();
    assert!(told.load(std::sync::atomic::Ordering::Relaxed) > 3);
}

#[test]
fn what_is_no_store_is_an_error_and_not_a_finding() {
    let world = small();
    let check = |path: &std::path::Path| check_path(Arc::new(RealIo), path, &read_data());
    assert_eq!(check(&world.cwd.join("none")).unwrap_err().kind(), crate::ErrorKind::NoStore);
    assert_eq!(check(&world.cwd).unwrap_err().kind(), crate::ErrorKind::NotAStore);
    let path = world.store.join("format");
    let mut format = crate::format::Format::parse(&fs::read(&path).unwrap()).unwrap();
    format.format += 1;
    fs::write(&path, format.to_line()).unwrap();
    assert_eq!(check(&world.store).unwrap_err().kind(), crate::ErrorKind::NewerFormat);
}

#[test]
fn wrong_counts_are_found() {
    let find = |what: &str, work: fn(&mut Tables<'_>)| {
        let world = small();
        let store = world.open();
        change(&store, work);
        store.close().unwrap();
        let report = world.fsck();
        let found =
            report.findings.iter().any(|finding| finding.kind == FindingKind::Count && finding.message.contains(what));
        assert!(found, "{what}: {:?}", report.findings);
    };
    fn some(tables: &Tables<'_>, kind: ObjectKind) -> (Hash, ObjectRow) {
        let mut found = None;
        tables
            .each_object(&mut |hash, row| {
                if row.kind == kind {
                    found = Some((hash, row));
                }
                Ok(())
            })
            .unwrap();
        found.unwrap()
    }
    find("count of references", |tables| {
        let (hash, row) = some(tables, ObjectKind::Blob);
        tables.put_object(hash, &ObjectRow { refs: row.refs + 1, ..row }).unwrap();
    });
    find("count of deltas", |tables| {
        let (hash, row) = some(tables, ObjectKind::Blob);
        tables.put_object(hash, &ObjectRow { base_refs: row.base_refs + 1, ..row }).unwrap();
    });
    find("hold their children", |tables| {
        let (hash, row) = some(tables, ObjectKind::Node);
        tables.put_object(hash, &ObjectRow { holds_children: false, ..row }).unwrap();
    });
    find("dead", |tables| {
        let (hash, _) = some(tables, ObjectKind::Node);
        tables.put_dead(hash).unwrap();
    });
    find("live bytes", |tables| {
        let (number, mut row) = tables.segments().unwrap().pop().unwrap();
        row.live_bytes += 1;
        tables.put_segment(number, &row).unwrap();
    });
    find("journal bytes", |tables| {
        let (number, mut row) = tables.segments().unwrap().pop().unwrap();
        row.journal_bytes += 1;
        tables.put_segment(number, &row).unwrap();
    });
}

#[test]
fn rows_that_contradict_one_another_are_found() {
    for remove in [Logical::Sessions, Logical::PointIds, Logical::Layers] {
        let world = small();
        let store = world.open();
        change(&store, |tables| {
            let mut key = Vec::new();
            tables
                .scan_raw(remove, b"", &mut |first, _| {
                    key = first.to_vec();
                    Ok(false)
                })
                .unwrap();
            assert!(tables.remove(remove, &key).unwrap());
        });
        store.close().unwrap();
        assert!(world.fsck().has(FindingKind::IndexRows), "{remove:?}");
    }
}

#[test]
fn a_missing_row_of_an_object_is_found_with_what_it_costs() {
    let world = small();
    let store = world.open();
    let content = Hash::of_blob(b"changed");
    let point = store.points("s").unwrap().pop().unwrap();
    change(&store, |tables| tables.remove_object(content).unwrap());
    store.close().unwrap();
    let report = world.fsck();
    let finding = report.findings.iter().find(|finding| finding.kind == FindingKind::ObjectMissing).unwrap();
    assert_eq!(finding.object, Some(content));
    assert_eq!(finding.costs.len(), 1);
    assert_eq!(finding.costs[0].session, "s");
    assert_eq!(finding.costs[0].point, Some(point.id));
    assert_eq!(finding.costs[0].path.as_ref().unwrap().display(), "0.rs");
}

#[test]
fn an_older_index_is_found() {
    let world = small();
    let old = fs::read(world.store.join("index.redb")).unwrap();
    let store = world.open();
    let session = world.session(&store, "s");
    for n in 0..3 {
        world.write("0.rs", format!("{n}").as_bytes());
        take(&session);
    }
    drop(session);
    store.close().unwrap();
    fs::write(world.store.join("index.redb"), old).unwrap();
    assert!(world.fsck().has(FindingKind::IndexStale));
    // And a collection does not remove what the older index does not know.
    let report = world.gc();
    assert!(report.held_back.is_some(), "{report:?}");
    assert_eq!(world.segments().len(), 2);
    world.rebuild();
    assert!(world.fsck().is_clean());
    assert_eq!(world.open().points("s").unwrap().len(), 5);
}

/// A row of each table, holding as many hashes as it can.
fn full_rows() -> Vec<(Logical, Vec<u8>, Vec<u8>, usize)> {
    let mut n = 0u8;
    let mut hash = || {
        n += 1;
        Hash::from_bytes([n; 32])
    };
    let mut roots = || Roots { workspace: Some(hash()), absolute: Some(hash()) };
    let (first, second, third, fourth) = (roots(), roots(), roots(), roots());
    let mut file = || Entry::File { content: hash(), size: 1, mode: 0o644 };
    let path = || TrackedPath::Workspace(ManifestPath::parse(b"a").unwrap());
    let id = Id::from_bytes([9; 16]);
    let point = PointRow {
        id,
        kind: PointKind::Manual,
        created_ms: 1,
        entry: None,
        prompt: None,
        roots: first,
        files: 1,
        changed: 1,
        gaps: vec![],
    };
    let redo = RedoRow { kind: RedoKind::Code, point: Some(id), roots: second, old_leaf: None, created_ms: 1 };
    let pin = PinRow { session: "s".into(), roots: third, created_ms: 1 };
    let step = RestoreStep { path: path(), from: file(), to: file(), temporary: "t".into() };
    let restore = RestoreRow {
        session: "s".into(),
        cwd: vec![],
        created_ms: 1,
        redo_point: id,
        redo_roots: fourth,
        steps: vec![step],
    };
    let session = SessionRow {
        cwd: vec![],
        created_ms: 1,
        last_event_ms: 1,
        last_order: 1,
        next_seq: 1,
        layers: vec![id],
        next_track: 1,
        next_redo: 1,
        forked_from: None,
        tracked_revision: 1,
    };
    fn encode<T: serde::Serialize>(row: &T) -> Vec<u8> {
        crate::codec::encode(row)
    }
    Logical::ALL
        .into_iter()
        .map(|table| {
            // Exhaustive on purpose: a new table must say here what it holds, and `holding` must agree.
            let (value, hashes) = match table {
                Logical::Sessions => (encode(&session), 0),
                Logical::Points => (encode(&point), 2),
                Logical::PointIds => (b"key".to_vec(), 0),
                Logical::Layers => (encode(&LayerRow { sessions: 1 }), 0),
                Logical::Originals => (encode(&OriginalRow { order: 1, entry: Some(file()) }), 1),
                // A note is compared, never read back.
                Logical::Notes => (encode(&file()), 0),
                Logical::Redo => (encode(&redo), 2),
                Logical::Pins => (encode(&pin), 2),
                Logical::Restores => (encode(&restore), 4),
                Logical::Purged => (vec![], 0),
            };
            (table, b"key".to_vec(), value, hashes)
        })
        .collect()
}

#[test]
fn every_table_that_holds_hashes_is_on_the_list() {
    let world = World::new();
    let store = world.open();
    for (table, key, value, hashes) in full_rows() {
        match holding(table) {
            Holding::References(parse) => assert_eq!(parse(&value).unwrap().len(), hashes, "{table:?}"),
            Holding::NamesOnly | Holding::Nothing => assert_eq!(hashes, 0, "{table:?}"),
        }
        change(&store, |tables| {
            tables.put_raw(table, &key, &value).unwrap();
            let mut found = 0;
            each_reference(&*tables, &mut |of, _, _| {
                found += usize::from(of == table);
                Ok(())
            })
            .unwrap();
            assert_eq!(found, hashes, "{table:?}");
            tables.remove(table, &key).unwrap();
        });
    }
}

/// Rows without a hash cannot hide one: a row that names 32 equal bytes somewhere is a row that holds a hash.
#[test]
fn rows_that_are_said_to_hold_no_hash_have_no_room_for_one() {
    for (table, _, value, _) in full_rows() {
        let has_hash = value.windows(32).any(|window| window.iter().all(|byte| *byte == window[0] && *byte != 0));
        let may = !matches!(holding(table), Holding::Nothing);
        assert!(may || !has_hash, "{table:?}");
    }
}

#[test]
fn an_older_index_is_found_when_the_newer_transactions_lie_in_a_segment_that_it_knows() {
    let world = small();
    let store = world.open();
    let session = world.session(&store, "s");
    take(&session);
    let old = fs::read(world.store.join("index.redb")).unwrap();
    for n in 0..3 {
        world.write("0.rs", format!("{n}").as_bytes());
        take(&session);
    }
    drop(session);
    store.close().unwrap();
    fs::write(world.store.join("index.redb"), old).unwrap();
    assert!(world.fsck().has(FindingKind::IndexStale));
    assert!(world.gc().held_back.is_some());
    assert_eq!(world.rebuild().losses, Vec::<String>::new());
    assert!(world.fsck().is_clean());
    assert_eq!(world.open().points("s").unwrap().len(), 6);
}
