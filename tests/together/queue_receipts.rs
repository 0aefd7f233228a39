//! Leases have receipts: whoever comes late settles nothing that somebody else has read since.

use cluster::postgres::Client;
use howdah_tests::Platform;
use howdah_tests::queues::{Queues, error, number};
use serde_json::{Value, json};

/// What settles a row of a queue of typed rows or of messages.
const CALLS: [(&str, &str); 12] = [
    ("rows", "select queue.ack('rows', 1, {})"),
    ("rows", "select queue.ack('rows', array[1], array[{}])"),
    ("rows", "select queue.nack('rows', 1, 0, {})"),
    ("rows", "select queue.nack('rows', 1, 600, read_ct => {})"),
    ("rows", "select queue.nack('rows', array[1], 600, array[{}])"),
    ("notes", "select queue.delete('notes', 1, {})"),
    ("notes", "select queue.delete('notes', array[1], array[{}])"),
    ("notes", "select queue.archive('notes', 1, {})"),
    ("notes", "select queue.archive('notes', array[1], array[{}])"),
    ("notes", "select queue.set_vt('notes', 1, 0, {})"),
    ("notes", "select queue.set_vt('notes', array[1], 0, array[{}])"),
    ("notes", "select queue.set_vt('notes', 1, now() - interval '1 hour', {})"),
];

const READS: [(&str, &str); 2] = [
    ("rows", "select msg_id, read_ct from queue.read('rows', 1, '{} s', null::event)"),
    ("notes", "select msg_id, read_ct from queue.read('notes', {}, 1)"),
];

fn queues() -> Queues {
    let queues = Queues::start();
    queues.sql(
        "create type event as (id int);
         select queue.create('rows', row_type => 'event'), queue.create('notes')",
    );
    queues
}

/// Leases the only row for so many seconds; the number of the reading, if it was free.
fn read(session: &mut Client, queue: &str, seconds: i32) -> Option<i32> {
    let (_, query) = READS.iter().find(|(name, _)| *name == queue).expect("a queue");
    let rows = session.query(&query.replace("{}", &seconds.to_string()), &[]).expect("it reads");
    rows.first().map(|row| row.get(1))
}

#[test]
fn who_comes_late_settles_nothing_that_was_read_again() {
    let queues = queues();
    let mut session = queues.session();
    for (queue, call) in CALLS {
        let send =
            if queue == "rows" { "queue.put('rows', row(1)::event)" } else { "queue.send('notes', '1')" };
        let position = number(&mut session, &format!("select {send}"));
        let call = call
            .replace("', 1", &format!("', {position}"))
            .replace("array[1]", &format!("array[{position}]"));
        // The first reader's time is over at once.
        let first = read(&mut session, queue, 0).expect("it is free");
        let second = read(&mut session, queue, 3600).expect("its lease is over");
        assert_ne!(first, second, "{call}");
        let late = call.replace("{}", &first.to_string());
        let settled = |session: &mut Client, call: &str| -> bool {
            let rows = session.simple_query(&format!("select count(*) from ({call}) settled (found) where found::text <> 'false' and found::text <> 'f'"));
            rows.unwrap_or_else(|error| panic!("{call}: {error:?}")).iter().any(
                |message| matches!(message, cluster::postgres::SimpleQueryMessage::Row(row) if row.get(0) != Some("0")),
            )
        };
        assert!(!settled(&mut session, &late), "{late} settled the lease of another");
        assert_eq!(read(&mut session, queue, 0), None, "{late} ended the lease of another");
        let own = call.replace("{}", &second.to_string());
        assert!(settled(&mut session, &own), "{own} settled nothing");
        session.batch_execute(&format!("select queue.purge_queue('{queue}')")).unwrap();
    }
}

#[test]
fn a_receipt_is_good_until_the_row_is_read_again() {
    let queues = queues();
    queues.sql("select queue.put('rows', row(1)::event)");
    let mut session = queues.session();
    let receipt = read(&mut session, "rows", 0).expect("it is free");
    // The time is over, and is made longer twice.
    for call in ["select queue.nack('rows', 1, 600, {})", "select queue.nack('rows', 1, 0, {})"] {
        let longer = session.query_one(&call.replace("{}", &receipt.to_string()), &[]).unwrap();
        assert!(longer.get::<_, bool>(0), "{call}");
    }
    // A reading that was rolled back is none.
    let mut other = queues.session();
    other.batch_execute("begin").unwrap();
    assert_eq!(read(&mut other, "rows", 3600), Some(receipt + 1));
    other.batch_execute("rollback").unwrap();
    let acknowledged = session.query_one("select queue.ack('rows', 1, $1)", &[&receipt]).unwrap();
    assert!(acknowledged.get::<_, bool>(0));
}

#[test]
fn receipts_are_as_many_as_rows() {
    let queues = queues();
    queues.sql("select queue.put('rows', row(n)::event) from generate_series(1, 4) n");
    let mut session = queues.session();
    session.batch_execute("select queue.read('rows', 4, '1 hour', null::event)").unwrap();
    let refused = error(&mut session, "select queue.ack('rows', array[1, 2], array[1])");
    assert!(
        refused.starts_with("22023") && refused.contains("msg_ids has 2 numbers, and read_cts has 1"),
        "{refused}"
    );
    assert_eq!(number(&mut session, "select queue_length from queue.metrics('rows')"), 4);
    // Each row has its own; two for one row; none is that of whoever names it.
    let settled: Vec<i64> = session
        .query("select queue.ack('rows', array[3, 1, 1, 2, 4, null], array[1, 2, 1, 7, null, 1])", &[])
        .unwrap()
        .iter()
        .map(|row| row.get(0))
        .collect();
    assert_eq!(settled, [1, 3, 4]);
    assert_eq!(number(&mut session, "select count(*) from queue.ack('rows', array[2])"), 1);
}

#[test]
fn a_batch_over_http_that_is_acknowledged_late_leaves_what_was_read_again() {
    let platform = Platform::start();
    platform.sql(
        "create type event as (id int);
         select queue.create('rows', row_type => 'event'), queue.create('notes');
         select queue.grant(name, permission, 'howdah_web')
         from unnest(array['rows', 'notes']) name, unnest(array['send', 'take']) permission;
         select queue.serve();
         select queue.put('rows', row(n)::event) from generate_series(1, 5) n;
         select queue.send('notes', to_jsonb(n)) from generate_series(1, 5) n",
    );
    let post = |path: &str| -> Value { platform.post(path, "text/plain", b"").json() };
    let free = [
        ("rows", "select queue.nack('rows', array[2, 4])"),
        ("notes", "select queue.set_vt('notes', array[2, 4], 0)"),
    ];
    for (queue, free) in free {
        let first = post(&format!("/queues/{queue}/read?vt=1+hour"));
        let late = first["batch"].as_str().expect("a batch").to_owned();
        // As if its time were over for two of them.
        platform.sql(free);
        let second = post(&format!("/queues/{queue}/read?vt=1+hour"));
        assert_eq!(second["rows"].as_array().map(Vec::len), Some(2), "{second}");
        assert_eq!(post(&format!("/queues/{queue}/ack?batch={late}")), json!({"acknowledged": 3}), "{queue}");
        let batch = second["batch"].as_str().expect("a batch");
        // By the next read, which finds nothing.
        assert_eq!(post(&format!("/queues/{queue}/read?ack={batch}"))["rows"], json!([]));
        let left = platform.value(&format!("select queue_length from queue.metrics('{queue}')"));
        assert_eq!(left.as_deref(), Some("0"), "{queue}");
    }
}
