//! Where connections come from.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, Ipv6Addr};

use crate::connection::Peer;

/// Where connections come from that share a limit: an address of IPv4, a network of 64 bits of IPv6, or this machine by a UNIX
/// socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    Network(IpAddr),
    UnixSocket,
}

impl Origin {
    pub(crate) fn of(peer: &Peer) -> Origin {
        match peer.remote.map(|remote| remote.ip().to_canonical()) {
            Some(IpAddr::V6(address)) => {
                Origin::Network(Ipv6Addr::from(u128::from(address) >> 64 << 64).into())
            }
            Some(address) => Origin::Network(address),
            None => Origin::UnixSocket,
        }
    }

    /// A number that the connections of an origin share, and hardly any other has.
    pub(crate) fn flow(self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }
}
