//! Frees bases that nothing but deltas needs, by encoding those deltas against something else.
//!
//! When the older points of a file are dropped, their contents stay as links of the chain that newer contents hang on.
//! In a segment that is rewritten anyway such links are not copied: what hangs on them, by however many links, is
//! encoded against the next content up the chain that is needed for itself, or in full.

use std::collections::{HashMap, HashSet};

use crate::error::Result;
use crate::gc::Run;
use crate::gc::rewrite::{Batch, Move};
use crate::hash::Hash;
use crate::index::rows::{ObjectRow, Place};
use crate::index::tables::Rows;
use crate::object::encode::{Form, encode};
use crate::segment::record::Encoding;

/// Raw bytes encoded anew in one run; what is beyond is copied as it is.
const REBASE_BYTES_MAX: u64 = 64 << 20;

/// Whether nothing but deltas needs an object.
pub(super) fn only_a_base(row: &ObjectRow) -> bool {
    row.refs == 0 && row.base_refs > 0 && !row.holds_children
}

/// Bases that are kept for deltas alone, and the deltas on them.
#[derive(Default)]
struct Links {
    bases: HashMap<Hash, ObjectRow>,
    deltas: HashMap<Hash, Vec<(Hash, ObjectRow)>>,
}

impl Links {
    fn read(rows: &dyn Rows) -> Result<Self> {
        let mut links = Self::default();
        rows.each_object(&mut |hash, row| {
            if only_a_base(&row) {
                links.bases.insert(hash, row);
            }
            Ok(())
        })?;
        if links.bases.is_empty() {
            return Ok(links);
        }
        rows.each_object(&mut |hash, row| {
            if let Some(base) = row.base.filter(|base| links.bases.contains_key(base)) {
                links.deltas.entry(base).or_default().push((hash, row));
            }
            Ok(())
        })?;
        Ok(links)
    }

    /// What hangs on `base`: needed objects to encode anew, and the links between.
    fn hanging_on(&self, base: Hash) -> (Vec<(Hash, ObjectRow)>, Vec<Hash>) {
        let (mut needed, mut between, mut queue) = (Vec::new(), vec![base], vec![base]);
        while let Some(base) = queue.pop() {
            for (hash, row) in self.deltas.get(&base).into_iter().flatten() {
                if self.bases.contains_key(hash) {
                    between.push(*hash);
                    queue.push(*hash);
                } else {
                    needed.push((*hash, row.clone()));
                }
            }
        }
        (needed, between)
    }

    /// The first object up the chain that is needed for itself, and the last link before it.
    fn above(&self, base: Hash) -> (Option<Hash>, Hash) {
        let mut last = base;
        while let Some(up) = self.bases.get(&last).and_then(|row| row.base) {
            if !self.bases.contains_key(&up) {
                return (Some(up), last);
            }
            last = up;
        }
        (None, last)
    }
}

impl Run<'_> {
    /// Encodes anew what hangs on links among `occupied`. Returns what need not be moved: the links, which are dead once
    /// nothing hangs on them, and what was moved here already.
    pub(super) fn rebase(&mut self, occupied: &[(Hash, ObjectRow)]) -> Result<HashSet<Hash>> {
        let seeds: Vec<Hash> = occupied.iter().filter(|(_, row)| only_a_base(row)).map(|(hash, _)| *hash).collect();
        let mut given_up = HashSet::new();
        if seeds.is_empty() {
            return Ok(given_up);
        }
        let links = self.inner.read(|rows| Links::read(rows))?;
        let mut batch = Batch::default();
        let mut firsts: HashMap<Hash, Hash> = HashMap::new();
        let mut spent = 0u64;
        for seed in seeds {
            if given_up.contains(&seed) {
                continue;
            }
            let (mut needed, between) = links.hanging_on(seed);
            needed.sort_by_key(|(hash, row)| (row.depth, *hash));
            spent += needed.iter().map(|(_, row)| row.raw_len).sum::<u64>();
            if spent > REBASE_BYTES_MAX {
                self.report.more = true;
                break;
            }
            let (above, top) = links.above(seed);
            for (hash, row) in needed {
                if given_up.insert(hash) {
                    // Without anything above, the first is stored in full and the others against it.
                    let base = above.or_else(|| firsts.get(&top).copied());
                    if let Some(moving) = self.encode_anew(hash, row, base)? {
                        self.add(&mut batch, moving)?;
                    }
                    firsts.entry(top).or_insert(hash);
                }
            }
            given_up.extend(between);
        }
        self.flush(&mut batch)?;
        Ok(given_up)
    }

    fn encode_anew(&self, hash: Hash, seen: ObjectRow, base: Option<Hash>) -> Result<Option<Move>> {
        self.inner.read(|rows| {
            let Some(old) = rows.object(hash)?.filter(|now| now.place == seen.place && now.base == seen.base) else {
                return Ok(None);
            };
            let bytes = self.inner.reader.read_uncached(rows, hash)?;
            let base = match base {
                // Objects of another place cannot be bases, and one that is gone meanwhile need not be.
                Some(base) if rows.object(base)?.is_some_and(|row| matches!(row.place, Place::Segment { .. })) => {
                    Some((base, self.inner.reader.read(rows, base)?))
                }
                _ => None,
            };
            let encoded = encode(&bytes, base.as_ref().map(|(hash, bytes)| (*hash, &**bytes)));
            let (encoding, base) = match encoded.form {
                Form::Raw => (Encoding::Raw, None),
                Form::Zstd => (Encoding::Zstd, None),
                Form::Delta { base } => (Encoding::Delta, Some(base)),
            };
            Ok(Some(Move { hash, old, encoding, base, payload: encoded.payload }))
        })
    }
}
