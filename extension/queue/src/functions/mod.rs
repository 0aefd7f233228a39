//! What SQL calls. All functions run as their caller: rights are checked against who calls, then native code reads and
//! writes the tables, which nobody else may.
//!
//! - [`definitions`]: create, drop, rights.
//! - [`typed`]: put, take, peek, read of typed rows.
//! - [`messages`]: send, read, pop and so on of messages.
//! - [`settled`]: ack, nack, and what counts and tidies.
//! - [`events`]: event triggers; [`parts`]: what a row type is made of.

pub mod definitions;
pub mod events;
pub mod messages;
mod parts;
mod settled;
pub mod typed;
