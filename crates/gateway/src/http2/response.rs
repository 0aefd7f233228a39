//! From a message to a stream of HTTP/2.

use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use http::header::{CONTENT_LENGTH, DATE, SERVER};
use http::{HeaderName, HeaderValue};
use hyper::body::{Body, Frame, SizeHint};

use ::http1::{Reject, response::is_bodiless};
use message::Response;

use super::activity::OpenStream;
use crate::http1;
use crate::problem::Refusal;
use crate::replies::Reply;
use crate::shared::Shared;

/// How much of a reply is given to hyper at a time.
const FRAME: usize = 32 << 10;

/// The body of a reply. One of several frames ends its stream only when the client has taken them, so that there is a
/// task until then.
pub(super) struct ReplyBody {
    left: Bytes,
    length: usize,
    open: Rc<OpenStream>,
}

impl ReplyBody {
    fn is_long(&self) -> bool {
        self.length > FRAME
    }
}

impl Body for ReplyBody {
    type Data = Piece;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Piece>, Infallible>>> {
        self.open.set_task(context.waker());
        if !self.left.is_empty() {
            let taken = self.left.len().min(FRAME);
            let (bytes, is_last) = (self.left.split_to(taken), self.left.is_empty());
            let wakes = is_last && self.is_long();
            return Poll::Ready(Some(Ok(Frame::data(Piece { bytes, wakes, open: Rc::clone(&self.open) }))));
        }
        if self.is_long() && self.open.taken() < self.length { Poll::Pending } else { Poll::Ready(None) }
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty() && !self.is_long()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left.len() as u64)
    }
}

/// A part of a reply, in hyper's hands. It is used up as it goes into the socket.
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

/// The response that hyper sends for a message.
pub(super) fn response(
    shared: &Shared,
    reply: Reply,
    is_head: bool,
    open: Rc<OpenStream>,
) -> hyper::Response<ReplyBody> {
    open.answered();
    let Reply { bytes: message, held } = reply;
    let Ok(view) = Response::parse(&message) else {
        let broken = Refusal::new(Reject::new(500, "the response was malformed")).response();
        return response(shared, broken.into(), is_head, open);
    };
    let mut response = hyper::Response::new(());
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
    if !view.has_server() {
        response.headers_mut().insert(SERVER, HeaderValue::from_static(http1::SERVER));
    }
    if !matches!(view.status(), 204 | 304) {
        let length = if view.status() == 205 { 0 } else { view.body().len() };
        response.headers_mut().insert(CONTENT_LENGTH, length.into());
    }
    let (body_start, size) = (view.body_start(), message.capacity());
    let has_body = !is_head && !is_bodiless(view.status());
    let left = if has_body { Bytes::from(message).slice(body_start..) } else { Bytes::new() };
    let length = left.len();
    if length > 0 {
        open.replied(length, size, held);
    }
    response.map(|()| ReplyBody { left, length, open })
}
