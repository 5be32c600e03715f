#![allow(clippy::disallowed_methods, reason = "tests make the files of a workspace")]

use std::fs;
use std::path::PathBuf;

use super::*;
use crate::index::rows::PointKind;
use crate::store::StoreOptions;
use crate::tree::Reason;

/// A store and a workspace in a temporary folder.
struct World {
    _folder: tempfile::TempDir,
    cwd: PathBuf,
    store_path: PathBuf,
    store: Store,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (cwd, store_path) = (root.join("work"), root.join("store"));
        fs::create_dir(&cwd).unwrap();
        let store = Store::open(&store_path, &StoreOptions::default()).unwrap();
        Self { _folder: folder, cwd, store_path, store }
    }

    fn session_of(&self, store: &Store, id: &str) -> Session {
        let options = SessionOptions {
            id: id.into(),
            cwd: self.cwd.clone(),
            exclude: vec!["*.lock".into()],
            max_file_bytes: 10 << 20,
        };
        store.open_session(&options).unwrap()
    }

    fn session(&self) -> Session {
        self.session_of(&self.store, "s")
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.cwd.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Entries of a point as text, contents read back through the store.
    fn contents(&self, point: &Point) -> Vec<(String, Option<Vec<u8>>)> {
        let entries = self.store.entries(point.roots).unwrap();
        entries
            .into_iter()
            .map(|(path, entry)| {
                let bytes = entry.content().map(|content| {
                    let mut bytes = Vec::new();
                    self.store.copy_blob(content, &mut bytes).unwrap();
                    bytes
                });
                (path.display(), bytes)
            })
            .collect()
    }
}

fn take(session: &Session) -> Point {
    session.snapshot(&SnapshotRequest::of(PointKind::Operation)).unwrap().point
}

#[test]
fn a_point_holds_every_tracked_path_as_it_was_and_absence_as_a_fact() {
    let world = World::new();
    let session = world.session();
    let a = world.write("a.txt", "one");
    assert!(matches!(session.track(&a).unwrap().tracking, Tracking::Tracked(Entry::File { size: 3, .. })));
    let new = world.cwd.join("dir/new.txt");
    assert!(matches!(session.track(&new).unwrap().tracking, Tracking::Tracked(Entry::Absent)));
    assert!(matches!(session.track(&a).unwrap().tracking, Tracking::Already));
    let first = take(&session);
    world.write("a.txt", "two");
    world.write("dir/new.txt", "born");
    let second = take(&session);
    assert_eq!(world.contents(&first), [("a.txt".into(), Some(b"one".to_vec())), ("dir/new.txt".into(), None)]);
    assert_eq!(
        world.contents(&second),
        [("a.txt".into(), Some(b"two".to_vec())), ("dir/new.txt".into(), Some(b"born".to_vec()))]
    );
    assert_eq!((first.seq, second.seq, second.changed), (1, 2, 2));
}

#[test]
fn what_was_acknowledged_is_there_for_the_next_process() {
    let world = World::new();
    let session = world.session();
    let a = world.write("a.txt", "one");
    session.track(&a).unwrap();
    let point = take(&session);
    session.bind(point.id, "entry-1").unwrap();
    drop(session);
    world.store.close().unwrap();
    let store = Store::open(&world.store_path, &StoreOptions::default()).unwrap();
    assert!(!store.created());
    let session = world.session_of(&store, "s");
    assert!(!session.created());
    let points = session.points().unwrap();
    assert_eq!(points.len(), 1);
    assert_eq!(points[0].entry.as_deref(), Some("entry-1"));
    assert!(matches!(session.track(&a).unwrap().tracking, Tracking::Already));
}

#[test]
fn the_same_content_is_stored_once_whatever_its_path_or_session() {
    let world = World::new();
    let text = "the same text in every file\n".repeat(300);
    let session = world.session();
    let size = |world: &World| {
        let segments = fs::read_dir(world.store_path.join("segments")).unwrap();
        segments.map(|entry| entry.unwrap().metadata().unwrap().len()).sum::<u64>()
    };
    session.track(&world.write("a.txt", &text)).unwrap();
    let before = size(&world);
    session.track(&world.write("b.txt", &text)).unwrap();
    let other = Store::open(&world.store_path, &StoreOptions::default()).unwrap();
    let other_session = world.session_of(&other, "t");
    other_session.track(&world.write("c.txt", &text)).unwrap();
    assert!(size(&world) - before < 700, "{} bytes for two more names", size(&world) - before);
}

