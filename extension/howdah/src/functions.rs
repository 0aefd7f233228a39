//! The functions of schema `http`, and those of queues that know HTTP or listeners.
//!
//! - [`requests`]: the current request and its parts.
//! - [`responses`]: escaping, cookies.
//! - [`intakes`]: what the views on listeners for lines show.
//! - [`registering`]: routes and query handlers; [`listening`]: ports.
//! - [`configuration`]: what a change of the configuration sets off.
//! - [`queue_answers`]: rows of queues as JSON for answers over HTTP; [`queue_http`]: what else queues need for HTTP beside SQL.
//! - [`queue_listen`]: listeners for lines.
//! - [`roles`]: the roles that configuration names cannot be dropped.

pub mod configuration;
pub mod intakes;
pub mod listening;
pub mod queue_answers;
pub mod queue_http;
pub mod queue_listen;
pub mod registering;
pub mod requests;
pub mod responses;
pub mod roles;
