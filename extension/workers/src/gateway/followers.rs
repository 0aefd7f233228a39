//! Requests that wait for the answer to an equal one, which an executor runs: one run for many.
//!
//! Who asked before the run has begun may have its answer, whatever has changed since; who asked later only if what it has read has not
//! changed. The others, and all if there is no answer that may be shared, are looked at anew: what becomes of the first one is its own.

use std::collections::HashMap;
use std::time::Instant;

use ::gateway::{Arrived, Server, Ticket};
use changes::Moment;
use dispatch::{REQUEST, TicketMap};

use super::budget::memory_to_wait;

/// Those that wait, by what they ask for.
#[derive(Default)]
pub(crate) struct Followers {
    packs: HashMap<Box<[u8]>, Pack>,
    /// What those ask for that wait, or are waited for.
    keys: TicketMap<Box<[u8]>>,
    /// Bytes that those hold that wait.
    held: usize,
    /// Those to be looked at anew.
    again: Vec<Follower>,
}

/// Who asks for the same.
struct Pack {
    /// Whose run it is.
    first: Ticket,
    followers: Vec<Follower>,
}

/// A request that waits.
pub(crate) struct Follower {
    pub arrived: Arrived,
    /// When it has come.
    pub since: Instant,
    /// What was known then.
    pub asked: Moment,
}

impl Follower {
    fn bytes(&self) -> usize {
        REQUEST + self.arrived.request.len()
    }
}

impl Followers {
    /// Whether there is anybody to wait for.
    pub(crate) fn any(&self) -> bool {
        !self.packs.is_empty() || !self.again.is_empty()
    }

    /// A request runs for which others may wait; nobody leads them yet.
    pub(crate) fn lead(&mut self, key: &[u8], first: Ticket) {
        self.keys.insert(first, key.into());
        self.packs.insert(key.into(), Pack { first, followers: Vec::new() });
    }

    /// Whether there is a run to wait for.
    pub(crate) fn are_led(&self, key: &[u8]) -> bool {
        self.packs.contains_key(key)
    }

    /// Whether there is room for another that waits with so many bytes.
    pub(crate) fn have_room(&self, bytes: usize) -> bool {
        self.held + REQUEST + bytes <= memory_to_wait()
    }

    /// Has a request wait for the run that there is.
    pub(crate) fn follow(&mut self, key: &[u8], follower: Follower) {
        self.held += follower.bytes();
        self.keys.insert(follower.arrived.ticket, key.into());
        match self.packs.get_mut(key) {
            Some(pack) => pack.followers.push(follower),
            None => self.again.push(follower),
        }
    }

    /// Those that have waited for the run of a request, which has ended; none if it was none to wait for.
    pub(crate) fn end(&mut self, first: Ticket) -> Option<Vec<Follower>> {
        let key = self.keys.get(&first)?;
        self.packs.get(key).filter(|pack| pack.first == first)?;
        let followers = self.packs.remove(key)?.followers;
        self.keys.remove(&first);
        for follower in &followers {
            self.held -= follower.bytes();
            self.keys.remove(&follower.arrived.ticket);
        }
        Some(followers)
    }

    /// Has these looked at anew.
    pub(crate) fn again(&mut self, followers: impl IntoIterator<Item = Follower>) {
        self.again.extend(followers);
    }

    /// Those to be looked at anew.
    pub(crate) fn take_again(&mut self) -> Vec<Follower> {
        std::mem::take(&mut self.again)
    }

    /// A client has gone. True if it has only waited.
    pub(crate) fn forget(&mut self, ticket: Ticket) -> bool {
        let Some(key) = self.keys.get(&ticket) else { return false };
        let Some(pack) = self.packs.get_mut(key) else { return false };
        if pack.first == ticket {
            self.end_for_all(ticket);
            return false;
        }
        let place = pack.followers.iter().position(|follower| follower.arrived.ticket == ticket);
        if let Some(place) = place {
            self.held -= pack.followers.swap_remove(place).bytes();
        }
        self.keys.remove(&ticket);
        place.is_some()
    }

    /// Has those looked at anew who wait for what was answered without an end of its run: it was late, say. What they asked for.
    pub(crate) fn end_abandoned(&mut self, server: &Server) -> Vec<Box<[u8]>> {
        let is_over = |pack: &Pack| !server.waits(pack.first);
        let over: Vec<_> = self
            .packs
            .iter()
            .filter(|(_, pack)| is_over(pack))
            .map(|(key, pack)| (key.clone(), pack.first))
            .collect();
        over.into_iter()
            .map(|(key, first)| {
                self.end_for_all(first);
                key
            })
            .collect()
    }

    fn end_for_all(&mut self, first: Ticket) {
        let followers = self.end(first);
        self.again(followers.into_iter().flatten());
    }

    /// Has all looked at anew: what they ask for may be another now.
    pub(crate) fn end_all(&mut self) {
        let all: Vec<Ticket> = self.packs.values().map(|pack| pack.first).collect();
        all.into_iter().for_each(|first| self.end_for_all(first));
    }
}
