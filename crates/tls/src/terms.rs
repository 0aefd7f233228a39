//! What a listener wants of its clients, as a configuration of rustls.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::server::{NoClientAuth, NoServerSessionStorage, ServerConfig};
use rustls::{CipherSuite, Error, SupportedCipherSuite, crypto};

use crate::authorities::Authorities;
use crate::choice::Choice;
use crate::tickets::Tickets;

/// The protocols that HTTP may be spoken by over TLS, the best first.
const HTTP: [&[u8]; 3] = [b"h2", b"http/1.1", b"http/1.0"];

/// What is spoken over TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// HTTP, whose version ALPN chooses.
    Http,
    /// Lines of JSON. They get no tickets: a client that writes and closes without reading would answer them with a reset, by which
    /// its last lines are lost.
    Lines,
}

/// What is asked of clients about themselves.
#[derive(Debug, Clone, Default)]
pub enum Clients {
    /// Nothing.
    #[default]
    Anybody,
    /// A certificate that one of these has signed, if they have one. One that is not valid ends the handshake.
    Asked(Arc<Authorities>),
    /// Such a certificate, in any case.
    Certified(Arc<Authorities>),
}

/// What a listener wants.
#[derive(Debug, Clone)]
pub struct Terms {
    /// What is spoken.
    pub protocol: Protocol,
    /// What is asked of clients about themselves.
    pub clients: Clients,
    /// Whether requests for a host that the connection's certificate does not cover are refused. Where clients are asked for
    /// certificates they always are: another host may have other rules.
    pub strict_host: bool,
    /// What browsers are told by Strict-Transport-Security.
    pub hsts: Option<Arc<str>>,
    /// What tickets are made with, if there are any. Clients that are asked for certificates get none: a ticket would prove for hours
    /// who they were, whatever becomes of their certificate.
    pub tickets: Option<Tickets>,
}

impl Terms {
    /// A protocol for anybody, without more.
    pub fn new(protocol: Protocol) -> Terms {
        Terms { protocol, clients: Clients::Anybody, strict_host: false, hsts: None, tickets: None }
    }

    /// Whether requests for a host that the connection's certificate does not cover are refused.
    pub(crate) fn is_strict(&self) -> bool {
        self.strict_host || !matches!(self.clients, Clients::Anybody)
    }
}

/// The configuration of a listener. It is equal to itself, and to none that was made by another call.
#[derive(Debug, Clone)]
pub struct Configuration(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    config: Arc<ServerConfig>,
    terms: Terms,
}

impl PartialEq for Configuration {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Configuration {}

impl Configuration {
    pub(crate) fn rustls(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.config)
    }

    pub(crate) fn terms(&self) -> &Terms {
        &self.0.terms
    }
}

/// What rustls encrypts with, AES-128 before AES-256: as secure as what the keys are agreed on by, and a handshake takes a fifth less
/// of the processor, most of it as SHA-256 has instructions of its own where SHA-384 has none.
fn provider() -> CryptoProvider {
    let mut provider = crypto::aws_lc_rs::default_provider();
    let is_aes_128 = |suite: &SupportedCipherSuite| {
        use CipherSuite::*;
        matches!(
            suite.suite(),
            TLS13_AES_128_GCM_SHA256
                | TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
                | TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
        )
    };
    provider.cipher_suites.sort_by_key(|suite| !is_aes_128(suite));
    provider
}

/// The configuration of a listener that has these certificates.
///
/// # Errors
///
/// Those of rustls.
pub fn configuration(terms: Terms, choice: Arc<Choice>) -> Result<Configuration, Error> {
    let builder =
        ServerConfig::builder_with_provider(Arc::new(provider())).with_safe_default_protocol_versions()?;
    let verifier = match &terms.clients {
        Clients::Anybody => Arc::new(NoClientAuth {}),
        Clients::Asked(authorities) => authorities.verifier(false),
        Clients::Certified(authorities) => authorities.verifier(true),
    };
    let mut config = builder.with_client_cert_verifier(verifier).with_cert_resolver(choice);
    config.ignore_client_order = true;
    // What a session has agreed on is kept by the client, in its ticket, or by nobody.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    if terms.protocol == Protocol::Http {
        config.alpn_protocols = HTTP.map(<[u8]>::to_vec).to_vec();
    }
    match &terms.tickets {
        Some(tickets) if terms.protocol == Protocol::Http && matches!(terms.clients, Clients::Anybody) => {
            config.ticketer = Arc::new(tickets.clone());
            // Clients that connect again take one; those that open several connections at once take another.
            config.send_tls13_tickets = 2;
        }
        _ => config.send_tls13_tickets = 0,
    }
    Ok(Configuration(Arc::new(Inner { config: Arc::new(config), terms })))
}
