//! From a stream of HTTP/2 to a message.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use error_pages::PageWish;
use h2::RecvStream;
use h2::server::SendResponse;
use http::header::{CONTENT_LENGTH, COOKIE, EXPECT, HOST};
use http::request::Parts;
use tokio::time::{Instant, timeout_at};

use ::http1::{Reject, Target, check_expectation, target::check_authority};
use message::{RequestBuilder, RequestLine, Version, id};

use super::response::Piece;
use crate::bodies::Charge;
use crate::connection::Peer;
use crate::refusal::Refusal;
use crate::shared::{HTTP2_STREAM, Shared};

/// Why there is no request.
pub(super) enum Unreceived {
    /// It is answered with an error. The client may still be sending the body.
    Refused(Refusal, Option<RecvStream>),
    /// The client has reset the stream, or left, or broken the protocol: nobody waits for an answer.
    Gone,
}

/// Why there is no body.
enum Ending {
    Reject(Reject),
    Gone,
}

impl From<Reject> for Ending {
    fn from(reject: Reject) -> Self {
        Self::Reject(reject)
    }
}

/// A request whose head has come.
pub(super) struct Begun {
    message: Vec<u8>,
    /// What it holds of the memory for bodies. Its head counts too, as a few bytes can name a long one that has come before
    /// (RFC 7541, 2.3.2), and so does its stream: thirteen bytes open one.
    charge: Charge,
    /// None if there is none. What comes of it from now on is looked at where it is read alone: a body that ends meanwhile is
    /// charged as one that has come whole.
    body: Option<RecvStream>,
    /// Whether the client waits to be told to send the body.
    is_awaited: bool,
}

/// Takes in a head. This waits for nothing, and the buffers of h2 are free after it: of many streams that have been opened and not
/// been served yet each holds no more than its message.
pub(super) fn begin(
    shared: &Rc<Shared>,
    peer: &Peer,
    request: http::Request<RecvStream>,
) -> Result<Begun, Unreceived> {
    let (parts, body) = request.into_parts();
    let body = (!body.is_end_stream()).then_some(body);
    let message = match head(shared, &parts, peer) {
        Ok(message) => message,
        Err(reject) => return Err(Unreceived::Refused(refusal(reject, &parts), body)),
    };
    // Whoever expects anything else has been refused.
    let is_awaited = parts.headers.contains_key(EXPECT);
    let mut charge = Charge::new(shared);
    match charge.grow_to(HTTP2_STREAM + message.len(), body.is_none()) {
        Ok(()) => Ok(Begun { message, charge, body, is_awaited }),
        Err(reject) => Err(Unreceived::Refused(Refusal::of_message(reject, &message), body)),
    }
}

impl Begun {
    /// Receives the body, if there is one: the message, and what it holds of the memory for bodies.
    pub(super) async fn receive(
        self,
        shared: &Shared,
        respond: &mut SendResponse<Piece>,
    ) -> Result<(Vec<u8>, Charge), Unreceived> {
        let Begun { mut message, mut charge, body, is_awaited } = self;
        let Some(mut body) = body else { return Ok((message, charge)) };
        let waiting = is_awaited.then_some(respond);
        match read_body(shared, &mut body, waiting, &mut message, &mut charge).await {
            Ok(()) => Ok((message, charge)),
            Err(Ending::Reject(reject)) => {
                Err(Unreceived::Refused(Refusal::of_message(reject, &message), Some(body)))
            }
            Err(Ending::Gone) => Err(Unreceived::Gone),
        }
    }
}

fn refusal(reject: Reject, parts: &Parts) -> Refusal {
    let mut sent = parts.headers.get_all("x-request-id").iter();
    let headers =
        parts.headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    let id = sent.find_map(|value| id::sane(value.as_bytes()));
    Refusal::with_wish(reject, id, PageWish::of_headers(parts.uri.path(), headers))
}

