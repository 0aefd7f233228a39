//! Connections that dblink keeps in its process, by name and without one: whoever runs there next would speak through them with
//! another's password. So they are closed when a request ends, by dblink's own functions. A process that has not loaded dblink has
//! none.

use std::ffi::c_char;

use pg::guard::{Report, attempt, unwind};
use pgrx::{IntoDatum, pg_sys};

use super::loaded::{Function, Library, call};
use crate::at_rest;
use crate::subtransaction::in_subtransaction;

thread_local! {
    static LIBRARY: Library<3> =
        const { Library::of(b"dblink", [c"dblink_get_connections", c"dblink_disconnect", c"dblink_exec"]) };
}

/// Closes all connections.
///
/// # Safety
/// Inside a guard, outside a transaction.
pub(crate) unsafe fn close_connections() {
    if let Some([connections, disconnect, _]) = LIBRARY.with(Library::functions) {
        // SAFETY: by contract; nothing that must be dropped is held when an error jumps.
        unsafe {
            close_named(connections, disconnect);
            close_unnamed(disconnect);
        }
    }
}

/// Closes all connections, in a transaction that goes on.
///
/// # Safety
/// Inside a transaction; errors unwind.
pub(crate) unsafe fn close_in_transaction() {
    let Some([connections, disconnect, _]) = LIBRARY.with(Library::functions) else { return };
    // SAFETY: by contract; nothing that must be dropped is held when an error jumps.
    unsafe {
        // One that cannot be closed in order is closed all the same.
        let _ = in_subtransaction(|| disconnect_named(connections, disconnect));
        let _ = in_subtransaction(|| call(disconnect, None));
    }
}

/// Whether there are any.
///
/// # Safety
/// Inside a transaction; errors unwind.
pub(crate) unsafe fn has_connections() -> bool {
    let Some([connections, _, execute]) = LIBRARY.with(Library::functions) else { return false };
    let nothing = "".into_datum();
    // Whether there is one without a name is known by the error alone.
    // SAFETY: by contract; nothing that must be dropped is held when an error jumps.
    let tried = unsafe {
        in_subtransaction(|| {
            if call(connections, None).is_none() {
                call(execute, nothing);
            }
        })
    };
    match tried {
        Err(error) if matches!(error.sqlstate(), "57014" | "57P01") => unwind(error),
        Err(error) => error.sqlstate() != "08003",
        Ok(()) => true,
    }
}

/// # Safety
/// Inside a guard, outside a transaction.
unsafe fn close_named(connections: Function, disconnect: Function) {
    // SAFETY: by contract; what is called returns an array of texts, or null.
    unsafe {
        crate::own_transaction::begin();
        disconnect_named(connections, disconnect);
        pg_sys::CommitTransactionCommand();
    }
}

/// # Safety
/// Inside a guard and a transaction.
unsafe fn disconnect_named(connections: Function, disconnect: Function) {
    // SAFETY: by contract; what is called returns an array of texts, or null.
    unsafe {
        if let Some(names) = call(connections, None) {
            let names = pg_sys::pg_detoast_datum(names.cast_mut_ptr()).cast();
            let (mut texts, mut count) = (std::ptr::null_mut(), 0);
            pg_sys::deconstruct_array(
                names,
                pg_sys::TEXTOID,
                -1,
                false,
                pg_sys::TYPALIGN_INT as c_char,
                &mut texts,
                std::ptr::null_mut(),
                &mut count,
            );
            for place in 0..count as usize {
                call(disconnect, Some(*texts.add(place)));
            }
        }
    }
}

/// Whether there is one is known by the error alone.
///
/// # Safety
/// As for [`close_named`].
unsafe fn close_unnamed(disconnect: Function) {
    // SAFETY: by contract.
    unsafe {
        let closed = attempt(Report::Quiet, || {
            crate::own_transaction::begin();
            call(disconnect, None);
            pg_sys::CommitTransactionCommand();
        });
        if closed.is_err() {
            at_rest::abort();
        }
    }
}
