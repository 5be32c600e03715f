//! A worker that behaves like an agent's process with the plugin: it edits files, takes points, goes back and forward,
//! forks, drops old sessions, and says what it has been promised.
//!
//! Several of them share one store, each in a workspace of its own (its slot). They write the same contents again and
//! again, so that one process's new file is often bytes that another one has just stored, or just dropped.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use candy_store::gc::GcOptions;
use candy_store::restore::ResumeHow;
use candy_store::{
    Forked, Id, NewRedoItem, PlanRequest, PointKind, RedoKind, Session, SessionOptions, SnapshotRequest, Store,
    StoreOptions, Target, Tracking,
};

use crate::rng::Rng;
use crate::witness::{Content, Files, Promise};
use crate::workload::SourceText;

/// Files of a workspace, with names that need care.
const NAMES: &[&str] = &["a.txt", "src/b.ts", "src/deep/c.rs", "目录/文件.md", "🍬.json", "__proto__", "..d", "e%20f"];

/// Points after which a slot begins a new session and drops its older ones.
const SESSION_POINTS_MAX: u64 = 24;

/// Engine and system errors alike end the worker, with a line that says so.
type Failure = Box<dyn std::error::Error>;

/// Where and how a worker works.
#[derive(Debug, Clone)]
pub struct AgentOptions {
    /// The store, shared.
    pub store: PathBuf,
    /// Directory in which each slot has its workspace.
    pub workspaces: PathBuf,
    /// Which of the concurrent workers this is.
    pub slot: usize,
    /// Seed of what it does.
    pub seed: u64,
    /// Ends after this time; without, it goes on until it is killed.
    pub seconds: Option<u64>,
    /// Whether it collects garbage itself now and then.
    pub gc: bool,
}

/// Works until it is killed or its time is over. Errors are printed as [`Promise::Failed`].
pub fn work(options: &AgentOptions) {
    if let Err(error) = Agent::start(options).and_then(|mut agent| agent.work()) {
        Promise::Failed { why: format!("slot {}: {error}", options.slot) }.print();
    }
}

/// Opens the store as all workers do: patient, because under many writers a lock may take long to come round.
///
/// # Errors
/// When it cannot be opened.
pub fn open_store(path: &Path) -> candy_store::Result<Store> {
    Store::open(path, &StoreOptions { lock_wait: Duration::from_secs(30), ..StoreOptions::default() })
}

/// Options of a session with neither excludes nor a limit.
pub fn session_options(id: &str, cwd: &Path) -> SessionOptions {
    SessionOptions { id: id.to_owned(), cwd: cwd.to_owned(), exclude: Vec::new(), max_file_bytes: 0 }
}

/// A plan request for all files, without line counts.
pub fn plan_request(target: Target) -> PlanRequest {
    PlanRequest { target, only: Vec::new(), line_counts: false, protect_manual_edits: false }
}

struct Agent<'a> {
    options: &'a AgentOptions,
    rng: Rng,
    contents: Vec<Vec<u8>>,
    cwd: PathBuf,
    store: Store,
    session: Session,
}

impl<'a> Agent<'a> {
    fn start(options: &'a AgentOptions) -> Result<Self, Failure> {
        let cwd = options.workspaces.join(format!("w{}", options.slot));
        std::fs::create_dir_all(&cwd)?;
        let cwd = cwd.canonicalize()?;
        let mut rng = Rng::new(options.seed);
        let store = open_store(&options.store)?;
        let session = store.open_session(&session_options(&newest_session(&store, options.slot)?, &cwd))?;
        // A predecessor may have been killed in the middle of a restore: either way out must work.
        for unfinished in session.unfinished_restores()? {
            let how = if rng.percent(50) { ResumeHow::Finish } else { ResumeHow::Rollback };
            let report = session.resume_restore(unfinished.id, how)?;
            if !report.failed.is_empty() {
                return Err(format!("resumed restore failed for {:?}", report.failed).into());
            }
        }
        Ok(Self { options, rng, contents: contents(), cwd, store, session })
    }

