//! Which calls of pages may be replaced by what the page puts together, and with which arguments.
//!
//! A page in the place of its call stands within the scopes of its caller. Names that it finds by itself come first there, too, as each is
//! looked up from the inside out; but for a table's name or alias that is used as a row: PostgreSQL first looks for a column of that name, in all
//! scopes. So a page that uses one stays a call, and likewise one in which an argument is called as a table is. An aggregate belongs to the
//! query whose columns it has, and in a part the arguments are columns: a page with an aggregate of them within a query stays a call, too.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use crate::circle;
use crate::fault::Span;
use crate::lexer::{self, SqlToken, TokenKind};
use crate::library::PageLibrary;
use crate::nodes::Sql;
use crate::page::PageFile;
use crate::pieces::PagePiece;
use crate::words::{self, WordRole};

/// Calls are expanded within each other so deep at most.
pub(crate) const DEEPEST: usize = 16;
/// So many bytes a page has at most, after which calls stay calls.
pub(crate) const LONGEST_SQL: usize = 64 << 10;

/// So many tokens a call within a query has at most that is expanded: each is looked through.
const LONGEST_NESTED: usize = 500;

/// The value of an argument.
pub(crate) enum PartValue {
    Written(Sql),
    /// The default in the head of the page.
    Default(Span),
    /// The content of the page that has the layout, or a slot of it by number from 1.
    Given(usize),
}

/// A call that is expanded.
pub(crate) struct PartCall<'a> {
    pub(crate) part: &'a PageFile,
    /// A value for each argument of the page.
    pub(crate) values: Vec<PartValue>,
}

impl PartCall<'_> {
    /// Whether an argument is more than names and constants.
    pub(crate) fn is_costly(&self, caller: &PageFile) -> bool {
        self.values.iter().any(|value| match value {
            PartValue::Written(sql) => caller.tokens[sql.tokens.clone()].iter().any(|token| token.is(b'(')),
            PartValue::Default(_) => false,
            PartValue::Given(_) => true,
        })
    }
}

#[derive(Clone, Copy)]
struct PartSize {
    weight: usize,
    depth: usize,
}

/// Pages that a page may get in the place of calls.
pub(crate) struct PartBounds<'a> {
    library: &'a PageLibrary,
    /// Those that may be, by name.
    sizes: HashMap<&'a str, PartSize>,
    /// Whether something is called as the page itself is, in it or in what it reaches. PostgreSQL writes an argument of a function as
    /// `FUNCTION.ARGUMENT` and reads it as a column of the table or row that is called so.
    pub(crate) hides_arguments: bool,
}

impl<'a> PartBounds<'a> {
    /// Looks at all pages that a page reaches.
    pub(crate) fn new(top: &'a PageFile, library: &'a PageLibrary) -> PartBounds<'a> {
        let mut reached: Vec<&PageFile> = vec![top];
        let mut known: BTreeSet<String> = [top.name.function.clone()].into();
        let mut at = 0;
        while let Some(page) = reached.get(at).copied() {
            at += 1;
            for name in page.called() {
                if let Some(next) = library.get(&name).filter(|_| known.insert(name)) {
                    reached.push(next);
                }
            }
        }
        let edges = circle::edges(&reached);
        let hides_arguments =
            !top.arguments.is_empty() && reached.iter().any(|page| mentions(page, &top.name.function));
        let mut bounds = PartBounds { library, sizes: HashMap::new(), hides_arguments };
        for component in circle::components(&edges) {
            let [page] = component[..] else { continue };
            if page == 0 || edges[page].contains(&page) || !may_be_part(reached[page]) {
                continue;
            }
            let parts =
                edges[page].iter().filter_map(|part| bounds.sizes.get(reached[*part].name.function.as_str()));
            let own = PartSize { weight: own_weight(reached[page]), depth: 1 };
            let size = parts.fold(own, |size, part| PartSize {
                weight: size.weight.saturating_add(part.weight),
                depth: size.depth.max(part.depth + 1),
            });
            if size.weight <= LONGEST_SQL && size.depth <= DEEPEST {
                bounds.sizes.insert(&reached[page].name.function, size);
            }
        }
        bounds
    }

    /// About how many bytes a page has with its own parts.
    pub(crate) fn weight(&self, part: &PageFile) -> usize {
        self.sizes.get(part.name.function.as_str()).map_or(usize::MAX / 2, |size| size.weight)
    }

    /// The page that may stand in the place of a call, which is told from its name to its last bracket.
    pub(crate) fn find(
        &self,
        caller: &PageFile,
        call: &Range<usize>,
        role: WordRole,
    ) -> Option<&'a PageFile> {
        let name = &caller.tokens[call.start];
        if !name.is_name() || !caller.tokens[call.start + 1].is(b'(') {
            return None;
        }
        let part = self.library.get(&lexer::name(&caller.file.text, name))?;
        self.sizes.get(part.name.function.as_str())?;
        // Within a query an argument may count rows of that query, which it would not from within another.
        let is_function = |at: usize| {
            caller.tokens[at].is_name()
                && caller.tokens[at + 1].is(b'(')
                && self.library.get(&lexer::name(&caller.file.text, &caller.tokens[at])).is_none()
        };
        let may_count = role.is_nested
            && (call.len() > LONGEST_NESTED || (call.start + 2..call.end - 1).any(is_function));
        (!may_count).then_some(part)
    }
}

