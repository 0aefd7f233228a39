//! Sends files of lines into a queue of a Howdah server by the acknowledged protocol: each line exactly once,
//! whichever side dies meanwhile.
//!
//! - [`Source`]: files and the standard input, compressed or not, as blocks of whole lines (`block`).
//! - `producer`: the names by which the queue may remember how far these files are.
//! - [`protocol`]: what the two sides say to each other.
//! - `connection`: one connection, from the hello on.
//! - `outstanding`: what is sent and not acknowledged, which is kept to be sent again.
//! - [`load`] (`delivery`): all of it together, with as many connections as it takes.
//!
//! The sequence of a line is its number in all files together, from 1, and the server says with each hello which
//! was the last that it has: the loader skips as many. Reading, sending and hearing acknowledgements are a thread
//! each. Lines are counted, never looked into.

mod block;
mod connection;
mod delivery;
mod error;
mod outstanding;
mod producer;
pub mod protocol;
mod source;

pub use delivery::{Event, Options, Summary, load};
pub use error::Error;
pub use producer::producer_names;
pub use protocol::Rejected;
pub use source::Source;
