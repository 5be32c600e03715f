//! `fsck --rebuild-index`: a new index from segments and large contents alone.
//!
//! The logical state is replayed from the journal, starting at the newest checkpoint. Objects are then taken from
//! wherever a whole record of them is, full copies before deltas and shallow deltas before deep ones, and counted by
//! what can be reached. The new index is made under a temporary name and renamed in; live sessions notice that the file
//! is another one and open it anew.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, ErrorKind, IoContext as _, Result};
use crate::fsck::OnProgress;
use crate::fsck::chain::{self, Chain};
use crate::fsck::counts;
use crate::fsck::fold::{Folded, fold};
use crate::fsck::inventory::{Inventory, count_references};
use crate::fsck::repair::{be_alone, restore_format};
use crate::fsck::scan::{FoundFiles, FoundLarge, FoundRecord, FoundSegment, scan_files, scan_segment};
use crate::hash::Hash;
use crate::id::Id;
use crate::index::rows::{ObjectKind, ObjectRow, Place, SegmentRow, StateRow};
use crate::index::tables::{Logical, Rows as _};
use crate::index::{INDEX_FILE, Index, NewIndex};
use crate::io::{Io, Open};
use crate::limits::DELTA_DEPTH_MAX;
use crate::object::read::ObjectReader;
use crate::segment::record::KIND_BLOB;
use crate::segment::segment_path;

/// Rows of objects per transaction.
const ROWS_PER_TRANSACTION: usize = 10_000;

/// How to rebuild.
#[derive(Clone, Debug)]
pub struct RebuildOptions {
    /// How long to wait until nobody else uses the index.
    pub lock_wait: Duration,
    /// Is told how far it is.
    pub progress: OnProgress,
}

impl Default for RebuildOptions {
    fn default() -> Self {
        Self { lock_wait: Duration::from_secs(5), progress: OnProgress::default() }
    }
}

/// What a rebuild found.
#[derive(Clone, Debug, Default)]
pub struct RebuildReport {
    /// Sessions in the new index.
    pub sessions: u64,
    /// Points in the new index.
    pub points: u64,
    /// Contents and tree nodes in the new index.
    pub objects: u64,
    /// Transactions that were replayed, a checkpoint counting as one.
    pub transactions: u64,
    /// What is lost, for people. Empty: the index is what it was.
    pub losses: Vec<String>,
    /// What else was done, for people.
    pub actions: Vec<String>,
    /// Where the index before is kept.
    pub old_index: Option<PathBuf>,
}

/// Rebuilds the index of the store at `path`. Waits until no other process is in a transaction, and keeps all out
/// until it is done.
pub fn rebuild(io: Arc<dyn Io>, path: &Path, options: &RebuildOptions) -> Result<RebuildReport> {
    let mut alone = be_alone(&io, path, options.lock_wait)?;
    let path = alone.path.clone();
    let format = restore_format(&io, &path, None, &mut alone.actions)?;
    let files = scan_files(&io, &path)?;
    let segments = scan_all(&io, &path, format.store, &files, options)?;
    let links = chain::links(&segments);
    let chain = chain::guess(&links);
    let mut report = RebuildReport { actions: alone.actions, ..RebuildReport::default() };
    report.losses = losses_of_chain(&segments, &chain);

    let temporary = path.join(format!("{INDEX_FILE}.{}.tmp", Id::random()));
    let rebuild = Rebuild { io: &io, path: &path, store: format.store, segments: &segments, files: &files, options };
    let made = Index::create_in_parts(&io, &temporary, |new| rebuild.fill(new, &chain, &mut report));
    if let Err(error) = made {
        let _ = io.remove_file(&temporary);
        return Err(error);
    }
    report.old_index = put_in_place(&io, &path, &temporary)?;
    Ok(report)
}

/// Scans and syncs every segment of the store: what the new index names must be durable before it is.
fn scan_all(
    io: &Arc<dyn Io>,
    path: &Path,
    store: Id,
    files: &FoundFiles,
    options: &RebuildOptions,
) -> Result<Vec<FoundSegment>> {
    let mut segments = Vec::with_capacity(files.segments.len());
    let total = files.segments.len() as u64;
    for (done, id) in files.segments.iter().enumerate() {
        options.progress.tell("scan segments", done as u64, total);
        // One that cannot be read now may be readable later: nothing is given up for lost because of it.
        let segment = scan_segment(io, path, *id)?;
        if segment.ends.is_empty() || segment.header.is_some_and(|header| header.store != store) {
            continue;
        }
        let file_path = segment_path(path, *id);
        let file = io.open(&file_path, Open::Write).context("open the segment", &file_path)?;
        file.sync_data().context("sync the segment", &file_path)?;
        segments.push(segment);
    }
    options.progress.tell("scan segments", total, total);
    // Numbers follow from this order, so that two rebuilds give the same.
    segments.sort_by_key(|segment| (segment.header.map_or(i64::MAX, |header| header.created_ms), segment.id));
    Ok(segments)
}

