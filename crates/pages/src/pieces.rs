//! The pieces that a page puts together: its tree, after each place has been found out.

use crate::fault::Span;
use crate::nodes::Sql;

/// How a value is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Printed {
    /// By its type.
    AsItIs,
    /// Escaped whatever its type.
    Escaped,
    /// As JSON in a script.
    ScriptJson,
    /// As JSON in an attribute.
    EscapedJson,
}

#[derive(Clone, Debug)]
pub(crate) enum PagePiece {
    Literal {
        text: String,
        span: Span,
    },
    Value {
        hole: Span,
        sql: Sql,
        printed: Printed,
    },
    Rows(RowsPiece),
    Choice {
        hole: Span,
        branches: Vec<(Sql, Vec<PagePiece>)>,
        otherwise: Option<Vec<PagePiece>>,
    },
    /// A URL that is put together as text and looked at as a whole.
    Url {
        span: Span,
        pieces: Vec<PagePiece>,
    },
}

impl PagePiece {
    /// Whether a part of it is written for each of some rows.
    pub(crate) fn has_rows(&self) -> bool {
        let has = |pieces: &[PagePiece]| pieces.iter().any(PagePiece::has_rows);
        match self {
            PagePiece::Rows(_) => true,
            PagePiece::Choice { branches, otherwise, .. } => {
                branches.iter().any(|(_, body)| has(body)) || otherwise.as_ref().is_some_and(|body| has(body))
            }
            PagePiece::Url { pieces, .. } => has(pieces),
            PagePiece::Literal { .. } | PagePiece::Value { .. } => false,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct RowsPiece {
    pub(crate) hole: Span,
    pub(crate) is_single: bool,
    pub(crate) name: Option<Span>,
    pub(crate) query: Sql,
    pub(crate) body: Vec<PagePiece>,
    pub(crate) otherwise: Option<Vec<PagePiece>>,
}

/// A part of the page that its layout gets under a name.
#[derive(Clone, Debug)]
pub(crate) struct SlotPiece {
    pub(crate) hole: Span,
    /// The name as it is written.
    pub(crate) written: Span,
    pub(crate) name: String,
    pub(crate) pieces: Vec<PagePiece>,
}

/// Adds text as it is written, to the literal before it unless that is among the first `floor` pieces.
pub(crate) fn push_literal(pieces: &mut Vec<PagePiece>, floor: usize, added: &str, at: Span) {
    if added.is_empty() {
        return;
    }
    let may_join = pieces.len() > floor;
    match pieces.last_mut() {
        Some(PagePiece::Literal { text, span }) if may_join => {
            text.push_str(added);
            span.end = at.end;
        }
        _ => pieces.push(PagePiece::Literal { text: added.to_owned(), span: at }),
    }
}

/// Puts neighbouring literals together from a piece on. The text of the first is not copied, as it may be long.
pub(crate) fn join_literals(pieces: &mut Vec<PagePiece>, from: usize) {
    for piece in pieces.split_off(from.min(pieces.len())) {
        match (pieces.last_mut(), piece) {
            (Some(PagePiece::Literal { text, span }), PagePiece::Literal { text: added, span: at }) => {
                text.push_str(&added);
                span.end = at.end;
            }
            (_, piece) => pieces.push(piece),
        }
    }
}
