//! `log`.

use serde_json::json;

use crate::helper::{Cli, short};

#[test]
fn sessions_are_listed_newest_first() {
    let cli = Cli::new();
    cli.point("old", "x", &[]);
    cli.story();
    let run = cli.run(&["log"]).ok();
    let lines: Vec<_> = run.out().lines().collect();
    assert!(lines[0].starts_with("SESSION"));
    assert!(lines[1].starts_with("story") && lines[1].contains(cli.work.to_str().unwrap()));
    assert!(lines[2].starts_with("old"));
    assert_eq!(cli.run(&["log", "-q", "-n", "1"]).ok().out().lines().count(), 1);
    let sessions = cli.run(&["log", "--json"]).ok().json();
    assert_eq!(sessions.len(), 2);
    assert_eq!(sessions[0]["type"], "session");
    assert_eq!(sessions[0]["session"], "story");
    assert_eq!(sessions[0]["points"], 3);
    assert_eq!(sessions[0]["cwd"], cli.work.to_str().unwrap());
    let time = sessions[0]["last_event"].as_str().unwrap();
    assert!(time.len() == 24 && time.ends_with('Z') && time.as_bytes()[10] == b'T', "{time}");
}

#[test]
fn points_are_listed_with_prompt_files_and_lines() {
    let cli = Cli::new();
    let [first, second, third] = cli.story();
    let run = cli.run(&["log", "story"]).ok();
    let lines: Vec<_> = run.out().lines().collect();
    assert_eq!(lines.len(), 4);
    for (line, point) in lines[1..].iter().zip([&third, &second, &first]) {
        assert!(line.starts_with(&short(point)), "{line}");
        assert!(line.contains("operation"));
    }
    assert!(lines[2].contains("+2 -1") && lines[2].contains("remove a and more"), "{}", lines[2]);
    assert!(lines[1].contains("+0 -3"), "{}", lines[1]);

    let points = cli.run(&["log", "story", "--json", "-n", "2"]).ok().json();
    assert_eq!(points.len(), 2);
    assert_eq!(points[1]["type"], "point");
    assert_eq!(points[1]["id"], second.id.to_hex());
    assert_eq!(points[1]["nth"], 2);
    assert_eq!((&points[1]["files"], &points[1]["changed"]), (&json!(2), &json!(2)));
    assert_eq!((&points[1]["added"], &points[1]["removed"]), (&json!(2), &json!(1)));
    assert_eq!(points[1]["prompt"], "remove a\nand more");
}

#[test]
fn the_history_of_a_file_spans_all_sessions() {
    let cli = Cli::new();
    let [first, second, third] = cli.story();
    cli.write("a.txt", "again\n");
    let other = cli.point("other", "elsewhere", &["a.txt"]);
    let run = cli.run(&["log", "--path", "a.txt"]).ok();
    let lines: Vec<_> = run.out().lines().skip(1).collect();
    for (line, point) in lines.iter().zip([&other, &third, &second, &first]) {
        assert!(line.starts_with(&short(point)), "{line}");
    }
    assert!(lines[1].contains("absent"));
    let versions = cli.run(&["log", "story", "--path", "a.txt", "--json"]).ok().json();
    assert_eq!(versions.len(), 3);
    assert_eq!(versions[0]["type"], "version");
    assert_eq!(versions[0]["state"], "absent");
    assert_eq!(versions[1]["state"], "file");
    assert_eq!(versions[1]["size"], 12);
    assert_eq!(versions[1]["point"]["id"], second.id.to_hex());
    cli.run(&["log", "--path", "nothing.txt"]).ends(1).says(&["nothing.txt", "CANDY_NOT_FOUND"]);
}

#[test]
fn a_point_at_which_a_file_did_not_change_is_not_in_its_history() {
    let cli = Cli::new();
    cli.write("a.txt", "x\n");
    cli.point("s", "1", &["a.txt"]);
    cli.point("s", "2", &[]);
    cli.write("a.txt", "y\n");
    cli.point("s", "3", &[]);
    assert_eq!(cli.run(&["log", "--path", "a.txt", "--json"]).ok().json().len(), 2);
}

#[test]
fn the_history_of_a_link_is_that_of_the_file_it_reaches() {
    let cli = Cli::new();
    cli.story();
    cli.write("a.txt", "x");
    std::os::unix::fs::symlink("a.txt", cli.work.join("link")).unwrap();
    assert_eq!(cli.run(&["log", "--path", "link", "--json"]).ok().json().len(), 3);
}

#[test]
fn a_damaged_content_leaves_the_list_readable() {
    let cli = Cli::new();
    cli.write("a.txt", "short and raw 1\n");
    cli.point("s", "1", &["a.txt"]);
    cli.write("a.txt", "quite another text\n");
    cli.point("s", "2", &[]);
    cli.damage(b"quite another text\n");
    let run = cli.run(&["log", "s"]).ends(4).says(&["fsck --read-data"]);
    assert_eq!(run.out().lines().count(), 3);
}

#[test]
fn a_prompt_cannot_steer_the_terminal() {
    let cli = Cli::new();
    cli.point("s", "red \u{1b}[31m and\r\nlines", &[]);
    let run = cli.run(&["log", "s", "--color", "never"]).ok();
    assert!(!run.out().contains('\u{1b}') && run.out().lines().count() == 2, "{:?}", run.out());
}
