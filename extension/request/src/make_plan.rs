//! Making plans: from what the user has registered to what the executor of PostgreSQL runs.
//!
//! A handler's statement gets the relation `request`: see [`super::relation`].
//!
//! A route calls its function: `select f(a => $1)`. PostgreSQL before 18 parses and plans the body of an
//! SQL function anew in every call, 50 to 100 µs for a point lookup. So where the body is one statement and
//! nothing about the function needs a call (SECURITY DEFINER, SET, STRICT), the plan is that of the
//! body itself, with the arguments as parameters. Then who may execute the function is checked here.

use std::cell::{Cell, UnsafeCell};
use std::ffi::{c_char, c_void};

use pg::entry::callback;
use pg::list::{first, list_length, nth};
use pg::text::keep_text;
use pgrx::pg_sys::{self, Oid};
use session::kept_plans;

use super::effects::Effects;
use super::function::Function;
use super::inputs::Argument;
use super::plan::{Origin, Plan};
use super::plan_choice::PlanChoice;
use super::relation::{add_request, request_types};
use super::rows::{Columns, ResultLayout, RowType};
use super::shape::Shape;
use super::stored_body::{self, StoredBody};
use super::types::Types;
use super::{arms, called};
use crate::plan::{columns_of, columns_of_result};

/// Plans a handler's statement. Raises PostgreSQL's error if it cannot be.
///
/// # Safety
/// Inside a transaction with an active snapshot, as the handler's role and with its search_path.
pub unsafe fn for_statement(statement: &str, types: &Types) -> Plan {
    // SAFETY: by contract; pgrx guards each call, so values are dropped when one raises.
    unsafe {
        let text = keep_text(statement);
        let raw = only_statement(text);
        add_request(raw);
        let mut parameters = request_types(types);
        // PostgreSQL computes what it sorts: without the sort a volatile function might not be called.
        let unsorted = arms::sorts_idly(raw) && {
            let copy = pg_sys::copyObjectImpl(raw.cast()).cast();
            Effects::of(only_query(analyze(copy, text, &mut parameters), HANDLER)).reads_only
        };
        if unsorted {
            arms::drop_sort(raw);
        }
        let source = pg_sys::CreateCachedPlan(raw, text, pg_sys::CreateCommandTag((*raw).stmt));
        let queries = analyze(raw, text, &mut parameters);
        let query = only_query(queries, HANDLER);
        let columns = result_columns(query);
        let (column, shape) = choose_column(&columns, types);
        let effects = Effects::of(query);
        pg_sys::CompleteCachedPlan(
            source,
            queries,
            std::ptr::null_mut(),
            parameters.as_mut_ptr(),
            parameters.len() as i32,
            None,
            std::ptr::null_mut(),
            0,
            true,
        );
        kept_plans::keep(source);
        Plan {
            source,
            shape,
            column,
            arguments: Vec::new(),
            given: 0,
            origin: Origin::Statement,
            effects: Cell::new(effects),
            judged: Cell::new((*source).generation),
            choice: Cell::new(PlanChoice::NEW),
            is_planned: Cell::new(false),
            columns: UnsafeCell::new(Columns::none()),
            runs_to_end: effects.writes,
            layout: None,
            scalar: false,
            unsorted,
        }
    }
}

/// Plans the call of a route's function with the arguments in `given`.
///
/// # Safety
/// As for [`for_statement`].
pub(crate) unsafe fn for_function(function: &Function, given: u64, types: &Types) -> Plan {
    // SAFETY: by contract.
    unsafe { of_body(function, given, types).unwrap_or_else(|| of_call(function, given, types)) }
}

const HANDLER: &str = "a handler's statement";

/// What PostgreSQL's analyzer and rewriter make of a statement, which they change.
unsafe fn analyze(
    raw: *mut pg_sys::RawStmt,
    text: *const c_char,
    parameters: &mut [Oid],
) -> *mut pg_sys::List {
    let count = parameters.len() as i32;
    // SAFETY: the caller's contract.
    unsafe {
        pg_sys::pg_analyze_and_rewrite_fixedparams(
            raw,
            text,
            parameters.as_mut_ptr(),
            count,
            std::ptr::null_mut(),
        )
    }
}

