//! Every way of a request to a value is SQL's own: what a function gets is what it gets from `select f(a => …)`, and what that
//! refuses is refused for the same reason.

use cluster::postgres::{Client, SimpleQueryMessage};
use howdah_tests::{Platform, Reply};
use serde_json::json;

const FORM: &str = "application/x-www-form-urlencoded";
const JSON: &str = "application/json";

pub(crate) const TYPES: &str = r#"
create type mood as enum ('sad', 'ok');
create domain positive as int check (value > 0);
create domain more as positive check (value > 9);
create domain needed as int not null;
create domain word as text check (value <> 'bad');
create domain tags as text[] check (cardinality(value) < 3);
create domain few_tags as tags check (cardinality(value) < 2);
create domain sizes as positive[] check (array_length(value, 1) < 3);
create domain moods as mood[] not null;
create domain document as jsonb check (value ? 'a');
create type pair as (n positive, t word);
create domain good_pair as pair check ((value).n < 100);
create domain span as int4range check (not isempty(value));
"#;

/// Types, and texts to try as their values.
pub(crate) const CASES: &[(&str, &[&str])] = &[
    ("int", &["1", "-0", "x", "99999999999", " 7 "]),
    ("numeric", &["1.10", "1e400", "NaN", "1,5"]),
    ("boolean", &["t", "off", "maybe"]),
    ("text", &["", "a", "ü'\\\"{}", "null"]),
    ("varchar", &["", "abc"]),
    ("name", &["", "abc"]),
    ("bytea", &["", "\\x00ff", "\\xzz", "plain"]),
    ("date", &["2024-02-29", "2023-02-29", "infinity"]),
    ("timestamptz", &["2024-01-01 00:00+02", "noon"]),
    ("interval", &["1 day", "1 dy"]),
    ("uuid", &["00000000-0000-0000-0000-000000000001", "1"]),
    ("inet", &["10.0.0.1/8", "10.0.0"]),
    ("mood", &["ok", "glad"]),
    ("positive", &["1", "0", "x"]),
    ("more", &["10", "9", "0"]),
    ("needed", &["1", "x"]),
    ("word", &["", "good", "bad"]),
    ("pair", &["(1,good)", "(0,good)", "(1,bad)", "(,)", "(1)"]),
    ("good_pair", &["(1,good)", "(100,good)", "(1,bad)"]),
    ("int4range", &["[1,5)", "(1,", "empty"]),
    ("span", &["[1,5)", "empty"]),
    ("int[]", &["{1,2}", "{1,NULL}", "{1,x}", "[2:3]={1,2}", "{{1},{2}}", "{1"]),
    ("text[]", &["{a,b}", "{\"a,b\"}", "{}"]),
    ("mood[]", &["{sad,ok}", "{glad}"]),
    ("positive[]", &["{1,2}", "{1,0}", "{NULL}"]),
    ("needed[]", &["{1}", "{NULL}"]),
    ("word[]", &["{good}", "{bad}", "{good,bad}"]),
    ("pair[]", &["{\"(1,good)\"}", "{\"(0,good)\"}"]),
    ("good_pair[]", &["{\"(1,good)\"}", "{\"(100,good)\"}"]),
    ("int4range[]", &["{\"[1,5)\"}", "{\"(1,\"}"]),
    ("tags", &["{a,b}", "{a,b,c}", "{"]),
    ("few_tags", &["{a}", "{a,b}", "{a,b,c}"]),
    ("sizes", &["{1,2}", "{1,0}", "{1,2,3}"]),
    ("moods", &["{ok}", "{glad}"]),
];

/// What came of a call: the value as text, or the error's code.
type Outcome = Result<String, String>;

/// A call by SQL.
fn called(session: &mut Client, call: &str) -> Outcome {
    match session.simple_query(&format!("select {call}")) {
        Ok(messages) => Ok(messages
            .iter()
            .find_map(|message| match message {
                SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
                _ => None,
            })
            .expect("a value")),
        Err(error) => Err(error.code().expect("an error of the server's").code().to_owned()),
    }
}

