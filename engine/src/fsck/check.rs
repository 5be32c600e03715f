//! The check itself: the index against the files, and both against themselves.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;

use crate::error::{Error, ErrorKind, Result};
use crate::format::Format;
use crate::fsck::chain::{self, Chain};
use crate::fsck::costs;
use crate::fsck::counts;
use crate::fsck::findings::{Finding, FindingKind};
use crate::fsck::integrity;
use crate::fsck::inventory::IndexPicture;
use crate::fsck::layout;
use crate::fsck::objects;
use crate::fsck::scan::{FoundFiles, FoundSegment, scan_files, scan_segment};
use crate::fsck::{FsckOptions, FsckReport, Place};
use crate::hash::Hash;
use crate::id::Id;
use crate::index::Index;
use crate::index::rows::{Place as ObjectPlace, UnlinkRow};
use crate::index::tables::Rows as _;
use crate::io::is_absent;
use crate::lock::{Deadline, Lock};
use crate::object::large::large_path;
use crate::segment::{segment_lock_path, segment_path};

/// A stretch of a segment that something needs and that is no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DamagedStretch {
    pub(crate) segment: Id,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// What is to be repaired.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdict {
    /// Objects whose bytes cannot be had, and why.
    pub(crate) damaged: BTreeMap<Hash, String>,
    /// Objects that are referred to and have no row.
    pub(crate) missing: BTreeSet<Hash>,
    /// Objects that are readable, but lie in a damaged frame: a rebuild would not find them.
    pub(crate) to_rescue: BTreeSet<Hash>,
    pub(crate) stretches: Vec<DamagedStretch>,
    /// Segments whose header is damaged.
    pub(crate) headers: Vec<Id>,
    /// Large files that are damaged.
    pub(crate) large: Vec<PathBuf>,
    /// Objects that were read back.
    pub(crate) objects_read: u64,
    /// The index cannot be relied on and must be rebuilt.
    pub(crate) rebuild: Option<String>,
}

/// Everything a check knows.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) report: FsckReport,
    pub(crate) picture: Option<IndexPicture>,
    pub(crate) files: FoundFiles,
    pub(crate) segments: Vec<FoundSegment>,
    pub(crate) chain: Chain,
    pub(crate) verdict: Verdict,
}

/// A second, smaller look at the index, taken after the files were read.
pub(super) struct Later {
    pub(super) segments: HashSet<Id>,
    pub(super) unlinks: HashSet<Id>,
    pub(super) order: u64,
}

/// A check under way.
pub(super) struct Check<'a> {
    pub(super) place: &'a Place,
    pub(super) index: &'a Index,
    pub(super) options: &'a FsckOptions,
    findings: Vec<Finding>,
    pub(super) verdict: Verdict,
}

/// Checks a store.
pub(crate) fn check(place: &Place, index: &Index, options: &FsckOptions) -> Result<Checked> {
    let mut check = Check { place, index, options, findings: Vec::new(), verdict: Verdict::default() };
    let format = layout::check_format(&place.io, &place.path, &mut check.findings)?;
    layout::check_layout(&place.io, &place.path, &mut check.findings)?;
    // The index first: what is in the files then is at least what it names.
    let picture = check.read_index(format.as_ref())?;
    let files = scan_files(&place.io, &place.path)?;
    let segments = check.scan_segments(&files)?;
    if let Some(format) = &format {
        layout::check_owner(format, &segments, &place.path, &mut check.findings);
    }
    check.common_findings(&files, &segments);
    let mut chain = Chain::default();
    match &picture {
        Some(picture) => chain = check.against_index(picture, &files, &segments)?,
        None => check.without_index(&files, &segments),
    }
    Ok(check.finish(picture, files, segments, chain))
}