fn losses_of_chain(segments: &[FoundSegment], chain: &Chain) -> Vec<String> {
    let mut losses = Vec::new();
    for at in &chain.missing {
        losses.push(format!("transaction {} and those before it that only it led to", at.order));
    }
    if chain.missing.is_empty() && !chain.is_whole() {
        losses.push("the beginning of the history".to_owned());
    }
    let tip = chain.tip().map_or(0, |tip| tip.order);
    for journal in segments.iter().flat_map(|segment| &segment.journals) {
        if journal.content.is_none() && journal.at.order >= tip {
            losses.push(format!("transaction {}, whose journal this program cannot read", journal.at.order));
        }
    }
    losses
}

/// Renames the new index in and keeps the old one.
fn put_in_place(io: &Arc<dyn Io>, path: &Path, temporary: &Path) -> Result<Option<PathBuf>> {
    let index = path.join(INDEX_FILE);
    let quarantine = path.join("quarantine");
    let mut kept = None;
    if io.stat(&index).is_ok() {
        let names = io.list(&quarantine).context("list", &quarantine)?;
        let free = (1u64..).map(|n| format!("index-{n}.redb")).find(|name| !names.iter().any(|n| n == name.as_bytes()));
        let to = quarantine.join(free.expect("there are more numbers than files"));
        // Between the two renames there is no index; whoever is interrupted here runs the rebuild again.
        io.rename(&index, &to).context("move the old index to", &to)?;
        io.sync_dir(&quarantine).context("sync", &quarantine)?;
        kept = Some(to);
    }
    io.rename(temporary, &index).context("rename", temporary)?;
    io.sync_dir(path).context("sync", path)?;
    Ok(kept)
}

struct Rebuild<'a> {
    io: &'a Arc<dyn Io>,
    path: &'a Path,
    store: Id,
    segments: &'a [FoundSegment],
    files: &'a FoundFiles,
    options: &'a RebuildOptions,
}

