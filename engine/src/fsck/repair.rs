//! `fsck --repair`: settles damage without the history of transactions.
//!
//! Nothing is cut off and no segment is removed. Damaged bytes are copied to `quarantine/`, contents are healed where
//! their bytes are found elsewhere, and what is lost is recorded as lost: points keep listing it. Done twice, the second
//! time finds nothing to do.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, ErrorKind, IoContext as _, Result};
use crate::format::{self, Format};
use crate::fsck::check::{self, Checked, rebuild_first};
use crate::fsck::counts;
use crate::fsck::findings::{Finding, FindingKind};
use crate::fsck::heal::{Healer, quarantine};
use crate::fsck::inventory::{IndexPicture, Inventory};
use crate::fsck::{FsckOptions, FsckReport, OnProgress, Place, layout};
use crate::gc::{finish_queued_unlinks, gc_lock_path};
use crate::hash::Hash;
use crate::id::Id;
use crate::index::Index;
use crate::index::rows::{ObjectRow, SegmentRow};
use crate::index::tables::{Rows as _, Tables};
use crate::io::{Io, LockMode, Open};
use crate::lock::{Deadline, Lock};
use crate::object::read::ObjectReader;
use crate::segment::header::SegmentHeader;
use crate::segment::{segment_lock_path, segment_path};
use crate::store::{DIRECTORIES, Inner, OwnSegment, Store, make_directory, write_readme};

/// How to repair.
#[derive(Clone, Debug)]
pub struct RepairOptions {
    /// How long to wait until nobody else uses the store.
    pub lock_wait: Duration,
    /// Is told how far it is.
    pub progress: OnProgress,
}

impl Default for RepairOptions {
    fn default() -> Self {
        Self { lock_wait: Duration::from_secs(5), progress: OnProgress::default() }
    }
}

/// What a repair did.
#[derive(Clone, Debug, Default)]
pub struct RepairReport {
    /// What was wrong before.
    pub before: FsckReport,
    /// What was done, in order, for people. Empty: nothing was to be done.
    pub actions: Vec<String>,
    /// Objects whose bytes were found elsewhere.
    pub healed: u64,
    /// Objects that are lost from now on, with what that costs.
    pub lost: Vec<Finding>,
    /// What is left.
    pub after: FsckReport,
}

/// Locks that keep everybody else out, and what was done to get this far.
pub(super) struct Alone {
    pub(super) path: PathBuf,
    pub(super) gc_lock: Lock,
    pub(super) index_lock: Lock,
    pub(super) actions: Vec<String>,
}

/// Finds the store, makes what locks need, and takes them: `locks/gc`, then `locks/index`.
pub(super) fn be_alone(io: &Arc<dyn Io>, path: &Path, wait: Duration) -> Result<Alone> {
    let path = layout::find(io, path)?;
    let mut actions = Vec::new();
    for name in DIRECTORIES {
        let directory = path.join(name);
        if io.stat(&directory).is_err() {
            make_directory(io, &directory)?;
            actions.push(format!("made the directory {name}/"));
        }
    }
    io.sync_dir(&path).context("sync", &path)?;
    let deadline = Deadline::after(wait);
    let gc_lock = Lock::wait(io, &gc_lock_path(&path), LockMode::Exclusive, deadline)?;
    let index_lock = Lock::wait(io, Index::new(Arc::clone(io), &path).lock_path(), LockMode::Exclusive, deadline)?;
    Ok(Alone { path, gc_lock, index_lock, actions })
}

