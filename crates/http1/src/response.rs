//! The head of a response.

use crate::reason;

/// What the head says about the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Persistence {
    /// Nothing: HTTP/1.1 keeps a connection by default.
    Keep,
    /// `Connection: keep-alive`, which HTTP/1.0 needs to be told.
    KeepOld,
    /// `Connection: close`.
    Close,
}

/// Everything that a response's head is made of.
#[derive(Debug, Clone, Copy)]
pub struct ResponseHead<'a> {
    /// From 200 to 599.
    pub status: u16,
    /// Headers as they are sent, each line ended by CR LF.
    pub header_block: &'a [u8],
    /// Length of the body that GET gets, whether it is sent or not. Not written for 204 and 304.
    pub content_length: usize,
    /// What becomes of the connection.
    pub persistence: Persistence,
    /// The Date to write, if the block has none.
    pub date: Option<&'a str>,
    /// The Server to write, if the block has none.
    pub server: Option<&'a str>,
    /// The Strict-Transport-Security to write. Of two, browsers take the first, which is that of the block (RFC 6797, 8.1).
    pub strict_transport: Option<&'a str>,
    /// The X-Content-Type-Options to write, if the block has none.
    pub content_type_options: Option<&'a str>,
    /// The Cache-Control to write, if the block has none.
    pub cache_control: Option<&'a str>,
    /// The X-Request-Id to write, if the block has none: visible ASCII.
    pub request_id: Option<&'a [u8]>,
}

/// Whether a response of this status has no body, whatever was asked (RFC 9110, 6.4.1; 205 in 15.3.6).
pub fn is_bodiless(status: u16) -> bool {
    matches!(status, 204 | 205 | 304)
}

impl ResponseHead<'_> {
    /// Appends the head.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.reserve(256 + self.header_block.len());
        write_status_line(out, self.status);
        out.extend_from_slice(self.header_block);
        if !matches!(self.status, 204 | 304) {
            let length = if self.status == 205 { 0 } else { self.content_length };
            out.extend_from_slice(b"content-length: ");
            out.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        write_header(out, b"x-content-type-options: ", self.content_type_options.map(str::as_bytes));
        write_header(out, b"cache-control: ", self.cache_control.map(str::as_bytes));
        write_header(out, b"x-request-id: ", self.request_id);
        write_header(out, b"strict-transport-security: ", self.strict_transport.map(str::as_bytes));
        write_header(out, b"date: ", self.date.map(str::as_bytes));
        write_header(out, b"server: ", self.server.map(str::as_bytes));
        out.extend_from_slice(match self.persistence {
            Persistence::Keep => b"\r\n",
            Persistence::KeepOld => b"connection: keep-alive\r\n\r\n",
            Persistence::Close => b"connection: close\r\n\r\n",
        });
    }
}

fn write_status_line(out: &mut Vec<u8>, status: u16) {
    if status == 200 {
        out.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
        return;
    }
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(itoa::Buffer::new().format(status).as_bytes());
    // The blank stays where there is no phrase (RFC 9112, 4).
    out.push(b' ');
    out.extend_from_slice(reason::phrase(status).unwrap_or_default().as_bytes());
    out.extend_from_slice(b"\r\n");
}

fn write_header(out: &mut Vec<u8>, name: &[u8], value: Option<&[u8]>) {
    let Some(value) = value else { return };
    out.extend_from_slice(name);
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}
