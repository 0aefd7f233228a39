//! What the tests in tests/ share: a platform of their own, and an HTTP client that sends what it is told.
//!
//! - [`platform`]: a cluster that serves one database.
//! - [`bounds`]: how quick things are, where time is measured.
//! - [`client`]: connections that speak HTTP/1.1 and hide nothing.
//! - [`pooler`]: sessions that many share; [`pipeline`]: statements between two Syncs.
//! - [`queues`]: a cluster with queues; [`crashes`]: work during which it is killed.
//! - [`shippers`]: connections that bring lines.
//! - [`standbys`]: servers that follow one.
//! - [`templates`]: what the clusters of tests are copies of.
//! - [`traps`]: a role that wants more rights.
//! - [`abilities`]: what this PostgreSQL was built with.
//! - [`http2`]: connections that speak HTTP/2.
//! - [`https`]: a cluster with certificates; [`link`]: a network that can be cut.
//! - [`memory_faults`]: a process without memory.

pub mod abilities;
pub mod application;
#[path = "../timing/bounds.rs"]
pub mod bounds;
pub mod client;
pub mod crashes;
pub mod http2;
pub mod https;
pub mod link;
pub mod memory_faults;
pub mod moved_clock;
pub mod pipeline;
pub mod platform;
pub mod pooler;
pub mod queues;
pub mod shippers;
pub mod stalls;
pub mod standbys;
pub mod templates;
pub mod traps;

pub use client::{Connection, Reply};
pub use http2::Http2;
pub use memory_faults::MemoryFaults;
pub use platform::{DATABASE, Platform, command, free_port, wait_for};
pub use stalls::Stalls;
