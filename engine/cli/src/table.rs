//! Tables: columns that line up on a terminal, whatever the script of their text, and fit into its width.

use crate::failure::Result;
use crate::output::Output;
use crate::style::Paint;
use crate::text::{cut, width};

const GAP: &str = "  ";

/// A column that gives way keeps at least this much.
const FLEXIBLE_COLUMNS_MIN: usize = 8;

/// How a column is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    /// To the left, whole.
    Left,
    /// To the right, whole. For numbers.
    Right,
    /// To the left, cut where the terminal ends.
    Flexible,
}

/// A cell: text, and how it is coloured.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    paint: fn(Paint, &str) -> String,
}

fn plain(_: Paint, text: &str) -> String {
    text.to_owned()
}

impl Cell {
    /// A cell in a colour.
    pub(crate) fn painted(text: impl Into<String>, paint: fn(Paint, &str) -> String) -> Self {
        Self { text: text.into(), paint }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.into(), paint: plain }
    }
}

/// Rows under a heading.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    heading: Vec<Cell>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// An empty table.
    pub(crate) fn new(columns: &[(&str, Column)]) -> Self {
        Self {
            columns: columns.iter().map(|(_, column)| *column).collect(),
            heading: columns.iter().map(|(name, _)| Cell::painted(*name, Paint::bold)).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; it has one cell for each column.
    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    /// Prints it; the heading is left out with `-q`.
    pub(crate) fn print(&self, out: &mut Output) -> Result<()> {
        for line in self.render(out.columns, out.paint, !out.quiet) {
            out.line(&line)?;
        }
        Ok(())
    }

    /// The lines. Without a width nothing is cut.
    pub(crate) fn render(&self, columns: Option<usize>, paint: Paint, heading: bool) -> Vec<String> {
        let rows: Vec<&Vec<Cell>> = heading.then_some(&self.heading).into_iter().chain(&self.rows).collect();
        let mut widths = vec![0; self.columns.len()];
        for row in &rows {
            for (at, cell) in row.iter().enumerate() {
                widths[at] = widths[at].max(width(&cell.text));
            }
        }
        if let Some(columns) = columns {
            self.shrink(&mut widths, columns);
        }
        rows.into_iter().map(|row| self.render_row(row, &widths, columns.is_some(), paint)).collect()
    }

    /// Takes what is too much from the widest flexible column first.
    fn shrink(&self, widths: &mut [usize], columns: usize) {
        let gaps = GAP.len() * widths.len().saturating_sub(1);
        loop {
            let excess = (widths.iter().sum::<usize>() + gaps).saturating_sub(columns);
            let flexible = (0..widths.len()).filter(|at| self.columns[*at] == Column::Flexible);
            let Some(widest) = flexible.max_by_key(|at| widths[*at]) else { return };
            if excess == 0 || widths[widest] <= FLEXIBLE_COLUMNS_MIN {
                return;
            }
            widths[widest] -= 1;
        }
    }

    fn render_row(&self, row: &[Cell], widths: &[usize], cutting: bool, paint: Paint) -> String {
        let mut line = String::new();
        let mut waiting = 0;
        for (at, cell) in row.iter().enumerate() {
            let text = match self.columns[at] {
                Column::Flexible if cutting => cut(&cell.text, widths[at]),
                _ => cell.text.clone(),
            };
            let padding = widths[at].saturating_sub(width(&text));
            // Spaces are held back, so that no line ends with them.
            let before = if self.columns[at] == Column::Right { padding } else { 0 };
            if !text.is_empty() {
                line.push_str(&" ".repeat(waiting + before));
                line.push_str(&(cell.paint)(paint, &text));
                waiting = padding - before + GAP.len();
            } else {
                waiting += padding + GAP.len();
            }
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::new(&[("ID", Column::Left), ("N", Column::Right), ("TEXT", Column::Flexible)]);
        table.row(vec!["a".into(), "1000".into(), "说明书 is long".into()]);
        table.row(vec!["bcd".into(), "7".into(), "".into()]);
        table
    }

    #[test]
    fn columns_line_up_and_no_line_ends_with_spaces() {
        let lines = sample().render(None, Paint::off(), true);
        assert_eq!(lines, ["ID      N  TEXT", "a    1000  说明书 is long", "bcd     7"]);
    }

    #[test]
    fn the_flexible_column_gives_way() {
        let lines = sample().render(Some(20), Paint::off(), false);
        assert_eq!(lines, ["a    1000  说明书 i…", "bcd     7"]);
        assert!(lines.iter().all(|line| width(line) <= 20));
    }

    #[test]
    fn an_empty_cell_keeps_its_place() {
        let mut table = Table::new(&[("A", Column::Left), ("B", Column::Left), ("C", Column::Left)]);
        table.row(vec!["1".into(), "22".into(), "3".into()]);
        table.row(vec!["1".into(), "".into(), "3".into()]);
        assert_eq!(table.render(None, Paint::off(), false), ["1  22  3", "1      3"]);
    }
}
