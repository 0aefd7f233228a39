//! The text formats that come with requests and go with responses. All work on bytes that are in memory as a
//! whole, all of them bounded by their caller; none panics on any input.
//!
//! - [`body`]: a form's body of either encoding as a list of [`Field`]s.
//! - [`urlencoded`]: query strings and `application/x-www-form-urlencoded`.
//! - [`multipart`]: `multipart/form-data`, files included.
//! - [`ContentType`]: media type, charset and boundary of a `Content-Type` header.
//! - [`cookie`]: reading `Cookie`, making `Set-Cookie`. [`signed_cookie`]: values that nobody else can have made. [`flash`]: a message for the next page.
//! - [`TrustedProxies`]: the client's address behind proxies.
//! - [`accept`]: whether a client prefers HTML to JSON.
//! - [`site`]: whether a page of another site has sent a request.
//! - [`escape`]: text into HTML.
//!
//! Text must be UTF-8 without NUL, because PostgreSQL's text can hold nothing else. What is not is an error
//! that names its field, never a replacement character.

pub mod accept;
pub mod body;
mod content_type;
pub mod cookie;
mod error;
pub mod escape;
mod field;
pub mod flash;
pub mod location;
pub mod multipart;
mod parameters;
mod proxies;
pub mod signed_cookie;
pub mod site;
pub mod urlencoded;

pub use content_type::ContentType;
pub use error::FormError;
pub use field::{Field, File, Value};
pub use proxies::{ProxyListError, TrustedProxies};
