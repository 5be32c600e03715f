//! The thread of a store.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, SendError, Sender};
use std::thread;

use candy_store::{Error, ErrorKind, Result, Session, Store};
use napi::Env;

/// Names an open session within its store's thread.
pub(crate) type SessionKey = u64;

/// Everything of the engine that belongs to one store. It lives on the store's thread and is dropped there: closing a
/// store syncs files, and the objects in JavaScript are collected on pi's thread.
#[derive(Debug, Default)]
pub(crate) struct Engine {
    store: Option<Store>,
    sessions: HashMap<SessionKey, Session>,
    last_key: SessionKey,
}

impl Engine {
    /// Begins to use a store.
    pub(crate) fn attach(&mut self, store: Store) {
        self.store = Some(store);
    }

    /// The store, unless it was closed.
    pub(crate) fn store(&self) -> Result<&Store> {
        self.store.as_ref().ok_or_else(|| Error::new(ErrorKind::Closed, "use the store").cause("it was closed"))
    }

    /// Keeps a session open.
    pub(crate) fn add_session(&mut self, session: Session) -> SessionKey {
        self.last_key += 1;
        self.sessions.insert(self.last_key, session);
        self.last_key
    }

    /// The session, unless it or its store was closed.
    pub(crate) fn session(&self, key: SessionKey) -> Result<&Session> {
        self.store()?;
        self.sessions.get(&key).ok_or_else(|| {
            Error::new(ErrorKind::Closed, "use the session").cause("it was closed").with_hint("open the session again")
        })
    }

    /// Gives a session up. Nothing happens when it was closed already.
    pub(crate) fn close_session(&mut self, key: SessionKey) {
        self.sessions.remove(&key);
    }

    /// Gives all sessions and the store up. Nothing happens when it was closed already.
    pub(crate) fn close(&mut self) -> Result<()> {
        self.sessions.clear();
        self.store.take().map_or(Ok(()), |store| store.close())
    }
}

/// Work for the thread. It must not panic: the calls of [`crate::call`] catch panics themselves.
pub(crate) type Job = Box<dyn FnOnce(&mut Engine) + Send>;

/// The way to the thread. The thread ends when the last of these is gone and all work is done, or with
/// the JavaScript it was started for.
#[derive(Clone, Debug)]
pub(crate) struct Worker {
    jobs: Sender<Job>,
    abandoned: Arc<AtomicBool>,
}

impl Worker {
    /// Starts the thread.
    pub(crate) fn start() -> Result<Self> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let abandoned = Arc::new(AtomicBool::new(false));
        let given_up = Arc::clone(&abandoned);
        let started = thread::Builder::new().name("candy-store".into()).spawn(move || {
            let mut engine = Engine::default();
            for job in queue {
                if given_up.load(Ordering::Acquire) {
                    break;
                }
                job(&mut engine);
            }
        });
        match started {
            Ok(_detached) => Ok(Self { jobs, abandoned }),
            Err(error) => Err(Error::new(ErrorKind::Io, "start a thread").because(error)),
        }
    }

    /// Gives up the work that has not begun when its JavaScript ends: nobody is there to hear of it, and a file that is
    /// captured long after it was asked for is not what was asked for.
    pub(crate) fn give_up_with(&self, env: &Env) -> napi::Result<()> {
        env.add_env_cleanup_hook(Arc::clone(&self.abandoned), |abandoned| abandoned.store(true, Ordering::Release))?;
        Ok(())
    }

    /// Hands over work, to be done after all that was handed over before.
    pub(crate) fn run(&self, job: Job) {
        if let Err(SendError(job)) = self.jobs.send(job) {
            // The thread is gone. The promise must be settled all the same: an empty engine says "closed" at once.
            job(&mut Engine::default());
        }
    }
}
