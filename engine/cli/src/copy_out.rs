//! Copies a point's files into another directory.
//!
//! Names from the store can never leave the target: each is walked from the open target directory, one component at a
//! time, and no symbolic link is followed on the way. Paths outside of the workspace go below `_root/`.

use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use candy_store::io::{Dir, File, FileKind, Io as _, RealIo};
use candy_store::tree::{Entry, TrackedPath};
use candy_store::{Error, ErrorKind, Hash, Store};

use crate::commands::restore::Overwrite;
use crate::disk;
use crate::failure::{Failure, Result};
use crate::text::printable_path;

/// Where paths outside of the workspace go.
const OUTSIDE: &[u8] = b"_root";

/// A program's set-user-id bit has no business in a copy.
const MODE_MASK: u32 = 0o777;

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copied {
    /// It was not there.
    Created,
    /// It replaced another content.
    Replaced,
    /// It was there with this content.
    Same,
    /// Something is there, and stays.
    Kept,
}

/// An open target directory.
#[derive(Debug)]
pub(crate) struct Target {
    dir: Box<dyn Dir>,
    path: PathBuf,
}

impl Target {
    /// Opens the directory, making it and what is missing above it. It must not lie in the store.
    pub(crate) fn open(path: &Path, store: &Store) -> Result<Self> {
        let path = std::path::absolute(path).map_err(|error| Failure::io("find the directory", path, error))?;
        let (real, missing) = existing_part(&path)?;
        refuse_store(&real, store)?;
        let mut dir = RealIo.open_dir(&real).map_err(|error| Failure::io("open the directory", &real, error))?;
        for name in missing {
            let made = step_down(&*dir, &name, true);
            dir = made.map_err(|error| Failure::io("make the directory", &path, error))?;
        }
        Ok(Self { path: dir.path().to_path_buf(), dir })
    }

    /// The directory, as it would be: nothing is made.
    pub(crate) fn look(path: &Path, store: &Store) -> Result<PathBuf> {
        let path = std::path::absolute(path).map_err(|error| Failure::io("find the directory", path, error))?;
        let (real, missing) = existing_part(&path)?;
        refuse_store(&real, store)?;
        Ok(missing.iter().fold(real, |path, name| path.join(std::ffi::OsStr::from_bytes(name))))
    }

    /// Where a path goes, in the target.
    pub(crate) fn place(path: &TrackedPath) -> PathBuf {
        place_components(path).iter().map(|name| std::ffi::OsStr::from_bytes(name)).collect()
    }

    /// Writes one file. It gets its name only when its bytes are there, verified and durable.
    pub(crate) fn copy(
        &self,
        store: &Store,
        path: &TrackedPath,
        entry: &Entry,
        overwrite: Overwrite,
    ) -> Result<Copied> {
        let Entry::File { content, mode, .. } = entry else { return Ok(Copied::Kept) };
        let at = self.path.join(Self::place(path));
        let (dir, name) = self.walk(path, true).map_err(|error| Failure::io("make the directory of", &at, error))?;
        let there = dir.stat(&name);
        let outcome = match &there {
            Ok(stat) if stat.kind != FileKind::File => {
                let what =
                    if stat.kind == FileKind::Symlink { "a symbolic link" } else { "something else than a file" };
                return Err(Error::new(ErrorKind::Conflict, "write")
                    .at(&at)
                    .cause(format!("{what} is in its place"))
                    .into());
            }
            Ok(_) if overwrite == Overwrite::Never => return Ok(Copied::Kept),
            Ok(_) if overwrite == Overwrite::IfChanged && is_same(&*dir, &name, *content, *mode) => {
                return Ok(Copied::Same);
            }
            Ok(_) => Copied::Replaced,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Copied::Created,
            Err(error) => return Err(Failure::io("look at", &at, io::Error::from(error.kind()))),
        };
        let temporary = format!(".candy-store-{}.tmp", candy_store::Id::random()).into_bytes();
        let written = write(store, &*dir, &temporary, *content, *mode & MODE_MASK, &at)
            .and_then(|()| dir.rename(&temporary, &name).map_err(|error| Failure::io("rename", &at, error)));
        if written.is_err() {
            // The first error is the one to tell.
            let _ = dir.remove_file(&temporary);
        }
        written.map(|()| outcome)
    }

