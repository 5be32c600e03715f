//! Bar 1: a first backup costs what its syncs cost, a batch is an order of magnitude cheaper than loose files, and a file
//! that is tracked already costs nothing.

use std::time::{Duration, Instant};

use candy_store::{PointKind, SnapshotRequest, Store, StoreOptions};
use candy_store_tests::agent::session_options;
use candy_store_tests::baseline;
use candy_store_tests::scratch::Scratch;
use candy_store_tests::stats::{Paired, Samples, show};
use candy_store_tests::worker::Worker;
use candy_store_tests::workload::{project, write_project};
use serde_json::Value;

use crate::bars::Line;
use crate::{Failure, build, node, program, workspace};

const FILE_BYTES: usize = 8 * 1024;
const BATCH_FILES: usize = 1000;

/// Measures the three lines.
pub(crate) fn measure() -> Result<Vec<Line>, Failure> {
    let single = through_the_addon(300)?;
    let batch = batch(7)?;
    let pair = |paired: &Paired| format!("{} / {}", show(paired.subject.median()), show(paired.baseline.median()));
    let again = format!("{} tool calls, {:.0} ns each", single.again_calls, single.again_ns_per_call);
    let moved = single.again_addon_calls + single.again_bytes;
    Ok(vec![
        Line::at_most(
            "first backup of 8 KB / its bare syncs, p50",
            single.paired.ratio(),
            2.0,
            "x",
            &pair(&single.paired),
        ),
        Line::at_most("1,000 x 8 KB in one point / loose files", batch.ratio(), 0.1, "x", &pair(&batch)),
        Line::none("I/O of a tool call on a tracked file", moved, &again),
    ])
}

/// What the script of `tests/bench/addon-backup.mjs` reported.
pub(crate) struct ThroughAddon {
    /// First-time `track` of a fresh file against the bare syncs.
    pub(crate) paired: Paired,
    again_calls: u64,
    again_addon_calls: usize,
    again_bytes: usize,
    again_ns_per_call: f64,
}

/// Backs up `rounds` fresh files from Node, each in turn with one bare append, sync and commit.
pub(crate) fn through_the_addon(rounds: usize) -> Result<ThroughAddon, Failure> {
    let addon = build::addon()?;
    node::install_packages()?;
    let scratch = Scratch::new("backup");
    let work = scratch.join("work");
    // The script's first rounds only warm up.
    write_project(&work, &project(11, rounds + 20, FILE_BYTES));
    let mut command = node::command("node", &workspace::root().join("tests/bench"))?;
    command.arg("addon-backup.mjs").arg(addon).arg(scratch.join("store")).arg(work);
    let bare = Worker::Baseline { directory: scratch.join("bare") };
    command.arg(std::env::current_exe()?).arg("worker").args(bare.arguments());
    let report: Value = serde_json::from_str(&program::output(&mut command)?)?;
    let samples = |name: &str| -> Result<Samples, Failure> {
        let values = report[name].as_array().ok_or_else(|| format!("the script reported no {name}"))?;
        Ok(Samples::new(values.iter().filter_map(Value::as_u64).map(Duration::from_nanos).collect()))
    };
    let paired = Paired { baseline: samples("baselineNs")?, subject: samples("trackNs")? };
    let again = &report["again"];
    let count = |name: &str| again[name].as_i64().ok_or_else(|| format!("the script reported no {name}"));
    Ok(ThroughAddon {
        paired,
        again_calls: count("calls")?.unsigned_abs(),
        again_addon_calls: usize::try_from(count("addonCalls")?)?,
        again_bytes: usize::try_from(count("bytes")?.max(0))?,
        again_ns_per_call: again["nsPerCall"].as_f64().unwrap_or(f64::NAN),
    })
}

/// Takes one point with 1,000 new files, in turns with writing them as loose objects.
pub(crate) fn batch(rounds: usize) -> Result<Paired, Failure> {
    let scratch = Scratch::new("batch");
    let round_files = |round: usize| project(100 + round as u64, BATCH_FILES, FILE_BYTES);
    let store = Store::open(&scratch.join("store"), &StoreOptions::default())?;
    let measured = Paired::interleave(
        0,
        rounds,
        |round| {
            let loose = scratch.join(&format!("loose{round}"));
            baseline::loose_files(&loose, &round_files(round)).expect("loose files can be written")
        },
        |round| {
            let cwd = scratch.join(&format!("work{round}"));
            let files = round_files(round);
            write_project(&cwd, &files);
            let add = files.iter().map(|file| cwd.join(&file.path)).collect();
            let session = store.open_session(&session_options(&format!("batch{round}"), &cwd));
            let session = session.expect("a session can be opened");
            let request = SnapshotRequest { add, ..SnapshotRequest::of(PointKind::Manual) };
            let start = Instant::now();
            let outcome = session.snapshot(&request).expect("a point can be taken");
            let elapsed = start.elapsed();
            assert_eq!(outcome.point.files, BATCH_FILES as u64);
            elapsed
        },
    );
    store.close()?;
    Ok(measured)
}
