//! The server's side of one connection, without a socket: records in, plain bytes out, and the other way round.
//!
//! A connection that waits holds no buffers: what has been received is decrypted where it was read, and only what is not a
//! whole record yet is kept; what is sent is kept until its socket has taken it. That is why this uses rustls's face without
//! buffers (`UnbufferedServerConnection`): the other keeps 4 kB for each connection and reads 4 kB at a time.

use std::borrow::Cow;
use std::cell::Cell;
use std::mem;

use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus, WriteTraffic};
use rustls::{Error, HandshakeKind, InvalidMessage, ProtocolVersion};

use crate::choice::{Chosen, take_chosen};
use crate::established::Established;
use crate::terms::Configuration;

/// Bytes that [`Session::seal`] encrypts at a time: one write of the socket.
pub const SEALED_AT_ONCE: usize = 64 << 10;
/// Bytes that may wait for the rest of a message of the handshake, and that one read needs then: the longest hellos have some 4 kB.
pub const LONGEST_HANDSHAKE: usize = 16 << 10;
/// What a client gets whose hello is longer: an alert, fatal, `decode_error` (RFC 8446, 6).
const TOO_LONG: [u8; 7] = [21, 3, 3, 0, 2, 2, 50];
/// What a record adds to its bytes: a head, the type of its content, a nonce, a tag.
const RECORD_OVERHEAD: usize = 5 + 1 + 8 + 16;
/// Plain bytes of a record.
const RECORD: usize = 16 << 10;

/// What a client begins with that speaks HTTP in clear text.
const HTTP_METHODS: [&[u8]; 9] =
    [b"GET ", b"HEAD ", b"POST ", b"PUT ", b"DELETE ", b"PATCH ", b"OPTIONS ", b"CONNECT ", b"PRI * "];
/// What it is answered.
const CLEAR_TEXT: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 55\r\n\
    Connection: close\r\n\r\nThis port speaks HTTPS: begin the address with https://";

/// How the client's bytes have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// They have not.
    Open,
    /// By close_notify: what has come is all that was sent.
    Whole,
    /// The socket ended without it: somebody may have cut something off.
    Cut,
}

/// One connection.
pub struct Session {
    configuration: Configuration,
    /// What the client has named in its hello, and got.
    chosen: Option<Chosen>,
    connection: UnbufferedServerConnection,
    /// Received, and not a whole record or message yet.
    incoming: Vec<u8>,
    /// Decrypted, and not taken by the reader yet.
    plain: Waiting,
    /// Encrypted, and not taken by the socket yet.
    outgoing: Waiting,
    /// Plain bytes of a writer that are encrypted, and that it has not been told of.
    sealed: usize,
    ending: Ending,
    failure: Option<Error>,
    /// Something has come.
    has_begun: bool,
    said_goodbye: bool,
}

/// Bytes of a buffer that waits for the next connection which has something to send.
const LARGEST_SPARE: usize = 4 << 10;

thread_local! {
    /// A buffer without bytes: most answers are sent at once, one after the other.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Bytes of which the first part has been taken.
#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    taken: usize,
}

impl Waiting {
    fn rest(&self) -> &[u8] {
        &self.bytes[self.taken..]
    }

    fn is_empty(&self) -> bool {
        self.taken == self.bytes.len()
    }

    fn take(&mut self, count: usize) {
        self.taken += count;
        if self.is_empty() {
            let mut bytes = mem::take(self).bytes;
            if (1..=LARGEST_SPARE).contains(&bytes.capacity()) {
                bytes.clear();
                SPARE.set(bytes);
            }
        }
    }

