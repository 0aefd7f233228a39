//! The client's address behind proxies.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;

/// The proxies whose `X-Forwarded-For` is believed: addresses and networks, and `unix` for whoever connects
/// over a UNIX socket.
///
/// `Forwarded` (RFC 7239) is not read: a proxy that keeps one of the two headers passes the other on as the
/// client sent it, so believing both means believing the client.
///
/// ```
/// let trusted = form::TrustedProxies::parse("10.0.0.0/8, ::1")?;
/// let client = trusted.client(Some("10.0.0.1".parse()?), ["6.6.6.6, 203.0.113.7, 10.0.0.2"]);
/// assert_eq!(client, Some("203.0.113.7".parse()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedProxies {
    networks: Vec<IpNet>,
    unix: bool,
}

/// An entry of the list that is neither an address nor a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyListError {
    /// The entry.
    pub entry: String,
}

impl fmt::Display for ProxyListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is neither an address, nor a network such as 10.0.0.0/8, nor 'unix'", self.entry)
    }
}

impl std::error::Error for ProxyListError {}

impl TrustedProxies {
    /// Reads a list with commas between the entries. An empty list trusts nobody.
    pub fn parse(list: &str) -> Result<Self, ProxyListError> {
        let mut trusted = Self::default();
        for entry in list.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            match network(entry) {
                Some(network) => trusted.networks.push(network),
                None if entry == "unix" => trusted.unix = true,
                None => return Err(ProxyListError { entry: entry.chars().take(100).collect() }),
            }
        }
        Ok(trusted)
    }

    /// The client's address. `peer` is who connected, `None` over a UNIX socket; `forwarded_for` are the
    /// values of all `X-Forwarded-For` headers in order.
    ///
    /// Each proxy appends who connected to it, so the list is read from the right: the first address that is
    /// not a trusted proxy's is the client's, and all to the left of it is hearsay. An entry that is no
    /// address ends the walk at the proxy that sent it.
    pub fn client<'a, I>(&self, peer: Option<IpAddr>, forwarded_for: I) -> Option<IpAddr>
    where
        I: IntoIterator<Item = &'a str>,
        I::IntoIter: DoubleEndedIterator,
    {
        let mut client = peer.map(|peer| peer.to_canonical());
        if !self.trusts_peer(peer) {
            return client;
        }
        for entry in forwarded_for.into_iter().rev().flat_map(|header| header.rsplit(',')) {
            let Some(address) = address(entry.trim()) else { break };
            client = Some(address);
            if !self.trusts(address) {
                break;
            }
        }
        client
    }

    /// Whether the client came by https, as trusted proxies say: each tells by `X-Forwarded-Proto` how it was reached, in the order of
    /// `X-Forwarded-For`. None if no trusted one says so, or what it says is neither `http` nor `https`.
    ///
    /// ```
    /// let trusted = form::TrustedProxies::parse("10.0.0.0/8")?;
    /// assert_eq!(trusted.is_https(Some("10.0.0.1".parse()?), ["203.0.113.7"], ["https"]), Some(true));
    /// assert_eq!(trusted.is_https(Some("203.0.113.7".parse()?), [], ["https"]), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_https<'a, F, P>(
        &self,
        peer: Option<IpAddr>,
        forwarded_for: F,
        forwarded_proto: P,
    ) -> Option<bool>
    where
        F: IntoIterator<Item = &'a str>,
        F::IntoIter: DoubleEndedIterator,
        P: IntoIterator<Item = &'a str>,
        P::IntoIter: DoubleEndedIterator,
    {
        if !self.trusts_peer(peer) {
            return None;
        }
        // The outermost trusted proxy was reached by the client: it is one further from us for each trusted one between.
        let between = forwarded_for.into_iter().rev().flat_map(|header| header.rsplit(','));
        let between =
            between.map_while(|entry| address(entry.trim())).take_while(|hop| self.trusts(*hop)).count();
        // A proxy that sets the header anew, rather than adds to it, says what it was told.
        let said = forwarded_proto.into_iter().rev().flat_map(|header| header.rsplit(','));
        match said.take(between + 1).last()?.trim() {
            proto if proto.eq_ignore_ascii_case("https") => Some(true),
            proto if proto.eq_ignore_ascii_case("http") => Some(false),
            _ => None,
        }
    }

    /// Whether who connects is one of them; `None` is over a UNIX socket.
    pub fn trusts_peer(&self, peer: Option<IpAddr>) -> bool {
        peer.map_or(self.unix, |peer| self.trusts(peer.to_canonical()))
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|network| network.contains(&address))
    }
}

/// IPv4 addresses written as IPv6 (`::ffff:10.0.0.1`) are the IPv4 addresses, here as in the peers.
fn network(entry: &str) -> Option<IpNet> {
    match entry.parse::<IpAddr>() {
        Ok(address) => Some(IpNet::from(address.to_canonical())),
        Err(_) => entry.parse().ok(),
    }
}

