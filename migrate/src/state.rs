//! `state.json` of the old layout.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The version this reader knows; the first implementation wrote no other.
const VERSION: u64 = 1;

/// What a record says of a file at one moment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileRecord {
    /// Name below `backups/`; `None`: the file did not exist.
    pub backup_file_name: Option<String>,
    /// Number of the version.
    #[serde(default)]
    pub version: u32,
    /// RFC 3339.
    #[serde(default)]
    pub backup_time: String,
}

/// What a point was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OldPointKind {
    /// Before an operation.
    Operation,
    /// Start of the session; lists no files.
    Baseline,
    /// Before an undo.
    RedoPoint,
}

/// A point of the old layout.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OldPoint {
    /// Stable identifier; shared with forks.
    pub id: String,
    /// Entry of the user message, or an identifier of its own while unbound.
    pub key: String,
    /// Stored path -> record.
    #[serde(default)]
    pub files: BTreeMap<String, FileRecord>,
    /// RFC 3339.
    #[serde(default)]
    pub created_at: String,
    /// What it was for.
    pub kind: OldPointKind,
}

/// An item of the redo stack.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OldRedo {
    /// `code`, `conversation` or `both`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Key of the redo point.
    pub restore_key: Option<String>,
    /// Leaf of the conversation before the undo.
    pub old_leaf_id: Option<String>,
    /// RFC 3339.
    #[serde(default)]
    pub created_at: String,
}

/// The whole file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OldState {
    /// pi's session id.
    pub session_id: String,
    /// Points in the order they were taken.
    #[serde(default)]
    pub snapshots: Vec<OldPoint>,
    /// Stored path -> state before the first edit.
    #[serde(default)]
    pub originals: BTreeMap<String, FileRecord>,
    /// Stored paths in the order they were tracked.
    #[serde(default)]
    pub tracked_files: Vec<String>,
    /// Oldest first.
    #[serde(default)]
    pub redo: Vec<OldRedo>,
}

/// Why a `state.json` cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// No JSON, or not of this shape: truncated, for instance.
    #[error("state.json does not parse: {0}")]
    Malformed(#[from] serde_json::Error),
    /// Written by something newer.
    #[error("state.json has version {0}, and only version 1 is known")]
    Version(u64),
}

impl OldState {
    /// Parses the bytes of a `state.json`.
    pub fn parse(bytes: &[u8]) -> Result<Self, StateError> {
        #[derive(Deserialize)]
        struct Head {
            #[serde(default)]
            version: u64,
        }
        let head: Head = serde_json::from_slice(bytes)?;
        if head.version != VERSION {
            return Err(StateError::Version(head.version));
        }
        Ok(serde_json::from_slice(bytes)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATE: &str = r#"{"version":1,"sessionId":"s","snapshots":[{"id":"i","key":"k","kind":"redo-point",
        "createdAt":"2026-01-01T00:00:00.000Z","files":{"a":{"backupFileName":null,"version":1,"backupTime":""},
        "__proto__":{"backupFileName":"0123456789abcdef@v2","version":2,"backupTime":""}}}],
        "originals":{},"trackedFiles":["a"],"redo":[{"type":"both","restoreKey":"k","oldLeafId":"l","createdAt":""}]}"#;

    #[test]
    fn absence_is_read_as_a_fact_and_odd_names_are_names() {
        let state = OldState::parse(STATE.as_bytes()).unwrap();
        let files = &state.snapshots[0].files;
        assert_eq!(files["a"].backup_file_name, None);
        assert_eq!(files["__proto__"].backup_file_name.as_deref(), Some("0123456789abcdef@v2"));
        assert_eq!(state.snapshots[0].kind, OldPointKind::RedoPoint);
        assert_eq!(state.redo[0].restore_key.as_deref(), Some("k"));
    }

    #[test]
    fn a_truncated_or_newer_state_is_refused_with_its_reason() {
        assert!(matches!(OldState::parse(&STATE.as_bytes()[..100]), Err(StateError::Malformed(_))));
        let newer = STATE.replacen("\"version\":1", "\"version\":2", 1);
        assert!(matches!(OldState::parse(newer.as_bytes()), Err(StateError::Version(2))));
    }
}
