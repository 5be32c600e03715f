#![allow(clippy::disallowed_methods, reason = "the tests play the user, who writes as he likes")]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::*;
use crate::io::RealIo;
use crate::tree::Reason;
use crate::workspace::hook_io::{Call, HookIo};

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    (folder, root)
}

fn capture_now(path: &Path) -> Capture {
    capture(&RealIo, path, 100 << 20).unwrap()
}

fn reason(path: &Path) -> Reason {
    match capture_now(path) {
        Capture::NotCaptured { reason, .. } => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn absence_is_only_what_is_certain() {
    let (_folder, root) = folder();
    fs::write(root.join("file"), "x").unwrap();
    symlink(root.join("nowhere"), root.join("dangling")).unwrap();
    symlink(&root, root.join("loop")).unwrap();
    for absent in ["none", "none/below", "file/below", "file/below/deeper"] {
        let path = root.join(absent);
        assert!(matches!(capture_now(&path), Capture::Absent), "{absent}");
        assert_eq!(Fingerprints::default().of(&RealIo, &path).unwrap(), None, "{absent}");
    }
    for link in ["dangling", "dangling/below", "loop/none", "loop/file"] {
        assert_eq!(reason(&root.join(link)), Reason::Symlink, "{link}");
    }
    for doubtful in ["dangling", "dangling/below"] {
        assert!(Fingerprints::default().of(&RealIo, &root.join(doubtful)).unwrap().is_some(), "{doubtful}");
    }
}

#[test]
fn what_is_no_plain_file_is_named_and_not_opened() {
    let (_folder, root) = folder();
    fs::create_dir(root.join("dir")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, root.join("fifo"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
        .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
    let began = Instant::now();
    for name in ["dir", "fifo", "socket"] {
        assert_eq!(reason(&root.join(name)), Reason::NotAFile, "{name}");
    }
    assert_eq!(reason(Path::new("/dev/null")), Reason::NotAFile);
    assert!(began.elapsed() < Duration::from_secs(1));
    assert_eq!(reason(&root.join("n".repeat(300))), Reason::Unreadable);
}

#[test]
fn a_refusal_of_the_system_is_not_an_absence() {
    let (_folder, root) = folder();
    fs::create_dir(root.join("d")).unwrap();
    fs::write(root.join("d/a"), "x").unwrap();
    for call in [Call::OpenFile, Call::Read, Call::StatName] {
        let io = HookIo::new();
        io.set(move |now, path| {
            let hit = now == call && path.ends_with("a");
            if hit { Err(std::io::ErrorKind::PermissionDenied.into()) } else { Ok(()) }
        });
        let captured = capture(&io, &root.join("d/a"), 100).unwrap();
        assert!(matches!(captured, Capture::NotCaptured { reason: Reason::Unreadable, .. }), "{call:?}: {captured:?}");
    }
    let io = HookIo::new();
    io.set(|now, path| {
        let hit = now == Call::OpenDir && path.ends_with("d");
        if hit { Err(std::io::ErrorKind::PermissionDenied.into()) } else { Ok(()) }
    });
    let captured = capture(&io, &root.join("d/a"), 100).unwrap();
    assert!(matches!(captured, Capture::NotCaptured { reason: Reason::Unreadable, .. }), "{captured:?}");
}

#[test]
fn a_file_is_read_whole_with_its_stat() {
    let (_folder, root) = folder();
    let path = root.join("a");
    fs::write(&path, "content").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).unwrap();
    let Capture::File { stat, bytes } = capture_now(&path) else { panic!() };
    assert_eq!((&*bytes, stat.size, stat.mode), (&b"content"[..], 7, 0o751));
    assert_eq!(Fingerprints::default().of(&RealIo, &path).unwrap(), Some(stat));
    fs::write(&path, "").unwrap();
    assert!(matches!(capture_now(&path), Capture::File { bytes, .. } if bytes.is_empty()));
}

#[test]
fn a_file_above_the_limit_is_not_read_and_a_large_one_is_handed_over_open() {
    let (_folder, root) = folder();
    let path = root.join("a");
    fs::write(&path, vec![1; 5 << 20]).unwrap();
    let captured = capture(&RealIo, &path, 1 << 20).unwrap();
    assert!(matches!(captured, Capture::NotCaptured { reason: Reason::TooLarge, .. }), "{captured:?}");
    let Capture::Large { stat, file } = capture_now(&path) else { panic!() };
    assert_eq!((stat.size, file.stat().unwrap().size), (5 << 20, 5 << 20));
}

#[test]
fn a_file_that_changes_while_it_is_read_is_read_again_and_given_up_if_it_never_rests() {
    let (_folder, root) = folder();
    let path = root.join("log");
    fs::write(&path, "one").unwrap();
    for (changes, settles) in [(1, true), (1000, false)] {
        let io = HookIo::new();
        let (victim, mut left, mut text) = (path.clone(), changes, String::from("one"));
        io.set(move |call, _| {
            if call == Call::Read && left > 0 {
                left -= 1;
                text.push('+');
                fs::write(&victim, &text).unwrap();
            }
            Ok(())
        });
        match capture(&io, &path, 1 << 20).unwrap() {
            Capture::File { stat, bytes } => {
                assert!(settles);
                assert_eq!(bytes.len() as u64, stat.size);
                assert_eq!(*bytes, *fs::read(&path).unwrap());
            }
            Capture::NotCaptured { reason: Reason::Unstable, .. } => assert!(!settles),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn no_foreign_bytes_come_in_while_a_file_and_a_link_take_turns() {
    let (_folder, root) = folder();
    let (path, foreign) = (root.join("a"), root.join("foreign"));
    fs::write(&foreign, "foreign").unwrap();
    fs::write(&path, "mine").unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (link, plain) = (root.join("link"), root.join("plain"));
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                symlink(&foreign, &link).unwrap();
                fs::rename(&link, &path).unwrap();
                fs::write(&plain, "mine").unwrap();
                fs::rename(&plain, &path).unwrap();
            }
        });
        for _ in 0..3_000 {
            match capture_now(&path) {
                Capture::File { bytes, .. } => assert_eq!(*bytes, *b"mine"),
                Capture::NotCaptured { reason, .. } => {
                    assert!(matches!(reason, Reason::Symlink | Reason::Unstable), "{reason:?}");
                }
                other => panic!("{other:?}"),
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn paths_that_are_not_resolved_are_refused() {
    for path in ["a/b", "/a/../b", "/"] {
        assert_eq!(capture(&RealIo, Path::new(path), 1).unwrap_err().code(), "CANDY_BAD_NAME", "{path}");
    }
}

#[test]
fn a_directory_that_was_made_anew_between_two_captures_is_looked_up_again() {
    let (_folder, root) = folder();
    fs::create_dir(root.join("dir")).unwrap();
    fs::write(root.join("dir/a"), "a").unwrap();
    let mut captures = Captures::default();
    let mut capture = |name: &str| captures.capture(&RealIo, &root.join(name), 100 << 20).unwrap();
    assert!(matches!(capture("dir/a"), Capture::File { .. }));
    fs::rename(root.join("dir"), root.join("old")).unwrap();
    fs::create_dir(root.join("dir")).unwrap();
    fs::write(root.join("dir/b"), "b").unwrap();
    assert!(matches!(capture("dir/b"), Capture::File { .. }));
    fs::remove_dir_all(root.join("dir")).unwrap();
    symlink(root.join("old"), root.join("dir")).unwrap();
    let linked = capture("dir/c");
    assert!(matches!(linked, Capture::NotCaptured { reason: Reason::Symlink, .. }), "{linked:?}");
}
