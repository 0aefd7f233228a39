//! Finding rows by position.
//!
//! The ledger says on which pages rows were written. After a restore, VACUUM FULL or CLUSTER they are elsewhere, but
//! still roughly in order: then a search by halves finds the neighbourhood, which is widened until all are there.

use std::ops::Range;

use claims::{Batch, Span, spans};
use pgrx::pg_sys::HeapTupleData;
use pgrx::prelude::*;

use super::page::{Page, Reader, position_of};
use super::segment::Segment;

/// Pages around the place where rows should be, to be looked at in turn.
const NEIGHBOURHOODS: [u32; 3] = [8, 64, 1024];

/// Hands out the rows of these ascending spans. `batches` say where to look. Rows that somebody has removed by hand are
/// missing, and a warning says so.
pub fn fetch(
    segment: &Segment,
    batches: &[Batch],
    wanted: &[Span],
    mut hand_out: impl FnMut(u64, &HeapTupleData),
) {
    let mut search = Search { segment, missing: wanted.to_vec(), looked: Vec::new() };
    let total = segment.rows.pages();
    for pages in pages_of(batches, total) {
        search.look(&Reader::new(&segment.rows), pages, &mut hand_out);
    }
    if !search.missing.is_empty() {
        search.look_around(total, &mut hand_out);
    }
    if !search.missing.is_empty() {
        let count: u64 = search.missing.iter().map(Span::len).sum();
        warning!("{count} rows of a queue are missing: somebody has changed its tables");
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

struct Search<'a> {
    segment: &'a Segment,
    /// What has not been found yet.
    missing: Vec<Span>,
    /// Pages that have been looked at for all that is missing.
    looked: Vec<Range<u32>>,
}

impl Search<'_> {
    fn look(
        &mut self,
        reader: &Reader<'_>,
        pages: Range<u32>,
        hand_out: &mut impl FnMut(u64, &HeapTupleData),
    ) {
        let mut found = Vec::new();
        for number in pages.clone() {
            if self.looked.iter().any(|looked| looked.contains(&number)) {
                continue;
            }
            let page = reader.read(number, &self.missing);
            hand_out_page(&page, &mut found, hand_out);
        }
        self.looked.push(pages);
        self.missing = without(&self.missing, found);
    }

    fn look_around(&mut self, total: u32, hand_out: &mut impl FnMut(u64, &HeapTupleData)) {
        let reader = Reader::of_everything(&self.segment.rows);
        for around in NEIGHBOURHOODS {
            for span in self.missing.clone() {
                let place = self.place_of(&reader, span.first, total);
                let end = self.place_of(&reader, span.end, total);
                let pages = place.saturating_sub(around)..end.saturating_add(around).min(total);
                self.look(&reader, pages, hand_out);
            }
        }
        if !self.missing.is_empty() {
            self.look(&reader, 0..total, hand_out);
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

fn hand_out_page(page: &Page, found: &mut Vec<u64>, hand_out: &mut impl FnMut(u64, &HeapTupleData)) {
    for tuple in page.tuples() {
        // SAFETY: a tuple of the table of rows, on a pinned page.
        let position = unsafe { position_of(&tuple) };
        found.push(position);
        hand_out(position, &tuple);
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
pub fn spans_of(positions: impl IntoIterator<Item = u64>) -> Vec<Span> {
    let mut list = Vec::new();
    positions.into_iter().for_each(|position| spans::push(&mut list, position));
    list
}
