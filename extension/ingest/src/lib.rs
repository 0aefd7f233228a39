//! Lines of JSON into queues and tables: what an executor does with a bucket. This crate knows neither connections nor listeners: it
//! gets a bucket and a target.
//!
//! - [`target`]: where lines go; made anew for each bucket.
//! - [`columns`]: keys to columns; [`convert`], with [`moment`] and [`decimal`]: values to data by parsers of our own;
//!   [`input`]: by the types' own.
//! - [`bucket`]: a bucket, and what became of it; [`read`]: its lines, read: rows, and lines that are refused.
//! - [`write`](mod@write): all of it together.
//! - [`arena`]: the memory of a bucket's values; [`scratch`]: of what a conversion needs meanwhile; [`size`]: how large a row is as text.
//! - [`store`]: writing rows; those that the target refuses are found by halving.
//! - [`table`]: tables as targets; [`copy`] with [`mod@encode`], and [`insert`]: the two ways into them.
//! - [`progress`]: what producers have had committed in tables.
//! - [`blame`]: whose fault an error is.
//! - [`letters`]: lines that were refused, and dead letters.
//! - [`functions`]: what SQL calls.

mod arena;
pub mod blame;
pub mod bucket;
pub mod columns;
mod convert;
pub mod copy;
mod defaults;
mod encode;
pub mod functions;
pub mod input;
pub mod insert;
mod letters;
pub mod progress;
mod read;
pub mod scratch;
mod size;
pub mod store;
pub mod table;
pub mod target;
mod write;

pub use bucket::{Bucket, Keep, Rejected, Sender, Written};
pub use target::Target;
pub(crate) use write::write_again;
pub use write::{write, write_in_parts};
