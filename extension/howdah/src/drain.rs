//! Taking a database's HTTP out of service without a lost request, and its gateways one after the other.
//!
//! `http.drain` marks the database: the supervisor asks its gateways to leave, and then its executors. A gateway that is
//! asked first announces its end, so that connections close with their next response while it goes on accepting, then stops
//! accepting and answers what it has (`workers/gateway/leaving.rs`). The mark is in shared memory: a server that starts again serves.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::Duration;

use pg::entry::sql_function;
use pg::refuse::refuse_with_hint as refuse;
use pgrx::datum::Interval;
use pgrx::pg_sys;
use pgrx::prelude::*;
use session::authority::refuse_restricted;
use shared::databases::Database;
use shared::workers::Kind;
use shared::{now_us, settings, shared, wake};
use workers::gateway::{certificates, shown};

use crate::utility::rest;

/// What the supervisor and the ends of processes may take beside.
const SLACK: Duration = Duration::from_secs(5);
/// Longest announcement.
const LONGEST: i128 = 3600 * 1_000_000;

sql_function!(
    /// `http.drain`: returns when all that ran is answered. How many requests were cut off because they took too long.
    drain_wrapper,
    |call| call.give(drain(call.need(0, "announce")))
);

fn drain(announce: Interval) -> i64 {
    let announce = announce.as_micros();
    if !(0..=LONGEST).contains(&announce) {
        refuse(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            "the end can be announced for no less than nothing and no more than an hour",
            "Give an interval such as '10 seconds'.",
        );
    }
    refuse_requests("http.drain()");
    let database = served();
    let oid = pg_sys::Oid::from(database.oid());
    let before = database.cut_off.load(SeqCst);
    database.announce_ms.store((announce / 1000) as u32, SeqCst);
    database.is_drained.store(true, SeqCst);
    shared().nudge_supervisor();
    let drain = Duration::from_millis(settings::DRAIN_TIMEOUT.get() as u64);
    let patience = Duration::from_micros(announce as u64) + 2 * drain + SLACK;
    wait_until("the processes of this database have not ended in time", patience, || {
        // Somebody may have taken it back.
        !database.is_drained.load(SeqCst) || shared().workers_of(oid).next().is_none()
    });
    (database.cut_off.load(SeqCst) - before) as i64
}

sql_function!(
    /// `http.undrain`: false if the database was not drained.
    undrain_wrapper,
    |call| call.give(undrain())
);

fn undrain() -> bool {
    refuse_restricted();
    let was_drained = served().is_drained.swap(false, SeqCst);
    shared().nudge_supervisor();
    was_drained
}

sql_function!(
    /// `http.is_draining`: for routes that a load balancer asks.
    is_draining_wrapper,
    |call| call.give(is_draining())
);

fn is_draining() -> bool {
    // SAFETY: PostgreSQL's own variable.
    let database = shared().database_of(unsafe { pg_sys::MyDatabaseId });
    database.is_none_or(|database| database.is_drained.load(Relaxed))
}

sql_function!(
    /// `http.replace_gateways`: returns when those that there were have gone; how many these were.
    replace_gateways_wrapper,
    |call| call.give(replace_gateways())
);

fn replace_gateways() -> i32 {
    refuse_requests("http.replace_gateways()");
    let database = served();
    let oid = pg_sys::Oid::from(database.oid());
    let present = || shared().workers_of(oid).filter(|(_, worker)| worker.kind() == Kind::Gateway);
    let in_force: Vec<_> =
        present().flat_map(|(index, worker)| shown::in_force(index, worker.pid())).collect();
    if let Some(reason) = certificates::lost_by_others(&database.name.get(), &in_force) {
        refuse(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            &format!("the gateways stay, as others would not have what they have in force: {reason}"),
            "Mend the files or the setting, and call it again.",
        );
    }
    let replaced: Vec<i32> = present().map(|(_, worker)| worker.pid()).filter(|pid| *pid != 0).collect();
    for (index, worker) in present() {
        worker.ask_to_leave(now_us());
        wake::wake(Kind::Gateway, index);
    }
    shared().nudge_supervisor();
    let drain = Duration::from_millis(settings::DRAIN_TIMEOUT.get() as u64);
    wait_until("the gateways have not ended in time", 2 * drain + SLACK, || {
        !present().any(|(_, worker)| replaced.contains(&worker.pid()))
    });
    replaced.len() as i32
}

/// The entry of this database.
fn served() -> &'static Database {
    // SAFETY: PostgreSQL's own variable.
    match shared().database_of(unsafe { pg_sys::MyDatabaseId }) {
        Some(database) => database,
        None => refuse(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "nothing serves this database",
            "Add it to howdah.databases and reload the configuration.",
        ),
    }
}

/// An error where nothing may be configured, and in a request, which would wait for its own end.
fn refuse_requests(function: &str) {
    refuse_restricted();
    // SAFETY: PostgreSQL's own variable.
    if unsafe { pg_sys::MyBackendType } == pg_sys::BackendType::B_BG_WORKER {
        refuse(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            &format!("{function} cannot be called by a request, which it would wait for"),
            "Call it from a session.",
        );
    }
}

/// Waits until something holds; an error if that takes longer than it may.
fn wait_until(late: &str, patience: Duration, holds: impl Fn() -> bool) {
    let until = now_us() + patience.as_micros() as u64;
    while !holds() {
        if now_us() > until {
            refuse(
                PgSqlErrorCode::ERRCODE_OBJECT_IN_USE,
                late,
                "http.workers shows them; it goes on meanwhile.",
            );
        }
        rest();
    }
}
