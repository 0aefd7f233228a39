//! The request target (RFC 9112, 3.2): its forms, its path and its query.

use std::borrow::Cow;

use percent_encoding::percent_decode;

use crate::Reject;

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target<'b> {
    /// The path as sent; `*` for `OPTIONS *`; `/` where an absolute form has none.
    pub raw_path: &'b str,
    /// The path percent-decoded: UTF-8 without NUL. Dot segments stay.
    pub path: Cow<'b, str>,
    /// What follows the first `?`, as sent; empty if nothing does. Its escapes give UTF-8 without NUL; a `%`
    /// that begins no escape stands for itself there, as browsers have it.
    pub query: &'b str,
    /// The authority of an absolute form, which goes before Host.
    pub authority: Option<&'b str>,
}

impl<'b> Target<'b> {
    /// Reads the target of a request line.
    pub fn parse(method: &str, target: &'b str) -> Result<Self, Reject> {
        if method == "CONNECT" {
            return Err(Reject::new(501, "CONNECT is not served: this is no proxy"));
        }
        if target.starts_with('/') {
            return Self::of(target, None);
        }
        if target == "*" {
            return match method {
                "OPTIONS" => Self::of(target, None),
                _ => Err(Reject::bad("the target * is for OPTIONS alone")),
            };
        }
        let (authority, rest) = split_absolute(target)?;
        let authority = Some(check_authority(authority.as_bytes())?);
        match rest.as_bytes().first() {
            Some(b'/') => Self::of(rest, authority),
            None => Self::of("/", authority),
            // `http://host?query`
            Some(_) => Ok(Self { raw_path: "/", path: Cow::Borrowed("/"), ..Self::of(rest, authority)? }),
        }
    }

    /// Reads a path and query, as HTTP/2's `:path` gives them too.
    pub fn of(path_and_query: &'b str, authority: Option<&'b str>) -> Result<Self, Reject> {
        if !path_and_query.is_ascii() {
            return Err(Reject::bad("the request target has characters that must be percent-encoded"));
        }
        match memchr::memchr2(b'#', 0, path_and_query.as_bytes()).map(|at| path_and_query.as_bytes()[at]) {
            None => {}
            Some(0) => return Err(HAS_NUL),
            Some(_) => return Err(Reject::bad("the request target has a fragment")),
        }
        let (raw_path, query) = match memchr::memchr(b'?', path_and_query.as_bytes()) {
            Some(at) => (&path_and_query[..at], &path_and_query[at + 1..]),
            None => (path_and_query, ""),
        };
        check_query(query)?;
        Ok(Self { raw_path, path: decode_path(raw_path)?, query, authority })
    }
}

const HAS_NUL: Reject = Reject::bad("the request target has a NUL");

/// Splits `http://authority/path` before its path or query.
fn split_absolute(target: &str) -> Result<(&str, &str), Reject> {
    let (scheme, rest) = target.split_once("://").ok_or(Reject::bad("the request target is no path"))?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return Err(Reject::bad("the scheme of the request target is not http or https"));
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    if end == 0 {
        return Err(Reject::bad("the request target has no host"));
    }
    Ok(rest.split_at(end))
}

/// Checks host and port: characters that a host, an IPv6 literal and a port have, no user name.
pub fn check_authority(authority: &[u8]) -> Result<&str, Reject> {
    let is_host = authority.iter().all(|&byte| HOST_BYTES[usize::from(byte)]);
    let text = std::str::from_utf8(authority).ok().filter(|_| is_host);
    let text = text.ok_or(Reject::bad("the host has characters that no host has"))?;
    // What follows the first colon outside of the brackets of an address is a port (RFC 3986, 3.2).
    let after_address = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let (host, rest) = match after_address {
        Some((_, rest)) => ("", rest),
        None => text.split_at(memchr::memchr(b':', authority).unwrap_or(text.len())),
    };
    let port = rest.strip_prefix(':').unwrap_or(rest);
    let is_port =
        (rest.is_empty() || rest.starts_with(':')) && port.bytes().all(|byte| byte.is_ascii_digit());
    if !is_port || host.contains(['[', ']']) {
        return Err(Reject::bad("the host is not a host and a port"));
    }
    Ok(text)
}

/// A table, because every request has a host: a search in the list took 500 instructions of 700 that all
/// headers of a small request took together.
static HOST_BYTES: [bool; 256] = {
    let marks = b"-._~%!$&'()*+,;=:[]";
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let mut at = 0;
    while at < marks.len() {
        table[marks[at] as usize] = true;
        at += 1;
    }
    table
};

fn decode_path(raw: &str) -> Result<Cow<'_, str>, Reject> {
    let bytes = raw.as_bytes();
    if memchr::memchr(b'%', bytes).is_none() {
        return Ok(Cow::Borrowed(raw));
    }
    for at in memchr::memchr_iter(b'%', bytes) {
        if !bytes.get(at + 1..at + 3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
            return Err(Reject::bad("the path has a % without two hexadecimal digits"));
        }
    }
    decode(bytes)
}

fn check_query(query: &str) -> Result<(), Reject> {
    if memchr::memchr(b'%', query.as_bytes()).is_some() {
        decode(query.as_bytes())?;
    }
    Ok(())
}

fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, Reject> {
    let text = percent_decode(bytes).decode_utf8();
    let text = text.map_err(|_| Reject::bad("the escapes in the request target are not UTF-8"))?;
    if text.contains('\0') {
        return Err(HAS_NUL);
    }
    Ok(text)
}
