//! How much a gateway keeps of the requests that it has run.
//!
//! PostgreSQL keeps some things for as long as a process lives, and a client may name ever more of them: time zones that it makes
//! up, 23 kB each, values that an enum does not have. So a gateway looks what the memory contexts hold. One that has kept more
//! than `howdah.kept_memory` runs no more requests itself: executors do, which are easy to replace. Then it has another gateway
//! take its place ([`leaving`](super::leaving)); not before [`YOUNGEST`], as each takes some time to leave and holds its memory meanwhile.
//!
//! What clients have sent and have to read is not counted: it has limits of its own.

use std::time::{Duration, Instant};

use pg::{log_line, own_memory};
use pgrx::pg_sys;
use shared::settings;

use crate::worker::Worker;

/// Time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How old a gateway is at least when another takes its place.
const YOUNGEST: Duration = Duration::from_secs(10);

/// See the module.
pub(crate) struct KeptMemory {
    begun: Instant,
    looked: Instant,
    /// Bytes of memory contexts when it began.
    first: i64,
    is_too_much: bool,
}

impl KeptMemory {
    /// Of a process that has run nothing.
    pub(super) fn new() -> KeptMemory {
        let now = Instant::now();
        KeptMemory { begun: now, looked: now, first: in_contexts(), is_too_much: false }
    }

    /// Whether this process should run nothing itself.
    pub(crate) fn is_too_much(&self) -> bool {
        self.is_too_much
    }

    /// Looks, if that is due. True if it has become too much.
    pub(crate) fn look(&mut self) -> bool {
        if self.is_too_much || self.looked.elapsed() < LOOK_EVERY {
            return false;
        }
        self.looked = Instant::now();
        let allowed = i64::from(settings::KEPT_MEMORY.get()) << 20;
        // All that the process has is no less, and quicker to find out.
        if own_memory::bytes().is_some_and(|all| all < allowed) {
            return false;
        }
        let kept = in_contexts() - self.first;
        self.is_too_much = kept > allowed;
        if self.is_too_much {
            log_line::log!(
                "howdah gateway runs no more requests itself and another takes its place, because it has kept {} MB of memory, more than howdah.kept_memory allows ({} MB)",
                kept >> 20,
                allowed >> 20
            );
        }
        self.is_too_much
    }

    /// Has another take the place of one that has kept too much, once it is old enough.
    pub(crate) fn make_room(&self, worker: &Worker) {
        if self.is_too_much && self.begun.elapsed() >= YOUNGEST {
            worker.make_room();
        }
    }
}

/// Bytes that PostgreSQL's memory contexts have of the system.
fn in_contexts() -> i64 {
    // SAFETY: on the main thread; the context from which all others descend.
    unsafe { pg_sys::MemoryContextMemAllocated(pg_sys::TopMemoryContext, true) as i64 }
}
