//! Questions before something dangerous.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use crate::failure::{Failure, Result};
use crate::output::Output;

/// What a person or the command line said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Yes,
    No,
}

/// Asks on a terminal. Without one, `--yes` must have been given: nobody is there to answer.
pub(crate) fn confirm(out: &mut Output, question: &str, yes: bool) -> Result<Answer> {
    if yes {
        return Ok(Answer::Yes);
    }
    out.flush()?;
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(Failure::usage("cannot ask for a confirmation: this is not a terminal")
            .hint("look at what would be done, then add --yes"));
    }
    let cannot = |error: io::Error| Failure::usage(format!("cannot ask for a confirmation: {error}"));
    let mut stderr = io::stderr();
    write!(stderr, "{question} [y/N] ").and_then(|()| stderr.flush()).map_err(cannot)?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(cannot)?;
    Ok(parse(&line))
}

/// Anything but a clear yes is a no.
fn parse(line: &str) -> Answer {
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Answer::Yes,
        _ => Answer::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_is_a_yes() {
        for line in ["y\n", "YES\n", " yes "] {
            assert_eq!(parse(line), Answer::Yes, "{line:?}");
        }
        for line in ["", "\n", "n\n", "yep\n", "ja\n"] {
            assert_eq!(parse(line), Answer::No, "{line:?}");
        }
    }
}
