//! Hash tables that PostgreSQL and PL/pgSQL keep to themselves in this process.
//!
//! What they keep of one role must go before the next one's code runs. They tell nobody what there is, and a plugin or a hook hears
//! of a part of it: a library that has PL/pgSQL compile a function itself tells none. So the tables are read where they are.
//! PostgreSQL names the memory of each after the table, for pg_backend_memory_contexts, and has put the table just before the name.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;

use pg::guard::end_process;
use pgrx::pg_sys::{self, HASH_SEQ_STATUS, HTAB, MemoryContext};

/// A table of this process.
pub(crate) struct ProcessTable {
    name: &'static CStr,
    /// Null until it has been found: most are made when they are first needed. None is ever given back.
    found: Cell<*mut HTAB>,
}

/// `HTAB` of dynahash.c, the same from 15 to 18. The name follows.
#[repr(C)]
struct Header {
    parts: [*mut c_void; 6],
    memory: MemoryContext,
    name: *const c_char,
    flags: [bool; 3],
    key_size: usize,
    segment_size: i64,
    segment_shift: i32,
}

impl ProcessTable {
    /// The table of this name.
    pub(crate) const fn named(name: &'static CStr) -> ProcessTable {
        ProcessTable { name, found: Cell::new(null_mut()) }
    }

    /// Whether anybody has made it. Ends the process if PostgreSQL lays such tables out otherwise.
    pub(crate) fn is_there(&self) -> bool {
        if self.found.get().is_null() {
            // SAFETY: on the main thread.
            self.found.set(unsafe { find(self.name) });
        }
        !self.found.get().is_null()
    }

    /// Calls `visit` with each entry. It raises nothing, adds nothing, and removes at most the entry that it has got.
    ///
    /// # Safety
    /// The table's entries are laid out so.
    pub(crate) unsafe fn for_each<Entry>(&self, mut visit: impl FnMut(*mut Entry)) {
        if !self.is_there() {
            return;
        }
        let mut scan = HASH_SEQ_STATUS::default();
        // SAFETY: a table of this process, on its main thread. The scan comes to its end.
        unsafe {
            pg::hash_seq_init(&raw mut scan, self.found.get());
            loop {
                let entry = pg::hash_seq_search(&raw mut scan);
                if entry.is_null() {
                    break;
                }
                visit(entry.cast());
            }
        }
    }

    /// Gives an entry another key. Nothing is allocated.
    ///
    /// # Safety
    /// An entry of the table, and a key that no other has.
    pub(crate) unsafe fn rename<Entry>(&self, entry: *mut Entry, key: *const c_void) {
        // SAFETY: by contract; the table has been found, as it has an entry.
        unsafe { pg::hash_update_hash_key(self.found.get(), entry.cast(), key) };
    }
}

/// Ends the process, which cannot see what it must forget.
pub(crate) fn unknown_layout(of: &str) -> ! {
    end_process(&format!("howdah does not know how this build of PostgreSQL lays out {of}"))
}

/// # Safety
/// On the main thread.
unsafe fn find(name: &CStr) -> *mut HTAB {
    // SAFETY: the contexts of this process, on its main thread; names and idents are null or end with NUL.
    unsafe {
        let is = |text: *const c_char, other: &CStr| !text.is_null() && CStr::from_ptr(text) == other;
        let mut context = (*pg_sys::TopMemoryContext).firstchild;
        while !context.is_null() {
            if is((*context).name, c"dynahash") && is((*context).ident, name) {
                let header = (*context).ident.byte_sub(size_of::<Header>()).cast::<Header>();
                if (*header).name != (*context).ident || (*header).memory != context {
                    unknown_layout("hash tables");
                }
                return header.cast_mut().cast();
            }
            context = (*context).nextchild;
        }
        null_mut()
    }
}
