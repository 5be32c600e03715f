//! What a restore would do.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rayon::prelude::*;

use crate::error::{Error, ErrorKind, Result};
use crate::hash::Hash;
use crate::index::rows::Place;
use crate::index::tables::{Logical, Rows as _};
use crate::io::Open;
use crate::limits::BLOB_BYTES_MAX;
use crate::lines::{self, Labels, LineCounts};
use crate::object::large::large_path;
use crate::restore::Target;
use crate::store::Inner;
use crate::tree::{Entry, Reason, TrackedPath};
use crate::workspace::{Found, FoundFile, Source, find};

/// Longest time for the diff of one file.
const DIFF_WAIT: Duration = Duration::from_millis(100);

/// Longest time for all diffs of a plan; past it counts are rough.
const DIFFS_WAIT: Duration = Duration::from_secs(2);

/// Lines around each change of a diff.
const DIFF_CONTEXT: usize = 3;

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileAction {
    /// It does not exist and comes back.
    Create,
    /// It gets another content.
    Modify,
    /// It goes.
    Delete,
    /// It gets another mode.
    Chmod,
    /// It is as wanted.
    Unchanged,
    /// It is left alone.
    Skip,
}

impl FileAction {
    /// A stable word for programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Modify => "modify",
            Self::Delete => "delete",
            Self::Chmod => "chmod",
            Self::Unchanged => "unchanged",
            Self::Skip => "skip",
        }
    }

    /// Whether it changes the file.
    pub fn changes(self) -> bool {
        !matches!(self, Self::Unchanged | Self::Skip)
    }

    /// Whether it needs a content from the store.
    pub(super) fn writes(self) -> bool {
        matches!(self, Self::Create | Self::Modify)
    }
}

/// Why a file is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SkipReason {
    /// What is there now cannot be kept, so it is not replaced.
    State(Reason),
    /// The wanted state was not captured.
    NotCaptured,
    /// The wanted content was removed from all history on purpose.
    Purged,
    /// The wanted content should be in the store and cannot be read.
    MissingContent,
    /// It was changed by hand, and the plan protects such files.
    ChangedByHand,
}

impl SkipReason {
    /// A stable word for programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::State(reason) => reason.word(),
            Self::NotCaptured => "not-captured",
            Self::Purged => "purged",
            Self::MissingContent => "missing-content",
            Self::ChangedByHand => "changed-by-hand",
        }
    }
}

/// One file of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedFile {
    /// The file.
    pub path: TrackedPath,
    /// What is done to it.
    pub action: FileAction,
    /// Why it is left alone.
    pub reason: Option<SkipReason>,
    /// Its state now.
    pub from: Entry,
    /// Its state afterwards.
    pub to: Entry,
    /// Lines that come and go.
    pub counts: LineCounts,
    /// Whether it differs from what the agent left behind at its last edit.
    pub changed_by_hand: bool,
}

/// What a restore would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// All files of the target, sorted by path.
    pub files: Vec<PlannedFile>,
    /// Files that would be written, created, deleted or get another mode.
    pub changed: u64,
    /// Lines that come.
    pub added: u64,
    /// Lines that go.
    pub removed: u64,
    /// Symbolic and hard links left alone.
    pub links_skipped: u64,
    /// Everything else left alone.
    pub other_skipped: u64,
}

/// How to plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlanOptions {
    /// Count lines: a diff for each changed file.
    pub(crate) line_counts: bool,
    /// Skip files that were changed by hand.
    pub(crate) protect_manual_edits: bool,
    /// Larger files cannot be kept and are left alone; 0 = no limit.
    pub(crate) max_file_bytes: u64,
}

/// What planning one file needs beside the file.
struct Planner<'a> {
    inner: &'a Inner,
    cwd: &'a Path,
    options: &'a PlanOptions,
    /// Directories that are the store's, or below it.
    in_store: HashMap<PathBuf, bool>,
    diffs_until: Instant,
}

