//! What the region knows of each gateway and each executor.

use crate::sync::{AtomicU32, AtomicU64, Ordering, fence};

/// Whether a gateway wants to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Presence {
    Awake = 0,
    Sleeping = 1,
    /// Never joined, or left.
    Absent = 2,
}

/// A gateway's word, in shared memory.
#[repr(C, align(128))]
pub(crate) struct Desk(AtomicU32);

impl Desk {
    pub(crate) fn new() -> Self {
        Desk(AtomicU32::new(Presence::Absent as u32))
    }

    /// The gateway itself: says how it is, and fences, so that what it looks at next is not older than that.
    pub(crate) fn set(&self, presence: Presence) {
        self.0.store(presence as u32, Ordering::Release);
        fence(Ordering::SeqCst);
    }

    /// An executor that has pushed a completion: how the gateway is. Of those who find it sleeping only the
    /// first learns so, and wakes it.
    pub(crate) fn call(&self) -> Presence {
        fence(Ordering::SeqCst);
        let seen = self.0.load(Ordering::Acquire);
        if seen == Presence::Absent as u32 {
            return Presence::Absent;
        }
        let asleep = Presence::Sleeping as u32;
        let awake = Presence::Awake as u32;
        let first = seen == asleep
            && self.0.compare_exchange(asleep, awake, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        if first { Presence::Sleeping } else { Presence::Awake }
    }
}

/// An executor's place, in shared memory: what it runs, for its own signal handler.
#[repr(C, align(128))]
pub(crate) struct Seat {
    /// The slot it runs.
    slot: AtomicU32,
    /// That slot's generation, or 0 while it runs nothing.
    generation: AtomicU64,
}

impl Seat {
    pub(crate) fn new() -> Self {
        Seat { slot: AtomicU32::new(0), generation: AtomicU64::new(0) }
    }

    /// Says what runs. Release: a handler that interrupts between the two sees the old slot only with 0.
    pub(crate) fn take(&self, slot: u32, generation: u64) {
        self.slot.store(slot, Ordering::Relaxed);
        self.generation.store(generation, Ordering::Release);
    }

    pub(crate) fn clear(&self) {
        self.generation.store(0, Ordering::Release);
    }

    /// What runs, if anything.
    pub(crate) fn running(&self) -> Option<(u32, u64)> {
        let generation = self.generation.load(Ordering::Acquire);
        (generation != 0).then(|| (self.slot.load(Ordering::Relaxed), generation))
    }
}
