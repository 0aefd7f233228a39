//! Bodies of functions that PostgreSQL has stored as trees: those of `begin atomic` and `return`.
//!
//! What such a tree names was looked up when the function was made, and its constants were read then. As a text it may mean something
//! else: that is read with the names, rights and settings of whoever runs it, and an argument has the name of a table's column there.
//! So it never becomes one. PostgreSQL makes a plan from a statement that it analyses, and analyses it again whenever something has
//! changed. It gets a statement that names nothing, and each time the tree takes the place of what it has made of that. Then
//! it locks and rewrites the tree, as in each call.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;

use pg::entry::callback;
use pg::list::{first, list_length};
use pg::refuse::refuse;
use pg::version::jumble_query;
use pgrx::PgSqlErrorCode;
use pgrx::pg_sys::{self, Datum, Oid};

use super::standing::{FunctionVersion, PROCOID, version};

/// The statement that is analysed in place of the tree.
pub(crate) const STAND_IN: &CStr = c"select";

/// The place of a query that was not read from a text.
const NO_PLACE: i32 = -1;

thread_local! {
    /// Whether the hook is there.
    static HOOKED: Cell<bool> = const { Cell::new(false) };
    /// The hook that was there before.
    static NEXT: Cell<pg_sys::post_parse_analyze_hook_type> = const { Cell::new(None) };
}

/// Looks at what is analysed from now on. Called once in each worker.
pub(crate) fn watch() {
    // A hook that is its own next would never end.
    if HOOKED.replace(true) {
        return;
    }
    // SAFETY: on the main thread; hooks are plain variables.
    unsafe {
        NEXT.set(pg_sys::post_parse_analyze_hook);
        pg_sys::post_parse_analyze_hook = Some(analyzed);
    }
}

/// A body that is analysed for a plan. Its tree is read from the catalog each time: as large a thing is not kept beside what is made of it.
pub(crate) struct StoredBody {
    version: FunctionVersion,
    /// Whether it is the inner query of `select (select …)` that takes its place.
    pub(crate) is_inner: bool,
    /// The tree, if it was just read. It lives as long as the making of the plan.
    read: *mut pg_sys::Query,
}

impl StoredBody {
    /// The body of a version of a function, if it is one statement, as a value that lives in `keep`. Its inner query takes its place if it
    /// returns something.
    ///
    /// # Safety
    /// Inside a transaction. It is analysed once in the current memory context.
    pub(crate) unsafe fn of(
        version: FunctionVersion,
        returns: bool,
        keep: pg_sys::MemoryContext,
    ) -> Option<*mut StoredBody> {
        // SAFETY: by contract; pgrx guards each call.
        unsafe {
            let query = tree_of(&version)?;
            let inner = if returns { scalar_subquery(query) } else { None };
            let body = pg_sys::MemoryContextAlloc(keep, size_of::<StoredBody>()).cast::<StoredBody>();
            body.write(StoredBody { version, is_inner: inner.is_some(), read: inner.unwrap_or(query) });
            Some(body)
        }
    }

    /// The tree as it is analysed: the one that was just read, or what the catalog has.
    unsafe fn take(&mut self) -> *mut pg_sys::Query {
        let read = std::mem::replace(&mut self.read, null_mut());
        if !read.is_null() {
            return read;
        }
        // SAFETY: inside a transaction; pgrx guards each call.
        unsafe {
            let query = tree_of(&self.version);
            let query = if self.is_inner { query.and_then(|query| scalar_subquery(query)) } else { query };
            query.unwrap_or_else(|| {
                refuse(
                    PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE,
                    "the function was replaced while it was called",
                )
            })
        }
    }
}

/// The tree of a version of a function, if it is there, and one statement. It lives in the current memory context.
unsafe fn tree_of(known: &FunctionVersion) -> Option<*mut pg_sys::Query> {
    // SAFETY: inside a transaction; pgrx guards each call.
    unsafe {
        let tuple = pg_sys::SearchSysCache1(PROCOID, Datum::from(known.oid));
        if tuple.is_null() {
            return None;
        }
        let now = version(known.oid, tuple);
        let is_same = now.xmin == known.xmin && now.tid == known.tid;
        let text = if is_same { text_of(tuple) } else { None };
        pg_sys::ReleaseSysCache(tuple);
        tree_from(text?)
    }
}

/// The tree of a function as it is now, if it has one that is one statement. It lives in the current memory context.
///
/// # Safety
/// Inside a transaction.
pub(crate) unsafe fn of_function(function: Oid) -> Option<*mut pg_sys::Query> {
    // SAFETY: by contract; pgrx guards each call.
    unsafe {
        let tuple = pg_sys::SearchSysCache1(PROCOID, Datum::from(function));
        if tuple.is_null() {
            return None;
        }
        let text = text_of(tuple);
        pg_sys::ReleaseSysCache(tuple);
        tree_from(text?)
    }
}

/// The text of the tree that a row of pg_proc has.
unsafe fn text_of(tuple: pg_sys::HeapTuple) -> Option<*mut c_char> {
    let mut is_null = false;
    // SAFETY: a row of pg_proc, inside a transaction.
    unsafe {
        let body =
            pg_sys::SysCacheGetAttr(PROCOID, tuple, pg_sys::Anum_pg_proc_prosqlbody as i16, &mut is_null);
        (!is_null).then(|| pg_sys::text_to_cstring(body.cast_mut_ptr()))
    }
}

