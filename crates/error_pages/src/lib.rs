//! Errors as pages: a browser that asks for a page gets one in the place of the problem document.
//!
//! - [`PageWish`]: whether a request is answered so.
//! - [`ErrorPages`]: the pages of a database; [`ErrorPages::response`] makes a response with a page of one with a document.
//! - [`PageTemplate`]: a page that is whole but for three values. It is made once, when it is deployed, and sent without anything being run.
//! - [`marks`]: how it is made of what a function returns.
//! - [`statuses`]: for which errors a file stands.
//! - `built_in`: the page where no other is.
//!
//! All of it works on bytes in memory: it knows neither sockets nor PostgreSQL.
//!
//! ```
//! use error_pages::{ErrorPages, PageWish};
//! use message::{RequestBuilder, RequestLine, Response};
//! use problem::Problem;
//!
//! let line = RequestLine { method: "GET", raw_path: "/none", path: "/none", ..RequestLine::default() };
//! let mut request = RequestBuilder::new(&line, 1, 15);
//! request.header(b"accept", b"text/html");
//! let wish = PageWish::of_message(&request.finish(b"")).unwrap();
//!
//! let document = Problem::new(404, "there is nothing at /none").write(Vec::new(), "an-id");
//! let page = ErrorPages::default().response(&document, &wish).unwrap();
//! let page = Response::parse(&page)?;
//! assert_eq!(page.status(), 404);
//! assert!(page.body().starts_with(b"<!doctype html>"));
//! # Ok::<(), message::Malformed>(())
//! ```

mod built_in;
pub mod marks;
mod pages;
pub mod statuses;
mod template;
mod wish;

pub use pages::ErrorPages;
pub use template::{BadPieces, PageHole, PageTemplate, PageValues};
pub use wish::PageWish;
