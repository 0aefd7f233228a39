//! Changing schedules, and what comes next of them. `job.schedule` is in `howdah`, as it knows deployments, too.

use std::collections::BinaryHeap;

use pg::entry::{Call, Returned, columns, sql_function};
use pg::refuse::{refuse, refuse_with_hint};
use pgrx::pg_sys::{self, Datum};
use pgrx::prelude::*;
use session::authority::{
    current_user, is_admin, refuse_restricted, rows_as_owner, run_as_owner, value_as_owner,
};
use session::subtransaction::attempted;

use crate::keys::New;
use crate::kind::{self, Kind, Right};
use crate::schedules::{self, COLUMNS, NamedZone, Schedule, from_unix, to_unix};
use crate::{entry, ticks};

/// Most rows of `job.upcoming`.
const MOST: i32 = 10_000;

/// The schedule of this name, if there is one.
pub fn schedule(name: &str) -> Option<Schedule> {
    let query = format!("select {COLUMNS} from job.timetable s where s.name = $1 for update");
    rows_as_owner(&query, &[name.into()], |row| Schedule::of(&row).ok()).pop()
}

/// The schedule that a call names, and its kind; an error if the current user may not change it.
fn owned(call: Call) -> (Schedule, Kind) {
    refuse_restricted();
    let name = call.need_text(0, "name");
    let found = schedule(name).and_then(|schedule| {
        let kind = kind::of_number(schedule.kind)?;
        Some((schedule, kind))
    });
    let Some((schedule, kind)) = found else {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
            &format!("there is no schedule \"{name}\""),
            "job.schedule() makes one; the view job.schedules shows those that there are.",
        )
    };
    check_owner(&schedule);
    (schedule, kind)
}

/// An error unless the current user may change a schedule.
pub fn check_owner(schedule: &Schedule) {
    // SAFETY: a look-up inside a transaction.
    let has = unsafe { pg_sys::has_privs_of_role(current_user(), schedule.owner) };
    if !has && !is_admin() {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            &format!("must be owner of schedule {}", schedule.name),
            "Members of the role that has made it may, and members of howdah_admin.",
        );
    }
}

sql_function!(
    /// `job.unschedule(name)`
    howdah_job_unschedule,
    |call| {
        refuse_restricted();
        let Some(found) = schedule(call.need_text(0, "name")) else { return Datum::from(false) };
        check_owner(&found);
        run_as_owner("delete from job.timetable s where s.id = $1", &[found.id.into()]);
        Datum::from(true)
    }
);

sql_function!(
    /// `job.pause_schedule(name)`
    howdah_job_pause_schedule,
    |call| set_paused(call, "pg_catalog.clock_timestamp()", "is null")
);

sql_function!(
    /// `job.resume_schedule(name)`
    howdah_job_resume_schedule,
    |call| set_paused(call, "null", "is not null")
);

fn set_paused(call: Call, value: &str, before: &str) -> Datum {
    let (schedule, _) = owned(call);
    let statement = format!(
        "update job.timetable s set paused_at = {value} where s.id = $1 and s.paused_at {before} returning true"
    );
    ticks::announce();
    Datum::from(value_as_owner::<bool>(&statement, &[schedule.id.into()]).unwrap_or_default())
}

sql_function!(
    /// `job.run_schedule(name)`
    howdah_job_run_schedule,
    |call| {
        let (schedule, kind) = owned(call);
        kind.check(Right::Enqueue);
        let (now, is_held) = (queue::wall_time(), schedule.has_job());
        // SAFETY: inside a transaction.
        let arguments = unsafe { entry::jsonb_of(&schedule.arguments_of(now)) };
        let priority = schedule.priority.unwrap_or(kind.priority);
        let id = New { kind: &kind, priority, arguments, at: 0, root: None, key: None }.put(0);
        // One that waits or runs goes on holding back what is due.
        if !is_held {
            run_as_owner(
                "update job.timetable s set last_job = $2 where s.id = $1",
                &[schedule.id.into(), id.into()],
            );
        }
        call.give(id)
    }
);

