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
    /// `None`: the tree that this one was built like has the node.
    pub(crate) bytes: Option<Vec<u8>>,
    pub(crate) level: u8,
    /// First path: names the node's place, to find the node of another manifest that it replaces.
    pub(crate) first: ManifestPath,
}

/// A tree and all of its nodes, children before parents.
#[derive(Clone, Debug, Default)]
pub(crate) struct Built {
    pub(crate) root: Option<Hash>,
    pub(crate) nodes: Vec<BuiltNode>,
    pub(crate) leaves: Vec<Leaf>,
}

/// A leaf of a built tree: how many entries it holds, and its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leaf {
    count: usize,
    hash: Hash,
}

/// A tree of the very same paths, whose leaves therefore end where those of the new tree do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Like<'a> {
    pub(crate) leaves: &'a [Leaf],
    /// For each entry, whether it is the same in both.
    pub(crate) same: &'a [bool],
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

/// Where the leaves end.
fn cut_leaves<'e, 'a>(entries: &'e [(&'a ManifestPath, &'a Entry)]) -> Vec<&'e [(&'a ManifestPath, &'a Entry)]> {
    match entries.len() {
        0 => vec![],
        1..=NODE_SINGLE_MAX => vec![entries],
        _ => cut(entries, 0, |(path, _)| path),
    }
}

/// Builds the tree of entries that are sorted by path, without doubles. `like` spares the work on leaves that are the same.
pub(crate) fn build(entries: &[(&ManifestPath, &Entry)], like: Option<Like<'_>>) -> Built {
    debug_assert!(entries.is_sorted_by(|a, b| a.0 < b.0));
    let mut built = Built::default();
    let mut row: Vec<Child> = Vec::new();
    match like {
        None => {
            for part in cut_leaves(entries) {
                row.push(built.push_leaf(part, None));
            }
        }
        Some(Like { leaves, same }) => {
            let mut from = 0;
            for leaf in leaves {
                let range = from..from + leaf.count;
                from = range.end;
                let known = same[range.clone()].iter().all(|same| *same).then_some(leaf.hash);
                row.push(built.push_leaf(&entries[range], known));
            }
            debug_assert_eq!(from, entries.len(), "the trees have the same paths");
        }
    }
    let mut level = 0;
    while row.len() > 1 {
        level += 1;
        row = cut(&row, level, |child| &child.first)
            .into_iter()
            .map(|part| {
                let bytes = Node::Inner { level, children: part.to_vec() }.encode();
                let hash = Hash::of_node(&bytes);
                let entries = part.iter().map(|child| child.entries).sum();
                built.push(hash, Some(bytes), level, &part[0].first, entries)
            })
            .collect();
    }
    built.root = row.first().map(|child| child.hash);
    built
}

impl Built {
    fn push_leaf(&mut self, part: &[(&ManifestPath, &Entry)], known: Option<Hash>) -> Child {
        let (hash, bytes) = match known {
            Some(hash) => (hash, None),
            None => {
                let bytes = encode_leaf(part.iter().copied());
                (Hash::of_node(&bytes), Some(bytes))
            }
        };
        self.leaves.push(Leaf { count: part.len(), hash });
        self.push(hash, bytes, 0, part[0].0, part.len() as u64)
    }

    fn push(&mut self, hash: Hash, bytes: Option<Vec<u8>>, level: u8, first: &ManifestPath, entries: u64) -> Child {
        self.nodes.push(BuiltNode { hash, bytes, level, first: first.clone() });
        Child { first: first.clone(), entries, hash }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn build(entries: &[(ManifestPath, Entry)]) -> Built {
        super::build(&entries.iter().map(|(path, entry)| (path, entry)).collect::<Vec<_>>(), None)
    }

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
        assert!(new.iter().all(|node| node.bytes.as_ref().unwrap().len() < 16 << 10));
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
    fn a_tree_built_like_another_one_is_the_tree_built_anew() {
        for count in [1, 100, 500, 5_000] {
            let before = entries(count);
            let old = build(&before);
            let mut after = before.clone();
            for at in [0, count as usize / 3, count as usize - 1] {
                after[at].1 = Entry::Absent;
            }
            let same: Vec<bool> = before.iter().zip(&after).map(|(old, new)| old == new).collect();
            let refs: Vec<_> = after.iter().map(|(path, entry)| (path, entry)).collect();
            let like = super::build(&refs, Some(Like { leaves: &old.leaves, same: &same }));
            let anew = build(&after);
            assert_eq!((like.root, &like.leaves), (anew.root, &anew.leaves));
            let known: HashSet<Hash> = old.nodes.iter().map(|node| node.hash).collect();
            for (like, anew) in like.nodes.iter().zip(&anew.nodes) {
                assert_eq!((like.hash, like.level, &like.first), (anew.hash, anew.level, &anew.first));
                assert!(
                    like.bytes.as_ref().map_or(known.contains(&like.hash), |bytes| Some(bytes) == anew.bytes.as_ref())
                );
            }
            assert!(count < 500 || like.nodes.iter().any(|node| node.bytes.is_none()));
        }
    }

    #[test]
    fn the_empty_manifest_has_no_root() {
        assert_eq!(build(&[]).root, None);
    }

    #[test]
    fn every_node_parses() {
        for node in build(&entries(3_000)).nodes {
            assert_eq!(Node::parse(&node.bytes.unwrap()).unwrap().level(), node.level);
        }
    }
}
