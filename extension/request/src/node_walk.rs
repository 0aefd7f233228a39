//! Walks through the analyzer's trees by PostgreSQL's own walkers.

use std::ffi::c_void;

use pg::version::{expression_tree_walker, query_tree_walker};
use pgrx::pg_sys;

pub(crate) type Walker = unsafe extern "C-unwind" fn(*mut pg_sys::Node, *mut c_void) -> bool;

/// Goes on with what is below a node.
///
/// # Safety
/// Inside a guard and a transaction; a node of the analyzer, or null.
pub(crate) unsafe fn walk(node: *mut pg_sys::Node, walker: Walker, context: *mut c_void) -> bool {
    // SAFETY: nodes of the analyzer, walked by PostgreSQL's own functions; null is none.
    unsafe {
        match query_of(node) {
            Some(query) => query_tree_walker(query, Some(walker), context, 0),
            None if node.is_null() => false,
            None => expression_tree_walker(node, Some(walker), context),
        }
    }
}

/// The query that a node is, if it is one.
///
/// # Safety
/// Null, or a node.
pub(crate) unsafe fn query_of(node: *mut pg_sys::Node) -> Option<*mut pg_sys::Query> {
    // SAFETY: null, or a node; the tag tells the type.
    unsafe { (!node.is_null() && (*node).type_ == pg_sys::NodeTag::T_Query).then(|| node.cast()) }
}
