//! `ls` and `cat`.

use std::os::unix::ffi::OsStrExt as _;

use serde_json::json;

use crate::helper::Cli;

#[test]
fn ls_shows_files_and_absent_ones() {
    let cli = Cli::new();
    cli.story();
    let run = cli.run(&["ls", "story:3"]).ok();
    let lines: Vec<_> = run.out().lines().collect();
    assert_eq!(lines.len(), 3);
    assert!(lines[1].starts_with("-rw") && lines[1].ends_with("14 B  a.txt"), "{}", lines[1]);
    assert!(lines[2].starts_with("absent") && lines[2].ends_with("new.txt"));
    let entries = cli.run(&["ls", "story:2", "new.txt", "--json"]).ok().document();
    assert_eq!(entries["type"], "entry");
    assert_eq!((&entries["path"], &entries["state"], &entries["size"]), (&json!("new.txt"), &json!("file"), &json!(4)));
    cli.run(&["ls", "latest", "nothing"]).ends(1).says(&["nothing", "CANDY_NOT_FOUND"]);
}

#[test]
fn names_that_are_no_utf_8_come_out_whole() {
    let cli = Cli::new();
    let name = std::ffi::OsStr::from_bytes(b"bad\xff\n.txt");
    std::fs::write(cli.work.join(name), "odd").unwrap();
    cli.write("说明 😀.md", "x");
    cli.run(&["snapshot", "."]).ok();
    let raw = cli.run(&["ls", "latest", "-z"]).ok();
    assert_eq!(raw.stdout, [b"bad\xff\n.txt\0", "说明 😀.md\0".as_bytes()].concat());
    let entries = cli.run(&["ls", "latest", "--json"]).ok().json();
    assert_eq!(entries[0]["path_b64"], "YmFk/woudHh0");
    assert_eq!(entries[1]["path"], "说明 😀.md");
    assert!(entries[1].get("path_b64").is_none());
    // On one line, and without a byte that is no text.
    let text = cli.run(&["ls", "latest"]).ok();
    assert!(text.out().contains("bad\\xff\\n.txt"), "{}", text.out());
    let arguments = [std::ffi::OsStr::new("cat"), std::ffi::OsStr::new("latest"), name];
    assert_eq!(cli.run(&arguments).ok().stdout, b"odd");
}

#[test]
fn cat_gives_the_very_bytes() {
    let cli = Cli::new();
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    cli.write("d/bin", &bytes);
    cli.run(&["snapshot", "d"]).ok();
    cli.write("d/bin", "changed");
    assert_eq!(cli.run(&["cat", "latest", "d/bin"]).ok().stdout, bytes);
    let absolute = cli.work.join("d/bin");
    assert_eq!(cli.run(&["cat", "latest", absolute.to_str().unwrap()]).ok().stdout, bytes);
    // From within a directory, as a shell completes it.
    let mut command = cli.command(&["cat", "latest", "bin"]);
    assert_eq!(crate::helper::finish(command.current_dir(cli.work.join("d"))).ok().stdout, bytes);
    let json = cli.run(&["cat", "latest", "d/bin", "--json"]).ok().document();
    assert!(json.get("text").is_none() && json["bytes_b64"].as_str().unwrap().len() == 133_336);
}

#[test]
fn cat_says_why_there_is_nothing() {
    let cli = Cli::new();
    cli.story();
    cli.run(&["cat", "latest", "a.txt"]).ends(1).says(&["did not exist then", "log --path"]);
    cli.run(&["cat", "latest", "other"]).ends(1).says(&["other", "candy-store ls"]);
    // A directory has no bytes.
    cli.run(&["cat", "latest", "."]).ends(1);
}

#[test]
fn a_large_content_is_verified_before_a_byte_is_printed() {
    let cli = Cli::new();
    let mut bytes = vec![0; 6 << 20];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = (at.wrapping_mul(2_654_435_761) >> 13) as u8;
    }
    cli.write("large", &bytes);
    cli.run(&["snapshot", "large"]).ok();
    let run = cli.run(&["cat", "latest", "large"]).ok();
    assert!(run.stdout == bytes);
    // One flipped bit near the end.
    let directory = std::fs::read_dir(cli.store.join("large")).unwrap().next().unwrap().unwrap().path();
    let file = std::fs::read_dir(directory).unwrap().next().unwrap().unwrap().path();
    let mut stored = std::fs::read(&file).unwrap();
    let at = stored.len() - 1000;
    stored[at] ^= 1;
    std::fs::write(&file, stored).unwrap();
    let run = cli.run(&["cat", "latest", "large"]).ends(4).says(&["CANDY_OBJECT_DAMAGED"]);
    assert_eq!(run.stdout.len(), 0);
}

#[test]
fn a_damaged_content_is_never_printed() {
    let cli = Cli::new();
    cli.write("a.txt", "incompressible 7fQ\n");
    cli.run(&["snapshot", "a.txt"]).ok();
    cli.damage(b"incompressible 7fQ\n");
    let run = cli.run(&["cat", "latest", "a.txt"]).ends(4).says(&["error:", "fsck --read-data"]);
    assert_eq!(run.stdout, b"");
}
