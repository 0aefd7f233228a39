//! Roles of words in SQL, as far as that can be told without a grammar. In doubt a word may be a table's.

use std::ops::Range;

use crate::keywords;
use crate::lexer::{self, SqlToken, TokenKind};

/// Where a token stands.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WordRole {
    /// Tables and their aliases stand here, not expressions.
    pub(crate) is_table: bool,
    /// It stands within a query that the hole itself has.
    pub(crate) is_nested: bool,
}

/// One level of brackets.
#[derive(Clone, Copy, Default)]
struct WordLevel {
    role: WordRole,
    /// Whether a comma leads to the next table.
    is_list_of_tables: bool,
}

/// Words behind which a bracket holds tables, or a query.
const BEFORE_TABLES: [&str; 3] = ["from", "join", "lateral"];

/// The role of each token of a hole.
pub(crate) fn roles(text: &str, tokens: &[SqlToken], hole: Range<usize>) -> Vec<WordRole> {
    let mut found = Vec::with_capacity(hole.len());
    let mut levels = vec![WordLevel::default()];
    let own = &tokens[hole];
    for (at, token) in own.iter().enumerate() {
        let Some(&level) = levels.last() else { break };
        let is_first = levels.len() == 1;
        match token.kind {
            TokenKind::Mark(b'(' | b'[') => {
                let before_tables =
                    |token: &SqlToken| BEFORE_TABLES.iter().any(|word| token.is_word(text, word));
                let is_call = at > 0 && own[at - 1].is_name() && !before_tables(&own[at - 1]);
                let role = WordRole { is_table: level.role.is_table && !is_call, ..level.role };
                levels.push(WordLevel { role, is_list_of_tables: role.is_table });
            }
            TokenKind::Mark(b')' | b']') if !is_first => {
                levels.pop();
            }
            TokenKind::Mark(b',') if level.is_list_of_tables => set(&mut levels, true, true, false),
            TokenKind::Word => {
                let word = text[token.span.range()].to_ascii_lowercase();
                let is_distinct = at > 0 && own[at - 1].is_word(text, "distinct");
                clause(&mut levels, &word, is_distinct && at > 1 && own[at - 2].kind == TokenKind::Word);
            }
            _ => {}
        }
        found.push(levels.last().map_or(level.role, |level| level.role));
    }
    found
}

fn set(levels: &mut [WordLevel], is_table: bool, is_list_of_tables: bool, is_query: bool) {
    if let Some(level) = levels.last_mut() {
        level.role.is_table = is_table;
        level.role.is_nested |= is_query;
        level.is_list_of_tables = is_list_of_tables;
    }
}

fn clause(levels: &mut [WordLevel], word: &str, is_distinct_from: bool) {
    match word {
        "select" => set(levels, false, false, true),
        "from" if is_distinct_from => {}
        "from" | "with" | "window" | "recursive" => set(levels, true, true, false),
        "join" | "using" | "into" | "lateral" => set(levels, true, true, false),
        "on" => set(levels, false, true, false),
        "where" | "having" | "by" | "limit" | "offset" | "returning" | "values" | "union" | "intersect"
        | "except" | "fetch" => set(levels, false, false, false),
        _ => {}
    }
}

/// Words in front of an expression.
const BEFORE_EXPRESSIONS: [&str; 17] = [
    "all", "and", "by", "case", "distinct", "else", "having", "in", "limit", "not", "offset", "on", "or",
    "select", "then", "when", "where",
];

fn before<'a>(tokens: &'a [SqlToken], hole: &Range<usize>, at: usize) -> Option<&'a SqlToken> {
    tokens[hole.start..at].iter().rev().find(|token| token.kind != TokenKind::Comment)
}

fn is_mark(tokens: &[SqlToken], at: usize, mark: u8) -> bool {
    tokens.get(at).is_some_and(|token| token.is(mark))
}

/// Whether a name is called that has no schema; the bracket's number if so.
pub(crate) fn called(text: &str, tokens: &[SqlToken], hole: &Range<usize>, at: usize) -> Option<usize> {
    let token = &tokens[at];
    let bracket = at + 1;
    if !token.is_name() || bracket >= hole.end || !is_mark(tokens, bracket, b'(') {
        return None;
    }
    if token.kind == TokenKind::Word && keywords::is_keyword(&text[token.span.range()].to_ascii_lowercase()) {
        return None;
    }
    let is_other = before(tokens, hole, at)
        .is_some_and(|before| before.is(b'.') || before.is(b':') || before.is_word(text, "as"));
    (!is_other).then_some(bracket)
}

/// Whether an expression stands at a token, so that another one may be put there.
pub(crate) fn is_expression(
    text: &str,
    tokens: &[SqlToken],
    hole: &Range<usize>,
    at: usize,
    role: WordRole,
) -> bool {
    let fits = match before(tokens, hole, at) {
        None => true,
        Some(before) => match before.kind {
            TokenKind::Word => BEFORE_EXPRESSIONS.iter().any(|word| before.is_word(text, word)),
            TokenKind::Mark(mark) => !b")].:".contains(&mark),
            _ => false,
        },
    };
    fits && !role.is_table
}

/// Words that name nothing where tables stand, beside keywords.
const STRUCTURE: [&str; 16] = [
    "by", "cross", "full", "ilike", "inner", "is", "isnull", "join", "left", "like", "natural", "notnull",
    "outer", "overlaps", "right", "similar",
];

/// Whether a word without quotes, in lower case, is the grammar's.
pub(crate) fn is_structure(word: &str) -> bool {
    keywords::is_keyword(word) || STRUCTURE.contains(&word)
}

/// Aggregates of PostgreSQL, with those whose names end with `agg`, and how some families begin.
const AGGREGATES: [&str; 15] = [
    "any_value",
    "avg",
    "bit_and",
    "bit_or",
    "bit_xor",
    "bool_and",
    "bool_or",
    "count",
    "every",
    "grouping",
    "max",
    "min",
    "mode",
    "sum",
    "variance",
];
const AGGREGATE_FAMILIES: [&str; 7] = ["corr", "covar_", "percentile_", "regr_", "stddev", "var_", "json_"];

/// Whether a function may be an aggregate, by its name.
pub(crate) fn is_aggregate(name: &str) -> bool {
    let begins = || AGGREGATE_FAMILIES.iter().any(|family| name.starts_with(family));
    AGGREGATES.contains(&name) || name.contains("agg") || begins()
}

/// The argument that `args.NAME` at a token means.
pub(crate) fn argument_at(
    text: &str,
    tokens: &[SqlToken],
    hole: &Range<usize>,
    at: usize,
    position: impl Fn(&str) -> Option<usize>,
) -> Option<usize> {
    let is_args = tokens[at].is_word(text, "args") && is_mark(tokens, at + 1, b'.') && at + 2 < hole.end;
    if !is_args || !tokens[at + 2].is_name() || is_mark(tokens, at.wrapping_sub(1), b'.') && at > hole.start {
        return None;
    }
    position(&lexer::name(text, &tokens[at + 2]))
}
