//! The real file system of a Unix machine.
#![allow(clippy::disallowed_methods, reason = "the one module that touches the disk")]

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Dir as RawDir, Mode, OFlags, RenameFlags, Timespec, Timestamps, UTIME_NOW};

#[cfg(target_os = "linux")]
use rustix::fs::ResolveFlags;

use super::patient::PatientBackend;
use super::{Dir, File, FileKind, Io, LockMode, Open, Stat};

/// The operating system itself.
#[derive(Debug, Default, Clone, Copy)]
pub struct RealIo;

#[derive(Debug)]
struct RealFile(fs::File);

#[derive(Debug)]
struct RealDir {
    fd: OwnedFd,
    path: PathBuf,
}

const DIR_FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a directory below another one. One that may be walked through but not listed (mode 0711) is opened for that.
fn open_directory(at: impl AsFd, name: impl rustix::path::Arg + Copy) -> rustix::io::Result<OwnedFd> {
    let opened = rustix::fs::openat(&at, name, DIR_FLAGS, Mode::empty());
    #[cfg(target_os = "linux")]
    if matches!(opened, Err(rustix::io::Errno::ACCESS)) {
        return rustix::fs::openat(&at, name, DIR_FLAGS | OFlags::PATH, Mode::empty());
    }
    opened
}

/// The whole walk in one call, where the system can refuse links on the way (Linux from 5.6 on). `None`: walk step by
/// step, which also tells what is wrong.
#[cfg(target_os = "linux")]
fn open_directory_at_once(path: &Path) -> Option<OwnedFd> {
    let plain = |component| matches!(component, Component::RootDir | Component::Normal(_));
    if !path.is_absolute() || !path.components().all(plain) {
        return None;
    }
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(rustix::fs::CWD, path, DIR_FLAGS, Mode::empty(), resolve).ok()
}

#[cfg(not(target_os = "linux"))]
fn open_directory_at_once(_path: &Path) -> Option<OwnedFd> {
    None
}

fn stat_of_metadata(meta: &fs::Metadata) -> Stat {
    let kind = meta.file_type();
    Stat {
        kind: if kind.is_file() {
            FileKind::File
        } else if kind.is_dir() {
            FileKind::Dir
        } else if kind.is_symlink() {
            FileKind::Symlink
        } else {
            FileKind::Special
        },
        size: meta.size(),
        mode: meta.mode() & 0o7777,
        mtime_ns: i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec()),
        ctime_ns: i128::from(meta.ctime()) * 1_000_000_000 + i128::from(meta.ctime_nsec()),
        dev: meta.dev(),
        ino: meta.ino(),
        nlink: meta.nlink(),
        uid: meta.uid(),
        gid: meta.gid(),
    }
}

#[allow(clippy::unnecessary_cast, clippy::cast_lossless, reason = "field types differ between platforms")]
fn stat_of_raw(raw: &rustix::fs::Stat) -> Stat {
    Stat {
        kind: match rustix::fs::FileType::from_raw_mode(raw.st_mode as _) {
            rustix::fs::FileType::RegularFile => FileKind::File,
            rustix::fs::FileType::Directory => FileKind::Dir,
            rustix::fs::FileType::Symlink => FileKind::Symlink,
            _ => FileKind::Special,
        },
        size: raw.st_size as u64,
        mode: raw.st_mode as u32 & 0o7777,
        mtime_ns: raw.st_mtime as i128 * 1_000_000_000 + raw.st_mtime_nsec as i128,
        ctime_ns: raw.st_ctime as i128 * 1_000_000_000 + raw.st_ctime_nsec as i128,
        dev: raw.st_dev as u64,
        ino: raw.st_ino as u64,
        nlink: raw.st_nlink as u64,
        uid: raw.st_uid,
        gid: raw.st_gid,
    }
}

