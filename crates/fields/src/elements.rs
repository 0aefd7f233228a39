//! Arrays as PostgreSQL writes them.

/// The elements of an array of one dimension; null is left out. Of a text that is no array it is the only one, and an empty text has none.
pub fn of(text: &str) -> Vec<String> {
    let Some(inner) = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else {
        return if text.is_empty() { Vec::new() } else { vec![text.to_owned()] };
    };
    let mut elements = Vec::new();
    let (mut element, mut is_quoted, mut was_quoted) = (String::new(), false, false);
    let mut rest = inner.chars();
    let mut end = |element: &mut String, was_quoted: &mut bool| {
        let text = std::mem::take(element);
        if std::mem::take(was_quoted) || !(text.is_empty() || text.eq_ignore_ascii_case("null")) {
            elements.push(text);
        }
    };
    while let Some(next) = rest.next() {
        match next {
            '\\' => element.extend(rest.next()),
            '"' => {
                is_quoted = !is_quoted;
                was_quoted = true;
            }
            ',' if !is_quoted => end(&mut element, &mut was_quoted),
            other => element.push(other),
        }
    }
    end(&mut element, &mut was_quoted);
    elements
}
