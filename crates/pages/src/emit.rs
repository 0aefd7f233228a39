//! A page into SQL: an expression for `create function NAME(ARGUMENTS) returns http.html language sql stable begin atomic select …; end`.
//!
//! Functions that it calls, all in schema `http`, and all but `single` and `html_agg` without effect on null pieces:
//!
//! - `html_of(variadic "any") → http.html` puts pieces together, HTML as it is and all else escaped; `text_of(variadic "any") → text` the same
//!   without escapes. Neither is ever null.
//! - `attribute("any") → http.html` escapes whatever the type; `safe_url(text) → text`; `script_json(json) → http.html`.
//! - The aggregates `html_agg(http.html)` for rows, with `string_agg(text, '')` for text, and `single(http.html, text)` and `single(text, text)`
//!   for one row, whose second argument is the place for the error of a second row: `(select html_agg("row body"."body") from (QUERY) as NAME,
//!   lateral (select BODY as "body") as "row body")`. Each is alone at its level, so that the order of the query holds.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::compiled::CompiledPage;
use crate::fault::Span;
use crate::lexer::SqlToken;
use crate::library::PageLibrary;
use crate::map::{SqlText, SqlWriter};
use crate::name::PageKind;
use crate::nodes::Sql;
use crate::page::PageFile;
use crate::parts::{self, PartBounds, PartCall, PartValue};
use crate::pieces::{PagePiece, Printed, RowsPiece};
use crate::urls;
use crate::words::{self, WordRole};

/// So many arguments one call gets: PostgreSQL takes a hundred.
const MOST_ARGUMENTS: usize = 90;

/// Words behind a call that make it one of an aggregate.
const AGGREGATES: [&str; 3] = ["filter", "over", "within"];

/// Writes a page as SQL. Pages of the library may be put in the place of calls.
///
/// ```
/// let page = pages::read("pages/hello.html", "{{ arguments: who text }}<p>Hello {{ args.who }}").unwrap();
/// let compiled = pages::compile(&page, &pages::PageLibrary::default());
/// assert_eq!(compiled.plain.text, "http.html_of('<p>Hello '::http.html, $1)");
/// ```
pub fn compile(page: &PageFile, library: &PageLibrary) -> CompiledPage {
    let (plain, _) = PageEmitter::new(page, None).written();
    let bounds = PartBounds::new(page, library);
    let is_read_otherwise = bounds.hides_arguments;
    let has_columns = is_read_otherwise && parts::may_have_columns(page);
    let emitter = PageEmitter::new(page, Some(bounds));
    let (expanded, expands) = if has_columns { emitter.with_columns() } else { emitter.written() };
    let expands = expands.into_iter().collect();
    CompiledPage {
        plain,
        expanded,
        expands,
        is_read_otherwise,
        is_ambiguous: is_read_otherwise && !has_columns,
    }
}

/// The type of a list of pieces that are put together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Made {
    Html,
    Text,
}

/// Text before a part, and behind it.
type Around<'a> = (&'a [PagePiece], &'a [PagePiece]);

struct PageEmitter<'a> {
    /// The page whose pieces are written: another one within a call that is expanded.
    page: &'a PageFile,
    writer: SqlWriter,
    parts: Option<PartBounds<'a>>,
    expands: BTreeSet<String>,
    /// Pages that are written within each other.
    depth: usize,
    /// The same with arguments of calls, which are the caller's.
    nesting: usize,
    unnamed_rows: usize,
}

