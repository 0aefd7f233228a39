//! The age of an answer.

use std::time::{Duration, Instant};

/// How old an answer is, and may become.
#[derive(Clone, Copy)]
pub(crate) struct Age {
    /// Before its run.
    pub(super) begun: Instant,
    pub(super) most: Duration,
}

impl Age {
    /// Whether it may be given yet.
    pub(super) fn allows(self, now: Instant) -> bool {
        now.saturating_duration_since(self.begun) <= self.most
    }
}
