//! Requests that are answered by what is remembered.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use ::gateway::Ticket;
use message::Request;
use problem::Problem;
use shared::shared;

use super::Gateway;
use super::budget::NO_ROOM;
use super::dispatching::log_unrun;
use super::inline::is_short;
use super::refusals::Refused;
use super::remembered::{Given, Known};

impl Gateway<'_> {
    /// What is known of a request for the endpoint at this place.
    pub(super) fn look(
        &mut self,
        request: &Request<'_>,
        arrived: (Ticket, usize),
        place: usize,
        gate: Option<u32>,
        now: Instant,
    ) -> Known {
        let Some(gate) = gate.filter(|_| self.runner.has_tags(place)) else { return Known::Run };
        let caching = self.runner.caching(place);
        let counters = shared().routes.get(gate as usize);
        let may_read = !self.runner.is_planned(place) || self.runner.reads_only(place);
        let is_short = || may_read && is_short(counters);
        let known = self.flights.remembered.look(request, arrived, gate, (caching, is_short), now);
        if caching.is_some() && matches!(known, Known::Ask | Known::Run) {
            counters.missed.fetch_add(1, Relaxed);
        }
        known
    }

    /// Looks anew at those who have waited for an answer that is not theirs.
    pub(super) fn follow_up(&mut self) {
        for follower in self.flights.remembered.followers.take_again() {
            if self.server.waits(follower.arrived.ticket) {
                self.dispatch(follower.arrived, follower.since);
            }
        }
    }

    /// Answers a request by what is known, without running anything.
    pub(super) fn answer(&mut self, request: &Request<'_>, refused: Refused<'_>, given: Given, now: Instant) {
        let (is_head, status) = (request.method() == "HEAD", given.status);
        if given.needs(is_head, &self.server) > self.flights.room(&self.server) {
            log_unrun(request, 503);
            return self.flights.refusals.answer(&mut self.server, refused, &Problem::new(503, NO_ROOM));
        }
        log_unrun(request, status);
        let counters = shared().routes.get(refused.gate as usize);
        match status {
            304 => counters.record_remembered(now.elapsed()),
            _ => counters.record_cached(now.elapsed()),
        }
        given.send(&mut self.server, refused.ticket, is_head);
    }
}
