//! Bytes into lines.

use memchr::memchr;

/// UTF-8's byte-order mark. Files that are sent one after another have one each, so it is left out at the start of any line.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// A line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line<'a> {
    /// Its number, from 0; empty lines count.
    pub number: u64,
    /// Its bytes without line end and byte-order mark.
    pub bytes: &'a [u8],
}

impl Line<'_> {
    /// Whether it has nothing but white space.
    pub fn is_empty(&self) -> bool {
        self.bytes.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
    }
}

/// The lines of some bytes. A line ends with `\n` or `\r\n`; the last need not.
pub struct Lines<'a> {
    rest: &'a [u8],
    number: u64,
}

impl<'a> Lines<'a> {
    /// The lines of these bytes.
    pub fn of(bytes: &'a [u8]) -> Lines<'a> {
        Lines { rest: bytes, number: 0 }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let end = memchr(b'\n', self.rest);
        let bytes = &self.rest[..end.unwrap_or(self.rest.len())];
        self.rest = &self.rest[end.map_or(self.rest.len(), |end| end + 1)..];
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let number = self.number;
        self.number += 1;
        Some(Line { number, bytes: bytes.strip_prefix(MARK).unwrap_or(bytes) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(bytes: &[u8]) -> Vec<&[u8]> {
        Lines::of(bytes).map(|line| line.bytes).collect()
    }

    #[test]
    fn line_ends_and_marks_are_left_out() {
        assert_eq!(cut(b""), Vec::<&[u8]>::new());
        assert_eq!(cut(b"a"), [b"a"]);
        assert_eq!(cut(b"a\n"), [b"a"]);
        assert_eq!(cut(b"a\r\n\nb\r"), [&b"a"[..], b"", b"b"]);
        assert_eq!(cut(b"\xef\xbb\xbfa\n\xef\xbb\xbfb"), [b"a", b"b"]);
        assert_eq!(cut(b"\n\n"), [b"", b""]);
    }

    #[test]
    fn lines_are_numbered_and_empty_ones_are_known() {
        let found: Vec<(u64, bool)> =
            Lines::of(b"a\n \t\r\n\nb").map(|line| (line.number, line.is_empty())).collect();
        assert_eq!(found, [(0, false), (1, true), (2, true), (3, false)]);
    }
}
