//! The first byte and the first line of a connection.
//!
//! A first byte that is not `{`, white space or a byte-order mark ends the connection at once, so that a
//! browser's request cannot deliver lines to a local port.

use memchr::memchr;

use crate::hello::{Hello, Refusal};

/// The longest hello.
const LONGEST_HELLO: usize = 16 << 10;
/// The byte-order mark of UTF-8, with which some shippers begin.
const MARK: &[u8] = b"\xef\xbb\xbf";
/// The key that opens the acknowledged protocol.
const KEY: &[u8] = b"\"$hello\"";

/// What the first bytes say.
#[derive(Debug, PartialEq)]
pub enum Decision {
    /// Not enough yet.
    Undecided,
    /// Lines of JSON, to which nothing is replied.
    Plain,
    /// The acknowledged protocol.
    Acknowledged(Hello),
    /// The first byte is not one of a line of JSON.
    Foreign,
    /// A hello that cannot be answered.
    Refused(Refusal),
}

/// The beginning of a connection.
#[derive(Debug, Default)]
pub struct Opening {
    head: Vec<u8>,
    /// A byte has come that is not white space, or the mark.
    begun: bool,
}

/// What the head looks like, as far as it has come.
enum Look {
    Undecided,
    Foreign,
    Plain,
    /// The key stands at the front.
    Hello,
}

impl Opening {
    /// Takes in what has been read. After a decision, [`Opening::rest`] has what belongs to the data.
    pub fn feed(&mut self, bytes: &[u8]) -> Decision {
        self.head.extend_from_slice(bytes);
        self.drop_blank();
        match self.look() {
            Look::Undecided if self.head.len() <= LONGEST_HELLO => Decision::Undecided,
            Look::Undecided | Look::Plain => Decision::Plain,
            Look::Foreign => Decision::Foreign,
            Look::Hello => match memchr(b'\n', &self.head) {
                Some(end) if end <= LONGEST_HELLO => self.hello(end, end + 1),
                None if self.head.len() <= LONGEST_HELLO => Decision::Undecided,
                _ => Decision::Refused(Refusal::too_long(LONGEST_HELLO)),
            },
        }
    }

    /// The client sends no more.
    pub fn end(&mut self) -> Decision {
        match self.look() {
            Look::Hello => self.hello(self.head.len(), self.head.len()),
            Look::Foreign => Decision::Foreign,
            Look::Undecided | Look::Plain => Decision::Plain,
        }
    }

    /// Whether nothing but white space has come.
    pub fn is_blank(&self) -> bool {
        self.head.is_empty()
    }

    /// The data that has come with the first bytes.
    pub fn rest(self) -> Vec<u8> {
        self.head
    }

    fn hello(&mut self, end: usize, after: usize) -> Decision {
        let parsed = Hello::parse(&self.head[..end]);
        self.head.drain(..after);
        match parsed {
            Ok(hello) => Decision::Acknowledged(hello),
            Err(refusal) => Decision::Refused(refusal),
        }
    }

    /// Drops the mark, and white space before the first line.
    fn drop_blank(&mut self) {
        if !self.begun && self.head.starts_with(MARK) {
            self.head.drain(..MARK.len());
            self.begun = true;
        }
        let blank = self.head.iter().take_while(|byte| is_blank(**byte)).count();
        self.head.drain(..blank);
        self.begun |= blank > 0;
    }

