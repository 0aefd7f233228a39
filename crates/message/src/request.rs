//! A request: a fixed head of numbers, a table of headers, the text, and the body as the rest.
//!
//! ```text
//!  0  u8   version: 10, 11 or 20         1  u8   scheme: 0 http, 1 https
//!  2  u8   address: 0 none, 4, 6         3  u8   what is asked of it without reading it: `said.rs`
//!  4  u16  remote port                   6  u16  local port, 0 for a UNIX socket
//!  8  16 bytes of address
//! 24  u32  number of headers
//! 28  u32  ends, in the text, of: method, raw path, path, query string, authority, client, headers, id
//! 60  table: for each header u32 end of name, u32 end of value, in the text
//!     text, in the order of the ends; all of it UTF-8 without NUL
//!     body, to the end of the message
//! ```
//!
//! Each part of the text begins where the one before it ends. The path is empty if it is the same as the raw
//! path. The body has no length of its own, so that it can be appended as it arrives.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::id;
use crate::layout::{Malformed, put_u16, put_u32, u16_at, u32_at};
use crate::said::{IS_PERSONAL, SAYS, said};

pub(crate) const ENDS: usize = 28;
pub(crate) const FIXED: usize = 60;
const PARTS: usize = 8;
const METHOD: usize = 0;
pub(crate) const RAW_PATH: usize = 1;
pub(crate) const PATH: usize = 2;
const QUERY: usize = 3;
const AUTHORITY: usize = 4;
pub(crate) const CLIENT: usize = 5;
const HEADERS: usize = 6;
const ID: usize = 7;

/// The protocol that a request came by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Version {
    /// HTTP/1.0
    Http10,
    /// HTTP/1.1
    #[default]
    Http11,
    /// HTTP/2
    Http2,
}

/// Whether the connection was encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scheme {
    /// Plain.
    #[default]
    Http,
    /// Over TLS.
    Https,
}

impl Scheme {
    /// `http` or `https`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

/// Everything of a request but headers and body. The texts must have no NUL: [`Request::parse`] refuses it.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestLine<'a> {
    /// GET, POST, …, as sent.
    pub method: &'a str,
    /// The path as sent, percent-encoded.
    pub raw_path: &'a str,
    /// The path percent-decoded.
    pub path: &'a str,
    /// What follows the first `?`, as sent; empty if nothing does.
    pub query_string: &'a str,
    /// Host and port that the client addressed; empty if it named none.
    pub authority: &'a str,
    /// Who the client is, by its certificate, as a JSON object; empty if it has shown none.
    pub client: &'a str,
    /// Whether the connection was encrypted.
    pub scheme: Scheme,
    /// The protocol.
    pub version: Version,
    /// The peer; none for a UNIX socket.
    pub remote: Option<SocketAddr>,
    /// The port that the client connected to, 0 for a UNIX socket.
    pub local_port: u16,
}

/// Writes a request.
#[derive(Debug)]
pub struct RequestBuilder {
    bytes: Vec<u8>,
    /// Headers that the table has room for.
    room: usize,
    /// Headers written.
    count: usize,
    /// Where the text's X-Request-Id stands, if a sane one came.
    id: Option<(usize, usize)>,
}

impl RequestBuilder {
    /// Begins a request. `headers` is how many will come, and `length` is the bytes of their names and values: other numbers are
    /// right too, but cost a move of what is written already, and memory.
    pub fn new(line: &RequestLine<'_>, headers: usize, length: usize) -> Self {
        let text = line.method.len()
            + 2 * line.raw_path.len()
            + line.query_string.len()
            + line.authority.len()
            + line.client.len();
        let mut bytes = Vec::with_capacity(FIXED + text + 8 * headers + length + id::LENGTH);
        bytes.resize(FIXED + 8 * headers, 0);
        put_connection(&mut bytes, line);
        let mut builder = Self { bytes, room: headers, count: 0, id: None };
        let path = if line.path == line.raw_path { "" } else { line.path };
        let parts = [line.method, line.raw_path, path, line.query_string, line.authority, line.client];
        for (part, text) in parts.into_iter().enumerate() {
            if !text.is_empty() {
                builder.bytes.extend_from_slice(text.as_bytes());
            }
            builder.put_end(part);
        }
        builder
    }

