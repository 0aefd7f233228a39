//! Places in the text of a file: where a statement, a line, a character is; and what a line of a test says.

/// Where a statement's first word is: the parser counts what stands before it as part of it.
pub fn begin_of(text: &[u8], location: i32) -> usize {
    let mut at = usize::try_from(location).unwrap_or(0).min(text.len());
    loop {
        let rest = &text[at..];
        let blank = rest.iter().take_while(|byte| byte.is_ascii_whitespace() || **byte == b';').count();
        let rest = &rest[blank..];
        at += blank;
        if rest.starts_with(b"--") {
            at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        } else if rest.starts_with(b"/*") {
            at += comment(rest);
        } else {
            return at;
        }
    }
}

/// The length of a comment, which may have others in it.
fn comment(text: &[u8]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        match &text[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// Line and column of a byte, counted from 1; the column in characters.
///
/// ```
/// assert_eq!(folder::places_in_text::place_at("one\nä two", 7), (2, 3));
/// ```
pub fn place_at(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..floor(text, offset)];
    let line = before.rsplit('\n').next().unwrap_or_default();
    (line_at(text, offset), line.chars().count() + 1)
}

/// The line in which a byte is, counted from 1.
pub fn line_at(text: &str, offset: usize) -> usize {
    text[..floor(text, offset)].matches('\n').count() + 1
}

/// The byte at which a character is, counted from 1.
pub fn offset_of(text: &str, position: usize) -> usize {
    text.char_indices().nth(position.saturating_sub(1)).map_or(text.len(), |(offset, _)| offset)
}

/// The last byte up to this one at which a character begins.
pub fn floor(text: &str, offset: usize) -> usize {
    text.floor_char_boundary(offset)
}

/// Where a line of a body begins, counted from 1.
pub fn offset_of_line(body: &str, line: usize) -> usize {
    body.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum()
}

/// Whether a line of the Test Anything Protocol, as pgTAP writes it, says that something is not so.
pub fn is_not_ok(line: &str) -> bool {
    let first = line.lines().next().unwrap_or_default();
    let is_expected = first.contains("# TODO") || first.contains("# SKIP");
    let is_summary = ["# Looks like you ", "# No tests run!"].iter().any(|words| first.starts_with(words));
    is_summary || !is_expected && (first == "not ok" || first.starts_with("not ok "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_begins_behind_blanks_and_comments() {
        fn begins(text: &str) -> &str {
            &text[begin_of(text.as_bytes(), 0)..]
        }
        assert_eq!(begins("select 1"), "select 1");
        assert_eq!(begins("\n ;; -- a; b\n /* c /* d */ ; */ select 1"), "select 1");
        assert_eq!((begins("-- to the end"), begins("/* open"), begins("")), ("", "", ""));
        assert_eq!(begin_of(b"select 1; select 2", 9), 10);
        assert_eq!((begin_of(b"a", -1), begin_of(b"a", 9)), (0, 1));
    }

    #[test]
    fn places_count_characters_and_lines_from_one() {
        let text = "ä\nöb\n";
        assert_eq!((offset_of(text, 1), offset_of(text, 2), offset_of(text, 9)), (0, 2, text.len()));
        assert_eq!((line_at(text, 0), line_at(text, 3), line_at(text, 99)), (1, 2, 3));
        assert_eq!((floor(text, 1), floor(text, 4), floor(text, 99)), (0, 3, text.len()));
        assert_eq!(
            (offset_of_line(text, 1), offset_of_line(text, 2), offset_of_line(text, 9)),
            (0, 3, text.len())
        );
    }

    #[test]
    fn lines_of_a_test_say_what_is_not_so() {
        for line in
            ["not ok", "not ok 3 - it is there", "# Looks like you failed 1 test of 2", "# No tests run!"]
        {
            assert!(is_not_ok(line), "{line}");
        }
        for line in ["ok 1", "not okay", "not ok 2 - later # TODO it", "not ok 4 # SKIP", "# a remark", ""] {
            assert!(!is_not_ok(line), "{line}");
        }
    }
}
