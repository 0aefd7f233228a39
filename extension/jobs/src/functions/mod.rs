//! What SQL calls.

mod cancel;
mod enqueue;
mod looking;
mod rights;
mod schedules;

pub use enqueue::{arguments, priority};
pub use schedules::{check_owner, schedule as schedule_of};
