//! What answers a request: a route, the query handlers in their order, or nothing.

use std::ops::Range;

use conditions::Preconditions;
use message::Request;
use problem::Problem;
use router::{Match, Router};
use session::deployments;
use shared::routes::RouteCounters;

use super::caching::LONGEST_KEPT;
use super::endpoint::Endpoint;
use super::guard::Guard;
use super::other_site::refuse_from_elsewhere;
use super::receiver::Answer;
use super::run::Job;

/// What answers a request, as far as method and path tell.
pub enum Way<'t, 'p> {
    /// The endpoint at this place, with the path's parameters.
    Route(usize, router::Params<'t, 'p>),
    /// The query handlers; if none answers, 405 with this Allow, or 404.
    Handlers(Option<&'t str>),
    /// OPTIONS, answered with this Allow.
    Options(&'t str),
    /// The path cannot be decoded.
    BadPath(String),
}

impl Job<'_, '_> {
    /// Runs what answers. Of each endpoint that is tried the number of its counters is told; none once nothing has answered.
    ///
    /// # Safety
    /// As for [`Job::run`].
    pub(crate) unsafe fn answer(
        mut self,
        endpoints: &mut [Endpoint],
        handlers: Range<usize>,
        router: &Router,
        mut tried: impl FnMut(Option<u32>),
    ) -> Result<u16, Problem> {
        let request = self.request;
        match way(router, request) {
            Way::BadPath(reason) => Err(Problem::new(400, reason)),
            Way::Options(allow) => {
                // SAFETY: by contract.
                match unsafe { self.pass_guards_of_nothing()? } {
                    Some(answer) => self.finish(answer, false),
                    None => Ok(self.write_options(allow)),
                }
            }
            Way::Route(place, parameters) => {
                let path: Vec<_> = parameters.iter().collect();
                tried(endpoints[place].number());
                if !endpoints[place].registration.takes_other_sites {
                    refuse_from_elsewhere(request)?;
                }
                let is_plain = matches!(request.method(), "GET" | "HEAD") && request.body().is_empty();
                if endpoints[place].registration.has_tags() && is_plain {
                    self.prepare(&endpoints[place]);
                }
                let (endpoint, guard) = Guard::of(request, endpoints, place, router);
                let mut job = Job { guard, ..self };
                // SAFETY: by contract.
                let answer = unsafe { job.run(endpoint, &path) };
                let answer = answer
                    .map_err(|problem| name_others(problem, request, router.allow(request.raw_path())))?;
                job.finish(answer, true)
            }
            // SAFETY: by contract.
            Way::Handlers(allow) => unsafe {
                self.answer_by_handlers(&mut endpoints[handlers], allow, tried)
            },
        }
    }

    /// Asks the query handlers in their order; 404, or 405 with this Allow, if none answers.
    unsafe fn answer_by_handlers(
        mut self,
        handlers: &mut [Endpoint],
        allow: Option<&str>,
        mut tried: impl FnMut(Option<u32>),
    ) -> Result<u16, Problem> {
        let request = self.request;
        let has_no_handlers = handlers.is_empty();
        if !has_no_handlers {
            refuse_from_elsewhere(request)?;
        }
        for endpoint in handlers {
            tried(endpoint.number());
            // SAFETY: by contract.
            let answer = unsafe { self.run(endpoint, &[]) };
            let answer = answer.map_err(|problem| name_others(problem, request, Some(ANY_METHOD)))?;
            if answer != Answer::Nothing {
                return self.finish(answer, false);
            }
        }
        tried(None);
        if has_no_handlers
            // SAFETY: by contract.
            && let Some(answer) = unsafe { self.pass_guards_of_nothing()? }
        {
            return self.finish(answer, false);
        }
        let mut problem = nothing_answers(request, allow);
        // There may be a route by now. What a handler has done is committed.
        if has_no_handlers && self.runs_in_executor() && deployments::may_be_mixed() {
            problem.sqlstate = Some(deployments::MIXED);
        }
        Err(problem)
    }
}

impl<'r> Job<'_, 'r> {
    /// Says what a request for what is there asks of an endpoint that has entity tags.
    fn prepare(&mut self, endpoint: &Endpoint) {
        let headers = self.request.headers().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        let preconditions: Preconditions<'r> = Preconditions::of(headers);
        self.keeps = endpoint.registration.caching.is_some();
        self.records |= (self.keeps || preconditions.revalidates())
            && self.runs_in_executor()
            && endpoint.counters().is_none_or(RouteCounters::is_to_find_out);
        // A digest of what nobody keeps would be in vain.
        let is_tagged = endpoint.registration.validates || self.records || !preconditions.is_empty();
        // Its gateway asks them of what it keeps, where the request is there still.
        let is_asked_later = self.keeps && self.runs_in_executor() && self.request.size() <= LONGEST_KEPT;
        let asks = !is_asked_later || preconditions.require();
        self.preconditions = is_tagged.then(|| if asks { preconditions } else { Preconditions::default() });
    }
}

/// Finds what answers. The gateway and the executor both do: an executor's table may be newer.
pub fn way<'t, 'p>(router: &'t router::Router, request: &Request<'p>) -> Way<'t, 'p> {
    match router.lookup(request.method(), request.raw_path()) {
        Err(error) => Way::BadPath(error.to_string()),
        Ok(Match::Found(found)) => Way::Route(found.route as usize, found.params),
        Ok(Match::Options { allow }) => Way::Options(allow),
        Ok(Match::MethodNotAllowed { allow }) => Way::Handlers(Some(allow)),
        Ok(Match::NotFound) => Way::Handlers(None),
    }
}

/// 404, or 405 if other methods have a route here.
pub fn nothing_answers(request: &Request<'_>, allow: Option<&str>) -> Problem {
    match allow {
        None => Problem::new(404, format!("nothing answers {} {}", request.method(), request.path())),
        Some(allow) => Problem {
            allow: Some(allow.to_owned()),
            ..Problem::new(405, format!("{} is not allowed here, only {allow}", request.method()))
        },
    }
}

/// What a handler is asked for, as far as there are names for it: every method.
const ANY_METHOD: &str = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT";

/// A 405 names the methods that the path has besides the request's. GET and HEAD are one in this.
fn name_others(mut problem: Problem, request: &Request<'_>, allow: Option<&str>) -> Problem {
    if problem.status == 405 {
        let reads = |method: &str| matches!(method, "GET" | "HEAD");
        let refused = |method: &str| method == request.method() || reads(method) && reads(request.method());
        let others = allow.unwrap_or_default().split(", ").filter(|method| !refused(method));
        problem.allow = Some(others.collect::<Vec<_>>().join(", "));
    }
    problem
}
