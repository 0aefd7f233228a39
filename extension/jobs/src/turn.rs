//! The outcome of a look at all kinds, and having others look.

use std::time::Duration;

use queue::memory::queues;
use shared::shared;

/// The outcome of a look at all kinds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// Something was done.
    Did,
    /// There is nothing to do, perhaps until a time.
    Nothing(Option<Duration>),
}

/// Has an executor of each database look.
pub(crate) fn wake_all() {
    (0..shared().databases.len()).for_each(|database| queues().bell(database).call_one());
}