    /// Has something written at the end, into so many bytes at first; it tells how many it wrote or needs.
    fn write(&mut self, room: usize, mut write: impl FnMut(&mut [u8]) -> Result<usize, usize>) -> usize {
        if self.bytes.capacity() == 0 {
            self.bytes = SPARE.take();
        }
        let begin = self.bytes.len();
        let mut room = room;
        loop {
            self.bytes.resize(begin + room, 0);
            match write(&mut self.bytes[begin..]) {
                Ok(written) => {
                    self.bytes.truncate(begin + written);
                    return written;
                }
                Err(needed) if needed > room => room = needed,
                Err(_) => {
                    self.bytes.truncate(begin);
                    return 0;
                }
            }
        }
    }
}

impl Session {
    /// A connection of which nothing has come.
    ///
    /// # Errors
    ///
    /// Those of rustls for a configuration that cannot be.
    pub fn new(configuration: &Configuration) -> Result<Self, Error> {
        Ok(Self {
            connection: UnbufferedServerConnection::new(configuration.rustls())?,
            configuration: configuration.clone(),
            chosen: None,
            incoming: Vec::new(),
            plain: Waiting::default(),
            outgoing: Waiting::default(),
            sealed: 0,
            ending: Ending::Open,
            failure: None,
            has_begun: false,
            said_goodbye: false,
        })
    }

    /// Whether the handshake goes on.
    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// What the handshake has agreed on, once it has ended.
    ///
    /// # Errors
    /// Why the client's certificate cannot be told.
    pub fn established(&self) -> Result<Established, String> {
        let client = self.connection.peer_certificates().and_then(<[_]>::first);
        Established::of(self.configuration.terms(), self.chosen.as_ref(), client.map(AsRef::as_ref))
    }

    /// The host that the client has named in its hello.
    pub fn server_name(&self) -> Option<&str> {
        self.chosen.as_ref()?.name.as_deref()
    }

    /// Whose certificate the client has got, as text.
    pub fn shown(&self) -> Option<&str> {
        self.chosen.as_ref()?.pair.as_ref().map(|pair| pair.leaf.subject.as_str())
    }

    /// Whether anything has come from the client.
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Why the connection failed, if it did. Its alert is in [`Session::outgoing`].
    pub fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    /// How the client's bytes have ended.
    pub fn ending(&self) -> Ending {
        self.ending
    }

    /// The protocol that ALPN has chosen.
    pub fn alpn(&self) -> Option<&[u8]> {
        self.connection.alpn_protocol()
    }

    /// The version of TLS, once it is known.
    pub fn version(&self) -> Option<ProtocolVersion> {
        self.connection.protocol_version()
    }

