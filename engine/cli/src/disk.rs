//! Files of a workspace as they are on disk now, read without following a symbolic link.

use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};
use std::sync::Arc;

use candy_store::Hash;
use candy_store::io::{Dir, File, FileKind, Io as _, RealIo};
use candy_store::limits::BLOB_BYTES_MAX;
use candy_store::tree::{Entry, Reason};

const COPY_BYTES: usize = 256 << 10;

/// A file as it is now.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// Its state.
    pub(crate) entry: Entry,
    /// Its content, unless it is large.
    pub(crate) bytes: Option<Arc<[u8]>>,
}

impl Found {
    fn without_bytes(entry: Entry) -> Self {
        Self { entry, bytes: None }
    }

    fn unknown(reason: Reason) -> Self {
        Self::without_bytes(Entry::NotCaptured { reason })
    }
}

/// Reads the file at an absolute path.
pub(crate) fn look(path: &Path) -> Found {
    match open_parent(path) {
        Ok(Some((dir, name))) => look_in(&*dir, &name),
        Ok(None) => Found::without_bytes(Entry::Absent),
        Err(reason) => Found::unknown(reason),
    }
}

/// An open directory, and a name in it.
type Place = (Box<dyn Dir>, Vec<u8>);

/// The directory of a path and the name in it; `None` when the directory does not exist.
fn open_parent(path: &Path) -> Result<Option<Place>, Reason> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Err(Reason::NotAFile) };
    let name = name.as_bytes().to_vec();
    if let Ok(dir) = RealIo.open_dir(parent) {
        return Ok(Some((dir, name)));
    }
    // The error does not tell a link from a file: look at each step.
    let mut dir = RealIo.open_dir(Path::new("/")).map_err(|_| Reason::Unreadable)?;
    for component in parent.components() {
        let Component::Normal(step) = component else { continue };
        dir = match dir.stat(step.as_bytes()).map(|stat| stat.kind) {
            Ok(FileKind::Dir) => dir.open_dir(step.as_bytes()).map_err(|_| Reason::Unreadable)?,
            Ok(FileKind::Symlink) => return Err(Reason::Symlink),
            Ok(FileKind::File | FileKind::Special) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(_) => return Err(Reason::Unreadable),
        };
    }
    Ok(Some((dir, name)))
}

fn look_in(dir: &dyn Dir, name: &[u8]) -> Found {
    match dir.stat(name) {
        Ok(stat) => match stat.kind {
            FileKind::File => {}
            FileKind::Symlink => return Found::unknown(Reason::Symlink),
            FileKind::Dir | FileKind::Special => return Found::unknown(Reason::NotAFile),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Found::without_bytes(Entry::Absent),
        Err(_) => return Found::unknown(Reason::Unreadable),
    }
    dir.open_file(name).and_then(|file| read(&*file)).unwrap_or_else(|_| Found::unknown(Reason::Unreadable))
}

/// State and content of an open file.
pub(crate) fn read(file: &dyn File) -> io::Result<Found> {
    let stat = file.stat()?;
    if stat.size <= BLOB_BYTES_MAX {
        let bytes: Arc<[u8]> = file.read_to_end(0, BLOB_BYTES_MAX + 1)?.into();
        if bytes.len() as u64 <= BLOB_BYTES_MAX {
            let entry = Entry::File { content: Hash::of_blob(&bytes), size: bytes.len() as u64, mode: stat.mode };
            return Ok(Found { entry, bytes: Some(bytes) });
        }
    }
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; COPY_BYTES];
    let mut size = 0;
    loop {
        let count = file.read_at(&mut buffer, size)?;
        if count == 0 {
            break;
        }
        hasher.update(&buffer[..count]);
        size += count as u64;
    }
    let content = Hash::from_bytes(*hasher.finalize().as_bytes());
    Ok(Found::without_bytes(Entry::File { content, size, mode: stat.mode }))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the files belong to no store")]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn files_are_read_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("d")).unwrap();
        std::fs::write(root.join("d/a"), "x").unwrap();
        symlink("a", root.join("d/link")).unwrap();
        symlink("d", root.join("linked")).unwrap();
        let entry = |path: &str| look(&root.join(path)).entry;
        assert_eq!(entry("d/a").content(), Some(Hash::of_blob(b"x")));
        assert_eq!(entry("d/none"), Entry::Absent);
        assert_eq!(entry("none/a"), Entry::Absent);
        assert_eq!(entry("d/a/below"), Entry::Absent);
        assert_eq!(entry("d"), Entry::NotCaptured { reason: Reason::NotAFile });
        assert_eq!(entry("d/link"), Entry::NotCaptured { reason: Reason::Symlink });
        assert_eq!(entry("linked/a"), Entry::NotCaptured { reason: Reason::Symlink });
    }

    #[test]
    fn a_large_file_is_hashed_piece_by_piece() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("large");
        let bytes = vec![3; (5 << 20) + 1];
        std::fs::write(&path, &bytes).unwrap();
        let found = look(&path);
        assert_eq!(found.entry.content(), Some(Hash::of_blob(&bytes)));
        assert_eq!(found.entry.size(), bytes.len() as u64);
        assert!(found.bytes.is_none());
    }
}
