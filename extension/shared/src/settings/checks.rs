//! Whether a setting may have a value: PostgreSQL asks before it takes it over, and keeps the value of before where not.

use std::ffi::{CStr, CString, c_char, c_void};

use form::TrustedProxies;
use pg::entry::callback;
use pgrx::pg_sys;

callback! {
    /// Addresses and networks.
    pub unsafe fn trusted_proxies(
        value: *mut *mut c_char,
        _extra: *mut *mut c_void,
        _source: pg_sys::GucSource::Type,
    ) -> bool {
        // SAFETY: by contract.
        unsafe { check(value, |list| TrustedProxies::parse(list).map(drop).map_err(|error| error.to_string())) }
    }
}

callback! {
    /// An absolute path, or none.
    pub(crate) unsafe fn acme_folder(
        value: *mut *mut c_char,
        _extra: *mut *mut c_void,
        _source: pg_sys::GucSource::Type,
    ) -> bool {
        // SAFETY: by contract.
        unsafe {
            check(value, |path| match path.trim() {
                "" => Ok(()),
                path if path.starts_with('/') => Ok(()),
                path => Err(format!("\"{path}\" is not an absolute path.")),
            })
        }
    }
}

/// Whether a value passes; if not, PostgreSQL is told why not.
///
/// # Safety
///
/// The pointer is that of a check hook: to a string that ends with NUL, or to null.
unsafe fn check(value: *mut *mut c_char, passes: impl FnOnce(&str) -> Result<(), String>) -> bool {
    // SAFETY: by contract. What is said of an error has to live as long as it.
    unsafe {
        if (*value).is_null() {
            return true;
        }
        let checked = passes(&CStr::from_ptr(*value).to_string_lossy());
        if let Err(reason) = &checked {
            let detail = CString::new(reason.as_str()).unwrap_or_default();
            pg_sys::GUC_check_errdetail_string =
                pg_sys::MemoryContextStrdup(pg_sys::ErrorContext, detail.as_ptr());
        }
        checked.is_ok()
    }
}
