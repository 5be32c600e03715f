//! `gc`: removes what nothing needs any more.

use std::time::{Duration, Instant};

use candy_store::gc::{GcOptions, GcReport};
use candy_store::{ErrorKind, Store};
use serde::Serialize;

use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::text::{count, size};
use crate::world::World;

/// Pause before asking again for what another process holds.
const RETRY: Duration = Duration::from_millis(100);

/// Collections in a row; what is left then is left for the next time.
const ROUNDS_MAX: u32 = 1000;

/// Options of `gc`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Change nothing, only say what would be freed.
    #[arg(long)]
    dry_run: bool,
    /// Collect even if it is not worth it yet, and for small gains.
    #[arg(long)]
    force: bool,
}

#[derive(Serialize)]
struct ReportJson<'a> {
    r#type: &'static str,
    dry_run: bool,
    ran: bool,
    dropped_objects: u64,
    freed_bytes: u64,
    rewritten_segments: u64,
    unlinked_segments: u64,
    removed_files: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    held_back: Option<&'a str>,
    more: bool,
}

/// Runs `gc`.
pub(crate) fn run(world: &mut World, options: &Options) -> Result<Exit> {
    world.refuse_null("gc")?;
    if !options.dry_run {
        world.refuse_read_only("collect garbage")?;
    }
    let store = world.open()?;
    let report = {
        let _progress = world.progress("collecting garbage");
        collect(&store, options, world.global.lock_wait)?
    };
    if world.out.json {
        world.out.document(&ReportJson {
            r#type: "gc",
            dry_run: options.dry_run,
            ran: report.ran,
            dropped_objects: report.dropped_objects,
            freed_bytes: report.freed_bytes,
            rewritten_segments: report.rewritten_segments,
            unlinked_segments: report.unlinked_segments,
            removed_files: report.removed_files,
            held_back: report.held_back.as_deref(),
            more: report.more,
        })?;
    } else {
        print(world, &report, options)?;
    }
    if let Some(why) = &report.held_back {
        if !world.out.json {
            world.out.warn(&format!("something that could go was kept: {why}"));
        }
        return Ok(Exit::Damage);
    }
    Ok(Exit::Ok)
}

/// Collects until nothing is left to do. Waits for another process that does the same.
fn collect(store: &Store, options: &Options, wait: Duration) -> Result<GcReport> {
    let until = Instant::now() + wait;
    let mut force = options.force;
    let mut sum = GcReport::default();
    for _ in 0..ROUNDS_MAX {
        let report = store.gc(&GcOptions { force, dry_run: options.dry_run })?;
        if !report.ran {
            if sum.ran {
                return Ok(sum);
            }
            if !force && !store.gc_due()? {
                return foresee(store);
            }
            if Instant::now() >= until {
                return Err(Failure::new(ErrorKind::LockTimeout, "cannot collect garbage: another process does it")
                    .hint("wait for it, or give more time with --lock-wait"));
            }
            std::thread::sleep(RETRY);
            continue;
        }
        let progressed = report.dropped_objects + report.freed_bytes + report.removed_files > 0;
        add(&mut sum, report);
        if !sum.more || !progressed || options.dry_run || sum.held_back.is_some() {
            break;
        }
        // The first round did what was due; the rest of it is due as well.
        force = true;
    }
    Ok(sum)
}

/// What `--force` would do: why a collection is not due yet, or held back.
fn foresee(store: &Store) -> Result<GcReport> {
    let report = store.gc(&GcOptions { force: true, dry_run: true })?;
    Ok(GcReport { ran: false, ..report })
}

fn add(sum: &mut GcReport, report: GcReport) {
    sum.ran = true;
    sum.dropped_objects += report.dropped_objects;
    sum.freed_bytes += report.freed_bytes;
    sum.rewritten_segments += report.rewritten_segments;
    sum.unlinked_segments += report.unlinked_segments;
    sum.removed_files += report.removed_files;
    sum.held_back = report.held_back;
    sum.more = report.more;
}

fn print(world: &mut World, report: &GcReport, options: &Options) -> Result<()> {
    if !report.ran {
        if report.held_back.is_some() {
            return Ok(());
        }
        return world.out.line(&match report.freed_bytes {
            0 => "nothing to do: nothing can be freed".to_owned(),
            bytes => format!("not due yet: --force would free {}", size(bytes)),
        });
    }
    let verb = if options.dry_run { "would free" } else { "freed" };
    let dropped = count(report.dropped_objects, "object", "objects");
    world.out.line(&format!("{verb} {}: {dropped} dropped", size(report.freed_bytes)))?;
    for (number, one, many) in [
        (report.unlinked_segments, "segment removed", "segments removed"),
        (report.rewritten_segments, "of them rewritten", "of them rewritten"),
        (report.removed_files, "other file removed", "other files removed"),
    ] {
        if number > 0 {
            world.out.line(&format!("  {}", count(number, one, many)))?;
        }
    }
    if report.more && report.held_back.is_none() {
        world.out.note("there is more to collect; run it again");
    }
    Ok(())
}
