//! TLS of the gateway's listeners, without sockets and without PostgreSQL.
//!
//! The public face, from what a file has to what goes over a connection:
//! - [`places`]: where certificates are, by the setting, and reading their files.
//! - [`pem`]: the blocks of a file. [`certificate`]: what a certificate says. [`pair`]: a chain and its key.
//! - [`choice`]: which certificate a client gets.
//! - [`terms`]: what a listener wants of its clients, as a configuration of rustls.
//! - [`session`]: one connection: records in, plain bytes out, and the other way round.
//!
//! The cryptography is aws-lc's, the protocol rustls's.

pub mod certificate;
pub mod choice;
pub mod pair;
pub mod pem;
pub mod places;
pub mod session;
pub mod terms;

pub use certificate::Certificate;
pub use choice::Choice;
pub use pair::Pair;
pub use session::{Ending, Session};
pub use terms::{Configuration, Terms, configuration};
