//! What a queue takes in it gives out again, to the last digit: values of all types, by every way in, by every way out.

use std::process::{Command, Stdio};

use howdah_tests::Platform;
use howdah_tests::platform::DATABASE;
use serde_json::json;

/// Types, and values of each as they are written.
const VALUES: &[(&str, &[&str])] = &[
    ("numeric", &["12345678901234567890123", "1.10", "-0.00", "NaN", "1e-300", "Infinity"]),
    ("float8", &["0.1", "1e308", "-0", "NaN", "-Infinity", "5e-324"]),
    ("float4", &["0.1", "1e-40", "Infinity"]),
    ("int8", &["9223372036854775807", "-9223372036854775808"]),
    ("int2", &["-32768"]),
    ("bool", &["t", "f"]),
    ("text", &["", "tab\tquote\" backslash\\ ü 😀 \u{1}", "null", "{}", "a,b(c)"]),
    ("varchar(3)", &["abc"]),
    ("char(5)", &["ab"]),
    ("name", &["someone"]),
    ("bytea", &["", "\\x00ff5c22"]),
    (
        "timestamptz",
        &["infinity", "-infinity", "0044-03-15 12:00:00+00 BC", "294276-12-31 23:59:59.999999+00"],
    ),
    ("timestamp", &["infinity", "2026-02-28 00:00:00.000001"]),
    ("date", &["-infinity", "0001-01-01 BC", "5874897-12-31"]),
    ("time", &["24:00:00", "00:00:00.000001"]),
    ("timetz", &["12:34:56.7+05:30"]),
    ("interval", &["1 mon -2 days 00:00:00.000001", "-178000000 years"]),
    ("uuid", &["00000000-0000-0000-0000-000000000000"]),
    ("inet", &["::1/64", "10.0.0.1"]),
    ("macaddr8", &["08:00:2b:01:02:03:04:05"]),
    ("jsonb", &["{\"a\": 1.10, \"b\": [12345678901234567890123, null, \"\\u0001\"]}", "1e400", "\"x\""]),
    ("json", &["{\"a\" :  1, \"a\": 2}", "1e999999"]),
    ("numeric[]", &["{1.10,NULL,NaN}", "{}", "[0:1]={1,2}"]),
    ("text[]", &["{\"\",\"a b\",NULL,\"NULL\",\"{}\"}", "{{a,b},{c,d}}"]),
    ("jsonb[]", &["{\"{\\\"a\\\": 1.10}\",NULL}"]),
    ("numrange", &["(1.10,)", "empty"]),
    ("int4multirange", &["{[1,3),[5,7)}", "{}"]),
    ("tstzrange", &["[\"2026-01-01 00:00:00+00\",infinity]"]),
    ("bit(3)", &["101"]),
    ("varbit", &["", "1011"]),
    ("tsvector", &["'a':1 'b''c':2A"]),
    ("point", &["(1.5,-2e-300)"]),
    ("pg_lsn", &["16/B374D848"]),
    ("\"char\"", &["x"]),
    ("regclass", &["pg_class"]),
    ("mood", &["very happy", "it's, \"so\""]),
    ("price", &["1.10"]),
    ("prices", &["{1.10,2.200}"]),
    ("pair", &["(1.10,\"a \"\"b\"\", \\\\c\")", "(,)"]),
    ("pair[]", &["{\"(1.10,\\\"a b\\\")\",NULL,\"(,)\"}"]),
    ("good", &["(1.10,x)"]),
    ("hstore", &["\"a\"=>\"1.10\", \"b\"=>NULL"]),
];

const TYPES: &str = "
    create extension hstore;
    create type mood as enum ('very happy', 'it''s, \"so\"');
    create domain price as numeric check (value > 0);
    create domain prices as price[];
    create type pair as (a numeric, b text);
    create domain good as pair check ((value).a > 0)";

/// What is stored of a message.
const MESSAGES: &[&str] = &[
    r#"{"v": 12345678901234567890123, "w": 1.10, "x": -0.0, "y": 1e-400, "z": 1e400}"#,
    r#"{"v": ["", "\u0001\t\"\\", "ü😀", null, true, {}, [], [[[[]]]]]}"#,
    r#"{"": {"a": 1, "aa": 2, "b": 1.000}}"#,
    r#"{}"#,
];

