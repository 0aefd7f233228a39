//! Columns in a function in SQL that are compared with themselves: where an argument has the column's name, somebody has meant that.

use std::ffi::{CStr, c_void};
use std::ptr::{from_mut, null_mut};

use pgrx::pg_sys::{self, Node, NodeTag, Oid};

use crate::entry::callback;
use crate::guard::direct;
use crate::list::{first, list_length, nth};
use crate::version::{expression_tree_walker, query_tree_walker};

/// A query as its parts are looked at.
struct QueryWalk<'f> {
    /// The tables and the like that it names.
    relations: *const pg_sys::List,
    found: &'f mut Vec<String>,
}

/// The names of the columns that the body of a function compares with themselves.
///
/// # Safety
/// Inside a transaction, of a function in SQL; errors unwind, where the body means nothing now. Tables that it names are locked as if it ran.
pub unsafe fn compared_with_themselves(function: Oid) -> Vec<String> {
    const FUNCTIONS: i32 = pg_sys::SysCacheIdentifier::PROCOID as i32;
    let mut found = Vec::new();
    // SAFETY: by contract; pgrx guards each call.
    unsafe {
        let tuple = pg_sys::SearchSysCache1(FUNCTIONS, function.into());
        if tuple.is_null() {
            return found;
        }
        let attribute = |number: u32| {
            let mut is_null = false;
            let value = pg_sys::SysCacheGetAttr(FUNCTIONS, tuple, number as i16, &mut is_null);
            (!is_null).then_some(value)
        };
        let statements: *mut Node = match attribute(pg_sys::Anum_pg_proc_prosqlbody) {
            Some(tree) => pg_sys::stringToNode(pg_sys::text_to_cstring(tree.cast_mut_ptr())).cast(),
            None => match attribute(pg_sys::Anum_pg_proc_prosrc) {
                Some(text) => parsed(tuple, pg_sys::text_to_cstring(text.cast_mut_ptr())).cast(),
                None => null_mut(),
            },
        };
        let mut walk = QueryWalk { relations: null_mut(), found: &mut found };
        look_at(statements, (&raw mut walk).cast());
        pg_sys::ReleaseSysCache(tuple);
    }
    found
}

/// The statements of a body in quotes, analysed.
unsafe fn parsed(tuple: pg_sys::HeapTuple, text: *const std::ffi::c_char) -> *mut pg_sys::List {
    // SAFETY: the caller's contract; a row of pg_proc.
    unsafe {
        let info =
            direct(|| crate::prepare_sql_fn_parse_info(tuple, null_mut(), pg_sys::DEFAULT_COLLATION_OID));
        let statements = pg_sys::raw_parser(text, pg_sys::RawParseMode::RAW_PARSE_DEFAULT);
        let mut queries = null_mut();
        for place in 0..list_length(statements) {
            let statement = nth(statements, place).cast();
            let query = pg_sys::parse_analyze_withcb(statement, text, Some(set_up), info, null_mut());
            queries = pg_sys::lappend(queries, query.cast());
        }
        queries
    }
}

callback! {
    unsafe fn set_up(state: *mut pg_sys::ParseState, info: *mut c_void) {
        // SAFETY: the parser calls, with what was prepared.
        unsafe { crate::sql_fn_parser_setup(state, info) }
    }
}

callback! {
    /// A walker of PostgreSQL's.
    unsafe fn look_at(node: *mut Node, walk: *mut c_void) -> bool {
        // SAFETY: nodes of the analyzer; the tag tells the type.
        unsafe {
            if node.is_null() {
                return false;
            }
            let outer = &mut *walk.cast::<QueryWalk<'_>>();
            match (*node).type_ {
                NodeTag::T_Query => {
                    let query = node.cast::<pg_sys::Query>();
                    let mut inner = QueryWalk { relations: (*query).rtable, found: outer.found };
                    return query_tree_walker(query, Some(look_at), (&raw mut inner).cast(), 0);
                }
                NodeTag::T_OpExpr => {
                    if let Some(name) = outer.compared(&*node.cast()) {
                        outer.found.push(name);
                    }
                }
                _ => {}
            }
            expression_tree_walker(node, Some(look_at), from_mut(outer).cast())
        }
    }
}

impl QueryWalk<'_> {
    /// The name of the column that an operator compares with itself.
    unsafe fn compared(&self, operator: &pg_sys::OpExpr) -> Option<String> {
        // SAFETY: nodes of the analyzer; the tags tell the types, and numbers are those of the query's relations.
        unsafe {
            if list_length(operator.args) != 2 || operator.opresulttype != pg_sys::BOOLOID {
                return None;
            }
            let (left, right) = (column(first(operator.args).cast())?, column(nth(operator.args, 1).cast())?);
            let is_same = ((*left).varno, (*left).varattno, (*left).varlevelsup)
                == ((*right).varno, (*right).varattno, (*right).varlevelsup);
            if !is_same || (*left).varlevelsup != 0 || (*left).varattno <= 0 {
                return None;
            }
            let place = usize::try_from((*left).varno).ok()?.checked_sub(1)?;
            if place >= list_length(self.relations) {
                return None;
            }
            let names = (*(*nth(self.relations, place).cast::<pg_sys::RangeTblEntry>()).eref).colnames;
            let place = (*left).varattno as usize - 1;
            if place >= list_length(names) {
                return None;
            }
            let name = (*nth(names, place).cast::<pg_sys::String>()).sval;
            Some(CStr::from_ptr(name).to_string_lossy().into_owned())
        }
    }
}

/// A column, whatever it was relabelled as.
unsafe fn column(node: *const Node) -> Option<*const pg_sys::Var> {
    // SAFETY: a node of the analyzer; the tag tells the type.
    unsafe {
        let mut node = node;
        while (*node).type_ == NodeTag::T_RelabelType {
            node = (*node.cast::<pg_sys::RelabelType>()).arg.cast();
        }
        ((*node).type_ == NodeTag::T_Var).then(|| node.cast())
    }
}
