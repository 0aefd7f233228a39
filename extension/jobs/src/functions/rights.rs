//! Who may do what with jobs of a kind, and removing kinds. What is checked here is done by functions in SQL, as the owner of the
//! extension.

use pg::entry::{Call, sql_function};
use pg::refuse::{refuse, refuse_with_hint};
use pgrx::pg_sys::Datum;
use pgrx::prelude::*;
use queue::definition;
use queue::functions::definitions::lock_out;
use session::authority::{refuse_restricted, role_of, run_as_owner, value_as_owner};

use crate::kind::{self, Right};

sql_function!(
    /// `job.grant(kind, right, role)`
    howdah_job_grant,
    |call| {
        change_right(
            call,
            "insert into job.permission (kind, role, permission) values ($1, $2, $3) on conflict do nothing",
        )
    }
);

sql_function!(
    /// `job.revoke(kind, right, role)`
    howdah_job_revoke,
    |call| {
        change_right(call, "delete from job.permission p where p.kind = $1 and p.role = $2 and p.permission = $3")
    }
);

fn change_right(call: Call, statement: &str) -> Datum {
    refuse_restricted();
    let kind = kind::find(call.need_text(0, "kind"));
    kind.check_owner();
    let word = call.need_text(1, "right");
    let Some(right) = Right::of(word) else {
        refuse(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            &format!("a right is 'enqueue', 'cancel' or 'redrive', not '{word}'"),
        );
    };
    let role = role_of(call.need_text(2, "role"));
    run_as_owner(statement, &[(kind.id as i32).into(), role.into(), right.word().into()]);
    Datum::null()
}

sql_function!(
    /// `job.sees(kind)`
    howdah_job_sees,
    |call| {
        let kind = call.text(0).and_then(kind::look_up);
        Datum::from(kind.is_some_and(|kind| kind.is_seen()))
    }
);

sql_function!(
    /// `job.undefine(kind, with_jobs)`
    howdah_job_undefine,
    |call| {
        refuse_restricted();
        let name = call.need_text(0, "kind");
        let Some(kind) = kind::look_up(name) else { return Datum::from(false) };
        kind.check_owner();
        let with_jobs: bool = call.get(1).unwrap_or_default();
        if !with_jobs && has_jobs(kind.id) {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST,
                &format!("there are jobs of kind {name}"),
                "Let them run, or remove them with it: job.undefine(kind, with_jobs => true).",
            );
        }
        run_as_owner("select job.unmake($1)", &[(kind.id as i32).into()]);
        Datum::from(true)
    }
);

sql_function!(
    /// `job.has_jobs(kind)`
    howdah_job_has_jobs,
    |call| {
        Datum::from(has_jobs(call.need::<i32>(0, "kind") as u32))
    }
);

/// Whether jobs wait. Nobody enqueues any until the transaction ends.
fn has_jobs(number: u32) -> bool {
    // First what executors lock first when schedules are due; then whoever makes a queue of it is waited for, or waits.
    run_as_owner("select from job.timetable s where s.kind = $1 for update", &[(number as i32).into()]);
    run_as_owner("select from job.kind k where k.id = $1 for update", &[(number as i32).into()]);
    let Some(kind) = kind::of_number(number) else { return false };
    kind.queues.iter().filter(|number| **number != 0).any(|number| {
        let Some(queue) = definition::of_number(*number) else { return false };
        lock_out(&queue);
        queue::count::count(&queue).rows > 0
    })
}

sql_function!(
    /// `job.pause(kind)`
    howdah_job_pause,
    |call| set_paused(call, "pg_catalog.clock_timestamp()", "is null")
);

sql_function!(
    /// `job.resume(kind)`
    howdah_job_resume,
    |call| set_paused(call, "null", "is not null")
);

fn set_paused(call: Call, value: &str, before: &str) -> Datum {
    refuse_restricted();
    let kind = kind::find(call.need_text(0, "kind"));
    kind.check_owner();
    let statement = format!(
        "update job.kind k set paused_at = {value} where k.id = $1 and k.paused_at {before} returning true"
    );
    Datum::from(value_as_owner::<bool>(&statement, &[(kind.id as i32).into()]).unwrap_or_default())
}
