//! A response: status, flags, headers as HTTP/1 writes them, and the body as the rest.
//!
//! ```text
//! 0  u16  status, 200 to 599
//! 2  u16  flags
//! 4  u32  length of the headers
//! 8  headers: "name: value\r\n", names in lower case
//!    body, to the end of the message
//! ```

use std::fmt;

use crate::header::{self, BadHeader, Place};
use crate::layout::{Malformed, put_u16, put_u32, u16_at, u32_at};

const FIXED: usize = 8;
const CLOSE: u16 = 1;
const HAS_DATE: u16 = 2;
const HAS_SERVER: u16 = 4;
const HAS_REQUEST_ID: u16 = 8;
const HAS_CONTENT_TYPE_OPTIONS: u16 = 16;
const HAS_CACHE_CONTROL: u16 = 32;
const IS_PROBLEM: u16 = 64;

/// A status that no response can have: below 200 it would not end the exchange, above 599 it has no meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadStatus(
    /// The status.
    pub u16,
);

impl fmt::Display for BadStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "status {} of a response is not from 200 to 599", self.0)
    }
}

impl std::error::Error for BadStatus {}

/// Writes a response: first its headers, then its body.
#[derive(Debug)]
pub struct ResponseBuilder {
    bytes: Vec<u8>,
    flags: u16,
}

impl ResponseBuilder {
    /// Begins a response with a status from 200 to 599.
    pub fn new(status: u16) -> Result<Self, BadStatus> {
        Self::in_buffer(Vec::with_capacity(256), status)
    }

    /// Begins a response in memory that is there already; what it held is forgotten.
    pub fn in_buffer(mut buffer: Vec<u8>, status: u16) -> Result<Self, BadStatus> {
        if !(200..=599).contains(&status) {
            return Err(BadStatus(status));
        }
        buffer.clear();
        buffer.resize(FIXED, 0);
        put_u16(&mut buffer, 0, status);
        Ok(Self { bytes: buffer, flags: 0 })
    }

    /// Appends a header. Headers about the connection and the framing are left out, because they are the
    /// gateway's; `Connection: close` asks it to close. Date, Server, X-Request-Id, X-Content-Type-Options and Cache-Control replace the
    /// gateway's own.
    pub fn header(&mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<(), BadHeader> {
        let (name, value) = (name.as_ref(), value.as_ref().trim_ascii());
        if !header::is_token(name) {
            return Err(BadHeader::Name(String::from_utf8_lossy(name).into_owned()));
        }
        if !header::is_value(value) {
            return Err(BadHeader::Value(String::from_utf8_lossy(name).into_owned()));
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(name);
        self.bytes[start..].make_ascii_lowercase();
        match header::place(&self.bytes[start..]) {
            Place::Sent => {}
            Place::Date => self.flags |= HAS_DATE,
            Place::Server => self.flags |= HAS_SERVER,
            Place::RequestId => self.flags |= HAS_REQUEST_ID,
            Place::ContentTypeOptions => self.flags |= HAS_CONTENT_TYPE_OPTIONS,
            Place::CacheControl => self.flags |= HAS_CACHE_CONTROL,
            Place::Connection => {
                let mut options = value.split(|&byte| byte == b',');
                if options.any(|option| option.trim_ascii().eq_ignore_ascii_case(b"close")) {
                    self.close();
                }
                self.bytes.truncate(start);
                return Ok(());
            }
            Place::Dropped => {
                self.bytes.truncate(start);
                return Ok(());
            }
        }
        self.bytes.extend_from_slice(b": ");
        self.bytes.extend_from_slice(value);
        self.bytes.extend_from_slice(b"\r\n");
        Ok(())
    }

    /// Asks the gateway to close the connection after this response.
    pub fn close(&mut self) {
        self.flags |= CLOSE;
    }

    /// Notes that the body is the document of an error that no handler has written, so that a browser may get a page in its place.
    pub fn is_problem(&mut self) {
        self.flags |= IS_PROBLEM;
    }

    /// The message as it stands, without a body: whatever is appended to it is the body.
    pub fn finish_head(mut self) -> Vec<u8> {
        let headers = u32::try_from(self.bytes.len() - FIXED).unwrap_or(u32::MAX);
        put_u16(&mut self.bytes, 2, self.flags);
        put_u32(&mut self.bytes, 4, headers);
        self.bytes
    }

    /// The message with its body.
    pub fn finish(self, body: &[u8]) -> Vec<u8> {
        let mut bytes = self.finish_head();
        bytes.extend_from_slice(body);
        bytes
    }
}

/// A response with one more header, as [`ResponseBuilder::header`] writes it; as it was if the header, or the response, is none.
pub fn with_header(response: &[u8], name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Vec<u8> {
    let added = || {
        let known = Response::parse(response).ok()?;
        let body = known.body();
        let mut head = Vec::with_capacity(response.len() + 64);
        head.extend_from_slice(&response[..response.len() - body.len()]);
        let mut builder = ResponseBuilder { bytes: head, flags: known.flags };
        builder.header(name, value).ok()?;
        Some(builder.finish(body))
    };
    added().unwrap_or_else(|| response.to_vec())
}

/// A response with another status; as it was if no response can have that status, or it is none.
pub fn set_status(response: &mut [u8], status: u16) {
    if (200..=599).contains(&status) && response.len() >= FIXED {
        put_u16(response, 0, status);
    }
}

/// Has a response say that it depends on this header of the request, by its name in lower case, beside what it says already.
///
/// ```
/// let mut response = message::ResponseBuilder::new(200)?.finish(b"[]");
/// message::vary_by(&mut response, "accept");
/// let response = message::Response::parse(&response)?;
/// assert!(response.headers().eq([(&b"vary"[..], &b"accept"[..])]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn vary_by(response: &mut Vec<u8>, name: &str) {
    const START: &[u8] = b"vary: ";
    let Ok(known) = Response::parse(response) else { return };
    let is_said = |(other, value): (&[u8], &[u8])| {
        let mut names = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        other == b"vary" && names.any(|said| said == b"*" || said.eq_ignore_ascii_case(name.as_bytes()))
    };
    if known.headers().any(is_said) {
        return;
    }
    let block = known.header_block();
    let mut end = 0;
    let vary_end = block.split_inclusive(|byte| *byte == b'\n').find_map(|line| {
        end += line.len();
        line.starts_with(START).then_some(end - 2)
    });
    let (place, added) = match vary_end {
        Some(end) => (end, format!(", {name}")),
        None => (block.len(), format!("vary: {name}\r\n")),
    };
    let length = (block.len() + added.len()) as u32;
    response.splice(FIXED + place..FIXED + place, added.into_bytes());
    put_u32(response, 4, length);
}

/// A view of a response. Copying it copies pointers.
#[derive(Debug, Clone, Copy)]
pub struct Response<'a> {
    status: u16,
    flags: u16,
    headers: &'a [u8],
    body: &'a [u8],
}

impl<'a> Response<'a> {
    /// Checks the bounds and the status. That the headers are well formed is what [`ResponseBuilder`] sees to.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let short = Malformed("shorter than its head");
        let status = u16_at(bytes, 0).ok_or(short)?;
        let flags = u16_at(bytes, 2).ok_or(short)?;
        let headers = u32_at(bytes, 4).ok_or(short)? as usize;
        if !(200..=599).contains(&status) {
            return Err(Malformed("status is not from 200 to 599"));
        }
        let rest = bytes.get(FIXED..).ok_or(short)?;
        let (headers, body) = rest.split_at_checked(headers).ok_or(Malformed("headers out of range"))?;
        if !headers.is_empty() && !headers.ends_with(b"\r\n") {
            return Err(Malformed("headers do not end with a line"));
        }
        Ok(Self { status, flags, headers, body })
    }

