//! Nothing, too little or the wrong version is restored (field cases, kind B), as far as the engine is concerned.

use std::os::unix::net::UnixListener;

use super::*;
use crate::gc::GcOptions;
use crate::session::{Forked, Tracking};
use crate::tree::{Entry, Reason};

const MEGABYTE: usize = 1_000_000;

#[test]
fn b01_all_files_of_one_batch_come_back() {
    let world = World::new();
    let names = ["a", "b", "c", "d/e", "d/f"];
    for name in names {
        world.write(name, name);
    }
    let point = world.point();
    // All captures of a batch come first, then the tools run.
    for name in names {
        world.session.track(&world.path(name)).unwrap();
    }
    for name in names {
        world.write(name, "edited");
        world.session.tool_done(&world.path(name), false).unwrap();
    }
    assert_eq!(world.undo(&point).restored, 5);
    assert!(names.iter().all(|name| world.text(name).unwrap() == *name));
}

#[test]
fn b02_each_turn_goes_back_to_the_version_right_before_it() {
    let world = World::new();
    world.write("a", "v0");
    let points: Vec<Point> = (1..=3)
        .map(|turn| {
            let point = world.point();
            world.agent_writes("a", format!("v{turn}"));
            point
        })
        .collect();
    for (turn, point) in points.iter().enumerate() {
        let undone = world.undo(point);
        assert_eq!(world.text("a").unwrap(), format!("v{turn}"));
        world.undo(&undone.redo_point);
        assert_eq!(world.text("a").unwrap(), "v3");
    }
}

#[test]
fn b05_g06_it_makes_no_difference_which_version_control_a_file_is_under() {
    let layouts: [&[(&str, &str)]; 6] = [
        &[],
        &[(".git/HEAD", "ref: refs/heads/main\n")],
        &[(".jj/repo/store/type", "git")],
        &[(".git", "gitdir: /elsewhere/worktrees/w\n")],
        &[("sub/.git", "gitdir: ../.git/modules/sub\n"), (".gitmodules", "[submodule]\n")],
        &[("one/.git/HEAD", "ref: x\n"), ("two/.git/HEAD", "ref: x\n"), ("HEAD", "ref: x\n")],
    ];
    for layout in layouts {
        let world = World::new();
        for (name, text) in layout {
            world.write(name, text);
        }
        for name in ["a.txt", "sub/b.txt", "one/c.txt"] {
            world.write(name, "before");
        }
        let point = world.point();
        // A repository that comes into being during the turn.
        world.write("cloned/.git/HEAD", "ref: refs/heads/main\n");
        for name in ["a.txt", "sub/b.txt", "one/c.txt", "cloned/d.txt"] {
            world.agent_writes(name, "after");
        }
        let report = world.undo(&point);
        assert_eq!((report.restored, report.skipped, report.failed.len()), (4, 0, 0), "{layout:?}");
        assert!(["a.txt", "sub/b.txt", "one/c.txt"].iter().all(|name| world.text(name).unwrap() == "before"));
        assert!(!world.path("cloned/d.txt").exists());
        assert!(world.path("cloned/.git/HEAD").exists());
    }
}

#[test]
fn b06_a_file_is_one_record_whatever_way_leads_to_it() {
    let world = World::new();
    let sub = world.cwd.join("sub");
    world.write("sub/x", "before");
    let session = open_session(&world.store, "sub", &sub);
    let point = session.snapshot(&SnapshotRequest::of(PointKind::Operation)).unwrap().point;
    let spellings = [sub.join("x"), sub.join("./x"), sub.join("../sub/x"), world.cwd.join("sub/x")];
    for (turn, path) in spellings.iter().enumerate() {
        let tracking = session.track(path).unwrap().tracking;
        assert_eq!(matches!(tracking, Tracking::Already), turn > 0, "{}: {tracking:?}", path.display());
    }
    assert_eq!(session.tracked_count().unwrap(), 1);
    world.write("sub/x", "after");
    let request =
        PlanRequest { target: Target::Point(point.id), only: vec![], line_counts: false, protect_manual_edits: false };
    session.apply(session.plan(&request).unwrap().id, 0).unwrap();
    assert_eq!(world.text("sub/x").unwrap(), "before");
}

