//! The listeners for HTTP, as `http.listener` has them.

use pgrx::spi::SpiClient;

/// A row of `http.listener`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listener {
    /// The port, or the number in the name of the UNIX socket.
    pub port: u16,
    /// The address as the user has given it; empty: what `howdah.listen_addresses` says.
    pub address: String,
    /// Whether it speaks TLS; UNIX sockets never do.
    pub tls: bool,
    /// Whether it only sends clients to https.
    pub redirects: bool,
    /// What it asks of clients about themselves.
    pub clients: ClientRule,
}

/// What a listener that speaks TLS asks of clients about themselves. The stricter ones are greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClientRule {
    /// Nothing.
    #[default]
    Off,
    /// A certificate, if they have one.
    Ask,
    /// A certificate.
    Require,
}

impl ClientRule {
    /// The rule that a word of `http.listen` names.
    pub fn of(word: &str) -> Option<ClientRule> {
        match word {
            "off" => Some(ClientRule::Off),
            "ask" => Some(ClientRule::Ask),
            "require" => Some(ClientRule::Require),
            _ => None,
        }
    }
}

/// Reads `http.listener`. Its caller has put a safe search_path in force.
pub(crate) fn read(client: &SpiClient<'_>) -> Result<Vec<Listener>, pgrx::spi::Error> {
    let rows = client.select(
        "select port, address, tls, redirect, client_certificates from http.listener order by port, address",
        None,
        &[],
    )?;
    rows.map(|row| {
        Ok(Listener {
            port: row.get::<i32>(1)?.and_then(|port| u16::try_from(port).ok()).unwrap_or_default(),
            address: row.get::<String>(2)?.unwrap_or_default(),
            tls: row.get::<bool>(3)?.unwrap_or_default(),
            redirects: row.get::<String>(4)?.is_some(),
            clients: row.get::<&str>(5)?.and_then(ClientRule::of).unwrap_or(ClientRule::Require),
        })
    })
    .collect()
}
