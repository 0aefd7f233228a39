//! Text into HTML.

use std::borrow::Cow;

/// Escapes text for HTML: for the content of elements and for attribute values in either kind of quotes. Not
/// for scripts, style sheets, or attributes without quotes. Text without special characters is borrowed.
///
/// ```
/// assert_eq!(form::escape::html("<b> & 'c'"), "&lt;b&gt; &amp; &#39;c&#39;");
/// ```
pub fn html(text: &str) -> Cow<'_, str> {
    let Some(first) = text.bytes().position(is_special) else {
        return Cow::Borrowed(text);
    };
    let mut escaped = String::with_capacity(text.len() + text.len() / 8 + 8);
    let mut begin = 0;
    for at in first..text.len() {
        if let Some(reference) = reference(text.as_bytes()[at]) {
            escaped.push_str(&text[begin..at]);
            escaped.push_str(reference);
            begin = at + 1;
        }
    }
    escaped.push_str(&text[begin..]);
    Cow::Owned(escaped)
}

fn is_special(byte: u8) -> bool {
    reference(byte).is_some()
}

fn reference(byte: u8) -> Option<&'static str> {
    match byte {
        b'&' => Some("&amp;"),
        b'<' => Some("&lt;"),
        b'>' => Some("&gt;"),
        b'"' => Some("&quot;"),
        b'\'' => Some("&#39;"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_borrowed() {
        assert!(matches!(html("Jörg, 100 %"), Cow::Borrowed("Jörg, 100 %")));
        assert!(matches!(html(""), Cow::Borrowed("")));
    }

    #[test]
    fn every_special_character_is_escaped_wherever_it_stands() {
        assert_eq!(html("<>&\"'"), "&lt;&gt;&amp;&quot;&#39;");
        assert_eq!(html("ü<ö>"), "ü&lt;ö&gt;");
        assert_eq!(html("&amp;"), "&amp;amp;");
    }
}
