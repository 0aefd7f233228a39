//! What PL/pgSQL has compiled, and for whom.
//!
//! PL/pgSQL compiles a function at its first call and keeps it for the life of the process. What types of its variables mean was
//! looked up in the search_path of that call, which the caller chooses: for whoever calls next they may be domains of the first
//! one's, whose checks run as the next. So whoever runs code as somebody else has forgotten what was compiled before, or meanwhile.
//!
//! It compiles a function anew when its row in pg_proc is another than the one it was compiled from, so to forget it is to note a
//! row that there is none of. PL/pgSQL gives back its memory itself then; the struct it keeps for ever. The structs are found in
//! PL/pgSQL's own table ([`process_tables`](super::process_tables)): whatever has had a function compiled, they are there.
//!
//! Its validator compiles as well, and keeps the result for calls. Anybody may call it for each function that it may execute; here
//! it is called when a function is made, and by nobody else.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ffi::{c_int, c_void};

use pg::entry::callback;
use pg::guard::{PgError, raise};
use pg::transaction_end::{SubtransactionEnd, TransactionEnd, at_subtransaction_end, at_transaction_end};
use pg::version::compiled as layout;
use pgrx::pg_sys::{self, Datum, Oid};

use super::process_tables::{ProcessTable, unknown_layout};
use super::{deploying, invalidations, kept_domains, temporary};

/// An entry of the table.
#[repr(C)]
struct Entry {
    key: layout::Key,
    function: *mut layout::Compiled,
}

thread_local! {
    /// What has been compiled.
    static TABLE: ProcessTable = const { ProcessTable::named(layout::TABLE) };
    /// Those that were ever forgotten.
    static FORGOTTEN: RefCell<HashSet<*mut layout::Compiled>> = RefCell::default();
    /// PL/pgSQL's validator, and [`invalidations::epoch`] when it was looked up.
    static VALIDATOR: Cell<(u64, Oid)> = const { Cell::new((0, Oid::INVALID)) };
    /// Whether the validator may not be called.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
    /// Whether the hook and the callbacks are there.
    static HOOKED: Cell<bool> = const { Cell::new(false) };
    /// The hook that was there before.
    static NEXT: Cell<pg_sys::object_access_hook_type> = const { Cell::new(None) };
}

/// Has the validator refused in this process from now on. Called once in each worker.
pub fn watch() {
    hook();
    GUARDED.set(true);
}

/// Refuses the validator from now on; whether it was refused before.
pub(crate) fn guard() -> bool {
    hook();
    VALIDATOR.set((0, Oid::INVALID));
    GUARDED.replace(true)
}

/// Says whether the validator is refused.
pub(crate) fn set_guarded(is_guarded: bool) {
    GUARDED.set(is_guarded);
}

/// Has all that was compiled compiled anew when it is called next.
pub fn forget() {
    hook();
    TABLE.with(|table| {
        // SAFETY: the table's entries. The struct says where its key is, or is laid out otherwise.
        unsafe {
            table.for_each(|entry: *mut Entry| {
                let function = (*entry).function;
                if (*function).fn_hashkey != &raw mut (*entry).key {
                    unknown_layout("compiled functions");
                }
                if (*function).fn_xmin != pg_sys::InvalidTransactionId {
                    // One that runs goes on as it is.
                    (*function).fn_xmin = pg_sys::InvalidTransactionId;
                    if layout::FAILED_LOOK_COMPILED {
                        FORGOTTEN.with_borrow_mut(|forgotten| forgotten.insert(function));
                    }
                }
            });
        }
    });
}

fn hook() {
    if HOOKED.replace(true) {
        return;
    }
    at_transaction_end(at_end);
    at_subtransaction_end(at_part_end);
    // SAFETY: on the main thread; hooks are plain variables, and the callbacks live as long as the process.
    unsafe {
        NEXT.set(pg_sys::object_access_hook);
        pg_sys::object_access_hook = Some(accessed);
    }
}

/// The hook that ours calls, if this is ours.
pub fn after_ours(hook: pg_sys::object_access_hook_type) -> Option<pg_sys::object_access_hook_type> {
    let ours = accessed as *const () as usize;
    hook.is_some_and(|hook| hook as usize == ours).then(|| NEXT.get())
}

callback! {
    unsafe fn accessed(
        access: pg_sys::ObjectAccessType::Type,
        class: Oid,
        object: Oid,
        part: c_int,
        argument: *mut c_void,
    ) {
        // SAFETY: PostgreSQL calls the hook inside a transaction.
        unsafe {
            if access == pg_sys::ObjectAccessType::OAT_FUNCTION_EXECUTE && GUARDED.get() {
                refuse_validator(object);
            }
            if access == pg_sys::ObjectAccessType::OAT_FUNCTION_EXECUTE {
                deploying::refuse_function(object);
            }
            if access == pg_sys::ObjectAccessType::OAT_DROP {
                temporary::refuse_emptying((*argument.cast::<pg_sys::ObjectAccessDrop>()).dropflags);
            }
            if let Some(next) = NEXT.get() {
                next(access, class, object, part, argument);
            }
        }
    }
}

/// An error if this is PL/pgSQL's validator. When a function is made it is called in another way.
unsafe fn refuse_validator(function: Oid) {
    let (mut epoch, mut validator) = VALIDATOR.get();
    if epoch != invalidations::epoch() {
        epoch = invalidations::epoch();
        // SAFETY: PostgreSQL calls the hook inside a transaction.
        validator = unsafe { look_up_validator() };
        VALIDATOR.set((epoch, validator));
    }
    if function == validator && validator != Oid::INVALID {
        raise(PgError {
            sqlstate: *b"42501",
            message: "PL/pgSQL's validator cannot be called here".into(),
            hint: Some("It would compile a function for whoever calls it next. Call it in a session.".into()),
            ..PgError::default()
        });
    }
}

/// # Safety
/// Inside a transaction.
unsafe fn look_up_validator() -> Oid {
    /// `Anum_pg_language_lanvalidator` of catalog/pg_language_d.h.
    const VALIDATOR: i16 = 8;
    let cache = pg_sys::SysCacheIdentifier::LANGNAME as c_int;
    let mut null = false;
    // SAFETY: by contract; a row of pg_language and one of its attributes.
    unsafe {
        let tuple = pg_sys::SearchSysCache1(cache, Datum::from(c"plpgsql".as_ptr()));
        if tuple.is_null() {
            return Oid::INVALID;
        }
        let validator = pg_sys::SysCacheGetAttr(cache, tuple, VALIDATOR, &mut null);
        pg_sys::ReleaseSysCache(tuple);
        Oid::from(validator.value() as u32)
    }
}

/// Forgets what an error may have left half made.
fn forget_failed() {
    // What has made a state of a domain's constraints anew and has failed, for lack of a right, is left with none of them.
    // PL/Perl and its like keep such states.
    kept_domains::forget();
    // Before version 18 a function that could not be compiled anew looks as if it had been to whoever holds it, and crashes.
    FORGOTTEN.with_borrow(|forgotten| {
        for function in forgotten {
            // SAFETY: PL/pgSQL keeps these for the life of the process.
            unsafe {
                if (**function).fn_hashkey.is_null() {
                    (**function).fn_xmin = pg_sys::InvalidTransactionId;
                }
            }
        }
    });
}

fn at_end(end: TransactionEnd) {
    if end == TransactionEnd::RolledBack {
        forget_failed();
    }
}

fn at_part_end(end: SubtransactionEnd) {
    if matches!(end, SubtransactionEnd::RolledBack(_)) {
        forget_failed();
    }
}
