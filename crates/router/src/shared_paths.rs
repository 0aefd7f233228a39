//! Paths that two patterns match.

/// Whether a pattern would answer paths that another one answers without it: it is the more specific one where they meet, or the same but for
/// names. A pattern of nothing but `/{*name}` is what is left for others to take: nothing of it is taken.
///
/// ```
/// use router::takes_part_of;
///
/// assert!(takes_part_of("/shop/login", "/shop/{page}"));
/// assert!(!takes_part_of("/shop/{page}", "/shop/login"));
/// ```
pub fn takes_part_of(pattern: &str, other: &str) -> bool {
    let is_name = |segment: &str| segment.starts_with('{');
    let is_rest = |segment: &str| segment.starts_with("{*");
    if other.strip_prefix('/').is_some_and(is_rest) {
        return false;
    }
    let (mut ours, mut theirs) = (pattern.split('/'), other.split('/'));
    // Where they differ first, the more specific one wins.
    let mut wins = None;
    loop {
        match (ours.next(), theirs.next()) {
            (None, None) => break,
            (Some(our), Some(their)) if is_rest(our) || is_rest(their) => {
                wins = wins.or((is_rest(our) != is_rest(their)).then(|| is_rest(their)));
                break;
            }
            (Some(our), Some(their)) => match (is_name(our), is_name(their)) {
                (true, true) => {}
                (false, false) if our == their => {}
                // A name takes no empty segment.
                (true, false) if !their.is_empty() => wins = wins.or(Some(false)),
                (false, true) if !our.is_empty() => wins = wins.or(Some(true)),
                _ => return false,
            },
            _ => return false,
        }
    }
    wins.unwrap_or(true)
}

/// Whether all paths that are made of one pattern, by values that have something in them, are answered by another.
///
/// ```
/// use router::is_answered_by;
///
/// assert!(is_answered_by("/books/{id}", "/books/{slug}"));
/// assert!(is_answered_by("/books/new", "/books/{slug}"));
/// assert!(!is_answered_by("/books/{slug}", "/books/new"));
/// ```
pub fn is_answered_by(url: &str, pattern: &str) -> bool {
    let (mut ours, mut theirs) = (url.split('/'), pattern.split('/'));
    loop {
        match (ours.next(), theirs.next()) {
            (None, None) => return true,
            (Some(_), Some(their)) if their.starts_with("{*") => return true,
            (Some(our), Some(_)) if our.starts_with("{*") => return false,
            (Some(our), Some(their)) if their.starts_with('{') && !our.is_empty() => {}
            (Some(our), Some(their)) if our == their => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Match, Router};

    #[test]
    fn a_pattern_takes_part_of_those_that_answer_less_once_it_is_there() {
        for (pattern, other, takes) in [
            ("/shop/login", "/shop/{page}", true),
            ("/shop/{page}", "/shop/login", false),
            ("/shop/{page}", "/shop/{name}", true),
            ("/shop/login", "/shop/login", true),
            ("/shop/login", "/shop/{*rest}", true),
            ("/shop/{*rest}", "/shop/{page}", false),
            ("/shop/a/{*rest}", "/shop/{*all}", true),
            ("/{*rest}", "/shop/{*all}", false),
            ("/shop/login", "/{*rest}", false),
            ("/y/{b}", "/{a}/x", true),
            ("/{a}/x", "/y/{b}", false),
            ("/y/z", "/{a}/x", false),
            ("/shop", "/shop/{page}", false),
            ("/shop/", "/shop/{page}", false),
            ("/shop/", "/shop/{*rest}", true),
            ("/a/b", "/a/c", false),
        ] {
            assert_eq!(takes_part_of(pattern, other), takes, "{pattern} {other}");
        }
    }

    /// By the router itself, for all pairs of short patterns.
    #[test]
    fn it_is_as_the_router_has_it() {
        let segments = ["a", "b", "{n}"];
        let mut patterns = Vec::new();
        for first in segments {
            patterns.push(format!("/{first}"));
            patterns.push(format!("/{first}/{{*r}}"));
            patterns.extend(["a", "b", "{m}"].map(|second| format!("/{first}/{second}")));
        }
        let paths = [
            "/a", "/b", "/c", "/a/", "/c/", "/a/a", "/a/b", "/a/c", "/b/a", "/b/b", "/b/c", "/c/a", "/c/b",
            "/c/c", "/a/c/d",
        ];
        for pattern in &patterns {
            for other in patterns.iter().filter(|other| *other != pattern) {
                let (mut alone, mut both) = (Router::new(), Router::new());
                alone.insert("GET", other, 1).unwrap();
                both.insert("GET", other, 1).unwrap();
                both.insert("GET", pattern, 2).unwrap();
                let answers = |router: &Router, path: &str| match router.lookup("GET", path) {
                    Ok(Match::Found(found)) => found.route,
                    _ => 0,
                };
                let is_taken =
                    paths.iter().any(|path| answers(&alone, path) == 1 && answers(&both, path) != 1);
                assert_eq!(takes_part_of(pattern, other), is_taken, "{pattern} {other}");
            }
        }
    }

    /// By the router itself, too: URLs of a pattern, made of values that no literal has and of those that one has.
    #[test]
    fn what_is_made_of_a_pattern_is_answered_as_the_router_has_it() {
        let mut patterns = vec!["/".to_owned(), "/{*r}".to_owned()];
        for first in ["a", "b", "{n}", ""] {
            patterns.push(format!("/{first}"));
            patterns.push(format!("/{first}/{{*r}}"));
            patterns.extend(["a", "b", "{m}", ""].map(|second| format!("/{first}/{second}")));
        }
        for url in &patterns {
            let mut paths = vec![url.clone()];
            for name in ["{n}", "{m}", "{*r}"] {
                let values: &[&str] =
                    if name == "{*r}" { &["a", "x", "x/a", "x/y/z"] } else { &["a", "b", "x"] };
                let each = paths.iter().flat_map(|path| values.iter().map(|value| path.replace(name, value)));
                paths = each.collect();
            }
            for pattern in &patterns {
                let mut router = Router::new();
                router.insert("GET", pattern, 1).unwrap();
                let is_found = |path: &String| matches!(router.lookup("GET", path), Ok(Match::Found(_)));
                assert_eq!(is_answered_by(url, pattern), paths.iter().all(is_found), "{url} {pattern}");
            }
        }
    }
}
