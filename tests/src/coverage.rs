//! The page that says which test keeps which promise, `docs/coverage.md`, and whether what it says is so.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Everything that must have a row. The numbers have gaps: faults of a kind that are the same here share one.
const ITEMS: &[&str] = &[
    "A01",
    "A02",
    "A03",
    "A05",
    "A06",
    "A07",
    "A09",
    "A10",
    "A11",
    "A13",
    "A14",
    "A15",
    "A17",
    "A18",
    "A19",
    "A21",
    "A22",
    "A23",
    "A25",
    "A26",
    "A27",
    "A29",
    "A30",
    "A31",
    "B01",
    "B02",
    "B03",
    "B05",
    "B06",
    "B07",
    "B09",
    "B10",
    "B11",
    "B13",
    "B14",
    "B15",
    "B17",
    "B18",
    "B19",
    "B21",
    "B22",
    "B23",
    "B25",
    "B26",
    "B27",
    "B29",
    "B30",
    "C01",
    "C02",
    "C03",
    "C05",
    "C06",
    "C07",
    "C09",
    "C10",
    "C11",
    "C13",
    "C14",
    "C15",
    "C17",
    "C18",
    "C19",
    "C21",
    "C22",
    "C23",
    "F01",
    "F02",
    "F03",
    "F05",
    "F06",
    "G01",
    "G02",
    "G03",
    "G05",
    "G06",
    "G07",
    "G09",
    "G10",
    "P-move-lasts",
    "P-leaf",
    "P-editor-text",
    "P-busy",
    "P-fork-header",
    "P-never-blocks",
    "P-nested-calls",
    "P-other-tools",
    "P-late-change",
    "P-clash",
    "P-file-queue",
    "P-settings",
    "P-addon-async",
    "P-addon-codes",
    "P-addon-panic",
    "P-steering",
    "P-extension-prompt",
    "P-slash",
    "P-template",
    "P-binding",
    "P-batch",
    "P-uncovered",
    "P-failed-tool",
    "P-agent-left",
    "P-paths",
    "P-one-record",
    "P-links",
    "P-special-files",
    "P-odd-names",
    "P-excludes",
    "P-size-limit",
    "P-unchanged",
    "P-line-counts",
    "P-diff-deadline",
    "P-picker-keys",
    "P-picker-rows",
    "P-graphemes",
    "P-rpc",
    "P-print",
    "P-cap",
    "P-cap-fallback",
    "P-cleanup",
    "P-two-processes",
    "P-off",
    "P-reasons",
    "P-menu-files",
    "P-protect",
    "P-failed-undo",
    "P-cancelled-move",
    "P-bash-row",
    "P-model-note",
    "P-listed-versions",
    "P-undo-again",
];

/// The rows of the page.
#[derive(Debug)]
pub struct Table {
    root: PathBuf,
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    item: String,
    kept_by: KeptBy,
}

#[derive(Debug)]
enum KeptBy {
    /// Names of tests by file.
    Tests(Vec<(String, Vec<String>)>),
    /// Words of `LIMITS.md` that say what was decided.
    Limits(Vec<String>),
    /// What it waits for.
    Waiting(String),
}

/// What is wrong with an item.
#[derive(Debug)]
pub struct Problem {
    /// The item.
    pub item: String,
    /// What.
    pub what: String,
}

impl Table {
    /// Reads the page of the project in `root`.
    ///
    /// # Errors
    /// When there is no such page.
    pub fn read(root: &Path) -> io::Result<Self> {
        let page = fs::read_to_string(root.join("docs/coverage.md"))?;
        let cells = page.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
        let rows = cells.map(|line| line.split(" | ").collect::<Vec<_>>()).filter(|cells| cells[0] != "item");
        let rows = rows.map(|cells| Row {
            item: cells[0].to_owned(),
            kept_by: KeptBy::parse(cells.get(2).copied().unwrap_or_default()),
        });
        Ok(Self { root: root.to_owned(), rows: rows.collect() })
    }

