//! `stats`: what the store holds, and what that takes on disk.

mod json;

use std::path::Path;

use candy_store::stats::{DiskStats, PathStats, SessionStats, StoreStats};

use crate::commands::stats::json::StatsJson;
use crate::exit::Exit;
use crate::failure::Result;
use crate::style::Paint;
use crate::table::{Cell, Column, Table};
use crate::text::{bar, count, printable, printable_path, size};
use crate::time::{age, now_ms};
use crate::world::World;

/// Length of the longest bar in a list.
const BAR_COLUMNS: usize = 10;

/// Options of `stats`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// How many sessions and paths to list, the largest; 0 = all.
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 10)]
    top: usize,
}

/// Runs `stats`.
pub(crate) fn run(world: &mut World, options: &Options) -> Result<Exit> {
    world.refuse_null("stats")?;
    let store = world.open()?;
    let stats = {
        let _progress = world.progress("counting");
        store.stats()?
    };
    let top = if options.top == 0 { usize::MAX } else { options.top };
    if world.out.json {
        world.out.document(&StatsJson::of(store.path(), &stats, top))?;
    } else {
        print(world, store.path(), &stats, top)?;
    }
    if stats.unreadable_nodes > 0 {
        let nodes = count(stats.unreadable_nodes, "manifest node", "manifest nodes");
        world.out.warn(&format!("{nodes} cannot be read; run `candy-store fsck --read-data`"));
        return Ok(Exit::Damage);
    }
    Ok(Exit::Ok)
}

/// "3.81 : 1", or "1 : 25" where it grew much; nothing when there is nothing to compare.
fn ratio(before: u64, after: u64) -> String {
    match before as f64 / after as f64 {
        _ if before == 0 || after == 0 => String::new(),
        ratio if ratio >= 99.95 => format!("{ratio:.0} : 1"),
        ratio if ratio >= 9.995 => format!("{ratio:.1} : 1"),
        ratio if ratio >= 0.1 => format!("{ratio:.2} : 1"),
        ratio => format!("1 : {:.0}", 1.0 / ratio),
    }
}

fn print(world: &mut World, path: &Path, stats: &StoreStats, top: usize) -> Result<()> {
    let with_bars = world.out.columns.is_some();
    let heading = |world: &mut World, text: &str| {
        let text = world.out.paint.bold(text);
        world.out.line(&text)
    };
    world.out.line(&format!(
        "{}: {} in {}, {}",
        printable_path(path),
        count(stats.points, "point", "points"),
        count(stats.sessions.len() as u64, "session", "sessions"),
        size(stats.disk.total_bytes)
    ))?;
    world.out.line("")?;
    heading(world, "What is saved")?;
    savings(stats).print(&mut world.out)?;
    world.out.line("")?;
    heading(world, "On disk")?;
    disk(&stats.disk, with_bars).print(&mut world.out)?;
    if !stats.sessions.is_empty() {
        world.out.line("")?;
        heading(world, &title("Sessions", top, stats.sessions.len()))?;
        sessions(&stats.sessions, top, with_bars).print(&mut world.out)?;
    }
    if !stats.paths.is_empty() {
        world.out.line("")?;
        heading(world, &title("Paths", top, stats.paths.len()))?;
        paths(&stats.paths, top, with_bars).print(&mut world.out)?;
    }
    Ok(())
}

fn title(what: &str, top: usize, all: usize) -> String {
    if all > top { format!("{what} (the largest {top} of {all})") } else { what.to_owned() }
}

