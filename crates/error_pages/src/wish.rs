//! Whether the error of a request is answered by a page.

use form::accept::prefers_html;
use message::{Request, may_want_page};

/// Bytes of a path that is taken from a head which cannot be read.
const LONGEST_PATH: usize = 1024;

/// A request whose error is answered by a page: a browser's, for what it shows in its window or in a frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageWish {
    path: Box<str>,
}

impl PageWish {
    /// The wish of a request whose message [`message::RequestBuilder`] has written; none of a program, a script, a picture. For those it is the
    /// look at a byte.
    pub fn of_message(message: &[u8]) -> Option<PageWish> {
        if !may_want_page(message) {
            return None;
        }
        Self::of_request(&Request::parse(message).ok()?)
    }

    /// The wish of a request that was read.
    pub fn of_request(request: &Request<'_>) -> Option<PageWish> {
        if request.headers().any(|(name, value)| is_for_part(name, value)) {
            return None;
        }
        let accept = request.headers().filter(|(name, _)| *name == "accept").map(|(_, value)| value);
        prefers_html(accept).then(|| PageWish { path: request.path().into() })
    }

    /// The wish that a head names line by line, which cannot be read as a whole, or has not come so.
    pub fn of_head(head: &[u8]) -> Option<PageWish> {
        let lines = head.split(|&byte| byte == b'\n').skip(1).map(<[u8]>::trim_ascii);
        let headers = lines.take_while(|line| !line.is_empty()).filter_map(|line| {
            let colon = memchr::memchr(b':', line)?;
            Some((
                std::str::from_utf8(&line[..colon]).ok()?,
                std::str::from_utf8(&line[colon + 1..]).ok()?.trim(),
            ))
        });
        let line = head.split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii();
        let target =
            line.split(|&byte| byte == b' ').nth(1).and_then(|target| std::str::from_utf8(target).ok());
        Self::of_headers(target.unwrap_or_default(), headers)
    }

    /// The wish of a request of which a target and headers are known alone. The path is taken from the target where it is short and nothing in it is
    /// encoded.
    pub fn of_headers<'h>(
        target: &str,
        headers: impl Iterator<Item = (&'h str, &'h str)>,
    ) -> Option<PageWish> {
        let mut accepts = Vec::new();
        for (name, value) in headers {
            if is_for_part(name, value) {
                return None;
            }
            if name.eq_ignore_ascii_case("accept") {
                accepts.push(value);
            }
        }
        let path =
            target.split('?').next().filter(|path| path.len() <= LONGEST_PATH && path.starts_with('/'));
        let path = path.filter(|path| path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'%'));
        prefers_html(accepts).then(|| PageWish { path: path.unwrap_or_default().into() })
    }

    /// The path of the request, percent-decoded; empty where it is not known.
    pub fn path(&self) -> &str {
        &self.path
    }
}

/// Whether a header says that no page is asked for: a script asks for a part of one, or the browser for a picture.
fn is_for_part(name: &str, value: &str) -> bool {
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    is("hx-request") || is("sec-fetch-dest") && !matches!(value, "document" | "iframe")
}
