//! The bars of the plugin: what a person at the keyboard waits for, and the shape of its code.

mod coverage;
mod shape;
mod speed;

use crate::bars::Bar;

/// All of them, in the order of their numbers.
pub(crate) const BARS: &[Bar] = &[
    Bar { number: 1, about: "the picker", measure: speed::measure_picker },
    Bar { number: 2, about: "the agent's way through the plugin", measure: speed::measure_hooks },
    Bar { number: 3, about: "every promise has a test", measure: coverage::measure },
    Bar { number: 4, about: "the shape of the TypeScript", measure: shape::measure },
];