#[test]
fn versions_of_a_file_are_deltas_and_read_back_exactly() {
    let world = World::new();
    let session = world.session();
    let lines: Vec<String> = (0..400).map(|n| format!("let value_{n} = compute({});\n", n * 31 % 97)).collect();
    let mut points = Vec::new();
    let path = world.write("big.rs", &lines.concat());
    session.track(&path).unwrap();
    for n in 0..150 {
        let mut now = lines.clone();
        now[n] = format!("// edit number {n}\n");
        world.write("big.rs", &now.concat());
        points.push((take(&session), now.concat()));
    }
    for (point, text) in &points {
        assert_eq!(world.contents(point), [("big.rs".into(), Some(text.clone().into_bytes()))]);
    }
    let stored: u64 = fs::read_dir(world.store_path.join("segments"))
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    assert!(stored < 150 * 900, "{stored} bytes");
}

#[test]
fn a_change_that_keeps_the_size_is_noticed_at_once() {
    let world = World::new();
    let session = world.session();
    let path = world.write("a.txt", "aaa");
    session.track(&path).unwrap();
    let mut points = Vec::new();
    for text in ["bbb", "ccc", "ddd"] {
        world.write("a.txt", text);
        points.push((take(&session), text));
    }
    for (point, text) in points {
        assert_eq!(world.contents(&point), [("a.txt".into(), Some(text.as_bytes().to_vec()))]);
    }
}

#[test]
fn what_must_not_be_tracked_is_skipped_with_its_reason() {
    let world = World::new();
    let session = world.session();
    let reason = |path: &Path| match session.track(path).unwrap().tracking {
        Tracking::Skipped { reason, .. } => Some(reason),
        _ => None,
    };
    assert_eq!(reason(&world.write("Cargo.lock", "x")), Some(Reason::Excluded));
    assert_eq!(reason(&world.cwd), Some(Reason::NotAFile));
    fs::create_dir(world.cwd.join("folder")).unwrap();
    assert_eq!(reason(&world.cwd.join("folder")), Some(Reason::NotAFile));
    assert_eq!(reason(&world.store_path.join("format")), Some(Reason::Store));
    let big = world.cwd.join("big.bin");
    fs::write(&big, vec![0; 11 << 20]).unwrap();
    assert_eq!(reason(&big), Some(Reason::TooLarge));
}

#[test]
fn an_edit_through_a_link_is_an_edit_of_the_file_it_reaches() {
    let world = World::new();
    let session = world.session();
    let real = world.write("AGENTS.md", "real");
    std::os::unix::fs::symlink("AGENTS.md", world.cwd.join("CLAUDE.md")).unwrap();
    std::os::unix::fs::symlink("later.md", world.cwd.join("dangling.md")).unwrap();
    let outcome = session.track(&world.cwd.join("CLAUDE.md")).unwrap();
    assert_eq!((outcome.path, outcome.cacheable), (real, false));
    let outcome = session.track(&world.cwd.join("dangling.md")).unwrap();
    assert_eq!(outcome.path, world.cwd.join("later.md"));
    assert_eq!(outcome.tracking, Tracking::Tracked(Entry::Absent));
}

#[test]
fn a_path_whose_tool_failed_is_forgotten_unless_the_file_changed() {
    let world = World::new();
    let session = world.session();
    let (a, b) = (world.write("a.txt", "a"), world.write("b.txt", "b"));
    session.track(&a).unwrap();
    session.track(&b).unwrap();
    world.write("b.txt", "half written");
    session.tool_done(&a, true).unwrap();
    session.tool_done(&b, true).unwrap();
    assert_eq!(session.originals().unwrap().len(), 1);
    assert!(matches!(session.track(&a).unwrap().tracking, Tracking::Tracked(_)));
}

