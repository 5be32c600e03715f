//! Counts: what rows say against what there is, and counting anew.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::fsck::Place;
use crate::fsck::chain::Chain;
use crate::fsck::check::Verdict;
use crate::fsck::inventory::{IndexPicture, Inventory};
use crate::hash::Hash;
use crate::id::Id;
use crate::index::rows::{ObjectKind, ObjectRow, Place as ObjectPlace};
use crate::object::read::ObjectReader;

/// Bytes of journal records that a rebuild needs, by segment.
pub(crate) fn journal_bytes(chain: &Chain) -> HashMap<Id, u64> {
    let mut bytes: HashMap<Id, u64> = HashMap::new();
    for link in &chain.links {
        *bytes.entry(link.at.segment).or_default() += link.len;
    }
    bytes
}

/// Bytes of records that rows point to, by segment.
pub(crate) fn live_bytes(inventory: &Inventory) -> HashMap<u32, u64> {
    let mut bytes: HashMap<u32, u64> = HashMap::new();
    for row in inventory.objects.values() {
        if let ObjectPlace::Segment { number, len, .. } = row.place {
            *bytes.entry(number).or_default() += u64::from(len);
        }
    }
    bytes
}

/// Deltas on each object.
fn base_refs(inventory: &Inventory) -> HashMap<Hash, u64> {
    let mut counts: HashMap<Hash, u64> = HashMap::new();
    for base in inventory.objects.values().filter_map(|row| row.base) {
        *counts.entry(base).or_default() += 1;
    }
    counts
}

