//! Bytes, modes and links of what is written back (field cases, kind C and F).

use std::process::Command;

use super::*;

/// Marks the process that another umask is for.
const MARK: &str = "CANDY_TEST_UMASK";

/// Runs the named test of this binary again, in a process with another umask; true inside that process.
fn under_umask(test: &str, umask: &str) -> bool {
    run_again(test, umask, Command::new("sh"))
}

/// As `under_umask`, without root's power where the machine allows to give it up.
fn as_nobody_under_umask(test: &str, umask: &str) -> bool {
    let mut command = Command::new("sh");
    if rustix::process::getuid().is_root() && std::env::var_os(MARK).is_none() {
        let drop = ["--reuid=65534", "--regid=65534", "--clear-groups", "--"];
        let program = std::env::current_exe().unwrap();
        let can = Command::new("setpriv").args(drop).arg(program).arg("--list").output();
        if !can.is_ok_and(|output| output.status.success()) {
            eprintln!("SKIPPED: another user cannot run this test");
            return false;
        }
        command = Command::new("setpriv");
        command.args(drop).arg("sh");
    }
    run_again(test, umask, command)
}

fn run_again(test: &str, umask: &str, mut shell: Command) -> bool {
    if std::env::var_os(MARK).is_some() {
        return true;
    }
    let program = std::env::current_exe().unwrap();
    let script = format!("umask {umask}; exec \"$0\" --exact \"$1\" --nocapture");
    let name = format!("restore::tests::field_fidelity::{test}");
    let output = shell.args(["-c", &script]).arg(program).arg(name).env(MARK, umask).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "umask {umask}: {said}");
    false
}

#[test]
fn c01_the_executable_bit_comes_back_with_the_bytes_and_alone() {
    let world = World::new();
    world.write("run.sh", "#!/bin/sh\n");
    world.chmod("run.sh", 0o755);
    let point = world.point();
    world.agent_writes("run.sh", "other\n");
    world.chmod("run.sh", 0o644);
    assert_eq!(world.undo(&point).restored, 1);
    assert_eq!((world.text("run.sh").unwrap().as_str(), world.mode("run.sh")), ("#!/bin/sh\n", 0o755));
    // The bytes are the wanted ones already, so only the mode is left to be seen.
    world.chmod("run.sh", 0o644);
    assert_eq!(world.undo(&point).restored, 1);
    assert_eq!(world.mode("run.sh"), 0o755);
}

#[test]
fn c02_c03_a_mode_comes_back_as_it_was_recorded_whatever_the_umask_is() {
    const NAME: &str = "c02_c03_a_mode_comes_back_as_it_was_recorded_whatever_the_umask_is";
    if !["000", "002", "022", "077"].iter().all(|umask| under_umask(NAME, umask)) {
        return;
    }
    let world = World::new();
    let modes = [("key.pem", 0o600), ("dir700/x", 0o640), ("shared", 0o664), ("open", 0o666), ("run", 0o755)];
    for (name, mode) in modes {
        world.write(name, "before");
        world.chmod(name, mode);
    }
    fs::set_permissions(world.path("dir700"), fs::Permissions::from_mode(0o700)).unwrap();
    let point = world.point();
    for (name, _) in modes {
        // A file that is there is replaced, one that the agent deleted is made anew: both have their own way.
        world.agent_writes(name, "after");
        if name != "open" {
            world.agent_does(name, |path| fs::remove_file(path).unwrap());
        }
    }
    let (cwd, wider) = (world.cwd.clone(), Arc::new(std::sync::Mutex::new(Vec::new())));
    let seen = Arc::clone(&wider);
    world.io.set(move |_, _| {
        for entry in fs::read_dir(&cwd).unwrap().map(Result::unwrap) {
            let mode = entry.metadata().map_or(0, |meta| meta.mode());
            if entry.file_name().to_string_lossy().contains("key.pem") && mode & 0o077 != 0 {
                seen.lock().unwrap().push((entry.path(), mode));
            }
        }
        Ok(())
    });
    assert_eq!(world.undo(&point).restored, 5);
    world.io.clear();
    assert_eq!(*wider.lock().unwrap(), vec![]);
    assert_eq!(modes.map(|(name, _)| (name, world.mode(name))), modes);
    assert_eq!(world.mode("dir700"), 0o700);
}

