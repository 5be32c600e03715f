//! What the plugin promises and only the engine can keep (`docs/coverage.md`, items P-...).

use std::time::Duration;

use super::*;

/// A tracked file whose capture is old enough to be believed as long as its times stay.
fn believed(world: &World, name: &str, content: &str) {
    world.write(name, content);
    world.session.track(&world.path(name)).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    world.point();
    let unchanged = world.point();
    assert_eq!(unchanged.changed, 0);
}

#[test]
fn a_file_of_the_same_size_and_an_older_time_is_another_file() {
    type Replace = fn(&World);
    let ways: [(&str, Replace); 4] = [
        ("mv", |world| fs::rename(world.path("old"), world.path("a")).unwrap()),
        // Bytes first, then the time of the source.
        ("cp -p", |world| {
            let time = fs::metadata(world.path("old")).unwrap().modified().unwrap();
            fs::copy(world.path("old"), world.path("a")).unwrap();
            fs::File::options().write(true).open(world.path("a")).unwrap().set_modified(time).unwrap();
        }),
        // Another file with exactly the time of the one that it replaces.
        ("rsync -t", |world| {
            let time = fs::metadata(world.path("a")).unwrap().modified().unwrap();
            fs::copy(world.path("old"), world.path("new")).unwrap();
            fs::File::options().write(true).open(world.path("new")).unwrap().set_modified(time).unwrap();
            fs::rename(world.path("new"), world.path("a")).unwrap();
        }),
        // The file removed and written anew, with the time that the archive says.
        ("tar x", |world| {
            let time = fs::metadata(world.path("a")).unwrap().modified().unwrap();
            fs::remove_file(world.path("a")).unwrap();
            fs::write(world.path("a"), "other").unwrap();
            fs::File::options().write(true).open(world.path("a")).unwrap().set_modified(time).unwrap();
        }),
    ];
    for (name, replace) in ways {
        let world = World::new();
        world.write("old", "other");
        std::thread::sleep(Duration::from_millis(20));
        believed(&world, "a", "first");
        replace(&world);
        let point = world.point();
        assert_eq!(world.in_point(&point, "a").unwrap(), b"other", "{name}");
        assert_eq!(point.changed, 1, "{name}");
    }
}

#[test]
fn a_mode_alone_is_a_change_that_is_captured() {
    let world = World::new();
    believed(&world, "run.sh", "x");
    world.chmod("run.sh", 0o755);
    let executable = world.point();
    assert_eq!(executable.changed, 1);
    world.chmod("run.sh", 0o600);
    assert_eq!(world.undo(&executable).restored, 1);
    assert_eq!(world.mode("run.sh"), 0o755);
}

#[test]
fn a_folder_a_pipe_and_a_socket_are_never_opened() {
    let world = World::new();
    fs::create_dir(world.path("folder")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(world.path("pipe")).status().unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(world.path("socket")).unwrap();
    world.io.set(|call, path| {
        let opens = matches!(call, Call::OpenFile | Call::OpenFileWrite);
        let odd = ["folder", "pipe", "socket"].iter().any(|name| path.ends_with(name));
        assert!(!(opens && odd), "{}", path.display());
        Ok(())
    });
    for name in ["folder", "pipe", "socket"] {
        let tracking = world.session.track(&world.path(name)).unwrap().tracking;
        let reason = crate::tree::Reason::NotAFile;
        assert!(matches!(&tracking, crate::session::Tracking::Skipped { reason: found, .. } if *found == reason));
    }
    world.io.clear();
    assert_eq!(world.session.tracked_count().unwrap(), 0);
}

#[test]
fn an_excluded_file_is_left_out_under_both_of_its_names() {
    let world = World::new();
    let options = SessionOptions {
        id: "both".into(),
        cwd: world.cwd.clone(),
        exclude: vec!["secret/**".into(), "*.link".into()],
        max_file_bytes: 0,
    };
    let session = world.store.open_session(&options).unwrap();
    world.write("secret/a", "a");
    world.write("plain", "b");
    std::os::unix::fs::symlink("secret/a", world.path("innocent")).unwrap();
    std::os::unix::fs::symlink("plain", world.path("x.link")).unwrap();
    for name in ["secret/a", "innocent", "x.link"] {
        let tracking = session.track(&world.path(name)).unwrap().tracking;
        let reason = crate::tree::Reason::Excluded;
        assert!(
            matches!(&tracking, crate::session::Tracking::Skipped { reason: found, .. } if *found == reason),
            "{name}: {tracking:?}"
        );
    }
    assert!(matches!(session.track(&world.path("plain")).unwrap().tracking, crate::session::Tracking::Tracked(_)));
}