impl File for RealFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buf, offset)
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        // On Apple platforms this is F_FULLFSYNC, as promise 1 needs.
        self.0.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.0.sync_all()
    }

    fn stat(&self) -> io::Result<Stat> {
        Ok(stat_of_metadata(&self.0.metadata()?))
    }

    fn set_mode(&self, mode: u32) -> io::Result<()> {
        self.0.set_permissions(fs::Permissions::from_mode(mode))
    }

    fn set_owner(&self, uid: u32, gid: u32) -> io::Result<()> {
        std::os::unix::fs::fchown(&self.0, Some(uid), Some(gid))
    }

    fn copy_xattrs(&self, from: &dyn File) -> io::Result<()> {
        let Some(from) = from.as_std() else { return Ok(()) };
        let mut names = vec![0; 64 << 10];
        let length = match rustix::fs::flistxattr(from, &mut names[..]) {
            Ok(length) => length,
            Err(rustix::io::Errno::NOTSUP) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let mut result = Ok(());
        for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            let mut value = vec![0; 64 << 10];
            // One that only the system may set must not keep the others from being copied.
            let copied = rustix::fs::fgetxattr(from, name, &mut value[..]).and_then(|length| {
                rustix::fs::fsetxattr(&self.0, name, &value[..length], rustix::fs::XattrFlags::empty())
            });
            result = result.and(copied);
        }
        Ok(result?)
    }

    fn try_lock(&self, mode: LockMode) -> io::Result<bool> {
        let result = match mode {
            LockMode::Shared => self.0.try_lock_shared(),
            LockMode::Exclusive => self.0.try_lock(),
        };
        match result {
            Ok(()) => Ok(true),
            Err(fs::TryLockError::WouldBlock) => Ok(false),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }

    fn as_std(&self) -> Option<&fs::File> {
        Some(&self.0)
    }
}

impl RealDir {
    fn open_at(&self, name: &[u8], flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
        Ok(rustix::fs::openat(&self.fd, name, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, mode)?)
    }

    fn open_regular(&self, name: &[u8], flags: OFlags) -> io::Result<Box<dyn File>> {
        // NONBLOCK: opening a FIFO without a writer must not hang; it has no effect on regular files.
        let file = fs::File::from(self.open_at(name, flags | OFlags::NONBLOCK, Mode::empty())?);
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        Ok(Box::new(RealFile(file)))
    }

    fn rename_with(&self, from: &[u8], to: &[u8], flags: RenameFlags) -> io::Result<()> {
        match rustix::fs::renameat_with(&self.fd, from, &self.fd, to, flags) {
            Ok(()) => Ok(()),
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::NOTSUP) => {
                Err(io::ErrorKind::Unsupported.into())
            }
            Err(error) => Err(error.into()),
        }
    }
}

fn list_fd(fd: impl AsFd) -> io::Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    for entry in RawDir::read_from(fd)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(name.to_vec());
        }
    }
    names.sort();
    Ok(names)
}

impl Dir for RealDir {
    fn path(&self) -> &Path {
        &self.path
    }

    fn open_dir(&self, name: &[u8]) -> io::Result<Box<dyn Dir>> {
        let fd = open_directory(&self.fd, name)?;
        Ok(Box::new(Self { fd, path: self.path.join(OsStr::from_bytes(name)) }))
    }

