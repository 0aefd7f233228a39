//! URLs that a page makes of routes.

use crate::fault::{FaultList, Span};
use crate::lexer::TokenKind;
use crate::page::PageFile;

/// The pattern of a route that a page makes a URL of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlPattern {
    /// The pattern.
    pub pattern: String,
    /// The string as it is written.
    pub span: Span,
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
    /// The number of values that follow; none if they are an array.
    pub values: Option<usize>,
}

impl PageFile {
    /// Constant patterns that are given to `http.url`.
    pub fn url_patterns(&self) -> Vec<UrlPattern> {
        let mut found = Vec::new();
        for call in self.calls() {
            let at = self.tokens.partition_point(|token| token.span.start < call.span.start);
            let Some([pattern, next]) = self.tokens.get(at + 2..at + 4) else { continue };
            let written = &self.file.text[pattern.span.range()];
            let is_url = call.name == "url" && call.schema.as_deref() == Some("http");
            if let Some(inside) = written.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''))
                && is_url
                && (next.is(b',') || next.is(b')'))
            {
                found.push((inside.replace("''", "'"), pattern.span, self.values_behind(at + 3)));
            }
        }
        let places = self.places(found.iter().map(|(_, span, _)| span.start));
        let told = found.into_iter().zip(places);
        let pattern =
            |((pattern, span, values), (line, column))| UrlPattern { pattern, span, line, column, values };
        told.map(pattern).collect()
    }

    /// The number of arguments behind the first, from the token behind that one on.
    fn values_behind(&self, first: usize) -> Option<usize> {
        let (mut depth, mut values) = (0_usize, 0);
        for token in &self.tokens[first..] {
            match token.kind {
                TokenKind::Mark(b'(' | b'[') => depth += 1,
                TokenKind::Mark(b')' | b']') if depth == 0 => break,
                TokenKind::Mark(b')' | b']') => depth -= 1,
                TokenKind::Mark(b',') if depth == 0 => values += 1,
                TokenKind::Word if depth == 0 && token.is_word(&self.file.text, "variadic") => return None,
                _ => {}
            }
        }
        Some(values)
    }
}

/// Looks at what `http.url` is given: whether the pattern is one, and each of its parameters and each name of the query has a value.
pub(crate) fn check(page: &PageFile, faults: &mut FaultList) {
    for url in page.url_patterns() {
        let names = match parameters(&url.pattern) {
            Ok(names) => names,
            Err(error) => {
                faults.add(url.span.start, error, "the pattern is written as in http.route()");
                continue;
            }
        };
        let Some(values) = url.values else { continue };
        if let Some(name) = names.get(values) {
            let message = format!("{} has no value for {name}", url.pattern);
            faults.add(
                url.span.start,
                message,
                "values of the parameters follow the pattern, in their order",
            );
        } else if !(values - names.len()).is_multiple_of(2) {
            let hint =
                "behind the values of the path, names and values of the query follow in turns: 'page', 2";
            faults.add(
                url.span.start,
                format!("the last name of the query of {} has no value", url.pattern),
                hint,
            );
        }
    }
}

/// The names of a pattern's parameters, as far as a URL needs them: routes are what says whether they may be called so.
fn parameters(pattern: &str) -> Result<Vec<&str>, String> {
    if !pattern.starts_with('/') {
        return Err(format!("the pattern {pattern} must begin with /"));
    }
    let named = pattern.split('/').filter(|segment| segment.contains(['{', '}']));
    let each = named.map(|segment| {
        parameter(segment).ok_or_else(|| {
            format!("in {pattern} a parameter is not a whole segment, as in /{{name}} or /{{*name}}")
        })
    });
    each.collect()
}

/// The name of a segment that is a parameter, or the rest of the path.
fn parameter(segment: &str) -> Option<&str> {
    let inside = segment.strip_prefix('{')?.strip_suffix('}')?;
    let name = inside.strip_prefix('*').unwrap_or(inside);
    (!name.is_empty() && !name.contains(['{', '}', '*'])).then_some(name)
}
