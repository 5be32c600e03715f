#![allow(clippy::disallowed_methods, reason = "the files belong to no store")]

use std::os::unix::fs::symlink;

use candy_store::{PointKind, SessionOptions, SnapshotRequest, StoreOptions};

use super::*;

struct Fixture {
    _folder: tempfile::TempDir,
    root: PathBuf,
    store: Store,
    files: Vec<(TrackedPath, Entry)>,
}

fn fixture() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::create_dir_all(root.join("w/d")).unwrap();
    std::fs::write(root.join("w/d/a"), "content").unwrap();
    std::fs::write(root.join("outside"), "other").unwrap();
    let store = Store::open(&root.join("store"), &StoreOptions::default()).unwrap();
    let options = SessionOptions { id: "s".into(), cwd: root.join("w"), exclude: vec![], max_file_bytes: 0 };
    let session = store.open_session(&options).unwrap();
    let add = vec![root.join("w/d/a"), root.join("outside")];
    let request = SnapshotRequest { add, ..SnapshotRequest::of(PointKind::Manual) };
    let point = session.snapshot(&request).unwrap().point;
    let files = store.entries(point.roots).unwrap();
    Fixture { _folder: folder, root, store, files }
}

impl Fixture {
    fn copy(&self, to: &str, overwrite: Overwrite) -> Vec<Result<Copied>> {
        let target = Target::open(&self.root.join(to), &self.store).unwrap();
        self.files.iter().map(|(path, entry)| target.copy(&self.store, path, entry, overwrite)).collect()
    }
}

#[test]
fn files_land_below_the_target_whatever_tree_they_are_from() {
    let fixture = fixture();
    let done: Vec<_> = fixture.copy("new/deep", Overwrite::Always).into_iter().map(Result::unwrap).collect();
    assert_eq!(done, [Copied::Created, Copied::Created]);
    assert_eq!(std::fs::read(fixture.root.join("new/deep/d/a")).unwrap(), b"content");
    let outside = fixture.root.strip_prefix("/").unwrap().join("outside");
    assert_eq!(std::fs::read(fixture.root.join("new/deep/_root").join(outside)).unwrap(), b"other");
    let target = Target::open(&fixture.root.join("new/deep"), &fixture.store).unwrap();
    assert!(fixture.files.iter().all(|(path, entry)| target.verify(path, entry.content().unwrap())));
    std::fs::write(fixture.root.join("new/deep/d/a"), "changed").unwrap();
    assert!(!target.verify(&fixture.files[0].0, fixture.files[0].1.content().unwrap()));
}

#[test]
fn what_is_there_is_treated_as_asked() {
    let fixture = fixture();
    fixture.copy("t", Overwrite::Always);
    let file = fixture.root.join("t/d/a");
    let first = |overwrite| fixture.copy("t", overwrite).remove(0).unwrap();
    assert_eq!(first(Overwrite::IfChanged), Copied::Same);
    std::fs::write(&file, "mine").unwrap();
    assert_eq!(first(Overwrite::Never), Copied::Kept);
    assert_eq!(std::fs::read(&file).unwrap(), b"mine");
    assert_eq!(first(Overwrite::IfChanged), Copied::Replaced);
    assert_eq!(std::fs::read(&file).unwrap(), b"content");
}

#[test]
fn a_link_in_the_target_is_neither_followed_nor_replaced() {
    let fixture = fixture();
    let elsewhere = fixture.root.join("elsewhere");
    std::fs::create_dir_all(&elsewhere).unwrap();
    std::fs::create_dir_all(fixture.root.join("t1")).unwrap();
    symlink(&elsewhere, fixture.root.join("t1/d")).unwrap();
    assert!(fixture.copy("t1", Overwrite::Always)[0].is_err());
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);

    std::fs::create_dir_all(fixture.root.join("t2/d")).unwrap();
    std::fs::write(elsewhere.join("victim"), "v").unwrap();
    symlink(elsewhere.join("victim"), fixture.root.join("t2/d/a")).unwrap();
    let failure = fixture.copy("t2", Overwrite::Always).remove(0).unwrap_err();
    assert!(failure.message().contains("symbolic link"), "{failure:?}");
    assert_eq!(std::fs::read(elsewhere.join("victim")).unwrap(), b"v");
}

#[test]
fn the_store_is_no_target() {
    let fixture = fixture();
    symlink(fixture.store.path(), fixture.root.join("alias")).unwrap();
    for to in ["store", "store/new", "alias/new"] {
        assert!(Target::open(&fixture.root.join(to), &fixture.store).is_err(), "{to}");
    }
}
