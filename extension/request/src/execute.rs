//! Running a plan that is made: once, or to its first row.

use pg::guard::PgError;
use pg::list::{list_length, nth};
use pg::version;
use pgrx::pg_sys;
use session::{invalidations, request_transaction};

use super::admission;
use super::called::Called;
use super::plan::Plan;
use super::plan_choice;
use super::read_literals;
use super::receiver::Receiver;

/// How often a request is tried again that has failed while tables and functions changed.
pub(crate) const CATALOG_TRIES: u32 = 8;

/// The plan as it is now, made anew if it must be. The current resource owner holds it.
///
/// # Safety
/// Inside a guard and a transaction with an active snapshot, as the endpoint's role.
pub(crate) unsafe fn cached_plan(
    plan: &Plan,
    called: Option<Called>,
    parameters: pg_sys::ParamListInfo,
) -> *mut pg_sys::CachedPlan {
    // SAFETY: by contract.
    unsafe {
        let owner = pg_sys::CurrentResourceOwner;
        let mut tries = 0;
        loop {
            plan_choice::prepare(plan.source, &plan.choice);
            let planning = || {
                admission::plans_own(true);
                let cached = pg::GetCachedPlan(plan.source, parameters, owner, std::ptr::null_mut());
                admission::plans_own(false);
                cached
            };
            let cached = match called {
                Some(called) => called.planned((*plan.source).query_string, planning),
                None => planning(),
            };
            if list_length((*cached).stmt_list) != 1 {
                refuse_rules();
            }
            plan.judge();
            plan_choice::compare(plan.source, cached, &plan.choice);
            tries += 1;
            // Rights are asked for when it starts: it must not have been planned for those of before.
            if tries <= CATALOG_TRIES && invalidations::settle() {
                pg::ReleaseCachedPlan(cached, owner);
                continue;
            }
            if let Some(called) = called {
                called.refuse_if_changed();
            }
            request_transaction::renew_snapshot();
            return cached;
        }
    }
}

/// Runs the plan from its start to its end. Nothing here owns memory: an error jumps out.
///
/// # Safety
/// Inside a guard and a transaction with an active snapshot, as the endpoint's role.
pub(crate) unsafe fn execute(
    plan: &Plan,
    called: Option<Called>,
    parameters: pg_sys::ParamListInfo,
    receiver: &mut Receiver,
) {
    // SAFETY: inside a guard and a transaction with an active snapshot, as the endpoint's role.
    unsafe {
        let owner = pg_sys::CurrentResourceOwner;
        let cached = cached_plan(plan, called, parameters);
        // What others have committed while it waited for its locks counts, as in any statement.
        pg::PopActiveSnapshot();
        request_transaction::take_snapshot();
        let statement = nth((*cached).stmt_list, 0).cast::<pg_sys::PlannedStmt>();
        pg_sys::debug_query_string = (*plan.source).query_string;
        let description = pg::CreateQueryDesc(
            statement,
            (*plan.source).query_string,
            pg::GetActiveSnapshot(),
            std::ptr::null_mut(),
            receiver.as_destination(),
            parameters,
            std::ptr::null_mut(),
            0,
        );
        read_literals::start(plan, || pg::ExecutorStart(description, 0));
        executor_run(description, plan, true);
        pg::ExecutorFinish(description);
        pg::ExecutorEnd(description);
        pg::FreeQueryDesc(description);
        pg::ReleaseCachedPlan(cached, owner);
        pg_sys::debug_query_string = std::ptr::null();
    }
}

/// A rule that came after the plan was made has turned the statement into none or several.
fn refuse_rules() -> ! {
    pg::guard::raise(PgError {
        sqlstate: *b"0A000",
        message: "a rule rewrites the statement into several, or none".into(),
        ..PgError::default()
    })
}

/// Runs a started plan to its first row, or to its end; once, or once more after each rewind.
///
/// # Safety
/// Inside a guard; the plan has been started with a receiver that still stands.
pub(crate) unsafe fn executor_run(description: *mut pg_sys::QueryDesc, plan: &Plan, once: bool) {
    // None is all; the receiver refuses the second row of a scalar subquery.
    let rows = if plan.runs_to_end { 0 } else { 1 + u64::from(plan.scalar) };
    // SAFETY: by contract.
    unsafe { version::run_executor(description, rows, once) };
}