/// A table `kept` of rows `r`, numbered by `n`: the first has the first value of each type, and so on; the last is all null.
fn kept(platform: &Platform) -> i64 {
    let columns: Vec<String> =
        VALUES.iter().enumerate().map(|(place, (of_type, _))| format!("c{place} {of_type}")).collect();
    let count = VALUES.iter().map(|(_, values)| values.len()).max().unwrap() + 1;
    let quoted = |value: &str| format!("'{}'", value.replace('\'', "''"));
    let row = |number: usize| {
        let value = |(of_type, values): &(&str, &[&str])| match values.get(number) {
            Some(value) => format!("{}::{of_type}", quoted(value)),
            None => "null".to_owned(),
        };
        format!("({number}, row({})::event)", VALUES.iter().map(value).collect::<Vec<_>>().join(", "))
    };
    let rows = (0..count).map(row).collect::<Vec<_>>().join(",\n");
    // A line has the text of each value, and JSON as it is.
    let member = |(place, (of_type, _)): (usize, &(&str, &[&str]))| {
        let value = format!("(r).c{place}");
        let text = if of_type.starts_with("json") && !of_type.ends_with(']') {
            value
        } else {
            format!("to_json({value}::text)")
        };
        format!("'c{place}', {text}")
    };
    let members: Vec<String> = VALUES.iter().enumerate().map(member).collect();
    platform.sql(&format!(
        "{TYPES}; create type event as ({});
         create table kept (n int, r event); insert into kept values {rows};
         create table lines (n int, line text);
         insert into lines select n, json_build_object({}) from kept",
        columns.join(", "),
        members.join(", ")
    ));
    count as i64
}

/// Compares rows with those that are kept, as texts: what a query gives has `n` and `r`.
fn check(platform: &Platform, count: i64, way: &str, query: &str) {
    check_in(platform, DATABASE, count, way, query);
}

fn check_in(platform: &Platform, database: &str, count: i64, way: &str, query: &str) {
    let mut session = platform.cluster.connect(database).unwrap();
    let text = format!(
        "with got as materialized ({query})
         select (select count(*) from got),
                coalesce((select string_agg(got.r::text || ' is not ' || kept.r::text, '; ')
                          from got join kept using (n) where got.r::text is distinct from kept.r::text), '')"
    );
    let row = session.query_one(&text, &[]).unwrap_or_else(|error| panic!("{way}: {error:?}"));
    assert_eq!((row.get::<_, i64>(0), row.get::<_, String>(1).as_str()), (count, ""), "{way}");
}

/// A program of PostgreSQL's on a database, with an input; its output.
fn program(platform: &Platform, name: &str, database: &str, arguments: &[&str], input: Stdio) -> Command {
    let mut command = Command::new(platform.cluster.installation().program(name));
    command.args(["-d", &platform.cluster.connection_string(database).unwrap()]).args(arguments).stdin(input);
    command
}

