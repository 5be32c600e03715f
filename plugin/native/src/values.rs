//! Values between JavaScript and the engine. The names and meanings are those of `index.d.ts`.
//!
//! Numbers come in as `f64`, because narrower types would take `-1` or `NaN` for something else without a word.

use std::path::{Path, PathBuf};

use candy_store::restore::{FailedFile as EngineFailedFile, PlannedFile, ResumeHow};
use candy_store::tree::{Entry, TrackedPath};
use candy_store::{
    Error, ErrorKind, Id, PlanRequest, PlanTicket, PointKind, RedoKind, RestoreReport, Result, SnapshotOutcome,
    SnapshotRequest, Target, TrackOutcome, Tracking,
};
use napi_derive::napi;

/// Largest integer up to which JavaScript's numbers are exact.
const INTEGER_MAX: f64 = 9_007_199_254_740_991.0;

/// A count as a number of JavaScript.
pub(crate) fn number(count: u64) -> f64 {
    count as f64
}

/// Milliseconds since 1970 as a number of JavaScript.
fn time(ms: i64) -> f64 {
    ms as f64
}

fn bad_argument(name: &str, cause: String) -> Error {
    Error::new(ErrorKind::BadArgument, format!("use `{name}`")).cause(cause)
}

/// A number of JavaScript as a count.
pub(crate) fn whole(name: &str, value: f64) -> Result<u64> {
    if (0.0..=INTEGER_MAX).contains(&value) && value.fract() == 0.0 {
        return Ok(value as u64);
    }
    Err(bad_argument(name, format!("{value} is not a whole number from 0 on")))
}

fn id(name: &str, text: &str) -> Result<Id> {
    Id::from_hex(text).ok_or_else(|| bad_argument(name, format!("'{text}' is not 32 hex digits")))
}

/// Parses the identifier of a point.
pub(crate) fn point_id(text: &str) -> Result<Id> {
    id("pointId", text)
}

/// Parses the identifier of a restore.
pub(crate) fn restore_id(text: &str) -> Result<Id> {
    id("id", text)
}

/// Parses what to do with an interrupted restore.
pub(crate) fn resume_how(word: &str) -> Result<ResumeHow> {
    match word {
        "finish" => Ok(ResumeHow::Finish),
        "rollback" => Ok(ResumeHow::Rollback),
        _ => Err(bad_argument("how", format!("'{word}' is neither 'finish' nor 'rollback'"))),
    }
}

/// Names that are no UTF-8 are shown with replacement characters.
fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// How to open a store.
#[napi(object, object_to_js = false)]
pub struct StoreOptions {
    /// Directory of the store.
    pub path: String,
    /// Folder whose files the store keeps.
    pub workspace: Option<String>,
    /// How long to wait for what another process holds.
    pub lock_wait_ms: Option<f64>,
}

/// What a store says of itself.
#[napi(object, object_from_js = false)]
#[derive(Clone)]
pub struct StoreInfo {
    /// Identifier.
    pub id: String,
    /// Directory, resolved.
    pub path: String,
    /// Whether opening made it.
    pub created: bool,
    /// Version of the bytes on disk.
    pub format_version: u32,
    /// Why it cannot be written.
    pub read_only_reason: Option<String>,
}

impl From<&candy_store::Store> for StoreInfo {
    fn from(store: &candy_store::Store) -> Self {
        let format = store.format();
        Self {
            id: format.store.to_hex(),
            path: text(store.path()),
            created: store.created(),
            format_version: format.format,
            read_only_reason: store.read_only_reason().map(str::to_owned),
        }
    }
}

/// How to open a session.
#[napi(object, object_to_js = false)]
pub struct SessionOptions {
    /// Identifier.
    pub id: String,
    /// The workspace.
    pub cwd: String,
    /// Patterns of files that are not tracked.
    pub exclude: Vec<String>,
    /// Larger files are not read; 0 = no limit.
    pub max_file_size_bytes: f64,
}

impl SessionOptions {
    /// For the engine.
    pub(crate) fn into_engine(self) -> Result<candy_store::SessionOptions> {
        Ok(candy_store::SessionOptions {
            id: self.id,
            cwd: PathBuf::from(self.cwd),
            exclude: self.exclude,
            max_file_bytes: whole("maxFileSizeBytes", self.max_file_size_bytes)?,
        })
    }
}

/// An interrupted restore.
#[napi(object, object_from_js = false)]
#[derive(Clone)]
pub struct UnfinishedRestore {
    /// Identifier.
    pub id: String,
    /// Session that restored.
    pub session_id: String,
    /// When it began.
    pub created_at: f64,
    /// Number of files.
    pub files: f64,
    /// State before it.
    pub redo_point_id: String,
}