impl Checked {
    /// Whether segments that the picture names are off the list by now.
    pub(crate) fn is_outdated(&self, index: &Index, options: &FsckOptions) -> bool {
        let Some(picture) = &self.picture else { return false };
        let now = index.read(Deadline::after(options.lock_wait), |rows| rows.segments());
        now.is_ok_and(|now| {
            let now: HashSet<Id> = now.into_iter().map(|(_, row)| row.id).collect();
            picture.inventory.segments.values().any(|row| !now.contains(&row.id))
        })
    }
}

impl Check<'_> {
    pub(super) fn add(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    pub(super) fn path_of(&self, segment: Id) -> PathBuf {
        segment_path(&self.place.path, segment)
    }

    pub(super) fn needs_rebuild(&mut self, kind: FindingKind, text: String) {
        self.verdict.rebuild.get_or_insert_with(|| text.clone());
        self.add(Finding::new(kind, text).at(self.index.path()));
    }

    fn read_index(&mut self, format: Option<&Format>) -> Result<Option<IndexPicture>> {
        self.options.progress.tell("read the index", 0, 1);
        if self.place.io.stat(&self.place.path.join("locks")).is_err() {
            self.add(Finding::new(
                FindingKind::NotChecked,
                "the index cannot be opened without the directory of locks",
            ));
            return Ok(None);
        }
        let picture = match self.index.read(Deadline::after(self.options.lock_wait), |rows| IndexPicture::read(rows)) {
            Ok(picture) => picture,
            Err(error) => {
                match error.kind() {
                    ErrorKind::LockTimeout => return Err(error),
                    ErrorKind::IndexMissing => self.needs_rebuild(FindingKind::IndexMissing, error.to_string()),
                    ErrorKind::Permission | ErrorKind::ReadOnly => {
                        self.add(Finding::new(FindingKind::NotChecked, error.to_string()).at(self.index.path()));
                    }
                    _ => self.needs_rebuild(FindingKind::IndexDamaged, error.to_string()),
                }
                return Ok(None);
            }
        };
        if format.is_some_and(|format| format.store != picture.state.store) {
            let text = format!("the index belongs to another store, {}", picture.state.store);
            self.needs_rebuild(FindingKind::IndexDamaged, text);
        }
        for text in &picture.contradictions {
            self.needs_rebuild(FindingKind::IndexRows, text.clone());
        }
        if let Some(damage) = &picture.state.damage {
            self.add(Finding::new(FindingKind::DamageNoted, format!("an operation met damage: {damage}")));
        }
        for (id, restore) in &picture.restores {
            let text = format!("the restore {id} of session '{}' has begun and not finished", restore.session);
            self.add(Finding::new(FindingKind::RestoreUnfinished, text));
        }
        Ok(Some(picture))
    }

    fn scan_segments(&mut self, files: &FoundFiles) -> Result<Vec<FoundSegment>> {
        let mut found = Vec::with_capacity(files.segments.len());
        let total = files.segments.len() as u64;
        for (done, id) in files.segments.iter().enumerate() {
            self.options.progress.tell("scan segments", done as u64, total);
            match scan_segment(&self.place.io, &self.place.path, *id) {
                Ok(segment) => found.push(segment),
                // Removed since it was listed.
                Err(error) if error.io_kind().is_some_and(|kind| is_absent(&kind.into())) => {}
                Err(error) => {
                    let finding = Finding::new(FindingKind::SegmentUnreadable, error.to_string());
                    self.add(finding.at(self.path_of(*id)).in_segment(*id, 0));
                }
            }
        }
        self.options.progress.tell("scan segments", total, total);
        Ok(found)
    }

    /// What can be said whether or not there is an index.
    fn common_findings(&mut self, files: &FoundFiles, segments: &[FoundSegment]) {
        for path in &files.foreign {
            self.add(Finding::new(FindingKind::ForeignFile, "this is not a file of the store").at(path));
        }
        for path in &files.temporary {
            let text = "a large content is being written, or was when its writer died";
            self.add(Finding::new(FindingKind::Leftover, text).at(path));
        }
        for segment in segments.iter().filter(|segment| segment.header.is_none()) {
            // One that is being made, or whose maker was killed, has no header yet. Without a frame it needs none.
            if segment.ends.is_empty() {
                continue;
            }
            self.verdict.headers.push(segment.id);
            let finding = Finding::new(FindingKind::SegmentHeader, "the header of the segment is damaged");
            self.add(finding.at(self.path_of(segment.id)).in_segment(segment.id, 0));
        }
    }

    pub(super) fn is_orphan(&self, segment: Id) -> bool {
        let path = segment_lock_path(&self.place.path, segment);
        matches!(Lock::try_orphan(&self.place.io, &path), Ok(Some(_)))
    }

    fn without_index(&mut self, files: &FoundFiles, segments: &[FoundSegment]) {
        for segment in segments {
            for (from, to) in segment.gaps.iter().copied().filter(|(from, _)| *from < segment.frames_end) {
                let text = format!("{} bytes are no whole frame", to - from);
                let finding = Finding::new(FindingKind::FrameDamaged, text);
                self.add(finding.at(self.path_of(segment.id)).in_segment(segment.id, from));
            }
        }
        for large in files.large.iter().filter(|large| large.raw_len.is_none()) {
            let finding = Finding::new(FindingKind::ObjectDamaged, "the header of a large content is damaged");
            self.add(finding.at(&large.path).of_object(large.content));
        }
    }

    fn against_index(
        &mut self,
        picture: &IndexPicture,
        files: &FoundFiles,
        segments: &[FoundSegment],
    ) -> Result<Chain> {
        let later = self.look_again()?;
        let links = chain::links(segments);
        let chain = chain::follow(&links, picture.state.last_frame);
        self.check_chain(picture, &chain);
        objects::check(self.place, self.options, picture, files, segments, &mut self.verdict);
        self.check_segments(picture, segments, &chain);
        self.unregistered(&later, segments);
        self.leftover_large(files)?;
        self.pending_unlinks(picture);
        let unknown: Vec<Hash> = segments.iter().flat_map(|segment| &segment.unknown).copied().collect();
        let counted = counts::check(self.place, picture, &unknown, &chain, &mut self.verdict);
        for text in counted {
            self.add(Finding::new(FindingKind::Count, text).at(self.index.path()));
        }
        self.object_findings(picture);
        if self.options.read_data && self.verdict.rebuild.is_none() {
            self.check_integrity()?;
        }
        Ok(chain)
    }

    fn look_again(&self) -> Result<Later> {
        self.index.read(Deadline::after(self.options.lock_wait), |rows| {
            let mut later = Later {
                segments: rows.segments()?.into_iter().map(|(_, row)| row.id).collect(),
                unlinks: HashSet::new(),
                order: rows.state()?.order,
            };
            for (_, bytes) in rows.unlinks()? {
                if let Ok(UnlinkRow::Segment(id)) = crate::codec::decode(&bytes) {
                    later.unlinks.insert(id);
                }
            }
            Ok(later)
        })
    }

    fn check_chain(&mut self, picture: &IndexPicture, chain: &Chain) {
        let order = picture.state.last_frame.map_or(0, |frame| frame.order);
        if order != picture.state.order {
            let text = format!("the last transaction is {}, its journal is of {order}", picture.state.order);
            self.needs_rebuild(FindingKind::IndexRows, text);
        }
        for missing in &chain.missing {
            let text = format!("the journal of transaction {} is gone: a rebuild would lose it", missing.order);
            let finding = Finding::new(FindingKind::JournalDamaged, text);
            self.add(finding.at(self.path_of(missing.segment)).in_segment(missing.segment, missing.offset));
        }
        if chain.missing.is_empty() && !chain.is_whole() {
            let text = "the journal does not go back to a checkpoint or to the first transaction";
            self.add(Finding::new(FindingKind::JournalDamaged, text));
        }
    }

    fn object_findings(&mut self, picture: &IndexPicture) {
        let lost: Vec<Hash> =
            picture.inventory.objects.iter().filter(|(_, row)| row.is_lost()).map(|(hash, _)| *hash).collect();
        let bad: HashSet<Hash> =
            self.verdict.damaged.keys().chain(&self.verdict.missing).chain(&lost).copied().collect();
        let mut costs = costs::of(self.place, self.index, self.options, picture, &bad);
        let mut found = Vec::new();
        for (hash, why) in &self.verdict.damaged {
            found.push(Finding::new(FindingKind::ObjectDamaged, why.clone()).of_object(*hash));
        }
        for hash in &self.verdict.missing {
            let text = "the index has no row of an object that something refers to";
            found.push(Finding::new(FindingKind::ObjectMissing, text).of_object(*hash));
        }
        for hash in lost {
            found.push(Finding::new(FindingKind::ObjectLost, "the bytes are lost").of_object(hash));
        }
        for mut finding in found {
            let hash = finding.object.expect("findings of objects name one");
            if let Some(cost) = costs.remove(&hash) {
                (finding.costs, finding.costs_total) = (cost.listed, cost.total);
            }
            if let Some(row) = picture.inventory.objects.get(&hash) {
                match row.place {
                    ObjectPlace::Segment { number, offset, .. } => {
                        if let Some(segment) = picture.inventory.segments.get(&number) {
                            finding = finding.at(self.path_of(segment.id)).in_segment(segment.id, offset);
                        }
                    }
                    ObjectPlace::Large { file, .. } => {
                        finding = finding.at(large_path(&self.place.path, hash, file));
                    }
                    ObjectPlace::Lost => {}
                }
            }
            self.add(finding);
        }
    }

    fn check_integrity(&mut self) -> Result<()> {
        if self.options.read_only || self.place.gc_lock.is_none() {
            let text = "the checksums of the index were not verified";
            self.add(Finding::new(FindingKind::NotChecked, text).at(self.index.path()));
            return Ok(());
        }
        self.options.progress.tell("verify the index", 0, 1);
        match integrity::check(self.place, self.index, self.options) {
            Ok(None) => Ok(()),
            Ok(Some(text)) => {
                self.needs_rebuild(FindingKind::IndexDamaged, text);
                Ok(())
            }
            Err(error) if matches!(error.kind(), ErrorKind::NoSpace | ErrorKind::LockTimeout) => {
                self.add(Finding::new(FindingKind::NotChecked, error.to_string()).at(self.index.path()));
                Ok(())
            }
            Err(error) => {
                self.needs_rebuild(FindingKind::IndexDamaged, error.to_string());
                Ok(())
            }
        }
    }

    fn finish(
        mut self,
        picture: Option<IndexPicture>,
        files: FoundFiles,
        segments: Vec<FoundSegment>,
        chain: Chain,
    ) -> Checked {
        self.findings.sort_by_key(|finding| (std::cmp::Reverse(finding.severity()), finding.kind));
        let bytes = segments.iter().map(|segment| segment.size).sum::<u64>()
            + files.large.iter().map(|large| large.len).sum::<u64>();
        let report = FsckReport {
            findings: self.findings,
            sessions: picture.as_ref().map_or(0, |picture| picture.sessions),
            points: picture.as_ref().map_or(0, |picture| picture.points),
            objects: picture.as_ref().map_or(0, |picture| picture.inventory.objects.len() as u64),
            objects_read: self.verdict.objects_read,
            segments: segments.len() as u64,
            bytes,
        };
        Checked { report, picture, files, segments, chain, verdict: self.verdict }
    }
}

/// The error of an operation that needs a rebuild first.
pub(crate) fn rebuild_first(verdict: &Verdict) -> Option<Error> {
    let why = verdict.rebuild.as_ref()?;
    Some(
        Error::new(ErrorKind::IndexDamaged, "repair the store")
            .cause(why.clone())
            .with_hint("run `candy-store fsck --rebuild-index` first"),
    )
}
