//! The real file system with a hook before each call, to make calls fail or to act in between.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::io::{Dir, File, Io, LockMode, Open, RealIo, Stat};

/// A call that can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    OpenStoreFile,
    CreateStoreFile,
    RenameStoreFile,
    RemoveStoreFile,
    SyncStoreDir,
    StoreRead,
    OpenDir,
    CreateDir,
    OpenFile,
    OpenFileWrite,
    CreateFile,
    StatName,
    Rename,
    Exchange,
    RenameNew,
    RemoveFile,
    SyncDir,
    Read,
    Write,
    SetLen,
    SyncData,
    SetMode,
}

impl Call {
    /// Whether it changes something on disk: where a kill makes a difference.
    pub(crate) fn changes(self) -> bool {
        !matches!(
            self,
            Self::OpenStoreFile
                | Self::StoreRead
                | Self::OpenDir
                | Self::OpenFile
                | Self::OpenFileWrite
                | Self::StatName
                | Self::Read
        )
    }
}

type Hook = Box<dyn FnMut(Call, &Path) -> io::Result<()> + Send>;

/// See the module.
#[derive(Clone)]
pub(crate) struct HookIo {
    hook: Arc<Mutex<Hook>>,
}

impl std::fmt::Debug for HookIo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HookIo")
    }
}

impl HookIo {
    pub(crate) fn new() -> Self {
        Self { hook: Arc::new(Mutex::new(Box::new(|_, _| Ok(())))) }
    }

    pub(crate) fn set(&self, hook: impl FnMut(Call, &Path) -> io::Result<()> + Send + 'static) {
        *self.hook.lock().unwrap() = Box::new(hook);
    }

    pub(crate) fn clear(&self) {
        self.set(|_, _| Ok(()));
    }

    /// Counts the changing calls from here on.
    pub(crate) fn count_changes(&self) -> Arc<AtomicU64> {
        let count = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&count);
        self.set(move |call, _| {
            counter.fetch_add(u64::from(call.changes()), Ordering::Relaxed);
            Ok(())
        });
        count
    }

    /// After `count` more changing calls every call fails, as if the process were dead.
    pub(crate) fn die_after(&self, count: u64) {
        let mut left = count;
        let mut dead = false;
        self.set(move |call, _| {
            if !dead && call.changes() {
                dead = left == 0;
                left = left.saturating_sub(1);
            }
            if dead { Err(io::Error::other("the process is dead")) } else { Ok(()) }
        });
    }

    fn before(&self, call: Call, path: &Path) -> io::Result<()> {
        (self.hook.lock().unwrap())(call, path)
    }

    fn file(&self, file: Box<dyn File>, path: &Path) -> Box<dyn File> {
        Box::new(HookFile { io: self.clone(), file, path: path.to_path_buf() })
    }

    fn dir(&self, dir: Box<dyn Dir>) -> Box<dyn Dir> {
        Box::new(HookDir { io: self.clone(), dir })
    }
}

#[derive(Debug)]
struct HookFile {
    io: HookIo,
    file: Box<dyn File>,
    path: PathBuf,
}

impl File for HookFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.io.before(Call::Read, &self.path)?;
        self.file.read_at(buf, offset)
    }
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.io.before(Call::Write, &self.path)?;
        self.file.write_all_at(bytes, offset)
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.io.before(Call::SetLen, &self.path)?;
        self.file.set_len(len)
    }
    fn sync_data(&self) -> io::Result<()> {
        self.io.before(Call::SyncData, &self.path)?;
        self.file.sync_data()
    }
    fn stat(&self) -> io::Result<Stat> {
        self.file.stat()
    }
    fn set_mode(&self, mode: u32) -> io::Result<()> {
        self.io.before(Call::SetMode, &self.path)?;
        self.file.set_mode(mode)
    }
    fn set_owner(&self, uid: u32, gid: u32) -> io::Result<()> {
        self.file.set_owner(uid, gid)
    }
    fn copy_xattrs(&self, from: &dyn File) -> io::Result<()> {
        self.file.copy_xattrs(from)
    }
    fn try_lock(&self, mode: LockMode) -> io::Result<bool> {
        self.file.try_lock(mode)
    }
    fn as_std(&self) -> Option<&std::fs::File> {
        self.file.as_std()
    }
}

#[derive(Debug)]
struct HookDir {
    io: HookIo,
    dir: Box<dyn Dir>,
}

impl HookDir {
    fn before(&self, call: Call, name: &[u8]) -> io::Result<PathBuf> {
        let path = self.dir.path().join(crate::io::bytes_path(name));
        self.io.before(call, &path)?;
        Ok(path)
    }
}

