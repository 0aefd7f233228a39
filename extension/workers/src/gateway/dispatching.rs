//! Where a request runs, or what answers it without running: by its listener, the routes, what is known of it, files.

use std::ops::Range;
use std::time::{Duration, Instant};

use ::gateway::Arrived;
use dispatch::Waiter;
use exchange::NO_GATE;
use message::Request;
use problem::Problem;
use request::Way;
use request::table::Table;

use super::refusals::{self, Refused};
use super::remembered::Known;
use super::{Gateway, budget, redirecting};

/// The choice of the routes for a request.
enum RouteChoice {
    /// Executors ask the guards of its path, and find out what answers.
    Executors,
    /// It is answered by this list of methods.
    Options(Vec<u8>),
    /// It is answered by an error.
    Problem(Problem),
    /// A route, or a page.
    Route(Range<usize>),
    /// The query handlers, of which there may be none; files stand before them.
    Handlers(Range<usize>),
}

impl RouteChoice {
    fn of(request: &Request<'_>, table: &Table, is_guarded: bool) -> RouteChoice {
        match table.routes.way(request) {
            // Strangers do not learn what is there.
            Way::Options(_) | Way::Handlers(_) if is_guarded => RouteChoice::Executors,
            Way::BadPath(reason) => RouteChoice::Problem(Problem::new(400, reason)),
            Way::Options(allow) => RouteChoice::Options(refusals::options(allow)),
            Way::Handlers(allow @ Some(_)) if table.handlers.is_empty() => {
                RouteChoice::Problem(request::nothing_answers(request, allow))
            }
            // Another method has a route here: no file stands before that.
            Way::Handlers(Some(_)) => RouteChoice::Route(table.handlers.clone()),
            Way::Handlers(None) => RouteChoice::Handlers(table.handlers.clone()),
            Way::Route(place, _) => RouteChoice::Route(place..place + 1),
        }
    }
}

impl Gateway<'_> {
    /// Decides where those requests run that have come.
    pub(super) fn take_arrived(&mut self) {
        let arrived: Vec<Arrived> = self.server.arrived().collect();
        if arrived.is_empty() {
            return;
        }
        let now = Instant::now();
        for arrived in arrived {
            self.dispatch(arrived, now);
        }
    }

    /// Decides where a request runs, or answers what needs no running.
    pub(super) fn dispatch(&mut self, arrived: Arrived, now: Instant) {
        let Ok(request) = Request::parse(&arrived.request) else {
            return self.flights.refuse_unreadable(arrived.ticket, &mut self.server);
        };
        let refused = Refused { ticket: arrived.ticket, id: request.id(), gate: NO_GATE };
        if self.listeners.redirects(arrived.listener) {
            return self.redirect(&request, refused);
        }
        let Some(table) = self.runner.table() else {
            let problem = Problem::new(503, "the routes have not been read yet");
            return self.flights.refusals.answer(&mut self.server, refused, &problem);
        };
        let is_guarded = table.is_guarded(request.path());
        let endpoints = match RouteChoice::of(&request, table, is_guarded) {
            RouteChoice::Executors => return self.flights.submit(arrived, None, &mut self.server),
            RouteChoice::Options(response) => {
                log_unrun(&request, 204);
                self.server.reply(arrived.ticket, response);
                return;
            }
            RouteChoice::Problem(problem) => return self.answer_unrun(&request, refused, &problem),
            RouteChoice::Handlers(_) if self.answer_by_file(&request, refused) => return,
            RouteChoice::Handlers(handlers) if handlers.is_empty() => {
                return self.answer_unrun(&request, refused, &request::nothing_answers(&request, None));
            }
            RouteChoice::Handlers(endpoints) | RouteChoice::Route(endpoints) => endpoints,
        };
        let gate = self.runner.number(endpoints.start);
        let size = arrived.request.len();
        let known = self.look(&request, (arrived.ticket, size), endpoints.start, gate, now);
        match known {
            Known::Answer(given) => {
                let refused = Refused { gate: gate.unwrap_or(NO_GATE), ..refused };
                return self.answer(&request, refused, given, now);
            }
            Known::Follow => return self.flights.remembered.follow(arrived, now),
            Known::Ask | Known::Run => {}
        }
        let runs_here = !matches!(known, Known::Ask) && !is_guarded && !self.kept_memory.is_too_much();
        if !(runs_here && self.inline.may_run(&mut self.runner, endpoints.clone(), &request, size)) {
            self.flights.submit(arrived, gate, &mut self.server);
        } else if self.inline.has_room(arrived.request.len(), budget::memory_to_wait()) {
            // SAFETY: parsed above.
            unsafe { self.inline.push(arrived, endpoints.start, now) };
        } else {
            let gate = gate.unwrap_or(NO_GATE);
            let request = Waiter { arrived, gate, since: now, waited: None };
            self.flights.refuse_to_wait(&request, &mut self.server);
        }
    }

    /// Answers a request with an error, without running anything.
    fn answer_unrun(&mut self, request: &Request<'_>, refused: Refused<'_>, problem: &Problem) {
        log_unrun(request, problem.status);
        self.flights.refusals.answer(&mut self.server, refused, problem);
    }

    /// Answers what has come by a listener that sends clients to https.
    fn redirect(&mut self, request: &Request<'_>, refused: Refused<'_>) {
        match redirecting::answer(request, &self.certificates) {
            Ok((status, response)) => {
                log_unrun(request, status);
                self.server.reply(refused.ticket, response);
            }
            Err(problem) => self.answer_unrun(request, refused, &problem),
        }
    }

    /// Decides anew where those requests run that wait to run here.
    pub(super) fn dispatch_again(&mut self) {
        for (arrived, since) in self.inline.take_waiting() {
            self.dispatch(arrived, since);
        }
    }
}

/// Logs a request that is answered without running, where all are logged.
pub(super) fn log_unrun(request: &Request<'_>, status: u16) {
    request::log_request(request, status, Duration::ZERO, Duration::ZERO);
}
