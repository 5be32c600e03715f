//! Whatever parses as a tree node encodes to the very same bytes, and nothing else happens.
#![no_main]

use candy_store::tree::Node;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(node) = Node::parse(bytes) {
        assert_eq!(node.encode(), bytes);
        assert!(node.references().len() <= bytes.len() / 32);
    }
});
