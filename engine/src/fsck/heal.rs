//! Finds the bytes of damaged objects elsewhere: in another record, or in a file of a workspace that still has them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{IoContext as _, Result};
use crate::fsck::inventory::Inventory;
use crate::fsck::scan::{FoundLarge, FoundRecord, FoundSegment};
use crate::hash::{BlobHasher, Hash};
use crate::id::Id;
use crate::index::rows::{ObjectKind, ObjectRow, Place, SegmentRow};
use crate::index::tables::{Rows, RowsExt as _};
use crate::io::{File, Io, bytes_path};
use crate::limits::BLOB_BYTES_MAX;
use crate::object::encode::{Form, encode_full};
use crate::object::large;
use crate::object::read::ObjectReader;
use crate::segment::record::{Encoding, KIND_BLOB, KIND_NODE, Record};
use crate::segment::writer::SegmentWriter;
use crate::store::OwnSegment;
use crate::workspace::{Capture, capture};

/// Frames written before they are synced together.
const UNSYNCED_MAX: usize = 1_000;

/// Writes objects to segments of its own and keeps their rows.
pub(super) struct Healer<'a> {
    io: &'a Arc<dyn Io>,
    store: &'a Path,
    store_id: Id,
    reader: ObjectReader,
    /// Rows as they will be.
    pub(super) inventory: Inventory,
    pub(super) own: Option<OwnSegment>,
    next_segment: u32,
    pub(super) healed: BTreeSet<Hash>,
    pub(super) rescued: u64,
    /// Keeps the locks of new large files until their rows are committed.
    owners: Vec<large::StoredLarge>,
    unsynced: Vec<crate::segment::writer::Appended>,
}

/// Other records of wanted objects, and large files.
struct Copies<'a> {
    records: HashMap<Hash, Vec<(Id, &'a FoundRecord)>>,
    large: HashMap<Hash, Vec<&'a FoundLarge>>,
}

impl<'a> Healer<'a> {
    pub(super) fn new(
        io: &'a Arc<dyn Io>,
        store: &'a Path,
        store_id: Id,
        inventory: Inventory,
        next_segment: u32,
    ) -> Self {
        Self {
            io,
            store,
            store_id,
            reader: ObjectReader::new(Arc::clone(io), store),
            inventory,
            own: None,
            next_segment,
            healed: BTreeSet::new(),
            rescued: 0,
            owners: Vec::new(),
            unsynced: Vec::new(),
        }
    }

    pub(super) fn next_segment(&self) -> u32 {
        self.next_segment
    }

    /// Writes an object in full and points its row there. The row is worth something after [`Healer::sync`].
    fn write(&mut self, hash: Hash, kind: ObjectKind, bytes: &[u8]) -> Result<()> {
        if self.own.as_ref().is_some_and(|own| own.writer.is_full()) {
            self.sync()?;
            if let Some(own) = self.own.take() {
                own.writer.seal();
            }
        }
        if self.own.is_none() {
            let writer = SegmentWriter::create(self.io, self.store, self.store_id)?;
            let number = self.next_segment;
            self.next_segment += 1;
            let row = SegmentRow { id: writer.segment(), end: 0, live_bytes: 0, journal_bytes: 0 };
            self.inventory.segments.insert(number, row);
            self.own = Some(OwnSegment { writer, number: Some(number) });
        }
        let own = self.own.as_mut().expect("it was filled just now");
        let number = own.number.expect("it was numbered when it was made");
        let encoded = encode_full(bytes);
        let mut frame = own.writer.frame();
        let offset = frame.next_offset();
        let record = Record {
            kind: if kind == ObjectKind::Blob { KIND_BLOB } else { KIND_NODE },
            encoding: if encoded.form == Form::Raw { Encoding::Raw } else { Encoding::Zstd },
            raw_len: bytes.len() as u32,
            hash: Some(hash),
            references: vec![],
            payload: &encoded.payload,
        };
        let len = record.encoded_len() as u32;
        frame.push(&record);
        self.unsynced.push(own.writer.append(&frame.finish(own.writer.segment(), 0))?);
        let mut row = ObjectRow::lost(kind);
        row.place = Place::Segment { number, offset, len };
        row.raw_len = bytes.len() as u64;
        row.chain_bytes = row.raw_len;
        self.inventory.objects.insert(hash, row);
        if self.unsynced.len() >= UNSYNCED_MAX {
            self.sync()?;
        }
        Ok(())
    }

