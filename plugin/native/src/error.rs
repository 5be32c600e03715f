//! Errors on their way to JavaScript.

use candy_store::Error;
use napi::bindgen_prelude::Object;
use napi::{Env, JsValue as _, Status};

/// The error as an `Error` of JavaScript with `code`, `hint` and, where there is one, `path`.
pub(crate) fn into_js(env: &Env, error: &Error) -> napi::Error {
    let lifted = || -> napi::Result<Object<'_>> {
        let mut object = env.create_error(napi::Error::new(Status::GenericFailure, error.to_string()))?;
        object.set("code", error.code())?;
        object.set("hint", error.hint())?;
        if let Some(path) = error.path() {
            object.set("path", path.to_string_lossy().as_ref())?;
        }
        Ok(object)
    };
    match lifted() {
        Ok(object) => napi::Error::from(object.to_unknown()),
        // The environment is being torn down; nobody will see this.
        Err(failed) => failed,
    }
}
