//! `snapshot`.

use serde_json::json;

use crate::helper::{Cli, finish};

#[test]
fn a_point_is_taken_without_any_agent() {
    let cli = Cli::new();
    cli.write("src/a.txt", "a\n");
    cli.write("src/b.txt", "b\n");
    let run = cli.run(&["snapshot", "src", "-m", "before lunch"]).ok().says(&["made a store in"]);
    assert!(run.out().contains(&format!("of session cli:{}", cli.work.display())), "{}", run.out());
    assert!(run.out().contains("2 files, 2 changed"), "{}", run.out());
    cli.write("src/a.txt", "changed\n");
    let outcome = cli.run(&["snapshot", "src", "--json"]).ok().document();
    assert_eq!(outcome["type"], "snapshot");
    assert_eq!((&outcome["point"]["kind"], &outcome["point"]["changed"]), (&json!("manual"), &json!(1)));
    assert!(cli.run(&["log", "cli:"]).ok().out().contains("before lunch"));
    cli.run(&["restore", "latest~1"]).ok();
    assert_eq!(cli.read("src/a.txt"), "a\n");
}

#[test]
fn a_file_that_is_not_there_yet_is_kept_as_absent() {
    let cli = Cli::new();
    cli.run(&["snapshot", "later.txt"]).ok();
    cli.write("later.txt", "x");
    cli.run(&["restore", "latest"]).ok();
    assert!(!cli.exists("later.txt"));
}

#[test]
fn excluded_files_are_left_out_of_directories_and_named_when_asked_for() {
    let cli = Cli::new();
    for name in ["a", ".env", "node_modules/m/x.js", "yarn.lock", ".git/config"] {
        cli.write(name, name);
    }
    cli.run(&["snapshot", "."]).ok();
    assert_eq!(cli.run(&["ls", "latest", "-z"]).ok().stdout, b"a\0");
    cli.run(&["snapshot", ".env"]).ends(3).says(&[".env", "excluded"]);
    let outcome = cli.run(&["snapshot", ".env", "--json"]).ends(3).document();
    assert_eq!(outcome["not_captured"][0]["reason"], "excluded");
}

#[test]
fn the_settings_of_pi_say_what_is_excluded() {
    let cli = Cli::new();
    let agent = cli.root.join("home/.pi/agent");
    std::fs::create_dir_all(&agent).unwrap();
    let settings = r#"{"candyUndo": {"exclude": ["*.log", "!.env"], "maxFileSizeMB": 0.001}}"#;
    std::fs::write(agent.join("settings.json"), settings).unwrap();
    cli.write("a.log", "x");
    cli.write(".env", "x");
    cli.write("large", vec![b'x'; 2000]);
    cli.run(&["snapshot", "."]).ends(3).says(&["large", "too-large"]);
    assert_eq!(cli.run(&["ls", "latest", "-z"]).ok().stdout, b".env\0");
}

#[test]
fn links_are_not_followed_into_directories_and_special_files_are_not_opened() {
    let cli = Cli::new();
    let secret = cli.root.join("secret");
    std::fs::create_dir(&secret).unwrap();
    std::fs::write(secret.join("key"), "k").unwrap();
    std::os::unix::fs::symlink(&secret, cli.work.join("link")).unwrap();
    cli.write("a", "a");
    let made = std::process::Command::new("mkfifo").arg(cli.work.join("fifo")).status();
    cli.run(&["snapshot", "."]).ok();
    assert_eq!(cli.run(&["ls", "latest", "-z"]).ok().stdout, b"a\0");
    if made.is_ok_and(|status| status.success()) {
        cli.run(&["snapshot", "fifo"]).ends(3).says(&["not-a-file"]);
    }
}

#[test]
fn a_session_of_ones_own_keeps_its_directory() {
    let cli = Cli::new();
    cli.write("a", "a1");
    cli.run(&["snapshot", "a", "--session", "mine"]).ok();
    cli.write("sub/b", "b");
    let mut command = cli.command(&["snapshot", "b", "--session", "mine"]);
    finish(command.current_dir(cli.work.join("sub"))).ok();
    assert_eq!(cli.run(&["ls", "mine:1", "-z"]).ok().stdout, b"a\0sub/b\0");
}

#[test]
fn nothing_is_written_under_read_only() {
    let cli = Cli::new();
    cli.write("a", "a");
    cli.run(&["snapshot", "a", "--read-only"]).ends(2);
    assert!(!cli.store.exists());
    cli.run(&["snapshot"]).ends(2);
}
