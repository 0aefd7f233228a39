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
    fn positions_become_spans_that_know_them() {
        let mut spans = Vec::new();
        [1, 2, 3, 7, 9, 10].into_iter().for_each(|position| push(&mut spans, position));
        assert_eq!(spans.len(), 3);
        let known: Vec<u64> = (0..12).filter(|position| contain(&spans, *position)).collect();
        assert_eq!(known, [1, 2, 3, 7, 9, 10]);
    }
}