/// About how many bytes a page becomes.
fn own_weight(page: &PageFile) -> usize {
    page.file.text.len() + page.file.text.len() / 8 + 64 * (page.sql.len() + page.arguments.len() + 1)
}

/// Whether a page means in another one what it means alone.
fn may_be_part(page: &PageFile) -> bool {
    let is_plain = page.arguments.iter().all(|argument| is_plain_type(page, argument.type_span));
    is_plain && is_closed(page, false)
}

/// Whether the arguments of a page may be columns of a query around it.
pub(crate) fn may_have_columns(page: &PageFile) -> bool {
    is_closed(page, true)
}

/// Whether a name is more than that of a function in a page: a table's, a row's or a column's.
fn mentions(page: &PageFile, name: &str) -> bool {
    let is_it = |hole: &Range<usize>, at: usize| {
        page.tokens[at].is_name()
            && lexer::name(&page.file.text, &page.tokens[at]) == name
            && !(at + 1 < hole.end && page.tokens[at + 1].is(b'('))
    };
    page.rows.iter().any(|row| row == name)
        || page.sql.iter().any(|hole| hole.clone().any(|at| is_it(hole, at)))
}

/// Words that are types in a declaration of arguments, and are none, or others, in a cast.
const NO_CASTS: [&str; 9] =
    ["bit", "char", "character", "cstring", "internal", "record", "trigger", "unknown", "void"];
/// Types of several words.
const LONG_TYPES: [&str; 6] = [
    "double precision",
    "character varying",
    "timestamp with time zone",
    "timestamp without time zone",
    "time with time zone",
    "time without time zone",
];

fn is_plain_type(page: &PageFile, span: Span) -> bool {
    let from = page.tokens.partition_point(|token| token.span.start < span.start);
    let to = page.tokens.partition_point(|token| token.span.start < span.end);
    let mut tokens = &page.tokens[from..to];
    while let [rest @ .., open, close] = tokens
        && open.is(b'[')
        && close.is(b']')
    {
        tokens = rest;
    }
    let name = |token: &SqlToken| lexer::name(&page.file.text, token);
    match tokens {
        [only] if only.kind == TokenKind::Word => {
            let word = name(only);
            !NO_CASTS.contains(&word.as_str()) && !word.starts_with("any")
        }
        [only] => only.kind == TokenKind::Quoted,
        [schema, dot, of] if dot.is(b'.') => schema.is_name() && of.is_name(),
        words if words.iter().all(|token| token.kind == TokenKind::Word) => {
            let long = words.iter().map(name).collect::<Vec<_>>().join(" ");
            LONG_TYPES.contains(&long.as_str())
        }
        _ => false,
    }
}

/// Whether all names of a page are found by itself, wherever it stands; or, for its `own` arguments as columns, that these hide nothing.
fn is_closed(page: &PageFile, own: bool) -> bool {
    let text = &page.file.text;
    let mut tables: BTreeSet<String> = page.rows.iter().cloned().collect();
    let mut plain: BTreeSet<String> = BTreeSet::new();
    for hole in &page.sql {
        let roles = words::roles(text, &page.tokens, hole.clone());
        for (at, role) in hole.clone().zip(roles) {
            let token = &page.tokens[at];
            if !token.is_name() {
                continue;
            }
            let name = lexer::name(text, token);
            let is_followed = |mark: u8| at + 1 < hole.end && page.tokens[at + 1].is(mark);
            let is_behind = at > hole.start && page.tokens[at - 1].is(b'.');
            if !own && !is_behind && is_followed(b'.') && name == page.name.function {
                return false;
            }
            // The arguments of a part are called so.
            if name == "args" && token.kind == TokenKind::Quoted {
                return false;
            }
            if role.is_nested
                && is_followed(b'(')
                && words::is_aggregate(&name)
                && mentions_argument(page, at + 1)
            {
                return false;
            }
            if is_argument_row(page, hole, at) {
                return false;
            }
            if words::is_structure(&name) && token.kind == TokenKind::Word {
                continue;
            }
            let is_named = at > hole.start && page.tokens[at - 1].is_word(text, "as");
            let is_alone = !is_behind && !is_followed(b'.') && !is_followed(b'(');
            if role.is_table && !is_followed(b'(') {
                tables.insert(name);
            } else if is_alone && !is_named {
                plain.insert(name);
            }
        }
    }
    let is_argument = |name: &String| page.argument(name).is_some();
    (own || tables.is_disjoint(&plain)) && !tables.iter().any(is_argument)
}

