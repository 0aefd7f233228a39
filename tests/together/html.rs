//! The type `http.html`: text is not taken for it unasked, it is not lost, and everything else is as with text.

use cluster::postgres::Client;
use howdah_tests::platform::{Platform, wait_for};

fn value(session: &mut Client, query: &str) -> String {
    let row = session.query_one(query, &[]).unwrap_or_else(|error| panic!("{error:?}\n{query}"));
    row.get::<_, Option<String>>(0).unwrap_or_else(|| "null".into())
}

fn code(session: &mut Client, statement: &str) -> String {
    let error = session.batch_execute(statement).expect_err(statement);
    error.code().map_or_else(|| error.to_string(), |code| code.code().to_owned())
}

const PARTS: &str = "
    create table part (id integer primary key, body http.html, words text);
    insert into part values (1, '<b>1</b>', 'one'), (2, '<b>2</b>', 'two'), (3, null, 'three'), (4, '<b>1</b>', null);
    create function card(title text, body http.html) returns http.html language sql immutable
      return format('<h2>%s</h2>%s', http.escape(title), body);
    grant select on part to howdah_web";

#[test]
fn text_is_never_taken_for_it_unasked() {
    let platform = Platform::start();
    platform.sql(PARTS);
    let mut session = platform.session();
    for statement in [
        "select card('x', words) from part",
        "select card('x', words::varchar) from part",
        "select card('x', format('%s', words)) from part",
        "select card('x', to_json(words)) from part",
        "select case when id = 1 then body else words end from part",
        "select coalesce(body, words) from part",
        "select body from part union select words from part",
        "select body = words from part",
        "select http.html_agg(words, '') from part",
        "select body || 1 from part",
        "select array[body, words] from part",
        "select greatest(body, words) from part",
        "create function wrong() returns http.html language sql return (select body from part union all select words from part limit 1)",
        "create view wrong as select body from part union all select words from part",
        "prepare wrong(text) as select card('x', $1)",
    ] {
        let code = code(&mut session, statement);
        assert!(["42883", "42804", "42725", "42846"].contains(&&*code), "{statement}: {code}");
    }
    // Beside text it is text, which is escaped where it is shown.
    for mixed in ["body || words", "words || body", "concat(body, words)"] {
        let of_type = value(&mut session, &format!("select pg_typeof({mixed})::text from part where id = 1"));
        assert_eq!(of_type, "text", "{mixed}");
    }
    // Who says it, has it.
    for said in ["words::http.html", "'<i>literal</i>'", "cast(words as http.html)", "null"] {
        value(&mut session, &format!("select card('x', {said})::text from part where id = 1"));
    }
}