    /// Whether it went on with an earlier one's keys.
    pub fn is_resumed(&self) -> bool {
        self.connection.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// Bytes that it holds beside the keys.
    pub fn held(&self) -> usize {
        self.incoming.capacity() + self.plain.bytes.capacity() + self.outgoing.bytes.capacity()
    }

    /// Takes what was decrypted before.
    pub fn read(&mut self, buffer: &mut [u8]) -> usize {
        let rest = self.plain.rest();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.plain.take(count);
        count
    }

    /// Takes in what the socket has brought, which is overwritten, and gives how many bytes came out into the reader's buffer.
    /// More than fits is kept for [`Session::read`]: as much as a record has.
    pub fn receive(&mut self, bytes: &mut [u8], buffer: &mut [u8]) -> usize {
        if self.failure.is_some() || self.said_goodbye {
            return 0;
        }
        if !self.has_begun && !self.begin(bytes) {
            return 0;
        }
        let mut into = Into { buffer, filled: 0 };
        if self.incoming.is_empty() {
            let used = self.advance(bytes, &mut into);
            self.incoming.extend_from_slice(&bytes[used..]);
        } else {
            let mut incoming = mem::take(&mut self.incoming);
            incoming.extend_from_slice(bytes);
            let used = self.advance(&mut incoming, &mut into);
            if used < incoming.len() {
                incoming.drain(..used);
                self.incoming = incoming;
            }
        }
        if self.failure.is_none() && self.is_handshaking() && self.incoming.len() > LONGEST_HANDSHAKE {
            self.failure = Some(Error::InvalidMessage(InvalidMessage::HandshakePayloadTooLarge));
            // Later alerts are encrypted, and rustls makes none for what it has not refused.
            if self.version().is_none() {
                self.outgoing.bytes.extend_from_slice(&TOO_LONG);
            }
        }
        if self.failure.is_some() {
            // Nobody needs it any more, and the connection may linger.
            self.incoming = Vec::new();
        }
        into.filled
    }

    /// Looks at the first bytes. False if a client speaks HTTP in clear text: it is told so in the only language that it knows. Anything
    /// else that is no TLS gets an alert, and no text.
    fn begin(&mut self, bytes: &[u8]) -> bool {
        self.has_begun = !bytes.is_empty();
        let is_http = HTTP_METHODS.iter().any(|method| bytes.starts_with(method));
        if is_http {
            self.outgoing.bytes.extend_from_slice(CLEAR_TEXT);
            self.failure = Some(Error::General("a client spoke HTTP without TLS".into()));
        }
        !is_http
    }

    /// The socket brings no more.
    pub fn receive_end(&mut self) {
        if self.ending == Ending::Open {
            self.ending = Ending::Cut;
        }
    }

    /// Goes through records until more are needed; gives how many bytes were used.
    fn advance(&mut self, bytes: &mut [u8], into: &mut Into<'_>) -> usize {
        let mut used = 0;
        loop {
            let UnbufferedStatus { mut discard, state } =
                self.connection.process_tls_records(&mut bytes[used..]);
            let (mut goes_on, mut is_traffic) = (true, false);
            match state {
                Ok(ConnectionState::ReadTraffic(mut records)) => {
                    while let Some(Ok(record)) = records.next_record() {
                        discard += record.discard;
                        into.put(record.payload, &mut self.plain);
                    }
                    is_traffic = true;
                }
                Ok(ConnectionState::ReadEarlyData(mut records)) => {
                    // None is allowed, so none comes.
                    while let Some(Ok(record)) = records.next_record() {
                        discard += record.discard;
                    }
                }
                Ok(ConnectionState::EncodeTlsData(mut message)) => {
                    self.outgoing.write(0, |room| message.encode(room).map_err(|error| encode_size(&error)));
                }
                Ok(ConnectionState::TransmitTlsData(message)) => message.done(),
                Ok(ConnectionState::PeerClosed) => self.ending = Ending::Whole,
                Err(error) => {
                    self.failure = Some(error);
                    goes_on = false;
                }
                Ok(_) => goes_on = false,
            }
            used += discard;
            // Nothing can come of no bytes but what rustls itself wants to say.
            if !goes_on || (is_traffic && used == bytes.len() && !self.connection.wants_write()) {
                break;
            }
        }
        if self.chosen.is_none() {
            self.chosen = take_chosen();
        }
        if self.failure.is_some() {
            self.take_alert();
        }
        used
    }

    /// Takes the alert of a failure. rustls looks at no more records for that: a second failure would be a fault of its caller's.
    fn take_alert(&mut self) {
        while self.connection.wants_write() {
            let state = self.connection.process_tls_records(&mut []).state;
            let Ok(ConnectionState::EncodeTlsData(mut message)) = state else { return };
            self.outgoing.write(0, |room| message.encode(room).map_err(|error| encode_size(&error)));
        }
    }

    /// Encrypts the beginning of what is to be sent. How much of it is told by [`Session::take_sealed`], once
    /// [`Session::outgoing`] is empty.
    ///
    /// # Errors
    ///
    /// When nothing can be sent: before the handshake's end, after a failure or a farewell, or with keys that are used up.
    pub fn seal<'a>(&mut self, parts: impl IntoIterator<Item = &'a [u8]>) -> Result<(), Unsendable> {
        let mut left = SEALED_AT_ONCE;
        let mut next = Cow::Borrowed(&[][..]);
        for part in parts {
            let part = &part[..part.len().min(left)];
            left -= part.len();
            // Small parts share a record, as a head and a body do, or the frames of HTTP/2.
            if !next.is_empty() && next.len() + part.len() <= RECORD {
                next.to_mut().extend_from_slice(part);
                continue;
            }
            self.seal_part(&next)?;
            next = Cow::Borrowed(part);
        }
        self.seal_part(&next)
    }

