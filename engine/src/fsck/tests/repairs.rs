//! A repair settles what is wrong, records what is lost, and does nothing the second time.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::fsck::testing::{Random, World, everything, take, text};
use crate::fsck::{FindingKind, RepairOptions, RepairReport, repair};
use crate::hash::Hash;
use crate::index::rows::{ObjectRow, Place};
use crate::index::tables::Rows as _;
use crate::io::RealIo;

fn run(world: &World) -> RepairReport {
    repair(Arc::new(RealIo), &world.store, &RepairOptions::default()).unwrap()
}

/// Repairs, and checks what holds after every repair.
fn settled(world: &World) -> RepairReport {
    let report = run(world);
    assert!(report.after.is_clean(), "{:?}", report.after.findings);
    let again = run(world);
    assert_eq!(again.actions, Vec::<String>::new());
    assert!(world.fsck().is_clean());
    let store = world.open();
    assert!(store.inner().read(|rows| rows.state()).unwrap().damage.is_none());
    store.close().unwrap();
    report
}

/// Two files, three points, closed. Contents: `a.rs` 300 lines, then "two"; `b.rs` 200 lines.
fn world() -> (World, Vec<u8>, Vec<u8>) {
    let world = World::new();
    let store = world.open();
    let session = world.session(&store, "s");
    let mut random = Random(77);
    let (a, b) = (text(&mut random, 300), text(&mut random, 200));
    session.track(&world.write("a.rs", &a)).unwrap();
    session.track(&world.write("b.rs", &b)).unwrap();
    take(&session);
    world.write("a.rs", b"two");
    take(&session);
    drop(session);
    store.close().unwrap();
    (world, a, b)
}

/// Flips a bit in the payload of an object's record.
fn damage(world: &World, hash: Hash) {
    let store = world.open();
    let row = store.inner().read(|rows| rows.object(hash)).unwrap().unwrap();
    let Place::Segment { number, offset, len } = row.place else { panic!("{row:?}") };
    let segment = store.inner().read(|rows| rows.segment(number)).unwrap().unwrap();
    store.close().unwrap();
    flip(&crate::segment::segment_path(&world.store, segment.id), offset + u64::from(len) - 5);
}

fn flip(path: &Path, at: u64) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at as usize] ^= 0x20;
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_whole_store_needs_nothing() {
    let (world, ..) = world();
    let report = run(&world);
    assert_eq!(report.actions, Vec::<String>::new());
    assert_eq!((report.before.findings.len(), report.lost.len()), (0, 0));
}

#[test]
fn a_damaged_content_is_healed_from_the_file_that_still_has_it() {
    let (world, _, b) = world();
    let before = everything(&world.open()).unwrap();
    damage(&world, Hash::of_blob(&b));
    let report = settled(&world);
    assert_eq!((report.healed, report.lost.len()), (1, 0));
    assert_eq!(everything(&world.open()).unwrap(), before);
    assert!(world.fsck().findings.iter().all(|finding| finding.kind == FindingKind::DeadBytesDamaged));
    // And a rebuild finds it as well.
    assert_eq!(world.rebuild().losses, Vec::<String>::new());
    assert_eq!(everything(&world.open()).unwrap(), before);
}