#[test]
fn it_is_not_lost_where_values_of_it_come_together() {
    let platform = Platform::start();
    platform.sql(PARTS);
    let mut session = platform.session();
    for kept in [
        "body || body",
        "body || '<hr>'",
        "'<hr>' || body",
        "case when id = 1 then body else '' end",
        "case when id = 2 then '' else body end",
        "coalesce(body, '<hr>')",
        "nullif(body, '')",
        "greatest(body, '')",
        "(array[body, '<hr>'])[1]",
        "(select body union select '<hr>' limit 1)",
        "(select distinct body)",
        "(select http.html_agg(p.body, '' order by p.id) from part p)",
        "card('x', body)",
        "card('x', card('y', '<hr>'))",
        "(select (p).body from part p where id = 1)",
    ] {
        let of_type = value(&mut session, &format!("select pg_typeof({kept})::text from part where id = 1"));
        assert_eq!(of_type, "http.html", "{kept}");
    }
    // What the operators and the aggregate give is what those of text do, in any collation.
    session
        .batch_execute(
            "create table text_pair (a text, b text);
         insert into text_pair select p.a, q.a
         from unnest(array['', 'a', 'A', 'ä', 'z', '<b>', 'a%', '_', E'\\n', repeat('x', 3000), null]) p (a),
           unnest(array['', 'a', 'A', 'ä', 'z', '<b>', 'a%', '_', E'\\n', repeat('x', 3000), null]) q (a)",
        )
        .unwrap();
    for operator in ["=", "<>", "<", "<=", ">", ">=", "||", "is distinct from"] {
        let query = format!(
            "select count(*)::text from text_pair
             where (a {operator} b)::text is distinct from (a::http.html {operator} b::http.html)::text"
        );
        assert_eq!(value(&mut session, &query), "0", "{operator}");
    }
    for operator in ["like", "not like"] {
        let query = format!(
            "select count(*)::text from text_pair where (a {operator} b) is distinct from (a::http.html {operator} b)"
        );
        assert_eq!(value(&mut session, &query), "0", "{operator}");
    }
    for (html, text) in [
        (
            "http.html_agg(a::http.html, b::http.html order by a collate \"C\", b)::text",
            "string_agg(a, b order by a collate \"C\", b)",
        ),
        ("string_agg(distinct a::http.html::text, ',')", "string_agg(distinct a, ',')"),
        ("array_agg(a::http.html order by a::http.html)::text", "array_agg(a order by a)::text"),
        ("to_json(array_agg(a::http.html order by b, a))::text", "to_json(array_agg(a order by b, a))::text"),
        ("json_agg(row(a::http.html) order by b, a)::text", "json_agg(row(a) order by b, a)::text"),
        (
            "md5(string_agg(http.html_send(a::http.html)::text, '' order by b, a))",
            "md5(string_agg(textsend(a)::text, '' order by b, a))",
        ),
    ] {
        let query = |what: &str| format!("select {what} from text_pair");
        assert_eq!(value(&mut session, &query(html)), value(&mut session, &query(text)), "{html}");
    }
    session
        .batch_execute(
            "create index on part (body); create unique index on part (body, id);
         set enable_seqscan = off; select * from part where body = '<b>2</b>';
         create table copied as table part; create temporary table in_between (like part including all);
         alter table part alter words type http.html using words::http.html",
        )
        .unwrap();
}

#[test]
fn functions_answer_with_it_as_they_did_wherever_they_run() {
    let platform = Platform::with(&[("howdah.inline_threshold", "100000")]);
    platform.sql(PARTS);
    platform.sql(
        "create function by_text(id integer) returns http.html language sql stable
           return (select format('<p>%s</p>', words) from part where part.id = by_text.id);
         create function by_string(id integer) returns http.html language sql stable as
           'select ''<p>'' || words || ''</p>'' from part where part.id = $1';
         create function by_html(id integer) returns http.html language sql stable
           return (select card(words, body) from part where part.id = by_html.id);
         create function by_plpgsql(id integer) returns http.html language plpgsql stable as $$
           declare page http.html := '<p>';
           begin
             page := page || (select '<b>'::http.html || http.escape(words)::http.html from part where part.id = by_plpgsql.id);
             return page || '</p>';
           end $$;
         create domain fragment as http.html;
         create function by_domain(id integer) returns fragment language sql stable
           return (select body from part where part.id = by_domain.id);
         create function by_response(id integer) returns http.response language sql stable
           return (select http.response(body, 201) from part where part.id = by_response.id);
         create function rows() returns setof part language sql stable as 'select * from part order by id';
         create function takes(body http.html) returns http.html language sql immutable return '<i>' || body || '</i>';
         create function nothing() returns http.html language sql stable return null;
         select http.route('GET', '/' || name || '/{id}', name) from unnest(array['by_text', 'by_string', 'by_html', 'by_plpgsql',
           'by_domain', 'by_response']) name;
         select http.route('GET', '/rows', 'rows'), http.route('GET', '/takes', 'takes'), http.route('GET', '/nothing', 'nothing')",
    );
    let expected = [
        ("/by_text/1", 200, "<p>one</p>"),
        ("/by_string/2", 200, "<p>two</p>"),
        ("/by_html/1", 200, "<h2>one</h2><b>1</b>"),
        ("/by_plpgsql/1", 200, "<p><b>one</p>"),
        ("/by_domain/2", 200, "<b>2</b>"),
        ("/by_domain/3", 404, ""),
        ("/by_response/1", 201, "<b>1</b>"),
        ("/takes?body=%3Cb%3E", 200, "<i><b></i>"),
        ("/nothing", 404, ""),
    ];
    let ask = || {
        for (path, status, body) in expected {
            let reply = platform.get(path);
            assert_eq!(reply.status, status, "{path}: {}", reply.text());
            if status < 300 {
                assert_eq!(
                    (reply.text().as_str(), reply.header("content-type")),
                    (body, Some("text/html; charset=utf-8")),
                    "{path}"
                );
            }
        }
    };
    ask();
    assert_eq!(
        platform.get("/rows").text(),
        r#"[{"id":1,"body":"<b>1</b>","words":"one"},{"id":2,"body":"<b>2</b>","words":"two"},{"id":3,"body":null,"words":"three"},{"id":4,"body":"<b>1</b>","words":null}]"#
    );
    // Reads run in the gateway, pages among them.
    wait_for("they run in the gateway", || {
        ask();
        platform.get("/rows");
        platform.count("http.stats where pattern <> '/by_response/{id}' and inline = 0") == 0
    });
    // They are kept until what they have read changes.
    platform.sql("select http.cache('GET', '/by_html/{id}')");
    wait_for("an answer is kept", || {
        platform.get("/by_html/1");
        platform.count("http.stats where pattern = '/by_html/{id}' and cached > 0") == 1
    });
    platform.sql("update part set words = 'first' where id = 1");
    assert_eq!(platform.get("/by_html/1").text(), "<h2>first</h2><b>1</b>");
}

