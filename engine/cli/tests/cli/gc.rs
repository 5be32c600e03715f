//! `gc`.

use candy_store::io::{Io, LockMode, RealIo};
use candy_store::lock::Lock;
use std::sync::Arc;

use crate::helper::Cli;

/// Drops the session, so that all it held is garbage.
fn litter(cli: &Cli) {
    // Bytes that no compression makes smaller.
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    let bytes: Vec<u8> = (0..3_000_000).map(|_| next()).collect();
    cli.write("big", &bytes);
    cli.point("litter", "x", &["big"]);
    cli.open().drop_session("litter").unwrap();
}

#[test]
fn a_dry_run_says_what_the_real_run_then_frees() {
    let cli = Cli::new();
    cli.story();
    litter(&cli);
    let dry = cli.run(&["gc", "--dry-run", "--force", "--json"]).ok().document();
    let size = |cli: &Cli| -> u64 { cli.segments().iter().map(|path| path.metadata().unwrap().len()).sum() };
    let before = size(&cli);
    let real = cli.run(&["gc", "--force", "--json"]).ok().document();
    assert!(dry["freed_bytes"].as_u64().unwrap() > 2_000_000, "{dry}");
    assert_eq!(dry["freed_bytes"], real["freed_bytes"]);
    assert_eq!(dry["dropped_objects"], real["dropped_objects"]);
    assert!(size(&cli) < before - 2_000_000);
    cli.run(&["fsck", "--read-data"]).ok();
    cli.run(&["restore", "story:3"]).ok();
}

#[test]
fn what_is_not_due_is_said_to_be_so() {
    let cli = Cli::new();
    cli.story();
    let run = cli.run(&["gc"]).ok();
    assert!(run.out().contains("not due yet") || run.out().contains("nothing can be freed"), "{}", run.out());
    assert_eq!(cli.run(&["gc", "--json"]).ok().document()["ran"], false);
}

#[test]
fn much_garbage_is_due() {
    let cli = Cli::new();
    litter(&cli);
    let run = cli.run(&["gc"]).ok();
    assert!(run.out().starts_with("freed 2.86 MiB"), "{}", run.out());
}

#[test]
fn another_collection_is_waited_for_and_not_for_ever() {
    let cli = Cli::new();
    cli.story();
    let io: Arc<dyn Io> = Arc::new(RealIo);
    let lock = Lock::try_new(&io, &cli.store.join("locks/gc"), LockMode::Exclusive).unwrap().unwrap();
    cli.run(&["gc", "--force", "--lock-wait", "0.2"]).ends(11).says(&["CANDY_LOCK_TIMEOUT", "--lock-wait"]);
    drop(lock);
    cli.run(&["gc", "--force", "--lock-wait", "0.2"]).ok();
}

#[test]
fn read_only_allows_a_dry_run_alone() {
    let cli = Cli::new();
    cli.story();
    cli.run(&["gc", "--read-only"]).ends(2).says(&["--dry-run"]);
    cli.run(&["gc", "--read-only", "--dry-run"]).ok();
}
