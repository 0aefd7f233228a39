//! The client's address behind proxies that `howdah.trusted_proxies` names.

use std::cell::RefCell;
use std::net::IpAddr;

use form::TrustedProxies;
use message::Request;

use crate::settings;

thread_local! {
    static TRUSTED: RefCell<TrustedProxies> = RefCell::default();
}

/// Reads the setting again: at the start of a worker and after a reload.
pub fn reload() {
    let list = settings::TRUSTED_PROXIES.get().unwrap_or_default();
    let trusted = TrustedProxies::parse(&list.to_string_lossy()).unwrap_or_else(|error| {
        pgrx::warning!("howdah.trusted_proxies is ignored: {error}");
        TrustedProxies::default()
    });
    TRUSTED.set(trusted);
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
