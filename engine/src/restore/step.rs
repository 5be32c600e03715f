//! One file of a restore, and the journal entry it belongs to.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{Error, ErrorKind, Result};
use crate::hash::Hash;
use crate::id::Id;
use crate::index::rows::{RestoreRow, RestoreStep};
use crate::io::bytes_path;
use crate::journal::Change;
use crate::object::large;
use crate::object::pending::{Pending, PendingObject};
use crate::restore::{Applied, FailedFile, Keep};
use crate::store::Inner;
use crate::tree::{Entry, Reason, TrackedPath};
use crate::workspace::{
    Backing, Found, FoundFile, Outcome, Place, Source, Way, delete_file, make_way_to, set_mode, way_to, write_file,
    write_in_place,
};

/// Bytes of a file's name that its temporary file repeats, for people who find one.
const TEMPORARY_NAME_BYTES: usize = 64;

/// What the journal has for the name of a temporary file once the file is being overwritten in place.
const IN_PLACE: &str = "";

/// Whether a crash may have left a mixture of both contents.
pub(super) fn is_in_place(step: &RestoreStep) -> bool {
    step.temporary == IN_PLACE
}

/// Name of the temporary file of a step. It follows from the restore and the step, so that it is found again whatever
/// the journal says.
pub(super) fn temporary_name(restore: Id, at: usize, path: &TrackedPath) -> String {
    let name = String::from_utf8_lossy(path.manifest_path().name());
    let mut shown = String::new();
    for c in name.chars().map(|c| if c.is_control() { '_' } else { c }) {
        if shown.len() + c.len_utf8() > TEMPORARY_NAME_BYTES {
            break;
        }
        shown.push(c);
    }
    format!(".{shown}.candy-{}-{at}.tmp", &restore.to_hex()[..12])
}

/// A restore that is in the journal. Its steps are independent of each other and may be taken by several threads.
pub(super) struct Journalled<'a, 'k> {
    pub(super) inner: &'a Inner,
    id: Id,
    cwd: PathBuf,
    steps: Vec<RestoreStep>,
    /// As it is in the journal: differs from the steps once a file is being overwritten in place.
    row: Mutex<RestoreRow>,
    keep: Mutex<&'a mut Keep<'k>>,
    torn: AtomicBool,
}

impl<'a, 'k> Journalled<'a, 'k> {
    pub(super) fn new(inner: &'a Inner, id: Id, row: RestoreRow, keep: &'a mut Keep<'k>) -> Self {
        Self {
            inner,
            id,
            cwd: bytes_path(&row.cwd),
            steps: row.steps.clone(),
            row: Mutex::new(row),
            keep: Mutex::new(keep),
            torn: AtomicBool::new(false),
        }
    }

    pub(super) fn steps(&self) -> &[RestoreStep] {
        &self.steps
    }

    /// The absolute path of a step's file.
    pub(super) fn path(&self, at: usize) -> PathBuf {
        self.steps[at].path.resolve(&self.cwd)
    }

    /// Whether a file was left as a mixture: only resuming the restore repairs it.
    pub(super) fn is_torn(&self) -> bool {
        self.torn.load(Ordering::Relaxed)
    }

    /// The place of a step's file.
    pub(super) fn place(&self, at: usize, way: Way) -> Result<Place, Outcome> {
        match way {
            Way::Open { dir, name } => {
                let temporary = temporary_name(self.id, at, &self.steps[at].path).into_bytes();
                Ok(Place { dir, name, temporary })
            }
            Way::Missing => Err(Outcome::Nothing),
            Way::Blocked { reason, detail } => Err(Outcome::Refused { reason, detail: Some(detail) }),
        }
    }

    /// Brings a step's file to a state. Contents in `held` are expected there and safe in the store; any other is kept
    /// first.
    pub(super) fn bring(&self, at: usize, wanted: &Entry, held: Vec<Hash>) -> Result<Outcome> {
        let path = self.path(at);
        let io = &*self.inner.io;
        let (content, mode) = match wanted {
            Entry::Absent => {
                let place = match self.place(at, way_to(io, &path)?) {
                    Ok(place) => place,
                    Err(outcome) => return Ok(outcome),
                };
                return delete_file(&place, &mut StepBacking::new(self, at, None, held));
            }
            Entry::File { content, mode, .. } => (*content, *mode),
            other => {
                return Err(Error::new(ErrorKind::BadArgument, "restore")
                    .at(path)
                    .cause(format!("there is no content for it: {other:?}")));
            }
        };
        let place = match self.place(at, make_way_to(io, &path)?) {
            Ok(place) => place,
            Err(outcome) => return Ok(outcome),
        };
        let found = place.find();
        if let Found::File(found) = &found
            && found.content == content
        {
            if found.stat.mode == mode {
                return Ok(Outcome::Nothing);
            }
            if set_mode(&place, found, mode)? == Outcome::Done {
                return Ok(Outcome::Done);
            }
        }
        let mut backing = StepBacking::new(self, at, Some(content), held);
        let result = if is_in_place(&self.steps[at]) && matches!(found, Found::File(_)) {
            write_in_place(&place, mode, &mut backing)
        } else {
            write_file(&place, mode, &mut backing)
        };
        if backing.in_place {
            self.torn.store(true, Ordering::Relaxed);
        }
        result
    }

