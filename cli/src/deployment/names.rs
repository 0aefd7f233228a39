//! Names as SQL writes them.

/// A name as SQL writes it, without its quotes.
pub(crate) fn unquoted(name: &str) -> String {
    match name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inside) => inside.replace("\"\"", "\""),
        None => name.to_owned(),
    }
}
