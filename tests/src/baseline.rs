//! The bare disk operations that the bars compare with, in the same run on the same disk.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use redb::{ConcurrencyMode, Database, TableDefinition};

use crate::rng::Rng;
use crate::workload::ProjectFile;

const ROWS: TableDefinition<&[u8; 32], &[u8]> = TableDefinition::new("rows");

/// What a durable backup cannot do without: bytes appended and synced, and one row committed that says so.
///
/// The same layout as a store's (one open file, one redb file shared by several processes), and nothing else: no hash,
/// no compression, no lock of our own.
pub struct BareSyncs {
    file: File,
    index: Database,
    rows: u64,
}

impl BareSyncs {
    /// Makes the two files in `directory`.
    ///
    /// # Panics
    /// When the disk does not let it.
    pub fn create(directory: &Path) -> Self {
        std::fs::create_dir_all(directory).unwrap();
        let file = OpenOptions::new().create_new(true).append(true).open(directory.join("bytes")).unwrap();
        let index = Database::builder()
            .set_concurrency_mode(ConcurrencyMode::MultiWriter)
            .set_cache_size(16 << 20)
            .create(directory.join("rows.redb"))
            .unwrap();
        let transaction = index.begin_write().unwrap();
        transaction.open_table(ROWS).unwrap();
        transaction.commit().unwrap();
        Self { file, index, rows: 0 }
    }

    /// Appends `bytes`, syncs, commits one row durably. Returns how long that took.
    ///
    /// # Panics
    /// When the disk does not let it.
    pub fn once(&mut self, bytes: &[u8]) -> Duration {
        self.rows += 1;
        // Keys are spread as content hashes are: neighbours in the tree have nothing to do with each other.
        let mut key = [0; 32];
        key[..8].copy_from_slice(&self.rows.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
        let start = Instant::now();
        self.file.write_all(bytes).unwrap();
        self.file.sync_data().unwrap();
        let transaction = self.index.begin_write().unwrap();
        transaction.open_table(ROWS).unwrap().insert(&key, [0_u8; 40].as_slice()).unwrap();
        transaction.commit().unwrap();
        start.elapsed()
    }
}

/// Answers each line of standard input with the nanoseconds of one [`BareSyncs::once`], for measuring programs that are
/// not written in Rust. Ends with the input.
///
/// # Errors
/// When the pipe breaks.
pub fn serve(directory: &Path, bytes: usize) -> io::Result<()> {
    let mut bare = BareSyncs::create(directory);
    // The store keeps its compressed form; so does the baseline get bytes of that size, none of them zero.
    let payload = Rng::new(1).noise(bytes);
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        line?;
        writeln!(out, "{}", bare.once(&payload).as_nanos())?;
        out.flush()?;
    }
    Ok(())
}

/// Stores each file as a loose object, the careful way: temporary file, fsync, rename, fsync of the directory.
///
/// # Errors
/// What the disk reports.
pub fn loose_files(directory: &Path, files: &[ProjectFile]) -> io::Result<Duration> {
    std::fs::create_dir_all(directory)?;
    let parent = File::open(directory)?;
    let start = Instant::now();
    for (number, file) in files.iter().enumerate() {
        let temporary = directory.join(format!("{number}.tmp"));
        let mut out = File::create(&temporary)?;
        out.write_all(&file.bytes)?;
        out.sync_all()?;
        std::fs::rename(&temporary, directory.join(number.to_string()))?;
        parent.sync_all()?;
    }
    Ok(start.elapsed())
}

/// What a directory takes up on its disk, as `du` counts: whole blocks, and nothing for holes.
///
/// # Errors
/// When something cannot be looked at.
pub fn disk_usage(directory: &Path) -> io::Result<u64> {
    let mut total = 0;
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        total += if metadata.is_dir() { disk_usage(&entry.path())? } else { metadata.blocks() * 512 };
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::{BareSyncs, disk_usage, loose_files};
    use crate::scratch::Scratch;
    use crate::workload::project;

    #[test]
    fn bare_syncs_leave_the_bytes_and_the_rows_on_disk() {
        let scratch = Scratch::new("bare");
        let mut bare = BareSyncs::create(scratch.path());
        for _ in 0..3 {
            assert!(!bare.once(&[7; 1000]).is_zero());
        }
        assert_eq!(std::fs::metadata(scratch.join("bytes")).unwrap().len(), 3000);
    }

    #[test]
    fn loose_files_are_whole_and_no_temporary_name_stays() {
        let scratch = Scratch::new("loose");
        let files = project(1, 5, 500);
        loose_files(scratch.path(), &files).unwrap();
        // Each takes up at least its bytes.
        assert!(disk_usage(scratch.path()).unwrap() >= 5 * 500);
        assert_eq!(std::fs::read(scratch.join("4")).unwrap(), files[4].bytes);
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 5);
    }
}
