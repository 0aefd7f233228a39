//! The executor that runs alone after a crash, and since when others wait, in shared memory.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

use shared::now_us;

/// Who runs alone, and since when others wait. Zeros: nobody, and nobody waits.
#[repr(C)]
pub(crate) struct Solitude {
    /// The executor to which all others leave the server, plus one; 0 if there is none.
    pub(crate) alone: AtomicU32,
    /// Since when, by [`now_us`].
    pub(crate) alone_since: AtomicU64,
    /// When somebody first waited, by [`now_us`]; 0 if nobody has.
    pub(crate) waited_since: AtomicU64,
}

impl Solitude {
    /// An executor has ended what it ran; whether others have waited for that.
    pub(crate) fn leave(&self, executor: usize) -> bool {
        self.alone.compare_exchange(executor as u32 + 1, 0, Relaxed, Relaxed).is_ok()
    }

    pub(crate) fn is_over(&self, since: &AtomicU64, most: u64) -> bool {
        now_us().saturating_sub(since.load(Relaxed)) >= most
    }
}
