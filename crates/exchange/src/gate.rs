//! Gates: how many requests of one kind may run at the same time.
//!
//! Every gate has a queue of its own for the slots that were popped while it was full. (One queue per lane for
//! all gates would be smaller, but whoever looks for its own gate's slot would hold others in its hands
//! meanwhile, unseen by those who look for them.)

use crate::queue::Queue;
use crate::stack::NONE;
use crate::sync::{AtomicU32, Ordering, fence};

/// Instead of a gate's number: no limit.
pub const NO_GATE: u32 = NONE;

/// A gate's counters, in shared memory.
#[repr(C, align(128))]
pub(crate) struct Gate {
    limit: AtomicU32,
    /// Shares taken: by executors, or for slots that wait in the run queue already admitted.
    running: AtomicU32,
}

impl Gate {
    /// A gate that is open: its limit is none.
    pub(crate) fn new() -> Self {
        Gate { limit: AtomicU32::new(u32::MAX), running: AtomicU32::new(0) }
    }

    pub(crate) fn limit(&self) -> u32 {
        self.limit.load(Ordering::Relaxed)
    }

    pub(crate) fn running(&self) -> u32 {
        self.running.load(Ordering::Relaxed)
    }

    /// The caller admits parked slots afterwards. A limit of 0 would park for ever, so it counts as 1.
    pub(crate) fn set_limit(&self, limit: u32) {
        self.limit.store(limit.max(1), Ordering::Release);
    }

    /// Takes a share if there is one.
    pub(crate) fn enter(&self) -> bool {
        let mut running = self.running.load(Ordering::Relaxed);
        loop {
            if running >= self.limit.load(Ordering::Relaxed) {
                return false;
            }
            match self.running.compare_exchange_weak(
                running,
                running + 1,
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(now) => running = now,
            }
        }
    }

    /// Gives a share back, and returns a parked slot for which it was taken again.
    pub(crate) fn leave(&self, parked: &Queue) -> Option<u32> {
        self.running.fetch_sub(1, Ordering::AcqRel);
        self.admit(parked)
    }

    /// Parks a slot. Returns a parked slot, this or another, if a share became free meanwhile.
    pub(crate) fn park(&self, parked: &Queue, slot: u32) -> Option<u32> {
        parked.push(slot);
        self.admit(parked)
    }

    /// Takes a share for the oldest parked slot. Whoever parks, whoever gives a share back and whoever raises the
    /// limit calls this afterwards; of two at the same time one sees the other's change.
    pub(crate) fn admit(&self, parked: &Queue) -> Option<u32> {
        fence(Ordering::SeqCst);
        while !parked.is_empty() && self.enter() {
            if let Some(slot) = parked.pop() {
                return Some(slot);
            }
            // Somebody else took it. Another may have parked and found no share, because this one was taken.
            self.running.fetch_sub(1, Ordering::AcqRel);
            fence(Ordering::SeqCst);
        }
        None
    }
}

/// The counters of a gate, each true at some recent moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GateCounts {
    /// How many may run at the same time.
    pub limit: u32,
    /// Requests that run, or are next in the run queue with their share taken.
    pub running: u32,
    /// Requests that wait because the gate is full.
    pub parked: u32,
}
