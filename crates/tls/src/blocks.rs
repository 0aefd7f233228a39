//! The blocks of a PEM file (RFC 7468), found so that none is lost.
//!
//! Readers of PEM pass over what they do not understand, and by that a chain becomes shorter than its file. Here a border of a
//! block that is damaged, or that has no other half, is an error.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem;

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"-----END ";
const DASHES: &[u8] = b"-----";

/// What stands between BEGIN and END. It has no `Debug`, as that would show keys.
pub(crate) struct Block {
    /// What it says that it is, such as `CERTIFICATE`.
    pub label: String,
    /// Its place among the blocks of the file, from 1.
    pub number: usize,
    /// The line of its BEGIN, from 1.
    pub line: usize,
    /// Its lines.
    body: Vec<u8>,
}

/// The blocks of a file, in its order. What stands outside of them is passed over.
pub(crate) fn blocks(file: &[u8]) -> Result<Vec<Block>, String> {
    let mut reader = Reader { blocks: Vec::new(), open: None, line: 0 };
    let mut rest = file;
    while !rest.is_empty() {
        let (line, after) = first_line(rest);
        reader.line += 1;
        reader.take_line(line, after.is_none())?;
        rest = after.unwrap_or_default();
    }
    match reader.open {
        Some(open) => Err(format!("{} has no end: the file was cut off, or is being written", open.name())),
        None => Ok(reader.blocks),
    }
}

/// A line without its end, and what follows; nothing follows if it has no end. Lines end as on UNIX, Windows and old Macs.
fn first_line(bytes: &[u8]) -> (&[u8], Option<&[u8]>) {
    match memchr::memchr2(b'\n', b'\r', bytes) {
        None => (bytes, None),
        Some(at) if bytes[at..].starts_with(b"\r\n") => (&bytes[..at], Some(&bytes[at + 2..])),
        Some(at) => (&bytes[..at], Some(&bytes[at + 1..])),
    }
}

struct Reader {
    blocks: Vec<Block>,
    /// The one whose END has not come yet.
    open: Option<Block>,
    line: usize,
}

impl Reader {
    /// Takes a line in. More than one border may be on it: files are put together whose last line has no end.
    fn take_line(&mut self, line: &[u8], is_cut: bool) -> Result<(), String> {
        let mut rest = line;
        while let Some(at) = border(rest) {
            self.take_text(&rest[..at], false)?;
            rest = match rest[at..].strip_prefix(BEGIN) {
                Some(after) => self.begin(after)?,
                None => self.end(&rest[at + END.len()..])?,
            };
        }
        self.take_text(rest, is_cut)
    }

    /// Opens a block whose label comes next. What follows its border.
    fn begin<'a>(&mut self, after: &'a [u8]) -> Result<&'a [u8], String> {
        if let Some(open) = &self.open {
            return Err(format!(
                "{} has no end before line {}, where another begins",
                open.name(),
                self.line
            ));
        }
        let (label, after) = self.label(after)?;
        self.open = Some(Block { label, number: self.blocks.len() + 1, line: self.line, body: Vec::new() });
        Ok(after)
    }

    /// Closes the block that is open. What follows its border.
    fn end<'a>(&mut self, after: &'a [u8]) -> Result<&'a [u8], String> {
        let (label, after) = self.label(after)?;
        match self.open.take() {
            None => Err(format!("line {} ends a block ({label}) that has not begun", self.line)),
            Some(open) if open.label != label => {
                Err(format!("{} ends in line {} as another kind ({label})", open.name(), self.line))
            }
            Some(open) => {
                self.blocks.push(open);
                Ok(after)
            }
        }
    }

    fn label<'a>(&self, after: &'a [u8]) -> Result<(String, &'a [u8]), String> {
        let length = memmem::find(after, DASHES).filter(|&length| length <= 64 && after[..length].is_ascii());
        let length = length.ok_or_else(|| self.damaged())?;
        Ok((String::from_utf8_lossy(&after[..length]).trim().to_owned(), &after[length + DASHES.len()..]))
    }

    /// Takes in what is no border: a part of the open block, or text outside.
    fn take_text(&mut self, text: &[u8], is_cut: bool) -> Result<(), String> {
        if let Some(open) = &mut self.open {
            open.body.extend_from_slice(text);
            open.body.push(b'\n');
            return Ok(());
        }
        let text = text.trim_ascii();
        // The beginning of a border that was cut off: behind it there was more.
        let is_half = is_cut && !text.is_empty() && BEGIN.starts_with(text);
        if is_half || is_damaged_border(text) {
            return Err(self.damaged());
        }
        match is_of_a_body(text) {
            true => Err(format!("line {} is of a block that does not begin (-----BEGIN …-----)", self.line)),
            false => Ok(()),
        }
    }

    fn damaged(&self) -> String {
        format!("line {} is what is left of the beginning or the end of a block", self.line)
    }
}

