//! A function that runs apart from requests, as a job does: its arguments are bound by name from JSON, and it runs as its role in a
//! transaction in which its caller first takes what is to be done. What it returns is nobody's.

use std::ffi::CString;
use std::fmt::Display;

use pg::guard::{self, PgError, Report};
use pg::log_line;
use pgrx::pg_sys::{self, Oid};
use problem::Meaning;
use session::request_transaction::{self, Begun, Leftovers, Outside, Scope};
use session::standbys::Confirmation;
use session::{invalidations, leftovers, watch, withheld};

use super::bound_value::Bound;
use super::called::{self, Called};
use super::endpoint::{Endpoint, Plans, Registration, Target};
use super::error_context::ErrorContext;
use super::execute::execute;
use super::plan::{Origin, Plan};
use super::ready::{add_plan, is_ready, make_ready, plan_for};
use super::runner::Runner;
use super::{arguments, grants};

/// A function with the role that it runs as.
pub struct Callee {
    endpoint: Endpoint,
}

impl Callee {
    /// The function of this signature, which somebody of this name owned when it was registered. `title` is shown in
    /// pg_stat_activity: a word, and a name.
    pub fn new(title: [&str; 2], function: String, owner: String, role: Oid, search_path: CString) -> Callee {
        let [method, pattern] = title.map(str::to_owned);
        let target = Target::Function { method, pattern, function, owner: Some(owner), is_page: false };
        Callee { endpoint: Endpoint::uncounted(Registration::new(target, role, search_path)) }
    }

    /// Why it cannot run, unless something has changed since that was found.
    pub fn obstacle(&self) -> Option<&PgError> {
        if self.endpoint.is_made() { self.endpoint.reason() } else { None }
    }

    fn role(&self) -> Oid {
        self.endpoint.registration.role
    }
}

/// Why a function has not run to its end. Nothing is left of what it did.
#[derive(Debug)]
pub enum Failure {
    /// It cannot run until somebody changes something; nothing was taken. [`Callee::obstacle`] says why.
    Unfit,
    /// It has failed before anything was taken.
    Before(PgError),
    /// It, or its arguments, or its commit has failed.
    Raised {
        /// PostgreSQL's error.
        error: PgError,
        /// Whether it is what an old plan, or a change of functions and tables meanwhile, may have caused: it may run again at once.
        is_of_changes: bool,
    },
}

/// What a call is about.
pub struct Work<'a> {
    /// What runs, for the log and the context of errors.
    pub what: &'a dyn Display,
    /// Takes what is to be done, in the transaction, and returns the arguments, a JSON object; nothing if there is nothing to do.
    pub take: &'a mut dyn FnMut() -> Option<String>,
    /// Called when the function has returned, before the commit: an error undoes all.
    pub check: &'a mut dyn FnMut(),
}

/// Several calls in one transaction, each in a subtransaction.
pub trait Several {
    /// Takes what is to be done, in the transaction; false if there is nothing to do.
    fn begin(&mut self) -> bool;

    /// The arguments of the next, in its subtransaction; nothing ends it.
    fn next(&mut self) -> Option<String>;

    /// Called when the function has returned, before its subtransaction ends: an error undoes it alone.
    fn check(&mut self);

    /// It has ended, and is undone if it has failed; whether another is to follow. In the transaction.
    fn ended(&mut self, result: Result<(), PgError>) -> bool;

    /// Nothing follows: called in the transaction, before its commit.
    fn finish(&mut self);
}

/// How far a call has come.
enum Stage {
    Nothing,
    Taken(String),
}

impl Runner {
    /// Runs a function in a transaction of its own and commits; whether there was something to do.
    ///
    /// # Safety
    /// On the main thread, outside a transaction.
    pub unsafe fn run_apart(&mut self, callee: &mut Callee, work: &mut Work<'_>) -> Result<bool, Failure> {
        grants::forget();
        called::forget();
        guard::forget_raised();
        let (was_made, epoch) = (callee.endpoint.is_made(), invalidations::epoch());
        // SAFETY: by contract.
        unsafe {
            let arguments = match self.begin_apart(callee, work) {
                Ok((begun, Stage::Taken(arguments))) => (begun, arguments),
                Ok((_, Stage::Nothing)) => {
                    leftovers::abort();
                    return Ok(false);
                }
                Err(failure) => {
                    leftovers::abort();
                    return Err(failure);
                }
            };
            let (begun, arguments) = arguments;
            let result = self.call_apart(&mut callee.endpoint, work.what, work.check, begun, &arguments);
            result.map(|()| true).map_err(|error| {
                pg_sys::debug_query_string = std::ptr::null();
                leftovers::abort();
                let mut error = watch::out_of_memory(&error).unwrap_or(error);
                let is_of_catalogs = Meaning::of(&error.sqlstate).is_of_catalogs();
                if is_of_catalogs {
                    callee.endpoint.forget_plans();
                }
                if error.sqlstate() == "42501" && error.hint.is_none() {
                    error.hint = grants::missing(&error, callee.role());
                }
                grants::forget();
                let is_of_changes = is_of_catalogs && (was_made || invalidations::epoch() != epoch);
                Failure::Raised { error, is_of_changes }
            })
        }
    }