/// Dumps the database, and restores it as `copy`.
fn copy(platform: &Platform) {
    platform.sql("create database copy");
    let mut dump = program(platform, "pg_dump", DATABASE, &["-Fc"], Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let from = Stdio::from(dump.stdout.take().unwrap());
    assert!(program(platform, "pg_restore", "copy", &["--exit-on-error"], from).status().unwrap().success());
    assert!(dump.wait().unwrap().success());
}

/// Reads a queue over HTTP; the table `answer` has what came. PostgreSQL reads it: another reader would lose digits.
fn read_over_http(platform: &Platform, queue: &str, back: &str) {
    let reply = platform.post(&format!("/queues/{queue}/read?vt=1+hour&qty=100"), "text/plain", b"");
    assert_eq!(reply.status, 200, "{queue}: {}", reply.text());
    let text = reply.text().replace('\'', "''");
    platform.sql("create table if not exists answer (body json)");
    platform.sql(&format!("truncate answer; insert into answer values ('{text}')"));
    platform.sql(&format!(
        "select count(*) from queue.{back}('{queue}', array(select generate_series(1, 100)::bigint), 0)"
    ));
}

#[test]
fn values_of_every_type_come_out_as_they_went_in() {
    let platform = Platform::start();
    let count = kept(&platform);
    platform.sql("select queue.serve()");
    let lines = platform.value("select string_agg(line, E'\\n' order by n) from lines").unwrap();
    for way in ["put", "producer", "lines", "http"] {
        platform.sql(&format!(
            "select queue.create('{way}', 'event', max_reads => 3);
             select queue.grant('{way}', permission, 'howdah_web') from unnest(array['send', 'take']) permission"
        ));
        match way {
            "put" => platform.sql("select queue.put('put', r) from kept order by n"),
            "producer" => platform.sql(&format!(
                "select queue.put('producer', array(select r from kept order by n), 'meter', 1, {count})"
            )),
            "lines" => platform.sql(
                "select * from queue.put_lines('lines', (select string_agg(line, E'\\n' order by n) from lines))",
            ),
            _ => {
                let reply = platform.post("/queues/http", "application/x-ndjson", lines.as_bytes());
                assert_eq!(reply.json()["stored"], json!(count), "{}", reply.text());
            }
        }
        let letters = format!(
            "select coalesce(string_agg(error, '; '), '') from queue.dead_letters where queue_name = '{way}'"
        );
        assert_eq!(platform.value(&letters).as_deref(), Some(""), "{way}");
        let numbered =
            |rows: &str, row: &str| format!("select msg_id - 1 as n, {row} as r from queue.{rows}");
        let read = numbered(&format!("read('{way}', 100, '0 s', null::event)"), "\"row\"");
        check(&platform, count, &format!("{way}, read"), &read);
        read_over_http(&platform, way, "nack");
        let over_http = "select count(*) from answer, json_array_elements(body -> 'rows') one
                         join kept on n = (one ->> 'msg_id')::int - 1 and row_to_json(r)::text = (one -> 'row')::text";
        assert_eq!(platform.value(over_http), Some(count.to_string()), "{way}, over HTTP");
        check(&platform, count, &format!("{way}, the third reading"), &read);
        // The fourth is none: they are dead letters.
        check(&platform, 0, &format!("{way}, read too often"), &read);
        if way == "put" {
            continue;
        }
        assert_eq!(platform.value(&format!("select queue.redrive('{way}')")), Some(count.to_string()));
    }
    copy(&platform);
    for database in [DATABASE, "copy"] {
        let mut session = platform.cluster.connect(database).unwrap();
        let redriven: i64 = session.query_one("select queue.redrive('put')", &[]).unwrap().get(0);
        assert_eq!(redriven, count, "{database}");
        for way in ["put", "producer", "lines", "http"] {
            let take = format!(
                "select row_number() over () - 1 as n, t as r from queue.take('{way}', 100, null::event) t"
            );
            check_in(&platform, database, count, &format!("{database}: {way}, taken"), &take);
        }
    }
}

#[test]
fn messages_and_their_headers_come_out_as_they_went_in() {
    let platform = Platform::start();
    let count = MESSAGES.len() as i64;
    let values: Vec<String> = MESSAGES
        .iter()
        .enumerate()
        .map(|(n, text)| format!("({n}, '{}'::jsonb)", text.replace('\'', "''")))
        .collect();
    platform.sql(&format!(
        "create table kept (n int, r jsonb); insert into kept values {}; select queue.serve()",
        values.join(", ")
    ));
    for way in ["send", "batch", "lines", "http"] {
        platform.sql(&format!(
            "select queue.create('{way}', max_reads => 3);
             select queue.grant('{way}', permission, 'howdah_web') from unnest(array['send', 'take']) permission"
        ));
        match way {
            "send" => platform.sql("select queue.send('send', r, r) from kept order by n"),
            "batch" => platform.sql("select queue.send_batch('batch', array_agg(r order by n), array_agg(r order by n)) from kept"),
            "lines" => platform.sql("select * from queue.put_lines('lines', (select string_agg(r::text, E'\\n' order by n) from kept))"),
            _ => {
                let reply = platform.post("/queues/http", "application/x-ndjson", MESSAGES.join("\n").as_bytes());
                assert_eq!(reply.json()["stored"], json!(count), "{}", reply.text());
            }
        }
        let has_headers = matches!(way, "send" | "batch");
        let columns = if has_headers { &["message", "headers"][..] } else { &["message"][..] };
        for column in columns {
            let read = format!("select msg_id - 1 as n, {column} as r from queue.read('{way}', 0, 100)");
            check(&platform, count, &format!("{way}, {column}"), &read);
            platform.sql(&format!(
                "select count(*) from queue.set_vt('{way}', array(select generate_series(1, {count})), 0)"
            ));
        }
        read_over_http(&platform, way, "set_vt");
        let over_http = "select (one ->> 'msg_id')::int - 1 as n, one #> '{row,message}' as r
                         from answer, json_array_elements(body -> 'rows') one";
        check(&platform, count, &format!("{way}, over HTTP"), over_http);
        while platform.value(&format!("select count(*) from queue.read('{way}', 0, 100)")).as_deref()
            != Some("0")
        {}
        if way == "send" {
            continue;
        }
        assert_eq!(platform.value(&format!("select queue.redrive('{way}')")), Some(count.to_string()));
    }
    copy(&platform);
    for database in [DATABASE, "copy"] {
        let mut session = platform.cluster.connect(database).unwrap();
        let redriven: i64 = session.query_one("select queue.redrive('send')", &[]).unwrap().get(0);
        assert_eq!(redriven, count, "{database}");
        for way in ["send", "batch", "lines", "http"] {
            let archived = format!(
                "select count(*) from queue.archive('{way}', array(select generate_series(1, 100)::bigint))"
            );
            assert_eq!(
                session.query_one(&archived, &[]).unwrap().get::<_, i64>(0),
                count,
                "{database}: {way}"
            );
            for column in ["message", "headers"] {
                if column == "headers" && !matches!(way, "send" | "batch") {
                    continue;
                }
                let archive = format!(
                    "select row_number() over (order by msg_id) - 1 as n, {column} as r from queue.a_{way}"
                );
                check_in(
                    &platform,
                    database,
                    count,
                    &format!("{database}: {way}, archived {column}"),
                    &archive,
                );
            }
        }
    }
}
