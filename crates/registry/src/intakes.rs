//! What gateways tell of their listeners for lines, and of the connections that bring them.
//!
//! A gateway alone writes its entries; a reader that meets a writer sees a mixture of two moments.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering::*};

use crate::Text;

/// Listeners for lines for each worker that can exist.
pub const PER_WORKER: usize = 4;

/// Whose an entry is.
#[repr(C)]
pub struct Holder {
    /// The gateway's index plus one; 0 while the entry is free.
    gateway: AtomicU32,
    database: AtomicU32,
}

/// A listener for lines in one gateway.
#[repr(C)]
pub struct IntakeEntry {
    holder: Holder,
    /// Its port.
    pub port: AtomicU32,
    /// Connections that are open.
    pub connections: AtomicU32,
    /// Lines that came.
    pub received: AtomicU64,
    /// Lines that were stored.
    pub stored: AtomicU64,
    /// Lines that producers had sent before.
    pub repeated: AtomicU64,
    /// Lines that were refused.
    pub rejected: AtomicU64,
    /// Those of them that were not kept as dead letters.
    pub dropped: AtomicU64,
    /// Connections that were turned away.
    pub refused: AtomicU64,
    /// Whether nothing can be written now.
    pub failing: AtomicBool,
    /// When the last error occurred, as a `timestamptz`; 0 if there was none.
    pub error_at: AtomicI64,
    /// The last error's SQLSTATE.
    pub code: Text<1>,
    /// The last error, as far as it fits.
    pub error: Text<32>,
    /// How rows are written, and why. The executors write it.
    pub way: Text<24>,
}

/// A connection that brings lines.
#[repr(C)]
pub struct ShipperEntry {
    holder: Holder,
    /// The listener's port.
    pub port: AtomicU32,
    /// Epoch of the producer.
    pub epoch: AtomicI32,
    /// Where it comes from; empty for a UNIX socket.
    pub remote: Text<7>,
    /// Who sends, as far as it fits; empty if the connection is plain.
    pub producer: Text<16>,
    /// The last line that was acknowledged.
    pub sequence: AtomicI64,
    /// When it was first seen, as a `timestamptz`.
    pub since: AtomicI64,
    /// Lines that came.
    pub received: AtomicU64,
    /// Lines that were stored.
    pub stored: AtomicU64,
    /// Lines that the producer had sent before.
    pub repeated: AtomicU64,
    /// Lines that have become dead letters.
    pub rejected: AtomicU64,
    /// Lines whose bucket is not committed.
    pub lag: AtomicU64,
}

/// Both kinds of entries. Databases are named by their oids.
pub struct Intakes {
    /// The listeners.
    pub listeners: &'static [IntakeEntry],
    /// The connections. Those that find no entry are served, and not shown.
    pub shippers: &'static [ShipperEntry],
}

impl Holder {
    fn take(&self, gateway: usize, database: u32) -> bool {
        let taken = self.gateway.compare_exchange(0, gateway as u32 + 1, SeqCst, SeqCst).is_ok();
        if taken {
            self.database.store(database, SeqCst);
        }
        taken
    }

    fn give_back(&self) {
        self.database.store(0, SeqCst);
        self.gateway.store(0, SeqCst);
    }

    /// The gateway that has the entry, if it is of this database.
    fn of(&self, database: u32) -> Option<usize> {
        let ours = self.database.load(SeqCst) == database;
        self.gateway.load(SeqCst).checked_sub(1).filter(|_| ours).map(|gateway| gateway as usize)
    }

    fn is(&self, gateway: usize) -> bool {
        self.gateway.load(SeqCst) == gateway as u32 + 1
    }
}

impl IntakeEntry {
    /// The gateway that has it, if it is of this database.
    pub fn gateway(&self, database: u32) -> Option<usize> {
        self.holder.of(database)
    }

    /// Frees it.
    pub fn give_back(&self) {
        self.holder.give_back();
    }
}

impl ShipperEntry {
    /// The gateway that has it, if it is of this database.
    pub fn gateway(&self, database: u32) -> Option<usize> {
        self.holder.of(database)
    }

    /// Frees it.
    pub fn give_back(&self) {
        self.holder.give_back();
    }
}

impl Intakes {
    /// An entry for a listener of a gateway; none if all are taken.
    pub fn take_listener(&self, gateway: usize, database: u32, port: u16) -> Option<&'static IntakeEntry> {
        let entry = self.listeners.iter().find(|entry| entry.holder.take(gateway, database))?;
        entry.port.store(port.into(), SeqCst);
        entry.error_at.store(0, SeqCst);
        entry.error.set("");
        entry.code.set("");
        entry.way.set("");
        Some(entry)
    }

    /// An entry for a connection of a gateway; none if all are taken.
    pub fn take_shipper(&self, gateway: usize, database: u32) -> Option<&'static ShipperEntry> {
        self.shippers.iter().find(|entry| entry.holder.take(gateway, database))
    }

    /// Notes how rows of a listener are written.
    pub fn set_way(&self, database: u32, port: u32, way: &str) {
        let ours = self.listeners.iter().filter(|entry| entry.gateway(database).is_some());
        let entries = ours.filter(|entry| entry.port.load(Relaxed) == port && !entry.way.is(way));
        entries.for_each(|entry| entry.way.set(way));
    }

    /// Frees all entries of a gateway.
    pub fn release_all(&self, gateway: usize) {
        self.listeners.iter().filter(|entry| entry.holder.is(gateway)).for_each(IntakeEntry::give_back);
        self.shippers.iter().filter(|entry| entry.holder.is(gateway)).for_each(ShipperEntry::give_back);
    }
}
