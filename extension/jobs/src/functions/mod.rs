//! What SQL calls.

mod cancel;
mod enqueue;
mod looking;
mod rights;

pub(crate) use cancel::database;
pub use enqueue::priority;
