//! Patterns: `/users/{handle}/files/{*rest}`.

use crate::InsertError;

/// Longest pattern, in segments. It bounds the depth of the search, which is recursive.
const MAX_SEGMENTS: usize = 64;
/// Longest pattern, in bytes.
const MAX_LENGTH: usize = 2048;

/// One segment of a pattern.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Segment<'a> {
    /// Text that the path's segment must equal once decoded.
    Literal(&'a str),
    /// `{name}`: any segment that is not empty.
    Parameter(&'a str),
    /// `{*name}`: all that is left.
    Rest(&'a str),
}

impl<'a> Segment<'a> {
    /// The parameter's name, if it is one.
    pub(crate) fn name(&self) -> Option<&'a str> {
        match *self {
            Self::Literal(_) => None,
            Self::Parameter(name) | Self::Rest(name) => Some(name),
        }
    }
}

/// Cuts a pattern into its segments, or says in plain words what is wrong with it.
pub(crate) fn parse(pattern: &str) -> Result<Vec<Segment<'_>>, InsertError> {
    let bad = |reason: String| InsertError::BadPattern { pattern: shortened(pattern), reason };
    let Some(relative) = pattern.strip_prefix('/') else {
        return Err(bad("it must begin with '/'".into()));
    };
    if pattern.len() > MAX_LENGTH {
        return Err(bad(format!("it is longer than {MAX_LENGTH} bytes")));
    }
    if pattern.contains('\0') {
        return Err(bad("it contains a NUL byte".into()));
    }
    let texts: Vec<&str> = relative.split('/').collect();
    if texts.len() > MAX_SEGMENTS {
        return Err(bad(format!("it has more than {MAX_SEGMENTS} segments")));
    }
    let mut segments = Vec::with_capacity(texts.len());
    for (at, text) in texts.iter().enumerate() {
        let segment = parse_segment(text).map_err(bad)?;
        if matches!(segment, Segment::Rest(_)) && at + 1 < texts.len() {
            return Err(bad(format!("'{text}' must be its last segment")));
        }
        if let Some(name) = segment.name().filter(|name| names(&segments).any(|other| other == *name)) {
            return Err(bad(format!("the name '{name}' stands in it twice")));
        }
        segments.push(segment);
    }
    Ok(segments)
}

/// The names of a pattern's parameters, in order.
///
/// # Errors
/// A malformed pattern, with the reason.
pub fn checked_parameters(pattern: &str) -> Result<Vec<&str>, InsertError> {
    parse(pattern).map(|segments| names(&segments).collect())
}

/// The names of a pattern's parameters, in order; none of one that is malformed.
pub fn parameters(pattern: &str) -> Vec<&str> {
    parse(pattern).map(|segments| names(&segments).collect()).unwrap_or_default()
}

/// The names of a pattern's parameters, in order.
pub(crate) fn names<'a>(segments: &[Segment<'a>]) -> impl Iterator<Item = &'a str> {
    segments.iter().filter_map(Segment::name)
}

fn parse_segment(text: &str) -> Result<Segment<'_>, String> {
    if !text.contains(['{', '}']) {
        return Ok(Segment::Literal(text));
    }
    let name = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).ok_or_else(|| {
        format!(
            "in '{text}' braces enclose only a part; a parameter takes a whole segment, as in '/{{name}}/'"
        )
    })?;
    match name.strip_prefix('*') {
        Some(name) => checked_name(name).map(Segment::Rest),
        None => checked_name(name).map(Segment::Parameter),
    }
}

/// A name becomes a function's argument, so it must be an identifier that needs no quotes.
fn checked_name(name: &str) -> Result<&str, String> {
    let mut characters = name.chars();
    let begins_well = characters.next().is_some_and(|first| first.is_alphabetic() || first == '_');
    if begins_well && characters.all(|other| other.is_alphanumeric() || other == '_') {
        Ok(name)
    } else if name.is_empty() {
        Err("a parameter has no name; write '{name}' or '{*name}'".into())
    } else {
        Err(format!("'{name}' is not a name; use letters, digits and '_', and no digit first"))
    }
}

/// An error message quotes the pattern; one of megabytes would flood the log.
fn shortened(pattern: &str) -> String {
    match pattern.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &pattern[..end]),
        None => pattern.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(pattern: &str) -> String {
        match parse(pattern) {
            Err(InsertError::BadPattern { reason, .. }) => reason,
            other => panic!("{pattern} gave {other:?}"),
        }
    }

    #[test]
    fn all_kinds_of_segments_are_read() {
        let expected = [
            Segment::Literal("users"),
            Segment::Parameter("handle"),
            Segment::Literal(""),
            Segment::Rest("rest"),
        ];
        assert_eq!(parse("/users/{handle}//{*rest}").unwrap(), expected);
        assert_eq!(parse("/").unwrap(), [Segment::Literal("")]);
    }

    #[test]
    fn a_bad_pattern_is_refused_with_its_reason() {
        assert!(reason("users").contains("begin with '/'"));
        assert!(reason("").contains("begin with '/'"));
        assert!(reason("/{*rest}/x").contains("last segment"));
        assert!(reason("/{a}/{a}").contains("twice"));
        assert!(reason("/{a}/{*a}").contains("twice"));
        assert!(reason("/x{a}").contains("whole segment"));
        assert!(reason("/{a}{b}").contains("not a name"));
        assert!(reason("/{").contains("whole segment"));
        assert!(reason("/{}").contains("no name"));
        assert!(reason("/{*}").contains("no name"));
        assert!(reason("/{1a}").contains("no digit first"));
        assert!(reason("/{a-b}").contains("not a name"));
        assert!(reason("/a\0").contains("NUL"));
        assert!(reason(&"/a".repeat(65)).contains("64 segments"));
        assert!(reason(&format!("/{}", "a".repeat(3000))).contains("2048 bytes"));
    }
}
