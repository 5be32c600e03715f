//! Seeded damages of a directory tree: what a failing disk, a careless copy or a stray program does to a store.

use std::fmt;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::rng::Rng;

/// One damage. Applied to a copy of the same tree it always changes the same bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    /// One bit is the other way round.
    BitFlip {
        /// Relative to the tree's root.
        file: PathBuf,
        /// Byte in the file.
        offset: u64,
        /// 0 to 7.
        bit: u8,
    },
    /// The end of the file is missing.
    Truncation {
        /// Relative to the tree's root.
        file: PathBuf,
        /// What is left.
        length: u64,
    },
    /// Bytes read as zero, as after a lost write.
    ZeroedRange {
        /// Relative to the tree's root.
        file: PathBuf,
        /// First zeroed byte.
        offset: u64,
        /// How many.
        length: u64,
    },
    /// The whole file is missing.
    DeletedFile {
        /// Relative to the tree's root.
        file: PathBuf,
    },
}

impl Damage {
    /// Chooses a damage that changes at least one byte of one of `files` below `root`.
    ///
    /// Half of the damages fall on a file chosen by size, as a random bad sector would; the other half on any file, so that
    /// the few small ones that everything depends on are hit as well.
    ///
    /// # Errors
    /// When a file cannot be read.
    ///
    /// # Panics
    /// When `files` is empty.
    pub fn choose(rng: &mut Rng, root: &Path, files: &[PathBuf]) -> io::Result<Self> {
        let file = choose_file(rng, root, files)?;
        let size = fs::metadata(root.join(&file))?.len();
        if size == 0 {
            return Ok(Self::DeletedFile { file });
        }
        match rng.below(100) {
            0..=39 => Ok(Self::bit_flip(rng, file, size)),
            40..=59 => Ok(Self::Truncation { file, length: rng.below(size as usize) as u64 }),
            60..=89 => {
                for _ in 0..32 {
                    let offset = rng.below(size as usize) as u64;
                    let length = (1 << rng.below(13)).min(size - offset);
                    if holds_nonzero(&root.join(&file), offset, length)? {
                        return Ok(Self::ZeroedRange { file, offset, length });
                    }
                }
                // The file is zero nearly everywhere: another kind of damage does more to it.
                Ok(Self::bit_flip(rng, file, size))
            }
            _ => Ok(Self::DeletedFile { file }),
        }
    }

    fn bit_flip(rng: &mut Rng, file: PathBuf, size: u64) -> Self {
        Self::BitFlip { file, offset: rng.below(size as usize) as u64, bit: rng.below(8) as u8 }
    }

    /// The damaged file, relative to the root.
    pub fn file(&self) -> &Path {
        match self {
            Self::BitFlip { file, .. }
            | Self::Truncation { file, .. }
            | Self::ZeroedRange { file, .. }
            | Self::DeletedFile { file } => file,
        }
    }

    /// Does the damage to the tree at `root`.
    ///
    /// # Errors
    /// When the file cannot be changed.
    pub fn apply(&self, root: &Path) -> io::Result<()> {
        let path = root.join(self.file());
        let open = || fs::OpenOptions::new().read(true).write(true).open(&path);
        match *self {
            Self::BitFlip { offset, bit, .. } => {
                let mut file = open()?;
                let mut byte = [0];
                file.seek(SeekFrom::Start(offset))?;
                file.read_exact(&mut byte)?;
                file.seek(SeekFrom::Start(offset))?;
                file.write_all(&[byte[0] ^ (1 << bit)])
            }
            Self::Truncation { length, .. } => open()?.set_len(length),
            Self::ZeroedRange { offset, length, .. } => {
                let mut file = open()?;
                file.seek(SeekFrom::Start(offset))?;
                file.write_all(&vec![0; length as usize])
            }
            Self::DeletedFile { .. } => fs::remove_file(&path),
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file().display();
        match self {
            Self::BitFlip { offset, bit, .. } => write!(f, "bit {bit} of byte {offset} flipped in {file}"),
            Self::Truncation { length, .. } => write!(f, "{file} cut to {length} bytes"),
            Self::ZeroedRange { offset, length, .. } => write!(f, "{length} bytes zeroed at {offset} in {file}"),
            Self::DeletedFile { .. } => write!(f, "{file} deleted"),
        }
    }
}

/// All regular files below `root`, relative, in a fixed order.
///
/// # Errors
/// When a directory cannot be read.
pub fn files_below(root: &Path) -> io::Result<Vec<PathBuf>> {
    fn walk(root: &Path, below: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
        for entry in fs::read_dir(root.join(below))? {
            let entry = entry?;
            let path = below.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                walk(root, &path, files)?;
            } else {
                files.push(path);
            }
        }
        Ok(())
    }
    let mut files = Vec::new();
    walk(root, Path::new(""), &mut files)?;
    files.sort_unstable();
    Ok(files)
}

