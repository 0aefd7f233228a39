//! Files of rows, cut into pieces that end where a row ends: whatever a file's size, a piece is small.

use std::io::{self, Read};

/// Bytes of a piece, unless a row is longer.
const PIECE: usize = 1 << 20;
/// Bytes of the longest row.
const LONGEST: usize = 4 << 20;

/// A piece of a file: whole rows.
#[derive(Debug, PartialEq, Eq)]
pub struct Piece {
    /// The rows, with their line ends.
    pub bytes: Vec<u8>,
    /// The line in which it begins, from 1.
    pub line: u64,
}

/// Cuts a file into pieces.
pub struct Pieces<R> {
    source: R,
    /// Whether a line end within quotes is none of a row.
    quotes: bool,
    rest: Vec<u8>,
    line: u64,
    has_ended: bool,
}

impl<R: Read> Pieces<R> {
    /// Of comma-separated values, whose quoted values may have line ends.
    pub fn of_csv(source: R) -> Pieces<R> {
        Pieces { source, quotes: true, rest: Vec::new(), line: 1, has_ended: false }
    }

    /// Of lines.
    pub fn of_lines(source: R) -> Pieces<R> {
        Pieces { quotes: false, ..Pieces::of_csv(source) }
    }

    /// The first row, which names the columns; none if the file is empty. A byte order mark is left out.
    pub fn header(&mut self) -> io::Result<Option<String>> {
        loop {
            let end = self.row_end(0);
            if end.is_none() && !self.has_ended && self.rest.len() < PIECE {
                self.fill(self.rest.len() + 4096)?;
                continue;
            }
            let row: Vec<u8> = self.rest.drain(..end.unwrap_or(self.rest.len())).collect();
            self.line += lines(&row);
            let text = String::from_utf8(row).map_err(|_| io::Error::other("the first line is no UTF-8"))?;
            let text =
                text.strip_prefix('\u{feff}').unwrap_or(&text).trim_end_matches(['\r', '\n']).to_owned();
            return Ok(Some(text).filter(|text| !text.is_empty()));
        }
    }

    /// The next piece; none at the end.
    pub fn next_piece(&mut self) -> io::Result<Option<Piece>> {
        let mut wanted = PIECE;
        loop {
            self.fill(wanted)?;
            let end = if self.has_ended { self.rest.len() } else { self.last_row_end() };
            if end > 0 {
                let bytes: Vec<u8> = self.rest.drain(..end).collect();
                let piece = Piece { line: self.line, bytes };
                self.line += lines(&piece.bytes);
                return Ok(Some(piece));
            }
            if self.has_ended {
                return Ok(None);
            }
            wanted = self.rest.len() * 2;
            if wanted > LONGEST {
                let what = if self.quotes { "; is a quote missing?" } else { "" };
                let error = format!("line {}: the row is longer than {} MiB{what}", self.line, LONGEST >> 20);
                return Err(io::Error::other(error));
            }
        }
    }

    /// Reads until so many bytes are there, or the file has ended.
    fn fill(&mut self, wanted: usize) -> io::Result<()> {
        while self.rest.len() < wanted && !self.has_ended {
            let before = self.rest.len();
            self.rest.resize(wanted, 0);
            let read = self.source.read(&mut self.rest[before..]);
            self.rest.truncate(before + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => self.has_ended = true,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Where the row that begins here ends, after its line end.
    fn row_end(&self, begin: usize) -> Option<usize> {
        let mut is_quoted = false;
        for (place, byte) in self.rest.iter().enumerate().skip(begin) {
            match byte {
                b'"' if self.quotes => is_quoted = !is_quoted,
                b'\n' if !is_quoted => return Some(place + 1),
                _ => {}
            }
        }
        None
    }

    /// Where the last whole row of what is there ends; 0 if none does.
    fn last_row_end(&self) -> usize {
        if !self.quotes {
            return self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |place| place + 1);
        }
        let mut end = 0;
        while let Some(next) = self.row_end(end) {
            end = next;
        }
        end
    }
}

fn lines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// The names of columns in the first row of comma-separated values.
pub fn columns(header: &str) -> Vec<String> {
    let mut columns = vec![String::new()];
    let (mut is_quoted, mut letters) = (false, header.chars().peekable());
    while let Some(letter) = letters.next() {
        let last = columns.last_mut();
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => {
                letters.next();
                last.into_iter().for_each(|name| name.push('"'));
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => columns.push(String::new()),
            letter => last.into_iter().for_each(|name| name.push(letter)),
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a byte at a time, and is interrupted now and then.
    struct Slowly<'a>(&'a [u8], usize);

    impl Read for Slowly<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.1 += 1;
            if self.1.is_multiple_of(7) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let count = self.0.len().min(into.len()).min(1);
            into[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    #[test]
    fn pieces_end_where_rows_end_and_know_their_lines() {
        let text = "\u{feff}id,\"a \"\"name\"\",\"\r\n1,x\r\n2,\"two\nlines, and \"\"more\"\"\"\r\n3,z";
        let mut pieces = Pieces::of_csv(Slowly(text.as_bytes(), 0));
        let header = pieces.header().unwrap().unwrap();
        assert_eq!(columns(&header), ["id", "a \"name\","]);
        let piece = pieces.next_piece().unwrap().unwrap();
        assert_eq!((piece.line, piece.bytes), (2, text.as_bytes()[text.find("1,x").unwrap()..].to_vec()));
        assert_eq!(pieces.next_piece().unwrap(), None);
        assert_eq!(Pieces::of_csv(&b""[..]).header().unwrap(), None);
        assert_eq!(Pieces::of_csv(&b"a,b"[..]).header().unwrap().unwrap(), "a,b");
    }

    #[test]
    fn large_files_come_in_small_pieces_and_rows_that_never_end_are_an_error() {
        let rows: String = (0..100_000).map(|number| format!("{number},\"line\nand {number}\"\n")).collect();
        let mut pieces = Pieces::of_csv(rows.as_bytes());
        let (mut all, mut line, mut count) = (Vec::new(), 1, 0);
        while let Some(piece) = pieces.next_piece().unwrap() {
            assert!(piece.bytes.len() <= PIECE && piece.line == line && piece.bytes.ends_with(b"\"\n"));
            line += lines(&piece.bytes);
            all.extend(piece.bytes);
            count += 1;
        }
        assert!(count > 2 && all == rows.as_bytes());
        let mut endless = Pieces::of_csv(io::Read::chain(&b"1,\"x\n"[..], io::repeat(b'\n')));
        let error = endless.next_piece().unwrap_err().to_string();
        assert!(error.contains("line 1: the row is longer than 4 MiB; is a quote missing?"), "{error}");
        let lines = "{\"a\": \"\\\"\"}\n\n{}";
        assert_eq!(Pieces::of_lines(lines.as_bytes()).next_piece().unwrap().unwrap().bytes, lines.as_bytes());
    }
}