/// An address, with or without a port behind it, an IPv6 address with or without brackets.
fn address(entry: &str) -> Option<IpAddr> {
    let bare = entry.strip_prefix('[').and_then(|entry| entry.strip_suffix(']')).unwrap_or(entry);
    let with_port = || entry.parse::<SocketAddr>().map(|address| address.ip());
    bare.parse::<IpAddr>().or_else(|_| with_port()).ok().map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(trusted: &str, peer: &str, headers: &[&str]) -> String {
        let trusted = TrustedProxies::parse(trusted).unwrap();
        let client = trusted.client(peer.parse().ok(), headers.iter().copied());
        client.map_or("unix".to_owned(), |address| address.to_string())
    }

    #[test]
    fn the_header_is_ignored_unless_the_peer_is_trusted() {
        assert_eq!(client("", "1.2.3.4", &["5.6.7.8"]), "1.2.3.4");
        assert_eq!(client("10.0.0.0/8", "1.2.3.4", &["5.6.7.8"]), "1.2.3.4");
        assert_eq!(client("10.0.0.0/8", "unix", &["5.6.7.8"]), "unix");
        assert_eq!(client("unix", "unix", &["5.6.7.8"]), "5.6.7.8");
    }

    #[test]
    fn the_first_untrusted_address_from_the_right_is_the_client() {
        let trusted = "10.0.0.0/8, 192.168.1.1, fd00::/8";
        assert_eq!(client(trusted, "10.1.1.1", &["6.6.6.6, 5.6.7.8"]), "5.6.7.8");
        assert_eq!(client(trusted, "10.1.1.1", &["6.6.6.6, 5.6.7.8, 192.168.1.1"]), "5.6.7.8");
        assert_eq!(client(trusted, "10.1.1.1", &["6.6.6.6", "5.6.7.8", "fd00::1,10.2.2.2"]), "5.6.7.8");
        assert_eq!(client(trusted, "fd00::2", &["2001:db8::7"]), "2001:db8::7");
    }

    #[test]
    fn without_an_untrusted_address_the_leftmost_is_the_client() {
        assert_eq!(client("10.0.0.0/8", "10.1.1.1", &["10.2.2.2, 10.3.3.3"]), "10.2.2.2");
        assert_eq!(client("10.0.0.0/8", "10.1.1.1", &[]), "10.1.1.1");
    }

    #[test]
    fn what_is_no_address_ends_the_walk() {
        assert_eq!(client("10.0.0.0/8", "10.1.1.1", &["5.6.7.8, unknown, 10.2.2.2"]), "10.2.2.2");
        assert_eq!(client("10.0.0.0/8", "10.1.1.1", &["", "garbage"]), "10.1.1.1");
    }

    #[test]
    fn ports_brackets_and_mapped_addresses_are_understood() {
        assert_eq!(client("::1", "::1", &["5.6.7.8:901"]), "5.6.7.8");
        assert_eq!(client("::1", "::1", &["[2001:db8::7]:901"]), "2001:db8::7");
        assert_eq!(client("::1", "::1", &["[2001:db8::7]"]), "2001:db8::7");
        assert_eq!(client("10.0.0.0/8", "::ffff:10.1.1.1", &["::ffff:5.6.7.8"]), "5.6.7.8");
        assert_eq!(client("::ffff:10.1.1.1", "10.1.1.1", &["5.6.7.8"]), "5.6.7.8");
    }

    #[test]
    fn the_scheme_is_what_the_outermost_trusted_proxy_says() {
        let trusted = TrustedProxies::parse("10.0.0.0/8, unix").unwrap();
        let is_https = |peer: &str, hops: &[&str], protos: &[&str]| {
            trusted.is_https(peer.parse().ok(), hops.iter().copied(), protos.iter().copied())
        };
        assert_eq!(is_https("10.1.1.1", &["5.6.7.8"], &["https"]), Some(true));
        assert_eq!(is_https("10.1.1.1", &[], &["HTTP"]), Some(false));
        assert_eq!(is_https("unix", &["5.6.7.8"], &["https"]), Some(true));
        assert_eq!(is_https("5.6.7.8", &["10.1.1.1"], &["https"]), None, "who is no proxy says nothing");
        assert_eq!(is_https("10.1.1.1", &["5.6.7.8"], &[]), None);
        assert_eq!(is_https("10.1.1.1", &["5.6.7.8"], &["wss"]), None);
        // What a client has sent stands before what the proxies have added.
        assert_eq!(is_https("10.1.1.1", &["6.6.6.6, 5.6.7.8"], &["https", "http"]), Some(false));
        assert_eq!(is_https("10.1.1.1", &["5.6.7.8, 10.2.2.2"], &["https, http"]), Some(true));
        assert_eq!(is_https("10.1.1.1", &["5.6.7.8, 10.2.2.2"], &["http, https, http"]), Some(true));
        // One that sets the header anew says what it was told.
        assert_eq!(is_https("10.1.1.1", &["5.6.7.8, 10.2.2.2"], &["https"]), Some(true));
    }

    #[test]
    fn a_bad_list_names_its_entry() {
        let error = TrustedProxies::parse("10.0.0.0/8, localhost").unwrap_err();
        assert!(error.to_string().starts_with("'localhost' is neither"));
        assert!(TrustedProxies::parse("10.0.0.0/33").is_err());
    }
}
