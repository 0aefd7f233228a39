//! Enqueueing jobs, and what a job says of itself.

use pg::entry::sql_function;
use pg::guard::{PgError, unwind};
use pg::refuse::{refuse, refuse_with_hint};
use pgrx::prelude::*;
use pgrx::{JsonB, pg_sys};
use queue::items;
use schedule::Priority;

use crate::failure::{GIVE_UP, RETRY};
use crate::kind::{self, Right};
use crate::{current, entry, id};

sql_function!(
    /// `job.enqueue(kind, arguments, at, priority)`
    howdah_job_enqueue,
    |call| {
        let kind = kind::find(call.need_text(0, "kind"));
        kind.check(Right::Enqueue);
        let arguments = call.argument(1);
        match call.get::<JsonB>(1) {
            Some(value) if entry::is_object(&value) => {}
            _ => refuse_with_hint(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                "the arguments of a job are a JSON object",
                "Its members are arguments of the kind's function, by their names: '{\"user_id\": 7}'.",
            ),
        }
        let at: Option<i64> = call.argument(2).map(|at| at.value() as i64);
        let priority = call.text(3).map_or(kind.priority, priority);
        let queue = kind.queue(priority);
        queue.hold_row_type();
        let position = items::put(&queue, at.unwrap_or_default().max(0), &[arguments, None, None]);
        call.give(id::of(queue.id, position))
    }
);

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
        let microseconds = queue::functions::typed::in_microseconds(&after).max(0);
        let message = call.text(1).unwrap_or("the job asks to be run again").to_owned();
        unwind(PgError {
            sqlstate: RETRY,
            message,
            detail: Some(format!("{microseconds} microseconds from now")),
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
