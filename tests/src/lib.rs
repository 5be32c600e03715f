//! What the cross-crate tests and the bars share.
//!
//! | module | noun |
//! |---|---|
//! | [`rng`] | a seeded random number generator: a failing seed can be run again |
//! | [`workload`] | source-like text files and their successive versions |
//! | [`baseline`] | the bare disk operations that a bar compares with |
//! | [`stats`] | medians, percentiles, interleaved measuring |
//! | [`damage`] | one seeded damage of a directory tree |
//! | [`child`] | worker processes with acknowledgements, and a loop that kills them |
//! | [`witness`] | what workers were promised, and what must be found afterwards |
//! | [`agent`] | a worker that uses the engine as the plugin in an agent's process does |
//! | [`verify`] | a store compared with what was promised |
//! | [`worker`] | what a worker process is told to do |
//! | [`crash`] | agents on one store that are killed, or compete |
//! | [`coverage`] | the page that says which test keeps which promise |
//! | [`inventory`] | everything that can be seen of a store |
//! | [`sample`] | a small store with everything in it |
//! | [`damage_trial`] | damages of a store, and whether they are found |
//! | [`small_disk`] | a store on a disk that gets full |
//! | [`scratch`] | a directory on a disk that really syncs |
//!
//! Nothing here is part of the product.

// Test support stops at the first surprise, with the message of what went wrong: an error path would only hide it.
#![allow(clippy::unwrap_used)]
// The workloads and damages are files that do not belong to any store.
#![allow(clippy::disallowed_methods)]

pub mod agent;
pub mod baseline;
pub mod child;
pub mod coverage;
pub mod crash;
pub mod damage;
pub mod damage_trial;
pub mod inventory;
pub mod rng;
pub mod sample;
pub mod scratch;
pub mod small_disk;
pub mod stats;
pub mod verify;
pub mod witness;
pub mod worker;
pub mod workload;
