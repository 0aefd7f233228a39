//! The functions of schema `http`, and those of queues that know HTTP or listeners.
//!
//! - [`requests`]: the current request and its parts.
//! - [`responses`]: escaping, cookies. [`cookies`]: signed ones, and messages for the next page. [`html`]: HTML of values, and URLs.
//! - [`downloads`]: files that users have sent.
//! - [`intakes`]: what the views on listeners for lines show.
//! - [`job_kinds`]: kinds of jobs.
//! - [`calling`]: a request in the caller's transaction.
//! - [`registering`]: routes and pages; [`handlers`]: query handlers; [`guarding`]: guards; [`error_pages`] and [`files`]: where those of an application answer; [`caching`]: routes whose answers are kept; [`listening`]: ports.
//! - [`changes`]: what commits have changed.
//! - [`configuration`]: what a change of the configuration sets off.
//! - [`queue_answers`]: rows of queues as JSON for answers over HTTP; [`queue_http`]: what else queues need for HTTP beside SQL.
//! - [`queue_listen`]: listeners for lines.
//! - [`roles`]: the roles that configuration names cannot be dropped.
//! - [`unready`]: routes that requests would find broken.

mod caching;
mod calling;
mod changes;
pub(crate) mod configuration;
mod cookies;
mod downloads;
mod error_pages;
mod files;
mod forms;
mod guarding;
mod handlers;
mod html;
mod intakes;
mod job_kinds;
mod listening;
mod queue_answers;
mod queue_http;
mod queue_listen;
mod registering;
mod requests;
mod responses;
mod roles;
mod schedules;
mod unready;