/// The format of the store, written again if it is gone. `index` may know the store's identifier.
pub(super) fn restore_format(
    io: &Arc<dyn Io>,
    path: &Path,
    index: Option<&Index>,
    actions: &mut Vec<String>,
) -> Result<Format> {
    let of_segments = layout::store_of_segments(io, path)?;
    if let Some(mut format) = layout::check_format(io, path, &mut Vec::new())? {
        if let Some(store) = of_segments.filter(|store| *store != format.store) {
            format.store = store;
            format::write(io, path, &format)?;
            actions.push("corrected the format file: it was that of another store".to_owned());
        }
        return Ok(format);
    }
    let of_index =
        |index: &Index| index.read(Deadline::after(Duration::ZERO), |rows| rows.state()).ok().map(|state| state.store);
    let store = match of_segments {
        Some(store) => Some(store),
        None => index.and_then(of_index),
    };
    let store = store.ok_or_else(|| {
        Error::new(ErrorKind::Corrupt, "restore the format of the store")
            .at(path)
            .cause("neither segments nor index tell which store this is")
    })?;
    let format = Format::new(store);
    format::write(io, path, &format)?;
    actions.push("wrote the format file again".to_owned());
    Ok(format)
}

/// Repairs the store at `path`. Waits until no other process is in a transaction, and keeps all out until it is done.
pub fn repair(io: Arc<dyn Io>, path: &Path, options: &RepairOptions) -> Result<RepairReport> {
    let alone = be_alone(&io, path, options.lock_wait)?;
    let mut actions = alone.actions;
    let path = alone.path;
    let index = Index::with_exclusive_lock(Arc::clone(&io), &path, alone.index_lock);
    let format = restore_format(&io, &path, Some(&index), &mut actions)?;
    if !layout::readme_is_whole(&io, &path) {
        write_readme(&io, &path)?;
        actions.push("wrote the note for people again".to_owned());
    }
    let store = Store::open_exclusive(Arc::clone(&io), path.clone(), format, index, options.lock_wait)?;
    let place = Place { io, path, gc_lock: Some(alone.gc_lock) };
    let fsck = FsckOptions {
        read_data: true,
        read_only: false,
        lock_wait: options.lock_wait,
        progress: options.progress.clone(),
    };
    let checked = check::check(&place, &store.inner().index, &fsck)?;
    if let Some(error) = rebuild_first(&checked.verdict) {
        return Err(error.at(&place.path));
    }
    if let Some(unreadable) = checked.report.findings.iter().find(|f| f.kind == FindingKind::SegmentUnreadable) {
        // A disk that fails now may not fail later: what it holds is not given up for lost.
        return Err(Error::new(ErrorKind::Io, "repair the store").at(&place.path).cause(unreadable.message.clone()));
    }
    let mut repair = Repair { place: &place, inner: store.inner(), actions, healed: 0, lost: BTreeSet::new() };
    repair.run(&checked)?;
    let (actions, healed, lost) = (repair.actions, repair.healed, repair.lost);
    let after = if actions.is_empty() {
        checked.report.clone()
    } else {
        check::check(&place, &store.inner().index, &fsck)?.report
    };
    let lost = after
        .findings
        .iter()
        .filter(|finding| finding.object.is_some_and(|object| lost.contains(&object)))
        .cloned()
        .collect();
    store.close()?;
    Ok(RepairReport { before: checked.report, actions, healed, lost, after })
}

struct Repair<'a> {
    place: &'a Place,
    inner: &'a Inner,
    actions: Vec<String>,
    healed: u64,
    /// Objects that were not lost before.
    lost: BTreeSet<Hash>,
}

