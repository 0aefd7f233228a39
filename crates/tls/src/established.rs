//! What a handshake has agreed on, as far as requests on its connection want to know.

use std::sync::Arc;

use crate::certificate::{address_of, plain_host};
use crate::choice::Chosen;
use crate::pair::Pair;
use crate::subject;
use crate::terms::Terms;

/// The common name of authorities that `howdah up --tls` makes begins like this.
pub const DEVELOPMENT: &str = "Howdah development authority";

/// What a handshake has agreed on.
#[derive(Debug, Clone)]
pub struct Established {
    /// Who the client is, as [`subject::json_of`] tells; none if it has shown no certificate.
    pub client: Option<Arc<str>>,
    /// What responses say by Strict-Transport-Security: nothing to a client that has named no host, or `localhost`, or to whom the
    /// server has shown a certificate for development. Browsers would use https alone for all that listens there, for months.
    pub hsts: Option<Arc<str>>,
    /// The certificate whose hosts alone may be asked for.
    strict: Option<Arc<Pair>>,
}

impl Established {
    /// What has come of a handshake on a listener's terms.
    ///
    /// # Errors
    /// Why the client's certificate, in DER, cannot be told.
    pub(crate) fn of(terms: &Terms, chosen: Option<&Chosen>, client: Option<&[u8]>) -> Result<Self, String> {
        let pair = chosen.and_then(|chosen| chosen.pair.as_ref());
        let name = chosen.and_then(|chosen| chosen.name.as_deref());
        Ok(Established {
            client: client.map(subject::json_of).transpose()?.map(Arc::from),
            hsts: terms.hsts.clone().filter(|_| is_public(name, pair.map(|pair| &**pair))),
            strict: pair.filter(|_| terms.is_strict()).cloned(),
        })
    }

    /// Whose certificate alone requests have to be for, as text.
    pub fn strict_subject(&self) -> Option<&str> {
        self.strict.as_ref().map(|pair| pair.leaf.subject.as_str())
    }

    /// Whether a request may be for this host, as the header Host names it. One that names no host may be.
    pub fn may_serve(&self, authority: &str) -> bool {
        self.strict.as_ref().is_none_or(|pair| authority.is_empty() || pair.leaf.covers(authority))
    }
}

/// Whether a client has asked for a host that others know by this name, too.
fn is_public(name: Option<&str>, pair: Option<&Pair>) -> bool {
    let (Some(name), Some(pair)) = (name, pair) else { return false };
    let host = plain_host(name);
    let last_label = host.rsplit('.').next().unwrap_or_default();
    let is_local = address_of(host).is_some() || last_label.eq_ignore_ascii_case("localhost");
    let is_for_development = pair.leaf.issuer.contains(DEVELOPMENT);
    !is_local && !is_for_development && pair.leaf.covers(host)
}
