//! The script that pages get, and the events that it listens to: each is the version of what a page would show now.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use hyper::{Request, Response, StatusCode};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::timeout;

use super::body::{Answer, plain, whole};
use super::headers::{only_reads, text};
use super::state::{Shared, State};

/// What begins so is ours.
pub(super) const FOLDER: &str = "/.howdah/";

const SCRIPT: &str = include_str!("live.js");
/// How often a listener gets something to see that it is still there.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// After how many milliseconds a browser tries again where nothing answers.
const AGAIN: u32 = 500;

/// What stands at the end of a page that was made under this version.
pub(super) fn script(version: &str) -> String {
    format!("<script src=\"{FOLDER}live.js\" data-made=\"{version}\"></script>\n")
}

/// Answers what is asked below `/.howdah/`: pages of this server alone.
pub(super) fn answer<B>(
    shared: &Arc<Shared>,
    path: &str,
    request: &Request<B>,
    is_ours: bool,
) -> Response<Answer> {
    let site = text(request.headers(), "sec-fetch-site");
    let is_same = site.is_none_or(|site| matches!(site, "same-origin" | "none"));
    if !is_ours || !is_same || request.headers().get_all("sec-fetch-site").iter().count() > 1 {
        return plain(StatusCode::FORBIDDEN, "This is for pages of howdah dev alone, as http://localhost.");
    }
    match path {
        "live.js" | "events" if !only_reads(request.method()) => {
            plain(StatusCode::METHOD_NOT_ALLOWED, "This can be read alone.")
        }
        "live.js" => typed("text/javascript; charset=utf-8", whole(SCRIPT)),
        "events" => match Arc::clone(&shared.listeners).try_acquire_owned() {
            Ok(place) => {
                let events = Events::new(shared.state.clone(), place);
                typed("text/event-stream", events.boxed_unsync())
            }
            Err(_) => plain(StatusCode::SERVICE_UNAVAILABLE, "Too many pages are open."),
        },
        _ => plain(StatusCode::NOT_FOUND, "howdah dev has nothing here."),
    }
}

fn typed(kind: &'static str, body: Answer) -> Response<Answer> {
    let mut answer = Response::new(body);
    for (name, value) in [
        (CONTENT_TYPE, kind),
        (CACHE_CONTROL, "no-store"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

type States = watch::Receiver<Arc<State>>;
type Next = Pin<Box<dyn Future<Output = (States, Option<Bytes>)> + Send>>;

/// The version now, and each that comes; no more than one waits.
struct Events {
    next: Next,
    _place: OwnedSemaphorePermit,
}

impl Events {
    fn new(mut states: States, place: OwnedSemaphorePermit) -> Events {
        let first = format!("retry: {AGAIN}\n{}", event(&mut states));
        Events { next: Box::pin(async { (states, Some(first.into())) }), _place: place }
    }
}

fn event(states: &mut States) -> String {
    format!("data: {}\n\n", states.borrow_and_update().event())
}

async fn next(mut states: States) -> (States, Option<Bytes>) {
    let said = match timeout(HEARTBEAT, states.changed()).await {
        Ok(Ok(())) => Some(event(&mut states).into()),
        // The command ends.
        Ok(Err(_)) => None,
        Err(_) => Some(Bytes::from_static(b":\n\n")),
    };
    (states, said)
}

impl Body for Events {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let (states, said) = ready!(self.next.as_mut().poll(context));
        self.next = Box::pin(next(states));
        Poll::Ready(said.map(|bytes| Ok(Frame::data(bytes))))
    }
}
