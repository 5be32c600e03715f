//! The way to the directory of a file.

use std::io;
use std::path::{Component, Path};

use crate::error::{Error, ErrorKind, Result};
use crate::io::{Dir, FileKind, Io, path_bytes};
use crate::tree::Reason;

/// Where a walk to the directory of a file ended.
#[derive(Debug)]
pub(crate) enum Way {
    /// The directory is open; the file's name in it.
    Open { dir: Box<dyn Dir>, name: Vec<u8> },
    /// A parent does not exist or is a file: so the path does not exist either.
    Missing,
    /// A parent is a symbolic link, or cannot be looked into: nothing is known about the path.
    Blocked { reason: Reason, detail: String },
}

/// The last component of an absolute path, and its directory.
fn split(path: &Path) -> Result<(&Path, Vec<u8>)> {
    let bad = |cause: &str| Error::new(ErrorKind::BadName, "find the directory of").at(path).cause(cause);
    if !path.is_absolute() {
        return Err(bad("the path is not absolute"));
    }
    if path.components().any(|component| matches!(component, Component::ParentDir)) {
        return Err(bad("the path holds '..'"));
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Ok((parent, path_bytes(Path::new(name)).to_vec())),
        _ => Err(bad("it is the root of the file system")),
    }
}

/// Walks to the directory of a file.
pub(crate) fn way_to(io: &dyn Io, path: &Path) -> Result<Way> {
    let (parent, name) = split(path)?;
    match io.open_dir(parent) {
        Ok(dir) => Ok(Way::Open { dir, name }),
        // The error does not say which component it was, nor whether that is a link or a file: look at each.
        Err(_) => Ok(step_by_step(io, parent, name, &mut |_, _, _| Ok(None))),
    }
}

/// Walks to the directory of a file and makes the directories that are missing. Their names are durable on return.
pub(crate) fn make_way_to(io: &dyn Io, path: &Path) -> Result<Way> {
    let (parent, name) = split(path)?;
    if let Ok(dir) = io.open_dir(parent) {
        return Ok(Way::Open { dir, name });
    }
    let mut failed = None;
    let way = step_by_step(io, parent, name, &mut |dir, name, at| match make_dir(dir, name) {
        Ok(made) => Ok(Some(made)),
        Err(error) => {
            failed = Some(Error::io("create the directory", at, io::Error::from(error.kind())).because(error));
            Err(())
        }
    });
    match (failed, way) {
        (Some(error), _) => Err(error),
        (None, Way::Missing) => {
            Err(Error::new(ErrorKind::Io, "create the directory").at(parent).cause("a file is in its place"))
        }
        (None, way) => Ok(way),
    }
}

fn make_dir(dir: &dyn Dir, name: &[u8]) -> io::Result<Box<dyn Dir>> {
    match dir.create_dir(name) {
        // Another process made it: just as good.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    dir.sync()?;
    dir.open_dir(name)
}

/// What to do about a missing directory: leave it (`None`), or give the one that was made.
type Maker<'a> = dyn FnMut(&dyn Dir, &[u8], &Path) -> std::result::Result<Option<Box<dyn Dir>>, ()> + 'a;

fn step_by_step(io: &dyn Io, parent: &Path, name: Vec<u8>, make: &mut Maker<'_>) -> Way {
    let blocked = |reason, at: &Path, why: &dyn std::fmt::Display| Way::Blocked {
        reason,
        detail: format!("{}: {why}", at.display()),
    };
    let mut at = Path::new("/").to_path_buf();
    let mut dir = match io.open_dir(&at) {
        Ok(dir) => dir,
        Err(error) => return blocked(Reason::Unreadable, &at, &error),
    };
    for component in parent.components() {
        let Component::Normal(step) = component else { continue };
        at.push(step);
        let step = path_bytes(Path::new(step));
        let next = match dir.stat(step).map(|stat| stat.kind) {
            Ok(FileKind::Dir) => dir.open_dir(step),
            Ok(FileKind::Symlink) => return blocked(Reason::Symlink, &at, &"a symbolic link"),
            Ok(FileKind::File | FileKind::Special) => return Way::Missing,
            Err(error) if error.kind() == io::ErrorKind::NotFound => match make(&*dir, step, &at) {
                Ok(Some(made)) => Ok(made),
                Ok(None) | Err(()) => return Way::Missing,
            },
            Err(error) => Err(error),
        };
        dir = match next {
            Ok(next) => next,
            // Also when it was swapped for something else between the two calls.
            Err(error) => return blocked(Reason::Unreadable, &at, &error),
        };
    }
    Way::Open { dir, name }
}
