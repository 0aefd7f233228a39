//! A request whose answer waits for rows, and what it asks of queues.

use std::time::{Duration, Instant};

use crate::look::Look;

/// The queues in which rows come, by their numbers.
pub trait Arrivals {
    /// Rows of a queue that may have become free so far.
    fn arrivals(&self, queue: u32) -> u64;
    /// Has this process woken by the next change of a queue; whether that is new. Look at the arrivals and times afterwards:
    /// whoever changes them looks at those who are to be woken afterwards, so one of the two sees the other.
    fn call(&self, queue: u32) -> bool;
    /// In what time a row of a queue may become free by itself, if any may; none while that cannot be found out.
    fn next_free(&self, queue: u32) -> Option<Option<Duration>>;
}

/// A request that waits for rows.
#[derive(Debug)]
pub struct Reader<A> {
    /// To be run again.
    pub arrived: A,
    /// Its gate in the exchange.
    pub gate: u32,
    /// The answer if no rows come.
    pub answer: Vec<u8>,
    /// When that is sent.
    pub until: Instant,
    /// Since when it waits, this time.
    pub since: Instant,
}

/// The times and the look that a request takes with it when it runs again.
#[derive(Debug)]
pub struct Waited {
    /// When it is answered at last.
    pub until: Instant,
    /// If others of its queue stand back while it looks.
    pub look: Option<Look>,
    /// The queue's arrivals before it was sent to look again.
    pub arrivals: u64,
}

/// The end of a request's wait.
#[derive(Debug)]
pub enum Ended<A> {
    /// There may be rows.
    Again(Reader<A>, Waited),
    /// The time is over.
    Answered(Reader<A>),
}

/// Between two looks at the times: no request is late by more.
pub const PAUSE: Duration = Duration::from_millis(5);
