//! Keys of the index, laid out by hand so that their byte order is the order wanted.

use crate::id::Id;
use crate::tree::TrackedPath;

/// Session ids hold no NUL, so this separates them from what follows.
const END: u8 = 0;

/// All rows of a session in a table begin with this.
pub(crate) fn session_prefix(session: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(session.len() + 9);
    key.extend_from_slice(session.as_bytes());
    key.push(END);
    key
}

/// A session and a number, rising.
pub(crate) fn numbered(session: &str, number: u64) -> Vec<u8> {
    let mut key = session_prefix(session);
    key.extend_from_slice(&number.to_be_bytes());
    key
}

/// The session and the number of a key.
pub(crate) fn parse_numbered(key: &[u8]) -> Option<(&str, u64)> {
    let (head, number) = key.split_at_checked(key.len().checked_sub(8)?)?;
    let session = std::str::from_utf8(head.strip_suffix(&[END])?).ok()?;
    Some((session, u64::from_be_bytes(number.try_into().ok()?)))
}

/// A session and a path.
pub(crate) fn session_path(session: &str, path: &TrackedPath) -> Vec<u8> {
    let mut key = session_prefix(session);
    key.extend_from_slice(&path.key());
    key
}

/// A layer and a path.
pub(crate) fn layer_path(layer: Id, path: &TrackedPath) -> Vec<u8> {
    [&layer.as_bytes()[..], &path.key()].concat()
}

/// The path of a layer's key.
pub(crate) fn parse_layer_path(key: &[u8]) -> Option<TrackedPath> {
    TrackedPath::from_key(key.get(16..)?)
}
