//! A file cut into text and holes, and lines that hold directives alone.

use crate::directive::Directive;
use crate::fault::{FaultList, Span};
use crate::habits;
use crate::lexer::{self, HoleEnd, SqlToken, TokenKind};

#[derive(Clone, Debug)]
pub(crate) struct CutHole {
    /// With its braces.
    pub(crate) span: Span,
    pub(crate) directive: Directive,
    /// Tokens behind the word of the directive, by number; comments at both ends are left out.
    pub(crate) tokens: std::ops::Range<usize>,
    /// The text of these.
    pub(crate) sql: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum Cut {
    Text(Span),
    Hole(CutHole),
}

/// Cuts a file. Lines of directives alone are left out, but for their holes.
pub(crate) fn cut(text: &str, tokens: &mut Vec<SqlToken>, faults: &mut FaultList) -> Vec<Cut> {
    let mut cuts = Vec::new();
    // A byte order mark says nothing.
    let mut at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    while !faults.is_full() {
        let Some(place) = text[at..].find("{{").map(|place| at + place) else { break };
        push_text(&mut cuts, at, place);
        let first = tokens.len();
        match lexer::read_hole(text, place + 2, tokens, faults) {
            HoleEnd::Broken(next) => at = next,
            HoleEnd::Closed(end) => {
                at = end + 2;
                let span = Span::new(place, at);
                if is_verbatim(text, &tokens[first..]) {
                    at = verbatim(text, span, &mut cuts, faults);
                } else if let Some(hole) = classified(text, span, tokens, first, faults) {
                    cuts.push(Cut::Hole(hole));
                }
            }
        }
    }
    push_text(&mut cuts, at, text.len());
    without_bare_lines(text, cuts)
}

fn push_text(cuts: &mut Vec<Cut>, start: usize, end: usize) {
    if start < end {
        cuts.push(Cut::Text(Span::new(start, end)));
    }
}

fn remark(span: Span) -> Cut {
    Cut::Hole(CutHole {
        span,
        directive: Directive::Remark,
        tokens: 0..0,
        sql: Span::new(span.end, span.end),
    })
}

fn is_verbatim(text: &str, tokens: &[SqlToken]) -> bool {
    let mut said = tokens.iter().filter(|token| token.kind != TokenKind::Comment);
    said.next().is_some_and(|first| first.is_word(text, "verbatim")) && said.next().is_none()
}

/// Takes text as it is up to the next `{{ end }}`; the place behind that.
fn verbatim(text: &str, hole: Span, cuts: &mut Vec<Cut>, faults: &mut FaultList) -> usize {
    cuts.push(remark(hole));
    let mut from = hole.end;
    while let Some(place) = text[from..].find("{{").map(|place| from + place) {
        let inside = text[place + 2..].trim_start();
        let after =
            inside.get(..3).filter(|word| word.eq_ignore_ascii_case("end")).map(|_| inside[3..].trim_start());
        if let Some(rest) = after.and_then(|after| after.strip_prefix("}}")) {
            let end = text.len() - rest.len();
            push_text(cuts, hole.end, place);
            cuts.push(remark(Span::new(place, end)));
            return end;
        }
        // `{{{ end }}`: the last two of the braces are the hole's.
        from = place + 1;
    }
    faults.add(hole.start, "verbatim has no end", "write {{ end }} behind the text");
    text.len()
}

/// A hole, read by its first word. Nothing if it is empty.
fn classified(
    text: &str,
    span: Span,
    tokens: &[SqlToken],
    first: usize,
    faults: &mut FaultList,
) -> Option<CutHole> {
    let is_comment = |place: &usize| tokens[*place].kind == TokenKind::Comment;
    let mut said = (first..tokens.len()).skip_while(is_comment);
    let Some(word) = said.next() else {
        if first == tokens.len() {
            faults.add(span.start, "this hole is empty", "a remark is written {{ -- … }}");
        }
        let sql = Span::new(span.end, span.end);
        return (first < tokens.len()).then_some(CutHole {
            span,
            directive: Directive::Remark,
            tokens: 0..0,
            sql,
        });
    };
    let is_head = tokens.get(word + 1).is_some_and(|colon| colon.is(b':'))
        && !tokens
            .get(word + 2)
            .is_some_and(|next| next.is(b':') && next.span.start == tokens[word + 1].span.end);
    let written = text[tokens[word].span.range()].to_ascii_lowercase();
    let (directive, skipped) = match written.as_str() {
        "for" => (Directive::For, 1),
        "with" => (Directive::With, 1),
        "if" => (Directive::If, 1),
        "elsif" => (Directive::Elsif, 1),
        "else" => (Directive::Else, 1),
        "end" => (Directive::End, 1),
        "slot" => (Directive::Slot, 1),
        "arguments" if is_head => (Directive::Arguments, 2),
        "layout" if is_head => (Directive::Layout, 2),
        "json" if is_head => (Directive::Json, 2),
        "verbatim" => {
            let hint = "nothing stands behind verbatim; a column of this name is written \"verbatim\"";
            faults.add(tokens[word].span.start, "verbatim takes nothing", hint);
            return None;
        }
        _ => match habits::of_another_language(text, &tokens[word..]) {
            Some((message, hint, directive)) => {
                faults.add(tokens[word].span.start, message, hint);
                (directive, 1)
            }
            None => (Directive::Expression, 0),
        },
    };
    let begin = (word + skipped..tokens.len()).find(|place| !is_comment(place)).unwrap_or(tokens.len());
    let end = (begin..tokens.len()).rev().find(|place| !is_comment(place)).map_or(begin, |last| last + 1);
    let behind = tokens[(word + skipped).max(word + 1) - 1].span.end;
    let sql = match tokens.get(begin..end) {
        Some([first, .., last]) => Span::new(first.span.start, last.span.end),
        Some([only]) => only.span,
        _ => Span::new(behind, behind),
    };
    Some(CutHole { span, directive, tokens: begin..end, sql })
}

/// A line that is being looked at.
#[derive(Default)]
struct CutLine {
    has_directive: bool,
    is_kept: bool,
}

/// Leaves out lines that hold nothing but white space and directives, with their ends.
fn without_bare_lines(text: &str, cuts: Vec<Cut>) -> Vec<Cut> {
    let mut kept = Vec::with_capacity(cuts.len());
    let mut line = CutLine::default();
    // Where the texts of the line belong among what is kept.
    let mut places: Vec<usize> = Vec::new();
    let mut dropped: Vec<usize> = Vec::new();
    let mut finish = |line: &mut CutLine, places: &mut Vec<usize>| {
        if line.has_directive && !line.is_kept {
            dropped.append(places);
        }
        places.clear();
        *line = CutLine::default();
    };
    for cut in cuts {
        match cut {
            Cut::Hole(hole) => {
                let is_value = matches!(hole.directive, Directive::Expression | Directive::Json);
                line.is_kept |= is_value;
                line.has_directive |= !is_value;
                kept.push(Cut::Hole(hole));
            }
            Cut::Text(span) => {
                let mut start = span.start;
                for part in text[span.range()].split_inclusive('\n') {
                    let piece = Span::new(start, start + part.len());
                    start = piece.end;
                    line.is_kept |= !part.bytes().all(|byte| byte.is_ascii_whitespace());
                    places.push(kept.len());
                    kept.push(Cut::Text(piece));
                    if part.ends_with('\n') {
                        finish(&mut line, &mut places);
                    }
                }
            }
        }
    }
    finish(&mut line, &mut places);
    let mut dropped = dropped.into_iter().peekable();
    let left = kept.into_iter().enumerate().filter(|(place, _)| dropped.next_if_eq(place).is_none());
    joined(left.map(|(_, cut)| cut))
}

/// Puts neighbouring texts together again.
fn joined(cuts: impl Iterator<Item = Cut>) -> Vec<Cut> {
    let mut all: Vec<Cut> = Vec::new();
    for cut in cuts {
        match (all.last_mut(), cut) {
            (Some(Cut::Text(last)), Cut::Text(next)) if last.end == next.start => last.end = next.end,
            (_, cut) => all.push(cut),
        }
    }
    all
}
