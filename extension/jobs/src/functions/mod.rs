//! What SQL calls.

mod enqueue;
mod looking;
mod rights;

pub use enqueue::priority;
