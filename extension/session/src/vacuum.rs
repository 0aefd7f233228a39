//! VACUUM of a table of the platform's own, by a worker between two pieces of work: where rows come and go faster than autovacuum looks.

use std::ptr::null_mut;

use pg::guard::{PgError, Report, attempt};
use pgrx::pg_sys::{self, Oid};

use crate::{at_rest, authority, own_transaction};

/// Vacuums a table of the extension's, as its owner, who has nothing of users' in it.
///
/// # Safety
/// On the main thread of a worker, outside a transaction.
pub unsafe fn vacuum(table: Oid) -> Result<(), PgError> {
    // SAFETY: by contract. What is called raises through pgrx's guards, and owns nothing here. The statement lives in a memory context of
    // its own, as the transactions in which it runs end before it.
    unsafe {
        let (mut user, mut context) = (Oid::INVALID, 0);
        pg_sys::GetUserIdAndSecContext(&mut user, &mut context);
        let memory = pg::new_memory(c"howdah vacuum");
        let result = attempt(Report::Log, || {
            own_transaction::begin();
            let restricted = pg_sys::SECURITY_LOCAL_USERID_CHANGE | pg_sys::SECURITY_RESTRICTED_OPERATION;
            pg_sys::SetUserIdAndSecContext(authority::owner(), restricted as i32);
            pg_sys::PortalContext = memory;
            let before = pg_sys::MemoryContextSwitchTo(memory);
            let relation = pg_sys::makeVacuumRelation(null_mut(), table, null_mut());
            let mut statement = pg_sys::VacuumStmt {
                type_: pg_sys::NodeTag::T_VacuumStmt,
                options: null_mut(),
                rels: pg_sys::lappend(null_mut(), relation.cast()),
                is_vacuumcmd: true,
            };
            let state = pg_sys::make_parsestate(null_mut());
            pg_sys::MemoryContextSwitchTo(before);
            pg_sys::ExecVacuum(state, &mut statement, true);
            pg_sys::SetUserIdAndSecContext(user, context);
            pg_sys::CommitTransactionCommand();
            pg_sys::PortalContext = null_mut();
        });
        if result.is_err() {
            at_rest::abort();
            // Of a transaction that began as the owner.
            pg_sys::SetUserIdAndSecContext(user, context);
        }
        pg_sys::MemoryContextDelete(memory);
        result
    }
}
