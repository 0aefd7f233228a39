//! Defining kinds of jobs. This runs as its caller, who must be allowed to become the kind's role; only the row is written as the
//! extension's owner.

use deploy::recorder::{Registered, note_registered, unrecorded};
use jobs::kind::{self, Right};
use pg::entry::{Call, sql_function};
use pg::refuse::{refuse, refuse_with_hint};
use pgrx::datum::Interval;
use pgrx::pg_sys::{Datum, Oid};
use pgrx::prelude::*;
use request::function::Function;
use request::inputs::Input;
use schedule::{Priority, Rate};
use session::authority::{
    check_role, current_user, function_name, is_admin, name_of, refuse_restricted, run_as_owner, web_role,
    with_path,
};

use super::registering::{self, SearchPath, check_function_owner};

/// Longest name of a kind, in bytes.
const LONGEST_NAME: usize = 63;
/// Most jobs of a transaction.
const MOST_OF_A_BATCH: i32 = 1000;
/// How long anything is kept at most, in microseconds, but for what is kept for any time: a thousand years.
const OLDEST_US: i64 = 1000 * 366 * 86_400_000_000;

sql_function!(
    /// `job.define(kind, function, role, attempts, backoff, longest_backoff, timeout, at_once, per_second, priority, batch, alert, keep_failures,
    /// keep_dead, search_path)`
    howdah_job_define,
    |call| {
        refuse_restricted();
        let name = call.need_text(0, "kind");
        check_name(name);
        let known = kind::look_up(name);
        known.iter().for_each(|known| known.check_owner());
        let role = role(call);
        let path = SearchPath::of(call, 14);
        let function = with_path(&path.0, || registering::look_up(call.need_text(1, "function")));
        let described = check_function(function);
        let owner = name_of(described.owner());
        check_function_owner(&owner, &described);
        let limits = Limits::of(call);
        let alert = call.text(11).map(|alert| check_alert(name, alert));
        run_as_owner(
            "insert into job.kind as k (name, owner, priority, function, function_owner, function_oid, role, search_path, attempts,
               backoff, longest_backoff, timeout, at_once, per_second, batch, alert, keep_failures, keep_dead)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
             on conflict (name) do update
             set priority = excluded.priority, function = excluded.function, function_owner = excluded.function_owner,
               function_oid = excluded.function_oid,
               role = excluded.role, search_path = excluded.search_path, attempts = excluded.attempts,
               backoff = excluded.backoff, longest_backoff = excluded.longest_backoff, timeout = excluded.timeout,
               at_once = excluded.at_once, per_second = excluded.per_second, batch = excluded.batch, alert = excluded.alert,
               keep_failures = excluded.keep_failures, keep_dead = excluded.keep_dead, defined_at = pg_catalog.now()
             where (k.priority, k.function, k.function_owner, k.function_oid, k.role, k.search_path, k.attempts, k.backoff,
                 k.longest_backoff, k.timeout, k.at_once, k.per_second, k.batch, k.alert, k.keep_failures, k.keep_dead)
               is distinct from (excluded.priority, excluded.function, excluded.function_owner, excluded.function_oid, excluded.role,
                 excluded.search_path, excluded.attempts, excluded.backoff, excluded.longest_backoff,
                 excluded.timeout, excluded.at_once, excluded.per_second, excluded.batch, excluded.alert,
                 excluded.keep_failures, excluded.keep_dead)",
            &[
                name.into(),
                current_user().into(),
                limits.priority.word().into(),
                function_name(function).into(),
                described.owner().into(),
                function.into(),
                role.into(),
                path.text().into(),
                limits.attempts.into(),
                limits.backoff.into(),
                limits.longest_backoff.into(),
                limits.timeout.into(),
                limits.at_once.into(),
                limits.per_second.into(),
                limits.batch.into(),
                alert.into(),
                limits.keep_failures.into(),
                limits.keep_dead.into(),
            ],
        );
        jobs::schedules::settle();
        let make_queue = "select job.make_queue(k.id, k.priority) from job.kind k where k.name = $1";
        unrecorded(|| run_as_owner(make_queue, &[name.into()]));
        if known.is_none() {
            let made = kind::find(name);
            // Another may have defined it at the same time.
            made.check_owner();
            made.take_place();
            made.make_ready(limits.priority);
        }
        note_registered(Registered::Job, &[name]);
        Datum::null()
    }
);

fn check_name(name: &str) {
    if name.is_empty() || name.len() > LONGEST_NAME {
        refuse(
            PgSqlErrorCode::ERRCODE_INVALID_NAME,
            &format!("a kind's name has 1 to {LONGEST_NAME} bytes, and \"{name}\" has {}", name.len()),
        );
    }
}

