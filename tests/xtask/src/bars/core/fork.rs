//! Bar 5: a fork of a long session costs next to nothing.

use std::time::Instant;

use candy_store::{Forked, PointKind, SnapshotRequest, Store, StoreOptions};
use candy_store_tests::agent::session_options;
use candy_store_tests::baseline::disk_usage;
use candy_store_tests::rng::Rng;
use candy_store_tests::scratch::Scratch;
use candy_store_tests::stats::{Samples, show};
use candy_store_tests::workload::{project, write_project};

use crate::Failure;
use crate::bars::Line;

const FILES: usize = 1000;
const POINTS: usize = 200;
const FORKS: usize = 11;

/// Measures the two lines.
pub(crate) fn measure() -> Result<Vec<Line>, Failure> {
    let measured = forks()?;
    let ms = measured.times.median().as_secs_f64() * 1000.0;
    let mean = measured.grown_bytes.iter().sum::<u64>() as f64 / FORKS as f64 / 1000.0;
    let most = measured.grown_bytes.iter().max().copied().unwrap_or(0) as f64 / 1000.0;
    let times = format!("p50 of {FORKS}, slowest {}", show(measured.times.max()));
    let sizes = format!("mean of {FORKS}, most {most:.0} kB");
    Ok(vec![
        Line::at_most("fork of 200 points x 1,000 files", ms, 10.0, " ms", &times),
        Line::at_most("growth of the store by a fork", mean, 100.0, " kB", &sizes),
    ])
}

/// Measured forks.
pub(crate) struct Forks {
    pub(crate) times: Samples,
    /// By how much the closed store's directory grew with each.
    grown_bytes: Vec<u64>,
}

/// Makes a session of 200 points of 1,000 files and forks it again and again.
pub(crate) fn forks() -> Result<Forks, Failure> {
    let scratch = Scratch::new("fork");
    let (store_path, cwd) = (scratch.join("store"), scratch.join("work"));
    let files = project(21, FILES, 1500);
    write_project(&cwd, &files);
    let paths: Vec<_> = files.iter().map(|file| cwd.join(&file.path)).collect();
    let store = Store::open(&store_path, &StoreOptions::default())?;
    let session = store.open_session(&session_options("long", &cwd))?;
    session.snapshot(&SnapshotRequest { add: paths.clone(), ..SnapshotRequest::of(PointKind::Baseline) })?;
    let mut rng = Rng::new(22);
    for point in 1..POINTS {
        for _ in 0..rng.within(1..=5) {
            std::fs::write(rng.pick(&paths), format!("changed before point {point}: {}\n", rng.next_u64()))?;
        }
        session.snapshot(&SnapshotRequest::of(PointKind::Operation))?;
    }
    drop(session);
    store.close()?;
    let mut times = Vec::new();
    let mut grown_bytes = Vec::new();
    for fork in 0..FORKS {
        let before = disk_usage(&store_path)?;
        let store = Store::open(&store_path, &StoreOptions::default())?;
        let start = Instant::now();
        let forked = store.fork("long", &format!("fork{fork}"), &cwd)?;
        times.push(start.elapsed());
        assert_eq!(forked, Forked::Yes { points: POINTS as u64 });
        store.close()?;
        grown_bytes.push(disk_usage(&store_path)?.saturating_sub(before));
    }
    Ok(Forks { times: Samples::new(times), grown_bytes })
}
