//! `fsck`: checks the store, repairs it, makes its index anew.

mod json;
mod report;

use std::path::Path;
use std::sync::Arc;

use candy_store::fsck::{self, FindingKind, FsckOptions, FsckReport, RebuildOptions, RepairOptions, Severity};
use candy_store::io::RealIo;

use crate::ask::{Answer, confirm};
use crate::commands::fsck::json::{FindingJson, RebuildJson, RepairJson, SummaryJson};
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::place::Place;
use crate::text::{count, printable_path};
use crate::world::World;

/// Options of `fsck`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Read every content and verify its hash, and verify the index.
    #[arg(long)]
    read_data: bool,
    /// Repair: set damaged bytes aside, heal contents from copies, record what is lost, finish deletions.
    #[arg(long, conflicts_with = "rebuild_index")]
    repair: bool,
    /// Make a new index from the segments. The one before is kept.
    #[arg(long)]
    rebuild_index: bool,
    /// Do not ask.
    #[arg(short, long)]
    yes: bool,
}

/// Runs `fsck`.
pub(crate) fn run(world: &mut World, options: &Options) -> Result<Exit> {
    world.refuse_null("fsck")?;
    if options.repair || options.rebuild_index {
        world.refuse_read_only("repair the store")?;
    }
    let place = world.place()?;
    if options.rebuild_index {
        rebuild(world, options, &place)
    } else if options.repair {
        repair(world, options, &place)
    } else {
        let checked = check(world, &place, options.read_data)?;
        print_findings(world, &checked)?;
        print_summary(world, &checked)?;
        Ok(exit_of(&checked))
    }
}

fn exit_of(report: &FsckReport) -> Exit {
    if report.is_clean() { Exit::Ok } else { Exit::Damage }
}

fn check(world: &World, place: &Place, read_data: bool) -> Result<FsckReport> {
    let progress = world.progress("checking the store");
    let options = FsckOptions {
        read_data,
        read_only: world.global.read_only,
        lock_wait: world.global.lock_wait,
        progress: progress.of_check(),
    };
    fsck::check_path(Arc::new(RealIo), &place.path, &options).map_err(|error| place.explain(error.into()))
}

fn print_findings(world: &mut World, report: &FsckReport) -> Result<()> {
    for finding in &report.findings {
        if world.out.json {
            world.out.document(&FindingJson::of(finding))?;
        } else {
            for line in report::finding(finding, world.out.paint, world.out.verbose) {
                world.out.line(&line)?;
            }
        }
    }
    Ok(())
}

fn print_summary(world: &mut World, report: &FsckReport) -> Result<()> {
    if world.out.json {
        return world.out.document(&SummaryJson::of(report));
    }
    if !world.out.quiet {
        world.out.line(&report::summary(report))?;
    }
    Ok(())
}

/// Whether a repair could do something about a finding.
fn is_repairable(kind: FindingKind) -> bool {
    kind.severity() == Severity::Damage
        || matches!(kind, FindingKind::Readme | FindingKind::ObjectLost | FindingKind::UnlinkPending)
}

fn repair(world: &mut World, options: &Options, place: &Place) -> Result<Exit> {
    // A repair reads everything: what is shown must be what it acts on.
    let checked = check(world, place, true)?;
    print_findings(world, &checked)?;
    if !checked.findings.iter().any(|finding| is_repairable(finding.kind)) {
        if world.out.json {
            world.out.document(&RepairJson::nothing_to_do())?;
        } else {
            world.out.line("nothing to repair")?;
        }
        return Ok(Exit::Ok);
    }
    world.out.note(
        "A repair copies damaged bytes to quarantine/, heals contents from copies where there are some, records what \
         is lost, corrects counts and finishes deletions. No other program may use the store meanwhile.",
    );
    if confirm(&mut world.out, &format!("Repair the store in {}?", printable_path(&place.path)), options.yes)?
        == Answer::No
    {
        return refused(world);
    }
    let repaired = {
        let progress = world.progress("repairing");
        let options = RepairOptions { lock_wait: world.global.lock_wait, progress: progress.of_check() };
        fsck::repair(Arc::new(RealIo), &place.path, &options).map_err(|error| explain_busy(error.into()))?
    };
    if world.out.json {
        world.out.document(&RepairJson::of(&repaired))?;
    } else {
        list(world, &repaired.actions)?;
        for lost in &repaired.lost {
            for line in report::finding(lost, world.out.paint, world.out.verbose) {
                world.out.line(&line)?;
            }
        }
        let left = repaired.after.findings.iter().filter(|finding| finding.severity() == Severity::Damage);
        let left = count(left.count() as u64, "damage", "damages");
        let lost = count(repaired.lost.len() as u64, "content", "contents");
        world.out.line(&format!("repaired: {} healed, {lost} lost, {left} left", repaired.healed))?;
    }
    Ok(if repaired.lost.is_empty() { exit_of(&repaired.after) } else { Exit::Damage })
}

fn rebuild(world: &mut World, options: &Options, place: &Place) -> Result<Exit> {
    check_exists(&place.path).map_err(|failure| place.explain(failure))?;
    world.out.note(
        "A new index is made from what the segments say. Sessions, points and redo items come back as they were last \
         recorded; the index before is kept beside it. No other program may use the store meanwhile.",
    );
    let question = format!("Make the index of {} anew?", printable_path(&place.path));
    if confirm(&mut world.out, &question, options.yes)? == Answer::No {
        return refused(world);
    }
    let rebuilt = {
        let progress = world.progress("making the index anew");
        let options = RebuildOptions { lock_wait: world.global.lock_wait, progress: progress.of_check() };
        fsck::rebuild(Arc::new(RealIo), &place.path, &options)
            .map_err(|error| explain_busy(place.explain(error.into())))?
    };
    if world.out.json {
        world.out.document(&RebuildJson::of(&rebuilt))?;
    } else {
        list(world, &rebuilt.actions)?;
        for loss in &rebuilt.losses {
            let line = format!("{} {loss}", world.out.paint.warning("lost:"));
            world.out.line(&line)?;
        }
        world.out.line(&report::rebuilt(&rebuilt))?;
        if let Some(old) = &rebuilt.old_index {
            world.out.note(&format!("the index before is kept as {}", printable_path(old)));
        }
        world.out.note("check the store now: candy-store fsck --read-data");
    }
    Ok(if rebuilt.losses.is_empty() { Exit::Ok } else { Exit::Damage })
}

/// Asks nobody about a store that is not there.
fn check_exists(path: &Path) -> Result<()> {
    match path.symlink_metadata() {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(Failure::new(
            candy_store::ErrorKind::NoStore,
            format!("cannot open the store {}: there is no store", printable_path(path)),
        )),
        Err(error) => Err(Failure::io("open the store", path, error)),
    }
}

fn list(world: &mut World, actions: &[String]) -> Result<()> {
    actions.iter().try_for_each(|action| world.out.line(&crate::text::printable(action)))
}

fn refused(world: &mut World) -> Result<Exit> {
    world.out.note("nothing was changed");
    Ok(Exit::Failed)
}

/// A live agent holds the locks that a repair needs: say so.
fn explain_busy(failure: Failure) -> Failure {
    if failure.exit() == Exit::LockTimeout {
        return failure.hint("close the agents that use this store, or give more time with --lock-wait");
    }
    failure
}
