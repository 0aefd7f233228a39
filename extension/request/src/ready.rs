//! Whether an endpoint can run: its plans made, and made anew when what they were made of has changed.

use pg::guard::{PgError, Report, attempt};
use problem::Meaning;
use session::authority::with_path;
use session::identity::{self, Identity};
use session::request_transaction::{self, Leftovers, Scope};
use session::{deployments, invalidations, leftovers, settings_in_force};

use super::endpoint::{Endpoint, Plans, Target};
use super::function::Function;
use super::plan::Plan;
use super::plan_memory::note_new;
use super::standing::{Standing, standing};
use super::types::Types;
use super::{author, make_plan};

/// Whether the endpoint's plans are made and still those of role and function as they are now.
pub(crate) fn is_ready(endpoint: &Endpoint) -> bool {
    match &endpoint.plans {
        Plans::Unmade => false,
        Plans::Broken { epoch, .. } => *epoch == invalidations::epoch(),
        Plans::Made { checked, .. } => *checked == invalidations::epoch(),
    }
}

/// Makes an endpoint's plans in a transaction of their own. What fails is logged, and leaves it without.
///
/// # Safety
/// On the main thread, outside a transaction.
pub(crate) unsafe fn make_plans(endpoint: &mut Endpoint, types: &Types, identity: &mut Identity) {
    let role = endpoint.registration.role;
    let scope = Scope::Own { read_only: true };
    // SAFETY: by contract; nothing with a destructor is held across PostgreSQL's own calls.
    unsafe {
        if identity.assume(role, &endpoint.registration.search_path).is_err() {
            return;
        }
        deployments::note();
        let made = attempt(Report::Log, || {
            let begun = request_transaction::begin(scope, role);
            let ready = make_ready(endpoint, types);
            if ready {
                // Planning may compute what is constant by a user's function.
                // It has written nothing.
                let _ = request_transaction::finish(begun, Leftovers::Possible);
            }
            ready
        });
        if !made.unwrap_or(false) {
            leftovers::abort();
        }
        endpoint.note_use();
    }
}

/// Makes the endpoint's first plan, or makes sure that what is there is still right. False if it cannot be served until
/// something changes: its plans are [`Plans::Broken`] then, and the transaction has failed. Others are told when it can
/// be served, but not when it cannot: what fails in a gateway may succeed in an executor.
///
/// # Safety
/// Inside a guard and a transaction, as the endpoint's role.
pub(crate) unsafe fn make_ready(endpoint: &mut Endpoint, types: &Types) -> bool {
    let epoch = invalidations::epoch();
    // SAFETY: by contract. Everything inside calls PostgreSQL through pgrx's guards.
    match unsafe { attempt(Report::Quiet, || renew(endpoint, types)) } {
        Ok(()) => {
            endpoint.counters().inspect(|counters| counters.mend());
            true
        }
        // What has failed while something changed may succeed now.
        Err(error) if is_lasting(&error) && invalidations::epoch() == epoch => {
            endpoint.forget_plans();
            endpoint.plans = Plans::Broken { error, epoch };
            false
        }
        Err(error) => pg::guard::raise(error),
    }
}

unsafe fn renew(endpoint: &mut Endpoint, types: &Types) {
    // SAFETY: the contract of `make_ready`.
    unsafe {
        identity::require(endpoint.registration.role);
        if !still_stands(endpoint, types) {
            endpoint.forget_plans();
            endpoint.plans = compile(endpoint, types);
            note_new();
        }
    }
}

/// Whether the plans that are made are still right.
unsafe fn still_stands(endpoint: &mut Endpoint, types: &Types) -> bool {
    // News may come while this looks, of what it has looked at already: then it looks again.
    let epoch = invalidations::epoch();
    let Plans::Made { function, plans, checked } = &mut endpoint.plans else { return false };
    // SAFETY: the contract of `make_ready`.
    let stands = unsafe {
        match function {
            None => !plans.iter().any(Plan::has_changed),
            Some(function) => match standing(&function.version(), endpoint.registration.role) {
                Standing::Forbidden => refuse_function(function),
                Standing::Changed => false,
                Standing::Unchanged => {
                    is_named(function, &endpoint.registration.target)
                        && author::obstacle(function, &endpoint.registration).is_none()
                        && plans.iter().all(|plan| function.still_returns(plan, types))
                        && function.arguments().iter().all(|argument| argument.is_up_to_date())
                }
            },
        }
    };
    if stands {
        plans.iter().for_each(Plan::read_again);
        *checked = epoch;
    }
    stands
}

