//! `diff`.

use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::helper::Cli;

#[test]
fn two_points_are_compared_in_the_order_given() {
    let cli = Cli::new();
    cli.story();
    let run = cli.run(&["diff", "story:3", "story:2"]).ok();
    assert_eq!(
        run.out(),
        "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n\
         diff --git a/new.txt b/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n"
    );
    let back = cli.run(&["diff", "story:2", "story:3"]).ok();
    assert!(back.out().contains("\n-2\n+two\n") && back.out().contains("deleted file mode 100644"));
    assert_eq!(cli.run(&["diff", "story:2", "story:2"]).ok().out(), "");
}

#[test]
fn a_point_is_compared_with_the_files_on_disk_unless_told_otherwise() {
    let cli = Cli::new();
    cli.story();
    cli.write("new.txt", "new\nnewer\n");
    let alone = cli.run(&["diff", "latest"]).ok();
    assert!(alone.out().ends_with("@@ -1 +1,2 @@\n new\n+newer\n"), "{}", alone.out());
    assert_eq!(alone.stdout, cli.run(&["diff", "latest", "--worktree"]).ok().stdout);
    cli.run(&["diff", "latest", "latest~1", "--worktree"]).ends(2);
}

#[test]
fn a_file_tracked_after_the_point_is_compared_with_its_original_state() {
    let cli = Cli::new();
    cli.write("a.txt", "a\n");
    cli.point("s", "1", &["a.txt"]);
    cli.write("late.txt", "before\n");
    let store = cli.open();
    cli.session(&store, "s").track(&cli.work.join("late.txt")).unwrap();
    drop(store);
    cli.write("late.txt", "after\n");
    let run = cli.run(&["diff", "s:1"]).ok();
    assert!(run.out().contains("-before\n+after\n"), "{}", run.out());
}

