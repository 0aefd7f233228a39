//! Tables in shared memory that many processes search and write without locks.
//!
//! - [`databases`]: the databases that are served. [`Lane`]: what their executors are for.
//! - [`workers`]: gateways and executors, from the moment that one is wanted to its end.
//! - [`routes`]: counters of routes and handlers, with a histogram of times.
//! - [`commits`]: what commits have changed.
//! - [`intakes`]: listeners for lines, and the connections that bring them.
//! - [`withdrawals`]: databases that commands need empty.
//! - [`Allowance`]: how much of something may be done for each second.
//! - [`Places`]: entries found by the hash of a key, added by anybody and given back.
//! - [`Ports`]: which database a port belongs to.
//! - [`Secrets`]: secrets that change from period to period.
//! - [`Text`]: a short text as part of an entry. [`Tick`]: a time of a clock that nobody sets.
//!
//! Knows nothing of PostgreSQL: databases are numbers. Nor of a clock: who calls says what time it is. All-zero bytes are the empty state of every table. A process may
//! die between two steps only together with the memory itself; one that ends in order ends outside of these functions.

mod allowance;
pub mod commits;
pub mod databases;
pub mod deployments;
pub mod intakes;
mod lane;
mod places;
mod ports;
mod route_key;
pub mod routes;
mod secrets;
mod text;
mod tick;
pub mod withdrawals;
pub mod workers;

pub use allowance::{Allowance, BURST};
pub use lane::Lane;
pub use places::{Entry, Key, Places, hash};
pub use ports::{Held, PortEntry, Ports, Refused};
pub use secrets::Secrets;
pub use text::Text;
pub use tick::{AtomicTick, Tick};
