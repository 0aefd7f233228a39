//! What runs in a gateway: PostgreSQL's own code and ours, SQL, PL/pgSQL, and the extensions that a setting names.

use howdah_tests::abilities::brings_extension;
use howdah_tests::{Connection, Platform, wait_for};

/// All that has answered eight times counts as short, however slow the machine.
const ANY_TIME: (&str, &str) = ("howdah.inline_threshold", "100000");

/// How many of so many requests a gateway has run, once it could have.
fn run_inline(
    platform: &Platform,
    connection: &mut Connection,
    pattern: &str,
    path: &str,
    expected: &str,
) -> usize {
    for _ in 0..20 {
        let reply = connection.request("GET", path, &[], b"");
        assert_eq!((reply.status, reply.text().as_str()), (200, expected), "{path}");
    }
    let before = platform.inline_count(pattern);
    for _ in 0..20 {
        assert_eq!(connection.request("GET", path, &[], b"").text(), expected, "{path}");
    }
    platform.inline_count(pattern) - before
}

/// Ways to a function in C: an expression, a view, a statement that PL/pgSQL runs and an expression that it computes, an
/// operator, an aggregate, the input of a type, the support of an index and of an order, a default.
const WAYS: &str = "
    create extension fuzzystrmatch; create extension citext; create extension pg_trgm; create extension hstore;
    create table word (word text, folded citext);
    insert into word values ('kitten', 'Kitten');
    create index on word using gin (word gin_trgm_ops);
    grant select on word to howdah_web;
    create view distance as select levenshtein(word, 'sitting') as distance from word;
    grant select on distance to howdah_web;
    create domain near as text check (levenshtein(value, 'kitten') < 3);
    create function c_expression() returns text language sql stable return
      (select levenshtein(word, 'sitting')::text from word);
    create function c_view() returns text language sql stable return (select distance::text from distance);
    create function c_default(x text default levenshtein('kitten', 'sitting')::text) returns text
      language sql stable return x;
    create function c_assigned() returns text language plpgsql stable as
      $$ declare x integer; begin x := levenshtein('kitten', clock_timestamp()::text || 'sitting'); return '3'; end $$;
    create function c_dynamic() returns text language plpgsql stable as
      $$ declare x integer; begin execute 'select levenshtein(''kitten'', ''sitting'')' into x; return x; end $$;
    create function c_settings() returns integer language sql stable set work_mem = '1MB'
      return levenshtein('kitten', 'sitting');
    create function c_nested() returns text language plpgsql stable as
      $$ begin return c_settings(); end $$;
    create function c_operator() returns text language sql stable return
      (select count(*)::text || 2 from word where folded = 'KITTEN'::citext);
    create function c_aggregate() returns text language sql stable return (select max(folded)::text from word);
    create function c_input() returns text language plpgsql stable as
      $$ declare x hstore; begin x := 'a=>3'; return x -> 'a'; end $$;
    create function c_order() returns text language sql stable return
      (select word from (select word from word order by folded) w);
    create function c_index() returns text language sql stable return (select word from word where word ~ 'k.t');
    create function c_domain() returns text language plpgsql stable as
      $$ declare x near; begin x := 'mitten'; return x; end $$;
    create function core() returns text language plpgsql stable as
      $$ begin return (select upper(word) from word); end $$;
    select http.route('GET', '/' || proname, oid::regprocedure::text)
    from pg_proc where proname like 'c\\_%' or proname = 'core'";

const EXPECTED: [(&str, &str); 13] = [
    ("/c_expression", "3"),
    ("/c_view", "3"),
    ("/c_default", "3"),
    ("/c_assigned", "3"),
    ("/c_dynamic", "3"),
    ("/c_nested", "3"),
    ("/c_operator", "12"),
    ("/c_aggregate", "Kitten"),
    ("/c_input", "3"),
    ("/c_order", "kitten"),
    ("/c_index", "kitten"),
    ("/c_domain", "mitten"),
    ("/c_settings", "3"),
];

