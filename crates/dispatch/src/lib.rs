//! Which request goes next, and how much each route may have.
//!
//! - [`Ticket`]: which request a reply belongs to; [`TicketQueues`] and [`TicketMap`] find by it, as clients leave at any time.
//! - [`FairTurns`]: requests that run where they have come, endpoints taking turns.
//! - [`Waiting`]: requests for which there is no room yet, each gate in a queue of its own.
//! - [`Gates`]: how many executors each route may have.
//! - [`Parked`]: requests whose answer waits for rows ([`Later`]); who of them looks again, and when, is decided by queue.
//!
//! It knows neither sockets nor processes nor PostgreSQL, and asks no clock: who calls says what time it is. What it has to know of
//! others are three traits: [`Arrival`], [`Executors`] and [`Arrivals`].

mod fair_turns;
mod gates;
mod later;
mod line;
mod look;
mod parked;
mod queues;
mod reader;
mod ticket;
mod waiting;

pub use fair_turns::{FairTurns, SLICE, Turn};
pub use gates::{Executors, Gates};
pub use later::Later;
pub use look::Look;
pub use parked::Parked;
pub use queues::{TicketHasher, TicketMap, TicketQueues};
pub use reader::{Arrivals, Ended, PAUSE, Reader, Waited};
pub use ticket::Ticket;
pub use waiting::{REQUEST, Waiter, Waiting};

/// A request that has arrived, as far as that matters for who goes next.
pub trait Arrival {
    /// By which it is found.
    fn ticket(&self) -> Ticket;
    /// Bytes that it has.
    fn bytes(&self) -> usize;
}
