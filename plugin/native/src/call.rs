//! From a call in JavaScript to the store's thread, and back as the fate of a promise.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use candy_store::{Error, ErrorKind, Result};
use napi::bindgen_prelude::{Object, ToNapiValue};
use napi::{Env, JsDeferred};

use crate::error::into_js;
use crate::worker::{Engine, Worker};

/// Runs on pi's thread when the outcome is there.
type Resolver<T> = Box<dyn FnOnce(Env) -> napi::Result<T>>;

/// A promise that is still open.
pub(crate) struct Pending<T: ToNapiValue + Send + 'static>(JsDeferred<T, Resolver<T>>);

impl<T: ToNapiValue + Send + 'static> Pending<T> {
    /// Settles the promise. When its JavaScript is gone (a worker thread of Node that was terminated), nothing happens.
    pub(crate) fn settle(self, outcome: Result<T>) {
        self.0.resolve(Box::new(move |env| outcome.map_err(|error| into_js(&env, &error))));
    }
}

/// Hands `work` to the store's thread and returns the promise of its result.
pub(crate) fn call<'env, T: ToNapiValue + Send + 'static>(
    env: &'env Env,
    worker: &Worker,
    work: impl FnOnce(&mut Engine) -> Result<T> + Send + 'static,
) -> napi::Result<Object<'env>> {
    call_then_settle(env, worker, move |engine, pending| pending.settle(caught(|| work(engine))))
}

/// As [`call`], for work that settles the promise itself, perhaps on yet another thread. It must not panic.
pub(crate) fn call_then_settle<'env, T: ToNapiValue + Send + 'static>(
    env: &'env Env,
    worker: &Worker,
    work: impl FnOnce(&mut Engine, Pending<T>) + Send + 'static,
) -> napi::Result<Object<'env>> {
    let (deferred, promise) = env.create_deferred::<T, Resolver<T>>()?;
    let pending = Pending(deferred);
    worker.run(Box::new(move |engine| work(engine, pending)));
    Ok(promise)
}

/// Runs `work`; a panic becomes an error. The engine survives: its locks expect a holder that panicked.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| Err(panicked(&*payload)))
}

thread_local! {
    /// Where this thread panicked last.
    static PANIC_PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps panics off the terminal: the default hook would print over pi's screen.
pub(crate) fn silence_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // This hook is the addon's own: Node and other addons bring their own copy of the standard library.
        panic::set_hook(Box::new(|info| {
            let place = info.location().map(ToString::to_string);
            // A thread whose locals are gone already has nobody left to tell.
            let _ = PANIC_PLACE.try_with(|slot| *slot.borrow_mut() = place);
        }));
    });
}

fn panicked(payload: &(dyn Any + Send)) -> Error {
    let text = payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    let cause = match PANIC_PLACE.take() {
        Some(place) => format!("{text} ({place})"),
        None => text.to_owned(),
    };
    Error::new(ErrorKind::Internal, "finish the operation").cause(cause)
}

#[cfg(test)]
mod tests {
    use super::{caught, silence_panics};
    use candy_store::ErrorKind;

    #[test]
    fn a_panic_becomes_an_error_that_says_where() {
        silence_panics();
        let words: fn() -> candy_store::Result<()> = || panic!("the shelf {} broke", 3);
        let error = caught(words).expect_err("it panicked");
        assert_eq!(error.kind(), ErrorKind::Internal);
        let text = error.to_string();
        assert!(text.contains("the shelf 3 broke") && text.contains("call.rs"), "{text}");
        let other = caught(|| -> candy_store::Result<()> { std::panic::panic_any(7) }).expect_err("it panicked");
        assert!(other.to_string().contains("no message"), "{other}");
        assert_eq!(caught(|| Ok(5)).ok(), Some(5));
    }
}
