//! Problems as responses.

use message::Response;
use problem::{Access, ParameterError, Problem, Raised, Wording};
use serde_json::{Value, json};

/// The status, the headers and the document of a problem.
fn answer(problem: &Problem) -> (u16, Vec<(String, String)>, Value) {
    let bytes = problem.write(Vec::new(), "the-id");
    let response = Response::parse(&bytes).expect("a response");
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    let headers = response.headers().map(|(name, value)| (text(name), text(value))).collect();
    (response.status(), headers, serde_json::from_slice(response.body()).expect("JSON"))
}

fn header(problem: &Problem, name: &str) -> Option<String> {
    answer(problem).1.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

fn raised(sqlstate: &[u8; 5]) -> Raised<'static> {
    Raised {
        sqlstate: *sqlstate,
        message: "what is wrong",
        detail: Some("more of it"),
        hint: Some("do this"),
    }
}

fn of(sqlstate: &[u8; 5]) -> Problem {
    Problem::of_error(raised(sqlstate), Access::ReadWrite, false, false)
}

#[test]
fn a_problem_has_type_title_status_detail_and_id() {
    let (status, _, document) = answer(&Problem::new(404, "there is no such user"));
    assert_eq!(status, 404);
    let expected = json!({"type": "about:blank", "title": "Not Found", "status": 404,
        "detail": "there is no such user", "request_id": "the-id"});
    assert_eq!(document, expected);
}

#[test]
fn members_are_in_the_order_of_their_names() {
    let problem = Problem::of_error(raised(b"23505"), Access::ReadWrite, false, true);
    let bytes = problem.write(Vec::new(), "the-id");
    let body = Response::parse(&bytes).expect("a response").body().to_vec();
    assert_eq!(
        String::from_utf8(body).expect("UTF-8"),
        r#"{"detail":"what is wrong","error_detail":"more of it","hint":"do this","request_id":"the-id","sqlstate":"23505","status":409,"title":"Conflict","type":"about:blank"}"#
    );
}

#[test]
fn it_names_its_media_type_and_the_request() {
    let problem = Problem::new(400, "no");
    assert_eq!(header(&problem, "content-type").as_deref(), Some("application/problem+json"));
    assert_eq!(header(&problem, "x-request-id").as_deref(), Some("the-id"));
}

#[test]
fn whoever_may_try_again_is_told_when() {
    assert_eq!(header(&of(b"40001"), "retry-after").as_deref(), Some("1"));
    assert_eq!(header(&of(b"57014"), "retry-after"), None);
    assert_eq!(header(&of(b"23505"), "retry-after"), None);
}

#[test]
fn a_405_names_what_is_allowed() {
    let problem = Problem { allow: Some("GET, HEAD".into()), ..Problem::new(405, "no") };
    assert_eq!(header(&problem, "allow").as_deref(), Some("GET, HEAD"));
    assert_eq!(header(&Problem::new(405, "no"), "allow"), None);
}

#[test]
fn a_415_of_ours_names_the_coding_and_a_handlers_does_not() {
    assert_eq!(header(&Problem::new(415, "no"), "accept-encoding").as_deref(), Some("identity"));
    let unpacks = Problem { unpacks: true, ..Problem::new(415, "no") };
    assert_eq!(header(&unpacks, "accept-encoding").as_deref(), Some(problem::CODINGS));
    assert_eq!(header(&of(b"PT415"), "accept-encoding"), None);
}

#[test]
fn a_status_without_a_phrase_is_an_error_by_name() {
    assert_eq!(answer(&Problem::new(418, "no")).2["title"], "Error");
    assert_eq!(answer(&Problem::new(422, "no")).2["title"], "Unprocessable Content");
    assert_eq!(answer(&Problem::new(451, "no")).2["title"], "Unavailable For Legal Reasons");
}

