//! Enqueueing what schedules are due for. An executor does it between two jobs, or wakes for it; a transaction takes those that are due, enqueues their jobs and
//! notes when they are due next, so each due time has its job once.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use pg::guard::{PgError, Report};
use pg::log_line;
use pg::transaction_end::{TransactionEnd, at_transaction_end};
use pgrx::pg_sys::Datum;
use pgrx::prelude::*;
use queue::definition;
use queue::items::{self, Found};
use queue::memory::queues;
use schedule::{Look, Priority};
use session::authority::{rows_as_owner, run_as_owner, value_as_owner};
use session::own_transaction::transaction;
use session::subtransaction::attempted;

use crate::functions::database;
use crate::kind::{self, Kind, Right};
use crate::memory::jobs;
use crate::schedules::{COLUMNS, NamedZone, Schedule, from_unix, to_unix};
use crate::{entry, id, keys};

/// Most schedules that one transaction looks at.
const MOST: usize = 1000;
/// How long nobody looks while others hold what is due.
const PAUSE: i64 = 100_000;
/// How long somebody may take, before another looks.
const TURN: i64 = 5_000_000;
/// How long nobody looks at most: what a prepared transaction has changed is seen then.
const LONGEST: i64 = 60_000_000;
/// A clock that is set back by more than this was wrong before.
const MENDED: &str = "1 day";

/// When schedules of a database are looked at next, in shared memory. Zeros are: at once.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Clock {
    /// As PostgreSQL counts.
    due: AtomicI64,
    /// Changes of schedules.
    changes: AtomicU64,
    /// There are none that are not paused.
    is_empty: AtomicBool,
}

impl Clock {
    /// Schedules have changed.
    fn changed(&self) {
        self.changes.fetch_add(1, SeqCst);
        self.due.store(0, SeqCst);
    }

    /// Makes the look that is due the caller's; none if none is, or another has it. The changes that it will see.
    fn take(&self, now: i64) -> Option<u64> {
        let due = self.due.load(SeqCst);
        // A clock that was set back far tells nothing.
        if due > now && due <= now.saturating_add(LONGEST) {
            return None;
        }
        self.due.compare_exchange(due, now.saturating_add(TURN), SeqCst, SeqCst).ok()?;
        Some(self.changes.load(SeqCst))
    }

    /// Something is due at a time, if ever.
    fn set(&self, due: Option<i64>, now: i64, seen: u64) {
        self.is_empty.store(due.is_none(), SeqCst);
        self.due.store(due.unwrap_or(i64::MAX).min(now.saturating_add(LONGEST)), SeqCst);
        if self.changes.load(SeqCst) != seen {
            self.due.store(0, SeqCst);
        }
    }
}

/// Has executors of this database look at its schedules once the transaction is committed.
pub fn announce() {
    at_transaction_end(|end| {
        let has_changed = HAS_CHANGED.take();
        if has_changed
            && end == TransactionEnd::Committed
            && let Some(index) = database()
        {
            jobs().clock(index).changed();
            queues().bell(index).ring();
        }
    });
    HAS_CHANGED.set(true);
}

