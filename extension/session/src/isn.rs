//! Whether the contrib extension isn takes numbers with wrong check digits is kept in its process: `isn_weak(true)` would have
//! whoever runs there next store what is no number. From version 18 on it is a setting, which goes with the others.

use pg::version;
use pgrx::pg_sys::Datum;

use super::loaded::{Library, call};

thread_local! {
    static LIBRARY: Library<1> = const { Library::of(b"isn", [c"accept_weak_input"]) };
}

/// Has it take right ones only, as at first.
///
/// # Safety
/// Inside a guard.
pub(crate) unsafe fn be_strict() {
    if !version::ISN_HAS_SETTING
        && let Some([accept_weak_input]) = LIBRARY.with(Library::functions)
    {
        // SAFETY: by contract; it sets a variable.
        unsafe { call(accept_weak_input, Some(Datum::from(false))) };
    }
}
