//! A rebuilt index is the index that was.

use std::fs;
use std::sync::Arc;

use crate::fsck::testing::{FORCE, History, Random, World, commit, edit, everything, logical, references, take, text};
use crate::fsck::{RebuildOptions, RepairOptions, rebuild, repair};
use crate::hash::Hash;
use crate::id::Id;
use crate::index::rows::FrameRef;
use crate::index::tables::{Logical, Rows as _, RowsExt as _};
use crate::io::RealIo;
use crate::journal::{Change, Journal};
use crate::object::pending::Pending;
use crate::segment::record::{Encoding, Record};
use crate::segment::writer::SegmentWriter;

type State = (Vec<(Logical, Vec<u8>, Vec<u8>)>, std::collections::BTreeMap<crate::Hash, (u64, bool)>);

/// Says where two states differ.
fn assert_same(after: &State, before: &State, what: &str) {
    for (after, before) in after.0.iter().zip(&before.0) {
        assert_eq!(after, before, "{what}");
    }
    assert_eq!(after.0.len(), before.0.len(), "{what}");
    assert!(after.1 == before.1, "{what}: references");
}

fn state(world: &World) -> State {
    let store = world.open();
    let state = (logical(&store), references(&store));
    store.close().unwrap();
    state
}

#[test]
fn the_index_of_a_store_without_history_is_rebuilt_too() {
    let world = World::new();
    let before = state(&world);
    fs::remove_file(world.store.join("index.redb")).unwrap();
    assert_eq!(world.rebuild().losses, Vec::<String>::new());
    assert_same(&state(&world), &before, "an empty store");
}

#[test]
fn a_rebuilt_index_equals_the_one_that_was_whatever_happened() {
    rebuild_histories(0..6);
}

#[test]
#[ignore = "takes minutes: for a run by hand after changes of the journal or the rebuild"]
fn many_rebuilt_indexes_equal_the_ones_that_were() {
    rebuild_histories(1000..1100);
}

fn rebuild_histories(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let world = World::new();
        let mut history = History::new(&world, 100 + seed);
        history.large = seed % 8 == 2;
        for round in 0..3 {
            history.run(50);
            let before = state(&world);
            let read = everything(&world.open()).unwrap();
            if round == 1 {
                fs::remove_file(world.store.join("index.redb")).unwrap();
            }
            let report = world.rebuild();
            assert_eq!(report.losses, Vec::<String>::new());
            assert_same(&state(&world), &before, &format!("seed {seed} round {round}"));
            assert_eq!(everything(&world.open()).unwrap(), read);
            let fsck = world.fsck();
            assert!(fsck.is_clean(), "seed {seed} round {round}: {:?}", fsck.findings);
        }
        // Collections go on with what was rebuilt.
        let before = everything(&world.open()).unwrap();
        assert_eq!(world.gc().held_back, None);
        assert_eq!(everything(&world.open()).unwrap(), before);
        assert!(world.fsck().is_clean());
    }
}

#[test]
fn rebuilding_twice_gives_the_same_index() {
    let world = World::new();
    History::new(&world, 55).run(120);
    world.rebuild();
    let all = || {
        let store = world.open();
        let mut rows = Vec::new();
        store
            .inner()
            .read(|read| {
                rows.push(format!("{:?}", read.segments()?));
                let mut objects = Vec::new();
                read.each_object(&mut |hash, row| {
                    objects.push(format!("{hash} {row:?}"));
                    Ok(())
                })?;
                rows.extend(objects);
                Ok(())
            })
            .unwrap();
        (rows, logical(&store))
    };
    let first = all();
    let report = world.rebuild();
    assert!(first == all());
    assert_eq!(report.old_index.unwrap().file_name().unwrap(), "index-2.redb");
}

#[test]
fn live_sessions_go_on_with_a_rebuilt_index() {
    let world = World::new();
    let store = world.open();
    let session = world.session(&store, "s");
    let path = world.write("a.rs", b"one");
    session.track(&path).unwrap();
    take(&session);
    world.rebuild();
    world.write("a.rs", b"two");
    let point = take(&session);
    assert_eq!(store.points("s").unwrap().len(), 2);
    let other = world.open();
    assert_eq!(other.point(point.id).unwrap(), point);
    assert!(world.fsck().is_clean());
}

