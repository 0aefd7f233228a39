//! A row that cannot be JSON is read over HTTP beside others: it holds up none of them.

use howdah_tests::{Platform, Reply};
use serde_json::{Value, json};

/// Rows 1 to 5; the third has a value whose cast to json raises.
fn platform() -> Platform {
    let platform = Platform::start();
    platform.sql(
        "create type secret as enum ('good', 'poison');
         create function to_secret_json(secret) returns json language plpgsql as $$
         begin
           if $1 = 'poison' then raise 'never' using errcode = 'HV000'; end if;
           return to_json($1::text);
         end $$;
         create cast (secret as json) with function to_secret_json(secret);
         create type event as (id int, word secret);
         select queue.create('rows', row_type => 'event', max_reads => 2);
         select queue.grant('rows', permission, 'howdah_web') from unnest(array['send', 'take']) permission;
         select queue.serve();
         select queue.put('rows', row(n, case n when 3 then 'poison' else 'good' end)::event)
         from generate_series(1, 5) n",
    );
    platform
}

fn post(platform: &Platform, path: &str) -> Value {
    let reply: Reply = platform.post(path, "text/plain", b"");
    assert_eq!(reply.status, 200, "{path}: {}", reply.text());
    reply.json()
}

fn ids(rows: &Value, of: impl Fn(&Value) -> &Value) -> Vec<i64> {
    rows.as_array().expect("rows").iter().map(|row| of(row)["id"].as_i64().expect("a number")).collect()
}

const LETTERS: &str =
    "select string_agg(read_ct || ' ' || convert_from(line, 'UTF8'), ', ') from queue.dead_letters";
const FREE: &str = "select queue.nack('rows', 3)";

#[test]
fn a_row_that_cannot_be_json_holds_up_no_reader_over_http_and_becomes_a_dead_letter() {
    let platform = platform();
    let first = post(&platform, "/queues/rows/read?vt=1+hour");
    assert_eq!(ids(&first["rows"], |row| &row["row"]), [1, 2, 4, 5]);
    assert_eq!(first["rows"][0]["row"], json!({"id": 1, "word": "good"}));
    let batch = first["batch"].as_str().expect("a batch");
    assert_eq!(post(&platform, &format!("/queues/rows/ack?batch={batch}")), json!({"acknowledged": 4}));
    platform.sql(FREE);
    assert_eq!(post(&platform, "/queues/rows/read?vt=1+hour"), json!({"batch": null, "rows": []}));
    assert_eq!(platform.value(LETTERS), None);
    platform.sql(FREE);
    assert_eq!(post(&platform, "/queues/rows/read?vt=1+hour&wait=1+s"), json!({"batch": null, "rows": []}));
    assert_eq!(platform.value(LETTERS).as_deref(), Some("2 (3,poison)"));
    assert_eq!(platform.value("select queue_length from queue.metrics('rows')").as_deref(), Some("0"));
}

#[test]
fn a_row_that_cannot_be_json_holds_up_no_taker_over_http_and_becomes_a_dead_letter() {
    let platform = platform();
    assert_eq!(ids(&post(&platform, "/queues/rows/take")["rows"], |row| row), [1, 2, 4, 5]);
    assert_eq!(platform.value("select queue_length from queue.metrics('rows')").as_deref(), Some("1"));
    platform.sql(FREE);
    platform.sql("select queue.put('rows', row(6, 'good')::event)");
    assert_eq!(ids(&post(&platform, "/queues/rows/take")["rows"], |row| row), [6]);
    platform.sql(FREE);
    assert_eq!(post(&platform, "/queues/rows/take"), json!({"rows": []}));
    assert_eq!(platform.value(LETTERS).as_deref(), Some("2 (3,poison)"));
    assert_eq!(platform.value("select queue_length from queue.metrics('rows')").as_deref(), Some("0"));
}

/// Whatever makes all of a request fail is no fault of a row: it is read again as if nothing had been.
#[test]
fn what_is_no_fault_of_a_row_counts_no_read() {
    let platform = platform();
    for state in ["40001", "53100", "57014", "55P03"] {
        platform.sql(&format!(
            "create or replace function to_secret_json(secret) returns json language plpgsql as $$
             begin raise 'later' using errcode = '{state}'; end $$"
        ));
        for door in ["read?vt=1+hour", "take"] {
            let reply = platform.post(&format!("/queues/rows/{door}"), "text/plain", b"");
            assert!(reply.status >= 500, "{state}, {door}: {} {}", reply.status, reply.text());
        }
    }
    platform.sql(
        "create or replace function to_secret_json(secret) returns json language sql as $$ select to_json($1::text) $$",
    );
    let read = post(&platform, "/queues/rows/read");
    assert_eq!(ids(&read["rows"], |row| &row["row"]), [1, 2, 3, 4, 5]);
    assert_eq!(read["rows"][2]["read_ct"], json!(1));
}
