//! How an object's bytes are stored: raw, as one zstd frame, or as a delta, which is a zstd frame with an earlier
//! object as its prefix (what `zstd --patch-from` does).

use std::cell::RefCell;

use zstd::zstd_safe::{CCtx, CParameter, DCtx, compress_bound, get_frame_content_size};

use crate::hash::Hash;
use crate::limits::{SMALL_BYTES_MAX, ZSTD_LEVEL, ZSTD_MIN_GAIN, ZSTD_SAMPLE_BYTES, ZSTD_SMALL_LEVEL};

/// How a payload becomes the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Raw,
    Zstd,
    Delta { base: Hash },
}

/// An encoded object.
#[derive(Clone, Debug)]
pub(crate) struct Encoded {
    pub(crate) form: Form,
    pub(crate) payload: Vec<u8>,
}

/// Why a payload did not decode.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DecodeError {
    #[error("the payload says it is longer than its record")]
    Length,
    #[error("zstd: {0}")]
    Zstd(&'static str),
}

/// A window that reaches over prefix and content, within what decoders accept by default.
fn window_log(bytes: usize) -> u32 {
    (usize::BITS - bytes.max(1024).leading_zeros()).clamp(10, 27)
}

fn zstd_text(code: usize) -> &'static str {
    zstd::zstd_safe::get_error_name(code)
}

/// Contexts and buffers that are kept: making a context costs as much as compressing 8 KB, and fresh buffers cost page
/// faults. A prefix is borrowed for a context's life time, so deltas take a fresh context each (0.015 ms).
struct Scratch {
    compressor: CCtx<'static>,
    decompressor: DCtx<'static>,
    buffer: Vec<u8>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch {
        compressor: CCtx::create(),
        decompressor: DCtx::create(),
        buffer: Vec::new(),
    });
}

/// Compresses into `buffer`.
fn compress_into(context: &mut CCtx<'_>, level: i32, content: &[u8], buffer: &mut Vec<u8>) -> Result<usize, usize> {
    context.set_parameter(CParameter::CompressionLevel(level))?;
    context.set_parameter(CParameter::ChecksumFlag(false))?;
    buffer.clear();
    buffer.reserve(compress_bound(content.len()));
    context.compress2(buffer, content)
}

/// Compresses; `None` when the library fails, which callers answer by storing the bytes as they are.
fn compress(content: &[u8], prefix: Option<&[u8]>) -> Option<Vec<u8>> {
    SCRATCH.with_borrow_mut(|scratch| {
        let done = match prefix {
            Some(prefix) => {
                let mut context = CCtx::create();
                context
                    .set_parameter(CParameter::WindowLog(window_log(prefix.len() + content.len())))
                    .and_then(|_| context.ref_prefix(prefix))
                    .and_then(|_| compress_into(&mut context, ZSTD_LEVEL, content, &mut scratch.buffer))
            }
            None => {
                let level = if content.len() <= SMALL_BYTES_MAX { ZSTD_SMALL_LEVEL } else { ZSTD_LEVEL };
                compress_into(&mut scratch.compressor, level, content, &mut scratch.buffer)
            }
        };
        if done.is_err() {
            // Whatever state it is in, the next frame must not meet it.
            scratch.compressor = CCtx::create();
            return None;
        }
        Some(scratch.buffer.as_slice().to_vec())
    })
}

fn saves_enough(compressed: usize, raw: usize) -> bool {
    compressed + raw / ZSTD_MIN_GAIN < raw
}

/// Encodes without a base.
pub(crate) fn encode_full(content: &[u8]) -> Encoded {
    let raw = || Encoded { form: Form::Raw, payload: content.to_vec() };
    if content.len() > 2 * ZSTD_SAMPLE_BYTES {
        let sample = &content[..ZSTD_SAMPLE_BYTES];
        if compress(sample, None).is_none_or(|out| !saves_enough(out.len(), sample.len())) {
            return raw();
        }
    }
    match compress(content, None) {
        Some(payload)
            if saves_enough(payload.len(), content.len()) && decodes_to(Form::Zstd, &payload, None, content) =>
        {
            Encoded { form: Form::Zstd, payload }
        }
        _ => raw(),
    }
}

/// Encodes against a base where that saves at least half of what a full encoding takes.
pub(crate) fn encode(content: &[u8], base: Option<(Hash, &[u8])>) -> Encoded {
    let Some((base, prefix)) = base else { return encode_full(content) };
    let form = Form::Delta { base };
    let Some(delta) = compress(content, Some(prefix)) else { return encode_full(content) };
    // A full encoding of source text takes a third to a tenth: a delta this small beats half of that without trying.
    let clearly_small = delta.len() <= content.len() / 64;
    if !clearly_small {
        let full = encode_full(content);
        if delta.len() > full.payload.len() / 2 {
            return full;
        }
    }
    if decodes_to(form, &delta, Some(prefix), content) {
        Encoded { form, payload: delta }
    } else {
        encode_full(content)
    }
}

