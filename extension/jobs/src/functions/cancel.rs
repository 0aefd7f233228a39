//! Cancelling jobs, sending dead ones again, discarding them; and what a job says of itself.

use std::time::Duration;

use pg::entry::{Call, sql_function};
use pg::refuse::{refuse, refuse_with_hint};
use pgrx::datum::DatumWithOid;
use pgrx::pg_sys::{self, Datum};
use pgrx::prelude::*;
use queue::definition;
use queue::items::{self, Found};
use schedule::Priority;
use session::authority::{rows_as_owner, run_as_owner, value_as_owner};

use crate::keys::{self, Holds, Meets, New};
use crate::kind::{self, Kind, Right};
use crate::memory::{jobs, own_database};
use crate::{cancels, current, entry, failure, id};

/// How often one looks for a job that somebody has just taken.
const LOOKS: u32 = 1000;
/// The pause in between.
const PAUSE: Duration = Duration::from_millis(1);

sql_function!(
    /// `job.cancel(id)`
    howdah_job_cancel,
    |call| {
        // SAFETY: inside a transaction.
        unsafe { pg_sys::PreventCommandIfReadOnly(c"cancelling a job".as_ptr()) };
        let id: i64 = call.need(0, "id");
        let (number, position) = id::parts(id);
        let Some((kind, priority)) = kind::of_queue(number) else { return Datum::from(false) };
        kind.check(Right::Cancel);
        Datum::from(cancel(&kind, priority, number, position))
    }
);

/// Removes a job that waits, or has the executor that runs it stop; false if it is gone.
fn cancel(kind: &Kind, priority: Priority, number: u32, position: u64) -> bool {
    let Some(queue) = definition::of_number(number) else { return false };
    let id = id::of(number, position);
    if let Some(executor) = current::executor_of(id) {
        return cancels::cancel_own(executor);
    }
    if current::is_of_batch(id) {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            &format!("job {id} is run by the same transaction as this one"),
            "A job of a kind with batch may cancel itself, and none of those that it is run with.",
        );
    }
    for _ in 0..LOOKS {
        let found = items::remove_unclaimed(&queue, position, |item| {
            let job = (id::of(number, position), priority, item.reads as u32);
            failure::bury_item(kind.id, job, item, "cancelled", None);
        });
        match found {
            Found::Gone => return false,
            Found::There => return true,
            Found::Claimed(_)
                if own_database().is_some_and(|database| cancels::cancel(database, number, position)) =>
            {
                return true;
            }
            // It was taken just now, or its failure is being written down; or this transaction has enqueued it.
            Found::Claimed(_) => {}
        }
        pgrx::check_for_interrupts!();
        std::thread::sleep(PAUSE);
    }
    refuse_with_hint(
        PgSqlErrorCode::ERRCODE_LOCK_NOT_AVAILABLE,
        &format!("another transaction has job {} and does not end", id::of(number, position)),
        "It may be enqueued, cancelled or taken in a transaction that is open, or prepared.",
    )
}

/// A dead job.
struct Dead {
    id: i64,
    priority: Priority,
    arguments: String,
    key: Option<String>,
    holds: Option<String>,
    root: i64,
}

sql_function!(
    /// `job.redrive(id)`
    howdah_job_redrive,
    |call| {
        let Some(kind) = dead_kind(call) else { return call.null() };
        let dead = dead_jobs(&kind, "d.id = $2", call.need::<i64>(0, "id").into());
        let again = dead.first().map(|dead| (dead, redrive(&kind, dead)));
        match again {
            Some((_, Some(id))) => call.give(id),
            Some((dead, None)) => refuse_with_hint(
                PgSqlErrorCode::ERRCODE_DUPLICATE_OBJECT,
                &format!("another job holds the key {:?} of job {}", dead.key.as_deref().unwrap_or_default(), dead.id),
                "Send it again when that one has ended, or discard it.",
            ),
            None => call.null(),
        }
    }
);

