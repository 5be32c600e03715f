//! What is in the files, without asking the index.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, IoContext as _, Result};
use crate::hash::Hash;
use crate::id::Id;
use crate::index::rows::FrameRef;
use crate::io::{FileKind, Io, Open, bytes_path, is_absent};
use crate::journal::Journal;
use crate::limits::SEGMENT_READ_MAX;
use crate::object::large::{parse_large_name, read_header};
use crate::segment::frame::Frame;
use crate::segment::header::{HEADER_BYTES, SegmentHeader};
use crate::segment::record::{Encoding, KIND_BLOB, KIND_JOURNAL, KIND_NODE};
use crate::segment::scanner::{Scanner, Stretch};
use crate::segment::{parse_segment_name, segment_path};

/// An object's record.
#[derive(Clone, Debug)]
pub(crate) struct FoundRecord {
    pub(crate) hash: Hash,
    pub(crate) kind: u8,
    pub(crate) offset: u64,
    pub(crate) len: u32,
    pub(crate) raw_len: u32,
    pub(crate) delta: bool,
    /// The base of a delta; `None` for a delta near a base that is damaged.
    pub(crate) base: Option<Hash>,
}

/// A transaction's journal record.
#[derive(Clone, Debug)]
pub(crate) struct FoundJournal {
    pub(crate) at: FrameRef,
    /// Length of the record.
    pub(crate) len: u64,
    pub(crate) content: Option<JournalHead>,
}

/// What is kept of a journal record that this program understands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JournalHead {
    pub(crate) parent: Option<FrameRef>,
    pub(crate) at_ms: i64,
    pub(crate) checkpoint: bool,
}

/// A segment's file.
#[derive(Clone, Debug)]
pub(crate) struct FoundSegment {
    pub(crate) id: Id,
    pub(crate) size: u64,
    pub(crate) header: Option<SegmentHeader>,
    /// One past the last whole frame.
    pub(crate) frames_end: u64,
    /// Ends of all whole frames.
    pub(crate) ends: Vec<u64>,
    /// Bytes that are no frame, the rest behind the last one included.
    pub(crate) gaps: Vec<(u64, u64)>,
    pub(crate) records: Vec<FoundRecord>,
    pub(crate) journals: Vec<FoundJournal>,
    /// References of records of unknown kinds.
    pub(crate) unknown: Vec<Hash>,
}

impl FoundSegment {
    /// The gap that an offset lies in.
    pub(crate) fn gap_at(&self, offset: u64) -> Option<(u64, u64)> {
        self.gaps.iter().copied().find(|(from, to)| (*from..*to).contains(&offset))
    }
}

/// Reads a segment from its first byte to its last.
pub(crate) fn scan_segment(io: &Arc<dyn Io>, store: &Path, id: Id) -> Result<FoundSegment> {
    let path = segment_path(store, id);
    let file = io.open(&path, Open::Read).context("open the segment", &path)?;
    let bytes = file.read_to_end(0, SEGMENT_READ_MAX).context("read the segment", &path)?;
    let header = SegmentHeader::parse(&bytes).filter(|header| header.segment == id);
    let mut found = FoundSegment {
        id,
        size: bytes.len() as u64,
        header,
        frames_end: HEADER_BYTES as u64,
        ends: Vec::new(),
        gaps: Vec::new(),
        records: Vec::new(),
        journals: Vec::new(),
        unknown: Vec::new(),
    };
    let mut at: HashMap<u64, Hash> = HashMap::new();
    for stretch in Scanner::new(id, &bytes) {
        match stretch {
            Stretch::Gap { from, to } => found.gaps.push((from, to)),
            Stretch::Frame(frame) => found.take_frame(&frame, &mut at),
        }
    }
    Ok(found)
}

