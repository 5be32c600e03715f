//! What users of such tools lost (field cases, kind A), as far as the engine is concerned.

use super::*;

#[test]
fn a01_an_edit_by_hand_is_named_before_and_kept_whatever_happens() {
    let world = World::new();
    let point = world.point();
    world.agent_writes("a.txt", "v1\n");
    world.write("a.txt", "v1\nmine\n");
    let ticket = world.plan(&point);
    let planned = world.planned(&ticket, "a.txt");
    assert!(planned.changed_by_hand);
    assert_eq!(planned.action, FileAction::Delete);
    let undone = world.session.apply(ticket.id, 0).unwrap();
    assert!(!world.path("a.txt").exists());
    assert_eq!(world.undo(&undone.redo_point).restored, 1);
    assert_eq!(world.text("a.txt").unwrap(), "v1\nmine\n");
}

#[test]
fn a01_protected_edits_by_hand_are_skipped() {
    let world = World::new();
    world.write("b.txt", "b0");
    let point = world.point();
    world.agent_writes("a.txt", "v1\n");
    world.agent_writes("b.txt", "b1");
    world.write("a.txt", "v1\nmine\n");
    let ticket = world.plan_with(&point, true);
    assert_eq!(world.planned(&ticket, "a.txt").reason, Some(SkipReason::ChangedByHand));
    let report = world.session.apply(ticket.id, 0).unwrap();
    assert_eq!((report.restored, report.skipped), (1, 1));
    assert_eq!(world.text("a.txt").unwrap(), "v1\nmine\n");
    assert_eq!(world.text("b.txt").unwrap(), "b0");
}

#[test]
fn a02_a_session_leaves_the_work_of_another_alone_and_names_conflicts() {
    let world = World::new();
    world.write("shared.rs", "zero");
    let other = open_session(&world.store, "other", &world.cwd);
    let theirs = other.snapshot(&SnapshotRequest::of(PointKind::Operation)).unwrap().point;
    world.point();
    world.agent_writes("x.rs", "fn x(){}\n");
    let request = |target| PlanRequest { target, only: vec![], line_counts: true, protect_manual_edits: false };
    let ticket = other.plan(&request(Target::Point(theirs.id))).unwrap();
    assert_eq!(ticket.plan.files, vec![]);
    assert_eq!(other.apply(ticket.id, 0).unwrap().restored, 0);
    assert_eq!(world.text("x.rs").unwrap(), "fn x(){}\n");
    // Both edit one file: whoever goes back is told that somebody else was there.
    let shared = world.path("shared.rs");
    other.track(&shared).unwrap();
    fs::write(&shared, "theirs").unwrap();
    other.tool_done(&shared, false).unwrap();
    world.agent_writes("shared.rs", "ours");
    let ticket = other.plan(&request(Target::Point(theirs.id))).unwrap();
    assert!(ticket.plan.files[0].changed_by_hand);
}

#[test]
fn a03_undoing_a_turn_that_changed_nothing_opens_no_file_for_writing() {
    let world = World::new();
    let names = ["a", "b", "c", "d", "e"];
    for name in names {
        world.write(name, name);
    }
    world.agent_writes("a", "agent");
    let second = world.point();
    let before = names.map(|name| identity(&world.path(name)));
    let report = world.undo(&second);
    assert_eq!((report.restored, report.unchanged), (0, 1));
    assert_eq!(names.map(|name| identity(&world.path(name))), before);
}

#[test]
fn a05_a09_a10_files_that_the_agent_never_edited_are_not_looked_at() {
    let world = World::new();
    world.write(".gitignore", "target/\n");
    world.write("secret-data/key", "k");
    world.write("pkgB/b.ts", "b");
    let point = world.point();
    world.agent_writes(".gitignore", "target/\nsecret-data/\n");
    world.agent_writes("pkgA/a.ts", "a");
    for n in 0..300 {
        world.write(&format!("later/{n}"), "other tool");
    }
    world.write("pkgB/b.ts", "edited by hand");
    let report = world.undo(&point);
    assert_eq!(report.restored, 2);
    assert_eq!(world.text(".gitignore").unwrap(), "target/\n");
    assert_eq!(world.text("secret-data/key").unwrap(), "k");
    assert_eq!(world.text("pkgB/b.ts").unwrap(), "edited by hand");
    assert!((0..300).all(|n| world.path(&format!("later/{n}")).exists()));
}

