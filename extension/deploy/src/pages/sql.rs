//! The statement that makes a page's function, and the place in the file of each of its characters.

use folder::places_in_text::place_at;
use pages::{PageFile, PageKind, Span, SqlPlace, SqlText};

/// Whether what the function gives may differ within a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PageVolatility {
    /// It is the same.
    Stable,
    /// It calls something that is VOLATILE.
    Volatile,
}

/// How the body is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PageBody {
    /// As a tree, which knows what it depends on.
    Atomic,
    /// As text: a function that calls itself is not there when a tree is made.
    Quoted,
}

/// `create function` for a page.
pub(super) struct PageStatement<'p> {
    /// SQL.
    pub text: String,
    /// The number of characters before the expression.
    head: usize,
    /// Pieces of the head: the first character, and the source.
    arguments: Vec<(usize, Span)>,
    page: &'p PageFile,
    expression: &'p SqlText,
}

impl<'p> PageStatement<'p> {
    /// The statement that makes a function of one of the page's texts.
    pub(super) fn of(
        page: &'p PageFile,
        expression: &'p SqlText,
        volatility: PageVolatility,
    ) -> PageStatement<'p> {
        let mut text = format!("create function {} (", page.name().function);
        let mut arguments = Vec::new();
        for (place, argument) in page.arguments().iter().enumerate() {
            text.push_str(if place > 0 { ",\n  " } else { "" });
            for (before, span) in [
                ("", Some(argument.name_span)),
                (" ", Some(argument.type_span)),
                (" default ", argument.default_span),
            ] {
                let Some(span) = span else { continue };
                text.push_str(before);
                arguments.push((text.chars().count(), span));
                text.push_str(&page.text()[span.range()]);
                // A comment ends with its line.
                text.push_str(if page.text()[span.range()].contains("--") { "\n" } else { "" });
            }
        }
        let result = match page.name().kind {
            PageKind::Html => "http.html",
            PageKind::Text => "pg_catalog.text",
        };
        let volatility = if volatility == PageVolatility::Stable { "stable" } else { "volatile" };
        text.push_str(&format!(")\nreturns {result} language sql {volatility}\n"));
        let body = body_of(page);
        let quote = quote(&expression.text);
        match body {
            PageBody::Atomic => text.push_str("begin atomic\nselect "),
            // Its names are looked up when it runs, whoever calls it.
            PageBody::Quoted => text.push_str(&format!("set search_path from current\nas {quote} select ")),
        }
        let head = text.chars().count();
        text.push_str(&expression.text);
        match body {
            PageBody::Atomic => text.push_str(";\nend"),
            PageBody::Quoted => text.push_str(&format!(" {quote}")),
        }
        PageStatement { text, head, arguments, page, expression }
    }

    /// The number of characters before the expression.
    pub(super) fn begin(&self) -> usize {
        self.head
    }

    /// The source of a character, counted from 0.
    pub(super) fn place(&self, character: usize) -> SqlPlace {
        if character >= self.head {
            return self.expression.map.place(character - self.head);
        }
        let after = self.arguments.partition_point(|(start, _)| *start <= character);
        let (start, span) = after.checked_sub(1).map_or((0, Span::default()), |last| self.arguments[last]);
        let inside = &self.page.text()[span.range()];
        let ahead = inside.char_indices().nth(character - start).map_or(0, |(bytes, _)| bytes);
        let (line, column) = place_at(self.page.text(), span.start + ahead);
        SqlPlace { path: self.page.path().to_owned(), line, column, span }
    }

    /// The character of the statement that is one of its quoted body.
    pub(super) fn of_body(&self, query: &str, character: usize) -> usize {
        match self.text.find(query) {
            Some(found) if !query.is_empty() => self.text[..found].chars().count() + character,
            _ => self.head,
        }
    }
}

/// A dollar quote that a text does not have.
fn quote(text: &str) -> String {
    let mut quote = "$page$".to_owned();
    while text.contains(&quote) {
        quote.insert(5, '_');
    }
    quote
}

/// The number of a character, from 1, by its line and column.
pub(super) fn position_of(text: &str, line: usize, column: usize) -> usize {
    let before = text.split_inclusive('\n').take(line.saturating_sub(1));
    before.map(|line| line.chars().count()).sum::<usize>() + column
}

/// The text of a page as it is put into a statement.
fn body_of(page: &PageFile) -> PageBody {
    if page.is_recursive() { PageBody::Quoted } else { PageBody::Atomic }
}

/// An SQL expression with what stands around it.
pub(super) fn select_of(text: &SqlText) -> String {
    format!("select {}", text.text)
}
