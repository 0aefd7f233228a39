//! Facts that the headers of a request tell, which are asked of its message without reading it: a byte of the head.

/// Where the byte stands.
pub(crate) const SAYS: usize = 3;
/// It says who asks.
pub(crate) const IS_PERSONAL: u8 = 1;
/// Its Accept names HTML.
const NAMES_HTML: u8 = 2;
/// It is no page that is asked for: a script asks for a part of one, or the browser for a picture.
const IS_FOR_PART: u8 = 4;

/// Whether a request whose message [`crate::RequestBuilder`] has written says who asks: by a cookie, by Authorization, by a certificate.
pub fn is_personal(message: &[u8]) -> bool {
    message.get(SAYS).is_some_and(|&says| says & IS_PERSONAL != 0)
}

/// Whether a request whose message [`crate::RequestBuilder`] has written may be a browser's for a page that it shows: its Accept names HTML, and neither
/// `HX-Request` nor `Sec-Fetch-Dest` says that it is for something else. Its Accept may still prefer another kind.
pub fn may_want_page(message: &[u8]) -> bool {
    message.get(SAYS).is_some_and(|&says| says & (NAMES_HTML | IS_FOR_PART) == NAMES_HTML)
}

/// The bits that a header adds, by its name in lower case.
pub(crate) fn said(name: &[u8], value: &[u8]) -> u8 {
    match name {
        b"cookie" | b"authorization" => IS_PERSONAL,
        b"accept" if names_html(value) => NAMES_HTML,
        b"hx-request" => IS_FOR_PART,
        b"sec-fetch-dest" if !matches!(value, b"document" | b"iframe") => IS_FOR_PART,
        _ => 0,
    }
}

fn names_html(accept: &[u8]) -> bool {
    const BEFORE: usize = b"text/".len();
    let is_named = |place: usize| {
        let name = accept.get(place.wrapping_sub(BEFORE)..place + b"html".len());
        name.is_some_and(|name| name.eq_ignore_ascii_case(b"text/html"))
    };
    memchr::memchr2_iter(b'h', b'H', accept).any(is_named)
}
