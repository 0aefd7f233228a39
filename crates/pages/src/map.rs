//! SQL with the places it came from.

use std::sync::Arc;

use crate::fault::{LineStarts, Span};

/// The file of a page.
#[derive(Clone, Debug)]
pub(crate) struct MappedFile {
    pub(crate) path: Arc<str>,
    pub(crate) text: Arc<str>,
    pub(crate) lines: Arc<LineStarts>,
}

#[derive(Clone, Debug)]
struct MapEntry {
    /// The first character of the SQL, by number.
    start: usize,
    file: usize,
    span: Span,
    /// Whether the SQL is the text of the span, character by character.
    is_exact: bool,
}

/// Where each character of the SQL came from.
#[derive(Clone, Debug, Default)]
pub struct SqlMap {
    files: Vec<MappedFile>,
    entries: Vec<MapEntry>,
}

/// A place in the file of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlPlace {
    /// The path of the page.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
    /// The source of the SQL there: the text of a hole, a hole, or text of the page. In bytes.
    pub span: Span,
}

impl SqlMap {
    /// The place from which a character of the SQL came, counted from 0: exactly, where it is text of a hole, and else the beginning of what it
    /// was made of.
    pub fn place(&self, character: usize) -> SqlPlace {
        let after = self.entries.partition_point(|entry| entry.start <= character);
        let Some(entry) = self.entries.get(after.saturating_sub(1)) else {
            return SqlPlace { path: String::new(), line: 1, column: 1, span: Span::default() };
        };
        let file = &self.files[entry.file];
        let inside = &file.text[entry.span.range()];
        let ahead = if entry.is_exact { character - entry.start } else { 0 };
        let bytes =
            inside.char_indices().nth(ahead).map_or(if ahead > 0 { inside.len() } else { 0 }, |(at, _)| at);
        let (line, column) = file.lines.place(&file.text, entry.span.start + bytes);
        SqlPlace { path: file.path.to_string(), line, column, span: entry.span }
    }
}

/// An expression in SQL.
#[derive(Clone, Debug)]
pub struct SqlText {
    /// The expression.
    pub text: String,
    /// Where its characters came from.
    pub map: SqlMap,
}

/// Writes SQL and its map.
#[derive(Default)]
pub(crate) struct SqlWriter {
    text: String,
    characters: usize,
    map: SqlMap,
    /// The file that is written, and what is being made.
    pub(crate) file: usize,
    pub(crate) owner: Span,
}

impl SqlWriter {
    /// Takes a file up; its number.
    pub(crate) fn add_file(&mut self, file: &MappedFile) -> usize {
        let known = self.map.files.iter().position(|other| Arc::ptr_eq(&other.text, &file.text));
        known.unwrap_or_else(|| {
            self.map.files.push(file.clone());
            self.map.files.len() - 1
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// Writes text of the file as it stands.
    pub(crate) fn exact(&mut self, span: Span) {
        let text = self.map.files[self.file].text.clone();
        self.write(&text[span.range()], span, true);
    }

    /// Writes text that belongs to what is being made.
    pub(crate) fn made(&mut self, sql: &str) {
        self.write(sql, self.owner, false);
    }

    /// Writes text that stands for a piece of the file.
    pub(crate) fn made_of(&mut self, sql: &str, span: Span) {
        self.write(sql, span, false);
    }

    fn write(&mut self, sql: &str, span: Span, is_exact: bool) {
        if sql.is_empty() {
            return;
        }
        let continues =
            self.map.entries.last().is_some_and(|last| {
                !is_exact && !last.is_exact && last.span == span && last.file == self.file
            });
        if !continues {
            self.map.entries.push(MapEntry { start: self.characters, file: self.file, span, is_exact });
        }
        self.text.push_str(sql);
        self.characters += sql.chars().count();
    }

    /// Writes a string of SQL.
    pub(crate) fn string(&mut self, value: &str) {
        let mut quoted = String::with_capacity(value.len() + 8);
        if value.contains('\\') {
            quoted.push('E');
        }
        quoted.push('\'');
        quoted.push_str(&value.replace('\\', "\\\\").replace('\'', "''"));
        quoted.push('\'');
        self.made(&quoted);
    }

    pub(crate) fn done(self) -> SqlText {
        SqlText { text: self.text, map: self.map }
    }
}
