//! Bars: promises that can be measured, each with its limit.
//!
//! Timings are ratios to a bare baseline taken in turns with the subject in the same run, because an absolute figure says
//! more about the disk and its other users than about this program.

pub(crate) mod core;
mod plugin;

use std::time::Instant;

use clap::ValueEnum;

use crate::Failure;

/// What `bars` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Which promises.
    #[arg(value_enum)]
    family: Family,
    /// Only the bar of this number; may be given several times.
    #[arg(long)]
    only: Vec<usize>,
}

/// A set of bars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Family {
    /// Backup, history, kill, damage, fork, bad input.
    Core,
    /// The picker, the hooks, the tests behind the promises, the shape of the code.
    Plugin,
}

/// One bar: its number, what it is about, and how it is measured. A bar may have several lines.
pub(crate) struct Bar {
    pub(crate) number: usize,
    pub(crate) about: &'static str,
    pub(crate) measure: fn() -> Result<Vec<Line>, Failure>,
}

/// What one line of a bar says.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) limit: String,
    pub(crate) met: bool,
}

impl Line {
    /// A line whose value must not exceed `limit`; `detail` is shown in brackets.
    pub(crate) fn at_most(name: &str, value: f64, limit: f64, unit: &str, detail: &str) -> Self {
        Self {
            name: name.to_owned(),
            value: format!("{}{unit} ({detail})", short(value)),
            limit: format!("<= {}{unit}", short(limit)),
            met: value <= limit,
        }
    }

    /// A line whose value must reach `limit`.
    pub(crate) fn at_least(name: &str, value: f64, limit: f64, unit: &str, detail: &str) -> Self {
        Self {
            name: name.to_owned(),
            value: format!("{}{unit} ({detail})", short(value)),
            limit: format!(">= {}{unit}", short(limit)),
            met: value >= limit,
        }
    }

    /// A line that counts what must not happen. `detail` says how often it was tried.
    pub(crate) fn none(name: &str, count: usize, detail: &str) -> Self {
        Self { name: name.to_owned(), value: format!("{count} ({detail})"), limit: "0".to_owned(), met: count == 0 }
    }
}

/// Measures the bars asked for and prints their lines; true when all are met.
pub(crate) fn run(options: &Options) -> Result<bool, Failure> {
    let bars = match options.family {
        Family::Core => core::BARS,
        Family::Plugin => plugin::BARS,
    };
    let mut met = true;
    for bar in bars {
        if !options.only.is_empty() && !options.only.contains(&bar.number) {
            continue;
        }
        let start = Instant::now();
        let lines = (bar.measure)().unwrap_or_else(|error| {
            vec![Line { name: bar.about.to_owned(), value: error.to_string(), limit: "runs".to_owned(), met: false }]
        });
        for line in &lines {
            met &= line.met;
            let verdict = if line.met { "ok" } else { "MISSED" };
            println!("{}  {:<48}  {:<44}  {:<9}  {verdict}", bar.number, line.name, line.value, line.limit);
        }
        eprintln!("   ({}: {:.0} s)", bar.about, start.elapsed().as_secs_f64());
    }
    Ok(met)
}

/// Three significant digits where they matter, no decimals from 100 on.
fn short(value: f64) -> String {
    if value.fract() == 0.0 || value >= 100.0 {
        format!("{value:.0}")
    } else if value >= 10.0 {
        format!("{value:.1}")
    } else if value >= 0.1 {
        format!("{value:.2}")
    } else {
        format!("{value:.4}")
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, short};

    #[test]
    fn a_bar_is_met_up_to_its_limit_and_not_beyond() {
        assert!(Line::at_most("ratio", 2.0, 2.0, "x", "").met);
        assert!(!Line::at_most("ratio", 2.01, 2.0, "x", "").met);
        assert!(Line::at_least("kills", 500.0, 500.0, "", "").met);
        assert!(!Line::none("lost", 1, "of 5").met);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [short(2.0), short(1.618), short(0.0987), short(55.55), short(1234.5)].join(" "),
            "2 1.62 0.0987 55.5 1234"
        );
    }
}
