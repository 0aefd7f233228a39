//! Tells the shared memory what the listeners for lines and their connections have done, for the views.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use ::gateway::{ConnectionReport, LinesReport, Server, Trouble};
use pg::log_line;
use pgrx::pg_sys;
use session::log_rate;
use shared::databases::LineKind;
use shared::intakes::{IntakeEntry, ShipperEntry};
use shared::shared;

use super::listeners::Listeners;
use crate::worker::Worker;

/// How old what the views show may be.
const FRESH: Duration = Duration::from_millis(20);

/// The entries of this gateway.
pub(crate) struct Accounts {
    gateway: usize,
    database: pg_sys::Oid,
    listeners: HashMap<u16, Listener>,
    /// By the connection's number.
    shippers: HashMap<u64, &'static ShipperEntry>,
    last: Option<Instant>,
    /// Looks that are due.
    stale: u8,
}

struct Listener {
    entry: &'static IntakeEntry,
    /// The error that the entry has.
    trouble: Option<Trouble>,
}

impl Accounts {
    /// None yet.
    pub(super) fn new(worker: &Worker) -> Accounts {
        Accounts {
            gateway: worker.index,
            database: worker.database_oid,
            listeners: HashMap::new(),
            shippers: HashMap::new(),
            last: None,
            stale: 0,
        }
    }

    /// Whether what the views show is older than what there is.
    pub(crate) fn are_late(&self) -> bool {
        self.stale > 0
    }

    /// Something may have changed.
    pub(crate) fn doubt(&mut self) {
        // Answers are taken in by the next turn only.
        self.stale = 2;
    }

    /// The next look is due at once.
    pub(crate) fn forget_when(&mut self) {
        self.last = None;
    }

    /// Writes down what there is, unless that has just been done. Returns whether any listener for lines is left, the
    /// closing ones included; none if it has not looked.
    pub(crate) fn keep(&mut self, listeners: &Listeners, server: &Server) -> Option<bool> {
        if self.last.is_some_and(|last| last.elapsed() < FRESH) {
            return None;
        }
        self.last = Some(Instant::now());
        self.stale = self.stale.saturating_sub(1);
        let mut by_port: HashMap<u16, Vec<LinesReport>> = HashMap::new();
        for report in server.lines() {
            if let Some(port) = listeners.port(report.id) {
                by_port.entry(port).or_default().push(report);
            }
        }
        self.release(&by_port);
        for (port, reports) in &by_port {
            self.keep_listener(*port, reports);
            for report in reports {
                report.connections.iter().for_each(|connection| self.keep_shipper(*port, connection));
            }
        }
        Some(!by_port.is_empty())
    }

    /// Gives back the entries of those that are gone.
    fn release(&mut self, by_port: &HashMap<u16, Vec<LinesReport>>) {
        self.listeners.retain(|port, listener| {
            let there = by_port.contains_key(port);
            if !there {
                listener.entry.give_back();
            }
            there
        });
        let open: std::collections::HashSet<u64> = by_port
            .values()
            .flatten()
            .flat_map(|report| report.connections.iter().map(|connection| connection.id))
            .collect();
        self.shippers.retain(|id, entry| {
            let there = open.contains(id);
            if !there {
                entry.give_back();
            }
            there
        });
    }

    /// A listener may listen on several addresses.
    fn keep_listener(&mut self, port: u16, reports: &[LinesReport]) {
        if !self.listeners.contains_key(&port) {
            let taken = shared().intakes.take_listener(self.gateway, self.database.to_u32(), port);
            let Some(entry) = taken else { return };
            self.listeners.insert(port, Listener { entry, trouble: None });
        }
        let Some(listener) = self.listeners.get_mut(&port) else { return };
        let entry = listener.entry;
        let sum = |of: fn(&LinesReport) -> u64| reports.iter().map(of).sum::<u64>();
        entry.connections.store(sum(|report| report.connections.len() as u64) as u32, Relaxed);
        entry.received.store(sum(|report| report.received), Relaxed);
        entry.stored.store(sum(|report| report.stored), Relaxed);
        entry.repeated.store(sum(|report| report.repeated), Relaxed);
        entry.rejected.store(sum(|report| report.rejected), Relaxed);
        entry.dropped.store(sum(|report| report.dropped), Relaxed);
        entry.refused.store(sum(|report| report.refused), Relaxed);
        let is_failing = reports.iter().any(|report| report.is_failing);
        entry.failing.store(is_failing, Relaxed);
        let trouble =
            reports.iter().filter(|report| report.trouble.is_some()).max_by_key(|report| report.is_failing);
        let trouble = trouble.and_then(|report| report.trouble.clone());
        if trouble != listener.trouble
            && let Some(trouble) = &trouble
        {
            entry.code.set(&trouble.code);
            entry.error.set(&trouble.error);
            entry.error_at.store(queue::wall_time(), Relaxed);
            if is_failing && log_rate::allows(LineKind::Server) {
                // Who was turned away is not logged: anybody could fill the log so.
                let Trouble { code, error } = trouble;
                log_line::log!(
                    "howdah: queue.listen({port}) cannot store lines, and tries again: {code}: {error}"
                );
            }
        }
        listener.trouble = trouble;
    }

    fn keep_shipper(&mut self, port: u16, connection: &ConnectionReport) {
        let known = self.shippers.get(&connection.id).copied();
        let Some(entry) = known.or_else(|| self.take_shipper(port, connection)) else { return };
        if let Some((producer, epoch)) = &connection.producer {
            entry.producer.set(producer);
            entry.epoch.store(*epoch, Relaxed);
        }
        entry.sequence.store(connection.sequence, Relaxed);
        entry.received.store(connection.received, Relaxed);
        entry.stored.store(connection.stored, Relaxed);
        entry.repeated.store(connection.repeated, Relaxed);
        entry.rejected.store(connection.rejected, Relaxed);
        entry.lag.store(connection.lag, Relaxed);
    }

    fn take_shipper(&mut self, port: u16, connection: &ConnectionReport) -> Option<&'static ShipperEntry> {
        let entry = shared().intakes.take_shipper(self.gateway, self.database.to_u32())?;
        entry.port.store(port.into(), Relaxed);
        entry.remote.set(&connection.remote.map(|remote| remote.to_string()).unwrap_or_default());
        entry.producer.set("");
        entry.since.store(queue::wall_time(), Relaxed);
        self.shippers.insert(connection.id, entry);
        Some(entry)
    }
}
