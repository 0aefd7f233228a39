//! What a dump has of queues.

use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;

use cluster::Cluster;
use cluster::postgres::Client;
use howdah_tests::queues::{Queues, all, buffers, error, number, put, sorted, take};

fn program(cluster: &Cluster, name: &str, database: &str, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new(cluster.installation().program(name))
        .args(["-d", &cluster.connection_string(database).unwrap()])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    // A program that reads nothing closes its input.
    let _ = writer.join().unwrap();
    assert!(output.status.success(), "{name} has failed");
    output.stdout
}

#[test]
fn a_dump_has_every_row_that_was_not_delivered_and_none_that_was() {
    let queues = Queues::start();
    queues.sql(
        "create role clerk nologin; select queue.grant('bips', 'take', 'clerk');
         select queue.create('idle', row_type => 't_bip');
         select queue.create('notes', max_reads => 2);
         create role keeper nologin; grant howdah_admin to keeper;
         set role keeper; select queue.create('kept')",
    );
    // One waits, one is consumed, one leased, one in the archive, one a dead letter.
    for statement in [
        "queue.send('notes', '{\"n\": 1}')",
        "queue.send('notes', '{\"n\": 2}', 3600)",
        "queue.send_batch('notes', array['{\"n\": 3}', '{\"n\": 4}', '{\"n\": 5}', '{\"n\": 6}']::jsonb[])",
        "queue.delete('notes', 3)",
        "queue.read('notes', 3600, 1, '{\"n\": 4}')",
        "queue.archive('notes', 5)",
        "queue.read('notes', 0, 1, '{\"n\": 6}')",
        "queue.read('notes', 0, 1, '{\"n\": 6}')",
        "queue.read('notes', 0, 1, '{\"n\": 6}')",
        "queue.send('kept', '1')",
        "queue.archive('kept', 1)",
    ] {
        queues.sql(&format!("select {statement}"));
    }
    let mut session = queues.session();
    (0..20).for_each(|batch| put(&mut session, batch * 1000 + 1, batch * 1000 + 1000));
    assert_eq!(take(&mut session, 3500).len(), 3500);
    let mut open = queues.session();
    open.batch_execute("begin").unwrap();
    assert_eq!(take(&mut open, 10), all(3501, 3510));
    let dump = program(&queues.cluster, "pg_dump", "postgres", &["-Fc"], b"");
    open.batch_execute("commit").unwrap();

    let other = Queues::empty(&[]);
    other.sql("create role clerk nologin; create role keeper nologin");
    other.sql("create database copy");
    program(&other.cluster, "pg_restore", "copy", &["--exit-on-error"], &dump);
    let mut copy = other.cluster.connect("copy").unwrap();
    // A session's first take reads catalogs, more of them from version to version.
    copy.batch_execute("select from queue.take('idle', 1, null::t_bip)").unwrap();
    let pages = buffers(&mut copy, "select count(*) from queue.take('bips', 1000, null::t_bip)");
    assert!(pages < 400, "a take touches {pages} pages in the copy");
    assert_eq!(sorted(take(&mut copy, 100_000)), all(4501, 20_000));
    put(&mut copy, 1, 3);
    assert_eq!(take(&mut copy, 10), all(1, 3));
    assert!(number(&mut copy, "select queue.put('bips', row(null, 1, 1, 1, '', '')::t_bip)") > 20_000);
    for (query, count) in [
        ("select queue_length from queue.metrics('notes')", 3),
        ("select sum(msg_id)::bigint from queue.read('notes', 30, 10) where message = '{\"n\": 1}'", 1),
        ("select count(*) from queue.read('notes', 30, 10)", 0),
        ("select count(*) from queue.set_vt('notes', 2, 0) where message = '{\"n\": 2}' and read_ct = 0", 1),
        ("select count(*) from queue.set_vt('notes', 4, 0) where message = '{\"n\": 4}' and read_ct = 1", 1),
        ("select sum(msg_id)::bigint from queue.a_notes where message = '{\"n\": 5}'", 5),
        (
            "select count(*) from queue.dead_letters where queue_name = 'notes' and message = '{\"n\": 6}' and read_ct = 2",
            1,
        ),
        ("select queue.redrive('notes')", 1),
        ("select count(*) from queue.queue where name = 'kept' and owner = 'keeper'::regrole", 1),
    ] {
        assert_eq!(number(&mut copy, query), count, "{query}");
    }
    copy.batch_execute(
        "set role keeper; select * from queue.a_kept; select queue.drop_queue('kept'); reset role",
    )
    .unwrap();
    copy.batch_execute("set role clerk; select queue.take('bips', 1, null::t_bip)").unwrap();
    copy.batch_execute("reset role; select queue.create('another')").unwrap();
}

