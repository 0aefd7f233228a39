//! The entries of the listed databases, kept in line with the setting and the catalog.

use std::collections::HashSet;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use pg::log_line;
use pgrx::pg_sys;
use shared::databases::{Database, DatabaseState};
use shared::routes::RouteCounters;
use shared::{Shared, settings};

use super::catalog::{self, Row};

/// How often the supervisor looks when nothing calls it: at databases that cannot be served, and at executors that idle.
pub(super) const LOOK: Duration = Duration::from_secs(5);

/// For how many microseconds the figures of a route are kept once it is gone: it may only have been registered anew.
const KEPT_US: u64 = 5_000_000;

/// What the supervisor remembers of the listed databases.
pub(crate) struct Listed {
    shared: &'static Shared,
    /// When to read the catalog next, by [`shared::now_us`].
    due: u64,
    /// The state of each entry that the log has.
    logged: Vec<DatabaseState>,
    /// Which entries were withdrawn at the last look.
    withdrawn: Vec<bool>,
    /// Names beyond the last entry that the log has.
    surplus: Vec<String>,
}

impl Listed {
    pub(super) fn new(shared: &'static Shared) -> Listed {
        let logged = shared.databases.iter().map(Database::state).collect();
        let withdrawn = vec![false; shared.databases.len()];
        Listed { shared, due: 0, logged, withdrawn, surplus: Vec::new() }
    }

    /// Reads the catalog at the next look, and probes databases again that could not be served.
    pub(crate) fn look_again(&mut self) {
        self.due = 0;
    }

    /// Brings the entries up to date, if that is due.
    pub(crate) fn refresh(&mut self, now: u64) {
        let changed = self.shared.take_change();
        let returned = self.notice_withdrawals();
        if changed || returned || now >= self.due {
            self.read(now);
        }
        self.log_changes();
    }

    /// Whether a withdrawal has ended since the last look.
    fn notice_withdrawals(&mut self) -> bool {
        self.shared.header.withdrawals.end_those_of_the_gone(has_gone);
        let mut returned = false;
        for (database, before) in self.shared.databases.iter().zip(&mut self.withdrawn) {
            let now = self.shared.withdrawn_by(database).is_some();
            returned |= *before && !now;
            *before = now;
        }
        returned
    }

    fn read(&mut self, now: u64) {
        let Some(rows) = catalog::databases() else { return };
        self.due = now + LOOK.as_micros() as u64;
        let names = settings::list(&settings::DATABASES);
        self.shared.header.databases_listed.store(names.len() as u32, SeqCst);
        self.release(&names);
        // While it is known what the last probes have found.
        let oids: HashSet<pg_sys::Oid> = rows.iter().map(|row| row.oid).collect();
        self.shared.routes.give_back(|number, counters| is_over(self.shared, &oids, number, counters, now));
        self.take(&names);
        let mut found = Vec::new();
        for (index, database) in
            self.shared.databases.iter().enumerate().filter(|(_, entry)| entry.is_listed())
        {
            let name = database.name.get();
            let row = rows.iter().find(|row| row.name == name);
            if row.is_none_or(|row| row.oid.to_u32() != database.oid()) {
                forget(database, self.shared.is_staffed(index));
            }
            found.extend(row.map(|row| (database, row)));
        }
        // Once all have let go of what is theirs no more: names may have been swapped.
        found.into_iter().for_each(|(database, row)| assess(database, row));
    }

    /// Frees the entries of databases that are listed no more, once their workers are gone.
    fn release(&self, names: &[String]) {
        for (index, database) in self.shared.databases.iter().enumerate() {
            let listed = names.iter().any(|name| database.name.is(name));
            if database.is_unused() || listed {
                continue;
            }
            database.set_state(DatabaseState::Draining);
            if !self.shared.is_staffed(index) {
                database.set_oid(0);
                database.set_state(DatabaseState::Unused);
            }
        }
    }

