//! The matrix of what happens to each file (seed design, section 3.1, second table).

use super::*;

#[test]
fn another_content_or_mode_is_written_back_and_the_same_one_is_not_touched() {
    let world = World::new();
    world.write("dir/run.sh", "#!/bin/sh\n");
    world.chmod("dir/run.sh", 0o755);
    world.write("same.txt", "same");
    world.agent_writes("same.txt", "same");
    let point = world.point();
    world.agent_does("dir/run.sh", |path| {
        fs::write(path, "#!/bin/sh\necho\n").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
    });
    let untouched = identity(&world.path("same.txt"));
    let ticket = world.plan(&point);
    assert_eq!((ticket.plan.changed, ticket.plan.added, ticket.plan.removed), (1, 0, 1));
    assert_eq!(world.planned(&ticket, "same.txt").action, FileAction::Unchanged);
    let report = world.undo(&point);
    assert_eq!((report.restored, report.unchanged, report.skipped), (1, 1, 0));
    assert_eq!(world.text("dir/run.sh").unwrap(), "#!/bin/sh\n");
    assert_eq!(world.mode("dir/run.sh"), 0o755);
    assert_eq!(identity(&world.path("same.txt")), untouched);
    world.assert_tidy();
    // Absolute and idempotent: once more does nothing.
    let again = world.undo(&point);
    assert_eq!((again.restored, again.unchanged), (0, 2));
}

#[test]
fn a_mode_alone_is_a_change_of_one_file_and_no_line() {
    let world = World::new();
    world.write("run.sh", "x\n");
    world.chmod("run.sh", 0o755);
    let point = world.point();
    world.agent_does("run.sh", |path| fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap());
    let inode = identity(&world.path("run.sh")).0;
    let ticket = world.plan(&point);
    assert_eq!(world.planned(&ticket, "run.sh").action, FileAction::Chmod);
    assert_eq!((ticket.plan.changed, ticket.plan.added, ticket.plan.removed), (1, 0, 0));
    assert_eq!(world.undo(&point).restored, 1);
    assert_eq!(world.mode("run.sh"), 0o755);
    assert_eq!(identity(&world.path("run.sh")).0, inode);
}

#[test]
fn a_file_that_is_gone_comes_back_with_its_directories() {
    let world = World::new();
    world.write("a/b/c.txt", "one\ntwo\n");
    world.chmod("a/b/c.txt", 0o640);
    world.agent_writes("a/b/c.txt", "one\ntwo\n");
    let point = world.point();
    fs::remove_dir_all(world.path("a")).unwrap();
    let ticket = world.plan(&point);
    assert_eq!(world.planned(&ticket, "a/b/c.txt").action, FileAction::Create);
    assert_eq!((ticket.plan.added, ticket.plan.removed), (2, 0));
    assert_eq!(world.undo(&point).restored, 1);
    assert_eq!(world.text("a/b/c.txt").unwrap(), "one\ntwo\n");
    assert_eq!(world.mode("a/b/c.txt"), 0o640);
    world.assert_tidy();
}

#[test]
fn a_file_that_did_not_exist_then_is_deleted_and_its_directory_stays() {
    let world = World::new();
    let point = world.point();
    world.agent_writes("d/new.txt", "1\n2\n3\n");
    let ticket = world.plan(&point);
    assert_eq!(world.planned(&ticket, "d/new.txt").action, FileAction::Delete);
    assert_eq!((ticket.plan.added, ticket.plan.removed), (0, 3));
    let report = world.undo(&point);
    assert_eq!(report.restored, 1);
    assert!(!world.path("d/new.txt").exists());
    assert!(world.path("d").is_dir());
    assert_eq!(world.in_point(&report.redo_point, "d/new.txt").unwrap(), b"1\n2\n3\n");
    world.assert_tidy();
    // Absent then, absent now: nothing to do.
    assert_eq!((world.undo(&point).restored, world.undo(&point).unchanged), (0, 1));
}

#[test]
fn a_file_without_a_record_goes_back_to_before_its_first_edit() {
    let world = World::new();
    world.write("old.txt", "original");
    let point = world.point();
    world.agent_writes("old.txt", "edited");
    world.agent_writes("born.txt", "new");
    assert_eq!(world.undo(&point).restored, 2);
    assert_eq!(world.text("old.txt").unwrap(), "original");
    assert!(!world.path("born.txt").exists());
}

#[test]
fn links_are_skipped_counted_and_neither_written_nor_deleted() {
    let world = World::new();
    for name in ["sym.txt", "hard.txt"] {
        world.write(name, "before");
    }
    let point = world.point();
    for name in ["sym.txt", "hard.txt", "born.txt"] {
        world.agent_writes(name, "after");
    }
    world.write("elsewhere.txt", "precious");
    for name in ["sym.txt", "born.txt"] {
        fs::remove_file(world.path(name)).unwrap();
        std::os::unix::fs::symlink(world.path("elsewhere.txt"), world.path(name)).unwrap();
    }
    fs::hard_link(world.path("hard.txt"), world.path("twin.txt")).unwrap();
    let ticket = world.plan(&point);
    assert_eq!((ticket.plan.changed, ticket.plan.links_skipped, ticket.plan.other_skipped), (0, 3, 0));
    assert_eq!(world.planned(&ticket, "hard.txt").reason.unwrap().word(), "hard-link");
    assert_eq!(world.planned(&ticket, "sym.txt").reason.unwrap().word(), "symlink");
    let report = world.undo(&point);
    assert_eq!((report.restored, report.skipped, report.failed.len()), (0, 3, 0));
    assert_eq!(world.text("elsewhere.txt").unwrap(), "precious");
    assert_eq!(world.text("twin.txt").unwrap(), "after");
    assert!(fs::symlink_metadata(world.path("born.txt")).unwrap().is_symlink());
}

