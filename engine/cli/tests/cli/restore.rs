//! `restore` in place.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use candy_store::{PlanRequest, PointKind, Target};
use serde_json::json;

use crate::helper::{Cli, picture, short};

#[test]
fn files_go_back_and_the_redo_point_brings_them_forward_again() {
    let cli = Cli::new();
    let [first, ..] = cli.story();
    cli.write("new.txt", "newest\n");
    let run = cli.run(&["restore", &short(&first)]).ok().says(&["to go back: candy-store restore "]);
    assert!(run.out().starts_with("restored 2 files in "), "{}", run.out());
    assert_eq!(cli.read("a.txt"), "one\ntwo\nthree\n");
    assert!(!cli.exists("new.txt"));
    let redo = run.stderr.trim().rsplit(' ').next().unwrap().to_owned();
    cli.run(&["restore", &redo]).ok();
    assert!(!cli.exists("a.txt"));
    assert_eq!(cli.read("new.txt"), "newest\n");
}

#[test]
fn a_dry_run_lists_what_would_happen_and_changes_nothing() {
    let cli = Cli::new();
    cli.story();
    let before = picture(&cli.work);
    let points = cli.open().all_points().unwrap().len();
    let run = cli.run(&["restore", "story:3", "--dry-run"]).ok();
    let lines: Vec<_> = run.out().lines().map(str::split_whitespace).map(Vec::from_iter).collect();
    assert_eq!(lines[1], ["create", "+3", "-0", "a.txt"]);
    assert_eq!(lines[2], ["delete", "+0", "-1", "new.txt"]);
    assert!(run.out().contains("would restore 2 files"));
    assert_eq!(picture(&cli.work), before);
    assert_eq!(cli.open().all_points().unwrap().len(), points);
    assert_eq!(cli.run(&["restore", "story:3", "--dry-run", "-z"]).ok().stdout, b"a.txt\0new.txt\0");
}

#[test]
fn only_the_files_that_are_named_go_back() {
    let cli = Cli::new();
    cli.write("src/a", "a1\n");
    cli.write("src/b", "b1\n");
    cli.write("c", "c1\n");
    cli.point("s", "1", &["src/a", "src/b", "c"]);
    for name in ["src/a", "src/b", "c"] {
        cli.write(name, "changed\n");
    }
    cli.run(&["restore", "s:1", "src/a"]).ok();
    assert_eq!((cli.read("src/a"), cli.read("src/b")), ("a1\n".into(), "changed\n".into()));
    cli.run(&["restore", "s:2", "src"]).ok();
    assert_eq!((cli.read("src/b"), cli.read("c")), ("b1\n".into(), "changed\n".into()));
    // One wrong name, and nothing happens.
    cli.write("src/a", "again\n");
    cli.run(&["restore", "s:3", "src/a", "typo"]).ends(1).says(&["typo", "CANDY_NOT_FOUND"]);
    assert_eq!(cli.read("src/a"), "again\n");
}

#[test]
fn files_that_are_as_wanted_are_not_touched() {
    let cli = Cli::new();
    cli.write("a", "a\n");
    cli.write("b", "b\n");
    cli.point("s", "1", &["a", "b"]);
    cli.write("b", "changed\n");
    let before = cli.work.join("a").metadata().unwrap().modified().unwrap();
    let report = cli.run(&["restore", "s:1", "--json"]).ok().document();
    assert_eq!((&report["restored"], &report["unchanged"]), (&json!(1), &json!(1)));
    assert_eq!(cli.work.join("a").metadata().unwrap().modified().unwrap(), before);
    // Nothing to do: no redo point either.
    let report = cli.run(&["restore", "s:2", "--json"]).ok().document();
    assert_eq!(report["restored"], 0);
    assert!(report.get("redo_point").is_none());
}

#[test]
fn never_overwriting_brings_back_missing_files_alone() {
    let cli = Cli::new();
    cli.write("gone", "g\n");
    cli.write("changed", "c1\n");
    cli.point("s", "1", &["gone", "changed", "created"]);
    std::fs::remove_file(cli.work.join("gone")).unwrap();
    cli.write("changed", "c2\n");
    cli.write("created", "mine\n");
    let report = cli.run(&["restore", "s:1", "--overwrite", "never", "--json"]).ok().document();
    assert_eq!((&report["restored"], &report["skipped"]), (&json!(1), &json!(0)));
    assert_eq!(cli.read("gone"), "g\n");
    assert_eq!((cli.read("changed"), cli.read("created")), ("c2\n".into(), "mine\n".into()));
    // Nothing is missing any more: nothing at all may happen.
    cli.run(&["restore", "s:2", "--overwrite", "never"]).ok();
    assert_eq!(cli.read("changed"), "c2\n");
}

#[test]
fn verified_files_are_counted() {
    let cli = Cli::new();
    cli.story();
    let run = cli.run(&["restore", "story:3", "--verify"]).ok();
    assert!(run.out().contains("2 verified"), "{}", run.out());
    let report = cli.run(&["restore", "story:2", "--verify", "--json"]).ok().document();
    assert_eq!(report["verified"], report["restored"]);
}

