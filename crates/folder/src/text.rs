//! The text of a file. Two who have the same folder with other line ends, or with a byte order mark, deploy the same text.

use crate::Fault;

/// The text of a file: UTF-8 without byte order mark, lines ended by LF, and a last one at its end.
pub fn of_bytes(path: &str, bytes: &[u8]) -> Result<String, Fault> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(Fault::of(path, "this is UTF-16; save it as UTF-8"));
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let (line, column, byte) = place(bytes, error.valid_up_to());
            let message =
                format!("byte {column} of the line, 0x{byte:02x}, is no UTF-8; save the file as UTF-8");
            return Err(Fault { line: Some(line), ..Fault::of(path, message) });
        }
    };
    if let Some(at) = text.bytes().position(|byte| byte == 0) {
        let (line, column, _) = place(bytes, at);
        let message = format!("byte {column} of the line is 0, which no text in PostgreSQL has");
        return Err(Fault { line: Some(line), ..Fault::of(path, message) });
    }
    let mut text = text.replace("\r\n", "\n").replace('\r', "\n");
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

/// Line, byte of the line, and the byte itself.
fn place(bytes: &[u8], at: usize) -> (usize, usize, u8) {
    let before = &bytes[..at];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let begin = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    (line, at - begin + 1, bytes.get(at).copied().unwrap_or_default())
}

/// The text with what a dump has for psql made blank, so that lines keep their numbers. Another command of psql's is an error.
pub fn without_psql(path: &str, text: &str) -> Result<String, Fault> {
    let mut result = String::with_capacity(text.len());
    let mut state = State::Plain;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let command = line.trim_start().strip_prefix('\\').filter(|_| state == State::Plain);
        match command {
            Some(command) => {
                let name =
                    command.split(|letter: char| !letter.is_ascii_alphabetic()).next().unwrap_or_default();
                if !matches!(name, "restrict" | "unrestrict") {
                    let message = format!(
                        "\\{name} is a command of psql, which does not run here; {}",
                        instead_of(name)
                    );
                    return Err(Fault { line: Some(number + 1), ..Fault::of(path, message) });
                }
                result.push('\n');
            }
            None => {
                state = state.after(line);
                result.push_str(line);
            }
        }
    }
    Ok(result)
}

fn instead_of(command: &str) -> &'static str {
    match command {
        "i" | "ir" | "include" => "files of a folder are found by themselves",
        "copy" | "." => "write the rows as INSERT",
        "c" | "connect" => "say --to where to deploy",
        "set" | "gset" | "if" | "elif" | "else" | "endif" => "use a DO block",
        _ => "take it out",
    }
}

/// Within what a line ends.
#[derive(Clone, PartialEq, Eq, Debug)]
enum State {
    /// Between words.
    Plain,
    /// '…'; with E before it a backslash keeps a quote from being one.
    Text { escapes: bool },
    /// "…"
    Name,
    /// /* … */, so deep
    Comment(usize),
    /// $tag$ … $tag$
    Dollars(String),
}

impl State {
    fn after(self, line: &str) -> State {
        let bytes = line.as_bytes();
        let (mut state, mut at) = (self, 0);
        while at < bytes.len() {
            let rest = &bytes[at..];
            (state, at) = match state {
                State::Plain if rest.starts_with(b"--") => return State::Plain,
                State::Plain if rest.starts_with(b"/*") => (State::Comment(1), at + 2),
                State::Plain if rest[0] == b'\'' => {
                    let escapes = at > 0
                        && matches!(bytes[at - 1], b'e' | b'E')
                        && (at < 2 || !is_of_word(bytes[at - 2]));
                    (State::Text { escapes }, at + 1)
                }
                State::Plain if rest[0] == b'"' => (State::Name, at + 1),
                State::Plain if rest[0] == b'$' && (at == 0 || !is_of_word(bytes[at - 1])) => {
                    match tag(&line[at..]) {
                        Some(tag) => (State::Dollars(tag.to_owned()), at + tag.len()),
                        None => (State::Plain, at + 1),
                    }
                }
                State::Plain => (State::Plain, at + 1),
                State::Text { escapes: true } if rest[0] == b'\\' => (State::Text { escapes: true }, at + 2),
                State::Text { .. } if rest[0] == b'\'' => (State::Plain, at + 1),
                State::Name if rest[0] == b'"' => (State::Plain, at + 1),
                State::Comment(depth) if rest.starts_with(b"/*") => (State::Comment(depth + 1), at + 2),
                State::Comment(1) if rest.starts_with(b"*/") => (State::Plain, at + 2),
                State::Comment(depth) if rest.starts_with(b"*/") => (State::Comment(depth - 1), at + 2),
                State::Dollars(tag) if rest.starts_with(tag.as_bytes()) => (State::Plain, at + tag.len()),
                other => (other, at + 1),
            };
        }
        state
    }
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// `$tag$` at the beginning of a text.
fn tag(text: &str) -> Option<&str> {
    let end = text[1..].find('$')? + 1;
    let name = &text[1..end];
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80)
        && !name.bytes().next().is_some_and(|byte| byte.is_ascii_digit());
    is_name.then_some(&text[..=end])
}
