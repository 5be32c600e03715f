//! Copies into another directory.

use std::collections::BTreeMap;
use std::path::Path;

use candy_store::tree::{Entry, TrackedPath};
use candy_store::{Point, SessionSummary, Store};

use crate::commands::restore::report::{FileReport, Report};
use crate::commands::restore::{Options, Overwrite};
use crate::copy_out::{Copied, Target};
use crate::failure::{Failure, Result, no_such_path};
use crate::names::short;
use crate::paths;
use crate::world::World;

/// Copies what the point holds, or says what would be copied.
pub(super) fn restore(
    world: &mut World,
    store: &Store,
    point: &Point,
    summary: &SessionSummary,
    directory: &Path,
    options: &Options,
) -> Result<Report> {
    paths::check(&[directory.to_path_buf()])?;
    let entries: BTreeMap<_, _> = store.entries(point.roots)?.into_iter().collect();
    let known = entries.keys().cloned().collect();
    let selected = paths::select(&known, &summary.cwd, &options.paths, |path| no_such_path(path, &short(point.id)))?;
    let chosen: Vec<_> = entries.into_iter().filter(|(path, _)| selected.contains(path)).collect();
    let mut report = Report {
        point: point.clone(),
        session: summary.clone(),
        dry_run: options.dry_run,
        to: None,
        redo_point: None,
        files: Vec::new(),
        kept: Vec::new(),
        verified: None,
    };
    if options.dry_run {
        let target = Target::look(directory, store)?;
        report.files = chosen.iter().filter_map(|(path, entry)| foreseen(&target, path, entry, options)).collect();
        report.to = Some(target);
        return Ok(report);
    }
    let target = Target::open(directory, store)?;
    report.to = Some(Target::look(directory, store)?);
    let progress = world.progress("copying");
    for (at, (path, entry)) in chosen.iter().enumerate() {
        progress.at(at as u64, chosen.len() as u64);
        if let Some(file) = copied(&target, store, path, entry, options)? {
            report.files.push(file);
        }
    }
    drop(progress);
    if options.verify {
        let _progress = world.progress("verifying");
        verify(&mut report, &target, &chosen);
    }
    Ok(report)
}

/// Why there is nothing to copy; `Ok(None)` when there is, `Err` when that is as it should be.
fn no_content(entry: &Entry) -> std::result::Result<Option<&'static str>, ()> {
    match entry {
        Entry::File { .. } => Ok(None),
        Entry::Absent => Err(()),
        Entry::NotCaptured { .. } => Ok(Some("not-captured")),
        Entry::Purged { .. } => Ok(Some("purged")),
        Entry::Symlink { .. } => Ok(Some("symlink")),
        Entry::Directory { .. } => Ok(Some("not-a-file")),
    }
}

fn skipped(path: &TrackedPath, reason: &'static str) -> FileReport {
    FileReport { reason: Some(reason), ..FileReport::new(path.clone(), "skip") }
}

fn foreseen(target: &Path, path: &TrackedPath, entry: &Entry, options: &Options) -> Option<FileReport> {
    if let Some(reason) = no_content(entry).ok()? {
        return Some(skipped(path, reason));
    }
    let there = std::fs::symlink_metadata(target.join(Target::place(path)));
    let action = match there {
        Err(_) => "create",
        Ok(_) if options.overwrite == Overwrite::Never => "keep",
        Ok(found) if !found.is_file() => return Some(skipped(path, "not-a-file")),
        Ok(_) => "modify",
    };
    Some(FileReport::new(path.clone(), action))
}

/// A file that cannot be copied is reported and the others go on, unless the disk is full.
fn copied(
    target: &Target,
    store: &Store,
    path: &TrackedPath,
    entry: &Entry,
    options: &Options,
) -> Result<Option<FileReport>> {
    let Ok(reason) = no_content(entry) else { return Ok(None) };
    if let Some(reason) = reason {
        return Ok(Some(skipped(path, reason)));
    }
    let action = match target.copy(store, path, entry, options.overwrite) {
        Ok(Copied::Created) => "create",
        Ok(Copied::Replaced) => "modify",
        Ok(Copied::Same) => "unchanged",
        Ok(Copied::Kept) => "keep",
        Err(failure) if failure.exit() == crate::exit::Exit::NoSpace => return Err(failure),
        Err(failure) => {
            let error = Some((failure.message().to_owned(), failure.code()));
            return Ok(Some(FileReport { error, ..FileReport::new(path.clone(), "create") }));
        }
    };
    Ok(Some(FileReport::new(path.clone(), action)))
}

fn verify(report: &mut Report, target: &Target, chosen: &[(TrackedPath, Entry)]) {
    let wanted: BTreeMap<_, _> = chosen.iter().map(|(path, entry)| (path, entry)).collect();
    let mut verified = 0;
    for file in &mut report.files {
        let written = file.error.is_none() && matches!(file.action, "create" | "modify" | "unchanged");
        let Some(content) = wanted.get(&file.path).filter(|_| written).and_then(|entry| entry.content()) else {
            continue;
        };
        if target.verify(&file.path, content) {
            verified += 1;
        } else {
            let failure = Failure::new(
                candy_store::ErrorKind::Conflict,
                "it does not hold the bytes of the point; something else writes to it",
            );
            file.error = Some((failure.message().to_owned(), failure.code()));
        }
    }
    report.verified = Some(verified);
}
