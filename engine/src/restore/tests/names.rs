//! Names that are not what one expects of a name.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use super::*;

#[test]
fn every_name_goes_back_and_forth() {
    let world = World::new();
    let long = [b'n'; 255];
    let mut long_emoji = "🍬".repeat(63).into_bytes();
    long_emoji.extend_from_slice(b"end");
    assert_eq!(long_emoji.len(), 255);
    let names: Vec<&[u8]> = vec![
        "公共函数.cpp".as_bytes(),
        "naïve café.md".as_bytes(),
        "emoji 🍬.txt".as_bytes(),
        b"new\nline",
        b"tab\there",
        b"-rf",
        b"[a]{b}*?.c",
        b"trailing ",
        b"bad\xff\xfe.txt",
        b"back\\slash",
        b"..name",
        b"__proto__",
        b"CON",
        &long,
        &long_emoji,
    ];
    let path = |name: &[u8]| world.cwd.join("dir").join(OsStr::from_bytes(name));
    fs::create_dir(world.path("dir")).unwrap();
    for name in &names {
        fs::write(path(name), [b"before ", *name].concat()).unwrap();
    }
    let point = world.point();
    for name in &names {
        world.session.track(&path(name)).unwrap();
        fs::write(path(name), "after").unwrap();
    }
    let born = path(b"born\n\xff");
    world.session.track(&born).unwrap();
    fs::write(&born, "born").unwrap();
    let undone = world.undo(&point);
    assert_eq!((undone.restored, undone.failed.len()), (names.len() as u64 + 1, 0), "{undone:?}");
    for name in &names {
        assert_eq!(fs::read(path(name)).unwrap(), [b"before ", *name].concat(), "{name:?}");
    }
    assert!(!born.exists());
    let redone = world.undo(&undone.redo_point);
    assert_eq!(redone.restored, names.len() as u64 + 1);
    assert_eq!(fs::read(&born).unwrap(), b"born");
    world.assert_tidy();
}

#[test]
fn temporary_names_fit_and_are_one_component() {
    let id = crate::Id::random();
    for name in [&[b'x'; 255][..], "é".repeat(127).as_bytes(), &[0xff; 255], b"a\nb", b"a"] {
        let path = TrackedPath::Workspace(crate::tree::ManifestPath::parse(name).unwrap());
        let temporary = crate::restore::step::temporary_name(id, 99_999, &path);
        // eCryptfs allows 143 bytes.
        assert!(temporary.len() <= 143, "{}", temporary.len());
        assert!(!temporary.contains(['/', '\n']));
        assert!(temporary.starts_with('.') && temporary.ends_with(".tmp"));
    }
}

#[test]
fn a_diff_shows_now_against_then() {
    let world = World::new();
    world.write("a.txt", "one\ntwo\n");
    let point = world.point();
    world.agent_writes("a.txt", "one\n2\n");
    world.agent_writes("born.txt", "b\n");
    let ticket = world.plan(&point);
    assert_eq!(
        world.session.diff(ticket.id, &world.tracked("a.txt")).unwrap(),
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-2\n+two\n"
    );
    assert_eq!(
        world.session.diff(ticket.id, &world.tracked("born.txt")).unwrap(),
        "--- a/born.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n"
    );
    assert_eq!(world.session.diff(ticket.id, &world.tracked("other")).unwrap_err().code(), "CANDY_NOT_FOUND");
}
