//! Answers by a content coding: which may be packed, and what such a one says. Knows neither connections nor PostgreSQL.
//!
//! - [`Wish`]: the form in which the answer to a request leaves.
//! - [`packed`]: an answer by a coding. Its entity tag is another than that of the plain one; [`plain_tag`] is that.
//! - [`known_as`]: a 304 that says the tag which its client knows.
//! - [`unpacked`]: a request whose body was packed, as if it had not been.
//!
//! ```
//! use codings::{Coding, Packer};
//! use message::{Request, RequestBuilder, RequestLine, Response, ResponseBuilder};
//! use packing::{Wish, packed, wish};
//!
//! let line = RequestLine { method: "GET", raw_path: "/rows", path: "/rows", ..RequestLine::default() };
//! let mut request = RequestBuilder::new(&line, 1, 30);
//! request.header(b"accept-encoding", b"gzip, br");
//! let request = request.finish(b"");
//!
//! let mut plain = ResponseBuilder::new(200)?;
//! plain.header("content-type", "application/json")?;
//! plain.header("etag", "\"x\"")?;
//! let plain = plain.finish("[1,2]".repeat(1000).as_bytes());
//!
//! let Wish::Packed(coding) = wish(&Request::parse(&request)?, &Response::parse(&plain)?) else { panic!() };
//! let response = packed(&plain, coding, &mut Packer::default(), Vec::new()).unwrap();
//! let response = Response::parse(&response)?;
//! assert!(response.body().len() < 500);
//! assert!(response.headers().any(|header| header == (b"etag", format!("\"x-{}\"", coding.name()).as_bytes())));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod body;
mod tags;
mod wish;

pub use answer::packed;
pub use body::{Unread, is_packed, unpacked};
pub use tags::{known_as, plain_tag};
pub use wish::{LEAST, Wish, accepted_coding, gains, has_strong_tag, headers_gain, wish};
