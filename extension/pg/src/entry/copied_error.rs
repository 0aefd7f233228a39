//! Copies of PostgreSQL's errors, for which there may be no memory.
//!
//! `CopyErrorData` raises an error of its own then. pgrx calls it where an error has just jumped to it, with the place to jump
//! to still its own frame's: the second error would jump into a frame that has gone, and crash the server. So the linker has
//! both functions called through these (`build.rs`): without memory the copy is one that is always there, of an error that says
//! so.

use std::ptr::null_mut;

use pgrx::pg_sys::{self, ErrorData};

use crate::guard::{pack_sqlstate, until_jump};

unsafe extern "C-unwind" {
    fn __real_CopyErrorData() -> *mut ErrorData;
    fn __real_FreeErrorData(error: *mut ErrorData);
}

/// The error that there is no memory, which nobody writes to.
static mut OUT_OF_MEMORY: *mut ErrorData = null_mut();

/// Makes the error that is given where no other can be. Called while the library is loaded.
pub fn prepare() {
    // SAFETY: all zeros are an error without texts.
    let mut error: Box<ErrorData> = Box::new(unsafe { std::mem::zeroed() });
    error.elevel = pgrx::PgLogLevel::ERROR as i32;
    error.sqlerrcode = pack_sqlstate(b"53200");
    error.message = c"out of memory".as_ptr().cast_mut();
    // SAFETY: on the main thread.
    unsafe { OUT_OF_MEMORY = Box::into_raw(error) };
}

/// What `CopyErrorData` is to the code of this library.
///
/// # Safety
/// As for PostgreSQL's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __wrap_CopyErrorData() -> *mut ErrorData {
    // SAFETY: by contract; a jump passes over nothing that is owned.
    unsafe {
        // Frames that have gone may still be on it, and the second error would call them.
        let error_context_stack = pg_sys::error_context_stack;
        pg_sys::error_context_stack = null_mut();
        let copy = until_jump(|| __real_CopyErrorData());
        pg_sys::error_context_stack = error_context_stack;
        copy.unwrap_or(OUT_OF_MEMORY)
    }
}
super::mark!(__wrap_CopyErrorData);

/// What `FreeErrorData` is to the code of this library.
///
/// # Safety
/// As for PostgreSQL's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __wrap_FreeErrorData(error: *mut ErrorData) {
    // SAFETY: by contract; that one stays.
    unsafe {
        if error != OUT_OF_MEMORY {
            __real_FreeErrorData(error);
        }
    }
}
super::mark!(__wrap_FreeErrorData);
