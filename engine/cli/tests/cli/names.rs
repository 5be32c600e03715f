//! Names of points and sessions.

use crate::helper::{Cli, short};

/// The point that a name leads to.
fn seq(cli: &Cli, name: &str) -> u64 {
    let run = cli.run(&["restore", name, "--dry-run", "--json"]).ok();
    let id = run.document()["point"].as_str().unwrap().to_owned();
    let points = cli.open().all_points().unwrap();
    points.iter().find(|point| point.id.to_hex() == id).unwrap().seq
}

#[test]
fn a_point_is_named_in_every_documented_way() {
    let cli = Cli::new();
    let points = cli.story();
    let [first, second, third] = [0, 1, 2].map(|at: usize| points[at].seq);
    assert_eq!(seq(&cli, &points[0].id.to_hex()), first);
    assert_eq!(seq(&cli, &points[0].id.to_hex().to_uppercase()), first);
    assert_eq!(seq(&cli, &short(&points[1])), second);
    assert_eq!(seq(&cli, &points[1].id.to_hex()[..5]), second);
    assert_eq!(seq(&cli, "latest"), third);
    assert_eq!(seq(&cli, "latest~2"), first);
    assert_eq!(seq(&cli, "story:1"), third);
    assert_eq!(seq(&cli, "story:3"), first);
    assert_eq!(seq(&cli, "sto:2"), second);
    assert_eq!(seq(&cli, "story:latest~1"), second);
    assert_eq!(seq(&cli, "0s ago"), third);
}

#[test]
fn what_is_not_there_ends_with_1_and_what_makes_no_sense_with_2() {
    let cli = Cli::new();
    cli.story();
    for name in ["latest~3", "story:4", "other:1", "00000000", "3h ago"] {
        cli.run(&["ls", name]).ends(1).says(&["CANDY_NOT_FOUND", "candy-store log"]);
    }
    for name in ["", "abc", "latest~x", "story:0", "yesterday", "story"] {
        cli.run(&["ls", name]).ends(2).says(&["CANDY_BAD_ARGUMENT", "latest~2"]);
    }
    cli.run(&["log", "nobody"]).ends(1).says(&["nobody", "CANDY_NOT_FOUND"]);
}

#[test]
fn an_ambiguous_prefix_lists_the_candidates() {
    let cli = Cli::new();
    // 17 points: two of them begin with the same digit, and names have at least four.
    let store = cli.open();
    let session = cli.session(&store, "many");
    let mut ids = Vec::new();
    let common = loop {
        for _ in 0..200 {
            let request = candy_store::SnapshotRequest::of(candy_store::PointKind::Manual);
            ids.push(session.snapshot(&request).unwrap().point.id.to_hex());
        }
        ids.sort();
        if let Some(pair) = ids.windows(2).find(|pair| pair[0][..4] == pair[1][..4]) {
            break [pair[0].clone(), pair[1].clone()];
        }
    };
    drop(session);
    drop(store);
    let prefix = &common[0][..4];
    let run = cli.run(&["ls", prefix]).ends(2).says(&["CANDY_AMBIGUOUS", "session many"]);
    assert!(common.iter().all(|id| run.stderr.contains(&id[..8])), "{}", run.stderr);
    let run = cli.run(&["ls", prefix, "--json"]).ends(2);
    let error: serde_json::Value = serde_json::from_str(&run.stderr).unwrap();
    assert_eq!(error["code"], "CANDY_AMBIGUOUS");
    assert!(error["candidates"].as_array().unwrap().len() >= 2);
}

#[test]
fn an_ambiguous_session_lists_the_candidates() {
    let cli = Cli::new();
    cli.point("session-a", "x", &[]);
    cli.point("session-b", "x", &[]);
    cli.point("session", "x", &[]);
    cli.run(&["log", "session-"]).ends(2).says(&["CANDY_AMBIGUOUS", "session-a", "session-b"]);
    // A whole name is never ambiguous.
    cli.run(&["log", "session"]).ok();
    cli.run(&["ls", "session:1"]).ok();
}

#[test]
fn an_empty_store_has_no_latest_point() {
    let cli = Cli::new();
    drop(cli.open());
    cli.run(&["ls", "latest"]).ends(1).says(&["CANDY_NOT_FOUND"]);
}