    /// Runs a function several times in a transaction, which is committed if it was run at all.
    ///
    /// # Safety
    /// On the main thread, outside a transaction.
    pub unsafe fn run_several_apart(
        &mut self,
        callee: &mut Callee,
        what: &dyn Display,
        several: &mut dyn Several,
    ) -> Result<(), Failure> {
        guard::forget_raised();
        // SAFETY: by contract.
        let result = unsafe { self.several_apart(callee, what, several) };
        match result {
            Ok(true) => Ok(()),
            result => {
                // SAFETY: by contract.
                unsafe { leftovers::abort() };
                result.map(|_| ())
            }
        }
    }

    /// Whether something has run and was committed.
    unsafe fn several_apart(
        &mut self,
        callee: &mut Callee,
        what: &dyn Display,
        several: &mut dyn Several,
    ) -> Result<bool, Failure> {
        let role = callee.role();
        let context = ErrorContext { what, report: Report::Quiet };
        // SAFETY: by contract; what is guarded calls PostgreSQL through pgrx's guards, or owns nothing.
        unsafe {
            let begun = self.ready_apart(callee, &context)?;
            if !context.guarded(|| several.begin()).map_err(Failure::Before)? {
                return Ok(false);
            }
            loop {
                grants::forget();
                called::forget();
                let outside = Outside::now();
                let taken = context.guarded(|| {
                    pg::SetCurrentStatementStartTimestamp();
                    let nested = request_transaction::begin(Scope::Nested { read_only: false }, role);
                    (nested, several.next())
                });
                let (nested, arguments) = match taken {
                    Ok((nested, Some(arguments))) => (nested, arguments),
                    Ok((_, None)) => {
                        outside.roll_back();
                        break;
                    }
                    Err(error) => {
                        outside.roll_back();
                        return Err(Failure::Before(error));
                    }
                };
                let mut check = || several.check();
                let result = self.call_apart(&mut callee.endpoint, what, &mut check, nested, &arguments);
                let result = result.map_err(|error| {
                    pg_sys::debug_query_string = std::ptr::null();
                    outside.roll_back();
                    if Meaning::of(&error.sqlstate).is_of_catalogs() {
                        callee.endpoint.forget_plans();
                    }
                    watch::out_of_memory(&error).unwrap_or(error)
                });
                // What is temporary is dropped after the transaction alone.
                let goes_on = several.ended(result) && !leftovers::may_leave_temporary();
                context.guarded(|| leftovers::give_up_in_transaction()).map_err(Failure::Before)?;
                if !goes_on || !callee.endpoint.is_made() {
                    break;
                }
            }
            let finish = || {
                several.finish();
                end(begun, Leftovers::Possible, what);
            };
            context.guarded(finish).map_err(|error| Failure::Raised { error, is_of_changes: false })?;
            Ok(true)
        }
    }

    /// Begins the transaction, as the role, and has the plans made.
    unsafe fn ready_apart(
        &mut self,
        callee: &mut Callee,
        context: &ErrorContext<'_>,
    ) -> Result<Begun, Failure> {
        let registration = &callee.endpoint.registration;
        let (role, path) = (registration.role, registration.search_path.clone());
        // SAFETY: by contract. What is guarded calls PostgreSQL through pgrx's guards, or owns nothing.
        unsafe {
            context.around(|| self.identity.assume(role, &path)).map_err(Failure::Before)?;
            callee.endpoint.show();
            let scope = Scope::Own { read_only: false };
            let begun =
                context.guarded(|| request_transaction::begin(scope, role)).map_err(Failure::Before)?;
            let Some(types) = self.table.as_ref().map(|table| &table.types) else {
                return Err(Failure::Before(not_ready()));
            };
            let endpoint = &mut callee.endpoint;
            if !is_ready(endpoint) {
                context.guarded(|| make_ready(endpoint, types)).map_err(Failure::Before)?;
            }
            match endpoint.reason() {
                Some(_) => Err(Failure::Unfit),
                None => Ok(begun),
            }
        }
    }

