//! Finding rows by position.
//!
//! The ledger says on which pages rows were written. After a restore, VACUUM FULL or CLUSTER they are elsewhere, but
//! still roughly in order: then a search by halves finds the neighbourhood, which is widened until all are there.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use claims::{Batch, Span, spans};
use pg::log_line;
use pgrx::pg_sys::HeapTupleData;

use super::page::{Page, Reader, position_of};
use super::segment::Segment;

/// Pages around the place where rows should be, to be looked at in turn.
const NEIGHBOURHOODS: [u32; 3] = [8, 64, 1024];

/// Hands out the rows of these ascending spans, in the order of their positions. `batches` say where to look. Rows that somebody
/// has removed by hand are missing, and a warning says so.
pub(crate) fn fetch(
    segment: &Segment,
    batches: &[Batch],
    wanted: &[Span],
    hand_out: impl FnMut(u64, &HeapTupleData),
) {
    let order = Order::new(segment, wanted, hand_out);
    let mut search = Search { segment, missing: wanted.to_vec(), looked: Vec::new(), order };
    let total = segment.rows.pages();
    for pages in pages_of(batches, total) {
        search.look(&Reader::new(&segment.rows), pages);
    }
    if !search.missing.is_empty() {
        search.look_around(total);
    }
    search.order.hand_out_waiting(true);
    if !search.missing.is_empty() {
        let count: u64 = search.missing.iter().map(Span::len).sum();
        log_line::warning!("{count} rows of a queue are missing: somebody has changed its tables");
    }
}

/// The pages of the batches, in order, none twice.
fn pages_of(batches: &[Batch], total: u32) -> Vec<Range<u32>> {
    let ranges = batches.iter().map(|batch| batch.low.min(total)..batch.high.saturating_add(1).min(total));
    let mut ranges: Vec<Range<u32>> = ranges.collect();
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<u32>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

struct Search<'a, F> {
    segment: &'a Segment,
    /// What has not been found yet.
    missing: Vec<Span>,
    /// Pages that have been looked at for all that is missing.
    looked: Vec<Range<u32>>,
    order: Order<'a, F>,
}

impl<F: FnMut(u64, &HeapTupleData)> Search<'_, F> {
    fn look(&mut self, reader: &Reader<'_>, pages: Range<u32>) {
        let mut found = Vec::new();
        for number in pages.clone() {
            if self.looked.iter().any(|looked| looked.contains(&number)) {
                continue;
            }
            pgrx::check_for_interrupts!();
            let page = reader.read(number, &self.missing);
            for tuple in page.tuples() {
                // SAFETY: a tuple of the table of rows, on a pinned page.
                let position = unsafe { position_of(&tuple) };
                found.push(position);
                self.order.offer(position, &tuple);
            }
            drop(page);
            self.order.hand_out_waiting(false);
        }
        self.looked.push(pages);
        self.missing = without(&self.missing, found);
    }

    fn look_around(&mut self, total: u32) {
        let reader = Reader::of_everything(&self.segment.rows);
        for around in NEIGHBOURHOODS {
            for span in self.missing.clone() {
                let place = self.place_of(&reader, span.first, total);
                let end = self.place_of(&reader, span.end, total);
                let pages = place.saturating_sub(around)..end.saturating_add(around).min(total);
                self.look(&reader, pages);
            }
        }
        if !self.missing.is_empty() {
            self.look(&reader, 0..total);
        }
    }

    /// The page where a position should be, if rows were in order.
    fn place_of(&self, reader: &Reader<'_>, position: u64, total: u32) -> u32 {
        let (mut low, mut high) = (0, total);
        while low < high {
            let middle = low + (high - low) / 2;
            match reader.first_position(middle) {
                Some(first) if first <= position => low = middle + 1,
                _ => high = middle,
            }
        }
        low.saturating_sub(1)
    }
}

/// Rows are mostly found in the order of their positions, and are handed out at once. Of those that come too early it is
/// noted where they are, which costs 16 bytes each, and they are read again when it is their turn.
struct Order<'a, F> {
    segment: &'a Segment,
    hand_out: F,
    /// What has not been handed out: the first position of the first span is next.
    wanted: &'a [Span],
    next: u64,
    waiting: BinaryHeap<Reverse<Place>>,
}

/// Where a row is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    position: u64,
    page: u32,
    item: u16,
}

impl<'a, F: FnMut(u64, &HeapTupleData)> Order<'a, F> {
    fn new(segment: &'a Segment, wanted: &'a [Span], hand_out: F) -> Self {
        let next = wanted.first().map_or(u64::MAX, |span| span.first);
        Order { segment, hand_out, wanted, next, waiting: BinaryHeap::new() }
    }

    /// A row that was found.
    fn offer(&mut self, position: u64, tuple: &HeapTupleData) {
        if position == self.next {
            self.pass(position);
            (self.hand_out)(position, tuple);
        } else if position > self.next {
            let place = &tuple.t_self;
            let page = u32::from(place.ip_blkid.bi_hi) << 16 | u32::from(place.ip_blkid.bi_lo);
            self.waiting.push(Reverse(Place { position, page, item: place.ip_posid }));
        }
    }

    /// What is next once a position, and all below, has been handed out or is missing.
    fn pass(&mut self, position: u64) {
        while let Some(span) = self.wanted.first()
            && span.end <= position + 1
        {
            self.wanted = &self.wanted[1..];
        }
        self.next = self.wanted.first().map_or(u64::MAX, |span| span.first.max(position + 1));
    }

    /// Hands out what has waited for its turn: all that is left if nothing more comes.
    fn hand_out_waiting(&mut self, is_last: bool) {
        let reader = Reader::new(&self.segment.rows);
        let mut page: Option<Page> = None;
        while let Some(Reverse(place)) = self.waiting.peek().copied()
            && (is_last || place.position <= self.next)
        {
            self.waiting.pop();
            if place.position < self.next {
                continue;
            }
            self.pass(place.position);
            if page.as_ref().is_none_or(|page| page.number() != place.page) {
                drop(page.take());
                pgrx::check_for_interrupts!();
                page = Some(reader.pinned(place.page));
            }
            let tuple = page.as_ref().and_then(|page| page.at(place.item));
            // SAFETY: a tuple of the table of rows, on a pinned page.
            if let Some(tuple) = tuple.filter(|tuple| unsafe { position_of(tuple) } == place.position) {
                (self.hand_out)(place.position, &tuple);
            }
        }
    }
}

/// The spans without these positions.
fn without(wanted: &[Span], mut found: Vec<u64>) -> Vec<Span> {
    found.sort_unstable();
    let mut missing = Vec::new();
    let mut found = found.into_iter().peekable();
    for span in wanted {
        let mut first = span.first;
        while let Some(position) = found.next_if(|position| *position < span.end) {
            if position > first {
                missing.push(Span { first, end: position });
            }
            first = position + 1;
        }
        if first < span.end {
            missing.push(Span { first, end: span.end });
        }
    }
    missing
}

/// The spans of these ascending positions.
pub(crate) fn spans_of(positions: impl IntoIterator<Item = u64>) -> Vec<Span> {
    let mut list = Vec::new();
    positions.into_iter().for_each(|position| spans::push(&mut list, position));
    list
}