    /// Gives each listed database an entry.
    fn take(&mut self, names: &[String]) {
        let mut surplus = Vec::new();
        for name in names {
            let known = self.shared.databases.iter().find(|entry| !entry.is_unused() && entry.name.is(name));
            if let Some(database) = known {
                if database.state() == DatabaseState::Draining {
                    database.set_state(DatabaseState::Missing);
                }
            } else if let Some(database) = self.shared.databases.iter().find(|entry| entry.is_unused()) {
                database.begin(name);
            } else {
                surplus.push(name.clone());
            }
        }
        if surplus != self.surplus && !surplus.is_empty() {
            log_line::log!(
                "howdah: no room for the databases {}: howdah.max_databases is {}; set it to {} or more and restart the server",
                surplus.join(", "),
                self.shared.databases.len(),
                names.len()
            );
        }
        self.surplus = surplus;
    }

    /// One line for each change of state, whatever happened in between.
    fn log_changes(&mut self) {
        for (database, logged) in self.shared.databases.iter().zip(&mut self.logged) {
            let state = database.state();
            if state == *logged || matches!(state, DatabaseState::Probing) {
                continue;
            }
            *logged = state;
            let name = database.name.get();
            match state {
                DatabaseState::Serving => log_line::log!("howdah: serving database \"{name}\""),
                DatabaseState::NoExtension => {
                    log_line::log!(
                        "howdah: database \"{name}\" has no extension howdah; run in it: create extension howdah"
                    )
                }
                DatabaseState::Missing => log_line::log!("howdah: database \"{name}\" does not exist"),
                DatabaseState::Closed => {
                    log_line::log!("howdah: database \"{name}\" does not allow connections")
                }
                DatabaseState::WrongEncoding => {
                    log_line::log!("howdah: database \"{name}\" is not served: its encoding is not UTF8")
                }
                DatabaseState::WrongVersion => log_line::log!(
                    "howdah: database \"{name}\" has a version of the extension that this library does not serve; run in it: alter extension howdah update; if its version is newer than the library, restart the server with the newer library"
                ),
                DatabaseState::Draining => log_line::log!("howdah: database \"{name}\" is no longer served"),
                DatabaseState::Unused | DatabaseState::Probing => {}
            }
        }
    }
}

/// Whether counters have served their time: their database is served no more, or has had no such route for a while.
fn is_over(
    shared: &Shared,
    databases: &HashSet<pg_sys::Oid>,
    number: usize,
    counters: &RouteCounters,
    now: u64,
) -> bool {
    let oid = pg_sys::Oid::from(counters.database());
    match shared.database_of(oid).map(Database::state) {
        Some(_) if !databases.contains(&oid) => true,
        // Once its last worker is gone.
        None => true,
        Some(DatabaseState::NoExtension) => shared.workers_of(oid).next().is_none(),
        Some(_) => {
            counters.gone_for(now).is_some_and(|time| time >= KEPT_US) && is_idle(shared, number as u32)
        }
    }
}

/// Whether no request holds the gate of a route.
fn is_idle(shared: &Shared, number: u32) -> bool {
    let gate = shared.exchange.gate(number);
    let runs = shared.workers.iter().any(|worker| worker.route() == Some(number));
    gate.running == 0 && gate.parked == 0 && !runs
}

/// The name is another database's now, or nobody's. While workers are there, the entry is still theirs.
fn forget(database: &Database, is_staffed: bool) {
    database.set_state(DatabaseState::Missing);
    if !is_staffed {
        database.set_oid(0);
    }
}

/// Sets a database's state by its row in the catalog. What only a worker can find out inside is probed.
fn assess(database: &Database, row: &Row) {
    if database.oid() != row.oid.to_u32() && database.oid() != 0 {
        // The workers of the old one are going.
        return;
    }
    let state = match row {
        Row { utf8: false, .. } => DatabaseState::WrongEncoding,
        Row { open: false, .. } => DatabaseState::Closed,
        _ if database.state() == DatabaseState::Serving => return,
        _ => DatabaseState::Probing,
    };
    database.set_oid(row.oid.to_u32());
    database.set_state(state);
}

/// Whether a backend has ended.
fn has_gone(pid: i32) -> bool {
    // SAFETY: looks through the processes of the server under PostgreSQL's own lock.
    unsafe { pg_sys::BackendPidGetProc(pid) }.is_null()
}
