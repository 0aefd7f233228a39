//! What PostgreSQL's versions call differently, each by one function with the same face for all. With the bindings above it, this is
//! all that a new version has to be added to.

use std::ffi::{c_char, c_void};

use pgrx::pg_sys::{self, Oid, TransactionId};

// --- Rights ---

/// Whether a grant of a role says by itself if its member may become the role: `WITH SET`, from version 16 on.
pub const GRANTS_SAY_SET: bool = cfg!(not(feature = "pg15"));

/// Whether planning puts in expressions that the rewriter did not: since version 18 those of virtual generated columns.
pub const PLANNING_EXPANDS_COLUMNS: bool = cfg!(feature = "pg18");

/// Whether a user may SET ROLE to a role. From version 16 on a membership may come without that.
///
/// # Safety
/// Inside a transaction.
pub unsafe fn may_set_role(user: Oid, role: Oid) -> bool {
    // SAFETY: by contract.
    unsafe {
        #[cfg(feature = "pg15")]
        return pg_sys::is_member_of_role(user, role);
        #[cfg(not(feature = "pg15"))]
        return pg_sys::member_can_set_role(user, role);
    }
}

/// Whether a role has the right EXECUTE on a function.
///
/// # Safety
/// Inside a transaction.
pub unsafe fn may_execute(function: Oid, role: Oid) -> bool {
    let execute = pg_sys::ACL_EXECUTE as pg_sys::AclMode;
    // SAFETY: by contract.
    unsafe {
        #[cfg(feature = "pg15")]
        let result = pg_sys::pg_proc_aclcheck(function, role, execute);
        #[cfg(not(feature = "pg15"))]
        let result = pg_sys::object_aclcheck(pg_sys::ProcedureRelationId, function, role, execute);
        result == pg_sys::AclResult::ACLCHECK_OK
    }
}

/// Whether a role may name what is in a schema.
///
/// # Safety
/// Inside a transaction.
pub unsafe fn may_use_schema(schema: Oid, role: Oid) -> bool {
    let usage = pg_sys::ACL_USAGE as pg_sys::AclMode;
    // SAFETY: by contract.
    unsafe {
        #[cfg(feature = "pg15")]
        let result = pg_sys::pg_namespace_aclcheck(schema, role, usage);
        #[cfg(not(feature = "pg15"))]
        let result = pg_sys::object_aclcheck(pg_sys::NamespaceRelationId, schema, role, usage);
        result == pg_sys::AclResult::ACLCHECK_OK
    }
}

/// Whether a role may use a type.
///
/// # Safety
/// Inside a transaction.
pub unsafe fn may_use_type(of_type: Oid, role: Oid) -> bool {
    let usage = pg_sys::ACL_USAGE as pg_sys::AclMode;
    // SAFETY: by contract.
    unsafe {
        #[cfg(feature = "pg15")]
        let result = pg_sys::pg_type_aclcheck(of_type, role, usage);
        #[cfg(not(feature = "pg15"))]
        let result = pg_sys::object_aclcheck(pg_sys::TypeRelationId, of_type, role, usage);
        result == pg_sys::AclResult::ACLCHECK_OK
    }
}

/// Whether a user owns a database.
///
/// # Safety
/// Inside a transaction.
pub unsafe fn owns_database(database: Oid, user: Oid) -> bool {
    // SAFETY: by contract.
    unsafe {
        #[cfg(feature = "pg15")]
        return pg_sys::pg_database_ownercheck(database, user);
        #[cfg(not(feature = "pg15"))]
        return pg_sys::object_ownercheck(pg_sys::DatabaseRelationId, database, user);
    }
}

/// Whether a user owns a schema.
///
/// # Safety
/// Inside a transaction.
pub unsafe fn owns_schema(schema: Oid, user: Oid) -> bool {
    // SAFETY: by contract.
    unsafe {
        #[cfg(feature = "pg15")]
        return pg_sys::pg_namespace_ownercheck(schema, user);
        #[cfg(not(feature = "pg15"))]
        return pg_sys::object_ownercheck(pg_sys::NamespaceRelationId, schema, user);
    }
}

/// What a planned statement needs of tables: a list for [`permission`].
///
/// # Safety
/// A planned statement.
pub unsafe fn permissions(statement: *mut pg_sys::PlannedStmt) -> *mut pg_sys::List {
    // SAFETY: by contract.
    unsafe {
        #[cfg(feature = "pg15")]
        return (*statement).rtable;
        #[cfg(not(feature = "pg15"))]
        return (*statement).permInfos;
    }
}

/// A table, what is needed of it, and by whom if not by the current user.
///
/// # Safety
/// An element of the list of [`permissions`].
pub unsafe fn permission(node: *mut c_void) -> (Oid, pg_sys::AclMode, Oid) {
    // SAFETY: by contract.
    unsafe {
        #[cfg(feature = "pg15")]
        let entry = &*node.cast::<pg_sys::RangeTblEntry>();
        #[cfg(not(feature = "pg15"))]
        let entry = &*node.cast::<pg_sys::RTEPermissionInfo>();
        (entry.relid, entry.requiredPerms, entry.checkAsUser)
    }
}

