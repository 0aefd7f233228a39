//! Which grant is missing, when PostgreSQL refuses.
//!
//! PostgreSQL's message names an object, but neither its schema nor the privilege. For tables both are noted
//! where the refusal is raised, at the start of a plan; other objects are found by their names. Looked up
//! when the request's transaction has ended: nothing is read while an error is on its way.

use std::cell::Cell;
use std::ffi::{c_int, c_void};

use pg::entry::callback;
use pg::guard::{PgError, Report, attempt, pack_sqlstate};
use pg::list::{list_length, nth};
use pg::text::string;
use pg::version::{permission, permissions};
use pgrx::pg_sys::{self, Oid};
use session::{leftovers, settings_in_force};

use super::reads;

/// Tables of a plan that are looked at.
const MOST: usize = 16;

/// What a plan needed that was refused.
#[derive(Clone, Copy)]
struct Refused {
    user: Oid,
    tables: [(Oid, pg_sys::AclMode); MOST],
}

thread_local! {
    static REFUSED: Cell<Option<Refused>> = const { Cell::new(None) };
    /// Whether the hook is there.
    static HOOKED: Cell<bool> = const { Cell::new(false) };
    static PREVIOUS: Cell<pg_sys::ExecutorStart_hook_type> = const { Cell::new(None) };
}

/// Watches the start of plans. Called once in each worker.
pub(crate) fn watch() {
    // A hook that is its own next would never end.
    if HOOKED.replace(true) {
        return;
    }
    // SAFETY: on the main thread; hooks are plain variables.
    unsafe {
        PREVIOUS.set(pg_sys::ExecutorStart_hook);
        pg_sys::ExecutorStart_hook = Some(executor_start);
    }
}

/// Whether an extension wants to see the start of each plan, such as one that counts or measures statements.
pub(crate) fn others_watch() -> bool {
    // SAFETY: a plain variable.
    let first = unsafe { pg_sys::ExecutorStart_hook }.map(|hook| hook as usize);
    PREVIOUS.get().is_some() || first != Some(executor_start as *const () as usize)
}

callback! {
    /// An error jumps over this frame, which owns nothing; whoever catches it restores the context stack.
    unsafe fn executor_start(description: *mut pg_sys::QueryDesc, flags: c_int) {
        // SAFETY: PostgreSQL calls the hook with a whole description.
        unsafe {
            let previous = pg_sys::error_context_stack;
            let mut callback =
                pg_sys::ErrorContextCallback { previous, callback: Some(note), arg: description.cast() };
            pg_sys::error_context_stack = &raw mut callback;
            match PREVIOUS.get() {
                Some(next) => next(description, flags),
                None => pg::standard_ExecutorStart(description, flags),
            }
            pg_sys::error_context_stack = previous;
            reads::note_plan((*description).plannedstmt, (*description).sourceText);
        }
    }
}

callback! {
    /// Called while an error is raised: copies what it may be about, and neither allocates nor looks anything up.
    unsafe fn note(description: *mut c_void) {
        // SAFETY: the description lives as long as the frame of `executor_start`.
        unsafe {
            if pg::geterrcode() != pack_sqlstate(b"42501") {
                return;
            }
            let statement = (*description.cast::<pg_sys::QueryDesc>()).plannedstmt;
            let mut refused = Refused { user: pg::GetUserId(), tables: [(Oid::INVALID, 0); MOST] };
            let list = permissions(statement);
            for place in 0..list_length(list).min(MOST) {
                let (relation, needed, user) = permission(nth(list, place));
                if user == Oid::INVALID || user == refused.user {
                    refused.tables[place] = (relation, needed);
                }
            }
            REFUSED.set(Some(refused));
        }
    }
}

/// Forgets what was refused and caught: another's tables are not to be named for it.
pub(crate) fn forget() {
    REFUSED.set(None);
}

/// The grants that would have let the request pass, as statements; none if they cannot be told.
///
/// # Safety
/// On the main thread, outside a transaction, after the error.
pub(crate) unsafe fn missing(error: &PgError, role: Oid) -> Option<String> {
    let refused = REFUSED.take();
    let message = error.message.strip_prefix("permission denied for ")?;
    let (kind, name) = message.split_once(' ')?;
    // SAFETY: by contract; pgrx guards each call, so values are dropped.
    let found = unsafe {
        attempt(Report::Log, || {
            session::own_transaction::begin();
            let path = settings_in_force::enter_safe_path();
            pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
            let about_tables = refused.filter(|refused| is_about(refused, message));
            let grants = match about_tables {
                Some(refused) => of_tables(&refused),
                None => by_name(kind, name, role),
            };
            pg_sys::PopActiveSnapshot();
            settings_in_force::leave_safe_path(path);
            pg_sys::CommitTransactionCommand();
            grants
        })
    };
    match found {
        Ok(grants) => (!grants.is_empty()).then(|| grants.join("; ")),
        Err(_) => {
            // SAFETY: the transaction has failed.
            unsafe { leftovers::abort() };
            None
        }
    }
}

