//! Names that say which bytes a file has: `app.4f3c9a1b2d5e.css` is `app.css`. Clients may keep it for ever, as another file has another name.

/// Hexadecimal digits of the digest that a name has.
pub const DIGITS: usize = 12;

/// The name of a file with bytes of this digest, in hexadecimal digits.
///
/// ```
/// use files::hashed::{hashed, plain};
///
/// assert_eq!(hashed("img/a.b.png", "4f3c9a1b2d5e77"), "img/a.b.4f3c9a1b2d5e.png");
/// assert_eq!(hashed("a.b/LICENSE", "4f3c9a1b2d5e77"), "a.b/LICENSE.4f3c9a1b2d5e");
/// assert_eq!(plain("img/a.b.4f3c9a1b2d5e.png"), Some(("img/a.b.png".to_owned(), "4f3c9a1b2d5e")));
/// ```
pub fn hashed(name: &str, digest: &str) -> String {
    let digits = digest.get(..DIGITS).unwrap_or(digest);
    match end(name) {
        Some(end) => format!("{}.{digits}{}", &name[..end], &name[end..]),
        None => format!("{name}.{digits}"),
    }
}

/// The name of which another may be the hashed one, and the digits of the digest that it has; none if it is none.
pub fn plain(name: &str) -> Option<(String, &str)> {
    let is_digits = |text: &str| {
        text.len() == DIGITS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let end = end(name)?;
    // app.HASH.css, or LICENSE.HASH.
    if let Some(digits) =
        end.checked_sub(DIGITS).and_then(|start| name.get(start..end)).filter(|text| is_digits(text))
        && let Some(stem) =
            name.get(..end - DIGITS).and_then(|stem| stem.strip_suffix('.')).filter(|stem| is_stem(stem))
    {
        return Some((format!("{stem}{}", &name[end..]), digits));
    }
    let digits = &name[end + 1..];
    is_digits(digits).then(|| (name[..end].to_owned(), digits))
}

/// Where the end of a name begins, with its dot; none if it has none. A dot that a name begins with is none.
fn end(name: &str) -> Option<usize> {
    let last = name.rfind('/').map_or(0, |slash| slash + 1);
    name[last..].rfind('.').filter(|dot| *dot > 0).map(|dot| last + dot)
}

/// Whether something is left of the last segment.
fn is_stem(stem: &str) -> bool {
    !stem.is_empty() && !stem.ends_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "4f3c9a1b2d5e0000000000000000000000000000000000000000000000000000";

    #[test]
    fn each_name_comes_back() {
        for name in [
            "app.css",
            "a/b.c/d",
            "x.tar.gz",
            ".well-known/x",
            ".x",
            "a/.b",
            "ä.png",
            "a.",
            "LICENSE",
            "4f3c9a1b2d5e.js",
            "a b.c d",
        ] {
            let other = hashed(name, DIGEST);
            assert_eq!(plain(&other), Some((name.to_owned(), "4f3c9a1b2d5e")), "{name} {other}");
        }
    }

    #[test]
    fn what_is_no_hashed_name_is_none() {
        for name in [
            "app.css",
            "app.4F3C9A1B2D5E.css",
            "app.4f3c9a1b2d5.css",
            "app.4f3c9a1b2d5ef.css",
            "4f3c9a1b2d5e.css",
            "4f3c9a1b2d5e",
            "",
            "a/4f3c9a1b2d5e.css",
            "app-4f3c9a1b2d5e.css",
            "ä3c9a1b2d5e.css",
        ] {
            assert_eq!(plain(name), None, "{name}");
        }
    }
}
