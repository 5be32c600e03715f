//! The points of one session, newest first.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use candy_store::lines::LineCounts;
use candy_store::{Point, PointKind, SessionSummary, Store};
use serde::Serialize;

use crate::compare::{Originals, Side, changes, count_lines, originals};
use crate::exit::Exit;
use crate::failure::Result;
use crate::json::PointJson;
use crate::names::digits_that_differ;
use crate::patch::plus_minus;
use crate::style::Paint;
use crate::table::{Cell, Column, Table};
use crate::text::{one_line, printable, printable_path};
use crate::time::{age, local, now_ms};
use crate::world::World;

/// Longest time for counting lines; past it counts are rough.
const COUNTING_WAIT: Duration = Duration::from_secs(3);

#[derive(Serialize)]
struct RowJson {
    r#type: &'static str,
    #[serde(flatten)]
    point: PointJson,
    /// The point is `SESSION:nth`.
    nth: u64,
    #[serde(flatten)]
    lines: Option<LinesJson>,
}

#[derive(Serialize)]
struct LinesJson {
    added: u64,
    removed: u64,
    approximate: bool,
}

/// Prints the points.
pub(super) fn run(world: &mut World, store: &Store, session: &SessionSummary, max: usize) -> Result<Exit> {
    let points = store.points(&session.id)?;
    let first = points.len().saturating_sub(max);
    let (counts, damaged) = {
        let _progress = world.progress("counting lines");
        count(store, &points, first)?
    };
    if world.out.json {
        for (at, point) in points.iter().enumerate().skip(first).rev() {
            let lines = counts.get(&at).map(|counts| LinesJson {
                added: counts.added,
                removed: counts.removed,
                approximate: counts.approximate,
            });
            let nth = (points.len() - at) as u64;
            world.out.document(&RowJson { r#type: "point", point: PointJson::of(point), nth, lines })?;
        }
    } else {
        let shown = &points[first..];
        let digits = digits_that_differ(shown.iter());
        world.out.note(&format!("session {} in {}", session.id, printable_path(&session.cwd)));
        table(world, &points, first, digits, &counts).print(&mut world.out)?;
    }
    if damaged > 0 {
        world
            .out
            .warn(&format!("{damaged} points hold contents that cannot be read; run `candy-store fsck --read-data`"));
        return Ok(Exit::Damage);
    }
    Ok(Exit::Ok)
}

fn table(world: &World, points: &[Point], first: usize, digits: usize, counts: &HashMap<usize, LineCounts>) -> Table {
    let mut table = Table::new(&[
        ("POINT", Column::Left),
        ("N", Column::Right),
        ("KIND", Column::Left),
        ("AGE", Column::Left),
        ("FILES", Column::Right),
        ("CHANGED", Column::Right),
        ("LINES", Column::Left),
        ("PROMPT", Column::Flexible),
    ]);
    let now = now_ms();
    for (at, point) in points.iter().enumerate().skip(first).rev() {
        let time = if world.out.verbose { local(point.created_ms) } else { age(now, point.created_ms) };
        // Its colours would count as columns, so that only the text without them is lined up.
        let lines = counts.get(&at).map(|counts| plus_minus(counts, Paint::off())).unwrap_or_default();
        table.row(vec![
            Cell::painted(&point.id.to_hex()[..digits], Paint::name),
            (points.len() - at).to_string().into(),
            Cell::painted(point.kind.word(), Paint::dim),
            time.into(),
            point.files.to_string().into(),
            point.changed.to_string().into(),
            lines.into(),
            about(point).into(),
        ]);
    }
    table
}

/// The prompt, and what keeps the turn after the point from being covered.
fn about(point: &Point) -> String {
    let prompt = point.prompt.as_deref().map(one_line).unwrap_or_default();
    if point.gaps.is_empty() {
        return prompt;
    }
    let gaps = format!("[not covered: {}]", printable(&point.gaps.join(", ")));
    if prompt.is_empty() { gaps } else { format!("{prompt} {gaps}") }
}

/// Lines that came and went since the point before, and the number of points for which that cannot be told.
fn count(store: &Store, points: &[Point], first: usize) -> Result<(HashMap<usize, LineCounts>, usize)> {
    let mut counts = HashMap::new();
    let mut damaged = 0;
    let Some(session) = points.first().map(|point| &point.session) else { return Ok((counts, 0)) };
    let originals = originals(store, session)?;
    let until = Instant::now() + COUNTING_WAIT;
    // A kept version holds one path alone: it is no state of the whole.
    let whole: Vec<usize> = (0..points.len()).filter(|at| points[*at].kind != PointKind::Kept).collect();
    // The first that is shown is compared with the one before it.
    let start = whole.partition_point(|at| *at < first).saturating_sub(1);
    let mut before: Option<Side> = None;
    for &at in &whole[start..] {
        let side = match Side::of_point(store, &points[at], Originals::clone(&originals)) {
            Ok(side) => side,
            Err(failure) if failure.is_damage() => {
                damaged += usize::from(at >= first);
                before = None;
                continue;
            }
            Err(failure) => return Err(failure),
        };
        if let Some(older) = before.as_ref().filter(|_| at >= first) {
            match between(store, older, &side, until) {
                Ok(sum) => {
                    counts.insert(at, sum);
                }
                Err(failure) if failure.is_damage() => damaged += 1,
                Err(failure) => return Err(failure),
            }
        }
        before = Some(side);
    }
    Ok((counts, damaged))
}

fn between(store: &Store, old: &Side, new: &Side, until: Instant) -> Result<LineCounts> {
    let mut sum = LineCounts::default();
    for change in changes(old, new, &new.paths()) {
        let counts = count_lines(store, old, new, &change, until)?;
        sum.added += counts.added;
        sum.removed += counts.removed;
        sum.approximate |= counts.approximate;
    }
    Ok(sum)
}