/// Plans to bring each path to its target. Reads the files as they are now and writes nothing.
pub(crate) fn plan(
    inner: &Inner,
    cwd: &Path,
    targets: BTreeMap<TrackedPath, Target>,
    options: &PlanOptions,
) -> Result<Plan> {
    let planner = Planner {
        inner,
        cwd,
        options,
        in_store: stores_directories(inner, targets.keys().map(|path| path.resolve(cwd))),
        diffs_until: Instant::now() + DIFFS_WAIT,
    };
    let targets: Vec<(TrackedPath, Target)> = targets.into_iter().collect();
    let files: Vec<PlannedFile> = inner
        .pool()
        .install(|| targets.into_par_iter().map(|(path, target)| planner.file(path, target)).collect::<Result<_>>())?;
    Ok(Plan::of(files))
}

/// Which of the directories above the paths belong to the store, by identity: links and other spellings do not help.
fn stores_directories(inner: &Inner, paths: impl Iterator<Item = PathBuf>) -> HashMap<PathBuf, bool> {
    let mut known: HashMap<PathBuf, bool> = HashMap::new();
    for path in paths {
        let mut new = Vec::new();
        let mut inside = false;
        for directory in path.ancestors().skip(1) {
            if let Some(known) = known.get(directory) {
                inside = *known;
                break;
            }
            new.push(directory.to_path_buf());
        }
        for directory in new.into_iter().rev() {
            inside = inside || inner.io.stat(&directory).is_ok_and(|stat| stat.identity() == inner.identity());
            known.insert(directory, inside);
        }
    }
    known
}

impl Plan {
    fn of(files: Vec<PlannedFile>) -> Self {
        let mut plan = Self::default();
        for file in &files {
            match (file.action, file.reason) {
                (FileAction::Unchanged, _) => {}
                (FileAction::Skip, Some(SkipReason::State(Reason::Symlink | Reason::HardLink))) => {
                    plan.links_skipped += 1;
                }
                (FileAction::Skip, _) => plan.other_skipped += 1,
                _ => {
                    plan.changed += 1;
                    plan.added += file.counts.added;
                    plan.removed += file.counts.removed;
                }
            }
        }
        plan.files = files;
        plan
    }
}

impl Planner<'_> {
    fn file(&self, path: TrackedPath, target: Target) -> Result<PlannedFile> {
        let absolute = path.resolve(self.cwd);
        let bytes_max = if self.options.max_file_bytes == 0 { u64::MAX } else { self.options.max_file_bytes };
        let found = if absolute.parent().is_some_and(|parent| self.in_store.get(parent) == Some(&true)) {
            Found::Refused { reason: Reason::Store, detail: None }
        } else {
            find(&*self.inner.io, &absolute, bytes_max)?
        };
        let from = found.entry();
        let changed_by_hand = changed_by_hand(target.note.as_ref(), &from);
        let mut file = PlannedFile {
            path,
            action: FileAction::Skip,
            reason: None,
            from,
            to: target.entry,
            counts: LineCounts::default(),
            changed_by_hand,
        };
        match self.decide(&file, &found) {
            Ok(action) => file.action = action,
            Err(reason) => file.reason = Some(reason),
        }
        if self.options.line_counts && file.action.changes() && file.action != FileAction::Chmod {
            file.counts = self.counts(&found, &file.to);
        }
        Ok(file)
    }

    fn decide(&self, file: &PlannedFile, found: &Found) -> Result<FileAction, SkipReason> {
        match &file.to {
            Entry::Absent | Entry::File { .. } => {}
            Entry::NotCaptured { .. } => return Err(SkipReason::NotCaptured),
            Entry::Purged { .. } => return Err(SkipReason::Purged),
            Entry::Symlink { .. } => return Err(SkipReason::State(Reason::Symlink)),
            Entry::Directory { .. } => return Err(SkipReason::State(Reason::NotAFile)),
        }
        if file.from == file.to {
            return Ok(FileAction::Unchanged);
        }
        match found {
            Found::Absent | Found::File(_) => {}
            Found::Linked(_) => return Err(SkipReason::State(Reason::HardLink)),
            Found::Refused { reason, .. } => return Err(SkipReason::State(*reason)),
        }
        if self.options.protect_manual_edits && file.changed_by_hand {
            return Err(SkipReason::ChangedByHand);
        }
        if file.from.content() == file.to.content() {
            return Ok(FileAction::Chmod);
        }
        match (&file.from, file.to.content()) {
            (_, None) => Ok(FileAction::Delete),
            (_, Some(content)) if !self.can_read(content) => Err(self.why_missing(content)),
            (Entry::Absent, _) => Ok(FileAction::Create),
            _ => Ok(FileAction::Modify),
        }
    }

    /// Whether a content is there. Large ones are read and hashed only when the plan is carried out.
    fn can_read(&self, content: Hash) -> bool {
        match self.inner.read_object(content) {
            Ok(_) => true,
            Err(error) if error.kind() == ErrorKind::TooLarge => {
                self.inner.read(|rows| Ok(rows.object(content)?.map(|row| row.place))).is_ok_and(|place| match place {
                    Some(Place::Large { file, .. }) => {
                        self.inner.io.open(&large_path(&self.inner.path, content, file), Open::Read).is_ok()
                    }
                    _ => false,
                })
            }
            Err(_) => false,
        }
    }

    fn why_missing(&self, content: Hash) -> SkipReason {
        let purged = self.inner.read(|rows| Ok(rows.raw(Logical::Purged, content.as_bytes())?.is_some()));
        if purged.unwrap_or(false) { SkipReason::Purged } else { SkipReason::MissingContent }
    }

    fn counts(&self, found: &Found, to: &Entry) -> LineCounts {
        let old = match found {
            Found::File(FoundFile { source: Source::Bytes(bytes), .. }) => Some(Arc::clone(bytes)),
            Found::Absent => None,
            _ => return lines::count_large(),
        };
        let new = match to.content().map(|content| self.inner.read_object(content)) {
            None => None,
            Some(Ok(bytes)) => Some(bytes),
            Some(Err(_)) => return lines::count_large(),
        };
        let deadline = self.diffs_until.min(Instant::now() + DIFF_WAIT);
        lines::count(old.as_deref(), new.as_deref(), Some(deadline))
    }
}

