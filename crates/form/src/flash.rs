//! Flash: a message that the next page shows, and no page after it. A cookie has it meanwhile.

use std::borrow::Cow;

use crate::accept::prefers_html;
use crate::cookie::{SameSite, SetCookie, decoded};

/// The name of the cookie.
pub const NAME: &str = "howdah_flash";
/// How long a message waits for the page that shows it, in seconds.
const MAX_AGE: i64 = 60;
/// Bytes of a message, so that its cookie is one that browsers take. What is longer is cut.
const LONGEST: usize = 1000;
/// Bytes of a kind.
const LONGEST_KIND: usize = 100;

/// A message for the next page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flash<'t> {
    /// Its kind: a word for style sheets, such as `notice`. It has no colon.
    pub kind: Cow<'t, str>,
    /// The message.
    pub message: Cow<'t, str>,
}

impl<'t> Flash<'t> {
    /// The `Set-Cookie` header that has the next page show it, over TLS alone if this is `secure`.
    ///
    /// ```
    /// use form::flash::Flash;
    ///
    /// let flash = Flash { kind: "notice".into(), message: "Saved, Zoë".into() };
    /// assert_eq!(
    ///     flash.header(false),
    ///     "howdah_flash=notice:Saved%2C%20Zo%C3%AB; Path=/; Max-Age=60; HttpOnly; SameSite=Lax"
    /// );
    /// ```
    pub fn header(&self, secure: bool) -> String {
        let kind = cut(&self.kind, LONGEST_KIND).replace(':', "-");
        let mut text = format!("{kind}:{}", cut(&self.message, LONGEST));
        if self.message.len() > LONGEST {
            text.push('…');
        }
        header(&text, MAX_AGE, secure)
    }

    /// The message of the cookie's value, as it was sent; none if it is none.
    pub fn read(value: &'t str) -> Option<Flash<'t>> {
        match decoded(value) {
            Cow::Borrowed(text) => {
                let (kind, message) = text.split_once(':')?;
                Some(Flash { kind: kind.into(), message: message.into() })
            }
            Cow::Owned(text) => {
                let (kind, message) = text.split_once(':')?;
                Some(Flash { kind: kind.to_owned().into(), message: message.to_owned().into() })
            }
        }
    }
}

/// The `Set-Cookie` header by which no later page shows the message.
pub fn clearing_header(secure: bool) -> String {
    header("", 0, secure)
}

fn header(value: &str, max_age: i64, secure: bool) -> String {
    let cookie = SetCookie {
        path: Some("/"),
        max_age: Some(max_age),
        secure,
        http_only: true,
        same_site: Some(SameSite::Lax),
        ..SetCookie::new(NAME, value)
    };
    cookie.header().unwrap_or_else(|error| unreachable!("{error}"))
}

/// The longest beginning of a text that has so many bytes at most.
fn cut(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Whether a request is a navigation, whose answer somebody sees as a page: neither a script's, a picture's or a frame's, nor one that is fetched
/// ahead. Of browsers that do not say so it is what prefers HTML.
///
/// ```
/// use form::flash::is_navigation;
///
/// assert!(is_navigation([("sec-fetch-dest", "document"), ("accept", "text/html")]));
/// assert!(!is_navigation([("sec-fetch-dest", "empty"), ("accept", "text/html")]));
/// assert!(!is_navigation([("sec-fetch-dest", "document"), ("sec-purpose", "prefetch;prerender")]));
/// ```
pub fn is_navigation<'h>(headers: impl IntoIterator<Item = (&'h str, &'h str), IntoIter: Clone>) -> bool {
    let headers = headers.into_iter();
    let values = |wanted: &'static str| {
        headers.clone().filter(move |(name, _)| *name == wanted).map(|(_, value)| value)
    };
    let is_ahead = ["sec-purpose", "purpose", "x-moz"]
        .into_iter()
        .any(|name| values(name).any(|value| value.to_ascii_lowercase().contains("prefetch")));
    if is_ahead || values("hx-request").next().is_some() {
        return false;
    }
    match values("sec-fetch-dest").next() {
        Some(destination) => destination.eq_ignore_ascii_case("document"),
        None => prefers_html(values("accept")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cookie::pairs;

    fn sent(kind: &str, message: &str) -> Option<(String, String)> {
        let flash = Flash { kind: kind.into(), message: message.into() };
        let header = flash.header(true);
        let (name, value) = pairs(&header).next()?;
        assert_eq!(name, NAME);
        let read = Flash::read(value)?;
        Some((read.kind.into(), read.message.into()))
    }

    #[test]
    fn a_message_of_any_text_comes_back() {
        for message in ["", "Saved.", "a:b", "<b>50% off</b>; \"now\"", "Zoë 😀\r\n"] {
            assert_eq!(sent("notice", message), Some(("notice".into(), message.into())));
        }
        assert_eq!(sent("a:b", "c"), Some(("a-b".into(), "c".into())));
    }

    #[test]
    fn what_is_long_is_cut() {
        let (kind, message) = sent(&"é".repeat(2_000), &"😀".repeat(2_000)).unwrap();
        assert_eq!(kind, "é".repeat(50));
        assert_eq!(message, "😀".repeat(250) + "…");
    }

    #[test]
    fn who_navigates_is_told_by_headers() {
        assert!(is_navigation([("accept", "text/html,*/*;q=0.8")]));
        assert!(!is_navigation([("accept", "*/*")]));
        assert!(!is_navigation([("accept", "text/html"), ("hx-request", "true")]));
        assert!(!is_navigation([("sec-fetch-dest", "iframe"), ("accept", "text/html")]));
        assert!(!is_navigation([("accept", "text/html"), ("purpose", "prefetch")]));
    }

    #[test]
    fn what_is_no_message_is_none() {
        for value in ["", "notice", "%3", "%ff%3a"] {
            assert_eq!(Flash::read(value), None);
        }
    }
}
