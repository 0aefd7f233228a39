//! Header values with parameters: `form-data; name="file"; filename="a.txt"`.

use std::borrow::Cow;

/// A header value: what stands before the first `;`, and the parameters. Names are as written; compare them
/// without regard to case.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Parameterized<'a> {
    pub(crate) value: &'a str,
    parameters: Vec<(&'a str, Cow<'a, str>)>,
}

/// More parameters than any header has: what limits the work for a hostile one.
const MAX_PARAMETERS: usize = 32;

impl<'a> Parameterized<'a> {
    /// Reads the header value, or `None` if it is malformed or names a parameter twice.
    pub(crate) fn parse(header: &'a str) -> Option<Self> {
        let (value, mut rest) = match header.split_once(';') {
            Some((value, rest)) => (value, rest.trim_start()),
            None => (header, ""),
        };
        let mut parameters: Vec<(&str, Cow<'_, str>)> = Vec::new();
        while !rest.is_empty() {
            let (name, after) = rest.split_once('=')?;
            let name = name.trim();
            let repeated = parameters.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
            if !is_token(name) || repeated || parameters.len() == MAX_PARAMETERS {
                return None;
            }
            let (parameter, after) = split_value(after.trim_start())?;
            parameters.push((name, parameter));
            rest = match after.trim_start().strip_prefix(';') {
                Some(next) => next.trim_start(),
                None if after.trim_start().is_empty() => "",
                None => return None,
            };
        }
        Some(Self { value: value.trim(), parameters })
    }

    /// A parameter's value.
    pub(crate) fn take(&mut self, name: &str) -> Option<Cow<'a, str>> {
        let at = self.parameters.iter().position(|(other, _)| other.eq_ignore_ascii_case(name))?;
        Some(self.parameters.swap_remove(at).1)
    }
}

/// Cuts a token or a quoted string off the front.
fn split_value(text: &str) -> Option<(Cow<'_, str>, &str)> {
    match text.strip_prefix('"') {
        Some(quoted) => split_quoted(quoted),
        None => {
            let end = text.find([';', ' ', '\t']).unwrap_or(text.len());
            let (value, rest) = text.split_at(end);
            (!value.contains('"')).then_some((Cow::Borrowed(value), rest))
        }
    }
}

/// A backslash escapes a quote or a backslash. Before anything else it stands for itself, because browsers
/// send file names without escaping their backslashes.
fn split_quoted(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let mut value = String::new();
    let mut begin = 0;
    let bytes = text.as_bytes();
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', &bytes[at..])?;
        if bytes[at] == b'"' {
            let rest = &text[at + 1..];
            let last = &text[begin..at];
            return Some(if value.is_empty() {
                (Cow::Borrowed(last), rest)
            } else {
                (Cow::Owned(value + last), rest)
            });
        }
        if matches!(bytes.get(at + 1), Some(b'"' | b'\\')) {
            value.push_str(&text[begin..at]);
            value.push(char::from(bytes[at + 1]));
            begin = at + 2;
            at += 2;
        } else {
            at += 1;
        }
    }
}

/// Whether the text is a token of RFC 9110.
pub(crate) fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(header: &str, name: &str) -> Option<String> {
        Parameterized::parse(header)?.take(name).map(Cow::into_owned)
    }

    #[test]
    fn tokens_and_quoted_strings_are_read() {
        assert_eq!(take("a/b; c=d; e = \"f; g\" ;h=i", "e").as_deref(), Some("f; g"));
        assert_eq!(take("a/b;C=d", "c").as_deref(), Some("d"));
        assert_eq!(take("a/b; c=d;", "c").as_deref(), Some("d"));
        assert_eq!(take("a; n=\"\"", "n").as_deref(), Some(""));
        assert_eq!(Parameterized::parse(" a/b ").unwrap().value, "a/b");
    }

    #[test]
    fn only_quotes_and_backslashes_are_escaped() {
        assert_eq!(take(r#"a; n="x\"y\\z""#, "n").as_deref(), Some(r#"x"y\z"#));
        assert_eq!(take(r#"a; n="C:\dir\file""#, "n").as_deref(), Some(r"C:\dir\file"));
        assert_eq!(take(r#"a; n="\"""#, "n").as_deref(), Some("\""));
    }

    #[test]
    fn a_name_inside_quotes_is_no_parameter() {
        assert_eq!(
            take(r#"form-data; filename="; name=evil"; name="good""#, "name").as_deref(),
            Some("good")
        );
    }

    #[test]
    fn malformed_values_are_refused() {
        for header in
            ["a; b", "a; b=\"c", "a; =c", "a; b=c d=e", "a; b=c; B=d", "a; b=x\"y\"", "a; b=\"c\"d", "a;;"]
        {
            assert_eq!(Parameterized::parse(header), None, "{header}");
        }
    }
}