#[test]
fn what_is_lost_stays_listed_reads_as_damaged_and_is_healed_when_it_is_backed_up_again() {
    let (world, a, b) = world();
    let hash = Hash::of_blob(&a);
    damage(&world, hash);
    let points = world.open().points("s").unwrap();
    let report = settled(&world);
    assert_eq!(report.healed, 0);
    assert_eq!(report.lost.len(), 1);
    assert_eq!(report.lost[0].object, Some(hash));
    // The original and the first point.
    assert_eq!(report.lost[0].costs_total, 2);
    assert!(report.lost[0].costs.iter().all(|cost| cost.path.as_ref().unwrap().display() == "a.rs"));
    let quarantined = fs::read_dir(world.store.join("quarantine")).unwrap().count();
    assert_eq!(quarantined, 1);

    let store = world.open();
    assert_eq!(store.points("s").unwrap(), points);
    assert_eq!(store.entries(points[0].roots).unwrap().len(), 2);
    assert_eq!(store.read_blob(hash).unwrap_err().kind(), crate::ErrorKind::ObjectDamaged);
    assert!(!store.has_content(hash).unwrap());
    assert_eq!(*store.read_blob(Hash::of_blob(&b)).unwrap(), b[..]);
    store.close().unwrap();
    // Collections and rebuilds keep the record of the loss.
    assert_eq!(world.gc().held_back, None);
    world.rebuild();
    let fsck = world.fsck();
    assert!(fsck.has(FindingKind::ObjectLost), "{:?}", fsck.findings);
    settled(&world);

    let store = world.open();
    let session = world.session(&store, "s");
    world.write("a.rs", &a);
    take(&session);
    assert_eq!(*store.read_blob(hash).unwrap(), a[..]);
    drop(session);
    store.close().unwrap();
    let fsck = world.fsck();
    assert!(fsck.is_clean() && !fsck.has(FindingKind::ObjectLost), "{:?}", fsck.findings);
}

#[test]
fn a_lost_node_costs_its_points_and_comes_back_with_the_next_one() {
    let (world, a, _) = world();
    let store = world.open();
    let root = store.points("s").unwrap()[0].roots.workspace.unwrap();
    store.close().unwrap();
    damage(&world, root);
    let report = settled(&world);
    assert_eq!(report.lost.len(), 1);
    assert_eq!(report.lost[0].costs[0].path, None);
    assert_eq!(world.gc().held_back, None);
    let store = world.open();
    let session = world.session(&store, "s");
    world.write("a.rs", &a);
    let point = take(&session);
    assert_eq!(point.roots.workspace, Some(root));
    assert_eq!(store.entries(point.roots).unwrap().len(), 2);
    drop(session);
    store.close().unwrap();
    let fsck = world.fsck();
    assert!(fsck.is_clean() && !fsck.has(FindingKind::ObjectLost), "{:?}", fsck.findings);
    let before = everything(&world.open()).unwrap();
    world.gc();
    assert_eq!(everything(&world.open()).unwrap(), before);
}

#[test]
fn a_live_session_does_not_build_on_a_node_that_was_lost_meanwhile() {
    let (world, ..) = world();
    let store = world.open();
    let session = world.session(&store, "s");
    let point = take(&session);
    damage(&world, point.roots.workspace.unwrap());
    run(&world);
    let again = take(&session);
    assert_eq!(again.roots, point.roots);
    assert_eq!(store.entries(again.roots).unwrap().len(), 2);
    drop(session);
    store.close().unwrap();
    assert!(world.fsck().is_clean());
}

#[test]
fn what_is_readable_in_a_damaged_frame_is_written_anew() {
    let (world, ..) = world();
    let before = everything(&world.open()).unwrap();
    let segment = world.segments().pop().unwrap();
    // The first frame's own header: its records are as they were.
    flip(&segment, 64 + 20);
    let fsck = world.fsck();
    assert!(fsck.has(FindingKind::FrameDamaged) || fsck.has(FindingKind::JournalDamaged), "{:?}", fsck.findings);
    let report = settled(&world);
    assert_eq!(report.lost.len(), 0);
    assert_eq!(everything(&world.open()).unwrap(), before);
    fs::remove_file(world.store.join("index.redb")).unwrap();
    assert_eq!(world.rebuild().losses, Vec::<String>::new());
    assert_eq!(everything(&world.open()).unwrap(), before);
}

