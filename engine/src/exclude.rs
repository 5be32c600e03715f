//! Patterns of files that are not tracked.
//!
//! The last pattern that matches a path decides; one that begins with `!` takes the path back in. A pattern without `/`
//! is compared with the file's name, wherever it lies. A pattern with `/` must match the whole path, as seen from the
//! workspace or from the root of the file system. Names that begin with a dot are ordinary names.

use std::path::Path;

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::error::{Error, ErrorKind, Result};

/// What is not tracked unless the user says otherwise.
pub const DEFAULT_EXCLUDES: [&str; 7] =
    [".git/**", "node_modules/**", "dist/**", "build/**", "**/.env*", "*.lock", "coverage/**"];

/// A list of patterns, ready to be asked.
#[derive(Clone, Debug)]
pub struct Excludes {
    workspace: std::path::PathBuf,
    globs: GlobSet,
    rules: Vec<Rule>,
}

#[derive(Clone, Copy, Debug)]
struct Rule {
    excludes: bool,
    /// Compared with the file's name alone.
    by_name: bool,
}

impl Excludes {
    /// Parses patterns; those that are relative are seen from `workspace`.
    pub fn new(patterns: &[String], workspace: &Path) -> Result<Self> {
        let bad = |pattern: &str, source: globset::Error| {
            Error::new(ErrorKind::BadArgument, format!("use the exclude pattern '{pattern}'")).because(source)
        };
        let mut globs = GlobSetBuilder::new();
        let mut rules = Vec::with_capacity(patterns.len());
        for pattern in patterns {
            let (excludes, glob) = match pattern.strip_prefix('!') {
                Some(rest) => (false, rest),
                None => (true, pattern.as_str()),
            };
            let glob = GlobBuilder::new(glob)
                .literal_separator(true)
                .case_insensitive(cfg!(windows))
                .build()
                .map_err(|error| bad(pattern, error))?;
            rules.push(Rule { excludes, by_name: !glob.glob().contains('/') });
            globs.add(glob);
        }
        let globs = globs.build().map_err(|error| bad(&patterns.join("', '"), error))?;
        Ok(Self { workspace: workspace.to_path_buf(), globs, rules })
    }

    /// Whether an absolute path is excluded. The path is taken as it is spelled; nothing is looked up on disk.
    pub fn is_excluded(&self, path: &Path) -> bool {
        if self.rules.is_empty() {
            return false;
        }
        let mut last = None;
        let mut ask = |spelling: &Path, by_name: bool| {
            for at in self.globs.matches_candidate(&Candidate::new(spelling)) {
                if self.rules[at].by_name == by_name {
                    last = last.max(Some(at));
                }
            }
        };
        if let Some(name) = path.file_name() {
            ask(Path::new(name), true);
        }
        ask(path, false);
        if let Ok(inside) = path.strip_prefix(&self.workspace)
            && inside != Path::new("")
        {
            ask(inside, false);
        }
        last.is_some_and(|at| self.rules[at].excludes)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::os::unix::ffi::OsStrExt as _;

    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Table {
        cwd: String,
        files: Vec<String>,
        cases: Vec<Case>,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Case {
        name: String,
        patterns: Vec<String>,
        use_defaults: bool,
        excluded: BTreeSet<String>,
    }

    fn excludes(patterns: &[&str]) -> Excludes {
        let patterns: Vec<String> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        Excludes::new(&patterns, Path::new("/w")).unwrap()
    }

    #[test]
    fn every_case_of_the_table_comes_out_as_it_says() {
        let table: Table = serde_json::from_str(include_str!("../tests/data/excludes.json")).unwrap();
        for case in table.cases {
            let defaults = DEFAULT_EXCLUDES.iter().filter(|_| case.use_defaults).map(|pattern| (*pattern).to_owned());
            let patterns: Vec<String> = defaults.chain(case.patterns).collect();
            let excludes = Excludes::new(&patterns, Path::new(&table.cwd)).unwrap();
            let found: BTreeSet<String> =
                table.files.iter().filter(|file| excludes.is_excluded(Path::new(file))).cloned().collect();
            assert_eq!(found, case.excluded, "{}", case.name);
        }
    }

    #[test]
    fn a_later_pattern_takes_back_an_earlier_one_whatever_it_is_compared_with() {
        let excludes = excludes(&["*.ts", "!src/**", "src/secret.ts"]);
        assert!(excludes.is_excluded(Path::new("/w/a.ts")));
        assert!(!excludes.is_excluded(Path::new("/w/src/a.ts")));
        assert!(excludes.is_excluded(Path::new("/w/src/secret.ts")));
    }

    #[test]
    fn names_that_are_not_text_are_compared_as_bytes() {
        let path = Path::new("/w").join(std::ffi::OsStr::from_bytes(b"bad\xff.lock"));
        assert!(excludes(&["*.lock"]).is_excluded(&path));
        assert!(!excludes(&["*.txt"]).is_excluded(&path));
        assert!(excludes(&["new*"]).is_excluded(Path::new("/w/new\nline")));
    }

    #[test]
    fn a_pattern_that_does_not_parse_is_named() {
        let error = Excludes::new(&["[a".to_owned()], Path::new("/w")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadArgument);
        assert!(error.to_string().contains("'[a'"), "{error}");
    }
}