#[test]
fn b09_odd_paths_are_named_once_each_and_cost_no_other_file() {
    let world = World::new();
    let odd = ["locked", "fifo", "socket", "dangling", "directory"];
    for name in odd.iter().chain(&["good", "vanishing", "also good"]) {
        world.agent_writes(name, "first");
    }
    for name in &odd[1..] {
        fs::remove_file(world.path(name)).unwrap();
    }
    assert!(std::process::Command::new("mkfifo").arg(world.path("fifo")).status().unwrap().success());
    let _socket = UnixListener::bind(world.path("socket")).unwrap();
    std::os::unix::fs::symlink("nowhere", world.path("dangling")).unwrap();
    fs::create_dir(world.path("directory")).unwrap();
    for name in ["good", "also good", "vanishing", "locked"] {
        world.write(name, "second");
    }
    // Root reads what it likes, so the refusal comes from the hook; the other file goes between the look and the read.
    let victim = world.path("vanishing");
    world.io.set(move |call, path| {
        if call == Call::OpenFile && path == victim {
            let _ = fs::remove_file(path);
        }
        let hit = call == Call::OpenFile && path.ends_with("locked");
        if hit { Err(os_error(EACCES)) } else { Ok(()) }
    });
    let outcome = world.session.snapshot(&SnapshotRequest::of(PointKind::Operation)).unwrap();
    world.io.clear();
    let mut named: Vec<_> = outcome
        .not_captured
        .iter()
        .map(|missing| (missing.path.file_name().unwrap().to_string_lossy().into_owned(), missing.reason))
        .collect();
    named.sort_by(|one, other| one.0.cmp(&other.0));
    let expected = [
        ("dangling", Reason::Symlink),
        ("directory", Reason::NotAFile),
        ("fifo", Reason::NotAFile),
        ("locked", Reason::Unreadable),
        ("socket", Reason::NotAFile),
    ];
    assert_eq!(named, expected.map(|(name, reason)| (name.to_owned(), reason)));
    for name in ["good", "also good"] {
        assert_eq!(world.in_point(&outcome.point, name).unwrap(), b"second");
    }
    assert_eq!(world.in_point(&outcome.point, "vanishing"), None);
    // A name that no file can have is refused by itself.
    let long = world.cwd.join("n".repeat(300));
    assert!(!matches!(world.session.track(&long).map(|outcome| outcome.tracking), Ok(Tracking::Tracked(_))));
    world.agent_writes("after", "x");
}

#[test]
fn b10_a_tracked_file_that_a_turn_deleted_unseen_comes_back() {
    let world = World::new();
    world.point();
    world.agent_writes("t", "made in turn 1");
    let second = world.point();
    fs::remove_file(world.path("t")).unwrap();
    assert_eq!(world.undo(&second).restored, 1);
    assert_eq!(world.text("t").unwrap(), "made in turn 1");
}

#[test]
fn b14_a_file_that_is_too_large_to_be_kept_costs_no_older_edit_of_another() {
    let mut world = World::new();
    world.limit(MEGABYTE as u64);
    world.write("big.bin", vec![b'b'; 5 * MEGABYTE]);
    world.write("small.txt", "zero");
    world.point();
    world.agent_writes("small.txt", "edited in turn 1");
    let second = world.point();
    let tracking = world.session.track(&world.path("big.bin")).unwrap().tracking;
    assert!(matches!(tracking, Tracking::Skipped { reason: Reason::TooLarge, .. }), "{tracking:?}");
    world.write("big.bin", vec![b'c'; 5 * MEGABYTE]);
    assert_eq!(world.undo(&second).restored, 0);
    assert_eq!(world.text("small.txt").unwrap(), "edited in turn 1");
    assert!(world.read("big.bin").unwrap() == vec![b'c'; 5 * MEGABYTE]);
}

