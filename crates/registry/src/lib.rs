//! Tables in shared memory that many processes search and write without locks.
//!
//! - [`Allowance`]: how much of something may be done for each second.
//! - [`Places`]: entries found by the hash of a key, added by anybody and given back.
//! - [`Ports`]: which database a port belongs to.
//! - [`Secrets`]: secrets that change from period to period.
//! - [`Text`]: a short text as part of an entry.
//!
//! Knows nothing of PostgreSQL: databases are numbers. All-zero bytes are the empty state of every table. A process may
//! die between two steps only together with the memory itself; one that ends in order ends outside of these functions.

mod allowance;
mod places;
mod ports;
mod secrets;
mod text;

pub use allowance::{Allowance, BURST};
pub use places::{Entry, Key, Places, hash};
pub use ports::{Held, PortEntry, Ports, Refused};
pub use secrets::Secrets;
pub use text::Text;
