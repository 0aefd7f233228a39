//! Which positions of a queue's segment are free, and where to look for them.
//!
//! - [`block`]: the state of 128 neighbouring positions, from the rows of the ledger about them.
//! - [`watch`]: the cursor of a segment, and the ranges behind it that have to be looked at again.
//! - [`clock`]: the time of a queue.
//! - [`spans`]: lists of ranges of positions.
//! - [`tally`]: what a transaction has counted.
//! - [`times`]: the times that a ledger may have.
//!
//! Knows nothing of PostgreSQL: times are microseconds, transactions are numbers. The extension's
//! `queue/README.md` has the states and invariants.

pub mod block;
pub mod clock;
pub mod spans;
pub mod tally;
pub mod times;
pub mod watch;

pub use block::{Batch, Block, Claim, Rows, State};
pub use clock::Clock;
pub use spans::Span;
pub use times::FOR_GOOD;
pub use watch::{Entry, Outcome, Range, Transactions, Watch};

/// Positions of a block. Whoever asks for one row that was sent alone reads what is known of its block; a batch of
/// a thousand has a row of the ledger for each block.
pub const BLOCK: u64 = 128;

/// The first position of the block that a position is in.
pub fn block_of(position: u64) -> u64 {
    position - position % BLOCK
}
