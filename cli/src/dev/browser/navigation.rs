//! Which requests are for a page that somebody looks at, and which answers to them get the script.

use hyper::header::{
    ACCEPT_ENCODING, ACCEPT_RANGES, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE,
    ETAG, HeaderMap, HeaderName, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE,
    LAST_MODIFIED, RANGE,
};
use hyper::{Method, Request, StatusCode};

use super::headers::text;

/// What would have the application answer with something else than the whole page as it is now: a browser that has the page from before
/// asks whether it is still that, and would keep the script with it.
const NOT_THE_WHOLE: [HeaderName; 7] =
    [ACCEPT_ENCODING, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, RANGE];

/// What is true of the application's bytes alone.
const OF_THE_BYTES: [HeaderName; 7] = [
    CONTENT_LENGTH,
    ETAG,
    LAST_MODIFIED,
    ACCEPT_RANGES,
    HeaderName::from_static("content-md5"),
    HeaderName::from_static("content-digest"),
    HeaderName::from_static("repr-digest"),
];

/// Whether a browser asks for a page that it shows in its window. A form that was posted is none: its page cannot be loaded again
/// without posting it again.
pub(super) fn is_for_a_page<B>(request: &Request<B>) -> bool {
    let headers = request.headers();
    request.method() == Method::GET
        && match text(headers, "sec-fetch-dest") {
            Some(destination) => destination == "document",
            // Browsers tell their purpose to addresses that they trust alone: not to 192.168.1.5.
            None => text(headers, "accept").is_some_and(takes_html),
        }
}

fn takes_html(accept: &str) -> bool {
    accept.split(',').any(|kind| kind.split(';').next().is_some_and(|kind| kind.trim() == "text/html"))
}

/// Has the application answer with the whole page.
pub(super) fn ask_for_the_whole(headers: &mut HeaderMap) {
    for name in NOT_THE_WHOLE {
        headers.remove(name);
    }
}

/// Whether the script can stand at the end of this answer.
pub(super) fn takes_script(status: StatusCode, headers: &HeaderMap) -> bool {
    let is_page = !status.is_informational()
        && !status.is_redirection()
        && !matches!(
            status,
            StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT | StatusCode::PARTIAL_CONTENT
        );
    let is_download = headers.get(CONTENT_DISPOSITION).is_some_and(|disposition| {
        disposition
            .to_str()
            .map_or(true, |text| !text.trim_start().to_ascii_lowercase().starts_with("inline"))
    });
    is_page
        && !is_download
        && !headers.contains_key(CONTENT_ENCODING)
        && text(headers, CONTENT_TYPE.as_str()).is_some_and(is_html)
}

/// Whether an answer is a problem document, which nobody wants to read in a window.
pub(super) fn is_problem(status: StatusCode, headers: &HeaderMap) -> bool {
    let is_document = |kind: &str| kind.to_ascii_lowercase().starts_with("application/problem+json");
    (status.is_client_error() || status.is_server_error())
        && !headers.contains_key(CONTENT_ENCODING)
        && text(headers, CONTENT_TYPE.as_str()).is_some_and(is_document)
}

/// HTML in which a letter of ASCII is one byte.
fn is_html(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    let mut parts = kind.split(';').map(str::trim);
    parts.next() == Some("text/html")
        && !parts.any(|part| {
            let charset = part.strip_prefix("charset=").unwrap_or_default().trim_matches('"');
            charset.starts_with("utf-16") || charset.starts_with("utf-32")
        })
}

/// Takes out what is not true any more with something at the end.
pub(super) fn forget_the_bytes(headers: &mut HeaderMap) {
    for name in OF_THE_BYTES {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn asks(method: &str, headers: &[(&str, &str)]) -> bool {
        let mut request = Request::builder().method(method).uri("/");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        is_for_a_page(&request.body(()).unwrap())
    }

    #[test]
    fn what_a_browser_shows_in_its_window_is_a_page_and_nothing_else_is() {
        let html = ("accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8");
        assert!(asks("GET", &[("sec-fetch-dest", "document")]));
        assert!(asks("GET", &[html]));
        assert!(asks("GET", &[("accept", "application/json, text/html; q=0.5")]));
        for (method, headers) in [
            ("POST", &[("sec-fetch-dest", "document"), html][..]),
            ("HEAD", &[("sec-fetch-dest", "document"), html]),
            ("GET", &[("sec-fetch-dest", "empty"), html]),
            ("GET", &[("sec-fetch-dest", "iframe"), html]),
            ("GET", &[("sec-fetch-dest", "script"), html]),
            ("GET", &[("accept", "*/*")]),
            ("GET", &[("accept", "text/htmlx")]),
            ("GET", &[]),
        ] {
            assert!(!asks(method, headers), "{method} {headers:?}");
        }
    }

    #[test]
    fn whole_html_that_is_shown_takes_the_script_and_nothing_else_does() {
        let takes = |status: u16, headers: &[(&str, &str)]| {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.append(name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap());
            }
            takes_script(StatusCode::from_u16(status).unwrap(), &map)
        };
        let html = ("content-type", "text/html; charset=utf-8");
        for status in [200, 201, 404, 500, 503] {
            assert!(takes(status, &[html]), "{status}");
        }
        assert!(takes(200, &[("content-type", "Text/HTML")]));
        assert!(takes(200, &[html, ("content-disposition", "inline")]));
        for status in [204, 205, 206, 302, 303, 304] {
            assert!(!takes(status, &[html]), "{status}");
        }
        for headers in [
            &[][..],
            &[("content-type", "application/json")],
            &[("content-type", "text/html; charset=UTF-16LE")],
            &[html, html],
            &[html, ("content-encoding", "gzip")],
            &[html, ("content-disposition", "attachment; filename=a.html")],
        ] {
            assert!(!takes(200, headers), "{headers:?}");
        }
    }
}
