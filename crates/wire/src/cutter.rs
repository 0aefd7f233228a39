//! Cutting lines.
//!
//! A line ends with LF or CR LF. One that is longer than the limit is skipped up to its end: its length and its
//! beginning remain, so that it can be reported, and its neighbours are not touched.

use memchr::memchr;

use crate::bucket::{Bucket, Full};

/// Bytes that remain of a line that is too long.
pub const BEGINNING: usize = 8 << 10;
/// Memory that is kept between two lines that come in pieces.
const KEPT: usize = 64 << 10;

/// Cuts what comes over one connection into lines.
#[derive(Debug)]
pub struct Cutter {
    longest: usize,
    /// The line whose end has not come; of one that is too long, its beginning.
    unfinished: Vec<u8>,
    /// Bytes of the unfinished line, once it is too long.
    skipped: Option<u64>,
}

impl Cutter {
    /// A cutter whose lines have at most so many bytes, the newline aside.
    pub fn new(longest: usize) -> Cutter {
        Cutter { longest, unfinished: Vec::new(), skipped: None }
    }

    /// Puts the lines that end in `bytes` into a bucket until that is full; returns how many bytes it has used.
    /// What comes after the last newline is kept.
    pub fn cut(&mut self, bytes: &[u8], bucket: &mut Bucket, full: &Full) -> usize {
        let mut used = 0;
        while used < bytes.len() && !bucket.is_full(full) {
            let rest = &bytes[used..];
            match memchr(b'\n', rest) {
                Some(end) => {
                    self.finish(&rest[..end], bucket);
                    used += end + 1;
                }
                None => {
                    self.keep(rest);
                    used = bytes.len();
                }
            }
        }
        used
    }

    /// The client sends no more: what is left is a line.
    pub fn end(&mut self, bucket: &mut Bucket) {
        if self.is_within_line() {
            self.finish(&[], bucket);
        }
    }

    /// Whether a line has begun and not ended.
    pub fn is_within_line(&self) -> bool {
        !self.unfinished.is_empty() || self.skipped.is_some()
    }

    /// Bytes in memory.
    pub fn held(&self) -> usize {
        self.unfinished.len()
    }

    /// The end of a line has come, newline aside.
    fn finish(&mut self, end: &[u8], bucket: &mut Bucket) {
        if !self.is_within_line() && end.len() <= self.longest {
            return bucket.push(without_return(end));
        }
        self.keep(end);
        match self.skipped.take() {
            Some(length) => bucket.push_too_long(&self.unfinished, length),
            None => bucket.push(without_return(&self.unfinished)),
        }
        self.unfinished.clear();
        self.unfinished.shrink_to(KEPT);
    }

    /// Keeps a part of a line. A CR that may belong to the line's end is not counted against the limit.
    fn keep(&mut self, part: &[u8]) {
        let before = self.skipped.unwrap_or(self.unfinished.len() as u64);
        let length = before + part.len() as u64;
        let last = part.last().or(self.unfinished.last());
        let allowed = self.longest + usize::from(last == Some(&b'\r'));
        if self.skipped.is_none() && length <= allowed as u64 {
            self.unfinished.extend_from_slice(part);
            return;
        }
        let room = BEGINNING.saturating_sub(self.unfinished.len()).min(part.len());
        self.unfinished.extend_from_slice(&part[..room]);
        self.unfinished.truncate(BEGINNING);
        self.unfinished.shrink_to(BEGINNING);
        self.skipped = Some(length);
    }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: Full = Full { rows: u64::MAX, bytes: usize::MAX };

    /// What comes of a stream that is cut into these pieces.
    fn pieces(longest: usize, parts: &[&[u8]]) -> (Vec<u8>, Vec<(u64, u64)>, u64) {
        let (mut cutter, mut bucket) = (Cutter::new(longest), Bucket::default());
        for part in parts {
            assert_eq!(cutter.cut(part, &mut bucket, &WHOLE), part.len());
        }
        cutter.end(&mut bucket);
        let count = bucket.count();
        let (lines, too_long) = bucket.into_parts();
        (lines, too_long.iter().map(|line| (line.line, line.length)).collect(), count)
    }

