//! Times of a clock that nobody sets, as shared memory keeps them.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A time of the monotonic clock, in microseconds. Zero is long ago. What is kept to find out how much time has passed is kept as this: a clock
/// that tells people the time is set, also back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
#[repr(transparent)]
pub struct Tick(u64);

impl Tick {
    /// So many microseconds after the clock's beginning.
    pub const fn at(microseconds: u64) -> Tick {
        Tick(microseconds)
    }

    /// Microseconds since an earlier one.
    pub const fn since(self, earlier: Tick) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// So many microseconds later.
    pub const fn after(self, microseconds: u64) -> Tick {
        Tick(self.0.saturating_add(microseconds))
    }

    /// Microseconds since the clock's beginning.
    pub const fn microseconds(self) -> u64 {
        self.0
    }
}

/// One that several processes change.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct AtomicTick(AtomicU64);

impl AtomicTick {
    /// Makes it `now`, if it is so many microseconds older: of those that ask at a time one is told so.
    pub fn renew(&self, now: Tick, microseconds: u64) -> bool {
        let before = self.0.load(Relaxed);
        now.since(Tick(before)) >= microseconds
            && self.0.compare_exchange(before, now.0, Relaxed, Relaxed).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_passed_is_never_less_than_nothing() {
        assert_eq!(Tick::at(7).since(Tick::at(3)), 4);
        assert_eq!(Tick::at(3).since(Tick::at(7)), 0);
        assert_eq!(Tick::at(u64::MAX).after(9), Tick::at(u64::MAX));
    }

    #[test]
    fn one_of_those_who_ask_renews_it() {
        let tick = AtomicTick::default();
        assert!(tick.renew(Tick::at(1000), 100));
        assert!(!tick.renew(Tick::at(1000), 100));
        assert!(!tick.renew(Tick::at(1099), 100));
        assert!(tick.renew(Tick::at(1100), 100));
    }
}
