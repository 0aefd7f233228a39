//! Rows that are many times as long as text as they are where they are stored. A queue takes no more text than it can give out
//! again, and buries what it has taken soon: those behind go on.

use std::time::Instant;

use howdah_tests::Platform;
use howdah_tests::bounds;
use howdah_tests::queues::{Queues, number};
use serde_json::json;

/// Numbers that are short as they are sent, and in the table, and 131 kB each as they are written.
fn numbers(count: usize) -> String {
    format!("[{}]", vec!["1e131071"; count].join(","))
}

/// The same as jsonb.
fn stored(count: usize) -> String {
    format!("to_jsonb(array_fill(1e131071, array[{count}]))")
}

/// Reads a queue whose first row was read before: it is buried in time, and the last row is handed out.
fn check(queues: &Queues, queue: &str, of_type: &str) {
    let mut session = queues.session();
    let read = format!(
        "select coalesce(sum((r.\"row\").n), 0) from queue.read('{queue}', 10, '1 hour', null::{of_type}) r"
    );
    let begin = Instant::now();
    assert_eq!(number(&mut session, &read), 2, "{queue}");
    bounds::LARGE_LETTERS.check(begin.elapsed());
    assert_eq!(number(&mut session, &format!("select queue_length from queue.metrics('{queue}')")), 1);
    // What jsonb cannot hold has none.
    let shown = if queue == "many" { "is distinct from" } else { "=" };
    let letter = format!(
        "select count(*) from queue.dead_letters
         where queue_name = '{queue}' and message ->> 'n' {shown} '1' and error like 'read 1 times%' and coalesce(length(message::text), 0) < 100"
    );
    assert_eq!(number(&mut session, &letter), 1, "{queue}");
    assert_eq!(number(&mut session, &format!("select queue.redrive('{queue}')")), 1);
    assert_eq!(number(&mut session, &format!("select queue_length from queue.metrics('{queue}')")), 2);
}

/// Row types with numbers in all that holds some, and a row of each of about so many times 131 kB as text.
const TYPES: &str = "create type pair as (a numeric, b jsonb);
     create domain few as jsonb;
     create type many as (n int, j jsonb, k json);
     create type narrowed as (n int, j few);
     create type listed as (n int, j numeric[]);
     create type ranged as (n int, j numrange[]);
     create type ranges as (n int, j nummultirange);
     create type nested as (n int, j pair[])";

fn rows(count: usize) -> [(&'static str, String); 6] {
    [
        ("many", format!("row(1, {}, '1e999999')", stored(count))),
        ("narrowed", format!("row(1, {}::few)", stored(count))),
        ("listed", format!("row(1, array_fill(1e131071, array[{count}]))")),
        ("ranged", format!("row(1, array_fill(numrange(1, 1e131071), array[{count}]))")),
        (
            "ranges",
            format!(
                "row(1, (select range_agg(numrange(('1e' || e)::numeric, ('2e' || e)::numeric))
                         from generate_series(20001, 20000 + 3 * {count}) e))"
            ),
        ),
        ("nested", format!("row(1, array_fill(row(1e131071, {})::pair, array[{count} / 10]))", stored(9))),
    ]
}

#[test]
fn a_queue_takes_no_row_that_it_could_not_give_out_again() {
    let platform = Platform::start();
    let refused = |statement: &str| {
        let state = format!(
            "do $do$ begin {statement}; raise 'taken'; exception when program_limit_exceeded then
               if sqlerrm <> 'the row has more than 64 MB as text, and a queue takes no more' then raise; end if; end $do$"
        );
        platform.sql(&state);
    };
    platform.sql(TYPES);
    for (of_type, value) in rows(600) {
        platform.sql(&format!(
            "select queue.create('{of_type}', '{of_type}'), queue.create('{of_type}_again', '{of_type}')"
        ));
        for queue in [of_type, &format!("{of_type}_again")] {
            // The second way has it from a table, compressed.
            platform.sql(&format!("create table \"{queue}_kept\" (kept {of_type}); insert into \"{queue}_kept\" values ({value})"));
            refused(&format!("perform queue.put('{queue}', ({value})::{of_type})"));
            refused(&format!("perform queue.put('{queue}', kept) from \"{queue}_kept\""));
            refused(&format!("perform queue.put('{queue}', array_agg(kept)) from \"{queue}_kept\""));
        }
    }
    platform.sql(&format!(
        "select queue.create('notes'); create table note (body jsonb); insert into note values ({})",
        stored(600)
    ));
    refused(&format!("perform queue.send('notes', {})", stored(600)));
    refused(&format!("perform queue.send('notes', '1', {})", stored(600)));
    refused("perform queue.send('notes', body) from note");
    refused("perform queue.send_batch('notes', array_agg(body)) from note");
    // Two values that are small enough each.
    refused(&format!("perform queue.send('notes', {0}, {0})", stored(300)));

    // Of lines the others are stored.
    platform.sql("select queue.grant(q, 'send', 'howdah_web') from unnest(array['notes', 'many', 'narrowed']) q; select queue.serve()");
    for queue in ["notes", "many", "narrowed"] {
        let lines = format!("{{\"n\": 1, \"j\": {}}}\n{{\"n\": 2}}\n", numbers(600));
        let sent =
            platform.post(&format!("/queues/{queue}"), "application/x-ndjson", lines.as_bytes()).json();
        assert_eq!((&sent["stored"], &sent["rejected"]), (&json!(1), &json!(1)), "{queue}: {sent}");
        assert_eq!(sent["errors"][0]["code"], json!("54000"), "{queue}: {sent}");
        let letters = format!(
            "select count(*) from queue.dead_letters where queue_name = '{queue}' and sqlstate = '54000'"
        );
        assert_eq!(platform.value(&letters).as_deref(), Some("1"), "{queue}");
        // It stays one.
        assert_eq!(
            platform.value(&format!("select queue.redrive('{queue}')")).as_deref(),
            Some("0"),
            "{queue}"
        );
        assert_eq!(platform.value(&letters).as_deref(), Some("1"), "{queue}");
    }
    // All of it can be read, and dumped.
    assert_eq!(
        platform
            .value("select count(*) from queue.read('notes', 30, 10) where length(message::text) < 100")
            .as_deref(),
        Some("1")
    );
}

