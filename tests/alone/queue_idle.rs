//! What it costs to find nothing: no number of a transaction, so that consumers may ask as often as they like.

use cluster::postgres::Client;
use howdah_tests::queues::{Queues, number, put, take};

/// Statements that find nothing where nothing is free.
const LOOKS: &[&str] = &[
    "queue.take('bips', 10, null::t_bip)",
    "queue.read('bips', 10, '1 hour', null::t_bip)",
    "queue.take_with_poll('bips', 10, '10 ms', null::t_bip)",
    "queue.read_with_poll('bips', 10, '1 hour', '10 ms', null::t_bip)",
    "queue.pop('m', 10)",
    "queue.read('m', 3600, 10)",
    "queue.read('m', 3600, 10, '{\"n\": 1}')",
    "queue.read_with_poll('m', 3600, 10, 0)",
    "queue.ack('bips', array[0, 1000000])",
    "queue.delete('m', array[0, 1000000])",
    "queue.set_vt('m', 1000000, 10)",
];

/// How many rows a call returns, and whether its transaction has a number; it is rolled back.
fn look(session: &mut Client, call: &str) -> (i64, bool) {
    session.batch_execute("begin").unwrap();
    let found = number(session, &format!("select count(*) from {call}"));
    let has_number = number(session, "select count(pg_current_xact_id_if_assigned())") == 1;
    session.batch_execute("rollback").unwrap();
    (found, has_number)
}

#[test]
fn a_look_that_finds_nothing_uses_no_transaction_id() {
    let queues = Queues::start();
    queues.sql("select queue.create('m')");
    let mut session = queues.session();
    let mut nothing_is_free = |case: &str| {
        for call in LOOKS {
            assert_eq!(look(&mut session, call), (0, false), "{case}: {call}");
        }
    };
    nothing_is_free("new queues");

    let mut other = queues.session();
    let fill = |other: &mut Client| {
        put(other, 1, 300);
        let messages = "array(select jsonb_build_object('n', n % 3) from generate_series(1, 300) n)";
        other.batch_execute(&format!("select queue.send_batch('m', {messages})")).unwrap();
    };
    other.batch_execute("begin").unwrap();
    fill(&mut other);
    nothing_is_free("rows that are not committed");
    other.batch_execute("commit; begin").unwrap();
    assert_eq!(take(&mut other, 300).len(), 300);
    other.batch_execute("select queue.pop('m', 300)").unwrap();
    nothing_is_free("rows that somebody else has claimed");
    other.batch_execute("commit").unwrap();
    nothing_is_free("rows that are gone");

    fill(&mut other);
    other
        .batch_execute(
            "select queue.read('bips', 300, '1 hour', null::t_bip); select queue.read('m', 3600, 300)",
        )
        .unwrap();
    nothing_is_free("rows that are leased");
    other
        .batch_execute(
            "select queue.nack('bips', array(select generate_series(301, 600)), 3600);
             select queue.set_vt('m', array(select generate_series(301, 600)), 3600);
             select queue.send('m', '{\"n\": 1}', 3600)",
        )
        .unwrap();
    nothing_is_free("rows that are delayed");
    other.batch_execute("begin").unwrap();
    fill(&mut other);
    other.batch_execute("rollback").unwrap();
    nothing_is_free("rows that were never committed");

    // What is free is found all the same, and then there is a number.
    fill(&mut other);
    for call in &LOOKS[..8] {
        let (found, has_number) = look(&mut session, call);
        assert!(found == 10 && has_number, "{call}: {found}");
    }
}
