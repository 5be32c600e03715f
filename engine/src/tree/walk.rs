//! Reads a tree back.

use crate::error::Result;
use crate::hash::Hash;
use crate::limits::NODE_LEVEL_MAX;
use crate::tree::entry::Entry;
use crate::tree::node::Node;
use crate::tree::path::ManifestPath;

/// Whatever can give a node by its name.
pub(crate) trait NodeSource {
    fn node(&self, hash: Hash) -> Result<Node>;
}

/// Calls `visit` with every entry below `root`, in order, and `enter` with every node's name, level and first path.
pub(crate) fn walk(
    source: &dyn NodeSource,
    root: Option<Hash>,
    visit: &mut dyn FnMut(ManifestPath, Entry) -> Result<()>,
    enter: &mut dyn FnMut(Hash, u8, &ManifestPath),
) -> Result<()> {
    match root {
        Some(root) => walk_node(source, root, NODE_LEVEL_MAX, visit, enter),
        None => Ok(()),
    }
}

fn walk_node(
    source: &dyn NodeSource,
    hash: Hash,
    level_max: u8,
    visit: &mut dyn FnMut(ManifestPath, Entry) -> Result<()>,
    enter: &mut dyn FnMut(Hash, u8, &ManifestPath),
) -> Result<()> {
    match source.node(hash)? {
        Node::Leaf(entries) => {
            enter(hash, 0, &entries[0].0);
            entries.into_iter().try_for_each(|(path, entry)| visit(path, entry))
        }
        Node::Inner { level, children } => {
            // Levels fall strictly, so hand-made nodes cannot make this run deep or in circles.
            if level > level_max {
                return Err(crate::Error::new(crate::ErrorKind::Corrupt, "read a manifest")
                    .cause(format!("node {hash} is not below its parent")));
            }
            enter(hash, level, &children[0].first);
            children.into_iter().try_for_each(|child| walk_node(source, child.hash, level - 1, visit, enter))
        }
    }
}
