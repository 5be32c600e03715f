//! The page that says which test keeps which promise stays true: every item is on it, every test that it names exists.

#![allow(clippy::unwrap_used)] // A test stops at the first surprise.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

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

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Item and last cell of each row.
fn rows() -> Vec<(String, String)> {
    let page = read("docs/coverage.md");
    page.lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"))
        .map(|line| line.split(" | ").collect::<Vec<_>>())
        .filter(|cells| cells[0] != "item")
        .map(|cells| {
            assert_eq!(cells.len(), 3, "{cells:?}");
            (cells[0].to_owned(), cells[2].to_owned())
        })
        .collect()
}

/// Names between double quotes.
fn quoted(text: &str) -> Vec<&str> {
    text.split('"').skip(1).step_by(2).collect()
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

#[test]
fn every_item_has_a_row_and_no_row_is_of_an_unknown_item() {
    let rows = rows();
    let listed: BTreeSet<&str> = rows.iter().map(|(item, _)| item.as_str()).collect();
    assert_eq!(listed.len(), rows.len(), "an item has two rows");
    assert_eq!(listed, ITEMS.iter().copied().collect());
}

#[test]
fn every_test_that_is_named_exists() {
    let mut wrong = Vec::new();
    for (item, kept_by) in rows() {
        if let Some(reason) = kept_by.strip_prefix("waiting: ") {
            assert!(!reason.trim().is_empty(), "{item} waits for nothing");
            continue;
        }
        if kept_by.starts_with("LIMITS.md: ") {
            let [words] = quoted(&kept_by)[..] else { panic!("{item} quotes no words") };
            if !read("LIMITS.md").contains(words) {
                wrong.push(format!("{item}: LIMITS.md does not say \"{words}\""));
            }
            continue;
        }
        for place in kept_by.split("<br>") {
            let Some((path, names)) = place.strip_prefix('`').and_then(|rest| rest.split_once("`: ")) else {
                panic!("{item}: no file in {place}")
            };
            let (source, names) = (read(path), quoted(names));
            assert!(!names.is_empty(), "{item}: no test in {place}");
            for name in names.into_iter().filter(|name| !defines(path, &source, name)) {
                wrong.push(format!("{item}: no test \"{name}\" in {path}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_test_is_told_from_what_only_looks_like_one() {
    assert!(defines("a.rs", "#[test]\n#[ignore]\nfn it_holds() {}", "it_holds"));
    assert!(!defines("a.rs", "fn it_holds() {}", "it_holds"));
    assert!(!defines("a.rs", "#[test]\nfn it_holds_too() {}", "it_holds"));
    assert!(defines("a.mjs", "testOnEachPi(\n\t\"it holds\",", "it holds"));
    assert!(!defines("a.mjs", "// it holds\nlabel(\"it holds\")", "it holds"));
    assert!(!defines("a.ts", "test(\"it holds not\", ", "it holds"));
}