/// Whether an argument stands within a bracket. An aggregate of arguments alone would count the one row that they are.
fn mentions_argument(page: &PageFile, bracket: usize) -> bool {
    let end = page.tokens[bracket].partner.unwrap_or(bracket);
    let mut names = page.tokens[bracket..end].iter().filter(|token| token.is_name());
    // In doubt it does: calls may stand in each other, and each would be looked through.
    end - bracket > LONGEST_NESTED
        || names.any(|token| page.argument(&lexer::name(&page.file.text, token)).is_some())
}

/// Whether a token is the name in `NAME.*` or `args.NAME.*`, which cannot be written of a column.
fn is_argument_row(page: &PageFile, hole: &Range<usize>, at: usize) -> bool {
    let is = |at: usize, mark: u8| at < hole.end && page.tokens[at].is(mark);
    is(at + 1, b'.')
        && is(at + 2, b'*')
        && page.argument(&lexer::name(&page.file.text, &page.tokens[at])).is_some()
}

/// Whether a page may look at an argument more than once.
pub(crate) fn may_repeat(page: &PageFile) -> bool {
    let mut seen = BTreeSet::new();
    let has_rows = page.pieces.iter().any(PagePiece::has_rows);
    let names = page.sql.iter().flat_map(|hole| &page.tokens[hole.clone()]).filter(|token| token.is_name());
    let arguments =
        names.map(|token| lexer::name(&page.file.text, token)).filter(|name| page.argument(name).is_some());
    has_rows || { arguments }.any(|name| !seen.insert(name))
}

/// Whether a token is an argument a field of which is taken. In a function that is written as with a table; a column needs brackets.
pub(crate) fn is_field(page: &PageFile, hole: &Range<usize>, at: usize, role: WordRole) -> bool {
    let is = |at: usize, mark: u8| at < hole.end && page.tokens[at].is(mark);
    let is_behind = at > hole.start && (page.tokens[at - 1].is(b'.') || page.tokens[at - 1].is(b':'));
    page.tokens[at].is_name()
        && is(at + 1, b'.')
        && !is_behind
        && !role.is_table
        && !(at + 2 < hole.end && page.tokens[at + 2].is_name() && is(at + 3, b'('))
        && page.argument(&lexer::name(&page.file.text, &page.tokens[at])).is_some()
}

/// The value of each argument of a page that is called; nothing if the call does not fit. `given` are the names of what is given besides.
pub(crate) fn matched(
    caller: &PageFile,
    call: &Range<usize>,
    part: &PageFile,
    given: &[&str],
) -> Option<Vec<PartValue>> {
    let mut values: Vec<Option<PartValue>> = part.arguments.iter().map(|_| None).collect();
    let mut is_named = false;
    for (place, written) in written(caller, call).into_iter().enumerate() {
        let first = written.clone().next()?;
        let name = name_of_argument(caller, &written);
        is_named |= name.is_some();
        let (argument, from) = match (name, is_named) {
            (Some(name), _) => (part.argument(&name)?, first + 3),
            (None, true) => return None,
            (None, false) => (place, first),
        };
        if caller.tokens[first].is_word(&caller.file.text, "variadic") || from >= written.end {
            return None;
        }
        let span = Span::new(caller.tokens[from].span.start, caller.tokens[written.end - 1].span.end);
        let slot = values.get_mut(argument)?;
        if slot.replace(PartValue::Written(Sql { span, tokens: from..written.end })).is_some() {
            return None;
        }
    }
    for (number, name) in given.iter().enumerate() {
        let slot = &mut values[part.argument(name)?];
        if slot.replace(PartValue::Given(number)).is_some() {
            return None;
        }
    }
    let filled = values.into_iter().zip(&part.arguments);
    filled.map(|(value, argument)| value.or(argument.default_span.map(PartValue::Default))).collect()
}

/// The name before `=>` or `:=`, if an argument is given by its name.
pub(crate) fn name_of_argument(caller: &PageFile, written: &Range<usize>) -> Option<String> {
    let [name, one, two, ..] = &caller.tokens[written.clone()] else { return None };
    let is_arrow = one.is(b'=') && two.is(b'>') || one.is(b':') && two.is(b'=');
    is_arrow.then(|| lexer::name(&caller.file.text, name))
}

/// The arguments of a call, without comments around them.
pub(crate) fn written(caller: &PageFile, call: &Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut begin, mut at) = (call.start + 2, call.start + 2);
    let end = call.end - 1;
    while at < end {
        if caller.tokens[at].is(b',') {
            found.push(begin..at);
            begin = at + 1;
        }
        at = caller.tokens[at].partner.filter(|partner| *partner > at).unwrap_or(at) + 1;
    }
    let is_said = |at: &usize| caller.tokens[*at].kind != TokenKind::Comment;
    if !found.is_empty() || (begin..end).any(|at| is_said(&at)) {
        found.push(begin..end);
    }
    let trimmed = |argument: Range<usize>| {
        let first = argument.clone().find(is_said).unwrap_or(argument.end);
        let last = argument.rev().find(is_said).map_or(first, |last| last + 1);
        first..last
    };
    found.into_iter().map(trimmed).collect()
}