    /// Makes what was written durable.
    pub(super) fn sync(&mut self) -> Result<()> {
        let Some(own) = self.own.as_mut() else { return Ok(()) };
        let durable = own.writer.sync(std::mem::take(&mut self.unsynced))?;
        if let Some(row) = own.number.and_then(|number| self.inventory.segments.get_mut(&number)) {
            row.end = durable.end;
        }
        Ok(())
    }

    /// Writes objects anew that can be read, but lie in damaged frames.
    pub(super) fn rescue(&mut self, objects: &BTreeSet<Hash>) -> Result<()> {
        for hash in objects {
            let Some(row) = self.inventory.objects.get(hash).cloned() else { continue };
            if let Ok(bytes) = self.reader.read(&self.inventory, *hash) {
                self.write(*hash, row.kind, &bytes)?;
                self.rescued += 1;
            }
        }
        Ok(())
    }

    /// Looks for the bytes of `wanted` among all records and large files.
    pub(super) fn use_copies(
        &mut self,
        wanted: &mut BTreeSet<Hash>,
        segments: &[FoundSegment],
        large: &[FoundLarge],
    ) -> Result<()> {
        let mut copies = Copies { records: HashMap::new(), large: HashMap::new() };
        for segment in segments {
            for record in segment.records.iter().filter(|record| wanted.contains(&record.hash)) {
                copies.records.entry(record.hash).or_default().push((segment.id, record));
            }
        }
        for large in large.iter().filter(|large| wanted.contains(&large.content) && large.raw_len.is_some()) {
            copies.large.entry(large.content).or_default().push(large);
        }
        // Healing a base makes the deltas on it readable again, so this goes on while it helps.
        loop {
            let before = wanted.len();
            for hash in wanted.iter().copied().collect::<Vec<_>>() {
                if self.use_copy(hash, &copies)? {
                    wanted.remove(&hash);
                    self.healed.insert(hash);
                }
            }
            if wanted.len() == before {
                return Ok(());
            }
        }
    }

