//! Where things lie in the checkout.

use std::path::{Path, PathBuf};

/// The checkout's top directory.
pub(crate) fn root() -> PathBuf {
    // The crate lies two levels below; taking parents keeps the path free of `..`, which messages would show.
    let crate_directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_directory.ancestors().nth(2).expect("tests/xtask lies in the checkout").to_owned()
}

/// The end-to-end tests: the npm packages that everything in JavaScript uses are installed there.
pub(crate) fn e2e() -> PathBuf {
    root().join("tests/e2e")
}
