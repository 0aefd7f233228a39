//! The functions behind the views on the platform's state, and the call at the end of the install script.

use std::cell::Cell;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use pg::entry::{Returned, columns, sql_function};
use pg::log_line;
use pg::transaction_end::{TransactionEnd, at_transaction_end};
use pgrx::datum::TimestampWithTimeZone;
use pgrx::pg_sys;
use session::log_rate;
use shared::databases::{Database, DatabaseState, LINE_KINDS};
use shared::routes::{CLASSES, RouteCounters, RouteKind};
use shared::workers::{Kind, STATUSES, WorkerEntry};
use shared::{Lane, Shared, attached, now_us, shared};

sql_function!(
    /// Rows of `http.workers`.
    read_workers_wrapper,
    |call| {
        let shared = shared();
        let now = now_us();
        let there = shared.workers.iter().filter(|worker| !worker.is_free());
        Returned::all(call, there.map(move |worker| {
            let executor = worker.kind() == Kind::Executor;
            let busy_since = worker.busy_since.load(Relaxed);
            columns![
                Some(worker.pid()).filter(|pid| *pid != 0),
                worker.kind().word(),
                executor.then(|| worker.lane().word()),
                shared.databases[worker.database()].name.get(),
                worker.state().word(),
                worker.asked_to_leave(),
                started(worker),
                worker.requests.load(Relaxed) as i64,
                worker.errors.load(Relaxed) as i64,
                (!executor).then(|| worker.connections.load(Relaxed) as i64),
                (!executor).then(|| worker.refused.load(Relaxed) as i64),
                (busy_since != 0).then(|| now.saturating_sub(busy_since) as f64 / 1000.0),
            ]
        }))
    }
);

fn started(worker: &WorkerEntry) -> Option<TimestampWithTimeZone> {
    Some(worker.started()).filter(|started| *started != 0).and_then(|started| started.try_into().ok())
}

sql_function!(
    /// Rows of `http.refusals`.
    read_refusals_wrapper,
    |call| {
        let shared = shared();
        let there = shared.workers.iter().filter(|worker| !worker.is_free() && worker.kind() == Kind::Gateway);
        let rows = there.flat_map(move |worker| {
            let database = shared.databases[worker.database()].name.get();
            let counts =
                STATUSES.iter().zip(&worker.refusals).map(|(status, count)| (status, count.load(Relaxed)));
            counts
                .filter(|(_, count)| *count > 0)
                .map(move |(status, count)| {
                    columns![worker.pid(), database.clone(), i32::from(*status), count as i64]
                })
        });
        Returned::all(call, rows)
    }
);

sql_function!(
    /// Rows of `http.log`.
    read_log_wrapper,
    |call| {
        let known = shared().databases.iter().filter(|database| !database.is_unused());
        Returned::all(call, known.flat_map(|database| {
            LINE_KINDS.map(|kind| {
                let (written, left_out) = log_rate::counts(database, kind);
                columns![database.name.get(), kind.word(), written as i64, left_out as i64]
            })
        }))
    }
);

sql_function!(
    /// Rows of `http.databases`.
    read_databases_wrapper,
    |call| {
        let shared = shared();
        let known = shared.databases.iter().enumerate().filter(|(_, database)| !database.is_unused());
        Returned::all(call, known.map(move |(index, database)| {
            let (gateways, executors) = staff(shared, index);
            let withdrawn_by = shared.withdrawn_by(database);
            columns![
                database.name.get(),
                Some(pg_sys::Oid::from(database.oid())).filter(|oid| *oid != pg_sys::InvalidOid),
                state(database, withdrawn_by, gateways),
                withdrawn_by,
                wanted(database, Kind::Gateway),
                gateways,
                wanted(database, Kind::Executor),
                executors,
                shared.exchange.queued(Shared::lane_number(index, Lane::Http)) as i32,
                in_flight(shared, index) as i64,
            ]
        }))
    }
);

fn state(database: &Database, withdrawn_by: Option<i32>, gateways: i32) -> &'static str {
    match database.is_drained.load(Relaxed) {
        _ if withdrawn_by.is_some() => "withdrawn",
        true if gateways == 0 => "drained",
        true => DatabaseState::Draining.word(),
        false => database.state().word(),
    }
}

/// Requests that the gateways of a database have not answered.
fn in_flight(shared: &Shared, database: usize) -> u64 {
    let gateways = shared.workers.iter().filter(|worker| {
        !worker.is_free() && worker.database() == database && worker.kind() == Kind::Gateway
    });
    gateways.map(|worker| worker.in_flight.load(Relaxed)).sum()
}

fn wanted(database: &Database, kind: Kind) -> i32 {
    match kind {
        Kind::Gateway => database.gateways_wanted.load(Relaxed) as i32,
        Kind::Executor => database.executors_wanted(Lane::Http).load(Relaxed) as i32,
    }
}

/// Gateways and executors of web requests that a database has.
fn staff(shared: &Shared, database: usize) -> (i32, i32) {
    let mut counts = (0, 0);
    for worker in shared.workers.iter().filter(|worker| !worker.is_free() && worker.database() == database) {
        match worker.kind() {
            Kind::Gateway => counts.0 += 1,
            Kind::Executor => counts.1 += i32::from(worker.lane() == Lane::Http),
        }
    }
    counts
}

