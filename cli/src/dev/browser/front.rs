//! The addresses that browsers come to, and what the platform has to know of it.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{Error, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs};
use std::ops::Range;

use crate::arguments::Behind;
use crate::failure::{Failure, Result};
use crate::listeners::{self, ADDRESSES, BEHIND};

/// From where the platform is asked, which believes this address and no other to say who asks: it is none that others come from.
pub(crate) const SOURCE: [u8; 4] = [127, 76, 105, 118];
const PROXIES: &str = "howdah.trusted_proxies";
/// The setting of pages for errors.
const BUILT_IN_PAGES: &str = "howdah.built_in_error_pages";

/// What is listened on.
pub(crate) struct Front {
    pub(super) listeners: Vec<TcpListener>,
    /// The names among the addresses.
    pub(super) names: Vec<String>,
}

impl Front {
    /// Listens on this port, on the addresses that the platform would listen on.
    pub(crate) fn listen(port: u16, settings: &[(String, String)]) -> Result<Front> {
        let wanted = last(settings, ADDRESSES).unwrap_or("localhost");
        let names: Vec<String> = entries(wanted).map(str::to_owned).collect();
        let mut listeners = Vec::new();
        for name in &names {
            let refused = |error: Error| Failure::Said(listeners::refusal(port, "--port", &error));
            for address in addresses(name, port).map_err(refused)? {
                match bind(address) {
                    Ok(listener) => listeners.push(listener),
                    // A machine without IPv6.
                    Err(error) if address.is_ipv6() && error.kind() != ErrorKind::AddrInUse => {}
                    Err(error) => return Err(refused(error)),
                }
            }
        }
        if listeners.is_empty() {
            return Err(Failure::Said(format!(
                "{ADDRESSES} is {wanted:?}: there is nothing to listen on; see --set"
            )));
        }
        Ok(Front { listeners, names })
    }
}

/// How the platform listens behind it. It is told so by its settings, to believe what is in front of it, and to leave errors to pages that say more
/// than the one that is built in.
pub(crate) fn behind(settings: &mut Vec<(String, String)>) -> Result<Behind> {
    let source = SOURCE.map(|part| part.to_string()).join(".");
    let with = |first: &str, name: &str, default: &str| {
        let rest = entries(last(settings, name).unwrap_or(default)).filter(|entry| *entry != first);
        [first].into_iter().chain(rest).collect::<Vec<_>>().join(", ")
    };
    let (addresses, proxies) = (with(BEHIND, ADDRESSES, "localhost"), with(&source, PROXIES, ""));
    settings.retain(|(name, _)| !name.eq_ignore_ascii_case(ADDRESSES) && !name.eq_ignore_ascii_case(PROXIES));
    settings.extend([(ADDRESSES.to_owned(), String::new()), (PROXIES.to_owned(), proxies)]);
    if last(settings, BUILT_IN_PAGES).is_none() {
        settings.push((BUILT_IN_PAGES.to_owned(), "off".to_owned()));
    }
    Ok(Behind { port: free_port()?, addresses })
}

/// Ports that a system gives to nobody who has not asked for one of them.
const PORTS: Range<u16> = 20_000..30_000;
/// How many of them are tried.
const TRIES: usize = 50;

/// A port that nothing listens on.
pub(super) fn free_port() -> Result<u16> {
    let random = || RandomState::new().build_hasher().finish();
    let ports = (0..TRIES).map(|_| PORTS.start + (random() % u64::from(PORTS.end - PORTS.start)) as u16);
    // The platform listens on it only in a moment.
    ports
        .chain([0])
        .map(|port| TcpListener::bind((BEHIND, port)))
        .find(Result::is_ok)
        .unwrap_or_else(|| TcpListener::bind((BEHIND, 0)))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|error| Failure::Said(format!("no port of {BEHIND} is free: {error}")))
}

fn last<'a>(settings: &'a [(String, String)], wanted: &str) -> Option<&'a str> {
    settings.iter().rev().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.as_str())
}

fn entries(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|entry| !entry.is_empty())
}

fn addresses(name: &str, port: u16) -> Result<Vec<SocketAddr>, Error> {
    match name {
        "*" => Ok(vec![(Ipv4Addr::UNSPECIFIED, port).into(), (Ipv6Addr::UNSPECIFIED, port).into()]),
        // Whatever the system's file of hosts says: as the platform does.
        "localhost" => Ok(vec![(Ipv4Addr::LOCALHOST, port).into(), (Ipv6Addr::LOCALHOST, port).into()]),
        name => {
            let mut all: Vec<SocketAddr> = (name, port).to_socket_addrs()?.collect();
            all.sort();
            all.dedup();
            Ok(all)
        }
    }
}

fn bind(address: SocketAddr) -> Result<TcpListener, Error> {
    let socket = socket2::Socket::new(
        socket2::Domain::for_address(address),
        socket2::Type::STREAM,
        Some(socket2::Protocol::TCP),
    )?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.bind(&address.into())?;
    socket.listen(1024)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    #[test]
    fn the_platform_listens_behind_it_and_believes_it_beside_what_was_said() {
        let mut said = Vec::new();
        assert_eq!(behind(&mut said).unwrap().addresses, "127.0.0.1, localhost");
        let own = [(ADDRESSES, ""), (PROXIES, "127.76.105.118"), (BUILT_IN_PAGES, "off")];
        assert_eq!(said, settings(&own));
        let mut said = settings(&[
            (PROXIES, "10.0.0.1"),
            ("work_mem", "5MB"),
            ("HOWDAH.trusted_proxies", "10.0.0.2,10.0.0.3"),
            (BUILT_IN_PAGES, "on"),
            (ADDRESSES, "*"),
        ]);
        assert_eq!(behind(&mut said).unwrap().addresses, "127.0.0.1, *");
        let all = [
            ("work_mem", "5MB"),
            (BUILT_IN_PAGES, "on"),
            (ADDRESSES, ""),
            (PROXIES, "127.76.105.118, 10.0.0.2, 10.0.0.3"),
        ];
        assert_eq!(said, settings(&all));
    }

    #[test]
    fn a_port_that_is_taken_is_told_and_so_is_nothing_to_listen_on() {
        let port = free_port().unwrap();
        let front = Front::listen(port, &[]).unwrap();
        assert!(!front.listeners.is_empty() && front.names == ["localhost"]);
        let told = Front::listen(port, &[]).err().unwrap().to_string();
        assert!(told.contains(&format!("port {port} is taken by another program")), "{told}");
        assert!(Front::listen(port, &settings(&[(ADDRESSES, " ")])).is_err());
        assert!(Front::listen(port, &settings(&[(ADDRESSES, "/run/howdah")])).is_err());
    }
}
