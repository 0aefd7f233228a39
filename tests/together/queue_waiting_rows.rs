//! Rows that wait: for a time, for ever, or for nobody any more.

use howdah_tests::queues::{Queues, number, put};

#[test]
fn a_read_passes_dead_rows_and_finds_those_that_are_free() {
    let queues = Queues::start();
    queues.sql(
        "select queue.create('few', 't_bip', max_reads => 1); select queue.create('notes', max_reads => 1);
         select queue.put('few', array(select row(null, n, 1, 1, 'b', 'u')::t_bip from generate_series(1, 3000) n));
         select queue.send_batch('notes', array(select to_jsonb(n) from generate_series(1, 3000) n));
         select count(*) from queue.read('few', 2990, '0 s', null::t_bip);
         select count(*) from queue.read('notes', 0, 2990)",
    );
    let first_free = |call: &str| queues.number(&format!("select msg_id from {call}"));
    assert_eq!(first_free("queue.read('few', 1, '1 hour', null::t_bip)"), 2991);
    assert_eq!(first_free("queue.read('notes', 3600, 1)"), 2991);
    let dead = "select count(*) from queue.dead_letters where queue_name = ";
    assert_eq!(queues.number(&format!("{dead}'few'")), 2990);
    assert_eq!(queues.number(&format!("{dead}'notes'")), 2990);
    let read = "select count(*) from queue.read('few', 100, '1 hour', null::t_bip)";
    assert_eq!(queues.number(read), 9);
}

#[test]
fn a_conditional_read_passes_dead_messages_that_match() {
    let queues = Queues::start();
    queues.sql(
        "select queue.create('notes', max_reads => 1);
         select queue.send_batch('notes', array(select jsonb_build_object('n', n % 2) from generate_series(1, 100) n));
         select count(*) from queue.read('notes', 0, 50)",
    );
    let read = "select min(msg_id) from queue.read('notes', 3600, 2, '{\"n\": 1}')";
    assert_eq!(queues.number(read), 51);
}

#[test]
fn what_waits_for_ever_is_kept() {
    let queues = Queues::start();
    let mut session = queues.session();
    queues.sql("select queue.create('notes')");
    put(&mut session, 1, 1);
    for call in [
        "queue.send('notes', '1', 'infinity'::timestamptz)",
        "queue.send('notes', '2', '294276-12-31 23:59:59+00'::timestamptz)",
        "queue.send('notes', '3', '-infinity'::timestamptz)",
        "queue.send('notes', '4')",
        "queue.set_vt('notes', 4, 'infinity'::timestamptz)",
        "queue.read('bips', 1, '178000000 years', null::t_bip)",
    ] {
        session
            .query(&format!("select {call}::text"), &[])
            .unwrap_or_else(|error| panic!("{call}: {error:?}"));
    }
    let waiting = "select queue_length from queue.metrics('notes')";
    assert_eq!(number(&mut session, waiting), 4);
    assert_eq!(number(&mut session, "select queue_length from queue.metrics('bips')"), 1);
    assert_eq!(number(&mut session, "select sum(msg_id)::bigint from queue.read('notes', 60, 10)"), 3);
    // They come back when somebody says so.
    for number in [1, 2, 4] {
        session.batch_execute(&format!("select queue.set_vt('notes', {number}, 0)")).unwrap();
    }
    session.batch_execute("select queue.nack('bips', 1, 0)").unwrap();
    assert_eq!(number(&mut session, "select sum(msg_id)::bigint from queue.read('notes', 60, 10)"), 7);
    assert_eq!(number(&mut session, "select count(*) from queue.take('bips', 1, null::t_bip)"), 1);
}