#[test]
fn a_row_of_numbers_that_unfold_is_buried_soon_whatever_holds_them() {
    let queues = Queues::start();
    queues.sql(TYPES);
    for (of_type, value) in rows(400) {
        queues.sql(&format!(
            "select queue.create('{of_type}', '{of_type}', max_reads => 1);
             select queue.put('{of_type}', ({value})::{of_type});
             select count(r.msg_id) from queue.read('{of_type}', 1, '0 s', null::{of_type}) r;
             select queue.put('{of_type}', row(2, null{})::{of_type})",
            if of_type == "many" { ", null" } else { "" }
        ));
        check(&queues, of_type, of_type);
    }
}

#[test]
#[cfg_attr(not(feature = "long"), ignore = "it takes long: make test-long")]
fn a_row_of_large_values_is_buried_soon() {
    let queues = Queues::start();
    queues.sql(
        "create type large as (n int, a bytea, b text);
         select queue.create('large', 'large', max_reads => 1);
         select queue.put('large', row(1, convert_to(repeat('x', 10 << 20), 'UTF8'), repeat('y', 40 << 20))::large);
         select count(r.msg_id) from queue.read('large', 1, '0 s', null::large) r;
         select queue.put('large', row(2, null, null)::large)",
    );
    check(&queues, "large", "large");
    // All of it is kept.
    queues.sql(
        "select queue.create('whole', 'large', max_reads => 1);
         select queue.put('whole', row(3, convert_to(repeat('x', 20 << 20), 'UTF8'), 'y')::large);
         select count(r.msg_id) from queue.read('whole', 1, '0 s', null::large) r",
    );
    assert_eq!(queues.number("select count(r.msg_id) from queue.read('whole', 1, '0 s', null::large) r"), 0);
    assert_eq!(queues.number("select count(*) from queue.dead_letters where queue_name = 'whole'"), 1);
    assert_eq!(queues.number("select queue.redrive('whole')"), 1);
    let taken = "select count(*) from queue.take('whole', 1, null::large) t where n = 3 and length(a) = 20 << 20 and b = 'y'";
    assert_eq!(queues.number(taken), 1);
}

#[test]
fn a_message_of_numbers_that_unfold_is_buried_and_sent_again_as_it_is() {
    let queues = Queues::start();
    queues.sql(&format!(
        "select queue.create('notes', max_reads => 1); select queue.send('notes', {});
         select count(msg_id) from queue.read('notes', 0, 1); select queue.send('notes', '2')",
        stored(400)
    ));
    let begin = Instant::now();
    assert_eq!(queues.number("select sum(msg_id)::bigint from queue.read('notes', 3600, 10)"), 2);
    let letter = "select count(*) from queue.dead_letters where error = 'read 1 times; its JSON has more than 8 MB as text'";
    assert_eq!(queues.number(letter), 1);
    assert_eq!(queues.number("select queue.redrive('notes')"), 1);
    assert_eq!(queues.number("select jsonb_array_length(message)::bigint from queue.pop('notes', 1)"), 400);
    bounds::LARGE_LETTERS.check(begin.elapsed());
}

#[test]
fn one_line_that_unfolds_holds_no_executor_when_it_is_read_over_http() {
    let platform = Platform::start();
    platform.sql(
        "create type many as (n int, j jsonb);
         select queue.create('many', 'many', max_reads => 2);
         select queue.grant('many', permission, 'howdah_web') from unnest(array['send', 'take']) permission;
         select queue.serve()",
    );
    let lines = format!("{{\"n\": 1, \"j\": {}}}\n{{\"n\": 2}}\n", numbers(400));
    let sent = platform.post("/queues/many", "application/x-ndjson", lines.as_bytes());
    assert_eq!(sent.json()["rejected"], json!(0), "{}", sent.text());
    let read = || {
        let begin = Instant::now();
        let reply = platform.post("/queues/many/read?vt=1+hour", "text/plain", b"");
        assert_eq!(reply.status, 200, "{}", reply.text());
        bounds::READ_BEHIND_LARGE_ROWS.check(begin.elapsed());
        reply.json()["rows"]
            .as_array()
            .map(|rows| rows.iter().map(|row| row["row"]["n"].clone()).collect::<Vec<_>>())
    };
    assert_eq!(read(), Some(vec![json!(2)]));
    for _ in 0..2 {
        platform.sql("select queue.nack('many', 1)");
        assert_eq!(read(), Some(vec![]));
    }
    let letters = "select count(*) from queue.dead_letters where message = '{\"n\": 1}' and read_ct = 2";
    assert_eq!(platform.value(letters).as_deref(), Some("1"));
    // A server may have been built without it.
    let best = "select case when 'lz4' = any(enumvals) then 'lz4' else 'pglz' end from pg_settings
                where name = 'default_toast_compression'";
    let compression = "select pg_column_compression(column_values) from queue.dead_letter";
    assert_eq!(platform.value(compression), platform.value(best));
}
