//! Every touch of the disk goes through [`Io`], so that a simulator can stand in for the file system.
//!
//! Two views: paths of the store's own directory, which nobody else may write to ([`Io`], [`File`]), and directories of
//! a workspace, walked component by component without following symbolic links ([`Dir`]).

mod patient;
mod real;
mod stream;

use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};

pub use real::RealIo;
pub(crate) use stream::{Reader, Writer};

/// What a directory entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link.
    Symlink,
    /// A FIFO, socket or device: never opened.
    Special,
}

/// What a stat call tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// What it is.
    pub kind: FileKind,
    /// Size in bytes.
    pub size: u64,
    /// Permission bits, without the type.
    pub mode: u32,
    /// Last change of the content, nanoseconds since 1970.
    pub mtime_ns: i128,
    /// Last change of the inode, nanoseconds since 1970.
    pub ctime_ns: i128,
    /// Device.
    pub dev: u64,
    /// Inode.
    pub ino: u64,
    /// Number of names.
    pub nlink: u64,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

impl Stat {
    /// Device and inode: the same file under whatever name.
    pub fn identity(&self) -> (u64, u64) {
        (self.dev, self.ino)
    }
}

/// How to open a file of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// An existing file, for reading.
    Read,
    /// An existing file, for reading and writing.
    Write,
    /// A new file (0600) for reading and writing; fails when the name is taken.
    CreateNew,
    /// A lock file (0600), made when missing.
    Lock,
}

/// How a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// Together with other shared holders.
    Shared,
    /// Alone.
    Exclusive,
}

/// An open file. Closing it gives up its locks.
pub trait File: Debug + Send + Sync {
    /// Reads up to `buf.len()` bytes at `offset`; 0 at the end.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes all of `bytes` at `offset`.
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Cuts the file or fills it up with zeros.
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// Makes content and size durable.
    fn sync_data(&self) -> io::Result<()>;
    /// Makes mode and owner durable, too.
    fn sync_all(&self) -> io::Result<()> {
        self.sync_data()
    }
    /// Stat of the open file, whatever its name is now.
    fn stat(&self) -> io::Result<Stat>;
    /// Sets permission bits.
    fn set_mode(&self, mode: u32) -> io::Result<()>;
    /// Sets owner and group.
    fn set_owner(&self, uid: u32, gid: u32) -> io::Result<()>;
    /// Copies extended attributes (ACLs among them) from another file, as far as permitted.
    fn copy_xattrs(&self, from: &dyn File) -> io::Result<()>;
    /// Takes the lock of the whole file without waiting; false when another holds it.
    fn try_lock(&self, mode: LockMode) -> io::Result<bool>;
    /// For implementations of the trait: the file below, where there is one.
    fn as_std(&self) -> Option<&std::fs::File> {
        None
    }

    /// Fills `buf` from `offset` or fails with `UnexpectedEof`.
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let mut done = 0;
        while done < buf.len() {
            match self.read_at(&mut buf[done..], offset + done as u64) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads from `offset` to the end, but at most `max` bytes.
    fn read_to_end(&self, offset: u64, max: u64) -> io::Result<Vec<u8>> {
        use std::io::Read as _;
        let expected = self.stat()?.size.saturating_sub(offset).min(max);
        let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or(0).saturating_add(1));
        Reader::new(self, offset).take(max).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// An open directory of a workspace. Names are single components; no method follows a symbolic link.
pub trait Dir: Debug + Send + Sync {
    /// The path it was opened as, for messages.
    fn path(&self) -> &Path;
    /// Opens a directory below; fails when the name is a symbolic link.
    fn open_dir(&self, name: &[u8]) -> io::Result<Box<dyn Dir>>;
    /// Makes a directory (0777 less the umask).
    fn create_dir(&self, name: &[u8]) -> io::Result<()>;
    /// Opens a regular file for reading without waiting (a FIFO does not hang).
    fn open_file(&self, name: &[u8]) -> io::Result<Box<dyn File>>;
    /// Opens a regular file for writing in place.
    fn open_file_write(&self, name: &[u8]) -> io::Result<Box<dyn File>>;
    /// Makes a new file (0600).
    fn create_file(&self, name: &[u8]) -> io::Result<Box<dyn File>>;
    /// Stat of the name itself.
    fn stat(&self, name: &[u8]) -> io::Result<Stat>;
    /// Target of a symbolic link.
    fn read_link(&self, name: &[u8]) -> io::Result<Vec<u8>>;
    /// Names in it, without `.` and `..`, sorted.
    fn list(&self) -> io::Result<Vec<Vec<u8>>>;
    /// Renames within the directory, replacing `to`.
    fn rename(&self, from: &[u8], to: &[u8]) -> io::Result<()>;
    /// Swaps two names atomically; `Unsupported` where the system cannot.
    fn exchange(&self, a: &[u8], b: &[u8]) -> io::Result<()>;
    /// Renames within the directory, failing with `AlreadyExists` when `to` is taken.
    fn rename_new(&self, from: &[u8], to: &[u8]) -> io::Result<()>;
    /// Removes a file or link.
    fn remove_file(&self, name: &[u8]) -> io::Result<()>;
    /// Removes an empty directory.
    fn remove_dir(&self, name: &[u8]) -> io::Result<()>;
    /// Makes its entries durable.
    fn sync(&self) -> io::Result<()>;
}

/// The file system, the clock and the database's storage.
pub trait Io: Debug + Send + Sync {
    /// Opens a file of the store.
    fn open(&self, path: &Path, how: Open) -> io::Result<Box<dyn File>>;
    /// Makes a directory (0700).
    fn create_dir(&self, path: &Path) -> io::Result<()>;
    /// Renames, replacing `to`.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Makes the entries of a directory durable.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
    /// Names in a directory, sorted.
    fn list(&self, path: &Path) -> io::Result<Vec<Vec<u8>>>;
    /// Stat of the name itself.
    fn stat(&self, path: &Path) -> io::Result<Stat>;
    /// Refreshes the modification time of a directory.
    fn touch(&self, path: &Path) -> io::Result<()>;
    /// The path with every symbolic link followed; it must exist.
    fn real_path(&self, path: &Path) -> io::Result<PathBuf>;
    /// Opens a directory by its absolute path; a symbolic link on the way is an error (`NotADirectory`).
    fn open_dir(&self, path: &Path) -> io::Result<Box<dyn Dir>>;
    /// Opens (or with `create` makes) the index database.
    fn open_database(
        &self,
        builder: &redb::Builder,
        path: &Path,
        create: bool,
    ) -> Result<redb::Database, redb::DatabaseError>;
    /// Opens the index database without ever writing to it; refused when it has to be repaired first.
    fn open_database_read_only(
        &self,
        builder: &redb::Builder,
        path: &Path,
    ) -> Result<redb::ReadOnlyDatabase, redb::DatabaseError>;
    /// Bytes free for this user on the file system of `path`.
    fn free_bytes(&self, path: &Path) -> io::Result<u64>;
    /// The user this process acts as.
    fn user(&self) -> u32;
    /// Milliseconds since 1970.
    fn now_ms(&self) -> i64;
}

/// Whether a stat or open says that the name is not there.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// A path's bytes as the system sees them.
pub(crate) fn path_bytes(path: &Path) -> &[u8] {
    use std::os::unix::ffi::OsStrExt as _;
    path.as_os_str().as_bytes()
}

/// The path of bytes read from disk.
pub(crate) fn bytes_path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}
