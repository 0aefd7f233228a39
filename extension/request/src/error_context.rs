//! What it was that ran, for every error and log line that PostgreSQL writes meanwhile.

use std::fmt::Display;
use std::io::Write;

use pg::entry::callback;
use pg::guard::{PgError, Report, attempt};
use pgrx::pg_sys;

/// Adds what runs to the context of errors.
pub(crate) struct ErrorContext<'a> {
    /// What runs, as one line.
    pub what: &'a dyn Display,
    /// Where its errors go.
    pub report: Report,
}

impl ErrorContext<'_> {
    /// Runs work under a guard, with this context.
    ///
    /// # Safety
    /// As for [`attempt`].
    pub(crate) unsafe fn guarded<T>(&self, work: impl FnOnce() -> T) -> Result<T, PgError> {
        // SAFETY: by contract.
        unsafe { self.around(|| attempt(self.report, work)) }
    }

    /// Runs what guards itself, with this context.
    ///
    /// # Safety
    /// On the main thread; nothing jumps out of the work.
    pub(crate) unsafe fn around<T>(&self, work: impl FnOnce() -> T) -> T {
        // SAFETY: by contract: the callback is unlinked.
        unsafe {
            let previous = pg_sys::error_context_stack;
            let mut callback = pg_sys::ErrorContextCallback {
                previous,
                callback: Some(add_context),
                arg: (&raw const self.what).cast_mut().cast(),
            };
            pg_sys::error_context_stack = &raw mut callback;
            let result = work();
            pg_sys::error_context_stack = previous;
            result
        }
    }
}

callback! {
    unsafe fn add_context(what: *mut std::ffi::c_void) {
        // SAFETY: what runs lives as long as the guard.
        let what = unsafe { *what.cast::<&dyn Display>() };
        let mut line = [0u8; 512];
        // The last byte stays NUL; what is longer is cut.
        let mut rest = &mut line[..511];
        let _ = write!(rest, "{what}");
        // SAFETY: "%s" takes a C string.
        unsafe { pg::errcontext_msg(c"%s".as_ptr(), line.as_ptr()) };
    }
}