#[test]
fn a_status_that_no_response_can_have_becomes_500() {
    for status in [0, 100, 199, 600, 999, u16::MAX] {
        let (sent, _, document) = answer(&Problem::new(status, "no"));
        assert_eq!((sent, &document["status"]), (500, &json!(500)), "{status}");
    }
}

#[test]
fn texts_of_any_kind_are_json() {
    let nasty = "a \"quote\", a \\, a\nline, \u{1}, \u{2028} and ü";
    let (_, _, document) = answer(&Problem::new(400, nasty));
    assert_eq!(document["detail"], nasty);
}

#[test]
fn an_sqlstate_that_is_no_text_is_left_out() {
    let problem = Problem { sqlstate: Some([0xff; 5]), ..Problem::new(500, "no") };
    assert_eq!(answer(&problem).2.get("sqlstate"), None);
}

#[test]
fn a_message_is_hidden_unless_it_is_for_everybody() {
    assert_eq!(of(b"23505").detail.as_deref(), Some("what is wrong"));
    assert_eq!(of(b"XX000").detail, None);
    assert_eq!(of(b"22P02").detail, None);
    assert_eq!(answer(&of(b"XX000")).2.get("detail"), None);
    assert_eq!(of(b"XX000").sqlstate, Some(*b"XX000"));
}

#[test]
fn detail_and_hint_are_shown_where_errors_are_shown_alone() {
    assert_eq!(of(b"23505").more, [None, None]);
    let shown = Problem::of_error(raised(b"XX000"), Access::ReadWrite, false, true);
    assert_eq!(shown.detail.as_deref(), Some("what is wrong"));
    assert_eq!(shown.more, [Some("more of it".into()), Some("do this".into())]);
}

#[test]
fn a_get_that_writes_is_told_which_methods_write() {
    let problem = Problem::of_error(raised(b"25006"), Access::ReadOnly, true, false);
    assert_eq!(problem.status, 405);
    let detail = problem.detail.expect("a detail");
    assert!(detail.starts_with("what is wrong: GET and HEAD"), "{detail}");
    assert!(detail.contains("POST"), "{detail}");
}

#[test]
fn a_post_that_cannot_write_is_an_error_on_a_primary_and_passes_on_a_standby() {
    assert_eq!(of(b"25006").status, 500);
    assert_eq!(Problem::of_error(raised(b"25006"), Access::ReadWrite, true, false).status, 503);
}

#[test]
fn a_buffer_is_used_again() {
    let buffer = Vec::with_capacity(4096);
    let place = buffer.as_ptr();
    let written = Problem::new(404, "no").write(buffer, "an-id");
    assert_eq!(written.as_ptr(), place);
}

#[test]
fn all_parameters_that_are_wrong_are_told_and_the_first_in_the_text() {
    let wrong = |parameter: &str, message: &str| ParameterError {
        parameter: Some(parameter.to_owned()),
        message: message.to_owned(),
        wording: Wording::Server(*b"22P02"),
    };
    let one = Problem::of_parameters(vec![ParameterError::missing("n")]);
    let (status, _, document) = answer(&one);
    assert_eq!((status, &document["detail"]), (400, &json!("parameter n is missing")));
    assert_eq!(document["errors"], json!([{ "parameter": "n", "message": "is missing" }]));
    let two = Problem::of_parameters(vec![wrong("n", "no number"), ParameterError::missing("d")]);
    assert_eq!(two.detail.as_deref(), Some("parameter n: no number, and one more parameter is wrong"));
    let three = Problem::of_parameters(vec![wrong("a", "x"), wrong("b", "pw=hunter2"), wrong("c", "z")]);
    assert_eq!(three.detail.as_deref(), Some("parameter a: x, and 2 more parameters are wrong"));
    let shown = three.without(|text| text.replace("hunter2", "…"));
    assert_eq!(answer(&shown).2["errors"][1]["message"], "pw=…");
    assert_eq!(answer(&Problem::new(400, "no")).2.get("errors"), None);
}
