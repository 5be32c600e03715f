//! A point's manifest in memory.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::error::Result;
use crate::hash::Hash;
use crate::index::tables::Rows;
use crate::object::pending::Pending;
use crate::store::Inner;
use crate::tree::{Built, Entry, Leaf, Like, ManifestPath, Node, NodeSource, Roots, TrackedPath, build, walk};

/// Where a node stands: which tree, which level, and its first path. The node there before is the one a new node
/// differs least from.
type NodePlace = (bool, u8, ManifestPath);

/// Entries of a point, and the nodes they are stored in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Manifest {
    pub(crate) roots: Roots,
    pub(crate) entries: BTreeMap<TrackedPath, Entry>,
    nodes: HashSet<Hash>,
    places: HashMap<NodePlace, Hash>,
    /// Of the two trees that this manifest was built as; empty when it was read.
    leaves: [Vec<Leaf>; 2],
}

/// Entries below the workspace and at absolute paths.
fn by_tree(entries: &BTreeMap<TrackedPath, Entry>) -> [Vec<(&ManifestPath, &Entry)>; 2] {
    let mut trees = [Vec::with_capacity(entries.len()), Vec::new()];
    for (path, entry) in entries {
        match path {
            TrackedPath::Workspace(path) => trees[0].push((path, entry)),
            TrackedPath::Absolute(path) => trees[1].push((path, entry)),
        }
    }
    trees
}

struct StoredNodes<'a> {
    inner: &'a Inner,
    rows: &'a dyn Rows,
}

impl NodeSource for StoredNodes<'_> {
    fn node(&self, hash: Hash) -> Result<Node> {
        self.inner.reader.node(self.rows, hash)
    }
}

impl Manifest {
    /// Reads a manifest from the store.
    pub(crate) fn read(inner: &Inner, rows: &dyn Rows, roots: Roots) -> Result<Self> {
        let source = StoredNodes { inner, rows };
        let mut manifest = Self { roots, ..Self::default() };
        for (absolute, root) in [(false, roots.workspace), (true, roots.absolute)] {
            let wrap = if absolute { TrackedPath::Absolute } else { TrackedPath::Workspace };
            let (entries, nodes, places) = (&mut manifest.entries, &mut manifest.nodes, &mut manifest.places);
            walk(
                &source,
                root,
                &mut |path, entry| {
                    entries.insert(wrap(path), entry);
                    Ok(())
                },
                &mut |hash, level, first| {
                    nodes.insert(hash);
                    places.insert((absolute, level, first.clone()), hash);
                },
            )?;
        }
        Ok(manifest)
    }

    /// Builds the manifest of `entries` and adds the nodes that `before` does not share to `pending`.
    pub(crate) fn build(
        inner: &Inner,
        entries: BTreeMap<TrackedPath, Entry>,
        before: &Self,
        pending: &mut Pending,
    ) -> Self {
        let (new, old) = (by_tree(&entries), by_tree(&before.entries));
        let built: Vec<Built> = (0..2)
            .map(|tree| {
                let (new, old) = (&new[tree], &old[tree]);
                // A manifest that was read has no leaves to build like.
                let same_paths = !before.leaves[tree].is_empty()
                    && new.len() == old.len()
                    && new.iter().zip(old).all(|((new, _), (old, _))| new == old);
                let same: Vec<bool> = new.iter().zip(old).map(|((_, new), (_, old))| new == old).collect();
                build(new, same_paths.then_some(Like { leaves: &before.leaves[tree], same: &same }))
            })
            .collect();
        let mut manifest = Self::default();
        for (tree, (built, absolute)) in built.into_iter().zip([false, true]).enumerate() {
            let root = if absolute { &mut manifest.roots.absolute } else { &mut manifest.roots.workspace };
            *root = built.root;
            manifest.leaves[tree].clone_from(&built.leaves);
            manifest.add_nodes(inner, built, absolute, before, pending);
        }
        manifest.entries = entries;
        manifest
    }

    fn add_nodes(&mut self, inner: &Inner, tree: Built, absolute: bool, before: &Self, pending: &mut Pending) {
        for node in tree.nodes {
            self.nodes.insert(node.hash);
            let place = (absolute, node.level, node.first);
            if !before.nodes.contains(&node.hash) {
                // A base that cannot be read only costs the delta.
                let base = before.places.get(&place).and_then(|hash| inner.delta_base(*hash).ok());
                let bytes = node.bytes.expect("a node that `before` lacks was built anew");
                pending.add_node(node.hash, bytes, base.as_ref());
            }
            self.places.insert(place, node.hash);
        }
    }

    /// Paths whose entry is not that of `before`.
    pub(crate) fn changed_since(&self, before: &Self) -> u64 {
        // Both are sorted, so one pass side by side tells.
        let (mut old, mut new) = (before.entries.iter().peekable(), self.entries.iter().peekable());
        let mut changed = 0;
        while let (Some((old_path, old_entry)), Some((new_path, new_entry))) = (old.peek(), new.peek()) {
            let order = old_path.cmp(new_path);
            changed += u64::from(order.is_ne() || old_entry != new_entry);
            if order.is_le() {
                old.next();
            }
            if order.is_ge() {
                new.next();
            }
        }
        changed + (old.count() + new.count()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(names: &[(&str, u64)]) -> Manifest {
        let entry = |size| Entry::File { content: Hash::of_blob(b""), size, mode: 0o644 };
        let path = |name: &str| TrackedPath::Workspace(ManifestPath::parse(name.as_bytes()).unwrap());
        Manifest {
            entries: names.iter().map(|(name, size)| (path(name), entry(*size))).collect(),
            ..Manifest::default()
        }
    }

    #[test]
    fn changed_paths_are_those_that_came_went_or_differ() {
        let before = manifest(&[("a", 1), ("b", 1), ("d", 1), ("e", 1)]);
        for (after, changed) in [
            (&[][..], 4),
            (&[("a", 1), ("b", 1), ("d", 1), ("e", 1)][..], 0),
            (&[("a", 2), ("b", 1), ("d", 1), ("e", 2)][..], 2),
            (&[("b", 1), ("c", 1), ("d", 1)][..], 3),
            (&[("a", 1), ("b", 1), ("d", 1), ("e", 1), ("f", 1), ("g", 1)][..], 2),
            (&[("0", 1), ("z", 1)][..], 6),
        ] {
            assert_eq!(manifest(after).changed_since(&before), changed, "{after:?}");
        }
        assert_eq!(before.changed_since(&manifest(&[])), 4);
    }
}
