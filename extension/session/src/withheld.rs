//! Values of the request, or the job, that runs in this process which no message of it shows: those of its arguments that are secrets.
//! They go where an error becomes an answer, and where a line is about to be written.

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char};

use problem::withheld::{leave_out, left_out};

thread_local! {
    /// This process runs requests and jobs of others.
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
    static VALUES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// This process is a worker from now on.
pub(crate) fn begin() {
    IS_WORKER.set(true);
}

/// Messages show this value no longer, until [`forget`]. In a session it is what its own statement says.
pub fn note(value: &str) {
    if value.is_empty() || !IS_WORKER.get() {
        return;
    }
    VALUES.with_borrow_mut(|values| {
        if !values.iter().any(|known| known == value) {
            values.push(value.to_owned());
        }
    });
}

/// Nothing is withheld any more.
pub fn forget() {
    VALUES.with_borrow_mut(Vec::clear);
}

/// A text without them.
pub fn of(text: String) -> String {
    VALUES.with_borrow(|values| if values.is_empty() { text } else { left_out(text, values) })
}

/// Leaves them out of a text of PostgreSQL's. It takes no memory.
///
/// # Safety
/// Null, or a string that ends with NUL and may be written.
pub(crate) unsafe fn leave_out_of(text: *mut c_char) {
    VALUES.with_borrow(|values| {
        if values.is_empty() || text.is_null() {
            return;
        }
        // SAFETY: by contract; it grows no longer, and what is written lies before its end.
        unsafe {
            let length = CStr::from_ptr(text).count_bytes();
            let bytes = std::slice::from_raw_parts_mut(text.cast::<u8>(), length);
            let left = leave_out(bytes, values);
            *text.add(left) = 0;
        }
    });
}
