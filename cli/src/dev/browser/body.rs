//! Bodies on their way, frame by frame: nothing is held.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The body of any answer.
pub(super) type Answer = UnsyncBoxBody<Bytes, hyper::Error>;

/// A body of our own.
pub(super) fn whole(text: impl Into<Bytes>) -> Answer {
    Full::new(text.into()).map_err(|never| match never {}).boxed_unsync()
}

/// What a client sends. One that has asked whether it may sends nothing until the platform has said so.
pub(super) struct Upload {
    body: Incoming,
    may_go_on: Option<oneshot::Receiver<()>>,
}

impl Upload {
    pub(super) fn new(body: Incoming, may_go_on: Option<oneshot::Receiver<()>>) -> Upload {
        Upload { body, may_go_on }
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if let Some(may_go_on) = &mut self.may_go_on {
            match ready!(Pin::new(may_go_on).poll(context)) {
                Ok(()) => self.may_go_on = None,
                // It was answered without.
                Err(_) => return Poll::Pending,
            }
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// What drives a connection to the platform. It ends with what comes over that.
pub(super) struct Driver(pub(super) JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What the platform answers, and what stands at its end.
pub(super) struct Passed {
    body: Incoming,
    end: Option<Bytes>,
    _driver: Driver,
    _under_way: Arc<()>,
}

impl Passed {
    pub(super) fn new(body: Incoming, end: Option<Bytes>, driver: Driver, under_way: Arc<()>) -> Passed {
        Passed { body, end, _driver: driver, _under_way: under_way }
    }
}

impl Body for Passed {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
            // Trailers come last.
            Some(Ok(frame)) if frame.is_trailers() && self.end.is_some() => None,
            frame => frame,
        };
        Poll::Ready(frame.or_else(|| self.end.take().map(|end| Ok(Frame::data(end)))))
    }

    fn is_end_stream(&self) -> bool {
        self.end.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = self.body.size_hint();
        let more = self.end.as_ref().map_or(0, |end| end.len() as u64);
        match hint.exact() {
            Some(exact) => hint.set_exact(exact + more),
            None => hint.set_lower(hint.lower() + more),
        }
        hint
    }
}

/// An answer of our own in plain words.
pub(super) fn plain(status: StatusCode, words: &str) -> Response<Answer> {
    let mut answer = Response::new(whole(format!("{words}\n")));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}