// --- Statements and plans ---

#[cfg(feature = "pg15")]
pub use pg_sys::{expression_tree_walker, query_tree_walker};
#[cfg(not(feature = "pg15"))]
pub use pg_sys::{
    expression_tree_walker_impl as expression_tree_walker, query_tree_walker_impl as query_tree_walker,
};

/// Whether a node is of `JSON_TABLE`, `JSON_VALUE` and their kin, which are there from version 17 on.
pub fn is_json_expression(tag: pg_sys::NodeTag) -> bool {
    #[cfg(any(feature = "pg17", feature = "pg18"))]
    return tag == pg_sys::NodeTag::T_JsonExpr;
    #[cfg(not(any(feature = "pg17", feature = "pg18")))]
    {
        let _: pg_sys::NodeTag = tag;
        false
    }
}

/// Gives a query its number, for who counts statements.
///
/// # Safety
/// Inside a guard; a query of the analyzer and the text that it was made from.
pub unsafe fn jumble_query(query: *mut pg_sys::Query, text: *const c_char) -> *mut pg_sys::JumbleState {
    // SAFETY: by contract.
    unsafe {
        #[cfg(feature = "pg15")]
        return pg_sys::JumbleQuery(query, text);
        #[cfg(not(feature = "pg15"))]
        {
            let _: *const c_char = text;
            pg_sys::JumbleQuery(query)
        }
    }
}

/// Whether an Append leaves out none of its plans at run time.
pub fn prunes_nothing(append: &pg_sys::Append) -> bool {
    #[cfg(not(feature = "pg18"))]
    return append.part_prune_info.is_null();
    #[cfg(feature = "pg18")]
    return append.part_prune_index < 0;
}

/// Runs a started plan forward to so many rows, 0 for all. Before version 18 who runs it says whether it is once.
///
/// # Safety
/// Inside a guard; the plan has been started.
pub unsafe fn run_executor(description: *mut pg_sys::QueryDesc, rows: u64, once: bool) {
    const FORWARD: i32 = pg_sys::ScanDirection::ForwardScanDirection;
    // SAFETY: by contract.
    unsafe {
        #[cfg(not(feature = "pg18"))]
        super::ExecutorRun(description, FORWARD, rows, once);
        #[cfg(feature = "pg18")]
        {
            let _: bool = once;
            super::ExecutorRun(description, FORWARD, rows);
        }
    }
}

// --- What is compiled ---

/// The hash table of what PL/pgSQL has compiled.
#[cfg(feature = "pg18")]
pub mod compiled {
    // Of utils/funccache.h.
    pub use pgrx::pg_sys::{CachedFunction as Compiled, CachedFunctionHashKey as Key};
    /// The table's name in funccache.c. Functions in SQL are in it as well.
    pub const TABLE: &std::ffi::CStr = c"Cached function hash";
    /// Whether a function that could not be compiled anew looks as if it had been to whoever holds it.
    pub const FAILED_LOOK_COMPILED: bool = false;
}

/// The hash table of what PL/pgSQL has compiled.
#[cfg(not(feature = "pg18"))]
pub mod compiled {
    // Of plpgsql.h.
    pub use pgrx::pg_sys::{PLpgSQL_func_hashkey as Key, PLpgSQL_function as Compiled};
    /// The table's name in pl_comp.c.
    pub const TABLE: &std::ffi::CStr = c"PLpgSQL function hash";
    /// Whether a function that could not be compiled anew looks as if it had been to whoever holds it.
    pub const FAILED_LOOK_COMPILED: bool = true;
}

/// The current transaction's number in this process, by which PL/pgSQL says when it has computed what.
///
/// # Safety
/// On the main thread.
pub unsafe fn local_transaction() -> pg_sys::LocalTransactionId {
    // SAFETY: by contract; a process has its struct.
    unsafe {
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        return (*pg_sys::MyProc).lxid;
        #[cfg(not(any(feature = "pg15", feature = "pg16")))]
        return (*pg_sys::MyProc).vxid.lxid;
    }
}

/// Whether isn's weakness is a setting, which goes with the others, rather than a variable of its library.
pub const ISN_HAS_SETTING: bool = cfg!(feature = "pg18");

// --- Relations ---

/// The subtransaction of the current transaction in which a relation has got its first new file; 0 if it has got none.
pub fn new_file_since(relation: &pg_sys::RelationData) -> pg_sys::SubTransactionId {
    #[cfg(feature = "pg15")]
    return relation.rd_firstRelfilenodeSubid;
    #[cfg(not(feature = "pg15"))]
    return relation.rd_firstRelfilelocatorSubid;
}

/// Begins a scan of an index with so many keys.
///
/// # Safety
/// Inside a transaction; both relations are open, and outlive the scan as the snapshot does.
pub unsafe fn index_beginscan(
    table: pg_sys::Relation,
    index: pg_sys::Relation,
    snapshot: pg_sys::Snapshot,
    keys: i32,
) -> pg_sys::IndexScanDesc {
    // SAFETY: by contract.
    unsafe {
        #[cfg(not(feature = "pg18"))]
        return pg_sys::index_beginscan(table, index, snapshot, keys, 0);
        #[cfg(feature = "pg18")]
        return pg_sys::index_beginscan(table, index, snapshot, std::ptr::null_mut(), keys, 0);
    }
}

