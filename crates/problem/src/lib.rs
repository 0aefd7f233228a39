//! Errors as answers.
//!
//! - [`Meaning`]: what an SQLSTATE means, in one table: the status of the answer, whose fault it is, whether another try may help.
//! - [`withheld`]: values that no message shows.
//! - [`Problem`]: an error that is answered; [`Problem::write`] makes the response, a problem document (RFC 9457).
//!
//! It knows neither PostgreSQL nor sockets: whoever has an error says what PostgreSQL says of it ([`Raised`]).
//!
//! ```
//! use problem::{Access, Problem, Raised};
//!
//! let raised = Raised { sqlstate: *b"23505", message: "duplicate key", detail: None, hint: None };
//! let problem = Problem::of_error(raised, Access::ReadWrite, false, false);
//! assert_eq!(problem.status, 409);
//! let response = problem.write(Vec::new(), "an-id");
//! let response = message::Response::parse(&response)?;
//! assert!(response.body().starts_with(br#"{"detail":"duplicate key","request_id":"an-id""#));
//! # Ok::<(), message::Malformed>(())
//! ```

mod document;
mod meaning;
pub mod withheld;

pub use document::{Access, CODINGS, ParameterError, Problem, ProblemKind, Raised, UNCONFIRMED, Wording};
pub use meaning::Meaning;
