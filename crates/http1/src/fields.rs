//! What the headers that steer a connection say together: where the body ends, and what comes after it.

use httparse::Header;

use crate::Reject;

/// Where a request's body ends (RFC 9112, 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// After so many bytes; 0 if there is no body.
    Length(u64),
    /// Where the chunked coding says so.
    Chunked,
}

/// What the headers of one request say about it and its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fields<'b> {
    pub framing: Framing,
    pub host: Option<&'b str>,
    pub keep_alive: bool,
    pub expects_continue: bool,
}

/// What has been seen so far.
#[derive(Default)]
struct Seen<'b> {
    host: Option<&'b [u8]>,
    length: Option<u64>,
    coding: Option<&'b [u8]>,
    close: bool,
    keep_alive: bool,
    expects_continue: bool,
}

/// Reads the headers of a request of HTTP/1.`minor`.
pub(crate) fn read<'b>(headers: &[Header<'b>], minor: u8) -> Result<Fields<'b>, Reject> {
    let mut seen = Seen::default();
    for header in headers {
        // The length tells nearly all others apart from the five without a comparison of their bytes.
        match header.name.len() {
            4 if header.name.eq_ignore_ascii_case("host") => seen.host(header.value)?,
            6 if header.name.eq_ignore_ascii_case("expect") => seen.expect(header.value, minor)?,
            10 if header.name.eq_ignore_ascii_case("connection") => seen.connection(header.value),
            14 if header.name.eq_ignore_ascii_case("content-length") => seen.length(header.value)?,
            17 if header.name.eq_ignore_ascii_case("transfer-encoding") => seen.coding(header.value)?,
            _ => {}
        }
    }
    seen.decide(minor)
}

impl<'b> Seen<'b> {
    fn host(&mut self, value: &'b [u8]) -> Result<(), Reject> {
        if self.host.replace(value).is_some() {
            return Err(Reject::bad("two Host headers"));
        }
        Ok(())
    }

    fn expect(&mut self, value: &[u8], minor: u8) -> Result<(), Reject> {
        if minor == 0 {
            return Ok(());
        }
        check_expectation(value)?;
        self.expects_continue = true;
        Ok(())
    }

    fn connection(&mut self, value: &[u8]) {
        for option in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    fn length(&mut self, value: &[u8]) -> Result<(), Reject> {
        for part in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
            let length = parse_length(part)?;
            // Equal ones, too, which a server may also take for one (RFC 9110, 8.6): who sends two has been told something by somebody.
            if self.length.replace(length).is_some() {
                return Err(Reject::bad("two values of Content-Length"));
            }
        }
        Ok(())
    }

    fn coding(&mut self, value: &'b [u8]) -> Result<(), Reject> {
        if self.coding.replace(value).is_some() {
            return Err(Reject::bad("two Transfer-Encoding headers"));
        }
        Ok(())
    }

    fn decide(self, minor: u8) -> Result<Fields<'b>, Reject> {
        let framing = match (self.coding, self.length) {
            (Some(_), Some(_)) => return Err(Reject::bad("both Content-Length and Transfer-Encoding")),
            (Some(_), None) if minor == 0 => return Err(Reject::bad("Transfer-Encoding in HTTP/1.0")),
            (Some(coding), None) => check_coding(coding)?,
            (None, length) => Framing::Length(length.unwrap_or(0)),
        };
        let host = self.host.map(crate::target::check_authority).transpose()?;
        if host.is_none() && minor == 1 {
            return Err(Reject::bad("no Host header"));
        }
        let keep_alive = !self.close && (minor == 1 || self.keep_alive);
        Ok(Fields { framing, host, keep_alive, expects_continue: self.expects_continue })
    }
}

/// Refuses an expectation that cannot be met (RFC 9110, 10.1.1).
pub fn check_expectation(value: &[u8]) -> Result<(), Reject> {
    if value.eq_ignore_ascii_case(b"100-continue") {
        return Ok(());
    }
    Err(Reject::new(417, "the only expectation served is 100-continue"))
}

fn parse_length(digits: &[u8]) -> Result<u64, Reject> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Reject::bad("Content-Length is not a number"));
    }
    let mut length = 0_u64;
    for digit in digits {
        let longer = length.checked_mul(10).and_then(|length| length.checked_add(u64::from(digit - b'0')));
        length = longer.ok_or(Reject::new(413, "Content-Length is too large"))?;
    }
    Ok(length)
}

fn check_coding(coding: &[u8]) -> Result<Framing, Reject> {
    if coding.eq_ignore_ascii_case(b"chunked") {
        return Ok(Framing::Chunked);
    }
    let mut codings = coding.rsplit(|&byte| byte == b',').map(<[u8]>::trim_ascii);
    let last_is_chunked = codings.next().is_some_and(|last| last.eq_ignore_ascii_case(b"chunked"));
    let chunked_before = codings.any(|other| other.is_empty() || other.eq_ignore_ascii_case(b"chunked"));
    if last_is_chunked && !chunked_before {
        return Err(Reject::new(501, "no transfer coding but chunked is served"));
    }
    Err(Reject::bad("Transfer-Encoding does not end with chunked, once"))
}