    fn seal_part(&mut self, part: &[u8]) -> Result<(), Unsendable> {
        if part.is_empty() {
            return Ok(());
        }
        let size = part.len() + part.len().div_ceil(RECORD) * RECORD_OVERHEAD;
        self.write(size, |traffic, room| traffic.encrypt(part, room))?;
        self.sealed += part.len();
        Ok(())
    }

    fn write(
        &mut self,
        size: usize,
        mut write: impl FnMut(
            &mut WriteTraffic<'_, ServerConnectionData>,
            &mut [u8],
        ) -> Result<usize, EncryptError>,
    ) -> Result<(), Unsendable> {
        if self.failure.is_some() || self.said_goodbye {
            return Err(Unsendable);
        }
        // What has come in part stays where it is known to be.
        let mut incoming = mem::take(&mut self.incoming);
        let written = loop {
            match self.connection.process_tls_records(&mut incoming).state {
                Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                    break self
                        .outgoing
                        .write(size, |room| write(&mut traffic, room).map_err(|error| encrypt_size(&error)));
                }
                Ok(ConnectionState::EncodeTlsData(mut message)) => {
                    self.outgoing.write(0, |room| message.encode(room).map_err(|error| encode_size(&error)));
                }
                Ok(ConnectionState::TransmitTlsData(message)) => message.done(),
                Ok(ConnectionState::PeerClosed) => self.ending = Ending::Whole,
                _ => break 0,
            }
        };
        self.incoming = incoming;
        if written == 0 { Err(Unsendable) } else { Ok(()) }
    }

    /// What the socket is to send.
    pub fn outgoing(&self) -> &[u8] {
        self.outgoing.rest()
    }

    /// The socket has taken so many bytes.
    pub fn has_sent(&mut self, count: usize) {
        self.outgoing.take(count);
    }

    /// How many plain bytes have been encrypted since this was asked last.
    pub fn take_sealed(&mut self) -> usize {
        mem::take(&mut self.sealed)
    }

    /// Whether plain bytes have been encrypted that the writer has not been told of.
    pub fn has_sealed(&self) -> bool {
        self.sealed > 0
    }

    /// Says by close_notify that no more comes. Nothing can be sent or received after it.
    pub fn say_goodbye(&mut self) {
        if !self.said_goodbye && !self.is_handshaking() {
            // Where it cannot be said, an alert has been sent.
            let _ = self.write(64, |traffic, room| traffic.queue_close_notify(room));
        }
        self.said_goodbye = true;
    }
}

/// Nothing can be sent any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unsendable;

/// Where plain bytes go: the reader's buffer, then what waits.
struct Into<'a> {
    buffer: &'a mut [u8],
    filled: usize,
}

impl Into<'_> {
    fn put(&mut self, bytes: &[u8], waiting: &mut Waiting) {
        let count = bytes.len().min(self.buffer.len() - self.filled);
        self.buffer[self.filled..self.filled + count].copy_from_slice(&bytes[..count]);
        self.filled += count;
        waiting.bytes.extend_from_slice(&bytes[count..]);
    }
}

/// How much room it needs.
fn encode_size(error: &EncodeError) -> usize {
    match error {
        EncodeError::InsufficientSize(size) => size.required_size,
        EncodeError::AlreadyEncoded => 0,
    }
}

fn encrypt_size(error: &EncryptError) -> usize {
    match error {
        EncryptError::InsufficientSize(size) => size.required_size,
        EncryptError::EncryptExhausted => 0,
    }
}
