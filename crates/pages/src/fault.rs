//! Faults of a page, and where they are.

use std::fmt;
use std::ops::Range;

/// So many faults of one page are told. Whoever has more has made one mistake many times.
pub(crate) const MOST_FAULTS: usize = 100;

/// A piece of a file, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte behind the last one.
    pub end: usize,
}

impl Span {
    pub(crate) fn new(start: usize, end: usize) -> Span {
        Span { start, end }
    }

    /// The piece as a range, to cut it out of its file.
    pub fn range(self) -> Range<usize> {
        self.start..self.end
    }

    pub(crate) fn is_empty(self) -> bool {
        self.start >= self.end
    }
}

/// Something wrong with a page, or to be said of it: where, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageFault {
    /// The place, in bytes.
    pub offset: usize,
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
    /// The mistake.
    pub message: String,
    /// The text to write instead.
    pub hint: Option<String>,
}

impl fmt::Display for PageFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.line, self.column, self.message)?;
        match &self.hint {
            Some(hint) => write!(formatter, " ({hint})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for PageFault {}

/// Faults as they are found. Lines are counted when all are there.
#[derive(Default)]
pub(crate) struct FaultList {
    found: Vec<PageFault>,
}

impl FaultList {
    pub(crate) fn add(&mut self, offset: usize, message: impl Into<String>, hint: &str) {
        if !self.is_full() {
            let hint = (!hint.is_empty()).then(|| hint.to_owned());
            self.found.push(PageFault { offset, line: 0, column: 0, message: message.into(), hint });
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.found.len() >= MOST_FAULTS
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The faults in the order of their places, with lines and columns.
    pub(crate) fn told(mut self, text: &str) -> Vec<PageFault> {
        self.found.sort_by_key(|fault| fault.offset);
        self.found.dedup();
        let lines = LineStarts::of(text);
        let places = lines.places(text, self.found.iter().map(|fault| fault.offset.min(text.len())));
        for (fault, (line, column)) in self.found.iter_mut().zip(places) {
            (fault.line, fault.column) = (line, column);
        }
        self.found
    }
}

/// Where the lines of a file begin.
#[derive(Clone, Debug)]
pub(crate) struct LineStarts {
    starts: Vec<usize>,
}

impl LineStarts {
    pub(crate) fn of(text: &str) -> LineStarts {
        let starts = [0].into_iter().chain(text.match_indices('\n').map(|(place, _)| place + 1)).collect();
        LineStarts { starts }
    }

    /// The line of a place, from 1.
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset)
    }

    /// The same of many places in order, at the cost of one look at the text.
    pub(crate) fn places(&self, text: &str, offsets: impl IntoIterator<Item = usize>) -> Vec<(usize, usize)> {
        let (mut line, mut column, mut seen) = (1, 1, 0);
        let next = |offset: usize| {
            let now = self.line(offset);
            if now != line {
                (line, column, seen) = (now, 1, self.starts[now - 1]);
            }
            column += text[seen..offset].chars().count();
            seen = offset;
            (line, column)
        };
        offsets.into_iter().map(next).collect()
    }

    /// Line and column of a place, both from 1, columns in characters.
    pub(crate) fn place(&self, text: &str, offset: usize) -> (usize, usize) {
        let offset = offset.min(text.len());
        let line = self.line(offset);
        (line, text[self.starts[line - 1]..offset].chars().count() + 1)
    }
}