#[test]
fn two_handles_of_one_session_see_each_others_paths() {
    let world = World::new();
    let other = Store::open(&world.store_path, &StoreOptions::default()).unwrap();
    let (one, two) = (world.session(), world.session_of(&other, "s"));
    one.track(&world.write("a.txt", "a")).unwrap();
    two.track(&world.write("b.txt", "b")).unwrap();
    let (first, second) = (take(&one), take(&two));
    assert_eq!(world.contents(&first).len(), 2);
    assert_eq!(world.contents(&second).len(), 2);
    assert_eq!((first.seq, second.seq), (1, 2));
}

#[test]
fn a_fork_shares_everything_and_is_independent_afterwards() {
    let world = World::new();
    let session = world.session();
    let a = world.write("a.txt", "one");
    session.track(&a).unwrap();
    let point = take(&session);
    session.bind(point.id, "m1").unwrap();
    assert_eq!(world.store.fork("s", "f", &world.cwd).unwrap(), Forked::Yes { points: 1 });
    assert_eq!(world.store.fork("s", "f", &world.cwd).unwrap(), Forked::Exists);
    assert_eq!(world.store.fork("nobody", "g", &world.cwd).unwrap(), Forked::NoSource);
    assert_eq!(world.store.fork("s", "g", Path::new("/elsewhere")).unwrap(), Forked::OtherWorkspace);
    let fork = world.session_of(&world.store, "f");
    assert!(matches!(fork.track(&a).unwrap().tracking, Tracking::Already));
    fork.track(&world.write("only-fork.txt", "f")).unwrap();
    assert_eq!((session.originals().unwrap().len(), fork.originals().unwrap().len()), (1, 2));
    let forked = fork.points().unwrap().remove(0);
    assert_ne!(forked.id, point.id);
    assert_eq!(forked.entry.as_deref(), Some("m1"));
    drop(session);
    world.store.drop_session("s").unwrap();
    assert_eq!(world.contents(&forked), [("a.txt".into(), Some(b"one".to_vec()))]);
    assert_eq!(fork.originals().unwrap().len(), 2);
}

#[test]
fn the_cap_drops_the_oldest_points_but_never_a_baseline_or_what_redo_names() {
    let world = World::new();
    let session = world.session();
    session.track(&world.write("a.txt", "one")).unwrap();
    session.snapshot(&SnapshotRequest::of(PointKind::Baseline)).unwrap();
    let named = take(&session);
    session
        .redo_push(&NewRedoItem { kind: crate::RedoKind::Code, point: Some(named.id), old_leaf: None, items_max: 50 })
        .unwrap();
    for _ in 0..6 {
        let request = SnapshotRequest { points_max: 3, ..SnapshotRequest::of(PointKind::Operation) };
        session.snapshot(&request).unwrap();
    }
    let kinds: Vec<_> = session.points().unwrap().into_iter().map(|point| (point.seq, point.kind)).collect();
    assert_eq!(
        kinds,
        [(1, PointKind::Baseline), (2, PointKind::Operation), (7, PointKind::Operation), (8, PointKind::Operation)]
    );
}

#[test]
fn the_redo_stack_is_a_stack_with_a_cap() {
    let world = World::new();
    let session = world.session();
    let push = |leaf: &str| {
        let item =
            NewRedoItem { kind: crate::RedoKind::Conversation, point: None, old_leaf: Some(leaf.into()), items_max: 2 };
        session.redo_push(&item).unwrap();
    };
    let leaf = || session.redo_peek().unwrap().and_then(|item| item.old_leaf);
    assert_eq!(leaf(), None);
    for name in ["a", "b", "c"] {
        push(name);
    }
    assert_eq!(leaf().as_deref(), Some("c"));
    session.redo_pop().unwrap();
    assert_eq!(leaf().as_deref(), Some("b"));
    session.redo_pop().unwrap();
    assert_eq!(leaf(), None);
    push("d");
    session.redo_clear().unwrap();
    assert_eq!(leaf(), None);
}

