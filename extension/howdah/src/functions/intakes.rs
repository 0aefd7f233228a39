//! What the views on listeners for lines and their connections show.

use std::sync::atomic::Ordering::Relaxed;

use pg::entry::{Returned, columns, sql_function};
use pgrx::datum::TimestampWithTimeZone;
use pgrx::pg_sys;
use shared::shared;

sql_function!(
    /// Rows of `queue.read_listeners()`.
    read_listeners_wrapper,
    |call| {
        let entries = shared().intakes.listeners.iter();
        let ours = entries.filter_map(|entry| Some((entry.gateway(database())?, entry)));
        Returned::all(call, ours.map(|(gateway, entry)| {
            columns![
                entry.port.load(Relaxed) as i32,
                process(gateway),
                some(entry.way.get()),
                entry.connections.load(Relaxed) as i32,
                entry.received.load(Relaxed) as i64,
                entry.stored.load(Relaxed) as i64,
                entry.repeated.load(Relaxed) as i64,
                entry.rejected.load(Relaxed) as i64,
                entry.dropped.load(Relaxed) as i64,
                entry.refused.load(Relaxed) as i64,
                entry.failing.load(Relaxed),
                some(entry.code.get()),
                some(entry.error.get()),
                time(entry.error_at.load(Relaxed)),
            ]
        }))
    }
);

sql_function!(
    /// Rows of `queue.read_connections()`.
    read_connections_wrapper,
    |call| {
        let entries = shared().intakes.shippers.iter();
        let ours = entries.filter_map(|entry| Some((entry.gateway(database())?, entry)));
        Returned::all(call, ours.map(|(gateway, entry)| {
            let producer = some(entry.producer.get());
            let acknowledged = producer.is_some();
            columns![
                entry.port.load(Relaxed) as i32,
                process(gateway),
                some(entry.remote.get()),
                producer,
                acknowledged.then(|| entry.epoch.load(Relaxed)),
                acknowledged.then(|| entry.sequence.load(Relaxed)),
                time(entry.since.load(Relaxed)),
                entry.received.load(Relaxed) as i64,
                entry.stored.load(Relaxed) as i64,
                entry.repeated.load(Relaxed) as i64,
                entry.rejected.load(Relaxed) as i64,
                entry.lag.load(Relaxed) as i64,
            ]
        }))
    }
);

fn database() -> u32 {
    // SAFETY: PostgreSQL's own variable.
    unsafe { pg_sys::MyDatabaseId }.to_u32()
}

fn process(gateway: usize) -> Option<i32> {
    shared().workers.get(gateway).map(|worker| worker.pid())
}

fn some(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

fn time(at: i64) -> Option<TimestampWithTimeZone> {
    (at != 0).then(|| at.try_into().ok()).flatten()
}