impl From<candy_store::UnfinishedRestore> for UnfinishedRestore {
    fn from(restore: candy_store::UnfinishedRestore) -> Self {
        Self {
            id: restore.id.to_hex(),
            session_id: restore.session,
            created_at: time(restore.created_ms),
            files: number(restore.files),
            redo_point_id: restore.redo_point.to_hex(),
        }
    }
}

/// What is known of a session when it is opened.
#[napi(object, object_from_js = false)]
#[derive(Clone)]
pub struct SessionInfo {
    /// Identifier.
    pub id: String,
    /// Whether opening made it.
    pub created: bool,
    /// Number of points.
    pub points: f64,
    /// Number of tracked paths.
    pub tracked_files: f64,
    /// Restores that a crash interrupted.
    pub unfinished: Vec<UnfinishedRestore>,
}

impl SessionInfo {
    /// Asks the session. Reads from disk.
    pub(crate) fn read(session: &candy_store::Session) -> Result<Self> {
        Ok(Self {
            id: session.id().to_owned(),
            created: session.created(),
            points: number(session.points()?.len() as u64),
            tracked_files: number(session.tracked_count()? as u64),
            unfinished: session.unfinished_restores()?.into_iter().map(UnfinishedRestore::from).collect(),
        })
    }
}

/// What became of a request to track.
#[napi(object, object_from_js = false)]
pub struct TrackResult {
    /// A word.
    pub status: String,
    /// A word, where it was skipped.
    pub reason: Option<String>,
    /// The path with every link followed.
    pub path: String,
    /// Whether no link lies on the way.
    pub cacheable: bool,
    /// Whether it did not exist.
    pub absent: Option<bool>,
    /// Size of what was captured.
    pub size_bytes: Option<f64>,
    /// More about a skipped path.
    pub detail: Option<String>,
}

impl From<TrackOutcome> for TrackResult {
    fn from(outcome: TrackOutcome) -> Self {
        let mut result = Self {
            status: "already".into(),
            reason: None,
            path: text(&outcome.path),
            cacheable: outcome.cacheable,
            absent: None,
            size_bytes: None,
            detail: None,
        };
        match outcome.tracking {
            Tracking::Already => {}
            Tracking::Tracked(entry) => {
                result.status = "tracked".into();
                result.absent = Some(entry == Entry::Absent);
                result.size_bytes = entry.content().map(|_| number(entry.size()));
            }
            Tracking::Skipped { reason, detail } => {
                result.status = "skipped".into();
                result.reason = Some(reason.word().into());
                result.detail = detail;
            }
        }
        result
    }
}

/// What point to take.
#[napi(object, object_to_js = false)]
pub struct SnapshotOptions {
    /// A word.
    pub kind: String,
    /// The prompt that follows.
    pub prompt: Option<String>,
    /// User message to bind to.
    pub entry_id: Option<String>,
    /// Cap on unprotected points; 0 = none.
    pub max_points: f64,
}

impl SnapshotOptions {
    /// For the engine.
    pub(crate) fn into_engine(self) -> Result<SnapshotRequest> {
        let kind = PointKind::from_word(&self.kind)
            .ok_or_else(|| bad_argument("kind", format!("'{}' is no kind of point", self.kind)))?;
        Ok(SnapshotRequest {
            prompt: self.prompt,
            entry: self.entry_id,
            points_max: whole("maxPoints", self.max_points)?,
            ..SnapshotRequest::of(kind)
        })
    }
}

/// A path whose content is not in a point.
#[napi(object, object_from_js = false)]
pub struct NotCaptured {
    /// The path.
    pub path: String,
    /// A word.
    pub reason: String,
    /// More about it.
    pub detail: Option<String>,
}

/// A point.
#[napi(object, object_from_js = false)]
pub struct Point {
    /// Identifier.
    pub id: String,
    /// Rises within the session.
    pub seq: f64,
    /// A word.
    pub kind: String,
    /// When it was taken.
    pub created_at: f64,
    /// User message it is bound to.
    pub entry_id: Option<String>,
    /// First characters of the prompt.
    pub prompt: Option<String>,
    /// Paths in it.
    pub files: f64,
    /// Paths that differ from the point before.
    pub changed: f64,
    /// Why the turn after it is not fully covered.
    pub gaps: Vec<String>,
}

impl From<candy_store::Point> for Point {
    fn from(point: candy_store::Point) -> Self {
        Self {
            id: point.id.to_hex(),
            seq: number(point.seq),
            kind: point.kind.word().into(),
            created_at: time(point.created_ms),
            entry_id: point.entry,
            prompt: point.prompt,
            files: number(point.files),
            changed: number(point.changed),
            gaps: point.gaps,
        }
    }
}

