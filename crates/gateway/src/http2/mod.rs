//! HTTP/2, by hyper.
//!
//! - `socket`: the connection's bytes, those included that were read to find out the protocol.
//! - `activity`: what goes on on a connection, and when it is late.
//! - `request`: from a stream to a message.
//! - `response`: from a message to a stream.
//!
//! hyper is told all its limits, because the defaults are made for other servers. What it does not limit is done
//! here: bodies and their duration, idle connections, clients that do not take their responses.

mod activity;
mod request;
mod response;
mod socket;

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use bytes::BytesMut;
use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::server::conn::http2::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};

use crate::connection::{Peer, Registered};
use crate::replies::Reply;
use crate::shared::Shared;
use crate::stream::Stream;
use crate::this_thread::spawn;

use activity::{Activity, OpenStream, Verdict};
use response::ReplyBody;
use socket::Socket;

/// What a client that speaks HTTP/2 without being asked sends first (RFC 9113, 3.4).
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Streams that a client has reset in what one look at the socket brings; more end the connection (CVE-2023-44487).
/// `activity` counts them over time.
const MAX_PENDING_RESETS: usize = 1000;
/// Streams that the server has reset for errors of the client; more end the connection (CVE-2025-8671).
const MAX_ERROR_RESETS: usize = 128;
/// What a client may send of one body, and of all, before any of it is read.
const STREAM_WINDOW: u32 = 64 << 10;
const CONNECTION_WINDOW: u32 = 1 << 20;
/// What is buffered of a stream's response beyond what its client takes.
const SEND_BUFFER: usize = 64 << 10;

/// Spawns hyper's tasks on this thread: one for each stream, right after its service was called.
#[derive(Clone)]
struct OnRuntime(Rc<Activity>);

impl<F: Future + 'static> Executor<F> for OnRuntime {
    fn execute(&self, future: F) {
        let stream = self.0.newest();
        spawn(async move {
            let mut future = pin!(future);
            poll_fn(|context| {
                if stream.upgrade().is_some_and(|stream| stream.is_late()) {
                    // The stream of a task that is dropped is reset, and what is buffered of it is freed.
                    return Poll::Ready(());
                }
                future.as_mut().poll(context).map(drop)
            })
            .await;
            stream.upgrade().into_iter().for_each(|stream| stream.forget_task());
        });
    }
}

fn builder(activity: &Rc<Activity>) -> Builder<OnRuntime> {
    let limits = activity.limits();
    let mut builder = Builder::new(OnRuntime(Rc::clone(activity)));
    builder
        .timer(TokioTimer::new())
        .auto_date_header(false)
        .max_concurrent_streams(limits.max_streams)
        .max_header_list_size(u32::try_from(limits.max_head).unwrap_or(u32::MAX))
        .max_pending_accept_reset_streams(MAX_PENDING_RESETS)
        .max_local_error_reset_streams(MAX_ERROR_RESETS)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(SEND_BUFFER)
        // A peer that has vanished without a word is found by a ping.
        .keep_alive_interval(limits.idle_timeout / 2)
        .keep_alive_timeout(limits.write_timeout);
    builder
}

/// Serves a connection of which `input` has been read.
pub(crate) async fn serve(place: Registered, stream: Stream, peer: Peer, input: BytesMut) {
    let shared = Rc::clone(&place.shared);
    let activity = Rc::new(Activity::new(place));
    let socket = TokioIo::new(Socket::new(stream, input.freeze(), Rc::clone(&shared)));
    let service = {
        let activity = Rc::clone(&activity);
        service_fn(move |request| serve_stream(Rc::clone(&shared), activity.open_stream(), peer, request))
    };
    let mut connection = pin!(builder(&activity).serve_connection(socket, service));
    let mut told = false;
    poll_fn(|context| {
        let verdict = activity.judge();
        if verdict == Verdict::End {
            return Poll::Ready(());
        }
        if verdict == Verdict::GoAway && !told {
            told = true;
            connection.as_mut().graceful_shutdown();
        }
        let ended = connection.as_mut().poll(context).map(drop);
        if activity.count_what_stays() { Poll::Ready(()) } else { ended }
    })
    .await;
}

/// Serves one stream. Dropped before it is done when the client resets the stream or leaves.
async fn serve_stream(
    shared: Rc<Shared>,
    open: Rc<OpenStream>,
    peer: Peer,
    incoming: hyper::Request<Incoming>,
) -> Result<hyper::Response<ReplyBody>, Infallible> {
    let is_head = incoming.method() == hyper::Method::HEAD;
    let reply = match request::receive(&shared, peer, incoming).await {
        Ok((message, charge)) => {
            let reply = wait(&shared, open.listener(), message).await;
            drop(charge);
            reply
        }
        Err(refusal) => {
            shared.tally.reject(refusal.reject.status);
            refusal.response().into()
        }
    };
    Ok(response::response(&shared, reply, is_head, open))
}

async fn wait(shared: &Rc<Shared>, listener: u32, message: Vec<u8>) -> Reply {
    let mut message = Some(message);
    let mut in_flight = None;
    poll_fn(|context| {
        if let Some(message) = message.take() {
            in_flight = Some(shared.arrive(listener, message, context.waker()));
        }
        in_flight.as_mut().map_or(Poll::Pending, |in_flight| in_flight.poll_reply())
    })
    .await
}
