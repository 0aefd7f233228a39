//! The list of an application's files: a line for each, with the digest of its bytes, how many they are (`*` behind it says that the name never has others), and its name. It is the text that
//! is deployed; the bytes go by their digests beside it.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use crate::{LONGEST, MOST};

/// Hexadecimal digits of a SHA-256.
pub const DIGITS: usize = 64;
/// Bytes of a name at most.
const LONGEST_NAME: usize = 1024;

/// The bytes that a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexEntry {
    /// SHA-256 of the bytes, in hexadecimal digits.
    pub digest: String,
    /// How many they are.
    pub size: u64,
    /// Whether the name says what is in the file, so that it never has other bytes.
    pub is_fixed: bool,
}

/// The files by their names, whose parts `/` divides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    /// By name.
    pub entries: BTreeMap<String, IndexEntry>,
}

/// Why a text is no index, or a name none of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadIndex(
    /// The fault, for people.
    pub String,
);

impl fmt::Display for BadIndex {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for BadIndex {}

impl Index {
    /// Its text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, IndexEntry { digest, size, is_fixed }) in &self.entries {
            let mark = if *is_fixed { "*" } else { "" };
            // A string takes all that is written to it.
            let _ = writeln!(text, "{digest} {size}{mark} {name}");
        }
        text
    }

    /// That of a text.
    ///
    /// # Errors
    ///
    /// The line that is none, or what there is too much of.
    pub fn parse(text: &str) -> Result<Index, BadIndex> {
        let mut entries = BTreeMap::new();
        for line in text.lines() {
            let (name, entry) =
                parse_line(line).ok_or_else(|| BadIndex(format!("this is no line of an index: {line}")))?;
            check_name(name)?;
            if entry.size > LONGEST {
                return Err(BadIndex(format!("{name} has {} bytes; {LONGEST} is the most", entry.size)));
            }
            if entries.insert(name.to_owned(), entry).is_some() {
                return Err(BadIndex(format!("{name} stands there twice")));
            }
        }
        if entries.len() > MOST {
            return Err(BadIndex(format!("there are {} files; {MOST} is the most", entries.len())));
        }
        Ok(Index { entries })
    }

    /// The digests, each once.
    pub fn digests(&self) -> Vec<&str> {
        let mut digests: Vec<&str> = self.entries.values().map(|entry| entry.digest.as_str()).collect();
        digests.sort_unstable();
        digests.dedup();
        digests
    }
}

fn parse_line(line: &str) -> Option<(&str, IndexEntry)> {
    let (digest, rest) = line.split_at_checked(DIGITS)?;
    let (size, name) = rest.strip_prefix(' ')?.split_once(' ')?;
    let is_digest = digest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let (size, is_fixed) = size.strip_suffix('*').map_or((size, false), |size| (size, true));
    let is_size = size.bytes().all(|byte| byte.is_ascii_digit());
    let size = size.parse().ok()?;
    (is_digest && is_size).then(|| (name, IndexEntry { digest: digest.to_owned(), size, is_fixed }))
}

/// Checks a name, which is a path in the folder.
///
/// # Errors
///
/// Why no file may have it.
pub fn check_name(name: &str) -> Result<(), BadIndex> {
    let wrong = if name.len() > LONGEST_NAME {
        "its name is longer than 1,024 bytes"
    } else if name.contains('\\') {
        "its name has a backslash, which browsers take for a slash"
    } else if name.chars().any(char::is_control) {
        "its name has a control character"
    } else if name.split('/').any(|segment| matches!(segment, "" | "." | "..")) {
        "its name has a segment that is empty, or . or .."
    } else {
        return Ok(());
    };
    Err(BadIndex(format!("{name:?}: {wrong}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_what_was_written() {
        let entry = |digit: &str, size| IndexEntry { digest: digit.repeat(DIGITS), size, is_fixed: size > 1 };
        let mut index = Index::default();
        for (place, name) in
            ["app.css", "a b/ä.png", "root/favicon.ico", ".well-known/x"].into_iter().enumerate()
        {
            index.entries.insert(name.to_owned(), entry("a", place as u64));
        }
        assert_eq!(Index::parse(&index.text()).unwrap(), index);
        assert_eq!(index.digests().len(), 1);
        assert_eq!(Index::parse("").unwrap(), Index::default());
    }

    #[test]
    fn what_is_none_is_refused() {
        let digest = "a".repeat(DIGITS);
        for line in [
            "x".to_owned(),
            format!("{} 1 a", "A".repeat(DIGITS)),
            format!("{digest} -1 a"),
            format!("{digest} +1 a"),
            format!("{digest} 1** a"),
            format!("{digest} * a"),
            format!("{digest} 1"),
            format!("{digest} 1 "),
            format!("{digest} 1 /a"),
            format!("{digest} 1 a/../b"),
            format!("{digest} 1 a\\b"),
            format!("{digest} 1 a\tb"),
            format!("{digest} 1 {}", "a".repeat(2000)),
            format!("{digest} {} a", LONGEST + 1),
            format!("{digest} 1 a\n{digest} 1 a"),
            "ä".repeat(DIGITS),
        ] {
            assert!(Index::parse(&line).is_err(), "{line}");
        }
    }
}
