//! Enqueueing what schedules are due for. An executor does it between two jobs, or wakes for it; a transaction takes those of a kind that are due, enqueues their
//! jobs and notes when they are due next, so each due time has its job once.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use pg::guard::{PgError, Report};
use pg::log_line;
use pg::transaction_end::{TransactionEnd, at_transaction_end};
use pgrx::pg_sys::{Datum, TimestampTz};
use pgrx::prelude::*;
use queue::definition;
use queue::items::{self, Found};
use queue::memory::queues;
use queue::upkeep;
use schedule::{Look, Priority};
use session::authority::{rows_as_owner, run_as_owner};
use session::own_transaction::transaction;
use session::subtransaction::attempted;
use session::{invalidations, settings_in_force};

use crate::clock::{LONGEST, TURN};
use crate::kind::{self, Kind, Right};
use crate::memory::{jobs, own_database};
use crate::schedules::{COLUMNS, NamedZone, Schedule, from_unix, to_unix};
use crate::{entry, id, keys};

/// Most schedules that one transaction looks at.
const MOST: usize = 1000;
/// How long nobody looks while others hold what is due.
const PAUSE: i64 = 100_000;
/// Which schedules are due. Those that were looked at in a far future are, too: the clock was wrong, and what was noted then is.
const IS_DUE: &str = "s.paused_at is null and (s.next_at <= pg_catalog.clock_timestamp()
    or s.looked_at > pg_catalog.clock_timestamp() + pg_catalog.make_interval(days => 1))";

/// Has executors of this database look at its schedules once the transaction is committed.
pub fn announce() {
    at_transaction_end(|end| {
        if HAS_CHANGED.take()
            && end == TransactionEnd::Committed
            && let Some(index) = own_database()
        {
            jobs().clock(index).changed();
            queues().bell(index).ring();
        }
    });
    HAS_CHANGED.set(true);
}

thread_local! {
    /// Whether this transaction has changed schedules.
    static HAS_CHANGED: Cell<bool> = const { Cell::new(false) };
    /// What was said last of kinds whose schedules could not be looked at.
    static SAID: RefCell<HashMap<i32, String>> = RefCell::default();
}

/// Enqueues what is due. When to look again, if there are schedules.
///
/// # Safety
/// On the main thread of an executor of the database, outside a transaction.
pub(crate) unsafe fn look_after(database: usize) -> Option<Duration> {
    let clock = jobs().clock(database);
    let now = queue::wall_time();
    if let Some(seen) = clock.take(now) {
        clock.set(look(now), now, seen);
    }
    let wait = clock.due().saturating_sub(queue::wall_time()).clamp(0, LONGEST);
    // What a prepared transaction has made, where there were none, is found when an executor looks after queues.
    let may_rest = clock.is_empty() && upkeep::interval().is_some();
    (!may_rest).then(|| Duration::from_micros(wait as u64))
}

/// Enqueues what is due; when to look next, if there are schedules.
fn look(now: i64) -> Option<i64> {
    let query = format!(
        "select s.kind from job.timetable s where {IS_DUE} group by s.kind order by pg_catalog.min(s.next_at)"
    );
    let kinds = transaction(Report::Log, || rows_as_owner(&query, &[], |row| row.get::<i32>(1).ok()?));
    let Ok(kinds) = kinds else { return Some(now + TURN) };
    let (mut has_failed, mut is_much) = (false, false);
    for kind in kinds {
        // A transaction for each, which waits for nobody: what hinders one kind hinders no other.
        match transaction(Report::Quiet, || look_at(kind, now)) {
            Ok(count) => {
                is_much |= count == MOST;
                SAID.with_borrow_mut(|said| said.remove(&kind));
            }
            Err(error) => {
                has_failed = true;
                complain(kind, &error);
            }
        }
    }
    let left = if has_failed {
        TURN
    } else if is_much {
        0
    } else {
        PAUSE
    };
    transaction(Report::Log, || next(now, left)).unwrap_or(Some(now + TURN))
}

/// Says why the schedules of a kind could not be looked at, once.
fn complain(kind: i32, error: &PgError) {
    let known = SAID.with_borrow_mut(|said| said.insert(kind, error.message.clone()));
    if known.as_ref() != Some(&error.message) {
        log_line::log!("howdah cannot enqueue what is due of kind number {kind}: {}", error.message);
    }
}

/// When the next look is, if there are schedules: when the next is due, and so soon if some are due that could not be looked at.
fn next(now: i64, left: i64) -> Option<i64> {
    let query = "select pg_catalog.min(s.next_at) filter (where s.next_at > $1), pg_catalog.count(*) filter (where s.next_at <= $1)
        from job.timetable s where s.paused_at is null";
    let moment = TimestampWithTimeZone::try_from(now).ok();
    let found = rows_as_owner(query, &[moment.into()], |row| {
        let next = row.get::<TimestampWithTimeZone>(1).ok()?.map(TimestampTz::from);
        Some((next, row.get::<i64>(2).ok()?? > 0))
    });
    let (next, some_are_left) = found.into_iter().next()?;
    let soon = some_are_left.then(|| now + left);
    next.into_iter().chain(soon).min()
}