#[test]
fn f02_no_file_of_the_store_is_open_to_others_whatever_the_umask_is() {
    const NAME: &str = "f02_no_file_of_the_store_is_open_to_others_whatever_the_umask_is";
    if !under_umask(NAME, "000") {
        return;
    }
    let world = World::new();
    world.write("big.bin", vec![1; 5 << 20]);
    let store = world.root().join("store");
    let checked = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let count = Arc::clone(&checked);
    let check = move |dir: &Path| {
        let mut folders = vec![dir.to_path_buf()];
        while let Some(folder) = folders.pop() {
            assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700, "{}", folder.display());
            for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
                // Temporary files come and go.
                let Ok(meta) = entry.metadata() else { continue };
                if meta.is_dir() {
                    folders.push(entry.path());
                } else {
                    assert_eq!(meta.mode() & 0o777, 0o600, "{}", entry.path().display());
                    count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                }
            }
        }
    };
    let watched = store.clone();
    let check_now = check.clone();
    world.io.set(move |call, _| {
        if call.changes() {
            check_now(&watched);
        }
        Ok(())
    });
    let point = world.point();
    world.agent_writes("a.txt", "one");
    world.agent_writes("big.bin", "small");
    world.undo(&point);
    world.io.clear();
    world.store.gc(&crate::gc::GcOptions { force: true, dry_run: false }).unwrap();
    check(&store);
    assert!(checked.load(std::sync::atomic::Ordering::Relaxed) > 10);
}

#[test]
fn f02_an_umask_that_takes_ones_own_rights_away_never_makes_a_backup_that_cannot_be_read() {
    const NAME: &str = "f02_an_umask_that_takes_ones_own_rights_away_never_makes_a_backup_that_cannot_be_read";
    // Modes do not stop root.
    if !["0777", "0400"].iter().all(|umask| as_nobody_under_umask(NAME, umask)) {
        return;
    }
    let (folder, store) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for made in [&folder, &store] {
        fs::set_permissions(made.path(), fs::Permissions::from_mode(0o700)).unwrap();
    }
    let cwd = folder.path().canonicalize().unwrap();
    let file = cwd.join("a");
    fs::write(&file, "zero").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let path = store.path().canonicalize().unwrap().join("store");
    let edited = Store::open(&path, &StoreOptions::default()).and_then(|store| {
        let session = store.open_session(&SessionOptions {
            id: "s".into(),
            cwd: cwd.clone(),
            exclude: vec![],
            max_file_bytes: 0,
        })?;
        session.track(&file)?;
        store.close()
    });
    match edited {
        // Whoever is told that the state before is safe finds it again.
        Ok(()) => {
            let store = Store::open(&path, &StoreOptions::default()).unwrap();
            let (_, original) = open_session(&store, "s", &cwd).originals().unwrap().remove(0);
            assert_eq!(store.read_blob(original.content().unwrap()).unwrap()[..], *b"zero");
        }
        Err(error) => assert_eq!(error.code(), "CANDY_PERMISSION", "{error}"),
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "zero");
}

#[test]
fn c05_attributes_of_the_replaced_file_stay_on_it() {
    let world = World::new();
    world.write("a", "before");
    let point = world.point();
    world.agent_writes("a", "after");
    let set = rustix::fs::setxattr(world.path("a"), "user.tag", b"1", rustix::fs::XattrFlags::empty());
    if let Err(error) = set {
        eprintln!("SKIPPED: no extended attributes below {}: {error}", world.cwd.display());
        return;
    }
    let inode = identity(&world.path("a")).0;
    assert_eq!(world.undo(&point).restored, 1);
    assert_ne!(identity(&world.path("a")).0, inode, "it was not replaced, so nothing is shown");
    let mut value = [0; 8];
    let length = rustix::fs::getxattr(world.path("a"), "user.tag", &mut value).unwrap();
    assert_eq!(&value[..length], b"1");
}

#[test]
fn c06_a_file_with_several_names_is_left_whole_and_counted() {
    let world = World::new();
    world.write("a", "before");
    fs::hard_link(world.path("a"), world.root().join("twin")).unwrap();
    let point = world.point();
    world.agent_writes("a", "after");
    let report = world.undo(&point);
    assert_eq!((report.restored, report.skipped), (0, 1));
    assert_eq!(fs::read_to_string(world.root().join("twin")).unwrap(), "after");
    assert_eq!(fs::metadata(world.path("a")).unwrap().nlink(), 2);
}

