//! The time of a queue: the server's clock, but it never goes back.

/// The time of the latest claim, and when that was by a clock that nobody sets, in microseconds. All-zero bytes: there was none.
///
/// Where the server's clock is set back, by however much, the time of the queue goes on from the latest claim as time passes: leases end when they
/// were to, and a later claim is later.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Clock {
    latest: i64,
    noted: u64,
}

impl Clock {
    /// The time, where the server's clock shows `wall`, and the other `tick`.
    pub fn time(&self, wall: i64, tick: u64) -> i64 {
        if *self == Clock::default() {
            return wall;
        }
        let passed = i64::try_from(tick.saturating_sub(self.noted)).unwrap_or(i64::MAX);
        wall.max(self.latest.saturating_add(passed.max(1)))
    }

    /// Something was claimed at a time of the queue.
    pub fn note(&mut self, time: i64, tick: u64) {
        *self = Clock { latest: time, noted: tick };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000_000;
    const YEAR: i64 = 366 * 24 * HOUR;

    /// Claims once a second, and each time a moment later; the clock is set by so much after the fifth.
    fn times(set_by: i64) -> Vec<i64> {
        let mut clock = Clock::default();
        let at = |second: i64| {
            let wall = 2 * YEAR + second * 1_000_000 + if second < 5 { 0 } else { set_by };
            let tick = 77 + second as u64 * 1_000_000;
            let first = clock.time(wall, tick);
            clock.note(first, tick);
            let second = clock.time(wall, tick);
            clock.note(second, tick);
            [first, second]
        };
        (0..10).flat_map(at).collect()
    }

    #[test]
    fn a_later_claim_is_later_and_a_lease_ends_when_it_was_to_whatever_the_clock_does() {
        for set_by in [0, -10_000_000, -HOUR, -YEAR, HOUR, YEAR] {
            let times = times(set_by);
            assert!(times.is_sorted_by(|one, other| one < other), "{set_by}: {times:?}");
            let passed = times[18] - times[8];
            let told = 5_000_000 + set_by.max(0);
            assert!((told..told + 100).contains(&passed), "{set_by}: {passed}");
        }
    }

    #[test]
    fn it_is_the_servers_clock_again_once_that_has_caught_up() {
        let mut clock = Clock::default();
        clock.note(1000, 5);
        assert_eq!(clock.time(900, 15), 1010);
        assert_eq!(clock.time(2000, 25), 2000);
    }

    #[test]
    fn one_that_has_seen_no_claim_is_the_servers() {
        assert_eq!(Clock::default().time(-5, 9_000_000), -5);
    }
}