    fn work(&mut self) -> Result<(), Failure> {
        let end = self.options.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
        while end.is_none_or(|end| Instant::now() < end) {
            self.step()?;
        }
        self.store.close()?;
        Ok(())
    }

    fn step(&mut self) -> Result<(), Failure> {
        let (name, done) = match self.rng.below(100) {
            0..=54 => ("turn", self.turn()),
            55..=74 => ("undo", self.undo()),
            75..=84 => ("redo", self.redo()),
            85..=90 => ("fork", self.fork()),
            91..=94 if self.options.gc => ("gc", self.collect()),
            _ => ("renew", self.renew()),
        };
        done.map_err(|error| format!("{name}: {error}").into())
    }

    fn collect(&self) -> Result<(), Failure> {
        self.store.gc(&GcOptions { force: true, dry_run: false })?;
        Ok(())
    }

    /// A prompt that changes one to three files: point first, then pre-images, then the edits.
    fn turn(&mut self) -> Result<(), Failure> {
        self.point(PointKind::Operation)?;
        for _ in 0..self.rng.within(1..=3) {
            let name = *self.rng.pick(NAMES);
            let path = self.cwd.join(name);
            let before = Content::of(&path);
            let outcome = self.session.track(&path).map_err(|error| format!("track {name}: {error}"))?;
            match outcome.tracking {
                Tracking::Tracked(_) => {
                    Promise::Tracked { session: self.session.id().to_owned(), path: name.to_owned(), content: before }
                        .print()
                }
                Tracking::Already => {}
                other => return Err(format!("{name} was not tracked: {other:?}").into()),
            }
            self.edit(&path)?;
            self.session.tool_done(&path, false)?;
        }
        self.set_redo(None, |session| session.redo_clear())
    }

    fn edit(&mut self, path: &Path) -> Result<(), Failure> {
        if self.rng.percent(15) {
            return match std::fs::remove_file(path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
                _ => Ok(()),
            };
        }
        std::fs::create_dir_all(path.parent().expect("a file lies in a directory"))?;
        if self.rng.below(150) == 0 {
            // Above 4 MiB contents take another way through the store.
            let seed = self.rng.below(3) as u64;
            std::fs::write(path, Rng::new(seed).noise((4 << 20) + 4096 * seed as usize + 1))?;
        } else {
            std::fs::write(path, self.rng.pick(&self.contents))?;
        }
        Ok(())
    }

    fn point(&mut self, kind: PointKind) -> Result<(), Failure> {
        let outcome =
            self.session.snapshot(&SnapshotRequest::of(kind)).map_err(|error| format!("snapshot: {error}"))?;
        if !outcome.not_captured.is_empty() {
            return Err(format!("not captured: {:?}", outcome.not_captured).into());
        }
        let files = self.tracked_now()?;
        self.promise_point(outcome.point.id, files);
        Ok(())
    }

    /// Goes back to a random point and puts the way forward on the redo stack.
    fn undo(&mut self) -> Result<(), Failure> {
        let points = self.session.points()?;
        if points.is_empty() {
            return Ok(());
        }
        let target = self.rng.pick(&points).id;
        let redo_point = self.restore(Target::Point(target))?;
        let item = NewRedoItem { kind: RedoKind::Code, point: Some(redo_point), old_leaf: None, items_max: 20 };
        self.set_redo(Some(redo_point), |session| session.redo_push(&item))
    }

    fn redo(&mut self) -> Result<(), Failure> {
        let items = self.session.redo_items()?;
        let Some(top) = items.last() else { return Ok(()) };
        self.restore(Target::Trees(top.roots))?;
        let next = items.len().checked_sub(2).and_then(|below| items[below].point);
        self.set_redo(next, |session| session.redo_pop())
    }

