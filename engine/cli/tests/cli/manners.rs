//! What all commands have in common.

use std::io::Read as _;
use std::process::Stdio;
use std::sync::Arc;

use candy_store::io::{Io, LockMode, RealIo};
use candy_store::lock::Lock;
use serde_json::Value;

use crate::helper::{Cli, finish, picture};

const EVERY_COMMAND: [&[&str]; 11] = [
    &["log"],
    &["log", "story"],
    &["log", "--path", "a.txt"],
    &["ls", "story:2"],
    &["cat", "story:2", "a.txt"],
    &["diff", "story:3", "story:2"],
    &["restore", "story:2", "--dry-run"],
    &["stats"],
    &["fsck"],
    &["gc", "--dry-run"],
    &["snapshot", "new.txt"],
];

#[test]
fn every_command_speaks_json_with_a_type_on_each_line() {
    let cli = Cli::new();
    cli.story();
    for arguments in EVERY_COMMAND {
        let run = cli.run(&[arguments, &["--json"]].concat()).ok();
        let lines = run.json();
        assert!(!lines.is_empty(), "{arguments:?}");
        assert!(lines.iter().all(|line| line["type"].is_string()), "{arguments:?}: {}", run.out());
        assert_eq!(run.stderr, "", "{arguments:?}");
    }
}

#[test]
fn errors_are_json_as_well() {
    let cli = Cli::new();
    let run = cli.run(&["log", "--json"]).ends(10);
    assert_eq!(run.stdout, b"");
    let error: Value = serde_json::from_str(&run.stderr).unwrap();
    assert_eq!((error["type"].as_str(), error["code"].as_str()), (Some("error"), Some("CANDY_NO_STORE")));
    assert_eq!(error["exit"], 10);
    assert!(error["hint"].is_string() && error["path"].is_string());
}

#[test]
fn under_read_only_no_file_of_the_store_is_touched() {
    let cli = Cli::new();
    cli.story();
    let work = picture(&cli.work);
    // Lock files are missing in a store that was copied without them, and must not come back.
    std::fs::remove_dir_all(cli.store.join("locks")).unwrap();
    std::fs::create_dir(cli.store.join("locks")).unwrap();
    let store = picture(&cli.store);
    for arguments in EVERY_COMMAND.iter().filter(|arguments| arguments[0] != "snapshot") {
        cli.run(&[arguments, &["--read-only"][..]].concat()).ok();
        assert!(picture(&cli.store) == store, "{arguments:?}");
    }
    assert_eq!(picture(&cli.work), work);
}

#[test]
fn commands_that_write_refuse_to_be_read_only() {
    let cli = Cli::new();
    cli.story();
    for arguments in [
        &["snapshot", "a.txt"][..],
        &["restore", "story:3"],
        &["gc"],
        &["fsck", "--repair", "--yes"],
        &["fsck", "--rebuild-index", "--yes"],
    ] {
        cli.run(&[arguments, &["--read-only"]].concat()).ends(2).says(&["--read-only"]);
    }
}

#[test]
fn raw_paths_are_only_for_commands_that_list_paths() {
    let cli = Cli::new();
    cli.story();
    for arguments in [&["log"][..], &["stats"], &["gc"], &["fsck"], &["cat", "story:2", "a.txt"], &["snapshot", "x"]] {
        cli.run(&[arguments, &["-z"]].concat()).ends(2).says(&["-z"]);
    }
    cli.run(&["ls", "story:2", "-z", "--json"]).ends(2);
}

#[test]
fn a_reader_that_stops_reading_is_no_error() {
    let cli = Cli::new();
    let text: String = (0..200_000).map(|line| format!("{line}\n")).collect();
    cli.write("long", &text);
    cli.run(&["snapshot", "long"]).ok();
    let mut child =
        cli.command(&["cat", "latest", "long"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    // The pipe is closed here, long before everything was written.
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn nothing_but_data_is_printed_when_quiet_or_piped() {
    let cli = Cli::new();
    cli.story();
    let run = cli.run(&["log", "story", "-q"]).ok();
    assert_eq!((run.out().lines().count(), run.stderr.as_str()), (3, ""));
    for arguments in EVERY_COMMAND {
        let run = cli.run(arguments).ok();
        assert!(!run.stderr.contains('\r') && !run.stderr.contains('\u{1b}'), "{arguments:?}: {:?}", run.stderr);
        assert!(!run.stdout.contains(&0x1b), "{arguments:?}");
    }
}

#[test]
fn a_command_line_that_makes_no_sense_ends_with_2() {
    let cli = Cli::new();
    for arguments in [&["nonsense"][..], &[], &["log", "--color", "pink"], &["log", "-q", "-v"], &["ls"]] {
        let run = cli.run(arguments).ends(2);
        assert!(run.stderr.contains("--help") || run.stderr.contains("Usage"), "{arguments:?}: {}", run.stderr);
    }
    cli.run(&["log", "--lock-wait", "-3"]).ends(2);
    assert!(cli.run(&["--help"]).ok().out().contains("Exit codes"));
    assert!(cli.run(&["--version"]).ok().out().starts_with("candy-store "));
}

#[test]
fn a_store_of_a_newer_program_ends_with_12() {
    let cli = Cli::new();
    cli.story();
    let path = cli.store.join("format");
    let line = std::fs::read(&path).unwrap();
    let mut format = candy_store::format::Format::parse(&line).unwrap();
    format.format += 1;
    std::fs::write(&path, format.to_line()).unwrap();
    for arguments in [&["log"][..], &["fsck"], &["gc"], &["snapshot", "a.txt"]] {
        cli.run(arguments).ends(12).says(&["CANDY_NEWER_FORMAT", "update this program"]);
    }
}

#[test]
fn a_lock_that_is_held_ends_with_11_after_the_wait() {
    let cli = Cli::new();
    cli.story();
    let io: Arc<dyn Io> = Arc::new(RealIo);
    let _lock = Lock::try_new(&io, &cli.store.join("locks/index"), LockMode::Exclusive).unwrap().unwrap();
    let begin = std::time::Instant::now();
    cli.run(&["log", "--lock-wait", "0.3"]).ends(11).says(&["CANDY_LOCK_TIMEOUT"]);
    assert!(begin.elapsed().as_secs() < 4);
}

#[test]
fn a_live_session_is_in_nobodys_way() {
    let cli = Cli::new();
    cli.story();
    let store = cli.open();
    let session = cli.session(&store, "story");
    cli.write("b.txt", "b");
    session.track(&cli.work.join("b.txt")).unwrap();
    for arguments in EVERY_COMMAND {
        cli.run(arguments).ok();
    }
    session.snapshot(&candy_store::SnapshotRequest::of(candy_store::PointKind::Manual)).unwrap();
}

#[test]
fn verbose_tells_where_the_store_is() {
    let cli = Cli::new();
    cli.story();
    cli.run(&["log", "-v"]).ok().says(&["store: ", "(the default)"]);
    let mut command = cli.command(&["log", "-v"]);
    finish(command.env("CANDY_STORE_DIR", &cli.store)).ok().says(&["(CANDY_STORE_DIR)"]);
}
