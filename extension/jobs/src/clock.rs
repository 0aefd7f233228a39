//! When schedules are looked at next, in shared memory.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::SeqCst};

/// How long nobody looks at a kind of which something has failed; and how long a look may take, before another executor looks.
pub(crate) const TURN: i64 = 5_000_000;
/// How long nobody looks at most.
pub(crate) const LONGEST: i64 = 60_000_000;

/// When schedules of a database are looked at next, in shared memory. Zeros are: at once.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Clock {
    /// As PostgreSQL counts.
    due: AtomicI64,
    /// Changes of schedules.
    changes: AtomicU64,
    /// There are none that are not paused.
    is_empty: AtomicBool,
}

impl Clock {
    /// Schedules have changed.
    pub(crate) fn changed(&self) {
        self.changes.fetch_add(1, SeqCst);
        self.look_at_once();
    }

    fn look_at_once(&self) {
        self.is_empty.store(false, SeqCst);
        self.due.store(0, SeqCst);
    }

    /// Makes the look that is due the caller's; none if none is, or another has it. The changes that it will see.
    pub(crate) fn take(&self, now: i64) -> Option<u64> {
        let due = self.due.load(SeqCst);
        // A clock that was set back far tells nothing.
        if due > now && due <= now.saturating_add(LONGEST) {
            return None;
        }
        self.due.compare_exchange(due, now.saturating_add(TURN), SeqCst, SeqCst).ok()?;
        Some(self.changes.load(SeqCst))
    }

    /// Something is due at a time, if ever.
    pub(crate) fn set(&self, due: Option<i64>, now: i64, seen: u64) {
        self.is_empty.store(due.is_none(), SeqCst);
        self.due.store(due.unwrap_or(i64::MAX).min(now.saturating_add(LONGEST)), SeqCst);
        if self.changes.load(SeqCst) != seen {
            self.look_at_once();
        }
    }

    /// When something is due, as PostgreSQL counts.
    pub(crate) fn due(&self) -> i64 {
        self.due.load(SeqCst)
    }

    /// Whether there are no schedules that are not paused.
    pub(crate) fn is_empty(&self) -> bool {
        self.is_empty.load(SeqCst)
    }
}
