//! The doors through which PostgreSQL comes in.
//!
//! A panic that leaves a function which C has called ends the process, and the server with it. One that passes through C code
//! of PostgreSQL's is no better: its `PG_CATCH` does not see it, and a subtransaction that it would have ended stays open. So
//! whatever PostgreSQL calls is made by one of these forms, and nothing else in this library defines a function of C's
//! convention; a test looks through the sources and the built library.
//!
//! - [`sql_function!`]: a function of SQL's, a trigger's or an event trigger's;
//! - [`callback!`]: hooks, walkers, receivers and the like: an error leaves it as PostgreSQL's own do;
//! - [`exported!`]: the same, under a name that PostgreSQL looks up: a worker's main function, `_PG_init`;
//! - [`unfailing_callback!`]: what is called where no error may be raised: after a commit, in an abort, at a process's end;
//! - [`infallible_callback!`]: what runs inside a signal, or while an error is being reported.
//!
//! Two more are called by this library's own code in the place of PostgreSQL's: [`copied_error`].
//!
//! [`Call`] is the call of an SQL function, [`Returned`] the rows that it returns.

pub mod call;
pub mod copied_error;
pub mod returned;

pub use call::Call;
pub use returned::Returned;
pub use returned::columns;

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;

use pgrx::pg_sys;

use crate::guard::{self, Report, attempt};

/// Defines a function that SQL calls by PostgreSQL's version-1 convention: `sql_function!(name, |call| …)`.
///
/// A panic, and an error that pgrx has made a panic, becomes PostgreSQL's error once all values are dropped. What calls
/// PostgreSQL directly ([`crate::pg`]) owns nothing meanwhile, or does so inside [`crate::guard::direct`].
#[macro_export]
macro_rules! sql_function {
    ($(#[$doc:meta])* $name:ident, $body:expr $(,)?) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// Called by PostgreSQL alone.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(call: pgrx::pg_sys::FunctionCallInfo) -> pgrx::pg_sys::Datum {
            let body: fn($crate::entry::Call) -> pgrx::pg_sys::Datum = $body;
            // SAFETY: PostgreSQL has called, on the main thread.
            unsafe { $crate::entry::enter(|| body($crate::entry::Call::new(call))) }
        }

        const _: () = {
            /// Tells PostgreSQL which convention the function follows.
            #[unsafe(export_name = concat!("pg_finfo_", stringify!($name)))]
            extern "C" fn convention() -> *const pgrx::pg_sys::Pg_finfo_record {
                static RECORD: pgrx::pg_sys::Pg_finfo_record = pgrx::pg_sys::Pg_finfo_record { api_version: 1 };
                &RECORD
            }
        };
        $crate::entry::mark!($name);
    };
}
pub use sql_function;

/// Leaves a symbol that tells a form has made the exported function of this name.
#[macro_export]
macro_rules! mark {
    ($name:ident) => {
        const _: () = {
            #[unsafe(export_name = concat!("guarded_", stringify!($name)))]
            static MARK: u8 = 1;
        };
    };
}
pub use mark;

/// Defines a function that PostgreSQL calls by a pointer; an error leaves it as PostgreSQL's own do.
#[macro_export]
macro_rules! callback {
    ($(#[$meta:meta])* $vis:vis unsafe fn $name:ident($($argument:tt: $type:ty),* $(,)?) $(-> $result:ty)? $body:block) => {
        $(#[$meta])*
        #[allow(clippy::too_many_arguments, clippy::missing_safety_doc)]
        $vis unsafe extern "C-unwind" fn $name($($argument: $type),*) $(-> $result)? {
            let body = move || $body;
            // SAFETY: PostgreSQL has called, on the main thread.
            unsafe { $crate::entry::enter(body) }
        }
    };
    // For what is called often and seldom has to do: a guard costs more than to see that. The condition raises nothing.
    ($(#[$meta:meta])* $vis:vis unsafe fn $name:ident($($argument:tt: $type:ty),* $(,)?) if $due:expr => $body:block) => {
        $(#[$meta])*
        $vis unsafe extern "C-unwind" fn $name($($argument: $type),*) {
            if $due {
                let body = move || $body;
                // SAFETY: as above.
                unsafe { $crate::entry::enter(body) }
            }
        }
    };
}
pub use callback;

/// Defines a function that PostgreSQL looks up by its name.
#[macro_export]
macro_rules! exported {
    ($(#[$meta:meta])* fn $name:ident($($argument:ident: $type:ty)?) $body:block) => {
        $(#[$meta])*
        #[unsafe(no_mangle)]
        pub extern "C-unwind" fn $name($($argument: $type)?) {
            let body = move || $body;
            // SAFETY: PostgreSQL has called, on the main thread.
            unsafe { $crate::entry::enter(body) }
        }
        $crate::entry::mark!($name);
    };
}
pub use exported;

/// Defines a function that PostgreSQL calls by a pointer where no error may be raised: an error is logged.
#[macro_export]
macro_rules! unfailing_callback {
    ($(#[$meta:meta])* $vis:vis unsafe fn $name:ident($($argument:tt: $type:ty),* $(,)?) $body:block) => {
        $(#[$meta])*
        $vis unsafe extern "C-unwind" fn $name($($argument: $type),*) {
            let body = move || $body;
            // SAFETY: PostgreSQL has called, on the main thread.
            unsafe { $crate::entry::enter_unfailing(body) }
        }
    };
}
pub use unfailing_callback;

/// Defines a function that runs where not even a guard may be: inside a signal, or while an error is being reported. Nothing in
/// it allocates or raises.
#[macro_export]
macro_rules! infallible_callback {
    ($(#[$meta:meta])* $vis:vis unsafe fn $name:ident($($argument:tt: $type:ty),* $(,)?) $body:block) => {
        $(#[$meta])*
        $vis unsafe extern "C-unwind" fn $name($($argument: $type),*) {
            $body
        }
    };
}
pub use infallible_callback;

/// Runs what PostgreSQL has called; a panic leaves it as PostgreSQL's error.
///
/// # Safety
/// On the main thread, called by PostgreSQL: an error jumps over the caller, which owns nothing.
pub unsafe fn enter<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: PostgreSQL's own variable. Whoever catches an error that jumps over this frame restores it.
    unsafe {
        let previous = pg_sys::error_context_stack;
        let mut watch = pg_sys::ErrorContextCallback { previous, callback: Some(note), arg: null_mut() };
        pg_sys::error_context_stack = &raw mut watch;
        let result = catch_unwind(AssertUnwindSafe(work));
        pg_sys::error_context_stack = previous;
        match result {
            Ok(value) => value,
            Err(panic) => guard::raise(guard::of_panic(panic)),
        }
    }
}

/// Runs what PostgreSQL has called where no error may be raised.
///
/// # Safety
/// As for [`attempt`].
pub unsafe fn enter_unfailing(work: impl FnOnce()) {
    // SAFETY: by contract. It is in the log.
    let _ = unsafe { attempt(Report::Log, work) };
}

/// Called while an error is raised below [`enter`]: pgrx makes a panic of it that has lost most of it.
unsafe extern "C-unwind" fn note(_: *mut c_void) {
    // A panic here would leave through PostgreSQL's code; without the note the error is as pgrx has it.
    // SAFETY: an error is being raised.
    let _ = catch_unwind(|| unsafe { guard::note_raised() });
}
