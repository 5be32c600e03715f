#![allow(clippy::disallowed_methods, reason = "the files of the workspace do not belong to the store")]

use std::path::{Path, PathBuf};

use crate::index::rows::PointKind;
use crate::session::{SessionOptions, SnapshotRequest};
use crate::store::{Store, StoreOptions};

fn snapshot(store: &Store, session: &str, cwd: &Path, add: &[PathBuf]) {
    let options = SessionOptions { id: session.into(), cwd: cwd.into(), exclude: vec![], max_file_bytes: 0 };
    let session = store.open_session(&options).unwrap();
    session.snapshot(&SnapshotRequest { add: add.to_vec(), ..SnapshotRequest::of(PointKind::Manual) }).unwrap();
}

fn text(seed: u64, lines: u64) -> String {
    (0..lines).map(|line| format!("line {line} of {}\n", (line + 1) * (seed + 7) * 2_654_435_761 % 99_991)).collect()
}

#[test]
fn versions_contents_and_owners_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let cwd = root.join("work");
    std::fs::create_dir(&cwd).unwrap();
    let store = Store::open(&root.join("store"), &StoreOptions::default()).unwrap();
    let (a, b) = (cwd.join("a.txt"), cwd.join("b.txt"));
    let (first, second) = (text(1, 200), text(1, 200) + "one more\n");
    std::fs::write(&a, &first).unwrap();
    std::fs::write(&b, &first).unwrap();
    snapshot(&store, "one", &cwd, &[a.clone(), b.clone()]);
    snapshot(&store, "two", &cwd, std::slice::from_ref(&a));
    std::fs::write(&a, &second).unwrap();
    snapshot(&store, "one", &cwd, &[]);

    let stats = store.stats().unwrap();
    assert_eq!(stats.points, 3);
    // a twice and b once in "one", a once in "two".
    assert_eq!(stats.versions, 4);
    assert_eq!(stats.version_bytes, 3 * first.len() as u64 + second.len() as u64);
    assert_eq!(stats.contents().objects, 2);
    assert_eq!(stats.contents().raw_bytes, (first.len() + second.len()) as u64);
    assert_eq!(stats.deltas.objects, 1);
    assert!(stats.deltas.stored_bytes < stats.full.stored_bytes);

    let session = |id: &str| stats.sessions.iter().find(|session| session.id == id).unwrap();
    assert_eq!((session("one").points, session("one").tracked, session("one").versions), (2, 2, 3));
    assert_eq!(session("one").own_bytes, stats.deltas.stored_bytes);
    assert_eq!(session("two").own_bytes, 0);
    assert_eq!(session("two").stored_bytes, stats.full.stored_bytes);

    assert_eq!(stats.paths[0].path, a);
    assert_eq!((stats.paths[0].versions, stats.paths[1].versions), (2, 1));
    assert_eq!(stats.unreadable_nodes, 0);
}

#[test]
fn the_parts_of_the_segments_add_up_to_their_files() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let cwd = root.join("work");
    std::fs::create_dir(&cwd).unwrap();
    let store = Store::open(&root.join("store"), &StoreOptions::default()).unwrap();
    let (small, large) = (cwd.join("small.txt"), cwd.join("large.bin"));
    std::fs::write(&small, text(2, 100)).unwrap();
    std::fs::write(&large, vec![7; 5 << 20]).unwrap();
    snapshot(&store, "one", &cwd, &[small, large]);

    let before = store.stats().unwrap().disk;
    assert_eq!(before.garbage_bytes, 0);
    assert!(before.large_bytes > 0 && before.index_bytes > 0 && before.segments == 1);
    let parts = before.live_bytes + before.journal_bytes + before.slack_bytes;
    assert_eq!(parts, before.segment_bytes);
    assert!(before.total_bytes > before.segment_bytes + before.large_bytes + before.index_bytes);

    store.drop_session("one").unwrap();
    let after = store.stats().unwrap();
    assert!(after.disk.garbage_bytes > 0);
    assert_eq!(after.disk.live_bytes, 0);
    assert_eq!(after.contents().objects + after.nodes.objects, 0);
    assert_eq!((after.versions, after.points, after.sessions.len()), (0, 0, 0));
}
