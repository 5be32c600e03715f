//! Frames: what one append writes.
//!
//! ```text
//! magic "CFR1" | body length u32 | offset in the segment u64 | order u64 | record count u32 | flags u32      32 bytes
//! checksum [16]: BLAKE3 of segment id, the 32 bytes above and the body, cut to 16 bytes
//! body: records
//! ```

use crate::id::Id;
use crate::limits::FRAME_BODY_MAX;
use crate::segment::record::Record;

/// Length of a frame's header.
pub(crate) const FRAME_HEADER_BYTES: usize = 48;

/// First bytes of a frame.
pub(crate) const FRAME_MAGIC: &[u8; 4] = b"CFR1";

const CHECKED: usize = 32;

/// A frame in the making. Its offset is fixed at the start, because records may point back to earlier ones.
#[derive(Debug)]
pub(crate) struct FrameBuilder {
    offset: u64,
    bytes: Vec<u8>,
    records: Vec<(u64, u32)>,
}

impl FrameBuilder {
    /// A frame that will stand at `offset` of its segment.
    pub(crate) fn new(offset: u64) -> Self {
        Self { offset, bytes: vec![0; FRAME_HEADER_BYTES], records: Vec::new() }
    }

    /// Where the next record will stand in the segment.
    pub(crate) fn next_offset(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }

    pub(crate) fn push(&mut self, record: &Record<'_>) {
        let length = u32::try_from(record.encoded_len()).expect("records are bounded by the frame");
        self.records.push((self.next_offset(), length));
        record.write(&mut self.bytes);
    }

    /// Fills in the header. `order` is the transaction's number, 0 for frames that commit nothing by themselves.
    pub(crate) fn finish(mut self, segment: Id, order: u64) -> FinishedFrame {
        let body = u32::try_from(self.bytes.len() - FRAME_HEADER_BYTES).expect("the caller bounds frames");
        assert!(body <= FRAME_BODY_MAX, "the caller bounds frames");
        let count = u32::try_from(self.records.len()).expect("fewer records than bytes");
        self.bytes[..4].copy_from_slice(FRAME_MAGIC);
        self.bytes[4..8].copy_from_slice(&body.to_le_bytes());
        self.bytes[8..16].copy_from_slice(&self.offset.to_le_bytes());
        self.bytes[16..24].copy_from_slice(&order.to_le_bytes());
        self.bytes[24..28].copy_from_slice(&count.to_le_bytes());
        let sum = checksum(segment, &self.bytes[..CHECKED], &self.bytes[FRAME_HEADER_BYTES..]);
        self.bytes[CHECKED..FRAME_HEADER_BYTES].copy_from_slice(&sum);
        FinishedFrame { offset: self.offset, bytes: self.bytes, records: self.records }
    }
}

/// A frame ready to be written.
#[derive(Debug)]
pub(crate) struct FinishedFrame {
    pub(crate) offset: u64,
    pub(crate) bytes: Vec<u8>,
    /// Offset in the segment and length of each record.
    pub(crate) records: Vec<(u64, u32)>,
}

fn checksum(segment: Id, head: &[u8], body: &[u8]) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(segment.as_bytes()).update(head).update(body);
    let mut sum = [0; 16];
    sum.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    sum
}

/// A frame that was read back and checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Where it stands in the segment.
    pub offset: u64,
    /// Length with its header.
    pub length: u64,
    /// Number of the transaction it belongs to, or 0.
    pub order: u64,
    /// Its records with their offsets in the segment.
    pub(crate) records: Vec<(u64, Record<'a>)>,
}

impl<'a> Frame<'a> {
    /// Parses the frame at `offset` of a segment whose bytes are `segment_bytes`. `None` when there is no whole,
    /// undamaged frame there. Total and bounded by the input's size.
    pub(crate) fn parse(segment: Id, segment_bytes: &'a [u8], offset: usize) -> Option<Self> {
        Self::parse_at(segment, segment_bytes.get(offset..)?, offset as u64)
    }

    /// Length that a frame's header gives, unchecked: what to read to parse the frame.
    pub(crate) fn length_of(head: &[u8; FRAME_HEADER_BYTES]) -> Option<u64> {
        let body_len = u32::from_le_bytes(head[4..8].try_into().ok()?);
        (&head[..4] == FRAME_MAGIC && body_len <= FRAME_BODY_MAX)
            .then(|| FRAME_HEADER_BYTES as u64 + u64::from(body_len))
    }

    /// Parses the frame at the start of `rest`, which stands at `offset` of its segment.
    pub(crate) fn parse_at(segment: Id, rest: &'a [u8], offset: u64) -> Option<Self> {
        let head = rest.get(..FRAME_HEADER_BYTES)?;
        let word = |at: usize| Some(u32::from_le_bytes(head[at..at + 4].try_into().ok()?));
        let long = |at: usize| Some(u64::from_le_bytes(head[at..at + 8].try_into().ok()?));
        let body_len = word(4)?;
        if &head[..4] != FRAME_MAGIC || body_len > FRAME_BODY_MAX || long(8)? != offset || word(28)? != 0 {
            return None;
        }
        let length = FRAME_HEADER_BYTES + usize::try_from(body_len).ok()?;
        let body = rest.get(FRAME_HEADER_BYTES..length)?;
        if checksum(segment, &head[..CHECKED], body) != head[CHECKED..] {
            return None;
        }
        let mut records = Vec::new();
        let mut at = 0;
        while at < body.len() {
            let (record, used) = Record::parse(&body[at..])?;
            records.push((offset + (FRAME_HEADER_BYTES + at) as u64, record));
            at += used;
        }
        (records.len() as u64 == u64::from(word(24)?)).then_some(Self {
            offset,
            length: length as u64,
            order: long(16)?,
            records,
        })
    }
}
