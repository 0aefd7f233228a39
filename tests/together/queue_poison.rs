//! A row that cannot be JSON is read over HTTP beside others: it holds up none of them.

use howdah_tests::bounds;
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

const LETTERS: &str = "select string_agg(read_ct || ' ' || message, ', ') from queue.dead_letters";
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
    assert_eq!(platform.value(LETTERS).as_deref(), Some(r#"2 {"id": 3, "word": "poison"}"#));
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
    assert_eq!(platform.value(LETTERS).as_deref(), Some(r#"2 {"id": 3, "word": "poison"}"#));
    assert_eq!(platform.value("select queue_length from queue.metrics('rows')").as_deref(), Some("0"));
}

/// Whoever has made a type raises in its cast what they like, also what the server says when it is asked for too much.
#[test]
fn a_cast_that_raises_an_error_of_the_servers_state_holds_up_nobody() {
    let platform = platform();
    platform.sql(
        "create or replace function to_secret_json(secret) returns json language plpgsql as $$
         begin
           if $1 = 'poison' then raise 'never' using errcode = '55000'; end if;
           return to_json($1::text);
         end $$",
    );
    let first = post(&platform, "/queues/rows/read?vt=1+hour");
    assert_eq!(ids(&first["rows"], |row| &row["row"]), [1, 2, 4, 5]);
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

/// A queue `large` of the table's type, whose rows come by HTTP, and fit into no answer as they are chosen.
fn platform_of_large_rows(settings: &[(&str, &str)]) -> Platform {
    let platform = Platform::with(settings);
    platform.sql(
        "create type document as (id int, content jsonb, amount numeric, words text);
         select queue.create('large', row_type => 'document', max_reads => 2), queue.create('notes', max_reads => 2);
         select queue.grant(name, permission, 'howdah_web')
         from unnest(array['send', 'take']) permission, unnest(array['large', 'notes']) name;
         select queue.serve()",
    );
    platform
}

fn send(platform: &Platform, queue: &str, lines: &str) {
    let reply = platform.post(&format!("/queues/{queue}"), "application/x-ndjson", lines.as_bytes());
    assert_eq!((reply.status, &reply.json()["rejected"]), (200, &json!(0)), "{}", reply.text());
}

/// Numbers that are short as they are sent, and in the table, and 131 kB each as they are written.
fn numbers(count: usize) -> String {
    format!("[{}]", vec!["1e131071"; count].join(","))
}

#[test]
fn a_page_over_http_ends_where_the_next_row_would_make_it_too_large() {
    let platform = platform_of_large_rows(&[("howdah.max_response", "1MB")]);
    let words = "x".repeat(200_000);
    let lines = |key: &str| -> String {
        (1..=12).map(|id| format!("{{\"id\": {id}, \"{key}\": \"{words}\"}}\n")).collect()
    };
    let numeric: String = (13..=99).map(|id| format!("{{\"id\": {id}, \"amount\": 1e-16383}}\n")).collect();
    send(&platform, "large", &(lines("words") + &numeric));
    send(&platform, "notes", &lines("words"));
    for (queue, row, count) in [("large", "row", 99), ("notes", "message", 12)] {
        let (mut seen, mut batch, mut pages) = (Vec::new(), String::new(), 0);
        while seen.len() < count {
            let page = post(&platform, &format!("/queues/{queue}/read?qty=1000&vt=1+hour{batch}"));
            assert!(page["rows"].as_array().unwrap().iter().all(|row| row["read_ct"] == 1), "{queue}");
            seen.extend(ids(&page["rows"], |found| &found[row]));
            batch = format!("&ack={}", page["batch"].as_str().expect("a batch"));
            pages += 1;
        }
        assert_eq!(seen, (1..=count as i64).collect::<Vec<_>>(), "{queue}");
        assert!(pages < count, "{queue}: {pages} pages");
    }
    send(&platform, "large", &lines("words"));
    send(&platform, "notes", &lines("words"));
    for queue in ["large", "notes"] {
        let mut taken = Vec::new();
        while taken.len() < 12 {
            let rows = post(&platform, &format!("/queues/{queue}/take?qty=1000"));
            taken.extend(ids(&rows["rows"], |row| if queue == "notes" { &row["message"] } else { row }));
        }
        assert_eq!(taken, (1..=12).collect::<Vec<_>>(), "{queue}");
    }
}

#[test]
fn a_row_that_no_answer_has_room_for_holds_up_nobody_over_http_and_becomes_a_dead_letter() {
    // The first is too large for a response; to write the second takes more memory than a request may have, and long.
    let cases = [
        ([("howdah.max_response", "1MB"), ("howdah.handler_memory", "1GB")], 300),
        ([("howdah.max_response", "32MB"), ("howdah.handler_memory", "96MB")], 3000),
    ];
    for (settings, count) in cases.into_iter().take(if cfg!(feature = "long") { 2 } else { 1 }) {
        let platform = platform_of_large_rows(&settings);
        let lines =
            |content: &str| format!("{{\"id\": 1}}\n{{\"id\": 2, \"content\": {content}}}\n{{\"id\": 3}}\n");
        for (queue, row) in [("large", "row"), ("notes", "message")] {
            send(&platform, queue, &lines(&numbers(count)));
            let mut seen = Vec::new();
            while let page = post(&platform, &format!("/queues/{queue}/read?vt=1+hour"))
                && let Some(batch) = page["batch"].as_str()
            {
                seen.extend(ids(&page["rows"], |found| &found[row]));
                post(&platform, &format!("/queues/{queue}/ack?batch={batch}"));
            }
            assert_eq!(seen, [1, 3], "{queue}");
            platform.sql("select queue.nack('large', 2)");
            platform.sql("select queue.set_vt('notes', 2, 0)");
            let taken = format!("/queues/{queue}/take?qty=1");
            assert_eq!(post(&platform, &taken), json!({"rows": []}), "{queue}");
            platform.sql("select queue.nack('large', 2)");
            platform.sql("select queue.set_vt('notes', 2, 0)");
            assert_eq!(post(&platform, &taken), json!({"rows": []}), "{queue}");
            let letters = format!(
                "select count(*) from queue.dead_letters where queue_name = '{queue}' and read_ct = 2"
            );
            assert_eq!(platform.value(&letters).as_deref(), Some("1"), "{queue}");
        }
    }
}

#[test]
fn rows_that_no_answer_has_room_for_let_a_reader_that_waits_have_those_behind_them() {
    let platform = platform_of_large_rows(&[("howdah.max_response", "1MB")]);
    let large = format!("{{\"id\": 1, \"content\": {}}}\n", numbers(20));
    send(&platform, "large", &(large.repeat(10) + "{\"id\": 2}\n"));
    let begin = std::time::Instant::now();
    let page = post(&platform, "/queues/large/read?qty=1&vt=1+hour&wait=30+s");
    assert_eq!(ids(&page["rows"], |row| &row["row"]), [2]);
    bounds::READ_BEHIND_ROWS_TOO_LARGE.check(begin.elapsed());
}
