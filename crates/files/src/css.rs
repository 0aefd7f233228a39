//! Addresses in style sheets: `url(…)` and `@import "…"`. They are found as a browser finds them, outside of comments and texts; everything else is
//! left as it stands.

use std::ops::Range;

/// An address in a style sheet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SheetAddress<'c> {
    /// The text that stands there, without its quotes.
    pub text: &'c str,
    /// Where, in bytes.
    pub place: Range<usize>,
    /// Whether it is another style sheet's that is read with this one.
    pub is_import: bool,
}

/// The addresses of a style sheet, in their order.
pub fn addresses(sheet: &str) -> Vec<SheetAddress<'_>> {
    let mut found = Vec::new();
    let (bytes, mut at, mut is_import) = (sheet.as_bytes(), 0, false);
    while at < bytes.len() {
        match bytes[at] {
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at = sheet[at + 2..].find("*/").map_or(bytes.len(), |end| at + 2 + end + 2);
            }
            quote @ (b'"' | b'\'') => {
                let end = end_of_text(bytes, at + 1, quote);
                if is_import {
                    found.push(SheetAddress { text: &sheet[at + 1..end], place: at + 1..end, is_import });
                    is_import = false;
                }
                at = end + 1;
            }
            b'@' if begins(&bytes[at..], b"@import") && !goes_on(bytes, at + 7) => {
                (at, is_import) = (at + 7, true);
            }
            b'u' | b'U' if begins(&bytes[at..], b"url(") && !(at > 0 && is_of_name(bytes[at - 1])) => {
                let address = in_parentheses(sheet, at + 4, is_import);
                at = address.place.end.max(at + 4);
                found.push(address);
                is_import = false;
                // Behind a text in quotes nothing but blanks may stand.
                while bytes.get(at).is_some_and(|byte| *byte != b')')
                    && bytes
                        .get(at)
                        .is_some_and(|byte| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\''))
                {
                    at += 1;
                }
            }
            b';' | b'{' | b'}' => (at, is_import) = (at + 1, false),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    found
}

/// The address within `url(`, whose text begins here.
fn in_parentheses(sheet: &str, from: usize, is_import: bool) -> SheetAddress<'_> {
    let bytes = sheet.as_bytes();
    let blanks = bytes[from..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let start = from + blanks;
    let (start, end) = match bytes.get(start) {
        Some(quote @ (b'"' | b'\'')) => (start + 1, end_of_text(bytes, start + 1, *quote)),
        _ => {
            let mut end = start;
            while end < bytes.len() && bytes[end] != b')' {
                end += if bytes[end] == b'\\' { 2 } else { 1 };
            }
            let end = end.min(bytes.len());
            (start, start + sheet.get(start..end).unwrap_or_default().trim_end().len())
        }
    };
    SheetAddress { text: sheet.get(start..end).unwrap_or_default(), place: start..end, is_import }
}

/// Where a text in quotes ends, which begins here; a line's end ends it as well.
fn end_of_text(bytes: &[u8], from: usize, quote: u8) -> usize {
    let mut at = from;
    while at < bytes.len() && bytes[at] != quote && bytes[at] != b'\n' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at.min(bytes.len())
}

fn begins(bytes: &[u8], with: &[u8]) -> bool {
    bytes.len() >= with.len() && bytes[..with.len()].eq_ignore_ascii_case(with)
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') || byte >= 0x80
}

fn goes_on(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_some_and(|byte| is_of_name(*byte))
}

/// The file that an address means, seen from the style sheet of this name, and what stands behind its path: `?…` or `#…`. None if it means none
/// of the same folder: another server's, a path of this one's, a place in the document, data.
///
/// ```
/// use files::css::target;
///
/// assert_eq!(target("css/app.css", "../img/a%20b.png?v=1"), Some(("img/a b.png".to_owned(), "?v=1")));
/// assert_eq!(target("css/app.css", "https://example.org/a.png"), None);
/// ```
pub fn target<'a>(sheet: &str, address: &'a str) -> Option<(String, &'a str)> {
    let address = address.trim();
    let end = address.find(['?', '#']).unwrap_or(address.len());
    let (path, rest) = address.split_at(end);
    // An escape of CSS's may be anything; nobody writes one in a name.
    if path.is_empty() || path.starts_with('/') || path.contains(['\\', ':']) {
        return None;
    }
    let path = percent_encoding::percent_decode_str(path).decode_utf8().ok()?;
    let mut segments: Vec<&str> = sheet.split('/').collect();
    segments.pop();
    for segment in path.split('/') {
        match segment {
            "." => {}
            ".." => {
                segments.pop()?;
            }
            segment => segments.push(segment),
        }
    }
    Some((segments.join("/"), rest))
}

