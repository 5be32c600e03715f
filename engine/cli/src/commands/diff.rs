//! `diff`: a point compared with the files on disk or with another point.

use std::collections::BTreeSet;
use std::path::PathBuf;

use candy_store::lines::LineCounts;
use candy_store::tree::TrackedPath;
use candy_store::{Point, Store};
use serde::Serialize;

use crate::compare::{Change, ChangeKind, Side, changes, count_lines, originals};
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::json::{PathJson, StateJson, shown_bytes};
use crate::names;
use crate::patch::{Stat, counting_deadline, unified};
use crate::paths;
use crate::text::{count, printable_bytes, printable_path};
use crate::world::World;

/// Options of `diff`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The older state.
    from: String,
    /// The newer state. Default: the files on disk.
    #[arg(value_name = "POINT", conflicts_with = "worktree")]
    to: Option<String>,
    /// Compare with the files on disk.
    #[arg(long)]
    worktree: bool,
    /// Print the changed lines of each file as numbers.
    #[arg(long, conflicts_with = "name_only")]
    stat: bool,
    /// Print the names of the changed files alone.
    #[arg(long)]
    name_only: bool,
    /// Exit with 1 when something differs.
    #[arg(long)]
    exit_code: bool,
    /// Only this file or directory; may be given several times.
    #[arg(long = "path", value_name = "PATH")]
    paths: Vec<PathBuf>,
}

#[derive(Serialize)]
struct FileJson {
    r#type: &'static str,
    #[serde(flatten)]
    path: PathJson,
    change: &'static str,
    old: Option<StateJson>,
    new: Option<StateJson>,
    added: u64,
    removed: u64,
    binary: bool,
    approximate: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

#[derive(Default, Serialize)]
struct SummaryJson {
    r#type: &'static str,
    from: String,
    /// Missing when the files on disk were compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    files: u64,
    added: u64,
    removed: u64,
    not_comparable: u64,
    unreadable: u64,
}

struct Comparison {
    store: Store,
    from: Point,
    to: Option<Point>,
    old: Side,
    new: Side,
    changes: Vec<Change>,
    /// Changes whose contents cannot be read.
    unreadable: u64,
}

/// Runs `diff`.
pub(crate) fn run(world: &mut World, options: &Options) -> Result<Exit> {
    if world.out.null && !options.name_only {
        return Err(
            Failure::usage("cannot use -z with `diff` alone: a patch is no list of paths").hint("add --name-only")
        );
    }
    paths::check(&options.paths)?;
    let store = world.open()?;
    let mut comparison = compare(store, options)?;
    let differs = comparison.changes.iter().any(|change| change.kind != ChangeKind::NotComparable);
    if world.out.json {
        comparison.print_json(world, options)?;
    } else if options.name_only {
        comparison.print_names(world)?;
    } else if options.stat {
        comparison.print_stat(world)?;
    } else {
        comparison.print_patch(world)?;
    }
    comparison.name_what_is_left_out(world);
    Ok(if comparison.unreadable > 0 {
        Exit::Damage
    } else if options.exit_code && differs {
        Exit::Failed
    } else {
        Exit::Ok
    })
}

fn compare(store: Store, options: &Options) -> Result<Comparison> {
    let from = names::point(&store, &options.from)?;
    let to = options.to.as_deref().map(|name| names::point(&store, name)).transpose()?;
    let workspace = names::session(&store, &from.session)?.cwd;
    let old = Side::of_point(&store, &from, originals(&store, &from.session)?)?;
    let mut known = old.paths();
    let new = match &to {
        Some(to) => Side::of_point(&store, to, originals(&store, &to.session)?)?,
        None => Side::of_disk(&old, &workspace, &selected(&known, &workspace, options)?),
    };
    known.extend(new.paths());
    let changes = changes(&old, &new, &selected(&known, &workspace, options)?);
    Ok(Comparison { store, from, to, old, new, changes, unreadable: 0 })
}

fn selected(
    known: &BTreeSet<TrackedPath>,
    workspace: &std::path::Path,
    options: &Options,
) -> Result<BTreeSet<TrackedPath>> {
    paths::select(known, workspace, &options.paths, |path| {
        Failure::new(
            candy_store::ErrorKind::NotFound,
            format!("cannot compare {}: neither state knows it", printable_path(path)),
        )
        .hint("list what a point holds with `candy-store ls POINT`")
    })
}

impl Comparison {
    fn comparable(&self) -> Vec<Change> {
        self.changes.iter().filter(|change| change.kind != ChangeKind::NotComparable).cloned().collect()
    }

