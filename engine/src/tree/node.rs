//! The bytes of a tree node. The layout is canonical: two nodes with the same entries have the same bytes, and
//! `encode(parse(bytes)) == bytes` for whatever `parse` accepts.
//!
//! ```text
//! version u8 = 1 | level u8 | count varint
//! paths: count x (bytes shared with the path before varint | length of the rest varint | the rest)
//! level 0:  kinds: count x u8
//!           details: per kind, see `Entry`
//!           hashes: [32] of each file and each purged content
//! level >0: entries below: count x varint
//!           hashes: count x [32]
//! ```
//! Varints are LEB128 in their shortest form. The shared length is the longest possible.

use crate::hash::Hash;
use crate::limits::{LINK_TARGET_BYTES_MAX, NODE_BYTES_MAX, NODE_ENTRIES_MAX, NODE_LEVEL_MAX};
use crate::tree::entry::{Entry, Reason};
use crate::tree::path::ManifestPath;

const VERSION: u8 = 1;

const ABSENT: u8 = 0;
const FILE: u8 = 1;
const SYMLINK: u8 = 2;
const DIRECTORY: u8 = 3;
const NOT_CAPTURED: u8 = 4;
const PURGED: u8 = 5;

/// Permission bits are twelve.
const MODE_MAX: u64 = 0o7777;

/// Why bytes are not a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NodeError {
    /// The bytes end early.
    #[error("the node is cut short")]
    Short,
    /// Bytes follow the node.
    #[error("bytes follow the node")]
    Trailing,
    /// A version this program does not know.
    #[error("unknown version of a node")]
    Version,
    /// A number is out of bounds or not in its shortest form.
    #[error("a number in the node is out of bounds or not canonical")]
    Number,
    /// A path is not acceptable or not in order.
    #[error("a path in the node is not acceptable or out of order")]
    Path,
    /// An unknown kind of entry or reason.
    #[error("unknown kind of entry")]
    Kind,
}

/// A reference from one node to the next level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    /// First path below.
    pub first: ManifestPath,
    /// Number of entries below.
    pub entries: u64,
    /// Name of the node.
    pub hash: Hash,
}

/// A stretch of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// Entries.
    Leaf(Vec<(ManifestPath, Entry)>),
    /// Nodes of the level below.
    Inner {
        /// 1 above leaves.
        level: u8,
        /// In order of their paths.
        children: Vec<Child>,
    },
}

impl Node {
    /// 0 for a leaf.
    pub fn level(&self) -> u8 {
        match self {
            Self::Leaf(_) => 0,
            Self::Inner { level, .. } => *level,
        }
    }

    /// Every object the node refers to, as often as it does.
    pub fn references(&self) -> Vec<Hash> {
        match self {
            Self::Leaf(entries) => entries.iter().filter_map(|(_, entry)| entry.content()).collect(),
            Self::Inner { children, .. } => children.iter().map(|child| child.hash).collect(),
        }
    }

    /// The canonical bytes.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Leaf(entries) => encode_leaf(entries.iter().map(|(path, entry)| (path, entry))),
            Self::Inner { level, children } => encode_inner(*level, children),
        }
    }

    /// Parses bytes from disk. Total: any input gives a node or an error, in memory bounded by the input's size.
    pub fn parse(bytes: &[u8]) -> Result<Self, NodeError> {
        if bytes.len() > NODE_BYTES_MAX {
            return Err(NodeError::Trailing);
        }
        let mut input = Input(bytes);
        if input.byte()? != VERSION {
            return Err(NodeError::Version);
        }
        let level = input.byte()?;
        let count = input.varint(NODE_ENTRIES_MAX as u64)? as usize;
        if level > NODE_LEVEL_MAX || count == 0 || count > input.0.len() {
            return Err(NodeError::Number);
        }
        let paths = parse_paths(&mut input, count)?;
        let node = if level == 0 { parse_leaf(&mut input, paths)? } else { parse_inner(&mut input, level, paths)? };
        if !input.0.is_empty() {
            return Err(NodeError::Trailing);
        }
        Ok(node)
    }
}

struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], NodeError> {
        let (head, rest) = self.0.split_at_checked(count).ok_or(NodeError::Short)?;
        self.0 = rest;
        Ok(head)
    }

    fn byte(&mut self) -> Result<u8, NodeError> {
        Ok(self.take(1)?[0])
    }

    fn hash(&mut self) -> Result<Hash, NodeError> {
        Ok(Hash::from_bytes(self.take(Hash::LEN)?.try_into().map_err(|_| NodeError::Short)?))
    }

    fn varint(&mut self, max: u64) -> Result<u64, NodeError> {
        let mut value: u64 = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 {
                return Err(NodeError::Number);
            }
            value |= part << shift;
            if byte & 0x80 == 0 {
                let canonical = byte != 0 || shift == 0;
                return if canonical && value <= max { Ok(value) } else { Err(NodeError::Number) };
            }
        }
        Err(NodeError::Number)
    }
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value as u8 & 0x7f) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn shared_len(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

fn put_paths<'a>(out: &mut Vec<u8>, paths: impl Iterator<Item = &'a ManifestPath>) {
    let mut before: &[u8] = b"";
    for path in paths {
        let bytes = path.as_bytes();
        let shared = shared_len(before, bytes);
        put_varint(out, shared as u64);
        put_varint(out, (bytes.len() - shared) as u64);
        out.extend_from_slice(&bytes[shared..]);
        before = bytes;
    }
}

fn parse_paths(input: &mut Input<'_>, count: usize) -> Result<Vec<ManifestPath>, NodeError> {
    let mut paths: Vec<ManifestPath> = Vec::with_capacity(count);
    for _ in 0..count {
        let before = paths.last().map_or(&b""[..], ManifestPath::as_bytes);
        let shared = input.varint(before.len() as u64)? as usize;
        let rest_len = input.varint(u64::MAX)?;
        let rest = input.take(usize::try_from(rest_len).map_err(|_| NodeError::Short)?)?;
        let bytes = [&before[..shared], rest].concat();
        if bytes.as_slice() <= before || shared_len(before, &bytes) != shared {
            return Err(NodeError::Path);
        }
        paths.push(ManifestPath::parse(&bytes).map_err(|_| NodeError::Path)?);
    }
    Ok(paths)
}

fn kind_of(entry: &Entry) -> u8 {
    match entry {
        Entry::Absent => ABSENT,
        Entry::File { .. } => FILE,
        Entry::Symlink { .. } => SYMLINK,
        Entry::Directory { .. } => DIRECTORY,
        Entry::NotCaptured { .. } => NOT_CAPTURED,
        Entry::Purged { .. } => PURGED,
    }
}

/// Encodes a leaf without owning its entries.
pub(super) fn encode_leaf<'a>(entries: impl Iterator<Item = (&'a ManifestPath, &'a Entry)> + Clone) -> Vec<u8> {
    let count = entries.clone().count();
    let mut out = Vec::with_capacity(count * 56 + 8);
    out.extend_from_slice(&[VERSION, 0]);
    put_varint(&mut out, count as u64);
    put_paths(&mut out, entries.clone().map(|(path, _)| path));
    out.extend(entries.clone().map(|(_, entry)| kind_of(entry)));
    for (_, entry) in entries.clone() {
        match entry {
            Entry::Absent | Entry::Purged { .. } => {}
            Entry::File { size, mode, .. } => {
                put_varint(&mut out, *size);
                put_varint(&mut out, u64::from(*mode));
            }
            Entry::Symlink { target } => {
                put_varint(&mut out, target.len() as u64);
                out.extend_from_slice(target);
            }
            Entry::Directory { mode } => put_varint(&mut out, u64::from(*mode)),
            Entry::NotCaptured { reason } => out.push(reason.code()),
        }
    }
    for (_, entry) in entries {
        if let Entry::File { content, .. } | Entry::Purged { content } = entry {
            out.extend_from_slice(content.as_bytes());
        }
    }
    out
}

fn parse_leaf(input: &mut Input<'_>, paths: Vec<ManifestPath>) -> Result<Node, NodeError> {
    let kinds = input.take(paths.len())?;
    let mut entries = Vec::with_capacity(paths.len());
    let no_hash = Hash::from_bytes([0; 32]);
    for (path, kind) in paths.into_iter().zip(kinds) {
        let entry = match *kind {
            ABSENT => Entry::Absent,
            FILE => {
                let size = input.varint(u64::MAX)?;
                Entry::File { content: no_hash, size, mode: input.varint(MODE_MAX)? as u32 }
            }
            SYMLINK => {
                let length = input.varint(LINK_TARGET_BYTES_MAX as u64)? as usize;
                let target = input.take(length)?;
                if target.is_empty() || target.contains(&0) {
                    return Err(NodeError::Path);
                }
                Entry::Symlink { target: target.to_vec() }
            }
            DIRECTORY => Entry::Directory { mode: input.varint(MODE_MAX)? as u32 },
            NOT_CAPTURED => Entry::NotCaptured { reason: Reason::from_code(input.byte()?).ok_or(NodeError::Kind)? },
            PURGED => Entry::Purged { content: no_hash },
            _ => return Err(NodeError::Kind),
        };
        entries.push((path, entry));
    }
    for (_, entry) in &mut entries {
        if let Entry::File { content, .. } | Entry::Purged { content } = entry {
            *content = input.hash()?;
        }
    }
    Ok(Node::Leaf(entries))
}

