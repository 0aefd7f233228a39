//! The part of the shared memory: a number, counters, marks. All-zero bytes are its empty state.

use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::atomic::{AtomicBool, AtomicPtr};

use pgrx::pg_sys;
use registry::commits::{Commits, Counter, Mark};
use shared::Part;

/// Counters. Relations share one when their hashes say so: of ten thousand that change all the time, one in seven of the others goes with them.
const COUNTERS: usize = 1 << 16;
/// Processes that are none of the server's backends, and may have transactions all the same.
const AUXILIARY: usize = 64;

/// The part of the shared memory.
pub const PART: Part = Part { bytes, request_locks: || (), lay_out };

/// The counters and marks, and what else all share.
pub(crate) struct Memory {
    pub commits: Commits,
    /// Whether the transactions that were prepared before the server began have their marks.
    pub is_ready: &'static AtomicBool,
}

static MEMORY: AtomicPtr<Memory> = AtomicPtr::new(std::ptr::null_mut());

/// The counters and marks; an error in a session of a server that does not preload the library.
pub fn commits() -> &'static Commits {
    attached().map_or_else(|| shared::not_preloaded(), |memory| &memory.commits)
}

/// The same, if the server preloads the library.
pub(crate) fn attached() -> Option<&'static Memory> {
    // SAFETY: null, or a leaked box that is never freed.
    unsafe { MEMORY.load(Acquire).as_ref() }
}

/// Transactions that may be prepared at a time.
fn prepared() -> usize {
    // SAFETY: PostgreSQL's own variable.
    unsafe { pg::max_prepared_xacts as usize }
}

/// Processes that may have a transaction.
fn processes() -> usize {
    // SAFETY: PostgreSQL's own variable.
    unsafe { pg_sys::MaxBackends as usize + AUXILIARY }
}

fn counters_at() -> usize {
    (size_of::<Mark>() * (processes() + prepared())).next_multiple_of(align_of::<Counter>())
}

fn last_at() -> usize {
    counters_at() + size_of::<Counter>() * COUNTERS
}

fn bytes() -> usize {
    last_at() + 2 * size_of::<u64>()
}

/// # Safety
/// Memory of [`bytes`], aligned to a page and full of zeros, in the postmaster.
unsafe fn lay_out(memory: NonNull<u8>) {
    // SAFETY: by contract; zeros are the empty state of everything.
    unsafe {
        let at = |offset: usize| memory.add(offset).as_ptr();
        let marks = std::slice::from_raw_parts(at(0).cast::<Mark>(), processes() + prepared());
        let (of_processes, of_prepared) = marks.split_at(processes());
        let counters = std::slice::from_raw_parts(at(counters_at()).cast(), COUNTERS);
        let memory = Memory {
            commits: Commits::new(&*at(last_at()).cast(), counters, of_processes, of_prepared),
            is_ready: &*at(last_at() + size_of::<u64>()).cast(),
        };
        // The few words of an earlier life are not given back: children forked before may use them.
        MEMORY.store(Box::into_raw(Box::new(memory)), Release);
    }
}
