//! Calls that cost the product of two lengths never run in a gateway: a hunt over what PostgreSQL has.

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

/// Makes a route of each call, and asks it with a short value until it would run in a gateway: those that do, with the type of what they
/// are asked with.
fn routes_in_the_gateway(platform: &Platform, connection: &mut Connection) -> Vec<(String, String)> {
    let mut session = platform.session();
    let rows = session.query(FUNCTIONS, &[]).unwrap();
    let mut made = Vec::new();
    for row in &rows {
        let (name, kind, call): (String, String, String) = (row.get(0), row.get(1), row.get(2));
        let kind = if kind == "bit" { "varbit".to_owned() } else { kind };
        let sql = format!(
            "create function \"{name}\"(q {kind}) returns text language sql stable as $$ select left(({call})::text, 20) from row $$;
             select http.route('GET', '/{name}', '{name}')"
        );
        // What takes no such values, as elements of one array another, is none of a client's.
        if session.batch_execute(&sql).is_ok() {
            made.push((name, kind));
        }
    }
    assert!(made.len() > 250, "{} calls of {}", made.len(), rows.len());
    for (name, kind) in &made {
        for _ in 0..10 {
            ask(connection, name, asked(kind).1);
        }
    }
    let inline = session.query("select substr(pattern, 2) from http.stats where inline > 0", &[]).unwrap();
    let inline: HashSet<String> = inline.iter().map(|row| row.get(0)).collect();
    made.retain(|(name, _)| inline.contains(name));
    made
}

fn ask(connection: &mut Connection, name: &str, value: &str) -> u16 {
    connection.request("GET", &format!("/{name}?q={value}"), &[], b"").status
}

#[test]
fn no_call_of_two_long_values_that_runs_in_the_gateway_computes_for_long() {
    let platform = Platform::with(&[ANY_TIME]);
    platform.sql(ROW);
    let mut connection = platform.connect();
    let routes = routes_in_the_gateway(&platform, &mut connection);
    // Its number follows the name.
    let is_of = |name: &str, function: &str| {
        name.strip_prefix(function)
            .is_some_and(|rest| rest[1..].starts_with(|digit: char| digit.is_ascii_digit()))
    };
    let runs = |function: &str| routes.iter().any(|(name, _)| is_of(name, function));
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
        assert!(runs(linear), "{linear} has left the gateway");
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
        assert!(!runs(product), "{product} runs in the gateway");
    }
    platform.sql("select fill(100000)");
    let pid = platform.value("select pid::text from http.workers where kind = 'gateway'").unwrap();
    for (name, kind) in &routes {
        let begun = computed(&pid);
        let status = ask(&mut connection, name, &asked(kind).0);
        assert_ne!(status, 414, "{name}: the value is longer than a client may send");
        let took = computed(&pid) - begun;
        println!("{name}: {took:?}");
        bounds::LONG_VALUES_INLINE.check(took);
    }
}
