//! The words by which holes begin.

/// The kinds of holes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Directive {
    Expression,
    Json,
    Remark,
    Arguments,
    Layout,
    For,
    With,
    If,
    Elsif,
    Else,
    End,
    Slot,
}
