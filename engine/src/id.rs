//! Random 128-bit identifiers of points, segments, layers, restores and stores.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::hash::{hex_decode, hex_encode};

/// A 128-bit identifier, shown as 32 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Id([u8; 16]);

impl Id {
    /// A new random identifier.
    pub fn random() -> Self {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the operating system's random source does not fail once it is up");
        Self(bytes)
    }

    /// An identifier that follows from others, so that replaying an operation gives the same one.
    pub(crate) fn derived(context: &str, parts: &[&[u8]]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key(context);
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        Self(bytes)
    }

    /// Takes 16 bytes read from disk.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Parses 32 hex digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        Some(Self(hex_decode(text)?.try_into().ok()?))
    }

    /// 32 hex digits.
    pub fn to_hex(&self) -> String {
        hex_encode(&self.0)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_hex())
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({})", &self.to_hex()[..8])
    }
}
