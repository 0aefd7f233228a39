//! An answer that is kept as a whole: who gets it shares its body, which nobody copies.

use std::time::Instant;

use ::gateway::{SMALL_REPLY, Server, Ticket};
use bytes::Bytes;
use message::Response;

use super::age::Age;

/// An answer that is kept.
pub(super) struct Whole {
    /// A [`message::Response`] without its body.
    head: Vec<u8>,
    body: Bytes,
}

/// What a client gets without a run.
pub(crate) struct Given {
    /// A [`message::Response`], without its body if that is shared.
    head: Vec<u8>,
    body: Option<Bytes>,
    /// Its status.
    pub status: u16,
}

impl Whole {
    /// That of a response; none if it cannot be read.
    pub(super) fn of(response: &[u8]) -> Option<Whole> {
        let start = Response::parse(response).ok()?.body_start();
        let (head, body) = response.split_at(start);
        Some(Whole { head: head.to_vec(), body: Bytes::copy_from_slice(body) })
    }

    /// Bytes that it takes.
    pub(super) fn len(&self) -> usize {
        self.head.len() + self.body.len()
    }

    /// What a client gets of it, which says how old it is if that counts.
    pub(super) fn given(&self, age: Option<Age>, now: Instant) -> Given {
        Given { head: with_age(&self.head, age, now), body: Some(self.body.clone()), status: 200 }
    }
}

impl Given {
    /// That of a response that says that the client has it already.
    pub(super) fn unmodified(response: &[u8], age: Option<Age>, now: Instant) -> Given {
        Given { head: with_age(response, age, now), body: None, status: 304 }
    }

    /// For how many bytes there has to be room: a client of HEAD gets no body.
    pub(crate) fn needs(&self, is_head: bool, server: &Server) -> usize {
        let body = self.body.as_ref().filter(|body| !is_head && body.len() > SMALL_REPLY);
        body.map_or(0, |body| server.needs_to_share(self.head.len(), body))
    }

    /// Hands it to its client.
    pub(crate) fn send(self, server: &mut Server, ticket: Ticket, is_head: bool) {
        match self.body {
            Some(body) => server.reply_sharing(ticket, self.head, body, is_head),
            None => server.reply(ticket, self.head),
        };
    }
}

/// A response without a body that says how old it is, if that counts.
fn with_age(response: &[u8], age: Option<Age>, now: Instant) -> Vec<u8> {
    let Some(age) = age else { return response.to_vec() };
    let seconds = now.saturating_duration_since(age.begun).as_secs();
    message::with_header(response, "age", seconds.to_string())
}
