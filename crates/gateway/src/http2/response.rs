//! From a message to a stream of HTTP/2.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, DATE, SERVER};
use http::{HeaderName, HeaderValue};
use hyper::body::{Body, Frame, SizeHint};

use ::http1::{Reject, response::is_bodiless};
use message::Response;

use super::activity::OpenStream;
use crate::http1;
use crate::problem;
use crate::shared::Shared;

/// How much of a reply is given to hyper at a time. Each time is a sign that the client takes it.
const FRAME: usize = 32 << 10;

/// The body of a reply.
pub(super) struct ReplyBody {
    left: Bytes,
    open: OpenStream,
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.left.is_empty() {
            return Poll::Ready(None);
        }
        self.open.progressed();
        let taken = self.left.len().min(FRAME);
        Poll::Ready(Some(Ok(Frame::data(self.left.split_to(taken)))))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left.len() as u64)
    }
}

/// The response that hyper sends for a message.
pub(super) fn response(
    shared: &Shared,
    message: Vec<u8>,
    is_head: bool,
    mut open: OpenStream,
) -> hyper::Response<ReplyBody> {
    let Ok(view) = Response::parse(&message) else {
        let broken = problem::response(Reject::new(500, "the response was malformed"));
        return response(shared, broken, is_head, open);
    };
    open.replied();
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
    let body_start = view.body_start();
    let has_body = !is_head && !is_bodiless(view.status());
    let left = if has_body { Bytes::from(message).slice(body_start..) } else { Bytes::new() };
    response.map(|()| ReplyBody { left, open })
}
