//! TLS of the gateway's listeners, without sockets and without PostgreSQL: from what the setting of certificates says to what goes
//! over a connection. The protocol is rustls's, the cryptography aws-lc's. Files are of people's making, so each error and each
//! warning is a sentence for them.
//!
//! - [`places`]: where certificates are, by the setting, and reading their files.
//! - [`Pair`]: a chain and its key that belong together, and what clients may find wrong with them.
//! - [`Certificate`]: what a certificate says, and which hosts it covers.
//! - [`Choice`]: which certificate a client gets.
//! - [`redirect`]: where a request in clear text is sent, and which challenges of certificates' signers are answered.
//! - [`Authorities`]: who may sign the certificates of clients, and what they have revoked.
//! - [`configuration`]: what a listener wants of its clients, by its [`Terms`].
//! - [`Tickets`]: how a client goes on with an earlier handshake's keys.
//! - [`subject`]: who a client is, by its certificate.
//! - [`complaint`]: why a handshake has failed, for people.
//! - [`Session`]: one connection: records in, plain bytes out, and the other way round. [`Established`]: what its handshake has agreed on.
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

pub mod authorities;
mod blocks;
pub mod certificate;
pub mod choice;
pub mod complaint;
mod der;
pub mod established;
mod files;
mod folders;
pub mod pair;
pub mod pem;
pub mod places;
pub mod redirect;
pub mod session;
pub mod subject;
pub mod terms;
pub mod tickets;

pub use authorities::Authorities;
pub use certificate::{Certificate, KeyKind};
pub use choice::Choice;
pub use established::Established;
pub use pair::Pair;
pub use places::{Found, Place};
pub use session::{Ending, Session};
pub use terms::{Clients, Configuration, Protocol, Terms, configuration};
pub use tickets::Tickets;
