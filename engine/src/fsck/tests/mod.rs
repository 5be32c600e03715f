#![allow(clippy::disallowed_methods, reason = "tests damage stores behind the engine's back")]

mod checks;
mod damages;
mod interrupted;
mod rebuilds;
mod repairs;