#[test]
fn a07_a_point_that_cannot_be_read_whole_is_not_restored_in_part() {
    let mut world = World::new();
    for n in 0..200 {
        world.agent_writes(&format!("f{n}"), format!("{n}"));
    }
    let point = world.point();
    for n in 0..200 {
        world.agent_writes(&format!("f{n}"), "new");
    }
    world.restart();
    // Every read of the store's segments fails from here on.
    world.io.set(|call, path| {
        let hit = call == Call::Read && path.extension().is_some_and(|extension| extension == "seg");
        if hit { Err(os_error(5)) } else { Ok(()) }
    });
    let request =
        PlanRequest { target: Target::Point(point.id), only: vec![], line_counts: false, protect_manual_edits: false };
    assert!(world.session.plan(&request).is_err());
    world.io.clear();
    assert!((0..200).all(|n| world.text(&format!("f{n}")).unwrap() == "new"));
}

#[test]
fn a14_a_file_deleted_before_the_turn_stays_deleted() {
    let world = World::new();
    world.write("a", "a0");
    world.write("b", "b0");
    world.point();
    world.agent_writes("a", "a1");
    world.agent_writes("b", "b1");
    fs::remove_file(world.path("b")).unwrap();
    let second = world.point();
    world.agent_writes("a", "a2");
    assert_eq!(world.undo(&second).restored, 1);
    assert_eq!(world.text("a").unwrap(), "a1");
    assert!(!world.path("b").exists());
}

#[test]
fn a17_a_move_with_edits_goes_back_and_forth_whole() {
    let world = World::new();
    let original: String = (0..400).map(|n| format!("line {n}\n")).collect();
    let edited = original.replace("line 7\n", "seven\n").replace("line 200\n", "").replace("line 399\n", "end\n");
    world.write("old.rs", &original);
    let point = world.point();
    world.agent_does("old.rs", |path| fs::remove_file(path).unwrap());
    world.agent_writes("new.rs", &edited);
    let undone = world.undo(&point);
    assert_eq!(world.text("old.rs").unwrap(), original);
    assert!(!world.path("new.rs").exists());
    assert_eq!(world.undo(&undone.redo_point).restored, 2);
    assert_eq!(world.text("new.rs").unwrap(), edited);
    assert!(!world.path("old.rs").exists());
}

#[test]
fn a19_what_others_put_into_a_created_directory_stays() {
    let world = World::new();
    let point = world.point();
    world.agent_writes("d/a.txt", "a");
    world.write("d/keep.txt", "k");
    world.undo(&point);
    assert!(!world.path("d/a.txt").exists());
    assert_eq!(world.text("d/keep.txt").unwrap(), "k");
}

#[test]
fn a21_a_full_disk_leaves_the_file_as_it_is_and_names_it() {
    let world = World::new();
    world.write("a.txt", "x".repeat(600_000));
    let point = world.point();
    world.agent_writes("a.txt", "short");
    let before = identity(&world.path("a.txt"));
    world.io.set(|call, path| {
        let hit = call == Call::Write && path.to_string_lossy().contains(".candy-");
        if hit { Err(os_error(ENOSPC)) } else { Ok(()) }
    });
    let report = world.undo(&point);
    world.io.clear();
    assert_eq!(report.failed.len(), 1);
    assert_eq!(report.failed[0].code, "CANDY_NO_SPACE");
    assert!(report.failed[0].message.contains("a.txt"), "{}", report.failed[0].message);
    assert_eq!(world.text("a.txt").unwrap(), "short");
    assert_eq!(identity(&world.path("a.txt")), before);
    let (_, original) = world.session.originals().unwrap().remove(0);
    assert_eq!(world.store.read_blob(original.content().unwrap()).unwrap().len(), 600_000);
    world.assert_tidy();
    // There is room again: the same plan works.
    assert_eq!(world.undo(&point).restored, 1);
    assert_eq!(world.text("a.txt").unwrap().len(), 600_000);
}

/// Something happens to a path right before a call on it; returns what the restore made of it.
fn late(world: &World, point: &Point, when: Call, act: impl Fn(&Path) + Send + 'static) -> RestoreReport {
    let ticket = world.plan(point);
    let mut armed = true;
    let victim = world.path("a");
    world.io.set(move |call, _| {
        if call == when && std::mem::take(&mut armed) {
            act(&victim);
        }
        Ok(())
    });
    let report = world.session.apply(ticket.id, 0).unwrap();
    world.io.clear();
    report
}

