//! What functions in PL/pgSQL read is known as well: their statements, their expressions, and what PL/pgSQL converts by itself.

use howdah_tests::Reply;
use howdah_tests::platform::{Platform, wait_for};

const TABLES: &str = "
    create table item (id integer primary key, name text not null, price numeric default 1, made timestamptz not null default '2026-01-01 00:00Z', day date);
    insert into item values (1, 'one'), (2, 'two');
    create table other (id integer);
    create table slot (day date, note text);
    insert into slot values ('2026-01-01', 'first');
    create domain positive as integer check (value > 0);
    grant select on item, other, slot to howdah_web";

fn ask(platform: &Platform, path: &str, tag: &str) -> Reply {
    platform.connect().request("GET", path, &[("If-None-Match", tag)], b"")
}

fn number(platform: &Platform, path: &str) -> i64 {
    let value = platform.value(&format!("select remembered from http.stats where pattern = '{path}'"));
    value.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Makes a function of each name and body, with a validated route.
fn routes<'n>(platform: &Platform, functions: impl IntoIterator<Item = (&'n str, &'n str)>) {
    for (name, rest) in functions {
        platform.sql(&format!("create function {name}() {rest}"));
        platform
            .sql(&format!("select http.route('GET', '/{name}', '{name}'), http.validate('GET', '/{name}')"));
    }
}

fn tag_of(platform: &Platform, path: &str) -> String {
    wait_for(&format!("the route {path}"), || platform.get(path).status == 200);
    platform.get(path).header("etag").unwrap().to_owned()
}

/// Asks until an answer comes without a run; its tag.
fn remember(platform: &Platform, path: &str) -> String {
    let tag = tag_of(platform, path);
    let before = number(platform, path);
    wait_for(&format!("{path} is remembered"), || {
        assert_eq!(ask(platform, path, &tag).status, 304, "{path}");
        number(platform, path) > before
    });
    tag
}

/// A name, the rest of the function, what changes the answer.
const KNOWN: [(&str, &str, &str); 14] = [
    (
        "of_rows",
        "returns jsonb language plpgsql stable as $$
         declare found item; total numeric := 0; begin
           for found in select * from item order by id loop
             if found.price > 0 then total := total + found.price; end if;
           end loop;
           return jsonb_build_object('total', total, 'last', found.name, 'made', found.made);
         end $$",
        "update item set price = price + 1",
    ),
    (
        "of_fields",
        "returns text language plpgsql stable as $$
         declare label text; at timestamptz; begin
           select name, made into strict label, at from item where id = 1;
           return label || extract(year from at);
         end $$",
        "update item set name = name || '!' where id = 1",
    ),
    (
        "of_date",
        "returns text language plpgsql stable as $$
         declare first date := '2026-01-01'; until timestamptz; begin
           until := first + interval '10 years';
           return (select count(*) from item where made between first and until)::text;
         end $$",
        "insert into item values (3, 'three')",
    ),
    (
        "of_cursor",
        "returns text language plpgsql stable as $$
         declare c cursor (least integer) for select name, day from item where id >= least order by id; r record; result text := ''; begin
           for r in c(1) loop result := result || r.name; end loop;
           open c(2); fetch c into r; close c;
           return result || coalesce(r.name, '');
         end $$",
        "delete from item where id = 3",
    ),
    (
        "of_text",
        "returns text language plpgsql stable as $$
         declare n bigint; begin execute 'select count(*) from ' || quote_ident('other') into n; return n || ' others'; end $$",
        "insert into other values (1)",
    ),
    (
        "of_nested",
        "returns text language plpgsql stable as $$ begin return of_text() || of_fields(); end $$",
        "insert into other values (2)",
    ),
    (
        "of_sql",
        "returns text language sql stable as 'select of_nested()'",
        "update item set name = name || '?' where id = 1",
    ),
    (
        "of_set",
        "returns setof item language plpgsql stable as $$
         begin return query select * from item order by id; return next (select item from item where id = 1); return; end $$",
        "update item set price = price + 1 where id = 1",
    ),
    (
        "of_branch",
        "returns text language plpgsql stable as $$
         begin if exists (select from other where id = 99) then return now()::text; end if; return 'none'; end $$",
        "insert into other values (99)",
    ),
    (
        "of_array",
        "returns text language plpgsql stable as $$
         declare one text; result text := ''; begin
           foreach one in array (select array_agg(name order by id) from item) loop result := result || one; end loop;
           case length(result) when 0 then return 'empty'; else return result; end case;
         end $$",
        "update item set name = 'another' where id = 2",
    ),
    (
        "of_out",
        "returns table (title text, day date) language plpgsql stable as $$
         begin for title, day in select item.name, item.day from item order by id loop return next; end loop; end $$",
        "update item set day = '2026-05-05' where id = 2",
    ),
    (
        "of_diagnostics",
        "returns text language plpgsql stable as $$
         declare n integer; begin perform from item; get diagnostics n = row_count; return n::text; end $$",
        "delete from item where id = 2",
    ),
    (
        "of_whole_row",
        "returns item language plpgsql stable as $$
         declare r item; begin r := (select item from item where id = 1); r.name := upper(r.name); return r; end $$",
        "update item set price = 77 where id = 1",
    ),
    (
        "of_polymorphic",
        "returns text language plpgsql stable as $$
         begin return first_of(array(select name from item order by id)) || first_of(array(select id from item order by id)); end $$;
         create function first_of(all_of anyarray) returns anyelement language plpgsql stable as $$
         declare result alias for $0; begin result := all_of[1]; return result; end $$",
        "update item set name = 'last' where id = 1",
    ),
];

