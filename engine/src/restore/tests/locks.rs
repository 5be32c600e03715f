//! Who restores in a workspace, as other processes see it.

use std::time::Duration;

use super::World;
use crate::error::ErrorKind;
use crate::restore::{is_restoring, lock_workspace};

#[test]
fn a_restore_waits_for_one_that_is_about_to_end() {
    let world = World::new();
    let held = lock_workspace(world.store.inner(), &world.cwd).unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| lock_workspace(world.store.inner(), &world.cwd).map(drop));
        std::thread::sleep(Duration::from_millis(50));
        drop(held);
        waiting.join().unwrap().unwrap();
    });
}

#[test]
fn a_restore_that_goes_on_is_named() {
    let world = World::new();
    let _held = lock_workspace(world.store.inner(), &world.cwd).unwrap();
    assert!(is_restoring(world.store.inner(), &world.cwd).unwrap());
    let error = lock_workspace(world.store.inner(), &world.cwd).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("another restore is running"), "{error}");
}

#[test]
fn those_who_ask_do_not_take_each_other_for_a_restore() {
    let world = World::new();
    drop(lock_workspace(world.store.inner(), &world.cwd).unwrap());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..500 {
                    assert!(!is_restoring(world.store.inner(), &world.cwd).unwrap());
                }
            });
        }
    });
}