/// Copies a tree of directories and regular files, modes included.
///
/// # Errors
/// When something cannot be read or written.
pub fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    fs::set_permissions(to, fs::metadata(from)?.permissions())?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

/// One line per file below `root` with its size and hash: equal prints mean equal trees.
///
/// # Errors
/// When something cannot be read.
pub fn fingerprint(root: &Path) -> io::Result<String> {
    use fmt::Write as _;
    let mut text = String::new();
    for file in files_below(root)? {
        let bytes = fs::read(root.join(&file))?;
        let _ = writeln!(text, "{} {} {}", file.display(), bytes.len(), blake3::hash(&bytes).to_hex());
    }
    Ok(text)
}

fn choose_file(rng: &mut Rng, root: &Path, files: &[PathBuf]) -> io::Result<PathBuf> {
    if rng.percent(50) {
        return Ok(rng.pick(files).clone());
    }
    let sizes = files.iter().map(|file| Ok(fs::metadata(root.join(file))?.len())).collect::<io::Result<Vec<_>>>()?;
    let total: u64 = sizes.iter().sum();
    if total == 0 {
        return Ok(rng.pick(files).clone());
    }
    let mut at = rng.below(total as usize) as u64;
    for (file, size) in files.iter().zip(sizes) {
        if at < size {
            return Ok(file.clone());
        }
        at -= size;
    }
    unreachable!("the offset is below the sum of the sizes")
}

fn holds_nonzero(path: &Path, offset: u64, length: u64) -> io::Result<bool> {
    let mut file = fs::File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes.iter().any(|&byte| byte != 0))
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{Damage, copy_tree, files_below, fingerprint};
    use crate::rng::Rng;
    use crate::scratch::Scratch;

    fn tree(scratch: &Scratch) -> PathBuf {
        let root = scratch.join("tree");
        std::fs::create_dir_all(root.join("deep/er")).unwrap();
        std::fs::write(root.join("deep/er/data"), Rng::new(1).noise(50_000)).unwrap();
        std::fs::write(root.join("small"), b"one line\n").unwrap();
        std::fs::write(root.join("zeros"), vec![0; 5000]).unwrap();
        std::fs::write(root.join("empty"), b"").unwrap();
        root
    }

    #[test]
    fn every_damage_changes_exactly_the_file_it_names() {
        let scratch = Scratch::new("damage");
        let root = tree(&scratch);
        let files = files_below(&root).unwrap();
        assert_eq!(files.len(), 4);
        let whole = fingerprint(&root).unwrap();
        let mut hit = std::collections::BTreeSet::new();
        for seed in 0..60 {
            let damage = Damage::choose(&mut Rng::new(seed), &root, &files).unwrap();
            assert_eq!(damage, Damage::choose(&mut Rng::new(seed), &root, &files).unwrap());
            let copy = scratch.join(&format!("copy{seed}"));
            copy_tree(&root, &copy).unwrap();
            damage.apply(&copy).unwrap();
            let harmed = fingerprint(&copy).unwrap();
            let lost: Vec<&str> = whole.lines().filter(|line| !harmed.contains(line)).collect();
            assert_eq!(lost.len(), 1, "{damage}");
            assert!(lost[0].starts_with(damage.file().to_str().unwrap()), "{damage}");
            hit.insert(damage.file().to_owned());
        }
        assert_eq!(fingerprint(&root).unwrap(), whole, "the original is never touched");
        assert_eq!(hit.len(), 4, "each file is hit by some seed");
    }

    #[test]
    fn a_damage_says_what_it_did() {
        let damage = Damage::ZeroedRange { file: Path::new("a/b").to_owned(), offset: 5, length: 3 };
        assert_eq!(damage.to_string(), "3 bytes zeroed at 5 in a/b");
    }
}
