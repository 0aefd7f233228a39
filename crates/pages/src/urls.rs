//! Texts before the first hole of a URL, and how much they decide.

use crate::attributes::AttributeClass;
use crate::escape;
use crate::lexer::SqlToken;
use crate::nodes::Sql;
use crate::pieces::PagePiece;
use crate::references;

/// The beginning of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UrlPrefix {
    /// Text alone so far, as it is written.
    Open(String),
    /// Nothing that follows changes what kind of URL it is.
    Fixed,
    /// A value has come first.
    Unknown,
    /// A call that makes the whole URL has come first, in the hole that begins here.
    Whole(usize),
}

/// A value of an attribute that has begun.
#[derive(Clone, Debug)]
pub(crate) struct OpenValue {
    pub(crate) class: AttributeClass,
    pub(crate) prefix: UrlPrefix,
    /// The place behind the quote.
    pub(crate) start: usize,
    /// The number of pieces before it, and how deep in blocks it has begun.
    pub(crate) floor: usize,
    pub(crate) level: usize,
    /// Whether it must be looked at when it is complete.
    pub(crate) is_unsure: bool,
    /// The hole with a call that makes the whole URL, beside which there is more.
    pub(crate) whole: Option<usize>,
}

impl OpenValue {
    /// Takes text of the URL.
    pub(crate) fn add(&mut self, text: &str) {
        match &mut self.prefix {
            UrlPrefix::Open(before) => before.push_str(text),
            UrlPrefix::Whole(hole) if !text.is_empty() => self.whole = Some(*hole),
            _ => {}
        }
    }
}

impl OpenValue {
    /// Takes a value into the URL; whether it may be there. `is_made` says whether it is a call that makes a URL. The error is a reference that is
    /// not known.
    pub(crate) fn hole(&mut self, place: usize, is_made: bool) -> Result<bool, String> {
        let before = self.prefix.clone();
        if let UrlPrefix::Whole(hole) = before {
            self.whole = Some(hole);
            return Ok(true);
        }
        if self.prefix.decide(self.class)? {
            return Ok(true);
        }
        if self.class == AttributeClass::Load {
            self.is_unsure = true;
            return Ok(true);
        }
        let is_whole = is_made && before == UrlPrefix::Open(String::new());
        if is_whole {
            self.prefix = UrlPrefix::Whole(place);
        }
        Ok(is_whole)
    }
}

impl UrlPrefix {
    /// Looks at the text before a hole, and whether that is enough. The error is a reference that is not known.
    pub(crate) fn decide(&mut self, class: AttributeClass) -> Result<bool, String> {
        if let UrlPrefix::Open(before) = self {
            let text = references::decoded(before)?;
            let read = escape::as_browsers_read(&text);
            let is_fixed = match class {
                AttributeClass::Load => has_scheme(&read),
                _ => has_origin(&read),
            };
            *self = if is_fixed { UrlPrefix::Fixed } else { UrlPrefix::Unknown };
        }
        Ok(*self == UrlPrefix::Fixed)
    }

    /// The prefix behind branches, each of which began with the same.
    pub(crate) fn join(
        branches: impl IntoIterator<Item = UrlPrefix>,
        class: AttributeClass,
    ) -> Result<UrlPrefix, String> {
        let mut joined = UrlPrefix::Fixed;
        for mut branch in branches {
            if let UrlPrefix::Whole(_) = branch {
                return Ok(branch);
            }
            if !branch.decide(class)? {
                joined = UrlPrefix::Unknown;
            }
        }
        Ok(joined)
    }
}

/// Whether what follows cannot become a scheme, or the scheme is one of links.
fn has_scheme(read: &str) -> bool {
    match escape::scheme(read) {
        Some(scheme) => escape::is_known_scheme(scheme),
        None => read.contains(['/', '?', '#']),
    }
}

/// Whether what follows cannot lead to another host.
fn has_origin(read: &str) -> bool {
    let mut letters = read.chars();
    match (letters.next(), letters.next()) {
        (Some('?' | '#'), _) => return true,
        (Some('/'), second) => return second.is_some_and(|second| second != '/' && second != '\\'),
        _ => {}
    }
    let Some(end) = read.find([':', '/', '?', '#', '\\']) else { return false };
    if !read[end..].starts_with(':') {
        return !read[end..].starts_with('\\');
    }
    let is_web = ["http", "https"].iter().any(|scheme| read[..end].eq_ignore_ascii_case(scheme));
    let Some(host) = read[end + 1..].strip_prefix("//").filter(|_| is_web) else { return false };
    let length =
        host.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(byte)).count();
    length > 0 && host[length..].starts_with(['/', '?', '#'])
}

/// Functions that make URLs of this site.
const MAKERS: [&str; 3] = ["url", "url_with", "asset"];

/// Whether an expression is one call of such a function.
pub(crate) fn is_made(text: &str, tokens: &[SqlToken], sql: &Sql) -> bool {
    match &tokens[sql.tokens.clone()] {
        [http, dot, name, bracket, .., last] => {
            http.is_word(text, "http")
                && dot.is(b'.')
                && MAKERS.iter().any(|maker| name.is_word(text, maker))
                && bracket.is(b'(')
                && last.is(b')')
                && bracket.partner == Some(sql.tokens.end - 1)
        }
        _ => false,
    }
}

/// Whether an expression is one call of a function that gives nothing but a path or a query of this site, so that it need not be looked at.
pub(crate) fn is_of_site(text: &str, tokens: &[SqlToken], sql: &Sql) -> bool {
    let name = tokens.get(sql.tokens.start + 2);
    is_made(text, tokens, sql)
        && name.is_some_and(|name| name.is_word(text, "url") || name.is_word(text, "url_with"))
}

/// Makes text of the literals of a URL. References that are not known are told, with their places.
pub(crate) fn decode(pieces: &mut [PagePiece]) -> Vec<(usize, String)> {
    let mut unknown = Vec::new();
    for piece in pieces {
        match piece {
            PagePiece::Literal { text, span } => match references::decoded(text).map_err(str::to_owned) {
                Ok(decoded) => *text = decoded,
                Err(reference) => unknown.push((span.start, reference)),
            },
            PagePiece::Rows(rows) => {
                unknown.extend(decode(&mut rows.body));
                unknown.extend(rows.otherwise.iter_mut().flat_map(|otherwise| decode(otherwise)));
            }
            PagePiece::Choice { branches, otherwise, .. } => {
                unknown.extend(branches.iter_mut().flat_map(|(_, body)| decode(body)));
                unknown.extend(otherwise.iter_mut().flat_map(|otherwise| decode(otherwise)));
            }
            PagePiece::Value { .. } | PagePiece::Url { .. } => {}
        }
    }
    unknown
}