    fn restore(&mut self, target: Target) -> Result<Id, Failure> {
        let before = self.tracked_now()?;
        let plan = self.session.plan(&plan_request(target))?;
        let report = self.session.apply(plan.id, 0).map_err(|error| format!("apply: {error}"))?;
        if !report.failed.is_empty() || !report.kept.is_empty() {
            return Err(format!("restore: failed {:?}, kept {:?}", report.failed, report.kept).into());
        }
        self.promise_point(report.redo_point.id, before);
        Ok(report.redo_point.id)
    }

    fn fork(&mut self) -> Result<(), Failure> {
        let from = self.session.id().to_owned();
        let to = format!("fork-{}-{}", self.options.slot, Id::random().to_hex());
        match self.store.fork(&from, &to, &self.cwd)? {
            Forked::Yes { .. } => {}
            other => return Err(format!("fork of {from}: {other:?}").into()),
        }
        let (old, new) = (self.store.points(&from)?, self.store.points(&to)?);
        let points = old.iter().zip(&new).map(|(old, new)| (old.id.to_hex(), new.id.to_hex())).collect();
        Promise::Forked { from, to, points }.print();
        Ok(())
    }

    /// Drops a fork; when the session has grown long, begins a new one and drops it.
    fn renew(&mut self) -> Result<(), Failure> {
        let mine = format!("fork-{}-", self.options.slot);
        let sessions = self.store.sessions()?;
        if let Some(fork) = sessions.iter().find(|session| session.id.starts_with(&mine)) {
            self.drop_session(&fork.id)?;
        }
        let old = self.session.id().to_owned();
        let points = sessions.iter().find(|session| session.id == old).map_or(0, |session| session.points);
        if points >= SESSION_POINTS_MAX {
            let next = format!("{}{}", main_prefix(self.options.slot), generation(&old) + 1);
            self.session = self.store.open_session(&session_options(&next, &self.cwd))?;
            self.drop_session(&old)?;
        }
        Ok(())
    }

    fn drop_session(&self, id: &str) -> Result<(), Failure> {
        Promise::DropIntended { session: id.to_owned() }.print();
        self.store.drop_session(id)?;
        Promise::Dropped { session: id.to_owned() }.print();
        Ok(())
    }

    fn set_redo(
        &self,
        top: Option<Id>,
        change: impl FnOnce(&Session) -> candy_store::Result<()>,
    ) -> Result<(), Failure> {
        let session = self.session.id().to_owned();
        let top = top.map(|id| id.to_hex());
        Promise::RedoIntended { session: session.clone(), top: top.clone() }.print();
        change(&self.session)?;
        Promise::Redo { session, top }.print();
        Ok(())
    }

    fn promise_point(&self, id: Id, files: Files) {
        Promise::Point { session: self.session.id().to_owned(), id: id.to_hex(), files }.print();
    }

    /// The tracked files as they lie on the disk: nobody else works in this workspace.
    fn tracked_now(&self) -> Result<Files, Failure> {
        let originals = self.session.originals()?;
        Ok(originals.iter().map(|(path, _)| (path.display(), Content::of(&path.resolve(&self.cwd)))).collect())
    }
}

fn main_prefix(slot: usize) -> String {
    format!("main-{slot}-")
}

/// Number at the end of a session's id.
fn generation(id: &str) -> u64 {
    id.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn newest_session(store: &Store, slot: usize) -> Result<String, Failure> {
    let prefix = main_prefix(slot);
    let sessions = store.sessions()?;
    let newest =
        sessions.iter().filter(|session| session.id.starts_with(&prefix)).map(|session| generation(&session.id));
    Ok(format!("{prefix}{}", newest.max().unwrap_or(0)))
}

/// The same contents for every worker: 12 texts in 8 versions each.
fn contents() -> Vec<Vec<u8>> {
    let mut rng = Rng::new(77);
    let mut contents = vec![Vec::new(), b"one line\n".to_vec()];
    for text in 0..12 {
        let mut text = SourceText::generate(&mut rng, 400 + text * 900);
        for _ in 0..8 {
            contents.push(text.bytes());
            text.edit(&mut rng);
        }
    }
    contents
}
