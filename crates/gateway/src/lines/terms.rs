//! What a listener for lines asks of those that connect, and what it gives them.

use std::net::IpAddr;
use std::time::Duration;

use ipnet::IpNet;
use wire::reply::Window;
use wire::{Destination, Full, Origin, Token, TooLong, Work};

/// The terms of a listener for lines. They can be changed while it listens. Connections that are open keep those
/// that they began with, or are closed once what was read is stored, if they might not have been let in on the new ones, or
/// bring lines for another place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// The listener's number in [`wire::Work`].
    pub number: u32,
    /// Where its lines go.
    pub destination: Destination,
    /// The hash of the token that a hello must bring. With one, plain connections are refused.
    pub token: Option<Token>,
    /// Networks that may connect; without a list all may. Connections by a UNIX socket are not asked.
    pub allow: Option<Vec<IpNet>>,
    /// When a bucket is full.
    pub full: Full,
    /// How long a line waits at most before its bucket is sent.
    pub patience: Duration,
    /// Bytes of a line, the newline aside.
    pub longest_line: usize,
    /// Buckets of plain connections that may be under way at a time. A connection's lines go through one of them.
    pub streams: usize,
}

impl Terms {
    /// Whether connections that began with the other terms may stay.
    pub(crate) fn keep_those_of(&self, other: &Terms) -> bool {
        self.destination.is_place_of(&other.destination)
            && self.token == other.token
            && self.allow == other.allow
    }

    /// A bucket as work.
    pub(crate) fn work(&self, origin: Option<Origin>, too_long: Vec<TooLong>) -> Work {
        Work {
            listener: self.number,
            destination: self.destination.clone(),
            longest_line: self.longest_line,
            origin,
            hello: false,
            too_long,
            refused: None,
        }
    }

    /// Whether a client at this address may connect.
    pub(crate) fn admits(&self, address: Option<IpAddr>) -> bool {
        let (Some(address), Some(allow)) = (address, &self.allow) else { return true };
        allow.iter().any(|network| network.contains(&address.to_canonical()))
    }

    /// How much a client may send ahead: so much that the next bucket fills while one commits.
    pub(crate) fn window(&self, wanted: Option<u64>) -> Window {
        let lines = self.full.rows.saturating_mul(4).clamp(1000, 1_000_000);
        Window {
            lines: wanted.map_or(lines, |wanted| wanted.clamp(1, lines)),
            bytes: (self.full.bytes.saturating_mul(4) + self.longest_line) as u64,
        }
    }
}
