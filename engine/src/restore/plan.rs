//! What a restore would do.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
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
use crate::restore::present::{Now, Present};
use crate::store::Inner;
use crate::tree::{Entry, Reason, TrackedPath};
use crate::workspace::{Found, FoundFile, Source, find};

/// Longest time for the diff of one file.
const DIFF_WAIT: Duration = Duration::from_millis(100);

/// Longest time for all diffs of a plan; past it counts are rough.
const DIFFS_WAIT: Duration = Duration::from_secs(2);

/// Longest diff that is handed out: people look at its beginning, and it crosses into JavaScript in one piece.
const DIFF_BYTES_MAX: usize = 1 << 20;

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
    /// The wanted state was not captured, and why.
    NotCaptured(Reason),
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
            // The one reason that is the user's own setting.
            Self::NotCaptured(Reason::TooLarge) => "was-too-large",
            Self::NotCaptured(_) => "not-captured",
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
}

/// Line counts by content before and after: many plans from one state have the same pairs.
pub(crate) type CountedPairs = Mutex<HashMap<(Option<Hash>, Option<Hash>), LineCounts>>;

/// What plans of one moment have in common.
pub(crate) struct Planner<'a> {
    pub(crate) inner: &'a Inner,
    pub(crate) present: &'a Present,
    pub(crate) options: PlanOptions,
    pub(crate) counted: &'a CountedPairs,
    diffs_until: Instant,
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

impl<'a> Planner<'a> {
    pub(crate) fn new(inner: &'a Inner, present: &'a Present, options: PlanOptions, counted: &'a CountedPairs) -> Self {
        Self { inner, present, options, counted, diffs_until: Instant::now() + DIFFS_WAIT }
    }

    /// Plans to bring each path to its target. Paths that were not looked at are left out.
    pub(crate) fn plan(&self, targets: BTreeMap<TrackedPath, Entry>) -> Plan {
        let targets: Vec<(TrackedPath, Entry)> = targets.into_iter().collect();
        let files: Vec<PlannedFile> = self.inner.pool().install(|| {
            let targets = targets.into_par_iter();
            targets
                .filter_map(|(path, to)| {
                    let now = self.present.get(&path)?;
                    Some(self.file(path, to, now))
                })
                .collect()
        });
        Plan::of(files)
    }

    fn file(&self, path: TrackedPath, to: Entry, now: &Now) -> PlannedFile {
        let mut file = PlannedFile {
            path,
            action: FileAction::Skip,
            reason: None,
            from: now.state.clone(),
            to,
            counts: LineCounts::default(),
            changed_by_hand: now.changed_by_hand,
        };
        match self.decide(&file, now.obstacle) {
            Ok(action) => file.action = action,
            Err(reason) => file.reason = Some(reason),
        }
        if self.options.line_counts && file.action.changes() && file.action != FileAction::Chmod {
            file.counts = self.counts(&file);
        }
        file
    }

    fn decide(&self, file: &PlannedFile, obstacle: Option<SkipReason>) -> Result<FileAction, SkipReason> {
        match &file.to {
            Entry::Absent | Entry::File { .. } => {}
            Entry::NotCaptured { reason } => return Err(SkipReason::NotCaptured(*reason)),
            Entry::Purged { .. } => return Err(SkipReason::Purged),
            Entry::Symlink { .. } => return Err(SkipReason::State(Reason::Symlink)),
            Entry::Directory { .. } => return Err(SkipReason::State(Reason::NotAFile)),
        }
        if file.from == file.to {
            return Ok(FileAction::Unchanged);
        }
        if let Some(obstacle) = obstacle {
            return Err(obstacle);
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

    fn counts(&self, file: &PlannedFile) -> LineCounts {
        let pair = (file.from.content(), file.to.content());
        let counted = || self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(counts) = counted().get(&pair) {
            return *counts;
        }
        let counts = self.count(file);
        // One that ran out of time may do better the next time.
        if !counts.approximate {
            counted().insert(pair, counts);
        }
        counts
    }

    fn count(&self, file: &PlannedFile) -> LineCounts {
        let old = match file.from {
            Entry::Absent => None,
            _ => match self.present.bytes(self.inner, &file.path) {
                Some(bytes) => Some(bytes),
                None => return lines::count_large(),
            },
        };
        let new = match file.to.content().map(|content| self.inner.read_object(content)) {
            None => None,
            Some(Ok(bytes)) => Some(bytes),
            Some(Err(_)) => return lines::count_large(),
        };
        let deadline = self.diffs_until.min(Instant::now() + DIFF_WAIT);
        lines::count(old.as_deref(), new.as_deref(), Some(deadline))
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
    let mut diff = lines::unified(&old, &new, labels, DIFF_CONTEXT, Some(Instant::now() + DIFF_WAIT));
    if diff.len() > DIFF_BYTES_MAX {
        let end = diff[..DIFF_BYTES_MAX].iter().rposition(|byte| *byte == b'\n').unwrap_or(DIFF_BYTES_MAX);
        diff.truncate(end);
        diff.extend_from_slice(b"\n\\ The rest of this diff is too long to be shown\n");
    }
    Ok(String::from_utf8_lossy(&diff).into_owned())
}
