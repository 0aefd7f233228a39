//! One line, member by member.
//!
//! What nobody wants is checked and passed over: whether a line is accepted does not depend on who reads it. Nothing is
//! allocated, and nothing is called for each level of nesting.

pub use crate::fault::DEPTH;
use crate::fault::{Fault, Reason};
use crate::text::{Text, hex};

/// A value as it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number(&'a str),
    /// A string.
    Text(Text<'a>),
    /// An array or an object.
    Nested(&'a str),
}

/// Reads the object that a line is, and calls `member` with each key and value in turn.
pub fn members<'a, E: From<Fault>>(
    line: &'a str,
    mut member: impl FnMut(Text<'a>, Value<'a>) -> Result<(), E>,
) -> Result<(), E> {
    let mut scanner = Scanner { line, bytes: line.as_bytes(), at: 0 };
    scanner.skip_space();
    if scanner.peek() != Some(b'{') {
        // Whatever else it is, it must be JSON to be called so.
        scanner.value()?;
        return Err(Fault { reason: Reason::NoObject, at: 0 }.into());
    }
    scanner.at += 1;
    scanner.skip_space();
    if scanner.peek() == Some(b'}') {
        scanner.at += 1;
    } else {
        loop {
            let key = scanner.key()?;
            let value = scanner.value()?;
            member(key, value)?;
            if !scanner.goes_on(b'}')? {
                break;
            }
        }
    }
    Ok(scanner.end()?)
}

/// The one value that a line is.
pub fn check(line: &str) -> Result<Value<'_>, Fault> {
    let mut scanner = Scanner { line, bytes: line.as_bytes(), at: 0 };
    scanner.skip_space();
    let value = scanner.value()?;
    scanner.end()?;
    Ok(value)
}

