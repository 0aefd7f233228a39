//! One endpoint and one request: prepare the plan, bind the arguments, run, commit.

use std::net::IpAddr;
use std::time::Duration;

use conditions::Preconditions;
use message::{Request, ResponseBuilder};
use pg::guard::{self, PgError, Report};
use pg::log_line;
use pgrx::pg_sys::{self, Oid};
use problem::{Access, Meaning, Problem, Raised};
use session::identity::{self, Identity};
use session::request_transaction::{self, Begun, Outside, Scope};
use session::standbys::Confirmation;
use session::{authority, deployments, faults, invalidations, leftovers, log_rate, watch};
use shared::routes::RouteCounters;
use shared::settings;

use super::bound_value::Bound;
use super::caching::Outward;
use super::called::{self, Called};
use super::current::{self, PathParameter};
use super::endpoint::{Endpoint, Plans};
use super::error_context::ErrorContext;
use super::execute::{CATALOG_TRIES, execute};
use super::forms::FormContext;
use super::function::Function;
use super::given::{bind, name_parameter, parameters};
use super::guard::Guard;
use super::inputs::Argument;
use super::mishap::{Mishap, elsewhere, mixed, unmet};
use super::open::OpenPlans;
use super::params::RequestSource;
use super::plan::{Origin, Plan};
use super::ready::{add_plan, is_ready, make_ready, plan_for};
use super::receiver::{Answer, Receiver};
use super::recording::{self, Obstacle};
use super::request_log::{Shown, Whose};
use super::types::Types;
use super::unpacked_body::UnpackedRequest;
use super::{flash, grants, later, reads, refused};

/// A request on its way through the endpoints.
pub(crate) struct Job<'j, 'r> {
    /// The request.
    pub request: &'j Request<'r>,
    /// OIDs of the extension's types.
    pub types: &'j Types,
    /// The key that cookies are signed by.
    pub secret: &'j [u8],
    /// What is in force in this process.
    pub identity: &'j mut Identity,
    /// Whether it may write.
    pub access: Access,
    /// In what it runs.
    pub scope: Scope,
    /// Whether pg_stat_activity shows the endpoint already.
    pub shown: bool,
    /// The client's address.
    pub client: Option<IpAddr>,
    /// Plans that are open in a transaction that requests share.
    pub open: &'j mut OpenPlans,
    /// What takes the rows.
    pub receiver: &'j mut Receiver,
    /// What the request says about the entity tag that its answer will have; none if it will have none.
    pub preconditions: Option<Preconditions<'r>>,
    /// What a write has to find; none if it names nothing.
    pub guard: Option<Guard<'j>>,
    /// Whether it is noted what it reads.
    pub records: bool,
    /// Whether its answer says what others may do with it.
    pub keeps: bool,
    /// Whether it is a request of `http.call`, whose errors are its caller's.
    pub called: bool,
    /// Where it is put once its body is unpacked; none if that is not to be done.
    pub unpacked: Option<&'j UnpackedRequest>,
    /// The functions that let it pass first, from the outer to the inner.
    pub path_guards: Vec<&'j mut Endpoint>,
    /// The forms that it may show.
    pub form: FormContext<'j>,
}

/// What a request gives an endpoint.
struct Given<'g> {
    request: &'g Request<'g>,
    bound: &'g Bound<'g>,
    path: &'g [PathParameter<'g>],
    /// All arguments of its function; none if it is a statement.
    arguments: Option<&'g [Argument]>,
    /// What answers say to who keeps them outside; none if they say nothing.
    outward: Option<&'g Outward>,
    /// Whether it is a page.
    is_page: bool,
    /// The owner of its function; none of a statement.
    owner: Oid,
}

/// Before a second try after a deadlock: whoever waited for this request is only just waking up, and without a
/// pause this one takes the same lock again before it and they meet once more.
const DEADLOCK_PAUSE: Duration = Duration::from_millis(10);

/// How often what was checked is done again because somebody else has changed it in between.
const GUARDED_TRIES: u32 = 8;

