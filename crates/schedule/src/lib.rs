//! When jobs run. Knows neither PostgreSQL nor a clock: who calls says what time it is, and brings chance.
//!
//! - [`Backoff`]: how long a job waits after it has failed.
//! - [`retry_detail`], [`retry_after`]: when a job asks to be run again.
//! - [`Rate`]: how many of a kind may begin in a time.
//! - [`allowed`]: how many of a kind may run at the same time.
//! - [`Rhythm`]: when a schedule is due, by a [`Cron`] expression or every so often, in a [`Zone`]; [`CatchUp`]: what becomes of due times that were missed.
//! - [`suspects`]: whom a crash is charged to.
//! - [`Priority`] and [`Turns`]: which priority comes first, so that the lowest does not starve.

mod backoff;
mod cron;
mod missed;
mod rate;
mod retry;
mod rhythm;
mod room;
pub mod suspects;
mod turns;

pub use backoff::Backoff;
pub use cron::{Cron, Unfit};
pub use missed::{CatchUp, Look, MOST, Missed};
pub use rate::{PLACES, Rate, Starts};
pub use retry::{retry_after, retry_detail};
pub use rhythm::{Rhythm, Zone, shown};
pub use room::{allowed, is_kept_for_others};
pub use turns::{Priority, Turns};
