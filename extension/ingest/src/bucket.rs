//! A bucket, who has sent it, and what became of it.

use queue::producer;
use wire::work::NAMED;

use super::blame::Refusal;

/// Complete lines, and whose they are.
#[derive(Clone, Copy)]
pub struct Bucket<'a> {
    /// Complete lines; each ends with `\n` but perhaps the last. Of a line longer than `howdah.queue_longest_line` one byte more
    /// than that suffices: it is refused.
    pub lines: &'a [u8],
    /// For the acknowledged protocol: who sends, and what number the first line has.
    pub origin: Option<Sender<'a>>,
    /// The listener whose dead letters and limits these are; 0 from SQL.
    pub listener: i32,
    /// Lines of which only the beginning is there, as they were too long.
    pub cut: &'a [wire::TooLong],
    /// Bytes of a line at most.
    pub longest: usize,
    /// Why its lines are dead letters without being tried.
    pub refused: Option<&'a Refusal>,
}

/// A producer that numbers its lines, empty and bad ones too.
#[derive(Clone, Copy, Debug)]
pub struct Sender<'a> {
    /// Its name.
    pub producer: &'a str,
    /// Its epoch: an older one is refused.
    pub epoch: i32,
    /// The number of the first line of the bucket.
    pub first: i64,
}

/// What became of a bucket.
#[derive(Clone, Default, Debug)]
pub struct Written {
    /// Lines that are not empty.
    pub received: u64,
    /// Lines that are rows of the target now.
    pub stored: u64,
    /// Lines that the producer had sent before: left out.
    pub repeated: u64,
    /// The number of the producer's last line now.
    pub sequence: i64,
    /// The first of the lines that were refused, [`NAMED`] at most.
    pub rejected: Vec<Rejected>,
    /// How many were refused.
    pub rejected_count: u64,
    /// How many of them are no dead letters either, as there were as many as are kept.
    pub dropped: u64,
}

/// A line that was refused.
#[derive(Clone, Debug)]
pub struct Rejected {
    /// Its number in the bucket's lines, from 0.
    pub line: u64,
    /// The SQLSTATE of its error.
    pub sqlstate: [u8; 5],
    /// The error.
    pub message: String,
}

impl Written {
    /// Adds what became of a part, before which so many lines came.
    pub(crate) fn add(&mut self, part: Written, before: u64) {
        self.received += part.received;
        self.stored += part.stored;
        self.repeated += part.repeated;
        self.sequence = part.sequence;
        self.rejected_count += part.rejected_count;
        self.dropped += part.dropped;
        let room = NAMED.saturating_sub(self.rejected.len());
        let named = part.rejected.into_iter().take(room);
        self.rejected.extend(named.map(|rejected| Rejected { line: rejected.line + before, ..rejected }));
    }
}

impl Sender<'_> {
    /// How far the producer is after so many lines.
    pub(crate) fn until(&self, lines: u64, last: Option<i64>) -> queue::append::Origin {
        let next = producer::number(self.producer, self.first, lines as i64);
        let sequence = next.saturating_sub(1).max(last.unwrap_or(i64::MIN));
        queue::append::Origin { producer: self.producer.to_owned(), epoch: self.epoch, sequence }
    }
}

/// What is kept besides the values of known keys. Both columns take JSON.
#[derive(Clone, Default, Debug)]
pub struct Keep {
    /// The column that gets the whole line.
    pub line: Option<String>,
    /// The column that gets an object of the keys that have no column.
    pub rest: Option<String>,
}
