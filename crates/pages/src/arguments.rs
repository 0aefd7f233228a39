//! The head of a page: what it is called with.

use crate::cut::CutHole;
use crate::fault::{FaultList, Span};
use crate::lexer::{self, SqlToken, TokenKind};

/// An argument of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageArgument {
    /// The name as PostgreSQL knows it: in lower case, or as it stands within quotes.
    pub name: String,
    /// The name as it is written.
    pub name_span: Span,
    /// The type as it is written.
    pub type_span: Span,
    /// The expression of the default as it is written.
    pub default_span: Option<Span>,
}

/// Words in front of an argument that say in which direction it goes.
const MODES: [&str; 4] = ["in", "out", "inout", "variadic"];

/// Reads what stands in `{{ arguments: … }}`.
pub(crate) fn read(
    text: &str,
    hole: &CutHole,
    tokens: &[SqlToken],
    faults: &mut FaultList,
) -> Vec<PageArgument> {
    let own = &tokens[hole.tokens.clone()];
    let own: Vec<SqlToken> = own.iter().filter(|token| token.kind != TokenKind::Comment).copied().collect();
    if own.is_empty() {
        faults.add(
            hole.span.start,
            "no arguments are named",
            "write {{ arguments: name type, … }}, or leave it out",
        );
        return Vec::new();
    }
    let mut arguments: Vec<PageArgument> = Vec::new();
    for written in at_commas(&own) {
        let place = written.first().map_or(hole.sql.end, |first| first.span.start);
        match argument(text, written, faults) {
            Some(argument) if arguments.iter().any(|other| other.name == argument.name) => {
                faults.add(place, format!("there are two arguments \"{}\"", argument.name), "");
            }
            Some(argument) => arguments.push(argument),
            None if written.is_empty() => faults.add(place, "an argument is missing here", ""),
            None => {}
        }
    }
    arguments
}

/// Tokens between the commas that stand in no bracket.
pub(crate) fn at_commas(tokens: &[SqlToken]) -> Vec<&[SqlToken]> {
    let mut depth = 0_usize;
    let is_comma = |token: &SqlToken| {
        match token.kind {
            TokenKind::Mark(b'(' | b'[') => depth += 1,
            TokenKind::Mark(b')' | b']') => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && token.is(b',')
    };
    tokens.split(is_comma).collect()
}

fn argument(text: &str, written: &[SqlToken], faults: &mut FaultList) -> Option<PageArgument> {
    let (first, rest) = written.split_first()?;
    let place = first.span.start;
    let is_mode = |token: &SqlToken| MODES.iter().any(|mode| token.is_word(text, mode));
    // PostgreSQL takes it before the name, and behind.
    if let Some(mode) = written.iter().take(2).find(|token| is_mode(token)) {
        let message = format!("an argument of a page has no {}", &text[mode.span.range()]);
        faults.add(mode.span.start, message, "write its name and type");
        return None;
    }
    if !first.is_name() || rest.is_empty() || rest[0].is(b'(') || rest[0].is(b'.') || rest[0].is(b'[') {
        faults.add(place, "an argument has a name and a type", "write for example: q text default ''");
        return None;
    }
    let mut depth = 0_usize;
    let begins_default = |token: &SqlToken| {
        match token.kind {
            TokenKind::Mark(b'(' | b'[') => depth += 1,
            TokenKind::Mark(b')' | b']') => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (token.is_word(text, "default") || token.is(b'='))
    };
    let split = rest.iter().position(begins_default).unwrap_or(rest.len());
    let (of_type, default) = rest.split_at(split);
    let span = |tokens: &[SqlToken]| Some(Span::new(tokens.first()?.span.start, tokens.last()?.span.end));
    let Some(type_span) = span(of_type) else {
        faults.add(place, "an argument has a name and a type", "write for example: q text default ''");
        return None;
    };
    let default_span = span(default.get(1..).unwrap_or_default());
    if !default.is_empty() && default_span.is_none() {
        faults.add(default[0].span.start, "this default is empty", "write null for nothing");
        return None;
    }
    let name = lexer::name(text, first);
    if name == "args" {
        let hint = "all arguments are reached by args.NAME";
        faults.add(place, "an argument cannot be called args", hint);
        return None;
    }
    Some(PageArgument { name, name_span: first.span, type_span, default_span })
}
