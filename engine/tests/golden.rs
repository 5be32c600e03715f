//! A store written in format version 1, checked in byte by byte: every later program must read it, find nothing wrong
//! with it and rebuild its index.
//!
//! `tests/golden/v1/store` was written once by `write_the_golden_store` below and is never written again: a change of
//! the format gets a new version and a new directory. `tests/golden/v1/content.txt` says what is in it, by the hashes of
//! the contents as they were in the workspace.
#![allow(clippy::disallowed_methods, reason = "the test copies files of its own")]
#![allow(clippy::unwrap_used, reason = "a test says what it expects by stopping there")]

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use candy_store::fsck::{FsckOptions, RebuildOptions, check_path, rebuild};
use candy_store::gc::GcOptions;
use candy_store::io::RealIo;
use candy_store::tree::Entry;
use candy_store::{NewRedoItem, PointKind, RedoKind, Session, SessionOptions, SnapshotRequest, Store, StoreOptions};

/// Where the workspace was when the golden store was written. Its sessions name it; nothing has to be there.
const WORKSPACE: &str = "/tmp/candy-store-golden/work";

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1")
}

fn copy_files(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    fs::set_permissions(to, fs::Permissions::from_mode(0o700)).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_files(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// A copy to work on. Directories without files are not kept in the repository.
fn copy() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().canonicalize().unwrap().join("store");
    copy_files(&golden().join("store"), &store);
    for name in ["locks", "quarantine"] {
        let _ = fs::create_dir(store.join(name));
    }
    (folder, store)
}

fn open(path: &Path) -> Store {
    Store::open(path, &StoreOptions { create: false, ..StoreOptions::default() }).unwrap()
}

/// One line per entry, or one for all of them.
fn describe(store: &Store, out: &mut String, entries: Vec<(candy_store::tree::TrackedPath, Entry)>, whole: bool) {
    let mut lines = String::new();
    for (path, entry) in entries {
        let (state, content) = match &entry {
            Entry::File { content, size, mode } => (format!("file {size} {mode:o}"), Some(*content)),
            other => (format!("{other:?}"), None),
        };
        let hash = content.map_or_else(String::new, |content| {
            let mut bytes = Vec::new();
            store.copy_blob(content, &mut bytes).unwrap();
            blake3::hash(&bytes).to_hex().to_string()
        });
        writeln!(lines, "    {} | {state} | {hash}", path.display()).unwrap();
    }
    if whole {
        out.push_str(&lines);
    } else {
        writeln!(out, "    {} entries, {}", lines.lines().count(), blake3::hash(lines.as_bytes())).unwrap();
    }
}

/// Everything in the store, as text.
fn content(store: &Store) -> String {
    let mut out = String::new();
    let mut sessions = store.sessions().unwrap();
    sessions.sort_by(|a, b| a.id.cmp(&b.id));
    for session in sessions {
        let from = session.forked_from.as_deref().unwrap_or("-");
        writeln!(out, "session {} in {} from {from}", session.id, session.cwd.display()).unwrap();
        let points = store.points(&session.id).unwrap();
        let last = points.len().saturating_sub(1);
        for (n, point) in points.into_iter().enumerate() {
            let (kind, prompt) = (point.kind.word(), point.prompt.as_deref().unwrap_or("-"));
            let (entry, gaps) = (point.entry.as_deref().unwrap_or("-"), point.gaps.join(","));
            writeln!(out, "  point {} {} {kind} | {prompt} | {entry} | {gaps}", point.seq, point.id).unwrap();
            describe(store, &mut out, store.entries(point.roots).unwrap(), n == 0 || n == last);
        }
        for item in store.redo_items(&session.id).unwrap() {
            writeln!(out, "  redo {:?} {:?}", item.kind, item.old_leaf).unwrap();
            describe(store, &mut out, store.entries(item.roots).unwrap(), false);
        }
    }
    out
}

fn expected() -> String {
    fs::read_to_string(golden().join("content.txt")).unwrap()
}

fn check(path: &Path) {
    let options = FsckOptions { read_data: true, ..FsckOptions::default() };
    let report = check_path(Arc::new(RealIo), path, &options).unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
}

#[test]
fn a_store_of_format_version_1_opens_and_reads() {
    let (_folder, path) = copy();
    let store = open(&path);
    assert_eq!(store.format().format, 1);
    assert_eq!(content(&store), expected());
}

#[test]
fn a_store_of_format_version_1_is_whole() {
    let (_folder, path) = copy();
    check(&path);
}

#[test]
fn a_store_of_format_version_1_can_be_rebuilt() {
    let (_folder, path) = copy();
    fs::remove_file(path.join("index.redb")).unwrap();
    let report = rebuild(Arc::new(RealIo), &path, &RebuildOptions::default()).unwrap();
    assert_eq!(report.losses, Vec::<String>::new());
    assert_eq!(content(&open(&path)), expected());
    check(&path);
}

#[test]
fn a_store_of_format_version_1_is_collected_without_a_loss() {
    let (_folder, path) = copy();
    let store = open(&path);
    let report = store.gc(&GcOptions { force: true, dry_run: false }).unwrap();
    assert_eq!(report.held_back, None);
    assert_eq!(content(&store), expected());
    store.close().unwrap();
    check(&path);
}

/// Text whose lines follow from a number.
fn text(seed: u32, lines: u32) -> Vec<u8> {
    (0..lines)
        .flat_map(|n| format!("let value_{n} = {};\n", (n + seed).wrapping_mul(2_654_435_761)).into_bytes())
        .collect()
}

fn take(session: &Session, prompt: &str) -> candy_store::Point {
    let prompt = Some(prompt.to_owned());
    session.snapshot(&SnapshotRequest { prompt, ..SnapshotRequest::of(PointKind::Operation) }).unwrap().point
}

#[test]
#[ignore = "writes tests/golden/v1, which is done once for each version of the format"]
fn write_the_golden_store() {
    let target = golden();
    assert!(!target.join("store").exists(), "a golden store is never written again");
    let cwd = PathBuf::from(WORKSPACE);
    let root = cwd.parent().unwrap();
    let _ = fs::remove_dir_all(root);
    fs::create_dir_all(&cwd).unwrap();
    let path = root.join("store");
    let write = |name: &str, bytes: &[u8]| {
        let path = cwd.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        path
    };
    let options = |id: &str| SessionOptions { id: id.into(), cwd: cwd.clone(), exclude: vec![], max_file_bytes: 0 };
    let store = Store::open(&path, &StoreOptions::default()).unwrap();
    let session = store.open_session(&options("one")).unwrap();
    session.track(&write("src/main.rs", &text(1, 120))).unwrap();
    session.track(&write("\u{540d}/\u{1f600}.txt", b"hello")).unwrap();
    session.track(&write("big.bin", &vec![0; (4 << 20) + 1])).unwrap();
    session.track(&write("empty", b"")).unwrap();
    session.track(&cwd.join("later.rs")).unwrap();
    session.track(&root.join("outside.txt")).unwrap();
    for n in 0..70 {
        session.track(&write(&format!("many/{n:02}.rs"), &text(n, 3))).unwrap();
    }
    let first = take(&session, "first prompt");
    session.bind(first.id, "entry-1").unwrap();
    let mut main = text(1, 120);
    for n in 0..12u32 {
        main.splice(40..40, format!("// edit {n}\n").into_bytes());
        write("src/main.rs", &main);
        write("later.rs", &text(n, 2));
        take(&session, &format!("edit {n}"));
    }
    fs::remove_file(cwd.join("empty")).unwrap();
    let last = take(&session, "removed a file");
    session.add_gaps(last.id, &["a tool wrote outside".to_owned()]).unwrap();
    let item = NewRedoItem { kind: RedoKind::Both, point: Some(first.id), old_leaf: Some("leaf".into()), items_max: 5 };
    session.redo_push(&item).unwrap();
    store.fork("one", "two", &cwd).unwrap();
    store.drop_points("one", &[4, 5, 6]).unwrap();
    drop(session);
    store.close().unwrap();
    // A checkpoint, in a segment that a collection wrote, and transactions after it.
    let store = Store::open(&path, &StoreOptions::default()).unwrap();
    let other = store.open_session(&options("three")).unwrap();
    other.track(&write("three.rs", &text(9, 900))).unwrap();
    take(&other, "three");
    drop(other);
    store.close().unwrap();
    let store = Store::open(&path, &StoreOptions::default()).unwrap();
    store.drop_session("three").unwrap();
    store.gc(&GcOptions { force: true, dry_run: false }).unwrap();
    let session = store.open_session(&options("two")).unwrap();
    main.splice(80..80, *b"// after the collection\n");
    write("src/main.rs", &main);
    take(&session, "after");
    drop(session);
    let text = content(&store);
    store.close().unwrap();
    check(&path);
    fs::create_dir_all(&target).unwrap();
    copy_files(&path, &target.join("store"));
    let _ = fs::remove_dir_all(target.join("store/locks"));
    let _ = fs::remove_dir_all(target.join("store/quarantine"));
    fs::write(target.join("content.txt"), text).unwrap();
    fs::remove_dir_all(root).unwrap();
}
