//! The class `Session`.

use std::path::{Path, PathBuf};

use candy_store::Result;
use napi::Env;
use napi::bindgen_prelude::{Object, ToNapiValue};
use napi_derive::napi;

use crate::call::call;
use crate::survey::{self, SurveyOptions};
use crate::values::{
    ApplyOptions, NewRedoItem, PlanOptions, PlanSummary, Point, RedoItem, RestoreOutcome, SessionInfo, SnapshotOptions,
    SnapshotResult, TrackResult, number, point_id, restore_id, resume_how, whole,
};
use crate::worker::{SessionKey, Worker};

/// An open session.
#[napi]
pub struct Session {
    handle: Handle,
    info: SessionInfo,
}

/// The session on its store's thread. Dropping it gives the session up there.
struct Handle {
    worker: Worker,
    key: SessionKey,
}

impl Drop for Handle {
    fn drop(&mut self) {
        let key = self.key;
        self.worker.run(Box::new(move |engine| engine.close_session(key)));
    }
}

impl Session {
    pub(crate) fn new(worker: Worker, key: SessionKey, info: SessionInfo) -> Self {
        Self { handle: Handle { worker, key }, info }
    }

    fn call<'env, T: ToNapiValue + Send + 'static>(
        &self,
        env: &'env Env,
        work: impl FnOnce(&candy_store::Session) -> Result<T> + Send + 'static,
    ) -> napi::Result<Object<'env>> {
        let key = self.handle.key;
        call(env, &self.handle.worker, move |engine| work(engine.session(key)?))
    }
}

#[napi]
impl Session {
    /// What was so when the session was opened.
    #[napi(catch_unwind)]
    pub fn info(&self) -> SessionInfo {
        self.info.clone()
    }

    /// Makes a file's pre-image durable if the path is new.
    #[napi(catch_unwind)]
    pub fn track<'env>(&self, env: &'env Env, path: String) -> napi::Result<Object<'env>> {
        self.call(env, move |session| Ok(TrackResult::from(session.track(Path::new(&path))?)))
    }

    /// Notes what a tool left behind.
    #[napi(catch_unwind)]
    pub fn tool_done<'env>(&self, env: &'env Env, path: String, failed: bool) -> napi::Result<Object<'env>> {
        self.call(env, move |session| session.tool_done(Path::new(&path), failed))
    }

    /// Remembers untracked files that a shell command names, until the next point.
    #[napi(catch_unwind)]
    pub fn glimpse<'env>(&self, env: &'env Env, paths: Vec<String>) -> napi::Result<Object<'env>> {
        self.call(env, move |session| {
            let paths: Vec<PathBuf> = paths.into_iter().map(PathBuf::from).collect();
            session.glimpse(&paths).map(number)
        })
    }

    /// Captures every tracked path as it is now.
    #[napi(catch_unwind)]
    pub fn snapshot<'env>(&self, env: &'env Env, options: SnapshotOptions) -> napi::Result<Object<'env>> {
        self.call(env, move |session| Ok(SnapshotResult::from(session.snapshot(&options.into_engine()?)?)))
    }

    /// Binds a point to the user message it precedes.
    #[napi(catch_unwind)]
    pub fn bind<'env>(&self, env: &'env Env, point: String, entry: String) -> napi::Result<Object<'env>> {
        self.call(env, move |session| session.bind(point_id(&point)?, &entry))
    }

    /// Adds reasons why the turn after a point is not fully covered.
    #[napi(catch_unwind)]
    pub fn add_gaps<'env>(&self, env: &'env Env, point: String, gaps: Vec<String>) -> napi::Result<Object<'env>> {
        self.call(env, move |session| session.add_gaps(point_id(&point)?, &gaps))
    }

    /// All points, oldest first.
    #[napi(catch_unwind)]
    pub fn points<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        self.call(env, |session| Ok(session.points()?.into_iter().map(Point::from).collect::<Vec<_>>()))
    }

    /// What going back would do.
    #[napi(catch_unwind)]
    pub fn plan<'env>(&self, env: &'env Env, options: PlanOptions) -> napi::Result<Object<'env>> {
        self.call(env, move |session| {
            let ticket = session.plan(&options.into_engine()?)?;
            Ok(PlanSummary::new(ticket, session.cwd()))
        })
    }

    /// Looks at the tracked files; the answer names the look for `surveyRows`.
    #[napi(catch_unwind)]
    pub fn survey<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        self.call(env, |session| session.survey().map(number))
    }

    /// What going back to before each of many messages would change.
    #[napi(catch_unwind)]
    pub fn survey_rows<'env>(&self, env: &'env Env, survey: f64, options: SurveyOptions) -> napi::Result<Object<'env>> {
        self.call(env, move |session| survey::rows(session, survey, options))
    }

    /// Unified diff of one file of a plan.
    #[napi(catch_unwind)]
    pub fn diff<'env>(&self, env: &'env Env, plan: f64, path: String) -> napi::Result<Object<'env>> {
        self.call(env, move |session| session.diff(whole("planId", plan)?, &session.tracked_path(Path::new(&path))?))
    }

    /// Takes the redo point, then restores file by file.
    #[napi(catch_unwind)]
    pub fn apply<'env>(&self, env: &'env Env, plan: f64, options: ApplyOptions) -> napi::Result<Object<'env>> {
        self.call(env, move |session| {
            let report = session.apply(whole("planId", plan)?, whole("maxPoints", options.max_points)?)?;
            Ok(RestoreOutcome::new(report, session.cwd()))
        })
    }

    /// Finishes or takes back a restore that a crash interrupted.
    #[napi(catch_unwind)]
    pub fn resume_restore<'env>(&self, env: &'env Env, id: String, how: String) -> napi::Result<Object<'env>> {
        self.call(env, move |session| {
            let report = session.resume_restore(restore_id(&id)?, resume_how(&how)?)?;
            Ok(RestoreOutcome::new(report, session.cwd()))
        })
    }

    /// Pushes an item on the redo stack.
    #[napi(catch_unwind)]
    pub fn redo_push<'env>(&self, env: &'env Env, item: NewRedoItem) -> napi::Result<Object<'env>> {
        self.call(env, move |session| session.redo_push(&item.into_engine()?))
    }

    /// The newest item of the redo stack.
    #[napi(catch_unwind)]
    pub fn redo_peek<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        self.call(env, |session| Ok(session.redo_peek()?.map(RedoItem::from)))
    }

    /// Takes the newest item off.
    #[napi(catch_unwind)]
    pub fn redo_pop<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        self.call(env, |session| session.redo_pop())
    }

    /// Empties the redo stack.
    #[napi(catch_unwind)]
    pub fn redo_clear<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        self.call(env, |session| session.redo_clear())
    }

    /// Gives the session up.
    #[napi(catch_unwind)]
    pub fn close<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        let key = self.handle.key;
        call(env, &self.handle.worker, move |engine| {
            engine.close_session(key);
            Ok(())
        })
    }
}
