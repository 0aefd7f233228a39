//! Making schedules. This runs as its caller, whose right to enqueue jobs of the kind is asked for each time that one is due; only the row
//! is written as the extension's owner.

use std::ffi::CStr;

use deploy::recorder::{Registered, note_registered, unrecorded};
use jobs::functions::{check_owner, schedule_of};
use jobs::kind::{self, Kind, Right};
use jobs::schedules::{NamedZone, When, from_unix, to_unix};
use jobs::ticks;
use pg::entry::{Call, sql_function};
use pg::refuse::{refuse, refuse_with_hint};
use pgrx::datum::{DatumWithOid, Interval};
use pgrx::pg_sys;
use pgrx::prelude::*;
use queue::functions::typed::in_microseconds;
use schedule::{MOST, Missed, Unfit};
use session::authority::{current_user, refuse_restricted, value_as_owner};

/// How often one is made anew that another makes or removes meanwhile.
const TRIES: usize = 10;
/// Longest name of a schedule, in bytes.
const LONGEST_NAME: usize = 63;
/// Anchors are between the years 1 and 4000, in microseconds from 2000 on.
const FIRST: i64 = -63_082_281_600_000_000;
const LAST: i64 = 63_113_904_000_000_000;
/// The highest age of what is caught up with, in microseconds: a hundred years.
const OLDEST: i64 = 100 * 366 * 86_400_000_000;

sql_function!(
    /// `job.schedule(name, cron, kind, arguments, every, anchor, time_zone, missed, missed_within, missed_most, may_overlap, priority)`
    howdah_job_schedule,
    |call| {
        refuse_restricted();
        let name = call.need_text(0, "name");
        check_name(name);
        let kind = kind::find(call.need_text(2, "kind"));
        kind.check(Right::Enqueue);
        let priority = call.text(11).map_or(kind.priority, jobs::functions::priority);
        // So that none has to be made when it is due, which may wait for others.
        unrecorded(|| kind.make_ready(priority));
        ticks::announce();
        // Whoever makes one of the same name at the same time has it; then it is replaced.
        let next_at = (0..TRIES).find_map(|_| set(call, name, &kind));
        note_registered(Registered::Schedule, &[name]);
        match next_at {
            Some(Some(next_at)) => call.give(next_at),
            Some(None) => call.null(),
            None => refuse(
                PgSqlErrorCode::ERRCODE_DUPLICATE_OBJECT,
                &format!("others make and remove a schedule {name} all the time"),
            ),
        }
    }
);

/// Makes or changes the schedule, as a call says. When it is due next; none if somebody else has just made it.
fn set(call: Call, name: &str, kind: &Kind) -> Option<Option<TimestampWithTimeZone>> {
    let known = schedule_of(name);
    known.as_ref().inspect(|known| check_owner(known));
    let now = queue::wall_time();
    let when = when(call, known.as_ref().map(|known| &known.when), now);
    let arguments = jobs::functions::arguments(call, 3);
    let priority = call.text(11).map(|word| jobs::functions::priority(word).word());
    let time = |time: i64| TimestampWithTimeZone::try_from(time).ok();
    let set = value_as_owner::<TimestampWithTimeZone>(
        if known.is_none() { INSERT } else { UPDATE },
        &[
            name.into(),
            current_user().into(),
            (kind.id as i32).into(),
            // SAFETY: a jsonb, as the function is declared.
            unsafe { DatumWithOid::new(arguments, pg_sys::JSONBOID) },
            priority.into(),
            when.cron.as_deref().into(),
            call.get::<Interval>(4).into(),
            when.every.and_then(|(_, anchor)| time(anchor)).into(),
            when.time_zone.as_str().into(),
            missed(call).into(),
            within(call).into(),
            most(call).into(),
            call.get::<bool>(10).unwrap_or_default().into(),
            time(next(&when, now)).into(),
        ],
    );
    match (set, known) {
        (Some(next_at), _) => Some(Some(next_at)),
        (None, Some(known)) => Some(known.next_at.and_then(time)),
        (None, None) => None,
    }
}

const INSERT: &str = "
    insert into job.timetable
      (name, owner, kind, arguments, priority, cron, every, anchor, time_zone, missed, missed_within, missed_most, may_overlap,
       next_at, defined_at, looked_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, pg_catalog.clock_timestamp(), pg_catalog.clock_timestamp())
    on conflict (name) do nothing returning next_at";