// --- The server and the process ---

/// The oldest transaction of which the commit log knows.
///
/// # Safety
/// `XactTruncationLock` is held.
pub unsafe fn oldest_in_commit_log() -> TransactionId {
    // SAFETY: shared memory of PostgreSQL's.
    unsafe {
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        return (*pg_sys::ShmemVariableCache).oldestClogXid;
        #[cfg(not(any(feature = "pg15", feature = "pg16")))]
        return (*pg_sys::TransamVariables).oldestClogXid;
    }
}

/// Where the server counts the transactions with an id that have ended. Others write to it.
pub fn completed_transactions() -> *const u64 {
    // SAFETY: shared memory of PostgreSQL's, whose address alone is asked for.
    unsafe {
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        return &raw const (*pg_sys::ShmemVariableCache).xactCompletionCount;
        #[cfg(not(any(feature = "pg15", feature = "pg16")))]
        return &raw const (*pg_sys::TransamVariables).xactCompletionCount;
    }
}

/// The number of this process among those that the server can have; it is the same from its start to its end, and another's then.
pub fn process_number() -> usize {
    // SAFETY: PostgreSQL's own variables, set for the life of a process that has shared memory.
    unsafe {
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        return (*pg_sys::MyProc).pgprocno as usize;
        #[cfg(not(any(feature = "pg15", feature = "pg16")))]
        return pg_sys::MyProcNumber as usize;
    }
}

/// Whose counts a table's are.
pub(crate) fn counted_table(status: &pg_sys::PgStat_TableStatus) -> (Oid, bool) {
    #[cfg(feature = "pg15")]
    return (status.t_id, status.t_shared);
    #[cfg(not(feature = "pg15"))]
    return (status.id, status.shared);
}

/// All settings of the process.
pub fn settings() -> Vec<*mut pg_sys::config_generic> {
    // SAFETY: PostgreSQL's own table: as many entries as it says.
    unsafe {
        #[cfg(feature = "pg15")]
        let (table, count) = (pg_sys::get_guc_variables(), pg_sys::GetNumConfigOptions());
        #[cfg(not(feature = "pg15"))]
        let (table, count) = {
            let mut count = 0;
            (pg_sys::get_guc_variables(&raw mut count), count)
        };
        std::slice::from_raw_parts(table, count as usize).to_vec()
    }
}

/// Room for so many events to wait for, for the life of the process.
///
/// # Safety
/// On the main thread.
pub unsafe fn new_wait_events(count: i32) -> *mut pg_sys::WaitEventSet {
    // SAFETY: by contract.
    unsafe {
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        return pg_sys::CreateWaitEventSet(pg_sys::TopMemoryContext, count);
        // From 17 on it belongs to a resource owner; without one it lives until it is freed.
        #[cfg(not(any(feature = "pg15", feature = "pg16")))]
        return pg_sys::CreateWaitEventSet(std::ptr::null_mut(), count);
    }
}

/// Whether this process holds a heavy lock that others can see: the fast ones, and those in the lock table.
///
/// # Safety
/// In a process that PostgreSQL knows.
pub unsafe fn holds_locks() -> bool {
    // SAFETY: this process's own entry, which others change only to move its fast locks into the table.
    unsafe {
        let entry = &*pg_sys::MyProc;
        #[cfg(not(feature = "pg18"))]
        let fast = entry.fpLockBits != 0;
        #[cfg(feature = "pg18")]
        let fast =
            (0..pg_sys::FastPathLockGroupsPerBackend as usize).any(|group| *entry.fpLockBits.add(group) != 0);
        #[cfg(feature = "pg15")]
        let listed = entry.myProcLocks.iter().any(|list| !std::ptr::eq(list.next, list));
        #[cfg(not(feature = "pg15"))]
        let listed = entry.myProcLocks.iter().any(|list| {
            let first = list.head.next;
            !first.is_null() && !std::ptr::eq(first, &raw const list.head)
        });
        fast || listed
    }
}

// --- Portals ---

/// Runs a portal to its end, as part of another statement: not as one that a client has sent.
///
/// # Safety
/// Inside a transaction; a portal that has been started, and a receiver for what it returns.
pub unsafe fn run_portal(portal: pg_sys::Portal, receiver: *mut pg_sys::DestReceiver) {
    // `FETCH_ALL` of nodes/parsenodes.h.
    const ALL: std::ffi::c_long = std::ffi::c_long::MAX;
    let mut completion = pg_sys::QueryCompletion::default();
    // SAFETY: by contract.
    unsafe {
        #[cfg(not(feature = "pg18"))]
        pg_sys::PortalRun(portal, ALL, false, true, receiver, receiver, &raw mut completion);
        #[cfg(feature = "pg18")]
        pg_sys::PortalRun(portal, ALL, false, receiver, receiver, &raw mut completion);
    }
}