/// The plan of `select f(a => $1, …)`, in the form that its result needs.
unsafe fn of_call(function: &Function, given: u64, types: &Types) -> Plan {
    // SAFETY: the caller's contract.
    unsafe {
        let row_type = RowType::now(function.result());
        let shape = function.shape(types);
        let arguments: Vec<Argument> = function.given_arguments(given).cloned().collect();
        let text = keep_text(&function.call(given));
        let raw = only_statement(text);
        let mut parameters: Vec<Oid> = arguments.iter().map(|argument| argument.type_oid).collect();
        let source = pg_sys::CreateCachedPlan(raw, text, pg_sys::CreateCommandTag((*raw).stmt));
        let queries = analyze(raw, text, &mut parameters);
        let query = only_query(queries, "the call of a route's function");
        called::refuse_other(query, function.version().oid);
        let effects = Effects::of(query);
        pg_sys::CompleteCachedPlan(
            source,
            queries,
            std::ptr::null_mut(),
            parameters.as_mut_ptr(),
            parameters.len() as i32,
            None,
            std::ptr::null_mut(),
            0,
            // A table may get another column.
            shape != Shape::Rows,
        );
        let layout = (shape == Shape::Row).then(|| (function.version().oid, ResultLayout::Whole));
        let columns = match layout {
            Some(layout) => columns_of_result(layout, row_type),
            None => columns_of(source, shape, row_type),
        };
        kept_plans::keep(source);
        Plan {
            source,
            shape,
            column: 0,
            arguments,
            given,
            origin: Origin::Call,
            effects: Cell::new(effects),
            judged: Cell::new((*source).generation),
            choice: Cell::new(PlanChoice::NEW),
            is_planned: Cell::new(false),
            columns: UnsafeCell::new(columns),
            // A function that writes does so while its one row is computed.
            runs_to_end: shape == Shape::Rows,
            layout,
            scalar: false,
            unsorted: false,
        }
    }
}

/// The plan of the function's body, where that means the same as the call.
unsafe fn of_body(function: &Function, given: u64, types: &Types) -> Option<Plan> {
    // SAFETY: the caller's contract.
    unsafe {
        let shape = function.shape_of_body(types);
        if given != function.all_given() || !function.body_may_stand_for_call() {
            return None;
        }
        // Of a function that returns nothing every column is computed, and none looked at.
        let returns = shape != Shape::Void;
        let row_type = RowType::now(function.result());
        // Of a set the only row of `select (select …)` is there, whatever is in it.
        let is_value = returns && shape != Shape::Rows;
        let Body { raw, setup, info, scalar } =
            if function.has_tree() { as_tree(function, is_value)? } else { as_text(function, is_value)? };
        let text = keep_text(&function.body());
        let source = pg_sys::CreateCachedPlan(raw, text, pg_sys::CreateCommandTag((*raw).stmt));
        let queries = pg_sys::pg_analyze_and_rewrite_withcb(raw, text, setup, info, std::ptr::null_mut());
        let Some((effects, layout)) = stands_for_call(function, queries, shape, scalar) else {
            pg_sys::DropCachedPlan(source);
            return None;
        };
        let layout = layout.map(|layout| (function.version().oid, layout));
        let columns = layout.map_or(Columns::none(), |layout| columns_of_result(layout, row_type));
        pg_sys::CompleteCachedPlan(
            source,
            queries,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            0,
            setup,
            info,
            0,
            true,
        );
        kept_plans::keep(source);
        Some(Plan {
            source,
            shape,
            column: 0,
            arguments: function.given_arguments(given).cloned().collect(),
            given,
            origin: if function.has_tree() { Origin::Tree } else { Origin::Text },
            effects: Cell::new(effects),
            judged: Cell::new((*source).generation),
            choice: Cell::new(PlanChoice::NEW),
            is_planned: Cell::new(false),
            columns: UnsafeCell::new(columns),
            runs_to_end: effects.writes || !returns || shape == Shape::Rows,
            layout,
            scalar,
            unsorted: false,
        })
    }
}

