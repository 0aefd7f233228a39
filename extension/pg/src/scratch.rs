//! Memory for one row at a time.

use pgrx::pg_sys::{self, MemoryContext};

/// A memory context that is emptied after each row. After an error PostgreSQL frees it with the one that it is in.
pub struct Scratch(MemoryContext);

/// A new memory context in another.
///
/// # Safety
/// The other lives; this one is freed with it.
pub unsafe fn new_in(outer: MemoryContext) -> MemoryContext {
    // SAFETY: by contract.
    unsafe {
        pg_sys::AllocSetContextCreateInternal(
            outer,
            c"howdah rows".as_ptr(),
            pg_sys::ALLOCSET_DEFAULT_MINSIZE as usize,
            pg_sys::ALLOCSET_DEFAULT_INITSIZE as usize,
            pg_sys::ALLOCSET_DEFAULT_MAXSIZE as usize,
        )
    }
}

impl Scratch {
    /// An empty one, in the current memory context.
    pub fn here() -> Scratch {
        // SAFETY: the context that it is in outlives it: after an error it is freed with that one.
        unsafe { Scratch(new_in(pg_sys::CurrentMemoryContext)) }
    }

    /// Runs `work`, and frees what it has allocated. After an error PostgreSQL chooses the context.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        // SAFETY: the context lives; what was allocated in it is not used any more.
        unsafe {
            let before = pg_sys::MemoryContextSwitchTo(self.0);
            let result = work();
            pg_sys::MemoryContextSwitchTo(before);
            pg_sys::MemoryContextReset(self.0);
            result
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: made by this value.
            unsafe { pg_sys::MemoryContextDelete(self.0) };
        }
    }
}
