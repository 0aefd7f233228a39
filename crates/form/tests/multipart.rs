//! Multipart bodies as browsers and curl send them, and broken ones.

use form::multipart::parse;
use form::{Field, File, FormError, Value};

fn text<'a>(name: &'a str, value: &'a str) -> Field<'a> {
    Field { name: name.into(), value: Value::Text(value.into()) }
}

fn reason(body: &[u8], boundary: &str) -> String {
    parse(body, boundary, 10).unwrap_err().to_string()
}

#[test]
fn texts_and_files_are_read_in_order() {
    let body = b"--X\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nTwo\r\nlines\r\n\
        --X\r\ncontent-type: image/png\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a\\\"b.png\"\r\n\r\n\
        \x00\xff\r\n--\r\n\r\n--X--\r\nepilogue";
    let file = File { name: "a\"b.png".into(), content_type: "image/png", bytes: b"\x00\xff\r\n--\r\n" };
    let expected = [text("title", "Two\r\nlines"), Field { name: "f".into(), value: Value::File(file) }];
    assert_eq!(parse(body, "X", 10).unwrap(), expected);
}

#[test]
fn empty_contents_are_read_with_and_without_their_own_line_break() {
    let head = "Content-Disposition: form-data; name=a";
    let body = format!("--X\r\n{head}\r\n\r\n\r\n--X\r\n{head}\r\n\r\n--X--");
    assert_eq!(parse(body.as_bytes(), "X", 10).unwrap(), [text("a", ""), text("a", "")]);
    assert_eq!(parse(b"--X--", "X", 10).unwrap(), []);
}

#[test]
fn a_preamble_and_blanks_after_boundaries_are_skipped() {
    let body = b"preamble --X\r\n--X \t\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--X--";
    assert_eq!(parse(body, "X", 10).unwrap(), [text("a", "1")]);
}

#[test]
fn text_that_postgres_cannot_hold_names_its_field() {
    let body = |value: &[u8]| {
        let head = b"--X\r\nContent-Disposition: form-data; name=\"comment\"\r\n\r\n".as_slice();
        [head, value, b"\r\n--X--"].concat()
    };
    assert_eq!(reason(&body(b"\xff"), "X"), "the value of field 'comment' is not valid UTF-8");
    assert_eq!(reason(&body(b"\0"), "X"), "the value of field 'comment' contains a NUL byte");
}

#[test]
fn broken_bodies_are_refused_with_their_reason() {
    let part = "--X\r\nContent-Disposition: form-data; name=a\r\n\r\n1";
    let cases = [
        (String::new(), "does not occur"),
        (part.to_owned(), "part 1: its end is missing"),
        (format!("{part}\r\n--X"), "part 2: its end is missing"),
        (format!("{part}\r\n--X-"), "followed by other text"),
        (format!("{part}\r\n--XY\r\n"), "followed by other text"),
        ("--X\r\n\r\n1\r\n--X--".into(), "no Content-Disposition"),
        ("--X\r\n1\r\n--X--".into(), "its head has no end"),
        ("--X\r\n: b\r\n\r\n1\r\n--X--".into(), "malformed"),
        ("--X\r\nContent-Disposition: form-data\r\n\r\n1\r\n--X--".into(), "no name"),
        ("--X\r\nContent-Disposition: attachment; name=a\r\n\r\n1\r\n--X--".into(), "malformed"),
        (format!("--X\r\n{}\r\n\r\n1\r\n--X--", "A: b\r\n".repeat(20)), "too many headers"),
        (format!("--X\r\nA: {}\r\n\r\n1\r\n--X--", "b".repeat(9000)), "too long"),
    ];
    for (body, expected) in cases {
        let reason = reason(body.as_bytes(), "X");
        assert!(reason.contains(expected), "{body:?} gave {reason}");
    }
    assert!(reason(b"--X--", "").contains("no valid boundary"));
    assert!(reason(b"--X--", "a\r\n").contains("no valid boundary"));
}

#[test]
fn one_part_too_many_is_refused() {
    let body = "--X\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n".repeat(11) + "--X--";
    assert_eq!(parse(body.as_bytes(), "X", 10), Err(FormError::TooManyFields { limit: 10 }));
}

/// A search that began again at the front for each part would take minutes here.
#[test]
fn many_parts_cost_no_more_than_their_bytes() {
    let body = "--X\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n".repeat(50_000) + "--X--";
    assert_eq!(parse(body.as_bytes(), "X", 100_000).unwrap().len(), 50_000);
}

#[test]
fn a_file_that_nobody_chose_is_none() {
    let part = |name: &str, file: &str, content: &str| {
        format!(
            "--b\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"{file}\"\r\n\r\n{content}\r\n"
        )
    };
    let body = [part("a", "", ""), part("b", "b.txt", ""), part("c", "", "c")].concat() + "--b--\r\n";
    let fields = form::multipart::parse(body.as_bytes(), "b", 3).unwrap();
    assert_eq!(fields.iter().map(|field| &*field.name).collect::<Vec<_>>(), ["b", "c"]);
    assert!(form::multipart::parse(body.as_bytes(), "b", 2).is_err(), "it counts as a part");
}
