//! Requests and responses as messages.

mod hunts;
mod request;
mod response;
