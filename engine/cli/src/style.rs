//! Colours.

use std::env;
use std::io::IsTerminal;

use clap::ValueEnum;

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    /// On a terminal, unless NO_COLOR is set or TERM is dumb.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Puts colours around text, or does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    /// No colours.
    pub(crate) const fn off() -> Self {
        Self { on: false }
    }

    /// The decision for one stream.
    pub(crate) fn decide(when: ColorWhen, stream: &impl IsTerminal) -> Self {
        let on = match when {
            ColorWhen::Always => true,
            ColorWhen::Never => false,
            ColorWhen::Auto => stream.is_terminal() && !no_color() && !is_dumb_terminal(),
        };
        Self { on }
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.on && !text.is_empty() { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// The word "error".
    pub(crate) fn error(self, text: &str) -> String {
        self.wrap("1;31", text)
    }

    /// The word "warning", and what deserves a look.
    pub(crate) fn warning(self, text: &str) -> String {
        self.wrap("1;33", text)
    }

    /// The word "help".
    pub(crate) fn hint(self, text: &str) -> String {
        self.wrap("1;36", text)
    }

    /// Headings.
    pub(crate) fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// What matters less.
    pub(crate) fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    /// Names of points and sessions.
    pub(crate) fn name(self, text: &str) -> String {
        self.wrap("33", text)
    }

    /// Added lines and created files.
    pub(crate) fn added(self, text: &str) -> String {
        self.wrap("32", text)
    }

    /// Removed lines and deleted files.
    pub(crate) fn removed(self, text: &str) -> String {
        self.wrap("31", text)
    }

    /// Heads of hunks.
    pub(crate) fn hunk(self, text: &str) -> String {
        self.wrap("36", text)
    }

    /// A line of bytes that may not be text: the codes go around it, its end stays outside.
    pub(crate) fn line(self, code: &str, line: &[u8], out: &mut Vec<u8>) {
        let (body, end) = match line.strip_suffix(b"\n") {
            Some(body) => (body, &b"\n"[..]),
            None => (line, &b""[..]),
        };
        if self.on {
            out.extend_from_slice(format!("\u{1b}[{code}m").as_bytes());
        }
        out.extend_from_slice(body);
        if self.on {
            out.extend_from_slice(b"\x1b[0m");
        }
        out.extend_from_slice(end);
    }
}

/// <https://no-color.org>: set and not empty.
fn no_color() -> bool {
    env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// A terminal that can only print line after line.
pub(crate) fn is_dumb_terminal() -> bool {
    env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paint_that_is_off_changes_nothing() {
        assert_eq!(Paint::off().error("x"), "x");
        let mut out = Vec::new();
        Paint::off().line("31", b"-x\n", &mut out);
        assert_eq!(out, b"-x\n");
    }

    #[test]
    fn the_end_of_a_line_stays_outside_the_colour() {
        let mut out = Vec::new();
        Paint { on: true }.line("31", b"-\xff\n", &mut out);
        assert_eq!(out, b"\x1b[31m-\xff\x1b[0m\n");
    }
}
