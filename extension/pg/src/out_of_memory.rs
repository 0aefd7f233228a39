//! What becomes of a process that has no memory left for something of Rust's.
//!
//! Rust ends a process by SIGABRT when an allocation fails, and PostgreSQL takes that for a crash: it ends everybody's process
//! and starts anew. Where an allocation may be asked for that is as large as a client likes, memory is PostgreSQL's (`palloc`
//! raises an error), or the code asks with [`try_reserve`](Vec::try_reserve) inside [`may_fail`]. For all others the process
//! ends as by a FATAL error of PostgreSQL's own: in order, with a line in the log, and alone.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use pgrx::pg_sys;

/// The system's allocator; a failure ends the process in order.
struct EndInOrder;

#[global_allocator]
static ALLOCATOR: EndInOrder = EndInOrder;

thread_local! {
    /// The caller looks whether it has got memory.
    static MAY_FAIL: Cell<bool> = const { Cell::new(false) };
}

/// Runs an allocation whose failure the caller looks at, such as `try_reserve`. One that cannot fail must not be in it: it would end the
/// process by a signal.
pub fn may_fail<T>(allocate: impl FnOnce() -> T) -> T {
    let before = MAY_FAIL.replace(true);
    let result = allocate();
    MAY_FAIL.set(before);
    result
}

// SAFETY: everything is the system's allocator's.
unsafe impl GlobalAlloc for EndInOrder {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: by contract.
        unsafe { checked(System.alloc(layout), layout.size()) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: by contract.
        unsafe { checked(System.alloc_zeroed(layout), layout.size()) }
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: by contract.
        unsafe { checked(System.realloc(memory, layout, size), size) }
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: by contract.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[inline]
fn checked(memory: *mut u8, size: usize) -> *mut u8 {
    if memory.is_null() {
        failed(size);
    }
    memory
}

#[cold]
#[inline(never)]
fn failed(size: usize) {
    if MAY_FAIL.get() || !is_postgres() {
        return;
    }
    // SAFETY: on the main thread of a process of PostgreSQL's. FATAL runs the callbacks of the process's end on top of what runs
    // now, and never comes back: no frame is left halfway. What it needs of memory PostgreSQL has kept for it.
    unsafe {
        // A callback may want a lock that is held here.
        crate::LWLockReleaseAll();
        if crate::errstart(pgrx::PgLogLevel::FATAL as i32, std::ptr::null()) {
            crate::errcode(pgrx::PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY as i32);
            crate::errmsg_internal(c"%s".as_ptr(), c"out of memory".as_ptr());
            crate::errdetail_internal(c"Failed on request of size %zu.".as_ptr(), size);
            crate::errfinish(c"out_of_memory.rs".as_ptr(), 0, c"failed".as_ptr());
        }
    }
}

/// Whether this thread is the main one of a process that the postmaster has begun, and could end in order.
fn is_postgres() -> bool {
    // SAFETY: PostgreSQL's own variables, which change at a process's begin alone; calls that cannot fail.
    unsafe {
        pg_sys::IsUnderPostmaster
            && pg_sys::CritSectionCount == 0
            && libc::gettid() == libc::getpid()
            && pg_sys::MyProcPid == libc::getpid()
    }
}
