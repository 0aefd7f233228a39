//! Enqueueing jobs, and what a job says of itself.

use pg::entry::{Call, sql_function};
use pg::guard::{PgError, unwind};
use pg::refuse::{refuse, refuse_with_hint};
use pgrx::pg_sys;
use pgrx::prelude::*;
use queue::functions::typed::in_microseconds;
use queue::{door, items};
use schedule::Priority;
use shared::settings;

use crate::failure::{GIVE_UP, RETRY};
use crate::keys::{self, Holds, Meets, New};
use crate::kind::{self, Right};
use crate::{current, entry};

sql_function!(
    /// `job.enqueue(kind, arguments, at, priority, key, holds, holds_for, meets)`
    howdah_job_enqueue,
    |call| {
        let places = Places { arguments: 1, at: 2, priority: 3, key: 4, holds: 5 };
        let (id, _) = enqueue(call, &places);
        call.give(id)
    }
);

sql_function!(
    /// `job.enqueue_with_key(kind, key, arguments, at, priority, holds, holds_for, meets)`
    howdah_job_enqueue_with_key,
    |call| {
        call.need_text(1, "key");
        let places = Places { arguments: 2, at: 3, priority: 4, key: 1, holds: 5 };
        let (id, has_met) = enqueue(call, &places);
        pg::entry::Returned::all(call, [pg::entry::columns![id, has_met]].into_iter())
    }
);

sql_function!(
    /// `job.enqueue_many(kind, arguments, at, priority)`
    howdah_job_enqueue_many,
    |call| {
        let kind = kind::find(call.need_text(0, "kind"));
        kind.check(Right::Enqueue);
        let Some(array) = call.argument(1) else { refuse_arguments() };
        // SAFETY: the argument is an array of jsonb, as it is declared.
        let elements = unsafe { items::elements_of(array, pg_sys::JSONBOID) };
        let arguments: Option<Vec<_>> = elements.into_iter().map(|value| value.filter(is_object)).collect();
        let Some(arguments) = arguments else { refuse_arguments() };
        arguments.iter().for_each(|arguments| check_length(*arguments));
        let at = call.argument(2).map_or(0, |at| at.value() as i64);
        let priority = call.text(3).map_or(kind.priority, priority);
        let returned = pg::entry::Returned::numbers(call);
        for id in keys::put_all(&kind, priority, at, &arguments) {
            // SAFETY: the function returns a set of bigint.
            unsafe { returned.add_values(&mut [Some(id.into())]) };
        }
        returned.done()
    }
);

/// Where arguments are; the two behind `holds` follow it.
struct Places {
    arguments: usize,
    at: usize,
    priority: usize,
    key: usize,
    holds: usize,
}

/// Enqueues what a call says: the id, and whether it is that of a job that was met.
fn enqueue(call: Call, places: &Places) -> (i64, bool) {
    let kind = kind::find(call.need_text(0, "kind"));
    kind.check(Right::Enqueue);
    let arguments = arguments(call, places.arguments);
    let holds = holds(call, places.holds);
    let key = call.text(places.key);
    key.inspect(|key| check_key(key));
    let new = New {
        kind: &kind,
        priority: call.text(places.priority).map_or(kind.priority, priority),
        arguments,
        at: call.argument(places.at).map_or(0, |at| at.value() as i64),
        root: None,
        key: key.map(|key| (key, holds)),
    };
    let meets = call.need_text(places.holds + 2, "meets");
    let Some(meets) = Meets::of(meets) else {
        refuse(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            &format!("meets is 'keep', 'replace' or 'restart', not '{meets}'"),
        )
    };
    match key {
        Some(key) => keys::enqueue(&new, key, holds, meets),
        None => (new.put(new.at), false),
    }
}

fn is_object(value: &pg_sys::Datum) -> bool {
    // SAFETY: every such value is a jsonb.
    unsafe { entry::is_object(*value) }
}

/// The arguments of jobs at a place of a call, a jsonb; an error unless they are an object.
pub fn arguments(call: Call, place: usize) -> pg_sys::Datum {
    let arguments = call.argument(place).filter(is_object).unwrap_or_else(|| refuse_arguments());
    check_length(arguments);
    arguments
}

/// An error if the arguments of a job are longer as text than they may be: an executor takes some times as much memory for them.
fn check_length(arguments: pg_sys::Datum) {
    let most = settings::JOB_LONGEST_ARGUMENTS.get() as usize;
    // SAFETY: a jsonb, in a call that has a snapshot.
    if !unsafe { door::fits(arguments, pg_sys::JSONBOID, most) } {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            &format!("the arguments of a job have {most} bytes as text at most"),
            "Store what is large in a table, and tell the job where. The setting howdah.job_longest_arguments allows more.",
        );
    }
}

fn refuse_arguments() -> ! {
    refuse_with_hint(
        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        "the arguments of a job are a JSON object",
        "Its members are arguments of the kind's function, by their names: '{\"user_id\": 7}'.",
    )
}

/// For how long a key is held, as two arguments from this place on say.
fn holds(call: Call, place: usize) -> Holds {
    if let Some(time) = call.get::<pgrx::datum::Interval>(place + 1) {
        let microseconds = in_microseconds(&time);
        if !(1..=LONGEST_HOLD).contains(&microseconds) {
            refuse(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                "holds_for must be longer than 0, and 1000 years at most",
            );
        }
        return Holds::For(microseconds);
    }
    let word = call.need_text(place, "holds");
    Holds::of(word).unwrap_or_else(|| {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            &format!("holds is 'waiting' or 'running', not '{word}'"),
            "holds_for => '1 hour' holds the key for a time.",
        )
    })
}

/// How long a key is held at most, in microseconds: a thousand years.
const LONGEST_HOLD: i64 = 1000 * 366 * 86_400_000_000;
/// Longest key, in bytes: it is in an index.
const LONGEST_KEY: usize = 500;

fn check_key(key: &str) {
    if key.is_empty() || key.len() > LONGEST_KEY {
        refuse(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            &format!("a key has 1 to {LONGEST_KEY} bytes, and this has {}", key.len()),
        );
    }
}

/// The priority of this word.
pub fn priority(word: &str) -> Priority {
    Priority::of(word).unwrap_or_else(|| {
        refuse(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            &format!("a priority is 'high', 'normal' or 'low', not '{word}'"),
        )
    })
}

sql_function!(
    /// `job.read_current()`
    howdah_job_current,
    |call| {
        let rows = current::get().into_iter().map(|job| {
            pg::entry::columns![
                job.id,
                job.kind,
                job.attempt as i32,
                job.attempts as i32,
                TimestampWithTimeZone::try_from(job.enqueued_at as pg_sys::TimestampTz).ok(),
                job.root
            ]
        });
        pg::entry::Returned::all(call, rows)
    }
);

sql_function!(
    /// `job.retry(after, message)`
    howdah_job_retry,
    |call| {
        let after: pgrx::datum::Interval = call.need(0, "after");
        let microseconds = in_microseconds(&after).max(0);
        let message = call.text(1).unwrap_or("the job asks to be run again").to_owned();
        unwind(PgError {
            sqlstate: RETRY,
            message,
            detail: Some(schedule::retry_detail(microseconds)),
            ..PgError::default()
        })
    }
);

sql_function!(
    /// `job.give_up(message)`
    howdah_job_give_up,
    |call| {
        let message = call.need_text(0, "message").to_owned();
        unwind(PgError { sqlstate: GIVE_UP, message, ..PgError::default() })
    }
);
