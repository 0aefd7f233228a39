//! Blocks of whole lines.

use memchr::memchr_iter;

/// Lines that follow each other, each with its end.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) bytes: Vec<u8>,
    /// The sequence of its first line.
    pub(crate) first: u64,
    /// How many lines it has; at least one.
    pub(crate) lines: u64,
    /// How much of the files had been read when it was complete, compressed as they are.
    pub(crate) position: u64,
}

impl Block {
    pub(crate) fn new(bytes: Vec<u8>, first: u64, position: u64) -> Self {
        let lines = memchr_iter(b'\n', &bytes).count() as u64;
        Self { bytes, first, lines, position }
    }

    /// The sequence of its last line.
    pub(crate) fn last(&self) -> u64 {
        self.first + self.lines - 1
    }

    /// What is left of it behind a sequence.
    pub(crate) fn after(self, sequence: u64) -> Option<Self> {
        if sequence < self.first {
            Some(self)
        } else if sequence >= self.last() {
            None
        } else {
            Some(self.split(sequence + 1).1)
        }
    }

    /// The lines before the one of this sequence, which is inside, and the others.
    pub(crate) fn split(mut self, at: u64) -> (Self, Self) {
        let before = at - self.first;
        let end = memchr_iter(b'\n', &self.bytes).nth(before as usize - 1).map_or(0, |end| end + 1);
        let rest = self.bytes.split_off(end);
        let rest = Self { bytes: rest, first: at, lines: self.lines - before, position: self.position };
        (Self { lines: before, ..self }, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block() -> Block {
        Block::new(b"a\n\nccc\n".to_vec(), 5, 7)
    }

    #[test]
    fn lines_are_counted_with_empty_ones() {
        assert_eq!((block().lines, block().last()), (3, 7));
    }

    #[test]
    fn what_is_behind_a_sequence_is_left() {
        assert_eq!(block().after(4).unwrap().bytes, b"a\n\nccc\n");
        let rest = block().after(5).unwrap();
        assert_eq!((rest.bytes.as_slice(), rest.first, rest.lines), (&b"\nccc\n"[..], 6, 2));
        assert_eq!(block().after(6).unwrap().bytes, b"ccc\n");
        assert!(block().after(7).is_none());
    }

    #[test]
    fn a_block_is_cut_between_lines() {
        let (one, other) = block().split(7);
        assert_eq!((one.bytes.as_slice(), one.lines, one.last()), (&b"a\n\n"[..], 2, 6));
        assert_eq!((other.bytes.as_slice(), other.lines, other.first), (&b"ccc\n"[..], 1, 7));
    }
}