/// A schedule that is due, and what is to be done about it.
struct Due {
    schedule: Schedule,
    look: Look,
    /// Whether the last job waits or runs, so that there is no other.
    is_held: bool,
    /// Why no job of it can be enqueued.
    obstacle: Option<String>,
    jobs: Vec<i64>,
}

/// Enqueues what is due of a kind; how many of its schedules were.
fn look_at(kind: i32, now: i64) -> usize {
    // SAFETY: inside a transaction; the setting is PostgreSQL's.
    unsafe { settings_in_force::set_local(c"lock_timeout", invalidations::LOCK_TIMEOUT) };
    let query = format!(
        "select {COLUMNS} from job.timetable s where s.kind = $1 and {IS_DUE}
         order by s.next_at limit {MOST} for update skip locked"
    );
    let schedules = rows_as_owner(&query, &[kind.into()], |row| Schedule::of(&row).ok());
    let mut due: Vec<Due> = schedules.into_iter().map(|schedule| Due::of(schedule, now)).collect();
    if !due.is_empty() {
        enqueue(kind::of_number(kind as u32).as_ref(), &mut due);
        note(&due);
    }
    due.len()
}

impl Due {
    fn of(schedule: Schedule, now: i64) -> Due {
        let looked = attempted(|| {
            let zone = NamedZone::of(&schedule.when.time_zone);
            let rhythm = schedule.when.rhythm().map_err(|unfit| unfit.to_string())?;
            let now = to_unix(now);
            let look = match schedule.next_at.map(to_unix).filter(|next| *next <= now) {
                Some(next) => schedule.catch_up.look(&rhythm, &zone, next, now),
                None => Look { due: Vec::new(), missed: 0, next: rhythm.next(now, &zone) },
            };
            let is_held = !look.due.is_empty() && !schedule.may_overlap && schedule.has_job();
            Ok((look, is_held))
        });
        match looked.unwrap_or_else(|error| Err(error.message)) {
            Ok((look, is_held)) => Due { schedule, look, is_held, obstacle: None, jobs: Vec::new() },
            Err(obstacle) => {
                // It is looked at again in an hour.
                let next = Some(to_unix(now).saturating_add(3_600_000_000));
                let look = Look { due: Vec::new(), missed: 1, next };
                Due { schedule, look, is_held: false, obstacle: Some(obstacle), jobs: Vec::new() }
            }
        }
    }

    /// Whether jobs of it are to be enqueued.
    fn is_wanted(&self) -> bool {
        self.obstacle.is_none() && !self.look.due.is_empty() && !self.is_held
    }
}

impl Schedule {
    /// Whether the last job of it waits or runs.
    pub(crate) fn has_job(&self) -> bool {
        self.last_job.is_some_and(|job| {
            let (number, position) = id::parts(job);
            definition::of_number(number)
                .is_some_and(|queue| items::look_at(&queue, position, |_| {}) != Found::Gone)
        })
    }

    /// Why its owner may not enqueue jobs of a kind.
    fn refusal(&self, kind: &Kind) -> Option<String> {
        let may = kind.allows_to(self.owner, Right::Enqueue);
        (!may).then(|| format!("its owner may not enqueue jobs of kind {}", kind.name))
    }
}

/// Enqueues the jobs of schedules of a kind, those of each priority together.
fn enqueue(kind: Option<&Kind>, all: &mut [Due]) {
    let mut groups: BTreeMap<Priority, Vec<usize>> = BTreeMap::new();
    for (place, due) in all.iter_mut().enumerate().filter(|(_, due)| due.is_wanted()) {
        due.obstacle = match kind {
            Some(kind) => due.schedule.refusal(kind),
            None => Some("its kind is gone".to_owned()),
        };
        if let (Some(kind), None) = (kind, &due.obstacle) {
            groups.entry(due.schedule.priority.unwrap_or(kind.priority)).or_default().push(place);
        }
    }
    let Some(kind) = kind else { return };
    for (priority, places) in groups {
        match attempted(|| enqueue_of(kind, priority, all, &places)) {
            Ok(mut ids) => {
                for place in places {
                    let due = &mut all[place];
                    due.jobs = ids.by_ref().take(due.look.due.len()).collect();
                }
            }
            Err(error) => {
                for place in places {
                    all[place].obstacle = Some(error.message.clone());
                }
            }
        }
    }
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
         set next_at = n.next_at, looked_at = pg_catalog.clock_timestamp(), last_at = coalesce(n.last_at, s.last_at), last_job = coalesce(n.last_job, s.last_job), skipped = s.skipped + n.skipped,
           missed_for_good = s.missed_for_good + n.missed, stopped = n.stopped
         from unnest($1::integer[], $2::timestamptz[], $3::timestamptz[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[])
           n (id, next_at, last_at, last_job, skipped, missed, stopped)
         where s.id = n.id",
        &[ids.into(), next.into(), last.into(), last_jobs.into(), skipped.into(), missed.into(), stopped.into()],
    );
}