    /// A content that cannot be read is named, and the rest goes on.
    fn tolerate<T>(&mut self, world: &mut World, change: &Change, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(failure) if failure.is_damage() => {
                self.unreadable += 1;
                let name = printable_bytes(&shown_bytes(&change.path));
                world.out.warn(&format!("{name}: {} [{}]", failure.message(), failure.code()));
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }

    fn counts(&mut self, world: &mut World, change: &Change) -> Result<Option<LineCounts>> {
        let counts = count_lines(&self.store, &self.old, &self.new, change, counting_deadline());
        self.tolerate(world, change, counts)
    }

    fn print_patch(&mut self, world: &mut World) -> Result<()> {
        for change in self.comparable() {
            let patch = unified(&self.store, &self.old, &self.new, &change, world.out.paint);
            if let Some(patch) = self.tolerate(world, &change, patch)? {
                world.out.bytes(&patch)?;
            }
        }
        Ok(())
    }

    fn print_names(&mut self, world: &mut World) -> Result<()> {
        for change in self.comparable() {
            let path = shown_bytes(&change.path);
            if world.out.null {
                world.out.raw_path(&path)?;
            } else {
                world.out.line(&printable_bytes(&path))?;
            }
        }
        Ok(())
    }

    fn print_stat(&mut self, world: &mut World) -> Result<()> {
        let mut stat = Stat::default();
        for change in self.comparable() {
            let counts = match change.kind {
                ChangeKind::Mode => None,
                _ => self.counts(world, &change)?,
            };
            stat.add(&change.path, counts);
        }
        if !self.changes.is_empty() {
            for line in stat.render(world.out.columns, world.out.paint) {
                world.out.line(&line)?;
            }
        }
        Ok(())
    }

    fn print_json(&mut self, world: &mut World, options: &Options) -> Result<()> {
        let mut summary = SummaryJson {
            r#type: "summary",
            from: self.from.id.to_hex(),
            to: self.to.as_ref().map(|point| point.id.to_hex()),
            ..SummaryJson::default()
        };
        for change in self.changes.clone() {
            let counts = self.counts(world, &change)?.unwrap_or_default();
            let with_diff = !options.stat && !options.name_only && change.kind != ChangeKind::NotComparable;
            let diff = if with_diff {
                let patch = unified(&self.store, &self.old, &self.new, &change, crate::style::Paint::off());
                patch.ok().and_then(|patch| String::from_utf8(patch).ok())
            } else {
                None
            };
            summary.files += 1;
            summary.added += counts.added;
            summary.removed += counts.removed;
            summary.not_comparable += u64::from(change.kind == ChangeKind::NotComparable);
            world.out.document(&FileJson {
                r#type: "file",
                path: PathJson::of_tracked(&change.path),
                change: change.kind.word(),
                old: change.old.as_ref().map(StateJson::of),
                new: change.new.as_ref().map(StateJson::of),
                added: counts.added,
                removed: counts.removed,
                binary: counts.binary,
                approximate: counts.approximate,
                diff,
            })?;
        }
        summary.unreadable = self.unreadable;
        world.out.document(&summary)
    }

    fn name_what_is_left_out(&self, world: &mut World) {
        let left_out: Vec<_> = self.changes.iter().filter(|change| change.kind == ChangeKind::NotComparable).collect();
        if left_out.is_empty() || world.out.json {
            return;
        }
        let number = count(left_out.len() as u64, "file cannot", "files cannot");
        world.out.note(&format!("{number} be compared: one of the states has no content"));
        if world.out.verbose {
            for change in left_out {
                world.out.note(&format!("  {}", printable_bytes(&shown_bytes(&change.path))));
            }
        }
    }
}
