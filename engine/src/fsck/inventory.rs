//! The rows of the index in memory: one consistent picture, taken in one read transaction.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::codec;
use crate::error::{Error, ErrorKind, Result};
use crate::hash::Hash;
use crate::id::Id;
use crate::index::keys;
use crate::index::references::each_reference;
use crate::index::rows::{
    LayerRow, ObjectRow, OriginalRow, PinRow, PointRow, RedoRow, RestoreRow, SegmentRow, StateRow, UnlinkRow,
};
use crate::index::tables::{Logical, Rows, RowsExt as _, VisitRaw};
use crate::tree::{Entry, TrackedPath};

/// Rows about objects.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inventory {
    pub(crate) objects: HashMap<Hash, ObjectRow>,
    pub(crate) segments: BTreeMap<u32, SegmentRow>,
}

/// Everything in the index.
#[derive(Clone, Debug)]
pub(crate) struct IndexPicture {
    pub(crate) inventory: Inventory,
    pub(crate) state: StateRow,
    pub(crate) dead: HashSet<Hash>,
    pub(crate) unlinks: Vec<UnlinkRow>,
    /// References held by logical rows.
    pub(crate) references: HashMap<Hash, u64>,
    pub(crate) sessions: u64,
    pub(crate) points: u64,
    pub(crate) restores: Vec<(Id, RestoreRow)>,
    /// Contradictions between logical rows.
    pub(crate) contradictions: Vec<String>,
}

impl Inventory {
    pub(crate) fn read(rows: &dyn Rows) -> Result<Self> {
        let mut inventory = Self { segments: rows.segments()?.into_iter().collect(), ..Self::default() };
        rows.each_object(&mut |hash, row| {
            inventory.objects.insert(hash, row);
            Ok(())
        })?;
        Ok(inventory)
    }
}

/// How many references each object gets from logical rows.
pub(crate) fn count_references(rows: &dyn Rows) -> Result<HashMap<Hash, u64>> {
    let mut references = HashMap::new();
    each_reference(rows, &mut |_, _, hash| {
        *references.entry(hash).or_default() += 1;
        Ok(())
    })?;
    Ok(references)
}

impl IndexPicture {
    pub(crate) fn read(rows: &dyn Rows) -> Result<Self> {
        let unlinks = rows
            .unlinks()?
            .iter()
            .map(|(_, bytes)| {
                codec::decode(bytes).map_err(|error| {
                    Error::new(ErrorKind::IndexDamaged, "read a row of the table 'unlink'").because(error)
                })
            })
            .collect::<Result<_>>()?;
        let mut logical = LogicalCheck::default();
        logical.check(rows)?;
        Ok(Self {
            inventory: Inventory::read(rows)?,
            state: rows.state()?,
            dead: rows.dead(usize::MAX)?.into_iter().collect(),
            unlinks,
            references: count_references(rows)?,
            sessions: logical.layers_of.len() as u64,
            points: logical.points,
            restores: logical.restores,
            contradictions: logical.contradictions,
        })
    }
}

/// Reads every logical row and looks for those that contradict others.
#[derive(Default)]
struct LogicalCheck {
    layers_of: BTreeMap<String, Vec<Id>>,
    points: u64,
    restores: Vec<(Id, RestoreRow)>,
    contradictions: Vec<String>,
}

impl LogicalCheck {
    fn say(&mut self, text: impl FnOnce() -> String) {
        const MAX: usize = 20;
        if self.contradictions.len() < MAX {
            self.contradictions.push(text());
        }
    }

    fn known_session(&mut self, table: Logical, session: Option<&str>) {
        match session {
            Some(session) if self.layers_of.contains_key(session) => {}
            Some(session) => self.say(|| format!("a row of '{}' is of the unknown session '{session}'", table.name())),
            None => self.say(|| format!("a key of '{}' is malformed", table.name())),
        }
    }

