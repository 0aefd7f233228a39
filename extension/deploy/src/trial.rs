//! A deployment that is only tried, as `howdah plan` does: it cannot be committed, and does nothing that its end would not undo.

use std::cell::Cell;
use std::ffi::{c_int, c_void};

use pg::entry::callback;
use pg::guard::{PgError, raise};
use pg::transaction_end::{TransactionEnd, at_transaction_end};
use pgrx::pg_sys::{self, Oid};
use session::deployments;

thread_local! {
    /// Whether the transaction is one.
    static TRIES: Cell<bool> = const { Cell::new(false) };
    /// Whether the hook is there.
    static HOOKED: Cell<bool> = const { Cell::new(false) };
    /// The hook that was there before.
    static NEXT: Cell<pg_sys::object_access_hook_type> = const { Cell::new(None) };
}

/// Whether the transaction is one.
pub(crate) fn is_tried() -> bool {
    TRIES.get()
}

/// The transaction is one from now on.
pub(crate) fn begin() {
    TRIES.set(true);
    deployments::forbid_commit();
    if HOOKED.replace(true) {
        return;
    }
    at_transaction_end(|_: TransactionEnd| TRIES.set(false));
    // SAFETY: on the main thread; hooks are plain variables.
    unsafe {
        NEXT.set(pg_sys::object_access_hook);
        pg_sys::object_access_hook = Some(accessed);
    }
}

callback! {
    unsafe fn accessed(
        access: pg_sys::ObjectAccessType::Type,
        class: Oid,
        object: Oid,
        part: c_int,
        argument: *mut c_void,
    ) {
        if access == pg_sys::ObjectAccessType::OAT_FUNCTION_EXECUTE && TRIES.get() {
            refuse_lasting(object);
        }
        if let Some(next) = NEXT.get() {
            // SAFETY: what PostgreSQL has called this with.
            unsafe { next(access, class, object, part, argument) };
        }
    }
}

/// `setval(regclass, bigint)`, and with a third argument: others see it at once, and no rollback takes it back.
const SETVAL: [u32; 2] = [1576, 1765];

fn refuse_lasting(function: Oid) {
    if SETVAL.contains(&function.to_u32()) {
        raise(PgError {
            sqlstate: *b"0A000",
            message: "a plan does not call setval(): nothing would undo it".into(),
            hint: Some(
                "howdah deploy does. Or write alter sequence … restart with, which a rollback takes back."
                    .into(),
            ),
            ..PgError::default()
        });
    }
}
