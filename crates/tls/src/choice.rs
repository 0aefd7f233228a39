//! Which certificate a client gets.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use rustls::SignatureScheme;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::certificate::{KeyKind, plain_host};
use crate::pair::Pair;

/// The certificates of a listener, by the names that they are for.
#[derive(Default)]
pub struct Choice {
    /// Exact names, and wildcards by what follows their star; of each the best first.
    exact: HashMap<String, Vec<Arc<Pair>>>,
    wildcards: HashMap<String, Vec<Arc<Pair>>>,
    /// Who names nothing that is here gets it.
    default: Option<Arc<Pair>>,
    count: usize,
}

impl Choice {
    /// Of pairs in the order of the setting, each with whether it may be the default: the first of those is. Where none may, a
    /// single pair is the default nevertheless.
    pub fn new(pairs: &[(Arc<Pair>, bool)], now: i64) -> Self {
        let mut choice = Self { count: pairs.len(), ..Self::default() };
        for (pair, _) in pairs {
            for name in &pair.leaf.names {
                let (names, name) = match name.strip_prefix("*.") {
                    Some(parent) => (&mut choice.wildcards, parent),
                    None => (&mut choice.exact, name.as_str()),
                };
                names.entry(name.to_owned()).or_default().push(Arc::clone(pair));
            }
        }
        // Those that are valid first, of these those whose handshakes are cheap, of these the latest. The sort is stable: of equal
        // ones the first of the setting stays the first.
        let is_costly = |pair: &Pair| matches!(pair.leaf.key, KeyKind::Rsa(_));
        let rank = |pair: &Arc<Pair>| (!pair.leaf.is_valid_at(now), is_costly(pair), -pair.leaf.not_before);
        choice
            .exact
            .values_mut()
            .chain(choice.wildcards.values_mut())
            .for_each(|pairs| pairs.sort_by_key(rank));
        let named = pairs.iter().find(|(_, may_be_default)| *may_be_default);
        let default = named.or(pairs.first().filter(|_| pairs.len() == 1));
        choice.default = default.map(|(pair, _)| Arc::clone(pair));
        choice
    }

    /// Whether there is no certificate.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The certificate of those that name nothing that is here.
    pub fn default_pair(&self) -> Option<&Arc<Pair>> {
        self.default.as_ref()
    }

    /// The certificate for a server name, for a client that can do these kinds of signatures.
    pub fn pair_of(&self, name: Option<&str>, schemes: &[SignatureScheme]) -> Option<&Arc<Pair>> {
        let named = name.map(plain_host).and_then(|name| {
            let under = || self.wildcards.get(name.split_once('.')?.1);
            self.exact.get(&name).or_else(under)
        });
        let Some(pairs) = named else { return self.default.as_ref() };
        let can = |pair: &&Arc<Pair>| pair.certified.key.choose_scheme(schemes).is_some();
        pairs.iter().find(can).or(pairs.first())
    }
}

impl fmt::Debug for Choice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Choice").field("certificates", &self.count).finish_non_exhaustive()
    }
}

impl ResolvesServerCert for Choice {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let pair = self.pair_of(hello.server_name(), hello.signature_schemes())?;
        Some(Arc::clone(&pair.certified))
    }
}
