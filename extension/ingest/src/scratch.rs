//! Memory for what a conversion, or a COPY, needs meanwhile.

use pgrx::pg_sys::{self, MemoryContext};

/// A memory context that is emptied before each use.
pub struct Scratch(MemoryContext);

impl Scratch {
    /// A context within the current one, with which it ends if nobody deletes it before.
    pub fn new() -> Scratch {
        // SAFETY: a new context.
        Scratch(unsafe {
            pg_sys::AllocSetContextCreateInternal(
                pg_sys::CurrentMemoryContext,
                c"howdah scratch".as_ptr(),
                pg_sys::ALLOCSET_DEFAULT_MINSIZE as usize,
                pg_sys::ALLOCSET_DEFAULT_INITSIZE as usize,
                pg_sys::ALLOCSET_DEFAULT_MAXSIZE as usize,
            )
        })
    }

    /// Runs `work` with what it allocates in this memory. It stays until the next use.
    pub fn with<T>(&self, work: impl FnOnce() -> T) -> T {
        // SAFETY: nothing of what was there is used any more. After an error PostgreSQL chooses the context.
        unsafe {
            pg_sys::MemoryContextReset(self.0);
            let before = pg_sys::MemoryContextSwitchTo(self.0);
            let result = work();
            pg_sys::MemoryContextSwitchTo(before);
            result
        }
    }

    /// Frees the memory.
    pub fn delete(self) {
        // SAFETY: the context is this value's.
        unsafe { pg_sys::MemoryContextDelete(self.0) };
    }
}

impl Default for Scratch {
    fn default() -> Scratch {
        Scratch::new()
    }
}