    fn create_dir(&self, name: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.fd, name, Mode::from_raw_mode(0o777))?)
    }

    fn open_file(&self, name: &[u8]) -> io::Result<Box<dyn File>> {
        self.open_regular(name, OFlags::RDONLY)
    }

    fn open_file_write(&self, name: &[u8]) -> io::Result<Box<dyn File>> {
        self.open_regular(name, OFlags::RDWR)
    }

    fn create_file(&self, name: &[u8]) -> io::Result<Box<dyn File>> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        Ok(Box::new(RealFile(self.open_at(name, flags, Mode::from_raw_mode(0o600))?.into())))
    }

    fn stat(&self, name: &[u8]) -> io::Result<Stat> {
        Ok(stat_of_raw(&rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    fn read_link(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        Ok(rustix::fs::readlinkat(&self.fd, name, Vec::new())?.into_bytes())
    }

    fn list(&self) -> io::Result<Vec<Vec<u8>>> {
        list_fd(&self.fd)
    }

    fn rename(&self, from: &[u8], to: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.fd, from, &self.fd, to)?)
    }

    fn exchange(&self, a: &[u8], b: &[u8]) -> io::Result<()> {
        self.rename_with(a, b, RenameFlags::EXCHANGE)
    }

    fn rename_new(&self, from: &[u8], to: &[u8]) -> io::Result<()> {
        self.rename_with(from, to, RenameFlags::NOREPLACE)
    }

    fn remove_file(&self, name: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::empty())?)
    }

    fn remove_dir(&self, name: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR)?)
    }

    fn sync(&self) -> io::Result<()> {
        match rustix::fs::fsync(&self.fd) {
            // A directory that may be searched but not read was opened by its path alone, and cannot be synced. The
            // name is then durable when the file system gets to it; either name is a whole file.
            Err(rustix::io::Errno::BADF) => Ok(()),
            result => Ok(result?),
        }
    }
}

impl Io for RealIo {
    fn open(&self, path: &Path, how: Open) -> io::Result<Box<dyn File>> {
        let mut options = fs::OpenOptions::new();
        options.read(true).mode(0o600).custom_flags(OFlags::NOFOLLOW.bits() as i32);
        match how {
            Open::Read => {}
            Open::Write => {
                options.write(true);
            }
            Open::CreateNew => {
                options.write(true).create_new(true);
            }
            Open::Lock => {
                options.write(true).create(true).truncate(false);
            }
        }
        Ok(Box::new(RealFile(options.open(path)?)))
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        use std::os::unix::fs::DirBuilderExt as _;
        fs::DirBuilder::new().mode(0o700).create(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        fs::File::open(path)?.sync_all()
    }

    fn list(&self, path: &Path) -> io::Result<Vec<Vec<u8>>> {
        list_fd(fs::File::open(path)?)
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        Ok(stat_of_metadata(&fs::symlink_metadata(path)?))
    }

    fn touch(&self, path: &Path) -> io::Result<()> {
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        Ok(rustix::fs::utimensat(
            rustix::fs::CWD,
            path,
            &Timestamps { last_access: now, last_modification: now },
            AtFlags::empty(),
        )?)
    }

    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        fs::canonicalize(path)
    }

    fn open_dir(&self, path: &Path) -> io::Result<Box<dyn Dir>> {
        if let Some(fd) = open_directory_at_once(path) {
            return Ok(Box::new(RealDir { fd, path: path.to_path_buf() }));
        }
        let mut fd = rustix::fs::open("/", DIR_FLAGS, Mode::empty())?;
        for component in path.components() {
            match component {
                Component::RootDir => {}
                Component::Normal(name) => fd = open_directory(&fd, name)?,
                _ => return Err(io::Error::new(io::ErrorKind::InvalidInput, "not an absolute, resolved path")),
            }
        }
        Ok(Box::new(RealDir { fd, path: path.to_path_buf() }))
    }

    fn open_database(
        &self,
        builder: &redb::Builder,
        path: &Path,
        create: bool,
    ) -> Result<redb::Database, redb::DatabaseError> {
        let file = fs::OpenOptions::new().read(true).write(true).create_new(create).mode(0o600).open(path)?;
        // redb makes a new database of an empty file; an index that is empty is a damaged one.
        if !create && file.metadata()?.len() == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        builder.create_with_backend(PatientBackend(redb::backends::FileBackend::new(file)?))
    }

    fn open_database_read_only(
        &self,
        builder: &redb::Builder,
        path: &Path,
    ) -> Result<redb::ReadOnlyDatabase, redb::DatabaseError> {
        let file = fs::File::open(path)?;
        builder.open_read_only_with_backend(PatientBackend(redb::backends::FileBackend::new(file)?))
    }

    fn free_bytes(&self, path: &Path) -> io::Result<u64> {
        let stat = rustix::fs::statvfs(path)?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    fn user(&self) -> u32 {
        rustix::process::geteuid().as_raw()
    }

    fn now_ms(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }
}