    #[test]
    fn every_cut_of_a_stream_gives_the_same_lines() {
        let stream = b"{\"a\":1}\r\n\n{\"b\":\"123456789\"}\n{\"too\":\"long by far\"}\r\n12345678901234567\r\n123456789012345678\n\r\n{\"c\":\r3}\nend";
        let whole = pieces(17, &[stream]);
        assert_eq!(
            whole.0,
            b"{\"a\":1}\n\n{\"b\":\"123456789\"}\n{\"too\":\"long by far\"}\r\n12345678901234567\n123456789012345678\n\n{\"c\":\r3}\nend\n"
        );
        assert_eq!((whole.1.clone(), whole.2), (vec![(3, 22), (5, 18)], 9));
        for first in 0..=stream.len() {
            for second in first..=stream.len() {
                let parts = [&stream[..first], &stream[first..second], &stream[second..]];
                assert_eq!(pieces(17, &parts), whole, "cut at {first} and {second}");
            }
        }
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(pieces(17, &bytes), whole);
    }

    #[test]
    fn a_line_that_is_too_long_leaves_its_beginning_and_its_length() {
        let line = vec![b'x'; 100_000];
        for size in [1, 7, 4096, 9000, 100_000] {
            let mut cutter = Cutter::new(20_000);
            let mut bucket = Bucket::default();
            for part in line.chunks(size) {
                cutter.cut(part, &mut bucket, &WHOLE);
                assert!(cutter.held() <= 20_000, "memory stays within the limit");
            }
            cutter.cut(b"\n{}\n", &mut bucket, &WHOLE);
            let (lines, too_long) = bucket.into_parts();
            assert_eq!(too_long, [crate::TooLong { line: 0, length: 100_000 }]);
            assert_eq!(lines, [&line[..BEGINNING], b"\n{}\n"].concat());
        }
    }

    #[test]
    fn a_full_bucket_leaves_the_rest() {
        let full = Full { rows: 2, bytes: 1000 };
        let (mut cutter, mut bucket) = (Cutter::new(100), Bucket::default());
        assert_eq!(cutter.cut(b"1\n2\n3\n4", &mut bucket, &full), 4);
        assert!(bucket.is_full(&full));
        assert_eq!(cutter.cut(b"3\n4", &mut bucket, &full), 0);
        let mut next = Bucket::reusing(bucket.into_parts().0);
        assert_eq!(cutter.cut(b"3\n4", &mut next, &full), 3);
        assert_eq!((next.count(), next.bytes()), (1, 2));
        let by_bytes = Full { rows: 1000, bytes: 3 };
        let mut bucket = Bucket::default();
        assert_eq!(Cutter::new(100).cut(b"1\n2\n3\n", &mut bucket, &by_bytes), 4);
    }

    #[test]
    fn random_bytes_in_random_pieces_lose_nothing() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..500 {
            let stream: Vec<u8> =
                (0..random.usize(..400)).map(|_| *random.choice(b"\n\r{}x\"").unwrap()).collect();
            let longest = random.usize(1..30);
            let whole = pieces(longest, &[&stream]);
            let mut rest = &stream[..];
            let mut parts = Vec::new();
            while !rest.is_empty() {
                let (part, after) = rest.split_at(random.usize(1..=rest.len()));
                parts.push(part);
                rest = after;
            }
            assert_eq!(pieces(longest, &parts), whole);
            let newlines = stream.iter().filter(|byte| **byte == b'\n').count() as u64;
            let unfinished = u64::from(stream.last().is_some_and(|byte| *byte != b'\n'));
            assert_eq!(whole.2, newlines + unfinished);
        }
    }
}