    /// Begins the transaction, as the role, has the plans made, and takes what is to be done.
    unsafe fn begin_apart(
        &mut self,
        callee: &mut Callee,
        work: &mut Work<'_>,
    ) -> Result<(Begun, Stage), Failure> {
        let context = ErrorContext { what: work.what, report: Report::Quiet };
        // SAFETY: by contract. What is guarded calls PostgreSQL through pgrx's guards, or owns nothing.
        unsafe {
            let begun = self.ready_apart(callee, &context)?;
            let taken = context.guarded(|| (work.take)()).map_err(Failure::Before)?;
            Ok((begun, taken.map_or(Stage::Nothing, Stage::Taken)))
        }
    }

    /// Binds the arguments, runs the function to its end and commits.
    unsafe fn call_apart(
        &mut self,
        endpoint: &mut Endpoint,
        what: &dyn Display,
        check: &mut dyn FnMut(),
        begun: Begun,
        arguments: &str,
    ) -> Result<(), PgError> {
        let context = ErrorContext { what, report: Report::Log };
        let Some(types) = self.table.as_ref().map(|table| &table.types) else { return Err(not_ready()) };
        withheld::forget();
        let bound = bind(&endpoint.plans, arguments)?;
        let place = match plan_for(endpoint, bound.given) {
            Some(place) => place,
            // SAFETY: by contract; pgrx's guards raise, so values are dropped.
            None => unsafe { context.guarded(|| add_plan(endpoint, bound.given, types))? },
        };
        let role = endpoint.registration.role;
        let Plans::Made { plans, function, checked } = &endpoint.plans else { return Err(not_ready()) };
        let plan = &plans[place];
        let called = function.as_ref().filter(|_| plan.origin == Origin::Call);
        let called = called.map(|function| Called { version: function.version(), role, epoch: *checked });
        let receiver = &mut self.receiver;
        receiver.discard();
        let run = || {
            // SAFETY: by contract; nothing here owns memory while PostgreSQL is called.
            unsafe {
                let parameters = arguments::convert(&plan.arguments, &bound.values, None, types);
                execute(plan, called, parameters, receiver);
                check();
                end(begun, plan.leftovers(), what);
            }
        };
        // SAFETY: as above.
        unsafe { context.guarded(run) }.map_err(|error| without_secrets(name_argument(error, plan)))
    }
}

/// Ends what has begun, and commits it where it is a transaction. Nobody waits for that, so the commit waits for its standbys, however long.
///
/// # Safety
/// Inside a guard, after the beginning.
unsafe fn end(begun: Begun, left: Leftovers, what: &dyn Display) {
    // SAFETY: by contract.
    if unsafe { request_transaction::finish_patiently(begun, left) } == Confirmation::Missing {
        log_line::warning!(
            "howdah {what}: it is committed on this server, and no standby has confirmed that"
        );
    }
}

/// An error as it is kept of a job, and shown to those who look after jobs.
fn without_secrets(error: PgError) -> PgError {
    PgError {
        message: withheld::of(error.message),
        detail: error.detail.map(withheld::of),
        hint: error.hint.map(withheld::of),
        more: error.more.map(|mut more| {
            more.context = more.context.map(withheld::of);
            more
        }),
        ..error
    }
}

fn bind<'a>(plans: &Plans, arguments: &'a str) -> Result<Bound<'a>, PgError> {
    let Plans::Made { function: Some(function), .. } = plans else { return Err(not_ready()) };
    arguments::bind_object(function, arguments).map_err(|error| PgError {
        sqlstate: *b"22023",
        message: error.detail,
        hint: Some(format!("The function is {}.", function.qualified_name())),
        ..PgError::default()
    })
}

/// Says which argument it was whose value could not be converted.
fn name_argument(mut error: PgError, plan: &Plan) -> PgError {
    let Some((place, _)) = arguments::failed_conversion() else { return error };
    let name = plan.arguments.get(place).and_then(|argument| argument.name.as_deref());
    if let Some(name) = name
        && Meaning::of(&error.sqlstate).is_texts_fault()
    {
        error.message = format!("argument {name}: {}", error.message);
    }
    error
}

fn not_ready() -> PgError {
    PgError { sqlstate: *b"55000", message: "howdah is not ready".into(), ..PgError::default() }
}
