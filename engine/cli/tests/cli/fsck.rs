//! `fsck`.

use crate::helper::Cli;

fn damaged() -> Cli {
    let cli = Cli::new();
    cli.write("a", "the damaged one 4\n");
    cli.write("b", "b\n");
    cli.point("s", "1", &["a", "b"]);
    cli.damage(b"the damaged one 4\n");
    // Nowhere a copy to heal it from.
    cli.write("a", "changed\n");
    cli
}

#[test]
fn a_sound_store_has_no_damage() {
    let cli = Cli::new();
    cli.story();
    let run = cli.run(&["fsck", "--read-data"]).ok();
    assert!(run.out().starts_with("checked 1 session, 3 points, "), "{}", run.out());
    assert!(run.out().contains("no damage"));
    let lines = cli.run(&["fsck", "--json"]).ok().json();
    assert_eq!(lines.last().unwrap()["clean"], true);
    assert_eq!(cli.run(&["fsck", "-q"]).ok().out(), "");
}

#[test]
fn damage_is_named_with_code_and_cost() {
    let cli = damaged();
    let run = cli.run(&["fsck", "--read-data"]).ends(4);
    assert!(run.out().contains("damage:") && run.out().contains("[CANDY_FSCK_"), "{}", run.out());
    assert!(run.out().contains("costs a of"), "{}", run.out());
    let lines = cli.run(&["fsck", "--read-data", "--json"]).ends(4).json();
    let finding = lines.iter().find(|line| line["costs_total"].as_u64().is_some_and(|total| total > 0)).unwrap();
    assert_eq!((finding["type"].as_str(), finding["severity"].as_str()), (Some("finding"), Some("damage")));
    assert_eq!(finding["costs"][0]["session"], "s");
    assert_eq!(lines.last().unwrap()["clean"], false);
}

#[test]
fn a_repair_without_a_terminal_needs_a_yes() {
    let cli = damaged();
    let run = cli.run(&["fsck", "--repair"]).ends(2).says(&["--yes"]);
    assert!(run.out().contains("damage:"), "what would be repaired is shown: {}", run.out());
    cli.run(&["fsck", "--rebuild-index"]).ends(2).says(&["--yes"]);
    cli.run(&["fsck", "--repair", "--yes", "--read-only"]).ends(2).says(&["--read-only"]);
    cli.run(&["fsck", "--read-data"]).ends(4);
}

#[test]
fn a_repair_records_the_loss_and_the_store_is_sound_again() {
    let cli = damaged();
    let run = cli.run(&["fsck", "--repair", "--yes"]).ends(4);
    assert!(run.out().contains("1 content lost, 0 damages left"), "{}", run.out());
    cli.run(&["fsck", "--read-data"]).ok();
    cli.run(&["cat", "s:1", "a"]).ends(4);
    assert_eq!(cli.run(&["cat", "s:1", "b"]).ok().out(), "b\n");
}

#[test]
fn a_repair_heals_from_a_file_with_the_same_bytes() {
    let cli = damaged();
    cli.write("a", "the damaged one 4\n");
    let lines = cli.run(&["fsck", "--repair", "--yes", "--json"]).ok().json();
    let repair = lines.last().unwrap();
    assert_eq!((repair["type"].as_str(), repair["clean"].as_bool()), (Some("repair"), Some(true)));
    assert_eq!(cli.run(&["cat", "s:1", "a"]).ok().out(), "the damaged one 4\n");
}

#[test]
fn nothing_to_repair_asks_nobody() {
    let cli = Cli::new();
    cli.story();
    assert_eq!(cli.run(&["fsck", "--repair"]).ok().out(), "nothing to repair\n");
    let lines = cli.run(&["fsck", "--repair", "--json"]).ok().json();
    assert_eq!(lines.last().unwrap()["type"], "repair");
}

#[test]
fn a_lost_index_is_made_anew() {
    let cli = Cli::new();
    let points = cli.story();
    let before = cli.run(&["log", "story", "--json"]).ok().stdout;
    std::fs::remove_file(cli.store.join("index.redb")).unwrap();
    cli.run(&["log"]).ends(4).says(&["CANDY_INDEX_MISSING", "fsck --rebuild-index"]);
    let run = cli.run(&["fsck"]).ends(4);
    assert!(run.out().contains("CANDY_FSCK_INDEX_MISSING"), "{}", run.out());
    let run = cli.run(&["fsck", "--rebuild-index", "--yes"]).ok();
    assert!(run.out().contains("made a new index: 1 session, 3 points"), "{}", run.out());
    assert_eq!(cli.run(&["log", "story", "--json"]).ok().stdout, before);
    cli.run(&["fsck", "--read-data"]).ok();
    cli.run(&["ls", &points[0].id.to_hex()]).ok();
}

#[test]
fn a_store_whose_index_is_rubbish_can_be_checked_and_rebuilt() {
    let cli = Cli::new();
    cli.story();
    std::fs::write(cli.store.join("index.redb"), vec![7; 100_000]).unwrap();
    cli.run(&["log"]).ends(4).says(&["CANDY_INDEX_DAMAGED"]);
    cli.run(&["fsck"]).ends(4);
    cli.run(&["fsck", "--rebuild-index", "--yes"]).ok();
    cli.run(&["log", "story"]).ok();
}