/// The same by a request.
fn answered(reply: &Reply) -> Outcome {
    match reply.status {
        200 => Ok(reply.text()),
        400 => Err(reply.json()["sqlstate"].as_str().unwrap_or("none").to_owned()),
        status => panic!("{status}: {}", reply.text()),
    }
}

pub(crate) fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn multipart(values: &[&str]) -> String {
    let part = |value: &&str| format!("--X\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n{value}\r\n");
    values.iter().map(part).collect::<String>() + "--X--\r\n"
}

#[test]
fn a_value_is_what_sql_makes_of_it_by_whatever_way_it_comes() {
    let platform = Platform::start();
    platform.sql(TYPES);
    for (number, (of_type, _)) in CASES.iter().enumerate() {
        platform.sql(&format!(
            "create function f{number}(a {of_type}) returns text language sql stable return coalesce(a::text, 'NULL');
             select http.route(method, '/f{number}', 'f{number}') from unnest('{{GET,POST}}'::text[]) method;
             select http.route('GET', '/f{number}/{{a}}', 'f{number}')",
        ));
    }
    let mut session = platform.session();
    let mut wrong = Vec::new();
    for (number, (of_type, texts)) in CASES.iter().enumerate() {
        let path = format!("/f{number}");
        let post =
            |content_type: &str, body: &str| answered(&platform.post(&path, content_type, body.as_bytes()));
        let mut compare = |way: &str, value: &str, came: Outcome, wanted: Outcome| {
            if came != wanted {
                wrong.push(format!("{of_type} {way} {value:?}: {came:?}, by SQL {wanted:?}"));
            }
        };
        let is_array = of_type.ends_with("[]") || ["tags", "few_tags", "sizes", "moods"].contains(of_type);
        let has_empty_text = ["text", "varchar", "name", "bytea", "word"].contains(of_type);
        for text in *texts {
            let wanted = called(&mut session, &format!("f{number}(a => {})", literal(text)));
            let in_url = encoded(text);
            compare("query", text, answered(&platform.get(&format!("{path}?a={in_url}"))), wanted.clone());
            compare("form", text, post(FORM, &format!("a={in_url}")), wanted.clone());
            compare(
                "multipart",
                text,
                post("multipart/form-data; boundary=X", &multipart(&[text])),
                wanted.clone(),
            );
            compare("JSON", text, post(JSON, &json!({ "a": text }).to_string()), wanted.clone());
            if !text.is_empty() {
                compare("path", text, answered(&platform.get(&format!("{path}/{in_url}"))), wanted);
            }
        }
        let null = called(&mut session, &format!("f{number}(a => null)"));
        compare("JSON", "null", post(JSON, r#"{"a": null}"#), null.clone());
        if !has_empty_text && *of_type != "text[]" && !["word[]", "tags", "few_tags"].contains(of_type) {
            compare("query", "nothing", answered(&platform.get(&format!("{path}?a="))), null.clone());
            compare("form", "nothing", post(FORM, "a="), null.clone());
            compare("multipart", "nothing", post("multipart/form-data; boundary=X", &multipart(&[""])), null);
        }
        if is_array {
            let elements: &[&[&str]] = match *of_type {
                "pair[]" | "good_pair[]" => {
                    &[&["(1,good)", "(2,good)"], &["(1,good)", "(0,good)"], &["(100,x)", "(1,x)"]]
                }
                "int4range[]" => &[&["[1,5)", "empty"], &["[1,5)", "x"]],
                "mood[]" | "moods" => &[&["sad", "ok"], &["sad", "glad"]],
                "int[]" | "positive[]" | "needed[]" | "sizes" => {
                    &[&["1", "2"], &["1", "0"], &["1", "x"], &["1", "2", "3"]]
                }
                _ => &[&["a", "b"], &["a", "bad"], &["a", "b", "c"], &["{a", "b}"]],
            };
            for elements in elements {
                let array: Vec<_> = elements.iter().map(|element| literal(element)).collect();
                let wanted = called(
                    &mut session,
                    &format!("f{number}(a => array[{}]::text[]::{of_type})", array.join(",")),
                );
                let repeated: Vec<_> =
                    elements.iter().map(|element| format!("a={}", encoded(element))).collect();
                let (repeated, shown) = (repeated.join("&"), elements.join(" & "));
                compare(
                    "query",
                    &shown,
                    answered(&platform.get(&format!("{path}?{repeated}"))),
                    wanted.clone(),
                );
                compare("form", &shown, post(FORM, &repeated), wanted.clone());
                compare(
                    "multipart",
                    &shown,
                    post("multipart/form-data; boundary=X", &multipart(elements)),
                    wanted.clone(),
                );
                compare("JSON", &shown, post(JSON, &json!({ "a": elements }).to_string()), wanted);
            }
            let with_null = called(&mut session, &format!("f{number}(a => array[null]::text[]::{of_type})"));
            compare("JSON", "[null]", post(JSON, r#"{"a": [null]}"#), with_null);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_empty_field_is_the_default_or_null_and_an_empty_text_where_there_is_one() {
    let platform = Platform::start();
    platform.sql(
        "create domain note as text;
         create function filled(due date, hours numeric default 8, sizes int[] default '{7}', note note default 'none',
           raw bytea default null, label text default 'unset') returns text language sql stable
         return concat_ws('|', coalesce(due::text, 'null'), hours, sizes, '<' || note || '>', raw, '<' || label || '>');
         create function given() returns text language sql stable
         return concat_ws(' ', http.is_given('a'), http.is_given('b'), http.is_given('q'));
         create domain few as http.file[] check (cardinality(value) < 2);
         create function files(a few) returns text language sql stable return cardinality(a)::text;
         select http.route('POST', '/filled', 'filled'), http.route('POST', '/given', 'given'), http.route('POST', '/files', 'files')",
    );
    let filled = |body: &str| platform.post("/filled", FORM, body.as_bytes());
    for (body, expected) in [
        ("due=", "null|8|{7}|<none>|<unset>"),
        ("due=&hours=&sizes=&note=&raw=&label=", "null|8|{7}|<>|\\x|<>"),
        ("due=2024-01-01&hours=1&sizes=1&sizes=&sizes=3", "2024-01-01|1|{1,3}|<none>|<unset>"),
    ] {
        assert_eq!(filled(body).text(), expected, "{body}");
    }
    assert_eq!(filled("hours=1").status, 400, "a field that is not there is not an empty one");
    assert_eq!(
        platform.post("/filled", JSON, br#"{"due": ""}"#).json()["sqlstate"],
        "22007",
        "JSON has null"
    );

    let given = |path: &str, content_type: &str, body: &str| {
        platform.post(path, content_type, body.as_bytes()).text()
    };
    assert_eq!(given("/given?q=", FORM, "a="), "t f t");
    assert_eq!(given("/given", JSON, r#"{"b": null}"#), "f t f");
    assert_eq!(given("/given", "text/plain", "a=1"), "f f f");
    assert_eq!(given("/given", "multipart/form-data; boundary=X", &multipart(&[""])), "t f f");
    assert_eq!(platform.post("/given", JSON, b"{").status, 400);

    let file = "--X\r\nContent-Disposition: form-data; name=\"a\"; filename=\"f\"\r\n\r\nx\r\n";
    let files = |count: usize| {
        platform.post(
            "/files",
            "multipart/form-data; boundary=X",
            (file.repeat(count) + "--X--\r\n").as_bytes(),
        )
    };
    assert_eq!(files(1).text(), "1");
    assert_eq!(files(2).json()["sqlstate"], "23514", "a domain looks at files, too");
}