#[test]
fn a22_bytes_saved_between_the_check_and_the_swap_are_kept() {
    for when in [Call::CreateFile, Call::SetMode, Call::Exchange] {
        let world = World::new();
        world.write("a", "zero\n");
        let point = world.point();
        world.agent_writes("a", "one\n");
        let report = late(&world, &point, when, |path| fs::write(path, "one\nlate\n").unwrap());
        assert_eq!(world.text("a").unwrap(), "zero\n", "{when:?}");
        assert_eq!(report.kept, [world.tracked("a")], "{when:?}");
        assert_eq!(world.kept("a"), [b"one\nlate\n"], "{when:?}");
        world.assert_tidy();
    }
}

#[test]
fn a22_bytes_saved_before_a_deletion_are_kept() {
    let world = World::new();
    let point = world.point();
    world.agent_writes("a", "one\n");
    let report = late(&world, &point, Call::RenameNew, |path| fs::write(path, "one\nlate\n").unwrap());
    assert!(!world.path("a").exists());
    assert_eq!(report.kept, [world.tracked("a")]);
    assert_eq!(world.kept("a"), [b"one\nlate\n"]);
    world.assert_tidy();
}

#[test]
fn a22_a_file_made_where_one_is_to_be_created_is_kept() {
    let world = World::new();
    world.write("a", "zero\n");
    let point = world.point();
    world.agent_does("a", |path| fs::remove_file(path).unwrap());
    let report = late(&world, &point, Call::RenameNew, |path| fs::write(path, "by somebody\n").unwrap());
    assert_eq!(world.text("a").unwrap(), "zero\n");
    assert_eq!(world.kept("a"), [b"by somebody\n"]);
    assert_eq!(report.restored, 1);
    world.assert_tidy();
}

#[test]
fn a22_a_change_between_plan_and_undo_is_kept_and_told() {
    let world = World::new();
    world.write("a", "zero\n");
    let point = world.point();
    world.agent_writes("a", "one\n");
    let ticket = world.plan(&point);
    world.write("a", "one\nlate\n");
    let report = world.session.apply(ticket.id, 0).unwrap();
    assert_eq!(world.text("a").unwrap(), "zero\n");
    assert_eq!(report.kept, [world.tracked("a")]);
    assert_eq!(world.kept("a"), [b"one\nlate\n"]);
    assert_eq!(world.in_point(&report.redo_point, "a").unwrap(), b"one\nlate\n");
}

#[test]
fn a26_an_empty_file_is_not_an_absent_one() {
    let world = World::new();
    world.write("__init__.py", "");
    let point = world.point();
    world.agent_writes("__init__.py", "x=1\n");
    world.agent_writes("fresh.py", "y\n");
    assert_eq!(world.undo(&point).restored, 2);
    assert_eq!(world.text("__init__.py").unwrap(), "");
    assert!(!world.path("fresh.py").exists());
}

#[test]
fn a29_an_edit_by_hand_after_an_undo_is_named_at_redo_and_the_undo_itself_is_not() {
    let world = World::new();
    world.write("a", "zero");
    world.write("b", "zero");
    let point = world.point();
    world.agent_writes("a", "one");
    world.agent_writes("b", "one");
    let undone = world.undo(&point);
    world.write("a", "hand");
    let ticket = world.plan(&undone.redo_point);
    assert!(world.planned(&ticket, "a").changed_by_hand);
    assert!(!world.planned(&ticket, "b").changed_by_hand);
    let redone = world.session.apply(ticket.id, 0).unwrap();
    assert_eq!(world.text("a").unwrap(), "one");
    assert_eq!(world.in_point(&redone.redo_point, "a").unwrap(), b"hand");
}

#[test]
fn c11_a_shorter_content_leaves_no_tail() {
    let world = World::new();
    world.write("a", "s".repeat(200));
    let point = world.point();
    world.agent_writes("a", "L".repeat(185_000));
    world.undo(&point);
    assert_eq!(world.text("a").unwrap(), "s".repeat(200));
}

#[test]
fn c02_a_private_file_is_private_at_every_moment() {
    let world = World::new();
    world.write("key.pem", "secret");
    world.chmod("key.pem", 0o600);
    let point = world.point();
    world.agent_writes("key.pem", "other");
    let cwd = world.cwd.clone();
    world.io.set(move |_, _| {
        for entry in fs::read_dir(&cwd).unwrap().map(Result::unwrap) {
            let mode = entry.metadata().map_or(0, |meta| meta.mode());
            assert_eq!(mode & 0o077, 0, "{:?}", entry.path());
        }
        Ok(())
    });
    let report = world.undo(&point);
    world.io.clear();
    assert_eq!((report.restored, world.mode("key.pem")), (1, 0o600));
}