#[test]
fn the_patch_is_one_that_git_applies() {
    let cli = Cli::new();
    for (name, content) in
        [("a b.txt", "one\n"), ("no end", "x"), ("gone", "bye\n"), ("说明.md", "用法\n"), ("q\"\t.txt", "q\n")]
    {
        cli.write(name, content);
    }
    cli.write("mode.sh", "#!/bin/sh\n");
    cli.run(&["snapshot", "."]).ok();
    let before = cli.root.join("before");
    cli.run(&["restore", "latest", "--to", before.to_str().unwrap()]).ok();
    for (name, content) in
        [("a b.txt", "one\ntwo\n"), ("no end", "x\ny"), ("说明.md", "用法：\n"), ("q\"\t.txt", "Q\n")]
    {
        cli.write(name, content);
    }
    std::fs::remove_file(cli.work.join("gone")).unwrap();
    std::fs::set_permissions(cli.work.join("mode.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let patch = cli.run(&["diff", "latest"]).ok();
    let file = cli.root.join("patch");
    std::fs::write(&file, &patch.stdout).unwrap();
    let Ok(git) = Command::new("git").args(["apply", "--verbose"]).arg(&file).current_dir(&before).output() else {
        return; // no git on this machine
    };
    assert!(git.status.success(), "{}\n{}", String::from_utf8_lossy(&git.stderr), patch.out());
    for name in ["a b.txt", "no end", "说明.md", "q\"\t.txt"] {
        assert_eq!(std::fs::read(before.join(name)).unwrap(), std::fs::read(cli.work.join(name)).unwrap(), "{name}");
    }
    assert!(!before.join("gone").exists());
    assert_eq!(before.join("mode.sh").metadata().unwrap().permissions().mode() & 0o777, 0o755);
}

#[test]
fn a_difference_can_be_an_exit_code() {
    let cli = Cli::new();
    cli.story();
    cli.run(&["diff", "story:3", "story:2", "--exit-code"]).ends(1);
    cli.run(&["diff", "story:3", "story:2"]).ok();
    cli.run(&["diff", "story:1", "story:1", "--exit-code"]).ok();
    cli.run(&["diff", "story:3", "story:2", "--exit-code", "--name-only", "-q"]).ends(1);
}

#[test]
fn names_and_numbers_alone() {
    let cli = Cli::new();
    cli.story();
    assert_eq!(cli.run(&["diff", "story:3", "story:2", "--name-only"]).ok().out(), "a.txt\nnew.txt\n");
    assert_eq!(cli.run(&["diff", "story:3", "story:2", "--name-only", "-z"]).ok().stdout, b"a.txt\0new.txt\0");
    cli.run(&["diff", "story:3", "story:2", "-z"]).ends(2).says(&["--name-only"]);
    let stat = cli.run(&["diff", "story:3", "story:2", "--stat"]).ok();
    assert!(stat.out().ends_with(" 2 files changed, 2 insertions(+), 1 deletion(-)\n"), "{}", stat.out());
    let one = cli.run(&["diff", "story:3", "story:2", "--path", "new.txt", "--name-only"]).ok();
    assert_eq!(one.out(), "new.txt\n");
    cli.run(&["diff", "latest", "--path", "nothing"]).ends(1).says(&["CANDY_NOT_FOUND"]);
}

#[test]
fn json_names_each_file_and_sums_up() {
    let cli = Cli::new();
    let [first, second, _] = cli.story();
    let lines = cli.run(&["diff", "story:3", "story:2", "--json"]).ok().json();
    assert_eq!(lines.len(), 3);
    assert_eq!((&lines[0]["path"], &lines[0]["change"]), (&json!("a.txt"), &json!("modified")));
    assert_eq!((&lines[0]["added"], &lines[0]["removed"]), (&json!(1), &json!(1)));
    assert!(lines[0]["diff"].as_str().unwrap().contains("-two\n+2\n"));
    assert_eq!((&lines[1]["change"], &lines[1]["old"]["state"]), (&json!("created"), &json!("absent")));
    assert_eq!(lines[2]["type"], "summary");
    assert_eq!(lines[2]["from"], first.id.to_hex());
    assert_eq!(lines[2]["to"], second.id.to_hex());
    assert_eq!(lines[2]["files"], 2);
    let with_disk = cli.run(&["diff", "story:3", "--json", "--stat"]).ok().json();
    assert!(with_disk.last().unwrap().get("to").is_none());
    assert!(with_disk[0].get("diff").is_none());
}

#[test]
fn binary_files_are_only_said_to_differ() {
    let cli = Cli::new();
    cli.write("b", b"a\0b");
    cli.run(&["snapshot", "b"]).ok();
    cli.write("b", b"a\0c");
    let run = cli.run(&["diff", "latest"]).ok();
    assert!(run.out().ends_with("Binary files a/b and b/b differ\n"), "{}", run.out());
    assert!(cli.run(&["diff", "latest", "--stat"]).ok().out().contains("Bin"));
}

#[test]
fn a_link_on_disk_is_not_followed() {
    let cli = Cli::new();
    cli.write("a.txt", "a\n");
    cli.run(&["snapshot", "a.txt"]).ok();
    let secret = cli.root.join("secret");
    std::fs::write(&secret, "secret\n").unwrap();
    std::fs::remove_file(cli.work.join("a.txt")).unwrap();
    std::os::unix::fs::symlink(&secret, cli.work.join("a.txt")).unwrap();
    let run = cli.run(&["diff", "latest"]).ok().says(&["1 file cannot be compared"]);
    assert_eq!(run.out(), "");
}

#[test]
fn a_content_that_cannot_be_read_is_named_and_the_rest_is_shown() {
    let cli = Cli::new();
    cli.write("a.txt", "the damaged one 1\n");
    cli.write("b.txt", "the other\n");
    cli.run(&["snapshot", "."]).ok();
    cli.write("a.txt", "changed\n");
    cli.write("b.txt", "changed\n");
    cli.damage(b"the damaged one 1\n");
    let run = cli.run(&["diff", "latest"]).ends(4).says(&["warning: a.txt", "CANDY_OBJECT_DAMAGED"]);
    assert!(run.out().contains("-the other\n+changed\n"));
    let json = cli.run(&["diff", "latest", "--json"]).ends(4).json();
    assert_eq!(json.last().unwrap()["unreadable"], 1);
}

#[test]
fn colours_are_for_those_who_ask() {
    let cli = Cli::new();
    cli.story();
    let plain = cli.run(&["diff", "story:3", "story:2"]).ok();
    assert!(!plain.out().contains('\u{1b}'));
    let coloured = cli.run(&["diff", "story:3", "story:2", "--color", "always"]).ok();
    assert!(coloured.out().contains("\u{1b}[31m-two\u{1b}[0m\n"), "{:?}", coloured.out());
    // NO_COLOR is for the automatic choice; who asks by name gets colours.
    let mut command = cli.command(&["diff", "story:3", "story:2", "--color", "always"]);
    assert!(crate::helper::finish(command.env("NO_COLOR", "1").stdin(Stdio::null())).out().contains('\u{1b}'));
}
