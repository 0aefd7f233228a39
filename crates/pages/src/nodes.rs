//! The tree of a page.

use std::ops::Range;

use crate::fault::Span;

/// The kind of text in a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HoleKind {
    /// An expression whose value is printed.
    Expression,
    /// An expression of `if` and `elsif`.
    Condition,
    /// A query of `for` and `with`.
    Query,
    /// The call of the layout.
    Layout,
    /// The type of an argument.
    ArgumentType,
    /// The default of an argument.
    Default,
}

impl HoleKind {
    /// The text to put before and behind, so that PostgreSQL's parser takes it as one statement if, and only if, it is what it must be.
    pub fn around(self) -> (&'static str, &'static str) {
        match self {
            HoleKind::Expression | HoleKind::Condition | HoleKind::Default => ("select (", "\n)"),
            HoleKind::Query => ("select exists (", "\n)"),
            HoleKind::Layout => ("select ", "\n"),
            HoleKind::ArgumentType => ("create function f(a ", "\n) returns void language sql as ''"),
        }
    }
}

/// SQL in a hole: its text, and its tokens by number.
#[derive(Clone, Debug)]
pub(crate) struct Sql {
    pub(crate) span: Span,
    pub(crate) tokens: Range<usize>,
}

#[derive(Clone, Debug)]
pub(crate) enum PageNode {
    Text(Span),
    Value { hole: Span, sql: Sql, is_json: bool },
    Rows(RowsNode),
    Choice(ChoiceNode),
    Slot(SlotNode),
}

/// Nodes between two holes.
#[derive(Clone, Debug)]
pub(crate) struct NodeBranch {
    /// The hole in front.
    pub(crate) hole: Span,
    pub(crate) nodes: Vec<PageNode>,
}

/// `for` and `with`.
#[derive(Clone, Debug)]
pub(crate) struct RowsNode {
    pub(crate) hole: Span,
    /// Whether it is `with`.
    pub(crate) is_single: bool,
    pub(crate) name: Option<Span>,
    pub(crate) query: Sql,
    pub(crate) body: NodeBranch,
    pub(crate) otherwise: Option<NodeBranch>,
}

#[derive(Clone, Debug)]
pub(crate) struct ChoiceNode {
    pub(crate) hole: Span,
    pub(crate) branches: Vec<(Sql, NodeBranch)>,
    pub(crate) otherwise: Option<NodeBranch>,
}

#[derive(Clone, Debug)]
pub(crate) struct SlotNode {
    pub(crate) hole: Span,
    /// The name as it is written.
    pub(crate) written: Span,
    pub(crate) name: String,
    pub(crate) body: NodeBranch,
}
