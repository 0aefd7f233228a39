//! The registry of ports: a port belongs to one database.
//!
//! SO_REUSEPORT lets the gateways of a database share a port, and would let those of another database
//! join them unnoticed. So a gateway claims an address here before it binds it.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use crate::Text;

const FREE: u32 = 0;
/// Somebody writes the entry.
const WRITING: u32 = 1;
/// The entry stands: claimed, or held.
const CLAIMED: u32 = 2;

/// The entry tells why a gateway could not bind.
const FAILED: u32 = 3;

/// An address that a gateway has, or could not get.
#[derive(Clone, Debug)]
pub struct Held {
    /// The address, or the path of a UNIX socket.
    pub address: String,
    /// The port; 0 for a UNIX socket.
    pub port: u16,
    /// Index of the gateway.
    pub gateway: usize,
    /// Why it could not be bound.
    pub error: Option<String>,
    /// The listeners that want it: the addresses that were given to them.
    pub wanted_by: Vec<String>,
}

/// One address of one gateway.
#[derive(Default, Debug)]
#[repr(C)]
pub struct PortEntry {
    state: AtomicU32,
    gateway: AtomicU32,
    database: AtomicU32,
    port: AtomicU32,
    /// An address as [`std::net::IpAddr`] writes it, or the path of a UNIX socket (at most 107 bytes).
    address: Text<14>,
    /// Why it could not be bound, as far as it fits.
    reason: Text<32>,
    /// The addresses that were given to the listeners that want it, each with a newline at its end.
    wanted_by: Text<64>,
}

/// Why an address cannot be claimed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// This database has it, or has one that overlaps.
    Taken(u32),
    /// The registry is full.
    Full,
}

/// The registry.
pub struct Ports(&'static [PortEntry]);

impl Ports {
    /// The registry of these entries, which lie in memory that all processes share.
    pub fn new(entries: &'static [PortEntry]) -> Ports {
        Ports(entries)
    }

    /// Claims an address for a gateway (its worker's index) of a database. A UNIX socket has port 0.
    ///
    /// The claim stands before the others are looked at, and whoever sees another's withdraws its own:
    /// of two that claim at once none or one succeeds, never both. The gateway tries again later.
    pub fn claim(&self, address: &str, port: u16, database: u32, gateway: usize) -> Result<(), Refused> {
        let entry = self.take(address, port, database, gateway).ok_or(Refused::Full)?;
        entry.state.store(CLAIMED, SeqCst);
        match self.holder(address, port, database) {
            None => Ok(()),
            Some(other) => {
                entry.state.store(FREE, SeqCst);
                Err(Refused::Taken(other))
            }
        }
    }

    /// A free entry, filled in; whoever has taken it publishes it.
    fn take(&self, address: &str, port: u16, database: u32, gateway: usize) -> Option<&PortEntry> {
        let entry = self
            .0
            .iter()
            .find(|entry| entry.state.compare_exchange(FREE, WRITING, SeqCst, SeqCst).is_ok())?;
        entry.gateway.store(gateway as u32, SeqCst);
        entry.database.store(database, SeqCst);
        entry.port.store(port.into(), SeqCst);
        entry.address.set(address);
        entry.wanted_by.set("");
        Some(entry)
    }

    /// Notes which listeners want an address that a gateway has, or could not get: the addresses that were given
    /// to them. Several may want the same.
    pub fn attribute(&self, address: &str, port: u16, gateway: usize, listeners: &[String]) {
        let lines: String = listeners.iter().map(|listener| format!("{listener}\n")).collect();
        self.at(address, port, gateway)
            .filter(|entry| !entry.wanted_by.is(&lines))
            .for_each(|entry| entry.wanted_by.set(&lines));
    }

    /// The database, other than `database`, that has this address or one that overlaps with it.
    pub fn holder(&self, address: &str, port: u16, database: u32) -> Option<u32> {
        self.0
            .iter()
            .filter(|entry| entry.state.load(SeqCst) == CLAIMED)
            .filter(|entry| entry.database.load(SeqCst) != database)
            .find(|entry| entry.overlaps(address, port))
            .map(|entry| entry.database.load(SeqCst))
    }

    /// The other gateways of the database that have this very address.
    pub fn others(
        &self,
        address: &str,
        port: u16,
        database: u32,
        gateway: usize,
    ) -> impl Iterator<Item = usize> {
        self.0
            .iter()
            .filter(move |entry| {
                entry.state.load(SeqCst) == CLAIMED
                    && entry.database.load(SeqCst) == database
                    && entry.gateway.load(SeqCst) != gateway as u32
                    && entry.port.load(SeqCst) == u32::from(port)
                    && entry.address.is(address)
            })
            .map(|entry| entry.gateway.load(SeqCst) as usize)
    }

    /// Notes why a gateway could not bind an address. When the registry is full it is in the log alone.
    pub fn complain(&self, address: &str, port: u16, database: u32, gateway: usize, reason: &str) {
        self.forget_complaint(address, port, gateway);
        if let Some(entry) = self.take(address, port, database, gateway) {
            entry.reason.set(reason);
            entry.state.store(FAILED, SeqCst);
        }
    }

    /// Removes what [`Ports::complain`] has noted.
    pub fn forget_complaint(&self, address: &str, port: u16, gateway: usize) {
        self.at(address, port, gateway)
            .filter(|entry| entry.state.load(SeqCst) == FAILED)
            .for_each(|entry| entry.state.store(FREE, SeqCst));
    }

    /// What the gateways of a database have, or could not get.
    pub fn of_database(&self, database: u32) -> Vec<Held> {
        let ours = self.0.iter().filter(|entry| entry.database.load(SeqCst) == database);
        ours.filter_map(|entry| {
            let state = entry.state.load(SeqCst);
            (state == CLAIMED || state == FAILED).then(|| Held {
                address: entry.address.get(),
                port: entry.port.load(SeqCst) as u16,
                gateway: entry.gateway.load(SeqCst) as usize,
                error: (state == FAILED).then(|| entry.reason.get()),
                wanted_by: entry.wanted_by.get().lines().map(str::to_owned).collect(),
            })
        })
        .collect()
    }

    /// Gives an address back.
    pub fn release(&self, address: &str, port: u16, gateway: usize) {
        self.at(address, port, gateway).for_each(|entry| entry.state.store(FREE, SeqCst));
    }

    /// Gives back all that a gateway has.
    pub fn release_all(&self, gateway: usize) {
        self.of(gateway).for_each(|entry| entry.state.store(FREE, SeqCst));
    }

    /// The entries of a gateway for an address.
    fn at(&self, address: &str, port: u16, gateway: usize) -> impl Iterator<Item = &PortEntry> {
        self.of(gateway)
            .filter(move |entry| entry.port.load(SeqCst) == u32::from(port) && entry.address.is(address))
    }

    fn of(&self, gateway: usize) -> impl Iterator<Item = &PortEntry> {
        self.0.iter().filter(move |entry| {
            matches!(entry.state.load(SeqCst), CLAIMED | FAILED)
                && entry.gateway.load(SeqCst) == gateway as u32
        })
    }
}

impl PortEntry {
    /// Whether both cannot be bound by strangers. Wildcards of either family overlap with everything,
    /// as an IPv6 socket may accept IPv4 as well.
    fn overlaps(&self, address: &str, port: u16) -> bool {
        let wildcard = |address: &str| address == "0.0.0.0" || address == "::";
        let own = self.address.get();
        self.port.load(SeqCst) == u32::from(port)
            && (own == address || (port != 0 && (wildcard(&own) || wildcard(address))))
    }
}
