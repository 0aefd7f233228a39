//! Bytes that are written at the end and taken from the front, in pieces of any size.
//!
//! Who takes a little of much must not pay for all of it: a vector that is drained from its front moves what is left each time, and
//! 64 MB taken in pieces of 64 kB are 32 GB moved. Here what is left is moved only when more than that has been taken before,
//! so all moves together have fewer bytes than were written.

/// Bytes of which the first have been taken.
#[derive(Debug, Default)]
pub struct Spool {
    bytes: Vec<u8>,
    taken: usize,
    #[cfg(test)]
    moved: usize,
}

impl From<Vec<u8>> for Spool {
    fn from(bytes: Vec<u8>) -> Spool {
        Spool { bytes, ..Spool::default() }
    }
}

impl Spool {
    /// What has not been taken.
    pub fn rest(&self) -> &[u8] {
        &self.bytes[self.taken..]
    }

    /// How much has not been taken.
    pub fn len(&self) -> usize {
        self.bytes.len() - self.taken
    }

    /// Whether all has been taken.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes so many bytes from the front.
    ///
    /// # Panics
    ///
    /// If there are fewer.
    pub fn take(&mut self, count: usize) {
        assert!(count <= self.len(), "{count} bytes of {} cannot be taken", self.len());
        self.taken += count;
        if self.is_empty() {
            self.bytes.clear();
            self.taken = 0;
        }
    }

    /// Where more is written: whoever has it appends, and touches nothing that is there.
    pub fn end(&mut self) -> &mut Vec<u8> {
        if self.taken > self.len() {
            #[cfg(test)]
            {
                self.moved += self.len();
            }
            self.bytes.drain(..self.taken);
            self.taken = 0;
        }
        &mut self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes pieces of this size, and takes pieces of that size while there is more; gives how many bytes were moved.
    fn moved(total: usize, written_at_once: usize, taken_at_once: usize) -> usize {
        let (mut spool, mut written, mut taken) = (Spool::default(), 0, 0);
        while taken < total {
            while written < total && spool.len() < taken_at_once {
                let count = written_at_once.min(total - written);
                spool.end().extend((written..written + count).map(|byte| byte as u8));
                written += count;
            }
            let count = taken_at_once.min(spool.len());
            assert!(spool.rest()[..count].iter().zip(taken..).all(|(byte, place)| *byte == place as u8));
            spool.take(count);
            taken += count;
        }
        assert!(spool.is_empty());
        spool.moved
    }

    #[test]
    fn all_moves_together_have_fewer_bytes_than_were_written() {
        const TOTAL: usize = 1 << 20;
        for written in [1, 7, 1000, 4096, 100_001, TOTAL] {
            for taken in [1, 3, 100, 4095, 65_536, TOTAL] {
                let moved = moved(TOTAL, written, taken);
                assert!(moved < TOTAL, "{moved} bytes were moved, by pieces of {written} and {taken}");
            }
        }
    }

    #[test]
    fn what_is_taken_is_gone_and_the_rest_stays_in_its_order() {
        let mut spool = Spool::from(b"abcdef".to_vec());
        spool.take(4);
        spool.end().extend_from_slice(b"gh");
        assert_eq!((spool.rest(), spool.len()), (&b"efgh"[..], 4));
        spool.take(4);
        assert!(spool.is_empty() && spool.end().is_empty());
    }
}
