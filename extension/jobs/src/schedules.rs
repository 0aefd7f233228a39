//! Schedules: rows of `job.timetable`, and when they are due.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;
use pgrx::spi::SpiHeapTupleData;
use queue::functions::typed::in_microseconds;
use schedule::{CatchUp, Missed, Priority, Rhythm, Unfit, Zone};
use session::authority::run_as_owner;

/// Microseconds from 1970, with which the crate `schedule` begins to count, to 2000, with which PostgreSQL does.
const EPOCH: i64 = 946_684_800_000_000;

/// A moment of PostgreSQL's as `schedule` counts.
pub fn to_unix(time: i64) -> i64 {
    time.saturating_add(EPOCH)
}

/// The other way round.
pub fn from_unix(time: i64) -> i64 {
    time.saturating_sub(EPOCH)
}

/// A time zone as `at time zone` knows it, so that both always agree.
pub struct NamedZone(Datum);

impl NamedZone {
    /// By its name; what is none raises when it is first asked. Its memory is the caller's.
    pub fn of(name: &str) -> NamedZone {
        NamedZone(name.into_datum().unwrap_or(Datum::null()))
    }

    /// An error unless there is such a zone.
    pub fn check(&self) {
        self.offset(0);
    }
}

impl Zone for NamedZone {
    fn offset(&self, second: i64) -> i64 {
        let time = from_unix(second.saturating_mul(1_000_000));
        // SAFETY: the function takes a text and a timestamptz, and returns a timestamp.
        let local = unsafe {
            pgrx::direct_function_call_as_datum(
                pg_sys::timestamptz_zone,
                &[Some(self.0), Some(Datum::from(time))],
            )
        };
        local.map_or(0, |local| (local.value() as i64 - time) / 1_000_000)
    }
}

/// The columns that [`Schedule::of`] reads, of `job.timetable s`.
pub(crate) const COLUMNS: &str = "s.id, s.name, s.owner::oid, s.kind, s.arguments::text, s.priority, s.cron, s.every, s.anchor, s.time_zone,
    s.missed, s.missed_within, s.missed_most, s.may_overlap, s.next_at, s.last_job, s.stopped";

/// A schedule.
#[derive(Clone, Debug)]
pub struct Schedule {
    pub(crate) id: i32,
    pub(crate) name: String,
    /// The role that has made it.
    pub owner: Oid,
    pub(crate) kind: u32,
    /// Of its jobs, JSON.
    arguments: String,
    pub(crate) priority: Option<Priority>,
    /// When it is due.
    pub when: When,
    pub(crate) catch_up: CatchUp,
    pub(crate) may_overlap: bool,
    /// When it is due next, as PostgreSQL counts.
    pub next_at: Option<i64>,
    pub(crate) last_job: Option<i64>,
    pub(crate) stopped: Option<String>,
}

/// When a schedule is due, as its row says it.
#[derive(Clone, PartialEq, Debug)]
pub struct When {
    /// The expression.
    pub cron: Option<String>,
    /// Microseconds from one due time to the next, and the first one, as PostgreSQL counts.
    pub every: Option<(i64, i64)>,
    /// The zone whose clock the expression means.
    pub time_zone: String,
}

impl When {
    /// What comes of it.
    pub fn rhythm(&self) -> Result<Rc<Rhythm>, Unfit> {
        match (&self.cron, self.every) {
            (None, Some((interval, anchor))) => Rhythm::every(interval, to_unix(anchor)).map(Rc::new),
            (cron, _) => of_expression(cron.as_deref().unwrap_or_default()),
        }
    }
}

thread_local! {
    /// Expressions that were read, which takes as long as all else.
    static READ: RefCell<HashMap<String, Rc<Rhythm>>> = RefCell::default();
}

/// Expressions that are kept, of five kilobytes each.
const KEPT: usize = 1000;

fn of_expression(expression: &str) -> Result<Rc<Rhythm>, Unfit> {
    if let Some(known) = READ.with_borrow(|read| read.get(expression).cloned()) {
        return Ok(known);
    }
    let rhythm = Rc::new(Rhythm::cron(expression)?);
    READ.with_borrow_mut(|read| {
        if read.len() >= KEPT {
            read.clear();
        }
        read.insert(expression.to_owned(), rhythm.clone());
    });
    Ok(rhythm)
}

impl Schedule {
    /// A row of [`COLUMNS`].
    pub(crate) fn of(row: &SpiHeapTupleData<'_>) -> Result<Schedule, pgrx::spi::Error> {
        let text = |column: usize| row.get::<String>(column);
        let time = |column: usize| {
            Ok::<_, pgrx::spi::Error>(
                row.get::<TimestampWithTimeZone>(column)?.map(pg_sys::TimestampTz::from),
            )
        };
        let interval = |column: usize| {
            Ok::<_, pgrx::spi::Error>(
                row.get::<pgrx::datum::Interval>(column)?.map(|every| in_microseconds(&every)),
            )
        };
        let missed = text(11)?.and_then(|word| Missed::of(&word)).unwrap_or(Missed::None);
        Ok(Schedule {
            id: row.get(1)?.unwrap_or_default(),
            name: text(2)?.unwrap_or_default(),
            owner: row.get(3)?.unwrap_or(Oid::INVALID),
            kind: row.get::<i32>(4)?.unwrap_or_default() as u32,
            arguments: text(5)?.unwrap_or_default(),
            priority: text(6)?.and_then(|word| Priority::of(&word)),
            when: When {
                cron: text(7)?,
                every: interval(8)?.zip(time(9)?),
                time_zone: text(10)?.unwrap_or_default(),
            },
            catch_up: CatchUp {
                missed,
                within: interval(12)?.unwrap_or_default(),
                most: row.get::<i32>(13)?.unwrap_or_default().max(0) as usize,
            },
            may_overlap: row.get(14)?.unwrap_or_default(),
            next_at: time(15)?,
            last_job: row.get(16)?,
            stopped: text(17)?,
        })
    }

    /// The arguments of a job that is due at a time, as PostgreSQL counts: its own, and `due_at` unless they have one.
    pub(crate) fn arguments_of(&self, due: i64) -> String {
        let due = schedule::shown(to_unix(due));
        let own = self.arguments.trim_start_matches('{');
        let separator = if own.starts_with('}') { "" } else { ", " };
        format!("{{\"due_at\": \"{due}\"{separator}{own}")
    }
}

/// The system identifier of this cluster, and the oid of this database.
pub(crate) fn here() -> (String, Oid) {
    // SAFETY: PostgreSQL's own state.
    unsafe { (pg_sys::GetSystemIdentifier().to_string(), pg_sys::MyDatabaseId) }
}

/// A query of `job.home` with the values of [`here`]: whether this database is a copy of another.
pub(crate) const IS_COPY: &str =
    "select exists (select from job.home h where (h.cluster, h.database) is distinct from ($1, $2))";

/// Notes that jobs run in this database, unless it is known where they do.
pub fn settle() {
    let (cluster, database) = here();
    run_as_owner(
        "insert into job.home (cluster, database) values ($1, $2) on conflict do nothing",
        &[cluster.into(), database.into()],
    );
}
