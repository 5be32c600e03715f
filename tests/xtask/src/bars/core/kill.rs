//! Bar 3: nothing acknowledged is lost, whoever is killed and however many compete.

use candy_store_tests::crash::{self, CrashOptions};

use crate::Failure;
use crate::bars::Line;
use crate::crash::program;

const KILLS: usize = 500;
const WRITERS: usize = 4;
const SECONDS: u64 = 60;

/// Measures the lines.
pub(crate) fn measure() -> Result<Vec<Line>, Failure> {
    let options =
        CrashOptions { processes: 3, kills: KILLS, kills_per_store: 25, pause_ms_min: 10, pause_ms_max: 120, seed: 31 };
    let killed = crash::kill_agents(&options, &program()?)?;
    let competed = crash::compete(WRITERS, SECONDS, 32, &program()?)?;
    crate::crash::complain(&killed);
    crate::crash::complain(&competed);
    let checked = format!("{} promises, {} fscks", killed.promises, killed.fscks);
    let work = format!("{} promises in {SECONDS} s", competed.promises);
    Ok(vec![
        Line::at_least(
            "kills over 3 processes",
            killed.kills as f64,
            KILLS as f64,
            "",
            &format!("{} stores", killed.stores),
        ),
        Line::none("lost, half visible or unclean", killed.violations.len(), &checked),
        Line::none("errors with 4 writers and a collector", competed.violations.len(), &work),
    ])
}