#[test]
fn the_mode_comes_back_too() {
    let cli = Cli::new();
    let path = cli.write("run.sh", "#!/bin/sh\n");
    let set = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    set(0o755);
    cli.point("s", "1", &["run.sh"]);
    set(0o644);
    let report = cli.run(&["restore", "s:1", "--json"]).ok().document();
    assert_eq!(report["files"][0]["action"], "chmod");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o755);
}

#[test]
fn a_link_in_place_of_a_file_is_left_alone_and_the_end_is_in_part() {
    let cli = Cli::new();
    cli.write("a", "a\n");
    cli.write("b", "b\n");
    cli.point("s", "1", &["a", "b"]);
    let secret = cli.root.join("secret");
    std::fs::write(&secret, "secret").unwrap();
    std::fs::remove_file(cli.work.join("a")).unwrap();
    symlink(&secret, cli.work.join("a")).unwrap();
    cli.write("b", "changed\n");
    cli.run(&["restore", "s:1"]).ends(3).says(&["skipped a: symlink"]);
    assert_eq!(cli.read("b"), "b\n");
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "secret");
    assert!(cli.work.join("a").is_symlink());
}

#[test]
fn a_content_that_is_damaged_is_skipped_and_never_written() {
    let cli = Cli::new();
    cli.write("a", "the damaged one 2\n");
    cli.point("s", "1", &["a"]);
    cli.write("a", "mine\n");
    cli.damage(b"the damaged one 2\n");
    cli.run(&["restore", "s:1"]).ends(3).says(&["missing-content"]);
    assert_eq!(cli.read("a"), "mine\n");
}

#[test]
fn read_only_refuses_a_restore_in_place_and_allows_to_look() {
    let cli = Cli::new();
    cli.story();
    cli.run(&["restore", "story:3", "--read-only"]).ends(2).says(&["--read-only"]);
    cli.run(&["restore", "story:3", "--read-only", "--dry-run"]).ok();
    assert!(!cli.exists("a.txt"));
}

#[test]
fn the_restore_works_from_anywhere() {
    let cli = Cli::new();
    cli.story();
    let mut command = cli.command(&["restore", "story:3"]);
    crate::helper::finish(command.current_dir(Path::new("/"))).ok();
    assert_eq!(cli.read("a.txt"), "one\ntwo\nthree\n");
}

#[test]
fn a_kept_version_brings_back_its_one_path_alone() {
    let cli = Cli::new();
    cli.write("a", "a1\n");
    cli.write("b", "b1\n");
    let first = cli.point("s", "1", &["a", "b"]);
    cli.write("a", "a2\n");
    cli.write("b", "b2\n");
    let store = cli.open();
    let session = cli.session(&store, "s");
    let target = Target::Point(first.id);
    let request = PlanRequest { target, only: vec![], line_counts: false, protect_manual_edits: false };
    let plan = session.plan(&request).unwrap();
    // Between plan and restore somebody writes.
    cli.write("a", "nobody saw this\n");
    session.apply(plan.id, 0).unwrap();
    let points = session.points().unwrap();
    drop((session, store));
    let kept = points.iter().find(|point| point.kind == PointKind::Kept).unwrap();
    cli.write("b", "b3\n");
    cli.run(&["restore", &short(kept)]).ok();
    assert_eq!((cli.read("a"), cli.read("b")), ("nobody saw this\n".into(), "b3\n".into()));
    let differences = cli.run(&["diff", &short(kept), "--name-only"]).ok();
    assert_eq!(differences.out(), "");
}

#[test]
fn a_restore_that_was_killed_is_taken_back_before_the_next_one() {
    const FILES: usize = 1500;
    let cli = Cli::new();
    let names: Vec<String> = (0..FILES).map(|n| format!("d/{n:04}")).collect();
    for name in &names {
        cli.write(name, name);
    }
    cli.run(&["snapshot", "d", "--session", "s"]).ok();
    for name in &names {
        cli.write(name, "changed");
    }
    let mut child = cli.command(&["restore", "s:1"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while cli.read(&names[0]) == "changed" {
        assert!(Instant::now() < until && child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(cli.read(&names[FILES - 1]), "changed", "it was killed in the middle");
    assert!(cli.run(&["fsck"]).ok().out().contains("CANDY_FSCK_RESTORE_UNFINISHED"));
    cli.run(&["restore", "s:2", "--dry-run"]).ok().says(&["was interrupted", "will be taken back first"]);
    let run = cli.run(&["restore", "s:2"]).ok().says(&["was interrupted", "taken back first"]);
    assert!(run.out().starts_with(&format!("restored {FILES} files")), "{}", run.out());
    assert!(names.iter().all(|name| cli.read(name) == *name));
    assert!(!cli.run(&["fsck"]).ok().out().contains("CANDY_FSCK_RESTORE_UNFINISHED"));
    // And forward again, to what was there before the killed one.
    let redo = run.stderr.trim().rsplit(' ').next().unwrap().to_owned();
    cli.run(&["restore", &redo]).ok();
    assert!(names.iter().all(|name| cli.read(name) == "changed"));
}