/// The same again changes nothing. Who changes it has its jobs enqueued with the own right from then on.
const UPDATE: &str = "
    update job.timetable s
    set owner = $2, kind = $3, arguments = $4, priority = $5, cron = $6, every = $7, anchor = $8, time_zone = $9, missed = $10,
      missed_within = $11, missed_most = $12, may_overlap = $13, next_at = $14, defined_at = pg_catalog.clock_timestamp(),
      looked_at = pg_catalog.clock_timestamp(), stopped = null
    where s.name = $1
      and (s.stopped is not null or (s.owner, s.kind, s.arguments, s.priority, s.cron, s.every, s.anchor, s.time_zone, s.missed, s.missed_within, s.missed_most,
           s.may_overlap)
        is distinct from ($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13))
    returning s.next_at";

fn check_name(name: &str) {
    if name.is_empty() || name.len() > LONGEST_NAME {
        refuse(
            PgSqlErrorCode::ERRCODE_INVALID_NAME,
            &format!("the name of a schedule has 1 to {LONGEST_NAME} bytes, and this has {}", name.len()),
        );
    }
}

fn refuse_value(message: &str) -> ! {
    refuse(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message)
}

fn refuse_unfit(unfit: Unfit) -> ! {
    match &unfit.hint {
        Some(hint) => refuse_with_hint(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, &unfit.message, hint),
        None => refuse_value(&unfit.message),
    }
}

/// When it is due, as a call says. One that goes on as before keeps its anchor.
fn when(call: Call, known: Option<&When>, now: i64) -> When {
    let time_zone = call.text(6).map_or_else(time_zone, str::to_owned);
    NamedZone::of(&time_zone).check();
    let anchor = call.get::<TimestampWithTimeZone>(5).map(pg_sys::TimestampTz::from);
    let every = call.get::<Interval>(4).map(|every| {
        if every.months() != 0 {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                "every cannot have months, which differ in length, and is not infinite",
                "For the first of each month say '0 0 1 * *' instead.",
            );
        }
        let interval = in_microseconds(&every);
        let before = known.and_then(|known| known.every).filter(|(before, _)| *before == interval);
        (interval, anchor.or(before.map(|(_, anchor)| anchor)).unwrap_or(now))
    });
    let cron = call.text(1).map(|cron| cron.trim().to_owned());
    if cron.is_some() == every.is_some() {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            "a schedule has either a cron expression or every",
            "select job.schedule('nightly', '15 3 * * *', 'tidy'), job.schedule('pulse', every => '90 s', kind => 'tidy');",
        );
    }
    if cron.is_some() && anchor.is_some() {
        refuse_value("an anchor goes with every: a cron expression has its times from the clock");
    }
    if every.is_some_and(|(_, anchor)| !(FIRST..LAST).contains(&anchor)) {
        refuse_value("the anchor must be a time between the years 1 and 4000");
    }
    When { cron, every, time_zone }
}

/// The setting `TimeZone`.
fn time_zone() -> String {
    // SAFETY: a setting of PostgreSQL's own, whose text is copied.
    let name = unsafe { CStr::from_ptr(pg_sys::GetConfigOption(c"TimeZone".as_ptr(), false, false)) };
    name.to_string_lossy().into_owned()
}

/// When it is due next; an error if it never is.
fn next(when: &When, now: i64) -> i64 {
    let rhythm = when.rhythm().unwrap_or_else(|unfit| refuse_unfit(unfit));
    let next = rhythm.next(to_unix(now), &NamedZone::of(&when.time_zone));
    next.map(from_unix).unwrap_or_else(|| refuse_value("this is never due"))
}

fn missed(call: Call) -> &'static str {
    let word = call.need_text(7, "missed");
    if Missed::of(word).is_none() {
        refuse_value(&format!("missed is 'none', 'once' or 'each', not '{word}'"));
    }
    word
}

fn most(call: Call) -> i32 {
    let most: i32 = call.need(9, "missed_most");
    if !(1..=MOST as i32).contains(&most) {
        refuse_value(&format!("missed_most must be between 1 and {MOST}"));
    }
    most
}

fn within(call: Call) -> Interval {
    let within: Interval = call.need(8, "missed_within");
    if !(0..=OLDEST).contains(&in_microseconds(&within)) {
        refuse_value("missed_within must be between 0 and 100 years");
    }
    within
}
