//! What the server has done since it began.

use std::cell::Cell;

/// A snapshot of the server's counters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counters {
    /// Connections open now.
    pub open: usize,
    /// Connections accepted.
    pub accepted: u64,
    /// Connections refused because there were too many.
    pub refused: u64,
    /// Failed accepts, such as for want of file descriptors.
    pub accept_errors: u64,
    /// Requests handed to the owner.
    pub requests: u64,
    /// Requests whose client left before the reply.
    pub gone: u64,
    /// Bytes read from clients.
    pub bytes_in: u64,
    /// Bytes written to clients.
    pub bytes_out: u64,
    /// Requests that the gateway answered with an error by itself: status and number, those that occurred.
    pub rejects: Vec<(u16, u64)>,
    /// The listeners, the closed ones included while they have connections.
    pub listeners: Vec<ListenerCounters>,
}

/// What one listener has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenerCounters {
    /// The listener's id.
    pub id: u32,
    /// Connections accepted.
    pub accepted: u64,
    /// Connections open now.
    pub open: usize,
    /// Whether it accepts no more.
    pub draining: bool,
}

/// The counters as the tasks see them.
pub(crate) struct Tally {
    pub accepted: Cell<u64>,
    pub refused: Cell<u64>,
    pub accept_errors: Cell<u64>,
    pub requests: Cell<u64>,
    pub gone: Cell<u64>,
    pub bytes_in: Cell<u64>,
    pub bytes_out: Cell<u64>,
    /// By status, from 400 on.
    rejects: [Cell<u64>; 200],
}

impl Tally {
    pub(crate) fn new() -> Self {
        let zero = || Cell::new(0);
        Self {
            accepted: zero(),
            refused: zero(),
            accept_errors: zero(),
            requests: zero(),
            gone: zero(),
            bytes_in: zero(),
            bytes_out: zero(),
            rejects: [const { Cell::new(0) }; 200],
        }
    }

    pub(crate) fn reject(&self, status: u16) {
        if let Some(count) = self.rejects.get(usize::from(status).wrapping_sub(400)) {
            add(count, 1);
        }
    }

    pub(crate) fn rejects(&self) -> Vec<(u16, u64)> {
        let counts = (400..).zip(self.rejects.iter().map(Cell::get));
        counts.filter(|&(_, count)| count > 0).collect()
    }
}

pub(crate) fn add(count: &Cell<u64>, more: usize) {
    count.set(count.get() + more as u64);
}
