//! How long a job waits after it has failed.

/// It waits twice as long after each attempt, up to a limit, and up to a quarter more or less by chance: jobs that have failed
/// together do not come again together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Backoff {
    /// After the first attempt, in microseconds.
    pub first: i64,
    /// At most, in microseconds.
    pub longest: i64,
}

impl Backoff {
    /// How many microseconds the job waits after this attempt, the first being 1. `chance` is any number, all being as likely.
    pub fn after(self, attempt: u32, chance: u32) -> i64 {
        let doublings = attempt.saturating_sub(1).min(62);
        let doubled = i128::from(self.first.max(0)) << doublings;
        let wait = doubled.min(i128::from(self.longest.max(0)));
        // From three quarters to five quarters.
        let spread = wait / 2 * i128::from(chance) / i128::from(u32::MAX);
        (wait - wait / 4 + spread).clamp(0, i128::from(i64::MAX)) as i64
    }
}
