//! Lines of JSON: one task for each connection, and one for each stream of buckets.
//!
//! - [`terms`]: what a listener asks and gives.
//! - `account`: what is known of connections and of their listener.
//! - `admission`: who may connect, and who gives way.
//! - `connection`: reads, and decides what the client speaks.
//! - `plain`, `acknowledged`: the two protocols.
//! - `stream`: buckets, one under way, the next filling; `part`: their parts, where lines may have done harm.
//! - [`fair`]: buckets that wait for room, in an order that is fair to streams.
//! - [`shares`]: what each listener has of the executors.
//! - [`report`]: what the owner sees.
//!
//! What a client sends is read only while there is room for it: the bucket that fills, the listener's memory, the
//! client's window. A turn reads a megabyte of lines at most, so that requests do not wait for a flood; and a
//! connection that has had its share of a turn, of a bucket or of the memory goes behind those that wait for theirs, so that
//! a producer that sends little does not wait for one that sends much.

mod account;
mod acknowledged;
mod admission;
mod connection;
pub mod fair;
mod part;
mod plain;
pub mod report;
pub mod shares;
mod stream;
pub mod terms;

pub(crate) use account::Lines;
pub(crate) use admission::{Admission, admits};
pub(crate) use connection::Connection;