impl Rebuild<'_> {
    fn fill(&self, new: &NewIndex, chain: &Chain, report: &mut RebuildReport) -> Result<()> {
        let Folded { transactions, skipped } = fold(self.io, self.path, new, chain, &self.options.progress)?;
        report.transactions = transactions;
        report.losses.extend(skipped);
        let references = new.read(|rows| {
            report.sessions = count(rows, Logical::Sessions)?;
            report.points = count(rows, Logical::Points)?;
            count_references(rows)
        })?;
        self.options.progress.tell("count objects", 0, 1);
        let mut inventory = self.inventory();
        let unknown: Vec<Hash> = self.segments.iter().flat_map(|segment| &segment.unknown).copied().collect();
        let reader = ObjectReader::new(Arc::clone(self.io), self.path);
        let lost = counts::recount(&mut inventory, &references, &unknown, &reader);
        drop_unneeded(&mut inventory);
        counts::recount_bases(&mut inventory);
        if !lost.is_empty() {
            report.losses.push(format!("the bytes of {} contents or tree nodes", lost.len()));
        }
        report.objects = inventory.objects.len() as u64;
        self.write(new, &mut inventory, chain, report)
    }

    /// Every object of which there is a whole copy.
    fn inventory(&self) -> Inventory {
        let mut inventory = Inventory::default();
        let mut full: BTreeMap<Hash, (u32, &FoundRecord)> = BTreeMap::new();
        let mut on: HashMap<Hash, Vec<(u32, &FoundRecord)>> = HashMap::new();
        for (number, segment) in (1u32..).zip(self.segments) {
            let row = SegmentRow { id: segment.id, end: segment.frames_end, live_bytes: 0, journal_bytes: 0 };
            inventory.segments.insert(number, row);
            for record in &segment.records {
                match (record.delta, record.base) {
                    (false, _) => {
                        full.entry(record.hash).or_insert((number, record));
                    }
                    (true, Some(base)) => on.entry(base).or_default().push((number, record)),
                    (true, None) => {}
                }
            }
        }
        let mut layer: Vec<Hash> = Vec::new();
        for (hash, (number, record)) in full {
            inventory.objects.insert(hash, row_of(number, record, 0, 0));
            layer.push(hash);
        }
        let mut large: Vec<&FoundLarge> = self.files.large.iter().collect();
        large.sort_by_key(|large| (large.content, large.file));
        for large in large {
            if let Some(raw_len) = large.raw_len {
                inventory.objects.entry(large.content).or_insert_with(|| row_of_large(large, raw_len));
            }
        }
        // One link further from full copies in each round, so that every object gets the lowest depth there is.
        for depth in 1..=DELTA_DEPTH_MAX {
            let mut next: BTreeMap<Hash, (u32, &FoundRecord)> = BTreeMap::new();
            for base in layer {
                for (number, record) in on.remove(&base).unwrap_or_default() {
                    if !inventory.objects.contains_key(&record.hash) {
                        let best = next.entry(record.hash).or_insert((number, record));
                        if (number, record.offset) < (best.0, best.1.offset) {
                            *best = (number, record);
                        }
                    }
                }
            }
            if next.is_empty() {
                break;
            }
            layer = next.keys().copied().collect();
            for (hash, (number, record)) in next {
                let below = record.base.and_then(|base| inventory.objects.get(&base)).map_or(0, |row| row.chain_bytes);
                inventory.objects.insert(hash, row_of(number, record, depth, below));
            }
        }
        inventory
    }

    fn write(&self, new: &NewIndex, inventory: &mut Inventory, chain: &Chain, report: &RebuildReport) -> Result<()> {
        let live = counts::live_bytes(inventory);
        let journal = counts::journal_bytes(chain);
        let mut rows: Vec<(&Hash, &ObjectRow)> = inventory.objects.iter().collect();
        rows.sort_by_key(|(hash, _)| **hash);
        for part in rows.chunks(ROWS_PER_TRANSACTION) {
            new.write(|tables| part.iter().try_for_each(|(hash, row)| tables.put_object(**hash, row)))?;
        }
        let tip = chain.tip();
        let state = StateRow {
            store: self.store,
            order: tip.map_or(0, |tip| tip.order),
            last_frame: tip,
            next_segment: u32::try_from(inventory.segments.len())
                .ok()
                .and_then(|count| count.checked_add(1))
                .ok_or_else(|| Error::new(ErrorKind::TooLarge, "rebuild the index").cause("too many segments"))?,
            last_gc_ms: self.io.now_ms(),
            damage: report.losses.first().map(|loss| format!("the index was rebuilt with losses: {loss}")),
        };
        new.write(|tables| {
            for (number, row) in &mut inventory.segments {
                row.live_bytes = live.get(number).copied().unwrap_or(0);
                row.journal_bytes = journal.get(&row.id).copied().unwrap_or(0);
                tables.put_segment(*number, row)?;
            }
            tables.put_state(&state)
        })
    }
}

fn count(rows: &crate::index::tables::Snapshot, table: Logical) -> Result<u64> {
    let mut count = 0;
    rows.scan_raw(table, b"", &mut |_, _| {
        count += 1;
        Ok(true)
    })?;
    Ok(count)
}

fn row_of(number: u32, record: &FoundRecord, depth: u8, chain_bytes_below: u64) -> ObjectRow {
    let kind = if record.kind == KIND_BLOB { ObjectKind::Blob } else { ObjectKind::Node };
    let raw_len = u64::from(record.raw_len);
    ObjectRow {
        place: Place::Segment { number, offset: record.offset, len: record.len },
        raw_len,
        base: record.base.filter(|_| record.delta),
        depth,
        chain_bytes: chain_bytes_below + raw_len,
        ..ObjectRow::lost(kind)
    }
}

fn row_of_large(large: &FoundLarge, raw_len: u64) -> ObjectRow {
    ObjectRow {
        place: Place::Large { file: large.file, len: large.len },
        raw_len,
        chain_bytes: raw_len,
        ..ObjectRow::lost(ObjectKind::Blob)
    }
}

/// Drops what nothing refers to, but for the bases of what stays.
fn drop_unneeded(inventory: &mut Inventory) {
    let mut needed: HashSet<Hash> = HashSet::new();
    for (hash, row) in inventory.objects.iter().filter(|(_, row)| row.refs > 0) {
        let mut next = Some((*hash, row));
        while let Some((hash, row)) = next {
            if !needed.insert(hash) {
                break;
            }
            next = row.base.and_then(|base| Some((base, inventory.objects.get(&base)?)));
        }
    }
    inventory.objects.retain(|hash, _| needed.contains(hash));
}
