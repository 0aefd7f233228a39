//! Every Rust file of the project.

use std::fs;

/// A Rust file.
pub struct Source {
    /// Its path in the project.
    pub path: String,
    /// Its text.
    pub text: String,
    /// The text with spaces for comments, for texts and characters, and for modules of tests: with the same lines.
    pub code: String,
}

/// All of them.
pub fn all() -> Vec<Source> {
    let folders = ["crates", "extension", "cli", "tests"];
    let paths: Vec<String> = folders.iter().flat_map(|folder| super::files(folder, ".rs")).collect();
    assert!(paths.len() > 500, "the sources are elsewhere: {} files", paths.len());
    let read = |path: String| {
        let text = fs::read_to_string(super::root().join(&path)).expect("a source");
        let code = without_tests(&bare(&text));
        Source { path, text, code }
    };
    paths.into_iter().map(read).collect()
}

impl Source {
    /// Whether it is of a program's or library's `src`, and no test.
    pub fn is_product(&self) -> bool {
        self.path.contains("/src/") && !self.path.starts_with("tests/")
    }

    /// The folder of its crate: what is before `src` or `tests`.
    pub fn crate_folder(&self) -> &str {
        self.path.split("/src/").next().unwrap_or_default()
    }
}

/// A text with spaces for its comments, texts and characters.
pub fn bare(text: &str) -> String {
    let (bytes, mut bare, mut place) = (text.as_bytes(), text.as_bytes().to_vec(), 0);
    while place < bytes.len() {
        let end = match skipped(&bytes[place..], place.checked_sub(1).map(|before| bytes[before])) {
            0 => {
                place += 1;
                continue;
            }
            length => (place + length).min(bytes.len()),
        };
        bare[place..end].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        place = end;
    }
    String::from_utf8(bare).expect("what is left is whole characters")
}

/// Bytes of a comment or literal that begins here; 0 if none does.
fn skipped(rest: &[u8], before: Option<u8>) -> usize {
    let is_in_word = before.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    match rest {
        [b'/', b'/', ..] => rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()),
        [b'/', b'*', ..] => block(rest),
        [b'"', ..] => quoted(rest, b'"'),
        [b'r', b'"' | b'#', ..] if !is_in_word => raw(rest, 1),
        [b'b' | b'c', b'r', b'"' | b'#', ..] if !is_in_word => raw(rest, 2),
        [b'\'', b'\\', ..] => quoted(rest, b'\''),
        // A character; else it is a lifetime.
        [b'\'', ..] => {
            let end = rest.iter().skip(1).take(5).position(|byte| *byte == b'\'').map(|place| place + 2);
            end.filter(|end| str::from_utf8(&rest[1..end - 1]).is_ok_and(|one| one.chars().count() == 1))
                .unwrap_or(0)
        }
        _ => 0,
    }
}

fn block(rest: &[u8]) -> usize {
    let (mut depth, mut place) = (0, 0);
    while place < rest.len() {
        match &rest[place..] {
            [b'/', b'*', ..] => depth += 1,
            [b'*', b'/', ..] => depth -= 1,
            _ => {
                place += 1;
                continue;
            }
        }
        place += 2;
        if depth == 0 {
            return place;
        }
    }
    rest.len()
}

fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut place = 1;
    while place < rest.len() && rest[place] != quote {
        place += if rest[place] == b'\\' { 2 } else { 1 };
    }
    place + 1
}

fn raw(rest: &[u8], prefix: usize) -> usize {
    let hashes = rest[prefix..].iter().take_while(|byte| **byte == b'#').count();
    if rest.get(prefix + hashes) != Some(&b'"') {
        // A raw identifier.
        return 0;
    }
    let end: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
    let body = prefix + hashes + 1;
    rest[body..]
        .windows(end.len())
        .position(|part| part == end)
        .map_or(rest.len(), |place| body + place + end.len())
}

/// Code with spaces for its modules of tests.
fn without_tests(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let (mut out, mut rest) = (String::new(), code);
    while let Some(place) = rest.find(MARK) {
        let (before, from) = rest.split_at(place);
        out.push_str(before);
        let length = module(from).unwrap_or(MARK.len());
        out.extend(from[..length].chars().map(|letter| if letter == '\n' { '\n' } else { ' ' }));
        rest = &from[length..];
    }
    out + rest
}

/// Bytes of a module with its attribute; none if it is something else.
fn module(from: &str) -> Option<usize> {
    let head = from.find('{')?;
    let declaration = from[..head].split(']').next_back()?.trim();
    let is_module = declaration.strip_prefix("pub(crate) ").unwrap_or(declaration).starts_with("mod ");
    if !is_module || from[..head].contains(';') {
        return None;
    }
    let mut depth = 0;
    from[head..]
        .bytes()
        .position(|byte| {
            depth += i32::from(byte == b'{') - i32::from(byte == b'}');
            depth == 0
        })
        .map(|length| head + length + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_spaces() {
        let text = "a /* b /* c */ d */ e // f\n\"g\\\"h\" r#\"i\"j\"# 'k' '\\'' b\"l\" &'m n r#type '→'";
        let code: Vec<String> = bare(text).split_whitespace().map(str::to_owned).collect();
        assert_eq!(code, ["a", "e", "b", "&'m", "n", "r#type"]);
        assert_eq!(bare(text).lines().count(), 2);
    }

    #[test]
    fn modules_of_tests_are_left_out() {
        let code = without_tests(
            "use a;\n#[cfg(test)]\nuse b;\n#[cfg(test)]\nmod tests {\n use c; { d }\n}\nuse e;",
        );
        let words: Vec<&str> = code.split_whitespace().collect();
        assert_eq!(words, ["use", "a;", "use", "b;", "use", "e;"]);
    }
}