#[test]
fn the_format_is_restored_from_the_segments() {
    let world = World::new();
    History::new(&world, 5).run(20);
    let before = state(&world);
    let format = fs::read(world.store.join("format")).unwrap();
    fs::remove_file(world.store.join("format")).unwrap();
    fs::remove_file(world.store.join("index.redb")).unwrap();
    world.rebuild();
    assert_eq!(fs::read(world.store.join("format")).unwrap(), format);
    assert_same(&state(&world), &before, "");
}

/// Commits `change`, and takes the commit back by putting the index of before in its place. The frame stays, as after a
/// kill between its sync and the commit.
fn written_and_not_committed(world: &World, change: Change) {
    let index = world.store.join("index.redb");
    let before = fs::read(&index).unwrap();
    let store = world.open();
    commit(&store, vec![change]);
    store.close().unwrap();
    fs::write(&index, before).unwrap();
}

fn opened(id: &str) -> Change {
    Change::SessionOpened { session: id.into(), cwd: b"/w".to_vec(), layer: Id::random() }
}

#[test]
fn a_transaction_that_was_written_last_and_not_committed_may_appear_but_only_whole() {
    let world = World::new();
    History::new(&world, 3).run(20);
    written_and_not_committed(&world, opened("tip"));
    assert!(world.fsck().is_clean());
    world.rebuild();
    assert!(world.open().has_session("tip").unwrap());
    assert!(world.fsck().is_clean());
}

#[test]
fn a_transaction_that_was_not_committed_never_appears_once_another_took_its_number() {
    let world = World::new();
    History::new(&world, 3).run(20);
    written_and_not_committed(&world, opened("void-1"));
    written_and_not_committed(&world, opened("void-2"));
    std::thread::sleep(std::time::Duration::from_millis(2));
    let store = world.open();
    commit(&store, vec![opened("real")]);
    store.close().unwrap();
    for _ in 0..2 {
        world.rebuild();
        let store = world.open();
        assert!(store.has_session("real").unwrap());
        assert!(!store.has_session("void-1").unwrap() && !store.has_session("void-2").unwrap());
        commit(&store, vec![opened("next")]);
    }
}

#[test]
fn a_checkpoint_that_was_not_committed_hides_nothing() {
    let world = World::new();
    History::new(&world, 4).run(30);
    let index = world.store.join("index.redb");
    let before = fs::read(&index).unwrap();
    let store = world.open();
    let mut slot = None;
    let inner = store.inner();
    inner
        .index
        .write(inner.deadline(), |tables| {
            inner.write_checkpoint(tables, &mut slot, &mut false)?;
            Ok(Some(()))
        })
        .unwrap();
    drop(slot);
    store.close().unwrap();
    fs::write(&index, before).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2));
    let store = world.open();
    commit(&store, vec![opened("after")]);
    store.close().unwrap();
    let before = state(&world);
    world.rebuild();
    assert_same(&state(&world), &before, "");
}

#[test]
fn a_transaction_that_was_not_committed_does_not_come_back_without_its_contents() {
    let world = World::new();
    let store = world.open();
    let session = world.session(&store, "s");
    let path = world.write("big.bin", &vec![1; 5 << 20]);
    session.track(&path).unwrap();
    let point = take(&session);
    drop(session);
    store.close().unwrap();
    let pin = crate::index::rows::PinRow { session: "s".into(), roots: point.roots, created_ms: 1 };
    written_and_not_committed(&world, Change::Pinned { point: point.id, pin });
    let store = world.open();
    store.inner().commit(&mut Pending::default(), |_, _| Ok(None::<(Vec<Change>, ())>)).unwrap();
    store.drop_session("s").unwrap();
    store.gc(&FORCE).unwrap();
    store.close().unwrap();
    let report = world.rebuild();
    assert_eq!(report.losses, Vec::<String>::new());
    assert!(world.fsck().findings.iter().all(|finding| finding.object.is_none()));
}