/// What the statement that a function's body has become does, if it may stand for the call, and how its rows are those of the function.
///
/// # Safety
/// A list of the analyzer's, inside a guard and a transaction.
unsafe fn stands_for_call(
    function: &Function,
    queries: *mut pg_sys::List,
    shape: Shape,
    is_scalar: bool,
) -> Option<(Effects, Option<ResultLayout>)> {
    // SAFETY: by contract.
    unsafe {
        if list_length(queries) != 1 {
            return None;
        }
        let query = first(queries).cast::<pg_sys::Query>();
        // SELECT INTO may hide in a UNION.
        let is_utility = (*query).commandType == pg_sys::CmdType::CMD_UTILITY;
        let is_other = function.has_tree() && !stored_body::is_stored(query);
        if is_utility || is_other {
            return None;
        }
        let columns = result_columns(query);
        let layout = match shape {
            Shape::Void => None,
            Shape::Row | Shape::Rows => Some(function.layout(&columns)?),
            _ if columns.len() == 1 && function.returns_as_is(columns[0].0) => None,
            _ => return None,
        };
        let effects = Effects::of(query);
        // Called, a function that is not volatile fails when it writes or locks, and a subquery cannot write. It
        // must not succeed here.
        let would_fail =
            effects.writes && is_scalar || (effects.writes || effects.locks) && !function.is_volatile();
        (!would_fail).then_some((effects, layout))
    }
}

/// What PostgreSQL is to analyse for a function's body.
struct Body {
    raw: *mut pg_sys::RawStmt,
    setup: pg_sys::ParserSetupHook,
    /// What the parser is set up with.
    info: *mut c_void,
    /// Whether it was a scalar subquery.
    scalar: bool,
}

/// The body of a function as it was written, if it is one statement.
unsafe fn as_text(function: &Function, returns: bool) -> Option<Body> {
    // SAFETY: the contract of `of_body`.
    unsafe {
        let statements = pg_sys::pg_parse_query(keep_text(&function.body()));
        if list_length(statements) != 1 {
            return None;
        }
        let raw = first(statements).cast::<pg_sys::RawStmt>();
        if !is_plannable((*raw).stmt) {
            return None;
        }
        let scalar = returns && lift_scalar_subquery(raw);
        Some(Body { raw, setup: Some(parse_as_function), info: function.parse_info(), scalar })
    }
}

/// The body of a function as it was parsed, if it is one statement.
unsafe fn as_tree(function: &Function, returns: bool) -> Option<Body> {
    // SAFETY: the contract of `of_body`.
    unsafe {
        let body = StoredBody::of(function.version(), returns, function.memory())?;
        Some(Body {
            raw: first(pg_sys::pg_parse_query(stored_body::STAND_IN.as_ptr())).cast(),
            setup: Some(stored_body::parse_as_stored),
            info: body.cast(),
            scalar: (*body).is_inner,
        })
    }
}

callback! {
    /// Names in the body are those of the function's arguments.
    unsafe fn parse_as_function(state: *mut pg_sys::ParseState, info: *mut c_void) {
        // SAFETY: called by the parser with what `of_body` has given it.
        unsafe { pg::sql_fn_parser_setup(state, info) }
    }
}

/// Parses a text that must be one statement which returns rows.
unsafe fn only_statement(text: *const c_char) -> *mut pg_sys::RawStmt {
    // SAFETY: the text ends with NUL.
    unsafe {
        let statements = pg_sys::pg_parse_query(text);
        if list_length(statements) != 1 {
            refuse("a handler is one statement", "Put several steps into a function and call it.");
        }
        let raw = first(statements).cast::<pg_sys::RawStmt>();
        if !is_plannable((*raw).stmt) {
            refuse(
                "a handler is a SELECT, VALUES, INSERT, UPDATE, DELETE or MERGE statement",
                "Put other commands into a function and call it.",
            );
        }
        raw
    }
}