/// The style sheet with its addresses replaced by what `instead` says of them, by their places; those of which it says nothing stay.
pub fn replaced(sheet: &str, mut instead: impl FnMut(&SheetAddress<'_>) -> Option<String>) -> String {
    let mut written = String::with_capacity(sheet.len());
    let mut from = 0;
    for address in addresses(sheet) {
        if let Some(other) = instead(&address) {
            written.push_str(&sheet[from..address.place.start]);
            written.push_str(&other);
            from = address.place.end;
        }
    }
    written.push_str(&sheet[from..]);
    written
}

/// An address with its last segment replaced: the folders stay as they are written.
///
/// ```
/// assert_eq!(files::css::renamed("../img/a.png#x", "a.1234.png"), "../img/a.1234.png#x");
/// ```
pub fn renamed(address: &str, name: &str) -> String {
    let end = address.find(['?', '#']).unwrap_or(address.len());
    let start = address[..end].rfind('/').map_or(0, |slash| slash + 1);
    let escaped = percent_encoding::utf8_percent_encode(name, NAME);
    format!("{}{escaped}{}", &address[..start], &address[end..])
}

/// Characters that are escaped in a name: they would end an address, or begin another part of it.
const NAME: &percent_encoding::AsciiSet = &percent_encoding::CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'\'')
    .add(b'(')
    .add(b')')
    .add(b'%')
    .add(b'?')
    .add(b'#')
    .add(b'\\')
    .add(b'<')
    .add(b'>');

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sheet: &str) -> Vec<&str> {
        addresses(sheet).into_iter().map(|address| address.text).collect()
    }

    #[test]
    fn addresses_are_where_a_browser_finds_them() {
        for (sheet, addresses) in [
            ("a { background: url(a.png) }", &["a.png"][..]),
            ("a { background: URL( 'a b.png' ), url(\"c.png\" ) }", &["a b.png", "c.png"]),
            ("a{src:url(a.eot?#iefix)format('x'),url(a.woff2)}", &["a.eot?#iefix", "a.woff2"]),
            ("@import 'a.css'; @import url(b.css) screen; @IMPORT\"c.css\";", &["a.css", "b.css", "c.css"]),
            ("/* url(a.png) @import 'x'; */ b { content: 'url(c.png)' }", &[]),
            ("a { content: \"\\\"url(x)\"; background: url(d.png) }", &["d.png"]),
            ("a { b: curl(x) -url(y) xurl(z) }", &[]),
            ("@imported 'a.css'; @import-x 'b.css';", &[]),
            ("a { background: url(a\\)b.png) } b { c: url(d) }", &["a\\)b.png", "d"]),
            ("a { background: url(", &[""]),
            ("a { background: url('x", &["x"]),
            ("/* never ends url(a)", &[]),
            ("@import", &[]),
            ("@charset 'utf-8'; @import\n'a.css'", &["a.css"]),
            ("@media print { a { b: 'c' } }", &[]),
            ("a{b:url()}", &[""]),
            ("\\", &[]),
            ("ä url(ö.png) ü", &["ö.png"]),
        ] {
            assert_eq!(found(sheet), addresses, "{sheet}");
        }
    }

    #[test]
    fn what_is_replaced_stands_where_it_stood() {
        let sheet = "@import 'a.css';\na { b: url( \"img/x.png\" ) url(data:x) }";
        let written = replaced(sheet, |address| {
            (!address.text.starts_with("data:")).then(|| renamed(address.text, "n(1).png"))
        });
        assert_eq!(written, "@import 'n%281%29.png';\na { b: url( \"img/n%281%29.png\" ) url(data:x) }");
        assert_eq!(replaced(sheet, |_| None), sheet);
    }

    #[test]
    fn an_address_means_a_file_of_the_folder_or_none() {
        let of = |address| target("css/app.css", address).map(|(name, _)| name);
        for (address, name) in [
            ("a.png", Some("css/a.png")),
            ("./a.png", Some("css/a.png")),
            ("../a.png", Some("a.png")),
            ("../../a.png", None),
            ("x/../../img/a.png", Some("img/a.png")),
            ("/a.png", None),
            ("//example.org/a.png", None),
            ("data:image/png;base64,xx", None),
            ("#id", None),
            ("", None),
            ("a%2fb.png", Some("css/a/b.png")),
        ] {
            assert_eq!(of(address).as_deref(), name, "{address}");
        }
    }

    mod hunts {
        use std::time::Duration;

        use super::*;

        /// No text makes it fail, or is another where nothing is replaced; and each address stands where it says.
        #[test]
        fn any_text_is_read() {
            let pieces = [
                "url(", ")", "'", "\"", "@import", " ", "/*", "*/", "\\", "a", "ä", ";", "\n", "{", "}", "@",
                "?",
            ];
            let mut hunt = hunt::Hunt::begin("style sheets", Duration::from_millis(300));
            while let Some(mut random) = hunt.next_round() {
                let sheet: String =
                    (0..random.usize(..20)).map(|_| pieces[random.usize(..pieces.len())]).collect();
                let found = addresses(&sheet);
                assert!(found.iter().all(|address| &sheet[address.place.clone()] == address.text), "{sheet}");
                assert!(found.windows(2).all(|pair| pair[0].place.end <= pair[1].place.start), "{sheet}");
                assert_eq!(replaced(&sheet, |_| None), sheet);
            }
        }
    }
}
