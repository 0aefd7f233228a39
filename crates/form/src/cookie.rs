//! Cookies ([RFC 6265](https://www.rfc-editor.org/rfc/rfc6265)).

use std::borrow::Cow;
use std::fmt::{self, Write};

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use crate::parameters::is_token;

/// Longest `Set-Cookie` value that every browser takes, in bytes.
const MAX_LENGTH: usize = 4096;
/// Bytes that are percent-encoded in a value: what a cookie cannot hold (RFC 6265, 4.1.1), and the sign itself.
const NOT_IN_VALUES: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b',').add(b';').add(b'\\').add(b'%');

/// Names and values of a `Cookie` header, in order. Values are as sent, without the quotes that may enclose
/// them; nothing is percent-decoded, because the format knows no encoding. What is no pair is skipped.
///
/// ```
/// let pairs: Vec<_> = form::cookie::pairs("session=a1; theme=\"dark\"").collect();
/// assert_eq!(pairs, [("session", "a1"), ("theme", "dark")]);
/// ```
pub fn pairs(header: &str) -> impl Iterator<Item = (&str, &str)> {
    header.split(';').filter_map(|piece| {
        let (name, value) = piece.split_once('=')?;
        let (name, value) = (name.trim(), value.trim());
        let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
        (!name.is_empty()).then_some((name, value))
    })
}

/// A value as [`SetCookie::header`] was given it, of one as it was sent. What is not percent-encoded text stays as it is: others set cookies, too.
///
/// ```
/// assert_eq!(form::cookie::decoded("Tom%20%26%20Zo%C3%AB"), "Tom & Zoë");
/// assert_eq!(form::cookie::decoded("50%, %ff%00"), "50%, %ff%00");
/// ```
pub fn decoded(value: &str) -> Cow<'_, str> {
    match percent_decode_str(value).decode_utf8() {
        Ok(text) if !text.contains('\0') => text,
        _ => Cow::Borrowed(value),
    }
}

/// When a browser sends a cookie along with requests that come from other sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SameSite {
    /// Never.
    Strict,
    /// Only when the user follows a link.
    Lax,
    /// Always; needs `secure`.
    None,
}

/// A cookie to be set.
///
/// ```
/// use form::cookie::{SameSite, SetCookie};
/// let cookie = SetCookie { path: Some("/"), http_only: true, same_site: Some(SameSite::Lax),
///                          ..SetCookie::new("session", "a1") };
/// assert_eq!(cookie.header()?, "session=a1; Path=/; HttpOnly; SameSite=Lax");
/// # Ok::<(), form::cookie::CookieError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetCookie<'a> {
    /// Its name: a token.
    pub name: &'a str,
    /// Its value: any text. What a cookie cannot hold is percent-encoded, and so is `%`.
    pub value: &'a str,
    /// The path below which it is sent.
    pub path: Option<&'a str>,
    /// The domain that it is sent to, with its subdomains; without one, the host that set it alone.
    pub domain: Option<&'a str>,
    /// Its life in seconds; zero or less removes it; without one it ends with the browser's session.
    pub max_age: Option<i64>,
    /// Whether it is sent over TLS alone.
    pub secure: bool,
    /// Whether it is hidden from scripts.
    pub http_only: bool,
    /// When it goes along with requests from other sites.
    pub same_site: Option<SameSite>,
}

/// Why a cookie cannot be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CookieError {
    /// The name is not a token.
    Name,
    /// The path does not begin with `/`, or has a semicolon or a control character.
    Path,
    /// The domain is not a host name.
    Domain,
    /// What the cookie is called or asks for needs `secure`.
    NeedsSecure(&'static str),
    /// The name begins with `__Host-`, which needs path `/` and no domain.
    HostPrefix,
    /// The whole is longer than browsers take.
    TooLong,
}

impl fmt::Display for CookieError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => f.write_str("a cookie's name must be letters, digits and -_. or the like"),
            Self::Path => f.write_str("a cookie's path must begin with '/' and have no ';' in it"),
            Self::Domain => f.write_str("a cookie's domain must be a host name"),
            Self::NeedsSecure(what) => write!(f, "a cookie with {what} must be secure"),
            Self::HostPrefix => f.write_str("a cookie named __Host-… must have the path '/' and no domain"),
            Self::TooLong => write!(f, "the cookie is longer than {MAX_LENGTH} bytes"),
        }
    }
}

impl std::error::Error for CookieError {}

impl<'a> SetCookie<'a> {
    /// A cookie without attributes.
    pub fn new(name: &'a str, value: &'a str) -> Self {
        Self {
            name,
            value,
            path: None,
            domain: None,
            max_age: None,
            secure: false,
            http_only: false,
            same_site: None,
        }
    }