/// A point that was taken.
#[napi(object, object_from_js = false)]
pub struct SnapshotResult {
    /// The point.
    pub point: Point,
    /// Paths whose content is not in it.
    pub not_captured: Vec<NotCaptured>,
    /// Points that the cap dropped.
    pub dropped: f64,
}

impl From<SnapshotOutcome> for SnapshotResult {
    fn from(outcome: SnapshotOutcome) -> Self {
        let not_captured = |file: candy_store::NotCaptured| NotCaptured {
            path: text(&file.path),
            reason: file.reason.word().into(),
            detail: file.detail,
        };
        Self {
            point: outcome.point.into(),
            not_captured: outcome.not_captured.into_iter().map(not_captured).collect(),
            dropped: number(outcome.dropped),
        }
    }
}

/// What to plan.
#[napi(object, object_to_js = false)]
pub struct PlanOptions {
    /// Point to go back to.
    pub point_id: Option<String>,
    /// User message before which to go back.
    pub entry_id: Option<String>,
    /// Entries of the branch, oldest first.
    pub branch: Option<Vec<String>>,
    /// Whether to count lines.
    pub line_counts: bool,
    /// Whether to skip files that were changed by hand.
    pub protect_manual_edits: Option<bool>,
}

impl PlanOptions {
    /// For the engine.
    pub(crate) fn into_engine(self) -> Result<PlanRequest> {
        let target = match (self.point_id, self.entry_id) {
            (Some(point), _) => Target::Point(point_id(&point)?),
            (None, Some(entry)) => Target::Message { entry, branch: self.branch.unwrap_or_default() },
            // Taking this for "back to the start" would make a mistake of the caller undo everything.
            (None, None) => return Err(bad_argument("pointId", "neither it nor `entryId` is given".into())),
        };
        Ok(PlanRequest {
            target,
            only: Vec::new(),
            line_counts: self.line_counts,
            protect_manual_edits: self.protect_manual_edits.unwrap_or(false),
        })
    }
}

/// What would be done with one file.
#[napi(object, object_from_js = false)]
pub struct PlanFile {
    /// The absolute path.
    pub path: String,
    /// The path for people.
    pub display: String,
    /// A word.
    pub action: String,
    /// A word, where it is skipped.
    pub reason: Option<String>,
    /// Lines added.
    pub added: f64,
    /// Lines removed.
    pub removed: f64,
    /// Whether it is no text.
    pub binary: bool,
    /// Whether the counts are not exact.
    pub approximate: bool,
    /// Whether it was changed since the agent's last edit.
    pub changed_by_hand: bool,
}

impl PlanFile {
    fn new(file: PlannedFile, cwd: &Path) -> Self {
        Self {
            path: text(&file.path.resolve(cwd)),
            display: file.path.display(),
            action: file.action.word().into(),
            reason: file.reason.map(|reason| reason.word().into()),
            added: number(file.counts.added),
            removed: number(file.counts.removed),
            binary: file.counts.binary,
            approximate: file.counts.approximate,
            changed_by_hand: file.changed_by_hand,
        }
    }
}

/// What going back would do.
#[napi(object, object_from_js = false)]
pub struct PlanSummary {
    /// Names the plan.
    pub plan_id: f64,
    /// Point whose state is planned.
    pub point_id: Option<String>,
    /// The files.
    pub files: Vec<PlanFile>,
    /// Files that would be touched.
    pub changed: f64,
    /// Lines added.
    pub added: f64,
    /// Lines removed.
    pub removed: f64,
    /// Links left alone.
    pub links_skipped: f64,
    /// Everything else left alone.
    pub other_skipped: f64,
    /// Whether something else than what was asked for stands in.
    pub fallback: bool,
}

impl PlanSummary {
    /// `cwd` is the session's workspace.
    pub(crate) fn new(ticket: PlanTicket, cwd: &Path) -> Self {
        let plan = ticket.plan;
        Self {
            plan_id: number(ticket.id),
            point_id: ticket.point.map(|id| id.to_hex()),
            files: plan.files.into_iter().map(|file| PlanFile::new(file, cwd)).collect(),
            changed: number(plan.changed),
            added: number(plan.added),
            removed: number(plan.removed),
            links_skipped: number(plan.links_skipped),
            other_skipped: number(plan.other_skipped),
            fallback: ticket.fallback,
        }
    }
}

/// How to apply a plan.
#[napi(object, object_to_js = false)]
pub struct ApplyOptions {
    /// Cap on unprotected points; 0 = none.
    pub max_points: f64,
}