#[test]
fn b15_a_moment_at_which_a_file_was_too_large_is_a_gap_and_no_older_version() {
    let mut world = World::new();
    world.limit(MEGABYTE as u64);
    let (small, large, smaller) = (vec![b'1'; 900_000], vec![b'2'; 1_100_000], vec![b'3'; 900_000]);
    world.agent_writes("f", &small);
    let first = world.point();
    world.agent_writes("f", &large);
    let outcome = world.session.snapshot(&SnapshotRequest::of(PointKind::Operation)).unwrap();
    assert_eq!(outcome.not_captured[0].reason, Reason::TooLarge);
    world.agent_writes("f", &smaller);
    let third = world.point();
    world.agent_writes("f", "now");
    let ticket = world.plan(&outcome.point);
    let planned = world.planned(&ticket, "f");
    assert_eq!((planned.action, planned.reason), (FileAction::Skip, Some(SkipReason::NotCaptured(Reason::TooLarge))));
    assert_eq!(world.session.apply(ticket.id, 0).unwrap().restored, 0);
    assert_eq!(world.text("f").unwrap(), "now");
    for (point, bytes) in [(first, small), (third, smaller)] {
        assert_eq!(world.undo(&point).restored, 1);
        assert!(world.read("f").unwrap() == bytes);
    }
}

#[test]
fn b14_b15_a_file_that_is_too_large_now_is_left_alone_and_named() {
    let mut world = World::new();
    world.limit(MEGABYTE as u64);
    world.write("grown", "zero");
    let point = world.point();
    let large = vec![b'x'; 1_100_000];
    for name in ["grown", "made"] {
        world.agent_writes(name, &large);
    }
    let ticket = world.plan(&point);
    for name in ["grown", "made"] {
        let planned = world.planned(&ticket, name);
        assert_eq!(planned.reason, Some(SkipReason::State(Reason::TooLarge)), "{name}");
    }
    let undone = world.session.apply(ticket.id, 0).unwrap();
    assert_eq!((undone.restored, undone.skipped, undone.failed.len()), (0, 2, 0));
    assert!(["grown", "made"].iter().all(|name| world.read(name).unwrap() == large));
}

#[test]
fn b17_a_process_that_died_right_after_the_tool_left_a_whole_history() {
    let world = World::new();
    world.write("a", "zero");
    let point = world.point();
    world.agent_writes("a", "one");
    // Another process, while this one has closed nothing: what a kill leaves.
    let (_store, session) = open(&HookIo::new(), &world.root());
    let target = Target::Point(point.id);
    let request = PlanRequest { target, only: vec![], line_counts: false, protect_manual_edits: false };
    let ticket = session.plan(&request).unwrap();
    assert!(!ticket.plan.files[0].changed_by_hand);
    assert_eq!(session.apply(ticket.id, 0).unwrap().restored, 1);
    assert_eq!(world.text("a").unwrap(), "zero");
}

#[test]
fn b18_a_point_after_a_failed_one_is_complete_again() {
    let world = World::new();
    world.agent_writes("a", "one");
    world.point();
    world.write("a", "two");
    world.io.set(|call, path| {
        let hit = call == Call::Write && path.extension().is_some_and(|extension| extension == "seg");
        if hit { Err(os_error(30)) } else { Ok(()) }
    });
    let failed = world.session.snapshot(&SnapshotRequest::of(PointKind::Operation));
    world.io.clear();
    assert!(failed.is_err(), "{failed:?}");
    assert_eq!(world.session.points().unwrap().len(), 1);
    let mut world = world;
    world.restart();
    let third = world.point();
    assert_eq!(world.in_point(&third, "a").unwrap(), b"two");
}

