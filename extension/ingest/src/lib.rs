//! Lines of JSON into queues and tables: what an executor does with a bucket. This crate knows neither connections nor listeners: it
//! gets a bucket and a target.
//!
//! - [`target`]: where lines go; made anew for each bucket.
//! - [`columns`]: keys to columns; [`convert`], with [`moment`] and [`decimal`]: values to data by parsers of our own;
//!   [`input`]: by the types' own.
//! - [`bucket`]: the lines of a bucket, read: rows, and lines that are refused.
//! - [`arena`]: the memory of a bucket's values; [`scratch`]: of what a conversion needs meanwhile.
//! - [`store`]: writing rows; those that the target refuses are found by halving.
//! - [`table`]: tables as targets; [`copy`] with [`mod@encode`], and [`insert`]: the two ways into them.
//! - [`progress`]: what producers have had committed in tables.
//! - [`blame`]: whose fault an error is.
//! - [`letters`]: lines that were refused, and dead letters.
//! - [`functions`]: what SQL calls.

mod arena;
pub mod blame;
pub mod bucket;
pub mod columns;
mod convert;
pub mod copy;
mod defaults;
mod encode;
pub mod functions;
pub mod input;
pub mod insert;
mod letters;
pub mod progress;
pub mod scratch;
pub mod store;
pub mod table;
pub mod target;

pub use target::{Keep, Target};

use pg::refuse::refuse_with_hint;
use pgrx::prelude::*;
use queue::producer;
use wire::work::NAMED;

use self::blame::Refusal;
use self::letters::Letters;
use self::target::{Held, Place};

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

/// Writes a bucket, in the caller's transaction with an active snapshot, as the current user. What is a line's fault sends
/// the line to the dead letters; any other error is raised.
pub fn write(target: &Target, bucket: &Bucket) -> Written {
    target.check();
    let held = target.hold();
    // Read before the producer's other transactions are waited for: the bucket before this one may be under way.
    let mut read = Read::of(&held, bucket, 0);
    if let Some(sender) = bucket.origin {
        producer::check(sender.producer, "line", sender.epoch, sender.first, read.rows.lines as usize);
    }
    let last = bucket.origin.and_then(|sender| target.resume(&sender));
    let lines = read.rows.lines as usize;
    let repeated = bucket.origin.map_or(0, |sender| repeated(&sender, lines, last, bucket.listener));
    if repeated > 0 {
        read = Read::of(&held, bucket, repeated);
    }
    let Read { mut rows, mut letters, mut written } = read;
    let origin = bucket.origin.map(|sender| sender.until(rows.lines, last));
    written.sequence = origin.as_ref().map_or(0, |origin| origin.sequence);
    if let (Place::Table(table), Some(origin)) = (&target.place, &origin) {
        progress::note(*table, origin);
    }
    store::store(&held, &mut rows, origin.as_ref(), &mut written, &mut letters);
    letters.bury(target, bucket.listener, &mut written);
    written
}

/// Writes lines that were refused before, without asking whether the current user may. Those that are refused again, by their
/// numbers, and why; nothing is noted of them.
pub(crate) fn write_again(target: &Target, lines: &[u8], listener: i32) -> Vec<(u64, Refusal)> {
    let bucket = Bucket { lines, origin: None, listener, cut: &[], longest: usize::MAX, refused: None };
    let (mut letters, mut written) = (Letters::named(), Written::default());
    let held = target.hold();
    let mut rows = bucket::read(&held, &bucket, 0, &mut written, &mut letters);
    store::store(&held, &mut rows, None, &mut written, &mut letters);
    letters.refused().collect()
}

/// A bucket that has been read.
struct Read<'a> {
    rows: bucket::Rows<'a>,
    letters: Letters<'a>,
    written: Written,
}

impl<'a> Read<'a> {
    /// Reads a bucket but for so many lines at its start.
    fn of(target: &Held<'_>, bucket: &Bucket<'a>, repeated: u64) -> Read<'a> {
        let (mut letters, mut written) = (Letters::new(), Written::default());
        let rows = bucket::read(target, bucket, repeated, &mut written, &mut letters);
        Read { rows, letters, written }
    }
}

/// Lines of a part of [`write_in_parts`] at most.
const PART_LINES: usize = 20_000;
/// Bytes of a part, but for its last line.
const PART_BYTES: usize = 4 << 20;

/// As [`write`], for as many lines as there are: the memory is that of a part, and a cancel is heeded between two.
pub fn write_in_parts(target: &Target, bucket: &Bucket) -> Written {
    let mut written = Written::default();
    let (mut rest, mut lines) = (bucket.lines, 0);
    loop {
        let (part, count) = part(rest);
        rest = &rest[part.len()..];
        let behind = |sender: Sender<'_>| producer::number(sender.producer, sender.first, lines);
        let origin = bucket.origin.map(|sender| Sender { first: behind(sender), ..sender });
        written.add(write(target, &Bucket { lines: part, origin, ..*bucket }), lines as u64);
        lines += count as i64;
        if rest.is_empty() {
            return written;
        }
        pgrx::check_for_interrupts!();
    }
}

/// The first lines of a text, as many as a part has, and how many they are.
fn part(lines: &[u8]) -> (&[u8], usize) {
    let mut count = 0;
    for place in memchr::memchr_iter(b'\n', lines) {
        count += 1;
        if count == PART_LINES || place >= PART_BYTES {
            return (&lines[..=place], count);
        }
    }
    (lines, count)
}

impl Written {
    /// Adds what became of a part, before which so many lines came.
    fn add(&mut self, part: Written, before: u64) {
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
    fn until(&self, lines: u64, last: Option<i64>) -> queue::append::Origin {
        let next = producer::number(self.producer, self.first, lines as i64);
        let sequence = next.saturating_sub(1).max(last.unwrap_or(i64::MIN));
        queue::append::Origin { producer: self.producer.to_owned(), epoch: self.epoch, sequence }
    }
}

/// How many of a bucket's lines are there already: those at its start.
fn repeated(sender: &Sender, lines: usize, last: Option<i64>, listener: i32) -> u64 {
    // Of a listener's producers the hello is known: one that is not has been forgotten since.
    if last.is_none() && listener != 0 {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            &format!("producer {} is not known any more", sender.producer),
            "Say hello again.",
        );
    }
    producer::repeated(sender.producer, "line", sender.first, lines, last)
}