#[test]
fn a_dump_whose_snapshot_is_older_than_a_truncation_knows_producers_and_positions() {
    let queues = Queues::with(&[("howdah.queue_segment_size", "1MB")]);
    let send = |first: i64, last: i64, epoch: i32| {
        format!(
            "select queue.put('bips', array(select row(null, n, 1, 2, 'b', 'u')::t_bip from generate_series({first}, {last}) n),
             'p', {epoch}, {last})"
        )
    };
    // Each fills a segment.
    assert_eq!(queues.number(&send(1, 20_000, 3)), 20_000);
    assert_eq!(queues.number(&send(20_001, 40_000, 3)), 20_000);
    assert_eq!(take(&mut queues.session(), 100_000).len(), 40_000);
    let mut holder = queues.session();
    holder.batch_execute("begin isolation level repeatable read").unwrap();
    let snapshot: String = holder.query_one("select pg_export_snapshot()", &[]).unwrap().get(0);
    // As if they were truncated after a dump has taken its snapshot, and before it locks tables.
    assert_eq!(queues.number("select queue.maintain('bips')::bigint"), 2);
    let arguments = ["-Fc", "--snapshot", &snapshot];
    let dump = program(&queues.cluster, "pg_dump", "postgres", &arguments, b"");

    queues.sql("create database copy");
    program(&queues.cluster, "pg_restore", "copy", &["--exit-on-error"], &dump);
    let mut copy = queues.cluster.connect("copy").unwrap();
    assert!(take(&mut copy, 10).is_empty());
    assert_eq!(number(&mut copy, &send(39_001, 40_010, 3)), 10, "the producer is known");
    assert!(error(&mut copy, &send(40_011, 40_020, 2)).contains("epoch 2 is over"));
    let position = number(&mut copy, "select queue.put('bips', row(null, 1, 1, 1, '', '')::t_bip)");
    assert!(position > 40_000, "position {position} has been given out before");
}

#[test]
fn a_dump_of_queues_whose_tables_were_locked_before_has_what_its_snapshot_sees() {
    let queues = Queues::with(&[("howdah.queue_segment_size", "1MB")]);
    queues.sql("select queue.create('notes'); select queue.send('notes', '\"before\"')");
    let mut session = queues.session();
    let mut keeper = queues.session();
    keeper.batch_execute("begin").unwrap();
    let locks = "select format('lock table %s in access share mode', oid::regclass) from pg_class
        where relnamespace = 'queue'::regnamespace and relkind = 'r'";
    for row in keeper.query(locks, &[]).unwrap() {
        keeper.batch_execute(row.get(0)).unwrap();
    }
    // A dump has its snapshot, and waits for its locks.
    let mut holder = queues.session();
    holder.batch_execute("begin isolation level repeatable read").unwrap();
    let snapshot: String = holder.query_one("select pg_export_snapshot()", &[]).unwrap().get(0);
    session.batch_execute("select queue.send('notes', '\"since\"', 86400)").unwrap();
    let pop = "select count(*) from queue.pop('notes', 100000)";
    assert_eq!(number(&mut session, pop), 1);
    for _ in 0..4 {
        let fill = "select count(*) from queue.send_batch('notes', array(select to_jsonb(repeat('x', 900)) from generate_series(1, 2000)))";
        assert_eq!(number(&mut session, fill), 2_000);
        assert_eq!(number(&mut session, pop), 2_000);
        session.batch_execute("select queue.maintain('notes')").unwrap();
    }
    let dump = program(&queues.cluster, "pg_dump", "postgres", &["-Fc", "--snapshot", &snapshot], b"");

    session.batch_execute("create database copy").unwrap();
    program(&queues.cluster, "pg_restore", "copy", &["--exit-on-error"], &dump);
    let mut copy = queues.cluster.connect("copy").unwrap();
    let waiting: Vec<String> = copy
        .query("select message::text from queue.peek('notes', 10)", &[])
        .unwrap()
        .iter()
        .map(|row| row.get(0))
        .collect();
    assert_eq!(waiting, ["\"before\""]);
    assert_eq!(number(&mut copy, "select queue_length from queue.metrics('notes')"), 1);
    // Once the lock is given back the space is, too.
    keeper.batch_execute("rollback").unwrap();
    holder.batch_execute("rollback").unwrap();
    (0..2).for_each(|_| session.batch_execute("select queue.maintain('notes')").unwrap());
    let size = "select sum(pg_table_size(oid))::bigint from pg_class
        where relnamespace = 'queue'::regnamespace and relname ~ '^rows_2_'";
    let size = number(&mut session, size);
    assert!(size < 4 << 20, "{size} bytes");
}