struct Scanner<'a> {
    line: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    fn fault<T>(&self, reason: Reason) -> Result<T, Fault> {
        let reason = if self.at >= self.bytes.len() { Reason::Ends } else { reason };
        Err(Fault { reason, at: self.at })
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
        }
    }

    fn end(&mut self) -> Result<(), Fault> {
        self.skip_space();
        if self.at < self.bytes.len() { self.fault(Reason::Follows) } else { Ok(()) }
    }

    /// A key and its colon; stands at the value then.
    fn key(&mut self) -> Result<Text<'a>, Fault> {
        if self.peek() != Some(b'"') {
            return self.fault(Reason::Unexpected);
        }
        let key = self.text()?;
        self.skip_space();
        if self.peek() != Some(b':') {
            return self.fault(Reason::Unexpected);
        }
        self.at += 1;
        self.skip_space();
        Ok(key)
    }

    /// After a member or element: whether another comes, at which it stands then.
    fn goes_on(&mut self, close: u8) -> Result<bool, Fault> {
        self.skip_space();
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                self.skip_space();
                Ok(true)
            }
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(false)
            }
            _ => self.fault(Reason::Unexpected),
        }
    }

    fn value(&mut self) -> Result<Value<'a>, Fault> {
        match self.peek() {
            Some(b'"') => Ok(Value::Text(self.text()?)),
            Some(b'-' | b'0'..=b'9') => Ok(Value::Number(self.number()?)),
            Some(b'{' | b'[') => self.nested(),
            Some(b't') => self.word("true").map(|()| Value::Bool(true)),
            Some(b'f') => self.word("false").map(|()| Value::Bool(false)),
            Some(b'n') => self.word("null").map(|()| Value::Null),
            _ => self.fault(Reason::Unexpected),
        }
    }

    fn word(&mut self, word: &str) -> Result<(), Fault> {
        for byte in word.bytes() {
            if self.peek() != Some(byte) {
                return self.fault(Reason::Unexpected);
            }
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<&'a str, Fault> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        // 01, 1a: a number ends where another thing begins.
        match self.peek() {
            Some(b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'.' | b'-' | b'+') => self.fault(Reason::Number),
            _ => Ok(&self.line[start..self.at]),
        }
    }

    /// One digit or more.
    fn digits(&mut self) -> Result<(), Fault> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return self.fault(Reason::Number);
        }
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        Ok(())
    }

    /// A string, at whose opening quote it stands.
    fn text(&mut self) -> Result<Text<'a>, Fault> {
        let start = self.at;
        self.at += 1;
        let mut escapes = 0;
        loop {
            self.at += plain(&self.bytes[self.at..]);
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    escapes += 1;
                    self.escape()?;
                }
                _ => return self.fault(Reason::Control),
            }
        }
        self.at += 1;
        Ok(Text::new(&self.line[start..self.at], escapes))
    }

    fn escape(&mut self) -> Result<(), Fault> {
        let start = self.at;
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                let unit = self.unit()?;
                let wrong = match unit {
                    0 => Some(Reason::Zero),
                    0xdc00..=0xdfff => Some(Reason::Surrogate),
                    0xd800..=0xdbff if !self.second_half()? => Some(Reason::Surrogate),
                    _ => None,
                };
                if let Some(reason) = wrong {
                    return Err(Fault { reason, at: start });
                }
            }
            _ => return self.fault(Reason::Escape),
        }
        Ok(())
    }

    /// Four hexadecimal digits after a `u`, at which it stands.
    fn unit(&mut self) -> Result<u32, Fault> {
        match self.bytes.get(self.at + 1..self.at + 5).map(hex) {
            Some(Some(unit)) => {
                self.at += 5;
                Ok(unit)
            }
            Some(None) => self.fault(Reason::Escape),
            None => Err(Fault { reason: Reason::Ends, at: self.bytes.len() }),
        }
    }

    /// Whether the second half of a surrogate pair follows; it is passed over.
    fn second_half(&mut self) -> Result<bool, Fault> {
        if !self.bytes[self.at..].starts_with(b"\\u") {
            return Ok(false);
        }
        self.at += 1;
        Ok(matches!(self.unit()?, 0xdc00..=0xdfff))
    }

    /// An array or an object, at which it stands.
    fn nested(&mut self) -> Result<Value<'a>, Fault> {
        let start = self.at;
        let mut open = Open::default();
        loop {
            // Here a value begins.
            match self.peek() {
                Some(b'{') => {
                    self.open(&mut open, true)?;
                    if self.peek() != Some(b'}') {
                        self.key()?;
                        continue;
                    }
                }
                Some(b'[') => {
                    self.open(&mut open, false)?;
                    if self.peek() != Some(b']') {
                        continue;
                    }
                }
                _ => {
                    self.value()?;
                    self.skip_space();
                }
            }
            // Here a value has ended, or nothing stands between two brackets.
            while !open.is_empty() {
                let is_object = open.innermost();
                let close = if is_object { b'}' } else { b']' };
                if self.goes_on(close)? {
                    if is_object {
                        self.key()?;
                    }
                    break;
                }
                open.pop();
            }
            if open.is_empty() {
                return Ok(Value::Nested(&self.line[start..self.at]));
            }
        }
    }

    fn open(&mut self, open: &mut Open, is_object: bool) -> Result<(), Fault> {
        if !open.push(is_object) {
            return Err(Fault { reason: Reason::Deep, at: self.at });
        }
        self.at += 1;
        self.skip_space();
        Ok(())
    }
}

/// The brackets that are open, a bit for each.
#[derive(Default)]
struct Open {
    are_objects: [u64; DEPTH / 64],
    count: usize,
}

impl Open {
    fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn push(&mut self, is_object: bool) -> bool {
        if self.count == DEPTH {
            return false;
        }
        let (word, bit) = (self.count / 64, 1 << (self.count % 64));
        if is_object {
            self.are_objects[word] |= bit;
        } else {
            self.are_objects[word] &= !bit;
        }
        self.count += 1;
        true
    }

    fn innermost(&self) -> bool {
        let last = self.count - 1;
        self.are_objects[last / 64] >> (last % 64) & 1 == 1
    }

    fn pop(&mut self) {
        self.count -= 1;
    }
}

/// Bytes at the start that neither end a string nor are escapes or control characters, eight at a time.
fn plain(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);
    let (mut chunks, mut at) = (bytes.chunks_exact(8), 0);
    for chunk in &mut chunks {
        let word = u64::from_le_bytes([
            chunk[0], chunk[1], chunk[2], chunk[3], chunk[4], chunk[5], chunk[6], chunk[7],
        ]);
        // A byte is zero where the difference borrows; what borrows from a neighbour is above the first such byte.
        let zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
        let control = word.wrapping_sub(ONES * 0x20) & !word & HIGHS;
        let found = zero(word ^ (ONES * u64::from(b'"'))) | zero(word ^ (ONES * u64::from(b'\\'))) | control;
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = chunks.remainder();
    at + rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests;
