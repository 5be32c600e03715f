//! What a restore did, or would do.

use std::path::PathBuf;

use candy_store::lines::LineCounts;
use candy_store::tree::TrackedPath;
use candy_store::{Point, SessionSummary};
use serde::Serialize;

use crate::exit::Exit;
use crate::failure::Result;
use crate::json::{CwdJson, PathJson, shown_bytes};
use crate::names::short;
use crate::patch::plus_minus;
use crate::style::Paint;
use crate::table::{Cell, Column, Table};
use crate::text::{files, printable, printable_bytes, printable_path};
use crate::world::World;

/// One file.
#[derive(Clone, Debug)]
pub(super) struct FileReport {
    pub(super) path: TrackedPath,
    /// `create`, `modify`, `delete`, `chmod`, `unchanged`, `keep` (asked for) or `skip`.
    pub(super) action: &'static str,
    /// Why it is left alone.
    pub(super) reason: Option<&'static str>,
    pub(super) counts: Option<LineCounts>,
    pub(super) changed_by_hand: bool,
    /// Why it could not be restored, with a stable code.
    pub(super) error: Option<(String, &'static str)>,
}

impl FileReport {
    pub(super) fn new(path: TrackedPath, action: &'static str) -> Self {
        Self { path, action, reason: None, counts: None, changed_by_hand: false, error: None }
    }

    fn changes(&self) -> bool {
        self.error.is_none() && matches!(self.action, "create" | "modify" | "delete" | "chmod")
    }
}

/// The whole.
#[derive(Clone, Debug)]
pub(super) struct Report {
    pub(super) point: Point,
    pub(super) session: SessionSummary,
    pub(super) dry_run: bool,
    pub(super) to: Option<PathBuf>,
    pub(super) redo_point: Option<Point>,
    pub(super) files: Vec<FileReport>,
    /// Paths whose unexpected bytes were kept as versions of their own.
    pub(super) kept: Vec<TrackedPath>,
    /// Files that were read again and found right; `None` when nobody asked.
    pub(super) verified: Option<u64>,
}

#[derive(Serialize)]
struct FileJson<'a> {
    #[serde(flatten)]
    path: PathJson,
    action: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    added: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    removed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    binary: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    approximate: Option<bool>,
    changed_by_hand: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
}

#[derive(Serialize)]
struct ReportJson<'a> {
    r#type: &'static str,
    dry_run: bool,
    point: String,
    session: &'a str,
    #[serde(flatten)]
    cwd: CwdJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<PathJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    redo_point: Option<String>,
    restored: u64,
    unchanged: u64,
    skipped: u64,
    failed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    verified: Option<u64>,
    files: Vec<FileJson<'a>>,
    kept: Vec<PathJson>,
}

impl Report {
    fn number(&self, wanted: impl Fn(&FileReport) -> bool) -> u64 {
        self.files.iter().filter(|file| wanted(file)).count() as u64
    }

    fn restored(&self) -> u64 {
        self.number(FileReport::changes)
    }

    fn unchanged(&self) -> u64 {
        self.number(|file| matches!(file.action, "unchanged"))
    }

    /// Left alone because it could not be otherwise; what was asked for does not count.
    fn skipped(&self) -> u64 {
        self.number(|file| file.error.is_none() && file.action == "skip")
    }

    fn failed(&self) -> u64 {
        self.number(|file| file.error.is_some())
    }

    /// How the command ends.
    pub(super) fn exit(&self) -> Exit {
        if self.skipped() + self.failed() > 0 { Exit::Partial } else { Exit::Ok }
    }

    /// Prints it in the form asked for.
    pub(super) fn print(&self, world: &mut World) -> Result<()> {
        if world.out.json {
            return self.print_json(world);
        }
        if world.out.null {
            for file in self.files.iter().filter(|file| file.changes()) {
                world.out.raw_path(&shown_bytes(&file.path))?;
            }
        } else {
            self.print_text(world)?;
        }
        self.print_trouble(world);
        Ok(())
    }

