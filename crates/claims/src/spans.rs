//! Lists of ranges of positions.

use crate::{BLOCK, block_of};

/// Neighbouring positions: from `first` up to, but without, `end`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// The first position.
    pub first: u64,
    /// The position after the last.
    pub end: u64,
}

impl Span {
    /// Number of positions.
    pub fn len(&self) -> u64 {
        self.end - self.first
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.end <= self.first
    }

    /// The parts of it, none of which crosses a block.
    pub fn by_block(self) -> impl Iterator<Item = Span> {
        let mut first = self.first;
        std::iter::from_fn(move || {
            let span = Span { first, end: self.end.min(block_of(first) + BLOCK) };
            first = span.end;
            (!span.is_empty()).then_some(span)
        })
    }

    /// The fewest parts of it that are as long as a power of two and begin at a multiple of that, none longer than a block. A
    /// block has 255 such parts, however often and into whatever ranges it is cut.
    pub fn aligned(self) -> impl Iterator<Item = Span> {
        let mut first = self.first;
        std::iter::from_fn(move || {
            let rest = self.end.saturating_sub(first).min(BLOCK);
            let length = 1 << first.trailing_zeros().min(rest.checked_ilog2()?);
            let span = Span { first, end: first + length };
            first = span.end;
            Some(span)
        })
    }
}

/// Adds a position to an ascending list of spans.
pub fn push(spans: &mut Vec<Span>, position: u64) {
    match spans.last_mut() {
        Some(last) if last.end == position => last.end += 1,
        _ => spans.push(Span { first: position, end: position + 1 }),
    }
}

/// Whether one of the ascending spans has the position.
pub fn contain(spans: &[Span], position: u64) -> bool {
    let place = spans.partition_point(|span| span.end <= position);
    spans.get(place).is_some_and(|span| span.first <= position)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_cut_at_blocks() {
        let parts: Vec<Span> = Span { first: 120, end: 260 }.by_block().collect();
        let ends: Vec<(u64, u64)> = parts.iter().map(|span| (span.first, span.end)).collect();
        assert_eq!(ends, [(120, 128), (128, 256), (256, 260)]);
    }

    #[test]
    fn all_spans_of_a_block_consist_of_few_parts() {
        let mut parts = std::collections::BTreeSet::new();
        for (first, end) in (128..256).flat_map(|first| (first + 1..=256).map(move |end| (first, end))) {
            let mut next = first;
            for part in (Span { first, end }).aligned() {
                assert_eq!(part.first, next);
                next = part.end;
                parts.insert((part.first, part.end));
            }
            assert_eq!(next, end);
        }
        assert_eq!(parts.len(), 255);
        assert_eq!(Span { first: 0, end: 7 }.aligned().map(|part| part.len()).collect::<Vec<_>>(), [4, 2, 1]);
    }

    #[test]
    fn positions_become_spans_that_know_them() {
        let mut spans = Vec::new();
        [1, 2, 3, 7, 9, 10].into_iter().for_each(|position| push(&mut spans, position));
        assert_eq!(spans.len(), 3);
        let known: Vec<u64> = (0..12).filter(|position| contain(&spans, *position)).collect();
        assert_eq!(known, [1, 2, 3, 7, 9, 10]);
    }
}