#[test]
fn the_newest_twenty_sessions_and_open_ones_never_expire() {
    let world = World::new();
    let open = world.session_of(&world.store, "session-0");
    for n in 1..25 {
        drop(world.session_of(&world.store, &format!("session-{n}")));
    }
    // With a limit of no days whatever is some milliseconds old has expired.
    std::thread::sleep(std::time::Duration::from_millis(5));
    assert_eq!(world.store.expire_sessions(0).unwrap(), 4);
    let left = world.store.sessions().unwrap();
    assert_eq!(left.len(), 21);
    assert!(left.iter().any(|session| session.id == open.id()));
}

#[test]
fn a_large_file_is_a_file_of_its_own_and_comes_back_exactly() {
    let world = World::new();
    let session = world.session();
    let bytes: Vec<u8> = (0..5u32 << 20).map(|n| (n.wrapping_mul(2_654_435_761) >> 11) as u8).collect();
    let path = world.cwd.join("large.bin");
    fs::write(&path, &bytes).unwrap();
    session.track(&path).unwrap();
    let point = take(&session);
    assert_eq!(world.contents(&point), [("large.bin".into(), Some(bytes))]);
    assert_eq!(fs::read_dir(world.store_path.join("large")).unwrap().count(), 1);
}

#[test]
fn a_store_in_the_workspace_is_refused_under_any_name() {
    let world = World::new();
    let link = world.cwd.parent().unwrap().join("link");
    std::os::unix::fs::symlink(&world.cwd, &link).unwrap();
    let options = StoreOptions { workspace: Some(world.cwd.clone()), ..StoreOptions::default() };
    for path in [world.cwd.join("store"), link.join("deep/store"), world.cwd.clone()] {
        let error = Store::open(&path, &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StoreInWorkspace, "{}", path.display());
    }
    let around = world.cwd.parent().unwrap().join("missing/../work/store");
    assert_eq!(Store::open(&around, &options).unwrap_err().kind(), ErrorKind::BadArgument);
    assert_eq!(fs::read_dir(&world.cwd).unwrap().count(), 0);
}

#[test]
fn a_bad_pattern_leaves_no_session_behind() {
    let world = World::new();
    let options =
        SessionOptions { id: "bad".into(), cwd: world.cwd.clone(), exclude: vec!["a[".into()], max_file_bytes: 0 };
    assert_eq!(world.store.open_session(&options).unwrap_err().kind(), ErrorKind::BadArgument);
    assert!(!world.store.has_session("bad").unwrap());
}

#[test]
fn an_index_that_was_emptied_is_damaged_and_not_begun_anew() {
    let world = World::new();
    world.store.close().unwrap();
    let index = world.store_path.join("index.redb");
    fs::write(&index, b"").unwrap();
    let error = Store::open(&world.store_path, &StoreOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::IndexDamaged);
    assert_eq!(fs::metadata(&index).unwrap().len(), 0);
}

#[test]
fn a_file_that_cannot_be_captured_says_so_in_the_point() {
    let world = World::new();
    let session = world.session();
    let path = world.write("a.txt", "one");
    session.track(&path).unwrap();
    fs::write(&path, vec![0; 11 << 20]).unwrap();
    let outcome = session.snapshot(&SnapshotRequest::of(PointKind::Operation)).unwrap();
    assert_eq!(outcome.not_captured.len(), 1);
    assert_eq!(outcome.not_captured[0].reason, Reason::TooLarge);
    let entries = world.store.entries(outcome.point.roots).unwrap();
    assert_eq!(entries[0].1, Entry::NotCaptured { reason: Reason::TooLarge });
}

#[test]
fn what_the_agent_left_behind_is_known_to_the_next_process_without_a_point_in_between() {
    let world = World::new();
    let session = world.session();
    let path = world.write("a.txt", "before");
    session.track(&path).unwrap();
    let point = take(&session);
    world.write("a.txt", "by the agent");
    session.tool_done(&path, false).unwrap();
    // Neither closed nor bound: as after a kill.
    let other = Store::open(&world.store_path, &StoreOptions::default()).unwrap();
    let plan = |store: &Store| {
        let request = PlanRequest {
            target: Target::Point(point.id),
            only: vec![],
            line_counts: false,
            protect_manual_edits: false,
        };
        world.session_of(store, "s").plan(&request).unwrap().plan
    };
    assert!(!plan(&other).files[0].changed_by_hand);
    world.write("a.txt", "by hand");
    assert!(plan(&other).files[0].changed_by_hand);
}

