//! From the request to the function's arguments.

use howdah_tests::abilities::is_built_for;
use howdah_tests::{Platform, Reply};
use serde_json::json;

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

fn ok(reply: &Reply) -> String {
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.text()
}

#[test]
fn values_come_from_path_then_query_then_body_and_become_their_type() {
    let platform = Platform::start();
    platform.sql(
        r#"
create type mood as enum ('sad', 'ok');
create domain even as int check (value % 2 = 0);
create domain tags as text[] check (cardinality(value) < 4);
create type point3 as (x int, y int);
create function one(a text) returns text language sql stable return '<' || a || '>';
create function show_int(a int) returns text language sql stable return a::text;
create function show_bigint(a bigint) returns text language sql stable return a::text;
create function show_numeric(a numeric) returns text language sql stable return a::text;
create function show_float(a float8) returns text language sql stable return a::text;
create function show_bool(a boolean) returns text language sql stable return a::text;
create function show_uuid(a uuid) returns text language sql stable return a::text;
create function show_date(a date) returns text language sql stable return a::text;
create function show_timestamp(a timestamptz) returns text language sql stable set timezone = 'UTC' return a::text;
create function show_interval(a interval) returns text language sql stable return a::text;
create function show_inet(a inet) returns text language sql stable return a::text;
create function show_mood(a mood) returns text language sql stable return a::text;
create function show_even(a even) returns text language sql stable return a::text;
create function show_bytea(a bytea) returns text language sql stable return encode(a, 'hex');
create function show_json(a json) returns text language sql stable return a::text;
create function show_jsonb(a jsonb) returns text language sql stable return a::text;
create function show_ints(a int[]) returns text language sql stable return a::text;
create function show_texts(a text[]) returns text language sql stable return a::text;
create function show_jsonbs(a jsonb[]) returns text language sql stable return a::text;
create function show_tags(a tags) returns text language sql stable return a::text;
create function show_range(a int4range) returns text language sql stable return a::text;
create function show_point(a point3) returns text language sql stable return a::text;
create function show_varchar(a varchar(3)) returns text language sql stable return a::text;
create function show_char(a "char") returns text language sql stable return a::text;
create function show_name(a name) returns text language sql stable return a::text;
create function show_xml(a xml) returns text language sql stable return a::text;
select http.route(method, '/' || proname, oid::regprocedure::text)
from pg_proc, unnest(array['GET', 'POST']) method where proname like 'show\_%' or proname = 'one';
select http.route('POST', '/path/{a}', 'one'); select http.route('GET', '/path/{a}', 'one');
select http.route('GET', '/rest/{*a}', 'one');
create function shadow(method text, path text, body text default 'unset') returns text language sql stable
return concat_ws('|', method, path, body);
select http.route('POST', '/shadow', 'shadow');
"#,
    );
    // Type, text in a query or form, JSON value, what comes out.
    let mut types = vec![
        ("int", "%20-7", json!(-7), "-7"),
        ("bigint", "9223372036854775807", json!(9_223_372_036_854_775_807_i64), "9223372036854775807"),
        ("numeric", "1e3", json!("1e3"), "1000"),
        ("float", "0.1", json!(0.1), "0.1"),
        ("bool", "yes", json!(true), "true"),
        (
            "uuid",
            "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
            json!("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        ),
        ("date", "2024-02-29", json!("2024-02-29"), "2024-02-29"),
        (
            "timestamp",
            "2024-02-29T12:00:00%2B02:00",
            json!("2024-02-29T12:00:00+02:00"),
            "2024-02-29 10:00:00+00",
        ),
        ("interval", "1+day", json!("1 day"), "1 day"),
        ("inet", "10.0.0.1", json!("10.0.0.1"), "10.0.0.1/32"),
        ("mood", "ok", json!("ok"), "ok"),
        ("even", "4", json!(4), "4"),
        ("bytea", "%5Cx00ff", json!("\\x00ff"), "00ff"),
        ("json", "%7B%22b%22:1,%22a%22:%5B2%5D%7D", json!(null), r#"{"b":1,"a":[2]}"#),
        ("jsonb", "%7B%22b%22:1%7D", json!({"b": 1}), r#"{"b": 1}"#),
        ("ints", "%7B1,2%7D", json!([1, 2]), "{1,2}"),
        ("texts", "%7Ba,%22b+c%22%7D", json!(["a", "b c"]), r#"{a,"b c"}"#),
        ("tags", "%7Ba%7D", json!(["a"]), "{a}"),
        ("range", "%5B1,5)", json!("[1,5)"), "[1,5)"),
        ("point", "(1,2)", json!("(1,2)"), "(1,2)"),
        ("varchar", "%C3%BCx", json!("üx"), "üx"),
        ("char", "x", json!("x"), "x"),
        ("name", "n", json!("n"), "n"),
    ];
    if is_built_for(&mut platform.session(), "select '<a/>'::xml", "an argument of type xml") {
        types.push(("xml", "%3Ca/%3E", json!("<a/>"), "<a/>"));
    }
    for (name, text, value, expected) in &types {
        let path = format!("/show_{name}");
        assert_eq!(ok(&platform.get(&format!("{path}?a={text}"))), *expected, "{name} in the query");
        let form = format!("a={text}");
        assert_eq!(ok(&platform.post(&path, FORM, form.as_bytes())), *expected, "{name} in a form");
        if !value.is_null() {
            let body = json!({ "a": value }).to_string();
            assert_eq!(ok(&platform.post(&path, JSON, body.as_bytes())), *expected, "{name} in JSON");
        }
    }
    let json_cases = [
        (
            "numeric",
            r#"{"a": 12345678901234567890.123456789012345678}"#,
            "12345678901234567890.123456789012345678",
        ),
        ("numeric", r#"{"a": 1.10}"#, "1.10"),
        ("bigint", r#"{"a": 9007199254740993}"#, "9007199254740993"),
        ("json", r#"{"a": {"b" : 1, "a": 2,"b":3}}"#, r#"{"b" : 1, "a": 2,"b":3}"#),
        ("json", r#"{"a": [1.0, 1e2]}"#, "[1.0, 1e2]"),
        ("json", r#"{"a": "text"}"#, r#""text""#),
        ("json", r#"{"a": "1"}"#, r#""1""#),
        ("jsonb", r#"{"a": "text"}"#, r#""text""#),
        ("jsonb", r#"{"a": "{\"b\": 1}"}"#, r#""{\"b\": 1}""#),
        ("jsonb", r#"{"a": true}"#, "true"),
        ("jsonb", r#"{"a": 1.10}"#, "1.10"),
        ("jsonbs", r#"{"a": [1, "1", {"b": 2}, null]}"#, r#"{1,"\"1\"","{\"b\": 2}",NULL}"#),
        ("texts", r#"{"a": ["{x", "null", null, "", 1, true]}"#, r#"{"{x","null",NULL,"",1,true}"#),
        ("texts", r#"{"a": []}"#, "{}"),
        ("ints", r#"{"a": "{1,2}"}"#, "{1,2}"),
        ("ints", r#"{"a": [[1, 2], [3, 4]]}"#, "{{1,2},{3,4}}"),
        ("varchar", r#"{"a": 12}"#, "12"),
        ("texts", r#"{"a": ["x"], "b": "\ud83d\ude00"}"#, "{x}"),
    ];
    for (name, body, expected) in json_cases {
        assert_eq!(
            ok(&platform.post(&format!("/show_{name}"), JSON, body.as_bytes())),
            expected,
            "{name} {body}"
        );
    }
    for (query, expected) in [
        ("texts?a=x&b=y&a=z", "{x,z}"),
        ("texts?a=x", "{x}"),
        ("texts?a=", r#"{""}"#),
        ("ints?a=1&a=2&a=3", "{1,2,3}"),
    ] {
        assert_eq!(ok(&platform.get(&format!("/show_{query}"))), expected, "{query}");
    }
    assert_eq!(ok(&platform.post("/show_ints?a=1", FORM, b"a=2&a=3")), "{1}");
    assert_eq!(ok(&platform.post("/show_ints", FORM, b"a=2&a=3")), "{2,3}");

    assert_eq!(ok(&platform.post("/path/p?a=q", FORM, b"a=f")), "<p>");
    assert_eq!(ok(&platform.post("/one?a=q", FORM, b"a=f")), "<q>");
    assert_eq!(ok(&platform.post("/one?a=q&a=r", JSON, br#"{"a": "j"}"#)), "<q>");
    assert_eq!(ok(&platform.post("/one?b=q", JSON, br#"{"a": "j"}"#)), "<j>");
    assert_eq!(ok(&platform.get("/path/a%2Fb%20c+d%C3%BC")), "<a/b c+dü>");
    assert_eq!(ok(&platform.get("/rest/a/b%2Fc/d")), "<a/b/c/d>");
    assert_eq!(ok(&platform.get("/one?a=1%2B1+2%26%3D")), "<1+1 2&=>");
    assert_eq!(ok(&platform.post("/shadow?method=m&path=p", FORM, b"body=b")), "m|p|b");
    assert_eq!(ok(&platform.post("/shadow?method=m&path=p", "text/plain", b"body")), "m|p|unset");
    assert_eq!(
        ok(&platform.post("/one", "application/vnd.api+json; charset=utf-8", br#"{"a": "j"}"#)),
        "<j>"
    );

    for (path, content_type, body) in [
        ("/one", FORM, &b""[..]),
        ("/one", JSON, b"{}"),
        ("/one", JSON, b"[1]"),
        ("/one", JSON, b"{\"a\": "),
        ("/one", JSON, b"{\"a\": \"\xff\"}"),
        ("/one", JSON, br#"{"a": "x\u0000y"}"#),
        ("/one", JSON, br#"{"a": "\ud800"}"#),
        ("/show_uuid", JSON, br#"{"a": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\u0000z"}"#),
        ("/show_texts", JSON, br#"{"a": ["x\u0000y"]}"#),
        ("/show_jsonb", JSON, br#"{"a": "x\u0000y"}"#),
        ("/one", FORM, b"a=%00"),
        ("/one", FORM, b"a=%ff"),
        ("/one", FORM, b"a=\xff"),
        ("/one?a=%00", FORM, b""),
        ("/one?a=%ff", FORM, b""),
        ("/path/%00", FORM, b""),
        ("/path/%ff", FORM, b""),
        ("/path/%C3", FORM, b""),
        ("/show_varchar", JSON, br#"{"a": {"b": 1}, "b": "#),
    ] {
        let reply = platform.post(path, content_type, body);
        assert_eq!(reply.status, 400, "{path} {}: {}", String::from_utf8_lossy(body), reply.text());
    }
    for path in ["/path/%00", "/path/%FF", "/one?a=%00", "/one?a=%c3%28"] {
        assert_eq!(platform.get(path).status, 400, "{path}");
    }
    let pids = platform.pids();
    assert!(!pids.is_empty());
}

#[test]
fn defaults_hold_for_what_is_not_given() {
    let platform = Platform::start();
    platform.sql(
        "create function many(a int, b int default 20, c text default 'see', d int default random() * 0 + 40)
         returns text language sql stable return concat_ws(' ', a, b, c, d);
         select http.route('GET', '/many', 'many'); select http.route('POST', '/many', 'many');
         create function \"Odd Name\"(\"First One\" int default 1, \"select\" text default 's', \"Ünï\" int default 3)
         returns text language sql stable return concat_ws(' ', \"First One\", \"select\", \"Ünï\");
         select http.route('GET', '/odd', '\"Odd Name\"');
         create function all_defaults(a int default 1) returns text language plpgsql stable as
         $$ begin return coalesce(a::text, 'null'); end $$;
         select http.route('POST', '/all', 'all_defaults');
         create function in_out(a int, inout b int default 5, out c int) language plpgsql stable as
         $$ begin c := a + b; end $$;
         select http.route('GET', '/in-out', 'in_out');
         create function strictly(a int, b int default 2) returns text language sql stable strict return a || ' ' || b;
         select http.route('POST', '/strict', 'strictly')",
    );
    for (query, expected) in [
        ("a=1", "1 20 see 40"),
        ("a=1&b=2", "1 2 see 40"),
        ("a=1&c=3", "1 20 3 40"),
        ("a=1&d=4", "1 20 see 4"),
        ("a=1&b=2&c=3&d=4", "1 2 3 4"),
        ("d=4&c=3&a=1", "1 20 3 4"),
    ] {
        assert_eq!(ok(&platform.get(&format!("/many?{query}"))), expected);
    }
    assert_eq!(ok(&platform.post("/many", JSON, br#"{"a": 1, "b": null, "x": 9}"#)), "1 see 40");
    assert_eq!(platform.get("/many?b=2").status, 400);
    assert_eq!(ok(&platform.get("/odd")), "1 s 3");
    assert_eq!(ok(&platform.get("/odd?select=t&%C3%9Cn%C3%AF=4&First+One=2")), "2 t 4");
    assert_eq!(ok(&platform.get("/odd?%C3%9Cn%C3%AF=4")), "1 s 4");
    assert_eq!(ok(&platform.post("/all", FORM, b"")), "1");
    assert_eq!(ok(&platform.post("/all", JSON, br#"{"a": null}"#)), "null");
    assert_eq!(platform.get("/in-out?a=1").json(), json!({"b": 5, "c": 6}));
    assert_eq!(platform.get("/in-out?a=1&b=2").json(), json!({"b": 2, "c": 3}));
    assert_eq!(ok(&platform.post("/strict", FORM, b"a=1")), "1 2");
    assert_eq!(platform.post("/strict", JSON, br#"{"a": null}"#).status, 204);
}

#[test]
fn multipart_forms_carry_texts_and_files() {
    let platform = Platform::start();
    platform.sql(
        "create function upload(title text, file http.file, raw bytea default null, numbers int[] default null,
           files http.file[] default null)
         returns jsonb language sql stable return jsonb_build_object('title', title, 'name', (file).name,
           'type', (file).content_type, 'body', encode((file).body, 'hex'), 'raw', encode(raw, 'hex'),
           'numbers', numbers, 'files', (select jsonb_agg(concat_ws(':', f.name, f.content_type, encode(f.body, 'escape'))) from unnest(files) f),
           'value', http.form_value('title'), 'values', http.form_values('numbers'),
           'file', (http.form_file('file')).name, 'absent', http.form_file('title') is null);
         select http.route('POST', '/upload', 'upload')",
    );
    let part = |name: &str, filename: Option<&str>, content_type: Option<&str>, body: &[u8]| {
        let mut part = format!("--XX\r\nContent-Disposition: form-data; name=\"{name}\"");
        if let Some(filename) = filename {
            part.push_str(&format!("; filename=\"{filename}\""));
        }
        if let Some(content_type) = content_type {
            part.push_str(&format!("\r\nContent-Type: {content_type}"));
        }
        part.push_str("\r\n\r\n");
        [part.as_bytes(), body, b"\r\n"].concat()
    };
    let body = [
        part("title", None, None, "Grüße".as_bytes()),
        part("numbers", None, None, b"1"),
        part("file", Some("ä b.png"), Some("image/png"), b"\x00\xff\r\n--X"),
        part("raw", Some("r"), None, b"\x00\x01"),
        part("numbers", None, None, b"2"),
        part("files", Some("f1"), None, b"one"),
        part("files", Some("f2"), Some("image/gif"), b"two"),
        b"--XX--\r\n".to_vec(),
    ]
    .concat();
    let reply = platform.post("/upload", "multipart/form-data; boundary=XX", &body);
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(
        reply.json(),
        json!({"title": "Grüße", "name": "ä b.png", "type": "image/png", "body": "00ff0d0a2d2d58", "raw": "0001",
               "numbers": [1, 2], "files": ["f1:text/plain:one", "f2:image/gif:two"], "value": "Grüße", "values": ["1", "2"],
               "file": "ä b.png", "absent": true})
    );
    for bad in [
        [part("title", None, None, b"x\x00y"), part("file", Some("f"), None, b""), b"--XX--\r\n".to_vec()]
            .concat(),
        [part("title", None, None, b"\xff"), part("file", Some("f"), None, b""), b"--XX--\r\n".to_vec()]
            .concat(),
        [part("title", None, None, b"x"), part("file", None, None, b"text, no file"), b"--XX--\r\n".to_vec()]
            .concat(),
        [part("title", None, None, b"x"), b"--XX--\r\n".to_vec()].concat(),
        body[..body.len() - 20].to_vec(),
        b"--XX\r\nno headers".to_vec(),
    ] {
        let reply = platform.post("/upload", "multipart/form-data; boundary=XX", &bad);
        assert_eq!(reply.status, 400, "{} {}", String::from_utf8_lossy(&bad), reply.text());
    }
    assert_eq!(platform.post("/upload", "multipart/form-data", &body).status, 400);
}

#[test]
fn a_file_that_nobody_chose_leaves_its_argument_to_its_default() {
    let platform = Platform::start();
    platform.sql(
        "create function avatar(title text, picture http.file default row('none.png', 'image/png', '\\x00'))
         returns text language sql volatile return title || ':' || (picture).name || ':' ||
           coalesce((http.form_file('picture')).name, 'null');
         select http.route('POST', '/avatar', 'avatar')",
    );
    let form = |name: &str, content: &str| {
        format!(
            "--XX\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nme\r\n--XX\r\nContent-Disposition: form-data; \
             name=\"picture\"; filename=\"{name}\"\r\nContent-Type: application/octet-stream\r\n\r\n{content}\r\n--XX--\r\n"
        )
    };
    let post = |body: String| platform.post("/avatar", "multipart/form-data; boundary=XX", body.as_bytes());
    assert_eq!(ok(&post(form("", ""))), "me:none.png:null");
    assert_eq!(ok(&post(form("me.jpg", ""))), "me:me.jpg:me.jpg");
    // A name alone, or bytes alone, are a file.
    assert_eq!(ok(&post(form("", "x"))), "me::");
}

#[test]
fn a_form_whose_type_cannot_be_read_is_refused_by_whoever_reads_it() {
    let platform = Platform::start();
    platform.sql(
        "create function named(title text) returns text language sql volatile return title;
         select http.route('POST', '/named', 'named');
         create function value() returns text language sql volatile return coalesce(http.form_value('title'), 'null');
         select http.route('POST', '/value', 'value');
         create function all_values() returns text language sql volatile return http.form_values('title')::text;
         select http.route('POST', '/values', 'all_values');
         create function file() returns text language sql volatile return coalesce((http.form_file('title')).name, 'null');
         select http.route('POST', '/file', 'file');
         create function other() returns text language sql volatile return 'not read';
         select http.route('POST', '/other', 'other')",
    );
    let body = b"--XX\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nme\r\n--XX--\r\n";
    let unclosed = "multipart/form-data; boundary=\"XX";
    let doubled = "multipart/form-data; boundary=XX; boundary=XX";
    for content_type in [unclosed, doubled, "multipart/form-data", "form"] {
        for path in ["/named", "/value", "/values", "/file"] {
            let reply = platform.post(path, content_type, body);
            assert_eq!(reply.status, 400, "{path} {content_type}: {}", reply.text());
        }
        assert_eq!(ok(&platform.post("/other", content_type, body)), "not read");
    }
    assert!(platform.log().contains("the Content-Type cannot be read"), "the log says why");
    for (path, empty) in [("/value", "null"), ("/values", "{}"), ("/file", "null")] {
        assert_eq!(ok(&platform.post(path, unclosed, b"")), empty, "{path}: there is no form");
        assert_eq!(ok(&platform.post(path, "text/plain", body)), empty, "{path}: this is no form");
    }
}

/// RFC 9110, 15.5.16.
#[test]
fn a_body_that_is_compressed_is_read_by_nobody_who_does_not_unpack_it() {
    let platform = Platform::start();
    platform.sql(
        "create function named(title text default 'none') returns text language sql volatile return title;
         create function take_text(text) returns text language sql volatile return $1;
         create function take_json(jsonb) returns text language sql volatile return $1::text;
         create function value() returns text language sql volatile return http.form_value('title');
         create function all_values() returns text language sql volatile return http.form_values('title')::text;
         create function file() returns text language sql volatile return (http.form_file('title')).name;
         create function bytes(bytea) returns text language sql volatile
           return http.header_value('content-encoding') || length($1);
         create function whole(http.request) returns text language sql volatile
           return http.header_value($1.headers, 'content-encoding') || length($1.body);
         create function nothing() returns text language sql volatile return 'not read';
         select http.route('POST', '/' || proname, proname) from pg_proc
         where proname in ('named', 'take_text', 'take_json', 'value', 'all_values', 'file', 'bytes', 'whole', 'nothing')",
    );
    let post = |path: &str, coding: &str, content_type: &str, body: &[u8]| {
        let headers = [("Content-Encoding", coding), ("Content-Type", content_type)];
        platform.connect().request("POST", path, &headers, body)
    };
    for coding in ["gzip", "GZIP", "x-gzip", "br", "identity, gzip", "gzip, identity", "nonsense"] {
        for (path, content_type) in
            [("/named", FORM), ("/named", JSON), ("/take_text", "text/plain"), ("/take_json", JSON)]
        {
            let refused = post(path, coding, content_type, b"title=x");
            assert_eq!(refused.status, 415, "{path} {coding}: {}", refused.text());
            assert_eq!(refused.header("accept-encoding"), Some("identity"));
            let detail = format!(
                "the body's Content-Encoding {coding} is not unpacked here: send the body as it is (identity)"
            );
            assert_eq!(refused.json()["detail"], json!(detail));
        }
        for path in ["/value", "/all_values", "/file"] {
            let refused = post(path, coding, FORM, b"title=x");
            assert_eq!(refused.status, 415, "{path} {coding}: {}", refused.text());
            assert!(refused.text().contains("(identity)"), "{}", refused.text());
        }
        // Whoever takes bytes gets them as they were sent, and the header.
        for path in ["/bytes", "/whole"] {
            assert_eq!(ok(&post(path, coding, FORM, b"title=x")), format!("{coding}7"));
        }
        assert_eq!(ok(&post("/nothing", coding, FORM, b"title=x")), "not read");
        assert_eq!(ok(&post("/named", coding, FORM, b"")), "none", "there is no body");
    }
    for coding in ["identity", "Identity", "", "identity, identity"] {
        assert_eq!(ok(&post("/named", coding, FORM, b"title=x")), "x", "{coding:?}");
        assert_eq!(ok(&post("/value", coding, FORM, b"title=x")), "x", "{coding:?}");
    }
}

#[test]
fn one_argument_without_a_name_takes_the_whole_body() {
    let platform = Platform::start();
    platform.sql(
        "create function take_text(text) returns text language sql stable return '<' || $1 || '>';
         create function take_bytea(bytea) returns text language sql stable return encode($1, 'hex');
         create function take_json(json) returns text language sql stable return $1::text;
         create function take_jsonb(jsonb) returns jsonb language sql stable return $1;
         create function take_request(http.request) returns text language sql stable
         return concat_ws('|', $1.method, $1.path, $1.query_string, encode($1.body, 'escape'), $1.parameters->>'id',
           $1.remote_address, http.header_value($1.headers, 'X-Test'));
         create function named_request(id int, whole http.request) returns text language sql stable
         return id || whole.path;
         select http.route('POST', '/text', 'take_text'); select http.route('POST', '/bytea', 'take_bytea');
         select http.route('POST', '/json', 'take_json'); select http.route('POST', '/jsonb', 'take_jsonb');
         select http.route('POST', '/request/{id}', 'take_request');
         select http.route('POST', '/named/{id}', 'named_request')",
    );
    assert_eq!(ok(&platform.post("/text", "text/plain", "grüße".as_bytes())), "<grüße>");
    assert_eq!(ok(&platform.post("/text", "text/plain", b"")), "<>");
    assert_eq!(ok(&platform.post("/bytea", "application/octet-stream", b"\x00\xff\\x")), "00ff5c78");
    assert_eq!(ok(&platform.post("/bytea", "text/plain", b"")), "");
    assert_eq!(ok(&platform.post("/json", JSON, b" {\"b\":1,\"a\":2} ")), " {\"b\":1,\"a\":2} ");
    assert_eq!(platform.post("/jsonb", JSON, b"[1, {\"a\": null}]").json(), json!([1, {"a": null}]));
    assert_eq!(platform.post("/json", JSON, b"{").status, 400);
    assert_eq!(platform.post("/jsonb", JSON, b"").status, 400);
    assert_eq!(platform.post("/text", "text/plain", b"\xff").status, 400);
    assert_eq!(platform.post("/text", "text/plain", b"\x00").status, 400);
    let reply = platform.connect().request("POST", "/request/7%2F8?q=1", &[("X-Test", "t")], b"body");
    assert_eq!(ok(&reply), "POST|/request/7/8|q=1|body|7/8|127.0.0.1|t");
    assert_eq!(ok(&platform.post("/named/3", "text/plain", b"")), "3/named/3");

    let mut session = platform.session();
    for (create, part) in [
        ("create function f(int, int) returns text language sql return 'x'", "has no name"),
        ("create function f(int) returns text language sql return 'x'", "has no name"),
        ("create function f(variadic a int[]) returns text language sql return 'x'", "variadic"),
        (
            "create function f(a anyelement) returns text language plpgsql as 'begin return a; end'",
            "pseudo-type",
        ),
        ("create function f() returns trigger language plpgsql as 'begin return null; end'", "pseudo-type"),
        ("create procedure f() language sql as 'select 1'", "not a procedure"),
    ] {
        session.batch_execute(create).expect(create);
        let error = session.batch_execute("select http.route('GET', '/f', 'f')").expect_err(create);
        let message = error.as_db_error().map(|error| error.message().to_owned()).unwrap_or_default();
        assert!(message.contains(part), "{create}: {message}");
        session.batch_execute("drop routine f").expect("it is dropped");
    }
}

#[test]
fn domains_of_arrays_and_of_their_elements_are_checked_in_whatever_form_a_value_comes() {
    let platform = Platform::start();
    platform.sql(
        "create domain needed as int not null;
         create domain tags as text[] check (cardinality(value) < 3);
         create function needs(a needed[]) returns text language sql stable return array_dims(a) || a::text;
         create function tag(a tags) returns text language sql stable return a::text;
         create function need(a needed) returns text language sql stable return a::text;
         create function boxes(a box[]) returns text language sql stable return cardinality(a);
         select http.route('POST', '/needs', 'needs'), http.route('POST', '/need', 'need'), http.route('POST', '/tag', 'tag'), http.route('POST', '/boxes', 'boxes')",
    );
    let cases = [
        ("/needs", json!({"a": [1, 2]}), Ok("[1:2]{1,2}")),
        ("/needs", json!({"a": "{1,2}"}), Ok("[1:2]{1,2}")),
        ("/needs", json!({"a": "[3:4]={1, \"2\"}"}), Ok("[3:4][3:4]={1,2}")),
        ("/needs", json!({"a": [[1, 2], [3, 4]]}), Ok("[1:2][1:2]{{1,2},{3,4}}")),
        ("/needs", json!({"a": [1, null]}), Err("23502")),
        ("/needs", json!({"a": "{1,null}"}), Err("23502")),
        ("/needs", json!({"a": "{1,x}"}), Err("22P02")),
        ("/needs", json!({"a": "{1,2"}), Err("22P02")),
        ("/needs", json!({"a": "{{1},{2,3}}"}), Err("22P02")),
        ("/tag", json!({"a": ["x", "y"]}), Ok("{x,y}")),
        ("/tag", json!({"a": ["x", "y", "z"]}), Err("23514")),
        ("/tag", json!({"a": "{x,y,z}"}), Err("23514")),
        ("/need", json!({"a": "1"}), Ok("1")),
        ("/need", json!({"a": null}), Err("23502")),
        ("/boxes", json!({"a": "{(0,0),(1,1);(2,2),(3,3)}"}), Ok("2")),
    ];
    for (path, body, expected) in cases {
        let reply = platform.post(path, JSON, body.to_string().as_bytes());
        match expected {
            Ok(text) => assert_eq!(ok(&reply), text, "{path} {body}"),
            Err(code) => {
                assert_eq!(reply.status, 400, "{path} {body}: {}", reply.text());
                assert_eq!(reply.json()["sqlstate"], code, "{path} {body}");
            }
        }
    }
}
