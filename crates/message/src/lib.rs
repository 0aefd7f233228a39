//! The byte layout in which a request and its response travel between gateway and executor.
//!
//! A message is one `Vec<u8>`, so that it can be copied through shared memory in one piece. Reading one is a
//! check of all bounds, once, and then a view that borrows: no allocation, and no bytes whatever make it panic
//! or read out of range.
//!
//! - [`request`]: [`RequestBuilder`] writes a request, [`Request`] reads it.
//! - [`response`]: [`ResponseBuilder`] writes a response and refuses what would break the protocol,
//!   [`Response`] reads it.
//! - [`header`]: which header names and values are allowed, and which belong to the connection alone.
//! - [`id`]: the id of a request, taken from X-Request-Id or made.
//! - [`is_personal`], [`may_want_page`], [`glance`]: what is asked of a request's message without reading it.
//! - [`layout`]: reading and writing of the little-endian numbers that the heads consist of.
//!
//! ```
//! use message::{Request, RequestBuilder, RequestLine, Response, ResponseBuilder};
//!
//! let line = RequestLine { method: "GET", raw_path: "/users/j%20d", path: "/users/j d", ..Default::default() };
//! let mut builder = RequestBuilder::new(&line, 1, 15);
//! builder.header(b"Accept", b"text/html");
//! let bytes = builder.finish(b"");
//! let request = Request::parse(&bytes)?;
//! assert_eq!((request.path(), request.header("accept")), ("/users/j d", Some("text/html")));
//!
//! let mut builder = ResponseBuilder::new(200)?;
//! builder.header("Content-Type", "text/plain")?;
//! let bytes = builder.finish(b"hello");
//! assert_eq!(Response::parse(&bytes)?.body(), b"hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod glance;
pub mod header;
pub mod id;
mod layout;
pub mod request;
pub mod response;
mod said;

pub use layout::Malformed;
pub use request::{Request, RequestBuilder, RequestLine, Scheme, Version};
pub use response::{Response, ResponseBuilder, set_status, vary_by, with_header};
pub use said::{is_personal, may_want_page};
