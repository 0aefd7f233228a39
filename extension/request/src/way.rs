//! What answers a request: a route, the query handlers in their order, or nothing.

use std::ops::Range;

use conditions::Preconditions;
use message::Request;
use problem::Problem;
use session::deployments;
use shared::routes::RouteCounters;

use super::caching::LONGEST_KEPT;
use super::current::PathParameter;
use super::endpoint::Endpoint;
use super::forms::FormContext;
use super::guard::Guard;
use super::other_site::refuse_from_elsewhere;
use super::receiver::Answer;
use super::routes::{Routes, Way};
use super::run::Job;
use super::unpacked_body::UnpackedRequest;

impl Job<'_, '_> {
    /// Runs what answers. Of each endpoint that is tried the number of its counters is told; none once nothing has answered.
    ///
    /// # Safety
    /// As for [`Job::run`].
    pub(crate) unsafe fn answer(
        mut self,
        endpoints: &mut [Endpoint],
        handlers: Range<usize>,
        routes: &Routes,
        mut tried: impl FnMut(Option<u32>),
    ) -> Result<u16, Problem> {
        let request = self.request;
        match routes.way(request) {
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
                // SAFETY: by contract.
                unsafe { self.answer_by_route(endpoints, place, &path, routes) }
            }
            // SAFETY: by contract.
            Way::Handlers(allow) => unsafe {
                // Elsewhere the gateway has found none.
                if allow.is_none()
                    && (self.called || !self.path_guards.is_empty())
                    && let Some(status) = self.answer_by_file(routes)?
                {
                    return Ok(status);
                }
                self.answer_by_handlers(&mut endpoints[handlers], allow, tried)
            },
        }
    }

    /// Answers by the route, or the page, at this place.
    unsafe fn answer_by_route(
        mut self,
        endpoints: &mut [Endpoint],
        place: usize,
        path: &[PathParameter<'_>],
        routes: &Routes,
    ) -> Result<u16, Problem> {
        let (request, registration) = (self.request, &endpoints[place].registration);
        let (takes_other_sites, by_accept) = (registration.takes_other_sites, registration.by_accept);
        let is_plain = matches!(request.method(), "GET" | "HEAD") && request.body().is_empty();
        // The page of a form that was refused is this client's alone.
        if registration.has_tags() && is_plain && self.form.sent.is_none() {
            self.prepare(&endpoints[place]);
        }
        let (endpoint, guard) = Guard::of(request, endpoints, place, routes);
        let form = FormContext { routes: Some(routes), page: place, ..self.form };
        let place = UnpackedRequest::default();
        let is_packed = endpoint.registration.takes_compressed && packing::is_packed(request);
        let unpacked = is_packed.then_some(&place);
        let mut job = Job { guard, form, unpacked, ..self };
        let answered = if takes_other_sites { Ok(()) } else { refuse_from_elsewhere(request) }
            // SAFETY: by contract.
            .and_then(|()| unsafe { job.run(endpoint, path) })
            .map_err(|problem| name_others(problem, request, routes.allow(request)))
            .and_then(|answer| job.finish(answer, true));
        if by_accept { job.vary_by_accept(answered) } else { answered }
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
    /// Has caches know that `Accept` decides what answers at this path, whatever the answer is.
    fn vary_by_accept(&mut self, finished: Result<u16, Problem>) -> Result<u16, Problem> {
        match finished {
            Ok(status) => {
                message::vary_by(&mut self.receiver.buffer, "accept");
                Ok(status)
            }
            Err(problem) => Err(Problem { by_accept: true, ..problem }),
        }
    }

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

/// 404, or 405 if other methods have a route here.
pub fn nothing_answers(request: &Request<'_>, allow: Option<&str>) -> Problem {
    match allow {
        None => Problem::new(404, format!("nothing answers {} {}", request.method(), request.path())),
        Some(allow) => Problem {
            allow: Some(allow.into()),
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
        problem.allow = Some(others.collect::<Vec<_>>().join(", ").into());
    }
    problem
}
