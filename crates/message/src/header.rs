//! Which header names and values may be sent, and which headers belong to one connection.

use std::fmt;

/// Why a header cannot be part of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadHeader {
    /// The name is empty or has a byte that no token has (RFC 9110, 5.6.2).
    Name(String),
    /// The value of this header has a control character: with CR or LF it would forge headers.
    Value(String),
}

impl fmt::Display for BadHeader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(
                formatter,
                "header name {name:?} is not a token of letters, digits and !#$%&'*+-.^_`|~"
            ),
            Self::Value(name) => write!(formatter, "the value of header {name:?} has a control character"),
        }
    }
}

impl std::error::Error for BadHeader {}

/// Whether the byte may stand in a token: a method or a header's name.
pub const fn is_token_byte(byte: u8) -> bool {
    matches!(byte, b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`'
        | b'|' | b'~' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z')
}

/// Whether the bytes are a token (RFC 9110, 5.6.2).
pub fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|&byte| is_token_byte(byte))
}

/// Whether the bytes may stand in a header's value: anything but control characters, the tab excepted.
/// HTTP/2 refuses the same bytes.
pub fn is_value(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == b'\t' || (byte >= b' ' && byte != 0x7f))
}

/// What a response does with a header that a handler gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Sent as it is.
    Sent,
    /// Sent as it is, instead of the one that the gateway would write.
    Date,
    /// Sent as it is, instead of the one that the gateway would write.
    Server,
    /// Sent as it is, instead of the one that the gateway would write.
    RequestId,
    /// Sent as it is, instead of the one that the gateway would write.
    ContentTypeOptions,
    /// Sent as it is, instead of the one that the gateway would write.
    CacheControl,
    /// Says something about the connection, which is the gateway's: its value may ask to close it.
    Connection,
    /// Left out: about the connection or the framing, which are the gateway's.
    Dropped,
}

/// The headers that are not simply passed on, by their lower-case name.
pub(crate) fn place(name: &[u8]) -> Place {
    match name {
        b"date" => Place::Date,
        b"server" => Place::Server,
        b"x-request-id" => Place::RequestId,
        b"x-content-type-options" => Place::ContentTypeOptions,
        b"cache-control" => Place::CacheControl,
        b"connection" => Place::Connection,
        b"content-length" | b"keep-alive" | b"proxy-connection" | b"te" | b"trailer"
        | b"transfer-encoding" | b"upgrade" => Place::Dropped,
        _ => Place::Sent,
    }
}
