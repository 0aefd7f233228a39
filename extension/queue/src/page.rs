//! The rows of one page that have certain positions.

use std::ptr::null_mut;

use claims::{Span, spans};
use pg::guard::direct;
use pgrx::pg_sys::{self, Buffer, HeapTupleData, Relation};

use super::opened::Opened;

/// More rows than fit on a page.
const MOST: usize = pg_sys::BLCKSZ as usize / 24;

/// Rows of a page, which is pinned.
pub struct Page {
    buffer: Buffer,
    table: pg_sys::Oid,
    number: u32,
    count: usize,
    places: [u16; MOST],
}

/// A table of rows whose pages are read.
pub struct Reader<'a> {
    rows: &'a Opened,
    /// Whether the pages may be used again soon: those of a look for something lost are not.
    strategy: pg_sys::BufferAccessStrategy,
}

impl<'a> Reader<'a> {
    /// A reader of a table.
    pub fn new(rows: &'a Opened) -> Reader<'a> {
        Reader { rows, strategy: null_mut() }
    }

    /// A reader that does not push others' pages out of memory.
    pub(crate) fn of_everything(rows: &'a Opened) -> Reader<'a> {
        // SAFETY: the strategy is in the current memory context.
        let strategy = unsafe { pg_sys::GetAccessStrategy(pg_sys::BufferAccessStrategyType::BAS_BULKREAD) };
        Reader { rows, strategy }
    }

    /// The rows of a page whose positions are in one of the spans, and whose transaction has committed or is
    /// the own.
    pub fn read(&self, number: u32, wanted: &[Span]) -> Page {
        let mut page = Page { buffer: 0, table: self.table(), number, count: 0, places: [0; MOST] };
        let only = match wanted {
            [span] if span.len() == 1 => Some(span.first),
            _ => None,
        };
        // SAFETY: one guard around the page. Nothing inside owns memory, and an error unpins and unlocks.
        unsafe {
            direct(|| {
                page.pin(**self.rows, self.strategy);
                page.look(only, |page, tuple| {
                    spans::contain(wanted, position_of(tuple))
                        && pg::HeapTupleSatisfiesVisibility(
                            tuple,
                            &raw mut pg_sys::SnapshotSelfData,
                            page.buffer,
                        )
                });
            });
        }
        page
    }

    /// The position of the first row of a page, whatever became of it; none if the page has no rows.
    pub(crate) fn first_position(&self, number: u32) -> Option<u64> {
        let mut page = Page { buffer: 0, table: self.table(), number, count: 0, places: [0; MOST] };
        // SAFETY: as in `read`.
        unsafe {
            direct(|| {
                page.pin(**self.rows, self.strategy);
                page.look(None, |page, _| page.count == 0);
            });
        }
        page.tuples().next().map(|tuple| {
            // SAFETY: the tuple is on the pinned page.
            unsafe { position_of(&tuple) }
        })
    }

    /// A page, of which rows are asked for by their place.
    pub(crate) fn pinned(&self, number: u32) -> Page {
        let mut page = Page { buffer: 0, table: self.table(), number, count: 0, places: [0; MOST] };
        // SAFETY: as in `read`.
        unsafe {
            pg_sys::submodules::ffi::pg_guard_ffi_boundary(|| page.pin(**self.rows, self.strategy));
        }
        page
    }

    fn table(&self) -> pg_sys::Oid {
        // SAFETY: the relation is open.
        unsafe { (***self.rows).rd_id }
    }
}

/// The position of a row: its first column, which is never null.
///
/// # Safety
/// A tuple of a table of rows.
pub(crate) unsafe fn position_of(tuple: *const HeapTupleData) -> u64 {
    // SAFETY: by contract; the first column is aligned, as the data is.
    unsafe {
        let header = (*tuple).t_data;
        header.cast::<u8>().add((*header).t_hoff.into()).cast::<u64>().read()
    }
}

impl Page {
    /// # Safety
    /// The relation is open and has the page. PostgreSQL's errors are caught further up.
    unsafe fn pin(&mut self, relation: Relation, strategy: pg_sys::BufferAccessStrategy) {
        let (fork, mode) = (pg_sys::ForkNumber::MAIN_FORKNUM, pg_sys::ReadBufferMode::RBM_NORMAL);
        // SAFETY: by contract.
        self.buffer = unsafe { pg::ReadBufferExtended(relation, fork, self.number, mode, strategy) };
    }

    /// Looks for rows; for the row of one position, if only that is wanted.
    ///
    /// # Safety
    /// The page is pinned. PostgreSQL's errors are caught further up.
    unsafe fn look(&mut self, only: Option<u64>, is_wanted: impl Fn(&Page, *mut HeapTupleData) -> bool) {
        // SAFETY: by contract; the page is locked while line pointers are read.
        unsafe {
            pg::LockBuffer(self.buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
            let last = pg_sys::PageGetMaxOffsetNumber(pg_sys::BufferGetPage(self.buffer));
            let start = only.and_then(|position| self.guess(position, last)).unwrap_or(1);
            for place in (start..=last).chain(1..start) {
                if let Some(mut tuple) = self.tuple(place)
                    && is_wanted(self, &mut tuple)
                    && self.count < MOST
                {
                    self.places[self.count] = place;
                    self.count += 1;
                    if only.is_some() {
                        break;
                    }
                }
            }
            pg::LockBuffer(self.buffer, pg_sys::BUFFER_LOCK_UNLOCK as i32);
        }
    }

    /// The place of a position on a page that has neighbouring positions in their order, as most have.
    ///
    /// # Safety
    /// The page is pinned and locked, and has so many places.
    unsafe fn guess(&self, position: u64, last: u16) -> Option<u16> {
        // SAFETY: by contract.
        unsafe {
            let distance = position.checked_sub(position_of(&self.tuple(1)?))?;
            let place = u16::try_from(distance).ok()?.checked_add(1).filter(|place| *place <= last)?;
            (position_of(&self.tuple(place)?) == position).then_some(place)
        }
    }

    /// # Safety
    /// The page is pinned, and has the place.
    unsafe fn tuple(&self, place: u16) -> Option<HeapTupleData> {
        // SAFETY: by contract. A row stays where it is while its page is pinned.
        unsafe {
            let page = pg_sys::BufferGetPage(self.buffer);
            let item = pg_sys::PageGetItemId(page, place);
            if (*item).lp_flags() != pg_sys::LP_NORMAL {
                return None;
            }
            let mut tuple: HeapTupleData = std::mem::zeroed();
            tuple.t_data = pg_sys::PageGetItem(page, item).cast();
            tuple.t_len = (*item).lp_len();
            tuple.t_tableOid = self.table;
            tuple.t_self.ip_blkid.bi_hi = (self.number >> 16) as u16;
            tuple.t_self.ip_blkid.bi_lo = self.number as u16;
            tuple.t_self.ip_posid = place;
            Some(tuple)
        }
    }

    /// Its number.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The row at a place where one was found. A row stays where it is while its table is locked, unless somebody removes
    /// it by hand.
    pub fn at(&self, place: u16) -> Option<HeapTupleData> {
        // SAFETY: the page is pinned. Places stay when rows are removed.
        unsafe {
            let is_there = place <= pg_sys::PageGetMaxOffsetNumber(pg_sys::BufferGetPage(self.buffer));
            if is_there { self.tuple(place) } else { None }
        }
    }

    /// The rows. They are valid as long as the page.
    pub(crate) fn tuples(&self) -> impl Iterator<Item = HeapTupleData> {
        // SAFETY: the page is pinned, and the places were found on it.
        self.places[..self.count].iter().filter_map(|place| unsafe { self.tuple(*place) })
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // After an error PostgreSQL unpins.
        if self.buffer != 0 && !std::thread::panicking() {
            // SAFETY: pinned by `pin`.
            unsafe { pg_sys::ReleaseBuffer(self.buffer) };
        }
    }
}
