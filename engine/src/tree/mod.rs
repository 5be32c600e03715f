//! Manifests: what a point holds, as a tree of hash-consed nodes. See "Manifests" in `docs/format.md`.
//!
//! A manifest is a list of paths, sorted by their bytes, cut into nodes at places that depend on the paths alone. So a
//! change of one file's content changes one leaf and the nodes above it, whatever the size of its directory, and equal
//! stretches of two manifests are the same nodes.

mod build;
mod entry;
mod node;
mod path;
mod walk;

pub(crate) use build::{Built, Leaf, Like, build};
pub use entry::{Entry, Reason};
pub use node::{Child, Node, NodeError};
pub use path::{ManifestPath, NameError, TrackedPath};
pub(crate) use walk::{NodeSource, walk};

use serde::{Deserialize, Serialize};

use crate::hash::Hash;

/// The two trees of a manifest. `None` is the empty tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Roots {
    /// Paths inside the workspace, relative to it.
    pub workspace: Option<Hash>,
    /// All other paths, relative to the root of the file system.
    pub absolute: Option<Hash>,
}

impl Roots {
    /// The hashes that a reference is held on.
    pub fn hashes(&self) -> impl Iterator<Item = Hash> {
        self.workspace.into_iter().chain(self.absolute)
    }
}
