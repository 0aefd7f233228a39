//! Rows become JSON without PostgreSQL's functions for it, and nobody can tell.

use howdah_tests::Platform;
use howdah_tests::abilities::is_built_for;

/// Tables, and a route for all rows of each.
fn serve(platform: &Platform, table: &str) {
    platform.sql(&format!(
        "grant select on {table} to howdah_web;
         create function all_{table}() returns setof {table} language sql stable as
           'select * from {table} order by id';
         create function one_{table}(id int) returns {table} language sql stable as
           'select * from {table} where {table}.id = one_{table}.id';
         select http.route('GET', '/{table}', 'all_{table}'), http.route('GET', '/{table}/{{id}}', 'one_{table}')"
    ));
}

/// What PostgreSQL makes of all rows.
fn expected(platform: &Platform, table: &str) -> String {
    let query = format!("select string_agg(row_to_json(t)::text, ',' order by id) from {table} t");
    format!("[{}]", platform.value(&query).unwrap_or_default())
}

fn assert_alike(platform: &Platform, table: &str) {
    let reply = platform.get(&format!("/{table}"));
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.text(), expected(platform, table));
    let first = platform.value(&format!("select row_to_json(t) from {table} t where id = 1")).unwrap();
    assert_eq!(platform.get(&format!("/{table}/1")).text(), first);
}

const KINDS: &str = r#"
create type mood as enum ('sad', 'ok', 'very "happy"');
create type place as (x int, name text);
create domain percent as numeric check (value between 0 and 100);
create domain flags as bool[];
create table kinds (
  id int primary key, small int2, large int8, yes bool, single float4, double float8, amount numeric, share percent,
  body text, short varchar(20), padded char(5), letter "char", name name, data bytea, day date, at timestamp,
  zoned timestamptz, clock time, span interval, number uuid, raw json, parsed jsonb, address inet, bits varbit,
  path point, search tsvector, spread int4range, tags text[], grid int[], switches flags, feeling mood,
  feelings mood[], spot place, spots place[], document xml, money money, "a ""quoted\ näme" text, gone text,
  last text);
alter table kinds drop column gone;
insert into kinds values
 (1, -32768, -9223372036854775808, true, 1.5, 1e-7, 12345678901234567890.123450, 99.5,
  e'q" b\\ n\n r\r t\t f\f b\b e\u001b d\u007f ü ☃ 😀 / <b>', 'short', 'ab', 'c', 'name', '\xdeadbeef', '2024-02-29',
  '2024-02-29 12:34:56.789', '2024-02-29 12:34:56.789+02', '24:00', '1 year -3 days', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
  '{"b" : 1,  "b": [ ]}', '{"b": 1, "a": {"x": null}}', '10.0.0.1/8', b'101', '(1,2.5)', 'a fat cat', '[1,5)',
  '{a,"b\"c",NULL}', '{{1,2},{3,4}}', '{t,f,NULL}', 'very "happy"', '{sad,NULL}', '(1,"a ""b""")', '{"(1,a)",NULL}',
  '<a>1</a>', 12.5, 'x', 'end'),
 (2, 32767, 9223372036854775807, false, 'NaN', 'Infinity', 'NaN', 0, '', '', '', '', '', '', 'infinity', '-infinity',
  'infinity', '00:00', '0', null, 'null', 'null', '::1', '', '(NaN,Infinity)', '', 'empty', '{}', '{}', '{}', 'sad', '{}',
  '(,)', '{}', null, -1, '', ''),
 (3, 0, 0, null, '-Infinity', 1e300, '-Infinity', 100, repeat('long ☃ ', 20000), null, null, null, null,
  decode(repeat('00ff', 5000), 'hex'), '4713-01-01 BC', '0001-01-01 BC', '294276-12-31 23:59:59+00', null, null, null,
  to_json(repeat('j', 50000)), to_jsonb(repeat('j', 50000)), null, null, null, null, null, null, null, null, null, null,
  null, null, null, null, null, null);
insert into kinds values (4)"#;

