//! Where names cannot be swapped, or not be replaced at all.

use super::*;

fn edited_world() -> (World, Point) {
    let world = World::new();
    world.write("a.txt", "before\n");
    world.chmod("a.txt", 0o640);
    let point = world.point();
    world.agent_writes("a.txt", "after, and longer than before\n");
    (world, point)
}

/// Fails some calls on files of the workspace.
fn failing(world: &World, error: impl Fn() -> std::io::Error + Send + 'static, calls: &'static [Call]) {
    let cwd = world.cwd.clone();
    world.io.set(move |call, path| if path.starts_with(&cwd) && calls.contains(&call) { Err(error()) } else { Ok(()) });
}

#[test]
fn without_an_exchange_a_plain_rename_does_it_and_late_bytes_are_still_kept() {
    for late in [false, true] {
        let (world, point) = edited_world();
        let ticket = world.plan(&point);
        let cwd = world.cwd.clone();
        let mut armed = late;
        world.io.set(move |call, path| {
            if !path.starts_with(&cwd) || !matches!(call, Call::Exchange | Call::RenameNew) {
                return Ok(());
            }
            // Right after the check, right before the rename.
            if std::mem::take(&mut armed) {
                fs::write(cwd.join("a.txt"), "late").unwrap();
            }
            Err(EINVAL_UNSUPPORTED.into())
        });
        let report = world.session.apply(ticket.id, 0).unwrap();
        world.io.clear();
        assert_eq!((report.restored, report.failed.len()), (1, 0), "{report:?}");
        assert_eq!(world.text("a.txt").unwrap(), "before\n");
        assert_eq!(world.kept("a.txt").len(), usize::from(late));
        world.assert_tidy();
    }
}

#[test]
fn without_an_exchange_files_are_created_and_deleted_all_the_same() {
    let world = World::new();
    world.write("gone.txt", "gone");
    let point = world.point();
    world.agent_does("gone.txt", |path| fs::remove_file(path).unwrap());
    world.agent_writes("born.txt", "born");
    failing(&world, || EINVAL_UNSUPPORTED.into(), &[Call::Exchange, Call::RenameNew]);
    let report = world.undo(&point);
    world.io.clear();
    assert_eq!((report.restored, report.failed.len()), (2, 0));
    assert_eq!(world.text("gone.txt").unwrap(), "gone");
    assert!(!world.path("born.txt").exists());
    world.assert_tidy();
}

#[test]
fn a_name_that_is_a_mount_point_is_overwritten_in_place() {
    let (world, point) = edited_world();
    let inode = identity(&world.path("a.txt")).0;
    failing(&world, || os_error(EBUSY), &[Call::Exchange, Call::Rename, Call::RenameNew]);
    let undone = world.undo(&point);
    assert_eq!((undone.restored, undone.failed.len()), (1, 0), "{undone:?}");
    assert_eq!(world.text("a.txt").unwrap(), "before\n");
    assert_eq!((world.mode("a.txt"), identity(&world.path("a.txt")).0), (0o640, inode));
    let redone = world.undo(&undone.redo_point);
    assert_eq!(redone.restored, 1);
    assert_eq!(world.text("a.txt").unwrap(), "after, and longer than before\n");
    world.io.clear();
    world.assert_tidy();
}

#[test]
fn in_a_directory_that_takes_no_names_files_are_overwritten_in_place() {
    let (world, point) = edited_world();
    world.agent_writes("born.txt", "born");
    let inode = identity(&world.path("a.txt")).0;
    failing(&world, || os_error(EACCES), &[Call::CreateFile, Call::Exchange, Call::Rename, Call::RenameNew]);
    let report = world.undo(&point);
    world.io.clear();
    // What has to go cannot go.
    assert_eq!((report.restored, report.failed.len()), (1, 1), "{report:?}");
    assert_eq!(report.failed[0].code, "CANDY_PERMISSION");
    assert_eq!(report.failed[0].path, world.tracked("born.txt"));
    assert_eq!(world.text("a.txt").unwrap(), "before\n");
    assert_eq!(identity(&world.path("a.txt")).0, inode);
    world.assert_tidy();
}

#[test]
fn late_bytes_are_kept_before_they_are_overwritten_in_place() {
    let (world, point) = edited_world();
    let ticket = world.plan(&point);
    let path = world.path("a.txt");
    let mut armed = true;
    world.io.set(move |call, other| {
        if call == Call::OpenFileWrite && std::mem::take(&mut armed) {
            fs::write(&path, "late").unwrap();
        }
        let hit = call == Call::CreateFile && path.parent() == other.parent();
        if hit { Err(os_error(EACCES)) } else { Ok(()) }
    });
    let report = world.session.apply(ticket.id, 0).unwrap();
    world.io.clear();
    assert_eq!(world.text("a.txt").unwrap(), "before\n");
    assert_eq!(report.kept, [world.tracked("a.txt")]);
    assert_eq!(world.kept("a.txt"), [b"late"]);
}

#[test]
fn a_full_disk_leaves_a_file_that_is_overwritten_in_place_as_it_was() {
    let world = World::new();
    world.write("a.txt", "long before ".repeat(20_000));
    let point = world.point();
    world.agent_writes("a.txt", "short");
    let cwd = world.cwd.clone();
    world.io.set(move |call, path| match call {
        Call::CreateFile if path.starts_with(&cwd) => Err(os_error(EACCES)),
        Call::Write if path.starts_with(&cwd) && fs::metadata(path).unwrap().len() > 100_000 => Err(os_error(ENOSPC)),
        _ => Ok(()),
    });
    let report = world.undo(&point);
    world.io.clear();
    assert_eq!(report.failed.len(), 1, "{report:?}");
    assert_eq!(report.failed[0].code, "CANDY_NO_SPACE");
    assert_eq!(world.text("a.txt").unwrap(), "short");
    world.assert_tidy();
}

#[test]
fn a_failure_in_the_middle_of_overwriting_puts_the_old_bytes_back() {
    let (world, point) = edited_world();
    let cwd = world.cwd.clone();
    world.io.set(move |call, path| match call {
        Call::CreateFile if path.starts_with(&cwd) => Err(os_error(EACCES)),
        Call::SetLen if path.starts_with(&cwd) && fs::read(path).unwrap().starts_with(b"before") => Err(os_error(5)),
        _ => Ok(()),
    });
    let report = world.undo(&point);
    world.io.clear();
    assert_eq!(report.failed.len(), 1);
    assert_eq!(world.text("a.txt").unwrap(), "after, and longer than before\n");
    world.assert_tidy();
}
