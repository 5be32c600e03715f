//! A scan of any bytes ends, covers every byte exactly once, and finds only frames that lie where it says.
#![no_main]

use candy_store::segment::scanner::{Scanner, Stretch};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut at = bytes.len().min(64) as u64;
    for stretch in Scanner::with_own_header(bytes) {
        let (from, to) = match stretch {
            Stretch::Frame(frame) => (frame.offset, frame.offset + frame.length),
            Stretch::Gap { from, to } => (from, to),
        };
        assert_eq!(from, at);
        assert!(to > from);
        at = to;
    }
    assert_eq!(at, bytes.len() as u64);
});
