//! More of what users of such tools lost (field cases, kind A): caps, moves of the history, other programs' metadata.

use std::sync::Mutex;
use std::time::Duration;

use super::*;

/// A turn with a cap on the number of points.
fn capped_point(world: &World, points_max: u64) -> Point {
    let request = SnapshotRequest { points_max, ..SnapshotRequest::of(PointKind::Operation) };
    world.session.snapshot(&request).unwrap().point
}

#[test]
fn a18_a_file_removed_and_written_anew_goes_back_to_what_an_earlier_record_has() {
    let world = World::new();
    world.write("cfg.toml", "original");
    world.agent_writes("cfg.toml", "original, edited");
    let second = world.point();
    // What the agent's shell does is not seen: the tool that comes next finds nothing at the path.
    fs::remove_file(world.path("cfg.toml")).unwrap();
    world.agent_writes("cfg.toml", "new");
    assert_eq!(world.undo(&second).restored, 1);
    assert_eq!(world.text("cfg.toml").unwrap(), "original, edited");
}

#[test]
fn a18_without_an_earlier_record_the_new_file_goes_but_its_bytes_stay() {
    let world = World::new();
    world.write("cfg.toml", "never seen");
    let point = world.point();
    fs::remove_file(world.path("cfg.toml")).unwrap();
    world.agent_writes("cfg.toml", "new");
    let report = world.undo(&point);
    assert!(!world.path("cfg.toml").exists());
    assert_eq!(world.in_point(&report.redo_point, "cfg.toml").unwrap(), b"new");
}

#[test]
fn a25_going_back_several_turns_takes_every_file_back() {
    let world = World::new();
    for name in ["f1", "f2"] {
        world.write(name, "v0");
    }
    world.point();
    world.agent_writes("f1", "turn 1");
    let second = world.point();
    world.agent_writes("f2", "turn 2");
    world.point();
    world.agent_writes("f1", "turn 3");
    assert_eq!(world.undo(&second).restored, 2);
    assert_eq!([world.text("f1").unwrap(), world.text("f2").unwrap()], ["turn 1", "v0"]);
}

#[test]
fn a27_at_the_cap_neither_the_target_nor_the_redo_point_is_dropped_by_the_restore() {
    let world = World::new();
    world.write("a", "v0");
    world.session.track(&world.path("a")).unwrap();
    let points: Vec<Point> = (1..=5)
        .map(|turn| {
            let point = capped_point(&world, 5);
            world.agent_writes("a", format!("v{turn}"));
            point
        })
        .collect();
    let ticket = world.plan(&points[0]);
    let report = world.session.apply(ticket.id, 5).unwrap();
    assert_eq!((report.restored, world.text("a").unwrap().as_str()), (1, "v0"));
    let kept: Vec<_> = world.session.points().unwrap().into_iter().map(|point| point.id).collect();
    assert!(kept.contains(&points[0].id), "the target was dropped");
    assert!(kept.contains(&report.redo_point.id), "the redo point was dropped");
    assert!(kept.len() <= 6, "{}", kept.len());
    assert_eq!(world.undo(&report.redo_point).restored, 1);
    assert_eq!(world.text("a").unwrap(), "v5");
}

#[test]
fn a29_a_file_that_was_made_by_hand_where_redo_deletes_one_is_named_and_kept() {
    let world = World::new();
    world.write("a", "zero");
    let point = world.point();
    world.agent_does("a", |path| fs::remove_file(path).unwrap());
    let undone = world.undo(&point);
    fs::remove_file(world.path("a")).unwrap();
    world.write("a", "made by hand");
    let ticket = world.plan(&undone.redo_point);
    let planned = world.planned(&ticket, "a");
    assert_eq!((planned.action, planned.changed_by_hand), (FileAction::Delete, true));
    let redone = world.session.apply(ticket.id, 0).unwrap();
    assert!(!world.path("a").exists());
    assert_eq!(world.in_point(&redone.redo_point, "a").unwrap(), b"made by hand");
}