impl Job<'_, '_> {
    /// Runs an endpoint. What fails because of other transactions is tried once more.
    ///
    /// # Safety
    /// As for [`super::Runner::run`].
    pub(crate) unsafe fn run(
        &mut self,
        endpoint: &mut Endpoint,
        path: &[PathParameter<'_>],
    ) -> Result<Answer, Problem> {
        // SAFETY: by contract.
        unsafe {
            let role = endpoint.registration.role;
            if self.called {
                return self.run_for_caller(endpoint, path);
            }
            if self.scope != Scope::Shared {
                let context = ErrorContext { what: &Shown(self.request), report: Report::Log };
                let path = &endpoint.registration.search_path;
                if let Err(error) = context.around(|| self.identity.assume(role, path)) {
                    return Err(self.problem(Mishap::Error(error)));
                }
            }
            if !self.shown {
                endpoint.show();
            }
            let result = self.run_until_settled(endpoint, path);
            endpoint.note_use();
            note_outdated_body(endpoint, &result);
            let result = result.map_err(|mishap| {
                let mishap = self.name_grant(mishap, role);
                self.problem(mishap)
            });
            grants::forget();
            result
        }
    }

    /// Runs an endpoint in the transaction of whoever calls `http.call`, who must be allowed to become the endpoint's role.
    unsafe fn run_for_caller(
        &mut self,
        endpoint: &mut Endpoint,
        path: &[PathParameter<'_>],
    ) -> Result<Answer, Problem> {
        let role = endpoint.registration.role;
        let search_path = endpoint.registration.search_path.clone();
        authority::check_caller(role, &endpoint.title.to_string_lossy());
        current::note_endpoint(&endpoint.title.to_string_lossy());
        if let Some(endpoint) = self.guard.as_ref().and_then(|guard| guard.endpoint.as_deref()) {
            authority::check_caller(endpoint.registration.role, &endpoint.title.to_string_lossy());
        }
        // SAFETY: by contract.
        let result =
            identity::assumed(role, &search_path, || unsafe { self.run_until_settled(endpoint, path) });
        result.map_err(|mishap| self.problem(mishap))
    }

    /// Whether the response to an error says what PostgreSQL says of it. Who calls `http.call` may become the role.
    fn shows_errors(&self) -> bool {
        self.called || settings::SHOW_ERRORS.get()
    }

    /// Whether it runs in a transaction of its own, which may be rolled back and run again.
    pub(crate) fn runs_in_executor(&self) -> bool {
        matches!(self.scope, Scope::Own { .. }) && !self.shown
    }

    /// Runs an endpoint, and once more what another transaction or an old plan has made fail; more often while others change
    /// functions and tables under it, as each further try needs a commit of theirs to fail.
    unsafe fn run_until_settled(
        &mut self,
        endpoint: &mut Endpoint,
        path: &[PathParameter<'_>],
    ) -> Result<Answer, Mishap> {
        let mut tries = 0;
        loop {
            let (was_made, epoch) = (endpoint.is_made(), invalidations::epoch());
            // SAFETY: the contract of `run`.
            let result = unsafe { self.run_once(endpoint, path) };
            let Err(Mishap::Error(error)) = &result else { return result };
            if self.scope == Scope::Shared {
                return result;
            }
            tries += 1;
            if let Some(guard) = &mut self.guard {
                guard.again = true;
            }
            let may_succeed = match error.sqlstate() {
                "40001" if self.guard.is_some() => tries <= GUARDED_TRIES,
                "40001" | "40P01" => tries == 1,
                // A name, a type or a column that is gone, a row that has other columns by now, an entry of a catalog that
                // cannot be found, "cached plan must not change result type". Handlers may raise the same: with a new plan they
                // do it again.
                _ if Meaning::of(&error.sqlstate).is_of_catalogs() => {
                    tries == 1 && was_made || tries <= CATALOG_TRIES && invalidations::epoch() != epoch
                }
                _ => false,
            };
            if !may_succeed {
                return result;
            }
            if error.sqlstate() == "40P01" {
                std::thread::sleep(DEADLOCK_PAUSE);
            }
        }
    }

    fn problem(&self, mishap: Mishap) -> Problem {
        match mishap {
            Mishap::Problem(problem) => problem,
            Mishap::Error(error) => self.problem_of(&error),
        }
    }

    pub(super) fn problem_of(&self, error: &PgError) -> Problem {
        let raised = Raised {
            sqlstate: error.sqlstate,
            message: &error.message,
            detail: error.detail.as_deref(),
            hint: error.hint.as_deref(),
        };
        Problem::of_error(raised, self.access, is_standby(), self.shows_errors())
    }

    /// The status that a failure is answered with.
    pub(crate) fn status_of(&self, mishap: &Mishap) -> u16 {
        match mishap {
            Mishap::Problem(problem) => problem.status,
            Mishap::Error(error) => self.problem_of(error).status,
        }
    }

    /// Says which grant a refusal is about, in the log and as the error's hint.
    fn name_grant(&self, mishap: Mishap, role: Oid) -> Mishap {
        match mishap {
            Mishap::Error(mut error) if error.sqlstate() == "42501" && self.scope != Scope::Shared => {
                let written = log_rate::was_written();
                if !written && !settings::SHOW_ERRORS.get() {
                    // Nobody would read it.
                    return Mishap::Error(error);
                }
                // SAFETY: on the main thread; the request's transaction has been given up.
                if let Some(grant) = unsafe { grants::missing(&error, role) } {
                    if written {
                        let whose = Whose(self.request);
                        log_rate::beside(|| log_line::log!("http request {whose}: missing: {grant}"));
                    }
                    error.hint = Some(grant);
                }
                Mishap::Error(error)
            }
            other => other,
        }
    }

    /// Says that it was cancelled because of its memory.
    fn name_memory(&self, mishap: &mut Mishap) {
        if let Mishap::Error(error) = mishap
            && let Some(reason) = watch::out_of_memory(error)
        {
            log_line::log!("http request {}: {}", self.request.id(), reason.message);
            *error = reason;
        }
    }

    /// Runs an endpoint once, in what the job's scope says.
    ///
    /// # Safety
    /// As for [`Job::run`].
    pub(crate) unsafe fn run_once(
        &mut self,
        endpoint: &mut Endpoint,
        path: &[PathParameter<'_>],
    ) -> Result<Answer, Mishap> {
        // What an attempt before has asked for went with it, and so did its errors, and those of another request.
        later::take();
        grants::forget();
        called::forget();
        guard::forget_raised();
        refused::take();
        flash::forget();
        if self.records {
            reads::begin(endpoint.registration.caching.as_ref());
            if !self.called && !self.identity.is_certain() {
                recording::blame(Obstacle::Settings);
            }
        }
        let mut begun = None;
        let report = if self.called { Report::Quiet } else { Report::Log };
        let context = ErrorContext { what: &Shown(self.request), report };
        // SAFETY: by contract; what has begun is ended.
        unsafe {
            let outside = matches!(self.scope, Scope::Nested { .. }).then(|| Outside::now());
            let mut result = self.run_inside(endpoint, path, &mut begun, &context);
            if let Err(mishap) = &mut result {
                current::clear();
                reads::end();
                // The text is the plan's, which may go.
                pg_sys::debug_query_string = std::ptr::null();
                match outside {
                    Some(outside) => outside.roll_back(),
                    None => leftovers::abort(),
                }
                self.open.forget();
                // Nothing of it is left, and nobody has had an answer.
                if !self.called && deployments::may_be_mixed() {
                    *mishap = if self.shown { elsewhere() } else { mixed() };
                }
                if let Mishap::Error(error) = mishap
                    && Meaning::of(&error.sqlstate).is_of_catalogs()
                {
                    // The second try makes new ones.
                    endpoint.forget_plans();
                    self.path_guards.iter_mut().for_each(|guard| guard.forget_plans());
                }
                self.name_memory(mishap);
                self.tell_wrong(endpoint, path, mishap);
            }
            result
        }
    }

    unsafe fn run_inside(
        &mut self,
        endpoint: &mut Endpoint,
        path: &[PathParameter<'_>],
        begun: &mut Option<Begun>,
        context: &ErrorContext<'_>,
    ) -> Result<Answer, Mishap> {
        let (scope, role) = (self.scope, endpoint.registration.role);
        // SAFETY: by contract. Closures given to `guarded` own nothing that must be dropped, or call
        // PostgreSQL through pgrx's guards alone.
        unsafe {
            if scope == Scope::Shared {
                // No more than becoming the role, which raises nothing.
                *begun = Some(request_transaction::begin(scope, role));
            } else if let Some(guard) = &self.guard {
                let thing = guard.thing;
                context.guarded(|| *begun = Some(request_transaction::begin_alone(scope, role, thing)))?;
            } else {
                context.guarded(|| *begun = Some(request_transaction::begin(scope, role)))?;
            }
            // The answer of a guard in its place is the route's, too.
            self.receiver.is_uncompressed |= endpoint.registration.uncompressed;
            if let Some(answer) = self.pass_guards(endpoint, path, begun, context)? {
                return Ok(answer);
            }
            let is_met = self.look(endpoint, context)?;
            if let Some(place) = self.unpacked {
                place.unpack(self.request).map_err(Mishap::Problem)?;
            }
            self.run_endpoint(endpoint, path, is_met, begun, context)
        }
    }

    /// Runs an endpoint inside what has begun, and ends that; nothing has begun where more is to follow in it. `is_met` says whether there is
    /// what the request names.
    ///
    /// # Safety
    /// As for [`Job::run`], inside a transaction, as the endpoint's role.
    pub(super) unsafe fn run_endpoint(
        &mut self,
        endpoint: &mut Endpoint,
        path: &[PathParameter<'_>],
        is_met: bool,
        begun: &Option<Begun>,
        context: &ErrorContext<'_>,
    ) -> Result<Answer, Mishap> {
        let role = endpoint.registration.role;
        // SAFETY: by contract, and as above.
        unsafe {
            if !is_ready(endpoint) {
                self.make_ready(endpoint, context)?;
            }
            if let Some(reason) = endpoint.reason() {
                return Err(self.broken(endpoint, reason));
            }
            let request = self.request();
            let mut bound = bind(endpoint, &request, path)?;
            if !bound.wrong.is_empty() {
                let wrong = std::mem::take(&mut bound.wrong).into_iter().map(|(_, error)| error);
                return Err(Mishap::Problem(Problem::of_parameters(wrong.collect())));
            }
            // Route, rights and arguments come first.
            if !is_met {
                return Err(Mishap::Problem(unmet()));
            }
            let place = match plan_for(endpoint, bound.given) {
                Some(place) => place,
                None => context.guarded(|| add_plan(endpoint, bound.given, self.types))?,
            };
            let Plans::Made { plans, function, checked } = &endpoint.plans else {
                return Err(Mishap::Problem(Problem::new(500, "the endpoint has no plan")));
            };
            let plan = &plans[place];
            // What stands for a call is the function's own text.
            let arguments = function.as_ref().map(Function::arguments);
            let called = function.as_ref().filter(|_| plan.origin == Origin::Call);
            let called = called.map(|function| Called { version: function.version(), role, epoch: *checked });
            if self.shown && !plan.reads_only() {
                // Made just now, and not what the gateway has judged.
                return Err(elsewhere());
            }
            self.receiver.is_uncompressed |= endpoint.registration.uncompressed;
            self.receiver.knows_tags = endpoint.registration.has_tags();
            self.receiver.is_kept = self.keeps;
            let counters = if self.records { endpoint.counters() } else { None };
            let caching = endpoint.registration.caching.as_ref().filter(|_| self.keeps);
            let is_guarded = !self.path_guards.is_empty();
            let outward = caching.map(|caching| if is_guarded { &caching.guarded } else { &caching.outward });
            let is_page = endpoint.registration.target.is_page();
            let owner = function.as_ref().map_or(Oid::INVALID, Function::owner);
            let given = Given { request: &request, bound: &bound, path, arguments, outward, is_page, owner };
            self.run_plan(plan, called, &given, counters, begun, context)
        }
    }

    /// Runs a plan with these values, and ends what has begun.
    unsafe fn run_plan(
        &mut self,
        plan: &Plan,
        called: Option<Called>,
        given: &Given<'_>,
        counters: Option<&RouteCounters>,
        begun: &Option<Begun>,
        context: &ErrorContext<'_>,
    ) -> Result<Answer, Mishap> {
        self.receiver.expect(plan, self.types, settings::MAX_RESPONSE.get() as usize);
        let Given { request, bound, path, arguments, outward, is_page, owner } = *given;
        self.receiver.validate(self.preconditions.as_ref(), outward, is_page);
        let mut source = RequestSource::new(request, self.types);
        let mut confirmation = Confirmation::Given;
        let ran = current::with(&self.seen(request, path, owner), || {
            let confirmation = &mut confirmation;
            // SAFETY: by contract; nothing here owns memory while PostgreSQL is called.
            let run = || unsafe {
                let parameters = parameters(plan, bound, request, self.types, &mut source);
                reads::note_ends(plan, bound, arguments, path);
                match self.scope {
                    Scope::Shared => self.open.run(plan, called, parameters, self.receiver),
                    Scope::Own { .. } | Scope::Nested { .. } => {
                        execute(plan, called, parameters, self.receiver)
                    }
                }
                if plan.origin != Origin::Statement {
                    self.receiver.complete();
                }
                refuse_invalid(&self.receiver.answer);
                if refused::is_any() {
                    // Nothing of it is to stay.
                    return;
                }
                self.guard.iter().for_each(Guard::refuse_outdated);
                reads::tell(counters);
                faults::panic_if_asked(|name| self.request.header(name), "in the request");
                faults::interrupt_if_asked("before the end");
                if let Some(begun) = *begun {
                    refused::end();
                    *confirmation = request_transaction::finish(begun, plan.leftovers());
                }
            };
            // SAFETY: as above.
            unsafe { context.guarded(run) }
        });
        match ran {
            // Asked for its id, a transaction gets one: those that share it would all be told the same.
            Ok(()) if self.shown && (leftovers::has_id() || refused::is_any()) => Err(elsewhere()),
            Ok(()) if refused::is_any() => Err(Mishap::Problem(refused::problem())),
            Ok(()) if confirmation == Confirmation::Missing => {
                // What the function has left to be answered later is not answered either.
                later::take();
                self.receiver.take_answer();
                Ok(Answer::Unconfirmed)
            }
            Ok(()) => Ok(self.receiver.take_answer()),
            Err(error) => Err(name_parameter(error, plan, self.shows_errors())),
        }
    }

    /// Makes the endpoint's plans. If an executor fails, it logs that and marks the route as broken.
    unsafe fn make_ready(&self, endpoint: &mut Endpoint, context: &ErrorContext<'_>) -> Result<(), Mishap> {
        let known = endpoint.reason().map(|reason| reason.message.clone());
        // SAFETY: by contract; the closure calls PostgreSQL through pgrx's guards alone.
        unsafe { context.guarded(|| make_ready(endpoint, self.types))? };
        let Some(reason) = endpoint.reason() else { return Ok(()) };
        let is_news = || match endpoint.counters() {
            Some(counters) => counters.break_down(&reason.message),
            None => known.as_ref() != Some(&reason.message),
        };
        if !self.shown && !self.called && is_news() {
            let (whose, title) = (Whose(self.request), endpoint.title.to_string_lossy());
            log_line::log!("http request {whose}: howdah cannot serve {title}: {}", reason.message);
        }
        Err(self.broken(endpoint, reason))
    }

    fn broken(&self, endpoint: &Endpoint, reason: &PgError) -> Mishap {
        if self.shown {
            return elsewhere();
        }
        let title = endpoint.title.to_string_lossy();
        let detail = if self.shows_errors() {
            format!("{title} cannot be served: {}", reason.message)
        } else {
            format!("{title} cannot be served; the server's log says why")
        };
        Mishap::Problem(Problem { sqlstate: Some(reason.sqlstate), ..Problem::new(500, detail) })
    }

    /// Turns what an endpoint has returned into the response's status.
    pub(crate) fn finish(&mut self, answer: Answer, route: bool) -> Result<u16, Problem> {
        match answer {
            Answer::Response(status) => Ok(status),
            // Raised as an error before.
            Answer::Invalid(reason) => Err(Problem::new(500, reason)),
            Answer::Unmet => Err(unmet()),
            Answer::Unconfirmed => Err(Problem::unconfirmed()),
            // A POST asks for no row that would have to be there.
            Answer::Nothing | Answer::Null if route && self.request.method() != "POST" => {
                Err(Problem::new(404, format!("there is nothing at {}", self.request.path())))
            }
            Answer::Nothing | Answer::Null => Ok(self.write_empty(204, None)),
        }
    }

    /// The answer to OPTIONS.
    pub(crate) fn write_options(&mut self, allow: &str) -> u16 {
        self.write_empty(204, Some(allow))
    }

    fn write_empty(&mut self, status: u16, allow: Option<&str>) -> u16 {
        if let Ok(mut builder) = ResponseBuilder::in_buffer(std::mem::take(&mut self.receiver.buffer), status)
        {
            if let Some(allow) = allow {
                // A list of methods that the router has checked.
                let _ = builder.header("allow", allow);
            }
            self.receiver.buffer = builder.finish(&[]);
        }
        status
    }
}

/// A function's body that was parsed when it was made can have become wrong since: a star that was expanded lacks a column
/// that its result has now. That shows when it is called, and stays until somebody makes the function again.
fn note_outdated_body(endpoint: &Endpoint, result: &Result<Answer, Mishap>) {
    const INVALID_FUNCTION: &str = "42P13";
    if let Err(Mishap::Error(error)) = result
        && error.sqlstate() == INVALID_FUNCTION
        && let Some(counters) = endpoint.counters()
    {
        counters.break_down(&error.message);
    }
}

/// A row that is no valid response is an error before anything is committed.
fn refuse_invalid(answer: &Answer) {
    if let Answer::Invalid(reason) = answer {
        pg::guard::raise(PgError { sqlstate: *b"39000", message: reason.clone(), ..PgError::default() });
    }
}

/// Whether nobody can write to this server.
fn is_standby() -> bool {
    // SAFETY: reads a flag in shared memory, or a variable of this process.
    unsafe { pg_sys::RecoveryInProgress() }
}