    /// Reads a file again; whether it has the content that it should have.
    pub(crate) fn verify(&self, path: &TrackedPath, content: Hash) -> bool {
        let found = self.walk(path, false).and_then(|(dir, name)| disk::read(&*dir.open_file(&name)?));
        found.is_ok_and(|found| found.entry.content() == Some(content))
    }

    fn walk(&self, path: &TrackedPath, make: bool) -> io::Result<(Box<dyn Dir>, Vec<u8>)> {
        let mut names = place_components(path);
        let name = names.pop().ok_or(io::ErrorKind::InvalidInput)?;
        let mut names = names.into_iter();
        // The target stays open for the next file; the way down is opened anew.
        let mut dir = match names.next() {
            Some(first) => step_down(&*self.dir, &first, make)?,
            None => RealIo.open_dir(&self.path)?,
        };
        for next in names {
            dir = step_down(&*dir, &next, make)?;
        }
        Ok((dir, name))
    }
}

fn place_components(path: &TrackedPath) -> Vec<Vec<u8>> {
    let outside = matches!(path, TrackedPath::Absolute(_)).then(|| OUTSIDE.to_vec());
    outside.into_iter().chain(path.manifest_path().components().map(<[u8]>::to_vec)).collect()
}

/// Opens a directory below, without following a link.
fn step_down(dir: &dyn Dir, name: &[u8], make: bool) -> io::Result<Box<dyn Dir>> {
    match dir.open_dir(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && make => match dir.create_dir(name) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => dir.open_dir(name),
        },
        opened => opened,
    }
}

/// The part of a path that exists, with links resolved, and the names below it that do not.
fn existing_part(path: &Path) -> Result<(PathBuf, Vec<Vec<u8>>)> {
    let path = crate::paths::lexical(path);
    let mut missing = Vec::new();
    let mut existing = path.as_path();
    loop {
        match existing.canonicalize() {
            Ok(real) => {
                missing.reverse();
                return Ok((real, missing));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Failure::io("open the directory", existing, error)),
        }
        match (existing.parent(), existing.file_name()) {
            (Some(parent), Some(name)) => {
                missing.push(name.as_bytes().to_vec());
                existing = parent;
            }
            _ => return Err(Failure::usage(format!("cannot use {} as a directory", printable_path(&path)))),
        }
    }
}

fn refuse_store(path: &Path, store: &Store) -> Result<()> {
    let identity = |path: &Path| RealIo.stat(path).map(|stat| stat.identity());
    let of_store = identity(store.path()).map_err(|error| Failure::io("look at the store", store.path(), error))?;
    if path.ancestors().any(|ancestor| identity(ancestor).is_ok_and(|found| found == of_store)) {
        return Err(Failure::usage(format!("cannot restore to {}: it lies in the store", printable_path(path)))
            .hint("choose a directory outside of the store"));
    }
    Ok(())
}

fn is_same(dir: &dyn Dir, name: &[u8], content: Hash, mode: u32) -> bool {
    let found = dir.open_file(name).and_then(|file| disk::read(&*file));
    found.is_ok_and(|found| match found.entry {
        Entry::File { content: there, mode: there_mode, .. } => {
            there == content && there_mode & MODE_MASK == mode & MODE_MASK
        }
        _ => false,
    })
}

/// A file that is written from its start.
struct Sink<'a> {
    file: &'a dyn File,
    offset: u64,
}

impl io::Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_all_at(bytes, self.offset)?;
        self.offset += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write(store: &Store, dir: &dyn Dir, name: &[u8], content: Hash, mode: u32, at: &Path) -> Result<()> {
    let file = dir.create_file(name).map_err(|error| Failure::io("create a file for", at, error))?;
    store.copy_blob(content, &mut Sink { file: &*file, offset: 0 })?;
    file.set_mode(mode).map_err(|error| Failure::io("set the mode of", at, error))?;
    file.sync_data().map_err(|error| Failure::io("sync", at, error))
}

#[cfg(test)]
mod tests;
