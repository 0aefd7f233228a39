//! A page that was read.

use std::ops::Range;

use crate::arguments::PageArgument;
use crate::fault::{PageFault, Span};
use crate::lexer::{self, SqlToken, TokenKind};
use crate::map::MappedFile;
use crate::name::PageName;
use crate::nodes::{HoleKind, Sql};
use crate::pieces::{PagePiece, SlotPiece};
use crate::words;

/// SQL of a page that can be parsed alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageHole {
    /// The text, without braces and words of pages.
    pub span: Span,
    /// The kind of this text.
    pub kind: HoleKind,
}

/// A call of a function in a hole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageCall {
    /// The schema, if it is written.
    pub schema: Option<String>,
    /// The name as PostgreSQL knows it.
    pub name: String,
    /// The name as it is written.
    pub span: Span,
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
}

/// Where in HTML a value is printed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ValuePlace {
    /// Text: HTML as it is, all else escaped.
    Text,
    /// The text of an element that can hold no others, `title` or `textarea`.
    PlainElement(String),
    /// The value of an attribute.
    Attribute {
        /// The name of the tag, in lower case.
        tag: String,
        /// The name of the attribute, in lower case.
        name: String,
    },
    /// The value of an attribute that is a URL as a whole, whose scheme is looked at.
    Url {
        /// The name of the tag, in lower case.
        tag: String,
        /// The name of the attribute, in lower case.
        name: String,
    },
    /// A script that holds JSON.
    Json,
    /// A page of text.
    Unescaped,
}

/// A value that a page prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedValue {
    /// The text of its hole.
    pub span: Span,
    /// Where it is printed.
    pub place: ValuePlace,
}

/// A page without faults.
#[derive(Clone, Debug)]
pub struct PageFile {
    pub(crate) file: MappedFile,
    pub(crate) name: PageName,
    pub(crate) arguments: Vec<PageArgument>,
    pub(crate) tokens: Vec<SqlToken>,
    pub(crate) layout: Option<(Span, Sql)>,
    pub(crate) pieces: Vec<PagePiece>,
    /// Whether the pieces are one `with`, without whose row the page is null.
    pub(crate) is_one_with: bool,
    pub(crate) slots: Vec<SlotPiece>,
    pub(crate) holes: Vec<PageHole>,
    /// The tokens of each hole.
    pub(crate) sql: Vec<Range<usize>>,
    /// Names of rows, as PostgreSQL knows them.
    pub(crate) rows: Vec<String>,
    pub(crate) values: Vec<PlacedValue>,
    pub(crate) warnings: Vec<PageFault>,
}

impl PageFile {
    /// The path of the file.
    pub fn path(&self) -> &str {
        &self.file.path
    }

    /// The text of the file.
    pub fn text(&self) -> &str {
        &self.file.text
    }

    /// The function that it becomes, and what that returns.
    pub fn name(&self) -> &PageName {
        &self.name
    }

    /// The arguments it is called with.
    pub fn arguments(&self) -> &[PageArgument] {
        &self.arguments
    }

    /// All SQL of the page, in the order of the file, each of which can be parsed alone.
    pub fn holes(&self) -> &[PageHole] {
        &self.holes
    }

    /// Where each value is printed, in the order of the file.
    pub fn values(&self) -> &[PlacedValue] {
        &self.values
    }

    /// Likely mistakes.
    pub fn warnings(&self) -> &[PageFault] {
        &self.warnings
    }

    /// Whether the page calls itself: its body must be a string then.
    pub fn is_recursive(&self) -> bool {
        self.called().any(|name| name == self.name.function)
    }

    /// Names that are called, in the order of the file: functions, and with them other pages.
    pub fn calls(&self) -> Vec<PageCall> {
        let mut found = Vec::new();
        for hole in &self.all_sql() {
            for at in hole.clone() {
                if words::called(&self.file.text, &self.tokens, hole, at).is_some() {
                    found.push((None, at));
                } else if self.is_qualified_call(hole, at) {
                    found.push((Some(lexer::name(&self.file.text, &self.tokens[at - 2])), at));
                }
            }
        }
        let places = self.places(found.iter().map(|(_, at)| self.tokens[*at].span.start));
        let calls = found.into_iter().zip(places).map(|((schema, at), (line, column))| PageCall {
            schema,
            name: lexer::name(&self.file.text, &self.tokens[at]),
            span: self.tokens[at].span,
            line,
            column,
        });
        calls.collect()
    }

    pub(crate) fn places(&self, offsets: impl Iterator<Item = usize>) -> Vec<(usize, usize)> {
        self.file.lines.places(&self.file.text, offsets)
    }

    /// Names that are called without a schema.
    pub(crate) fn called(&self) -> impl Iterator<Item = String> {
        let all = self.all_sql().into_iter().flat_map(|hole| hole.clone().map(move |at| (hole.clone(), at)));
        let called =
            all.filter(|(hole, at)| words::called(&self.file.text, &self.tokens, hole, *at).is_some());
        called.map(|(_, at)| lexer::name(&self.file.text, &self.tokens[at]))
    }

    /// Calls of `http.raw`.
    pub fn raws(&self) -> Vec<PageCall> {
        let is_raw = |call: &PageCall| call.name == "raw" && call.schema.as_deref() == Some("http");
        self.calls().into_iter().filter(is_raw).collect()
    }

    /// The tokens of all SQL that can call something.
    fn all_sql(&self) -> Vec<Range<usize>> {
        let from = |place: usize| self.tokens.partition_point(|token| token.span.start < place);
        let defaults = self.arguments.iter().filter_map(|argument| argument.default_span);
        defaults.map(|span| from(span.start)..from(span.end)).chain(self.sql.iter().cloned()).collect()
    }

    fn is_qualified_call(&self, hole: &Range<usize>, at: usize) -> bool {
        at >= hole.start + 2
            && self.tokens[at].is_name()
            && self.tokens[at - 1].is(b'.')
            && self.tokens[at - 2].is_name()
            && at + 1 < hole.end
            && self.tokens[at + 1].is(b'(')
    }

    /// The number of an argument, from 0.
    pub(crate) fn argument(&self, name: &str) -> Option<usize> {
        self.arguments.iter().position(|argument| argument.name == name)
    }

    /// Whether a word of the page is something other than a comment.
    pub(crate) fn is_said(&self, at: usize) -> bool {
        self.tokens[at].kind != TokenKind::Comment
    }
}
