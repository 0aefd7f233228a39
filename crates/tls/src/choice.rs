//! Which certificate a client gets.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::certificate::{KeyKind, address_of, plain_host};
use crate::pair::Pair;

/// The certificates of a listener, by the names that they are for.
///
/// Of several for one name a client gets one that is valid, of these one whose kind of signature it can do, ECDSA rather than RSA,
/// of these the one that became valid last, of these the first of the setting. A certificate for the very name comes before a
/// wildcard's that is as valid. A client that names nothing, or nothing that is here, gets the default.
#[derive(Default)]
pub struct Choice {
    /// By their names; those of wildcards by what follows the star's dot.
    exact: HashMap<String, Vec<Candidate>>,
    wildcards: HashMap<String, Vec<Candidate>>,
    /// Those that any of them is for. Clients name none in their hello, so no certificate is chosen by them.
    addresses: HashSet<IpAddr>,
    /// Those that may be the default, in the order of the setting.
    defaults: Vec<Arc<Pair>>,
    /// How many there are.
    count: usize,
    changes_at: Option<i64>,
}

/// One that a name leads to. Each list has the best first.
struct Candidate {
    pair: Arc<Pair>,
    is_valid: bool,
}

impl Choice {
    /// Makes a choice of pairs in the order of the setting, each with whether it may be the default. Where none may, a single one
    /// is the default nevertheless. `now` is the second of the UNIX clock in which they are valid or not.
    pub fn new(pairs: Vec<(Arc<Pair>, bool)>, now: i64) -> Choice {
        let mut choice =
            Choice { count: pairs.len(), changes_at: next_change(&pairs, now), ..Choice::default() };
        for (pair, may_be_default) in &pairs {
            for name in &pair.leaf.names {
                choice.add(name, pair, now);
            }
            choice.addresses.extend(&pair.leaf.addresses);
            if *may_be_default || pairs.len() == 1 {
                choice.defaults.push(Arc::clone(pair));
            }
        }
        for candidates in choice.exact.values_mut().chain(choice.wildcards.values_mut()) {
            // Equal ones keep the order of the setting.
            candidates.sort_by_key(|candidate| {
                (!candidate.is_valid, cost(&candidate.pair), -candidate.pair.leaf.not_before)
            });
        }
        choice
    }

    fn add(&mut self, name: &str, pair: &Arc<Pair>, now: i64) {
        let (names, key) = match name.strip_prefix("*.") {
            Some(parent) => (&mut self.wildcards, parent),
            None => (&mut self.exact, name),
        };
        let candidate = Candidate { pair: Arc::clone(pair), is_valid: pair.is_valid_at(now) };
        names.entry(key.to_owned()).or_default().push(candidate);
    }

    /// What clients get that name nothing, or nothing that is here.
    pub fn default_pair(&self) -> Option<&Arc<Pair>> {
        self.defaults.first()
    }

    /// What a client gets that names this host and can do every kind of signature.
    pub fn pair_of(&self, name: Option<&str>) -> Option<&Arc<Pair>> {
        self.pair_for(name, |_| true)
    }

    /// Whether any certificate is for a host, as a URL or the header Host names it: a redirect to it by https leads somewhere.
    pub fn covers(&self, host: &str) -> bool {
        if let Some(address) = address_of(plain_host(host)) {
            return self.addresses.contains(&address);
        }
        let (exact, wildcards) = self.candidates(host);
        !exact.is_empty() || !wildcards.is_empty()
    }

    /// Whether there is no certificate at all.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The second of the UNIX clock in which the next certificate becomes valid, or is no longer. A choice that is made then may
    /// be another.
    pub fn changes_at(&self) -> Option<i64> {
        self.changes_at
    }

    /// A client that can do none of the signatures gets the best nevertheless: the handshake then ends with the alert that says so.
    fn pair_for(&self, name: Option<&str>, can: impl Fn(&Pair) -> bool) -> Option<&Arc<Pair>> {
        let (exact, wildcards) = name.map_or((&[][..], &[][..]), |name| self.candidates(name));
        let all = || exact.iter().chain(wildcards);
        let named = all()
            .find(|candidate| candidate.is_valid && can(&candidate.pair))
            .or_else(|| all().find(|candidate| can(&candidate.pair)))
            .or_else(|| all().next())
            .map(|candidate| &candidate.pair);
        named.or_else(|| self.defaults.iter().find(|pair| can(pair))).or_else(|| self.default_pair())
    }

    /// Those for the very name, and those for its wildcard.
    fn candidates(&self, name: &str) -> (&[Candidate], &[Candidate]) {
        let host = plain_host(name);
        let host = match host.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => Cow::from(host.to_ascii_lowercase()),
            false => Cow::from(host),
        };
        let parent = host.split_once('.').filter(|(label, _)| !label.is_empty()).map(|(_, parent)| parent);
        let exact = self.exact.get(&*host).map(Vec::as_slice);
        let wildcards = parent.and_then(|parent| self.wildcards.get(parent)).map(Vec::as_slice);
        (exact.unwrap_or_default(), wildcards.unwrap_or_default())
    }
}

/// How much a handshake costs, by the kind of key: RSA costs ten times as much.
fn cost(pair: &Pair) -> u8 {
    match pair.leaf.key {
        KeyKind::Ecdsa(_) => 0,
        KeyKind::Ed25519 | KeyKind::Other(_) => 1,
        KeyKind::Rsa(_) => 2,
    }
}

fn next_change(pairs: &[(Arc<Pair>, bool)], now: i64) -> Option<i64> {
    let changes =
        pairs.iter().flat_map(|(pair, _)| [pair.leaf.not_before, pair.leaf.not_after.saturating_add(1)]);
    changes.filter(|&second| second > now).min()
}

/// What a client has named in its hello, and got.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub name: Option<Box<str>>,
    pub pair: Option<Arc<Pair>>,
}

thread_local! {
    /// What was chosen last on this thread. rustls does not tell a connection without buffers, so whoever has it take a hello in
    /// looks here right after that.
    static CHOSEN: Cell<Option<Chosen>> = const { Cell::new(None) };
}

/// What was chosen on this thread since this was asked last.
pub(crate) fn take_chosen() -> Option<Chosen> {
    CHOSEN.take()
}

impl ResolvesServerCert for Choice {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let can = |pair: &Pair| pair.certified.key.choose_scheme(hello.signature_schemes()).is_some();
        let pair = self.pair_for(hello.server_name(), can);
        CHOSEN.set(Some(Chosen { name: hello.server_name().map(Box::from), pair: pair.cloned() }));
        pair.map(|pair| Arc::clone(&pair.certified))
    }
}

impl fmt::Debug for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Choice").field("certificates", &self.count).finish_non_exhaustive()
    }
}
