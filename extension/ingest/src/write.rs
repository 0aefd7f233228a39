//! Writing buckets.

use pg::refuse::refuse_with_hint;
use pgrx::prelude::*;
use queue::producer;

use super::blame::Refusal;
use super::bucket::{Bucket, Sender, Written};
use super::letters::Letters;
use super::target::{Held, Place, Target};
use super::{progress, read, store};

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
    let mut rows = read::read(&held, &bucket, 0, &mut written, &mut letters);
    store::store(&held, &mut rows, None, &mut written, &mut letters);
    letters.refused().collect()
}

/// A bucket that has been read.
struct Read<'a> {
    rows: read::Rows<'a>,
    letters: Letters<'a>,
    written: Written,
}

impl<'a> Read<'a> {
    /// Reads a bucket but for so many lines at its start.
    fn of(target: &Held<'_>, bucket: &Bucket<'a>, repeated: u64) -> Read<'a> {
        let (mut letters, mut written) = (Letters::new(), Written::default());
        let rows = read::read(target, bucket, repeated, &mut written, &mut letters);
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