    /// Appends a header. The name becomes lower-case; a name or value that is not UTF-8 is read as Latin-1.
    /// The first X-Request-Id that is sane becomes the request's id.
    pub fn header(&mut self, name: &[u8], value: &[u8]) {
        if self.count == self.room {
            let at = FIXED + 8 * self.room;
            self.bytes.splice(at..at, [0; 8]);
            self.room += 1;
        }
        let entry = FIXED + 8 * self.count;
        let start = self.bytes.len();
        push_text(&mut self.bytes, name);
        self.bytes[start..].make_ascii_lowercase();
        let middle = self.bytes.len();
        self.bytes[SAYS] |= said(&self.bytes[start..], value);
        let end = self.text_len();
        put_u32(&mut self.bytes, entry, end);
        push_text(&mut self.bytes, value);
        let end = self.text_len();
        put_u32(&mut self.bytes, entry + 4, end);
        self.count += 1;
        if self.id.is_none()
            && &self.bytes[start..middle] == b"x-request-id"
            && id::is_sane(&self.bytes[middle..])
        {
            let text = FIXED + 8 * self.room;
            self.id = Some((middle - text, self.bytes.len() - text));
        }
    }

    /// The message as it stands, without a body: whatever is appended to it is the body.
    pub fn finish_head(self) -> Vec<u8> {
        self.finish_with(None)
    }

    /// The head, with an id that the request has already; none if it is still to get one.
    fn finish_with(mut self, known: Option<&str>) -> Vec<u8> {
        let unused = FIXED + 8 * self.count..FIXED + 8 * self.room;
        if !unused.is_empty() {
            self.bytes.drain(unused);
            self.room = self.count;
        }
        self.put_end(HEADERS);
        match (known, self.id) {
            (Some(id), _) => self.bytes.extend_from_slice(id.as_bytes()),
            (None, Some((start, end))) => {
                let text = FIXED + 8 * self.room;
                // Many may wait for their bodies: none is twice as large as it has to be.
                self.bytes.reserve_exact(end - start);
                self.bytes.extend_from_within(text + start..text + end);
            }
            (None, None) => id::push_new(&mut self.bytes),
        }
        self.put_end(ID);
        let count = self.count as u32;
        put_u32(&mut self.bytes, 24, count);
        self.bytes
    }

    /// The message with its body.
    pub fn finish(self, body: &[u8]) -> Vec<u8> {
        let mut bytes = self.finish_head();
        bytes.extend_from_slice(body);
        bytes
    }

    /// The length of the text so far. Limits of the gateway keep a head far below 4 GiB.
    fn text_len(&self) -> u32 {
        u32::try_from(self.bytes.len() - FIXED - 8 * self.room).unwrap_or(u32::MAX)
    }

    fn put_end(&mut self, part: usize) {
        let end = self.text_len();
        put_u32(&mut self.bytes, ENDS + 4 * part, end);
    }
}

fn put_connection(bytes: &mut [u8], line: &RequestLine<'_>) {
    bytes[0] = match line.version {
        Version::Http10 => 10,
        Version::Http11 => 11,
        Version::Http2 => 20,
    };
    bytes[SAYS] = if line.client.is_empty() { 0 } else { IS_PERSONAL };
    bytes[1] = match line.scheme {
        Scheme::Http => 0,
        Scheme::Https => 1,
    };
    put_u16(bytes, 6, line.local_port);
    let Some(remote) = line.remote else { return };
    put_u16(bytes, 4, remote.port());
    match remote.ip().to_canonical() {
        IpAddr::V4(address) => {
            bytes[2] = 4;
            bytes[8..12].copy_from_slice(&address.octets());
        }
        IpAddr::V6(address) => {
            bytes[2] = 6;
            bytes[8..24].copy_from_slice(&address.octets());
        }
    }
}

/// Appends text, read as Latin-1 if it is not UTF-8.
fn push_text(out: &mut Vec<u8>, text: &[u8]) {
    if std::str::from_utf8(text).is_ok() {
        out.extend_from_slice(text);
        return;
    }
    for &byte in text {
        out.extend_from_slice(char::from(byte).encode_utf8(&mut [0; 4]).as_bytes());
    }
}

impl id::Kept {
    /// The id in a message that [`RequestBuilder`] has written; empty in any other.
    pub fn of(message: &[u8]) -> Self {
        Self::new(id_in(message).unwrap_or_default())
    }
}

/// The id in a message that [`RequestBuilder`] has written, without a look at the rest of it.
fn id_in(message: &[u8]) -> Option<&[u8]> {
    let number = |at| u32_at(message, at).map(|number| number as usize);
    let text = FIXED + 8 * number(24)?;
    message.get(text + number(ENDS + 4 * HEADERS)?..text + number(ENDS + 4 * ID)?)
}

