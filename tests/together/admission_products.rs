//! Calls that cost the product of two lengths never run in a gateway: hunts over what PostgreSQL has.

use std::collections::HashSet;
use std::fs;
use std::time::Duration;

use howdah_tests::{Connection, Platform, bounds};

/// All that has answered eight times counts as short, however slow the machine.
const ANY_TIME: (&str, &str) = ("howdah.inline_threshold", "100000");

/// A row with a value of each type, and a function that gives the values some length.
const ROW: &str = "
    create table row (\"text\" text, \"varchar\" varchar, \"bpchar\" bpchar, \"bytea\" bytea, \"_text\" text[], \"jsonb\" jsonb, \"json\" json,
      \"varbit\" varbit, \"bit\" varbit, \"path\" path, \"polygon\" polygon, \"tsvector\" tsvector, \"tsquery\" tsquery, \"_int4\" int[]);
    grant select on row to howdah_web;
    create function fill(n int) returns void begin atomic
      delete from row;
      insert into row select body, body, body, body::bytea, ('{' || repeat('a,', n / 2) || 'b}')::text[], numbers::jsonb, numbers::json,
        repeat('01', n / 2)::varbit, repeat('01', n / 2)::varbit, ('(' || points || ')')::path, ('(' || points || ')')::polygon, words::tsvector,
        asked::tsquery, ('{' || repeat('1,', n / 2) || '2}')::int[]
      from (select repeat('a', n) as body, '[' || repeat('1, ', n / 3) || '2]' as numbers, repeat('(0,0),', n / 6) || '(1,1)' as points,
        (select string_agg('w' || n, ' ') from generate_series(1, n / 8) n) as words,
        -- One of these has no room for more.
        (select string_agg('w' || n, '|') from generate_series(1, least(n / 8, 200)) n) as asked) made;
    end;
    select fill(10);";

/// Functions with two parameters of any length at least, each called with the row's value for one of them and the client's for another.
const FUNCTIONS: &str = "
    with parameter as (
      select p.oid, a.place, a.of_type, case when a.of_type in ('anyarray'::regtype, 'anycompatiblearray'::regtype) then '_text'
        when t.typcategory = 'A' and t.typlen = -1 and t.oid <> '_int4'::regtype then '_text' else t.typname end as kind, count(*) over (partition by p.oid) as count
      from pg_proc p, unnest(p.proargtypes::oid[]) with ordinality a(of_type, place), pg_type t
      where p.pronamespace = 'pg_catalog'::regnamespace and p.prokind = 'f' and t.oid = a.of_type and not p.proretset
        and p.provolatile <> 'v' and p.proname !~ '^(has_|binary_upgrade|pg_|query_to|float8_|int4_avg|interval_comb|multirange|xpath|xml|json_populate|ts_parse)'),
    long as (select * from parameter where kind in (select attname from pg_attribute where attrelid = 'row'::regclass and attnum > 0)),
    pair as (select one.oid, one.place as stored, other.place as asked, other.kind
      from long one join long other on one.oid = other.oid and one.place <> other.place),
    call as (
      select pair.oid, pair.stored, pair.asked, pair.kind, string_agg(case
        when p.place = pair.stored then format('row.%I', p.kind)
        when p.place = pair.asked then 'q'
        when p.kind in ('int4', 'int8', 'int2') then '1' when p.kind = 'bool' then 'true' when p.kind = 'regconfig' then '''english'''
        when p.kind = 'char' then '''A''' when p.kind = '_text' then '''{a}''' when p.kind = 'jsonb' then '''[1]'''
        when p.kind = 'jsonpath' then '''$''' when p.kind = 'json' then '''[1]''' when p.kind = 'text' then '''a'''
        else 'null::' || p.of_type::regtype end, ', ' order by p.place) as arguments
      from pair join parameter p on p.oid = pair.oid group by 1, 2, 3, 4)
    select p.proname || '_' || p.oid || '_' || stored || '_' || asked, kind, 'pg_catalog.' || quote_ident(p.proname) || '(' || arguments || ')'
    from call join pg_proc p using (oid) order by 1";

/// A value as long as a client may send in a path's query, of a type; and a short one.
fn asked(kind: &str) -> (String, &'static str) {
    match kind {
        "_text" => (format!("{{{}c}}", "a,".repeat(4000)), "{c}"),
        "_int4" => (format!("{{{}3}}", "1,".repeat(4000)), "{3}"),
        "jsonb" | "json" => (format!("[{}3]", "1,".repeat(4000)), "[3]"),
        "varbit" | "bit" => ("01".repeat(4000), "1"),
        "path" | "polygon" => (format!("({}(0,1))", "(0,0),".repeat(1300)), "((0,1))"),
        "tsvector" => ((1..1000).map(|n| format!("w{n}")).collect::<Vec<_>>().join("+"), "w1"),
        "tsquery" => ((1..1000).map(|n| format!("w{n}")).collect::<Vec<_>>().join("%7C"), "w1"),
        _ => ("a".repeat(8000) + "b", "b"),
    }
}

/// For how long the gateway has computed.
fn computed(pid: &str) -> Duration {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

/// A function that is called with the value that the client sends, by the name of its route.
#[derive(Clone)]
struct Call {
    name: String,
    kind: String,
    expression: String,
}

/// Where a call stands: in the body of a function of SQL, and in a query that PL/pgSQL plans in each run.
const PLACES: [(&str, &str, &str); 2] = [
    ("", "sql", "select left((EXPRESSION)::text, 20) from row"),
    (
        "_executed",
        "plpgsql",
        "declare made text; begin
           execute $q$select left((EXPRESSION)::text, 20) from row, (select $1 as q) asked$q$ into made using q;
           return made; end",
    ),
];

/// Makes two routes of each call, one for each place, and asks them with a short value until it would run in a gateway: those that do.
fn routes_in_the_gateway(platform: &Platform, calls: impl IntoIterator<Item = Call>) -> Vec<Call> {
    let mut session = platform.session();
    let mut made = Vec::new();
    for call in calls {
        for (suffix, language, body) in PLACES {
            let call = Call { name: format!("{}{suffix}", call.name), ..call.clone() };
            let Call { name, kind, expression } = &call;
            let body = body.replace("EXPRESSION", expression);
            let sql = format!(
                "create function \"{name}\"(q {kind}) returns text language {language} stable as $body$ {body} $body$;
                 select http.route('GET', '/{name}', '{name}')"
            );
            // What takes no such values, as elements of one array another, is none of a client's.
            if session.batch_execute(&sql).is_err() {
                break;
            }
            made.push(call);
        }
    }
    assert!(made.len() > 500, "{} calls", made.len());
    // A client that has connected and says nothing is not waited for.
    let mut connection = platform.connect();
    for call in &made {
        for _ in 0..10 {
            ask(&mut connection, &call.name, asked(&call.kind).1);
        }
    }
    let inline = session.query("select substr(pattern, 2) from http.stats where inline > 0", &[]).unwrap();
    let inline: HashSet<String> = inline.iter().map(|row| row.get(0)).collect();
    made.retain(|call| inline.contains(&call.name));
    made
}

/// Whether one of these routes calls a function. Its number follows the name.
fn runs(routes: &[Call], function: &str) -> bool {
    let is_of = |name: &str| {
        name.strip_prefix(function)
            .is_some_and(|rest| rest[1..].starts_with(|digit: char| digit.is_ascii_digit()))
    };
    routes.iter().any(|call| is_of(&call.name))
}

/// Asks each with a long value: the gateway computes for no longer than it may.
fn require_short(platform: &Platform, routes: &[Call]) {
    let mut connection = platform.connect();
    let pid = platform.value("select pid::text from http.workers where kind = 'gateway'").unwrap();
    for call in routes {
        let begun = computed(&pid);
        let status = ask(&mut connection, &call.name, &asked(&call.kind).0);
        assert_ne!(status, 414, "{}: the value is longer than a client may send", call.name);
        let took = computed(&pid) - begun;
        println!("{}: {took:?}", call.name);
        bounds::LONG_VALUES_INLINE.check(took);
    }
}

fn ask(connection: &mut Connection, name: &str, value: &str) -> u16 {
    connection.request("GET", &format!("/{name}?q={value}"), &[], b"").status
}

#[test]
fn no_call_of_two_long_values_that_runs_in_the_gateway_computes_for_long() {
    let platform = Platform::with(&[ANY_TIME]);
    platform.sql(ROW);
    let found = platform.session().query(FUNCTIONS, &[]).unwrap();
    let calls = found.iter().map(|row| {
        let (name, kind, expression): (String, String, String) = (row.get(0), row.get(1), row.get(2));
        Call { name, kind: if kind == "bit" { "varbit".to_owned() } else { kind }, expression }
    });
    let routes = routes_in_the_gateway(&platform, calls);
    for linear in [
        "texteq",
        "textcat",
        "text_lt",
        "byteaeq",
        "bpchareq",
        "jsonb_concat",
        "array_cat",
        "starts_with",
        "ts_match_vq",
    ] {
        assert!(runs(&routes, linear), "{linear} has left the gateway");
    }
    for product in [
        "textlike",
        "textregexeq",
        "textnlike",
        "texticlike",
        "bpcharlike",
        "bytealike",
        "like",
        "position",
        "strpos",
        "replace",
        "translate",
        "btrim",
        "ltrim",
        "rtrim",
        "split_part",
        "string_to_array",
        "array_to_string",
        "arrayoverlap",
        "arraycontains",
        "jsonb_contains",
        "regexp_replace",
        "ts_rank",
        "poly_overlap",
    ] {
        assert!(!runs(&routes, product), "{product} runs in the gateway");
    }
    platform.sql("select fill(100000)");
    require_short(&platform, &routes);
}

/// A row with numbers of any length, whole ones and a fraction, as they are, as text and as JSON; and one that has a precision.
const NUMBERS: &str = "
    create table row (whole numeric, half numeric, fraction numeric, written text, price numeric(10,2), document jsonb, numbers numeric[]);
    grant select on row to howdah_web;
    create function fill(n int) returns void begin atomic
      delete from row;
      insert into row select whole, half, fraction, whole, 9.99, jsonb_build_array(whole, half, fraction), array[half, fraction]
      from (select repeat('7', n)::numeric as whole, repeat('9', (n + 1) / 2)::numeric as half,
        ('0.' || repeat('37', least(n, 16000) / 2))::numeric as fraction) made;
    end;
    create aggregate multiplied(numeric) (sfunc = numeric_mul, stype = numeric);
    select fill(2);";

/// Each function and aggregate with parameters of type numeric, called with the row's numbers in several orders.
const OF_NUMBERS: &str = "
    with parameter as (
      select p.oid, p.proname, a.place, a.of_type, row_number() over (partition by p.oid, a.of_type order by a.place) as number
      from pg_proc p, unnest(p.proargtypes::oid[]) with ordinality a(of_type, place)
      where p.pronamespace = 'pg_catalog'::regnamespace and p.prokind in ('f', 'a') and not p.proretset and p.provolatile <> 'v'
        and 'numeric'::regtype = any (p.proargtypes::oid[]) and not 'internal'::regtype = any (p.proargtypes::oid[])),
    form as (select * from (values ('', '{whole,half,whole}'::text[]), ('', '{whole,whole,half}'), ('', '{half,fraction,whole}'),
      ('', '{fraction,whole,half}'), ('three_', '{3,fraction,whole}'), ('by_three_', '{whole,3,3}')) f(form, columns))
    select form || proname || '_' || oid || '_' || array_to_string(columns, '_'), 'pg_catalog.' || quote_ident(proname) || '(' || string_agg(case
        when of_type = 'numeric'::regtype then columns[number] when of_type in ('int4'::regtype, 'int8'::regtype) then '2'
        when of_type = 'bool'::regtype then 'true' when of_type = 'text'::regtype then '''9''' else 'null::' || of_type::regtype end,
        ', ' order by place) || ')'
    from parameter, form group by oid, proname, form, columns order by 1";

/// Calls that no function of the catalog stands for: casts, JSON, windows, aggregates of users, and several together.
const MORE_OF_NUMBERS: &[(&str, &str)] = &[
    ("as_text_1", "whole"),
    ("of_text_1", "written::numeric"),
    ("of_json_1", "(document->0)::numeric"),
    ("json_1", "document"),
    ("counted_1", "whole / count(*) over ()"),
    ("priced_1", "whole * price * 2"),
    ("rounded_1", "round(whole * 1.19, 2) / 3"),
    ("wide_1", "whole + half * 2 - fraction"),
    ("path_plus_1", "jsonb_path_query_first(document, '$[0] + $[1]')"),
    ("path_1", "jsonb_path_query_first(document, '$[*] ? (@ > 3)')"),
    ("path_times_1", "jsonb_path_query_first(document, '$[0] * $[1]')"),
    ("path_by_1", "jsonb_path_query_array(document, '$[0] / $[1]')"),
    ("path_rest_1", "document @? '$ ? (@[0] % @[1] > 2)'"),
    ("path_of_text_1", "jsonb_path_query_first(document, ('$[0] ' || q || chr(42) || ' $[0]')::jsonpath)"),
    ("text_times_1", "written::numeric * written::numeric"),
    ("json_times_1", "(document->0)::numeric * (document->>1)::numeric"),
    ("array_times_1", "numbers[1] * whole"),
    ("computed_times_1", "(whole + 1) * (half - 1)"),
    ("case_times_1", "coalesce(whole, 1) * case when half > 1 then half end"),
    ("spread_1", "variance(whole) over ()"),
    ("user_1", "(select multiplied(n) from (values (whole), (half)) v(n))"),
    ("below_1", "(select x * y from (select sum(whole) as x, sum(half) as y from row offset 0) z)"),
];

#[test]
fn no_call_of_long_numbers_that_runs_in_the_gateway_computes_for_long() {
    let platform = Platform::with(&[ANY_TIME]);
    platform.sql(NUMBERS);
    let found = platform.session().query(OF_NUMBERS, &[]).unwrap();
    let of_catalog = found.iter().map(|row| (row.get::<_, String>(0), row.get::<_, String>(1)));
    let more = MORE_OF_NUMBERS.iter().map(|(name, expression)| (name.to_string(), expression.to_string()));
    let calls =
        of_catalog.chain(more).map(|(name, expression)| Call { name, kind: "text".into(), expression });
    let routes = routes_in_the_gateway(&platform, calls);
    for linear in [
        "numeric_add",
        "numeric_eq",
        "numeric_cmp",
        "round",
        "sum",
        "max",
        "abs",
        "hash_numeric",
        "as_text",
        "of_text",
        "of_json",
        "json",
        "counted",
        "priced",
        "rounded",
        "wide",
        "path_plus",
        "three_numeric_mul",
        "by_three_numeric_mul",
        "by_three_numeric_div",
        "path",
    ] {
        assert!(runs(&routes, linear), "{linear} has left the gateway");
    }
    for product in [
        "numeric_mul",
        "numeric_div",
        "mod",
        "div",
        "gcd",
        "lcm",
        "power",
        "sqrt",
        "variance",
        "stddev_pop",
        "path_times",
        "path_by",
        "path_rest",
        "path_of_text",
        "text_times",
        "json_times",
        "array_times",
        "computed_times",
        "case_times",
        "spread",
        "user",
        "below",
    ] {
        assert!(!runs(&routes, product), "{product} runs in the gateway");
    }
    platform.sql("select fill(100000)");
    require_short(&platform, &routes);
}