/// Types whose values a page may show, with literals of them.
const VALUES: [(&str, &str); 24] = [
    ("text", "'<b>&\"''x'"),
    ("varchar(10)", "'<i>'"),
    ("char(4)", "'<'"),
    ("name", "'a<b'"),
    ("\"char\"", "'<'"),
    ("integer", "7"),
    ("bigint", "'-9223372036854775808'"),
    ("numeric", "1.50"),
    ("numeric", "'NaN'"),
    ("double precision", "0.1"),
    ("boolean", "true"),
    ("date", "'2026-11-29'"),
    ("timestamp", "'2026-11-29 01:02:03.5'"),
    ("interval", "'1 day 2 hours'"),
    ("json", "'{\"a\": \"<b>\"}'"),
    ("jsonb", "'{\"a\": \"<b>\"}'"),
    ("xml", "'<a/>'"),
    ("uuid", "'00000000-0000-0000-0000-00000000000f'"),
    ("inet", "'10.0.0.1/8'"),
    ("text[]", "'{\"<a>\",b}'"),
    ("int4range", "'[1,3)'"),
    ("mood", "'<sad>'"),
    ("shouted", "'<loud>'"),
    ("pair", "'(\"<a>\",2)'"),
];

#[test]
fn a_value_of_any_type_is_escaped_text_unless_it_is_html() {
    let platform = Platform::start();
    platform.sql(
        "create type mood as enum ('<sad>'); create domain shouted as text; create type pair as (a text, b integer);
         create domain markup as http.html",
    );
    let mut session = platform.session();
    for (of_type, literal) in VALUES {
        let typed = format!("{literal}::{of_type}");
        // As PostgreSQL writes it, in its default settings.
        let text = match of_type {
            "\"char\"" => format!("({typed})::text"),
            _ => format!("format('%s', {typed})"),
        };
        let text = if of_type == "boolean" { "'true'".to_owned() } else { text };
        for settings in
            ["", "set datestyle = 'SQL, DMY'; set intervalstyle = 'iso_8601'; set extra_float_digits = -10;"]
        {
            let expected = value(&mut session, &format!("select http.escape({text})"));
            session.batch_execute(settings).expect("settings");
            for made in [
                format!("http.html_of({typed})::text"),
                format!("http.format('%s', {typed})::text"),
                format!("http.attribute({typed})::text"),
                format!("(select http.html_agg(http.html_of({typed})) from (values (1)) one)::text"),
                format!("http.escape(http.text_of({typed}))"),
            ] {
                assert_eq!(value(&mut session, &format!("select {made}")), expected, "{made} {settings}");
            }
            session.batch_execute("reset all").expect("settings");
        }
        let nothing = format!(
            "select concat('[', http.html_of(null::{of_type})::text, http.format('%s', null::{of_type})::text, ']')"
        );
        assert_eq!(value(&mut session, &nothing), "[]", "{of_type}");
    }
    for (made, expected) in [
        ("http.html_of('<b>'::http.html, 'x<y', '</b>'::http.html)", "<b>x&lt;y</b>"),
        ("http.html_of('<b>', E'\\r')", "&lt;b&gt;&#13;"),
        ("http.html_of('<b>'::markup)", "&lt;b&gt;"),
        ("http.html_of(case when true then '<b>'::http.html else '' end)", "<b>"),
        ("http.html_of(coalesce(null, '<b>'::http.html))", "<b>"),
        ("http.html_of(http.raw('<b>'))", "<b>"),
        ("http.attribute('<b>'::http.html)", "&lt;b&gt;"),
        ("http.text_of('<b>'::http.html, '<i>', 7, null, true)", "<b><i>7true"),
        ("http.format('<p>%s %2$s%%</p>%s', '<', '>'::http.html, 3)", "<p>&lt; >%</p>3"),
        ("http.format('%2$s%1$s', 1, '<i>'::http.html)", "<i>1"),
        ("http.format('ü%sö', null)", "üö"),
        ("http.format(null, 1)", "null"),
        ("http.raw(null)", "null"),
        (
            "http.script_json('{\"a\": \"</script><!-- & \u{2028}\"}')",
            "{\"a\": \"\\u003c/script\\u003e\\u003c!-- \\u0026 \\u2028\"}",
        ),
        ("http.script_json(null)", "null"),
        (
            "(select http.html_agg(h order by h) from unnest(array['<b>', null, '<a>']::http.html[]) h)",
            "<a><b>",
        ),
        ("(select http.html_agg(h) from unnest('{}'::http.html[]) h)", "null"),
        ("(select http.single(h, 'here') from unnest(array['<b>']::http.html[]) h)", "<b>"),
        ("(select http.single(h, 'here') from unnest(array[null]::http.html[]) h)", "null"),
        ("(select http.single(h, 'here') from unnest('{}'::text[]) h)", "null"),
    ] {
        assert_eq!(value(&mut session, &format!("select ({made})::text")), expected, "{made}");
    }
    for (wrong, told) in [
        ("http.format('%I', 1)", "42601 22023"),
        ("http.format('%s %s', 1)", "22023"),
        ("http.format('%0$s', 1)", "22023"),
        ("http.format('%', 1)", "22023"),
        ("http.format('x'::text, 1)", "42883"),
        ("(select http.single(h, 'here') from unnest(array['<b>', null]::http.html[]) h)", "21000"),
        ("http.html_agg_put(null, 'x')", "0A000 42883"),
    ] {
        let code = code(&mut session, &format!("select {wrong}"));
        assert!(told.contains(&code), "{wrong}: {code}");
    }
}

