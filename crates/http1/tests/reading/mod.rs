//! Reads a stream of requests as a server would, in pieces of any size.

use http1::{Chunked, Framing, Head, HeaderSlots, Limits, Reject, Scanner};

/// What of a request the tests compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub method: String,
    pub path: String,
    pub query: String,
    pub authority: String,
    pub headers: usize,
    pub keep_alive: bool,
    pub expects_continue: bool,
    pub body: Vec<u8>,
}

/// A reader that is fed pieces.
pub(crate) struct Reader {
    limits: Limits,
    buffer: Vec<u8>,
    scanner: Scanner,
    open: Option<(Seen, Body)>,
    pub seen: Vec<Seen>,
}

enum Body {
    Length(usize),
    Chunked(Chunked),
}

impl Reader {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, buffer: Vec::new(), scanner: Scanner::default(), open: None, seen: Vec::new() }
    }

    pub(crate) fn feed(&mut self, piece: &[u8]) -> Result<(), Reject> {
        self.buffer.extend_from_slice(piece);
        loop {
            let advanced = if self.open.is_some() { self.body()? } else { self.head()? };
            if !advanced {
                return Ok(());
            }
        }
    }

    fn head(&mut self) -> Result<bool, Reject> {
        let Some(end) = self.scanner.scan(&self.buffer, &self.limits)? else { return Ok(false) };
        self.scanner = Scanner::default();
        let bytes: Vec<u8> = self.buffer.drain(..end).collect();
        let mut slots = HeaderSlots::new();
        let head = Head::parse(&bytes, &mut slots, &self.limits)?;
        let seen = Seen {
            method: head.method.to_owned(),
            path: head.target.path.clone().into_owned(),
            query: head.target.query.to_owned(),
            authority: head.authority.to_owned(),
            headers: head.headers.len(),
            keep_alive: head.keep_alive,
            expects_continue: head.expects_continue,
            body: Vec::new(),
        };
        let body = match head.framing {
            Framing::Length(length) => Body::Length(length as usize),
            Framing::Chunked => Body::Chunked(Chunked::default()),
        };
        self.open = Some((seen, body));
        Ok(true)
    }

    fn body(&mut self) -> Result<bool, Reject> {
        let Some((seen, body)) = &mut self.open else { return Ok(false) };
        let done = match body {
            Body::Length(left) => {
                let taken = self.buffer.len().min(*left);
                seen.body.extend(self.buffer.drain(..taken));
                *left -= taken;
                *left == 0
            }
            Body::Chunked(chunked) => {
                let used = chunked.decode(&self.buffer, &mut seen.body, &self.limits)?;
                self.buffer.drain(..used);
                chunked.is_done()
            }
        };
        if done {
            self.seen.extend(self.open.take().map(|(seen, _)| seen));
        }
        Ok(done)
    }
}

/// The requests in these bytes, or the first error.
pub(crate) fn read(bytes: &[u8]) -> Result<Vec<Seen>, Reject> {
    let mut reader = Reader::new(Limits::default());
    reader.feed(bytes)?;
    Ok(reader.seen)
}