/// A file that could not be restored.
#[napi(object, object_from_js = false)]
pub struct FailedFile {
    /// The absolute path.
    pub path: String,
    /// The path for people.
    pub display: String,
    /// The stable code of the error.
    pub code: String,
    /// The error in words.
    pub message: String,
}

/// What a restore did.
#[napi(object, object_from_js = false)]
pub struct RestoreOutcome {
    /// State before it.
    pub redo_point: Point,
    /// Files restored.
    pub restored: f64,
    /// Files that were as wanted already.
    pub unchanged: f64,
    /// Files left alone.
    pub skipped: f64,
    /// Files that could not be restored.
    pub failed: Vec<FailedFile>,
    /// Paths at which unexpected bytes were found and kept.
    pub kept: Vec<String>,
    /// Directories left empty, below the workspace where they are.
    pub emptied: Vec<String>,
}

impl RestoreOutcome {
    /// `cwd` is the session's workspace.
    pub(crate) fn new(report: RestoreReport, cwd: &Path) -> Self {
        let failed = |file: EngineFailedFile| FailedFile {
            path: text(&file.path.resolve(cwd)),
            display: file.path.display(),
            code: file.code.into(),
            message: file.message,
        };
        let kept = |path: TrackedPath| text(&path.resolve(cwd));
        Self {
            redo_point: report.redo_point.into(),
            restored: number(report.restored),
            unchanged: number(report.unchanged),
            skipped: number(report.skipped),
            failed: report.failed.into_iter().map(failed).collect(),
            kept: report.kept.into_iter().map(kept).collect(),
            emptied: report.emptied.iter().map(|path| text(path.strip_prefix(cwd).unwrap_or(path))).collect(),
        }
    }
}

/// An item for the redo stack.
#[napi(object, object_to_js = false)]
pub struct NewRedoItem {
    /// A word.
    #[napi(js_name = "type")]
    pub kind: String,
    /// Point whose files it brings back.
    pub point_id: Option<String>,
    /// Leaf of the conversation it goes back to.
    pub old_leaf_id: Option<String>,
    /// Cap on the stack.
    pub max_items: f64,
}

impl NewRedoItem {
    /// For the engine.
    pub(crate) fn into_engine(self) -> Result<candy_store::NewRedoItem> {
        let kind = match self.kind.as_str() {
            "code" => RedoKind::Code,
            "conversation" => RedoKind::Conversation,
            "both" => RedoKind::Both,
            other => return Err(bad_argument("type", format!("'{other}' is no kind of redo"))),
        };
        Ok(candy_store::NewRedoItem {
            kind,
            point: self.point_id.as_deref().map(point_id).transpose()?,
            old_leaf: self.old_leaf_id,
            items_max: whole("maxItems", self.max_items)?,
        })
    }
}

/// An item of the redo stack.
#[napi(object, object_from_js = false)]
pub struct RedoItem {
    /// A word.
    #[napi(js_name = "type")]
    pub kind: String,
    /// Point whose files it brings back.
    pub point_id: Option<String>,
    /// Leaf of the conversation it goes back to.
    pub old_leaf_id: Option<String>,
    /// When it was pushed.
    pub created_at: f64,
}

impl From<candy_store::RedoItem> for RedoItem {
    fn from(item: candy_store::RedoItem) -> Self {
        let kind = match item.kind {
            RedoKind::Code => "code",
            RedoKind::Conversation => "conversation",
            RedoKind::Both => "both",
        };
        Self {
            kind: kind.into(),
            point_id: item.point.map(|id| id.to_hex()),
            old_leaf_id: item.old_leaf,
            created_at: time(item.created_ms),
        }
    }
}

/// What a collection did.
#[napi(object, object_from_js = false)]
pub struct GcReport {
    /// Whether it ran at all.
    pub ran: bool,
    /// Objects that nothing needs any more.
    pub dropped_objects: f64,
    /// Bytes given back.
    pub freed_bytes: f64,
    /// Segments rewritten.
    pub rewritten_segments: f64,
    /// Why nothing may be deleted at present.
    pub held_back: Option<String>,
}

impl From<candy_store::gc::GcReport> for GcReport {
    fn from(report: candy_store::gc::GcReport) -> Self {
        Self {
            ran: report.ran,
            dropped_objects: number(report.dropped_objects),
            freed_bytes: number(report.freed_bytes),
            rewritten_segments: number(report.rewritten_segments),
            held_back: report.held_back,
        }
    }
}

/// What a fork did.
#[napi(object, object_from_js = false)]
pub struct ForkResult {
    /// Whether anything was copied.
    pub forked: bool,
    /// Points of the new session.
    pub points: f64,
}
