//! The files against the index: segments, large contents, and what is to be removed.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use crate::error::Result;
use crate::fsck::chain::Chain;
use crate::fsck::check::{Check, DamagedStretch, Later};
use crate::fsck::findings::{Finding, FindingKind};
use crate::fsck::inventory::IndexPicture;
use crate::fsck::scan::{FoundFiles, FoundSegment};
use crate::id::Id;
use crate::index::rows::{Place as ObjectPlace, SegmentRow, UnlinkRow};
use crate::index::tables::Rows as _;
use crate::lock::Deadline;
use crate::object::large::large_path;

impl Check<'_> {
    pub(super) fn check_segments(&mut self, picture: &IndexPicture, segments: &[FoundSegment], chain: &Chain) {
        let found: HashMap<Id, &FoundSegment> = segments.iter().map(|segment| (segment.id, segment)).collect();
        let mut rows_in: HashMap<u32, Vec<u64>> = HashMap::new();
        for row in picture.inventory.objects.values() {
            if let ObjectPlace::Segment { number, offset, .. } = row.place {
                rows_in.entry(number).or_default().push(offset);
            }
        }
        for (number, row) in &picture.inventory.segments {
            let Some(segment) = found.get(&row.id) else {
                // An unreadable one has its finding already.
                if self.place.io.stat(&self.path_of(row.id)).is_err() {
                    let finding = Finding::new(FindingKind::SegmentMissing, "the segment's file is gone");
                    self.add(finding.at(self.path_of(row.id)).in_segment(row.id, 0));
                }
                continue;
            };
            let offsets = rows_in.get(number).map_or(&[][..], Vec::as_slice);
            self.check_gaps(row, segment, offsets, chain);
        }
    }

    fn check_gaps(&mut self, row: &SegmentRow, segment: &FoundSegment, offsets: &[u64], chain: &Chain) {
        let mut gaps: Vec<(u64, u64)> = segment
            .gaps
            .iter()
            .filter(|(from, _)| *from < row.end)
            .map(|(from, to)| (*from, (*to).min(row.end)))
            .collect();
        let short = segment.size < row.end;
        if short {
            gaps.push((segment.size, row.end));
        }
        for (from, to) in gaps {
            let inside = |offset: &u64| (from..to).contains(offset);
            let journal = chain.missing.iter().any(|at| at.segment == segment.id && inside(&at.offset));
            let needed = journal || offsets.iter().any(inside);
            let length = to - from;
            let (kind, text) = match (needed, from == segment.size) {
                (true, true) => (FindingKind::SegmentShort, format!("the segment is {length} bytes too short")),
                (true, false) => (FindingKind::FrameDamaged, format!("{length} bytes are no whole frame")),
                (false, _) => {
                    (FindingKind::DeadBytesDamaged, format!("{length} bytes that nothing needs are no whole frame"))
                }
            };
            if needed {
                self.verdict.stretches.push(DamagedStretch { segment: segment.id, from, to });
            }
            self.add(Finding::new(kind, text).at(self.path_of(segment.id)).in_segment(segment.id, from));
        }
        let inside_a_gap = segment.gaps.iter().any(|(from, to)| (*from..=*to).contains(&row.end));
        if !short && !inside_a_gap && !segment.ends.contains(&row.end) {
            let text = format!("the end of segment {} is not that of a frame", segment.id);
            self.needs_rebuild(FindingKind::IndexRows, text);
        }
    }

    /// Segments without a row: leftovers, unless they know more than the index.
    pub(super) fn unregistered(&mut self, later: &Later, segments: &[FoundSegment]) {
        for segment in segments {
            let newest = segment.journals.iter().map(|journal| journal.at.order).max().unwrap_or(0);
            // One number may have been used by a transaction that was synced and never committed.
            if newest > later.order + 1 {
                let text = format!("the segment has transaction {newest}, the index knows {} only", later.order);
                self.verdict.rebuild.get_or_insert_with(|| text.clone());
                let finding = Finding::new(FindingKind::IndexStale, text);
                self.add(finding.at(self.path_of(segment.id)).in_segment(segment.id, 0));
            }
            if newest == later.order + 1 && self.is_orphan(segment.id) {
                let text = format!("transaction {newest} was written, but its process died before it was acknowledged");
                let finding = Finding::new(FindingKind::Uncommitted, text);
                self.add(finding.at(self.path_of(segment.id)).in_segment(segment.id, 0));
                continue;
            }
            if later.segments.contains(&segment.id) || later.unlinks.contains(&segment.id) {
                continue;
            }
            if self.is_orphan(segment.id) {
                let text = "a segment without committed transactions was left behind";
                let finding = Finding::new(FindingKind::Leftover, text);
                self.add(finding.at(self.path_of(segment.id)).in_segment(segment.id, 0));
            }
        }
    }

    pub(super) fn leftover_large(&mut self, files: &FoundFiles) -> Result<()> {
        let deadline = Deadline::after(self.options.lock_wait);
        let orphans: Vec<PathBuf> = self.index.read(deadline, |rows| {
            let queued: HashSet<Vec<u8>> = rows.unlinks()?.into_iter().map(|(key, _)| key).collect();
            let mut orphans = Vec::new();
            for large in &files.large {
                let row = rows.object(large.content)?;
                let here = |place| matches!(place, ObjectPlace::Large { file, .. } if file == large.file);
                if !row.is_some_and(|row| here(row.place)) && !queued.contains(&large.file.as_bytes()[..]) {
                    orphans.push(large.path.clone());
                }
            }
            Ok(orphans)
        })?;
        for path in orphans {
            let text = "a large content without a row was left behind, or is being backed up";
            self.add(Finding::new(FindingKind::Leftover, text).at(path));
        }
        Ok(())
    }

    pub(super) fn pending_unlinks(&mut self, picture: &IndexPicture) {
        for row in &picture.unlinks {
            let path = match row {
                UnlinkRow::Segment(id) => self.path_of(*id),
                UnlinkRow::Large { content, file } => large_path(&self.place.path, *content, *file),
            };
            self.add(Finding::new(FindingKind::UnlinkPending, "the file is to be removed").at(path));
        }
    }
}
