//! Finding, judging and making the directory of a store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, ErrorKind, IoContext as _, Result};
use crate::format::{self, FORMAT_FILE, Format};
use crate::id::Id;
use crate::index::rows::StateRow;
use crate::index::{INDEX_FILE, Index};
use crate::io::{FileKind, Io, LockMode, Open, is_absent};
use crate::lock::{Deadline, Lock};
use crate::store::StoreOptions;

/// Directories of a store.
pub(crate) const DIRECTORIES: [&str; 4] = ["segments", "large", "locks", "quarantine"];

/// Name of the note for people who find the directory.
pub(crate) const README_FILE: &str = "README.txt";

/// The note for people who find the directory.
pub(crate) const README_TEXT: &str = "\
This directory is a candy-store: the undo history of files that a coding agent edited.

Look at it:    candy-store log
Check it:      candy-store fsck
Make it small: candy-store gc

Do not edit files in here. You may delete the whole directory while no agent runs:
your files stay as they are, only their history is gone.
";

/// Permission bits by which others could change the store.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Finds the store or makes it. Returns its resolved path, its format, and whether it was made.
pub(super) fn open_or_create(io: &Arc<dyn Io>, path: &Path, options: &StoreOptions) -> Result<(PathBuf, Format, bool)> {
    if !path.is_absolute() {
        return Err(Error::new(ErrorKind::BadArgument, "open the store").at(path).cause("the path is not absolute"));
    }
    if let Some(workspace) = &options.workspace {
        refuse_inside(io, path, workspace)?;
    }
    match io.stat(path) {
        Err(error) if is_absent(&error) => {
            if !options.create || options.read_only {
                return Err(no_store(path));
            }
            make_directories(io, path)?;
        }
        Err(error) => return Err(Error::io("open the store", path, error)),
        Ok(_) => {}
    }
    let path = io.real_path(path).context("open the store", path)?;
    check_owner(io, &path)?;
    if let Some(format) = format::read(io, &path)? {
        return Ok((path, format, false));
    }
    if let Err(error) = refuse_lost_format(io, &path) {
        // Another process may have made the store since the look above.
        return match format::read(io, &path)? {
            Some(format) => Ok((path, format, false)),
            None => Err(error),
        };
    }
    if !options.create || options.read_only {
        return Err(no_store(&path));
    }
    let (format, created) = create(io, &path, Deadline::after(options.lock_wait))?;
    Ok((path, format, created))
}

fn no_store(path: &Path) -> Error {
    Error::new(ErrorKind::NoStore, "open the store").at(path).cause("there is no store")
}

/// Refuses a store inside the workspace, by identity: links and other spellings do not help.
fn refuse_inside(io: &Arc<dyn Io>, path: &Path, workspace: &Path) -> Result<()> {
    let workspace_path = io.real_path(workspace).context("resolve the workspace", workspace)?;
    let inside = io.stat(&workspace_path).context("look at the workspace", &workspace_path)?.identity();
    // The deepest part of the path that exists decides; what is missing will be made below it.
    let mut existing = path;
    let resolved = loop {
        match io.real_path(existing) {
            Ok(resolved) => break resolved,
            Err(error) if is_absent(&error) => match existing.parent() {
                Some(parent) => existing = parent,
                None => return Ok(()),
            },
            Err(error) => return Err(Error::io("resolve the store's path", existing, error)),
        }
    };
    // What is missing will be made by its letters, so it must not lead somewhere else.
    let missing = path.strip_prefix(existing).unwrap_or(path);
    if missing.components().any(|component| component == std::path::Component::ParentDir) {
        return Err(Error::new(ErrorKind::BadArgument, "open the store")
            .at(path)
            .cause("'..' follows a directory that does not exist"));
    }
    for ancestor in resolved.ancestors() {
        let stat = io.stat(ancestor).context("look at", ancestor)?;
        if stat.identity() == inside {
            return Err(Error::new(ErrorKind::StoreInWorkspace, "open the store")
                .at(path)
                .cause(format!("it lies inside the workspace {}", workspace_path.display())));
        }
    }
    Ok(())
}

/// Makes the directory and what is missing above it, and makes their names durable.
fn make_directories(io: &Arc<dyn Io>, path: &Path) -> Result<()> {
    let mut missing = vec![path];
    let mut above = path.parent();
    while let Some(parent) = above {
        match io.stat(parent) {
            Ok(_) => break,
            Err(error) if is_absent(&error) => missing.push(parent),
            Err(error) => return Err(Error::io("look at", parent, error)),
        }
        above = parent.parent();
    }
    for directory in missing.into_iter().rev() {
        make_directory(io, directory)?;
        if let Some(parent) = directory.parent() {
            io.sync_dir(parent).context("sync", parent)?;
        }
    }
    Ok(())
}