/// One kind of contradiction, with an example.
#[derive(Default)]
struct Wrong(BTreeMap<&'static str, (u64, String)>);

impl Wrong {
    fn add(&mut self, what: &'static str, example: impl FnOnce() -> String) {
        self.0.entry(what).or_insert_with(|| (0, example())).0 += 1;
    }
}

/// Compares every count of the index. Fills `missing` of the verdict.
pub(crate) fn check(
    place: &Place,
    picture: &IndexPicture,
    unknown: &[Hash],
    chain: &Chain,
    verdict: &mut Verdict,
) -> Vec<String> {
    let inventory = &picture.inventory;
    let mut refs = picture.references.clone();
    for hash in unknown.iter().filter(|hash| inventory.objects.contains_key(hash)) {
        *refs.entry(*hash).or_default() += 1;
    }
    let reader = ObjectReader::new(Arc::clone(&place.io), &place.path);
    // What an unreadable node refers to is not known, so counts may rightly be higher.
    let mut blind = false;
    let mut nodes: Vec<(&Hash, &ObjectRow)> = inventory.objects.iter().filter(|(_, row)| row.holds_children).collect();
    nodes.sort_by_key(|(_, row)| match row.place {
        ObjectPlace::Segment { number, offset, .. } => (number, offset),
        _ => (0, 0),
    });
    for (hash, _) in nodes {
        match reader.node(inventory, *hash) {
            Ok(node) => node.references().into_iter().for_each(|child| *refs.entry(child).or_default() += 1),
            Err(_) => blind = true,
        }
    }
    let bases = base_refs(inventory);
    let mut wrong = Wrong::default();
    for (hash, row) in &inventory.objects {
        let expected = refs.remove(hash).unwrap_or(0);
        check_row(*hash, row, expected, bases.get(hash).copied().unwrap_or(0), blind, picture, &mut wrong);
    }
    verdict.missing.extend(refs.into_keys());
    for hash in &picture.dead {
        if inventory.objects.get(hash).is_none_or(|row| row.refs > 0) {
            wrong.add("entries of the list of dead objects are of living ones or of none", || hash.to_hex());
        }
    }
    check_segments(picture, chain, &mut wrong);
    let text = |(what, (count, example)): (&str, (u64, String))| format!("{count} {what}, for instance {example}");
    wrong.0.into_iter().map(text).collect()
}

fn check_row(
    hash: Hash,
    row: &ObjectRow,
    refs: u64,
    base_refs: u64,
    blind: bool,
    picture: &IndexPicture,
    wrong: &mut Wrong,
) {
    if row.refs < refs || (row.refs > refs && !blind) {
        wrong.add("objects have a wrong count of references", || format!("{hash} {} instead of {refs}", row.refs));
    }
    if row.base_refs != base_refs {
        let text = || format!("{hash} {} instead of {base_refs}", row.base_refs);
        wrong.add("objects have a wrong count of deltas on them", text);
    }
    let is_node = row.kind == ObjectKind::Node && !row.is_lost();
    let holds_rightly = if row.refs > 0 { row.holds_children == is_node } else { !row.holds_children || is_node };
    if !holds_rightly {
        wrong.add("nodes do not hold their children as they should", || hash.to_hex());
    }
    let waits = row.refs == 0 && (row.base_refs == 0 || row.holds_children);
    if waits && !picture.dead.contains(&hash) {
        wrong.add("objects without references are not on the list of dead ones", || hash.to_hex());
    }
    let bounded =
        row.base.is_none_or(|base| picture.inventory.objects.get(&base).is_none_or(|base| base.depth < row.depth));
    if !bounded {
        wrong.add("deltas are not deeper than their bases", || hash.to_hex());
    }
}

fn check_segments(picture: &IndexPicture, chain: &Chain, wrong: &mut Wrong) {
    let (live, journal) = (live_bytes(&picture.inventory), journal_bytes(chain));
    for (number, row) in &picture.inventory.segments {
        let expected = live.get(number).copied().unwrap_or(0);
        if row.live_bytes != expected {
            let text = || format!("{} {} instead of {expected}", row.id, row.live_bytes);
            wrong.add("segments have wrong live bytes", text);
        }
        let expected = journal.get(&row.id).copied().unwrap_or(0);
        // Behind a missing frame there is more that the chain no longer leads to.
        if row.journal_bytes != expected && chain.is_whole() {
            let text = || format!("{} {} instead of {expected}", row.id, row.journal_bytes);
            wrong.add("segments have wrong journal bytes", text);
        }
    }
}

/// Counts everything anew: what `references` reach, and what nodes hold that wait for collection. Nodes that cannot be
/// read and objects that are not there become lost ones, which are returned.
pub(crate) fn recount(
    inventory: &mut Inventory,
    references: &HashMap<Hash, u64>,
    unknown: &[Hash],
    reader: &ObjectReader,
) -> Vec<Hash> {
    let mut refs = references.clone();
    for hash in unknown.iter().filter(|hash| inventory.objects.contains_key(hash)) {
        *refs.entry(*hash).or_default() += 1;
    }
    let mut lost = Vec::new();
    let mut holding = HashSet::new();
    let holders = inventory.objects.iter().filter(|(_, row)| row.holds_children).map(|(hash, _)| *hash);
    let mut seen: HashSet<Hash> = refs.keys().copied().chain(holders).collect();
    let mut queue: Vec<Hash> = seen.iter().copied().collect();
    while let Some(hash) = queue.pop() {
        let Some(row) = inventory.objects.get(&hash) else {
            lost.push(hash);
            continue;
        };
        if row.kind != ObjectKind::Node || row.is_lost() {
            continue;
        }
        match reader.node(inventory, hash) {
            Ok(node) => {
                holding.insert(hash);
                for child in node.references() {
                    *refs.entry(child).or_default() += 1;
                    if seen.insert(child) {
                        queue.push(child);
                    }
                }
            }
            Err(_) => lost.push(hash),
        }
    }
    for hash in &lost {
        let kind = inventory.objects.get(hash).map_or(ObjectKind::Blob, |row| row.kind);
        inventory.objects.insert(*hash, ObjectRow::lost(kind));
    }
    for (hash, row) in &mut inventory.objects {
        row.refs = refs.get(hash).copied().unwrap_or(0);
        row.holds_children = holding.contains(hash);
    }
    recount_bases(inventory);
    if !depths_are_bounds(inventory) {
        set_depths(inventory);
    }
    lost
}

/// A depth is a bound of what a read has to decode: at least one more than that of the base.
fn depths_are_bounds(inventory: &Inventory) -> bool {
    inventory
        .objects
        .values()
        .all(|row| row.base.and_then(|base| inventory.objects.get(&base)).is_none_or(|base| base.depth < row.depth))
}

/// Counts deltas on each object.
pub(crate) fn recount_bases(inventory: &mut Inventory) {
    let bases = base_refs(inventory);
    for (hash, row) in &mut inventory.objects {
        row.base_refs = bases.get(hash).copied().unwrap_or(0);
    }
}

/// Sets depth and chain length of every object from its base. Chains are known to end.
pub(crate) fn set_depths(inventory: &mut Inventory) {
    let mut known: HashMap<Hash, (u8, u64)> = HashMap::new();
    for start in inventory.objects.keys() {
        let mut path = Vec::new();
        let mut next = Some(*start);
        while let Some(hash) = next.filter(|hash| !known.contains_key(hash)) {
            let Some(row) = inventory.objects.get(&hash) else { break };
            path.push((hash, row));
            next = row.base.filter(|_| path.len() <= usize::from(u8::MAX));
        }
        for (hash, row) in path.into_iter().rev() {
            let below =
                row.base.and_then(|base| known.get(&base)).map(|(depth, bytes)| (depth.saturating_add(1), *bytes));
            let (depth, bytes) = below.unwrap_or((0, 0));
            known.insert(hash, (depth, bytes.saturating_add(row.raw_len)));
        }
    }
    for (hash, row) in &mut inventory.objects {
        if let Some((depth, bytes)) = known.get(hash) {
            (row.depth, row.chain_bytes) = (*depth, *bytes);
        }
    }
}