#[test]
fn a_store_that_is_opened_for_reading_keeps_every_byte() {
    let world = World::new();
    let session = world.session();
    session.track(&world.write("a.txt", "text")).unwrap();
    let point = take(&session);
    drop(session);
    world.store.close().unwrap();
    let files = || {
        let mut all = BTreeMap::new();
        let mut folders = vec![world.store_path.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path)
                } else {
                    all.insert(path.clone(), fs::read(path).unwrap()).map_or((), drop)
                }
            }
        }
        all
    };
    let before = files();
    let store = Store::open(&world.store_path, &StoreOptions { read_only: true, ..StoreOptions::default() }).unwrap();
    assert_eq!(store.points("s").unwrap(), std::slice::from_ref(&point));
    assert_eq!(store.entries(point.roots).unwrap().len(), 1);
    assert_eq!(store.drop_session("s").unwrap_err().kind(), ErrorKind::ReadOnly);
    store.close().unwrap();
    assert!(files() == before, "a file of the store changed");
}

#[test]
fn a_survey_counts_every_state_as_a_plan_does() {
    let world = World::new();
    let session = world.session();
    let a = world.write("a.txt", "one\n");
    session.track(&a).unwrap();
    let mut points = vec![take(&session)];
    for turn in 0..6 {
        let text: String = (0..=turn).map(|line| format!("line {line} of {turn}\n")).collect();
        world.write("a.txt", &text);
        let other = world.write(&format!("dir/{turn}.txt"), "new\n");
        session.track(&other).unwrap();
        session.tool_done(&other, false).unwrap();
        points.push(take(&session));
    }
    fs::remove_file(world.cwd.join("dir/2.txt")).unwrap();
    world.write("dir/3.txt", "by hand\n");
    fs::hard_link(world.cwd.join("dir/4.txt"), world.cwd.join("twin")).unwrap();
    fs::write(world.cwd.join("dir/4.txt"), "linked").unwrap();
    let survey = session.survey().unwrap();
    let targets: Vec<Target> = points.iter().map(|point| Target::Point(point.id)).collect();
    let rows = session.survey_rows(survey, &targets, false).unwrap();
    for (target, row) in targets.into_iter().zip(rows) {
        let row = row.unwrap();
        let request = PlanRequest { target, only: vec![], line_counts: true, protect_manual_edits: false };
        let PlanTicket { plan, point, .. } = session.plan(&request).unwrap();
        let by_hand = plan.files.iter().filter(|file| file.action.changes() && file.changed_by_hand).count() as u64;
        assert!(plan.changed > 0 && plan.links_skipped == 1 && by_hand > 0, "{plan:?}");
        let expected = SurveyRow {
            point,
            fallback: false,
            changed: plan.changed,
            added: plan.added,
            removed: plan.removed,
            approximate: false,
            changed_by_hand: by_hand,
            links_skipped: plan.links_skipped,
            other_skipped: plan.other_skipped,
        };
        assert_eq!(row, expected);
    }
}

