//! What a transaction has counted in shared memory, to be undone where it is rolled back, also to a savepoint.

/// What was counted of a segment of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counted {
    /// The number of the queue's entry.
    pub entry: usize,
    /// The segment.
    pub segment: usize,
    /// Rows that were written.
    pub rows: u64,
    /// Rows that were consumed.
    pub consumed: u64,
}

/// What the subtransactions of a transaction have counted, by their numbers.
#[derive(Debug, Default)]
pub struct Tally {
    counted: Vec<(u32, Counted)>,
}

impl Tally {
    /// Nothing.
    pub const fn new() -> Tally {
        Tally { counted: Vec::new() }
    }

    /// A subtransaction has counted something.
    pub fn add(&mut self, within: u32, new: Counted) {
        let is_same = |known: &&mut (u32, Counted)| {
            (known.0, known.1.entry, known.1.segment) == (within, new.entry, new.segment)
        };
        match self.counted.iter_mut().rev().find(is_same) {
            Some((_, known)) => {
                known.rows += new.rows;
                known.consumed += new.consumed;
            }
            None => self.counted.push((within, new)),
        }
    }

    /// A subtransaction has become part of its parent.
    pub fn merge(&mut self, own: u32, parent: u32) {
        for counted in self.take(own) {
            self.add(parent, counted);
        }
    }

    /// What a subtransaction has counted, which is forgotten.
    pub fn take(&mut self, own: u32) -> Vec<Counted> {
        self.counted.extract_if(.., |(within, _)| *within == own).map(|(_, counted)| counted).collect()
    }

    /// What the transaction has counted, which is forgotten.
    pub fn take_all(&mut self) -> Vec<Counted> {
        std::mem::take(&mut self.counted).into_iter().map(|(_, counted)| counted).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(entry: usize, rows: u64, consumed: u64) -> Counted {
        Counted { entry, segment: 0, rows, consumed }
    }

    #[test]
    fn a_savepoint_gives_back_what_was_counted_since_and_no_more() {
        let mut tally = Tally::new();
        tally.add(1, counted(7, 5, 0));
        tally.add(2, counted(7, 3, 1));
        tally.add(3, counted(8, 2, 2));
        tally.add(2, counted(7, 1, 0));
        tally.merge(3, 2);
        assert_eq!(tally.take(2), [counted(7, 4, 1), counted(8, 2, 2)]);
        assert_eq!(tally.take(2), []);
        assert_eq!(tally.take_all(), [counted(7, 5, 0)]);
        assert_eq!(tally.take_all(), []);
    }

    #[test]
    fn what_was_kept_in_a_savepoint_goes_with_the_transaction() {
        let mut tally = Tally::new();
        tally.add(2, counted(7, 3, 1));
        tally.merge(2, 1);
        tally.add(1, counted(7, 1, 1));
        assert_eq!(tally.take_all(), [counted(7, 4, 2)]);
    }
}