impl Repair<'_> {
    fn run(&mut self, checked: &Checked) -> Result<()> {
        let Some(picture) = &checked.picture else { return Ok(()) };
        self.quarantine(checked)?;
        self.headers(checked)?;
        let mut healer = Healer::new(
            &self.place.io,
            &self.place.path,
            self.inner.format.store,
            picture.inventory.clone(),
            picture.state.next_segment,
        );
        self.heal(checked, picture, &mut healer)?;
        healer.sync()?;
        let mut own = healer.own.take();
        let mut after = std::mem::take(&mut healer.inventory);
        self.recount(checked, picture, &mut after);
        self.store(checked, picture, &after, healer.next_segment(), &mut own)?;
        // Rows point to them now, so their locks may go.
        drop(healer);
        if let Some(own) = own {
            own.writer.seal();
        }
        let removed = finish_queued_unlinks(self.inner)?;
        if removed > 0 {
            self.actions.push(format!("removed {removed} files that were to be removed"));
        }
        Ok(())
    }

    fn quarantine(&mut self, checked: &Checked) -> Result<()> {
        let (io, store) = (&self.place.io, &self.place.path);
        for stretch in &checked.verdict.stretches {
            if let Some(path) = quarantine(io, store, stretch.segment, stretch.from, stretch.to)? {
                self.actions.push(format!("copied damaged bytes to {}", path.display()));
            }
        }
        for path in &checked.verdict.large {
            let name = path.file_name().map(Path::new).unwrap_or(path);
            let to = store.join("quarantine").join(name);
            io.rename(path, &to).context("move to quarantine", path)?;
            io.sync_dir(&store.join("quarantine")).context("sync", store)?;
            self.actions.push(format!("moved a damaged large content to {}", to.display()));
        }
        Ok(())
    }

    /// Headers say nothing that name and format do not, so they can be written again. Not those of live owners.
    fn headers(&mut self, checked: &Checked) -> Result<()> {
        let io = &self.place.io;
        for id in &checked.verdict.headers {
            let Some(_lock) = Lock::try_orphan(io, &segment_lock_path(&self.place.path, *id))? else { continue };
            let path = segment_path(&self.place.path, *id);
            let file = io.open(&path, Open::Write).context("open the segment", &path)?;
            let created_ms = file.stat().context("look at", &path)?.mtime_ns / 1_000_000;
            let header = SegmentHeader {
                version: format::FORMAT_VERSION,
                segment: *id,
                store: self.inner.format.store,
                created_ms: i64::try_from(created_ms).unwrap_or(0),
            };
            file.write_all_at(&header.encode(), 0).context("write the header of", &path)?;
            file.sync_data().context("sync", &path)?;
            self.actions.push(format!("wrote the header of segment {id} again"));
        }
        Ok(())
    }

    fn heal(&mut self, checked: &Checked, picture: &IndexPicture, healer: &mut Healer<'_>) -> Result<()> {
        let verdict = &checked.verdict;
        let lost = picture.inventory.objects.iter().filter(|(_, row)| row.is_lost()).map(|(hash, _)| *hash);
        let mut wanted: BTreeSet<Hash> =
            verdict.damaged.keys().copied().chain(verdict.missing.iter().copied()).chain(lost).collect();
        healer.rescue(&verdict.to_rescue)?;
        if healer.rescued > 0 {
            self.actions.push(format!("wrote {} contents of damaged frames anew", healer.rescued));
        }
        if !wanted.is_empty() {
            healer.use_copies(&mut wanted, &checked.segments, &checked.files.large)?;
            self.inner.read(|rows| healer.use_files(&mut wanted, rows))?;
            // A content from a workspace may be the base of others.
            healer.use_copies(&mut wanted, &checked.segments, &checked.files.large)?;
        }
        self.healed = healer.healed.len() as u64;
        if self.healed > 0 {
            self.actions.push(format!("healed {} contents from copies", self.healed));
        }
        for hash in wanted {
            let before = healer.inventory.objects.get(&hash);
            let kind = before.map_or(crate::index::rows::ObjectKind::Blob, |row| row.kind);
            if before.is_none_or(|row| !row.is_lost()) {
                self.lost.insert(hash);
            }
            healer.inventory.objects.insert(hash, ObjectRow::lost(kind));
        }
        Ok(())
    }

    fn recount(&mut self, checked: &Checked, picture: &IndexPicture, after: &mut Inventory) {
        let unknown: Vec<Hash> = checked.segments.iter().flat_map(|segment| &segment.unknown).copied().collect();
        let reader = ObjectReader::new(Arc::clone(&self.place.io), &self.place.path);
        self.lost.extend(counts::recount(after, &picture.references, &unknown, &reader));
        if !self.lost.is_empty() {
            self.actions.push(format!("recorded the loss of {} contents", self.lost.len()));
        }
        let found: HashMap<Id, u64> = checked.segments.iter().map(|segment| (segment.id, segment.size)).collect();
        let live = counts::live_bytes(after);
        let journal = counts::journal_bytes(&checked.chain);
        let known: HashSet<Id> = picture.inventory.segments.values().map(|row| row.id).collect();
        after.segments.retain(|number, row| {
            row.live_bytes = live.get(number).copied().unwrap_or(0);
            row.journal_bytes = journal.get(&row.id).copied().unwrap_or(0);
            match found.get(&row.id) {
                // Nothing beyond the end of the file has a row any more.
                Some(size) => row.end = row.end.min(*size),
                // Not one of those that were just written.
                None if known.contains(&row.id) => return false,
                None => {}
            }
            true
        });
    }

    /// Writes what differs, in one transaction.
    fn store(
        &mut self,
        checked: &Checked,
        picture: &IndexPicture,
        after: &Inventory,
        next_segment: u32,
        own: &mut Option<OwnSegment>,
    ) -> Result<()> {
        let changes = Changes::between(picture, after);
        // What a rebuild would read must be whole again.
        let checkpoint = !checked.chain.is_whole() || changes.removes_segments();
        if changes.is_empty() && !checkpoint && picture.state.damage.is_none() {
            return Ok(());
        }
        let mut wrote = false;
        let result = self.inner.index.write(self.inner.deadline(), |tables| {
            let mut state = tables.state()?;
            state.damage = None;
            state.next_segment = state.next_segment.max(next_segment);
            tables.put_state(&state)?;
            changes.write(tables)?;
            if checkpoint {
                self.inner.write_checkpoint(tables, own, &mut wrote)?;
            }
            Ok(Some(()))
        });
        if let Err(error) = result {
            if wrote {
                *own = None;
            }
            return Err(error);
        }
        if !changes.is_empty() {
            let (objects, segments) = (changes.objects.len(), changes.segments.len());
            self.actions.push(format!("corrected {objects} rows of objects and {segments} of segments"));
        }
        if checkpoint {
            self.actions.push("wrote the whole history anew, for a later rebuild".to_owned());
        }
        if picture.state.damage.is_some() {
            self.actions.push("cleared the note of damage".to_owned());
        }
        Ok(())
    }
}

