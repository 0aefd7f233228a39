//! Functions of other libraries, once these are loaded. Called as C they need nobody's rights.

use std::cell::Cell;
use std::ffi::{CStr, CString, c_void};

use pgrx::pg_sys::{self, Datum, FunctionCallInfo};

use crate::libraries;

/// What SQL calls in C.
pub(crate) type Function = unsafe extern "C-unwind" fn(FunctionCallInfo) -> Datum;

/// A library that this process may have loaded. None is ever unloaded.
pub(crate) struct Library<const COUNT: usize> {
    name: &'static [u8],
    functions: [&'static CStr; COUNT],
    /// How long the names of the loaded libraries were together when it was looked for.
    seen: Cell<usize>,
    found: Cell<Option<[Function; COUNT]>>,
}

impl<const COUNT: usize> Library<COUNT> {
    /// The library of this name, and what is to be called of it.
    pub(crate) const fn of(name: &'static [u8], functions: [&'static CStr; COUNT]) -> Library<COUNT> {
        Library { name, functions, seen: Cell::new(0), found: Cell::new(None) }
    }

    /// The functions, if it is loaded.
    pub(crate) fn functions(&self) -> Option<[Function; COUNT]> {
        let size = libraries::size();
        if self.seen.get() != size {
            self.found.set(self.find());
            self.seen.set(size);
        }
        self.found.get()
    }

    fn find(&self) -> Option<[Function; COUNT]> {
        let files = libraries::files();
        let file = libraries::names(&files).find(|file| libraries::is(file, self.name))?;
        let file = CString::new(file).ok()?;
        Some(self.functions.map(|function| {
            // SAFETY: a library that is loaded, and functions that SQL calls in it.
            unsafe {
                let found = pg_sys::load_external_function(
                    file.as_ptr(),
                    function.as_ptr(),
                    true,
                    std::ptr::null_mut(),
                );
                std::mem::transmute::<*mut c_void, Function>(found.cast())
            }
        }))
    }
}

/// A call's data ends with its arguments.
#[repr(C)]
struct CallOfOne {
    info: pg_sys::FunctionCallInfoBaseData,
    argument: pg_sys::NullableDatum,
}

/// Calls a function with one argument, or none.
///
/// # Safety
/// Inside a guard, and in a transaction unless the function needs none; it takes that.
pub(crate) unsafe fn call(function: Function, argument: Option<Datum>) -> Option<Datum> {
    // SAFETY: by contract; all-zero bytes are an empty call.
    unsafe {
        let mut call: CallOfOne = std::mem::zeroed();
        if let Some(value) = argument {
            call.info.nargs = 1;
            *(&raw mut call.info.args).cast() = pg_sys::NullableDatum { value, isnull: false };
        }
        let result = function((&raw mut call).cast());
        (!call.info.isnull).then_some(result)
    }
}
