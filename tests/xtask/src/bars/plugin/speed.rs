//! Bars 1 and 2: the plugin's own handlers over the real addon, as `tests/bench/plugin.mjs` measures them.
//!
//! The limits are absolute times, because they are what a person notices; a busy machine misses them.

use serde::Deserialize;

use candy_store_tests::scratch::Scratch;

use crate::bars::Line;
use crate::{Failure, build, node, program, workspace};

/// Milliseconds, as the script reports them.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    before_agent_start: Vec<f64>,
    new_file: Vec<f64>,
    known_file: Vec<f64>,
    picker: Vec<Picker>,
    rewritten: Vec<f64>,
    blocked_in_runs: f64,
    blocked_in_picker: f64,
}

/// Since the command was given.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Picker {
    shown: f64,
    first_rows: f64,
    all_rows: f64,
}

fn run_script() -> Result<Report, Failure> {
    let addon = build::addon()?;
    node::install_packages()?;
    let scratch = Scratch::new("plugin");
    let mut command = node::command("node", &workspace::root().join("tests/bench"))?;
    command.arg("plugin.mjs").arg(addon).arg(scratch.path());
    Ok(serde_json::from_str(&program::output(&mut command)?)?)
}

fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn line(name: &str, values: &[f64], limit_ms: f64) -> Line {
    let most = values.iter().copied().fold(0.0, f64::max);
    let detail = format!("p50 of {}, slowest {most:.1} ms", values.len());
    Line::at_most(name, median(values.iter().copied()), limit_ms, " ms", &detail)
}

/// Bar 1.
pub(crate) fn measure_picker() -> Result<Vec<Line>, Failure> {
    let report = run_script()?;
    let times = |of: fn(&Picker) -> f64| report.picker.iter().map(of).collect::<Vec<f64>>();
    let shown = format!("picker {:.1} ms, runs {:.1} ms", report.blocked_in_picker, report.blocked_in_runs);
    Ok(vec![
        line("the list is on the screen, 1,000 files x 100 messages", &times(|one| one.shown), 50.0),
        line("its first page has counts", &times(|one| one.first_rows), 50.0),
        line("all of its rows have counts", &times(|one| one.all_rows), 300.0),
        line("10,000 rewritten lines counted", &report.rewritten, 100.0),
        Line::at_most(
            "pi's event loop blocked, at most",
            report.blocked_in_picker.max(report.blocked_in_runs),
            10.0,
            " ms",
            &shown,
        ),
    ])
}

/// Bar 2.
pub(crate) fn measure_hooks() -> Result<Vec<Line>, Failure> {
    let report = run_script()?;
    Ok(vec![
        line("before_agent_start, 1,000 tracked, 3 changed", &report.before_agent_start, 6.0),
        line("tool_call on a tracked file", &report.known_file, 1.0),
        line("tool_call on a new file of 8 KB", &report.new_file, 2.0),
    ])
}
