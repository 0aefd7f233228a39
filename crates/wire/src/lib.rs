//! Lines of JSON over a connection: the protocols of `queue.listen`, without sockets and without PostgreSQL.
//!
//! The first line decides. An object whose first key is `$hello` opens the **acknowledged** protocol, in which
//! the server says up to which line all is committed; any other object is **plain**, and the server never
//! writes a byte.
//!
//! - [`opening`]: the first byte and the first line.
//! - [`hello`]: what a client says first, and whether it may go on.
//! - [`cutter`]: cuts lines.
//! - [`bucket`]: collects them until it is full.
//! - [`reply`]: the lines that the server writes.
//! - [`work`]: a bucket, or a hello, on its way to whoever writes it, and the answer.

pub mod bucket;
pub mod cutter;
pub mod hello;
pub mod opening;
pub mod reply;
pub mod work;

pub use bucket::{Bucket, Full, TooLong};
pub use cutter::Cutter;
pub use hello::{Hello, Refusal, Token};
pub use opening::{Decision, Opening};
pub use work::{Answer, Destination, Durability, Failure, Origin, Rejected, Work, Written};