fn brings_extensions() -> bool {
    ["fuzzystrmatch", "citext", "pg_trgm", "hstore"]
        .iter()
        .all(|name| brings_extension(name, "functions in C"))
}

#[test]
fn code_in_c_of_an_extension_that_no_setting_names_never_runs_in_a_gateway() {
    if !brings_extensions() {
        return;
    }
    let platform = Platform::with(&[ANY_TIME]);
    platform.sql(WAYS);
    let mut connection = platform.connect();
    for (path, expected) in EXPECTED {
        let count = run_inline(&platform, &mut connection, path, path, expected);
        assert_eq!(count, 0, "{path} ran in the gateway");
    }
    assert_eq!(run_inline(&platform, &mut connection, "/core", "/core", "KITTEN"), 20);
}

#[test]
fn code_in_c_of_an_extension_that_a_setting_names_runs_in_a_gateway() {
    if !brings_extensions() {
        return;
    }
    let named = ("howdah.inline_extensions", "fuzzystrmatch, citext, pg_trgm, hstore");
    let platform = Platform::with(&[ANY_TIME, named]);
    platform.sql(WAYS);
    let mut connection = platform.connect();
    for (path, expected) in EXPECTED {
        let count = run_inline(&platform, &mut connection, path, path, expected);
        assert_eq!(count, 20, "{path} ran in executors");
    }
}

#[test]
fn what_reaches_another_server_never_runs_in_a_gateway() {
    if !brings_extension("postgres_fdw", "foreign tables") {
        return;
    }
    let platform = Platform::with(&[ANY_TIME, ("howdah.inline_extensions", "postgres_fdw")]);
    let (port, database) =
        (platform.value("show port").unwrap(), platform.value("select current_database()").unwrap());
    let folder = platform.value("show unix_socket_directories").unwrap();
    platform.sql(&format!(
        "create extension postgres_fdw;
         create server other foreign data wrapper postgres_fdw
           options (host '{folder}', port '{port}', dbname '{database}', use_remote_estimate 'true');
         create role visitor superuser login; grant visitor to current_user;
         create user mapping for public server other options (user 'visitor', password_required 'false');
         create table here (number integer); insert into here values (7);
         create foreign table there (number integer) server other options (table_name 'here');
         grant select on there to howdah_web;
         create function direct() returns text language sql stable return (select number::text from there);
         create function hidden(far boolean default true) returns text language plpgsql stable as
           $$ begin
             if far then return (select sum(number)::text from there); end if;
             return '7';
           end $$;
         select http.route('GET', '/direct', 'direct'), http.route('GET', '/hidden', 'hidden')"
    ));
    let mut connection = platform.connect();
    assert_eq!(run_inline(&platform, &mut connection, "/direct", "/direct", "7"), 0);
    assert_eq!(run_inline(&platform, &mut connection, "/hidden", "/hidden?far=false", "7"), 20);
    assert_eq!(run_inline(&platform, &mut connection, "/hidden", "/hidden", "7"), 0);
}

#[test]
fn a_block_that_catches_errors_runs_in_an_executor_and_so_does_its_route_until_its_function_changes() {
    let platform = Platform::with(&[ANY_TIME]);
    platform.sql(
        "create function parse(text text) returns text language plpgsql stable as
           $$ begin
             begin return text::integer::text; exception when others then return 'none'; end;
           end $$;
         select http.route('GET', '/parse/{text}', 'parse')",
    );
    let mut connection = platform.connect();
    assert_eq!(run_inline(&platform, &mut connection, "/parse/{text}", "/parse/7", "7"), 0);
    assert_eq!(run_inline(&platform, &mut connection, "/parse/{text}", "/parse/seven", "none"), 0);
    platform.sql(
        "create or replace function parse(text text) returns text language plpgsql stable as
           $$ begin return case when text ~ '^[0-9]+$' then text else 'none' end; end $$",
    );
    assert_eq!(run_inline(&platform, &mut connection, "/parse/{text}", "/parse/seven", "none"), 20);
}

