//! TLS of the gateway's listeners, without sockets and without PostgreSQL: from what the setting of certificates says to what goes
//! over a connection. The protocol is rustls's, the cryptography aws-lc's. Files are of people's making, so each error and each
//! warning is a sentence for them.
//!
//! - [`places`]: where certificates are, by the setting, and reading their files.
//! - [`Pair`]: a chain and its key that belong together, and what clients may find wrong with them.
//! - [`Certificate`]: what a certificate says, and which hosts it covers.
//! - [`Choice`]: which certificate a client gets.
//! - [`redirect`]: where a request in clear text is sent, and which challenges of certificates' signers are answered.
//! - [`configuration`]: what a listener wants of its clients, by its [`Terms`].
//! - [`Session`]: one connection: records in, plain bytes out, and the other way round.
//!
//! Inside, from the bottom to the top:
//!
//! - `der`: values in DER, as much as tells kinds of files apart.
//! - `blocks`: the blocks of a PEM file.
//! - [`pem`]: the certificates and the key that they are.
//! - `files`, `folders`: reading files, and where they lie in folders.
//!
//! Nothing that reads bytes panics on any input, and all of it is bounded: files to a megabyte, chains to 32 certificates, folders
//! to a thousand.

mod blocks;
pub mod certificate;
pub mod choice;
mod der;
mod files;
mod folders;
pub mod pair;
pub mod pem;
pub mod places;
pub mod redirect;
pub mod session;
pub mod terms;

pub use certificate::{Certificate, KeyKind};
pub use choice::Choice;
pub use pair::Pair;
pub use places::{Found, Place};
pub use session::{Ending, Session};
pub use terms::{Configuration, Terms, configuration};
