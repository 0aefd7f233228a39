//! Whatever a function of ours tells of a request is a part of what an answer is kept by: nobody gets the answer to another's request.
//!
//! Each function that the catalog has is asked for twice, by requests that differ in what it tells and in nothing else, wherever SQL may call it. A
//! function that is not named here fails the test. Those that are volatile are no part of any answer that is kept.

use std::collections::BTreeSet;

use howdah_tests::platform::{Platform, wait_for};
use howdah_tests::{Connection, Reply};

/// A request, beside the path of its route.
struct Asked {
    rest: &'static str,
    headers: &'static [(&'static str, &'static str)],
    body: &'static str,
}

const fn asked(rest: &'static str) -> Asked {
    Asked { rest, headers: &[], body: "" }
}

const fn with(headers: &'static [(&'static str, &'static str)]) -> Asked {
    Asked { rest: "/0", headers, body: "" }
}

const fn form(body: &'static str) -> Asked {
    let headers = &[("content-type", "application/x-www-form-urlencoded")];
    Asked { rest: "/0", headers, body }
}

const fn file(body: &'static str) -> Asked {
    Asked { rest: "/0", headers: &[("content-type", "multipart/form-data; boundary=b")], body }
}

const FILES: [&str; 2] = [
    "--b\r\nContent-Disposition: form-data; name=\"q\"; filename=\"a\"\r\n\r\n1\r\n--b--\r\n",
    "--b\r\nContent-Disposition: form-data; name=\"q\"; filename=\"b\"\r\n\r\n1\r\n--b--\r\n",
];