/// A view of a request. Copying it copies pointers.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    head: &'a [u8],
    table: &'a [u8],
    text: &'a str,
    body: &'a [u8],
    /// Ends of the parts, each checked to be in order and between characters.
    ends: [u32; PARTS],
}

impl<'a> Request<'a> {
    /// Checks every bound of the message and gives a view of it.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (head, rest) = bytes.split_at_checked(FIXED).ok_or(Malformed("shorter than its head"))?;
        check_connection(head)?;
        let count = u32_at(head, 24).ok_or(Malformed("no number of headers"))? as usize;
        let table = count.checked_mul(8).ok_or(Malformed("too many headers"))?;
        let (table, rest) = rest.split_at_checked(table).ok_or(Malformed("table of headers out of range"))?;
        let mut ends = [0; PARTS];
        for (part, end) in ends.iter_mut().enumerate() {
            *end = u32_at(head, ENDS + 4 * part).ok_or(Malformed("no end"))?;
        }
        let (text, body) = rest.split_at_checked(ends[ID] as usize).ok_or(Malformed("text out of range"))?;
        let text = std::str::from_utf8(text).map_err(|_| Malformed("text is not UTF-8"))?;
        if memchr::memchr(0, text.as_bytes()).is_some() {
            return Err(Malformed("text has a NUL"));
        }
        let request = Self { head, table, text, body, ends };
        request.check_ends()?;
        Ok(request)
    }

    /// Gives a view again of a message that [`Request::parse`] has checked, without checking it.
    ///
    /// # Safety
    /// `parse` has accepted these very bytes.
    pub unsafe fn parse_again(bytes: &'a [u8]) -> Self {
        let (head, rest) = bytes.split_at(FIXED);
        let number = |at| u32_at(head, at).unwrap_or_default();
        let (table, rest) = rest.split_at(number(24) as usize * 8);
        let ends: [u32; PARTS] = std::array::from_fn(|part| number(ENDS + 4 * part));
        let (text, body) = rest.split_at(ends[ID] as usize);
        // SAFETY: by contract.
        let text = unsafe { std::str::from_utf8_unchecked(text) };
        Self { head, table, text, body, ends }
    }

    fn check_ends(&self) -> Result<(), Malformed> {
        let mut start = 0;
        for end in self.ends {
            self.text.get(start..end as usize).ok_or(Malformed("a part of the text out of range"))?;
            start = end as usize;
        }
        let mut start = self.ends[CLIENT];
        for at in (0..self.table.len()).step_by(4) {
            let end = u32_at(self.table, at).ok_or(Malformed("table of headers out of range"))?;
            self.text.get(start as usize..end as usize).ok_or(Malformed("a header out of range"))?;
            start = end;
        }
        if start == self.ends[HEADERS] { Ok(()) } else { Err(Malformed("headers do not fill their part")) }
    }

    fn part(&self, part: usize) -> &'a str {
        let start = if part == 0 { 0 } else { self.ends[part - 1] };
        // `check_ends` has looked at this range, so there is always a text.
        self.text.get(start as usize..self.ends[part] as usize).unwrap_or_default()
    }

    /// The id: X-Request-Id if the client sent a sane one, otherwise one made.
    pub fn id(&self) -> &'a str {
        self.part(ID)
    }

    /// GET, POST, …, as sent.
    pub fn method(&self) -> &'a str {
        self.part(METHOD)
    }

    /// The path, percent-decoded, without NUL; `*` for `OPTIONS *`.
    pub fn path(&self) -> &'a str {
        match self.part(PATH) {
            "" => self.raw_path(),
            path => path,
        }
    }

    /// The path as sent, percent-encoded.
    pub fn raw_path(&self) -> &'a str {
        self.part(RAW_PATH)
    }

    /// What follows the first `?`, as sent; empty if nothing does.
    pub fn query_string(&self) -> &'a str {
        self.part(QUERY)
    }

    /// Host and port that the client addressed; empty if it named none.
    pub fn authority(&self) -> &'a str {
        self.part(AUTHORITY)
    }

    /// Who the client is, by its certificate, as a JSON object; empty if it has shown none.
    pub fn client(&self) -> &'a str {
        self.part(CLIENT)
    }

    /// Whether the connection was encrypted.
    pub fn scheme(&self) -> Scheme {
        if self.head[1] == 1 { Scheme::Https } else { Scheme::Http }
    }

    /// The protocol that the request came by.
    pub fn version(&self) -> Version {
        match self.head[0] {
            10 => Version::Http10,
            20 => Version::Http2,
            _ => Version::Http11,
        }
    }

    /// The peer's address and port; none for a UNIX socket. An IPv4 address mapped into IPv6 is given as IPv4.
    pub fn remote(&self) -> Option<SocketAddr> {
        let address = self.head.get(8..24)?;
        let ip = match self.head[2] {
            4 => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(&address[..4]).ok()?)),
            6 => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(address).ok()?)),
            _ => return None,
        };
        Some(SocketAddr::new(ip, u16_at(self.head, 4)?))
    }

    /// The port that the client connected to, 0 for a UNIX socket.
    pub fn local_port(&self) -> u16 {
        u16_at(self.head, 6).unwrap_or_default()
    }

    /// Names, in lower case, and values, in the order sent.
    pub fn headers(&self) -> Headers<'a> {
        Headers { table: self.table, text: self.text, at: self.ends[CLIENT] as usize }
    }

    /// The first header of this lower-case name.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        self.headers().find(|header| header.0 == name).map(|header| header.1)
    }

    /// Bytes of the message.
    pub fn size(&self) -> usize {
        self.head.len() + self.table.len() + self.text.len() + self.body.len()
    }

    /// The body, complete and without any transfer coding.
    pub fn body(&self) -> &'a [u8] {
        self.body
    }

    /// The message of the request by which its client would read what this one is to change: a GET of the same, without what is said of a
    /// body and without conditions.
    pub fn to_read(&self) -> Vec<u8> {
        self.to_read_at(self.raw_path(), self.path(), self.query_string())
    }

    /// The same at another path, as it is sent and percent-decoded, with this query string.
    pub fn to_read_at(&self, raw_path: &str, path: &str, query_string: &str) -> Vec<u8> {
        let line = RequestLine { method: "GET", raw_path, path, query_string, ..self.line() };
        const OF_WRITES: [&str; 4] = ["expect", "range", "trailer", "transfer-encoding"];
        let is_kept = |name: &str| {
            !name.starts_with("content-") && !name.starts_with("if-") && !OF_WRITES.contains(&name)
        };
        self.again(&line, is_kept).finish_with(Some(self.id()))
    }

    /// The message of the same request with a body of so many bytes, which is that of its own without its content coding, and stands behind this. What
    /// was said of the packed bytes is left out.
    pub fn head_for_plain_body(&self, length: usize) -> Vec<u8> {
        const OF_PACKED: [&str; 6] =
            ["content-encoding", "content-length", "content-digest", "content-md5", "digest", "repr-digest"];
        let mut builder = self.again(&self.line(), |name| !OF_PACKED.contains(&name));
        builder.header(b"content-length", length.to_string().as_bytes());
        builder.finish_with(Some(self.id()))
    }

    /// Begins a message with the headers of this one that are kept.
    fn again(&self, line: &RequestLine<'_>, is_kept: impl Fn(&str) -> bool) -> RequestBuilder {
        let mut builder = RequestBuilder::new(line, self.headers().count() + 1, 0);
        for (name, value) in self.headers().filter(|(name, _)| is_kept(name)) {
            builder.header(name.as_bytes(), value.as_bytes());
        }
        builder
    }

    /// All but headers and body.
    fn line(&self) -> RequestLine<'a> {
        RequestLine {
            method: self.method(),
            raw_path: self.raw_path(),
            path: self.path(),
            query_string: self.query_string(),
            authority: self.authority(),
            client: self.client(),
            scheme: self.scheme(),
            version: self.version(),
            remote: self.remote(),
            local_port: self.local_port(),
        }
    }
}

fn check_connection(head: &[u8]) -> Result<(), Malformed> {
    match head {
        [10 | 11 | 20, 0 | 1, 0 | 4 | 6, 0..=7, ..] => Ok(()),
        _ => Err(Malformed("unknown version, scheme or kind of address")),
    }
}

/// The headers of a request.
#[derive(Debug, Clone)]
pub struct Headers<'a> {
    table: &'a [u8],
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Headers<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let middle = u32_at(self.table, 0)? as usize;
        let end = u32_at(self.table, 4)? as usize;
        let header = (self.text.get(self.at..middle)?, self.text.get(middle..end)?);
        self.table = &self.table[8..];
        self.at = end;
        Some(header)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.table.len() / 8, Some(self.table.len() / 8))
    }
}

impl ExactSizeIterator for Headers<'_> {}
