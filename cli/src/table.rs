//! Tables for people.

use crate::screen::harmless;

/// A table: names of columns, and rows of texts. NULL is empty.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<Option<String>>>,
}

impl Table {
    /// The table with its columns aligned, numbers to the right.
    pub(crate) fn render(&self) -> String {
        let mut lines = vec![self.columns.iter().map(String::as_str).collect::<Vec<_>>()];
        lines.extend(
            self.rows
                .iter()
                .map(|row| row.iter().map(|value| value.as_deref().unwrap_or_default()).collect::<Vec<_>>()),
        );
        let measure = |at: usize| lines.iter().filter_map(|line| line.get(at)).map(|text| width(text)).max();
        let widths: Vec<usize> = (0..self.columns.len()).map(|at| measure(at).unwrap_or(0)).collect();
        let numeric: Vec<bool> = (0..self.columns.len()).map(|at| self.is_numeric(at)).collect();
        let mut text = String::new();
        for line in &lines {
            let cells: Vec<String> = line
                .iter()
                .zip(&widths)
                .zip(&numeric)
                .map(|((cell, width), right)| pad(cell, *width, *right))
                .collect();
            text.push_str(&harmless(
                &format!("  {}", cells.join("  ")).trim_end().replace(['\n', '\r'], " "),
            ));
            text.push('\n');
        }
        text
    }

    fn is_numeric(&self, column: usize) -> bool {
        let mut values = self.rows.iter().filter_map(|row| row.get(column)?.as_deref()).peekable();
        values.peek().is_some() && values.all(|value| value.parse::<f64>().is_ok())
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
}

fn pad(text: &str, to: usize, right: bool) -> String {
    let blanks = " ".repeat(to.saturating_sub(width(text)));
    if right { blanks + text } else { text.to_owned() + &blanks }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_numbers_stand_right() {
        let row = |name: &str, count: Option<&str>| vec![Some(name.to_owned()), count.map(str::to_owned)];
        let table = Table {
            columns: vec!["route".into(), "requests".into()],
            rows: vec![row("GET /ü", Some("7")), row("POST /long", None), row("x", Some("12.5"))],
        };
        assert_eq!(
            table.render(),
            "  route       requests\n  GET /ü             7\n  POST /long\n  x               12.5\n"
        );
    }

    #[test]
    fn no_cell_steers_the_terminal_or_makes_a_line() {
        let table = Table {
            columns: vec!["note".into()],
            rows: vec![vec![Some("a\u{1b}[2Jb\nc\u{9b}31m".to_owned())]],
        };
        assert_eq!(table.render(), "  note\n  a\u{fffd}[2Jb c\u{fffd}31m\n");
    }
}
