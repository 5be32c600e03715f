//! The class `Store`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use candy_store::Forked;
use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;

use crate::call::{Pending, call, call_then_settle, caught, silence_panics};
use crate::error::into_js;
use crate::session::Session;
use crate::values::{ForkResult, GcReport, SessionInfo, SessionOptions, StoreInfo, StoreOptions, number, whole};
use crate::worker::Worker;

/// How long to wait for a lock unless the caller says otherwise.
const LOCK_WAIT_MS: f64 = 5000.0;

/// An open store.
#[napi]
pub struct Store {
    worker: Worker,
    info: StoreInfo,
}

#[napi]
impl Store {
    /// Opens or creates.
    #[napi(catch_unwind)]
    pub fn open<'env>(env: &'env Env, options: StoreOptions) -> napi::Result<Object<'env>> {
        silence_panics();
        let worker = Worker::start().map_err(|error| into_js(env, &error))?;
        worker.give_up_with(env)?;
        let own = worker.clone();
        call(env, &worker, move |engine| {
            let lock_wait_ms = whole("lockWaitMs", options.lock_wait_ms.unwrap_or(LOCK_WAIT_MS))?;
            let store = candy_store::Store::open(
                Path::new(&options.path),
                &candy_store::StoreOptions {
                    create: true,
                    read_only: false,
                    workspace: options.workspace.map(PathBuf::from),
                    lock_wait: Duration::from_millis(lock_wait_ms),
                },
            )?;
            let info = StoreInfo::from(&store);
            engine.attach(store);
            Ok(Self { worker: own, info })
        })
    }

    /// What the store said of itself when it was opened.
    #[napi(catch_unwind)]
    pub fn info(&self) -> StoreInfo {
        self.info.clone()
    }

    /// Whether the store has history of that session.
    #[napi(catch_unwind)]
    pub fn has_session<'env>(&self, env: &'env Env, id: String) -> napi::Result<Object<'env>> {
        call(env, &self.worker, move |engine| engine.store()?.has_session(&id))
    }

    /// Opens a session, making it when missing.
    #[napi(catch_unwind)]
    pub fn open_session<'env>(&self, env: &'env Env, options: SessionOptions) -> napi::Result<Object<'env>> {
        let worker = self.worker.clone();
        call(env, &self.worker, move |engine| {
            let session = engine.store()?.open_session(&options.into_engine()?)?;
            let info = SessionInfo::read(&session)?;
            Ok(Session::new(worker, engine.add_session(session), info))
        })
    }

    /// Copies the history of a session to a new one.
    #[napi(catch_unwind)]
    pub fn fork<'env>(&self, env: &'env Env, from: String, to: String, cwd: String) -> napi::Result<Object<'env>> {
        call(env, &self.worker, move |engine| {
            Ok(match engine.store()?.fork(&from, &to, Path::new(&cwd))? {
                Forked::Yes { points } => ForkResult { forked: true, points: number(points) },
                Forked::NoSource | Forked::Exists | Forked::OtherWorkspace => ForkResult { forked: false, points: 0.0 },
            })
        })
    }

    /// Drops old sessions and says how many.
    #[napi(catch_unwind)]
    pub fn expire_sessions<'env>(&self, env: &'env Env, days: f64) -> napi::Result<Object<'env>> {
        call(env, &self.worker, move |engine| {
            // More days than fit are as good as for ever.
            let days = u32::try_from(whole("days", days)?).unwrap_or(u32::MAX);
            Ok(number(engine.store()?.expire_sessions(days)?))
        })
    }

    /// Collects garbage.
    #[napi(catch_unwind)]
    pub fn gc<'env>(&self, env: &'env Env, force: bool) -> napi::Result<Object<'env>> {
        // On a thread of its own: files that an agent wants to edit must not wait for a collection.
        call_then_settle(env, &self.worker, move |engine, pending: Pending<GcReport>| {
            let started = engine.store().cloned().and_then(|store| Ok((store, Worker::start()?)));
            match started {
                Ok((store, worker)) => worker.run(Box::new(move |_| {
                    pending.settle(caught(|| {
                        let options = candy_store::gc::GcOptions { force, dry_run: false };
                        Ok(store.gc(&options)?.into())
                    }));
                })),
                Err(error) => pending.settle(Err(error)),
            }
        })
    }

    /// Seals the segment and closes the index.
    #[napi(catch_unwind)]
    pub fn close<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        call(env, &self.worker, move |engine| engine.close())
    }
}
