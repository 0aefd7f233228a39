//! Prefixes of paths, below which something holds for all that answers.

use std::fmt;

/// Why a text is no prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadPrefix {
    /// It does not begin with a slash.
    NoSlash,
    /// It ends with a slash, or has two in a row: a segment in which nothing is.
    EmptySegment,
    /// It has a parameter, as a pattern does.
    Parameter,
    /// It has a `%`, a `?`, a `#` or a NUL: it is text, percent-decoded, and a path alone.
    NotPlain,
}

impl fmt::Display for BadPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoSlash => "a prefix begins with a slash: /admin",
            Self::EmptySegment => "a prefix has no empty segment, and no slash at its end: /admin",
            Self::Parameter => "a prefix has no parameters: it holds for all paths below it",
            Self::NotPlain => {
                "a prefix is plain text without %, ? and #, as it is when it is percent-decoded"
            }
        })
    }
}

impl std::error::Error for BadPrefix {}

/// Checks a prefix: `/` for everything, or segments of plain text.
///
/// # Errors
/// The reason why it is none.
pub fn check_prefix(prefix: &str) -> Result<(), BadPrefix> {
    let Some(segments) = prefix.strip_prefix('/') else { return Err(BadPrefix::NoSlash) };
    if prefix.contains(['{', '}']) {
        return Err(BadPrefix::Parameter);
    }
    if prefix.contains(['%', '?', '#', '\0']) {
        return Err(BadPrefix::NotPlain);
    }
    if !segments.is_empty() && segments.split('/').any(str::is_empty) {
        return Err(BadPrefix::EmptySegment);
    }
    Ok(())
}

/// Whether a path, percent-decoded as a whole, is a prefix or lies below it: segment by segment. An encoded slash counts as one here, though
/// routes do not take it for one: what follows a guarded prefix is guarded either way.
///
/// ```
/// use router::is_below;
///
/// assert!(is_below("/admin", "/admin") && is_below("/admin", "/admin/users") && is_below("/", "/admin"));
/// assert!(!is_below("/admin", "/administrators") && !is_below("/admin", "/shop/admin"));
/// ```
pub fn is_below(prefix: &str, path: &str) -> bool {
    prefix == "/" || path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether some path of a pattern lies below a prefix.
///
/// ```
/// use router::may_be_below;
///
/// assert!(may_be_below("/admin", "/admin/{id}") && may_be_below("/admin", "/{page}") && may_be_below("/admin/x", "/{*rest}"));
/// assert!(!may_be_below("/admin", "/shop/{id}") && !may_be_below("/admin/x", "/admin"));
/// ```
pub fn may_be_below(prefix: &str, pattern: &str) -> bool {
    if prefix == "/" {
        return true;
    }
    let mut segments = pattern.split('/');
    for wanted in prefix.split('/') {
        match segments.next() {
            Some(segment) if segment.starts_with("{*") => return true,
            // The value of a parameter may have an encoded slash, and so all that follows.
            Some(segment) if segment.starts_with('{') => return true,
            Some(segment) if segment == wanted => {}
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Match, Router, path::decode};

    #[test]
    fn a_prefix_is_segments_of_plain_text() {
        for good in ["/", "/a", "/a/b", "/ä b", "/a.b"] {
            assert_eq!(check_prefix(good), Ok(()), "{good}");
        }
        for (bad, why) in [
            ("", BadPrefix::NoSlash),
            ("a", BadPrefix::NoSlash),
            ("/a/", BadPrefix::EmptySegment),
            ("//", BadPrefix::EmptySegment),
            ("//a", BadPrefix::EmptySegment),
            ("/{a}", BadPrefix::Parameter),
            ("/a/{*rest}", BadPrefix::Parameter),
            ("/a%62", BadPrefix::NotPlain),
            ("/a?b", BadPrefix::NotPlain),
            ("/a#b", BadPrefix::NotPlain),
        ] {
            assert_eq!(check_prefix(bad), Err(why), "{bad}");
        }
    }

    /// By the router, for generated paths: one whose first segments are those of the prefix, as it matches them, lies below it.
    #[test]
    fn it_lies_below_if_the_router_finds_a_route_there() {
        let mut random = hunt::Rng::with_seed(7);
        let pieces = [
            "admin", "%61dmin", "a%64min", "Admin", "adm", "/", "//", "%2F", "x", ".", "..", "%2e", "{a}",
            "ä", "%C3%A4",
        ];
        let mut router = Router::new();
        for pattern in ["/admin", "/admin/{*rest}", "/ä/x", "/ä/x/{*rest}"] {
            router.insert("GET", pattern, 1).unwrap();
        }
        let mut below = 0;
        for _ in 0..20_000 {
            let path: String =
                (0..random.usize(1..6)).map(|_| pieces[random.usize(..pieces.len())]).collect();
            let path = format!("/{path}");
            let Ok(decoded) = decode(&path) else { continue };
            let is_found = matches!(router.lookup("GET", &path), Ok(Match::Found(_)));
            let is_covered = is_below("/admin", &decoded) || is_below("/ä/x", &decoded);
            assert!(!is_found || is_covered, "{path}");
            assert!(is_found || !is_covered || path.to_lowercase().contains("%2f"), "{path}");
            below += usize::from(is_covered);
        }
        assert!(below > 500, "{below}");
    }

    #[test]
    fn a_pattern_may_be_below_if_a_path_of_it_is() {
        let mut random = hunt::Rng::with_seed(8);
        let segments = ["a", "b", "{x}", "{*r}"];
        for _ in 0..2_000 {
            let mut pattern = String::new();
            for _ in 0..random.usize(1..4) {
                let segment = segments[random.usize(..4)];
                pattern.push('/');
                pattern.push_str(segment);
                if segment == "{*r}" {
                    break;
                }
            }
            let prefix: String = (0..random.usize(1..3)).map(|_| ["/a", "/b"][random.usize(..2)]).collect();
            let mut router = Router::new();
            // Two parameters of one name are refused.
            let Ok(()) = router.insert("GET", &pattern, 1) else { continue };
            let paths = [
                "/a", "/b", "/a/a", "/a/b", "/b/a", "/b/b", "/a%2Fb", "/a%2Fa", "/b%2Fa", "/b%2Fb", "/a/a/a",
                "/a/b/a", "/b/a/b", "/a%2Fb/a",
            ];
            for path in paths {
                let is_found = matches!(router.lookup("GET", path), Ok(Match::Found(_)));
                if is_found && is_below(&prefix, &decode(path).unwrap()) {
                    assert!(may_be_below(&prefix, &pattern), "{prefix} {pattern} {path}");
                }
            }
        }
    }
}
