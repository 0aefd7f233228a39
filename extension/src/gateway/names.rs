//! What host names mean. Asking may take seconds, for which the event loop stands still: so an answer is kept for as long
//! as its name is used and `howdah.listen_addresses` stays as it is.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, ToSocketAddrs};
use std::time::{Duration, Instant};

/// The names that are used.
#[derive(Default)]
pub struct Names {
    known: HashMap<String, Known>,
    /// The setting for which they were asked.
    setting: Vec<String>,
}

/// What a name means.
struct Known {
    addresses: Vec<IpAddr>,
    /// When it was found to mean nothing.
    failed: Option<Instant>,
    is_used: bool,
}

/// How soon a name is asked for again that could not be resolved.
const AGAIN: Duration = Duration::from_secs(60);

impl Names {
    /// A look at the configuration begins.
    pub fn begin(&mut self, setting: &[String]) {
        if self.setting != setting {
            self.setting = setting.to_vec();
            self.known.clear();
        }
        self.known.values_mut().for_each(|known| known.is_used = false);
    }

    /// It is over: names that were not asked for are forgotten.
    pub fn end(&mut self) {
        self.known.retain(|_, known| known.is_used);
    }

    /// Whether a name should be asked for once more.
    pub fn should_ask_again(&self) -> bool {
        self.known.values().any(Known::should_be_asked_again)
    }

    /// The addresses of a name that this machine can have: none if it means nothing.
    pub fn resolve(&mut self, name: &str) -> Vec<IpAddr> {
        if let Some(known) = self.known.get_mut(name).filter(|known| !known.should_be_asked_again()) {
            known.is_used = true;
            return known.addresses.clone();
        }
        let (addresses, failed) = match look_up(name) {
            Ok(addresses) => (addresses, None),
            Err(error) => {
                pgrx::log!("howdah cannot resolve {name}: {error}");
                (Vec::new(), Some(Instant::now()))
            }
        };
        let known = Known { addresses: addresses.clone(), failed, is_used: true };
        self.known.insert(name.to_owned(), known);
        addresses
    }
}

impl Known {
    fn should_be_asked_again(&self) -> bool {
        self.failed.is_some_and(|failed| failed.elapsed() > AGAIN)
    }
}

fn look_up(name: &str) -> std::io::Result<Vec<IpAddr>> {
    let addresses: Vec<IpAddr> = match name {
        "*" => vec![Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()],
        "localhost" => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
        _ => (name.trim_matches(['[', ']']), 0).to_socket_addrs()?.map(|address| address.ip()).collect(),
    };
    let (fours, sixes): (Vec<_>, Vec<_>) = addresses.into_iter().partition(IpAddr::is_ipv4);
    let is_usable = !sixes.is_empty() && ipv6_exists();
    Ok(if is_usable { [fours, sixes].concat() } else { fours })
}

/// Whether the machine has IPv6: without it `localhost` is 127.0.0.1 alone.
fn ipv6_exists() -> bool {
    std::path::Path::new("/proc/sys/net/ipv6").exists()
        && std::net::UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_ok()
}
