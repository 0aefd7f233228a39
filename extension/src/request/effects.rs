//! What a statement does besides returning rows.

use std::ffi::c_void;

use pgrx::pg_sys::{self, Datum, Oid};

use crate::entry::callback;

/// What a query does, as far as the analyzer's tree tells.
#[derive(Clone, Copy)]
pub struct Effects {
    /// Nothing is written or locked, and nothing volatile is called.
    pub reads_only: bool,
    /// It inserts, updates, deletes or merges, itself or in a WITH clause.
    pub writes: bool,
    /// It, or a query inside it, has FOR UPDATE or its kin.
    pub locks: bool,
    /// It reads only and calls functions of PostgreSQL's own and ours alone: it leaves neither cursors nor advisory
    /// locks nor prepared statements nor large objects behind. A user's function that is declared stable may lie.
    pub leaves_nothing: bool,
}

impl Effects {
    /// Looks through a query.
    ///
    /// # Safety
    /// Inside a guard and a transaction; a query of the analyzer, after the rewriter.
    pub unsafe fn of(query: *mut pg_sys::Query) -> Self {
        // SAFETY: by contract.
        unsafe {
            let writes = (*query).commandType != pg_sys::CmdType::CMD_SELECT || (*query).hasModifyingCTE;
            let locks = locks_rows(query.cast(), std::ptr::null_mut());
            let reads_only = !writes && !locks && !pg_sys::contain_volatile_functions(query.cast());
            let leaves_nothing = reads_only && !calls_users_code(query.cast(), std::ptr::null_mut());
            Effects { reads_only, writes, locks, leaves_nothing }
        }
    }
}

/// Whether a function or a type is none of those that PostgreSQL brings.
pub fn is_users(object: Oid) -> bool {
    object.to_u32() >= pg_sys::FirstNormalObjectId
}

callback! {
    /// Whether a query, or one inside it, has FOR UPDATE or its kin. A walker of PostgreSQL's.
    unsafe fn locks_rows(node: *mut pg_sys::Node, context: *mut c_void) -> bool {
        // SAFETY: nodes of the analyzer.
        unsafe {
            let Some(query) = query_of(node) else { return walk(node, locks_rows, context) };
            !(*query).rowMarks.is_null() || walk(node, locks_rows, context)
        }
    }
}

/// Whether a type may bring a user's functions with it, which json_agg() and sorting call: casts, comparisons.
///
/// # Safety
/// Inside a guard and a transaction.
pub unsafe fn may_call_users_code(of_type: Oid) -> bool {
    // SAFETY: by contract.
    unsafe {
        let element = pg_sys::get_element_type(of_type);
        let of_type = if element == Oid::INVALID { of_type } else { element };
        is_users(of_type) && (!is_ours(pg_sys::TypeRelationId, of_type) || has_casts(of_type))
    }
}

/// Whether the extension has brought an object of a catalog.
unsafe fn is_ours(catalog: Oid, object: Oid) -> bool {
    // SAFETY: look-ups inside a transaction.
    unsafe {
        let extension = pg_sys::getExtensionOfObject(catalog, object);
        extension != Oid::INVALID && extension == pg_sys::get_extension_oid(c"howdah".as_ptr(), true)
    }
}

/// Whether somebody has made a cast from a type, as we have from none of ours.
unsafe fn has_casts(of_type: Oid) -> bool {
    const CASTS: i32 = pg_sys::SysCacheIdentifier::CASTSOURCETARGET as i32;
    // SAFETY: a look-up inside a transaction.
    unsafe {
        let list = pg_sys::SearchSysCacheList(CASTS, 1, of_type.into(), Datum::from(0), Datum::from(0));
        let count = (*list).n_members;
        pg_sys::ReleaseCatCacheList(list);
        count > 0
    }
}

callback! {
    /// Whether a query, or one inside it, calls a function that neither PostgreSQL nor the extension has brought, or has a
    /// value of such a type. A walker of PostgreSQL's.
    unsafe fn calls_users_code(node: *mut pg_sys::Node, context: *mut c_void) -> bool {
        // SAFETY: nodes of the analyzer.
        unsafe {
            if node.is_null() {
                return false;
            }
            if is_of_users_type(node) || pg_sys::check_functions_in_node(node, Some(is_users_function), context) {
                return true;
            }
            walk(node, calls_users_code, context)
        }
    }
}

/// Whether a node makes a value, of whatever it names or is given, and the value's type is a user's.
unsafe fn is_of_users_type(node: *mut pg_sys::Node) -> bool {
    use pg_sys::NodeTag::*;
    // SAFETY: a node of the analyzer; these are expressions.
    unsafe {
        // Not every node is an expression; exprType() raises an error for the others.
        let is_value = matches!(
            (*node).type_,
            T_Var
                | T_Const
                | T_Param
                | T_RowExpr
                | T_ArrayExpr
                | T_FieldSelect
                | T_SubscriptingRef
                | T_CaseExpr
                | T_CoalesceExpr
                | T_MinMaxExpr
                | T_RelabelType
                | T_CoerceViaIO
                | T_CoerceToDomain
                | T_ArrayCoerceExpr
                | T_ConvertRowtypeExpr
                | T_FuncExpr
                | T_OpExpr
                | T_Aggref
                | T_WindowFunc
        );
        #[cfg(any(feature = "pg17", feature = "pg18"))]
        let is_value = is_value || (*node).type_ == T_JsonExpr;
        is_value && may_call_users_code(pg_sys::exprType(node))
    }
}

callback! {
    unsafe fn is_users_function(function: Oid, _: *mut c_void) -> bool {
        // SAFETY: called by the walker, inside a guard and a transaction.
        is_users(function) && unsafe { !is_ours(pg_sys::ProcedureRelationId, function) }
    }
}

type Walker = unsafe extern "C-unwind" fn(*mut pg_sys::Node, *mut c_void) -> bool;

/// Goes on with what is below a node.
unsafe fn walk(node: *mut pg_sys::Node, walker: Walker, context: *mut c_void) -> bool {
    #[cfg(feature = "pg15")]
    use pg_sys::{expression_tree_walker, query_tree_walker};
    #[cfg(not(feature = "pg15"))]
    use pg_sys::{
        expression_tree_walker_impl as expression_tree_walker, query_tree_walker_impl as query_tree_walker,
    };
    // SAFETY: nodes of the analyzer, walked by PostgreSQL's own functions; null is none.
    unsafe {
        match query_of(node) {
            Some(query) => query_tree_walker(query, Some(walker), context, 0),
            None if node.is_null() => false,
            None => expression_tree_walker(node, Some(walker), context),
        }
    }
}

unsafe fn query_of(node: *mut pg_sys::Node) -> Option<*mut pg_sys::Query> {
    // SAFETY: null, or a node; the tag tells the type.
    unsafe { (!node.is_null() && (*node).type_ == pg_sys::NodeTag::T_Query).then(|| node.cast()) }
}
