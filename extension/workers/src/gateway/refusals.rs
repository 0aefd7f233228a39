//! What a gateway answers by itself, where nothing has run or what ran has no answer: counted at its route and by status,
//! and told to the log.

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use ::gateway::{Counters, Server, Ticket};
use exchange::NO_GATE;
use message::ResponseBuilder;
use pg::log_line;
use problem::Problem;
use shared::routes::{RouteCounters, RouteKind, Unrun};
use shared::shared;
use shared::workers::{STATUSES, WorkerEntry};

/// Counts of this gateway.
pub(crate) struct Refusals {
    entry: &'static WorkerEntry,
    /// By the place of their status among [`STATUSES`].
    counts: [u64; STATUSES.len()],
    /// Responses with a status of 500 or more, of requests that ran here.
    failed: u64,
    /// When the log was told last.
    told: Option<Instant>,
    /// How many it was not told of since then.
    untold: u64,
    /// How many of the event loop's own errors it was told of, or knows to be untold.
    noticed: u64,
}

/// Time between two lines of the log.
const PAUSE: Duration = Duration::from_secs(1);

/// The counters of a request's route; none if it has no route, or its route none.
pub(super) fn counters(gate: u32) -> Option<&'static RouteCounters> {
    (gate != NO_GATE).then(|| shared().routes.get(gate as usize))
}

impl Refusals {
    /// None yet.
    pub(super) fn new(entry: &'static WorkerEntry) -> Refusals {
        let counts = [0; STATUSES.len()];
        Refusals { entry, counts, failed: 0, told: None, untold: 0, noticed: 0 }
    }

    /// Answers a request that was not run: it has waited for so long, and this is all that its route learns of it.
    pub(super) fn refuse(
        &mut self,
        server: &mut Server,
        refused: Refused<'_>,
        problem: &Problem,
        unrun: Unrun,
    ) {
        if let Some(counters) = counters(refused.gate) {
            counters.record_unrun(&unrun);
        }
        self.answer(server, refused, problem);
    }

    /// Answers a request that its route counts otherwise.
    pub(super) fn answer(&mut self, server: &mut Server, refused: Refused<'_>, problem: &Problem) {
        if let Some(place) = STATUSES.iter().position(|status| *status == problem.status) {
            self.counts[place] += 1;
        }
        // A proxy that sends everybody in circles is no fault of its clients.
        let is_misled = problem.status == 421;
        if (problem.status >= 500 || is_misled) && self.may_tell(1) {
            let (id, route, status) = (refused.id, label(refused.gate), problem.status);
            let reason = problem.detail.as_deref().unwrap_or_default();
            let more = self.more();
            log_line::log!(
                "howdah: http request {id}{route} answered {status} by the gateway: {reason}{more}"
            );
        }
        let mut answer = problem.write(Vec::new(), refused.id);
        if counters(refused.gate).is_some_and(RouteCounters::is_by_accept) {
            message::vary_by(&mut answer, "accept");
        }
        server.reply(refused.ticket, answer);
    }

    /// Counts the answer of a request that ran in this gateway.
    pub(super) fn note(&mut self, status: u16) {
        self.failed += u64::from(status >= 500);
    }

    /// Writes down what there is, the answers of the event loop included.
    pub(crate) fn publish(&mut self, counters: &Counters) {
        let of_loop =
            |status| counters.rejects.iter().find(|(other, _)| *other == status).map_or(0, |it| it.1);
        let mut errors = self.failed;
        let mut of_loop_in_all = 0;
        for (place, &status) in STATUSES.iter().enumerate() {
            let count = self.counts[place] + of_loop(status);
            self.entry.refusals[place].store(count, Relaxed);
            if status >= 500 {
                errors += count;
                of_loop_in_all += of_loop(status);
            }
        }
        self.entry.errors.store(errors, Relaxed);
        self.entry.refused.store(counters.refused + counters.accept_errors, Relaxed);
        self.notice(of_loop_in_all, counters);
    }

    /// Tells the log of what the event loop has answered before there was a request.
    fn notice(&mut self, errors: u64, counters: &Counters) {
        let new = errors - self.noticed;
        if new == 0 {
            return;
        }
        self.noticed = errors;
        if self.may_tell(new) {
            let (more, open) = (self.more(), counters.open);
            log_line::log!(
                "howdah: {new} http requests answered with 5xx by the gateway, which has {open} connections: \
                 http.refusals has the statuses{more}"
            );
        }
    }

    /// Whether the log may have a line now; what it is not told of is counted.
    fn may_tell(&mut self, count: u64) -> bool {
        let may = self.told.is_none_or(|told| told.elapsed() >= PAUSE);
        if may {
            self.told = Some(Instant::now());
        } else {
            self.untold += count;
        }
        may
    }

    /// How many the log was not told of.
    fn more(&mut self) -> String {
        match std::mem::take(&mut self.untold) {
            0 => String::new(),
            untold => format!(" ({untold} more since the last line like this)"),
        }
    }
}

/// A request that is answered here.
#[derive(Clone, Copy)]
pub(crate) struct Refused<'a> {
    pub ticket: Ticket,
    pub id: &'a str,
    /// Its gate in the exchange, which is the number of its route's counters.
    pub gate: u32,
}

/// The route, for the log.
fn label(gate: u32) -> String {
    match counters(gate).map(RouteCounters::label) {
        Some((RouteKind::Route, method, pattern)) => format!(" to {method} {pattern}"),
        Some((RouteKind::Page, method, pattern)) => format!(" to page {method} {pattern}"),
        Some((RouteKind::Handler, _, name)) => format!(" to handler {name}"),
        None => String::new(),
    }
}

/// The answer to OPTIONS.
pub(super) fn options(allow: &str) -> Vec<u8> {
    match ResponseBuilder::new(204) {
        Ok(mut builder) => {
            // The router has made the list.
            let _ = builder.header("allow", allow);
            builder.finish(&[])
        }
        Err(_) => Vec::new(),
    }
}