    /// Keeps bytes that nobody expected.
    pub(super) fn keep_found(&self, at: usize, found: &FoundFile) -> Result<()> {
        // A panic while bytes were being kept has already ended the restore.
        let mut keep = self.keep.lock().unwrap_or_else(PoisonError::into_inner);
        keep_found(self.inner, &self.cwd, &mut **keep, &self.steps[at].path, found)
    }
}

/// Makes a file's bytes durable as a version of their own.
pub(super) fn keep_found(
    inner: &Inner,
    cwd: &Path,
    keep: &mut Keep<'_>,
    path: &TrackedPath,
    found: &FoundFile,
) -> Result<()> {
    let mut pending = Pending::default();
    match &found.source {
        Source::Bytes(bytes) => {
            pending.add(PendingObject::blob(found.content, Arc::clone(bytes), None));
        }
        Source::Large(file) => {
            let at = path.resolve(cwd);
            let stored = large::store(&inner.io, &inner.path, &**file, &at)?;
            if stored.content != found.content {
                return Err(Error::new(ErrorKind::Conflict, "keep").at(at).cause("it changed while it was read"));
            }
            pending.large.push(stored);
        }
    }
    keep(path, found.entry(), pending)
}

/// The store's part in one step.
struct StepBacking<'s, 'a, 'k> {
    restore: &'s Journalled<'a, 'k>,
    at: usize,
    content: Option<Hash>,
    held: Vec<Hash>,
    in_place: bool,
}

impl<'s, 'a, 'k> StepBacking<'s, 'a, 'k> {
    fn new(restore: &'s Journalled<'a, 'k>, at: usize, content: Option<Hash>, held: Vec<Hash>) -> Self {
        Self { restore, at, content, held, in_place: false }
    }
}

impl Backing for StepBacking<'_, '_, '_> {
    fn holds(&self, found: &FoundFile) -> bool {
        self.held.contains(&found.content)
    }

    fn keep(&mut self, found: &FoundFile) -> Result<()> {
        self.restore.keep_found(self.at, found)?;
        self.held.push(found.content);
        Ok(())
    }

    fn fill(&mut self, out: &mut dyn Write) -> Result<()> {
        let content = self.content.ok_or_else(|| Error::new(ErrorKind::Internal, "restore a file without content"))?;
        self.restore.inner.copy_content(content, out)
    }

    fn begin_in_place(&mut self) -> Result<()> {
        let restore = self.restore;
        let mut row = restore.row.lock().unwrap_or_else(PoisonError::into_inner);
        row.steps[self.at].temporary = IN_PLACE.to_owned();
        // References go and come in one transaction, so none is lost and none is counted twice.
        let changes = vec![
            Change::RestoreFinished { id: restore.id },
            Change::RestoreBegun { id: restore.id, restore: row.clone() },
        ];
        restore.inner.commit(&mut Pending::default(), |_, _| Ok(Some((changes, ()))))?;
        self.in_place = true;
        Ok(())
    }

    fn end_in_place(&mut self) {
        self.in_place = false;
    }
}

impl Applied {
    /// Counts what became of one file.
    pub(super) fn count(&mut self, path: &TrackedPath, wanted: &Entry, result: Result<Outcome>) {
        match result {
            Ok(Outcome::Done) => {
                self.restored += 1;
                self.noted.push((path.clone(), wanted.clone()));
            }
            Ok(Outcome::Nothing) => {
                self.unchanged += 1;
                self.noted.push((path.clone(), wanted.clone()));
            }
            Ok(Outcome::Refused { reason, detail }) => self.refuse(path, reason, detail.as_deref()),
            Err(error) => self.failed.push(FailedFile::new(path, &error)),
        }
    }

    /// Counts a file that is left alone: links silently, as announced; anything else is a failure with its reason.
    pub(super) fn refuse(&mut self, path: &TrackedPath, reason: Reason, detail: Option<&str>) {
        if matches!(reason, Reason::Symlink | Reason::HardLink) {
            self.skipped += 1;
            return;
        }
        let detail = detail.map(|detail| format!(" ({detail})")).unwrap_or_default();
        let error = Error::new(ErrorKind::Conflict, format!("restore {}", path.display()))
            .cause(format!("{}{detail}", reason.word()));
        self.failed.push(FailedFile::new(path, &error));
    }
}