#[test]
fn a_dump_carries_listeners() {
    let queues = Queues::start();
    let [port, other_port] = [howdah_tests::free_port(), howdah_tests::free_port()];
    queues.sql(&format!(
        "create role writer nologin; create table visit (page text, rest jsonb);
         select queue.grant('bips', 'send', 'writer');
         select queue.listen({port}, 'bips', role => 'writer', token => 'secret', durability => 'memory',
                             bucket_rows => 7, longest_line => 5000, address => '127.0.0.1', allow => '{{10.0.0.0/8}}');
         select queue.listen({other_port}, into_table => 'visit', rest_column => 'rest')"
    ));
    let listeners = |session: &mut Client| -> Vec<String> {
        let rows = session.query("select l::text from queue.listener l order by port", &[]).unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    };
    let dump = program(&queues.cluster, "pg_dump", "postgres", &["-Fc"], b"");
    let other = Queues::empty(&[]);
    other.sql("create role writer nologin");
    other.sql("create database copy");
    program(&other.cluster, "pg_restore", "copy", &["--exit-on-error"], &dump);
    let there = listeners(&mut other.cluster.connect("copy").unwrap());
    assert_eq!(there, listeners(&mut queues.session()));
    assert!(there.len() == 2 && !there.concat().contains("secret"), "{there:?}");
}

#[test]
fn a_dump_of_the_schema_alone_leaves_nothing_that_keeps_queues_from_being_made() {
    let queues = Queues::start();
    queues.sql("select queue.create('mail'), queue.send('mail', '1'), queue.create('other')");
    let dump = program(&queues.cluster, "pg_dump", "postgres", &["-Fc", "-s"], b"");
    queues.sql("create database copy");
    program(&queues.cluster, "pg_restore", "copy", &["--exit-on-error"], &dump);
    let mut copy = queues.cluster.connect("copy").unwrap();
    // What somebody has put there is not thrown away.
    copy.batch_execute(
        "insert into queue.a_other (msg_id, read_ct, enqueued_at, vt) values (1, 0, now(), now())",
    )
    .unwrap();
    for create in ["queue.create('mail')", "queue.create('bips', 't_bip')", "queue.create('new')"] {
        copy.batch_execute(&format!("select {create}; select {create}")).unwrap();
    }
    let kept = error(&mut copy, "select queue.create('other')");
    assert!(kept.starts_with("55000") && kept.contains("queue.a_other belongs to no queue"), "{kept}");
    assert_eq!(number(&mut copy, "select queue.send('mail', '1')"), 1);
    put(&mut copy, 1, 3);
    assert_eq!(take(&mut copy, 10), all(1, 3));
    copy.batch_execute("delete from queue.a_other; select queue.create('other')").unwrap();
}

#[test]
fn two_who_make_the_same_queue_at_once_have_it() {
    let queues = Queues::start();
    let mut first = queues.session();
    for (name, more, refused) in [("one", "", false), ("two", ", row_type => 't_bip'", true)] {
        first.batch_execute(&format!("begin; select queue.create('{name}')")).unwrap();
        let mut second = queues.session();
        let pid: i32 = second.query_one("select pg_backend_pid()", &[]).unwrap().get(0);
        let create = format!("select queue.create('{name}'{more})");
        let makes = thread::spawn(move || {
            second.batch_execute(&create).map_err(|error| error.code().map(|code| code.code().to_owned()))
        });
        let waits =
            format!("select count(*) from pg_stat_activity where pid = {pid} and wait_event_type = 'Lock'");
        howdah_tests::wait_for("the second waits", || queues.number(&waits) == 1);
        first.batch_execute("commit").unwrap();
        let expected = if refused { Err(Some("42710".to_owned())) } else { Ok(()) };
        assert_eq!(makes.join().unwrap(), expected);
    }
}
