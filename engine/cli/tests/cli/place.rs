//! Where the store is looked for.

use crate::helper::{Cli, finish};

#[test]
fn without_a_store_every_reading_command_ends_with_10_and_makes_none() {
    let cli = Cli::new();
    for arguments in [
        vec!["log"],
        vec!["ls", "latest"],
        vec!["cat", "latest", "a"],
        vec!["diff", "latest"],
        vec!["restore", "latest"],
        vec!["stats"],
        vec!["fsck"],
        vec!["fsck", "--repair", "--yes"],
        vec!["fsck", "--rebuild-index", "--yes"],
        vec!["gc"],
    ] {
        cli.run(&arguments).ends(10).says(&["error:", "CANDY_NO_STORE", "help:", "the default"]);
    }
    assert!(!cli.store.exists());
}

#[test]
fn the_option_wins_over_the_variable_and_that_over_the_settings() {
    let cli = Cli::new();
    let settings = cli.root.join("home/.pi/agent");
    std::fs::create_dir_all(&settings).unwrap();
    std::fs::write(settings.join("settings.json"), r#"{"candyUndo": {"storageDir": "~/configured"}}"#).unwrap();
    cli.write("a", "x");
    let made_in = |option: Option<&str>, variable: Option<&str>| {
        let mut arguments = vec!["snapshot", "a", "--json"];
        arguments.extend(option.iter().flat_map(|place| ["--store", place]));
        let mut command = cli.command(&arguments);
        if let Some(variable) = variable {
            command.env("CANDY_STORE_DIR", variable);
        }
        finish(&mut command).ok().stderr
    };
    let (a, b) = (cli.root.join("option"), cli.root.join("variable"));
    let configured = cli.root.join("home/configured/store");
    assert!(made_in(a.to_str(), b.to_str()).contains("/option"));
    assert!(!b.exists() && !configured.exists());
    assert!(made_in(None, b.to_str()).contains("/variable"));
    assert!(!configured.exists());
    assert!(made_in(None, None).contains("/configured/store"));
    assert!(configured.join("format").exists() && !cli.store.exists());
}

#[test]
fn pi_in_another_place_is_honoured() {
    let cli = Cli::new();
    let agent = cli.root.join("agent");
    std::fs::create_dir(&agent).unwrap();
    let storage = cli.root.join("far");
    let settings = format!(r#"{{"candyUndo": {{"storageDir": {storage:?}}}}}"#);
    std::fs::write(agent.join("settings.json"), settings).unwrap();
    cli.write("a", "x");
    finish(cli.command(&["snapshot", "a"]).env("PI_CODING_AGENT_DIR", &agent)).ok();
    assert!(storage.join("store/format").exists());
}

#[test]
fn settings_that_do_not_parse_are_named_and_the_default_holds() {
    let cli = Cli::new();
    let agent = cli.root.join("home/.pi/agent");
    std::fs::create_dir_all(&agent).unwrap();
    std::fs::write(agent.join("settings.json"), "{ not json").unwrap();
    cli.story();
    cli.run(&["log"]).ok().says(&["warning:", "settings.json"]);
    // Whoever names the store does not need them.
    let named = cli.run(&["log", "--store", cli.store.to_str().unwrap()]).ok();
    assert_eq!(named.stderr, "");
}

#[test]
fn a_relative_store_is_seen_from_the_current_directory() {
    let cli = Cli::new();
    cli.story();
    cli.run(&["log", "--store", "../home/.pi/candy-store"]).ok();
}

#[test]
fn a_store_inside_the_workspace_is_refused_and_not_made() {
    let cli = Cli::new();
    cli.write("a", "x");
    let inside = cli.work.join("store");
    cli.run(&["snapshot", "a", "--store", inside.to_str().unwrap()]).ends(1).says(&["CANDY_STORE_IN_WORKSPACE"]);
    assert!(!inside.exists());
}

#[test]
fn a_directory_with_other_things_is_no_store_and_is_left_alone() {
    let cli = Cli::new();
    let other = cli.root.join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("precious"), "x").unwrap();
    cli.write("a", "x");
    cli.run(&["snapshot", "a", "--store", other.to_str().unwrap()]).ends(10).says(&["CANDY_NOT_A_STORE", "precious"]);
    assert_eq!(std::fs::read_dir(&other).unwrap().count(), 1);
}
