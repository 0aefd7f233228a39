//! The functions of schema `http` that are written here.
//!
//! - [`requests`]: the current request and its parts.
//! - [`responses`]: escaping, cookies.
//! - [`intakes`]: what the views on listeners for lines show.
//! - [`registering`]: routes and query handlers; [`listening`]: ports.
//! - [`configuration`]: what a change of the configuration sets off.
//! - [`roles`]: the roles that configuration names cannot be dropped.

pub mod configuration;
pub mod intakes;
pub mod listening;
pub mod registering;
pub mod requests;
pub mod responses;
pub mod roles;
