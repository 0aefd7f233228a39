//! What the owner sees of connections for lines and of their listeners.

use std::net::SocketAddr;

pub use super::account::Trouble;
use super::account::{Account, Lines};

/// A listener for lines. All counts are of lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinesReport {
    /// The listener's id.
    pub id: u32,
    /// Whether it accepts no more.
    pub draining: bool,
    /// Lines that came, empty ones included.
    pub received: u64,
    /// Lines that were stored.
    pub stored: u64,
    /// Lines that producers had sent before.
    pub repeated: u64,
    /// Lines that were refused.
    pub rejected: u64,
    /// Those of them that were not kept as dead letters.
    pub dropped: u64,
    /// Connections that were refused.
    pub refused: u64,
    /// Whether nothing can be written now.
    pub is_failing: bool,
    /// The last error.
    pub trouble: Option<Trouble>,
    /// The connections that are open.
    pub connections: Vec<ConnectionReport>,
}

/// A connection for lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionReport {
    /// Its number, which no other connection of the server gets.
    pub id: u64,
    /// Where it comes from; none for a UNIX socket.
    pub remote: Option<SocketAddr>,
    /// Producer and epoch of an acknowledged one.
    pub producer: Option<(String, i32)>,
    /// Lines that came.
    pub received: u64,
    /// Lines that were stored.
    pub stored: u64,
    /// Lines that the producer had sent before.
    pub repeated: u64,
    /// Lines that were refused.
    pub rejected: u64,
    /// Lines whose bucket is not committed yet.
    pub lag: u64,
    /// The last sequence number that is acknowledged.
    pub sequence: i64,
}

impl Lines {
    /// What there is to see now.
    pub(crate) fn report(&self, id: u32, draining: bool) -> LinesReport {
        LinesReport {
            id,
            draining,
            received: self.received.get(),
            stored: self.stored.get(),
            repeated: self.repeated.get(),
            rejected: self.rejected.get(),
            dropped: self.dropped.get(),
            refused: self.refused.get(),
            is_failing: self.is_failing.get(),
            trouble: self.trouble.borrow().clone(),
            connections: self.accounts.borrow().iter().map(|account| account.report()).collect(),
        }
    }
}

impl Account {
    fn report(&self) -> ConnectionReport {
        ConnectionReport {
            id: self.id,
            remote: self.remote,
            producer: self.producer.borrow().clone(),
            received: self.received.get(),
            stored: self.stored.get(),
            repeated: self.repeated.get(),
            rejected: self.rejected.get(),
            lag: self.received.get() - self.settled.get(),
            sequence: self.sequence.get(),
        }
    }
}