thread_local! {
    /// Whether this transaction has changed schedules.
    static HAS_CHANGED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Enqueues what is due. When to look again, if there are schedules.
///
/// # Safety
/// On the main thread of an executor of the database, outside a transaction.
pub(crate) unsafe fn look_after(database: usize) -> Option<Duration> {
    let clock = jobs().clock(database);
    let now = queue::now();
    if let Some(seen) = clock.take(now) {
        // What fails is logged.
        let next = transaction(Report::Log, || look(now)).unwrap_or(Some(now + TURN));
        clock.set(next, now, seen);
    }
    let wait = clock.due.load(SeqCst).saturating_sub(queue::now()).clamp(0, LONGEST);
    (!clock.is_empty.load(SeqCst)).then(|| Duration::from_micros(wait as u64))
}

/// A schedule that is due, and what is to be done about it.
struct Due {
    schedule: Schedule,
    look: Look,
    /// Why no job of it can be enqueued.
    obstacle: Option<String>,
    jobs: Vec<i64>,
}

/// Enqueues what is due; when something is due next, if ever.
fn look(now: i64) -> Option<i64> {
    let query = format!(
        "select {COLUMNS} from job.timetable s
         where s.paused_at is null
           and (s.next_at <= pg_catalog.clock_timestamp() or s.last_at > pg_catalog.clock_timestamp() + interval '{MENDED}')
         order by s.next_at limit {MOST} for update skip locked"
    );
    let schedules = rows_as_owner(&query, &[], |row| Schedule::of(&row).ok());
    let count = schedules.len();
    if count > 0 {
        let mut due: Vec<Due> = schedules.into_iter().map(|schedule| Due::of(schedule, now)).collect();
        enqueue(&mut due);
        note(&due);
    }
    let next = value_as_owner::<TimestampWithTimeZone>(
        "select pg_catalog.min(s.next_at) from job.timetable s where s.paused_at is null",
        &[],
    );
    let next = next.map(pgrx::pg_sys::TimestampTz::from);
    match count {
        MOST => Some(now),
        0 => next.map(|next| next.max(now + PAUSE)),
        _ => next,
    }
}

impl Due {
    fn of(schedule: Schedule, now: i64) -> Due {
        let looked = attempted(|| {
            let zone = NamedZone::of(&schedule.when.time_zone);
            let rhythm = schedule.when.rhythm().map_err(|unfit| unfit.to_string())?;
            let now = to_unix(now);
            Ok(match schedule.next_at.map(to_unix).filter(|next| *next <= now) {
                Some(next) => schedule.catch_up.look(&rhythm, &zone, next, now),
                None => Look { due: Vec::new(), missed: 0, next: rhythm.next(now, &zone) },
            })
        });
        let looked = looked.unwrap_or_else(|error| Err(error.message));
        let (look, obstacle) = match looked {
            Ok(look) => (look, None),
            // It is looked at again tomorrow.
            Err(obstacle) => {
                let next = Some(to_unix(now).saturating_add(86_400_000_000));
                (Look { due: Vec::new(), missed: 1, next }, Some(obstacle))
            }
        };
        Due { schedule, look, obstacle, jobs: Vec::new() }
    }

    /// Whether the last job of it waits or runs.
    fn has_job(&self) -> bool {
        self.schedule.last_job.is_some_and(|job| {
            let (number, position) = id::parts(job);
            definition::of_number(number)
                .is_some_and(|queue| items::look_at(&queue, position, |_| {}) != Found::Gone)
        })
    }

    /// Why its owner may not enqueue jobs of a kind.
    fn refusal(&self, kind: Option<&Kind>) -> Option<String> {
        match kind {
            None => Some("its kind is gone".to_owned()),
            Some(kind) if !kind.allows_to(self.schedule.owner, Right::Enqueue) => {
                Some(format!("its owner may not enqueue jobs of kind {}", kind.name))
            }
            Some(_) => None,
        }
    }
}

/// Enqueues the jobs of all of them, those of each kind and priority together: what hinders one kind hinders no other.
fn enqueue(all: &mut [Due]) {
    let kinds: HashMap<u32, Kind> = kind::all().into_iter().map(|kind| (kind.id, kind)).collect();
    let mut groups: BTreeMap<(u32, Priority), Vec<usize>> = BTreeMap::new();
    for (place, due) in all.iter_mut().enumerate() {
        let kind = kinds.get(&due.schedule.kind);
        if due.obstacle.is_none() && !due.look.due.is_empty() {
            due.obstacle = due.refusal(kind);
        }
        if let Some(kind) = kind.filter(|_| due.obstacle.is_none() && !due.look.due.is_empty())
            && (due.schedule.may_overlap || !due.has_job())
        {
            let priority = due.schedule.priority.unwrap_or(kind.priority);
            groups.entry((kind.id, priority)).or_default().push(place);
        }
    }
    for ((kind, priority), places) in groups {
        let Some(kind) = kinds.get(&kind) else { continue };
        match attempted(|| enqueue_of(kind, priority, all, &places)) {
            Ok(mut ids) => {
                for place in places {
                    let due = &mut all[place];
                    due.jobs = ids.by_ref().take(due.look.due.len()).collect();
                }
            }
            Err(error) => places.iter().for_each(|place| all[*place].obstacle = Some(said(&error))),
        }
    }
}

fn said(error: &PgError) -> String {
    error.message.clone()
}

/// Enqueues the jobs of schedules of one kind and priority; their ids, in the order of what is due.
fn enqueue_of(kind: &Kind, priority: Priority, all: &[Due], places: &[usize]) -> std::vec::IntoIter<i64> {
    let of = |due: &Due| {
        let times = due.look.due.iter();
        // SAFETY: inside a transaction.
        times
            .map(|time| unsafe { entry::jsonb_of(&due.schedule.arguments_of(from_unix(*time))) })
            .collect::<Vec<Datum>>()
    };
    let arguments: Vec<Datum> = places.iter().flat_map(|place| of(&all[*place])).collect();
    keys::put_all(kind, priority, 0, &arguments).collect::<Vec<i64>>().into_iter()
}

/// Notes what was done, and when they are due next.
fn note(all: &[Due]) {
    for due in all {
        if let Some(obstacle) = &due.obstacle
            && due.schedule.stopped.is_none()
        {
            log_line::log!("howdah enqueues no jobs of schedule {}: {obstacle}", due.schedule.name);
        }
    }
    let time =
        |time: Option<i64>| time.and_then(|time| TimestampWithTimeZone::try_from(from_unix(time)).ok());
    let ids: Vec<i32> = all.iter().map(|due| due.schedule.id).collect();
    let next: Vec<_> = all.iter().map(|due| time(due.look.next)).collect();
    let last: Vec<_> =
        all.iter().map(|due| time(due.look.due.last().copied().filter(|_| !due.jobs.is_empty()))).collect();
    let last_jobs: Vec<Option<i64>> = all.iter().map(|due| due.jobs.last().copied()).collect();
    let skipped: Vec<i64> = all.iter().map(|due| (due.look.due.len() - due.jobs.len()) as i64).collect();
    let missed: Vec<i64> = all.iter().map(|due| due.look.missed as i64).collect();
    let stopped: Vec<Option<String>> = all.iter().map(|due| due.obstacle.clone()).collect();
    run_as_owner(
        "update job.timetable s
         set next_at = n.next_at, last_at = case when n.last_job is null and s.last_at > pg_catalog.clock_timestamp() then null
               else coalesce(n.last_at, s.last_at) end,
           last_job = coalesce(n.last_job, s.last_job), skipped = s.skipped + n.skipped,
           missed_for_good = s.missed_for_good + n.missed, stopped = n.stopped
         from unnest($1::integer[], $2::timestamptz[], $3::timestamptz[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[])
           n (id, next_at, last_at, last_job, skipped, missed, stopped)
         where s.id = n.id",
        &[ids.into(), next.into(), last.into(), last_jobs.into(), skipped.into(), missed.into(), stopped.into()],
    );
}
