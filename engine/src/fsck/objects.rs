//! Whether every object's bytes are where its row says.

use std::collections::HashMap;
use std::sync::Arc;

use crate::fsck::check::Verdict;
use crate::fsck::inventory::IndexPicture;
use crate::fsck::scan::{FoundFiles, FoundLarge, FoundRecord, FoundSegment};
use crate::fsck::{FsckOptions, Place};
use crate::hash::Hash;
use crate::id::Id;
use crate::index::rows::{ObjectKind, ObjectRow, Place as ObjectPlace};
use crate::object::large::{self, large_path};
use crate::object::read::ObjectReader;
use crate::segment::record::{KIND_BLOB, KIND_NODE};

/// A segment with its records by offset.
struct Records<'a> {
    segment: &'a FoundSegment,
    at: HashMap<u64, &'a FoundRecord>,
}

/// What a row's place looks like before anything is decoded.
enum Look {
    Fine,
    /// In a frame whose checksum does not hold, or a delta whose record counts back to such a frame.
    InGap,
    Bad(&'static str),
}

/// Fills `damaged`, `to_rescue` and `large` of the verdict.
pub(crate) fn check(
    place: &Place,
    options: &FsckOptions,
    picture: &IndexPicture,
    files: &FoundFiles,
    segments: &[FoundSegment],
    verdict: &mut Verdict,
) {
    let records: HashMap<Id, Records<'_>> = segments
        .iter()
        .map(|segment| {
            let at = segment.records.iter().map(|record| (record.offset, record)).collect();
            (segment.id, Records { segment, at })
        })
        .collect();
    let large: HashMap<(Hash, Id), &FoundLarge> =
        files.large.iter().map(|large| ((large.content, large.file), large)).collect();
    let inventory = &picture.inventory;
    let reader = ObjectReader::new(Arc::clone(&place.io), &place.path);
    let mut rows: Vec<(&Hash, &ObjectRow)> = inventory.objects.iter().collect();
    // In the order of places, so that the bases of the next deltas are in the cache.
    rows.sort_by_key(|(hash, row)| match row.place {
        ObjectPlace::Segment { number, offset, .. } => (0, number, offset, **hash),
        ObjectPlace::Large { .. } => (1, 0, 0, **hash),
        ObjectPlace::Lost => (2, 0, 0, **hash),
    });
    let total = rows.len() as u64;
    for (done, (hash, row)) in rows.iter().enumerate() {
        if done.is_multiple_of(256) {
            options.progress.tell("read contents", done as u64, total);
        }
        match row.place {
            ObjectPlace::Segment { number, .. } => {
                let found = inventory.segments.get(&number).and_then(|segment| records.get(&segment.id));
                let look = look_at_record(**hash, row, found);
                let decode = options.read_data || row.kind == ObjectKind::Node || matches!(look, Look::InGap);
                if let Look::Bad(why) = look {
                    verdict.damaged.insert(**hash, why.to_owned());
                } else if decode {
                    verdict.objects_read += 1;
                    match read(&reader, inventory, **hash, row.kind) {
                        Ok(()) if matches!(look, Look::InGap) => {
                            verdict.to_rescue.insert(**hash);
                        }
                        Ok(()) => {}
                        Err(why) => {
                            verdict.damaged.insert(**hash, why);
                        }
                    }
                }
            }
            ObjectPlace::Large { file, len } => {
                let path = large_path(&place.path, **hash, file);
                let found = large.get(&(**hash, file)).copied();
                let mut why = look_at_large(row, len, found);
                if why.is_none() && options.read_data {
                    verdict.objects_read += 1;
                    let sink = &mut std::io::sink();
                    why = large::copy(&place.io, &path, **hash, row.raw_len, sink).err().map(|error| error.to_string());
                }
                if let Some(why) = why {
                    verdict.damaged.insert(**hash, why);
                    if found.is_some() {
                        verdict.large.push(path);
                    }
                }
            }
            ObjectPlace::Lost => {}
        }
    }
    options.progress.tell("read contents", total, total);
    spread_along_chains(picture, verdict);
}

fn read(
    reader: &ObjectReader,
    rows: &dyn crate::index::tables::Rows,
    hash: Hash,
    kind: ObjectKind,
) -> Result<(), String> {
    let bytes = reader.read_uncached(rows, hash).map_err(|error| error.to_string())?;
    if kind == ObjectKind::Node {
        crate::tree::Node::parse(&bytes).map_err(|error| error.to_string())?;
    }
    reader.cache().put(hash, &bytes);
    Ok(())
}

fn look_at_record(hash: Hash, row: &ObjectRow, found: Option<&Records<'_>>) -> Look {
    let ObjectPlace::Segment { offset, len, .. } = row.place else { return Look::Fine };
    let Some(found) = found else { return Look::Bad("its segment is gone") };
    let Some(record) = found.at.get(&offset) else {
        let beyond = offset >= found.segment.size;
        return match found.segment.gap_at(offset) {
            Some(_) => Look::InGap,
            None if beyond => Look::Bad("its segment is cut short"),
            None => Look::Bad("no record begins where its row points"),
        };
    };
    let kind = match row.kind {
        ObjectKind::Blob => KIND_BLOB,
        ObjectKind::Node => KIND_NODE,
    };
    if record.hash != hash || record.kind != kind {
        return Look::Bad("its row points at another record");
    }
    if record.len != len || u64::from(record.raw_len) != row.raw_len {
        return Look::Bad("its row gives another length than its record");
    }
    if record.delta != row.base.is_some() || (record.base.is_some() && record.base != row.base) {
        return Look::Bad("its row names another base than its record");
    }
    // The distance to a near base says nothing once the base's frame is damaged. The row still names it.
    if record.delta && record.base.is_none() {
        return Look::InGap;
    }
    Look::Fine
}

fn look_at_large(row: &ObjectRow, len: u64, found: Option<&FoundLarge>) -> Option<String> {
    let Some(found) = found else { return Some("its file is gone".into()) };
    if found.raw_len != Some(row.raw_len) {
        return Some("the header of its file is damaged".into());
    }
    (found.len != len).then(|| format!("its file has {} bytes instead of {len}", found.len))
}

/// A delta whose base cannot be read cannot be read either.
fn spread_along_chains(picture: &IndexPicture, verdict: &mut Verdict) {
    let objects = &picture.inventory.objects;
    let mut deltas: HashMap<Hash, Vec<Hash>> = HashMap::new();
    let mut queue: Vec<Hash> = verdict.damaged.keys().copied().collect();
    for (hash, row) in objects {
        let Some(base) = row.base else { continue };
        deltas.entry(base).or_default().push(*hash);
        if objects.get(&base).is_none_or(|row| !matches!(row.place, ObjectPlace::Segment { .. })) {
            verdict.damaged.entry(*hash).or_insert_with(|| format!("its base {base} is not in a segment"));
            queue.push(*hash);
        }
    }
    while let Some(base) = queue.pop() {
        for hash in deltas.remove(&base).unwrap_or_default() {
            verdict.to_rescue.remove(&hash);
            verdict.damaged.entry(hash).or_insert_with(|| format!("its base {base} cannot be read"));
            queue.push(hash);
        }
    }
}
