//! Tables: columns aligned by what they take on the screen. It must not know what stands in them.

use super::terminal::{Style, Terminal};
use super::width;

/// One cell: text, and how it is shown.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// A cell with a style. Control characters are left out.
    pub(crate) fn new(text: impl AsRef<str>, style: Style) -> Self {
        Self { text: width::one_line(text.as_ref(), usize::MAX / 8), style }
    }

    /// A cell cut to so many columns.
    pub(crate) fn cut(text: impl AsRef<str>, columns: usize) -> Self {
        Self { text: width::one_line(text.as_ref(), columns), style: Style::Plain }
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text, Style::Plain)
    }
}

/// Rows under a heading.
#[derive(Debug, Default)]
pub(crate) struct Table {
    heading: Vec<Cell>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table with these headings.
    pub(crate) fn new(heading: &[&str]) -> Self {
        Self { heading: heading.iter().map(|text| Cell::new(text, Style::Dim)).collect(), rows: Vec::new() }
    }

    /// A table without headings, for facts by name.
    pub(crate) fn facts() -> Self {
        Self::default()
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// Adds a fact; nothing when there is nothing to say.
    pub(crate) fn fact(&mut self, name: &str, value: impl AsRef<str>) {
        if !value.as_ref().is_empty() {
            self.rows.push(vec![Cell::new(name, Style::Dim), value.into()]);
        }
    }

    /// The lines, each without blanks at its end.
    pub(crate) fn lines(&self, terminal: &Terminal) -> Vec<String> {
        let heading = (!self.heading.is_empty()).then_some(&self.heading);
        let all: Vec<&Vec<Cell>> = heading.into_iter().chain(&self.rows).collect();
        let columns = all.iter().map(|row| row.len()).max().unwrap_or(0);
        let widest =
            |column: usize| all.iter().filter_map(|row| row.get(column)).map(|cell| width::of(&cell.text)).max();
        let widths: Vec<usize> = (0..columns).map(|column| widest(column).unwrap_or(0)).collect();
        all.iter().map(|row| line(row, &widths, terminal)).collect()
    }
}

fn line(row: &[Cell], widths: &[usize], terminal: &Terminal) -> String {
    let last = row.iter().rposition(|cell| !cell.text.is_empty()).map_or(0, |last| last + 1);
    let mut line = String::new();
    for (index, (cell, columns)) in row.iter().zip(widths).take(last).enumerate() {
        line.push_str(&terminal.paint(cell.style, &cell.text));
        if index + 1 < last {
            line.push_str(&" ".repeat(columns.saturating_sub(width::of(&cell.text)) + 2));
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_by_display_width() {
        let mut table = Table::new(&["ID", "NAME", "N"]);
        table.row(vec!["a".into(), "日本".into(), "1".into()]);
        table.row(vec!["long-id".into(), "x".into(), "22".into()]);
        table.row(vec!["b".into(), "".into(), "".into()]);
        let lines = table.lines(&Terminal::for_test());
        assert_eq!(lines, ["ID       NAME  N", "a        日本  1", "long-id  x     22", "b"]);
    }

    #[test]
    fn styles_do_not_move_columns_and_escapes_in_data_do_nothing() {
        let mut terminal = Terminal::for_test();
        terminal.set_colour(true);
        let mut table = Table::facts();
        table.row(vec![Cell::new("a", Style::Bold), "\u{1b}[2Jx".into()]);
        table.row(vec!["bbb".into(), "y".into()]);
        assert_eq!(table.lines(&terminal), ["\u{1b}[1ma\u{1b}[0m    [2Jx", "bbb  y"]);
    }

    #[test]
    fn a_fact_without_a_value_is_left_out() {
        let mut table = Table::facts();
        table.fact("run", "r1");
        table.fact("thread", "");
        assert_eq!(table.lines(&Terminal::for_test()), ["run  r1"]);
    }
}
