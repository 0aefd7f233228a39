//! Compiled table of routes: a method and a raw request path in, a route's number and the path's
//! parameters out.
//!
//! - [`Router`]: the table, [`Router::insert`] and [`Router::lookup`].
//! - [`takes_part_of`]: whether a pattern would answer paths of another.
//! - [`is_below`]: whether a path lies below a prefix.
//! - `pattern`: reads `/users/{handle}/{*rest}` and says what is wrong with one that it cannot read.
//! - `tree`: segments as a tree of hash tables; the search for the most specific pattern.
//! - `methods`: the methods that one pattern answers, and its `Allow` header.
//! - [`path`]: percent-decoding, and which paths are refused.
//! - [`Params`]: the parameters of a match, decoded when read.
//!
//! # Rules
//!
//! - A segment of a pattern is literal text, or `{name}`, or in the last place `{*name}`. `{name}` takes one
//!   segment that is not empty; `{*name}` takes all that is left, which may be empty.
//! - **The most specific pattern wins**, segment by segment from the left: literal text before `{name}` before
//!   `{*name}`. The path alone decides: a pattern that has won but lacks the method answers 405, and no less
//!   specific pattern is asked.
//! - Paths are split **before** they are decoded: an encoded slash (`%2F`) belongs to its segment, so
//!   `/files/a%2Fb` gives `/files/{name}` the value `a/b`. In the value of `{*rest}` both kinds look alike.
//! - Literal text in a pattern is plain text, not percent-encoded; a path may encode any byte of it.
//! - Nothing is normalised: `/users/` is another path than `/users`, and `.` or `..` is a segment like others.
//! - HEAD is answered by a GET route, OPTIONS by `Allow`, unless a route of their own is registered.
//!
//! ```
//! use router::{Match, Router};
//!
//! let mut router = Router::new();
//! router.insert("GET", "/users/{handle}", 7)?;
//! let Ok(Match::Found(found)) = router.lookup("GET", "/users/j%C3%B6rg") else { panic!("no match") };
//! assert_eq!(found.route, 7);
//! assert_eq!(found.params.get("handle").as_deref(), Some("jörg"));
//! # Ok::<(), router::InsertError>(())
//! ```
//!
//! # Why not a published router
//!
//! matchit and its relatives refuse `/files/{name}` beside `/files/{*rest}`, where this crate knows which is
//! the more specific; they match decoded text, in which an encoded slash is lost; and they allocate from the
//! fourth parameter on. With whole segments only, the tree is small enough to own.

mod insert_error;
mod methods;
mod params;
pub mod path;
mod pattern;
mod prefix;
mod router;
mod shared_paths;
mod tree;

pub use insert_error::InsertError;
pub use params::Params;
pub use path::PathError;
pub use pattern::{checked_parameters, parameters};
pub use prefix::{BadPrefix, check_prefix, is_below, may_be_below};
pub use router::{Found, Match, Router};
pub use shared_paths::{is_answered_by, takes_part_of};