#[test]
fn a_missing_content_fails_that_file_alone_and_never_deletes_it() {
    // A06
    let mut world = World::new();
    let big = vec![7u8; 5 << 20];
    world.write("big.bin", &big);
    world.write("small.txt", "before");
    let point = world.point();
    world.agent_writes("big.bin", "edited");
    world.agent_writes("small.txt", "edited");
    let _ = world.store.close();
    let mut removed = 0;
    for shard in fs::read_dir(world.root().join("store").join("large")).unwrap().map(Result::unwrap) {
        for file in fs::read_dir(shard.path()).unwrap().map(Result::unwrap) {
            fs::remove_file(file.path()).unwrap();
            removed += 1;
        }
    }
    assert_eq!(removed, 1);
    world.restart();
    let ticket = world.plan(&point);
    let planned = world.planned(&ticket, "big.bin");
    assert_eq!((planned.action, planned.reason), (FileAction::Skip, Some(SkipReason::MissingContent)));
    let report = world.session.apply(ticket.id, 0).unwrap();
    assert_eq!((report.restored, report.failed.len()), (1, 1));
    assert_eq!(report.failed[0].path, world.tracked("big.bin"));
    assert_eq!(report.failed[0].code, "CANDY_OBJECT_MISSING");
    assert_eq!(world.text("big.bin").unwrap(), "edited");
    assert_eq!(world.text("small.txt").unwrap(), "before");
    world.assert_tidy();
}

#[test]
fn a_file_that_cannot_be_written_fails_alone_and_the_redo_point_stays() {
    let world = World::new();
    for name in ["a.txt", "b.txt", "c.txt"] {
        world.write(name, "before");
    }
    let point = world.point();
    for name in ["a.txt", "b.txt", "c.txt"] {
        world.agent_writes(name, "after");
    }
    world.io.set(|call, path| {
        let hit = call == Call::CreateFile && path.to_string_lossy().contains("b.txt");
        if hit { Err(os_error(ENOSPC)) } else { Ok(()) }
    });
    let report = world.undo(&point);
    world.io.clear();
    assert_eq!((report.restored, report.failed.len()), (2, 1));
    assert_eq!(report.failed[0].code, "CANDY_NO_SPACE");
    assert!(report.failed[0].message.contains("b.txt"), "{}", report.failed[0].message);
    assert_eq!(world.text("a.txt").unwrap(), "before");
    assert_eq!(world.text("b.txt").unwrap(), "after");
    assert_eq!(world.text("c.txt").unwrap(), "before");
    assert_eq!(world.in_point(&report.redo_point, "b.txt").unwrap(), b"after");
    world.assert_tidy();
}

#[test]
fn a_large_file_goes_back_without_being_held_in_memory_at_once() {
    let world = World::new();
    let before: Vec<u8> = (0..6u32 << 20).map(|n| (n >> 8) as u8).collect();
    world.write("big.bin", &before);
    let point = world.point();
    world.agent_writes("big.bin", "edited");
    let ticket = world.plan(&point);
    let counts = world.planned(&ticket, "big.bin").counts;
    assert!(counts.binary && counts.approximate);
    assert_eq!(world.session.diff(ticket.id, &world.tracked("big.bin")).unwrap(), "");
    let undone = world.session.apply(ticket.id, 0).unwrap();
    assert_eq!(undone.restored, 1);
    assert!(world.read("big.bin").unwrap() == before);
    assert_eq!(world.undo(&undone.redo_point).restored, 1);
    assert_eq!(world.text("big.bin").unwrap(), "edited");
}

#[test]
fn a_content_removed_on_purpose_is_told_from_a_lost_one() {
    let mut world = World::new();
    let big = vec![7u8; 5 << 20];
    world.write("big.bin", &big);
    let point = world.point();
    world.agent_writes("big.bin", "edited");
    let (_, original) = world.session.originals().unwrap().remove(0);
    let content = original.content().unwrap();
    let purged = crate::journal::Change::Purged { content };
    let nothing = &mut crate::object::pending::Pending::default();
    world.store.inner().commit(nothing, |_, _| Ok(Some((vec![purged], ())))).unwrap();
    fs::remove_dir_all(world.root().join("store/large")).unwrap();
    world.restart();
    let ticket = world.plan(&point);
    assert_eq!(world.planned(&ticket, "big.bin").reason, Some(SkipReason::Purged));
    let report = world.session.apply(ticket.id, 0).unwrap();
    assert_eq!((report.skipped, report.failed.len()), (1, 0));
    assert_eq!(world.text("big.bin").unwrap(), "edited");
}
