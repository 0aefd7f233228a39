//! How far the walk through old failures, dead jobs and keys is, in shared memory.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use std::time::Duration;

use shared::now_us;

/// How far a walk is, in shared memory.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Walk {
    /// When its next step is, by `now_us`.
    next_us: AtomicU64,
    /// The page that it begins with; 0 when a new walk is due.
    page: AtomicU32,
}

impl Walk {
    /// Microseconds until its next step, if a walk is under way.
    pub(crate) fn pause(&self) -> Option<Duration> {
        let left = self.next_us.load(Acquire).saturating_sub(now_us());
        (self.page.load(Acquire) != 0).then(|| Duration::from_micros(left))
    }

    /// The page that the next step begins with.
    pub(crate) fn page(&self) -> u32 {
        self.page.load(Acquire)
    }

    /// Makes the step that is due the caller's, who ends it by [`Walk::step_is_done`]. Should he not, another is due after a while.
    pub(crate) fn begin_step(&self, pause: Duration) -> bool {
        let (now, due) = (now_us(), self.next_us.load(Acquire));
        due <= now
            && self.next_us.compare_exchange(due, now + pause.as_micros() as u64, AcqRel, Relaxed).is_ok()
    }

    pub(crate) fn step_is_done(&self, next: Option<u32>, pause: Duration) {
        self.page.store(next.unwrap_or_default(), Release);
        self.next_us.store(now_us() + pause.as_micros() as u64, Release);
    }
}
