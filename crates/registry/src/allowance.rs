//! How much of something may be done for each second, by all processes together; what is too much is counted.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One allowance. All-zero bytes are one of which nothing has been used.
///
/// It is a token bucket in one word: the time until which what was done has used the allowance up. What is done moves it
/// on; where it is too far ahead of the clock, the bucket is empty.
#[derive(Default, Debug)]
#[repr(C)]
pub struct Allowance {
    used_until: AtomicU64,
    done: AtomicU64,
    left_out: AtomicU64,
    /// Of those, how many nobody has been told of yet.
    untold: AtomicU64,
    /// When the first of them was left out.
    untold_since: AtomicU64,
}

/// Seconds whose allowance may be used at once.
pub const BURST: u64 = 10;

impl Allowance {
    /// Uses a part of the allowance of `rate` for each second at the time `now`, in microseconds; without a rate all is
    /// allowed. False, and counted, if there is none left.
    pub fn take(&self, rate: Option<u32>, now: u64) -> bool {
        let allowed = rate.is_none_or(|rate| self.has_room(rate, now));
        if allowed {
            self.done.fetch_add(1, Relaxed);
        } else {
            self.left_out.fetch_add(1, Relaxed);
            if self.untold.fetch_add(1, Relaxed) == 0 {
                self.untold_since.store(now, Relaxed);
            }
        }
        allowed
    }

    fn has_room(&self, rate: u32, now: u64) -> bool {
        if rate == 0 {
            return false;
        }
        let each = 1_000_000 / u64::from(rate).min(1_000_000);
        let latest = now + BURST * 1_000_000;
        let moved = self.used_until.fetch_update(Relaxed, Relaxed, |until| {
            let next = until.max(now) + each;
            (next <= latest).then_some(next)
        });
        moved.is_ok()
    }

    /// How many were left out, once for each of them, when the first is `after` microseconds ago; 0 otherwise.
    pub fn take_untold(&self, after: u64, now: u64) -> u64 {
        let waits = self.untold.load(Relaxed) == 0 || self.untold_since.load(Relaxed) + after > now;
        if waits { 0 } else { self.untold.swap(0, Relaxed) }
    }

    /// How many were done.
    pub fn done(&self) -> u64 {
        self.done.load(Relaxed)
    }

    /// How many were left out.
    pub fn left_out(&self) -> u64 {
        self.left_out.load(Relaxed)
    }

    /// Makes it as it was at its beginning.
    pub fn forget(&self) {
        let all = [&self.used_until, &self.done, &self.left_out, &self.untold, &self.untold_since];
        all.into_iter().for_each(|word| word.store(0, Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    #[test]
    fn a_burst_is_allowed_and_then_the_rate() {
        let allowance = Allowance::default();
        let now = 7 * SECOND;
        let taken = (0..1000).filter(|_| allowance.take(Some(5), now)).count();
        assert_eq!(taken as u64, 5 * BURST);
        assert_eq!((allowance.done(), allowance.left_out()), (50, 950));
        let later: usize = (1..=100).filter(|step| allowance.take(Some(5), now + step * SECOND / 10)).count();
        assert_eq!(later, 50, "ten seconds bring five each");
        assert_eq!(
            (0..1000).filter(|_| allowance.take(Some(5), 1000 * SECOND)).count(),
            50,
            "no more is saved up"
        );
    }

    #[test]
    fn no_rate_allows_all_and_a_rate_of_zero_nothing() {
        let allowance = Allowance::default();
        assert!((0..1000).all(|_| allowance.take(None, 1)));
        assert!((0..1000).all(|_| !allowance.take(Some(0), 1)));
        assert!(allowance.take(Some(u32::MAX), 1));
    }

    #[test]
    fn what_was_left_out_is_told_once_when_its_time_has_come() {
        let allowance = Allowance::default();
        assert_eq!(allowance.take_untold(0, SECOND), 0);
        (0..3).for_each(|_| assert!(!allowance.take(Some(0), SECOND)));
        assert_eq!(allowance.take_untold(10 * SECOND, 5 * SECOND), 0);
        assert_eq!(allowance.take_untold(10 * SECOND, 11 * SECOND), 3);
        assert_eq!(allowance.take_untold(10 * SECOND, 99 * SECOND), 0);
    }
}
