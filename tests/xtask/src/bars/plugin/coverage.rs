//! Bar 3: the table of promises and field cases, checked against the tests it names.

use std::collections::BTreeSet;

use candy_store_tests::coverage::{Problem, Table};

use crate::bars::Line;
use crate::{Failure, workspace};

/// Measures the lines.
pub(crate) fn measure() -> Result<Vec<Line>, Failure> {
    let table = Table::read(&workspace::root())?;
    let problems = table.problems();
    let missing: BTreeSet<&str> = problems.iter().map(|Problem { item, .. }| item.as_str()).collect();
    for problem in &problems {
        eprintln!("   {}: {}", problem.item, problem.what);
    }
    let detail = format!(
        "{} items, {} tests, {} in LIMITS.md, {} waiting",
        table.items(),
        table.tests(),
        table.limits(),
        table.waiting()
    );
    Ok(vec![Line::none("items without a named test that exists", missing.len(), &detail)])
}
