//! A value that its type refuses, with whatever SQLSTATE: by every way in the line is a dead letter, and its neighbours are stored.

use howdah_tests::Platform;
use howdah_tests::abilities::brings_extension;
use howdah_tests::shippers::Intake;
use howdah_tests::{free_port, wait_for};
use serde_json::json;

/// What makes a type of which a value is bad, its name, and the value as JSON.
const TYPES: [(&str, &str, &str); 6] = [
    ("create extension hstore", "hstore", r#""=>=>""#),
    ("create extension ltree", "ltree", r#""a..b""#),
    ("", "tsvector", r#""a:b:'""#),
    ("", "regclass", r#""none.such""#),
    (
        "create function any_state(text) returns boolean language plpgsql as $$ begin
           if length($1) = 5 then raise exception 'refused' using errcode = $1; end if; return true; end $$;
         create domain checked as text check (any_state(value))",
        "checked",
        r#""XX000""#,
    ),
    ("create domain called as text check (value::regproc > 0)", "called", r#""none""#),
];

#[test]
fn a_value_that_its_type_refuses_with_any_sqlstate_stops_no_stream_and_no_neighbour() {
    let mut platform = Platform::start();
    platform.sql("select queue.serve()");
    for (sql, kind, bad) in TYPES {
        let extension = sql.strip_prefix("create extension ");
        if extension.is_none_or(|name| brings_extension(name, "lines of values of its type")) {
            platform = refuses_alone(platform, sql, kind, bad);
        }
    }
}

fn refuses_alone(platform: Platform, sql: &str, kind: &str, bad: &str) -> Platform {
    let (queue, lines) = (format!("q_{kind}"), free_port());
    platform.sql(sql);
    platform.sql(&format!(
        "create type t_{kind} as (id int, value {kind}); select queue.create('{queue}', row_type => 't_{kind}');
         select queue.grant('{queue}', 'send', 'howdah_web');
         select queue.listen({lines}, queue => '{queue}', address => '127.0.0.1', bucket_milliseconds => 200)"
    ));
    let intake = Intake { platform, lines };
    intake.wait_until_bound();
    let sent =
        |id: i32| format!("{{\"id\":{id}}}\n{{\"id\":{},\"value\":{bad}}}\n{{\"id\":{}}}\n", id + 1, id + 2);

    let mut shipper = intake.hello("p", 1);
    shipper.send(sent(1).as_bytes());
    let rejected = shipper.wait_for_ack(3);
    assert_eq!(rejected.len(), 1, "{kind}: {rejected:?}");
    assert_eq!(rejected[0]["$reject"]["sequence"], 2, "{kind}: {rejected:?}");
    assert_eq!(intake.pour(sent(11).as_bytes()), b"", "{kind}");
    let reply =
        intake.platform.post(&format!("/queues/{queue}"), "application/x-ndjson", sent(21).as_bytes());
    assert_eq!(reply.status, 200, "{kind}: {}", reply.text());
    let answer = reply.json();
    assert_eq!((&answer["stored"], &answer["rejected"]), (&json!(2), &json!(1)), "{kind}: {answer}");

    let ids = format!(
        "select string_agg(id::text, ',' order by id) from queue.peek('{queue}', 100, null::t_{kind})"
    );
    assert_eq!(intake.platform.value(&ids).as_deref(), Some("1,3,11,13,21,23"), "{kind}");
    wait_for(&format!("the lines of {kind} are counted"), || intake.view("rejected").as_deref() == Some("2"));
    assert_eq!(intake.view("failing").as_deref(), Some("f"), "{kind}");
    intake.platform
}
