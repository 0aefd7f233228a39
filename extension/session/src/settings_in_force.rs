//! Settings of PostgreSQL's that are put in force, and the search_path in which queries of ours are read.

use std::ffi::CString;
use std::ffi::{CStr, c_int};

use pgrx::pg_sys;
use shared::settings;

/// Settings of every request, whoever it runs as, unless the role has its own.
pub(crate) unsafe fn set_base() {
    // SAFETY: the caller's contract.
    unsafe { set(c"lock_timeout", Some(&lock_timeout())) }
}

/// The same until the transaction ends, or the level of settings.
pub(crate) unsafe fn set_base_local() {
    // SAFETY: the caller's contract.
    unsafe { set_local(c"lock_timeout", &lock_timeout()) }
}

fn lock_timeout() -> CString {
    CString::new(settings::LOCK_TIMEOUT.get().to_string()).unwrap_or_default()
}

/// Sets a setting for the session; none gives it back its default.
///
/// # Safety
/// Inside a transaction and a guard.
pub unsafe fn set(name: &CStr, value: Option<&CStr>) {
    // SAFETY: by contract.
    unsafe { set_until(name, value, pg_sys::GucAction::GUC_ACTION_SET, pgrx::PgLogLevel::WARNING) }
}

/// Sets a setting until the transaction ends.
///
/// # Safety
/// Inside a transaction and a guard.
pub unsafe fn set_local(name: &CStr, value: &CStr) {
    // SAFETY: by contract.
    unsafe { set_until(name, Some(value), pg_sys::GucAction::GUC_ACTION_LOCAL, pgrx::PgLogLevel::WARNING) }
}

/// Sets settings until `work` ends, as far as this server has them: what else it is built without is no matter.
///
/// # Safety
/// As of [`set_local`].
pub unsafe fn with_if_known<T>(settings: &[(&CStr, &CStr)], work: impl FnOnce() -> T) -> T {
    // SAFETY: by contract; an error takes the level back with its subtransaction.
    unsafe {
        let level = pg_sys::NewGUCNestLevel();
        for (name, value) in settings {
            set_until(name, Some(value), pg_sys::GucAction::GUC_ACTION_LOCAL, pgrx::PgLogLevel::DEBUG1);
        }
        let result = work();
        pg_sys::AtEOXact_GUC(false, level);
        result
    }
}

unsafe fn set_until(
    name: &CStr,
    value: Option<&CStr>,
    action: pg_sys::GucAction::Type,
    unknown: pgrx::PgLogLevel,
) {
    // SAFETY: inside a transaction and a guard. A name that no longer exists is told at a level that raises nothing.
    unsafe {
        pg_sys::set_config_option(
            name.as_ptr(),
            value.map_or(std::ptr::null(), CStr::as_ptr),
            pg_sys::GucContext::PGC_SUSET,
            pg_sys::GucSource::PGC_S_SESSION,
            action,
            true,
            unknown as c_int,
            false,
        );
    }
}

/// A search_path in which no name of a user's comes before PostgreSQL's own: queries of ours resolve in it.
pub const SAFE_PATH: &CStr = c"pg_catalog, pg_temp";

/// Puts [`SAFE_PATH`] in force until [`leave_safe_path`].
///
/// # Safety
/// Inside a guard and a transaction.
pub unsafe fn enter_safe_path() -> c_int {
    // SAFETY: by contract.
    unsafe {
        let level = pg_sys::NewGUCNestLevel();
        pg_sys::set_config_option(
            c"search_path".as_ptr(),
            SAFE_PATH.as_ptr(),
            pg_sys::GucContext::PGC_USERSET,
            pg_sys::GucSource::PGC_S_SESSION,
            pg_sys::GucAction::GUC_ACTION_SAVE,
            true,
            0,
            false,
        );
        level
    }
}

/// Undoes [`enter_safe_path`].
///
/// # Safety
/// In the transaction of [`enter_safe_path`].
pub unsafe fn leave_safe_path(level: c_int) {
    // SAFETY: by contract.
    unsafe { pg_sys::AtEOXact_GUC(true, level) }
}
