//! What the views show of shared memory.

use std::sync::atomic::Ordering::Relaxed;

use pg::entry::{Returned, columns, sql_function};
use pgrx::pg_sys;
use pgrx::prelude::*;
use queue::definition;
use shared::shared;

use crate::id;
use crate::kind::{self, Kind};
use crate::memory::jobs;

sql_function!(
    /// `job.read_kinds`: of the kinds that the current user may see.
    howdah_job_read_kinds,
    |call| {
        // SAFETY: PostgreSQL's own variable.
        let database = unsafe { pg_sys::MyDatabaseId }.to_u32();
        let rows = kind::seen().into_iter().filter_map(|kind| {
            let number = jobs().find(database, kind.id)?;
            let entry = jobs().kind(number);
            let begun = entry.begun.load(Relaxed);
            let mean = |sum: u64| (begun > 0).then(|| sum as f64 / begun as f64 / 1000.0);
            let reason = entry.reason.get();
            Some(columns![
                kind.id as i32,
                waiting(&kind),
                jobs().running_of(number) as i32,
                begun as i64,
                entry.done.load(Relaxed) as i64,
                entry.failed.load(Relaxed) as i64,
                mean(entry.busy_us.load(Relaxed)),
                mean(entry.waited_us.load(Relaxed)),
                entry.longest_wait_us.load(Relaxed) as f64 / 1000.0,
                (!reason.is_empty()).then_some(reason)
            ])
        });
        Returned::all(call, rows)
    }
);

/// How many jobs wait or run, roughly; none while nobody has looked at any queue since the start.
fn waiting(kind: &Kind) -> Option<i64> {
    let queues = kind.queues.iter().filter_map(|number| definition::of_number(*number));
    let counts = queues.filter_map(|queue| queue.live_roughly());
    counts.reduce(|sum, count| sum + count).map(|sum| sum as i64)
}

sql_function!(
    /// `job.read_running()`
    howdah_job_read_running,
    |call| {
        // SAFETY: PostgreSQL's own variable.
        let oid = unsafe { pg_sys::MyDatabaseId };
        let shared = shared();
        let index = shared.databases.iter().position(|database| {
            !database.is_unused() && database.oid() == oid.to_u32()
        });
        let kinds = kind::seen();
        let all = index.into_iter().flat_map(|index| jobs().running(index));
        let seen = all.filter(|(_, running)| kinds.iter().any(|kind| kind.queues.contains(&running.queue)));
        let rows = seen.map(|(executor, running)| {
            let pid = shared.workers.get(executor).map(|worker| worker.pid());
            columns![
                id::of(running.queue, running.position),
                running.queue as i32,
                running.attempt as i32,
                TimestampWithTimeZone::try_from(running.began_at).ok(),
                pid
            ]
        });
        Returned::all(call, rows)
    }
);
