//! Answers that are remembered, and given to those who have waited for them.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use ::gateway::Server;
use dispatch::Ticket;
use message::Request;
use request::reads::{READ, Read};

use super::{Flight, Flights, SMALL_REPLY};
use crate::gateway::followers::Follower;
use crate::gateway::refusals::counters;
use crate::gateway::remembered::{conditional, with_age};

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
        if code & READ == 0 && !keeps {
            self.remembered.followers.again(followers);
            return response;
        }
        let read = if code & READ == 0 { None } else { Read::parse(&response) };
        let read = read.map(|(read, length)| {
            response.drain(..length);
            read
        });
        let request = kept.as_ref().and_then(|arrived| Request::parse(&arrived.request).ok());
        let Some(request) = request else {
            self.remembered.followers.again(followers);
            return response;
        };
        let is_shared = match read {
            Some(read) => {
                // SAFETY: on the main thread.
                let (since, holds) = (read.since, unsafe { read.holds() });
                let remembered = self.remembered.remember(&request, gate, &response, (read, begun));
                remembered.map(|age| (since, holds, age))
            }
            None => None,
        };
        if !keeps {
            return response;
        }
        match is_shared {
            Some((since, holds, age)) => {
                let (those, others): (Vec<_>, Vec<_>) =
                    followers.into_iter().partition(|follower: &Follower| {
                        (holds || since > follower.asked) && self.is_answered_so(follower, gate)
                    });
                self.remembered.followers.again(others);
                self.answer_followers(those, gate, &with_age(&response, age, Instant::now()), server);
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

    fn is_answered_so(&self, follower: &Follower, gate: u32) -> bool {
        Request::parse(&follower.arrived.request)
            .is_ok_and(|request| self.remembered.is_answered_so(&request, gate))
    }

    fn answer_followers(
        &mut self,
        followers: Vec<Follower>,
        gate: u32,
        response: &[u8],
        server: &mut Server,
    ) {
        for follower in followers {
            let room = self.room(server);
            let Ok(request) = Request::parse(&follower.arrived.request) else { continue };
            let (response, is_unmodified) = conditional(&request, response.to_vec());
            if response.len() > SMALL_REPLY && response.len() > room {
                self.remembered.followers.again([follower]);
                continue;
            }
            request::log_request(
                &request,
                if is_unmodified { 304 } else { 200 },
                Default::default(),
                Default::default(),
            );
            let took = follower.since.elapsed();
            counters(gate).iter().for_each(|counters| {
                counters.shared.fetch_add(1, Relaxed);
                match is_unmodified {
                    true => counters.record_remembered(took),
                    false => counters.record_cached(took),
                }
            });
            server.reply(follower.arrived.ticket, response);
        }
    }
}
