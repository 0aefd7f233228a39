//! The client's address behind proxies that `howdah.trusted_proxies` names.

use std::cell::RefCell;
use std::net::IpAddr;

use form::TrustedProxies;
use message::{Request, Scheme};
use pg::log_line;
use shared::settings;

thread_local! {
    static TRUSTED: RefCell<TrustedProxies> = RefCell::default();
}

/// Reads the setting again: at the start of a worker and after a reload.
pub fn reload() {
    let list = settings::TRUSTED_PROXIES.get().unwrap_or_default();
    let trusted = TrustedProxies::parse(&list.to_string_lossy()).unwrap_or_else(|error| {
        log_line::warning!("howdah.trusted_proxies is ignored: {error}");
        TrustedProxies::default()
    });
    TRUSTED.set(trusted);
}

/// Whether who connects, `None` by a UNIX socket, is one of the proxies.
pub fn trusts(peer: Option<IpAddr>) -> bool {
    TRUSTED.with_borrow(|trusted| trusted.trusts_peer(peer))
}

/// How the client came: as the connection did, or as a trusted proxy says.
pub fn scheme(request: &Request<'_>) -> Scheme {
    let peer = request.remote().map(|address| address.ip());
    TRUSTED.with_borrow(|trusted| {
        if !trusted.trusts_peer(peer) {
            return request.scheme();
        }
        let values =
            |wanted| request.headers().filter(move |(name, _)| *name == wanted).map(|(_, value)| value);
        let forwarded: Vec<&str> = values("x-forwarded-for").collect();
        let said: Vec<&str> = values("x-forwarded-proto").collect();
        match trusted.is_https(peer, forwarded, said) {
            Some(true) => Scheme::Https,
            Some(false) => Scheme::Http,
            None => request.scheme(),
        }
    })
}

/// The host, and port if it is another than the scheme's, that a trusted proxy says the client has asked: the last that is said, which is of the proxy
/// that is next.
pub fn host<'r>(request: &Request<'r>) -> Option<&'r str> {
    let said = || request.headers().filter(|(name, _)| *name == "x-forwarded-host").last();
    let is_trusted = trusts(request.remote().map(|address| address.ip()));
    let (_, value) = said().filter(|_| is_trusted)?;
    value.rsplit(',').next().map(str::trim).filter(|host| !host.is_empty())
}

/// The client's address: the peer's, or the one that a trusted proxy names. None for a UNIX socket.
pub fn client(request: &Request<'_>) -> Option<IpAddr> {
    let peer = request.remote().map(|address| address.ip());
    TRUSTED.with_borrow(|trusted| {
        if *trusted == TrustedProxies::default() {
            return peer;
        }
        let forwarded: Vec<&str> = request
            .headers()
            .filter(|(name, _)| *name == "x-forwarded-for")
            .map(|(_, value)| value)
            .collect();
        trusted.client(peer, forwarded)
    })
}
