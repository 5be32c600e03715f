//! In place, through the session's own plan: a redo point first, then file by file.

use std::collections::{BTreeSet, HashMap};

use candy_store::restore::{FileAction, Plan, PlannedFile, ResumeHow};
use candy_store::tree::TrackedPath;
use candy_store::{
    ErrorKind, PlanRequest, Point, PointKind, RestoreReport, Session, SessionOptions, SessionSummary, Store, Target,
};

use crate::commands::restore::report::{FileReport, Report};
use crate::commands::restore::{Options, Overwrite};
use crate::disk;
use crate::failure::{Failure, Result, no_such_path};
use crate::names::short;
use crate::paths;
use crate::text::files;
use crate::time::{age, now_ms};
use crate::world::World;

/// Restores, or says what would be restored.
pub(super) fn restore(
    world: &mut World,
    store: &Store,
    point: &Point,
    summary: &SessionSummary,
    options: &Options,
) -> Result<Report> {
    let only = wanted(store, point, summary, options)?;
    let session = store.open_session(&SessionOptions {
        id: summary.id.clone(),
        cwd: summary.cwd.clone(),
        exclude: Vec::new(),
        max_file_bytes: 0,
    })?;
    settle_unfinished(world, &session, options)?;
    let progress = world.progress("planning");
    let mut ticket = session.plan(&request(point, only.into_iter().collect(), options.dry_run))?;
    let mut report = Report {
        point: point.clone(),
        session: summary.clone(),
        dry_run: options.dry_run,
        to: None,
        redo_point: None,
        files: ticket.plan.files.iter().map(described).collect(),
        kept: Vec::new(),
        verified: None,
    };
    let mut to_do = ticket.plan.changed;
    if options.overwrite == Overwrite::Never {
        let missing = keep_what_is_there(&ticket.plan, &mut report);
        to_do = missing.len() as u64;
        // An empty list would mean every file.
        if to_do > 0 {
            ticket = session.plan(&request(point, missing, options.dry_run))?;
        }
    }
    drop(progress);
    if options.dry_run || to_do == 0 {
        report.verified = options.verify.then_some(0);
        return Ok(report);
    }
    let applied = {
        let _progress = world.progress("restoring");
        session.apply(ticket.id, 0)?
    };
    add_outcome(&mut report, applied);
    if options.verify {
        let _progress = world.progress("verifying");
        verify(&mut report, &ticket.plan);
    }
    Ok(report)
}

fn request(point: &Point, only: Vec<TrackedPath>, line_counts: bool) -> PlanRequest {
    PlanRequest { target: Target::Point(point.id), only, line_counts, protect_manual_edits: false }
}

/// The paths to restore; empty for all that the session tracks.
fn wanted(store: &Store, point: &Point, summary: &SessionSummary, options: &Options) -> Result<BTreeSet<TrackedPath>> {
    // A kept version holds one path and says nothing about the others: they must not go back to their originals.
    let kept_alone = point.kind == PointKind::Kept;
    if options.paths.is_empty() && !kept_alone {
        return Ok(BTreeSet::new());
    }
    // A restore touches what the session tracks; the point alone may know paths that are tracked no more.
    let mut tracked: BTreeSet<_> = store.session_originals(&summary.id)?.into_iter().map(|(path, _)| path).collect();
    if kept_alone {
        let held: BTreeSet<_> = store.entries(point.roots)?.into_iter().map(|(path, _)| path).collect();
        tracked.retain(|path| held.contains(path));
        if tracked.is_empty() {
            return Err(Failure::new(
                ErrorKind::NotFound,
                format!(
                    "cannot restore point {} in place: its session does not track its path any more",
                    short(point.id)
                ),
            )
            .hint("copy it out with --to DIR"));
        }
    }
    paths::select(&tracked, &summary.cwd, &options.paths, |path| no_such_path(path, &short(point.id)))
}

/// A restore that was interrupted is taken back before another one begins.
fn settle_unfinished(world: &mut World, session: &Session, options: &Options) -> Result<()> {
    for unfinished in session.unfinished_restores()? {
        let when = age(now_ms(), unfinished.created_ms);
        let what = format!("a restore of {} was interrupted {when}", files(unfinished.files));
        if options.dry_run {
            world.out.warn(&format!("{what}; it will be taken back first"));
            continue;
        }
        world.out.warn(&format!("{what}; it is taken back first"));
        let report = session.resume_restore(unfinished.id, ResumeHow::Rollback)?;
        for failed in &report.failed {
            world.out.warn(&format!("{}: {} [{}]", failed.path.display(), failed.message, failed.code));
        }
    }
    Ok(())
}

fn described(file: &PlannedFile) -> FileReport {
    FileReport {
        reason: file.reason.map(|reason| reason.word()),
        counts: (file.action.changes() && file.action != FileAction::Chmod).then_some(file.counts),
        changed_by_hand: file.changed_by_hand,
        ..FileReport::new(file.path.clone(), file.action.word())
    }
}

/// With `--overwrite never` only missing files come back; the paths of these.
fn keep_what_is_there(plan: &Plan, report: &mut Report) -> Vec<TrackedPath> {
    for file in report.files.iter_mut().filter(|file| matches!(file.action, "modify" | "delete" | "chmod")) {
        file.action = "keep";
        file.counts = None;
    }
    plan.files.iter().filter(|file| file.action == FileAction::Create).map(|file| file.path.clone()).collect()
}

fn add_outcome(report: &mut Report, applied: RestoreReport) {
    let mut failed: HashMap<_, _> =
        applied.failed.into_iter().map(|file| (file.path, (file.message, file.code))).collect();
    for file in &mut report.files {
        file.error = failed.remove(&file.path);
    }
    report.redo_point = Some(applied.redo_point);
    report.kept = applied.kept;
}

/// Reads every file that was changed again.
fn verify(report: &mut Report, plan: &Plan) {
    let planned: HashMap<_, _> = plan.files.iter().map(|file| (&file.path, &file.to)).collect();
    let workspace = report.session.cwd.clone();
    let mut verified = 0;
    for file in &mut report.files {
        let changes = matches!(file.action, "create" | "modify" | "delete" | "chmod") && file.error.is_none();
        let Some(to) = planned.get(&file.path).filter(|_| changes) else { continue };
        let found = disk::look(&file.path.resolve(&workspace)).entry;
        if found == **to {
            verified += 1;
        } else {
            let code = ErrorKind::Conflict.code();
            file.error = Some(("it is not as the point has it; something else writes to it".to_owned(), code));
        }
    }
    report.verified = Some(verified);
}