#[test]
fn a30_a31_the_metadata_of_version_control_is_never_even_looked_at() {
    let world = World::new();
    let metadata = [".git/index", ".git/HEAD", ".jj/repo/store", ".hg/dirstate"];
    for name in metadata {
        world.write(name, format!("bytes of {name}"));
    }
    world.write("a.c", "zero");
    let before = metadata.map(|name| identity(&world.path(name)));
    let calls: Arc<Mutex<Vec<PathBuf>>> = Arc::default();
    let seen = Arc::clone(&calls);
    let inside = world.cwd.clone();
    world.io.set(move |_, path| {
        if let Ok(below) = path.strip_prefix(&inside) {
            seen.lock().unwrap().push(below.to_path_buf());
        }
        Ok(())
    });
    let point = world.point();
    world.agent_writes("a.c", "one");
    world.agent_writes("new.c", "new");
    let undone = world.undo(&point);
    assert_eq!(world.undo(&undone.redo_point).restored, 2);
    world.io.clear();
    let calls = calls.lock().unwrap();
    assert!(calls.iter().any(|path| path == Path::new("a.c")), "the calls are not seen: {calls:?}");
    let touched = calls
        .iter()
        .filter(|path| [".git", ".jj", ".hg"].iter().any(|name| path.starts_with(name)))
        .collect::<Vec<_>>();
    assert_eq!(touched, Vec::<&PathBuf>::new());
    assert_eq!(metadata.map(|name| identity(&world.path(name))), before);
}

#[test]
fn a30_the_engine_starts_no_program() {
    fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && name != "tests" {
                sources(&path, found);
            } else if name.ends_with(".rs") && !name.starts_with("test") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    assert!(found.len() > 50, "{found:?}");
    for path in found {
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains("process::Command") && !text.contains("Command::new"), "{}", path.display());
    }
}

#[test]
fn b13_a_program_that_keeps_writing_is_named_and_spoils_nothing() {
    let world = World::new();
    world.write("a", "zero\n");
    let point = world.point();
    world.agent_writes("a", "one\n");
    world.write("a", "one\nearly\n");
    let (path, stop) = (world.path("a"), Arc::new(std::sync::atomic::AtomicBool::new(false)));
    let writer = {
        let (path, stop) = (path.clone(), Arc::clone(&stop));
        std::thread::spawn(move || {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                // Opened anew for each line, as a shell's `>>` does.
                if let Ok(mut file) = fs::OpenOptions::new().append(true).open(&path) {
                    let _ = std::io::Write::write_all(&mut file, b"tick\n");
                }
                std::thread::sleep(Duration::from_millis(2));
            }
        })
    };
    let begun = std::time::Instant::now();
    for _ in 0..10 {
        let ticket = world.plan(&point);
        assert!(world.planned(&ticket, "a").changed_by_hand);
        let undone = world.session.apply(ticket.id, 0).unwrap();
        assert_eq!(undone.restored + undone.failed.len() as u64 + undone.skipped, 1, "{undone:?}");
        let text = world.text("a").unwrap();
        assert!(text.lines().all(|line| ["zero", "one", "early", "tick"].contains(&line)), "{text:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    writer.join().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    // Once it rests, the state is the wanted one.
    world.undo(&point);
    assert_eq!(world.text("a").unwrap(), "zero\n");
    world.assert_tidy();
}

#[test]
fn g02_a_redo_that_cannot_be_done_ends_with_an_error_each_time_it_is_asked_for() {
    let world = World::new();
    world.write("a", "zero");
    let point = world.point();
    world.agent_writes("a", "one");
    let undone = world.undo(&point);
    world.io.set(|call, path| {
        let hit = call == Call::CreateFile && path.to_string_lossy().contains(".candy-");
        if hit { Err(os_error(ENOSPC)) } else { Ok(()) }
    });
    for _ in 0..3 {
        let report = world.undo(&undone.redo_point);
        assert_eq!((report.restored, report.failed.len()), (0, 1));
        assert_eq!(world.text("a").unwrap(), "zero");
    }
    world.io.clear();
    assert_eq!(world.undo(&undone.redo_point).restored, 1);
    assert_eq!(world.text("a").unwrap(), "one");
}

#[test]
fn g10_the_state_before_an_undo_that_failed_in_part_can_be_had_back() {
    let world = World::new();
    let names: Vec<String> = (0..10).map(|n| format!("f{n}")).collect();
    for name in &names {
        world.write(name, "before");
    }
    let point = world.point();
    for name in &names {
        world.agent_writes(name, "after");
    }
    world.io.set(|call, path| {
        let hit = call == Call::Exchange && path.to_string_lossy().ends_with("f7");
        if hit { Err(os_error(5)) } else { Ok(()) }
    });
    let report = world.undo(&point);
    world.io.clear();
    assert_eq!((report.restored, report.failed.len()), (9, 1), "{report:?}");
    assert_eq!(report.failed[0].path, world.tracked("f7"));
    assert!(world.session.points().unwrap().iter().any(|kept| kept.id == report.redo_point.id));
    assert_eq!(world.undo(&report.redo_point).restored, 9);
    assert!(names.iter().all(|name| world.text(name).unwrap() == "after"));
    world.assert_tidy();
}