#[test]
fn c07_a_link_put_in_place_of_a_file_or_its_directory_leads_nowhere() {
    let world = World::new();
    let outside = world.root().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("hosts"), "precious").unwrap();
    fs::write(outside.join("b"), "precious").unwrap();
    let point = world.point();
    world.agent_writes("a", "agent");
    world.agent_writes("d/b", "agent");
    fs::remove_file(world.path("a")).unwrap();
    std::os::unix::fs::symlink(outside.join("hosts"), world.path("a")).unwrap();
    fs::rename(world.path("d"), world.path("d2")).unwrap();
    std::os::unix::fs::symlink(&outside, world.path("d")).unwrap();
    let report = world.undo(&point);
    assert_eq!(report.restored, 0, "{report:?}");
    for name in ["hosts", "b"] {
        assert_eq!(fs::read_to_string(outside.join(name)).unwrap(), "precious");
    }
    assert_eq!(world.text("d2/b").unwrap(), "agent");
}

#[test]
fn c09_c10_marks_and_line_ends_come_back_to_the_byte() {
    let world = World::new();
    let contents: [(&str, &[u8]); 5] = [
        ("bom.txt", b"\xef\xbb\xbfhello\r\n"),
        ("utf16.txt", b"\xff\xfeh\0i\0\r\0\n\0"),
        ("mixed.txt", b"a\r\nb\nc\rd"),
        ("open-end.txt", b"one\ntwo"),
        ("nul.bin", b"\0\r\n\0"),
    ];
    world.write(".gitattributes", "* text eol=crlf\n");
    for (name, bytes) in contents {
        world.write(name, bytes);
    }
    let point = world.point();
    for (name, _) in contents {
        world.agent_writes(name, "a\nb\n");
    }
    assert_eq!(world.undo(&point).restored, contents.len() as u64);
    for (name, bytes) in contents {
        assert_eq!(world.read(name).unwrap(), bytes, "{name}");
    }
}

#[test]
fn c10_a_change_of_line_ends_counts_each_line_once() {
    let world = World::new();
    world.write("a.txt", "line\n".repeat(50));
    let point = world.point();
    world.agent_writes("a.txt", "line\r\n".repeat(50));
    let plan = world.plan(&point).plan;
    assert_eq!((plan.changed, plan.added, plan.removed), (1, 50, 50));
}

#[test]
fn c13_other_times_and_inodes_are_no_change_and_no_new_content() {
    let world = World::new();
    for n in 0..20 {
        world.agent_writes(&format!("f{n}"), format!("content {n} ").repeat(500));
    }
    let point = world.point();
    let stored = || {
        let segments = fs::read_dir(world.root().join("store/segments")).unwrap();
        segments.map(|entry| entry.unwrap().metadata().unwrap().len()).sum::<u64>()
    };
    let before = stored();
    // A copy on another file system has other inodes and times in whole seconds.
    for n in 0..20 {
        let (path, copy) = (world.path(&format!("f{n}")), world.path("copy"));
        fs::copy(&path, &copy).unwrap();
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
        fs::File::options().write(true).open(&copy).unwrap().set_modified(time).unwrap();
        fs::rename(&copy, &path).unwrap();
    }
    assert_eq!(world.plan(&point).plan.changed, 0);
    assert_eq!(world.point().changed, 0);
    assert!(stored() - before < 1_000, "{} bytes", stored() - before);
}

#[test]
fn c14_a_file_that_grows_while_it_is_read_is_never_kept_in_part() {
    let world = World::new();
    world.write("log", "y\n".repeat(200_000));
    world.session.track(&world.path("log")).unwrap();
    let (path, stop) = (world.path("log"), Arc::new(std::sync::atomic::AtomicBool::new(false)));
    let writer = {
        let stop = Arc::clone(&stop);
        std::thread::spawn(move || {
            let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                std::io::Write::write_all(&mut file, b"y\n").unwrap();
            }
        })
    };
    let outcomes: Vec<_> =
        (0..20).map(|_| world.session.snapshot(&SnapshotRequest::of(PointKind::Operation)).unwrap()).collect();
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    writer.join().unwrap();
    for outcome in outcomes {
        for (_, entry) in world.store.entries(outcome.point.roots).unwrap() {
            // Reading it back checks its hash; the size in the record is that of the bytes.
            if let crate::tree::Entry::File { content, size, .. } = entry {
                assert_eq!(world.store.read_blob(content).unwrap().len() as u64, size);
            } else {
                assert_eq!(outcome.not_captured[0].reason, crate::tree::Reason::Unstable);
            }
        }
    }
    let rested = world.point();
    assert_eq!(world.in_point(&rested, "log"), world.read("log"));
}

