//! Pages of rows that will stay are written to disk as they come.
//!
//! The pages that a table has grown by stay in the kernel's memory for half a minute. Then it writes all of them at once,
//! and commits wait for the disk meanwhile: 200 ms for 300 MB, as measured. So the pages of a queue with a backlog are
//! handed to the disk early. Where rows are taken soon their segment is truncated before that half minute is
//! over, and it is best to write nothing. Nor is it done in a load at full rate, of which it took a tenth: there the time of
//! a single commit matters less.

use pgrx::pg_sys::{self, ForkNumber};

use super::SEGMENTS;
use super::definition::Definition;
use super::segment::Segment;

/// Pages that are written together: 256 kB, as `checkpoint_flush_after` has it.
const GROUP: u32 = 32;
/// Pages of a bucket from which on it belongs to a load at full rate.
const LARGE: u32 = 128;

/// Pages `low` to `high` of an open segment have got rows.
pub(crate) fn written(queue: &Definition, segment: &Segment, low: u32, high: u32) {
    let Some((first, count)) = groups(low, high) else { return };
    if high - low >= LARGE || !has_backlog(queue, segment.number) {
        return;
    }
    // SAFETY: the table is open. It has been written to, so its file is open too.
    unsafe {
        let file = (**segment.rows).rd_smgr;
        if !file.is_null() {
            pg_sys::smgrwriteback(file, ForkNumber::MAIN_FORKNUM, first, count);
        }
    }
}

/// Whether rows wait in other segments than the one that is written to.
fn has_backlog(queue: &Definition, open: usize) -> bool {
    let lock = queue.lock();
    (0..SEGMENTS).any(|number| {
        let segment = &lock.segments[number];
        number != open && !segment.is_clean && !segment.watch.is_drained()
    })
}

/// The groups that end within these pages, as a first page and a number of them. Buckets follow one another, so each
/// group ends in one.
fn groups(low: u32, high: u32) -> Option<(u32, u32)> {
    let (first, end) = (low / GROUP, (high + 1) / GROUP);
    (first < end).then(|| (first * GROUP, (end - first) * GROUP))
}
