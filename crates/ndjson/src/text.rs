//! Strings as they are written, and what they say.

/// A string between its quotes, which has been checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Text<'a> {
    /// With its quotes.
    quoted: &'a str,
    /// How many backslashes escape something. A number, as wide as its neighbours: a flag would cost the moves of a text
    /// through registers.
    escapes: usize,
}

impl<'a> Text<'a> {
    pub(crate) fn new(quoted: &'a str, escapes: usize) -> Text<'a> {
        Text { quoted, escapes }
    }

    /// What it says, if it is written without escapes.
    pub fn plain(&self) -> Option<&'a str> {
        (self.escapes == 0).then_some(self.written())
    }

    /// As it is written, between the quotes.
    pub fn written(&self) -> &'a str {
        &self.quoted[1..self.quoted.len() - 1]
    }

    /// As it is written, with the quotes.
    pub fn quoted(&self) -> &'a str {
        self.quoted
    }

    /// Appends what it says.
    pub fn write(&self, to: &mut Vec<u8>) {
        if self.escapes == 0 {
            return to.extend_from_slice(self.written().as_bytes());
        }
        let mut rest = self.written().as_bytes();
        while let Some(at) = memchr::memchr(b'\\', rest) {
            to.extend_from_slice(&rest[..at]);
            rest = unescape(&rest[at + 1..], to);
        }
        to.extend_from_slice(rest);
    }
}

/// Appends what an escape stands for; `rest` begins after its backslash. Returns what follows it.
fn unescape<'a>(rest: &'a [u8], to: &mut Vec<u8>) -> &'a [u8] {
    let byte = match rest[0] {
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'u' => return unescape_unicode(&rest[1..], to),
        other => other,
    };
    to.push(byte);
    &rest[1..]
}

fn unescape_unicode<'a>(rest: &'a [u8], to: &mut Vec<u8>) -> &'a [u8] {
    let unit = |at: usize| hex(&rest[at..at + 4]).unwrap_or(0xfffd);
    let high = unit(0);
    let (code, length) = match high {
        // A pair: the scanner has seen that the second half follows, as `\uXXXX`.
        0xd800..=0xdbff => (0x10000 + ((high - 0xd800) << 10) + (unit(6) - 0xdc00), 10),
        _ => (high, 4),
    };
    let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    to.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    &rest[length..]
}

/// Four hexadecimal digits.
pub(crate) fn hex(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |value, digit| Some(value * 16 + char::from(*digit).to_digit(16)?))
}
