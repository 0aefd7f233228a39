//! Where a redirect leads, as browsers read it.

/// Whether browsers take a location for a path of the same site, whatever it looks like.
///
/// ```
/// use form::location::is_on_site;
///
/// assert!(is_on_site("/orders/7?page=2#last"));
/// assert!(!is_on_site("//evil.example") && !is_on_site("/\\evil.example") && !is_on_site("javascript:alert(1)"));
/// ```
pub fn is_on_site(location: &str) -> bool {
    let path = location.split(['?', '#']).next().unwrap_or_default();
    let lower = path.to_ascii_lowercase();
    // Browsers leave controls out, take a backslash for a slash, and resolve dots; proxies decode what is encoded.
    path.starts_with('/')
        && !has_controls(location)
        && !path.contains('\\')
        && !lower.contains("//")
        && !["%0", "%1", "%7f", "%2f", "%5c"].iter().any(|encoded| lower.contains(encoded))
        && !path.split('/').any(is_dots)
}

/// Whether a redirect may name a location: `http` or `https`, or no scheme and no host. Whoever means the site writes no host by accident.
pub fn is_redirect(location: &str) -> bool {
    let lower = location.to_ascii_lowercase();
    if lower.starts_with("http://") || lower.starts_with("https://") {
        return !has_controls(location);
    }
    let begin = location.split(['/', '?', '#']).next().unwrap_or_default();
    let names_host = ["//", "/\\", "\\"].iter().any(|begin| location.starts_with(begin));
    !begin.contains(':') && !names_host && !has_controls(location)
}

fn has_controls(location: &str) -> bool {
    location.chars().any(char::is_control) || location.starts_with(' ')
}

/// `.` or `..`, in whatever way it is encoded.
fn is_dots(segment: &str) -> bool {
    let decoded = segment.to_ascii_lowercase().replace("%2e", ".");
    matches!(decoded.as_str(), "." | "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_stays_on_its_site_however_it_is_written() {
        for on_site in ["/", "/a", "/a/b?next=//x#//y", "/a%20b", "/ü", "/a:b", "/a?x=\\"] {
            assert!(is_on_site(on_site) && is_redirect(on_site), "{on_site}");
        }
        for elsewhere in [
            "",
            "a",
            "?a",
            "//h",
            "///h",
            "/\\h",
            "\\h",
            "\\/h",
            "/\t/h",
            "/\n/h",
            " //h",
            " /h",
            "/%09/h",
            "/%2fh",
            "/%5Ch",
            "/.//h",
            "/..//h",
            "/a//h",
            "/./h",
            "/%2e%2E/h",
            "http://h",
            "HTTP:/h",
            "https:h",
            "javascript:x",
            "JavaScript:x",
            "data:,x",
            "\u{0}/h",
            "/a\u{7f}",
            "/\u{85}/h",
        ] {
            assert!(!is_on_site(elsewhere), "{elsewhere:?}");
        }
    }

    #[test]
    fn a_redirect_names_no_host_by_accident_and_no_other_scheme() {
        for good in ["https://h/x", "HTTP://h", "/a", "a/b:c", "?a=b:c", "#x:y", "", "../a", "/a b"] {
            assert!(is_redirect(good), "{good}");
        }
        for bad in [
            "//h",
            "/\\h",
            "\\h",
            "javascript:x",
            "data:,x",
            "mailto:a@b",
            "a:b",
            "/\t/h",
            "https://h/\n",
            " //h",
        ] {
            assert!(!is_redirect(bad), "{bad:?}");
        }
    }
}