sql_function!(
    /// Rows of `http.stats`.
    read_stats_wrapper,
    |call| {
        // SAFETY: PostgreSQL's own variable.
        let database = unsafe { pg_sys::MyDatabaseId }.to_u32();
        let running = shared().workers.iter().filter_map(WorkerEntry::route);
        Returned::all(call, shared().routes.of(database).map(move |(number, counters)| {
            let (kind, method, pattern) = counters.label();
            let [succeeded, redirected, client_errors, server_errors] =
                [0, 1, 2, 3].map(|class: usize| counters.statuses[class].load(Relaxed) as i64);
            let requests = succeeded + redirected + client_errors + server_errors;
            let inline = counters.inline.load(Relaxed) as i64;
            let unrun = counters.unrun.load(Relaxed) as i64;
            let remembered = counters.remembered.load(Relaxed) as i64;
            let cached = counters.cached.load(Relaxed) as i64;
            let kept = remembered + cached;
            columns![
                kind.word(),
                Some(method).filter(|_| kind != RouteKind::Handler),
                pattern,
                requests,
                succeeded,
                redirected,
                client_errors,
                server_errors,
                inline,
                counters.cancelled.load(Relaxed) as i64,
                unrun,
                counters.unchanged.load(Relaxed) as i64,
                remembered,
                cached,
                counters.shared.load(Relaxed) as i64,
                counters.missed.load(Relaxed) as i64,
                counters.evicted.load(Relaxed) as i64,
                counters.cached_bytes.load(Relaxed) as i64,
                running.clone().filter(|route| *route == number as u32).count() as i32,
                mean_ms(counters.total_us.load(Relaxed), requests),
                percentile_ms(counters, 0.5),
                percentile_ms(counters, 0.99),
                mean_ms(counters.queue_us.load(Relaxed), requests - inline - kept),
                counters.queue_max_us.load(Relaxed) as f64 / 1000.0,
                mean_ms(counters.sql_us.load(Relaxed), requests - unrun - kept),
                counters.sql_max_us.load(Relaxed) as f64 / 1000.0,
                counters.reason(),
                counters.obstacle(),
            ]
        }))
    }
);

fn mean_ms(sum_us: u64, requests: i64) -> Option<f64> {
    (requests > 0).then(|| milliseconds(sum_us as f64 / requests as f64))
}

/// Nothing is measured more exactly than in microseconds, and digits that mean nothing only hinder reading.
fn milliseconds(us: f64) -> f64 {
    us.round() / 1000.0
}

/// The time, in milliseconds, that this part of the requests did not exceed: within its class of the histogram
/// times are taken to be spread evenly.
fn percentile_ms(counters: &RouteCounters, part: f64) -> Option<f64> {
    let counts: [u64; CLASSES] = std::array::from_fn(|class| counters.histogram[class].load(Relaxed));
    let mut below = 0.0;
    let rank = counts.iter().sum::<u64>() as f64 * part;
    for (class, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let count = *count as f64;
        if below + count >= rank {
            let (start, end) = if class == 0 {
                (0.0, 0.0)
            } else {
                (f64::powi(2.0, class as i32 - 1), f64::powi(2.0, class as i32))
            };
            return Some(milliseconds(start + (end - start) * (rank - below) / count));
        }
        below += count;
    }
    None
}

sql_function!(
    /// Rows of `http.sizes`.
    read_sizes_wrapper,
    |call| {
        let shared = shared();
        let header = shared.header;
        // SAFETY: PostgreSQL's own variable, fixed at the start of the server.
        let processes = unsafe { pg_sys::max_worker_processes as i64 };
        let routes = shared.routes.used() + usize::from(shared.routes.has_overflowed());
        let sizes = [
            ("max_worker_processes", i64::from(header.worker_processes_wanted.load(Relaxed)), processes),
            ("howdah.max_workers", i64::from(header.workers_wanted.load(Relaxed)), shared.workers.len() as i64),
            (
                "howdah.max_databases",
                i64::from(header.databases_listed.load(Relaxed)),
                shared.databases.len() as i64,
            ),
            ("howdah.max_routes", routes as i64, shared.routes.capacity() as i64),
        ];
        let are_used_up = |setting| setting == sizes[0].0 && header.short_of_slots.load(SeqCst);
        Returned::all(call, sizes.map(|(setting, wanted, have)| {
            let hint = match wanted > have {
                true => Some(format!("Set {setting} to {wanted} or more and restart the server.")),
                false => are_used_up(setting).then(|| {
                    format!("All {have} are in use, by others as well: set {setting} higher and restart the server.")
                }),
            };
            columns![setting, wanted, have, hint]
        }))
    }
);

thread_local! {
    /// Whether the transaction that runs has created the extension.
    static CREATED: Cell<bool> = const { Cell::new(false) };
}

sql_function!(
    /// Called by the install script: when its transaction has committed, the supervisor looks at this database.
    announce_extension_wrapper,
    |call| {
        announce_extension();
        call.nothing()
    }
);

fn announce_extension() {
    if attached().is_none() {
        log_line::warning!(
            "nothing is served until howdah is in shared_preload_libraries and the server has been restarted"
        );
        return;
    }
    announce();
}

/// Lets the supervisor look at this database when the transaction has committed.
pub(crate) fn announce() {
    CREATED.set(true);
    at_transaction_end(at_end);
}

fn at_end(end: TransactionEnd) {
    if CREATED.take() && end == TransactionEnd::Committed {
        shared().announce_change();
    }
}
