//! Which objects nothing needs any more: those without references, and what only they need.
//!
//! A collection releases what a dropped point held step by step. Here it is foreseen, so that the figures do not depend
//! on how far the last collection came.

use std::collections::HashMap;

use crate::error::Result;
use crate::hash::Hash;
use crate::index::rows::{ObjectKind, ObjectRow};
use crate::index::tables::Rows;
use crate::object::read::ObjectReader;

/// An object and what becomes of it.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) row: ObjectRow,
    pub(super) is_garbage: bool,
}

/// All objects of a store.
#[derive(Debug, Default)]
pub(super) struct Objects(HashMap<Hash, Object>);

impl Objects {
    pub(super) fn read(rows: &dyn Rows) -> Result<Self> {
        let mut objects = HashMap::new();
        rows.each_object(&mut |hash, row| {
            objects.insert(hash, Object { row, is_garbage: false });
            Ok(())
        })?;
        Ok(Self(objects))
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&Hash, &Object)> {
        self.0.iter()
    }

    /// Marks the garbage. Returns the number of nodes that could not be read: what only they need counts as needed.
    pub(super) fn drop_garbage(&mut self, rows: &dyn Rows, reader: &ObjectReader) -> Result<u64> {
        let unneeded = |object: &Object| object.row.refs == 0;
        let mut waiting: Vec<Hash> =
            self.0.iter().filter(|(_, object)| unneeded(object)).map(|(hash, _)| *hash).collect();
        let mut unreadable = 0;
        while let Some(hash) = waiting.pop() {
            let Some(object) = self.0.get_mut(&hash) else { continue };
            let row = &mut object.row;
            if row.refs > 0 {
                continue;
            }
            let mut released = Vec::new();
            if row.kind == ObjectKind::Node && row.holds_children {
                row.holds_children = false;
                match reader.node(rows, hash) {
                    Ok(node) => released = node.references(),
                    Err(_) => unreadable += 1,
                }
            }
            // Whoever is still the base of a delta stays, but holds no children.
            let base = (row.base_refs == 0 && !object.is_garbage).then(|| {
                object.is_garbage = true;
                object.row.base
            });
            for child in released {
                if let Some(child_object) = self.0.get_mut(&child) {
                    child_object.row.refs = child_object.row.refs.saturating_sub(1);
                    waiting.push(child);
                }
            }
            if let Some(base) = base.flatten()
                && let Some(base_object) = self.0.get_mut(&base)
            {
                base_object.row.base_refs = base_object.row.base_refs.saturating_sub(1);
                waiting.push(base);
            }
        }
        Ok(unreadable)
    }
}