    /// The status, from 200 to 599.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Whether the connection is to be closed afterwards.
    pub fn closes(&self) -> bool {
        self.flags & CLOSE != 0
    }

    /// Whether the body is the document of an error that no handler has written.
    pub fn is_problem(&self) -> bool {
        self.flags & IS_PROBLEM != 0
    }

    /// Whether the headers have a Date.
    pub fn has_date(&self) -> bool {
        self.flags & HAS_DATE != 0
    }

    /// Whether the headers have a Server.
    pub fn has_server(&self) -> bool {
        self.flags & HAS_SERVER != 0
    }

    /// Whether the headers have an X-Request-Id.
    pub fn has_request_id(&self) -> bool {
        self.flags & HAS_REQUEST_ID != 0
    }

    /// The X-Content-Type-Options to send, if the headers have none: browsers take nothing for a script or a page that does not say so.
    pub fn content_type_options(&self) -> Option<&'static str> {
        (self.flags & HAS_CONTENT_TYPE_OPTIONS == 0).then_some("nosniff")
    }

    /// The Cache-Control to send, if the headers have none. Nobody keeps an error, and whoever keeps another answer asks before each use;
    /// no proxy keeps one to a request that `is_personal`. Without it, browsers and proxies keep answers by rules of their own.
    pub fn cache_control(&self, is_personal: bool) -> Option<&'static str> {
        match (self.flags & HAS_CACHE_CONTROL, self.status, is_personal) {
            (0, 400.., _) => Some("no-store"),
            (0, _, true) => Some("private, no-cache"),
            (0, _, false) => Some("no-cache"),
            _ => None,
        }
    }

    /// The headers as HTTP/1 writes them, each line ended by CR LF.
    pub fn header_block(&self) -> &'a [u8] {
        self.headers
    }

    /// Names, in lower case, and values. Lines without a colon do not come from [`ResponseBuilder`]; they are
    /// passed over.
    pub fn headers(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        self.headers.split(|&byte| byte == b'\n').filter_map(|line| {
            let colon = memchr::memchr(b':', line)?;
            Some((&line[..colon], line[colon + 1..].trim_ascii()))
        })
    }

    /// The body.
    pub fn body(&self) -> &'a [u8] {
        self.body
    }

    /// Where the body begins in the message.
    pub fn body_start(&self) -> usize {
        FIXED + self.headers.len()
    }
}