#[test]
fn c18_an_editor_that_has_the_file_open_sees_another_time() {
    let world = World::new();
    world.write("a", "same size 1");
    let point = world.point();
    world.agent_writes("a", "same size 2");
    let before = identity(&world.path("a"));
    world.undo(&point);
    let after = identity(&world.path("a"));
    assert_ne!((before.1, before.2), (after.1, after.2));
}

#[test]
fn c19_a_sparse_file_costs_the_store_next_to_nothing_and_comes_back_whole() {
    let world = World::new();
    let size = 24 << 20;
    let make = |mark: &[u8]| {
        let file = fs::File::create(world.path("disk.img")).unwrap();
        file.set_len(size).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, mark, 1_000_000).unwrap();
    };
    make(b"x");
    let point = world.point();
    world.agent_does("disk.img", |_| make(b"y"));
    let undone = world.undo(&point);
    assert_eq!((undone.restored, undone.failed.len()), (1, 0));
    let bytes = world.read("disk.img").unwrap();
    assert_eq!((bytes.len() as u64, bytes[1_000_000]), (size, b'x'));
    assert_eq!(bytes.iter().filter(|byte| **byte != 0).count(), 1);
    let mut stored = 0;
    let mut folders = vec![world.root().join("store")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let meta = entry.metadata().unwrap();
            match meta.is_dir() {
                true => folders.push(entry.path()),
                false if entry.path().ends_with("index.redb") => {}
                false => stored += meta.len(),
            }
        }
    }
    assert!(stored < 200_000, "{stored} bytes for a file of {size}");
}

#[test]
fn c21_one_byte_of_a_long_line_and_a_hundred_thousand_changed_lines_are_counted_in_time() {
    let world = World::new();
    let mut line = "x".repeat(3_900_000);
    world.write("min.js", &line);
    let lines = |mark: &str| (0..100_000).map(|n| format!("{mark} {n}\n")).collect::<String>();
    world.write("long.txt", lines("old"));
    let point = world.point();
    line.replace_range(1_000..1_001, "y");
    world.agent_writes("min.js", &line);
    world.agent_writes("long.txt", lines("new"));
    let begun = std::time::Instant::now();
    let ticket = world.plan(&point);
    // The bar is 200 ms for a release build; a debug build on a loaded machine gets more, but not the minutes that a
    // diff without a deadline takes.
    assert!(begun.elapsed() < std::time::Duration::from_secs(10), "{:?}", begun.elapsed());
    let counts = world.planned(&ticket, "min.js").counts;
    assert_eq!((counts.added, counts.removed), (1, 1));
    let counts = world.planned(&ticket, "long.txt").counts;
    assert!(counts.approximate || (counts.added, counts.removed) == (100_000, 100_000), "{counts:?}");
}

#[test]
fn c22_directories_that_the_agent_made_stay_and_are_named() {
    let world = World::new();
    let point = world.point();
    world.agent_writes("a/b/c/d.txt", "d");
    world.agent_writes("shared/agent.txt", "d");
    world.write("shared/mine.txt", "mine");
    let report = world.undo(&point);
    assert_eq!((report.restored, report.emptied), (2, vec![world.path("a/b/c")]));
    assert!(world.path("a/b/c").is_dir());
    assert_eq!(fs::read_dir(world.path("a/b/c")).unwrap().count(), 0);
}

#[test]
fn c22_a_workspace_that_an_undo_leaves_empty_is_nothing_to_speak_of() {
    let world = World::new();
    let point = world.point();
    world.agent_writes("only.txt", "x");
    let report = world.undo(&point);
    assert_eq!(fs::read_dir(&world.cwd).unwrap().count(), 0);
    assert_eq!((report.restored, report.emptied), (1, vec![]));
}

#[test]
fn c23_names_reserved_elsewhere_and_paths_at_the_limit_come_back() {
    let world = World::new();
    // As deep as the system's limit of 4095 bytes allows, with a last component of 255.
    let root = world.cwd.as_os_str().len();
    let folder = format!("{}/", "d".repeat(199));
    let depth = (4095 - root - 1 - 255) / folder.len();
    let deep = format!("{}{}", folder.repeat(depth), "f".repeat(255));
    let names = ["CON", "aux.c", "nul", "com1.txt", deep.as_str()];
    for name in names {
        world.write(name, "before");
    }
    let point = world.point();
    for name in names {
        world.agent_writes(name, "after");
    }
    let report = world.undo(&point);
    assert_eq!((report.restored, report.failed.len()), (5, 0), "{:?}", report.failed);
    assert!(names.iter().all(|name| world.text(name).unwrap() == "before"));
    world.assert_tidy();
}
