//! What the views show of shared memory.

use std::sync::atomic::Ordering::Relaxed;

use pg::entry::{Returned, columns, sql_function};
use pgrx::pg_sys;
use pgrx::prelude::*;
use queue::definition;
use queue::items::{self, Found};
use shared::shared;

use crate::kind::{self, Kind};
use crate::memory::{jobs, own_database};
use crate::{entry, id};

sql_function!(
    /// `job.read_kinds`: of the kinds that the current user may see.
    howdah_job_read_kinds,
    |call| {
        // SAFETY: PostgreSQL's own variable.
        let database = unsafe { pg_sys::MyDatabaseId }.to_u32();
        let rows = kind::seen().into_iter().map(|kind| {
            let Some(number) = jobs().find(database, kind.id) else {
                let reason = jobs().is_full().then_some(NO_ROOM);
                let none = None::<f64>;
                return columns![kind.id as i32, waiting(&kind), 0, 0_i64, 0_i64, 0_i64, none, none, none, reason];
            };
            let entry = jobs().kind(number);
            let waits = jobs().longest_wait_for_suspects().map(|seconds| {
                format!("jobs that ran when the server crashed run alone first; others wait, {seconds} s at most")
            });
            let begun = entry.begun.load(Relaxed);
            let mean = |sum: u64| (begun > 0).then(|| sum as f64 / begun as f64 / 1000.0);
            let reason = entry.reason.get();
            columns![
                kind.id as i32,
                waiting(&kind),
                jobs().running_of(number) as i32,
                begun as i64,
                entry.done.load(Relaxed) as i64,
                entry.failed.load(Relaxed) as i64,
                mean(entry.busy_us.load(Relaxed)),
                mean(entry.waited_us.load(Relaxed)),
                entry.longest_wait_us.load(Relaxed) as f64 / 1000.0,
                Some(reason).filter(|reason| !reason.is_empty()).or(waits)
            ]
        });
        Returned::all(call, rows)
    }
);

/// Why a kind without an entry runs no jobs.
const NO_ROOM: &str = "there is no room for it: raise howdah.max_job_kinds and restart the server";

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
        let kinds = kind::seen();
        let all = own_database().into_iter().flat_map(|index| jobs().running(index));
        let seen = all.filter(|(_, running)| kinds.iter().any(|kind| kind.queues.contains(&running.queue)));
        let rows = seen.map(|(executor, running)| {
            let pid = shared().workers.get(executor).map(|worker| worker.pid());
            let progress = jobs().slot(executor).progress();
            columns![
                id::of(running.queue, running.position),
                running.queue as i32,
                running.attempt as i32,
                TimestampWithTimeZone::try_from(running.began_at).ok(),
                pid,
                progress.as_ref().map(|progress| progress.fraction),
                progress.map(|progress| progress.remark).filter(|remark| !remark.is_empty())
            ]
        });
        Returned::all(call, rows)
    }
);

sql_function!(
    /// `job.find(id)`
    howdah_job_find,
    |call| {
        let (number, position) = id::parts(call.need(0, "id"));
        let kind = kind::of_queue(number).filter(|(kind, _)| kind.is_seen());
        let queue = kind.as_ref().and_then(|_| definition::of_number(number));
        let queue = queue.filter(|queue| queue.place().is_some());
        let mut rows = Vec::new();
        if let (Some((kind, priority)), Some(queue)) = (kind, queue) {
            let mut shown = None;
            let found = items::look_at(&queue, position, |item| shown = Some((item.reads, item.sent_at, item.due, entry::of(item))));
            if let Some((reads, sent_at, due, entry)) = shown {
                let time = |time: i64| TimestampWithTimeZone::try_from(time).ok();
                let is_running = matches!(found, Found::Claimed(_));
                let state = match (is_running, due > queue.time()) {
                    (true, _) => "running",
                    (_, true) => "delayed",
                    _ => "waiting",
                };
                rows.push(columns![
                    id::of(number, position),
                    kind.name,
                    state,
                    priority.word(),
                    serde_json::from_str(&entry.arguments).ok().map(pgrx::JsonB),
                    entry.key,
                    reads,
                    time(sent_at),
                    time(due),
                    entry.root.unwrap_or_else(|| id::of(number, position))
                ]);
            }
        }
        Returned::all(call, rows)
    }
);
