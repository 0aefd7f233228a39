//! How full a segment is.

use pgrx::pg_sys;
use shared::settings;

use super::ledger;
use super::segment::Segment;

/// Pages from which a ledger may be swollen: three thousand claims.
const SWOLLEN: u32 = 32;

/// How many times as large as the rows it is then. Of messages that are sent one by one it is three times as large, and each
/// reading adds one.
const SWOLLEN_TIMES: u32 = 16;

/// Pages from which a segment is full.
pub(crate) fn full() -> u32 {
    settings::SEGMENT_SIZE.get() as u32 * ((1 << 20) / pg_sys::BLCKSZ)
}

/// Pages of a segment that make it full: what is only carried over to its ledger does not, as it would be carried on and on.
pub(crate) fn pages(segment: &Segment, carried: u32) -> u32 {
    segment.pages_of_rows().saturating_add(segment.ledger.pages().saturating_sub(carried))
}

/// Whether a segment of so many [`pages`] may be written to as if it were empty. Not if rows were moved out of it: what is to be
/// moved to the open segment may not have been there before.
pub(crate) fn has_room(segment: &Segment, pages: u32) -> bool {
    pages <= full() / 2 && !ledger::has_moved(segment)
}

/// Whether a segment has no rows and a short ledger, whatever becomes of this transaction.
pub(crate) fn is_empty(segment: &Segment, carried: u32) -> bool {
    segment.rows.pages() == 0 && pages(segment, carried) <= full() / 2 && !segment.rows.is_truncated_here()
}

/// Whether a segment's ledger is many times as large as its rows, which are retried, or whose leases are prolonged, again and again:
/// each time adds a claim. What rows have elsewhere does not count: there are not
/// more of them for it.
pub(crate) fn is_swollen(segment: &Segment, carried: u32) -> bool {
    let (rows, ledger) = (segment.rows.pages(), segment.ledger.pages().saturating_sub(carried));
    rows > 0 && ledger >= SWOLLEN.max(SWOLLEN_TIMES.saturating_mul(rows))
}