/// The function that a signature names: under the search_path that it was written with, not the endpoint's, in which whoever makes a
/// type or a function may come before PostgreSQL's own.
///
/// # Safety
/// As for [`Function::look_up`].
unsafe fn look_up(signature: &str) -> pgrx::pg_sys::Oid {
    // SAFETY: by contract.
    with_path(settings_in_force::SAFE_PATH, || unsafe { Function::look_up(signature) })
}

/// Whether this is still the function that the route names: its schema may have been renamed, and another have the
/// name now.
unsafe fn is_named(function: &Function, target: &Target) -> bool {
    let Target::Function { function: signature, .. } = target else { return false };
    // SAFETY: the contract of `make_ready`.
    match unsafe { attempt(Report::Quiet, || look_up(signature)) } {
        Ok(named) => named == function.version().oid,
        // Made anew, the plans say so.
        Err(error) if is_lasting(&error) => false,
        Err(error) => pg::guard::raise(error),
    }
}

/// Whether an endpoint whose plans fail so cannot be served until it changes. A missing right may be granted at any
/// time, and is 403 until then; a lock is waited for in vain, a query cancelled, memory short.
fn is_lasting(error: &PgError) -> bool {
    error.sqlstate() != "42501" && !Meaning::of(&error.sqlstate).is_of_circumstances()
}

unsafe fn compile(endpoint: &Endpoint, types: &Types) -> Plans {
    // SAFETY: the contract of `make_ready`.
    unsafe {
        let checked = invalidations::epoch();
        match &endpoint.registration.target {
            Target::Statement { statement, .. } => {
                endpoint.refuse_unfit();
                let plan = make_plan::for_statement(statement, types);
                Plans::Made { function: None, plans: vec![plan], checked }
            }
            Target::Function { function, .. } => {
                let function = Function::of(look_up(function), types);
                endpoint.note_version(&function.version());
                endpoint.refuse_unfit();
                if let Some(obstacle) = function.obstacle() {
                    pgrx::error!("{obstacle}");
                }
                if let Some(obstacle) = author::obstacle(&function, &endpoint.registration) {
                    refuse_author(obstacle);
                }
                if !function.may_be_executed_by(endpoint.registration.role) {
                    refuse_function(&function);
                }
                let plans = vec![make_plan::for_function(&function, function.all_given(), types)];
                Plans::Made { function: Some(function), plans, checked }
            }
        }
    }
}

/// The place of the plan for these arguments.
pub(crate) fn plan_for(endpoint: &Endpoint, given: u64) -> Option<usize> {
    match &endpoint.plans {
        Plans::Made { function: None, .. } => Some(0),
        Plans::Made { plans, .. } => plans.iter().position(|plan| plan.given == given),
        _ => None,
    }
}

/// Plans the call with these arguments, the others left to their defaults.
///
/// # Safety
/// Inside a guard and a transaction, as the endpoint's role.
pub(crate) unsafe fn add_plan(endpoint: &mut Endpoint, given: u64, types: &Types) -> usize {
    // As many sets as a form can leave out; a client must not fill the memory with them.
    const MOST: usize = 64;
    if let Plans::Made { function: Some(function), plans, .. } = &mut endpoint.plans {
        if plans.len() >= MOST {
            // Never the first: it is the one with all arguments.
            plans.remove(1).release();
        }
        // SAFETY: inside a guard and a transaction, as the endpoint's role.
        plans.push(unsafe { make_plan::for_function(function, given, types) });
        note_new();
        return plans.len() - 1;
    }
    0
}

/// Whose the function is may not answer, until somebody says that he may.
fn refuse_author(obstacle: String) -> ! {
    pgrx::pg_sys::panic::ErrorReport::new(
        pgrx::PgSqlErrorCode::ERRCODE_INVALID_OBJECT_DEFINITION,
        obstacle,
        "howdah",
    )
    .report(pgrx::PgLogLevel::ERROR);
    unreachable!("an ERROR report does not return")
}

/// "Permission denied", and which grant is missing.
fn refuse_function(function: &Function) -> ! {
    pgrx::pg_sys::panic::ErrorReport::new(
        pgrx::PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        format!("permission denied for function {}", function.qualified_name()),
        "howdah",
    )
    .report(pgrx::PgLogLevel::ERROR);
    unreachable!("an ERROR report does not return")
}