impl Dir for HookDir {
    fn path(&self) -> &Path {
        self.dir.path()
    }
    fn open_dir(&self, name: &[u8]) -> io::Result<Box<dyn Dir>> {
        self.before(Call::OpenDir, name)?;
        Ok(self.io.dir(self.dir.open_dir(name)?))
    }
    fn create_dir(&self, name: &[u8]) -> io::Result<()> {
        self.before(Call::CreateDir, name)?;
        self.dir.create_dir(name)
    }
    fn open_file(&self, name: &[u8]) -> io::Result<Box<dyn File>> {
        let path = self.before(Call::OpenFile, name)?;
        Ok(self.io.file(self.dir.open_file(name)?, &path))
    }
    fn open_file_write(&self, name: &[u8]) -> io::Result<Box<dyn File>> {
        let path = self.before(Call::OpenFileWrite, name)?;
        Ok(self.io.file(self.dir.open_file_write(name)?, &path))
    }
    fn create_file(&self, name: &[u8]) -> io::Result<Box<dyn File>> {
        let path = self.before(Call::CreateFile, name)?;
        Ok(self.io.file(self.dir.create_file(name)?, &path))
    }
    fn stat(&self, name: &[u8]) -> io::Result<Stat> {
        self.before(Call::StatName, name)?;
        self.dir.stat(name)
    }
    fn read_link(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        self.dir.read_link(name)
    }
    fn list(&self) -> io::Result<Vec<Vec<u8>>> {
        self.dir.list()
    }
    fn rename(&self, from: &[u8], to: &[u8]) -> io::Result<()> {
        self.before(Call::Rename, to)?;
        self.dir.rename(from, to)
    }
    fn exchange(&self, a: &[u8], b: &[u8]) -> io::Result<()> {
        self.before(Call::Exchange, b)?;
        self.dir.exchange(a, b)
    }
    fn rename_new(&self, from: &[u8], to: &[u8]) -> io::Result<()> {
        self.before(Call::RenameNew, to)?;
        self.dir.rename_new(from, to)
    }
    fn remove_file(&self, name: &[u8]) -> io::Result<()> {
        self.before(Call::RemoveFile, name)?;
        self.dir.remove_file(name)
    }
    fn remove_dir(&self, name: &[u8]) -> io::Result<()> {
        self.dir.remove_dir(name)
    }
    fn sync(&self) -> io::Result<()> {
        self.io.before(Call::SyncDir, self.dir.path())?;
        self.dir.sync()
    }
}

impl Io for HookIo {
    fn open(&self, path: &Path, how: Open) -> io::Result<Box<dyn File>> {
        let call = if how == Open::CreateNew { Call::CreateStoreFile } else { Call::OpenStoreFile };
        self.before(call, path)?;
        Ok(self.file(RealIo.open(path, how)?, path))
    }
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.before(Call::CreateDir, path)?;
        RealIo.create_dir(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.before(Call::RenameStoreFile, to)?;
        RealIo.rename(from, to)
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.before(Call::RemoveStoreFile, path)?;
        RealIo.remove_file(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.before(Call::SyncStoreDir, path)?;
        RealIo.sync_dir(path)
    }
    fn list(&self, path: &Path) -> io::Result<Vec<Vec<u8>>> {
        RealIo.list(path)
    }
    fn stat(&self, path: &Path) -> io::Result<Stat> {
        self.before(Call::StoreRead, path)?;
        RealIo.stat(path)
    }
    fn touch(&self, path: &Path) -> io::Result<()> {
        RealIo.touch(path)
    }
    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        self.before(Call::StoreRead, path)?;
        RealIo.real_path(path)
    }
    fn open_dir(&self, path: &Path) -> io::Result<Box<dyn Dir>> {
        self.before(Call::OpenDir, path)?;
        Ok(self.dir(RealIo.open_dir(path)?))
    }
    fn open_database(
        &self,
        builder: &redb::Builder,
        path: &Path,
        create: bool,
    ) -> Result<redb::Database, redb::DatabaseError> {
        self.before(Call::OpenStoreFile, path).map_err(|error| redb::DatabaseError::Storage(error.into()))?;
        RealIo.open_database(builder, path, create)
    }
    fn open_database_read_only(
        &self,
        builder: &redb::Builder,
        path: &Path,
    ) -> Result<redb::ReadOnlyDatabase, redb::DatabaseError> {
        RealIo.open_database_read_only(builder, path)
    }

    fn free_bytes(&self, path: &Path) -> io::Result<u64> {
        RealIo.free_bytes(path)
    }
    fn user(&self) -> u32 {
        RealIo.user()
    }
    fn now_ms(&self) -> i64 {
        RealIo.now_ms()
    }
}
