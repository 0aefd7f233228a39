//! A lock-free stack of free indexes. Last in, first out: what was used last is still in the cache.

use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// No index: the end of a chain.
pub(crate) const NONE: u32 = u32::MAX;

/// The top of a stack, in shared memory.
#[repr(C, align(128))]
pub(crate) struct Top {
    /// A tag that grows with every change, and the index on top. Without the tag, a pop that was interrupted
    /// would not notice that its index left and came back with another successor.
    top: AtomicU64,
    /// For statistics: follows the stack and may lag.
    free: AtomicU32,
}

impl Top {
    pub(crate) fn empty() -> Self {
        Top { top: AtomicU64::new(u64::from(NONE)), free: AtomicU32::new(0) }
    }
}

/// A stack, seen through its top and the links of all indexes.
#[derive(Clone, Copy)]
pub(crate) struct Stack<'a> {
    top: &'a Top,
    links: &'a [AtomicU32],
}

impl<'a> Stack<'a> {
    pub(crate) fn new(top: &'a Top, links: &'a [AtomicU32]) -> Self {
        Stack { top, links }
    }

    /// Takes the index on top.
    pub(crate) fn pop(&self) -> Option<u32> {
        let mut seen = self.top.top.load(Ordering::Acquire);
        loop {
            let index = seen as u32;
            if index == NONE {
                return None;
            }
            let below = self.links[index as usize].load(Ordering::Relaxed);
            match self.top.top.compare_exchange_weak(
                seen,
                next(seen, below),
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => break,
                Err(now) => seen = now,
            }
        }
        self.top.free.fetch_sub(1, Ordering::Relaxed);
        Some(seen as u32)
    }

    /// Puts one index on top.
    pub(crate) fn push(&self, index: u32) {
        self.push_chain(index, index, 1);
    }

    /// Puts a chain of `count` linked indexes on top at once.
    pub(crate) fn push_chain(&self, first: u32, last: u32, count: u32) {
        // Counted before it can be taken, so that the counter never falls below zero.
        self.top.free.fetch_add(count, Ordering::Relaxed);
        let mut seen = self.top.top.load(Ordering::Relaxed);
        loop {
            self.links[last as usize].store(seen as u32, Ordering::Relaxed);
            match self.top.top.compare_exchange_weak(
                seen,
                next(seen, first),
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
    }

    /// The index behind `index` in a chain that the caller holds.
    pub(crate) fn link(&self, index: u32) -> u32 {
        self.links[index as usize].load(Ordering::Relaxed)
    }

    /// Sets the index behind `index` in a chain that the caller holds.
    pub(crate) fn set_link(&self, index: u32, next: u32) {
        self.links[index as usize].store(next, Ordering::Relaxed);
    }

    /// How many indexes are free, for statistics.
    pub(crate) fn len(&self) -> u32 {
        self.top.free.load(Ordering::Relaxed)
    }
}

fn next(seen: u64, index: u32) -> u64 {
    let tag = ((seen >> 32) as u32).wrapping_add(1);
    u64::from(tag) << 32 | u64::from(index)
}
