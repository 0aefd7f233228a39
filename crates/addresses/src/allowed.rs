//! What a listener may bind.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::{Address, Names};

/// The addresses of a listener on a port, and the names among them that mean nothing, with the reasons. Without an address of its
/// own it has all that are allowed.
pub fn expand(
    address: &str,
    port: u16,
    allowed: &[String],
    names: &mut Names,
) -> (Vec<Address>, Vec<(String, String)>) {
    let wanted: Vec<&str> =
        if address.is_empty() { allowed.iter().map(String::as_str).collect() } else { vec![address] };
    let mut resolve = |name: &str| resolve(name, port, names);
    let permitted: Vec<Address> = allowed.iter().filter_map(|name| resolve(name)?.ok()).flatten().collect();
    let (mut addresses, mut unresolved): (Vec<Address>, Vec<(String, String)>) = (Vec::new(), Vec::new());
    for name in wanted {
        match resolve(name) {
            Some(Ok(found)) => {
                let found = found.into_iter().filter(|address| is_permitted(address, &permitted));
                addresses.extend(found.collect::<Vec<_>>());
            }
            Some(Err(reason)) => unresolved.push((name.to_owned(), reason)),
            // Not known yet.
            None => {}
        }
    }
    let mut seen: Vec<Address> = Vec::new();
    addresses.retain(|address| {
        let is_new = !seen.contains(address);
        seen.push(address.clone());
        is_new
    });
    (addresses, unresolved)
}

/// Whether an address is among those that are allowed, or within a wildcard.
fn is_permitted(address: &Address, permitted: &[Address]) -> bool {
    permitted.iter().any(|one| match (one, address) {
        (Address::Tcp(one), Address::Tcp(wanted)) => {
            one == wanted || (one.ip().is_unspecified() && one.is_ipv4() == wanted.is_ipv4())
        }
        _ => one == address,
    })
}

/// What a name that is allowed, or a listener's address, means; none as long as that is not known.
fn resolve(name: &str, port: u16, names: &mut Names) -> Option<Result<Vec<Address>, String>> {
    if name.starts_with('/') {
        return Some(Ok(vec![Address::Unix(PathBuf::from(name).join(format!(".s.howdah.{port}")))]));
    }
    let of_port = |address| Address::Tcp(SocketAddr::new(address, port));
    Some(names.resolve(name)?.map(|addresses| addresses.into_iter().map(of_port).collect()))
}

/// An address as the registry and the log write it.
pub fn name(address: &Address) -> String {
    match address {
        Address::Tcp(address) => address.to_string(),
        Address::Unix(path) => path.display().to_string(),
    }
}

/// A name as the registry keeps it: the address, and the port; of a UNIX socket the path and 0.
pub fn split(name: &str) -> (&str, u16) {
    match name.rsplit_once(':') {
        Some((address, port)) if !name.starts_with('/') => {
            (address.trim_matches(['[', ']']), port.parse().unwrap_or_default())
        }
        _ => (name, 0),
    }
}
