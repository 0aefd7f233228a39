//! Which calls of functions that are declared VOLATILE do nothing but return another value each time.
//!
//! Those of PostgreSQL's that this is known of, and a user's functions in SQL that compute something of them and read no table: `random()`,
//! and `1 + floor(random() * 6)::integer` under a name of its own. What calls no other runs where what only reads does.

use std::ffi::{CStr, c_void};
use std::ptr::{null_mut, without_provenance_mut};

use pg::catalog::is_users;
use pg::entry::callback;
use pg::list::{list_length, nth};
use pgrx::pg_sys::{self, Oid};

use super::node_walk::{query_of, walk};
use super::stored_body;

/// PostgreSQL's own that are as good as a clock: names, as later versions have more of them.
const HARMLESS: [&CStr; 7] =
    [c"clock_timestamp", c"gen_random_uuid", c"random", c"random_normal", c"timeofday", c"uuidv4", c"uuidv7"];

/// Functions in functions that are looked through.
const DEEPEST: usize = 8;

/// Whether a query, or one inside it, calls something volatile that may do more than return a value.
///
/// # Safety
/// Inside a guard and a transaction; a query of the analyzer, after the rewriter.
pub(crate) unsafe fn may_do_more(query: *mut pg_sys::Query) -> bool {
    // SAFETY: by contract.
    unsafe { is_more(query.cast(), null_mut()) }
}

callback! {
    /// A walker of PostgreSQL's. The context is how many functions stand around the node.
    unsafe fn is_more(node: *mut pg_sys::Node, around: *mut c_void) -> bool {
        // SAFETY: nodes of the analyzer; the tag tells the type.
        unsafe {
            if node.is_null() {
                return false;
            }
            let is_body = !around.is_null();
            (*node).type_ == pg_sys::NodeTag::T_NextValueExpr
                || is_body && query_of(node).is_some_and(|query| reads_or_writes(query))
                || pg_sys::check_functions_in_node(node, Some(does_more), around)
                || walk(node, is_more, around)
        }
    }
}

callback! {
    unsafe fn does_more(function: Oid, around: *mut c_void) -> bool {
        // SAFETY: look-ups inside a transaction.
        unsafe {
            if pg_sys::func_volatile(function) as u8 != pg_sys::PROVOLATILE_VOLATILE {
                return false;
            }
            if !is_users(function) {
                let name = pg_sys::get_func_name(function);
                return name.is_null() || !HARMLESS.contains(&CStr::from_ptr(name));
            }
            let around = around.addr() + 1;
            let body = if around > DEEPEST { None } else { stored_body::of_function(function) };
            body.is_none_or(|body| is_more(body.cast(), without_provenance_mut(around)))
        }
    }
}

/// Whether a query has a table, or does something to one. Behind a view there may be any code, and a body has not been rewritten.
unsafe fn reads_or_writes(query: *mut pg_sys::Query) -> bool {
    // SAFETY: a query of the analyzer, whose list has entries of this type.
    unsafe {
        let is_relation = |place| {
            let entry = nth((*query).rtable, place).cast::<pg_sys::RangeTblEntry>();
            (*entry).rtekind == pg_sys::RTEKind::RTE_RELATION
        };
        (*query).commandType != pg_sys::CmdType::CMD_SELECT
            || (*query).hasModifyingCTE
            || (0..list_length((*query).rtable)).any(is_relation)
    }
}