#[test]
fn a_function_of_postgresql_that_may_compute_for_long_runs_in_an_executor() {
    let platform = Platform::with(&[ANY_TIME]);
    platform.sql(
        "create function padded(n integer) returns text language sql stable return length(lpad('x', n));
         create function powered(n numeric) returns text language plpgsql stable as
           $$ begin return length((n ^ 2)::text); end $$;
         create function rooted(n numeric) returns text language sql stable return length(sqrt(n)::text);
         create function widened(n integer) returns text language sql stable return length(format('%*s', n, 'x'));
         create function formatted(text) returns text language sql stable return format($1, 'x');
         create function nested(n integer) returns text language plpgsql stable as
           $$ begin return formatted('%' || n || 's'); end $$;
         create function greeted(name text) returns text language sql stable return format('<b>%-3s</b> %1$s', name);
         create function listed() returns text language plpgsql stable as
           $$ declare result text; begin
             for result in select greeted(n::text) from generate_series(1, 2) n loop end loop;
             return result;
           end $$;
         select http.route('GET', '/padded/{n}', 'padded'), http.route('GET', '/powered/{n}', 'powered'),
           http.route('GET', '/rooted/{n}', 'rooted'), http.route('GET', '/widened/{n}', 'widened'),
           http.route('GET', '/nested/{n}', 'nested'), http.route('GET', '/greeted/{name}', 'greeted'),
           http.route('GET', '/listed', 'listed')",
    );
    let mut connection = platform.connect();
    assert_eq!(run_inline(&platform, &mut connection, "/padded/{n}", "/padded/5", "5"), 0);
    let digits = platform.value("select powered(5)").unwrap();
    assert_eq!(run_inline(&platform, &mut connection, "/powered/{n}", "/powered/5", &digits), 0);
    let digits = platform.value("select rooted(5)").unwrap();
    assert_eq!(run_inline(&platform, &mut connection, "/rooted/{n}", "/rooted/5", &digits), 0);
    assert_eq!(run_inline(&platform, &mut connection, "/widened/{n}", "/widened/5", "5"), 0);
    assert_eq!(run_inline(&platform, &mut connection, "/nested/{n}", "/nested/2", " x"), 0);
    let greeting = "<b>y  </b> y";
    assert_eq!(run_inline(&platform, &mut connection, "/greeted/{name}", "/greeted/y", greeting), 20);
    assert_eq!(run_inline(&platform, &mut connection, "/listed", "/listed", "<b>2  </b> 2"), 20);
}