/// The role that is named, or the caller. Jobs never run with the rights of a superuser or of howdah_admin unless somebody has asked
/// for that.
fn role(call: Call) -> Oid {
    match call.text(2) {
        Some(name) => check_role(name),
        None if is_admin() => web_role(),
        None => current_user(),
    }
}

/// The function; an error if it cannot run jobs.
fn check_function(function: Oid) -> Function {
    let described = registering::described(function);
    if described.is_procedure() {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
            &format!("{} is a procedure, and a job runs in one transaction", described.qualified_name()),
            "Write a function. One that does a part of the work, and enqueues the job that does the next, commits as often as it likes.",
        );
    }
    if let Some(obstacle) = described.obstacle() {
        refuse(PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE, obstacle);
    }
    for argument in described.arguments() {
        if matches!(argument.input, Input::Request | Input::File) {
            refuse(
                PgSqlErrorCode::ERRCODE_INVALID_FUNCTION_DEFINITION,
                &format!("{} takes a part of a request, and a job has none", described.qualified_name()),
            );
        }
        if argument.name.is_none() && !argument.takes_body() {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_INVALID_FUNCTION_DEFINITION,
                "an argument of a job's function has no name",
                "Name it: arguments are bound by name. One without a name, of type jsonb, takes all of them.",
            );
        }
    }
    described
}

/// The number of the kind that is to alert when a job of this one dies; an error if it cannot. It has no alert itself, so that alerts end.
fn check_alert(name: &str, alert: &str) -> i32 {
    let found = kind::find(alert);
    found.check(Right::Enqueue);
    let known = kind::look_up(name);
    let refuse = |message: &str| {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            message,
            "A kind that alerts has no alert itself: its own failures are in job.failures and job.dead_jobs.",
        )
    };
    if name == alert {
        refuse(&format!("kind {name} cannot alert when it fails itself"));
    }
    if found.alert != 0 {
        refuse(&format!("kind {alert} cannot alert, as it has an alert itself"));
    }
    if known.is_some_and(|known| known.is_an_alert()) {
        refuse(&format!("kind {name} cannot have an alert, as it is one itself"));
    }
    found.id as i32
}

/// What a kind is limited by.
struct Limits {
    attempts: i32,
    backoff: Interval,
    longest_backoff: Interval,
    timeout: Option<Interval>,
    at_once: Option<i32>,
    per_second: Option<f64>,
    batch: i32,
    priority: Priority,
    keep_failures: Option<Interval>,
    keep_dead: Option<Interval>,
}

impl Limits {
    fn of(call: Call) -> Limits {
        let limits = Limits {
            attempts: call.need(3, "attempts"),
            backoff: call.need(4, "backoff"),
            longest_backoff: call.need(5, "longest_backoff"),
            timeout: call.get(6),
            at_once: call.get(7),
            per_second: call.get(8),
            batch: call.need(10, "batch"),
            priority: jobs::functions::priority(call.need_text(9, "priority")),
            keep_failures: call.get(12),
            keep_dead: call.get(13),
        };
        limits.check();
        limits
    }

    fn check(&self) {
        let microseconds = queue::functions::typed::in_microseconds;
        check(self.attempts > 0, "attempts must be 1 or more");
        check(microseconds(&self.backoff) >= 0, "backoff must not be negative");
        check(
            microseconds(&self.longest_backoff) >= microseconds(&self.backoff),
            "longest_backoff must not be shorter than backoff",
        );
        check(
            self.timeout.as_ref().is_none_or(|timeout| microseconds(timeout) > 0),
            "timeout must be longer than 0",
        );
        check(self.at_once.is_none_or(|count| count > 0), "at_once must be 1 or more");
        check((1..=MOST_OF_A_BATCH).contains(&self.batch), "batch must be between 1 and 1000");
        check(
            self.batch == 1 || self.per_second.is_none(),
            "a kind with per_second cannot have a batch: each of its jobs begins by itself",
        );
        for (age, name) in [(&self.keep_failures, "keep_failures"), (&self.keep_dead, "keep_dead")] {
            let is_age = |age: &Interval| (0..=OLDEST_US).contains(&microseconds(age));
            check(
                age.as_ref().is_none_or(is_age),
                &format!("{name} must be between 0 and 1000 years, or null for any time"),
            );
        }
        check(
            self.per_second.is_none_or(|rate| Rate::per_second(rate).is_some()),
            "per_second must be a number above 0",
        );
    }
}

fn check(holds: bool, message: &str) {
    if !holds {
        refuse(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message);
    }
}