#[test]
fn copies_of_one_object_that_are_deltas_of_each_other_are_no_circle() {
    let world = World::new();
    let mut random = Random(9);
    let first = text(&mut random, 200);
    let mut second = first.clone();
    edit(&mut random, &mut second);
    // One process stores `first` and `second` on it; after a rebuild that drops both, another does it the other way.
    for (a, b) in [(&first, &second), (&second, &first)] {
        let store = world.open();
        let session = world.session(&store, "s");
        let path = world.write("a.rs", a);
        session.track(&path).unwrap();
        take(&session);
        world.write("a.rs", b);
        take(&session);
        drop(session);
        let before = everything(&store).unwrap();
        store.close().unwrap();
        world.rebuild();
        assert_eq!(everything(&world.open()).unwrap(), before);
        let store = world.open();
        store.drop_session("s").unwrap();
        store.close().unwrap();
        world.rebuild();
    }
    let mut deltas = 0;
    let store = world.open();
    store
        .inner()
        .read(|rows| {
            rows.each_object(&mut |_, row| {
                deltas += u32::from(row.base.is_some());
                Ok(())
            })
        })
        .unwrap();
    assert_eq!(deltas, 0);
    assert_eq!(world.segments().len(), 4);
}

#[test]
fn without_a_whole_history_what_is_left_is_brought_back_and_the_loss_is_told() {
    let world = World::new();
    let store = world.open();
    let session = world.session(&store, "s");
    let path = world.write("a.rs", b"one");
    session.track(&path).unwrap();
    take(&session);
    drop(session);
    store.close().unwrap();
    let first = world.segments().pop().unwrap();
    let store = world.open();
    let session = world.session(&store, "s");
    world.write("a.rs", b"two");
    let point = take(&session);
    drop(session);
    store.close().unwrap();
    fs::remove_file(first).unwrap();
    let report = world.rebuild();
    assert!(!report.losses.is_empty());
    let store = world.open();
    let points = store.points("s").unwrap();
    assert_eq!(points.iter().map(|point| point.id).collect::<Vec<_>>(), [point.id]);
    assert_eq!(&*store.read_blob(crate::Hash::of_blob(b"two")).unwrap(), b"two");
    // Until somebody has looked at it, nothing is deleted: the missing segment may yet be found.
    assert!(store.inner().read(|rows| rows.state()).unwrap().damage.is_some());
    assert!(store.gc(&FORCE).unwrap().held_back.is_some());
    assert_eq!(store.inner().read(|rows| rows.session_or_error("s")).unwrap().cwd, b"/nonexistent");
}

#[test]
fn a_rebuild_waits_for_whoever_is_in_a_transaction_and_gives_up_in_time() {
    let world = World::new();
    let store = world.open();
    let options = RebuildOptions { lock_wait: std::time::Duration::from_millis(50), ..RebuildOptions::default() };
    store
        .inner()
        .read(|_| {
            let error = rebuild(Arc::new(RealIo), &world.store, &options).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::LockTimeout);
            Ok(())
        })
        .unwrap();
}

/// Appends one frame of hand-made records to a new segment whose owner is gone.
fn append(world: &World, records: &[Record<'_>], order: u64) {
    let io: Arc<dyn crate::io::Io> = Arc::new(RealIo);
    let store = world.open().format().store;
    let mut writer = SegmentWriter::create(&io, &world.store, store).unwrap();
    let mut frame = writer.frame();
    records.iter().for_each(|record| frame.push(record));
    let appended = writer.append(&frame.finish(writer.segment(), order)).unwrap();
    writer.sync(vec![appended]).unwrap();
    writer.seal();
}

fn record(kind: u8, encoding: Encoding, hash: Option<Hash>, references: Vec<Hash>, payload: &[u8]) -> Record<'_> {
    Record { kind, encoding, raw_len: payload.len() as u32, hash, references, payload }
}

#[test]
fn what_a_record_of_an_unknown_kind_refers_to_is_kept() {
    let world = World::new();
    let store = world.open();
    let session = world.session(&store, "s");
    session.track(&world.write("a.rs", b"referred to")).unwrap();
    session.track(&world.write("b.rs", b"not referred to")).unwrap();
    take(&session);
    drop(session);
    store.close().unwrap();
    let (kept, gone) = (Hash::of_blob(b"referred to"), Hash::of_blob(b"not referred to"));
    append(
        &world,
        &[
            record(77, Encoding::Raw, Some(Hash::of_blob(b"?")), vec![kept], b"from a newer program"),
            record(200, Encoding::Zstd, None, vec![], b"this, too"),
        ],
        0,
    );
    world.rebuild();
    assert!(world.fsck().is_clean(), "{:?}", world.fsck().findings);
    let store = world.open();
    store.drop_session("s").unwrap();
    store.gc(&FORCE).unwrap();
    assert_eq!(*store.read_blob(kept).unwrap(), *b"referred to");
    assert!(!store.has_content(gone).unwrap());
    store.close().unwrap();
    world.gc();
    assert!(world.fsck().is_clean(), "{:?}", world.fsck().findings);
    // The segment with the records themselves is still there.
    let segments: Vec<Vec<u8>> = world.segments().iter().map(|path| fs::read(path).unwrap()).collect();
    assert!(segments.iter().any(|bytes| bytes.windows(20).any(|window| window == b"from a newer program")));
}

