//! Why a command could not do what it was asked to: what was being done, to which path, why it failed, what to run next.

use std::io;
use std::path::{Path, PathBuf};

use candy_store::{Error, ErrorKind};
use serde::Serialize;

use crate::exit::Exit;
use crate::json::PathJson;
use crate::style::Paint;
use crate::text::{printable, printable_path};

/// Result of everything here.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// What is told about a failure.
#[derive(Debug)]
pub(crate) struct Report {
    exit: Exit,
    code: &'static str,
    message: String,
    path: Option<PathBuf>,
    hint: Option<String>,
    candidates: Vec<Candidate>,
}

/// What an ambiguous name may stand for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Candidate {
    /// A name that is not ambiguous.
    pub(crate) name: String,
    /// What tells it from the others.
    pub(crate) about: String,
}

/// Why a command ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something went wrong.
    Told(Box<Report>),
    /// Nobody reads the output any more, for instance behind `| head`. Nothing is said.
    BrokenPipe,
}

#[derive(Serialize)]
struct ErrorJson<'a> {
    r#type: &'static str,
    code: &'static str,
    exit: u8,
    message: &'a str,
    #[serde(flatten)]
    path: Option<PathJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    candidates: &'a [Candidate],
}

impl Failure {
    /// A failure of a kind the engine knows; `message` begins with "cannot".
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self::Told(Box::new(Report {
            exit: Exit::of(kind),
            code: kind.code(),
            message: message.into(),
            path: None,
            hint: None,
            candidates: Vec::new(),
        }))
    }

    /// A command line that does not make sense.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::BadArgument, message)
    }

    /// An operation on a path that the system refused.
    pub(crate) fn io(action: &str, path: &Path, error: io::Error) -> Self {
        Error::io(action, path, error).into()
    }

    /// Says what to do next.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        if let Self::Told(report) = &mut self {
            report.hint = Some(hint.into());
        }
        self
    }

    /// Lists what an ambiguous name may stand for.
    #[must_use]
    pub(crate) fn candidates(mut self, candidates: Vec<Candidate>) -> Self {
        if let Self::Told(report) = &mut self {
            report.candidates = candidates;
        }
        self
    }

    /// How the program ends.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Told(report) => report.exit,
            Self::BrokenPipe => Exit::Ok,
        }
    }

    /// The message alone, for lists of failures.
    pub(crate) fn message(&self) -> &str {
        match self {
            Self::Told(report) => &report.message,
            Self::BrokenPipe => "nobody reads the output",
        }
    }

    /// The stable code.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Told(report) => report.code,
            Self::BrokenPipe => ErrorKind::Io.code(),
        }
    }

    /// Whether it says that stored bytes are damaged or missing.
    pub(crate) fn is_damage(&self) -> bool {
        self.exit() == Exit::Damage
    }

    /// The lines for stderr; `None` when nothing is to be said.
    pub(crate) fn render(&self, json: bool, paint: Paint) -> Option<String> {
        let Self::Told(report) = self else { return None };
        Some(if json { report.render_json() } else { report.render_text(paint) })
    }
}

impl Report {
    fn render_json(&self) -> String {
        let json = ErrorJson {
            r#type: "error",
            code: self.code,
            exit: self.exit.code(),
            message: &self.message,
            path: self.path.as_deref().map(PathJson::of),
            hint: self.hint.as_deref(),
            candidates: &self.candidates,
        };
        serde_json::to_string(&json).unwrap_or_else(|error| format!("{{\"type\":\"error\",\"message\":\"{error}\"}}"))
    }

    fn render_text(&self, paint: Paint) -> String {
        let mut text = format!("{} {} [{}]", paint.error("error:"), printable(&self.message), self.code);
        for candidate in &self.candidates {
            text += &format!("\n  {}  {}", printable(&candidate.name), printable(&candidate.about));
        }
        if let Some(hint) = &self.hint {
            text += &format!("\n{} {}", paint.hint("help:"), printable(hint));
        }
        text
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Told(Box::new(Report {
            exit: Exit::of(error.kind()),
            code: error.code(),
            message: error.to_string(),
            path: error.path().map(Path::to_path_buf),
            hint: Some(error.hint().to_owned()),
            candidates: Vec::new(),
        }))
    }
}

/// A failed write to stdout.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::BrokenPipe,
            io::ErrorKind::StorageFull => Self::new(ErrorKind::NoSpace, format!("cannot write the output: {error}")),
            _ => Self::new(ErrorKind::Io, format!("cannot write the output: {error}")),
        }
    }
}

/// A path that is not in a point.
pub(crate) fn no_such_path(path: &Path, point: &str) -> Failure {
    Failure::new(ErrorKind::NotFound, format!("cannot find {} in point {point}", printable_path(path)))
        .hint(format!("list what it holds with `candy-store ls {point}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_action_path_reason_code_and_next_step() {
        let error = Error::new(ErrorKind::NoStore, "open the store").at("/s").cause("there is no store");
        let failure = Failure::from(error);
        assert_eq!(failure.exit(), Exit::NoStore);
        let text = failure.render(false, Paint::off()).unwrap();
        assert_eq!(
            text,
            "error: cannot open the store /s: there is no store [CANDY_NO_STORE]\n\
             help: check --store, or let the plugin or `candy-store snapshot` create one"
        );
        let json: serde_json::Value = serde_json::from_str(&failure.render(true, Paint::off()).unwrap()).unwrap();
        assert_eq!(json["code"], "CANDY_NO_STORE");
        assert_eq!(json["exit"], 10);
        assert_eq!(json["path"], "/s");
    }

    #[test]
    fn a_broken_pipe_says_nothing_and_is_no_failure() {
        let failure = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(failure.render(false, Paint::off()).is_none());
        assert_eq!(failure.exit(), Exit::Ok);
    }

    #[test]
    fn control_characters_of_a_name_do_not_reach_the_terminal() {
        let text = Failure::usage("cannot read \u{1b}[31mred\n").render(false, Paint::off()).unwrap();
        assert!(!text.contains('\u{1b}') && text.lines().count() == 1, "{text:?}");
    }
}
