//! The first 64 bytes of a segment.

use crate::id::Id;

/// Length of the header: the first frame begins here.
pub(crate) const HEADER_BYTES: usize = 64;

const MAGIC: &[u8; 8] = b"CNDYSEG\n";
const CHECKED: usize = 52;

/// What a segment's header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub(crate) version: u32,
    pub(crate) segment: Id,
    pub(crate) store: Id,
    pub(crate) created_ms: i64,
}

impl SegmentHeader {
    pub(crate) fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&self.version.to_le_bytes());
        bytes[12..28].copy_from_slice(self.segment.as_bytes());
        bytes[28..44].copy_from_slice(self.store.as_bytes());
        bytes[44..CHECKED].copy_from_slice(&self.created_ms.to_le_bytes());
        let sum = blake3::hash(&bytes[..CHECKED]);
        bytes[CHECKED..].copy_from_slice(&sum.as_bytes()[..HEADER_BYTES - CHECKED]);
        bytes
    }

    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; HEADER_BYTES] = bytes.get(..HEADER_BYTES)?.try_into().ok()?;
        let header = Self {
            version: u32::from_le_bytes(bytes[8..12].try_into().ok()?),
            segment: Id::from_bytes(bytes[12..28].try_into().ok()?),
            store: Id::from_bytes(bytes[28..44].try_into().ok()?),
            created_ms: i64::from_le_bytes(bytes[44..CHECKED].try_into().ok()?),
        };
        (header.encode() == *bytes).then_some(header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_of_the_header_is_noticed() {
        let header = SegmentHeader {
            version: 1,
            segment: Id::from_bytes([1; 16]),
            store: Id::from_bytes([2; 16]),
            created_ms: 3,
        };
        let bytes = header.encode();
        assert_eq!(SegmentHeader::parse(&bytes), Some(header));
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(SegmentHeader::parse(&bad), None, "bit {bit}");
        }
    }
}
