//! Paths in a manifest.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::io::{bytes_path, path_bytes};
use crate::limits::{NAME_BYTES_MAX, PATH_BYTES_MAX};

/// Why bytes are not a path of a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// No bytes, or two separators in a row, or one at an end.
    #[error("a component of the path is empty")]
    Empty,
    /// `.` or `..`: it could leave the tree.
    #[error("'.' and '..' are not names")]
    Dots,
    /// A NUL byte.
    #[error("the path holds a NUL byte")]
    Nul,
    /// A component or the whole is too long.
    #[error("the path is too long")]
    TooLong,
    /// The path to resolve is not absolute.
    #[error("the path is not absolute")]
    NotAbsolute,
}

/// A path below a root: components joined by `/`, each a name that cannot leave the tree. Bytes, not UTF-8. Clones share
/// them: every point of a session names the same paths.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Vec<u8>", into = "Vec<u8>")]
pub struct ManifestPath(Arc<[u8]>);

impl ManifestPath {
    /// Checks bytes from anywhere.
    pub fn parse(bytes: &[u8]) -> Result<Self, NameError> {
        if bytes.len() > PATH_BYTES_MAX {
            return Err(NameError::TooLong);
        }
        for component in bytes.split(|byte| *byte == b'/') {
            match component {
                b"" => return Err(NameError::Empty),
                b"." | b".." => return Err(NameError::Dots),
                _ if component.contains(&0) => return Err(NameError::Nul),
                _ if component.len() > NAME_BYTES_MAX => return Err(NameError::TooLong),
                _ => {}
            }
        }
        Ok(Self(bytes.into()))
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The components, at least one.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.0.split(|byte| *byte == b'/')
    }

    /// The last component.
    pub fn name(&self) -> &[u8] {
        self.components().next_back().expect("a path has at least one component")
    }

    /// The path below `root`.
    pub fn under(&self, root: &Path) -> PathBuf {
        root.join(bytes_path(&self.0))
    }
}

impl TryFrom<Vec<u8>> for ManifestPath {
    type Error = NameError;

    fn try_from(bytes: Vec<u8>) -> Result<Self, NameError> {
        Self::parse(&bytes)
    }
}

impl From<ManifestPath> for Vec<u8> {
    fn from(path: ManifestPath) -> Self {
        path.0.to_vec()
    }
}

impl fmt::Display for ManifestPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl fmt::Debug for ManifestPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(&self.0))
    }
}

/// A path as a session knows it: inside its workspace or anywhere else.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TrackedPath {
    /// Relative to the workspace.
    Workspace(ManifestPath),
    /// Relative to the root of the file system.
    Absolute(ManifestPath),
}

impl TrackedPath {
    /// Sorts an absolute, resolved path into its tree. A name such as `..b` inside the workspace stays inside.
    pub fn new(workspace: &Path, path: &Path) -> Result<Self, NameError> {
        if !path.is_absolute() {
            return Err(NameError::NotAbsolute);
        }
        if let Ok(inside) = path.strip_prefix(workspace) {
            return ManifestPath::parse(path_bytes(inside)).map(Self::Workspace);
        }
        let bytes = path_bytes(path);
        ManifestPath::parse(bytes.strip_prefix(b"/").unwrap_or(bytes)).map(Self::Absolute)
    }

    /// The absolute path.
    pub fn resolve(&self, workspace: &Path) -> PathBuf {
        match self {
            Self::Workspace(path) => path.under(workspace),
            Self::Absolute(path) => path.under(Path::new("/")),
        }
    }

    /// The path within its tree.
    pub fn manifest_path(&self) -> &ManifestPath {
        match self {
            Self::Workspace(path) | Self::Absolute(path) => path,
        }
    }

    /// For people: relative inside the workspace, absolute elsewhere.
    pub fn display(&self) -> String {
        match self {
            Self::Workspace(path) => path.to_string(),
            Self::Absolute(path) => format!("/{path}"),
        }
    }

    /// A key that sorts workspace paths first: a tag byte, then the path.
    pub(crate) fn key(&self) -> Vec<u8> {
        let (tag, path) = match self {
            Self::Workspace(path) => (b'w', path),
            Self::Absolute(path) => (b'/', path),
        };
        let mut key = Vec::with_capacity(path.0.len() + 1);
        key.push(tag);
        key.extend_from_slice(&path.0);
        key
    }

    /// Takes a key read from disk.
    pub(crate) fn from_key(key: &[u8]) -> Option<Self> {
        let (tag, path) = key.split_first()?;
        let path = ManifestPath::parse(path).ok()?;
        match tag {
            b'w' => Some(Self::Workspace(path)),
            b'/' => Some(Self::Absolute(path)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_leave_the_tree_are_refused() {
        for (bytes, error) in [
            (&b""[..], NameError::Empty),
            (b"/a", NameError::Empty),
            (b"a//b", NameError::Empty),
            (b"a/", NameError::Empty),
            (b".", NameError::Dots),
            (b"a/../b", NameError::Dots),
            (b"a\0b", NameError::Nul),
            (&[b'a'; 256], NameError::TooLong),
        ] {
            assert_eq!(ManifestPath::parse(bytes), Err(error), "{bytes:?}");
        }
        for bytes in [&b"..name"[..], b"a/.b/...", b"__proto__", "名/😀".as_bytes(), b"\xff\xfe", b"a\\b"] {
            assert_eq!(ManifestPath::parse(bytes).unwrap().as_bytes(), bytes);
        }
    }

    #[test]
    fn a_path_is_sorted_into_its_tree() {
        let inside = TrackedPath::new(Path::new("/w"), Path::new("/w/..a/b")).unwrap();
        assert_eq!(inside.display(), "..a/b");
        assert_eq!(inside.resolve(Path::new("/w")), Path::new("/w/..a/b"));
        let outside = TrackedPath::new(Path::new("/w"), Path::new("/wide/b")).unwrap();
        assert_eq!(outside.display(), "/wide/b");
        assert_eq!(outside.resolve(Path::new("/w")), Path::new("/wide/b"));
        for path in [inside, outside] {
            assert_eq!(TrackedPath::from_key(&path.key()), Some(path));
        }
        assert_eq!(TrackedPath::new(Path::new("/w"), Path::new("b")), Err(NameError::NotAbsolute));
        assert_eq!(TrackedPath::new(Path::new("/w"), Path::new("/w")), Err(NameError::Empty));
    }
}
