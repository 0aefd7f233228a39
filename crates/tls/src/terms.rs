//! What a listener wants of its clients, as a configuration of rustls.

use std::sync::Arc;

use rustls::server::{NoServerSessionStorage, ServerConfig};
use rustls::{Error, crypto};

use crate::choice::Choice;

/// The protocols that HTTP may be spoken by over TLS, the best first.
const HTTP: [&[u8]; 3] = [b"h2", b"http/1.1", b"http/1.0"];

/// What a listener wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Terms {
    /// HTTP, whose version ALPN chooses.
    Http,
    /// Lines of JSON. They get no tickets: a client that writes and closes without reading would answer them with a reset, by which
    /// its last lines are lost.
    Lines,
}

/// The configuration of a listener. It is equal to itself, and to none that was made by another call.
#[derive(Debug, Clone)]
pub struct Configuration(pub(crate) Arc<ServerConfig>);

impl PartialEq for Configuration {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Configuration {}

/// The configuration of a listener that has these certificates.
///
/// # Errors
///
/// Those of rustls.
pub fn configuration(terms: Terms, choice: Arc<Choice>) -> Result<Configuration, Error> {
    let provider = Arc::new(crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(choice);
    config.ignore_client_order = true;
    // What a session has agreed on is kept by the client, in its ticket, or by nobody.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    match terms {
        Terms::Http => config.alpn_protocols = HTTP.map(<[u8]>::to_vec).to_vec(),
        Terms::Lines => config.send_tls13_tickets = 0,
    }
    Ok(Configuration(Arc::new(config)))
}
