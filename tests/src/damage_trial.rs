//! One damage after the other, each to the same store: found, or without any consequence.

use std::io;
use std::path::{Path, PathBuf};

use crate::damage::{Damage, copy_tree, files_below};
use crate::inventory::{self, Inventory};
use crate::rng::Rng;
use crate::verify;

/// How a damage was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The check found it.
    Found,
    /// The check did not, and everything there is can still be seen: the damaged bytes are of no use to anybody. Only
    /// lock files and the index have such bytes (its free pages); in any other file every damage must be found.
    Slack,
    /// The check did not, and something is missing or told wrongly.
    Missed,
    /// Other bytes were returned than what had been stored.
    Wrong,
}

impl Verdict {
    /// A word for a line of a worker.
    pub fn word(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::Slack => "slack",
            Self::Missed => "missed",
            Self::Wrong => "wrong",
        }
    }

    /// Reads the word again.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Found, Self::Slack, Self::Missed, Self::Wrong].into_iter().find(|verdict| verdict.word() == word)
    }
}

/// A whole store, and a copy that is damaged again and again.
#[derive(Debug)]
pub struct Trials {
    whole: PathBuf,
    copy: PathBuf,
    seed: u64,
    files: Vec<PathBuf>,
    truth: Inventory,
}

impl Trials {
    /// Looks at the whole store; `copy` must not exist yet.
    ///
    /// # Errors
    /// When the disk reports one.
    ///
    /// # Panics
    /// When the store is not whole.
    pub fn new(whole: &Path, copy: &Path, seed: u64) -> io::Result<Self> {
        let (truth, errors) = inventory::take(whole);
        assert!(errors.is_empty(), "the store was to be whole: {errors:?}");
        // Looking at a store leaves lock files in it: the list is made afterwards.
        Ok(Self { whole: whole.to_owned(), copy: copy.to_owned(), seed, files: files_below(whole)?, truth })
    }

    /// Does damage `number` to a fresh copy and looks at what comes of it.
    ///
    /// # Errors
    /// When the copy cannot be made or damaged.
    pub fn run(&self, number: u64) -> io::Result<(Verdict, String)> {
        let mut rng = Rng::part(self.seed, number);
        let damage = Damage::choose(&mut rng, &self.whole, &self.files)?;
        if self.copy.exists() {
            std::fs::remove_dir_all(&self.copy)?;
        }
        copy_tree(&self.whole, &self.copy)?;
        damage.apply(&self.copy)?;
        let found = verify::all_findings(&self.copy, true);
        let (seen, _) = inventory::take(&self.copy);
        if let Some(first) = inventory::wrong_bytes(&self.truth, &seen).first() {
            return Ok((Verdict::Wrong, format!("{damage}: {first}; found: {found:?}")));
        }
        let different = inventory::differences(&self.truth, &seen);
        Ok(match (found.first(), different.first()) {
            (Some(first), _) => (Verdict::Found, format!("{damage}: {first}")),
            (None, None) if has_slack(damage.file()) => (Verdict::Slack, damage.to_string()),
            (None, None) => (Verdict::Missed, damage.to_string()),
            (None, Some(first)) => (Verdict::Missed, format!("{damage}: {} different, {first}", different.len())),
        })
    }
}

fn has_slack(file: &Path) -> bool {
    file.starts_with("locks") || file == Path::new("index.redb")
}
