//! Bar 4: every damage is found or of no consequence, wrong bytes are never returned, and a lost index comes back.

use std::time::Duration;

use candy_store_tests::child::Worker as Process;
use candy_store_tests::damage_trial::Verdict;
use candy_store_tests::scratch::Scratch;
use candy_store_tests::worker::Worker;
use candy_store_tests::{inventory, sample, verify};

use crate::Failure;
use crate::bars::Line;
use crate::crash::program;

const DAMAGES: u64 = 1000;
const SEED: u64 = 44;
/// One damage takes some 20 ms; a worker that is silent for so long hangs.
const SILENCE_MAX: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
struct Tally {
    found: usize,
    slack: usize,
    missed: usize,
    wrong: usize,
    died: usize,
}

/// Measures the lines.
pub(crate) fn measure() -> Result<Vec<Line>, Failure> {
    let scratch = Scratch::new("damage");
    let store = scratch.join("store");
    sample::make(&store, &scratch.join("work"))?;
    let tally = damage(&scratch)?;
    let tried = format!("{} found, {} in slack, of {DAMAGES}", tally.found, tally.slack);
    let rebuilt = rebuild(&store)?;
    if tally.missed + tally.wrong + tally.died + rebuilt.0 > 0 {
        eprintln!("   the stores are in {}", scratch.keep().display());
    }
    Ok(vec![
        Line::none("damages that fsck --read-data did not find", tally.missed, &tried),
        Line::none("wrong bytes from a damaged store", tally.wrong, &format!("of {DAMAGES} stores")),
        Line::none("panics, aborts and hangs", tally.died, &format!("of {DAMAGES} stores")),
        Line::none("lost with the index, after the rebuild", rebuilt.0, &format!("of {} things", rebuilt.1)),
    ])
}

/// Damages in a process of their own: one that dies or hangs costs one damage, not the run.
fn damage(scratch: &Scratch) -> Result<Tally, Failure> {
    let mut tally = Tally::default();
    let mut next = 0;
    while next < DAMAGES {
        let copy = format!("copy{next}");
        let work = Worker::Damage {
            store: scratch.join("store"),
            copy: scratch.join(&copy),
            seed: SEED,
            numbers: next..DAMAGES,
        };
        let mut process = Process::spawn(&mut program()?(&work.arguments()))?;
        while let Some(line) = process.next_line(SILENCE_MAX) {
            let mut words = line.splitn(3, ' ');
            let number: u64 = words.next().unwrap_or_default().parse()?;
            let verdict = words.next().and_then(Verdict::parse).ok_or_else(|| format!("not a verdict: {line}"))?;
            match verdict {
                Verdict::Found => tally.found += 1,
                Verdict::Slack => tally.slack += 1,
                Verdict::Missed => tally.missed += 1,
                Verdict::Wrong => tally.wrong += 1,
            }
            if matches!(verdict, Verdict::Missed | Verdict::Wrong) {
                eprintln!("   {line}");
            }
            next = number + 1;
        }
        let ended = process.kill()?;
        if next < DAMAGES {
            // The next process makes a copy of its own: this one stays as it killed its checker.
            eprintln!("   damage {next}: the process ended with {}, its store is {copy}", ended.status);
            tally.died += 1;
            next += 1;
        }
    }
    Ok(tally)
}

/// Deletes the index, rebuilds it, and counts what is not as before: (lost, of).
fn rebuild(store: &std::path::Path) -> Result<(usize, usize), Failure> {
    let (before, _) = inventory::take(store);
    let complaints = verify::lose_and_rebuild_index(store);
    let (after, _) = inventory::take(store);
    let mut lines = inventory::differences(&before, &after);
    lines.extend(complaints);
    lines.extend(verify::findings(store, true));
    lines.iter().take(10).for_each(|line| eprintln!("   {line}"));
    Ok((lines.len(), before.len()))
}