/// Ways to a search whose cost is the product of two lengths, and the same where one of them is short.
#[test]
fn a_call_that_costs_the_product_of_two_lengths_runs_in_an_executor_unless_one_of_them_is_short() {
    let platform = Platform::with(&[ANY_TIME]);
    platform.sql(
        "create table page (body text, title varchar(40), tags text[]); insert into page values ('a long text', 'a title', '{a,b}');
         grant select on page to howdah_web;
         create function searched(q text) returns text language sql stable return (select 'found' from page where body like '%' || q || '%');
         create function has(body text, q text) returns boolean language sql immutable return strpos(body, q) > 0;
         create function inlined(q text) returns text language sql stable return (select 'found' from page where has(body, q));
         create function assigned(q text) returns text language plpgsql stable as
           $$ declare body text := (select p.body from page p); begin return case when body ilike '%' || q || '%' then 'found' end; end $$;
         create function dynamic(q text) returns text language plpgsql stable as
           $$ declare found text; begin
             execute 'select ''found'' from page where translate(body, $1, ''x'') <> body' into found using q; return found;
           end $$;
         create view matching as select 'found' as found, t.q from page, (values ('long'), ('short')) t(q) where strpos(body, t.q) > 0;
         grant select on matching to howdah_web;
         create function viewed(q text) returns text language sql stable return (select found from matching m where m.q = viewed.q);
         create function tagged(q text) returns text language sql stable return
           (select 'found' from page where tags && string_to_array(q, ','));
         create function trimmed(q text) returns text language sql stable return (select 'found' from page where btrim(body, q) <> body);
         create function s_constant(q text) returns text language sql stable return
           (select 'found' from page where body like '%long%' and q <> '');
         create function s_title(q text) returns text language sql stable return
           (select 'found' from page where title like '%' || q || '%' and q <> 'x');
         create function s_number(q int) returns text language sql stable return (select 'found' from page where strpos(body, q::text) = 0);
         create function s_tag(q text) returns text language sql stable return (select 'found' from page where tags @> array[q]);
         create function s_any(q text) returns text language sql stable return (select 'found' from page where body <> all (array[q, 'x']));
         create function s_cut(q text) returns text language plpgsql stable as
           $$ begin return case when split_part(replace(q, '-', ' '), ' ', 1) ~ '^[a-z]+$' then 'found' end; end $$;
         select http.route('GET', '/' || proname, oid::regprocedure::text) from pg_proc
         where pronamespace = 'public'::regnamespace and proname ~ '^(searched|inlined|assigned|dynamic|viewed|tagged|trimmed|s_.*)$'",
    );
    let mut connection = platform.connect();
    let mut inline = |route: &str, q: &str| {
        let pattern = format!("/{route}");
        run_inline(&platform, &mut connection, &pattern, &format!("{pattern}?q={q}"), "found")
    };
    for route in ["searched", "inlined", "assigned", "dynamic", "viewed"] {
        assert_eq!(inline(route, "long"), 0, "{route}");
    }
    assert_eq!((inline("tagged", "a"), inline("trimmed", "at")), (0, 0));
    for (route, q) in [
        ("s_constant", "a"),
        ("s_title", "tit"),
        ("s_number", "7"),
        ("s_tag", "a"),
        ("s_any", "y"),
        ("s_cut", "a-b"),
    ] {
        assert_eq!(inline(route, q), 20, "{route}");
    }
}

/// Numbers whose length is bounded run in the gateway: by a precision, a domain, a type of integers, or as the request brings them. Others
/// may be added and compared there.
#[test]
fn numbers_that_may_be_long_are_multiplied_in_an_executor_and_others_in_the_gateway() {
    let platform = Platform::with(&[ANY_TIME]);
    platform.sql(
        "create domain amount as numeric(12, 2);
         create table sale (price numeric(10, 2), quantity numeric(8, 3), count int, paid amount, rate numeric, note text);
         insert into sale values (4, 2, 2, 4, 2, '2'); grant select on sale to howdah_web;
         create function s_price() returns text language sql stable return (select (price * quantity)::int from sale);
         create function s_total() returns text language sql stable return (select round(sum(price * count) / sum(count), 2)::int * 2 from sale);
         create function s_domain() returns text language sql stable return (select (paid * rate)::int from sale);
         create function s_taxed() returns text language sql stable return (select (round(sum(rate) * 4.0, 2) / count(*))::int from sale);
         create function s_below() returns text language sql stable return
           (select (t * 8 / n)::int from (select sum(price) as t, sum(price) as n, count(*) from sale) z where count > 0);
         create function s_share() returns text language sql stable return
           (select (2 * price * 4 / sum(price) over ())::int from sale order by price * quantity limit 1);
         create function s_sum() returns text language sql stable return (select (rate + rate + 4)::int from sale where rate <> 3 order by rate);
         create function s_plus(q numeric) returns text language sql stable return (select (rate + q * 3)::int from sale);
         create function s_asked(q numeric) returns text language sql stable return (q * q * 2)::int;
         create function s_variable() returns text language plpgsql stable as
           $$ declare n numeric(10, 2); begin select rate into n from sale; return (n * n * n)::int; end $$;
         create function e_rate() returns text language sql stable return (select (rate * rate * 2)::int from sale);
         create function e_text() returns text language sql stable return (select (note::numeric * rate * 2)::int from sale);
         create function e_by() returns text language sql stable return (select (16 / rate)::int from sale);
         create function e_asked(q numeric) returns text language sql stable return (select (rate * q * 2)::int from sale);
         create function e_variable() returns text language plpgsql stable as
           $$ declare n numeric; begin select rate into n from sale; return (n * n * n)::int; end $$;
         create function e_spread() returns text language sql stable return (select (8 + var_pop(rate))::int from sale);
         select http.route('GET', '/' || proname, oid::regprocedure::text) from pg_proc
         where pronamespace = 'public'::regnamespace and proname ~ '^[se]_'",
    );
    let mut connection = platform.connect();
    let mut inline = |route: &str| {
        let pattern = format!("/{route}");
        run_inline(&platform, &mut connection, &pattern, &format!("{pattern}?q=2"), "8")
    };
    let routes = ["price", "total", "domain", "taxed", "below", "share", "sum", "plus", "asked", "variable"];
    for route in routes.map(|route| format!("s_{route}")) {
        assert_eq!(inline(&route), 20, "{route}");
    }
    for route in ["rate", "text", "by", "asked", "variable", "spread"].map(|route| format!("e_{route}")) {
        assert_eq!(inline(&route), 0, "{route}");
    }
}

