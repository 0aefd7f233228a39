//! The path of a form's page: a pattern with values in the places of its parameters.

use form::escape::url_pieces;

/// The path of a pattern, as it is sent. None if a parameter has no value.
pub(super) fn filled(pattern: &str, value: impl Fn(&str) -> Option<String>) -> Option<String> {
    let mut path = String::with_capacity(pattern.len() + 16);
    for (place, segment) in pattern.split('/').enumerate() {
        if place > 0 {
            path.push('/');
        }
        let name = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        match name.map(|name| name.strip_prefix('*').map_or((name, false), |name| (name, true))) {
            // The rest of a path keeps its slashes.
            Some((name, true)) => {
                for (place, part) in value(name)?.split('/').enumerate() {
                    path.push_str(if place > 0 { "/" } else { "" });
                    path.extend(url_pieces(part));
                }
            }
            Some((name, false)) => path.extend(url_pieces(&value(name)?)),
            None => path.extend(url_pieces(segment)),
        }
    }
    Some(path)
}
