//! JSON paths.

/// Whether a path multiplies or divides, as PostgreSQL writes it: `$."a" * 2`. What it finds may be as long as any number.
pub fn multiplies(path: &str) -> bool {
    // What stands in quotes is a name or a text, and `[*]`, `.*` and `**` have no blanks around.
    let (mut is_quoted, mut is_escaped) = (false, false);
    let bytes = path.as_bytes();
    bytes.iter().enumerate().any(|(place, byte)| {
        let is_operator = !is_quoted && matches!(byte, b'*' | b'/' | b'%');
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            _ => {}
        }
        is_operator && place > 0 && bytes[place - 1] == b' ' && bytes.get(place + 1) == Some(&b' ')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_multiplies_by_an_operator_and_not_by_what_it_names() {
        for path in ["($.\"a\" * 2)", "$[*]?(@.\"b\" / $.\"c\" > 1)", "($.\"\\\"\" % 2)"] {
            assert!(multiplies(path), "{path}");
        }
        for path in ["$.*", "$[*].**.\"a\"", "$.\" * \"", "$.\"a\\\" * b\"", "($.\"a\" + 2)", "*", ""] {
            assert!(!multiplies(path), "{path}");
        }
    }
}