#[test]
fn every_type_is_written_as_row_to_json_writes_it() {
    let platform = Platform::start();
    let has_xml = is_built_for(&mut platform.session(), "select '<a/>'::xml", "a column of type xml");
    platform.sql(&if has_xml { KINDS.to_owned() } else { KINDS.replace("document xml", "document text") });
    serve(&platform, "kinds");
    // In executors, then in the gateway.
    for _ in 0..20 {
        assert_alike(&platform, "kinds");
    }
}

#[test]
fn results_of_every_form_become_json() {
    let platform = Platform::start();
    platform.sql(
        "create table item (id int primary key, name text); insert into item values (1, 'a'), (2, null);
         grant select, insert on item to howdah_web;
         create function no_rows() returns setof item language sql stable as 'select * from item where false';
         create function nothing() returns item language sql stable as 'select * from item where false';
         create function nulls() returns item language sql stable as 'select null::int, null::text';
         create function columns() returns table (id int, \"Näme\" text) language plpgsql stable as
           $$ begin return query select item.id, item.name from item order by 1; end $$;
         create function out_columns(out x int, out y text) language sql stable as $$ select 1, 'y'::text $$;
         create function numbers() returns setof int language sql stable as 'select generate_series(1, 3)';
         create function array_of() returns int[] language sql stable return array[1, 2];
         create function add(id int) returns setof item language sql as
           'insert into item values (id, ''new''), (id + 1, ''new'') returning *';
         create function large() returns setof item language sql stable as
           $$ select i, repeat('x', 1000000) from generate_series(1, 50) i $$;
         select http.route('GET', '/' || name, name)
         from unnest(array['no_rows', 'nothing', 'nulls', 'columns', 'out_columns', 'numbers', 'array_of', 'large']) name;
         select http.route('POST', '/add', 'add')",
    );
    for _ in 0..12 {
        assert_eq!(platform.get("/no_rows").text(), "[]");
        assert_eq!(platform.get("/nothing").status, 404);
        assert_eq!(platform.get("/nulls").status, 404);
        assert_eq!(platform.get("/columns").text(), r#"[{"id":1,"Näme":"a"},{"id":2,"Näme":null}]"#);
        assert_eq!(platform.get("/out_columns").text(), r#"{"x":1,"y":"y"}"#);
        assert_eq!(platform.get("/numbers").json(), serde_json::json!([1, 2, 3]));
        assert_eq!(platform.get("/array_of").text(), "[1,2]");
    }
    let added = platform.post("/add?id=7", "text/plain", b"");
    assert_eq!(added.text(), r#"[{"id":7,"name":"new"},{"id":8,"name":"new"}]"#);
    let large = platform.get("/large");
    assert_eq!(large.status, 500, "{}", large.text());
    let log = platform.log();
    assert!(log.contains("more bytes than howdah.max_response allows"), "{log}");
    assert_eq!(platform.get("/no_rows").text(), "[]", "it has lived on");
}

#[test]
fn columns_and_casts_may_change() {
    let platform = Platform::start();
    platform.sql(
        "create type mood as enum ('sad', 'ok');
         create table diary (id int primary key, feeling mood); insert into diary values (1, 'ok');
         create function mood_as_json(mood) returns json language sql immutable return json_build_object('mood', $1::text)",
    );
    serve(&platform, "diary");
    let ask = || platform.get("/diary").text();
    for _ in 0..12 {
        assert_eq!(ask(), r#"[{"id":1,"feeling":"ok"}]"#);
    }
    for (change, then) in [
        (
            "create cast (mood as json) with function mood_as_json(mood)",
            r#"[{"id":1,"feeling":{"mood" : "ok"}}]"#,
        ),
        ("alter table diary add note text default 'n'", r#"[{"id":1,"feeling":{"mood" : "ok"},"note":"n"}]"#),
        ("drop cast (mood as json)", r#"[{"id":1,"feeling":"ok","note":"n"}]"#),
        ("alter table diary rename note to remark", r#"[{"id":1,"feeling":"ok","remark":"n"}]"#),
        ("alter table diary drop feeling", r#"[{"id":1,"remark":"n"}]"#),
        (
            "alter table diary alter remark drop default, alter remark type int using 5",
            r#"[{"id":1,"remark":5}]"#,
        ),
    ] {
        platform.sql(change);
        for _ in 0..12 {
            assert_eq!(ask(), then, "{change}");
        }
    }
}
