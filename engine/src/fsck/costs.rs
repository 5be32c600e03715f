//! Which sessions, points and paths damaged objects cost.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use crate::error::Result;
use crate::fsck::findings::{COSTS_LISTED_MAX, Cost};
use crate::fsck::inventory::{IndexPicture, Inventory};
use crate::fsck::{FsckOptions, Place};
use crate::hash::Hash;
use crate::id::Id;
use crate::index::Index;
use crate::index::keys;
use crate::index::rows::{PinRow, RedoRow, RestoreRow};
use crate::index::tables::{Logical, Rows, RowsExt as _};
use crate::limits::NODE_LEVEL_MAX;
use crate::lock::Deadline;
use crate::object::read::ObjectReader;
use crate::tree::{ManifestPath, Node, Roots, TrackedPath};

/// What one object costs.
#[derive(Debug, Default)]
pub(crate) struct ObjectCosts {
    pub(crate) listed: Vec<Cost>,
    pub(crate) total: u64,
}

/// Damaged objects below a node, with the paths they are the contents of.
type Below = Rc<Vec<(Option<ManifestPath>, Hash)>>;

struct Costs<'a> {
    inventory: &'a Inventory,
    reader: ObjectReader,
    bad: &'a HashSet<Hash>,
    below: HashMap<Hash, Below>,
    costs: HashMap<Hash, ObjectCosts>,
}

/// Finds what each of the objects costs. An index that cannot be read again costs only this list.
pub(crate) fn of(
    place: &Place,
    index: &Index,
    options: &FsckOptions,
    picture: &IndexPicture,
    bad: &HashSet<Hash>,
) -> HashMap<Hash, ObjectCosts> {
    let mut costs = Costs {
        inventory: &picture.inventory,
        reader: ObjectReader::new(Arc::clone(&place.io), &place.path),
        bad,
        below: HashMap::new(),
        costs: HashMap::new(),
    };
    if !bad.is_empty() {
        let _ = index.read(Deadline::after(options.lock_wait), |rows| costs.add_all(rows));
    }
    costs.costs
}

impl Costs<'_> {
    fn add_all(&mut self, rows: &dyn Rows) -> Result<()> {
        let mut points = BTreeSet::new();
        for (session, row) in rows.sessions()? {
            for (_, point) in rows.points(&session)? {
                points.insert(point.id);
                self.add_roots(&session, Some(point.id), point.roots);
            }
            for (path, (_, entry)) in rows.originals(&row)? {
                if let Some(content) = entry.content() {
                    self.add(content, &session, None, Some(path));
                }
            }
        }
        rows.scan::<RedoRow>(Logical::Redo, b"", &mut |key, row| {
            if let Some((session, _)) = keys::parse_numbered(key)
                && row.point.is_none_or(|point| !points.contains(&point))
            {
                self.add_roots(session, None, row.roots);
            }
            Ok(())
        })?;
        rows.scan::<PinRow>(Logical::Pins, b"", &mut |key, row| {
            let point = key.try_into().ok().map(Id::from_bytes);
            if point.is_none_or(|point| !points.contains(&point)) {
                self.add_roots(&row.session, point, row.roots);
            }
            Ok(())
        })?;
        rows.scan::<RestoreRow>(Logical::Restores, b"", &mut |_, row| {
            for step in &row.steps {
                for content in [step.from.content(), step.to.content()].into_iter().flatten() {
                    self.add(content, &row.session, None, Some(step.path.clone()));
                }
            }
            Ok(())
        })
    }

    fn add(&mut self, object: Hash, session: &str, point: Option<Id>, path: Option<TrackedPath>) {
        if !self.bad.contains(&object) {
            return;
        }
        let costs = self.costs.entry(object).or_default();
        costs.total += 1;
        if costs.listed.len() < COSTS_LISTED_MAX {
            costs.listed.push(Cost { session: session.to_owned(), point, path });
        }
    }

    fn add_roots(&mut self, session: &str, point: Option<Id>, roots: Roots) {
        for (root, wrap) in [
            (roots.workspace, TrackedPath::Workspace as fn(ManifestPath) -> TrackedPath),
            (roots.absolute, TrackedPath::Absolute),
        ] {
            let Some(root) = root else { continue };
            for (path, object) in self.below(root, NODE_LEVEL_MAX).iter() {
                self.add(*object, session, point, path.clone().map(wrap));
            }
        }
    }

    fn below(&mut self, hash: Hash, level_max: u8) -> Below {
        if let Some(below) = self.below.get(&hash) {
            return Rc::clone(below);
        }
        let mut found = Vec::new();
        if self.bad.contains(&hash) {
            found.push((None, hash));
        } else {
            match self.reader.node(self.inventory, hash) {
                Ok(Node::Leaf(entries)) => found.extend(entries.into_iter().filter_map(|(path, entry)| {
                    let content = entry.content().filter(|content| self.bad.contains(content))?;
                    Some((Some(path), content))
                })),
                // Levels fall, or hand-made nodes could make this run in circles.
                Ok(Node::Inner { level, children }) if level <= level_max && level > 0 => {
                    for child in children {
                        found.extend(self.below(child.hash, level - 1).iter().cloned());
                    }
                }
                _ => {}
            }
        }
        let below = Rc::new(found);
        self.below.insert(hash, Rc::clone(&below));
        below
    }
}
