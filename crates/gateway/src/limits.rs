//! What one client may take of the server: sizes, times and counts.

use std::time::Duration;

use crate::parting::Parting;

/// Limits of a server. They can be changed while it runs; what has begun keeps the time it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a request's head, and of the trailers of a body. Beyond: 431. Default 16 KiB.
    pub max_head: usize,
    /// Bytes of the request target. Beyond: 414. Default 8 KiB.
    pub max_uri: usize,
    /// Headers of a request. Beyond: 431. Default 100.
    pub max_headers: usize,
    /// Bytes of a request's body. Beyond: 413, as soon as Content-Length or a chunk's size tells. Default 8 MiB.
    pub max_body: usize,
    /// Bytes of all bodies in memory, of HTTP/2 with their heads, from their arrival to the reply. Beyond, those that have
    /// not come whole give way: 408. Where there are none: 503. Default 256 MiB.
    pub max_bodies: usize,
    /// Bytes of all replies in memory, until their clients have taken them. The owner looks at
    /// [`crate::Server::room_for_replies`] before it hands in one above [`crate::SMALL_REPLY`]; a smaller one counts, with
    /// 4 KiB for what belongs to it, if its client does not take it at once, and is dropped where there is no room.
    /// Default 256 MiB.
    pub max_replies: usize,
    /// From the first byte of a head to its last, and from a connection's begin to its first byte.
    /// Beyond: 408, without an answer if nothing came. Default 10 s.
    pub head_timeout: Duration,
    /// From a connection's begin to the end of the handshake of TLS. Beyond: it is closed. Default 10 s.
    pub tls_handshake_timeout: Duration,
    /// From the end of a head to the end of its body. Beyond: 408. Default 60 s.
    pub body_timeout: Duration,
    /// Bytes per second that a body must come by, after a grace of `head_timeout`; 0 for none.
    /// Below: 408. Default 240.
    pub min_body_rate: u64,
    /// How long a connection may wait for its next request. Default 75 s.
    pub idle_timeout: Duration,
    /// How long a client may take none of its response before the connection is closed; over HTTP/2 the stream is
    /// reset. Default 30 s.
    pub write_timeout: Duration,
    /// Bytes per second that a client must take of its response, after a grace of `write_timeout`; 0 for none. Below,
    /// the connection is closed; over HTTP/2 the stream is reset. Default 240. While replies hold more than half of
    /// [`Self::max_replies`], a client must besides keep the pace that takes its whole response in five times
    /// `write_timeout`, the grace included: the slowest give way.
    pub min_response_rate: u64,
    /// Open connections for HTTP. Beyond, one that waits for its client is closed; where there is none: 503 at once. The owner must allow as many file descriptors. Default 10,000.
    pub max_connections: usize,
    /// Open connections for lines. Beyond: closed at once, unless one whose first line has not come can give way. Default 1,000.
    pub max_line_connections: usize,
    /// Of these, those of one address of IPv4, of one network of 64 bits of IPv6, or by UNIX sockets. Default 500.
    pub max_line_connections_of_one: usize,
    /// How long a client for lines may take until its first line begins. Default 10 min.
    pub first_line_timeout: Duration,
    /// Bytes of lines in memory, from their arrival to the commit; each listener has the same share. Default 256 MiB.
    pub max_lines: usize,
    /// How long a client for lines may be out of reach before its connection is closed, in whole seconds. Default 2 min.
    pub vanish_timeout: Duration,
    /// How long a connection is read on after an answer that ends it, as its client may still be sending. Default 5 s without a byte,
    /// 30 s in all.
    pub parting: Parting,
    /// The same after a line that ends a connection for lines. Default 1 s, 5 s.
    pub parting_of_lines: Parting,
    /// Connections that are read on so. Beyond: the one that was answered first is closed. Default 256.
    pub max_parting: usize,
    /// Streams of one HTTP/2 connection at a time; taken in when the connection begins. Default 128.
    pub max_streams: u32,
    /// Bytes that are read ahead on an HTTP/1 connection while a request runs. A client that has sent more is
    /// not seen leaving before its reply. Default 16 KiB.
    pub max_pipelined: usize,
    /// Whether an HTTP/1 client that shuts down its sending side still wants its reply. A client that is killed
    /// sends the same FIN, and nothing more until it is written to: with `false`, the default, it is gone and
    /// its request is reported by [`crate::Server::gone`]; with `true` it is answered, and found gone only by
    /// a reset.
    pub half_close: bool,
}

impl Default for Limits {
    fn default() -> Self {
        let sizes = ::http1::Limits::default();
        Self {
            max_head: sizes.max_head,
            max_uri: sizes.max_uri,
            max_headers: sizes.max_headers,
            max_body: sizes.max_body,
            max_bodies: 256 << 20,
            max_replies: 256 << 20,
            head_timeout: Duration::from_secs(10),
            tls_handshake_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(60),
            min_body_rate: 240,
            idle_timeout: Duration::from_secs(75),
            write_timeout: Duration::from_secs(30),
            min_response_rate: 240,
            max_connections: 10_000,
            max_line_connections: 1000,
            max_line_connections_of_one: 500,
            first_line_timeout: Duration::from_secs(600),
            max_lines: 256 << 20,
            vanish_timeout: Duration::from_secs(120),
            parting: Parting { quiet: Duration::from_secs(5), time: Duration::from_secs(30) },
            parting_of_lines: Parting { quiet: Duration::from_secs(1), time: Duration::from_secs(5) },
            max_parting: 256,
            max_streams: 128,
            max_pipelined: 16 << 10,
            half_close: false,
        }
    }
}

impl Limits {
    /// How long a body may take of which so much has come: as long as all of one may, and no longer than it takes
    /// at the least rate.
    pub(crate) fn body_time(&self, received: usize) -> Duration {
        self.body_timeout.min(self.head_timeout.saturating_add(time_at(self.min_body_rate, received)))
    }

    /// How long a response of a length may take of which so much has been taken, while replies hold so much memory.
    pub(crate) fn response_time(&self, taken: usize, length: usize, held: usize) -> Duration {
        let at_least_rate = time_at(self.min_response_rate, taken);
        let at_pace = if held > self.max_replies / 2 {
            self.write_timeout.saturating_mul(4).mul_f64(taken as f64 / length.max(1) as f64)
        } else {
            Duration::MAX
        };
        self.write_timeout.saturating_add(at_least_rate.min(at_pace))
    }

    /// The limits that the codec of HTTP/1 looks at.
    pub(crate) fn sizes(&self) -> ::http1::Limits {
        ::http1::Limits {
            max_head: self.max_head,
            max_uri: self.max_uri,
            max_headers: self.max_headers,
            max_body: self.max_body,
        }
    }
}

/// How long so many bytes take at a rate of bytes per second; for ever without one.
fn time_at(rate: u64, bytes: usize) -> Duration {
    match (bytes as u64).saturating_mul(1000).checked_div(rate) {
        Some(milliseconds) => Duration::from_millis(milliseconds),
        None => Duration::MAX,
    }
}