pub(crate) fn make_directory(io: &Arc<dyn Io>, path: &Path) -> Result<()> {
    match io.create_dir(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(Error::io("create the directory", path, error))
        }
        _ => Ok(()),
    }
}

fn check_owner(io: &Arc<dyn Io>, path: &Path) -> Result<()> {
    let stat = io.stat(path).context("look at the store", path)?;
    let refuse = |kind, cause: &str| Err(Error::new(kind, "open the store").at(path).cause(cause));
    if stat.kind != FileKind::Dir {
        return refuse(ErrorKind::NotAStore, "it is not a directory");
    }
    // Root reads everybody's stores on purpose, for instance to check a backup.
    if stat.uid != io.user() && io.user() != 0 {
        return refuse(ErrorKind::NotOwner, "it belongs to another user");
    }
    if stat.mode & WRITABLE_BY_OTHERS != 0 {
        return refuse(ErrorKind::NotOwner, "others may write to it");
    }
    Ok(())
}

fn names(io: &Arc<dyn Io>, path: &Path) -> Result<Vec<String>> {
    let names = io.list(path).context("list", path)?;
    Ok(names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}

/// A store whose `format` file is gone must not be taken for an empty directory.
fn refuse_lost_format(io: &Arc<dyn Io>, path: &Path) -> Result<()> {
    let segments = path.join("segments");
    let has_segments = match io.list(&segments) {
        Ok(names) => !names.is_empty(),
        Err(error) if is_absent(&error) => false,
        Err(error) => return Err(Error::io("list", &segments, error)),
    };
    if has_segments {
        return Err(Error::new(ErrorKind::Corrupt, "open the store")
            .at(path)
            .cause("it has segments, but its format file is gone")
            .with_hint("run `candy-store fsck --repair`"));
    }
    let foreign = names(io, path)?.into_iter().find(|name| {
        let ours = DIRECTORIES.contains(&name.as_str())
            || name == README_FILE
            || name == INDEX_FILE
            || (name.starts_with(INDEX_FILE) || name.starts_with(FORMAT_FILE)) && name.ends_with(".tmp");
        !ours
    });
    match foreign {
        Some(name) => Err(Error::new(ErrorKind::NotAStore, "make a store")
            .at(path)
            .cause(format!("the directory holds other things, '{name}' for one"))),
        None => Ok(()),
    }
}

/// Makes the store. The `format` file comes last: without it nothing was ever acknowledged here.
fn create(io: &Arc<dyn Io>, path: &Path, deadline: Deadline) -> Result<(Format, bool)> {
    make_directory(io, &path.join("locks"))?;
    let _lock = Lock::wait(io, &path.join("locks").join("create"), LockMode::Exclusive, deadline)?;
    if let Some(format) = format::read(io, path)? {
        return Ok((format, false));
    }
    check_locks(io, path)?;
    for name in names(io, path)?.iter().filter(|name| name.ends_with(".tmp")) {
        let leftover = path.join(name);
        io.remove_file(&leftover).context("remove", &leftover)?;
    }
    for directory in DIRECTORIES {
        make_directory(io, &path.join(directory))?;
    }
    write_readme(io, path)?;
    let format = Format::new(Id::random());
    Index::create(
        io,
        path,
        &StateRow {
            store: format.store,
            order: 0,
            last_frame: None,
            next_segment: 1,
            last_gc_ms: io.now_ms(),
            damage: None,
        },
    )?;
    format::write(io, path, &format)?;
    Ok((format, true))
}

pub(crate) fn write_readme(io: &Arc<dyn Io>, path: &Path) -> Result<()> {
    let readme = path.join(README_FILE);
    match io.remove_file(&readme) {
        Err(error) if !is_absent(&error) => return Err(Error::io("remove", &readme, error)),
        _ => {}
    }
    let file = io.open(&readme, Open::CreateNew).context("create", &readme)?;
    file.write_all_at(README_TEXT.as_bytes(), 0).context("write", &readme)?;
    file.sync_data().context("sync", &readme)
}

/// Two handles must exclude each other; where they do not (some network file systems), processes would not either.
fn check_locks(io: &Arc<dyn Io>, path: &Path) -> Result<()> {
    let probe = path.join("locks").join("probe");
    let first = Lock::try_new(io, &probe, LockMode::Exclusive)?;
    let second = Lock::try_new(io, &probe, LockMode::Exclusive)?;
    if first.is_some() && second.is_none() {
        return Ok(());
    }
    Err(Error::new(ErrorKind::LocksDoNotHold, "make a store")
        .at(path)
        .cause("locks have no effect on this file system"))
}
