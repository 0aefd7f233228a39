//! Whether a file of an application runs, or a request of `http.call`, and what it may not do in the session of somebody else: what would
//! last there, and run later as that.

use std::cell::Cell;
use std::ffi::CStr;

use pg::list::{list_length, nth};
use pg::refuse::refuse_with_hint;
use pgrx::pg_sys::{self, List, Node, NodeTag, Oid, RoleSpec};
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

/// An error if one runs and this command gives something to another role, or says what rights another's objects have.
///
/// # Safety
/// `statement` is a utility statement, inside a transaction.
pub unsafe fn refuse_other_role(statement: *mut Node) {
    if !RUNS.get() {
        return;
    }
    // SAFETY: by contract; the tag tells the type, and lists have what PostgreSQL's grammar puts into them.
    let roles: Vec<*mut RoleSpec> = unsafe {
        match (*statement).type_ {
            NodeTag::T_AlterOwnerStmt => vec![(*statement.cast::<pg_sys::AlterOwnerStmt>()).newowner],
            NodeTag::T_ReassignOwnedStmt => vec![(*statement.cast::<pg_sys::ReassignOwnedStmt>()).newrole],
            NodeTag::T_CreateSchemaStmt => vec![(*statement.cast::<pg_sys::CreateSchemaStmt>()).authrole],
            NodeTag::T_AlterTableStmt => all((*statement.cast::<pg_sys::AlterTableStmt>()).cmds)
                .map(|command| command.cast::<pg_sys::AlterTableCmd>())
                .filter(|command| (**command).subtype == pg_sys::AlterTableType::AT_ChangeOwner)
                .map(|command| (*command).newowner)
                .collect(),
            NodeTag::T_AlterDefaultPrivilegesStmt => {
                all((*statement.cast::<pg_sys::AlterDefaultPrivilegesStmt>()).options)
                    .map(|option| option.cast::<pg_sys::DefElem>())
                    .filter(|option| CStr::from_ptr((**option).defname) == c"roles")
                    .flat_map(|option| all((*option).arg.cast()))
                    .map(|role| role.cast::<RoleSpec>())
                    .collect()
            }
            _ => return,
        }
    };
    // SAFETY: by contract.
    let is_another = |role: &*mut RoleSpec| unsafe {
        !role.is_null() && pg_sys::get_rolespec_oid(*role, true) != pg_sys::GetUserId()
    };
    if roles.iter().any(is_another) {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
            "this cannot give anything to another role",
            "What a file makes belongs to the application's owner. Take the statement out; of a dump, say pg_dump --no-owner.",
        );
    }
}

/// # Safety
/// A list of nodes, or none.
unsafe fn all(list: *mut List) -> impl Iterator<Item = *mut Node> {
    // SAFETY: by contract.
    let count = unsafe { list_length(list) };
    // SAFETY: as above.
    (0..count).map(move |place| unsafe { nth(list, place).cast() })
}

/// `pg_advisory_lock` and its kin that last beyond the transaction; those of a transaction are others.
const ADVISORY: std::ops::RangeInclusive<u32> = 2880..=2892;

/// An error if a command makes an operator of such a function: the planner would call it, and asks nobody whether it may. Superusers may.
///
/// # Safety
/// `statement` is a utility statement, inside a transaction.
pub unsafe fn refuse_operator(statement: *mut Node) {
    // SAFETY: by contract; the tag tells the type, and the definition of an operator is a list of DefElem.
    unsafe {
        if (*statement).type_ != NodeTag::T_DefineStmt {
            return;
        }
        let define = &*statement.cast::<pg_sys::DefineStmt>();
        if define.kind != pg_sys::ObjectType::OBJECT_OPERATOR || pg_sys::superuser() {
            return;
        }
        let is_function = |option: &*mut pg_sys::DefElem| {
            [c"function", c"procedure"].contains(&CStr::from_ptr((**option).defname))
        };
        let mut functions =
            all(define.definition).map(|option| option.cast::<pg_sys::DefElem>()).filter(is_function);
        let is_lock = |option: *mut pg_sys::DefElem| {
            let name = CStr::from_ptr(pg_sys::NameListToString(pg_sys::defGetQualifiedName(option)));
            let name = name.to_string_lossy();
            let name = name.rsplit('.').next().unwrap_or_default();
            name.starts_with("pg_advisory_") || name.starts_with("pg_try_advisory_")
        };
        if functions.any(|option| !(*option).arg.is_null() && is_lock(option)) {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
                "an operator cannot lock for the session",
                "Only a superuser makes an operator of such a function.",
            );
        }
    }
}

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
