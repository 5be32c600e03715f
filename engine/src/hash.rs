//! Names of objects: 32 bytes of BLAKE3.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Separates tree nodes from contents: a file that happens to hold the bytes of a node has another name than that node.
const NODE_CONTEXT: &str = "candy-store 2026-11 tree node";

/// BLAKE3 of an object's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Hash([u8; 32]);

impl Hash {
    /// Length in bytes.
    pub const LEN: usize = 32;

    /// The name of a file's content.
    pub fn of_blob(content: &[u8]) -> Self {
        Self(*blake3::hash(content).as_bytes())
    }

    /// The name of a tree node.
    pub fn of_node(bytes: &[u8]) -> Self {
        Self(*blake3::Hasher::new_derive_key(NODE_CONTEXT).update(bytes).finalize().as_bytes())
    }

    /// Takes 32 bytes read from disk.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Parses 64 hex digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        let bytes = hex_decode(text)?;
        Some(Self(bytes.try_into().ok()?))
    }

    /// 64 hex digits.
    pub fn to_hex(&self) -> String {
        hex_encode(&self.0)
    }
}

/// Hashes a content piece by piece.
#[derive(Default)]
pub(crate) struct BlobHasher(blake3::Hasher);

impl BlobHasher {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(&self) -> Hash {
        Hash(*self.0.finalize().as_bytes())
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_hex())
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({})", &self.to_hex()[..12])
    }
}

/// Lower-case hex digits.
pub(crate) fn hex_encode(bytes: &[u8]) -> String {
    use fmt::Write as _;
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        write!(text, "{byte:02x}").expect("writing to a String cannot fail");
    }
    text
}

/// Bytes of an even number of hex digits of either case.
pub(crate) fn hex_decode(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) {
        return None;
    }
    let digit = |byte: u8| (byte as char).to_digit(16);
    text.as_bytes().chunks_exact(2).map(|pair| Some((digit(pair[0])? << 4 | digit(pair[1])?) as u8)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_and_a_file_of_the_same_bytes_have_different_names() {
        assert_ne!(Hash::of_blob(b"x"), Hash::of_node(b"x"));
    }

    #[test]
    fn hex_goes_there_and_back() {
        let hash = Hash::of_blob(b"x");
        assert_eq!(Hash::from_hex(&hash.to_hex()), Some(hash));
        assert_eq!(Hash::from_hex("zz"), None);
        assert_eq!(Hash::from_hex("abc"), None);
    }
}