#[test]
fn b19_a_fork_restores_after_its_parent_is_gone() {
    let world = World::new();
    world.write("a", "v0");
    let mut texts = Vec::new();
    for turn in 1..=3 {
        world.point();
        texts.push(world.text("a").unwrap());
        world.agent_writes("a", format!("v{turn}"));
    }
    assert!(matches!(world.store.fork("s", "child", &world.cwd).unwrap(), Forked::Yes { points: 3 }));
    let World { folder: _folder, io: _io, cwd, store, session } = world;
    drop(session);
    store.drop_session("s").unwrap();
    store.gc(&GcOptions { force: true, dry_run: false }).unwrap();
    let child = open_session(&store, "child", &cwd);
    for (point, text) in child.points().unwrap().iter().zip(texts).rev() {
        let target = Target::Point(point.id);
        let request = PlanRequest { target, only: vec![], line_counts: false, protect_manual_edits: false };
        child.apply(child.plan(&request).unwrap().id, 0).unwrap();
        assert_eq!(fs::read_to_string(cwd.join("a")).unwrap(), text);
    }
}

#[test]
fn b26_created_files_go_and_the_turn_before_is_next() {
    let world = World::new();
    let first = world.point();
    world.agent_writes("before", "b");
    let second = world.point();
    world.agent_writes("p/q/r.txt", "r");
    assert_eq!(world.undo(&second).restored, 1);
    assert!(!world.path("p/q/r.txt").exists() && world.path("p/q").is_dir());
    assert_eq!(world.plan(&second).plan.changed, 0);
    assert_eq!(world.undo(&first).restored, 1);
    assert!(!world.path("before").exists());
}

#[test]
fn f01_a_file_that_is_excluded_leaves_no_byte_in_the_store() {
    let world = World::new();
    let options = SessionOptions {
        id: "secrets".into(),
        cwd: world.cwd.clone(),
        exclude: crate::exclude::DEFAULT_EXCLUDES.iter().map(|pattern| (*pattern).to_owned()).collect(),
        max_file_bytes: 0,
    };
    let session = world.store.open_session(&options).unwrap();
    let secret = b"TOKEN=abc123-never-in-the-store";
    for name in [".env", ".env.local", "sub/.env"] {
        world.write(name, secret);
        let tracking = session.track(&world.path(name)).unwrap().tracking;
        assert!(matches!(tracking, Tracking::Skipped { reason: Reason::Excluded, .. }), "{name}: {tracking:?}");
    }
    // The same bytes under a name that is kept show that they would be found.
    let found = |needle: &[u8]| {
        let folder = world.root().join("store").join("segments");
        fs::read_dir(folder).unwrap().any(|entry| {
            let bytes = fs::read(entry.unwrap().path()).unwrap();
            bytes.windows(needle.len()).any(|window| window == needle)
        })
    };
    session.snapshot(&SnapshotRequest::of(PointKind::Operation)).unwrap();
    assert!(!found(secret));
    world.write("notes.txt", secret);
    assert!(matches!(session.track(&world.path("notes.txt")).unwrap().tracking, Tracking::Tracked(Entry::File { .. })));
    session.snapshot(&SnapshotRequest::of(PointKind::Operation)).unwrap();
    assert!(found(secret));
}

#[test]
fn g01_tracking_a_file_looks_at_no_other() {
    let world = World::new();
    for n in 0..3_000 {
        world.write(&format!("d{}/f{n}", n % 30), "");
    }
    let calls = Arc::new(std::sync::Mutex::new(Vec::new()));
    let (seen, inside) = (Arc::clone(&calls), world.cwd.clone());
    world.io.set(move |call, path| {
        if path.starts_with(&inside) {
            seen.lock().unwrap().push((call, path.to_path_buf()));
        }
        Ok(())
    });
    world.agent_writes("d7/f7", "edited");
    world.point();
    world.io.clear();
    let calls = calls.lock().unwrap();
    assert!(!calls.is_empty() && calls.len() < 40, "{} calls", calls.len());
    let own = [world.cwd.clone(), world.path("d7"), world.path("d7/f7")];
    assert!(calls.iter().all(|(_, path)| own.contains(path)), "{calls:?}");
}