/// Functions that tell something of the request: how each is called, and two requests to which that is another value.
const TELL: &[(&str, &str, [Asked; 2])] = &[
    ("http.current_request()", "(http.current_request()).query_string", [asked("/0?q=a"), asked("/0?q=b")]),
    ("http.query_value(text)", "http.query_value('q')", [asked("/0?q=a"), asked("/0?q=b")]),
    ("http.query_value(text)", "http.query_value('q')", [asked("/0"), asked("/0?q=a")]),
    ("http.query_value(text)", "http.query_value('q')", [asked("/0?q=a&q=b"), asked("/0?q=b&q=a")]),
    ("http.query_values(text)", "http.query_values('q')", [asked("/0?q=a&q=b"), asked("/0?q=b&q=a")]),
    ("http.query_values(text)", "http.query_values('q')", [asked("/0?q=a"), asked("/0?q=b")]),
    ("http.url_with(\"any\")", "substr(http.url_with('x', 1), 2, 3)", [asked("/0?q=a"), asked("/0?q=b")]),
    (
        "http.url_with(\"any\")",
        "replace(substr(http.url_with('x', 1), 2, 3), 'x=1', '-')",
        [asked("/0"), asked("/0?q=a")],
    ),
    ("http.is_given(text)", "http.is_given('q')", [asked("/0"), asked("/0?q=a")]),
    ("http.is_given(text)", "http.is_given('q')", [form("x=a"), form("q=a")]),
    (
        "http.is_given(text)",
        "http.is_given('q')",
        [
            with(&[]),
            Asked { rest: "/0", headers: &[("content-type", "application/json")], body: r#"{"q":null}"# },
        ],
    ),
    ("http.path_value(text)", "http.path_value('part')", [asked("/a"), asked("/b")]),
    ("http.header_value(text)", "http.header_value('x-q')", [with(&[("x-q", "a")]), with(&[("x-q", "b")])]),
    ("http.header_value(text)", "http.header_value('x-q')", [with(&[]), with(&[("x-q", "a")])]),
    ("http.cookie(text)", "http.cookie('q')", [with(&[("cookie", "q=a")]), with(&[("cookie", "q=b")])]),
    (
        "http.signed_cookie(text)",
        "http.signed_cookie('q')",
        // By the key that the test has set, for the superuser's functions.
        [
            with(&[("cookie", "q=a..HsJAnvHH7WZIbUMnd1bmwp8fon3ssTySqf8J6fEP08s")]),
            with(&[("cookie", "q=b..e1tgQTMToeSbfmbpP4Z8Hhqm8Uu_4InsOqVACe7hV4o")]),
        ],
    ),
    (
        "http.flash_message()",
        "http.flash_message()",
        [
            with(&[("cookie", "howdah_flash=notice:a"), ("accept", "text/html")]),
            with(&[("cookie", "howdah_flash=notice:b"), ("accept", "text/html")]),
        ],
    ),
    (
        "http.flash_message()",
        "http.flash_message()",
        [with(&[]), with(&[("cookie", "howdah_flash=notice:a"), ("sec-fetch-dest", "document")])],
    ),
    (
        "http.flash_kind()",
        "http.flash_kind()",
        [
            with(&[("cookie", "howdah_flash=a:x"), ("accept", "text/html")]),
            with(&[("cookie", "howdah_flash=b:x"), ("accept", "text/html")]),
        ],
    ),
    (
        "http.wanted_part(bigint)",
        "case (http.wanted_part(10))[2] when 1 then 'a' else 'b' end",
        [with(&[("range", "bytes=1-2")]), with(&[("range", "bytes=3-4")])],
    ),
    (
        "http.wanted_part(bigint)",
        "case (http.wanted_part(10))[1] when 200 then 'a' else 'b' end",
        [with(&[("range", "bytes=1-2"), ("if-range", "\"x\"")]), with(&[("range", "bytes=1-2")])],
    ),
    ("http.form_value(text)", "http.form_value('q')", [form("q=a"), form("q=b")]),
    ("http.form_values(text)", "http.form_values('q')", [form("q=a"), form("q=b")]),
    ("http.form_file(text)", "(http.form_file('q')).name", [file(FILES[0]), file(FILES[1])]),
    (
        "http.is_https()",
        "http.is_https()",
        [with(&[("x-forwarded-proto", "http")]), with(&[("x-forwarded-proto", "https")])],
    ),
];

/// Functions that tell nothing of the request: what they give comes from their arguments, from tables, or from what no answer is kept with.
const TELL_NOTHING: &[&str] = &[
    "http.as_bytes(text)",
    "http.as_location(text)",
    "http.asset(text)",
    "http.disposition(text,boolean)",
    "http.shown_type(bytea,text)",
    "http.attribute(\"any\")",
    "http.format(http.html,\"any\")",
    "http.html_agg_add(internal,http.html,http.html)",
    "http.html_agg_end(internal)",
    "http.html_agg_put(internal,http.html)",
    "http.html_concat(http.html,http.html)",
    "http.html_of(\"any\")",
    "http.safe_url(text)",
    "http.same_site(text,text)",
    // Of a form that was sent, which no answer is kept of.
    "http.field(text,text,anyelement,text,text[],text,text)",
    "http.field(text,text,text,text,text[],text,text)",
    "http.form_error(text,text)",
    "http.form_errors(text)",
    "http.form_sent(text)",
    "http.typed(text,anyelement,text)",
    "http.typed(text,text,text)",
    "http.script_json(json)",
    "http.single_end(internal,http.html,text)",
    "http.single_end(internal,text,text)",
    "http.single_put(internal,http.html,text)",
    "http.single_put(internal,text,text)",
    "http.text_of(\"any\")",
    "http.url(text)",
    "http.url(text,\"any\")",
    "http.cookie_text(text,text,text,text,integer,boolean,boolean,text)",
    "http.flash_text(text,text,boolean)",
    // Of its arguments, the time, and the owner of what runs.
    "http.signed_text(text,text,integer)",
    "http.escape(text)",
    "http.registration_path()",
    "http.url_encode(text)",
    "http.is_draining()",
    "queue.allows(text,text)",
    "job.sees(text)",
    "job.current()",
    "deploy.drift(text)",
    "deploy.state(text)",
    "deploy.history(text)",
    "deploy.answers(text,text)",
    "deploy.counts(text)",
    "deploy.read_applications()",
    "deploy.files(text,integer)",
    "deploy.missing_files(text,text[],boolean)",
    "deploy.read_steps()",
];

/// Where a function may be called: how a function `FUNCTION` is made whose answer depends on the expression `TOLD`.
const PLACES: &[(&str, &str)] = &[
    (
        "unfolded",
        "create function FUNCTION(part text) returns text language sql stable begin atomic select 'is ' || coalesce(TOLD, '-'); end",
    ),
    (
        "called",
        "create function FUNCTION(part text) returns text language sql stable set work_mem = '4MB' as $$ select 'is ' || coalesce(TOLD, '-') $$",
    ),
    (
        "in_plpgsql",
        "create function FUNCTION(part text) returns text language plpgsql stable as $$ begin return 'is ' || coalesce(TOLD, '-'); end $$",
    ),
    (
        "in_dynamic_sql",
        "create function FUNCTION(part text) returns text language plpgsql stable as $$ declare told text; begin
           execute 'select coalesce(TOLD, ''-'')' into told; return 'is ' || told; end $$",
    ),
    ("of_a_default", "create function FUNCTION(part text, told text default TOLD) returns text language sql stable return 'is ' || coalesce(told, '-')"),
    (
        "in_a_view",
        "create view FUNCTION as select coalesce(TOLD, '-') as told; grant select on FUNCTION to howdah_web;
         create function FUNCTION(part text) returns text language sql stable begin atomic select 'is ' || told from FUNCTION; end",
    ),
    (
        "in_a_policy",
        "create table FUNCTION (value text); grant select on FUNCTION to howdah_web; alter table FUNCTION enable row level security;
         insert into FUNCTION values ('a'), ('b'), ('true'), ('false'), ('{a}'), ('{b}'), ('{a,b}'), ('{b,a}'), ('q=a'), ('q=b'), ('-');
         create policy told on FUNCTION using (value = coalesce(TOLD, '-'));
         create function FUNCTION(part text) returns text language sql stable begin atomic select string_agg(value, ' ') from FUNCTION; end",
    ),
    (
        "in_a_policy_s_function",
        "create table FUNCTION (value text); grant select on FUNCTION to howdah_web; alter table FUNCTION enable row level security;
         insert into FUNCTION values ('a'), ('b'), ('true'), ('false'), ('{a}'), ('{b}'), ('{a,b}'), ('{b,a}'), ('q=a'), ('q=b'), ('-');
         create function FUNCTION_is(value text) returns boolean language sql stable security definer as $$ select value = coalesce(TOLD, '-') $$;
         create policy told on FUNCTION using (FUNCTION_is(value));
         create function FUNCTION(part text) returns text language sql stable begin atomic select string_agg(value, ' ') from FUNCTION; end",
    ),
];

/// How a route has its answers known again.
const WAYS: [&str; 3] = ["plain", "validated", "cached"];

/// Asks often enough for an answer to be kept.
const OFTEN: usize = 4;

fn ask(client: &mut Connection, path: &str, asked: &Asked, tag: Option<&str>) -> Reply {
    let mut headers = asked.headers.to_vec();
    headers.extend(tag.map(|tag| ("if-none-match", tag)));
    client.request("GET", &format!("{path}{}", asked.rest), &headers, asked.body.as_bytes())
}

/// The path of a route, and SQL that makes it.
fn routes(number: usize, place: usize) -> (String, String) {
    let (_, told, _) = &TELL[number];
    let name = format!("told_{number}_{place}");
    let quoted = if PLACES[place].0 == "in_dynamic_sql" { told.replace('\'', "''") } else { (*told).into() };
    let function = PLACES[place].1.replace("FUNCTION", &name).replace("TOLD", &format!("({quoted})::text"));
    let make = WAYS.map(|way| format!("select http.route('GET', '/{way}/{name}/{{part}}', '{name}');"));
    let make = format!(
        "{function}; {} select http.validate('GET', '/validated/{name}/{{part}}'); select http.cache('GET', '/cached/{name}/{{part}}');",
        make.concat()
    );
    (name, make)
}

#[test]
fn nobody_gets_the_answer_to_a_request_that_differs_in_what_a_function_tells() {
    let platform = Platform::with(&[("howdah.trusted_proxies", "127.0.0.1")]);
    platform.sql("update http.cookie_key set key = convert_to(repeat('k', 32), 'UTF8')");
    let known: BTreeSet<String> =
        TELL.iter().map(|(name, ..)| *name).chain(TELL_NOTHING.iter().copied()).map(str::to_owned).collect();
    let there = platform.value(
        "select string_agg(p.oid::regprocedure::text, ';') from pg_proc p
         where p.pronamespace in (select oid from pg_namespace where nspname in ('http', 'queue', 'job', 'deploy'))
           and p.provolatile <> 'v' and p.prolang = (select oid from pg_language where lanname = 'c')",
    );
    let there: BTreeSet<String> = there.unwrap().split(';').map(str::to_owned).collect();
    assert_eq!(there, known, "a function of ours that may be part of an answer has to be named in this test");

    let all = (0..TELL.len()).flat_map(|number| (0..PLACES.len()).map(move |place| (number, place)));
    let (names, make): (Vec<_>, Vec<_>) = all.clone().map(|(number, place)| routes(number, place)).unzip();
    platform.sql(&make.concat());
    let mut client = platform.connect();
    let last = names.last().unwrap();
    wait_for("the routes", || {
        ask(&mut client, &format!("/cached/{last}"), &TELL[TELL.len() - 1].2[0], None).status == 200
    });
    for ((number, place), name) in all.zip(&names) {
        let (function, _, requests) = &TELL[number];
        let context = |way| format!("{function} {}, {way}", PLACES[place].0);
        let truth: Vec<String> = requests
            .iter()
            .map(|asked| {
                let reply = ask(&mut client, &format!("/plain/{name}"), asked, None);
                assert_eq!(reply.status, 200, "{}: {}", context("plain"), reply.text());
                reply.text()
            })
            .collect();
        assert_ne!(
            truth[0],
            truth[1],
            "{}: the two requests are to be answered differently",
            context("plain")
        );
        for way in &WAYS[1..] {
            let path = format!("/{way}/{name}");
            let tag = ask(&mut client, &path, &requests[0], None).header("etag").map(str::to_owned);
            for _ in 0..OFTEN {
                let again = ask(&mut client, &path, &requests[0], tag.as_deref());
                assert!(again.status == 304 || again.text() == truth[0], "{}", context(way));
            }
            for _ in 0..OFTEN {
                let other = ask(&mut client, &path, &requests[1], None);
                assert_eq!((other.status, other.text()), (200, truth[1].clone()), "{}", context(way));
                let other = ask(&mut client, &path, &requests[1], tag.as_deref());
                assert_eq!((other.status, other.text()), (200, truth[1].clone()), "{}, by tag", context(way));
            }
            assert_eq!(ask(&mut client, &path, &requests[0], None).text(), truth[0], "{}", context(way));
        }
    }
}
