//! Values of `--json` that several commands share. The schema is `docs/cli-json.md`; it is only ever extended.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use candy_store::tree::{Entry, TrackedPath};
use candy_store::{Point, SessionSummary};
use serde::Serialize;

use crate::time::rfc3339;

/// A path; `path_b64` carries the bytes when they are not UTF-8.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct PathJson {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_b64: Option<String>,
}

impl PathJson {
    /// Of raw bytes.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        let path_b64 = std::str::from_utf8(bytes).is_err().then(|| base64(bytes));
        Self { path: String::from_utf8_lossy(bytes).into_owned(), path_b64 }
    }

    /// Of a path.
    pub(crate) fn of(path: &Path) -> Self {
        Self::of_bytes(path.as_os_str().as_bytes())
    }

    /// Of a tracked path: relative to the workspace inside it, absolute elsewhere.
    pub(crate) fn of_tracked(path: &TrackedPath) -> Self {
        Self::of_bytes(&shown_bytes(path))
    }
}

/// The bytes by which a tracked path is shown and can be named again.
pub(crate) fn shown_bytes(path: &TrackedPath) -> Vec<u8> {
    match path {
        TrackedPath::Workspace(path) => path.as_bytes().to_vec(),
        TrackedPath::Absolute(path) => [b"/", path.as_bytes()].concat(),
    }
}

/// A working directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct CwdJson {
    cwd: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd_b64: Option<String>,
}

impl CwdJson {
    /// Of a path.
    pub(crate) fn of(path: &Path) -> Self {
        let PathJson { path, path_b64 } = PathJson::of(path);
        Self { cwd: path, cwd_b64: path_b64 }
    }
}

/// A session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct SessionJson {
    r#type: &'static str,
    session: String,
    #[serde(flatten)]
    cwd: CwdJson,
    created: String,
    last_event: String,
    points: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    forked_from: Option<String>,
}

impl SessionJson {
    /// Of a summary.
    pub(crate) fn of(session: &SessionSummary) -> Self {
        Self {
            r#type: "session",
            session: session.id.clone(),
            cwd: CwdJson::of(&session.cwd),
            created: rfc3339(session.created_ms),
            last_event: rfc3339(session.last_event_ms),
            points: session.points,
            forked_from: session.forked_from.clone(),
        }
    }
}

/// A point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct PointJson {
    id: String,
    session: String,
    seq: u64,
    kind: &'static str,
    time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    files: u64,
    changed: u64,
    gaps: Vec<String>,
}

impl PointJson {
    /// Of a point.
    pub(crate) fn of(point: &Point) -> Self {
        Self {
            id: point.id.to_hex(),
            session: point.session.clone(),
            seq: point.seq,
            kind: point.kind.word(),
            time: rfc3339(point.created_ms),
            entry: point.entry.clone(),
            prompt: point.prompt.clone(),
            files: point.files,
            changed: point.changed,
            gaps: point.gaps.clone(),
        }
    }
}

/// The state of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct StateJson {
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
}

impl StateJson {
    /// Of an entry.
    pub(crate) fn of(entry: &Entry) -> Self {
        let mut json = Self { state: "absent", size: None, mode: None, content: None, reason: None, target: None };
        match entry {
            Entry::Absent => {}
            Entry::File { content, size, mode } => {
                json.state = "file";
                json.size = Some(*size);
                json.mode = Some(octal(*mode));
                json.content = Some(content.to_hex());
            }
            Entry::Symlink { target } => {
                json.state = "symlink";
                json.target = Some(String::from_utf8_lossy(target).into_owned());
            }
            Entry::Directory { mode } => {
                json.state = "directory";
                json.mode = Some(octal(*mode));
            }
            Entry::NotCaptured { reason } => {
                json.state = "not-captured";
                json.reason = Some(reason.word());
            }
            Entry::Purged { content } => {
                json.state = "purged";
                json.content = Some(content.to_hex());
            }
        }
        json
    }
}

/// Permission bits as four octal digits.
pub(crate) fn octal(mode: u32) -> String {
    format!("{mode:04o}")
}

/// Standard base64 with padding (RFC 4648, section 4).
pub(crate) fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for at in 0..4 {
            let digit = ALPHABET[(group >> (18 - 6 * at) & 63) as usize];
            out.push(if at <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_rfc() {
        let pairs =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")];
        for (plain, coded) in pairs {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
        assert_eq!(base64(b"\xff\xfe\xfd"), "//79");
    }

    #[test]
    fn only_paths_that_are_not_utf_8_carry_their_bytes() {
        let plain = serde_json::to_string(&PathJson::of_bytes("说明.md".as_bytes())).unwrap();
        assert_eq!(plain, r#"{"path":"说明.md"}"#);
        let odd = serde_json::to_value(PathJson::of_bytes(b"a\xff")).unwrap();
        assert_eq!(odd["path_b64"], "Yf8=");
        assert_eq!(odd["path"], "a\u{fffd}");
    }
}
