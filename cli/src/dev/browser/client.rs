//! The client of a connection.

use std::net::SocketAddr;
use std::time::Duration;

/// How long a client may take for a head, and stay without a request.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// A client, and where it asks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Client {
    pub(super) remote: SocketAddr,
    pub(super) local: SocketAddr,
}

impl Client {
    /// In the PROXY protocol, version 1.
    pub(super) fn announced(&self) -> String {
        let (remote, local) = (canonical(self.remote), canonical(self.local));
        let family = if remote.is_ipv4() { "TCP4" } else { "TCP6" };
        format!("PROXY {family} {} {} {} {}\r\n", remote.ip(), local.ip(), remote.port(), local.port())
    }
}

fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_platform_is_told_who_asks() {
        let announced = |remote: &str, local: &str| {
            Client { remote: remote.parse().unwrap(), local: local.parse().unwrap() }.announced()
        };
        assert_eq!(
            announced("127.0.0.1:4711", "127.0.0.1:9000"),
            "PROXY TCP4 127.0.0.1 127.0.0.1 4711 9000\r\n"
        );
        assert_eq!(announced("[::1]:4711", "[::1]:9000"), "PROXY TCP6 ::1 ::1 4711 9000\r\n");
        assert_eq!(
            announced("[::ffff:127.0.0.1]:4711", "[::ffff:127.0.0.1]:9000"),
            "PROXY TCP4 127.0.0.1 127.0.0.1 4711 9000\r\n"
        );
    }
}