/// Whether somebody else changed a file since the agent's last edit. What is not known is not held against anybody.
fn changed_by_hand(note: Option<&Entry>, now: &Entry) -> bool {
    match (note, now) {
        (Some(note @ (Entry::Absent | Entry::File { .. })), Entry::Absent | Entry::File { .. }) => note != now,
        _ => false,
    }
}

/// Unified diff of one file of a plan, from its content now to the planned one. Empty where there is nothing to show
/// as text.
pub(crate) fn diff(inner: &Inner, cwd: &Path, plan: &Plan, path: &TrackedPath) -> Result<String> {
    let file = plan.files.iter().find(|file| file.path == *path).ok_or_else(|| {
        Error::new(ErrorKind::NotFound, "show a diff").cause(format!("{} is not in the plan", path.display()))
    })?;
    let old: Arc<[u8]> = match find(&*inner.io, &path.resolve(cwd), BLOB_BYTES_MAX)? {
        Found::Absent => Arc::from([]),
        Found::File(FoundFile { source: Source::Bytes(bytes), .. })
        | Found::Linked(FoundFile { source: Source::Bytes(bytes), .. }) => bytes,
        _ => return Ok(String::new()),
    };
    let new: Arc<[u8]> = match &file.to {
        Entry::Absent => Arc::from([]),
        Entry::File { size, .. } if *size > BLOB_BYTES_MAX => return Ok(String::new()),
        Entry::File { content, .. } => inner.read_object(*content)?,
        _ => return Ok(String::new()),
    };
    let label = |side: char, exists: bool| match exists {
        true => format!("{side}/{}", path.display().escape_default()),
        false => "/dev/null".to_owned(),
    };
    let labels = [label('a', file.from != Entry::Absent), label('b', file.to != Entry::Absent)];
    let labels = Labels { old: &labels[0], new: &labels[1] };
    let diff = lines::unified(&old, &new, labels, DIFF_CONTEXT, Some(Instant::now() + DIFF_WAIT));
    Ok(String::from_utf8_lossy(&diff).into_owned())
}
