//! Values of every type become what PostgreSQL's own input makes of the same spelling, and what it refuses is refused.

use cluster::postgres::Client;
use howdah_tests::queues::Queues;

/// Spellings that are common, odd or wrong, for one type or another.
const SPELLINGS: &str = r"
0 -0 +5 1 -1 007 32767 32768 -32768 -32769 2147483647 2147483648 -2147483648 9223372036854775807 9223372036854775808
-9223372036854775808 -9223372036854775809 99999999999999999999 1.0 1.5 -1.5 0.5 .5 5. 1e3 1E3 1e-3 1e400 1e-400 -1e400 1e39 1e-46 4.9e-324
2.5e-324 1e308 1.8e308 0e0 0.0 0e999 NaN nan inf -inf Infinity infinity 0x10 1_000 1e 1e+ -- - +
12.345 12.344 12.346 999.99 9999.99 99999.99 999999.99 -12.345 0.005 0.004 0.00 00012.50 123456789012345678901234567890.123456789
0.000000000001 10000 100000000 10000.0001 1234.50000 0.1234567890123456789012345678901234567890123456789012345678901
true false t f yes no on off TRUE False tru y n 2
2020-02-06 2020-02-29 2021-02-29 1900-02-29 2000-02-29 2020-13-01 2020-00-01 2020-01-00 2020-01-32 2020-04-31 0000-01-01 0001-01-01 9999-12-31 1999-12-31
2000-01-01 2000-02-28 2000-03-01 1970-01-01 2020-2-6 20200206 2020-02-06x 10000-01-01 today
2020-02-06T05:48:34 2020-02-06T05:48:34Z 2020-02-06T05:48:34.664Z 2020-02-06T05:48:34.664664Z 2020-02-06T05:48:34.6646645Z 2020-02-06T05:48:34.Z
2020-02-06T05:48:34.1+02 2020-02-06T05:48:34.1-0230 2020-02-06T05:48:34+02:30 2020-02-06T05:48:34-14:59 2020-02-06T05:48:34+15:00 2020-02-06T05:48:34+16:00
2020-02-06T24:00:00Z 2020-02-06T23:59:60Z 2020-02-06T23:60:00Z 2020-02-06T25:00:00Z 2020-02-06T05:48Z 2020-02-06T5:48:34Z 2020-02-06T05:48:34z 2020-02-06T05:48:34+2
1582-10-15T00:00:00Z 0001-01-01T00:00:00Z 9999-12-31T23:59:59.999999Z 1999-12-31T23:59:59.999999-00:00 2020-02-06T05:48:34+00:60 infinity epoch
00000000-0000-0000-0000-00000000000a 00000000-0000-0000-0000-00000000000A {00000000-0000-0000-0000-00000000000a} 0000000000000000000000000000000a
00000000-0000-0000-0000-00000000000 00000000-0000-0000-0000-00000000000g 00000000_0000-0000-0000-000000000000 é00000000-000-0000-0000-0000000000a
\x \x00 \xff \xFFaB \xf \xzz abc \000 a\\b \x0_1
abc abcd äöü äöüß ☃☃☃ ☃☃☃☃ x";

/// Types, of which some have parsers of their own.
const TYPES: &[&str] = &[
    "smallint",
    "integer",
    "bigint",
    "real",
    "double precision",
    "numeric",
    "numeric(6,2)",
    "numeric(4)",
    "numeric(30,25)",
    "numeric(3,-2)",
    "boolean",
    "date",
    "timestamp",
    "timestamptz",
    "timestamptz(0)",
    "time",
    "uuid",
    "bytea",
    "text",
    "varchar",
    "varchar(3)",
    "char(3)",
    "name",
    "inet",
    "interval",
    "int4range",
];

/// What PostgreSQL makes of a spelling; none if it refuses.
const EXPECTED: &str = "create function expected(spelling text, kind text) returns text language plpgsql as $$
    declare result text;
    begin
      -- Not a cast, which would cut what is too long.
      execute format('select row(x)::text from json_populate_record(null::%I, json_build_object(''x'', $1))', 'row of ' || kind)
        into result using spelling;
      return result;
    exception when others then return null;
    end $$";

fn check(session: &mut Client, kind: &str, spellings: &[String]) {
    session
        .batch_execute(&format!(
            "create type \"row of {kind}\" as (x {kind}, number int); select queue.create('{kind}', row_type => '\"row of {kind}\"')"
        ))
        .unwrap();
    let lines: String = spellings
        .iter()
        .enumerate()
        .map(|(number, spelling)| format!("{}\n", serde_json::json!({ "x": spelling, "number": number })))
        .collect();
    let put = format!("select stored + rejected from queue.put_lines('{kind}', $1::text)");
    let all: i64 = session.query_one(&put, &[&lines]).unwrap().get(0);
    assert_eq!(all as usize, spellings.len());
    let compare = format!(
        "with stored as (select number, row(x)::text as value from queue.take('{kind}', 100000, null::\"row of {kind}\")),
              wanted as (select ordinality - 1 as number, s, expected(s, '{kind}') as value from unnest($1::text[]) with ordinality s)
         select coalesce(string_agg(format('%s: %s, not %s', s, coalesce(stored.value, 'refused'), coalesce(wanted.value, 'refused')), '; '), '')
         from wanted left join stored using (number) where stored.value is distinct from wanted.value"
    );
    let differences: String = session.query_one(&compare, &[&spellings]).unwrap().get(0);
    assert_eq!(differences, "", "{kind}");
}