sql_function!(
    /// `job.redrive(kind, qty)`
    howdah_job_redrive_all,
    |call| {
        let kind = kind::find(call.need_text(0, "kind"));
        kind.check(Right::Redrive);
        let limit: Option<i32> = call.get(1);
        let dead = dead_jobs(&kind, "true order by d.died_at, d.id limit $2", limit.into());
        Datum::from(dead.iter().filter_map(|dead| redrive(&kind, dead)).count() as i64)
    }
);

/// The kind of a dead job, which the current user may send again; none if it is not there.
fn dead_kind(call: Call) -> Option<Kind> {
    let id: i64 = call.need(0, "id");
    let number = value_as_owner::<i32>("select d.kind from job.dead d where d.id = $1", &[id.into()])?;
    let kind = kind::of_number(number as u32)?;
    kind.check(Right::Redrive);
    Some(kind)
}

/// Dead jobs of a kind, which are this transaction's: those that another has are left out.
fn dead_jobs(kind: &Kind, which: &str, argument: DatumWithOid<'_>) -> Vec<Dead> {
    let statement = format!(
        "select d.id, d.priority, d.arguments::text, d.key, d.holds, coalesce(d.root, d.id) from job.dead d
         where d.kind = $1 and {which} for update skip locked"
    );
    rows_as_owner(&statement, &[(kind.id as i32).into(), argument], |row| {
        Some(Dead {
            id: row.get(1).ok()??,
            priority: Priority::of(&row.get::<String>(2).ok()??)?,
            arguments: row.get(3).ok()??,
            key: row.get(4).ok()?,
            holds: row.get(5).ok()?,
            root: row.get(6).ok()??,
        })
    })
}

/// Sends a dead job again, with all its attempts; its new id. None if another holds its key: it stays dead then.
fn redrive(kind: &Kind, dead: &Dead) -> Option<i64> {
    // One that was held for a time is asked for now.
    let holds = dead.holds.as_deref().and_then(Holds::of);
    let key = dead.key.as_deref().zip(holds);
    let new = New {
        kind,
        priority: dead.priority,
        // SAFETY: inside a transaction.
        arguments: unsafe { entry::jsonb_of(&dead.arguments) },
        at: 0,
        root: Some(dead.root),
        key,
    };
    let (id, has_met) = match key {
        Some((key, holds)) => keys::enqueue(&new, key, holds, Meets::Keep),
        None => (new.put(0), false),
    };
    if has_met {
        return None;
    }
    run_as_owner("delete from job.dead d where d.id = $1", &[dead.id.into()]);
    Some(id)
}

sql_function!(
    /// `job.discard(id)`
    howdah_job_discard,
    |call| {
        let id: i64 = call.need(0, "id");
        let is_there = dead_kind(call).is_some();
        Datum::from(is_there && discard("d.id = $1", &[id.into()]) > 0)
    }
);

sql_function!(
    /// `job.discard(kind, before)`
    howdah_job_discard_all,
    |call| {
        let kind = kind::find(call.need_text(0, "kind"));
        kind.check(Right::Redrive);
        let before: Option<TimestampWithTimeZone> = call.get(1);
        let arguments = [(kind.id as i32).into(), before.into()];
        Datum::from(discard("d.kind = $1 and ($2 is null or d.died_at < $2)", &arguments))
    }
);

/// Throws dead jobs away, with their failures; how many.
fn discard(which: &str, arguments: &[DatumWithOid<'_>]) -> i64 {
    let statement = format!(
        "with gone as (delete from job.dead d where {which} returning coalesce(d.root, d.id) as root),
           failures as (delete from job.failure f using gone where f.job = gone.root)
         select count(*) from gone"
    );
    value_as_owner::<i64>(&statement, arguments).unwrap_or_default()
}

sql_function!(
    /// `job.progress(fraction, remark)`
    howdah_job_progress,
    |call| {
        let fraction: f64 = call.need(0, "fraction");
        if !(0.0..=1.0).contains(&fraction) {
            refuse(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, "a fraction is between 0 and 1");
        }
        if let Some(executor) = current::executor() {
            jobs().slot(executor).tell((fraction * 1000.0).round() as u32, call.text(1).unwrap_or_default());
        }
        Datum::null()
    }
);
