//! Nothing outside the planned paths is read, written or deleted, whatever is planted.

use std::ffi::CString;

use super::*;

#[test]
fn a_symlinked_parent_planted_before_the_restore_is_not_followed() {
    let world = World::new();
    world.write("d/a.txt", "before");
    let point = world.point();
    world.agent_writes("d/a.txt", "after");
    world.agent_writes("d/born.txt", "born");
    let evil = world.root().join("evil");
    fs::create_dir(&evil).unwrap();
    fs::write(evil.join("a.txt"), "precious").unwrap();
    fs::write(evil.join("born.txt"), "precious").unwrap();
    fs::rename(world.path("d"), world.path("d2")).unwrap();
    std::os::unix::fs::symlink(&evil, world.path("d")).unwrap();
    let ticket = world.plan(&point);
    assert_eq!((ticket.plan.changed, ticket.plan.links_skipped), (0, 2));
    let report = world.session.apply(ticket.id, 0).unwrap();
    assert_eq!((report.restored, report.skipped), (0, 2));
    assert_eq!(fs::read(evil.join("a.txt")).unwrap(), b"precious");
    assert_eq!(fs::read(evil.join("born.txt")).unwrap(), b"precious");
    assert_eq!(fs::read_dir(&evil).unwrap().count(), 2);
    assert_eq!(world.text("d2/a.txt").unwrap(), "after");
}

#[test]
fn a_parent_swapped_for_a_link_at_any_moment_leads_nowhere() {
    for step in 0..40 {
        let world = World::new();
        world.write("d/a.txt", "before");
        let point = world.point();
        world.agent_writes("d/a.txt", "after");
        let evil = world.root().join("evil");
        fs::create_dir(&evil).unwrap();
        fs::write(evil.join("a.txt"), "precious").unwrap();
        let ticket = world.plan(&point);
        let (from, to, link) = (world.path("d"), world.path("d2"), evil.clone());
        let mut calls = 0;
        world.io.set(move |_, path| {
            if path.starts_with(&from) {
                if calls == step {
                    fs::rename(&from, &to).unwrap();
                    std::os::unix::fs::symlink(&link, &from).unwrap();
                }
                calls += 1;
            }
            Ok(())
        });
        // Whether it fails or works on the directory that was opened: the link's target is not touched.
        let _ = world.session.apply(ticket.id, 0);
        world.io.clear();
        assert_eq!(fs::read(evil.join("a.txt")).unwrap(), b"precious", "step {step}");
        assert_eq!(fs::read_dir(&evil).unwrap().count(), 1, "step {step}");
    }
}

/// Replaces the file by something else at the last moment; the restore must not win over it.
fn swapped_at(when: Call, plant: impl Fn(&Path) + Send + 'static) -> (World, RestoreReport) {
    let world = World::new();
    world.write("a.txt", "before");
    let point = world.point();
    world.agent_writes("a.txt", "after");
    let ticket = world.plan(&point);
    let path = world.path("a.txt");
    let mut armed = true;
    world.io.set(move |call, _| {
        if call == when && std::mem::take(&mut armed) {
            fs::remove_file(&path).unwrap();
            plant(&path);
        }
        Ok(())
    });
    let report = world.session.apply(ticket.id, 0).unwrap();
    world.io.clear();
    (world, report)
}

#[test]
fn a_symbolic_link_planted_right_before_the_swap_stays_and_its_target_is_untouched() {
    for when in [Call::CreateFile, Call::SyncData, Call::Exchange] {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        fs::write(&target, "precious").unwrap();
        let link_to = target.clone();
        let (world, report) = swapped_at(when, move |path| std::os::unix::fs::symlink(&link_to, path).unwrap());
        assert_eq!((report.restored, report.skipped), (0, 1), "{when:?}: {report:?}");
        assert!(fs::symlink_metadata(world.path("a.txt")).unwrap().is_symlink(), "{when:?}");
        assert_eq!(fs::read(&target).unwrap(), b"precious");
        world.assert_tidy();
    }
}

#[test]
fn a_hard_link_planted_right_before_the_swap_stays_linked() {
    for when in [Call::CreateFile, Call::Exchange] {
        let folder = tempfile::tempdir_in(std::env::temp_dir()).unwrap();
        let twin = folder.path().join("twin");
        fs::write(&twin, "shared").unwrap();
        let link_to = twin.clone();
        let (world, report) = swapped_at(when, move |path| fs::hard_link(&link_to, path).unwrap());
        assert_eq!((report.restored, report.skipped), (0, 1), "{when:?}: {report:?}");
        assert_eq!(identity(&world.path("a.txt")).0, identity(&twin).0, "{when:?}");
        assert_eq!(fs::read(&twin).unwrap(), b"shared");
        world.assert_tidy();
    }
}

#[test]
fn a_directory_planted_right_before_the_swap_stays() {
    for when in [Call::CreateFile, Call::Exchange] {
        let (world, report) = swapped_at(when, |path| {
            fs::create_dir(path).unwrap();
            fs::write(path.join("inside"), "x").unwrap();
        });
        assert_eq!((report.restored, report.failed.len()), (0, 1), "{when:?}: {report:?}");
        assert!(report.failed[0].message.contains("not-a-file"), "{}", report.failed[0].message);
        assert_eq!(fs::read(world.path("a.txt/inside")).unwrap(), b"x");
        world.assert_tidy();
    }
}

fn make_fifo(path: &Path) {
    rustix::fs::mknodat(
        rustix::fs::CWD,
        CString::new(crate::io::path_bytes(path)).unwrap(),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
}

#[test]
fn a_fifo_is_neither_opened_nor_replaced() {
    let world = World::new();
    world.write("a.txt", "before");
    let point = world.point();
    world.agent_writes("a.txt", "after");
    world.agent_writes("born.txt", "born");
    for name in ["a.txt", "born.txt"] {
        fs::remove_file(world.path(name)).unwrap();
        make_fifo(&world.path(name));
    }
    let ticket = world.plan(&point);
    assert_eq!((ticket.plan.changed, ticket.plan.other_skipped), (0, 2));
    assert_eq!(world.planned(&ticket, "a.txt").reason.unwrap().word(), "not-a-file");
    let report = world.session.apply(ticket.id, 0).unwrap();
    assert_eq!(report.skipped, 2);
    let (world, report) = swapped_at(Call::Exchange, make_fifo);
    assert_eq!((report.restored, report.failed.len()), (0, 1));
    world.assert_tidy();
}

#[test]
fn a_file_in_place_of_a_parent_is_an_error_and_stays() {
    let world = World::new();
    world.write("d/a.txt", "before");
    let point = world.point();
    world.agent_writes("d/a.txt", "after");
    fs::remove_dir_all(world.path("d")).unwrap();
    world.write("d", "a file now");
    let report = world.undo(&point);
    assert_eq!((report.restored, report.failed.len()), (0, 1), "{report:?}");
    assert_eq!(world.text("d").unwrap(), "a file now");
    world.assert_tidy();
}

#[test]
fn two_restores_in_one_workspace_do_not_run_at_once() {
    let world = World::new();
    world.write("a.txt", "before");
    let point = world.point();
    world.agent_writes("a.txt", "after");
    let ticket = world.plan(&point);
    let lock = crate::restore::lock_workspace(world.store.inner(), &world.cwd).unwrap();
    let error = world.session.apply(ticket.id, 0).unwrap_err();
    assert_eq!(error.code(), "CANDY_CONFLICT");
    assert_eq!(world.text("a.txt").unwrap(), "after");
    drop(lock);
    assert_eq!(world.session.apply(ticket.id, 0).unwrap().restored, 1);
}
