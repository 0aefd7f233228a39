//! What the views on listeners for lines and their connections show.

use std::sync::atomic::Ordering::Relaxed;

use pgrx::datum::TimestampWithTimeZone;
use pgrx::pg_sys;
use pgrx::prelude::*;

use crate::shared::shared;

/// Rows of `queue.read_listeners()`.
#[pg_extern]
#[allow(clippy::type_complexity)]
fn read_listeners() -> TableIterator<
    'static,
    (
        name!(port, i32),
        name!(gateway, Option<i32>),
        name!(way, Option<String>),
        name!(connections, i32),
        name!(received, i64),
        name!(stored, i64),
        name!(repeated, i64),
        name!(rejected, i64),
        name!(refused, i64),
        name!(failing, bool),
        name!(code, Option<String>),
        name!(error, Option<String>),
        name!(error_at, Option<TimestampWithTimeZone>),
    ),
> {
    let entries = shared().intakes.listeners.iter();
    let ours = entries.filter_map(|entry| Some((entry.gateway(database())?, entry)));
    TableIterator::new(ours.map(|(gateway, entry)| {
        (
            entry.port.load(Relaxed) as i32,
            process(gateway),
            some(entry.way.get()),
            entry.connections.load(Relaxed) as i32,
            entry.received.load(Relaxed) as i64,
            entry.stored.load(Relaxed) as i64,
            entry.repeated.load(Relaxed) as i64,
            entry.rejected.load(Relaxed) as i64,
            entry.refused.load(Relaxed) as i64,
            entry.failing.load(Relaxed),
            some(entry.code.get()),
            some(entry.error.get()),
            time(entry.error_at.load(Relaxed)),
        )
    }))
}

/// Rows of `queue.read_connections()`.
#[pg_extern]
#[allow(clippy::type_complexity)]
fn read_connections() -> TableIterator<
    'static,
    (
        name!(port, i32),
        name!(gateway, Option<i32>),
        name!(remote, Option<String>),
        name!(producer, Option<String>),
        name!(epoch, Option<i32>),
        name!(sequence, Option<i64>),
        name!(since, Option<TimestampWithTimeZone>),
        name!(received, i64),
        name!(stored, i64),
        name!(repeated, i64),
        name!(rejected, i64),
        name!(lag, i64),
    ),
> {
    let entries = shared().intakes.shippers.iter();
    let ours = entries.filter_map(|entry| Some((entry.gateway(database())?, entry)));
    TableIterator::new(ours.map(|(gateway, entry)| {
        let producer = some(entry.producer.get());
        let acknowledged = producer.is_some();
        (
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
        )
    }))
}

fn database() -> pg_sys::Oid {
    // SAFETY: PostgreSQL's own variable.
    unsafe { pg_sys::MyDatabaseId }
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
