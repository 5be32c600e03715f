//! Records: the parts of a frame.
//!
//! ```text
//! kind u8 | encoding u8 | references u16 | payload length u32 | raw length u32      12 bytes
//! hash [32]                      only kinds below 128 (objects)
//! references x hash [32]         what the record refers to, for readers that do not know its kind
//! back offset u32                only encoding 3: from this record's start back to its base's start
//! payload
//! ```

use crate::hash::Hash;

/// A file's content.
pub(crate) const KIND_BLOB: u8 = 1;
/// A tree node.
pub(crate) const KIND_NODE: u8 = 2;
/// Kinds from here on have no hash: they are not objects.
pub(crate) const KIND_NOT_AN_OBJECT: u8 = 128;
/// What the transaction that follows commits.
pub(crate) const KIND_JOURNAL: u8 = 128;

const FIXED_BYTES: usize = 12;

/// How a payload becomes the object's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// The bytes themselves.
    Raw,
    /// One zstd frame.
    Zstd,
    /// One zstd frame with the object named by the first reference as its prefix.
    Delta,
    /// The same, the base being an earlier record of this segment, this many bytes back.
    DeltaNear(u32),
}

impl Encoding {
    fn tag(self) -> u8 {
        match self {
            Self::Raw => 0,
            Self::Zstd => 1,
            Self::Delta => 2,
            Self::DeltaNear(_) => 3,
        }
    }
}

/// A record, borrowed from the bytes it was parsed from or is written from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    pub(crate) kind: u8,
    pub(crate) encoding: Encoding,
    pub(crate) raw_len: u32,
    /// `None` for records that are not objects.
    pub(crate) hash: Option<Hash>,
    pub(crate) references: Vec<Hash>,
    pub(crate) payload: &'a [u8],
}

impl<'a> Record<'a> {
    /// Length in the segment.
    pub(crate) fn encoded_len(&self) -> usize {
        FIXED_BYTES
            + self.hash.map_or(0, |_| Hash::LEN)
            + self.references.len() * Hash::LEN
            + if matches!(self.encoding, Encoding::DeltaNear(_)) { 4 } else { 0 }
            + self.payload.len()
    }

    /// Appends the record to `out`.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        debug_assert_eq!(self.hash.is_some(), self.kind < KIND_NOT_AN_OBJECT);
        let references = u16::try_from(self.references.len()).expect("at most one base is ever listed");
        let payload = u32::try_from(self.payload.len()).expect("payloads are bounded by the frame");
        out.push(self.kind);
        out.push(self.encoding.tag());
        out.extend_from_slice(&references.to_le_bytes());
        out.extend_from_slice(&payload.to_le_bytes());
        out.extend_from_slice(&self.raw_len.to_le_bytes());
        if let Some(hash) = &self.hash {
            out.extend_from_slice(hash.as_bytes());
        }
        for reference in &self.references {
            out.extend_from_slice(reference.as_bytes());
        }
        if let Encoding::DeltaNear(back) = self.encoding {
            out.extend_from_slice(&back.to_le_bytes());
        }
        out.extend_from_slice(self.payload);
    }

    /// Parses the record at the start of `bytes` and returns it with its length. Total: any input gives a record or
    /// `None`, and nothing is allocated beyond the size of the input.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<(Self, usize)> {
        let fixed = bytes.get(..FIXED_BYTES)?;
        let (kind, tag) = (fixed[0], fixed[1]);
        let references = usize::from(u16::from_le_bytes([fixed[2], fixed[3]]));
        let payload_len = usize::try_from(u32::from_le_bytes(fixed[4..8].try_into().ok()?)).ok()?;
        let raw_len = u32::from_le_bytes(fixed[8..12].try_into().ok()?);
        let mut at = FIXED_BYTES;
        let mut take = |count: usize| {
            let part = bytes.get(at..at.checked_add(count)?)?;
            at += count;
            Some(part)
        };
        let hash_at = |part: &[u8]| Some(Hash::from_bytes(part.try_into().ok()?));
        let hash = if kind < KIND_NOT_AN_OBJECT { Some(hash_at(take(Hash::LEN)?)?) } else { None };
        let references = take(references * Hash::LEN)?.chunks_exact(Hash::LEN).map(hash_at).collect::<Option<_>>()?;
        let encoding = match tag {
            0 => Encoding::Raw,
            1 => Encoding::Zstd,
            2 => Encoding::Delta,
            3 => Encoding::DeltaNear(u32::from_le_bytes(take(4)?.try_into().ok()?)),
            _ => return None,
        };
        let payload = take(payload_len)?;
        Some((Self { kind, encoding, raw_len, hash, references, payload }, at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_goes_there_and_back() {
        for (kind, encoding, references) in [
            (KIND_BLOB, Encoding::Raw, vec![]),
            (KIND_BLOB, Encoding::Delta, vec![Hash::of_blob(b"base")]),
            (KIND_NODE, Encoding::DeltaNear(77), vec![]),
            (KIND_JOURNAL, Encoding::Zstd, vec![]),
        ] {
            let hash = (kind < KIND_NOT_AN_OBJECT).then(|| Hash::of_blob(b"x"));
            let record = Record { kind, encoding, raw_len: 5, hash, references, payload: b"hello" };
            let mut bytes = Vec::new();
            record.write(&mut bytes);
            assert_eq!(bytes.len(), record.encoded_len());
            bytes.push(0);
            assert_eq!(Record::parse(&bytes), Some((record.clone(), record.encoded_len())));
            for cut in 0..record.encoded_len() {
                assert_eq!(Record::parse(&bytes[..cut]), None);
            }
        }
    }

    #[test]
    fn the_header_of_a_plain_delta_is_at_most_48_bytes() {
        let hash = Some(Hash::of_blob(b"x"));
        let record = Record {
            kind: KIND_BLOB,
            encoding: Encoding::DeltaNear(1),
            raw_len: 1,
            hash,
            references: vec![],
            payload: b"",
        };
        assert!(record.encoded_len() <= 48);
    }
}