/// Whether it is one of these tables that the error names: a handler may have caught a refusal before, and go on to another.
fn is_about(refused: &Refused, message: &str) -> bool {
    refused.tables.iter().any(|(relation, _)| {
        // SAFETY: a look-up inside a transaction; the table may have gone meanwhile.
        let name = unsafe { pg_sys::get_rel_name(*relation) };
        // SAFETY: as above; the name ends with NUL.
        !name.is_null()
            && message.strip_suffix(&*unsafe { string(name) }).is_some_and(|kind| kind.ends_with(' '))
    })
}

fn of_tables(refused: &Refused) -> Vec<String> {
    const PRIVILEGES: [(u32, &str); 4] = [
        (pg_sys::ACL_SELECT, "select"),
        (pg_sys::ACL_INSERT, "insert"),
        (pg_sys::ACL_UPDATE, "update"),
        (pg_sys::ACL_DELETE, "delete"),
    ];
    let mut grants = Vec::new();
    for (relation, needed) in refused.tables.into_iter().filter(|(relation, _)| *relation != Oid::INVALID) {
        // SAFETY: look-ups inside a transaction; the table may have gone meanwhile.
        unsafe {
            let lacks = |privilege: u32| {
                let mode = pg_sys::AclMode::from(privilege);
                needed & mode != 0
                    && pg_sys::pg_class_aclcheck(relation, refused.user, mode)
                        != pg_sys::AclResult::ACLCHECK_OK
            };
            let name = pg_sys::get_rel_name(relation);
            let lacking: Vec<&str> =
                PRIVILEGES.iter().filter(|(bit, _)| lacks(*bit)).map(|(_, word)| *word).collect();
            if name.is_null() || lacking.is_empty() {
                continue;
            }
            let schema = pg_sys::get_namespace_name(pg_sys::get_rel_namespace(relation));
            let table = string(pg_sys::quote_qualified_identifier(schema, name));
            grants.push(format!(
                "grant {} on table {table} to {}",
                lacking.join(", "),
                role_name(refused.user)
            ));
        }
    }
    grants.dedup();
    grants
}

/// What is not a table of a plan. A function's name may be that of several.
fn by_name(kind: &str, name: &str, role: Oid) -> Vec<String> {
    let query = match kind {
        "schema" => "select format('grant usage on schema %I to ', $1)",
        "sequence" => {
            "select format('grant usage, select, update on sequence %s to ', oid::regclass) from pg_class \
             where relname = $1 and relkind = 'S' and not has_sequence_privilege($2, oid, 'usage')"
        }
        "function" | "procedure" => {
            "select format('grant execute on function %s to ', oid::regprocedure) from pg_proc \
             where proname = $1 and not has_function_privilege($2, oid, 'execute')"
        }
        "type" => {
            "select format('grant usage on type %s to ', oid::regtype) from pg_type \
             where typname = $1 and not has_type_privilege($2, oid, 'usage')"
        }
        _ => return Vec::new(),
    };
    // A name that our own errors have qualified.
    let bare = if kind == "function" { name.rsplit('.').next().unwrap_or(name) } else { name };
    let grants = pgrx::Spi::connect(|client| -> Result<Vec<_>, pgrx::spi::Error> {
        let rows = client.select(query, Some(MOST as i64), &[bare.trim_matches('"').into(), role.into()])?;
        rows.map(|row| row.get::<String>(1)).collect()
    });
    match grants {
        Ok(grants) => grants.into_iter().flatten().map(|grant| grant + &role_name(role)).collect(),
        Err(error) => pgrx::error!("cannot look a grant up: {error}"),
    }
}

fn role_name(role: Oid) -> String {
    // SAFETY: a look-up inside a transaction; a role that has gone has no name.
    let name = unsafe { string(pg_sys::GetUserNameFromId(role, true)) };
    pgrx::spi::quote_identifier(&name)
}
