//! Whether the error of a request is answered by a page.

use form::accept::prefers_html;
use message::glance::{path_in, values_in};
use message::{Request, may_want_page};

/// Bytes of a path that is taken from a head which cannot be read.
const LONGEST_PATH: usize = 1024;

/// A request whose error may be answered by a page: it seems to be a browser's, for what it shows in its window or in a frame. By its Accept it
/// [prefers](Self::is_meant) HTML, or not after all: that is asked where there is an error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageWish {
    /// The path, then the values of Accept.
    text: String,
    path: usize,
}

impl PageWish {
    /// The wish of a request whose message [`message::RequestBuilder`] has written; none of a program, a script, a picture. For those it is the
    /// look at a byte, for others a copy.
    pub fn of_message(message: &[u8]) -> Option<PageWish> {
        may_want_page(message)
            .then(|| Self::new(path_in(message).unwrap_or_default(), values_in(message, "accept")))
    }

    /// The wish of a request that was read.
    pub fn of_request(request: &Request<'_>) -> Option<PageWish> {
        Self::of_headers("", request.headers()).map(|wish| Self::new(request.path(), [wish.accept()]))
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
            let is = |other: &str| name.eq_ignore_ascii_case(other);
            if is("hx-request") || is("sec-fetch-dest") && !matches!(value, "document" | "iframe") {
                return None;
            }
            if is("accept") {
                accepts.push(value);
            }
        }
        let path =
            target.split('?').next().filter(|path| path.len() <= LONGEST_PATH && path.starts_with('/'));
        let path = path.filter(|path| path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'%'));
        Some(Self::new(path.unwrap_or_default(), accepts)).filter(Self::is_meant)
    }

    fn new<'a>(path: &str, accepts: impl IntoIterator<Item = &'a str>) -> PageWish {
        let mut text = String::with_capacity(path.len() + 160);
        text.push_str(path);
        for (number, accept) in accepts.into_iter().enumerate() {
            text.push_str(if number > 0 { "," } else { "" });
            text.push_str(accept);
        }
        PageWish { text, path: path.len() }
    }

    /// The path of the request, percent-decoded; empty where it is not known.
    pub fn path(&self) -> &str {
        &self.text[..self.path]
    }

    fn accept(&self) -> &str {
        &self.text[self.path..]
    }

    /// Whether the client prefers HTML.
    pub fn is_meant(&self) -> bool {
        prefers_html([self.accept()])
    }
}
