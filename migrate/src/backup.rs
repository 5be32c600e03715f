//! Names of backup files.

use std::fmt;
use std::str::FromStr;

/// Hex digits of the path's hash.
const HASH_DIGITS: usize = 16;

/// `<16 hex digits>@v<N>`: one version of one path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BackupName {
    hash: String,
    version: u32,
}

/// The text is no backup's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a backup's name: expected 16 hex digits, '@v' and a number")]
pub struct BackupNameError;

impl BackupName {
    /// The first half of the name: which path it is of.
    pub fn path_hash(&self) -> &str {
        &self.hash
    }

    /// The number of the version, from 1.
    pub fn version(&self) -> u32 {
        self.version
    }
}

impl FromStr for BackupName {
    type Err = BackupNameError;

    /// Accepts exactly what the first implementation wrote: so a name read from a file can never leave its directory.
    fn from_str(text: &str) -> Result<Self, BackupNameError> {
        let (hash, version) = text.split_once("@v").ok_or(BackupNameError)?;
        let hex = hash.len() == HASH_DIGITS && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let number: u32 = version.parse().map_err(|_| BackupNameError)?;
        if !hex || number == 0 || number.to_string() != version {
            return Err(BackupNameError);
        }
        Ok(Self { hash: hash.to_owned(), version: number })
    }
}

impl fmt::Display for BackupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@v{}", self.hash, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_goes_there_and_back() {
        let name: BackupName = "0123456789abcdef@v12".parse().unwrap();
        assert_eq!((name.path_hash(), name.version()), ("0123456789abcdef", 12));
        assert_eq!(name.to_string(), "0123456789abcdef@v12");
    }

    #[test]
    fn everything_else_is_refused() {
        for text in [
            "",
            "0123456789abcdef",
            "0123456789abcdef@v0",
            "0123456789abcdef@v01",
            "0123456789abcde@v1",
            "../../etc/passwd@v1",
            "0123456789ABCDEF@v1",
            "0123456789abcdef@v1.tmp-7",
            "0123456789abcdef@v99999999999",
        ] {
            assert_eq!(text.parse::<BackupName>(), Err(BackupNameError), "{text:?}");
        }
    }
}