#[test]
fn a_plan_for_several_processes_runs_in_an_executor() {
    let platform = Platform::with(&[
        ANY_TIME,
        ("parallel_setup_cost", "0"),
        ("parallel_tuple_cost", "0"),
        ("min_parallel_table_scan_size", "0"),
    ]);
    platform.sql(
        "create table rows as select n from generate_series(1, 10000) n; analyze rows;
         grant select on rows to howdah_web;
         create function counted() returns text language plpgsql stable as
           $$ begin perform count(*) from rows where n % 3 = 0; return 'counted'; end $$;
         select http.route('GET', '/counted', 'counted')",
    );
    let mut connection = platform.connect();
    assert_eq!(run_inline(&platform, &mut connection, "/counted", "/counted", "counted"), 0);
}

#[test]
fn a_large_body_is_read_by_an_executor_and_the_next_small_one_in_the_gateway() {
    let platform = Platform::with(&[ANY_TIME]);
    platform.sql(
        "create function members(document jsonb) returns integer language sql stable return
           (select count(*)::integer from jsonb_array_elements(document));
         select http.route('POST', '/members', 'members')",
    );
    let mut connection = platform.connect();
    let _session = platform.session();
    let mut post = |members: usize| {
        let body = format!("{{\"document\": [{}]}}", vec!["1"; members].join(","));
        let reply =
            connection.request("POST", "/members", &[("Content-Type", "application/json")], body.as_bytes());
        assert_eq!(reply.text(), members.to_string());
    };
    wait_for("the route runs in the gateway", || {
        post(10);
        platform.inline_count("/members") > 0
    });
    let before = platform.inline_count("/members");
    for _ in 0..10 {
        post(10_000);
        // No larger: what takes longer than the threshold leaves the lane for that.
        post(30_000);
    }
    assert_eq!(platform.inline_count("/members"), before, "a large body was read in the gateway");
    post(10);
    // Large bodies have not taken the route out of the lane.
    wait_for("it is counted", || platform.inline_count("/members") == before + 1);
}

#[test]
fn a_number_that_postgresql_writes_out_at_length_goes_to_an_executor_and_its_route_stays() {
    let platform = Platform::with(&[ANY_TIME]);
    platform.sql(
        "create function echo(n numeric) returns text language sql stable return length(n::text);
         select http.route('GET', '/echo/{n}', 'echo')",
    );
    let mut connection = platform.connect();
    let pattern = "/echo/{n}";
    assert_eq!(run_inline(&platform, &mut connection, pattern, "/echo/1e10", "11"), 20);
    for large in ["/echo/1e131071", "/echo/1%65131071"] {
        assert_eq!(run_inline(&platform, &mut connection, pattern, large, "131072"), 0, "{large}");
    }
    assert_eq!(run_inline(&platform, &mut connection, pattern, "/echo/1e10", "11"), 20);
}
