//! Parts of a bucket. Where lines may have done harm, as their transaction has taken too much memory or its process has ended, the
//! bucket is written in halves, and these in halves, until the line that does it is alone.

use std::ops::Range;
use std::rc::Rc;

use wire::{Origin, Rejected, TooLong, Work};

/// Bytes of a refused line that are sent: as many as a dead letter keeps.
const KEPT: usize = 8 << 10;

/// Neighbouring lines of a bucket that are written in one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    /// The numbers of its lines in the bucket.
    pub numbers: Range<u64>,
    /// Where they are among the bucket's bytes.
    bytes: Range<usize>,
}

impl Part {
    /// All of a bucket.
    pub(super) fn whole(lines: &[u8], count: u64) -> Part {
        Part { numbers: 0..count, bytes: 0..lines.len() }
    }

    /// Whether it has one line.
    pub(super) fn is_alone(&self) -> bool {
        self.numbers.end - self.numbers.start <= 1
    }

    /// Its halves, the later one first.
    pub(super) fn halves(&self, lines: &[u8]) -> [Part; 2] {
        let half = (self.numbers.end - self.numbers.start) / 2;
        let first = lines[self.bytes.clone()].split_inclusive(|&byte| byte == b'\n').take(half as usize);
        let byte = self.bytes.start + first.map(<[u8]>::len).sum::<usize>();
        let number = self.numbers.start + half;
        [
            Part { numbers: number..self.numbers.end, bytes: byte..self.bytes.end },
            Part { numbers: self.numbers.start..number, bytes: self.bytes.start..byte },
        ]
    }

    /// The part as work, and its lines.
    pub(super) fn work(&self, bucket: &Work, lines: &Rc<Vec<u8>>) -> (Work, Rc<Vec<u8>>) {
        if self.bytes == (0..lines.len()) {
            return (bucket.clone(), Rc::clone(lines));
        }
        let before = self.numbers.start;
        let origin = bucket.origin.clone();
        let origin =
            origin.map(|origin| Origin { first: origin.first.saturating_add(before as i64), ..origin });
        let cut = bucket.too_long.iter().filter(|cut| self.numbers.contains(&cut.line));
        let too_long = cut.map(|cut| TooLong { line: cut.line - before, ..*cut }).collect();
        (Work { origin, too_long, ..bucket.clone() }, Rc::new(lines[self.bytes.clone()].to_vec()))
    }
}

/// Work of one line, which is to be a dead letter.
pub(super) fn refused(work: Work, line: &[u8], why: Rejected) -> (Work, Rc<Vec<u8>>) {
    let length = line.strip_suffix(b"\n").unwrap_or(line).len();
    let cut =
        (length > KEPT && work.too_long.is_empty()).then_some(TooLong { line: 0, length: length as u64 });
    let too_long = cut.map_or(work.too_long, |cut| vec![cut]);
    let mut kept = line[..length.min(KEPT)].to_vec();
    kept.push(b'\n');
    (Work { too_long, refused: Some(why), ..work }, Rc::new(kept))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_falls_into_its_lines() {
        let lines = Rc::new(b"{}\n\n{\"a\":1}\nlast\n".to_vec());
        let origin = Some(Origin { producer: "p".into(), epoch: 1, first: 11 });
        let too_long = vec![TooLong { line: 3, length: 9000 }];
        let bucket = Work {
            listener: 1,
            destination: Default::default(),
            longest_line: 9,
            origin,
            hello: false,
            too_long,
            refused: None,
        };
        let mut parts = vec![Part::whole(&lines, 4)];
        let mut alone = Vec::new();
        while let Some(part) = parts.pop() {
            if part.is_alone() {
                let (work, lines) = part.work(&bucket, &lines);
                let first = work.origin.map(|origin| origin.first);
                alone.push((part.numbers, first, work.too_long, String::from_utf8(lines.to_vec()).unwrap()));
            } else {
                parts.extend(part.halves(&lines));
            }
        }
        let cut = vec![TooLong { line: 0, length: 9000 }];
        let expected = [
            (0..1, Some(11), vec![], "{}\n".to_owned()),
            (1..2, Some(12), vec![], "\n".to_owned()),
            (2..3, Some(13), vec![], "{\"a\":1}\n".to_owned()),
            (3..4, Some(14), cut, "last\n".to_owned()),
        ];
        assert_eq!(alone, expected);
        let why = Rejected { line: 0, code: "53200".into(), error: "much".into() };
        let (work, kept) = refused(bucket, &vec![b'x'; 9000], why.clone());
        assert_eq!((work.refused, kept.len()), (Some(why), KEPT + 1));
    }
}
