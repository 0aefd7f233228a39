//! Texts from PostgreSQL, and for it.

use std::ffi::{CStr, CString, c_char};

use pgrx::pg_sys;

/// Text of a C string of PostgreSQL's; null is the empty text.
///
/// # Safety
/// Null, or ends with NUL.
pub unsafe fn string(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: by contract.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// A copy that ends with NUL, in the current memory context.
///
/// # Safety
/// Inside a guard.
pub unsafe fn c_string(text: &str) -> *mut c_char {
    // SAFETY: room for the text and its NUL.
    unsafe {
        let copy = super::palloc(text.len() + 1).cast::<u8>();
        std::ptr::copy_nonoverlapping(text.as_ptr(), copy, text.len());
        *copy.add(text.len()) = 0;
        copy.cast()
    }
}

/// A copy that ends with NUL, in the current memory context; empty if there is a NUL in the text.
///
/// # Safety
/// Inside a transaction.
pub unsafe fn keep_text(text: &str) -> *const c_char {
    let text = CString::new(text).unwrap_or_default();
    // SAFETY: inside a transaction.
    unsafe { pg_sys::pstrdup(text.as_ptr()) }
}
