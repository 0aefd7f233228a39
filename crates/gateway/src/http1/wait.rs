//! Waiting for the reply while watching the client, and reading in general.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll, Waker, ready};

use super::Connection;
use crate::clock::NEVER;
use crate::counters::add;
use crate::parts::Rest;
use crate::replies::Reply;
use crate::shared::InFlight;

impl Connection {
    /// Hands the request to the owner and waits for its reply; none if the client leaves before.
    pub(super) async fn reply_to(&mut self, message: Vec<u8>) -> Option<Reply> {
        let (shared, listener) = (self.place.shared.clone(), self.place.link.listener.id);
        self.answer_to(|waker| shared.arrive(listener, message, waker)).await
    }

    /// Asks the owner for the next part of a body and waits for it; none if the client leaves before.
    pub(super) async fn part_of(&mut self, rest: Rest) -> Option<Reply> {
        let shared = self.place.shared.clone();
        self.answer_to(|waker| shared.want(rest, waker)).await
    }

    /// Waits for the owner's answer to what it is asked; none if the client leaves before.
    async fn answer_to(&mut self, ask: impl FnOnce(&Waker) -> InFlight) -> Option<Reply> {
        self.place.set_deadline(NEVER);
        self.place.stay();
        let mut ask = Some(ask);
        let mut in_flight = None;
        poll_fn(|context| {
            if let Some(ask) = ask.take() {
                in_flight = Some(ask(context.waker()));
            }
            let reply = in_flight.as_mut().map_or(Poll::Pending, |in_flight| in_flight.poll_reply());
            match reply {
                Poll::Ready(reply) => Poll::Ready(Some(reply)),
                Poll::Pending if self.client_has_gone(context) => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }

    /// Reads ahead, by which the end of a connection shows. Stops at the limit: then the kernel's buffer fills,
    /// and the client has to wait.
    fn client_has_gone(&mut self, context: &mut Context<'_>) -> bool {
        if self.place.link.is_aborted() {
            return true;
        }
        let shared = self.place.shared.clone();
        let limits = shared.limits();
        shared.with_read_buffer(|buffer| {
            while !self.ended && self.input.len() < limits.max_pipelined {
                let room = (limits.max_pipelined - self.input.len()).min(buffer.len());
                match self.poll_read(context, &mut buffer[..room]) {
                    Poll::Pending => return false,
                    Poll::Ready(None) if self.ended && limits.half_close => return false,
                    Poll::Ready(None) => return true,
                    Poll::Ready(Some(read)) => self.input.extend_from_slice(&buffer[..read]),
                }
            }
            false
        })
    }

    /// Reads once; none at the end of the connection, where `ended` tells a FIN from an error.
    pub(super) fn poll_read(&mut self, context: &mut Context<'_>, buffer: &mut [u8]) -> Poll<Option<usize>> {
        ready!(self.poll_turn(context));
        self.poll_socket(context, buffer)
    }

    /// Ready if it may read in this turn.
    pub(super) fn poll_turn(&self, context: &Context<'_>) -> Poll<()> {
        self.place.shared.poll_may_read(&self.place.link.last_read, context)
    }

    /// As [`Self::poll_read`], where it may read.
    pub(super) fn poll_socket(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<Option<usize>> {
        let read = self.stream.poll_read(context, buffer);
        self.take_note(read, buffer.len())
    }

    fn take_note(&mut self, read: Poll<io::Result<usize>>, room: usize) -> Poll<Option<usize>> {
        match ready!(read) {
            Ok(0) => {
                self.ended = true;
                Poll::Ready(None)
            }
            Ok(read) => {
                add(&self.place.shared.tally.bytes_in, read);
                self.place.shared.have_read(&self.place.link.last_read, read, room);
                Poll::Ready(Some(read))
            }
            Err(_) => Poll::Ready(None),
        }
    }
}
