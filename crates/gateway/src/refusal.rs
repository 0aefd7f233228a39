//! Refusals: answers that the gateway gives by itself.

use ::http1::Reject;
use error_pages::PageWish;
use message::id::Kept;
use message::{Request, id};
use problem::Problem;

/// A request that is answered with an error instead of being served.
pub(crate) struct Refusal {
    pub reject: Reject,
    /// Of the request: what the client has sent, as far as that can be told.
    id: String,
    /// Whether a browser is to get a page, as far as that can be told.
    pub wish: Option<PageWish>,
}

impl Refusal {
    /// Of a request of which nothing is known.
    pub(crate) fn new(reject: Reject) -> Self {
        Self { reject, id: id::new(), wish: None }
    }

    /// Of a request whose X-Request-Id is this, if it sent one.
    pub(crate) fn with_id(reject: Reject, id: Option<&str>) -> Self {
        Self { reject, id: id.map_or_else(id::new, str::to_owned), wish: None }
    }

    /// Likewise, of one whose client may be a browser.
    pub(crate) fn with_wish(reject: Reject, id: Option<&str>, wish: Option<PageWish>) -> Self {
        Self { wish, ..Self::with_id(reject, id) }
    }

    /// Of a request whose message has gone.
    pub(crate) fn of_id(reject: Reject, id: Option<&Kept>) -> Self {
        Self::with_id(reject, id.and_then(|id| id::sane(id.as_bytes())))
    }

    /// Of a head that cannot be read, or has not come as a whole.
    pub(crate) fn of_head(reject: Reject, head: &[u8]) -> Self {
        Self::with_wish(reject, id_in(head), PageWish::of_head(head))
    }

    /// Of a request whose head has become a message.
    pub(crate) fn of_message(reject: Reject, message: &[u8]) -> Self {
        let id = Request::parse(message).ok().map(|request| request.id());
        Self::with_wish(reject, id, PageWish::of_message(message))
    }

    /// The answer, as a document. A status that no response can have becomes 500.
    pub(crate) fn response(&self) -> Vec<u8> {
        Problem::new(self.reject.status, self.reject.detail).write(Vec::new(), &self.id)
    }
}

/// The X-Request-Id that a head names, line by line: as a whole it may be malformed.
fn id_in(head: &[u8]) -> Option<&str> {
    let lines = head.split(|&byte| byte == b'\n').skip(1).map(<[u8]>::trim_ascii);
    lines.take_while(|line| !line.is_empty()).find_map(|line| {
        let colon = line.iter().position(|&byte| byte == b':')?;
        let is_id = line[..colon].eq_ignore_ascii_case(b"x-request-id");
        if is_id { id::sane(line[colon + 1..].trim_ascii()) } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_a_json_document() {
        let bytes = Refusal::with_id(Reject::new(503, "too busy"), Some(r#"a"\b"#)).response();
        let response = message::Response::parse(&bytes).unwrap();
        assert_eq!(response.status(), 503);
        let body = r#"{"detail":"too busy","request_id":"a\"\\b","status":503,"title":"Service Unavailable","type":"about:blank"}"#;
        assert_eq!(std::str::from_utf8(response.body()).unwrap(), body);
        let id = response.headers().find(|(name, _)| *name == b"x-request-id").map(|(_, value)| value);
        assert_eq!(id, Some(&br#"a"\b"#[..]));
    }

    #[test]
    fn a_status_that_cannot_be_sent_becomes_500() {
        for status in [0, 100, 600, 999] {
            let bytes = Refusal::new(Reject::new(status, "x")).response();
            assert_eq!(message::Response::parse(&bytes).unwrap().status(), 500);
        }
    }

    #[test]
    fn the_id_is_found_in_what_has_come_of_a_head() {
        assert_eq!(id_in(b"GET /\r\nHost: a\r\nX-REQUEST-ID:  one \r\nX: y"), Some("one"));
        assert_eq!(id_in(b"nonsense\nx-request-id:a b\nx-request-id: two\n"), Some("two"));
        for head in [&b""[..], b"x-request-id: no\r\n", b"GET /\r\nX: y\r\n\r\nx-request-id: body\r\n"] {
            assert_eq!(id_in(head), None);
        }
    }
}