    /// Everything that is not so: items without a row or with two, and tests or words that do not exist.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut seen = BTreeSet::new();
        for row in &self.rows {
            if !seen.insert(row.item.as_str()) {
                problems.push(Problem::new(&row.item, "it has two rows"));
            }
            if !ITEMS.contains(&row.item.as_str()) {
                problems.push(Problem::new(&row.item, "nobody knows it"));
            }
            self.check(row, &mut problems);
        }
        for item in ITEMS.iter().filter(|item| !seen.contains(*item)) {
            problems.push(Problem::new(item, "it has no row"));
        }
        problems
    }

    fn check(&self, row: &Row, problems: &mut Vec<Problem>) {
        let mut wrong = |what: String| problems.push(Problem::new(&row.item, what));
        match &row.kept_by {
            KeptBy::Waiting(reason) if reason.is_empty() => wrong("it waits for nothing".to_owned()),
            KeptBy::Waiting(_) => {}
            KeptBy::Limits(words) => {
                let limits = fs::read_to_string(self.root.join("LIMITS.md")).unwrap_or_default();
                if words.is_empty() {
                    wrong("it quotes no words of LIMITS.md".to_owned());
                }
                for words in words.iter().filter(|words| !limits.contains(*words)) {
                    wrong(format!("LIMITS.md does not say \"{words}\""));
                }
            }
            KeptBy::Tests(files) => {
                if files.iter().all(|(_, names)| names.is_empty()) {
                    wrong("it names no test".to_owned());
                }
                for (path, names) in files {
                    let source = fs::read_to_string(self.root.join(path)).unwrap_or_default();
                    for name in names.iter().filter(|name| !defines(path, &source, name)) {
                        wrong(format!("no test \"{name}\" in {path}"));
                    }
                }
            }
        }
    }

    /// Items on the page.
    pub fn items(&self) -> usize {
        self.rows.len()
    }

    /// Different tests that are named.
    pub fn tests(&self) -> usize {
        let mut tests = BTreeSet::new();
        for row in &self.rows {
            if let KeptBy::Tests(files) = &row.kept_by {
                tests.extend(files.iter().flat_map(|(path, names)| names.iter().map(move |name| (path, name))));
            }
        }
        tests.len()
    }

    /// Items that are a decision in `LIMITS.md`.
    pub fn limits(&self) -> usize {
        self.rows.iter().filter(|row| matches!(row.kept_by, KeptBy::Limits(_))).count()
    }

    /// Items that wait for something.
    pub fn waiting(&self) -> usize {
        self.rows.iter().filter(|row| matches!(row.kept_by, KeptBy::Waiting(_))).count()
    }
}

impl Problem {
    fn new(item: &str, what: impl Into<String>) -> Self {
        Self { item: item.to_owned(), what: what.into() }
    }
}

impl KeptBy {
    fn parse(cell: &str) -> Self {
        if let Some(reason) = cell.strip_prefix("waiting: ") {
            return Self::Waiting(reason.trim().to_owned());
        }
        if let Some(words) = cell.strip_prefix("LIMITS.md: ") {
            return Self::Limits(quoted(words));
        }
        let places = cell.split("<br>").filter_map(|place| place.strip_prefix('`')?.split_once("`: "));
        Self::Tests(places.map(|(path, names)| (path.to_owned(), quoted(names))).collect())
    }
}

/// Names between double quotes.
fn quoted(text: &str) -> Vec<String> {
    text.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Whether a source defines a test of that name: a function below `#[test]`, or a call of `test` with it.
fn defines(path: &str, source: &str, name: &str) -> bool {
    if path.ends_with(".rs") {
        return source.split("#[test]").skip(1).any(|after| {
            let head: Vec<&str> = after.split('{').next().unwrap_or_default().lines().collect();
            head.iter().any(|line| line.trim().starts_with(&format!("fn {name}(")))
        });
    }
    ["test(", "testOnEachPi("].iter().any(|call| {
        source.match_indices(call).any(|(at, _)| {
            let argument = source[at + call.len()..].trim_start();
            ['"', '\'', '`'].iter().any(|mark| argument.starts_with(&format!("{mark}{name}{mark}")))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{KeptBy, Table, defines};

    #[test]
    fn a_test_is_told_from_what_only_looks_like_one() {
        assert!(defines("a.rs", "#[test]\n#[ignore]\nfn it_holds() {}", "it_holds"));
        assert!(!defines("a.rs", "fn it_holds() {}", "it_holds"));
        assert!(!defines("a.rs", "#[test]\nfn it_holds_too() {}", "it_holds"));
        assert!(defines("a.mjs", "testOnEachPi(\n\t\"it holds\",", "it holds"));
        assert!(!defines("a.mjs", "// it holds\nlabel(\"it holds\")", "it holds"));
        assert!(!defines("a.ts", "test(\"it holds not\", ", "it holds"));
    }

    #[test]
    fn a_page_that_promises_too_much_is_found_out() {
        let scratch = crate::scratch::Scratch::new("coverage");
        std::fs::create_dir(scratch.join("docs")).unwrap();
        let page = "| item | what | kept by |\n|---|---|---|\n| A01 | x | `a.rs`: \"gone\" |\n| A01 | x | waiting: rain |\n\
                    | Z99 | x | LIMITS.md: \"no such words\" |\n| A02 | x | |\n";
        std::fs::write(scratch.join("docs/coverage.md"), page).unwrap();
        let problems = Table::read(scratch.path()).unwrap().problems();
        let of = |item: &str| {
            let all = problems.iter().filter(|problem| problem.item == item);
            all.map(|problem| problem.what.as_str()).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(of("A01"), "no test \"gone\" in a.rs; it has two rows");
        assert_eq!(of("A02"), "it names no test");
        assert_eq!(of("A03"), "it has no row");
        assert_eq!(of("Z99"), "nobody knows it; LIMITS.md does not say \"no such words\"");
        assert!(matches!(KeptBy::parse("waiting: x"), KeptBy::Waiting(_)));
    }
}
