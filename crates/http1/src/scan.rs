//! The end of a head that arrives in pieces.
//!
//! httparse reads a head from its start at every call. A client that sends a head byte by byte would make that
//! quadratic, so the lines are found first, each byte looked at once. On the way goes what httparse lets pass
//! or reports too late: lines ended by LF alone, folded lines, too many headers, a first line that is not HTTP.

use crate::{Limits, Reject};

/// Empty lines that may precede a request: old clients send one after a body (RFC 9112, 2.2).
const MAX_EMPTY_LINES: usize = 2;
/// What a request line has besides its target: a method, two blanks, the version, CR LF.
const LINE_WITHOUT_TARGET: usize = 64;

/// Where the search for the end of a head stands. One for each head.
#[derive(Debug, Default, Clone)]
pub struct Scanner {
    /// Bytes looked at.
    scanned: usize,
    /// Start of the line that is not complete yet.
    line_start: usize,
    /// Complete lines, without the empty ones at the start.
    lines: usize,
    /// Empty lines at the start.
    empty_lines: usize,
}

impl Scanner {
    /// Looks at what has come since the last call. `bytes` begins where the head begins, at every call.
    /// Gives the length of the head, leading empty lines included, or none while it is not complete.
    pub fn scan(&mut self, bytes: &[u8], limits: &Limits) -> Result<Option<usize>, Reject> {
        let unseen = bytes.get(self.scanned..).unwrap_or_default();
        let offset = self.scanned;
        for newline in memchr::memchr_iter(b'\n', unseen).map(|at| at + offset) {
            if let Some(end) = self.end_line(bytes, newline, limits)? {
                return if end > limits.max_head { Err(HEAD_TOO_LARGE) } else { Ok(Some(end)) };
            }
        }
        self.scanned = bytes.len();
        self.check_incomplete(bytes, limits)?;
        Ok(None)
    }

    /// Whether nothing but empty lines has come: such a connection is idle, not slow.
    pub fn is_blank(&self) -> bool {
        self.lines == 0 && self.scanned <= self.line_start
    }

    /// Takes in the line that ends at `newline`; gives the end of the head if it was the empty one.
    fn end_line(&mut self, bytes: &[u8], newline: usize, limits: &Limits) -> Result<Option<usize>, Reject> {
        let line = &bytes[self.line_start..newline];
        let Some(line) = line.strip_suffix(b"\r") else {
            return Err(Reject::bad("a line of the head ends with LF alone"));
        };
        self.line_start = newline + 1;
        match (self.lines, line) {
            (0, []) => {
                self.empty_lines += 1;
                if self.empty_lines > MAX_EMPTY_LINES {
                    return Err(Reject::bad("empty lines where a request should begin"));
                }
            }
            (_, []) => return Ok(Some(newline + 1)),
            (0, line) => {
                check_request_line(line, limits)?;
                self.lines = 1;
            }
            (_, [b' ' | b'\t', ..]) => return Err(Reject::bad("a header continues on a second line")),
            _ => {
                if self.lines > limits.max_headers {
                    return Err(Reject::new(431, "too many headers"));
                }
                self.lines += 1;
            }
        }
        Ok(None)
    }

    /// Refuses at once what cannot become a head any more.
    fn check_incomplete(&self, bytes: &[u8], limits: &Limits) -> Result<(), Reject> {
        let line = bytes.get(self.line_start..).unwrap_or_default();
        if self.lines == 0 {
            check_first_byte(line)?;
            if line.len() > limits.max_uri.saturating_add(LINE_WITHOUT_TARGET)
                || bytes.len() >= limits.max_head
            {
                return Err(URI_TOO_LONG);
            }
        }
        if bytes.len() >= limits.max_head { Err(HEAD_TOO_LARGE) } else { Ok(()) }
    }
}

const HEAD_TOO_LARGE: Reject = Reject::new(431, "the head of the request is too large");
pub(crate) const URI_TOO_LONG: Reject = Reject::new(414, "the request target is too long");

/// A connection that speaks another protocol (TLS above all) is told so by its first byte.
fn check_first_byte(line: &[u8]) -> Result<(), Reject> {
    match line {
        [] | [b'\r'] => Ok(()),
        [first, ..] if first.is_ascii_alphabetic() || is_rare_token_byte(*first) => Ok(()),
        _ => Err(Reject::bad("this is not HTTP")),
    }
}

fn is_rare_token_byte(byte: u8) -> bool {
    byte.is_ascii_digit() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Refuses a request line without a version that is served, so that nobody waits for the rest of its head.
fn check_request_line(line: &[u8], limits: &Limits) -> Result<(), Reject> {
    check_first_byte(line)?;
    if line.len() > limits.max_uri.saturating_add(LINE_WITHOUT_TARGET) {
        return Err(URI_TOO_LONG);
    }
    let version = line.rsplit(|&byte| byte == b' ').next().unwrap_or_default();
    match version {
        b"HTTP/1.1" | b"HTTP/1.0" => Ok(()),
        // Of a later version everything is as in HTTP/1.1 (RFC 9110, 2.5).
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'2'..=b'9'] => Ok(()),
        [b'H', b'T', b'T', b'P', b'/', major, b'.', minor]
            if major.is_ascii_digit() && minor.is_ascii_digit() =>
        {
            Err(Reject::new(505, "the version is not HTTP/1.0, HTTP/1.1 or HTTP/2 with prior knowledge"))
        }
        _ => Err(Reject::bad("the request line does not end with a version of HTTP")),
    }
}
