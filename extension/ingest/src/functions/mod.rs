//! What SQL calls. All functions run as their caller.
//!
//! - [`dead_letters`]: sending dead letters once more, and discarding them.
//! - [`lines`]: lines into a queue or a table.
//! - [`producers`]: producers that will not come back.

mod dead_letters;
pub mod lines;
mod producers;
