//! The bars of the core: the main job, end to end.

pub(crate) mod backup;
mod bad_input;
mod damage;
pub(crate) mod fork;
pub(crate) mod history;
mod kill;

use crate::bars::Bar;

/// All of them, in the order of their numbers.
pub(crate) const BARS: &[Bar] = &[
    Bar { number: 1, about: "first backups and batches", measure: backup::measure },
    Bar { number: 2, about: "a long history", measure: history::measure },
    Bar { number: 3, about: "kill -9 and competition", measure: kill::measure },
    Bar { number: 4, about: "damage and a lost index", measure: damage::measure },
    Bar { number: 5, about: "forks", measure: fork::measure },
    Bar { number: 6, about: "bad input", measure: bad_input::measure },
];
