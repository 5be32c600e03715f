//! Builds the tree of a manifest from its sorted entries.
//!
//! Where a node ends depends on the hash of its last path alone (and, at `NODE_ENTRIES_MAX`, on a count), so an edit
//! of a file moves no boundary. The idea of cutting a sorted list by content is that of prolly trees (noms, dolt).

use crate::hash::Hash;
use crate::limits::{NODE_ENTRIES_MAX, NODE_FANOUT, NODE_SINGLE_MAX};
use crate::tree::entry::Entry;
use crate::tree::node::{Child, Node, encode_leaf};
use crate::tree::path::ManifestPath;

/// One node of a built tree.
#[derive(Clone, Debug)]
pub(crate) struct BuiltNode {
    pub(crate) hash: Hash,
    pub(crate) bytes: Vec<u8>,
    pub(crate) level: u8,
    /// First path: names the node's place, to find the node of another manifest that it replaces.
    pub(crate) first: ManifestPath,
}

/// A tree and all of its nodes, children before parents.
#[derive(Clone, Debug, Default)]
pub(crate) struct Built {
    pub(crate) root: Option<Hash>,
    pub(crate) nodes: Vec<BuiltNode>,
}

fn ends_node(path: &ManifestPath, level: u8) -> bool {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[level]).update(path.as_bytes());
    let head = hasher.finalize();
    let head = head.as_bytes();
    u32::from_le_bytes([head[0], head[1], head[2], head[3]]).is_multiple_of(NODE_FANOUT)
}

/// From this level on nodes end by count alone, so that no choice of names can make a tree high.
const LEVELS_CUT_BY_HASH: u8 = 4;

/// Cuts a sorted list into stretches, each the members of one node. Above the leaves a stretch has at least two
/// members (but for the last), so each level is shorter than the one below.
fn cut<T>(items: &[T], level: u8, path: impl Fn(&T) -> &ManifestPath) -> Vec<&[T]> {
    let mut parts = Vec::new();
    let mut from = 0;
    for (at, item) in items.iter().enumerate() {
        let length = at + 1 - from;
        let may_end = level < LEVELS_CUT_BY_HASH && (level == 0 || length >= 2);
        if length == NODE_ENTRIES_MAX || (may_end && ends_node(path(item), level)) {
            parts.push(&items[from..=at]);
            from = at + 1;
        }
    }
    if from < items.len() {
        parts.push(&items[from..]);
    }
    parts
}

/// Builds the tree of entries that are sorted by path, without doubles.
pub(crate) fn build(entries: &[(ManifestPath, Entry)]) -> Built {
    debug_assert!(entries.is_sorted_by(|a, b| a.0 < b.0));
    let mut nodes = Vec::new();
    let mut push = |bytes: Vec<u8>, level: u8, first: &ManifestPath, entries: u64| {
        let hash = Hash::of_node(&bytes);
        nodes.push(BuiltNode { hash, bytes, level, first: first.clone() });
        Child { first: first.clone(), entries, hash }
    };
    let leaves = match entries.len() {
        0 => vec![],
        1..=NODE_SINGLE_MAX => vec![entries],
        _ => cut(entries, 0, |(path, _)| path),
    };
    let mut row: Vec<Child> = leaves
        .into_iter()
        .map(|part| {
            let bytes = encode_leaf(part.iter().map(|(path, entry)| (path, entry)));
            push(bytes, 0, &part[0].0, part.len() as u64)
        })
        .collect();
    let mut level = 0;
    while row.len() > 1 {
        level += 1;
        row = cut(&row, level, |child| &child.first)
            .into_iter()
            .map(|part| {
                let bytes = Node::Inner { level, children: part.to_vec() }.encode();
                push(bytes, level, &part[0].first, part.iter().map(|child| child.entries).sum())
            })
            .collect();
    }
    Built { root: row.first().map(|child| child.hash), nodes }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn entries(count: u32) -> Vec<(ManifestPath, Entry)> {
        let mut entries: Vec<_> = (0..count)
            .map(|n| {
                let path = ManifestPath::parse(format!("dir/file-{n}.rs").as_bytes()).unwrap();
                (path, Entry::File { content: Hash::of_blob(&n.to_le_bytes()), size: 1, mode: 0o644 })
            })
            .collect();
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        entries
    }

    #[test]
    fn an_edit_in_a_directory_of_ten_thousand_changes_one_node_a_level() {
        let before = entries(10_000);
        let old: HashSet<Hash> = build(&before).nodes.iter().map(|node| node.hash).collect();
        let mut after = before;
        after[5_000].1 = Entry::Absent;
        let built = build(&after);
        let new: Vec<_> = built.nodes.iter().filter(|node| !old.contains(&node.hash)).collect();
        let levels = built.nodes.last().unwrap().level + 1;
        assert_eq!(new.len(), usize::from(levels));
        assert!(new.iter().all(|node| node.bytes.len() < 16 << 10));
    }

    #[test]
    fn an_insertion_leaves_far_nodes_alone() {
        let all = entries(2_000);
        let old: HashSet<Hash> = build(&all[1..]).nodes.iter().map(|node| node.hash).collect();
        let built = build(&all);
        let new = built.nodes.iter().filter(|node| !old.contains(&node.hash)).count();
        assert!(new <= 6, "{new} new nodes");
    }

    #[test]
    fn the_empty_manifest_has_no_root() {
        assert_eq!(build(&[]).root, None);
    }

    #[test]
    fn every_node_parses() {
        for node in build(&entries(3_000)).nodes {
            assert_eq!(Node::parse(&node.bytes).unwrap().level(), node.level);
        }
    }
}
