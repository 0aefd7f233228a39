//! A message given in parts, read as one.

/// What is left of a message.
pub(crate) struct Gather<'a> {
    parts: &'a [&'a [u8]],
    /// How much of the first part has been read.
    at: usize,
}

/// The length of a message given in parts.
pub(crate) fn length(parts: &[&[u8]]) -> usize {
    parts.iter().map(|part| part.len()).sum()
}

impl<'a> Gather<'a> {
    /// The message from byte `skip` on.
    pub(crate) fn new(parts: &'a [&'a [u8]], skip: usize) -> Self {
        let mut gather = Gather { parts, at: skip };
        gather.normalize();
        gather
    }

    /// Drops the parts that are read to their end.
    fn normalize(&mut self) {
        while let [first, rest @ ..] = self.parts {
            if self.at < first.len() {
                break;
            }
            self.at -= first.len();
            self.parts = rest;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The next bytes that lie together, at most `room` of them; empty at the end.
    pub(crate) fn take(&mut self, room: usize) -> &'a [u8] {
        let Some(first) = self.parts.first() else { return &[] };
        let left = &first[self.at..];
        let taken = &left[..left.len().min(room)];
        self.at += taken.len();
        self.normalize();
        taken
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn parts_read_as_one_message() {
        let parts: [&[u8]; 4] = [b"ab", b"", b"cde", b"f"];
        for skip in 0..=6 {
            for room in 1..=6 {
                let mut gather = Gather::new(&parts, skip);
                let mut read = Vec::new();
                while !gather.is_empty() {
                    let bytes = gather.take(room);
                    assert!(!bytes.is_empty() && bytes.len() <= room);
                    read.extend_from_slice(bytes);
                }
                assert_eq!(read, &b"abcdef"[skip..]);
            }
        }
        assert_eq!(length(&parts), 6);
    }
}
