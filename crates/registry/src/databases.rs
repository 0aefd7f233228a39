//! The databases that the settings list.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};

use crate::deployments::Deployments;
use crate::{Allowance, Lane, Text};

/// What the supervisor knows of a listed database.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum DatabaseState {
    /// The entry is free.
    Unused = 0,
    /// A gateway is about to find out whether the database has the extension.
    Probing,
    /// It is served.
    Serving,
    /// No database has this name.
    Missing,
    /// It refuses connections (`allow_connections`).
    Closed,
    /// Its encoding is not UTF8.
    WrongEncoding,
    /// It has no extension howdah.
    NoExtension,
    /// The library does not serve the extension's version.
    WrongVersion,
    /// It is not listed any more, and its workers are leaving.
    Draining,
}

impl DatabaseState {
    /// The word that views and the log use.
    pub fn word(self) -> &'static str {
        match self {
            DatabaseState::Unused => "unused",
            DatabaseState::Probing => "probing",
            DatabaseState::Serving => "serving",
            DatabaseState::Missing => "missing",
            DatabaseState::Closed => "closed",
            DatabaseState::WrongEncoding => "wrong encoding",
            DatabaseState::NoExtension => "no extension",
            DatabaseState::WrongVersion => "wrong version",
            DatabaseState::Draining => "draining",
        }
    }

    fn of(number: u32) -> DatabaseState {
        use DatabaseState::*;
        [Probing, Serving, Missing, Closed, WrongEncoding, NoExtension, WrongVersion, Draining]
            .into_iter()
            .find(|state| *state as u32 == number)
            .unwrap_or(Unused)
    }
}

/// Kinds of lines that requests have logged. None takes another's share: a flood of bad input hides no error of a handler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineKind {
    /// Errors answered with a status below 500.
    Client = 0,
    /// Errors answered with 500 or more.
    Server,
    /// Warnings, notices and whatever else is no error.
    Remark,
    /// Requests that `howdah.log_min_duration` has logged.
    Request,
}

/// All kinds.
pub const LINE_KINDS: [LineKind; 4] =
    [LineKind::Client, LineKind::Server, LineKind::Remark, LineKind::Request];

impl LineKind {
    /// The word that the view uses.
    pub fn word(self) -> &'static str {
        match self {
            LineKind::Client => "client errors",
            LineKind::Server => "server errors",
            LineKind::Remark => "remarks",
            LineKind::Request => "requests",
        }
    }
}

/// A listed database. The supervisor alone makes and frees entries; workers report what they found.
#[repr(C, align(64))]
pub struct Database {
    /// Its name. PostgreSQL's names have at most 63 bytes.
    pub name: Text<8>,
    oid: AtomicU32,
    state: AtomicU32,
    /// Gateways that the settings ask for.
    pub gateways_wanted: AtomicU32,
    /// How many listeners take lines, those that are closing included: with any, the lane of incoming rows needs executors.
    pub line_listeners: AtomicU32,
    /// How many kinds of jobs are defined: with any, the lane of jobs needs executors.
    pub job_kinds: AtomicU32,
    /// Executors that each lane should have now.
    executors_wanted: [AtomicU32; Lane::COUNT],
    /// Whether nobody shall serve it until it is taken back: `http.drain`.
    pub is_drained: AtomicBool,
    /// For how many milliseconds its gateways then announce their end.
    pub announce_ms: AtomicU32,
    /// Requests that gateways have cut off when they left.
    pub cut_off: AtomicU64,
    /// Deployments that become visible.
    pub deployments: Deployments,
    /// What requests may make its workers write to the log, by [`LineKind`].
    pub log: [Allowance; LINE_KINDS.len()],
}

impl Database {
    /// How many executors a lane should have now.
    pub fn executors_wanted(&self, lane: Lane) -> &AtomicU32 {
        &self.executors_wanted[lane.place()]
    }

    /// Another database gets the entry.
    pub fn begin(&self, name: &str) {
        self.name.set(name);
        self.set_oid(0);
        self.is_drained.store(false, SeqCst);
        self.log.iter().for_each(Allowance::forget);
        self.set_state(DatabaseState::Missing);
    }

    /// The database's oid; of one that is missing 0, once its last worker has gone.
    pub fn oid(&self) -> u32 {
        self.oid.load(SeqCst)
    }

    /// Sets the oid, as the catalog has it now.
    pub fn set_oid(&self, oid: u32) {
        self.oid.store(oid, SeqCst);
    }

    /// What is known of it.
    pub fn state(&self) -> DatabaseState {
        DatabaseState::of(self.state.load(SeqCst))
    }

    /// Sets the state and returns the one before.
    pub fn set_state(&self, state: DatabaseState) -> DatabaseState {
        DatabaseState::of(self.state.swap(state as u32, SeqCst))
    }

    /// A worker reports what it has found inside; void if the supervisor knows better by now.
    pub fn report(&self, found: DatabaseState) {
        use DatabaseState::*;
        // Where the supervisor knows better nothing changes.
        let _ = self.state.fetch_update(SeqCst, SeqCst, |state| {
            matches!(DatabaseState::of(state), Probing | Serving | NoExtension | WrongVersion)
                .then_some(found as u32)
        });
    }

    /// Whether the entry is free.
    pub fn is_unused(&self) -> bool {
        self.state() == DatabaseState::Unused
    }

    /// Whether the setting lists it.
    pub fn is_listed(&self) -> bool {
        !matches!(self.state(), DatabaseState::Unused | DatabaseState::Draining)
    }

    /// Whether it is listed and exists.
    pub fn is_there(&self) -> bool {
        self.is_listed() && self.state() != DatabaseState::Missing
    }
}
