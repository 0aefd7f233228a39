//! Constraints of domains that PostgreSQL keeps, and for whom.

use std::cell::Cell;
use std::ffi::c_int;

use pgrx::pg_sys;

thread_local! {
    /// Grows when what is kept of domains' constraints must not be used any more.
    static DOMAINS: Cell<u64> = const { Cell::new(1) };
}

/// A number that differs from an earlier one when a state that holds constraints of domains must be made anew.
pub fn epoch() -> u64 {
    DOMAINS.get()
}

/// Has constraints of domains planned anew, as whoever uses them next. PostgreSQL does so only when they are altered: neither
/// when a function that they call is replaced, nor when the right to it is lost.
pub(crate) fn forget() {
    DOMAINS.set(DOMAINS.get() + 1);
    // SAFETY: the callbacks of this cache only set flags: of domains' constraints, and of foreign keys.
    unsafe { pg::CallSyscacheCallbacks(CONSTROID, 0) };
}

/// The catalog cache of constraints.
const CONSTROID: c_int = pg_sys::SysCacheIdentifier::CONSTROID as c_int;
