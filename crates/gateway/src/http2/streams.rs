//! The life of a stream: its request is received, handed to the owner, and answered.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use error_pages::PageWish;
use h2::RecvStream;
use h2::server::SendResponse;
use message::id::Kept;
use tokio::time::timeout;

use super::activity::OpenStream;
use super::request::{self, Begun, Unreceived};
use super::response::{self, Piece, Shape};
use crate::bodies::GAVE_WAY;
use crate::connection::Peer;
use crate::parting::Parting;
use crate::replies::Reply;
use crate::shared::Shared;
use crate::this_thread;

/// Serves a stream by a task of its own. It is dropped when its client is late, and by that the stream is reset and what is
/// buffered of it is freed.
pub(super) fn spawn(
    shared: &Rc<Shared>,
    open: Rc<OpenStream>,
    peer: &Rc<Peer>,
    request: http::Request<RecvStream>,
    respond: SendResponse<Piece>,
) {
    let stream = Rc::downgrade(&open);
    let is_head = request.method() == http::Method::HEAD;
    let begun = request::begin(shared, peer, request);
    let (shared, peer) = (Rc::clone(shared), Rc::clone(peer));
    this_thread::spawn(async move {
        let mut served = pin!(serve(shared, open, peer, is_head, begun, respond));
        poll_fn(|context| {
            if stream.upgrade().is_some_and(|stream| stream.is_late()) {
                return Poll::Ready(());
            }
            served.as_mut().poll(context).map(drop)
        })
        .await;
        stream.upgrade().into_iter().for_each(|stream| stream.forget_task());
    });
}

/// None if the client has reset the stream or left.
async fn serve(
    shared: Rc<Shared>,
    open: Rc<OpenStream>,
    peer: Rc<Peer>,
    is_head: bool,
    begun: Result<Begun, Unreceived>,
    mut respond: SendResponse<Piece>,
) -> Option<()> {
    let (mut id, mut is_personal) = (None, false);
    let received = match begun {
        Ok(begun) => begun.receive(&shared, &mut respond).await,
        Err(unreceived) => Err(unreceived),
    };
    let mut rest = None;
    let reply = match received {
        Ok((message, charge)) => {
            id = Some(Kept::of(&message));
            is_personal = message::is_personal(&message);
            let wish = PageWish::of_message(&message);
            open.received();
            let reply = reply_to(&shared, open.listener(), message, &mut respond).await?;
            drop(charge);
            reply.paged(&shared, wish.as_ref())
        }
        Err(Unreceived::Refused(refusal, body)) => {
            shared.tally.reject(refusal.reject.status);
            if refusal.reject == GAVE_WAY {
                open.has_given_way();
            } else {
                rest = body;
            }
            Reply::from(refusal.response()).paged(&shared, refusal.wish.as_ref())
        }
        Err(Unreceived::Gone) => return None,
    };
    let shape = Shape { is_head, is_personal, id, hsts: peer.hsts() };
    let sent = response::send(&shared, reply, shape, open, respond).await;
    if let Some(rest) = rest {
        read_on(&shared, rest).await;
    }
    sent
}

/// Reads a body on that nobody wants, until its client ends the stream or has no more time. The stream is reset then, which says that
/// nothing is wrong and the rest may stay where it is (RFC 9113, 8.1). But curl 7.88 does not look at an answer that comes with a
/// reset, and Java 17 at none before all of the body is sent.
async fn read_on(shared: &Shared, mut body: RecvStream) {
    let Some(_refused) = RefusedBody::new(shared) else { return };
    let Parting { quiet, time } = shared.limits().parting;
    let end = async {
        while let Ok(Some(Ok(chunk))) = timeout(quiet, poll_fn(|context| body.poll_data(context))).await {
            // As many bytes have come.
            let _ = body.flow_control().release_capacity(chunk.len());
        }
    };
    // Either way nothing more is read.
    let _ = timeout(time, end).await;
}

/// Bodies that are read on at a time: as many as connections. The streams of others are reset at once.
struct RefusedBody<'a>(&'a Cell<usize>);

impl<'a> RefusedBody<'a> {
    fn new(shared: &'a Shared) -> Option<Self> {
        let count = &shared.refused_bodies;
        let has_room = count.get() < shared.limits().max_parting;
        has_room.then(|| {
            count.set(count.get() + 1);
            Self(count)
        })
    }
}

impl Drop for RefusedBody<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// Hands the request to the owner and waits for its reply; none if the client leaves before.
async fn reply_to(
    shared: &Rc<Shared>,
    listener: u32,
    message: Vec<u8>,
    respond: &mut SendResponse<Piece>,
) -> Option<Reply> {
    let mut message = Some(message);
    let mut in_flight = None;
    let mut poll = |context: &mut Context<'_>| {
        if let Some(message) = message.take() {
            in_flight = Some(shared.arrive(listener, message, context.waker()));
        }
        in_flight.as_mut().map_or(Poll::Pending, |in_flight| in_flight.poll_reply())
    };
    poll_fn(|context| match poll(context) {
        Poll::Ready(reply) => Poll::Ready(Some(reply)),
        Poll::Pending => respond.poll_reset(context).map(|_| None),
    })
    .await
}
