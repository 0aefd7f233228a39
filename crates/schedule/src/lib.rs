//! When jobs run. Knows neither PostgreSQL nor a clock: who calls says what time it is, and brings chance.
//!
//! - [`Backoff`]: how long a job waits after it has failed.
//! - [`Rate`]: how many of a kind may begin in a time.
//! - [`suspects`]: whom a crash is charged to.
//! - [`Priority`] and [`Turns`]: which priority comes first, so that the lowest does not starve.

mod backoff;
mod rate;
pub mod suspects;
mod turns;

pub use backoff::Backoff;
pub use rate::{PLACES, Rate, Starts};
pub use turns::{Priority, Turns};
