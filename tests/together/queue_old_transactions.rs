//! A queue that nobody has used for millions of transactions.

use howdah_tests::queues::{Queues, all, put, take};

#[test]
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
