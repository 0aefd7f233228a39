//! Answers that the gateway gives by itself, as problem documents (RFC 9457).

use ::http1::{Reject, reason};
use message::ResponseBuilder;

/// A response that tells the client what was wrong. A status that no response can have becomes 500.
pub(crate) fn response(reject: Reject) -> Vec<u8> {
    let Ok(mut builder) = ResponseBuilder::new(reject.status) else {
        return response(Reject::new(500, reject.detail));
    };
    // Both are headers of our own, and well formed.
    let _ = builder.header("content-type", "application/problem+json");
    if reject.status == 503 {
        let _ = builder.header("retry-after", "1");
    }
    builder.finish(document(reject).as_bytes())
}

fn document(Reject { status, detail }: Reject) -> String {
    // Titles and details are texts of our own without a character that JSON escapes; the test sees to it.
    let title = reason::phrase(status).unwrap_or("Error");
    format!(r#"{{"type":"about:blank","title":"{title}","status":{status},"detail":"{detail}"}}"#)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_a_json_document() {
        let bytes = response(Reject::new(503, "too busy"));
        let response = message::Response::parse(&bytes).unwrap();
        assert_eq!(response.status(), 503);
        let body = r#"{"type":"about:blank","title":"Service Unavailable","status":503,"detail":"too busy"}"#;
        assert_eq!(response.body(), body.as_bytes());
    }

    #[test]
    fn a_status_that_cannot_be_sent_becomes_500() {
        for status in [0, 100, 600, 999] {
            let bytes = response(Reject::new(status, "x"));
            assert_eq!(message::Response::parse(&bytes).unwrap().status(), 500);
        }
    }
}