#[test]
fn a_missing_segment_costs_what_was_in_it_and_no_more() {
    let (world, a, b) = world();
    fs::remove_file(world.segments().pop().unwrap()).unwrap();
    let store = world.open();
    let session = world.session(&store, "t");
    session.track(&world.write("c.rs", b"three")).unwrap();
    drop(session);
    store.close().unwrap();
    let report = settled(&world);
    // `b.rs` and "two" are in the workspace still.
    assert_eq!(report.healed, 2);
    let store = world.open();
    assert!(store.read_blob(Hash::of_blob(&a)).is_err());
    assert_eq!(*store.read_blob(Hash::of_blob(&b)).unwrap(), b[..]);
    assert_eq!(*store.read_blob(Hash::of_blob(b"three")).unwrap(), b"three"[..]);
    assert_eq!(store.points("s").unwrap().len(), 2);
    store.close().unwrap();
    assert_eq!(world.gc().held_back, None);
    assert_eq!(world.rebuild().losses, ["the bytes of 3 contents or tree nodes"]);
}

#[test]
fn counts_are_corrected() {
    let (world, a, _) = world();
    let store = world.open();
    let hash = Hash::of_blob(&a);
    store
        .inner()
        .index
        .write(store.inner().deadline(), |tables| {
            let row = tables.object(hash)?.unwrap();
            tables.put_object(hash, &ObjectRow { refs: 0, ..row })?;
            let (number, mut segment) = tables.segments()?.pop().unwrap();
            segment.live_bytes = 1;
            segment.journal_bytes = 2;
            tables.put_segment(number, &segment)?;
            Ok(Some(()))
        })
        .unwrap();
    store.inner().note_damage("a test");
    store.close().unwrap();
    let before = everything(&world.open()).unwrap();
    let report = settled(&world);
    assert!(report.actions.iter().any(|action| action.contains("corrected")), "{:?}", report.actions);
    assert_eq!(world.gc().held_back, None);
    assert_eq!(everything(&world.open()).unwrap(), before);
}

#[test]
fn headers_format_note_and_directories_are_restored() {
    let (world, ..) = world();
    let segment = world.segments().pop().unwrap();
    flip(&segment, 3);
    fs::write(world.store.join("format"), b"nonsense").unwrap();
    fs::remove_file(world.store.join("README.txt")).unwrap();
    fs::remove_dir(world.store.join("quarantine")).unwrap();
    fs::remove_dir_all(world.store.join("locks")).unwrap();
    let before = world.fsck();
    for kind in [FindingKind::SegmentHeader, FindingKind::Format, FindingKind::Readme, FindingKind::Directory] {
        assert!(before.has(kind), "{kind:?}");
    }
    // With its only segment's header gone, only the index knows which store this is.
    settled(&world);
    assert_eq!(world.fsck().findings, []);
    assert_eq!(world.open().points("s").unwrap().len(), 2);
}

#[test]
fn a_large_content_is_healed_from_its_file_or_lost() {
    for heal in [true, false] {
        let world = World::new();
        let store = world.open();
        let session = world.session(&store, "s");
        let content = vec![9; 5 << 20];
        session.track(&world.write("big.bin", &content)).unwrap();
        take(&session);
        drop(session);
        store.close().unwrap();
        if !heal {
            world.write("big.bin", b"small");
        }
        let large = crate::fsck::testing::files_below(&world.store.join("large")).pop().unwrap();
        let length = fs::metadata(&large).unwrap().len();
        flip(&large, length / 2);
        let report = settled(&world);
        assert_eq!((report.healed, report.lost.len()), if heal { (1, 0) } else { (0, 1) });
        assert!(!large.exists());
        assert_eq!(fs::read_dir(world.store.join("quarantine")).unwrap().count(), 1);
        let mut bytes = Vec::new();
        let read = world.open().copy_blob(Hash::of_blob(&content), &mut bytes);
        assert_eq!(read.is_ok(), heal);
        world.gc();
        assert!(world.fsck().is_clean());
    }
}

#[test]
fn a_damaged_index_is_left_to_the_rebuild() {
    let (world, ..) = world();
    fs::write(world.store.join("index.redb"), b"nonsense").unwrap();
    let error = repair(Arc::new(RealIo), &world.store, &RepairOptions::default()).unwrap_err();
    assert_eq!(error.kind(), crate::ErrorKind::IndexDamaged);
    assert!(error.hint().contains("--rebuild-index"), "{}", error.hint());
    world.rebuild();
    settled(&world);
}