/// Reads such a text, and frees it.
unsafe fn tree_from(text: *mut c_char) -> Option<*mut pg_sys::Query> {
    // SAFETY: a text that PostgreSQL has written.
    unsafe {
        let query = read(text);
        pg_sys::pfree(text.cast());
        query
    }
}

/// The tree of a body, if it is one statement.
unsafe fn read(text: *const c_char) -> Option<*mut pg_sys::Query> {
    // SAFETY: by contract; pgrx guards each call. The tag tells the type.
    unsafe {
        let node = pg_sys::stringToNode(text);
        if (*node.cast::<pg_sys::Node>()).type_ == pg_sys::NodeTag::T_Query {
            return Some(node.cast());
        }
        // Of `begin atomic` it is a list of one list, which may be empty.
        let statements = first(node.cast()).cast::<pg_sys::List>();
        (list_length(statements) == 1).then(|| first(statements).cast())
    }
}

callback! {
    /// Has the tree of the body that it is given take the place of the statement that is about to be analysed.
    pub(crate) unsafe fn parse_as_stored(state: *mut pg_sys::ParseState, body: *mut c_void) {
        // SAFETY: called by the parser. The fields are those of whoever sets it up.
        unsafe {
            (*state).p_ref_hook_state = body;
            (*state).p_paramref_hook = Some(no_parameter);
        }
    }
}

callback! {
    /// The stand-in has no parameters. By this hook it is known.
    unsafe fn no_parameter(_state: *mut pg_sys::ParseState, _parameter: *mut pg_sys::ParamRef) -> *mut pg_sys::Node {
        null_mut()
    }
}

/// Whether the tree has taken its place in what was analysed and rewritten. It has not if others keep us from looking.
///
/// # Safety
/// A query of the rewriter.
pub(crate) unsafe fn is_stored(query: *const pg_sys::Query) -> bool {
    // SAFETY: by contract. A statement has a place in its text.
    unsafe { (*query).stmt_location == NO_PLACE }
}

callback! {
    unsafe fn analyzed(
        state: *mut pg_sys::ParseState,
        query: *mut pg_sys::Query,
        jumble: *mut pg_sys::JumbleState,
    ) {
        // SAFETY: PostgreSQL calls the hook with what it has just analysed.
        unsafe {
            let jumble = if is_stand_in(state) { replace(state, query) } else { jumble };
            if let Some(next) = NEXT.get() {
                next(state, query, jumble);
            }
        }
    }
}

unsafe fn is_stand_in(state: *const pg_sys::ParseState) -> bool {
    let ours = no_parameter as *const () as usize;
    // SAFETY: the state of a parser.
    unsafe { (*state).p_paramref_hook.is_some_and(|hook| hook as usize == ours) }
}

/// Puts the tree in the place of the query, ready to be rewritten: as PostgreSQL's `fmgr_sql` does.
unsafe fn replace(state: *mut pg_sys::ParseState, query: *mut pg_sys::Query) -> *mut pg_sys::JumbleState {
    // SAFETY: a state that `parse_as_stored` has set up, and its query. The body lives as long as its plan.
    unsafe {
        let is_counted = (*query).queryId != 0;
        let tree = (*(*state).p_ref_hook_state.cast::<StoredBody>()).take();
        std::ptr::copy_nonoverlapping(tree, query, 1);
        (*query).canSetTag = true;
        (*query).stmt_location = NO_PLACE;
        (*query).stmt_len = 0;
        pg_sys::AcquireRewriteLocks(query, true, false);
        if !is_counted {
            return null_mut();
        }
        // The stand-in's number is that of all.
        jumble_query(query, (*state).p_sourcetext)
    }
}

/// The inner query of `select (select …)`, which PostgreSQL starts and runs in fewer steps: a second row is an error then, and so is
/// writing, which a subquery cannot.
///
/// # Safety
/// A query of the analyzer.
unsafe fn scalar_subquery(query: *mut pg_sys::Query) -> Option<*mut pg_sys::Query> {
    // SAFETY: by contract; the tags tell the types.
    unsafe {
        let outer = &*query;
        if outer.commandType != pg_sys::CmdType::CMD_SELECT {
            return None;
        }
        let clauses = [
            outer.rtable,
            outer.cteList,
            (*outer.jointree).fromlist,
            outer.groupClause,
            outer.groupingSets,
            outer.windowClause,
            outer.distinctClause,
            outer.sortClause,
            outer.rowMarks,
        ];
        let expressions = [
            (*outer.jointree).quals,
            outer.havingQual,
            outer.limitOffset,
            outer.limitCount,
            outer.setOperations,
        ];
        let bare = clauses.iter().all(|list| list.is_null())
            && expressions.iter().all(|expression| expression.is_null())
            && !(outer.hasAggs || outer.hasWindowFuncs || outer.hasTargetSRFs)
            && list_length(outer.targetList) == 1;
        if !bare {
            return None;
        }
        let value = (*first(outer.targetList).cast::<pg_sys::TargetEntry>()).expr;
        if (*value).type_ != pg_sys::NodeTag::T_SubLink {
            return None;
        }
        let sublink = &*value.cast::<pg_sys::SubLink>();
        let inner = sublink.subselect.cast::<pg_sys::Query>();
        let is_scalar = sublink.subLinkType == pg_sys::SubLinkType::EXPR_SUBLINK
            && (*inner).commandType == pg_sys::CmdType::CMD_SELECT;
        is_scalar.then_some(inner)
    }
}