/// Where the first border of a line is. Most lines have no dash.
fn border(line: &[u8]) -> Option<usize> {
    let first = memchr::memchr(b'-', line)?;
    let find = |border: &[u8]| memmem::find(&line[first..], border);
    find(BEGIN).into_iter().chain(find(END)).min().map(|at| first + at)
}

/// Whether text looks as if it had been a border: in small letters, with too few dashes, or with those of a word processor.
fn is_damaged_border(text: &[u8]) -> bool {
    // U+2010 to U+2015 are hyphens and dashes of other lengths.
    let is_dash = |bytes: &[u8]| matches!(bytes, [b'-', ..] | [0xe2, 0x80, 0x90..=0x95, ..]);
    let ends_with_dash = text.ends_with(b"-") || text.len() > 2 && is_dash(&text[text.len() - 3..]);
    if !is_dash(text) && !ends_with_dash {
        return false;
    }
    let text = text.to_ascii_uppercase();
    let has_one_of = |words: [&[u8]; 2]| words.iter().any(|word| memmem::find(&text, word).is_some());
    let is_of_pem = text.starts_with(DASHES) || has_one_of([b"CERTIFICATE", b"KEY"]);
    is_of_pem && has_one_of([b"BEGIN", b"END"])
}

/// Whether text is a line of a block that has lost its borders, as it comes from copying. Sums of files are hexadecimal, and no lines
/// of a block; everything else that is so long and has no blank is something else than text.
fn is_of_a_body(text: &[u8]) -> bool {
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    text.len() >= 60 && text.iter().all(is_base64) && !text.iter().all(u8::is_ascii_hexdigit)
}

impl Block {
    /// How errors call it.
    pub(crate) fn name(&self) -> String {
        format!("block {} (line {}, {})", self.number, self.line, self.label)
    }

    /// Whether it says that it is encrypted, as OpenSSL's older formats do (RFC 1421).
    pub(crate) fn is_encrypted(&self) -> bool {
        let is_mark =
            |line: &[u8]| line.starts_with(b"Proc-Type:") && memmem::find(line, b"ENCRYPTED").is_some();
        self.body.split(|&byte| byte == b'\n').any(is_mark)
    }

    /// Its bytes.
    pub(crate) fn decode(&self) -> Result<Vec<u8>, String> {
        let base64: Vec<u8> =
            self.base64().iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let bytes = STANDARD.decode(base64).map_err(|error| format!("is not base64: {error}"))?;
        if bytes.is_empty() { Err("is empty".to_owned()) } else { Ok(bytes) }
    }

    /// The body without the headers that may stand before it, with an empty line behind them.
    fn base64(&self) -> &[u8] {
        let first = self.body.split(|&byte| byte == b'\n').find(|line| !line.trim_ascii().is_empty());
        match first {
            Some(line) if line.contains(&b':') => {
                let headers = memmem::find(&self.body, b"\n\n");
                headers.map_or(&self.body, |length| &self.body[length..])
            }
            _ => &self.body,
        }
    }
}