/// Rows to write.
#[derive(Default)]
struct Changes {
    objects: Vec<(Hash, ObjectRow)>,
    segments: Vec<(u32, Option<SegmentRow>)>,
    dead_gone: Vec<Hash>,
    dead_new: Vec<Hash>,
}

impl Changes {
    fn between(picture: &IndexPicture, after: &Inventory) -> Self {
        let mut changes = Self::default();
        let before = &picture.inventory;
        for (hash, row) in &after.objects {
            if before.objects.get(hash) != Some(row) {
                changes.objects.push((*hash, row.clone()));
            }
            let waits = row.refs == 0 && (row.base_refs == 0 || row.holds_children);
            if waits && !picture.dead.contains(hash) {
                changes.dead_new.push(*hash);
            }
        }
        for hash in &picture.dead {
            if after.objects.get(hash).is_none_or(|row| row.refs > 0) {
                changes.dead_gone.push(*hash);
            }
        }
        for (number, row) in &after.segments {
            if before.segments.get(number) != Some(row) {
                changes.segments.push((*number, Some(row.clone())));
            }
        }
        for number in before.segments.keys().filter(|number| !after.segments.contains_key(number)) {
            changes.segments.push((*number, None));
        }
        changes.objects.sort_by_key(|(hash, _)| *hash);
        changes
    }

    fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.segments.is_empty() && self.dead_gone.is_empty() && self.dead_new.is_empty()
    }

    fn removes_segments(&self) -> bool {
        self.segments.iter().any(|(_, row)| row.is_none())
    }

    fn write(&self, tables: &mut Tables<'_>) -> Result<()> {
        self.objects.iter().try_for_each(|(hash, row)| tables.put_object(*hash, row))?;
        self.dead_gone.iter().try_for_each(|hash| tables.remove_dead(*hash))?;
        self.dead_new.iter().try_for_each(|hash| tables.put_dead(*hash))?;
        self.segments.iter().try_for_each(|(number, row)| match row {
            Some(row) => tables.put_segment(*number, row),
            None => tables.remove_segment(*number),
        })
    }
}
