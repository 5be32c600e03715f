//! Reads a whole segment, frame by frame, and finds the next frame behind damage.

use crate::id::Id;
use crate::segment::frame::{FRAME_MAGIC, Frame};
use crate::segment::header::{HEADER_BYTES, SegmentHeader};

/// A stretch of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stretch<'a> {
    /// A whole, checked frame.
    Frame(Frame<'a>),
    /// Bytes that are no frame: damage, or the torn end of an append that was never acknowledged.
    Gap {
        /// First byte.
        from: u64,
        /// One past the last byte.
        to: u64,
    },
}

/// Walks the stretches of a segment.
#[derive(Debug)]
pub struct Scanner<'a> {
    segment: Id,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    /// Scans `bytes`, which claim to be `segment`. The header may be damaged: frames carry the id in their checksum.
    pub fn new(segment: Id, bytes: &'a [u8]) -> Self {
        Self { segment, bytes, at: HEADER_BYTES.min(bytes.len()) }
    }

    /// Scans bytes under the identifier that their own header gives, or all zeros.
    pub fn with_own_header(bytes: &'a [u8]) -> Self {
        let segment = SegmentHeader::parse(bytes).map_or(Id::from_bytes([0; 16]), |header| header.segment);
        Self::new(segment, bytes)
    }

    fn next_frame(&self, from: usize) -> Option<Frame<'a>> {
        let mut at = from;
        while at < self.bytes.len() {
            let found = self.bytes[at..].windows(FRAME_MAGIC.len()).position(|window| window == FRAME_MAGIC)?;
            at += found;
            // The header's own offset makes a look-alike inside a payload fail before its body is hashed.
            if let Some(frame) = Frame::parse(self.segment, self.bytes, at) {
                return Some(frame);
            }
            at += 1;
        }
        None
    }
}

impl<'a> Iterator for Scanner<'a> {
    type Item = Stretch<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let from = self.at;
        let next = Frame::parse(self.segment, self.bytes, from).or_else(|| self.next_frame(from + 1));
        match next {
            Some(frame) if frame.offset as usize == from => {
                self.at = from + frame.length as usize;
                Some(Stretch::Frame(frame))
            }
            Some(frame) => {
                self.at = frame.offset as usize;
                Some(Stretch::Gap { from: from as u64, to: frame.offset })
            }
            None => {
                self.at = self.bytes.len();
                Some(Stretch::Gap { from: from as u64, to: self.bytes.len() as u64 })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Hash;
    use crate::segment::frame::FrameBuilder;
    use crate::segment::record::{Encoding, KIND_BLOB, Record};

    fn segment() -> (Id, Vec<u8>, Vec<usize>) {
        let id = Id::from_bytes([9; 16]);
        let store = Id::from_bytes([8; 16]);
        let mut bytes = SegmentHeader { version: 1, segment: id, store, created_ms: 0 }.encode().to_vec();
        let mut ends = Vec::new();
        for text in ["one", "CFR1 two", "three"] {
            let mut frame = FrameBuilder::new(bytes.len() as u64);
            frame.push(&Record {
                kind: KIND_BLOB,
                encoding: Encoding::Raw,
                raw_len: text.len() as u32,
                hash: Some(Hash::of_blob(text.as_bytes())),
                references: vec![],
                payload: text.as_bytes(),
            });
            bytes.extend(frame.finish(id, 1).bytes);
            ends.push(bytes.len());
        }
        (id, bytes, ends)
    }

    #[test]
    fn a_damaged_frame_costs_itself_and_no_other() {
        let (id, bytes, ends) = segment();
        for at in HEADER_BYTES..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 0x40;
            let stretches: Vec<_> = Scanner::new(id, &bad).collect();
            let frames = stretches.iter().filter(|stretch| matches!(stretch, Stretch::Frame(_))).count();
            assert_eq!(frames, 2, "byte {at}");
            let hit = ends.iter().position(|end| at < *end).unwrap();
            let from = if hit == 0 { HEADER_BYTES } else { ends[hit - 1] };
            assert!(stretches.contains(&Stretch::Gap { from: from as u64, to: ends[hit] as u64 }), "byte {at}");
        }
    }

    #[test]
    fn a_cut_segment_loses_only_what_was_cut() {
        let (id, bytes, ends) = segment();
        for cut in HEADER_BYTES..bytes.len() {
            let frames = Scanner::new(id, &bytes[..cut]).filter(|stretch| matches!(stretch, Stretch::Frame(_))).count();
            assert_eq!(frames, ends.iter().filter(|end| **end <= cut).count(), "cut at {cut}");
        }
    }

    #[test]
    fn a_frame_of_another_segment_is_no_frame() {
        let (_, bytes, _) = segment();
        let frames = Scanner::new(Id::from_bytes([1; 16]), &bytes).filter(|s| matches!(s, Stretch::Frame(_))).count();
        assert_eq!(frames, 0);
    }
}
