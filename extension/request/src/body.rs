//! A body that grows while rows are written into it: to a limit, and never so that want of memory ends the process.

use pg::out_of_memory::may_fail;

/// The body. Its memory is used again.
#[derive(Default)]
pub(crate) struct Body {
    bytes: Vec<u8>,
    limit: usize,
    fault: Option<Fault>,
}

/// Why a body is not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It has more bytes than the limit.
    TooLarge,
    /// There is no memory for it.
    NoMemory,
}

/// Memory that is kept between bodies.
const KEPT: usize = 256 << 10;
/// Memory that a body begins with.
const LEAST: usize = 4 << 10;
/// Bytes that a string of JSON cannot have as they are.
const ESCAPED: [bool; 256] = {
    let mut escaped = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        escaped[byte] = true;
        byte += 1;
    }
    escaped[b'"' as usize] = true;
    escaped[b'\\' as usize] = true;
    escaped
};

impl Body {
    /// Begins an empty body of `limit` bytes at most.
    pub(crate) fn start(&mut self, limit: usize) {
        self.bytes.clear();
        self.bytes.shrink_to(KEPT);
        (self.limit, self.fault) = (limit, None);
    }

    /// Whether nothing has been put.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Why it is not whole, if so.
    pub(crate) fn fault(&self) -> Option<Fault> {
        self.fault
    }

    /// Its bytes. Give them back with [`Self::give_back`], to be used again.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// Takes the memory of bytes back.
    pub(crate) fn give_back(&mut self, bytes: Vec<u8>) {
        self.bytes = bytes;
    }

    /// Puts bytes at the end. What is too much is left out, and said by [`Self::fault`].
    #[inline]
    pub(crate) fn put(&mut self, piece: &[u8]) {
        if self.bytes.capacity() - self.bytes.len() >= piece.len() || self.grow(piece.len()) {
            self.bytes.extend_from_slice(piece);
        }
    }

    #[cold]
    fn grow(&mut self, more: usize) -> bool {
        let (length, needed) = (self.bytes.len(), self.bytes.len().saturating_add(more));
        if needed > self.limit {
            self.fault = Some(Fault::TooLarge);
            return false;
        }
        // Twice as much each time, and no memory above the limit.
        let wanted = needed.max(2 * length).max(LEAST).min(self.limit);
        if may_fail(|| self.bytes.try_reserve_exact(wanted - length)).is_err() {
            self.fault = Some(Fault::NoMemory);
        }
        self.fault.is_none()
    }

    /// Puts an integer.
    pub(crate) fn put_integer(&mut self, value: i64) {
        self.put(itoa::Buffer::new().format(value).as_bytes());
    }

    /// Puts text as a string of JSON, escaped as PostgreSQL does.
    pub(crate) fn put_string(&mut self, text: &[u8]) {
        self.put(b"\"");
        let mut rest = text;
        while let Some(length) = rest.iter().position(|&byte| ESCAPED[byte as usize]) {
            self.put(&rest[..length]);
            self.put_escaped(rest[length]);
            rest = &rest[length + 1..];
        }
        self.put(rest);
        self.put(b"\"");
    }

    fn put_escaped(&mut self, byte: u8) {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        match byte {
            b'"' => self.put(b"\\\""),
            b'\\' => self.put(b"\\\\"),
            b'\n' => self.put(b"\\n"),
            b'\r' => self.put(b"\\r"),
            b'\t' => self.put(b"\\t"),
            0x08 => self.put(b"\\b"),
            0x0c => self.put(b"\\f"),
            _ => self.put(&[
                b'\\',
                b'u',
                b'0',
                b'0',
                DIGITS[usize::from(byte >> 4)],
                DIGITS[usize::from(byte & 15)],
            ]),
        }
    }
}
