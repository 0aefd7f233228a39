//! The processes of the platform. This crate alone has event loops, timers and the main functions of processes; SQL functions are not
//! here.
//!
//! - [`worker`]: what gateways and executors have in common; [`connection`]: the database, the role, the extension of one.
//! - [`gateway`]: the event loop and SQL in one process.
//! - [`executor`]: takes requests and buckets of lines, one at a time.
//! - [`supervisor`]: starts, sizes and restarts the others.
//! - [`listener`], [`intake`]: the listeners for HTTP and for lines that SQL asks for.

mod connection;
pub mod executor;
pub mod gateway;
mod intake;
pub mod listener;
pub mod supervisor;
pub mod worker;
