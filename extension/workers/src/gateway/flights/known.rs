//! Answers that are remembered, and given to those who have waited for them.

use std::sync::atomic::Ordering::Relaxed;

use ::gateway::Server;
use dispatch::Ticket;
use message::Request;
use request::reads::{READ, Read};

use super::{Flight, Flights};
use crate::gateway::followers::Follower;
use crate::gateway::refusals::counters;
use crate::gateway::remembered::{conditional, known_as};

impl Flights {
    /// What is sent of an answer. It is remembered by what it has read, if that stands in front of it, and others that have waited for it get it.
    pub(super) fn settle(
        &mut self,
        flight: Flight,
        ticket: Ticket,
        code: u32,
        server: &mut Server,
    ) -> Vec<u8> {
        let Flight { mut response, kept, gate, since: begun, .. } = flight;
        let keeps = self.remembered.keeps(gate);
        let followers = self.remembered.followers.end(ticket);
        let leads = followers.is_some();
        let followers = followers.unwrap_or_default();
        let is_unmodified = code as u16 == 304;
        if code & READ == 0 && !keeps && !is_unmodified {
            self.remembered.followers.again(followers);
            return response;
        }
        let front = if code & READ == 0 { None } else { Read::parse_front(&response) };
        let start = front.as_ref().map_or(0, |(_, _, start)| *start);
        let request = kept.as_ref().and_then(|arrived| Request::parse(&arrived.request).ok());
        let Some(request) = request else {
            self.remembered.followers.again(followers);
            response.drain(..start);
            return response;
        };
        let is_shared = front.and_then(|(read, plain, start)| {
            // SAFETY: on the main thread.
            let (since, holds) = (read.since, unsafe { read.holds() });
            let answer = (&response[start..], plain);
            let remembered = self.remembered.remember(&request, gate, answer, (read, begun));
            remembered.map(|()| (since, holds))
        });
        response.drain(..start);
        if !keeps {
            return if is_unmodified { known_as(&request, response) } else { response };
        }
        match is_shared {
            Some((since, holds)) => {
                let (those, others): (Vec<_>, Vec<_>) =
                    followers.into_iter().partition(|follower: &Follower| holds || since > follower.asked);
                self.remembered.followers.again(others);
                self.answer_followers(those, gate, server);
            }
            None => {
                if leads {
                    self.remembered.give_up(&request, gate);
                }
                self.remembered.followers.again(followers);
            }
        }
        let (response, is_unmodified) = conditional(&request, response);
        if is_unmodified {
            counters(gate).iter().for_each(|counters| counters.correct_unchanged());
        }
        response
    }

    /// Gives those what was remembered last. Who asks for something else after all, or finds no room, is looked at anew.
    fn answer_followers(&mut self, followers: Vec<Follower>, gate: u32, server: &mut Server) {
        let mut answered = 0;
        for follower in followers {
            let room = self.room(server);
            let request = Request::parse(&follower.arrived.request);
            let is_head = request.as_ref().is_ok_and(|request| request.method() == "HEAD");
            let given = request.as_ref().ok().and_then(|request| self.remembered.give(request, gate));
            let given = given.filter(|given| given.needs(is_head, server) <= room);
            let (Ok(request), Some(given)) = (request, given) else {
                self.remembered.followers.again([follower]);
                continue;
            };
            request::log_request(&request, given.status, Default::default(), Default::default());
            let took = follower.since.elapsed();
            counters(gate).iter().for_each(|counters| {
                counters.shared.fetch_add(1, Relaxed);
                match given.status {
                    304 => counters.record_remembered(took),
                    _ => counters.record_cached(took),
                }
            });
            answered += 1;
            given.send(server, follower.arrived.ticket, is_head);
        }
        self.remembered.count_shared(gate, answered);
    }
}
