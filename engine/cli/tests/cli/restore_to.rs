//! `restore --to`.

use std::os::unix::fs::symlink;

use serde_json::json;

use crate::helper::{Cli, picture};

#[test]
fn a_state_is_copied_elsewhere_and_nothing_else_changes() {
    let cli = Cli::new();
    cli.write("src/deep/a.txt", "a\n");
    let outside = cli.root.join("outside.txt");
    std::fs::write(&outside, "o\n").unwrap();
    cli.point("s", "1", &["src/deep/a.txt", "../outside.txt", "absent"]);
    cli.write("src/deep/a.txt", "changed\n");
    let before = picture(&cli.work);
    let target = cli.root.join("new/target");
    let to = target.to_str().unwrap();
    let dry = cli.run(&["restore", "s:1", "--to", to, "--dry-run"]).ok();
    assert!(dry.out().contains("would restore 2 files") && !target.exists(), "{}", dry.out());
    let report = cli.run(&["restore", "s:1", "--to", to, "--verify", "--json"]).ok().document();
    assert_eq!((&report["restored"], &report["verified"], &report["to"]["path"]), (&json!(2), &json!(2), &json!(to)));
    assert_eq!(std::fs::read_to_string(target.join("src/deep/a.txt")).unwrap(), "a\n");
    let inside = target.join("_root").join(outside.strip_prefix("/").unwrap());
    assert_eq!(std::fs::read_to_string(inside).unwrap(), "o\n");
    assert!(!target.join("absent").exists());
    assert_eq!(picture(&cli.work), before);
    assert_eq!(cli.open().all_points().unwrap().len(), 1);
}

#[test]
fn what_is_in_the_target_is_treated_as_asked() {
    let cli = Cli::new();
    cli.write("a", "a\n");
    cli.write("b", "b\n");
    cli.point("s", "1", &["a", "b"]);
    let target = cli.root.join("t");
    let to = target.to_str().unwrap();
    cli.run(&["restore", "s:1", "a", "--to", to]).ok();
    std::fs::write(target.join("a"), "mine\n").unwrap();
    cli.run(&["restore", "s:1", "--to", to, "--overwrite", "never"]).ok();
    assert_eq!(std::fs::read_to_string(target.join("a")).unwrap(), "mine\n");
    assert_eq!(std::fs::read_to_string(target.join("b")).unwrap(), "b\n");
    let report = cli.run(&["restore", "s:1", "--to", to, "--overwrite", "if-changed", "--json"]).ok().document();
    assert_eq!((&report["restored"], &report["unchanged"]), (&json!(1), &json!(1)));
    assert_eq!(std::fs::read_to_string(target.join("a")).unwrap(), "a\n");
}

#[test]
fn links_in_the_target_lead_nowhere() {
    let cli = Cli::new();
    cli.write("d/a", "a\n");
    cli.write("b", "b\n");
    cli.point("s", "1", &["d/a", "b"]);
    let (target, elsewhere) = (cli.root.join("t"), cli.root.join("elsewhere"));
    std::fs::create_dir(&target).unwrap();
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("victim"), "v").unwrap();
    symlink(&elsewhere, target.join("d")).unwrap();
    symlink(elsewhere.join("victim"), target.join("b")).unwrap();
    let run = cli.run(&["restore", "s:1", "--to", target.to_str().unwrap()]).ends(3);
    assert!(run.stderr.contains("warning: d/a:") && run.stderr.contains("warning: b:"), "{}", run.stderr);
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 1);
    assert_eq!(std::fs::read_to_string(elsewhere.join("victim")).unwrap(), "v");
    assert_eq!(std::fs::read_dir(&target).unwrap().count(), 2, "no temporary file is left");
}

#[test]
fn the_target_itself_may_be_reached_through_a_link() {
    let cli = Cli::new();
    cli.write("a", "a\n");
    cli.point("s", "1", &["a"]);
    std::fs::create_dir(cli.root.join("real")).unwrap();
    symlink("real", cli.root.join("alias")).unwrap();
    cli.run(&["restore", "s:1", "--to", cli.root.join("alias").to_str().unwrap()]).ok();
    assert!(cli.root.join("real/a").is_file());
}

#[test]
fn a_damaged_content_leaves_no_file_behind() {
    let cli = Cli::new();
    cli.write("a", "the damaged one 3\n");
    cli.write("b", "b\n");
    cli.point("s", "1", &["a", "b"]);
    cli.damage(b"the damaged one 3\n");
    let target = cli.root.join("t");
    cli.run(&["restore", "s:1", "--to", target.to_str().unwrap()]).ends(3).says(&["CANDY_OBJECT_DAMAGED"]);
    let names: Vec<_> = std::fs::read_dir(&target).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["b"]);
}

#[test]
fn the_store_is_no_target_and_read_only_is_no_hindrance() {
    let cli = Cli::new();
    cli.story();
    cli.run(&["restore", "story:2", "--to", cli.store.to_str().unwrap()]).ends(2).says(&["it lies in the store"]);
    let target = cli.root.join("t");
    cli.run(&["restore", "story:2", "--to", target.to_str().unwrap(), "--read-only"]).ok();
    assert!(target.join("a.txt").is_file());
}
