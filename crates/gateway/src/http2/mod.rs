//! HTTP/2, by h2.
//!
//! - `socket`: the connection's bytes, those included that were read to find out the protocol.
//! - `frames`: follows a client's frames by their lengths.
//! - `settings`: looks for a window in the client's settings that no window can have.
//! - `credit`: what the frames of a client are good for.
//! - `activity`: what goes on on a connection, and when it is late.
//! - `keep_alive`: finds peers that have vanished.
//! - `streams`: the life of a stream.
//! - `request`: from a stream to a message.
//! - `response`: from a message to a stream.
//!
//! h2 is told all its limits, because the defaults are made for other servers. What it does not limit is done
//! here: bodies and their duration, idle connections, clients that do not take their responses.
//!
//! hyper, which does the same for others, has no way to say `100 Continue` before a body is awaited (RFC 9110, 10.1.1).

mod activity;
mod credit;
mod frames;
mod keep_alive;
mod request;
mod response;
mod settings;
mod socket;
mod streams;

use std::future::poll_fn;
use std::mem;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use bytes::BytesMut;
use h2::Reason;
use h2::server::Builder;

use crate::connection::{Link, Peer, Registered};
use crate::limits::Limits;
use crate::shared::Shared;
use crate::stream::Stream;

use activity::{Activity, Verdict};
use keep_alive::KeepAlive;
use response::Piece;
use socket::{Heard, Socket};

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

fn builder(limits: &Limits) -> Builder {
    let mut builder = Builder::new();
    builder
        .max_concurrent_streams(limits.max_streams)
        .max_header_list_size(u32::try_from(limits.max_head).unwrap_or(u32::MAX))
        .max_pending_accept_reset_streams(MAX_PENDING_RESETS)
        .max_local_error_reset_streams(Some(MAX_ERROR_RESETS))
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buffer_size(SEND_BUFFER);
    builder
}

/// Serves a connection of which `input` has been read.
pub(crate) async fn serve(place: Registered, stream: Stream, peer: Peer, input: BytesMut) {
    let (shared, link) = (Rc::clone(&place.shared), Rc::clone(&place.link));
    let activity = Rc::new(Activity::new(place));
    let mut connection = pin!(run(&shared, &activity, link, stream, Rc::new(peer), input));
    poll_fn(|context| {
        if activity.judge() == Verdict::End {
            return Poll::Ready(());
        }
        let ended = connection.as_mut().poll(context).map(drop);
        let must_end = activity.count_what_stays() || activity.gave_way();
        activity.note_what_is_awaited();
        if must_end { Poll::Ready(()) } else { ended }
    })
    .await;
    activity.count_what_ends();
}

/// Shakes hands, and spawns a task for each stream until the connection is over.
async fn run(
    shared: &Rc<Shared>,
    activity: &Rc<Activity>,
    link: Rc<Link>,
    stream: Stream,
    peer: Rc<Peer>,
    input: BytesMut,
) -> Result<(), h2::Error> {
    let limits = shared.limits();
    let heard = Rc::new(Heard::new(shared.clock.now()));
    let socket = Socket::new(stream, input.freeze(), Rc::clone(shared), link, Rc::clone(&heard));
    let mut connection = builder(&limits).handshake::<_, Piece>(socket).await?;
    let mut keep_alive = KeepAlive::new(connection.ping_pong(), &limits, Rc::clone(shared));
    let mut told = false;
    poll_fn(|context| {
        if activity.stalls() {
            // What runs is answered, and nothing new is taken.
            activity.leave();
        }
        if activity.is_leaving() && !mem::replace(&mut told, true) {
            connection.graceful_shutdown();
        }
        let ending = if activity.gave_way() || keep_alive.poll(context, &heard).is_ready() {
            Some(Reason::NO_ERROR)
        } else if activity.stalls() && !activity.has_running() {
            Some(Reason::ENHANCE_YOUR_CALM)
        } else {
            while let Poll::Ready(accepted) = connection.poll_accept(context) {
                let Some(accepted) = accepted else { return Poll::Ready(Ok(())) };
                let (request, respond) = accepted?;
                streams::spawn(shared, activity.open_stream(), &peer, request, respond);
            }
            heard.error()
        };
        let Some(reason) = ending else { return Poll::Pending };
        connection.abrupt_shutdown(reason);
        // A client that does not even take the farewell is not waited for.
        let _ = connection.poll_closed(context);
        Poll::Ready(Ok(()))
    })
    .await
}