    fn check(&mut self, rows: &dyn Rows) -> Result<()> {
        for (id, row) in rows.sessions()? {
            self.layers_of.insert(id, row.layers);
        }
        self.layers(rows)?;
        self.points_and_ids(rows)?;
        rows.scan::<Entry>(Logical::Notes, b"", &mut |key, _| {
            let split = key.iter().position(|byte| *byte == 0);
            let session = split
                .filter(|at| TrackedPath::from_key(&key[at + 1..]).is_some())
                .and_then(|at| std::str::from_utf8(&key[..at]).ok());
            self.known_session(Logical::Notes, session);
            Ok(())
        })?;
        rows.scan::<RedoRow>(Logical::Redo, b"", &mut |key, _| {
            self.known_session(Logical::Redo, keys::parse_numbered(key).map(|(session, _)| session));
            Ok(())
        })?;
        rows.scan::<PinRow>(Logical::Pins, b"", &mut |key, _| {
            if key.len() != 16 {
                self.say(|| "a key of 'pins' is malformed".into());
            }
            Ok(())
        })?;
        rows.scan::<RestoreRow>(Logical::Restores, b"", &mut |key, row| {
            match key.try_into() {
                Ok(bytes) => self.restores.push((Id::from_bytes(bytes), row)),
                Err(_) => self.say(|| "a key of 'restores' is malformed".into()),
            }
            Ok(())
        })?;
        rows.scan_raw(Logical::Purged, b"", &mut |key, _| {
            if key.len() != Hash::LEN {
                self.say(|| "a key of 'purged' is malformed".into());
            }
            Ok(true)
        })
    }

    fn layers(&mut self, rows: &dyn Rows) -> Result<()> {
        let mut expected: BTreeMap<Id, u64> = BTreeMap::new();
        for layer in self.layers_of.values().flatten() {
            *expected.entry(*layer).or_default() += 1;
        }
        let mut found = BTreeSet::new();
        rows.scan::<LayerRow>(Logical::Layers, b"", &mut |key, row| {
            let id = key.try_into().ok().map(Id::from_bytes);
            match id {
                Some(id) if expected.get(&id) == Some(&row.sessions) => {}
                _ => self.say(|| "a row of 'layers' does not fit the sessions".into()),
            }
            found.extend(id);
            Ok(())
        })?;
        if expected.keys().any(|id| !found.contains(id)) {
            self.say(|| "a session's layer has no row".into());
        }
        rows.scan::<OriginalRow>(Logical::Originals, b"", &mut |key, _| {
            let layer = key.get(..16).and_then(|bytes| bytes.try_into().ok()).map(Id::from_bytes);
            if layer.is_none_or(|layer| !found.contains(&layer)) || keys::parse_layer_path(key).is_none() {
                self.say(|| "a row of 'originals' is of no layer, or its key is malformed".into());
            }
            Ok(())
        })
    }

    fn points_and_ids(&mut self, rows: &dyn Rows) -> Result<()> {
        let mut ids: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
        rows.scan::<PointRow>(Logical::Points, b"", &mut |key, row| {
            self.known_session(Logical::Points, keys::parse_numbered(key).map(|(session, _)| session));
            self.points += 1;
            ids.insert(row.id.as_bytes().to_vec(), key.to_vec());
            Ok(())
        })?;
        let mut count = 0u64;
        rows.scan_raw(Logical::PointIds, b"", &mut |key, value| {
            count += 1;
            if ids.get(key).is_none_or(|point| point != value) {
                self.say(|| "a row of 'point_ids' does not fit the points".into());
            }
            Ok(true)
        })?;
        if count != self.points {
            let points = self.points;
            self.say(|| format!("{points} points have {count} rows in 'point_ids'"));
        }
        Ok(())
    }
}

impl Rows for Inventory {
    fn raw(&self, _: Logical, _: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    fn scan_raw(&self, _: Logical, _: &[u8], _: &mut VisitRaw<'_>) -> Result<()> {
        Ok(())
    }

    fn object(&self, hash: Hash) -> Result<Option<ObjectRow>> {
        Ok(self.objects.get(&hash).cloned())
    }

    fn each_object(&self, visit: &mut dyn FnMut(Hash, ObjectRow) -> Result<()>) -> Result<()> {
        self.objects.iter().try_for_each(|(hash, row)| visit(*hash, row.clone()))
    }

    fn segment(&self, number: u32) -> Result<Option<SegmentRow>> {
        Ok(self.segments.get(&number).cloned())
    }

    fn segments(&self) -> Result<Vec<(u32, SegmentRow)>> {
        Ok(self.segments.iter().map(|(number, row)| (*number, row.clone())).collect())
    }

    fn state(&self) -> Result<StateRow> {
        Err(Error::new(ErrorKind::Internal, "read the state").cause("an inventory has objects only"))
    }

    fn dead(&self, _: usize) -> Result<Vec<Hash>> {
        Ok(Vec::new())
    }

    fn unlinks(&self) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        Ok(Vec::new())
    }
}
