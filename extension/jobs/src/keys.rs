//! Keys: of jobs with the same key one is there at a time.
//!
//! A key is a row of `job.key`, which names the job that holds it. Whether it still does is asked of the job's queue, so nothing has to be written when a job
//! begins; the row goes with the job. Whoever enqueues a second one waits for the transaction that has enqueued the first, as for any unique key.

use std::time::Duration;

use pgrx::pg_sys::Datum;
use pgrx::prelude::*;
use queue::definition;
use queue::items::{self, Found};
use schedule::Priority;
use session::authority::{rows_as_owner, run_as_owner, value_as_owner};

use crate::id;
use crate::kind::{self, Kind};
use crate::memory::{jobs, own_database};

/// For how long a job holds its key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Holds {
    /// While it waits: one that is enqueued while it runs is another.
    Waiting,
    /// While it waits or runs.
    Running,
    /// For so many microseconds, whatever becomes of it.
    For(i64),
}

impl Holds {
    /// By its word, which tables have.
    pub(crate) fn of(word: &str) -> Option<Holds> {
        match word {
            "waiting" => Some(Holds::Waiting),
            "running" => Some(Holds::Running),
            _ => None,
        }
    }

    /// The word that tables have.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Holds::Waiting => "waiting",
            Holds::Running => "running",
            Holds::For(_) => "time",
        }
    }
}

/// What becomes of the arguments of who meets a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Meets {
    /// They are dropped.
    Keep,
    /// The job that waits gets them, and keeps its time.
    Replace,
    /// It gets them, and the time as well.
    Restart,
}

impl Meets {
    /// By its word.
    pub(crate) fn of(word: &str) -> Option<Meets> {
        match word {
            "keep" => Some(Meets::Keep),
            "replace" => Some(Meets::Replace),
            "restart" => Some(Meets::Restart),
            _ => None,
        }
    }
}

/// What is to be enqueued.
pub(crate) struct New<'a> {
    pub(crate) kind: &'a Kind,
    pub(crate) priority: Priority,
    /// A jsonb.
    pub(crate) arguments: pg_sys::Datum,
    /// When it is due; 0 for at once.
    pub(crate) at: i64,
    /// The id as which it was enqueued first, if it is sent again.
    pub(crate) root: Option<i64>,
    pub(crate) key: Option<(&'a str, Holds)>,
}

impl New<'_> {
    /// Enqueues it, whatever holds its key. Its id.
    pub(crate) fn put(&self, at: i64) -> i64 {
        let queue = self.kind.queue(self.priority);
        queue.hold_row_type();
        let (key, holds) = (self.key.map(|(key, _)| key), self.key.map(|(_, holds)| holds.word()));
        let values = [Some(self.arguments), key.into_datum(), self.root.into_datum(), holds.into_datum()];
        id::of(queue.id, items::put(&queue, at.max(0), &values))
    }
}

/// Enqueues jobs of a kind and priority without keys, with these arguments; their ids.
pub(crate) fn put_all(
    kind: &Kind,
    priority: Priority,
    at: i64,
    arguments: &[Datum],
) -> impl Iterator<Item = i64> + use<> {
    let queue = kind.queue(priority);
    queue.hold_row_type();
    let positions = items::put_all(&queue, at.max(0), arguments.len(), |place| [Some(arguments[place])]);
    let number = queue.id;
    (positions.first..positions.end).map(move |position| id::of(number, position))
}

/// A row of `job.key`.
#[derive(Clone, Copy, Debug)]
struct Known {
    job: i64,
    holds: Holds,
    /// Whether its time is over, of one that holds for a time.
    is_over: bool,
}

/// How it stands with the job that has a key.
enum Standing {
    /// It does not hold the key any more.
    Over,
    /// It waits.
    Waits,
    /// It holds the key and does not wait.
    Holds,
    /// This transaction has it, and will decide.
    Undecided(u64),
}

/// How often a job is looked at that a transaction has, before that is waited for: one that runs it says so within microseconds.
const LOOKS: u32 = 5;
/// The pause in between.
const PAUSE: Duration = Duration::from_millis(1);

/// Enqueues a job with a key, unless another holds it: its id, or that of the other, and whether it is the other.
pub(crate) fn enqueue(new: &New<'_>, key: &str, holds: Holds, meets: Meets) -> (i64, bool) {
    let mut looks = 0;
    loop {
        let known = find(new.kind.id, key);
        let met = known.map_or(Ok(None), |known| meet(new, &known, meets));
        match met {
            Err(transaction) => {
                pgrx::check_for_interrupts!();
                looks += 1;
                match looks {
                    ..LOOKS => std::thread::sleep(PAUSE),
                    _ => items::wait_for(transaction),
                }
                continue;
            }
            Ok(Some(met)) => {
                if met.job != met.was {
                    take_over(new.kind.id, key, met.was, met.job, holds);
                }
                return (met.job, true);
            }
            Ok(None) => {}
        }
        let job = new.put(new.at);
        if take(new.kind.id, key, known.map(|known| known.job), job, holds) {
            return (job, false);
        }
        // Somebody else was faster.
        let (number, position) = id::parts(job);
        if let Some(queue) = definition::of_number(number) {
            items::settle(&queue, &[position]);
        }
    }
}

/// The job that was met, and the one that has its place now.
struct Met {
    was: i64,
    job: i64,
}

