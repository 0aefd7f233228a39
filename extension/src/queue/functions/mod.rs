//! What SQL calls. All functions run as their caller: rights are checked against who calls, then native code reads and
//! writes the tables, which nobody else may.
//!
//! - [`definitions`]: create, drop, rights.
//! - [`typed`]: put, take, peek, read of typed rows.
//! - [`messages`]: send, read, pop and so on of messages.
//! - [`settled`]: ack, nack, and what counts and tidies.
//! - [`dead`]: dead letters.
//! - [`producers`]: producers that will not come back.
//! - [`answers`]: rows as JSON for the HTTP door; [`doors`]: what else it needs beside SQL.
//! - [`listeners`]: listeners for lines.
//! - [`events`]: event triggers; [`parts`]: what a row type is made of.

pub mod answers;
pub mod dead;
pub mod definitions;
pub mod doors;
pub mod events;
pub mod listeners;
pub mod messages;
pub mod parts;
pub mod producers;
pub mod settled;
pub mod typed;
