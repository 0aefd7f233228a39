//! Requests that take too long, and those whose clients did not wait: answered, cancelled, recorded.

use std::time::{Duration, Instant};

use ::gateway::Server;
use exchange::Cancel;
use problem::Problem;
use shared::settings;

use super::Flights;
use super::records::{expired, waited_too_long};
use crate::gateway::refusals::Refused;

/// How long a request may take to end once it is cancelled, before it is answered without waiting for it.
const GRACE: Duration = Duration::from_secs(1);

impl Flights {
    /// Cancels what runs for too long, and answers what has waited for too long.
    pub(crate) fn enforce_deadlines(&mut self, server: &mut Server) {
        if self.load.count == 0 {
            return;
        }
        let limit = Duration::from_millis(settings::REQUEST_TIMEOUT.get() as u64);
        let patience = Duration::from_millis(settings::QUEUE_TIMEOUT.get() as u64);
        for slot in 0..self.flights.len() {
            let Some(flight) = &mut self.flights[slot] else { continue };
            if flight.bucket_of.is_some() {
                // It waits for as long as it takes: its stream reads no more meanwhile.
                continue;
            }
            let age = flight.since.elapsed();
            match flight.cancelled {
                None if age > limit || age > patience && self.end.is_queued(flight.exchange) => {
                    flight.cancelled = Some(Instant::now());
                    self.stop_the_late(slot, age, server);
                }
                Some(cancelled) if cancelled.elapsed() > GRACE => {
                    // It may have been cancelled just before it looked: once more.
                    flight.cancelled = Some(Instant::now());
                    self.give_up(slot, server);
                }
                _ => {}
            }
        }
    }

    /// Cancels a request that has run or waited for too long; what was to run yet is answered.
    fn stop_the_late(&mut self, slot: usize, age: Duration, server: &mut Server) {
        let Some(flight) = &self.flights[slot] else { return };
        let (ticket, gate, exchange, id) = (flight.ticket, flight.gate, flight.exchange, flight.id.clone());
        if self.stop(slot, exchange) == Cancel::NeverRan
            && let Some(ticket) = ticket
        {
            let refused = Refused { ticket, id: &id, gate };
            self.refusals.refuse(server, refused, &waited_too_long(), expired(age));
        }
    }

    /// Cancels a request once more that does not end, and answers it without waiting for it any longer.
    fn give_up(&mut self, slot: usize, server: &mut Server) {
        let Some(flight) = &mut self.flights[slot] else { return };
        if let Some(ticket) = flight.ticket.take() {
            self.slots.remove(&ticket);
            let problem = too_slow();
            flight.answered = Some(problem.status);
            self.refusals.answer(server, flight.refused(ticket), &problem);
        }
        let exchange = flight.exchange;
        self.stop(slot, exchange);
    }
}

fn too_slow() -> Problem {
    Problem::new(504, "the request has exceeded howdah.request_timeout")
}
