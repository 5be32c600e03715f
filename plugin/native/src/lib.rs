//! The native addon of the plugin: the engine's operations as promises. `index.d.ts` is the contract.
//!
//! There is no logic here, only conversions ([`values`]) and the way from pi's thread to the engine and back:
//! - each store has a thread of its own ([`worker`]) that owns everything of the engine and runs calls in order, so
//!   that neither pi's thread nor Node's small pool for file work ever waits for a lock or a disk;
//! - a call ([`call`]) settles its promise from there, panics included;
//! - an error ([`error`]) reaches JavaScript with its code, hint and path.

mod call;
mod error;
mod session;
mod store;
mod survey;
mod values;
mod worker;

use napi_derive::napi;

/// Version of this crate.
#[napi]
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