#[test]
fn segments_made_by_an_enemy_end_in_an_index_or_an_error_and_never_in_a_panic() {
    for seed in 0..60 {
        let world = World::new();
        let store = world.open();
        let session = world.session(&store, "s");
        session.track(&world.write("a.rs", b"mine")).unwrap();
        take(&session);
        drop(session);
        store.close().unwrap();
        let mut random = Random(seed);
        let hashes: Vec<Hash> = (0..4u8).map(|n| Hash::of_blob(&[n])).chain([Hash::of_blob(b"mine")]).collect();
        let payloads = hostile_payloads(&mut random, &hashes);
        let records: Vec<Record<'_>> = (0..12)
            .map(|_| {
                let payload = &payloads[random.below(payloads.len())];
                let kind = [1, 1, 2, 2, 77, 128, 128, 200][random.below(8)];
                let encoding = match random.below(4) {
                    0 => Encoding::Raw,
                    1 => Encoding::Zstd,
                    2 => Encoding::Delta,
                    _ => Encoding::DeltaNear(random.below(400) as u32),
                };
                let hash = (kind < 128).then(|| hashes[random.below(hashes.len())]);
                let references = (0..random.below(3)).map(|_| hashes[random.below(hashes.len())]).collect();
                let mut record = record(kind, encoding, hash, references, payload);
                if random.chance(20) {
                    record.raw_len = random.next() as u32;
                }
                record
            })
            .collect();
        append(&world, &records, [0, 1, 5, u64::MAX][random.below(4)]);
        let _ = world.fsck();
        let _ = rebuild(Arc::new(RealIo), &world.store, &RebuildOptions::default());
        let _ = world.fsck();
        let _ = repair(Arc::new(RealIo), &world.store, &RepairOptions::default());
        if let Ok(store) = crate::store::Store::open(&world.store, &crate::store::StoreOptions::default()) {
            let _ = everything(&store);
            let _ = store.gc(&FORCE);
        }
    }
}

fn hostile_payloads(random: &mut Random, hashes: &[Hash]) -> Vec<Vec<u8>> {
    let roots = crate::tree::Roots { workspace: Some(hashes[0]), absolute: Some(hashes[1]) };
    let parent = Some(FrameRef { order: random.next() % 4, segment: Id::random(), offset: 64 });
    let pin = crate::index::rows::PinRow { session: "nobody".into(), roots, created_ms: i64::MIN };
    let changes = vec![
        Change::Pinned { point: Id::random(), pin },
        Change::RedoPopped { session: "nobody".into() },
        Change::PointsDropped { session: "s".into(), seqs: vec![u64::MAX, 0, 1] },
        Change::Forked {
            from: "s".into(),
            to: "t".into(),
            cwd: vec![0xff],
            sealed: Id::random(),
            layers: [Id::random(), Id::random()],
            points: vec![],
        },
    ];
    let rows = vec![(1, vec![], vec![1, 2, 3]), (250, vec![], vec![]), (5, vec![0; 3], vec![])];
    let noise: Vec<u8> = (0..random.below(200)).map(|_| random.next() as u8).collect();
    let leaf = crate::tree::Node::Leaf(vec![(
        crate::tree::ManifestPath::parse(b"a").unwrap(),
        crate::tree::Entry::File { content: hashes[2], size: u64::MAX, mode: 0 },
    )]);
    vec![
        Vec::new(),
        noise,
        leaf.encode(),
        crate::codec::encode(&Journal::Changes { parent, at_ms: i64::MAX, changes }),
        crate::codec::encode(&Journal::Checkpoint { parent, at_ms: 0, rows }),
        crate::codec::encode(&Journal::Checkpoint { parent: None, at_ms: 0, rows: vec![] }),
    ]
}