    fn look(&self) -> Look {
        let Some(first) = self.head.first() else { return Look::Undecided };
        if *first != b'{' {
            let mark = !self.begun && MARK.starts_with(&self.head);
            return if mark { Look::Undecided } else { Look::Foreign };
        }
        let key = after_spaces(&self.head[1..]);
        if key.len() < KEY.len() {
            return if KEY.starts_with(key) { Look::Undecided } else { Look::Plain };
        }
        match key.strip_prefix(KEY).map(after_spaces) {
            Some([]) => Look::Undecided,
            Some([b':', ..]) => Look::Hello,
            _ => Look::Plain,
        }
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// Within a line: a newline is not skipped.
fn after_spaces(bytes: &[u8]) -> &[u8] {
    let spaces = bytes.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    &bytes[spaces..]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The decision, and what is left, for a stream that is cut at each place in turn.
    fn decided(stream: &[u8]) -> (Decision, Vec<u8>) {
        let whole = feed(&[stream]);
        for cut in 0..=stream.len() {
            assert_eq!(feed(&[&stream[..cut], &stream[cut..]]), whole, "cut at {cut}");
        }
        assert_eq!(feed(&stream.chunks(1).collect::<Vec<_>>()), whole, "byte by byte");
        whole
    }

    fn feed(parts: &[&[u8]]) -> (Decision, Vec<u8>) {
        let mut opening = Opening::default();
        let mut decision = Decision::Undecided;
        let mut rest = Vec::new();
        for part in parts {
            if decision == Decision::Undecided {
                decision = opening.feed(part);
            } else {
                rest.extend_from_slice(part);
            }
        }
        if decision == Decision::Undecided {
            decision = opening.end();
        }
        let mut data = opening.rest();
        data.extend(rest);
        (decision, data)
    }

    #[test]
    fn an_object_is_plain_and_nothing_of_it_is_lost() {
        for line in [
            "{\"a\":1}\n{\"b\":2}\n",
            "{}",
            "{\n",
            "{ \"$hell\":1}\n",
            "{\"$hello\" \"x\"}\n",
            "{",
            "{\n\"$hello\":{}}",
        ] {
            assert_eq!(decided(line.as_bytes()), (Decision::Plain, line.as_bytes().to_vec()), "{line}");
        }
        assert_eq!(decided(b"\xef\xbb\xbf{\"a\":1}\n"), (Decision::Plain, b"{\"a\":1}\n".to_vec()));
        assert_eq!(decided(b"\xef\xbb\xbf \r\n\n\t{\"a\":1}\n"), (Decision::Plain, b"{\"a\":1}\n".to_vec()));
        assert_eq!(decided(b" \n\n"), (Decision::Plain, Vec::new()));
    }

    #[test]
    fn a_foreign_first_byte_is_seen_at_once() {
        for stream in [
            &b"GET / HTTP/1.1\r\n\r\n{}"[..],
            b"POST",
            b"\n\n[1]",
            b"\x16\x03\x01",
            b"\xef\xbb{",
            b" \xef\xbb\xbf{}",
            b"\0",
        ] {
            assert_eq!(decided(stream).0, Decision::Foreign, "{stream:?}");
        }
        assert_eq!(Opening::default().feed(b"G"), Decision::Foreign);
    }

    #[test]
    fn a_hello_is_read_and_the_data_behind_it_is_kept() {
        let (decision, rest) = decided(b"\n{ \"$hello\" : {\"producer\":\"p\",\"v\":1}}\r\n{\"a\":1}\n");
        let Decision::Acknowledged(hello) = decision else { panic!("{decision:?}") };
        assert_eq!((hello.producer.as_str(), hello.epoch), ("p", 1));
        assert_eq!(rest, b"{\"a\":1}\n");
        assert!(matches!(decided(b"{\"$hello\":{\"producer\":\"p\",\"v\":1}}").0, Decision::Acknowledged(_)));
        assert!(matches!(decided(b"{\"$hello\":{}}\n").0, Decision::Refused(_)));
        assert!(matches!(decided(b"{\"$hello\":\n").0, Decision::Refused(_)));
    }

    #[test]
    fn a_hello_without_end_is_refused_and_a_line_without_end_is_plain() {
        let long = [b"{\"$hello\":\"".as_slice(), &vec![b'x'; 20_000]].concat();
        assert!(matches!(feed(&[&long]).0, Decision::Refused(_)));
        let spaces = [b"{".as_slice(), &vec![b' '; 20_000]].concat();
        assert_eq!(feed(&[&spaces]), (Decision::Plain, spaces));
    }
}