/// What comes of meeting a job: none if it holds the key no more; an error is the transaction that has it.
fn meet(new: &New<'_>, known: &Known, meets: Meets) -> Result<Option<Met>, u64> {
    let same = Met { was: known.job, job: known.job };
    match standing(known) {
        Standing::Undecided(transaction) => Err(transaction),
        Standing::Over => Ok(None),
        Standing::Holds => Ok(Some(same)),
        Standing::Waits if meets == Meets::Keep => {
            // It must not begin before this transaction commits, or it would not see what this has done.
            let is_there = known.holds != Holds::Waiting || touch(known.job)?;
            Ok(is_there.then_some(same))
        }
        Standing::Waits => {
            let replaced = replace(new, known.job, meets)?;
            Ok(replaced.map(|job| Met { was: known.job, job }))
        }
    }
}

fn standing(known: &Known) -> Standing {
    let (number, position) = id::parts(known.job);
    let queue = definition::of_number(number);
    let found = queue.map_or(Found::Gone, |queue| items::look_at(&queue, position, |_| ()));
    match (known.holds, found) {
        (Holds::For(_), _) if known.is_over => Standing::Over,
        (_, Found::There) => Standing::Waits,
        (Holds::For(_), _) => Standing::Holds,
        (_, Found::Gone) => Standing::Over,
        (Holds::Running, Found::Claimed(_)) => Standing::Holds,
        (Holds::Waiting, Found::Claimed(transaction)) => match runs(number, position) {
            true => Standing::Over,
            false => Standing::Undecided(transaction),
        },
    }
}

/// Whether an executor has a job.
fn runs(queue: u32, position: u64) -> bool {
    own_database().is_some_and(|database| {
        jobs().running(database).any(|(_, job)| (job.queue, job.position) == (queue, position))
    })
}

/// Keeps a job that waits from beginning before this transaction ends; false if it is gone.
fn touch(job: i64) -> Result<bool, u64> {
    let (number, position) = id::parts(job);
    let Some(queue) = definition::of_number(number) else { return Ok(false) };
    match items::touch(&queue, position) {
        Found::There => Ok(true),
        Found::Gone => Ok(false),
        Found::Claimed(transaction) => Err(transaction),
    }
}

/// Puts a job in the place of one that waits; none if that is gone.
fn replace(new: &New<'_>, job: i64, meets: Meets) -> Result<Option<i64>, u64> {
    let (number, position) = id::parts(job);
    let Some(queue) = definition::of_number(number) else { return Ok(None) };
    let mut due = 0;
    items::look_at(&queue, position, |item| due = item.due);
    match items::remove_unclaimed(&queue, position, |_| ()) {
        Found::There => Ok(Some(new.put(if meets == Meets::Restart { new.at } else { due }))),
        Found::Gone => Ok(None),
        Found::Claimed(transaction) => Err(transaction),
    }
}

fn find(kind: u32, key: &str) -> Option<Known> {
    let rows = rows_as_owner(
        "select k.job, k.holds, coalesce(k.until <= pg_catalog.clock_timestamp(), false) from job.key k
         where k.kind = $1 and k.key = $2",
        &[(kind as i32).into(), key.into()],
        |row| {
            let word: String = row.get(2).ok()??;
            Some(Known {
                job: row.get(1).ok()??,
                holds: Holds::of(&word).unwrap_or(Holds::For(0)),
                is_over: row.get(3).ok()??,
            })
        },
    );
    rows.into_iter().next()
}

/// The time until which a key is held, in SQL; the argument is the microseconds.
const UNTIL: &str = "pg_catalog.clock_timestamp() + $5::bigint * interval '1 microsecond'";

fn microseconds(holds: Holds) -> Option<i64> {
    match holds {
        Holds::For(microseconds) => Some(microseconds),
        _ => None,
    }
}

/// Gives a key to a job, unless another has it than the one that was seen. Whether it has it.
fn take(kind: u32, key: &str, before: Option<i64>, job: i64, holds: Holds) -> bool {
    let statement = format!(
        "insert into job.key as k (kind, key, job, holds, until) values ($1, $2, $3, $4, {UNTIL})
         on conflict (kind, key) do update set job = excluded.job, holds = excluded.holds, until = excluded.until
         where k.job = $6 returning true"
    );
    let arguments = [
        (kind as i32).into(),
        key.into(),
        job.into(),
        holds.word().into(),
        microseconds(holds).into(),
        before.into(),
    ];
    value_as_owner::<bool>(&statement, &arguments).unwrap_or_default()
}

/// A job has the place of another: it holds the key as that did.
fn take_over(kind: u32, key: &str, before: i64, job: i64, holds: Holds) {
    run_as_owner(
        &format!(
            "update job.key k set job = $3, until = case when k.holds = 'time' and $4 = 'time' then {UNTIL} else k.until end
             where k.kind = $1 and k.key = $2 and k.job = $6"
        ),
        &[
            (kind as i32).into(),
            key.into(),
            job.into(),
            holds.word().into(),
            microseconds(holds).into(),
            before.into(),
        ],
    );
}

/// A job is done, or dead: its key is free, unless it is held for a time. Nobody is waited for: a key that another transaction is about to give to
/// another job is that job's.
pub(crate) fn release(kind: u32, key: &str, job: i64) {
    run_as_owner(
        "delete from job.key d using (
           select k.kind, k.key from job.key k
           where k.kind = $1 and k.key = $2 and k.job = $3 and k.holds <> 'time'
           for update skip locked) gone
         where d.kind = gone.kind and d.key = gone.key",
        &[(kind as i32).into(), key.into(), job.into()],
    );
    if let Some(database) = own_database() {
        jobs().count_dead_key(database);
    }
}

/// The table of keys.
pub(crate) fn table() -> pg_sys::Oid {
    kind::relation("key")
}

/// How many keys are held, as VACUUM has counted.
pub(crate) fn count_roughly() -> u32 {
    let count = value_as_owner::<f32>(
        "select c.reltuples from pg_catalog.pg_class c where c.oid = $1",
        &[table().into()],
    );
    count.unwrap_or_default().max(0.0) as u32
}
