//! Files that users have sent, and that are sent to others: nothing of them may run as the site.

use std::str;

/// Bytes by which a kind is known.
const KNOWN_BY: usize = 4096;

/// The type of bytes that a browser may show instead of saving them, by what they are and not by what somebody says. None of what could run as the site:
/// HTML, SVG, XML and scripts; those are saved. `said` is what the type is said to be: plain text looks like much else.
///
/// ```
/// use files::download::shown_type;
///
/// assert_eq!(shown_type(b"\x89PNG\r\n\x1a\n....", Some("text/html")), Some("image/png"));
/// assert_eq!(shown_type(b"<svg onload=alert(1)>", Some("image/png")), None);
/// ```
pub fn shown_type(bytes: &[u8], said: Option<&str>) -> Option<&'static str> {
    let begins = |with: &[u8]| bytes.starts_with(with);
    let brand = if bytes.get(4..8) == Some(b"ftyp") { bytes.get(8..12) } else { None };
    let found = match brand {
        Some(b"avif" | b"avis") => Some("image/avif"),
        Some(
            b"isom" | b"iso2" | b"iso4" | b"iso5" | b"iso6" | b"mp41" | b"mp42" | b"avc1" | b"dash" | b"M4V ",
        ) => Some("video/mp4"),
        Some(b"M4A ") => Some("audio/mp4"),
        _ if begins(b"\x89PNG\r\n\x1a\n") => Some("image/png"),
        _ if begins(b"\xff\xd8\xff") => Some("image/jpeg"),
        _ if begins(b"GIF87a") || begins(b"GIF89a") => Some("image/gif"),
        _ if begins(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") => Some("image/webp"),
        _ if begins(b"%PDF-") => Some("application/pdf"),
        _ if begins(b"ID3") || matches!(bytes, [0xff, 0xfa | 0xfb | 0xf2 | 0xf3, ..]) => Some("audio/mpeg"),
        _ => None,
    };
    found.or_else(|| {
        let is_said = said.is_some_and(|said| essence(said).eq_ignore_ascii_case("text/plain"));
        (is_said && is_text(bytes)).then_some("text/plain; charset=utf-8")
    })
}

/// Whether bytes may be plain text, by those that they begin with.
fn is_text(bytes: &[u8]) -> bool {
    let first = &bytes[..bytes.len().min(KNOWN_BY)];
    let text = match str::from_utf8(first) {
        Ok(text) => text,
        // The last character may be cut.
        Err(error) if error.error_len().is_none() && bytes.len() > KNOWN_BY => {
            str::from_utf8(&first[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    !text.chars().any(|letter| letter.is_control() && !matches!(letter, '\t' | '\n' | '\r' | '\u{c}'))
}

fn essence(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or_default().trim()
}

/// The header `Content-Disposition` for a file of this name: shown, or saved. Of a path the last part counts, and what would end the header, or lead
/// elsewhere, is left out.
///
/// ```
/// use files::download::disposition;
///
/// assert_eq!(disposition("../naïve \"plan\".pdf", true), "inline; filename=\"na_ve plan.pdf\"; filename*=UTF-8''na%C3%AFve%20plan.pdf");
/// assert_eq!(disposition("", false), "attachment");
/// ```
pub fn disposition(name: &str, is_shown: bool) -> String {
    let kind = if is_shown { "inline" } else { "attachment" };
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let name: String = last.chars().filter(|letter| !is_left_out(*letter)).collect();
    let name = name.trim().trim_start_matches('.');
    if name.is_empty() {
        return kind.to_owned();
    }
    let plain: String =
        name.chars().map(|letter| if letter.is_ascii() && letter != '%' { letter } else { '_' }).collect();
    if plain == name {
        return format!("{kind}; filename=\"{name}\"");
    }
    let escaped = percent_encoding::utf8_percent_encode(name, VALUE);
    format!("{kind}; filename=\"{plain}\"; filename*=UTF-8''{escaped}")
}

/// Whether a character is no part of a name: it ends the header or the quotes, or turns the direction of what follows, so that `gpj.exe` reads as `exe.jpg`.
fn is_left_out(letter: char) -> bool {
    letter.is_control()
        || letter == '"'
        || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Characters that are escaped in the value of `filename*`, RFC 8187.
const VALUE: &percent_encoding::AsciiSet =
    &percent_encoding::NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_browser_would_run_is_never_shown() {
        for (bytes, said, shown) in [
            (&b"\x89PNG\r\n\x1a\n"[..], None, Some("image/png")),
            (b"\xff\xd8\xff\xe0", Some("text/html"), Some("image/jpeg")),
            (b"GIF89a<script>", Some("text/html"), Some("image/gif")),
            (b"RIFF....WEBPVP8 ", None, Some("image/webp")),
            (b"RIFF....WAVEfmt ", None, None),
            (b"%PDF-1.7", Some("text/plain"), Some("application/pdf")),
            (b"\0\0\0\x20ftypisom....", None, Some("video/mp4")),
            (b"\0\0\0\x20ftypavif....", None, Some("image/avif")),
            (b"\0\0\0\x20ftypevil....", None, None),
            (b"ID3\x04", None, Some("audio/mpeg")),
            (b"<svg xmlns='http://www.w3.org/2000/svg'>", Some("image/svg+xml"), None),
            (b"<!doctype html>", Some("text/html"), None),
            (b"<?xml version='1.0'?>", Some("application/xml"), None),
            (b"alert(1)", Some("text/javascript"), None),
            // As text nobody runs it, where nobody guesses.
            (
                b"<script>alert(1)</script>",
                Some("TEXT/plain; charset=latin1"),
                Some("text/plain; charset=utf-8"),
            ),
            (b"words", None, None),
            (b"a\0b", Some("text/plain"), None),
            (b"\xff\xfe", Some("text/plain"), None),
            (b"", Some("text/plain"), Some("text/plain; charset=utf-8")),
            (b"", None, None),
        ] {
            assert_eq!(shown_type(bytes, said), shown, "{:?} {said:?}", String::from_utf8_lossy(bytes));
        }
        let long = "ä".repeat(KNOWN_BY) + "x";
        assert!(shown_type(&long.as_bytes()[..KNOWN_BY + 1], Some("text/plain")).is_some());
    }

    #[test]
    fn a_name_ends_no_header_and_leads_nowhere() {
        for (name, header) in [
            ("a.txt", "attachment; filename=\"a.txt\""),
            ("/etc/passwd", "attachment; filename=\"passwd\""),
            ("..\\..\\boot.ini", "attachment; filename=\"boot.ini\""),
            (".bashrc", "attachment; filename=\"bashrc\""),
            ("..", "attachment"),
            ("a\r\nSet-Cookie: x=1", "attachment; filename=\"aSet-Cookie: x=1\""),
            ("\"; filename=evil.exe", "attachment; filename=\"; filename=evil.exe\""),
            ("50%.txt", "attachment; filename=\"50_.txt\"; filename*=UTF-8''50%25.txt"),
            ("発注.pdf", "attachment; filename=\"__.pdf\"; filename*=UTF-8''%E7%99%BA%E6%B3%A8.pdf"),
            ("photo\u{202e}gpj.exe", "attachment; filename=\"photogpj.exe\""),
        ] {
            assert_eq!(disposition(name, false), header, "{name}");
        }
    }
}
