//! A restore that is killed at any moment, and killed again while it is resumed.

use std::sync::atomic::Ordering;

use super::*;
use crate::restore::ResumeHow;

/// Three files to restore: one to write, one to create, one to delete; and the states that each may have.
struct Case {
    world: World,
    point: Point,
}

const BEFORE: [(&str, Option<&str>); 3] =
    [("a.txt", Some("a after\n")), ("sub/b.txt", None), ("c.txt", Some("c after\n"))];
const TARGET: [(&str, Option<&str>); 3] =
    [("a.txt", Some("a before\n")), ("sub/b.txt", Some("b before\n")), ("c.txt", None)];

impl Case {
    fn new() -> Self {
        let world = World::new();
        world.write("a.txt", "a before\n");
        world.write("sub/b.txt", "b before\n");
        let point = world.point();
        world.agent_writes("a.txt", "a after\n");
        world.agent_does("sub/b.txt", |path| fs::remove_file(path).unwrap());
        world.agent_writes("c.txt", "c after\n");
        Self { world, point }
    }

    fn states(&self) -> [(&'static str, Option<String>); 3] {
        BEFORE.map(|(name, _)| (name, self.world.text(name)))
    }

    /// Kills the restore after some calls.
    fn apply_until(&self, calls: u64) {
        let ticket = self.world.plan(&self.point);
        self.world.io.die_after(calls);
        let _ = self.world.session.apply(ticket.id, 0);
    }

    fn assert_each_is_before_or_target(&self, when: &str) {
        for ((state, before), target) in self.states().into_iter().zip(BEFORE).zip(TARGET) {
            let state = (state.0, state.1.as_deref());
            assert!(state == before || state == target, "{when}: {state:?}");
        }
    }
}

fn owned(states: [(&'static str, Option<&str>); 3]) -> [(&'static str, Option<String>); 3] {
    states.map(|(name, text)| (name, text.map(str::to_owned)))
}

/// How many changing calls a whole restore makes.
fn calls_of_a_restore() -> u64 {
    let case = Case::new();
    let ticket = case.world.plan(&case.point);
    let count = case.world.io.count_changes();
    assert_eq!(case.world.session.apply(ticket.id, 0).unwrap().restored, 3);
    assert_eq!(case.states(), owned(TARGET));
    count.load(Ordering::Relaxed)
}

fn resume_all(world: &World, how: ResumeHow) -> u64 {
    let unfinished = world.session.unfinished_restores().unwrap();
    for restore in &unfinished {
        let report = world.session.resume_restore(restore.id, how).unwrap();
        assert_eq!(report.failed, vec![]);
        assert_eq!(report.kept, vec![], "nothing unexpected was there");
    }
    unfinished.len() as u64
}

#[test]
fn a23_every_file_has_old_or_new_bytes_after_a_kill_and_all_have_one_side_after_resuming() {
    let calls = calls_of_a_restore();
    assert!(calls > 20, "{calls}");
    let mut seen_unfinished = 0;
    for at in 0..=calls {
        for how in [ResumeHow::Finish, ResumeHow::Rollback] {
            let mut case = Case::new();
            case.apply_until(at);
            let when = format!("killed after {at} calls, {how:?}");
            case.assert_each_is_before_or_target(&when);
            case.world.restart();
            let resumed = resume_all(&case.world, how);
            seen_unfinished += resumed;
            let states = case.states();
            let all_before = states == owned(BEFORE);
            let all_target = states == owned(TARGET);
            match (resumed, how) {
                (0, _) => assert!(all_before || all_target, "{when}: {states:?}"),
                (_, ResumeHow::Finish) => assert!(all_target, "{when}: {states:?}"),
                (_, ResumeHow::Rollback) => assert!(all_before, "{when}: {states:?}"),
            }
            case.world.assert_tidy();
            // Doing it again is nothing.
            assert_eq!(resume_all(&case.world, how), 0);
            assert_eq!(case.states(), states);
        }
    }
    assert!(seen_unfinished > 20, "{seen_unfinished}");
}

#[test]
fn a23_a_kill_during_recovery_loses_nothing() {
    let calls = calls_of_a_restore();
    for at in (0..=calls).step_by(3) {
        for second in (0..40).step_by(7) {
            for how in [ResumeHow::Finish, ResumeHow::Rollback] {
                let mut case = Case::new();
                case.apply_until(at);
                case.world.restart();
                let unfinished = case.world.session.unfinished_restores().unwrap();
                case.world.io.die_after(second);
                for restore in &unfinished {
                    let _ = case.world.session.resume_restore(restore.id, how);
                }
                let when = format!("killed after {at} and {second} calls, {how:?}");
                case.assert_each_is_before_or_target(&when);
                case.world.restart();
                let resumed = resume_all(&case.world, how);
                let states = case.states();
                if resumed > 0 {
                    let wanted = if how == ResumeHow::Finish { TARGET } else { BEFORE };
                    assert_eq!(states, owned(wanted), "{when}");
                }
                case.world.assert_tidy();
            }
        }
    }
}

#[test]
fn a_file_that_matches_neither_side_is_left_alone_and_named() {
    let mut met = 0;
    for at in 0..calls_of_a_restore() {
        for how in [ResumeHow::Finish, ResumeHow::Rollback] {
            let mut case = Case::new();
            case.apply_until(at);
            case.world.restart();
            let Some(restore) = case.world.session.unfinished_restores().unwrap().pop() else { continue };
            case.world.write("a.txt", "by hand, after the crash\n");
            let report = case.world.session.resume_restore(restore.id, how).unwrap();
            assert_eq!(report.failed.len(), 1, "{report:?}");
            assert_eq!(report.failed[0].path, case.world.tracked("a.txt"));
            assert_eq!(report.failed[0].code, "CANDY_CONFLICT");
            assert_eq!(case.world.text("a.txt").unwrap(), "by hand, after the crash\n");
            case.world.assert_tidy();
            met += 1;
        }
    }
    assert!(met > 20, "{met}");
}

#[test]
fn bytes_of_unknown_origin_under_the_temporary_name_are_kept() {
    let mut case = Case::new();
    let ticket = case.world.plan(&case.point);
    // Somebody saves right before the swap, and the process dies right after it.
    let path = case.world.path("a.txt");
    let mut swapped = false;
    case.world.io.set(move |call, _| {
        if swapped {
            return Err(std::io::Error::other("the process is dead"));
        }
        if call == Call::Exchange {
            fs::write(&path, "late\n").unwrap();
            swapped = true;
        }
        Ok(())
    });
    let _ = case.world.session.apply(ticket.id, 0);
    case.world.restart();
    assert!(case.world.leftovers().iter().any(|path| fs::read(path).unwrap() == b"late\n"));
    let restore = case.world.session.unfinished_restores().unwrap().pop().unwrap();
    let report = case.world.session.resume_restore(restore.id, ResumeHow::Finish).unwrap();
    assert_eq!(report.kept, [case.world.tracked("a.txt")]);
    assert_eq!(case.world.kept("a.txt"), [b"late\n"]);
    assert_eq!(case.states(), owned(TARGET));
    case.world.assert_tidy();
}

#[test]
fn a_file_torn_while_it_was_overwritten_in_place_is_finished_or_taken_back_from_the_journal() {
    for how in [ResumeHow::Finish, ResumeHow::Rollback] {
        let mut world = World::new();
        world.write("a.txt", "before ".repeat(1000));
        let point = world.point();
        world.agent_writes("a.txt", "after ".repeat(100));
        let ticket = world.plan(&point);
        let cwd = world.cwd.clone();
        let (mut writes, mut dead) = (0, false);
        world.io.set(move |call, path| {
            let ours = path.starts_with(&cwd);
            if ours && call == Call::CreateFile {
                return Err(os_error(EACCES));
            }
            // Room is made by the first write; the second one is cut short by the kill.
            if ours && call == Call::Write {
                writes += 1;
                if writes == 2 {
                    fs::write(path, "before before aft").unwrap();
                    dead = true;
                }
            }
            if dead { Err(std::io::Error::other("the process is dead")) } else { Ok(()) }
        });
        let _ = world.session.apply(ticket.id, 0);
        world.restart();
        assert_eq!(world.text("a.txt").unwrap(), "before before aft");
        let restore = world.session.unfinished_restores().unwrap().pop().unwrap();
        let report = world.session.resume_restore(restore.id, how).unwrap();
        assert_eq!((report.restored, report.failed.len()), (1, 0), "{report:?}");
        let wanted = if how == ResumeHow::Finish { "before ".repeat(1000) } else { "after ".repeat(100) };
        assert_eq!(world.text("a.txt").unwrap(), wanted);
        world.assert_tidy();
    }
}

#[test]
fn the_next_restore_of_the_session_ends_an_interrupted_one() {
    let mut met = 0;
    for at in 0..calls_of_a_restore() {
        let mut case = Case::new();
        case.apply_until(at);
        case.world.restart();
        met += case.world.session.unfinished_restores().unwrap().len();
        assert_eq!(case.world.undo(&case.point).failed, vec![]);
        assert_eq!(case.states(), owned(TARGET));
        case.world.assert_tidy();
    }
    assert!(met > 10, "{met}");
}

#[test]
fn a_restore_that_was_interrupted_is_ended_from_any_session_of_its_workspace() {
    let mut case = Case::new();
    case.apply_until(calls_of_a_restore() / 2);
    case.world.restart();
    let options = crate::SessionOptions {
        id: "somebody else".into(),
        cwd: case.world.cwd.clone(),
        exclude: vec![],
        max_file_bytes: 0,
    };
    case.world.session = case.world.store.open_session(&options).unwrap();
    assert_eq!(resume_all(&case.world, ResumeHow::Finish), 1);
    assert_eq!(case.states(), owned(TARGET));
    case.world.assert_tidy();
    let elsewhere = case.world.cwd.parent().unwrap().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let mut other = Case::new();
    other.apply_until(calls_of_a_restore() / 2);
    other.world.restart();
    let options = crate::SessionOptions { id: "far".into(), cwd: elsewhere, exclude: vec![], max_file_bytes: 0 };
    other.world.session = other.world.store.open_session(&options).unwrap();
    assert_eq!(other.world.session.unfinished_restores().unwrap(), vec![]);
}
