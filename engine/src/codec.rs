//! The one place that knows bincode.
//!
//! Index values and journal records are serde types in bincode's standard varint configuration, described byte by byte
//! in `docs/format.md`, so that the crate can be replaced without changing a byte on disk. Decoding is strict: a limit
//! on what the input may claim, no trailing bytes, and only the canonical encoding is accepted.

use bincode::config;
use bincode::error::DecodeError;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Why bytes did not decode.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CodecError {
    #[error("malformed value: {0}")]
    Malformed(#[from] DecodeError),
    #[error("{0} bytes follow the value")]
    Trailing(usize),
    #[error("the value is not in its canonical encoding")]
    NotCanonical,
}

/// Encodes a value.
pub(crate) fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    bincode::serde::encode_to_vec(value, config::standard())
        .expect("encoding into memory fails only for types without a known length, and none is used")
}

/// Decodes a value and refuses whatever `encode` would not have written.
pub(crate) fn decode<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
    let (value, used) = decode_bounded(bytes)?;
    if used != bytes.len() {
        return Err(CodecError::Trailing(bytes.len() - used));
    }
    if encode(&value) != bytes {
        return Err(CodecError::NotCanonical);
    }
    Ok(value)
}

/// The limit bounds what the decoder allocates on the word of the input, so it follows the input's size.
fn decode_bounded<T: DeserializeOwned>(bytes: &[u8]) -> Result<(T, usize), DecodeError> {
    let standard = config::standard();
    match bytes.len() {
        0..=0xfff => bincode::serde::decode_from_slice(bytes, standard.with_limit::<{ 128 << 10 }>()),
        0x1000..=0xf_ffff => bincode::serde::decode_from_slice(bytes, standard.with_limit::<{ 32 << 20 }>()),
        _ => bincode::serde::decode_from_slice(bytes, standard.with_limit::<{ 8 << 30 }>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_go_there_and_back() {
        let value = (7u64, "name".to_owned(), vec![1u8, 2, 3], Some(-5i64));
        assert_eq!(decode::<(u64, String, Vec<u8>, Option<i64>)>(&encode(&value)).unwrap(), value);
    }

    #[test]
    fn trailing_bytes_are_refused() {
        let mut bytes = encode(&7u64);
        bytes.push(0);
        assert!(matches!(decode::<u64>(&bytes), Err(CodecError::Trailing(1))));
    }

    #[test]
    fn a_longer_varint_for_a_small_number_is_refused() {
        assert!(matches!(decode::<u64>(&[251, 1, 0]), Err(CodecError::NotCanonical)));
    }

    #[test]
    fn a_claimed_length_beyond_the_input_is_an_error_and_not_an_allocation() {
        let mut bytes = vec![253];
        bytes.extend_from_slice(&u64::MAX.to_le_bytes());
        assert!(matches!(decode::<Vec<u8>>(&bytes), Err(CodecError::Malformed(_))));
    }
}
