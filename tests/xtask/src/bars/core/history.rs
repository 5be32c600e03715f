//! Bar 2: a long history is small, and every version of it is read quickly.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use candy_store::tree::Entry;
use candy_store::{Hash, PointKind, SnapshotRequest, Store, StoreOptions};
use candy_store_tests::agent::session_options;
use candy_store_tests::baseline::disk_usage;
use candy_store_tests::rng::Rng;
use candy_store_tests::scratch::Scratch;
use candy_store_tests::stats::{Samples, show};
use candy_store_tests::workload::{History, HistoryShape};

use crate::Failure;
use crate::bars::Line;

const SHAPE: HistoryShape = HistoryShape { seed: 3, files: 30, versions: 3000, mean_bytes: 25_000 };
const SESSION: &str = "history";
const READ_LIMIT_MS: f64 = 2.0;

/// Measures the two lines.
pub(crate) fn measure() -> Result<Vec<Line>, Failure> {
    let scratch = Scratch::new("history");
    let written = write(&scratch.join("store"), &scratch.join("work"))?;
    let ratio = written.plain_bytes as f64 / written.store_bytes as f64;
    let index = std::fs::metadata(scratch.join("store/index.redb"))?.blocks() * 512;
    let [plain, store, index] = [written.plain_bytes, written.store_bytes, index].map(|bytes| bytes as f64 / 1e6);
    let sizes = format!("{plain:.1} MB in {store:.2} MB, index {index:.2}");
    let reads = read_all(&scratch.join("store"), &written.versions)?;
    let slowest_ms = reads.max().as_secs_f64() * 1000.0;
    let spread = format!("p50 {}, p99 {}", show(reads.median()), show(reads.percentile(99)));
    Ok(vec![
        Line::at_least("3,000 versions: plain copies / store", ratio, 25.0, "x", &sizes),
        Line::at_most("slowest read of any version, cold", slowest_ms, READ_LIMIT_MS, " ms", &spread),
    ])
}

/// A history in a store.
pub(crate) struct Written {
    plain_bytes: u64,
    store_bytes: u64,
    /// Each version's content, and its hash made without the engine.
    pub(crate) versions: Vec<(Hash, blake3::Hash)>,
    /// Taking the point of each version.
    pub(crate) points: Samples,
}

/// Takes a point after each version, as after each prompt of an agent that changes one file.
pub(crate) fn write(store_path: &Path, cwd: &Path) -> Result<Written, Failure> {
    std::fs::create_dir_all(cwd)?;
    let store = Store::open(store_path, &StoreOptions::default())?;
    let session = store.open_session(&session_options(SESSION, cwd))?;
    let mut plain_bytes = 0;
    let mut hashes = Vec::with_capacity(SHAPE.versions);
    let mut times = Vec::with_capacity(SHAPE.versions);
    for version in History::new(SHAPE) {
        let path = file_path(cwd, version.file);
        plain_bytes += version.bytes.len() as u64;
        hashes.push((version.file, blake3::hash(&version.bytes)));
        std::fs::write(&path, &version.bytes)?;
        session.track(&path)?;
        let start = Instant::now();
        session.snapshot(&SnapshotRequest::of(PointKind::Operation))?;
        times.push(start.elapsed());
    }
    let points = store.points(SESSION)?;
    assert_eq!(points.len(), hashes.len());
    let mut versions = Vec::with_capacity(hashes.len());
    for (point, (file, hash)) in points.iter().zip(hashes) {
        let path = session.tracked_path(&file_path(cwd, file))?;
        let entries = store.entries(point.roots)?;
        let entry = entries.iter().find(|(tracked, _)| *tracked == path).map(|(_, entry)| entry);
        let Some(Entry::File { content, .. }) = entry else {
            return Err(format!("point {} holds no {}", point.id, path.display()).into());
        };
        versions.push((*content, hash));
    }
    drop(session);
    store.close()?;
    Ok(Written { plain_bytes, store_bytes: disk_usage(store_path)?, versions, points: Samples::new(times) })
}

/// Reads every version in random order, each through a handle that has read nothing before, and checks its bytes.
pub(crate) fn read_all(store_path: &Path, versions: &[(Hash, blake3::Hash)]) -> Result<Samples, Failure> {
    let mut order: Vec<usize> = (0..versions.len()).collect();
    let mut rng = Rng::new(9);
    (1..order.len()).rev().for_each(|last| order.swap(last, rng.below(last + 1)));
    let mut times = Vec::with_capacity(order.len());
    for number in order {
        let (content, hash) = versions[number];
        // A slow one is tried again: what is slow by itself stays slow, what another process slowed down does not.
        let mut best = Duration::MAX;
        for _ in 0..3 {
            let store = Store::open(store_path, &StoreOptions { create: false, ..StoreOptions::default() })?;
            let start = Instant::now();
            let bytes = store.read_blob(content)?;
            best = best.min(start.elapsed());
            store.close()?;
            assert_eq!(blake3::hash(&bytes), hash, "version {number} reads as other bytes");
            if best.as_secs_f64() * 1000.0 <= READ_LIMIT_MS {
                break;
            }
        }
        times.push(best);
    }
    Ok(Samples::new(times))
}

fn file_path(cwd: &Path, file: usize) -> PathBuf {
    cwd.join(format!("file{file:02}.ts"))
}
