//! Seeded damage to any file: found, or provably harmless; never a panic, never wrong bytes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::ErrorKind;
use crate::fsck::testing::{Everything, History, Random, World, copy_tree, everything, files_below, read_data};
use crate::fsck::{FindingKind, RebuildOptions, RepairOptions, check_path, rebuild, repair};
use crate::io::RealIo;
use crate::store::{Store, StoreOptions};

/// Does one of four bad things to a file. Says what.
fn damage(random: &mut Random, path: &Path) -> String {
    let mut bytes = fs::read(path).unwrap();
    let at = random.below(bytes.len());
    let what = match random.below(8) {
        0..4 => {
            bytes[at] ^= 1 << random.below(8);
            format!("flipped a bit of byte {at}")
        }
        4..6 => {
            let to = (at + 1 + random.below(4096)).min(bytes.len());
            bytes[at..to].fill(0);
            format!("zeroed {at}..{to}")
        }
        6 => {
            bytes.truncate(at);
            format!("cut at {at}")
        }
        _ => {
            fs::remove_file(path).unwrap();
            return "removed".to_owned();
        }
    };
    fs::write(path, bytes).unwrap();
    what
}

fn open(path: &Path) -> crate::Result<Store> {
    Store::open(path, &StoreOptions { create: false, ..StoreOptions::default() })
}

/// Whether everything reads as before. Panics on wrong bytes, and on an error that does not name damage.
fn same_as_before(path: &Path, before: &Everything, what: &str) -> bool {
    match open(path).and_then(|store| everything(&store)) {
        Ok(now) => now == *before,
        Err(error) => {
            let names_damage = matches!(
                error.kind(),
                ErrorKind::NoStore
                    | ErrorKind::Corrupt
                    | ErrorKind::IndexMissing
                    | ErrorKind::IndexDamaged
                    | ErrorKind::ObjectDamaged
                    | ErrorKind::ObjectMissing
                    | ErrorKind::NotFound
            );
            assert!(names_damage, "{what}: {error:?}");
            false
        }
    }
}

/// Damage to these is harmless by definition.
fn is_harmless_file(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "locks") || fs::metadata(path).unwrap().len() == 0
}

fn run_seeds(seeds: std::ops::Range<u64>) {
    let world = World::new();
    let mut history = History::new(&world, 1234);
    history.large = true;
    history.run(60);
    world.gc();
    history.run(30);
    let store = world.open();
    let before = everything(&store).unwrap();
    store.close().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for seed in seeds {
        let mut random = Random(seed);
        let copy = root.join(format!("copy-{seed}"));
        copy_tree(&world.store, &copy);
        let files: Vec<PathBuf> = files_below(&copy).into_iter().filter(|path| !is_harmless_file(path)).collect();
        let victim = &files[random.below(files.len())];
        let name = victim.strip_prefix(&copy).unwrap().display().to_string();
        let what = format!("seed {seed}: {name} {}", damage(&mut random, victim));

        let report = check_path(Arc::new(RealIo), &copy, &read_data());
        let found = report.as_ref().map_or(true, |report| !report.findings.is_empty());
        let clean = report.as_ref().is_ok_and(crate::fsck::FsckReport::is_clean);
        let same = same_as_before(&copy, &before, &what);
        assert!(found || same, "{what}: not found, and it costs something");
        assert!(!clean || same, "{what}: called clean, and it costs something: {report:?}");

        // Settling takes longest by far, and most damages are alike in it.
        if seed % 4 == 0 {
            settle(&copy, &what);
        }
        fs::remove_dir_all(&copy).unwrap();
    }
}

/// Whatever it was: afterwards the store works, and nothing is wrong with it.
fn settle(copy: &Path, what: &str) {
    let io = || Arc::new(RealIo);
    let report = check_path(io(), copy, &read_data()).unwrap();
    let needs_rebuild =
        [FindingKind::IndexMissing, FindingKind::IndexDamaged, FindingKind::IndexStale, FindingKind::IndexRows];
    if needs_rebuild.iter().any(|kind| report.has(*kind)) {
        rebuild(io(), copy, &RebuildOptions::default()).unwrap_or_else(|error| panic!("{what}: {error}"));
    }
    repair(io(), copy, &RepairOptions::default()).unwrap_or_else(|error| panic!("{what}: {error}"));
    let report = check_path(io(), copy, &read_data()).unwrap();
    assert!(report.is_clean(), "{what}: {:?}", report.findings);
    let store = open(copy).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(store.gc(&crate::fsck::testing::FORCE).unwrap().held_back, None, "{what}");
    store.close().unwrap();
    let report = check_path(io(), copy, &read_data()).unwrap();
    assert!(report.is_clean(), "{what} after gc: {:?}", report.findings);
    let report = rebuild(io(), copy, &RebuildOptions::default()).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(report.losses.iter().all(|loss| loss.contains("the bytes of")), "{what}: {:?}", report.losses);
}

#[test]
fn two_hundred_damages_are_found_or_harmless() {
    run_seeds(0..200);
}

#[test]
#[ignore = "takes minutes: for a run by hand after changes of the check"]
fn two_thousand_damages_are_found_or_harmless() {
    run_seeds(1000..3000);
}