/// Whether a statement is one that is planned, and is not SELECT INTO.
unsafe fn is_plannable(statement: *mut pg_sys::Node) -> bool {
    use pg_sys::NodeTag::*;
    // SAFETY: a node of the parser.
    unsafe {
        match (*statement).type_ {
            T_SelectStmt => (*statement.cast::<pg_sys::SelectStmt>()).intoClause.is_null(),
            T_InsertStmt | T_UpdateStmt | T_DeleteStmt | T_MergeStmt => true,
            _ => false,
        }
    }
}

/// Makes `select (select …)` the inner statement alone, which PostgreSQL starts and runs in fewer steps. True if it
/// was one: a second row is an error then, and so is writing, which a subquery cannot.
unsafe fn lift_scalar_subquery(raw: *mut pg_sys::RawStmt) -> bool {
    // SAFETY: nodes of the parser; the tags tell the types.
    unsafe {
        if (*(*raw).stmt).type_ != pg_sys::NodeTag::T_SelectStmt {
            return false;
        }
        let select = &*(*raw).stmt.cast::<pg_sys::SelectStmt>();
        let clauses = [
            select.distinctClause,
            select.fromClause,
            select.groupClause,
            select.windowClause,
            select.valuesLists,
            select.sortClause,
            select.lockingClause,
        ];
        let expressions = [select.whereClause, select.havingClause, select.limitOffset, select.limitCount];
        let bare = clauses.iter().all(|list| list.is_null())
            && expressions.iter().all(|expression| expression.is_null())
            && select.withClause.is_null()
            && select.op == pg_sys::SetOperation::SETOP_NONE
            && list_length(select.targetList) == 1;
        if !bare {
            return false;
        }
        let target = &*first(select.targetList).cast::<pg_sys::ResTarget>();
        if target.val.is_null() || (*target.val).type_ != pg_sys::NodeTag::T_SubLink {
            return false;
        }
        let sublink = &*target.val.cast::<pg_sys::SubLink>();
        if sublink.subLinkType != pg_sys::SubLinkType::EXPR_SUBLINK || !is_plannable(sublink.subselect) {
            return false;
        }
        (*raw).stmt = sublink.subselect;
        true
    }
}

unsafe fn only_query(queries: *mut pg_sys::List, what: &str) -> *mut pg_sys::Query {
    // SAFETY: a list of the rewriter.
    unsafe {
        if list_length(queries) != 1 {
            refuse(
                &format!("{what} must not be rewritten into several by rules"),
                "Use triggers, or a function.",
            );
        }
        first(queries).cast()
    }
}

/// The types of the columns that a query returns, with their modifiers.
unsafe fn result_columns(query: *mut pg_sys::Query) -> Vec<(Oid, i32)> {
    // SAFETY: a query of the analyzer.
    unsafe {
        let list = if (*query).commandType == pg_sys::CmdType::CMD_SELECT {
            (*query).targetList
        } else {
            (*query).returningList
        };
        (0..list_length(list))
            .map(|place| nth(list, place).cast::<pg_sys::TargetEntry>())
            .filter(|entry| !(**entry).resjunk)
            .map(|entry| (*entry).expr.cast())
            .map(|value| (pg_sys::exprType(value), pg_sys::exprTypmod(value)))
            .collect()
    }
}

/// The first column of type `http.response`, otherwise the first that can be a response.
fn choose_column(columns: &[(Oid, i32)], types: &Types) -> (usize, Shape) {
    if let Some(place) = columns.iter().position(|&(column, _)| column == types.response) {
        return (place, Shape::Response);
    }
    let Some(&(first, _)) = columns.first() else {
        refuse(
            "a handler's statement must return rows",
            "Add a RETURNING clause, or select http.response(...).",
        )
    };
    match Shape::of_value(first, types) {
        Some(shape) => (0, shape),
        None => refuse(
            "a handler's first column is no response",
            "Select http.response(...), text, json, jsonb or bytea as the first column.",
        ),
    }
}

fn refuse(message: &str, hint: &str) -> ! {
    pgrx::pg_sys::panic::ErrorReport::new(
        pgrx::PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        message.to_owned(),
        "howdah",
    )
    .set_hint(hint.to_owned())
    .report(pgrx::PgLogLevel::ERROR);
    unreachable!("an ERROR report does not return")
}
