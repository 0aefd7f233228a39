//! Queues: rows in at one end, out at the other, whatever the backlog. README.md of this crate has the storage, its invariants, the
//! order of locks and what a crash leaves. It knows neither HTTP nor JSON lines, nor who asks.
//!
//! - [`definition`]: a queue by its name, and who may do what.
//! - [`memory`]: the shared memory of queues.
//! - [`segment`]: the tables of a segment; [`opened`]: a relation that is open.
//! - [`ledger`]: reading and writing ledgers.
//! - [`claim`]: choosing rows and claiming them; [`claimed_rows`]: what was chosen; [`look`]: looking for them in a ledger.
//! - [`learn`]: what shared memory does not know, after a restart or when others have written to the ledgers.
//! - [`settle`]: claims on positions that are named.
//! - [`page`], [`rows`]: finding rows by position.
//! - [`layout`]: a queue's row type beside the columns of its tables.
//! - [`shape`]: the columns that values are made for, held until they are stored.
//! - [`dead_letters`]: storing rows that were read too often; [`row_text`]: rows as texts and back.
//! - [`door`]: measuring rows before they are written; [`unfolded`]: how long values are as texts, before any is made;
//!   [`values`]: what both take apart.
//! - [`archive`]: the archive of a queue of messages.
//! - [`append`]: writing rows. An executor that has converted a bucket calls [`append::append`].
//! - [`write_behind`]: pages to the disk, before all of them go at once.
//! - [`producer`]: what a producer has had committed.
//! - [`rotation`]: which segment is written to; [`fullness`]: how full one is.
//! - [`truncation`]: truncating those that are drained; [`candidates`]: which those may be. [`compact`]: truncating a segment of which few rows are left; [`shift`]: moving what stays, if it is much.
//! - [`tidy`]: truncating by a taker's commit; [`upkeep`]: the same for queues that nobody uses.
//! - [`count`]: how many rows there are; [`counted`]: what is taken from the rough numbers again.
//! - [`transactions`]: the server's transactions, as `claims` asks for them; [`savepoints`]: what one has claimed in its
//!   subtransactions.
//! - [`wake`]: who waits for rows; [`bell`]: for any row of many queues.
//! - [`items`]: rows one by one, for who runs them.
//! - [`functions`]: what SQL calls.

pub mod append;
mod archive;
pub mod bell;
mod candidates;
pub mod claim;
pub mod claimed_rows;
mod compact;
pub mod count;
mod counted;
pub mod dead_letters;
pub mod definition;
pub mod door;
mod fullness;
pub mod functions;
pub mod items;
mod layout;
pub mod learn;
mod ledger;
pub mod look;
pub mod memory;
pub mod opened;
pub mod page;
pub mod producer;
mod rotation;
pub mod row_text;
pub mod rows;
mod savepoints;
pub mod segment;
pub mod settle;
pub mod shape;
mod shift;
pub mod tidy;
pub mod transactions;
mod truncation;
pub mod unfolded;
pub mod upkeep;
mod values;
pub mod wake;
mod write_behind;

/// Segments of a queue.
pub(crate) const SEGMENTS: usize = 3;

/// PostgreSQL's clock, in microseconds as `timestamptz` counts them. It is set, also back: how much time has passed [`shared::tick`] tells, and what
/// time it is for a queue [`definition::Definition::time`].
pub fn wall_time() -> i64 {
    // SAFETY: reads the clock.
    unsafe { pgrx::pg_sys::GetCurrentTimestamp() }
}