#[test]
fn what_a_function_in_plpgsql_reads_is_known() {
    let platform = Platform::start();
    platform.sql(TABLES);
    routes(&platform, KNOWN.iter().map(|(name, rest, _)| (*name, *rest)));
    for (name, _, change) in KNOWN {
        let path = format!("/{name}");
        let tag = remember(&platform, &path);
        let before = number(&platform, &path);
        platform.sql("insert into slot values ('2026-02-02', 'second')");
        assert_eq!(ask(&platform, &path, &tag).status, 304, "{path}");
        assert_eq!(number(&platform, &path), before + 1, "{path}");
        platform.sql(change);
        // What is found then may ask for the time.
        assert_eq!(ask(&platform, &path, &tag).status, 200, "{path}: {change}");
    }
    // One that is replaced is another, though nobody else knows that it was.
    let tag = remember(&platform, "/of_sql");
    platform.sql("create or replace function of_nested() returns text language plpgsql stable as $$ begin return 'new'; end $$");
    assert_eq!(ask(&platform, "/of_sql", &tag).status, 200);
    assert_eq!(ask(&platform, "/of_sql", &tag).text(), "new");
    // What it takes of the request is an input.
    routes(
        &platform,
        [(
            "of_cookie",
            "returns text language plpgsql stable as $$ begin return coalesce(http.cookie('lang'), 'en'); end $$",
        )],
    );
    remember(&platform, "/of_cookie");
    let said = platform.value("select string_agg(what || ' ' || name, ', ') from http.explain('GET', '/of_cookie') where name ~ 'lang'");
    assert_eq!(said, Some("request cookie lang".into()));
}

/// A name, the rest of the function, why its answer is not remembered.
const UNKNOWN: [(&str, &str, &str); 18] = [
    ("of_time", "returns text language plpgsql stable as $$ begin return date_trunc('century', now()); end $$", "it calls now()"),
    ("of_clock", "returns text language plpgsql stable as $$ declare d date := current_date; begin return d; end $$", "it asks for the time"),
    (
        "of_chance",
        "returns text language plpgsql stable as $$ declare x float; begin x := random() * 0; return x; end $$",
        "it calls random(), which is volatile",
    ),
    (
        "of_deep",
        "returns text language plpgsql stable as $$ begin return of_middle(); end $$;
         create function of_middle() returns text language sql stable as 'select of_time()'",
        "it calls now()",
    ),
    ("of_default", "returns text language plpgsql stable as $$ declare d date := 'today'; begin return d; end $$", "a text may be another date"),
    (
        "of_value",
        "returns text language plpgsql stable as $$ declare word text := 'to' || 'day'; d date; begin d := word; return d; end $$",
        "it calls date_in()",
    ),
    ("of_result", "returns date language plpgsql stable as $$ begin return 'today'; end $$", "a text may be another date"),
    (
        "of_result_variable",
        "returns date language plpgsql stable as $$ declare word text := 'today'; begin return word; end $$",
        "a text may be another date",
    ),
    (
        "of_into",
        "returns text language plpgsql stable as $$ declare note text; d date; begin select slot.note, 'today'::text into note, d from slot limit 1; return d; end $$"
            ,
        "a text may be another date",
    ),
    (
        "of_row",
        "returns text language plpgsql stable as $$ declare s slot; begin select 'today'::text, 'x' into s; return s.day; end $$",
        "a text may be another date",
    ),
    (
        "of_dynamic",
        "returns text language plpgsql stable as $$ declare d date; begin execute $e$ select 'today'::text $e$ into d; return d; end $$",
        "a text may be another date",
    ),
    (
        "of_loop",
        "returns text language plpgsql stable as $$ declare d timestamptz; begin for d in select unnest(array['to' || 'day']) loop end loop; return d; end $$",
        "a text may be another timestamp with time zone",
    ),
    (
        "of_each",
        "returns text language plpgsql stable as $$ declare d date; begin foreach d in array array['today', 'tomorrow'] loop end loop; return d; end $$",
        "a text may be another date",
    ),
    (
        "of_arguments",
        "returns text language plpgsql stable as $$
         declare word text := 'today'; c cursor (d date) for select d::text; r text; begin open c(word); fetch c into r; return r; end $$",
        "a text may be another date",
    ),
    (
        "of_domain",
        "returns text language plpgsql stable as $$ declare n positive := 1; begin return n; end $$",
        "it checks the constraints of positive",
    ),
    (
        "of_error",
        "returns text language plpgsql stable as $$ begin return 1 / (select count(*) from slot where day is null); exception when others then return sqlstate; end $$",
        "it catches an error",
    ),
    (
        "of_failed",
        "returns text language plpgsql stable as $$ begin return of_failing(); exception when others then return sqlstate; end $$;
         create function of_failing() returns text language plpgsql stable as $$ begin raise '%', now(); end $$",
        "it catches an error",
    ),
    (
        "of_lines",
        "returns setof date language plpgsql stable as $$ declare word text := 'today'; begin return next word; return next 'tomorrow'; end $$",
        "a text may be another date",
    ),
];

#[test]
fn what_cannot_be_known_of_a_function_in_plpgsql_is_run_each_time() {
    let platform = Platform::start();
    platform.sql(TABLES);
    routes(&platform, UNKNOWN.iter().map(|(name, rest, _)| (*name, *rest)));
    for (name, _, reason) in UNKNOWN {
        let path = format!("/{name}");
        let tag = tag_of(&platform, &path);
        for _ in 0..3 {
            assert_eq!(ask(&platform, &path, &tag).status, 304, "{path}");
        }
        assert_eq!(number(&platform, &path), 0, "{path}");
        let said = platform.value(&format!("select not_remembered from http.stats where pattern = '{path}'"));
        assert!(said.clone().unwrap_or_default().starts_with(reason), "{path}: {said:?}");
    }
}
