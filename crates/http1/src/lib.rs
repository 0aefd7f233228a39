//! HTTP/1.1 as a server reads and writes it (RFC 9112), without sockets.
//!
//! The grammar of a head is httparse's. This crate adds what a server has to decide around it: limits, framing,
//! which requests are answered with an error, and when a connection lives on. Everything that could be read in
//! two ways is refused, because a proxy in front may have read it the other way.
//!
//! - [`scan`]: finds the end of a head that arrives in pieces, reading each byte once.
//! - [`head`]: reads a whole head: [`Head`].
//! - [`fields`]: what Host, Content-Length, Transfer-Encoding, Connection and Expect say together.
//! - [`target`]: the request target: its four forms, path and query.
//! - [`chunked`]: takes the chunked coding off a body.
//! - [`response`]: writes a response's head.
//! - [`reason`]: the reason phrases.
//! - [`date`]: the Date header, written once per second.
//! - [`reject`]: a request that is answered with an error: [`Reject`].
//! - [`limits`]: how large a request may be: [`Limits`].
//!
//! ```
//! use http1::{Framing, Head, HeaderSlots, Limits, Scanner};
//!
//! let bytes = b"GET /a%20b?c HTTP/1.1\r\nHost: example.org\r\n\r\n";
//! let limits = Limits::default();
//! let end = Scanner::default().scan(bytes, &limits)?.expect("a whole head");
//! let mut slots = HeaderSlots::new();
//! let head = Head::parse(&bytes[..end], &mut slots, &limits)?;
//! assert_eq!((head.method, &*head.target.path, head.target.query), ("GET", "/a b", "c"));
//! assert_eq!(head.framing, Framing::Length(0));
//! # Ok::<(), http1::Reject>(())
//! ```

pub mod chunked;
pub mod date;
pub mod fields;
pub mod head;
pub mod limits;
pub mod reason;
pub mod reject;
pub mod response;
pub mod scan;
pub mod target;

pub use chunked::Chunked;
pub use date::DateCache;
pub use fields::{Framing, check_expectation};
pub use head::{Head, HeaderSlots};
pub use limits::Limits;
pub use reject::Reject;
pub use response::{Persistence, ResponseHead};
pub use scan::Scanner;
pub use target::Target;

/// What a client that asks with `Expect: 100-continue` waits for.
pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
