//! From a message to a stream of HTTP/2.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use h2::server::SendResponse;
use h2::{Reason, SendStream};
use http::header::{
    CACHE_CONTROL, CONTENT_LENGTH, DATE, SERVER, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderName, HeaderValue};

use ::http1::{Reject, response::is_bodiless};
use message::Response;
use message::id::Kept;

use super::activity::OpenStream;
use crate::http1;
use crate::parts::Rest;
use crate::refusal::Refusal;
use crate::replies::Reply;
use crate::shared::{InFlight, Shared};

/// What of the request decides about its response.
pub(super) struct Shape<'a> {
    pub is_head: bool,
    /// It says who asks.
    pub is_personal: bool,
    /// None if the response is known to have it.
    pub id: Option<Kept>,
    /// Strict-Transport-Security, if it is said.
    pub hsts: Option<&'a str>,
}

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// How much of a reply is given to h2 at a time.
const FRAME: usize = 32 << 10;

/// Sends a reply; none if the client has reset the stream or left. A body of several frames ends its stream only when the
/// client has taken them, so that there is a task until then.
pub(super) async fn send(
    shared: &Rc<Shared>,
    reply: Reply,
    shape: Shape<'_>,
    open: Rc<OpenStream>,
    mut respond: SendResponse<Piece>,
) -> Option<()> {
    open.answered();
    let rest = reply.rest.clone().filter(|rest| !shape.is_head && !rest.is_empty());
    let Outgoing { response, body } = outgoing(shared, reply, &shape, &open);
    let mut stream = respond.send_response(response, body.is_empty() && rest.is_none()).ok()?;
    let Some(mut rest) = rest else {
        return if body.is_empty() { Some(()) } else { send_bytes(&mut stream, body, true, &open).await };
    };
    send_bytes(&mut stream, body, false, &open).await?;
    while !rest.is_empty() {
        let part = part_of(shared, rest.clone(), &mut stream).await?;
        let bytes = part.shared.clone().unwrap_or_default();
        if bytes.is_empty() || bytes.len() as u64 > rest.len() {
            stream.send_reset(Reason::INTERNAL_ERROR);
            return None;
        }
        rest.from += bytes.len() as u64;
        open.goes_on(bytes.len(), part.held);
        send_bytes(&mut stream, bytes, rest.is_empty(), &open).await?;
    }
    Some(())
}

/// Asks the owner for the next part of a body and waits for it; none if the client leaves before.
async fn part_of(shared: &Rc<Shared>, rest: Rest, stream: &mut SendStream<Piece>) -> Option<Reply> {
    let (mut rest, mut in_flight) = (Some(rest), None);
    poll_fn(|context| {
        if let Some(rest) = rest.take() {
            in_flight = Some(shared.want(rest, context.waker()));
        }
        match in_flight.as_mut().map_or(Poll::Pending, InFlight::poll_reply) {
            Poll::Ready(reply) => Poll::Ready(Some(reply)),
            Poll::Pending => stream.poll_reset(context).map(|_| None),
        }
    })
    .await
}

/// Sends bytes, with which the stream ends if they are the last; others are waited for until the client has taken them.
async fn send_bytes(
    stream: &mut SendStream<Piece>,
    mut left: Bytes,
    is_last: bool,
    open: &Rc<OpenStream>,
) -> Option<()> {
    let length = left.len();
    let is_long = length > FRAME || !is_last;
    // A task's waker stays the same.
    poll_fn(|context| {
        open.set_task(context.waker());
        Poll::Ready(())
    })
    .await;
    while !left.is_empty() {
        let bytes = left.split_to(left.len().min(FRAME));
        // No more than shows that there is some: what is reserved is taken from the other streams of the connection.
        stream.reserve_capacity(1);
        poll_fn(|context| poll_room(stream, context)).await?;
        let wakes = left.is_empty() && is_long;
        stream.send_data(Piece { bytes, wakes, open: Rc::clone(open) }, left.is_empty() && !is_long).ok()?;
    }
    if is_long {
        poll_fn(|context| match stream.poll_reset(context) {
            Poll::Ready(_) => Poll::Ready(None),
            Poll::Pending if open.taken() < length => Poll::Pending,
            Poll::Pending => Poll::Ready(Some(())),
        })
        .await?;
    }
    if is_long && is_last {
        stream.send_data(Piece { bytes: left, wakes: false, open: Rc::clone(open) }, true).ok()?;
    }
    Some(())
}

