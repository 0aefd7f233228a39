//! Who of a lane's executors sleeps, and whom to wake.
//!
//! Whoever adds work fences and then looks here; an executor that stops looking for work says so here, fences
//! and looks for work once more. One of the two sees the other, so no work is left without somebody awake.

use crate::queue::Queue;
use crate::sync::{AtomicU32, AtomicU64, Ordering, fence};

/// Words of the idle bitmap: what is left of two cache lines.
#[cfg(not(loom))]
const WORDS: usize = 15;
#[cfg(loom)]
const WORDS: usize = 1;

/// The most executors that an exchange can have.
pub const MAX_EXECUTORS: u32 = WORDS as u32 * 64;

/// The sleepers and searchers of a lane, in shared memory.
#[repr(C, align(128))]
pub(crate) struct Lane {
    /// Executors that will look at the run queue before they sleep. While there is one, nobody is woken.
    searching: AtomicU32,
    /// How many words of the bitmap are in use.
    words: u32,
    /// A bit for each executor that sleeps or is about to.
    idle: [AtomicU64; WORDS],
}

impl Lane {
    pub(crate) fn new(executors: u32) -> Self {
        Lane {
            searching: AtomicU32::new(0),
            words: executors.div_ceil(64),
            idle: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    fn words(&self) -> &[AtomicU64] {
        &self.idle[..self.words as usize]
    }

    pub(crate) fn announce(&self, executor: u32) {
        self.idle[executor as usize / 64].fetch_or(1 << (executor % 64), Ordering::AcqRel);
    }

    /// Takes back an announcement. False if somebody has cleared it in order to wake the executor, and has
    /// counted it among the searching.
    pub(crate) fn withdraw(&self, executor: u32) -> bool {
        let bit = 1 << (executor % 64);
        self.idle[executor as usize / 64].fetch_and(!bit, Ordering::AcqRel) & bit != 0
    }

    pub(crate) fn start_searching(&self) {
        self.searching.fetch_add(1, Ordering::AcqRel);
    }

    /// The caller fences and looks at the run queue afterwards: others may have relied on it.
    pub(crate) fn stop_searching(&self) {
        self.searching.fetch_sub(1, Ordering::AcqRel);
    }

    fn any_idle(&self) -> bool {
        self.words().iter().any(|word| word.load(Ordering::Relaxed) != 0)
    }

    /// Clears the lowest bit: the same few executors stay hot.
    fn take_lowest(&self) -> Option<u32> {
        for (index, word) in self.words().iter().enumerate() {
            let mut seen = word.load(Ordering::Relaxed);
            while seen != 0 {
                let bit = seen & seen.wrapping_neg();
                let before = word.fetch_and(!bit, Ordering::AcqRel);
                if before & bit != 0 {
                    return Some(index as u32 * 64 + bit.trailing_zeros());
                }
                seen = before;
            }
        }
        None
    }

    /// Whom to wake for the work in `queue`: the lowest idle executor, unless one is searching already.
    /// It counts as searching from now on.
    pub(crate) fn choose(&self, queue: &Queue) -> Option<u32> {
        fence(Ordering::SeqCst);
        while self.any_idle() && !queue.is_empty() {
            let alone = self.searching.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok();
            if !alone {
                return None;
            }
            if let Some(executor) = self.take_lowest() {
                return Some(executor);
            }
            self.give_back();
        }
        None
    }

    /// As `choose`, but although others may be searching.
    pub(crate) fn choose_another(&self, queue: &Queue) -> Option<u32> {
        fence(Ordering::SeqCst);
        while self.any_idle() && !queue.is_empty() {
            self.start_searching();
            if let Some(executor) = self.take_lowest() {
                return Some(executor);
            }
            self.give_back();
        }
        None
    }

    /// Nobody was left to wake. Others may have relied on the count meanwhile, so the caller looks again.
    fn give_back(&self) {
        self.stop_searching();
        fence(Ordering::SeqCst);
    }

    pub(crate) fn idle(&self) -> u32 {
        self.words().iter().map(|word| word.load(Ordering::Relaxed).count_ones()).sum()
    }

    pub(crate) fn searching(&self) -> u32 {
        self.searching.load(Ordering::Relaxed)
    }
}
