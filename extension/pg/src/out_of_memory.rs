//! What becomes of a process that has no memory left for something of Rust's.
//!
//! Rust ends a process by SIGABRT when an allocation fails, and PostgreSQL takes that for a crash: it ends everybody's process
//! and starts anew. Where an allocation may be asked for that is as large as a client likes, memory is PostgreSQL's (`palloc`
//! raises an error), or the code asks with [`try_reserve`](Vec::try_reserve) inside [`may_fail`]. For all others the process
//! ends as by a FATAL error of PostgreSQL's own: in order, with a line in the log, and alone. A thread beside the main one cannot end the
//! process so: it waits until there is memory, and nobody waits for it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use pgrx::pg_sys;

/// The system's allocator; a failure ends the process in order.
struct EndInOrder;

#[global_allocator]
static ALLOCATOR: EndInOrder = EndInOrder;

/// Microseconds between two tries of a thread that waits for memory.
const PAUSE: libc::useconds_t = 20_000;

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
        checked(layout.size(), || unsafe { System.alloc(layout) })
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: by contract.
        checked(layout.size(), || unsafe { System.alloc_zeroed(layout) })
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: by contract. What has failed has left the memory as it was.
        checked(size, || unsafe { System.realloc(memory, layout, size) })
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: by contract.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[inline]
fn checked(size: usize, allocate: impl Fn() -> *mut u8) -> *mut u8 {
    let memory = allocate();
    if memory.is_null() { failed(size, &allocate) } else { memory }
}

#[cold]
#[inline(never)]
fn failed(size: usize, allocate: &dyn Fn() -> *mut u8) -> *mut u8 {
    if MAY_FAIL.get() {
        return std::ptr::null_mut();
    }
    if is_helper() {
        return wait_for_memory(allocate);
    }
    if is_postgres() {
        end(size);
    }
    std::ptr::null_mut()
}

/// Memory for a thread beside the main one, which nobody waits for: it waits itself until there is some.
fn wait_for_memory(allocate: &dyn Fn() -> *mut u8) -> *mut u8 {
    loop {
        // SAFETY: a valid time; no more than to sleep.
        unsafe { libc::usleep(PAUSE) };
        let memory = allocate();
        if !memory.is_null() {
            return memory;
        }
    }
}

/// Ends the process, if it can be ended in order.
fn end(size: usize) {
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

/// Whether this is a thread beside the main one of a process that the postmaster has begun.
fn is_helper() -> bool {
    // SAFETY: PostgreSQL's own variables, which change at a process's begin alone; calls that cannot fail.
    unsafe {
        pg_sys::IsUnderPostmaster && pg_sys::MyProcPid == libc::getpid() && libc::gettid() != libc::getpid()
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