fn encode_inner(level: u8, children: &[Child]) -> Vec<u8> {
    let mut out = Vec::with_capacity(children.len() * 56 + 8);
    out.extend_from_slice(&[VERSION, level]);
    put_varint(&mut out, children.len() as u64);
    put_paths(&mut out, children.iter().map(|child| &child.first));
    for child in children {
        put_varint(&mut out, child.entries);
    }
    for child in children {
        out.extend_from_slice(child.hash.as_bytes());
    }
    out
}

fn parse_inner(input: &mut Input<'_>, level: u8, paths: Vec<ManifestPath>) -> Result<Node, NodeError> {
    let mut children = Vec::with_capacity(paths.len());
    for first in paths {
        let entries = input.varint(u64::MAX)?;
        if entries == 0 {
            return Err(NodeError::Number);
        }
        children.push(Child { first, entries, hash: Hash::from_bytes([0; 32]) });
    }
    for child in &mut children {
        child.hash = input.hash()?;
    }
    Ok(Node::Inner { level, children })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path(text: &str) -> ManifestPath {
        ManifestPath::parse(text.as_bytes()).unwrap()
    }

    fn every_kind() -> Node {
        let content = Hash::of_blob(b"x");
        Node::Leaf(vec![
            (path("a/absent"), Entry::Absent),
            (path("a/file"), Entry::File { content, size: 300, mode: 0o644 }),
            (path("a/link"), Entry::Symlink { target: b"../x".to_vec() }),
            (path("b"), Entry::Directory { mode: 0o755 }),
            (path("c"), Entry::NotCaptured { reason: Reason::TooLarge }),
            (path("d"), Entry::Purged { content }),
        ])
    }

    fn inner() -> Node {
        let child = |first| Child { first: path(first), entries: 3, hash: Hash::of_node(b"y") };
        Node::Inner { level: 1, children: vec![child("a"), child("a/b"), child("c")] }
    }

    #[test]
    fn every_kind_of_node_goes_there_and_back() {
        for node in [every_kind(), inner()] {
            assert_eq!(Node::parse(&node.encode()), Ok(node));
        }
    }

    #[test]
    fn nothing_that_is_cut_or_extended_parses() {
        for node in [every_kind(), inner()] {
            let mut bytes = node.encode();
            for cut in 0..bytes.len() {
                assert!(Node::parse(&bytes[..cut]).is_err(), "cut at {cut}");
            }
            bytes.push(0);
            assert_eq!(Node::parse(&bytes), Err(NodeError::Trailing));
        }
    }

    #[test]
    fn paths_out_of_order_or_twice_are_refused() {
        let node = Node::Leaf(vec![(path("b"), Entry::Absent), (path("a"), Entry::Absent)]);
        assert_eq!(Node::parse(&node.encode()), Err(NodeError::Path));
        let node = Node::Leaf(vec![(path("a"), Entry::Absent), (path("a"), Entry::Absent)]);
        assert_eq!(Node::parse(&node.encode()), Err(NodeError::Path));
    }

    #[test]
    fn a_number_with_a_needless_byte_is_refused() {
        let mut bytes = Node::Leaf(vec![(path("a"), Entry::Absent)]).encode();
        assert_eq!(bytes[2], 1);
        bytes.splice(2..3, [0x81, 0x00]);
        assert_eq!(Node::parse(&bytes), Err(NodeError::Number));
    }

    proptest! {
        #[test]
        fn whatever_parses_encodes_to_the_same_bytes(
            flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
            leaf in any::<bool>(),
        ) {
            let mut bytes = if leaf { every_kind() } else { inner() }.encode();
            for (index, value) in flips {
                let at = index.index(bytes.len());
                bytes[at] = value;
            }
            if let Ok(node) = Node::parse(&bytes) {
                prop_assert_eq!(node.encode(), bytes);
            }
        }
    }
}