/// How versions become bytes on disk, step by step.
fn savings(stats: &StoreStats) -> Table {
    let mut table = Table::new(&[
        ("", Column::Left),
        ("NUMBER", Column::Right),
        ("BEFORE", Column::Right),
        ("AFTER", Column::Right),
        ("RATIO", Column::Right),
    ]);
    let contents = stats.contents();
    let mut row = |name: &str, number: u64, before: u64, after: u64| {
        if number > 0 {
            let cells = [name.to_owned(), number.to_string(), size(before), size(after), ratio(before, after)];
            table.row(cells.into_iter().map(Cell::from).collect());
        }
    };
    row("dedup (versions)", stats.versions, stats.version_bytes, contents.raw_bytes);
    for (name, form) in [
        ("zstd (contents)", &stats.full),
        ("delta (contents)", &stats.deltas),
        ("zstd (large contents)", &stats.large),
        ("manifests", &stats.nodes),
    ] {
        row(name, form.objects, form.raw_bytes, form.stored_bytes);
    }
    row("together", stats.versions, stats.version_bytes, stats.disk.total_bytes);
    table
}

fn disk(disk: &DiskStats, with_bars: bool) -> Table {
    let mut table = Table::new(&[("", Column::Left), ("SIZE", Column::Right), ("", Column::Left)]);
    let mut row = |name: &str, bytes: u64| {
        let bar = if with_bars { bar(bytes, disk.total_bytes, 2 * BAR_COLUMNS) } else { String::new() };
        table.row(vec![name.into(), size(bytes).into(), Cell::painted(bar, Paint::hunk)]);
    };
    row(&format!("segments ({})", disk.segments), disk.segment_bytes);
    row("  contents and manifests", disk.live_bytes);
    row("  journal", disk.journal_bytes);
    row("  slack", disk.slack_bytes);
    row("large contents", disk.large_bytes);
    row("index", disk.index_bytes);
    if disk.quarantine_bytes > 0 {
        row("quarantine", disk.quarantine_bytes);
    }
    row("garbage, for gc to drop", disk.garbage_bytes);
    row("everything", disk.total_bytes);
    table
}

fn sessions(all: &[SessionStats], top: usize, with_bars: bool) -> Table {
    let mut table = Table::new(&[
        ("SESSION", Column::Flexible),
        ("LAST", Column::Left),
        ("POINTS", Column::Right),
        ("FILES", Column::Right),
        ("VERSIONS", Column::Right),
        ("PLAIN", Column::Right),
        ("STORED", Column::Right),
        ("OWN", Column::Right),
        ("", Column::Left),
    ]);
    let most = all.iter().map(|session| session.stored_bytes).max().unwrap_or(0);
    let now = now_ms();
    for session in all.iter().take(top) {
        let bar = if with_bars { bar(session.stored_bytes, most, BAR_COLUMNS) } else { String::new() };
        table.row(vec![
            Cell::painted(printable(&session.id), Paint::name),
            age(now, session.last_event_ms).into(),
            session.points.to_string().into(),
            session.tracked.to_string().into(),
            session.versions.to_string().into(),
            size(session.version_bytes).into(),
            size(session.stored_bytes).into(),
            size(session.own_bytes).into(),
            Cell::painted(bar, Paint::hunk),
        ]);
    }
    table
}

fn paths(all: &[PathStats], top: usize, with_bars: bool) -> Table {
    let mut table = Table::new(&[
        ("VERSIONS", Column::Right),
        ("PLAIN", Column::Right),
        ("STORED", Column::Right),
        ("", Column::Left),
        ("PATH", Column::Flexible),
    ]);
    let most = all.iter().map(|path| path.stored_bytes).max().unwrap_or(0);
    for path in all.iter().take(top) {
        let bar = if with_bars { bar(path.stored_bytes, most, BAR_COLUMNS) } else { String::new() };
        table.row(vec![
            path.versions.to_string().into(),
            size(path.version_bytes).into(),
            size(path.stored_bytes).into(),
            Cell::painted(bar, Paint::hunk),
            printable_path(&path.path).into(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_short() {
        assert_eq!(ratio(381, 100), "3.81 : 1");
        assert_eq!(ratio(250, 10), "25.0 : 1");
        assert_eq!(ratio(25_000, 100), "250 : 1");
        assert_eq!(ratio(69, 100), "0.69 : 1");
        assert_eq!(ratio(1, 25), "1 : 25");
        assert_eq!(ratio(0, 100), "");
        assert_eq!(ratio(100, 0), "");
    }
}