/// Verification before anything is acknowledged, while the source still exists.
fn decodes_to(form: Form, payload: &[u8], prefix: Option<&[u8]>, content: &[u8]) -> bool {
    if form == Form::Raw {
        return payload == content;
    }
    SCRATCH.with_borrow_mut(|scratch| {
        let Scratch { decompressor, buffer, .. } = scratch;
        decompress(decompressor, payload, content.len(), prefix, buffer).is_ok() && buffer == content
    })
}

/// Decompresses a frame that must give `raw_len` bytes into `buffer`.
fn decompress(
    plain: &mut DCtx<'static>,
    payload: &[u8],
    raw_len: usize,
    prefix: Option<&[u8]>,
    buffer: &mut Vec<u8>,
) -> Result<(), DecodeError> {
    // The frame names its size; both claims must agree before anything is allocated on their word.
    match get_frame_content_size(payload) {
        Ok(Some(size)) if size == raw_len as u64 => {}
        _ => return Err(DecodeError::Length),
    }
    buffer.clear();
    buffer.reserve(raw_len);
    let done = match prefix {
        Some(prefix) => {
            let mut context = DCtx::create();
            context.ref_prefix(prefix).and_then(|_| context.decompress(buffer, payload))
        }
        // A failed call leaves the context ready for the next frame: one-shot decompression starts anew.
        None => plain.decompress(buffer, payload),
    };
    done.map_err(|code| DecodeError::Zstd(zstd_text(code)))?;
    if buffer.len() == raw_len { Ok(()) } else { Err(DecodeError::Length) }
}

/// Turns a payload back into `raw_len` bytes. A wrong prefix gives wrong bytes without an error: the caller hashes.
pub(crate) fn decode(
    form: Form,
    payload: &[u8],
    raw_len: usize,
    prefix: Option<&[u8]>,
) -> Result<Vec<u8>, DecodeError> {
    if form == Form::Raw {
        return if payload.len() == raw_len { Ok(payload.to_vec()) } else { Err(DecodeError::Length) };
    }
    let mut out = Vec::new();
    SCRATCH.with_borrow_mut(|scratch| decompress(&mut scratch.decompressor, payload, raw_len, prefix, &mut out))?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(lines: u32) -> Vec<u8> {
        (0..lines).flat_map(|n| format!("let value_{n} = compute({});\n", n * 7919 % 1000).into_bytes()).collect()
    }

    #[test]
    fn a_small_edit_becomes_a_small_delta() {
        let before = text(500);
        let mut after = before.clone();
        after.splice(3000..3000, *b"// a new line\n");
        let encoded = encode(&after, Some((Hash::of_blob(&before), &before)));
        assert_eq!(encoded.form, Form::Delta { base: Hash::of_blob(&before) });
        assert!(encoded.payload.len() < 100, "{}", encoded.payload.len());
        assert_eq!(decode(encoded.form, &encoded.payload, after.len(), Some(&before)).unwrap(), after);
    }

    #[test]
    fn an_unrelated_base_gives_a_full_encoding() {
        let content = text(500);
        let base: Vec<u8> = (0..20_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        assert_eq!(encode(&content, Some((Hash::of_blob(&base), &base))).form, Form::Zstd, "a delta saves nothing");
    }

    #[test]
    fn what_does_not_compress_is_kept_raw() {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"seed");
        let mut noise = vec![0; 1 << 20];
        hasher.finalize_xof().fill(&mut noise);
        assert_eq!(encode_full(&noise).form, Form::Raw);
        assert_eq!(encode_full(b"").form, Form::Raw);
    }

    #[test]
    fn a_base_that_begins_with_the_magic_of_a_dictionary_is_only_a_prefix() {
        let mut base = vec![0x37, 0xa4, 0x30, 0xec];
        base.extend(text(300));
        let mut content = base.clone();
        content.extend_from_slice(b"more");
        let encoded = encode(&content, Some((Hash::of_blob(&base), &base)));
        assert!(matches!(encoded.form, Form::Delta { .. }));
        assert_eq!(decode(encoded.form, &encoded.payload, content.len(), Some(&base)).unwrap(), content);
    }

    #[test]
    fn a_claimed_size_that_does_not_match_is_refused_before_decompression() {
        let encoded = encode_full(&text(500));
        assert_eq!(decode(encoded.form, &encoded.payload, 1 << 40, None), Err(DecodeError::Length));
    }
}