#[test]
fn a_url_leads_to_its_route_and_nowhere_else() {
    let platform = Platform::start();
    platform.sql(
        "create function shown(id text, page text default null) returns text language sql stable return concat_ws('|', id, page);
         create function rest(rest text) returns text language sql stable return rest;
         create function next(n integer default 0) returns text language sql stable return http.url_with('n', n + 1);
         select http.route('GET', '/things/{id}', 'shown'), http.route('GET', '/files/{*rest}', 'rest'), http.route('GET', '/next', 'next')",
    );
    let mut session = platform.session();
    for id in ["7", "a b", "a/b", "ä€🦉", "%2F", "?x=1", "#", "a&b=c", "\"'<>", ";:@$,+!*()", "...", "~"]
    {
        for page in ["2", "a b&c=d", "<\"'>", ""] {
            let row = session
                .query_one("select http.url('/things/{id}', $1::text, 'page', $2::text)", &[&id, &page]);
            let url: String = row.expect("a row").get(0);
            assert!(url.is_ascii(), "{url}");
            let reply = platform.get(&url);
            assert_eq!(reply.text(), format!("{id}|{page}"), "{url}");
        }
    }
    for (made, expected) in [
        ("http.url('/things/{id}', 7)", "/things/7"),
        ("http.url('/things/{id}', 7, 'page', null, 'q', true)", "/things/7?q=true"),
        ("http.url('/things/{id}', null::text)", "null"),
        ("http.url('/a b/ü')", "/a%20b/%C3%BC"),
        ("http.url('/files/{*rest}', 'a b/c')", "/files/a%20b/c"),
        ("http.url('/files/{*rest}', '')", "/files/"),
        ("http.url('/{a}/{b}', date '2026-01-02', 'x')", "/2026-01-02/x"),
    ] {
        assert_eq!(value(&mut session, &format!("select {made}")), expected, "{made}");
    }
    for wrong in [
        "http.url('/things/{id}', '..')",
        "http.url('/things/{id}', '.')",
        "http.url('/things/{id}', '')",
        "http.url('/files/{*rest}', 'a/../b')",
        "http.url('/{*rest}', '/evil.example')",
        "http.url('//evil.example')",
        "http.url('/{*rest}', '/x')",
        "http.url('/things/{id}', 1, null, 2)",
    ] {
        let code = code(&mut session, &format!("select {wrong}"));
        assert!(["22023", "22004"].contains(&&*code), "{wrong}: {code}");
    }
    // A process keeps five hundred patterns; the others are read each time.
    let many = "select count(*)::text from generate_series(1, 2000) n, generate_series(1, 2)
        where http.url('/p' || n || '/{id}/é/{*rest}', n, 'a/b', 'q', n) = format('/p%s/%s/%%C3%%A9/a/b?q=%s', n, n, n)";
    assert_eq!(value(&mut session, many), "4000");
    // Nobody who asks can do anything about these.
    for (number, wrong) in [
        "http.url('/things/{id}')",
        "http.url('/things/{id', 1)",
        "http.url('/things/{id}', 1, 'page')",
        "http.url('things')",
        "http.url('https://evil.example')",
        "http.url_with('page')",
    ]
    .iter()
    .enumerate()
    {
        assert_eq!(code(&mut session, &format!("select {wrong}")), "42601", "{wrong}");
        platform.sql(&format!(
            "create function wrong{number}() returns text language sql stable return {wrong};
             select http.route('GET', '/wrong{number}', 'wrong{number}')"
        ));
        assert_eq!(platform.get(&format!("/wrong{number}")).status, 500, "{wrong}");
    }
    for (asked, expected) in [
        ("/next", "?n=1"),
        ("/next?n=1", "?n=2"),
        ("/next?a=1&n=1&b=%C3%BC%26&n=7", "?a=1&n=2&b=%C3%BC%26"),
        ("/next?a&a=2", "?a=&a=2&n=1"),
    ] {
        for _ in 0..12 {
            assert_eq!(platform.get(asked).text(), expected, "{asked}");
        }
    }
    assert_eq!(value(&mut session, "select http.url_with('n', 1)"), "null");
    for (url, safe) in [
        ("https://a.example/x?y", true),
        ("/a", true),
        ("a:b", false),
        ("javascript:alert(1)", false),
        (" java\tscript:alert(1)", false),
        ("JAVASCRIPT:alert(1)", false),
        ("\u{1}javascript:alert(1)", false),
        ("data:text/html,x", false),
        ("mailto:a@b", true),
        ("?a=javascript:x", true),
        ("//evil.example", true),
        ("", true),
    ] {
        let row = session.query_one("select http.safe_url($1)", &[&url]).expect("a row");
        let made: String = row.get(0);
        assert_eq!(made != "about:invalid", safe, "{url:?} {made:?}");
    }
}