sql_function!(
    /// `job.upcoming(count)`
    howdah_job_upcoming,
    |call| {
        let count: i32 = call.need(0, "count");
        if !(0..=MOST).contains(&count) {
            refuse(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                &format!("count must be between 0 and {MOST}"),
            );
        }
        let query = format!("select {COLUMNS} from job.timetable s where s.paused_at is null order by s.name");
        let schedules: Vec<(Schedule, Kind)> = rows_as_owner(&query, &[], |row| Schedule::of(&row).ok())
            .into_iter()
            .filter_map(|schedule| Some((kind::of_number(schedule.kind)?, schedule)))
            .filter(|(kind, _)| kind.is_seen())
            .map(|(kind, schedule)| (schedule, kind))
            .collect();
        let clocks: Vec<_> = schedules
            .iter()
            .map(|(schedule, _)| (schedule.when.rhythm().ok(), NamedZone::of(&schedule.when.time_zone)))
            .collect();
        // A zone that is gone stops its schedules alone.
        let is_known = |place: usize| attempted(|| clocks[place].1.check()).is_ok();
        // The earliest first, and of two at a time the one whose name comes first.
        let mut next: BinaryHeap<std::cmp::Reverse<(i64, usize)>> = schedules
            .iter()
            .enumerate()
            .filter(|(place, _)| is_known(*place))
            .filter_map(|(place, (schedule, _))| Some(std::cmp::Reverse((to_unix(schedule.next_at?), place))))
            .collect();
        let rows = (0..count).map_while(|_| {
            let std::cmp::Reverse((due, place)) = next.pop()?;
            let (schedule, kind) = &schedules[place];
            let (rhythm, zone) = &clocks[place];
            if let Some(after) = rhythm.as_ref().and_then(|rhythm| rhythm.next(due, zone)) {
                next.push(std::cmp::Reverse((after, place)));
            }
            let local = from_unix(due) + 1_000_000 * schedule::Zone::offset(zone, due.div_euclid(1_000_000));
            Some(columns![
                TimestampWithTimeZone::try_from(from_unix(due)).ok(),
                schedule.name.clone(),
                kind.name.clone(),
                Timestamp::try_from(local).ok(),
                schedule.when.time_zone.clone()
            ])
        });
        Returned::all(call, rows)
    }
);

sql_function!(
    /// `job.local_time(at, time_zone)`
    howdah_job_local_time,
    |call| {
        let (Some(at), Some(zone)) = (call.get::<TimestampWithTimeZone>(0), call.text(1)) else {
            return call.null();
        };
        let at = pg_sys::TimestampTz::from(at);
        let second = to_unix(at).div_euclid(1_000_000);
        let offset = attempted(|| schedule::Zone::offset(&NamedZone::of(zone), second));
        let local = |offset: i64| Timestamp::try_from(at.checked_add(1_000_000 * offset)?).ok();
        match offset.ok().and_then(local) {
            Some(local) => call.give(local),
            None => call.null(),
        }
    }
);

sql_function!(
    /// `job.is_copy()`
    howdah_job_is_copy,
    |_call| {
        let (cluster, database) = schedules::here();
        Datum::from(value_as_owner::<bool>(schedules::IS_COPY, &[cluster.into(), database.into()]).unwrap_or_default())
    }
);

sql_function!(
    /// `job.resume()`
    howdah_job_resume_all,
    |_call| {
        refuse_restricted();
        if !is_admin() {
            refuse(PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE, "must be a member of howdah_admin");
        }
        ticks::announce();
        let (cluster, database) = schedules::here();
        let resumed = value_as_owner::<bool>(
            "update job.home h set cluster = $1, database = $2
             where (h.cluster, h.database) is distinct from ($1, $2) returning true",
            &[cluster.into(), database.into()],
        );
        Datum::from(resumed.unwrap_or_default())
    }
);