    fn use_copy(&mut self, hash: Hash, copies: &Copies<'_>) -> Result<bool> {
        // Where its row points: the object itself may be whole, and only its base was not.
        if self.inventory.objects.get(&hash).is_some_and(|row| !row.is_lost())
            && let Ok(bytes) = self.reader.read_uncached(&self.inventory, hash)
        {
            let kind = self.inventory.objects[&hash].kind;
            self.write(hash, kind, &bytes)?;
            return Ok(true);
        }
        for (segment, record) in copies.records.get(&hash).into_iter().flatten() {
            if record.delta && record.base.is_none() {
                continue;
            }
            let kind = if record.kind == KIND_BLOB { ObjectKind::Blob } else { ObjectKind::Node };
            if let Some(bytes) = self.try_record(*segment, record, kind) {
                self.write(hash, kind, &bytes)?;
                return Ok(true);
            }
        }
        for found in copies.large.get(&hash).into_iter().flatten() {
            let Some(raw_len) = found.raw_len else { continue };
            if large::copy(self.io, &found.path, hash, raw_len, &mut std::io::sink()).is_ok() {
                self.take_large(hash, found.file, raw_len, found.len);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Decodes a record as if a row pointed at it.
    fn try_record(&mut self, segment: Id, record: &FoundRecord, kind: ObjectKind) -> Option<Arc<[u8]>> {
        const ELSEWHERE: u32 = u32::MAX;
        let known = self.inventory.segments.iter().find(|(_, row)| row.id == segment).map(|(number, _)| *number);
        let number = known.unwrap_or(ELSEWHERE);
        if known.is_none() {
            let row = SegmentRow { id: segment, end: 0, live_bytes: 0, journal_bytes: 0 };
            self.inventory.segments.insert(ELSEWHERE, row);
        }
        let mut row = ObjectRow::lost(kind);
        row.place = Place::Segment { number, offset: record.offset, len: record.len };
        row.raw_len = u64::from(record.raw_len);
        row.base = record.base;
        let before = self.inventory.objects.insert(record.hash, row);
        let bytes = self.reader.read_uncached(&self.inventory, record.hash).ok();
        match before {
            Some(row) => self.inventory.objects.insert(record.hash, row),
            None => self.inventory.objects.remove(&record.hash),
        };
        self.inventory.segments.remove(&ELSEWHERE);
        bytes
    }

    fn take_large(&mut self, hash: Hash, file: Id, raw_len: u64, len: u64) {
        let mut row = ObjectRow::lost(ObjectKind::Blob);
        row.place = Place::Large { file, len };
        row.raw_len = raw_len;
        row.chain_bytes = raw_len;
        self.inventory.objects.insert(hash, row);
    }

    /// Looks for the bytes of `wanted` in the tracked files of all sessions.
    pub(super) fn use_files(&mut self, wanted: &mut BTreeSet<Hash>, rows: &dyn Rows) -> Result<()> {
        for path in tracked_files(rows)? {
            if wanted.is_empty() {
                return Ok(());
            }
            // Whatever is wrong with a file of a workspace, it only does not help.
            match capture(&**self.io, &path, u64::MAX) {
                Ok(Capture::File { bytes, .. }) => {
                    let hash = Hash::of_blob(&bytes);
                    if wanted.remove(&hash) {
                        self.write(hash, ObjectKind::Blob, &bytes)?;
                        self.healed.insert(hash);
                    }
                }
                Ok(Capture::Large { file, .. }) => self.use_large_file(wanted, &*file, &path)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn use_large_file(&mut self, wanted: &mut BTreeSet<Hash>, file: &dyn File, path: &Path) -> Result<()> {
        let mut hasher = BlobHasher::default();
        let mut buffer = vec![0; 1 << 20];
        let mut offset = 0;
        while let Ok(count) = file.read_at(&mut buffer, offset) {
            if count == 0 {
                break;
            }
            hasher.update(&buffer[..count]);
            offset += count as u64;
        }
        if offset <= BLOB_BYTES_MAX || !wanted.contains(&hasher.finish()) {
            return Ok(());
        }
        let stored = large::store(self.io, self.store, file, path)?;
        if wanted.remove(&stored.content) {
            self.take_large(stored.content, stored.file, stored.raw_len, stored.len);
            self.healed.insert(stored.content);
            self.owners.push(stored);
        }
        Ok(())
    }
}

/// Absolute paths that sessions track, each once.
fn tracked_files(rows: &dyn Rows) -> Result<BTreeSet<PathBuf>> {
    let mut by_workspace: BTreeMap<PathBuf, BTreeSet<PathBuf>> = BTreeMap::new();
    for (_, session) in rows.sessions()? {
        let cwd = bytes_path(&session.cwd);
        let paths = rows.originals(&session)?.into_keys().map(|path| path.resolve(&cwd)).collect::<Vec<_>>();
        by_workspace.entry(cwd).or_default().extend(paths);
    }
    Ok(by_workspace.into_values().flatten().collect())
}

/// Copies bytes of a segment into a file of their own, for a person to look at. Nothing is done when it is there.
pub(super) fn quarantine(io: &Arc<dyn Io>, store: &Path, segment: Id, from: u64, to: u64) -> Result<Option<PathBuf>> {
    let source_path = crate::segment::segment_path(store, segment);
    let directory = store.join("quarantine");
    let path = directory.join(format!("{segment}-{from}.bin"));
    let source = io.open(&source_path, crate::io::Open::Read).context("open the segment", &source_path)?;
    let bytes = source.read_to_end(from, to - from).context("read the segment", &source_path)?;
    if bytes.is_empty() || io.stat(&path).is_ok_and(|stat| stat.size == bytes.len() as u64) {
        return Ok(None);
    }
    let _ = io.remove_file(&path);
    let file = io.open(&path, crate::io::Open::CreateNew).context("create", &path)?;
    file.write_all_at(&bytes, 0).context("write", &path)?;
    file.sync_data().context("sync", &path)?;
    io.sync_dir(&directory).context("sync", &directory)?;
    Ok(Some(path))
}
