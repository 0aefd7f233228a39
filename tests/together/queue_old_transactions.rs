//! Queues and transactions that are old, or many at once.

use howdah_tests::queues::{Queues, all, buffers, number, put, take};

#[test]
#[cfg_attr(not(feature = "long"), ignore = "it takes long: make test-long")]
fn a_queue_outlives_the_commit_log_of_its_transactions() {
    let queues = Queues::start();
    let (mut session, mut aborted) = (queues.session(), queues.session());
    put(&mut session, 1, 30);
    assert_eq!(take(&mut session, 10), all(1, 10));
    aborted.batch_execute("begin").unwrap();
    assert_eq!(take(&mut aborted, 10), all(11, 20));
    put(&mut aborted, 100, 110);
    aborted.batch_execute("rollback").unwrap();
    // More transactions than two segments of the log hold, then nothing needs them any more.
    queues.sql("alter database template0 with allow_connections true; create unlogged table burnt (n int)");
    session
        .batch_execute(
            "do $$ begin
               for round in 1..22 loop
                 for n in 1..100000 loop
                   begin
                     insert into burnt values (1);
                     raise exception using errcode = 'P0001';
                   exception when raise_exception then null;
                   end;
                 end loop;
                 commit;
               end loop;
             end $$",
        )
        .unwrap();
    for database in ["template0", "template1", "postgres"] {
        queues.cluster.connect(database).unwrap().batch_execute("vacuum freeze").unwrap();
    }
    let oldest = "select min(name)::text from pg_ls_dir('pg_xact') name";
    let oldest: String = session.query_one(oldest, &[]).unwrap().get(0);
    assert_ne!(oldest, "0000", "the log was not cut off");
    assert_eq!(queues.number("select queue_length from queue.metrics('bips')"), 20);
    queues.sql("select queue.maintain('bips')");
    assert_eq!(take(&mut session, 100), all(11, 30));
}

/// Takers that work with what they have taken before they commit.
#[test]
fn a_take_costs_the_same_beside_many_open_transactions() {
    const TAKERS: usize = 150;
    let queues = Queues::with(&[("max_connections", "200")]);
    let mut session = queues.session();
    session.batch_execute("select queue.create('jobs')").unwrap();
    // Somebody's transaction that is older than all others, in another database.
    let mut old = queues.cluster.connect("template1").unwrap();
    old.batch_execute("begin; select txid_current()").unwrap();
    let mut takers: Vec<_> = (0..TAKERS).map(|_| queues.session()).collect();
    let take = "begin; select queue.pop('jobs')";
    for taker in &mut takers {
        session.batch_execute("select queue.send('jobs', '1')").unwrap();
        taker.batch_execute(take).unwrap();
    }
    for round in 0..2000 {
        session.batch_execute("select queue.send('jobs', '1')").unwrap();
        takers[round % TAKERS].batch_execute(&format!("commit; {take}")).unwrap();
    }
    session.batch_execute("select queue.send('jobs', '1')").unwrap();
    let touched = buffers(&mut session, "select queue.pop('jobs')");
    assert!(touched < 400, "a take beside {TAKERS} transactions has touched {touched} pages");
    // What those have that do not commit is there again.
    takers.iter_mut().for_each(|taker| taker.batch_execute("rollback").unwrap());
    assert_eq!(number(&mut session, "select count(*) from queue.pop('jobs', 1000)"), TAKERS as i64);
}

/// Each of the senders has positions that takers have passed by, and which are not there yet.
#[test]
fn rows_of_more_senders_than_two_hundred_at_once_are_all_taken() {
    const SENDERS: i64 = 220;
    let queues = Queues::with(&[("max_connections", "250")]);
    let mut session = queues.session();
    let mut senders: Vec<_> = (0..SENDERS).map(|_| queues.session()).collect();
    for (sender, number) in senders.iter_mut().zip(1..) {
        sender.batch_execute("begin").unwrap();
        put(sender, number, number);
    }
    assert!(take(&mut session, 1000).is_empty());
    put(&mut session, 1000, 1000);
    assert_eq!(take(&mut session, 1000), [1000]);
    for (number, sender) in senders.iter_mut().enumerate().rev() {
        sender.batch_execute(if number % 3 == 0 { "rollback" } else { "commit" }).unwrap();
        if number % 50 == 0 {
            take(&mut session, 1);
        }
    }
    let rest = take(&mut session, 1000).len() as i64;
    assert_eq!(rest, (0..SENDERS).filter(|number| number % 3 != 0).count() as i64 - 5);
}