/// Waits until the stream takes something more.
fn poll_room(stream: &mut SendStream<Piece>, context: &mut Context<'_>) -> Poll<Option<()>> {
    if stream.poll_reset(context).is_ready() {
        return Poll::Ready(None);
    }
    while stream.capacity() == 0 {
        match stream.poll_capacity(context) {
            Poll::Ready(Some(Ok(_))) => {}
            Poll::Ready(_) => return Poll::Ready(None),
            Poll::Pending => return Poll::Pending,
        }
    }
    Poll::Ready(Some(()))
}

/// A part of a reply, in h2's hands. It is used up as it goes into the socket.
pub(super) struct Piece {
    bytes: Bytes,
    /// The body waits for the end of this one.
    wakes: bool,
    open: Rc<OpenStream>,
}

impl Buf for Piece {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
        self.open.took(count);
        if self.wakes && self.bytes.is_empty() {
            self.open.wake();
        }
    }
}

/// Headers of a response at most. The library's map of them panics when it has 24,576.
const MOST_HEADERS: usize = 16 << 10;

/// What is sent for a message.
struct Outgoing {
    response: http::Response<()>,
    body: Bytes,
}

fn outgoing(shared: &Shared, reply: Reply, shape: &Shape<'_>, open: &OpenStream) -> Outgoing {
    let Reply { bytes: message, shared: shared_body, rest, held } = reply;
    let refused = |why| {
        let broken = Refusal::of_id(Reject::new(500, why), shape.id.as_ref()).response();
        outgoing(shared, broken.into(), shape, open)
    };
    let Ok(view) = Response::parse(&message) else { return refused("the response was malformed") };
    if view.headers().count() > MOST_HEADERS {
        return refused("the response has more headers than HTTP/2 takes here");
    }
    let mut response = http::Response::new(());
    *response.status_mut() = http::StatusCode::from_u16(view.status()).unwrap_or_default();
    for (name, value) in view.headers() {
        // Both are right already where they come from `ResponseBuilder`.
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) {
            response.headers_mut().append(name, value);
        }
    }
    if !view.has_date() {
        let date = shared.clock.with_date(HeaderValue::from_str);
        date.into_iter().for_each(|date| drop(response.headers_mut().insert(DATE, date)));
    }
    if let Some(id) = shape.id.as_ref().filter(|_| !view.has_request_id())
        && let Ok(mut value) = HeaderValue::from_bytes(id.as_bytes())
    {
        // So that HPACK does not keep it: it does not come again, and what does would have to give way. Kept, it would cost 3,800
        // instructions more, for nine bytes.
        value.set_sensitive(true);
        response.headers_mut().insert(X_REQUEST_ID, value);
    }
    if let Some(hsts) = shape.hsts.and_then(|hsts| HeaderValue::from_str(hsts).ok()) {
        // A handler that says something else has its way.
        response.headers_mut().entry(STRICT_TRANSPORT_SECURITY).or_insert(hsts);
    }
    say_the_unsaid(&view, shape.is_personal, &mut response);
    if !view.has_server() {
        response.headers_mut().insert(SERVER, HeaderValue::from_static(http1::SERVER));
    }
    if !matches!(view.status(), 204 | 304) {
        let here = shared_body.as_ref().map_or(view.body().len(), Bytes::len);
        let length = here as u64 + rest.as_ref().map_or(0, Rest::len);
        let length = if view.status() == 205 { 0 } else { length };
        response.headers_mut().insert(CONTENT_LENGTH, length.into());
    }
    let (body_start, capacity) = (view.body_start(), message.capacity());
    let has_body = !shape.is_head && !is_bodiless(view.status());
    let body = match shared_body {
        _ if !has_body => Bytes::new(),
        Some(body) => body,
        None => Bytes::from(message).slice(body_start..),
    };
    let size = capacity.max(body.len());
    if !body.is_empty() || has_body && rest.is_some_and(|rest| !rest.is_empty()) {
        open.replied(body.len(), size, held);
    }
    Outgoing { response, body }
}

fn say_the_unsaid(view: &Response<'_>, is_personal: bool, response: &mut http::Response<()>) {
    let unsaid = [
        (X_CONTENT_TYPE_OPTIONS, view.content_type_options()),
        (CACHE_CONTROL, view.cache_control(is_personal)),
    ];
    for (name, value) in unsaid {
        value.into_iter().for_each(|value| {
            response.headers_mut().insert(&name, HeaderValue::from_static(value));
        });
    }
}