    fn print_json(&self, world: &mut World) -> Result<()> {
        let files = self.files.iter().map(|file| FileJson {
            path: PathJson::of_tracked(&file.path),
            action: file.action,
            reason: file.reason,
            added: file.counts.map(|counts| counts.added),
            removed: file.counts.map(|counts| counts.removed),
            binary: file.counts.map(|counts| counts.binary),
            approximate: file.counts.map(|counts| counts.approximate),
            changed_by_hand: file.changed_by_hand,
            error: file.error.as_ref().map(|(text, _)| text.as_str()),
            code: file.error.as_ref().map(|(_, code)| *code),
        });
        world.out.document(&ReportJson {
            r#type: "restore",
            dry_run: self.dry_run,
            point: self.point.id.to_hex(),
            session: &self.session.id,
            cwd: CwdJson::of(&self.session.cwd),
            to: self.to.as_deref().map(PathJson::of),
            redo_point: self.redo_point.as_ref().map(|point| point.id.to_hex()),
            restored: self.restored(),
            unchanged: self.unchanged(),
            skipped: self.skipped(),
            failed: self.failed(),
            verified: self.verified,
            files: files.collect(),
            kept: self.kept.iter().map(PathJson::of_tracked).collect(),
        })
    }

    fn print_text(&self, world: &mut World) -> Result<()> {
        if self.dry_run || world.out.verbose {
            self.table().print(&mut world.out)?;
        }
        let place = printable_path(self.to.as_deref().unwrap_or(&self.session.cwd));
        let verb = if self.dry_run { "would restore" } else { "restored" };
        let mut line = format!("{verb} {} in {place}", files(self.restored()));
        for (number, what) in [
            (self.unchanged(), "unchanged"),
            (self.number(|file| file.action == "keep"), "left as they are"),
            (self.skipped(), "skipped"),
            (self.failed(), "failed"),
        ] {
            if number > 0 {
                line += &format!(", {number} {what}");
            }
        }
        if let Some(verified) = self.verified {
            line += &format!(", {verified} verified");
        }
        world.out.line(&line)?;
        if let Some(redo) = &self.redo_point {
            world.out.note(&format!("to go back: candy-store restore {}", short(redo.id)));
        }
        Ok(())
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&[("ACTION", Column::Left), ("LINES", Column::Left), ("PATH", Column::Left)]);
        for file in self.files.iter().filter(|file| file.action != "unchanged") {
            let paint = match file.action {
                "create" => Paint::added,
                "delete" => Paint::removed,
                _ => Paint::bold,
            };
            let lines = match &file.counts {
                Some(counts) if counts.binary => "binary".to_owned(),
                Some(counts) => plus_minus(counts, Paint::off()),
                None => String::new(),
            };
            let mut path = printable_bytes(&shown_bytes(&file.path));
            if let Some(reason) = file.reason {
                path += &format!("  ({reason})");
            }
            if file.changed_by_hand {
                path += "  (changed since the agent's last edit)";
            }
            table.row(vec![Cell::painted(file.action, paint), lines.into(), path.into()]);
        }
        table
    }

    /// What did not go as wanted, file by file.
    fn print_trouble(&self, world: &mut World) {
        for file in &self.files {
            let path = printable_bytes(&shown_bytes(&file.path));
            if let Some((error, code)) = &file.error {
                world.out.warn(&format!("{path}: {} [{code}]", printable(error)));
            } else if file.action == "skip" && !self.dry_run {
                world.out.note(&format!("skipped {path}: {}", file.reason.unwrap_or("unknown")));
            }
        }
        for path in &self.kept {
            let path = printable_bytes(&shown_bytes(path));
            world.out.note(&format!("{path} held bytes that nobody had seen; they are kept as a point of their own"));
        }
    }
}
