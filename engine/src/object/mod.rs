//! Objects: contents and tree nodes, as bytes with a name.

pub(crate) mod cache;
pub(crate) mod encode;
pub(crate) mod large;
pub(crate) mod pending;
pub(crate) mod read;
