//! One session directory of the old layout.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::backup::BackupName;
use crate::state::{FileRecord, OldState, StateError};

/// Longest `state.json` that is read: the largest seen was 12 MB.
const STATE_BYTES_MAX: u64 = 256 << 20;

/// Something that could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The directory or a file in it could not be read.
    #[error("cannot read {path}: {source}")]
    Io {
        /// What could not be read.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The state is unusable.
    #[error("cannot use {path}: {source}")]
    State {
        /// The file.
        path: PathBuf,
        /// Why.
        source: StateError,
    },
    /// The state is too large to be one.
    #[error("{path} is larger than 256 MiB")]
    StateTooLarge {
        /// The file.
        path: PathBuf,
    },
    /// A record names a backup that is not there, or not by a backup's name.
    #[error("the backup '{name}' of '{stored}' is missing")]
    MissingBackup {
        /// Stored path.
        stored: String,
        /// Name in the record.
        name: String,
    },
    /// A backup that no record names.
    #[error("the backup '{0}' belongs to no record")]
    OrphanBackup(BackupName),
    /// A file that is no backup: a torn temporary file, for instance.
    #[error("'{0}' is not a backup")]
    ForeignFile(String),
}

/// A session as it was found.
#[derive(Debug)]
pub struct OldSession {
    /// Its directory.
    pub path: PathBuf,
    /// Its state.
    pub state: OldState,
    /// Backups that are there and that a record names, with their sizes in bytes.
    pub backups: BTreeMap<BackupName, u64>,
    /// What could not be used.
    pub problems: Vec<Problem>,
}

fn read_error(path: &Path) -> impl FnOnce(io::Error) -> Problem {
    let path = path.to_path_buf();
    move |source| Problem::Io { path, source }
}

/// Reads a session directory without touching it. Fails only when there is no usable state; everything smaller is a
/// problem of the session.
pub fn read_session(path: &Path) -> Result<OldSession, Problem> {
    let state_path = path.join("state.json");
    let file = fs::File::open(&state_path).map_err(read_error(&state_path))?;
    let mut bytes = Vec::new();
    file.take(STATE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(read_error(&state_path))?;
    if bytes.len() as u64 > STATE_BYTES_MAX {
        return Err(Problem::StateTooLarge { path: state_path });
    }
    let state = OldState::parse(&bytes).map_err(|source| Problem::State { path: state_path, source })?;
    let mut problems = Vec::new();
    let mut found = list_backups(&path.join("backups"), &mut problems);
    let mut backups = BTreeMap::new();
    for (stored, record) in records(&state) {
        let Some(name) = &record.backup_file_name else { continue };
        let known = name.parse::<BackupName>().ok().and_then(|name| {
            let size = found.remove(&name).or_else(|| backups.get(&name).copied())?;
            Some((name, size))
        });
        match known {
            Some((name, size)) => {
                backups.insert(name, size);
            }
            None => problems.push(Problem::MissingBackup { stored: stored.clone(), name: name.clone() }),
        }
    }
    problems.extend(found.into_keys().map(Problem::OrphanBackup));
    Ok(OldSession { path: path.to_path_buf(), state, backups, problems })
}

/// Every record of a state, each once.
fn records(state: &OldState) -> BTreeSet<(&String, &FileRecord)> {
    let of_points = state.snapshots.iter().flat_map(|point| &point.files);
    of_points.chain(&state.originals).collect()
}

fn list_backups(path: &Path, problems: &mut Vec<Problem>) -> BTreeMap<BackupName, u64> {
    let mut found = BTreeMap::new();
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        // A session that tracked nothing has no backups.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return found,
        Err(error) => {
            problems.push(read_error(path)(error));
            return found;
        }
    };
    for entry in entries {
        let listed = entry.and_then(|entry| Ok((entry.file_name(), entry.metadata()?)));
        match listed {
            Ok((name, meta)) => {
                let name = name.to_string_lossy().into_owned();
                match name.parse() {
                    Ok(backup) if meta.is_file() => {
                        found.insert(backup, meta.len());
                    }
                    _ => problems.push(Problem::ForeignFile(name)),
                }
            }
            Err(error) => problems.push(read_error(path)(error)),
        }
    }
    found
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests make directories of the old layout")]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_read_with_everything_that_is_wrong_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let state = r#"{"version":1,"sessionId":"s","snapshots":[{"id":"i","key":"k","kind":"operation","files":{
            "a":{"backupFileName":"00000000000000aa@v1"},"b":{"backupFileName":"00000000000000bb@v1"},
            "c":{"backupFileName":"../../../etc/passwd"},"d":{"backupFileName":null}}}],
            "originals":{"a":{"backupFileName":"00000000000000aa@v1"}},"trackedFiles":["a","a","b"]}"#;
        fs::write(folder.path().join("state.json"), state).unwrap();
        fs::create_dir(folder.path().join("backups")).unwrap();
        for name in ["00000000000000aa@v1", "00000000000000cc@v3", "00000000000000aa@v2.tmp-1"] {
            fs::write(folder.path().join("backups").join(name), "text").unwrap();
        }
        let session = read_session(folder.path()).unwrap();
        assert_eq!(session.backups.len(), 1);
        let mut problems: Vec<_> = session.problems.iter().map(ToString::to_string).collect();
        problems.sort();
        assert_eq!(
            problems,
            [
                "'00000000000000aa@v2.tmp-1' is not a backup",
                "the backup '../../../etc/passwd' of 'c' is missing",
                "the backup '00000000000000bb@v1' of 'b' is missing",
                "the backup '00000000000000cc@v3' belongs to no record",
            ]
        );
    }

    #[test]
    fn a_directory_without_a_state_is_no_session() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(read_session(folder.path()), Err(Problem::Io { .. })));
    }
}