#[test]
fn a_spelling_means_what_postgresql_says() {
    let queues = Queues::empty(&[]);
    queues.sql(&format!("create extension howdah; {EXPECTED}"));
    let mut session = queues.session();
    let mut spellings: Vec<String> = SPELLINGS.split_whitespace().map(str::to_owned).collect();
    spellings.extend(
        [
            "",
            " ",
            " 5 ",
            "2020-02-06 05:48:34",
            "2020-02-06 05:48:34.5+01",
            "2020-02-06  05:48:34",
            "abc ",
            "abcd ",
            "é\u{301}x",
            "1 day",
        ]
        .map(str::to_owned),
    );
    for timezone in ["UTC", "America/St_Johns"] {
        session
            .batch_execute(&format!("set timezone = '{timezone}'; set datestyle = 'German, DMY'"))
            .unwrap();
        for kind in TYPES {
            check(&mut session, kind, &spellings);
            session
                .batch_execute(&format!("select queue.drop_queue('{kind}'); drop type \"row of {kind}\""))
                .unwrap();
        }
    }
}

#[test]
fn dates_of_four_thousand_years_and_decimals_of_every_length() {
    let queues = Queues::empty(&[]);
    queues.sql(&format!("create extension howdah; {EXPECTED}"));
    let mut session = queues.session();
    let numbers = |query: &str, session: &mut Client| -> Vec<String> {
        session.query(query, &[]).unwrap().iter().map(|row| row.get(0)).collect()
    };
    let dates = numbers(
        "select to_char(date '0001-01-01' + number * 97, 'YYYY-MM-DD') from generate_series(0, 15000) number",
        &mut session,
    );
    check(&mut session, "date", &dates);
    let moments: Vec<String> = dates.iter().map(|date| format!("{date}T12:34:56.{}Z", &date[8..])).collect();
    check(&mut session, "timestamptz", &moments);
    let decimals = numbers(
        "select setseed(0.5)::text where false union all
         select case when random() < 0.5 then '-' else '' end
             || repeat('0', (random() * 5)::int) || trunc((random() * 10 ^ (random() * 25))::numeric)
             || case when random() < 0.8 then '.' || lpad(trunc((random() * 10 ^ (random() * 15))::numeric)::text, (random() * 20)::int + 1, '0') else '' end
             || repeat('0', (random() * 5)::int)
         from generate_series(1, 5000)",
        &mut session,
    );
    check(&mut session, "numeric", &decimals);
    check(&mut session, "numeric(22,11)", &decimals);
    check(&mut session, "double precision", &decimals);
}

#[test]
fn numbers_booleans_and_nested_values_become_what_json_populate_record_makes_of_them() {
    let queues = Queues::empty(&[]);
    queues.sql("create extension howdah");
    let mut session = queues.session();
    let values = [
        "1",
        "-1.50",
        "1e2",
        "true",
        "false",
        "null",
        "\"a\\\"bé\"",
        "[1, 2]",
        "{\"a\": 1}",
        "\"[1]\"",
        "0.1e-2",
    ];
    for kind in ["integer", "numeric", "double precision", "boolean", "text", "json", "jsonb", "varchar(5)"] {
        session
            .batch_execute(&format!(
                "create type t as (x {kind}, number int); select queue.create('q', row_type => 't');
                 create function expected(line text) returns text language plpgsql as $$ begin
                   return row((json_populate_record(null::t, line::json)).x)::text; exception when others then return null; end $$"
            ))
            .unwrap();
        let lines: Vec<String> = (1..)
            .zip(values)
            .map(|(number, value)| format!("{{\"x\": {value}, \"number\": {number}}}"))
            .collect();
        session.query("select queue.put_lines('q', $1::text)", &[&lines.join("\n")]).unwrap();
        let rows = session
            .query(
                "with stored as (select number, row(x)::text as value from queue.take('q', 100, null::t))
                 select line, stored.value, expected(line) from unnest($1::text[]) with ordinality l(line, number)
                 left join stored using (number) where stored.value is distinct from expected(line)",
                &[&lines],
            )
            .unwrap();
        let differences: Vec<[Option<String>; 3]> =
            rows.iter().map(|row| [0, 1, 2].map(|place| row.get(place))).collect();
        assert!(differences.is_empty(), "{kind}: {differences:?}");
        session.batch_execute("select queue.drop_queue('q'); drop function expected; drop type t").unwrap();
    }
}