    /// The value of the `Set-Cookie` header, or why browsers would refuse it.
    pub fn header(&self) -> Result<String, CookieError> {
        self.check()?;
        let mut header = format!("{}={}", self.name, utf8_percent_encode(self.value, NOT_IN_VALUES));
        let mut attribute = |name: &str, value: Option<&dyn fmt::Display>| match value {
            // Writing to a String never fails.
            Some(value) => drop(write!(header, "; {name}={value}")),
            None => drop(write!(header, "; {name}")),
        };
        self.path.inspect(|path| attribute("Path", Some(path)));
        self.domain.inspect(|domain| attribute("Domain", Some(domain)));
        self.max_age.inspect(|seconds| attribute("Max-Age", Some(seconds)));
        if self.secure {
            attribute("Secure", None);
        }
        if self.http_only {
            attribute("HttpOnly", None);
        }
        self.same_site.inspect(|same_site| attribute("SameSite", Some(&format_args!("{same_site:?}"))));
        if header.len() > MAX_LENGTH { Err(CookieError::TooLong) } else { Ok(header) }
    }

    fn check(&self) -> Result<(), CookieError> {
        if !is_token(self.name) {
            return Err(CookieError::Name);
        }
        // Before memory is taken for it.
        if self.value.len() > MAX_LENGTH {
            return Err(CookieError::TooLong);
        }
        if self.path.is_some_and(|path| !path.starts_with('/') || !is_attribute(path)) {
            return Err(CookieError::Path);
        }
        if self.domain.is_some_and(|domain| !is_host(domain)) {
            return Err(CookieError::Domain);
        }
        self.check_secure()
    }

    /// Browsers drop such cookies without a word.
    fn check_secure(&self) -> Result<(), CookieError> {
        let prefixed = |prefix: &str| {
            self.name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
        };
        if !self.secure {
            if self.same_site == Some(SameSite::None) {
                return Err(CookieError::NeedsSecure("SameSite=None"));
            }
            if prefixed("__Secure-") || prefixed("__Host-") {
                return Err(CookieError::NeedsSecure("such a name"));
            }
        }
        if prefixed("__Host-") && (self.path != Some("/") || self.domain.is_some()) {
            return Err(CookieError::HostPrefix);
        }
        Ok(())
    }
}

fn is_attribute(text: &str) -> bool {
    text.bytes().all(|byte| (byte.is_ascii_graphic() || byte == b' ') && byte != b';')
}

fn is_host(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read_leniently() {
        let read: Vec<_> = pairs(" a = 1 ;b=x=y; ;c;=d;e=\";f=\"\"").collect();
        assert_eq!(read, [("a", "1"), ("b", "x=y"), ("e", "\""), ("f", "")]);
    }

    #[test]
    fn all_attributes_are_written() {
        let cookie = SetCookie {
            path: Some("/app"),
            domain: Some("example.com"),
            max_age: Some(-1),
            secure: true,
            http_only: true,
            same_site: Some(SameSite::None),
            ..SetCookie::new("id", "")
        };
        assert_eq!(
            cookie.header().unwrap(),
            "id=; Path=/app; Domain=example.com; Max-Age=-1; Secure; HttpOnly; SameSite=None"
        );
    }

    #[test]
    fn nothing_can_be_smuggled_into_the_header() {
        let umlauts = "ü".repeat(700);
        let header = |name, value| SetCookie::new(name, value).header();
        assert_eq!(header("a b", "x"), Err(CookieError::Name));
        assert_eq!(header("", "x"), Err(CookieError::Name));
        assert_eq!(header("a", "x; Domain=evil").unwrap(), "a=x%3B%20Domain=evil");
        assert_eq!(header("a", "x\r\nX: y").unwrap(), "a=x%0D%0AX:%20y");
        assert_eq!(header("a", &umlauts), Err(CookieError::TooLong));
        let with_path = |path| SetCookie { path: Some(path), ..SetCookie::new("a", "x") }.header();
        assert_eq!(with_path("/;x"), Err(CookieError::Path));
        assert_eq!(with_path("x"), Err(CookieError::Path));
        assert_eq!(with_path("/\n"), Err(CookieError::Path));
        let with_domain = |domain| SetCookie { domain: Some(domain), ..SetCookie::new("a", "x") }.header();
        assert_eq!(with_domain("a;b"), Err(CookieError::Domain));
        assert_eq!(with_domain(""), Err(CookieError::Domain));
        assert_eq!(header("a", &"x".repeat(5000)), Err(CookieError::TooLong));
    }

    #[test]
    fn a_value_of_any_text_comes_back() {
        for value in ["", "a1+/=", "50% off; \"now\", \\ Zoë 😀", "%41", "%", "\t\u{7f}\u{80}\u{2028}", " a "]
        {
            let header = SetCookie::new("a", value).header().unwrap();
            assert!(header.bytes().all(|byte| byte.is_ascii_graphic()), "{header}");
            let (_, sent) = pairs(&header).next().unwrap();
            assert_eq!(decoded(sent), value);
        }
    }

    #[test]
    fn what_browsers_drop_is_refused() {
        let cookie = SetCookie { same_site: Some(SameSite::None), ..SetCookie::new("a", "x") };
        assert!(matches!(cookie.header(), Err(CookieError::NeedsSecure(_))));
        assert!(matches!(SetCookie::new("__secure-a", "x").header(), Err(CookieError::NeedsSecure(_))));
        let host = SetCookie { secure: true, ..SetCookie::new("__Host-a", "x") };
        assert_eq!(host.header(), Err(CookieError::HostPrefix));
        assert!(SetCookie { path: Some("/"), ..host }.header().is_ok());
    }
}
