//! A store on a file system that gets full, and then read-only.

use std::path::Path;

use candy_store::{Error, ErrorKind, PointKind, Session, SnapshotRequest, Store, StoreOptions};

use crate::agent::session_options;
use crate::rng::Rng;
use crate::verify;

const FILE_BYTES: usize = 100_000;
/// Takes up most of the disk until space is "freed".
const FILLER_BYTES: usize = 1_500_000;
const ATTEMPTS_MAX: usize = 100;

/// Fills the disk at `mount` and returns everything that went otherwise than it should, one sentence each.
///
/// # Panics
/// When the filler or a file of the workspace cannot be written.
pub fn fill(mount: &Path, workspace: &Path) -> Vec<String> {
    let mut wrong = Vec::new();
    let workspace = &workspace.canonicalize().unwrap();
    let filler = mount.join("filler");
    std::fs::write(&filler, vec![1; FILLER_BYTES]).unwrap();
    if let Err(error) = try_fill(mount, workspace, &filler, &mut wrong) {
        wrong.push(describe("unexpected", &error));
    }
    wrong
}

fn try_fill(mount: &Path, workspace: &Path, filler: &Path, wrong: &mut Vec<String>) -> candy_store::Result<()> {
    let path = mount.join("store");
    let store = Store::open(&path, &StoreOptions::default())?;
    let session = store.open_session(&session_options("small", workspace))?;
    let mut rng = Rng::new(61);
    let mut durable = 0;
    let refused = (0..ATTEMPTS_MAX).find_map(|number| {
        let file = workspace.join(format!("noise{number}"));
        std::fs::write(&file, rng.noise(FILE_BYTES)).unwrap();
        match take_point(&session, &file) {
            Ok(()) => {
                durable += 1;
                None
            }
            Err(error) => Some(error),
        }
    });
    match refused {
        None => wrong.push("the disk never got full".to_owned()),
        Some(error) if error.kind() != ErrorKind::NoSpace => wrong.push(describe("full disk", &error)),
        Some(error) if error.hint().is_empty() => wrong.push(describe("no next step", &error)),
        Some(_) => {}
    }
    // The disk is still full: what was acknowledged can be read all the same.
    for (number, point) in session.points()?.iter().enumerate() {
        if let Err(error) = store.entries(point.roots).and_then(|entries| {
            entries
                .iter()
                .filter_map(|(_, entry)| entry.content())
                .try_for_each(|content| store.read_blob(content).map(drop))
        }) {
            wrong.push(describe(&format!("point {number} on the full disk"), &error));
        }
    }
    if session.points()?.len() < durable {
        wrong.push(format!("{} points of {durable} acknowledged", session.points()?.len()));
    }
    std::fs::remove_file(filler).unwrap();
    let late = workspace.join("late");
    std::fs::write(&late, rng.noise(FILE_BYTES)).unwrap();
    if let Err(error) = take_point(&session, &late) {
        wrong.push(describe("after space was freed", &error));
    }
    drop(session);
    store.close()?;
    wrong.extend(verify::findings(&path, true));
    Ok(())
}

fn take_point(session: &Session, file: &Path) -> candy_store::Result<()> {
    session.track(file)?;
    session.snapshot(&SnapshotRequest::of(PointKind::Operation)).map(drop)
}

/// Uses the store on the disk that has become read-only; returns what went otherwise than it should.
///
/// # Panics
/// When the workspace is not there.
pub fn use_read_only(mount: &Path, workspace: &Path) -> Vec<String> {
    let expected = [ErrorKind::Permission, ErrorKind::ReadOnly];
    let workspace = workspace.canonicalize().unwrap();
    // Either way is fine, as long as it is said: refused at once, or read and refused at the first write.
    let refusal = match Store::open(&mount.join("store"), &StoreOptions::default()) {
        Err(error) => Some(error),
        Ok(store) => store
            .open_session(&session_options("small", &workspace))
            .and_then(|session| session.snapshot(&SnapshotRequest::of(PointKind::Operation)))
            .err(),
    };
    match refusal {
        None => vec!["a point was taken on a read-only disk".to_owned()],
        Some(error) if !expected.contains(&error.kind()) => vec![describe("read-only disk", &error)],
        Some(error) if error.hint().is_empty() => vec![describe("no next step", &error)],
        Some(_) => Vec::new(),
    }
}

fn describe(place: &str, error: &Error) -> String {
    format!("{place}: {} {error}", error.code())
}
