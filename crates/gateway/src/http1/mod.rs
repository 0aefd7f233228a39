//! HTTP/1: one task for each connection, one request at a time.
//!
//! - `input`: reads heads, or finds that the client speaks HTTP/2.
//! - `body`: reads the body that belongs to a head.
//! - `wait`: waits for the reply, and looks whether the client is still there.
//! - `output`: writes replies.
//! - `linger`: closes so that the client sees the last answer.
//!
//! A connection that waits for its next request holds no buffer: what is read goes into the thread's buffer and
//! is parsed there; only what is left over is kept.

mod body;
mod input;
mod linger;
mod output;
mod wait;

use bytes::BytesMut;

use ::http1::Scanner;
use error_pages::PageWish;
use message::id::Kept;

use crate::connection::{Peer, Registered};
use crate::http2;
use crate::refusal::Refusal;
use crate::replies::Reply;
use crate::stream::Stream;

pub(crate) use input::FIRST_WORD;
pub(crate) use output::SERVER;

use body::Ending;
use input::{Next, Started};
use output::Shape;

/// A connection whose protocol is HTTP/1, as far as is known.
pub(crate) struct Connection {
    place: Registered,
    stream: Stream,
    peer: Peer,
    /// What has been read and not been used.
    input: BytesMut,
    scanner: Scanner,
    /// Nothing has been served: the client may still begin with HTTP/2's preface.
    fresh: bool,
    /// The client has been given a shorter time for its first request.
    hurried: bool,
    /// The client sends no more.
    ended: bool,
}

impl Connection {
    pub(crate) fn new(place: Registered, stream: Stream, peer: Peer) -> Self {
        let (input, scanner) = (BytesMut::new(), Scanner::default());
        Self { place, stream, peer, input, scanner, fresh: true, hurried: false, ended: false }
    }

    /// Serves the connection to its end.
    pub(crate) async fn serve(mut self) {
        self.place.name_task().await;
        if !self.stream.shake_hands(&self.place, &mut self.peer).await {
            return;
        }
        if self.stream.speaks_http2() {
            return self.serve_http2().await;
        }
        loop {
            match self.next_head().await {
                Next::Head(started) => {
                    if !self.serve_request(started).await {
                        return;
                    }
                }
                Next::Refused(refusal) => return self.refuse(refusal).await,
                Next::Http2 => return self.serve_http2().await,
                Next::Closed => return,
            }
        }
    }

    async fn serve_http2(self) {
        let Self { place, stream, peer, input, .. } = self;
        // In a box, so that the many connections of HTTP/1 need not have room for it.
        Box::pin(http2::serve(place, stream, peer, input)).await;
    }

    /// Serves one request; true if another one may follow.
    async fn serve_request(&mut self, mut started: Started) -> bool {
        let charge = match self.read_body(&mut started).await {
            Ok(charge) => charge,
            Err(Ending::Reject(reject)) => {
                let refusal = Refusal::of_message(reject, &started.message);
                // What has come of the body is not held until the client has its answer.
                drop(started);
                self.answer_and_linger(refusal).await;
                return false;
            }
            Err(Ending::Gone) => return false,
        };
        let (id, is_personal) = (Kept::of(&started.message), message::is_personal(&started.message));
        let wish = PageWish::of_message(&started.message);
        let Some(reply) = self.reply_to(started.message).await else { return false };
        let reply = reply.paged(&self.place.shared, wish.as_ref());
        drop(charge);
        let Started { is_head, minor_version, .. } = started;
        let shape = Shape { is_head, minor_version, is_personal, id: Some(&id) };
        // A client that has ended its side, and is served nevertheless, still gets what it asked for before.
        let keep = started.keep_alive && !(self.ended && self.input.is_empty());
        let rest = reply.rest.clone().filter(|_| !is_head);
        let written = match (self.write_reply(reply, shape, keep).await, rest) {
            (Ok(keep), Some(rest)) => self.write_rest(rest).await.map(|()| keep),
            (written, _) => written,
        };
        match written {
            Ok(true) => true,
            Ok(false) => {
                self.close().await;
                false
            }
            Err(_) => false,
        }
    }

    /// Answers with an error and ends the connection.
    pub(crate) async fn refuse(mut self, refusal: Refusal) {
        self.place.name_task().await;
        if self.stream.shake_hands(&self.place, &mut self.peer).await {
            self.answer_and_linger(refusal).await;
        }
    }

    async fn answer_and_linger(&mut self, refusal: Refusal) {
        self.place.shared.tally.reject(refusal.reject.status);
        let shape = Shape { is_head: false, minor_version: 1, is_personal: false, id: None };
        let reply = Reply::from(refusal.response()).paged(&self.place.shared, refusal.wish.as_ref());
        if self.write_reply(reply, shape, false).await.is_ok() {
            self.linger().await;
        }
    }
}
