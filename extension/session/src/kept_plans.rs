//! Plans and expressions that are kept from one request to the next, and for whom.
//!
//! PostgreSQL asks for rights when a plan starts, but not for all of them. EXECUTE on a function that is replaced by its body
//! or its value is asked for when the plan is made, USAGE on a schema when its statement is analysed. What PL/pgSQL and others
//! keep knows no role, so what one role may do would pass to the next one that the process serves. So when the role changes,
//! all of that is made anew. An endpoint's own plans are kept: they run as the endpoint's role alone. The constraints of domains are
//! planned once and kept as well, and so are expressions of indexes ([`kept_expressions`]), dictionaries ([`kept_dictionaries`]),
//! and functions that PL/pgSQL has compiled ([`compiled`]), which depend on the search_path.

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString};

use pgrx::pg_sys::{self, CachedPlanSource, Oid};

use super::{compiled, kept_dictionaries, kept_expressions};
use crate::kept_domains;

thread_local! {
    /// Plans of endpoints.
    static OWN: RefCell<Vec<*mut CachedPlanSource>> = const { RefCell::new(Vec::new()) };
    /// The role for which others have kept theirs.
    static ROLE: Cell<Oid> = const { Cell::new(Oid::INVALID) };
    /// The search_path that their requests began with.
    static PATH: RefCell<CString> = RefCell::default();
}

/// Keeps the plan of an endpoint.
///
/// # Safety
/// Inside a guard; a complete plan that is not saved yet.
pub unsafe fn keep(source: *mut CachedPlanSource) {
    // SAFETY: by contract.
    unsafe { pg_sys::SaveCachedPlan(source) };
    OWN.with_borrow_mut(|own| own.push(source));
}

/// Gives the plan of an endpoint back.
///
/// # Safety
/// Made by [`keep`], and not used again.
pub unsafe fn release(source: *mut CachedPlanSource) {
    OWN.with_borrow_mut(|own| {
        if let Some(place) = own.iter().rposition(|known| *known == source) {
            own.swap_remove(place);
        }
    });
    // SAFETY: by contract.
    unsafe { pg_sys::DropCachedPlan(source) }
}

/// A request of this role begins, with the search_path that is in force.
pub(crate) fn run_as(role: Oid) {
    // SAFETY: PostgreSQL's own variable, a string that ends with NUL.
    let path = unsafe { CStr::from_ptr(pg_sys::namespace_search_path) };
    if ROLE.get() != role || PATH.with_borrow(|known| **known != *path) {
        ROLE.set(role);
        PATH.set(path.to_owned());
        compiled::forget();
        forget_others();
    }
}

/// Has the next request forget what others have kept, whoever it runs as: the last one has had settings or types that are gone.
pub(crate) fn forget_at_next() {
    ROLE.set(Oid::INVALID);
}

/// Has all plans made anew, those of endpoints too: texts in them were read under other settings.
pub fn settings_changed() {
    forget_at_next();
    // SAFETY: sets flags, and can neither fail nor allocate.
    unsafe { pg::ResetPlanCache() };
}

/// Has all plans made anew that are not an endpoint's, constraints of domains, expressions of tables and indexes, and dictionaries.
#[cold]
pub(crate) fn forget_others() {
    kept_domains::forget();
    kept_expressions::forget();
    kept_dictionaries::forget();
    OWN.with_borrow(|own| {
        let is_valid = |plan: *mut pg_sys::CachedPlan| {
            // SAFETY: the plan of a saved source, or null.
            !plan.is_null() && unsafe { (*plan).is_valid }
        };
        // SAFETY: saved plans. What is called sets the two flags and nothing else; it can neither fail nor allocate.
        unsafe {
            let valid = own.iter().filter(|source| (***source).is_valid);
            let valid: Vec<_> = valid.map(|source| (*source, is_valid((**source).gplan))).collect();
            pg::ResetPlanCache();
            for (source, has_plan) in valid {
                (*source).is_valid = true;
                if has_plan {
                    (*(*source).gplan).is_valid = true;
                }
            }
        }
    });
}

/// Runs `work`, which runs others' code as somebody else in a session, and forgets what it has left, if it fails as well.
pub fn apart<T>(work: impl FnOnce() -> T) -> T {
    /// Brings back what was before.
    struct Before {
        guarded: bool,
    }
    impl Drop for Before {
        fn drop(&mut self) {
            compiled::forget();
            forget_others();
            compiled::set_guarded(self.guarded);
        }
    }
    let _before = Before { guarded: compiled::guard() };
    work()
}