impl FoundSegment {
    fn take_frame(&mut self, frame: &Frame<'_>, at: &mut HashMap<u64, Hash>) {
        self.frames_end = frame.offset + frame.length;
        self.ends.push(self.frames_end);
        for (offset, record) in &frame.records {
            match (record.kind, record.hash) {
                (KIND_BLOB | KIND_NODE, Some(hash)) => {
                    at.insert(*offset, hash);
                    let base = match record.encoding {
                        Encoding::Raw | Encoding::Zstd => None,
                        Encoding::Delta => record.references.first().copied(),
                        Encoding::DeltaNear(back) => {
                            offset.checked_sub(u64::from(back)).and_then(|base| at.get(&base).copied())
                        }
                    };
                    self.records.push(FoundRecord {
                        hash,
                        kind: record.kind,
                        offset: *offset,
                        len: u32::try_from(record.encoded_len()).unwrap_or(u32::MAX),
                        raw_len: record.raw_len,
                        delta: matches!(record.encoding, Encoding::Delta | Encoding::DeltaNear(_)),
                        base,
                    });
                }
                (KIND_JOURNAL, _) => {
                    let content = Journal::of_record(record).map(|journal| JournalHead {
                        parent: journal.parent(),
                        at_ms: journal.at_ms(),
                        checkpoint: matches!(journal, Journal::Checkpoint { .. }),
                    });
                    self.journals.push(FoundJournal {
                        at: FrameRef { order: frame.order, segment: self.id, offset: frame.offset },
                        len: record.encoded_len() as u64,
                        content,
                    });
                }
                _ => self.unknown.extend(&record.references),
            }
        }
    }
}

/// A large content's file.
#[derive(Clone, Debug)]
pub(crate) struct FoundLarge {
    pub(crate) content: Hash,
    pub(crate) file: Id,
    pub(crate) len: u64,
    /// From its header, if that is whole.
    pub(crate) raw_len: Option<u64>,
    pub(crate) path: PathBuf,
}

/// Files by what they are.
#[derive(Clone, Debug, Default)]
pub(crate) struct FoundFiles {
    pub(crate) segments: Vec<Id>,
    pub(crate) large: Vec<FoundLarge>,
    pub(crate) temporary: Vec<PathBuf>,
    pub(crate) foreign: Vec<PathBuf>,
}

fn list(io: &Arc<dyn Io>, directory: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    match io.list(directory) {
        Ok(names) => Ok(names.into_iter().map(|name| (directory.join(bytes_path(&name)), name)).collect()),
        Err(error) if is_absent(&error) => Ok(Vec::new()),
        Err(error) => Err(Error::io("list", directory, error)),
    }
}

fn is_file(io: &Arc<dyn Io>, path: &Path) -> bool {
    io.stat(path).is_ok_and(|stat| stat.kind == FileKind::File)
}

/// Lists segments and large contents.
pub(crate) fn scan_files(io: &Arc<dyn Io>, store: &Path) -> Result<FoundFiles> {
    let mut found = FoundFiles::default();
    for (path, name) in list(io, &store.join("segments"))? {
        match parse_segment_name(&name) {
            Some(id) if is_file(io, &path) => found.segments.push(id),
            _ => found.foreign.push(path),
        }
    }
    for (path, name) in list(io, &store.join("large"))? {
        if name.ends_with(b".tmp") {
            found.temporary.push(path);
        } else if name.len() == 2 && io.stat(&path).is_ok_and(|stat| stat.kind == FileKind::Dir) {
            for (path, name) in list(io, &path)? {
                match parse_large_name(&name).filter(|_| is_file(io, &path)) {
                    Some((content, file)) => found.large.extend(look_at_large(io, path, content, file)),
                    None => found.foreign.push(path),
                }
            }
        } else {
            found.foreign.push(path);
        }
    }
    Ok(found)
}

fn look_at_large(io: &Arc<dyn Io>, path: PathBuf, content: Hash, file: Id) -> Option<FoundLarge> {
    // One that vanished since it was listed belongs to a transaction after this check began.
    let open = io.open(&path, Open::Read).ok()?;
    let len = open.stat().ok()?.size;
    Some(FoundLarge { content, file, len, raw_len: read_header(&*open, content), path })
}
