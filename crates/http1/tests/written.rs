//! The heads of responses.

use http1::{Persistence, ResponseHead};

fn written(head: ResponseHead<'_>) -> String {
    let mut out = b"before".to_vec();
    head.write(&mut out);
    String::from_utf8(out).unwrap().strip_prefix("before").unwrap().to_owned()
}

fn head(status: u16) -> ResponseHead<'static> {
    ResponseHead {
        status,
        header_block: b"content-type: text/plain\r\n",
        content_length: 12,
        persistence: Persistence::Keep,
        date: Some("Sun, 06 Nov 1994 08:49:37 GMT"),
        server: Some("howdah"),
        strict_transport: None,
        content_type_options: None,
        cache_control: None,
        request_id: Some(b"one-1"),
    }
}

#[test]
fn strict_transport_security_comes_after_what_the_response_says_itself() {
    let head = ResponseHead { strict_transport: Some("max-age=60"), ..head(200) };
    let written = written(head);
    assert!(written.contains("\r\nstrict-transport-security: max-age=60\r\ndate: "), "{written}");
}

#[test]
fn what_the_response_leaves_unsaid_follows_it() {
    let head =
        ResponseHead { content_type_options: Some("nosniff"), cache_control: Some("no-cache"), ..head(200) };
    let expected = "\r\ncontent-length: 12\r\nx-content-type-options: nosniff\r\ncache-control: no-cache\r\nx-request-id: ";
    assert!(written(head).contains(expected), "{}", written(head));
}

#[test]
fn a_head_has_status_headers_length_id_date_and_server() {
    let expected = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 12\r\nx-request-id: one-1\r\n\
                    date: Sun, 06 Nov 1994 08:49:37 GMT\r\nserver: howdah\r\n\r\n";
    assert_eq!(written(head(200)), expected);
}

#[test]
fn every_status_has_a_status_line() {
    for status in 200..=599 {
        let text = written(head(status));
        let phrase = http1::reason::phrase(status).unwrap_or("");
        assert!(text.starts_with(&format!("HTTP/1.1 {status} {phrase}\r\n")), "{text}");
    }
    assert!(written(head(599)).starts_with("HTTP/1.1 599 \r\n"));
}

#[test]
fn a_response_without_content_has_no_length() {
    assert!(!written(head(204)).contains("content-length"));
    assert!(!written(head(304)).contains("content-length"));
    assert!(written(head(205)).contains("content-length: 0\r\n"));
}

#[test]
fn the_connection_header_says_what_becomes_of_it() {
    let closing = ResponseHead {
        persistence: Persistence::Close,
        date: None,
        server: None,
        request_id: None,
        ..head(200)
    };
    assert!(written(closing).ends_with("content-length: 12\r\nconnection: close\r\n\r\n"));
    let keeping = ResponseHead { persistence: Persistence::KeepOld, ..closing };
    assert!(written(keeping).ends_with("content-length: 12\r\nconnection: keep-alive\r\n\r\n"));
}