/// Reads the body. A client that is `waiting` is told to send it, unless it comes by itself.
async fn read_body(
    shared: &Shared,
    body: &mut RecvStream,
    mut waiting: Option<&mut SendResponse<Piece>>,
    message: &mut Vec<u8>,
    charge: &mut Charge,
) -> Result<(), Ending> {
    let (begun, start) = (Instant::now(), message.len());
    let late = |_| Reject::new(408, "the body of the request took too long");
    loop {
        let deadline = begun + shared.limits().body_time(message.len() - start);
        let next = poll_fn(|context| {
            if let Err(reject) = charge.poll(context) {
                return Poll::Ready(Err(reject.into()));
            }
            let next = body.poll_data(context).map(|next| next.transpose().map_err(|_| Ending::Gone));
            if let (true, Some(client)) = (next.is_pending(), waiting.take()) {
                // A stream that has just been lost is seen at the next look at its body.
                let _ = client.send_informational(go_on());
            }
            next
        });
        // What follows the data is a trailer, which nobody reads.
        let Some(chunk) = timeout_at(deadline, next).await.map_err(late)?? else {
            return Ok(charge.grow_to(HTTP2_STREAM + message.len(), true)?);
        };
        waiting = None;
        let length = message.len() + chunk.len();
        if length - start > shared.limits().max_body {
            return Err(TOO_LARGE.into());
        }
        charge.grow_to(HTTP2_STREAM + length, body.is_end_stream())?;
        message.extend_from_slice(&chunk);
        // The bytes have come: so many can be given back.
        let _ = body.flow_control().release_capacity(chunk.len());
    }
}

/// What a client waits for that sends `Expect: 100-continue` (RFC 9110, 10.1.1).
fn go_on() -> http::Response<()> {
    let mut response = http::Response::new(());
    *response.status_mut() = http::StatusCode::CONTINUE;
    response
}

const TOO_LARGE: Reject = Reject::new(413, "the body is too large");

/// The message without its body.
fn head(shared: &Shared, parts: &Parts, peer: &Peer) -> Result<Vec<u8>, Reject> {
    let limits = shared.limits();
    if parts.method == http::Method::CONNECT {
        return Err(Reject::new(501, "CONNECT is not served: this is no proxy"));
    }
    if parts.headers.len() > limits.max_headers {
        return Err(Reject::new(431, "too many headers"));
    }
    let path_and_query = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    if path_and_query.len() > limits.max_uri {
        return Err(Reject::new(414, "the request target is too long"));
    }
    if content_length(parts).is_some_and(|length| length > limits.max_body as u64) {
        return Err(TOO_LARGE);
    }
    for (_, value) in &parts.headers {
        check_value(value.as_bytes())?;
    }
    parts.headers.get_all(EXPECT).iter().try_for_each(|value| check_expectation(value.as_bytes()))?;
    let target = Target::of(path_and_query, None)?;
    let authority = authority(parts)?;
    peer.check_host(shared, authority)?;
    let line = RequestLine {
        method: parts.method.as_str(),
        raw_path: target.raw_path,
        path: &target.path,
        query_string: target.query,
        authority,
        client: peer.client(),
        scheme: peer.scheme(),
        version: Version::Http2,
        remote: peer.remote,
        local_port: peer.local_port,
    };
    let length = parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum::<usize>();
    let host = HOST.as_str().len() + authority.len();
    let mut builder = RequestBuilder::new(&line, parts.headers.len() + 1, length + host);
    // Handlers find the host where HTTP/1 has it (RFC 9113, 8.3.1).
    if !authority.is_empty() && !parts.headers.contains_key(HOST) {
        builder.header(b"host", authority.as_bytes());
    }
    for (name, value) in parts.headers.iter().filter(|(name, _)| *name != COOKIE) {
        builder.header(name.as_str().as_bytes(), value.as_bytes());
    }
    // A client may send its cookies as several headers; whoever reads them expects one (RFC 9113, 8.2.3).
    let cookies: Vec<&[u8]> = parts.headers.get_all(COOKIE).iter().map(|value| value.as_bytes()).collect();
    if !cookies.is_empty() {
        builder.header(b"cookie", &cookies.join(&b"; "[..]));
    }
    Ok(builder.finish_head())
}

/// h2 has checked that it is a number.
fn content_length(parts: &Parts) -> Option<u64> {
    parts.headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// No value begins or ends with a blank (RFC 9113, 8.2.1).
fn check_value(value: &[u8]) -> Result<(), Reject> {
    let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    if is_blank(value.first()) || is_blank(value.last()) {
        return Err(Reject::bad("a header's value has blanks around it"));
    }
    Ok(())
}

/// `:authority`, or Host where a proxy has translated HTTP/1. Both say the same if both are there.
fn authority(parts: &Parts) -> Result<&str, Reject> {
    let mut hosts = parts.headers.get_all(HOST).iter();
    let (host, more) = (hosts.next(), hosts.next());
    if more.is_some() {
        return Err(Reject::bad("two Host headers"));
    }
    match (parts.uri.authority(), host) {
        (Some(authority), Some(host))
            if !authority.as_str().as_bytes().eq_ignore_ascii_case(host.as_bytes()) =>
        {
            Err(Reject::bad("Host is not what :authority is"))
        }
        (Some(authority), _) => check_authority(authority.as_str().as_bytes()),
        (None, Some(host)) => check_authority(host.as_bytes()),
        (None, None) => Ok(""),
    }
}
