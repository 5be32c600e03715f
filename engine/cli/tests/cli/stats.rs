//! `stats`.

use crate::helper::Cli;

#[test]
fn sizes_are_told_per_session_and_path() {
    let cli = Cli::new();
    let text: String = (0..2000).map(|line| format!("line {line} {}\n", line * 7919 % 1000)).collect();
    cli.write("a.txt", &text);
    cli.point("s", "1", &["a.txt"]);
    for round in 0..5 {
        cli.write("a.txt", format!("{text}round {round}\n"));
        cli.point("s", "2", &[]);
    }
    let run = cli.run(&["stats"]).ok();
    for word in ["dedup", "delta", "slack", "garbage", "SESSION", "a.txt", "6 points in 1 session"] {
        assert!(run.out().contains(word), "no {word} in {}", run.out());
    }
    let stats = cli.run(&["stats", "--json"]).ok().document();
    assert_eq!((stats["type"].as_str(), stats["versions"].as_u64()), (Some("stats"), Some(6)));
    assert_eq!(stats["sessions"][0]["session"], "s");
    assert_eq!(stats["paths"][0]["path"], cli.work.join("a.txt").to_str().unwrap());
    assert_eq!(stats["deltas"]["objects"], 5);
    let disk = &stats["disk"];
    let number = |name: &str| disk[name].as_u64().unwrap();
    assert_eq!(number("segment_bytes"), number("live_bytes") + number("journal_bytes") + number("slack_bytes"));
    assert!(stats["version_bytes"].as_u64().unwrap() > 10 * stats["contents"]["stored_bytes"].as_u64().unwrap() / 4);
}

#[test]
fn the_lists_can_be_cut_and_be_whole() {
    let cli = Cli::new();
    let names: Vec<String> = (0..12).map(|n| format!("f{n}")).collect();
    for name in &names {
        cli.write(name, name);
    }
    cli.run(&["snapshot", "."]).ok();
    let listed = |arguments: &[&str]| {
        let stats = cli.run(&[&["stats", "--json"], arguments].concat()).ok().document();
        assert_eq!(stats["paths_total"], 12);
        stats["paths"].as_array().unwrap().len()
    };
    assert_eq!((listed(&[]), listed(&["-n", "3"]), listed(&["-n", "0"])), (10, 3, 12));
    assert!(cli.run(&["stats", "-n3"]).ok().out().contains("the largest 3 of 12"));
}

#[test]
fn an_empty_store_has_stats_too() {
    let cli = Cli::new();
    drop(cli.open());
    assert!(cli.run(&["stats"]).ok().out().contains("0 points in 0 sessions"));
}