impl<'a> PageEmitter<'a> {
    fn new(page: &'a PageFile, parts: Option<PartBounds<'a>>) -> PageEmitter<'a> {
        let mut writer = SqlWriter::default();
        writer.file = writer.add_file(&page.file);
        PageEmitter { page, writer, parts, expands: BTreeSet::new(), depth: 0, nesting: 0, unnamed_rows: 0 }
    }

    fn written(mut self) -> (SqlText, BTreeSet<String>) {
        self.body();
        (self.writer.done(), self.expands)
    }

    /// The page in a query of its arguments: no name of a table's or a row's is in sight where they are taken.
    fn with_columns(mut self) -> (SqlText, BTreeSet<String>) {
        self.writer.made("(select ");
        self.depth += 1;
        self.body();
        for (number, argument) in self.page.arguments.iter().enumerate() {
            let name = argument.name.replace('"', "\"\"");
            let before = if number > 0 { ", " } else { " from (select " };
            self.writer.made(&format!("{before}${} as \"{name}\"", number + 1));
        }
        self.writer.made(") as args)");
        (self.writer.done(), self.expands)
    }

    fn made(&self) -> Made {
        match self.page.name.kind {
            PageKind::Html => Made::Html,
            PageKind::Text => Made::Text,
        }
    }

    /// The whole page with its layout.
    fn body(&mut self) {
        let page = self.page;
        let made = self.made();
        match &page.pieces[..] {
            [PagePiece::Rows(rows)] if page.is_one_with => self.rows(rows, made, true),
            pieces => self.framed(pieces, made),
        }
    }

    /// The content in its layout, if there is one.
    fn framed(&mut self, pieces: &'a [PagePiece], made: Made) {
        let Some((hole, call)) = &self.page.layout else { return self.list(pieces, made) };
        self.within(*hole, |emitter| {
            let text = &emitter.page.file.text;
            let tokens = &emitter.page.tokens;
            if let Some(part) = emitter.expansion(&call.tokens, WordRole::default(), true) {
                return emitter.expanded(&part, WordRole::default(), pieces);
            }
            let bracket = call.tokens.clone().find(|at| tokens[*at].is(b'(')).unwrap_or(call.tokens.start);
            let last = call.tokens.end - 1;
            emitter.tokens(call.tokens.start..last, Span::new(call.span.start, tokens[last].span.start));
            let has_arguments = (bracket + 1..last).any(|at| emitter.page.is_said(at));
            let before_end = &text[tokens[bracket].span.start..tokens[last].span.start];
            // A remark would take with it what follows.
            let line = if before_end.contains("--") { "\n" } else { "" };
            emitter.writer.made(line);
            emitter.writer.made(if has_arguments { ", body => " } else { "body => " });
            emitter.list(pieces, made);
            for slot in &emitter.page.slots {
                emitter.within(slot.hole, |emitter| {
                    emitter.writer.made(", ");
                    emitter.writer.exact(slot.written);
                    emitter.writer.made(" => ");
                    emitter.list(&slot.pieces, made);
                });
            }
            emitter.writer.made(")");
        });
    }

    /// Writes for a piece of the page.
    fn within(&mut self, owner: Span, write: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.writer.owner, owner);
        write(self);
        self.writer.owner = outer;
    }

    /// Pieces put together; never null.
    fn list(&mut self, pieces: &'a [PagePiece], made: Made) {
        match pieces {
            [] => self.literal("", made),
            [PagePiece::Literal { text, span }] => self.within(*span, |emitter| emitter.literal(text, made)),
            _ => self.joined(pieces, made),
        }
    }

    fn joined(&mut self, pieces: &'a [PagePiece], made: Made) {
        // The least power of the bound by which all fit into one call.
        let mut step = 1;
        while pieces.len().div_ceil(step) > MOST_ARGUMENTS {
            step *= MOST_ARGUMENTS;
        }
        self.writer.made(if made == Made::Html { "http.html_of(" } else { "http.text_of(" });
        for (number, part) in pieces.chunks(step).enumerate() {
            if number > 0 {
                self.writer.made(", ");
            }
            match part {
                [piece] => self.piece(piece, made),
                part => self.joined(part, made),
            }
        }
        self.writer.made(")");
    }

    fn literal(&mut self, text: &str, made: Made) {
        self.writer.string(text);
        self.writer.made(if made == Made::Html { "::http.html" } else { "::text" });
    }

    fn piece(&mut self, piece: &'a PagePiece, made: Made) {
        match piece {
            PagePiece::Literal { text, span } => self.within(*span, |emitter| emitter.literal(text, made)),
            PagePiece::Value { hole, sql, printed } => self.within(*hole, |emitter| {
                let (before, behind) = match printed {
                    _ if made == Made::Text => ("", ""),
                    Printed::AsItIs => ("", ""),
                    Printed::Escaped => ("http.attribute(", ")"),
                    Printed::ScriptJson => ("http.script_json(to_json(", "))"),
                    Printed::EscapedJson => ("http.attribute(to_json(", "))"),
                };
                emitter.writer.made(before);
                emitter.sql(sql);
                emitter.writer.made(behind);
            }),
            PagePiece::Rows(rows) => self.rows(rows, made, false),
            PagePiece::Choice { hole, branches, otherwise } => self.within(*hole, |emitter| {
                emitter.writer.made("case");
                for (condition, body) in branches {
                    emitter.writer.made(" when (");
                    emitter.sql(condition);
                    emitter.writer.made(") then ");
                    emitter.list(body, made);
                }
                if let Some(otherwise) = otherwise {
                    emitter.writer.made(" else ");
                    emitter.list(otherwise, made);
                }
                emitter.writer.made(" end");
            }),
            PagePiece::Url { span, pieces } => self.within(*span, |emitter| match &pieces[..] {
                [PagePiece::Value { hole, sql, .. }]
                    if urls::is_of_site(&emitter.page.file.text, &emitter.page.tokens, sql) =>
                {
                    // A text, which is escaped wherever it stands.
                    emitter.within(*hole, |emitter| emitter.sql(sql));
                }
                _ => {
                    emitter.writer.made("http.attribute(http.safe_url(");
                    emitter.list(pieces, Made::Text);
                    emitter.writer.made("))");
                }
            }),
        }
    }

    /// `for` and `with`. The `with` that is the whole page has the layout around its content.
    fn rows(&mut self, rows: &'a RowsPiece, made: Made, is_whole: bool) {
        self.within(rows.hole, |emitter| {
            emitter.writer.made(if rows.otherwise.is_some() { "coalesce((select " } else { "(select " });
            emitter.writer.made(match (rows.is_single, made) {
                (true, _) => "http.single(\"row body\".\"body\", ",
                (false, Made::Html) => "http.html_agg(\"row body\".\"body\"",
                (false, Made::Text) => "string_agg(\"row body\".\"body\", ''",
            });
            if rows.is_single {
                let line = emitter.page.file.lines.line(rows.hole.start);
                let place = format!("{}, line {line}", emitter.page.file.path);
                emitter.writer.string(&place);
            }
            emitter.writer.made(") from (");
            emitter.sql(&rows.query);
            emitter.writer.made(") as ");
            match rows.name {
                Some(name) => emitter.writer.exact(name),
                None => {
                    emitter.unnamed_rows += 1;
                    let name = format!("\"row {}\"", emitter.unnamed_rows);
                    emitter.writer.made(&name);
                }
            }
            // An aggregate of the body itself would be one of the rows around, if the body had names of these alone. PostgreSQL plans the
            // same for both, and refuses an aggregate that a hole in the body has.
            emitter.writer.made(", lateral (select ");
            let part = if is_whole || made == Made::Text { None } else { emitter.only_part(&rows.body) };
            if let Some((hole, part, around)) = &part {
                emitter.within(*hole, |emitter| emitter.part(part, Some(*around), "body", &[]));
                emitter.writer.made(") as \"row body\")");
            } else {
                if is_whole {
                    emitter.framed(&rows.body, made);
                } else {
                    emitter.list(&rows.body, made);
                }
                emitter.writer.made(" as \"body\") as \"row body\")");
            }
            if let Some(otherwise) = &rows.otherwise {
                emitter.writer.made(", ");
                emitter.list(otherwise, made);
                emitter.writer.made(")");
            }
        });
    }

    fn sql(&mut self, sql: &Sql) {
        self.tokens(sql.tokens.clone(), sql.span);
    }

    /// Writes the text of a hole, or of a part of it, with what has to be replaced replaced.
    fn tokens(&mut self, range: Range<usize>, span: Span) {
        let page = self.page;
        let is_top = self.depth == 0;
        let roles = if self.parts.is_some() {
            words::roles(&page.file.text, &page.tokens, range.clone())
        } else {
            Vec::new()
        };
        let role = |at: usize| roles.get(at - range.start).copied().unwrap_or_default();
        let (mut copied, mut at) = (span.start, range.start);
        while at < range.end {
            let token: &SqlToken = &page.tokens[at];
            let position = |name: &str| page.argument(name);
            if let Some(argument) = words::argument_at(&page.file.text, &page.tokens, &range, at, position)
                && (is_top || page.tokens[..range.end].get(at + 3).is_some_and(|next| next.is(b'.')))
            {
                let own = Span::new(token.span.start, page.tokens[at + 2].span.end);
                self.writer.exact(Span::new(copied, token.span.start));
                if is_top {
                    self.writer.made_of(&format!("${}", argument + 1), own);
                } else {
                    // A field of a column needs brackets.
                    self.writer.made_of("(", own);
                    self.writer.exact(own);
                    self.writer.made_of(")", own);
                }
                copied = own.end;
                at += 3;
            } else if !is_top && parts::is_field(page, &range, at, role(at)) {
                self.writer.exact(Span::new(copied, token.span.start));
                self.writer.made_of("(args.", token.span);
                self.writer.exact(token.span);
                self.writer.made_of(")", token.span);
                copied = token.span.end;
                at += 1;
            } else {
                let before = Span::new(copied, token.span.start);
                match self.call(&range, at, role(at), before) {
                    Some(last) => {
                        copied = page.tokens[last].span.end;
                        at = last + 1;
                    }
                    None => at += 1,
                }
            }
        }
        self.writer.exact(Span::new(copied, span.end));
    }

    /// Expands the call at a token, with the text before it, if it may be; the number of its last token if so.
    fn call(&mut self, hole: &Range<usize>, at: usize, role: WordRole, before: Span) -> Option<usize> {
        let page = self.page;
        self.parts.as_ref()?;
        let bracket = words::called(&page.file.text, &page.tokens, hole, at)?;
        let last = page.tokens[bracket].partner.filter(|last| *last < hole.end)?;
        let next = page.tokens.get(last + 1).filter(|_| last + 1 < hole.end);
        let is_window = |token: &SqlToken| AGGREGATES.iter().any(|word| token.is_word(&page.file.text, word));
        if !words::is_expression(&page.file.text, &page.tokens, hole, at, role) || next.is_some_and(is_window)
        {
            return None;
        }
        let part = self.expansion(&(at..last + 1), role, false)?;
        self.writer.exact(before);
        self.expanded(&part, role, &[]);
        Some(last)
    }

    /// The page that may stand in the place of a call, and its arguments. A layout gets the content and the slots of the page besides.
    fn expansion(&self, call: &Range<usize>, role: WordRole, is_layout: bool) -> Option<PartCall<'a>> {
        let bounds = self.parts.as_ref()?;
        let part = bounds.find(self.page, call, role)?;
        let slots = self.page.slots.iter().map(|slot| slot.name.as_str());
        let given: Vec<&str> =
            if is_layout { ["body"].into_iter().chain(slots).collect() } else { Vec::new() };
        let values = parts::matched(self.page, call, part, &given)?;
        let fits =
            self.nesting < parts::DEEPEST && self.writer.len() + bounds.weight(part) <= parts::LONGEST_SQL;
        fits.then_some(PartCall { part, values })
    }

    /// Writes a page in the place of its call. It is a query by itself, so that what it counts are its own rows, and in a list of columns
    /// it keeps the name that the call had.
    fn expanded(&mut self, call: &PartCall<'a>, role: WordRole, content: &'a [PagePiece]) {
        self.writer.made("(select ");
        let name = if role.is_nested { &*call.part.name.function } else { "" };
        self.part(call, None, name, content);
        self.writer.made(")");
    }

    /// The part that the body of rows is, but for text around it, if its pieces may stand between that: the body is the part's query then, which
    /// PostgreSQL makes one with that of the rows, and calls for none.
    fn only_part(&self, body: &'a [PagePiece]) -> Option<(Span, PartCall<'a>, Around<'a>)> {
        let is_text = |piece: &PagePiece| matches!(piece, PagePiece::Literal { .. });
        let at = body.iter().position(|piece| !is_text(piece))?;
        let around = (&body[..at], &body[at + 1..]);
        let PagePiece::Value { hole, sql, printed: Printed::AsItIs } = &body[at] else { return None };
        let (text, tokens, range) = (&self.page.file.text, &self.page.tokens, &sql.tokens);
        let bracket = words::called(text, tokens, range, range.start)?;
        let is_call = tokens[bracket].partner == Some(range.end - 1) && around.1.iter().all(is_text);
        let role = WordRole::default();
        if !is_call || !words::is_expression(text, tokens, range, range.start, role) {
            return None;
        }
        let call = self.expansion(range, role, false)?;
        let part = call.part;
        let is_list = part.layout.is_none() && !part.is_one_with && part.name.kind == PageKind::Html;
        let fits = (1..=MOST_ARGUMENTS).contains(&(body.len() - 1 + part.pieces.len()));
        (is_list && fits).then_some((*hole, call, around))
    }

    /// The query of a part, without its brackets: what it puts together, between text around it if there is some, under this name; and its
    /// arguments.
    fn part(
        &mut self,
        call: &PartCall<'a>,
        around: Option<Around<'a>>,
        name: &str,
        content: &'a [PagePiece],
    ) {
        let (caller, part) = (self.page, call.part);
        self.expands.insert(part.name.function.clone());
        if let Some((before, _)) = around {
            self.writer.made("http.html_of(");
            self.pieces(before, false);
        }
        let file = self.writer.file;
        self.writer.file = self.writer.add_file(&part.file);
        self.page = part;
        self.depth += 1;
        self.nesting += 1;
        self.within(Span::default(), |emitter| match around {
            Some((before, _)) => emitter.pieces(&part.pieces, !before.is_empty()),
            None => emitter.body(),
        });
        self.page = caller;
        self.writer.file = file;
        if let Some((before, behind)) = around {
            self.pieces(behind, !before.is_empty() || !part.pieces.is_empty());
            self.writer.made(")");
        }
        if !name.is_empty() {
            self.writer.made(&format!(" as \"{name}\""));
        }
        for (number, (argument, value)) in part.arguments.iter().zip(&call.values).enumerate() {
            self.writer.made(if number > 0 { ", (" } else { " from (select (" });
            self.value(part, value, content);
            self.writer.made(")::");
            self.of_part(part, argument.type_span);
            let alias = format!(" as \"{}\"", argument.name.replace('"', "\"\""));
            self.writer.made(&alias);
        }
        self.depth -= 1;
        self.nesting -= 1;
        if call.is_costly(caller) && parts::may_repeat(part) {
            // PostgreSQL would write the argument into each place of its use, and compute it there.
            self.writer.made(" offset 0");
        }
        self.writer.made(if part.arguments.is_empty() { "" } else { ") as args" });
    }

    /// Pieces of HTML as arguments, behind others or not.
    fn pieces(&mut self, pieces: &'a [PagePiece], are_behind: bool) {
        for (number, piece) in pieces.iter().enumerate() {
            self.writer.made(if are_behind || number > 0 { ", " } else { "" });
            self.piece(piece, Made::Html);
        }
    }

    fn of_part(&mut self, part: &PageFile, span: Span) {
        let file = self.writer.file;
        self.writer.file = self.writer.add_file(&part.file);
        self.writer.exact(span);
        self.writer.file = file;
    }

    /// The value of an argument of a page that is expanded.
    fn value(&mut self, part: &PageFile, value: &PartValue, content: &'a [PagePiece]) {
        // The depth is the caller's again, as its holes are written.
        self.depth -= 1;
        let made = self.made();
        match value {
            PartValue::Written(sql) => self.sql(sql),
            PartValue::Default(span) => self.of_part(part, *span),
            PartValue::Given(0) => self.list(content, made),
            PartValue::Given(slot) => {
                let slot = &self.page.slots[slot - 1];
                self.within(slot.hole, |emitter| emitter.list(&slot.pieces, made));
            }
        }
        self.depth += 1;
    }
}
