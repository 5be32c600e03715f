//! The page that says which test keeps which promise stays true: every item is on it, every test that it names exists.

#![allow(clippy::unwrap_used)] // A test stops at the first surprise.

use std::path::Path;

use candy_store_tests::coverage::Table;

#[test]
fn every_promise_names_a_test_that_exists_or_says_why_there_is_none() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let table = Table::read(root).unwrap();
    let problems = table.problems();
    assert!(problems.is_empty(), "{problems:#?}");
    assert!(table.items() > 100 && table.tests() > 100, "{} items, {} tests", table.items(), table.tests());
}