#[test]
fn a_survey_row_that_cannot_be_counted_does_not_spoil_the_others() {
    let world = World::new();
    let session = world.session();
    let point = take(&session);
    let survey = session.survey().unwrap();
    let rows = session.survey_rows(survey, &[Target::Point(Id::random()), Target::Point(point.id)], false).unwrap();
    assert_eq!(rows[0].as_ref().unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(rows[1].as_ref().unwrap().changed, 0);
}

#[test]
fn only_the_newest_survey_answers() {
    let world = World::new();
    let session = world.session();
    let old = session.survey().unwrap();
    session.survey().unwrap();
    assert_eq!(session.survey_rows(old, &[], false).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_file_that_a_shell_removed_before_the_agent_wrote_it_comes_back() {
    let world = World::new();
    let session = world.session();
    let config = world.write("cfg.toml", "the user's own\n");
    let point = take(&session);
    assert_eq!(session.glimpse(std::slice::from_ref(&config)).unwrap(), 1);
    fs::remove_file(&config).unwrap();
    assert!(matches!(session.track(&config).unwrap().tracking, Tracking::Tracked(Entry::File { .. })));
    fs::write(&config, "new").unwrap();
    session.tool_done(&config, false).unwrap();
    restore(&session, point.id);
    assert_eq!(fs::read_to_string(&config).unwrap(), "the user's own\n");
}

#[test]
fn a_glimpse_is_of_its_own_turn_and_tracks_nothing() {
    let world = World::new();
    let session = world.session();
    let file = world.write("a.txt", "one");
    session.glimpse(std::slice::from_ref(&file)).unwrap();
    assert_eq!(session.tracked_count().unwrap(), 0);
    fs::remove_file(&file).unwrap();
    let second = take(&session);
    assert!(matches!(session.track(&file).unwrap().tracking, Tracking::Tracked(Entry::Absent)));
    fs::write(&file, "two").unwrap();
    restore(&session, second.id);
    assert!(!file.exists(), "it was gone before that turn");
}

#[test]
fn a_glimpse_passes_over_what_must_not_be_read() {
    let world = World::new();
    let session = world.session();
    fs::create_dir(world.cwd.join("dir")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", world.cwd.join("link")).unwrap();
    let tracked = world.write("tracked.txt", "x");
    session.track(&tracked).unwrap();
    fs::write(world.cwd.join("big"), vec![0; (4 << 20) + 1]).unwrap();
    let lock = world.write("x.lock", "excluded");
    let store_file = world.store_path.join("format");
    let paths = ["dir", "big", "none", "a/b/../c", "relative"].map(|name| world.cwd.join(name));
    session.glimpse(&paths).unwrap();
    let rest = [tracked, lock, store_file, PathBuf::from("relative"), PathBuf::from("/")];
    assert_eq!(session.glimpse(&rest).unwrap(), 0);
}

#[test]
fn a_failed_tool_leaves_nothing_tracked_of_a_file_that_a_shell_removed() {
    let world = World::new();
    let session = world.session();
    let file = world.write("a.txt", "one");
    take(&session);
    session.glimpse(std::slice::from_ref(&file)).unwrap();
    fs::remove_file(&file).unwrap();
    session.track(&file).unwrap();
    session.tool_done(&file, true).unwrap();
    assert_eq!(session.tracked_count().unwrap(), 0);
}

#[test]
fn a_diff_of_a_huge_change_ends_with_a_line_that_says_so() {
    let world = World::new();
    let session = world.session();
    let lines = |salt: &str| (0..100_000).map(|line| format!("{salt} {line}\n")).collect::<String>();
    let file = world.write("long.txt", &lines("old"));
    session.track(&file).unwrap();
    let point = take(&session);
    world.write("long.txt", &lines("new"));
    let target = Target::Point(point.id);
    let plan =
        session.plan(&PlanRequest { target, only: vec![], line_counts: false, protect_manual_edits: false }).unwrap();
    let diff = session.diff(plan.id, &session.tracked_path(&file).unwrap()).unwrap();
    assert!(diff.len() > 1_000_000 && diff.len() < (1 << 20) + 100, "{}", diff.len());
    assert!(diff.ends_with("\n\\ The rest of this diff is too long to be shown\n"));
    let (before_last, last) = diff.trim_end().rsplit_once('\n').unwrap();
    assert!(last.starts_with('\\') && before_last.rsplit_once('\n').unwrap().1.starts_with(['-', '+']));
}

fn restore(session: &Session, point: Id) {
    let request =
        PlanRequest { target: Target::Point(point), only: vec![], line_counts: false, protect_manual_edits: false };
    let plan = session.plan(&request).unwrap();
    let report = session.apply(plan.id, 0).unwrap();
    assert!(report.failed.is_empty(), "{report:?}");
}
