//! Whether a file of an application runs, or a request of `http.call`, and what it may not do in the session of somebody else: what would
//! last there, and run later as that.

use std::cell::Cell;

use pg::refuse::refuse_with_hint;
use pgrx::pg_sys::{NodeTag, Oid};
use pgrx::prelude::*;

thread_local! {
    static RUNS: Cell<bool> = const { Cell::new(false) };
}

/// A file or a request runs until this is dropped.
pub struct Running(bool);

impl Running {
    /// Begins.
    #[must_use]
    pub fn begin() -> Running {
        Running(RUNS.replace(true))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNS.set(self.0);
    }
}

/// Whether a file runs, or something that was made by one.
pub fn is_running() -> bool {
    RUNS.get()
}

/// An error if one runs and this command would change the session, wherever it stands: in a DO block, or in a function.
pub fn refuse_command(tag: NodeTag) {
    use NodeTag::{
        T_DeallocateStmt, T_DiscardStmt, T_ExecuteStmt, T_ListenStmt, T_LoadStmt, T_PrepareStmt,
        T_UnlistenStmt,
    };
    let is_of_session = matches!(
        tag,
        T_DeallocateStmt
            | T_DiscardStmt
            | T_ExecuteStmt
            | T_ListenStmt
            | T_LoadStmt
            | T_PrepareStmt
            | T_UnlistenStmt
    );
    if is_of_session && RUNS.get() {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
            "this cannot change the session",
            "LISTEN, PREPARE, EXECUTE, DEALLOCATE, DISCARD and LOAD are of the session in which it runs. Take the statement out.",
        );
    }
}

/// `pg_advisory_lock` and its kin that last beyond the transaction; those of a transaction are others.
const ADVISORY: std::ops::RangeInclusive<u32> = 2880..=2892;

/// An error if one runs and this function would change the session.
pub(crate) fn refuse_function(function: Oid) {
    if RUNS.get() && ADVISORY.contains(&function.to_u32()) {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
            "this cannot lock for the session",
            "Use pg_advisory_xact_lock(), which ends with the transaction.",
        );
    }
}
