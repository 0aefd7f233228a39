//! Rows that others have written: COPY, a restore, the apply of logical replication.

use std::process::{Command, Stdio};

use cluster::{Cluster, Life, Shutdown};
use howdah_tests::queues::{Queues, all, number, put, take};
use howdah_tests::wait_for;

fn run(cluster: &Cluster, program: &str, database: &str, arguments: &[&str]) {
    let output = Command::new(cluster.installation().program(program))
        .args(["-d", &cluster.connection_string(database).unwrap()])
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_queue_that_is_restored_into_the_same_database_gives_its_rows() {
    let queues = Queues::start();
    queues.put(1, 1000);
    assert_eq!(take(&mut queues.session(), 350), all(1, 350));
    let file = queues.cluster.data().join("queues.dump");
    let file = file.to_str().unwrap();
    run(&queues.cluster, "pg_dump", "postgres", &["-Fc", "-f", file]);
    assert_eq!(take(&mut queues.session(), 1000), all(351, 1000));
    queues.sql("drop extension howdah cascade; drop type t_bip");
    run(&queues.cluster, "pg_restore", "postgres", &["--exit-on-error", file]);
    let mut session = queues.session();
    assert_eq!(number(&mut session, "select queue_length from queue.metrics('bips')"), 650);
    put(&mut session, 1001, 1010);
    assert_eq!(take(&mut session, 2000), all(351, 1010));
}

#[test]
fn rows_that_are_copied_into_a_queue_that_is_used_are_given_and_their_numbers_are_not_used_again() {
    let queues = Queues::start();
    let mut session = queues.session();
    queues.sql("select queue.create('other', row_type => 't_bip')");
    session
        .batch_execute(
            "select queue.put('other', array(select row(null, n, 1, 2, 'b', 'u')::t_bip from generate_series(1, 400) n))",
        )
        .unwrap();
    put(&mut session, 1, 10);
    assert_eq!(take(&mut session, 20), all(1, 10));
    // As a subscriber's apply does: the rows, then what the ledger says of them.
    session
        .batch_execute(
            "insert into queue.rows_1_1 select * from queue.rows_2_1 where \"@position\" > 10;
             insert into queue.ledger_1_1 select * from queue.ledger_2_1 where first > 127",
        )
        .unwrap();
    wait_for("the rows are found", || {
        number(&mut session, "select count(*) from queue.peek('bips', 1000, null::t_bip)") == 273
    });
    put(&mut session, 1001, 1001);
    let numbers = "select count(*) - count(distinct \"@position\") from queue.rows_1_1";
    assert_eq!(number(&mut session, numbers), 0, "a number was used twice");
    assert_eq!(take(&mut session, 1000), [all(128, 400), vec![1001]].concat());
}

#[test]
fn an_unlogged_queue_uses_no_number_again_after_a_crash() {
    let mut queues = Queues::start();
    queues.sql(
        "select queue.create('fast', 't_bip', unlogged => true); select queue.create('notes', unlogged => true)",
    );
    let put = "select queue.put('fast', row(null, 1, 1, 1, '', '')::t_bip)";
    let send = "select queue.send('notes', '1')";
    assert_eq!((queues.number(put), queues.number(send)), (1, 1));
    let mut used = vec![1];
    for _ in 0..2 {
        queues.cluster.restart(Shutdown::Immediate, Life::WithParent).unwrap();
        for call in [put, send] {
            let number = queues.number(call);
            assert!(!used.contains(&number), "{call}: {number} again");
            used.push(number);
        }
        let late = format!("select queue.ack('fast', {}), queue.delete('notes', {})", used[0], used[0]);
        queues.sql(&late);
        assert_eq!(queues.number("select queue_length from queue.metrics('fast')"), 1);
        assert_eq!(queues.number("select queue_length from queue.metrics('notes')"), 1);
        // In order, nothing is lost.
        queues.cluster.restart(Shutdown::Fast, Life::WithParent).unwrap();
        assert_eq!(queues.number("select count(*) from queue.take('fast', 10, null::t_bip)"), 1);
        queues.sql("select queue.pop('notes', 10)");
    }
}

#[test]
fn a_row_that_two_segments_have_is_given_once_and_ends_no_search() {
    let mut queues = Queues::start();
    queues.sql("select queue.create('notes')");
    queues.sql("select queue.send_batch('notes', array(select to_jsonb(n) from generate_series(1, 300) n))");
    // As the restore of a dump that was made while rows were moved.
    queues.sql(
        "insert into queue.rows_2_2 select * from queue.rows_2_1 where \"@position\" between 100 and 139;
         insert into queue.ledger_2_2
           select 100, at, until, read_at, 28, reads, low, high from queue.ledger_2_1 where first = 1
           union all select 128, at, until, read_at, 12, reads, low, high from queue.ledger_2_1 where first = 128",
    );
    queues.cluster.restart(Shutdown::Immediate, Life::WithParent).unwrap();
    let mut session = queues.session();
    let mut pop = |count: i32| -> Vec<i64> {
        let rows = session.query("select msg_id from queue.pop('notes', $1)", &[&count]).unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    };
    assert_eq!(
        [pop(99), pop(10), pop(1000), pop(1000)],
        [all(1, 99), all(100, 109), all(110, 300), all(1, 0)]
    );
}
