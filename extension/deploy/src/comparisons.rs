//! What the sides of a comparison were that was not true: the statement runs once more, after it was undone, with them in its place.

use std::cell::RefCell;
use std::ffi::CStr;
use std::ops::ControlFlow;

use pg::list::{list_length, nth};
use pgrx::pg_sys::{self, A_Expr, A_Expr_Kind, Datum, Node, NodeTag, RawStmt, SelectStmt};
use pgrx::{FromDatum, PgBox};
use serde_json::{Value, json};

/// Letters of a value that are told.
const TOLD: usize = 20_000;

thread_local! {
    /// Those of the test that has failed.
    static DIFFERENCES: RefCell<Vec<Value>> = const { RefCell::new(Vec::new()) };
}

/// What differed since this was last called: `operator`, and the sides, `got` and `wanted`.
pub(crate) fn take() -> Vec<Value> {
    DIFFERENCES.take()
}

/// Whether a statement is a query with a comparison that is one of its columns.
///
/// # Safety
/// A statement of the parser.
pub(crate) unsafe fn has_some(statement: *mut RawStmt) -> bool {
    // SAFETY: by contract.
    unsafe {
        targets(statement)
            .is_some_and(|(list, count)| (0..count).any(|place| !compared(list, place).is_empty()))
    }
}

/// What a query of the parser has in its columns, if that can be said of it.
unsafe fn targets(statement: *mut RawStmt) -> Option<(*mut pg_sys::List, usize)> {
    // SAFETY: a statement of the parser; the tag tells the type.
    unsafe {
        let query = (*statement).stmt;
        if (*query).type_ != NodeTag::T_SelectStmt {
            return None;
        }
        let query = &*query.cast::<SelectStmt>();
        let is_plain = query.op == pg_sys::SetOperation::SETOP_NONE && query.valuesLists.is_null();
        is_plain.then(|| (query.targetList, list_length(query.targetList)))
    }
}

/// The comparisons of which a column is made, all of which must be true.
unsafe fn compared(list: *mut pg_sys::List, place: usize) -> Vec<*mut A_Expr> {
    let mut found = Vec::new();
    // SAFETY: a target list of the parser has ResTargets.
    unsafe { add_comparisons((*nth(list, place).cast::<pg_sys::ResTarget>()).val, &mut found) };
    found
}

unsafe fn add_comparisons(node: *mut Node, found: &mut Vec<*mut A_Expr>) {
    // SAFETY: a node of the parser, or none; the tag tells the type.
    unsafe {
        if node.is_null() {
            return;
        }
        match (*node).type_ {
            NodeTag::T_BoolExpr => {
                let all = &*node.cast::<pg_sys::BoolExpr>();
                if all.boolop == pg_sys::BoolExprType::AND_EXPR {
                    (0..list_length(all.args))
                        .for_each(|place| add_comparisons(nth(all.args, place).cast(), found));
                }
            }
            NodeTag::T_A_Expr => {
                let expression = node.cast::<A_Expr>();
                let is_comparison = matches!(
                    (*expression).kind,
                    A_Expr_Kind::AEXPR_OP
                        | A_Expr_Kind::AEXPR_DISTINCT
                        | A_Expr_Kind::AEXPR_NOT_DISTINCT
                        | A_Expr_Kind::AEXPR_LIKE
                        | A_Expr_Kind::AEXPR_ILIKE
                );
                if is_comparison && !(*expression).lexpr.is_null() && !(*expression).rexpr.is_null() {
                    found.push(expression);
                }
            }
            _ => {}
        }
    }
}

/// The query with each comparison of a column as three: whether it is true, and its sides as texts. None if it has no such column.
///
/// # Safety
/// A statement of the parser that is not used otherwise; inside a transaction.
pub(crate) unsafe fn with_sides(statement: *mut RawStmt, place: usize, width: usize) -> Option<Sides> {
    // SAFETY: by contract.
    unsafe {
        let (list, count) = targets(statement)?;
        let found = if count == width { compared(list, place) } else { Vec::new() };
        if found.is_empty() {
            return None;
        }
        let mut targets = std::ptr::null_mut();
        for expression in &found {
            // One alone is what was not true; it is computed once, as it may do something.
            if found.len() > 1 {
                targets = pg_sys::lappend(targets, target(copy(expression.cast())).cast());
            }
            for side in [(**expression).lexpr, (**expression).rexpr] {
                targets = pg_sys::lappend(targets, target(as_text(copy(side))).cast());
            }
        }
        let operators = found.iter().map(|expression| operator(*expression)).collect();
        (*(*statement).stmt.cast::<SelectStmt>()).targetList = targets;
        Some(Sides { operators })
    }
}

unsafe fn copy(node: *mut Node) -> *mut Node {
    // SAFETY: a node of the parser.
    unsafe { pg_sys::copyObjectImpl(node.cast()).cast() }
}

fn target(value: *mut Node) -> *mut pg_sys::ResTarget {
    // SAFETY: makes a node in the current memory context.
    let mut target = unsafe { PgBox::<pg_sys::ResTarget>::alloc_node(NodeTag::T_ResTarget) };
    (target.val, target.location) = (value, -1);
    target.into_pg()
}

fn as_text(value: *mut Node) -> *mut Node {
    // SAFETY: makes nodes in the current memory context.
    let (mut cast, text) = unsafe {
        let cast = PgBox::<pg_sys::TypeCast>::alloc_node(NodeTag::T_TypeCast);
        (cast, pg_sys::SystemTypeName(c"text".as_ptr().cast_mut()))
    };
    (cast.arg, cast.typeName, cast.location) = (value, text, -1);
    cast.into_pg().cast()
}

unsafe fn operator(expression: *mut A_Expr) -> String {
    // SAFETY: an expression of the parser; the names of an operator are a list of strings.
    unsafe {
        match (*expression).kind {
            A_Expr_Kind::AEXPR_DISTINCT => return "is distinct from".to_owned(),
            A_Expr_Kind::AEXPR_NOT_DISTINCT => return "is not distinct from".to_owned(),
            _ => {}
        }
        let name =
            CStr::from_ptr(pg_sys::NameListToString((*expression).name)).to_string_lossy().into_owned();
        match name.rsplit('.').next().unwrap_or_default() {
            "~~" => "like".to_owned(),
            "!~~" => "not like".to_owned(),
            "~~*" => "ilike".to_owned(),
            "!~~*" => "not ilike".to_owned(),
            _ => name,
        }
    }
}

/// What is compared.
pub(crate) struct Sides {
    operators: Vec<String>,
}

impl Sides {
    /// Notes what was not true in this row of the statement with its sides.
    ///
    /// # Safety
    /// The columns are those that [`with_sides`] has made.
    pub(crate) unsafe fn note(&self, columns: &[Datum]) -> ControlFlow<()> {
        let each = if self.operators.len() > 1 { 3 } else { 2 };
        let told = self.operators.iter().zip(columns.chunks(each)).filter(|(_, columns)| {
            // What is null has the value 0.
            each == 2 || columns[0].value() as u8 == 0
        });
        // SAFETY: by contract; null is 0, as no text is.
        let text = |datum: Datum| unsafe { String::from_datum(datum, datum.value() == 0) };
        let told = told.map(|(operator, columns)| {
            let (got, wanted) = (text(columns[each - 2]), text(columns[each - 1]));
            json!({ "operator": operator, "got": got.map(shortened), "wanted": wanted.map(shortened) })
        });
        DIFFERENCES.set(told.collect());
        ControlFlow::Break(())
    }
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(TOLD) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
