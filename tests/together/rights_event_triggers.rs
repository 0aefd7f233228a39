//! Commands of others are not refused, and do not wait, because of the extension's event triggers and tables.

use cluster::postgres::Client;
use howdah_tests::queues::{Queues, number};

fn queues() -> (Queues, Client) {
    let queues = Queues::with(&[("wal_level", "logical")]);
    let session = queues.session();
    (queues, session)
}

fn run(session: &mut Client, sql: &str) {
    session.batch_execute(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
}

/// Letters and producers of a table and of a queue.
const KEPT: &str = "
create table t (id int);
select queue.put_lines(into_table => 't', lines => 'bad', producer => 'p', sequence => 1);
select queue.put_lines('bips', E'{\"userid\": 1}\\nbad', producer => 'p', sequence => 1)";

#[test]
fn a_publication_of_all_tables_forbids_nothing() {
    let (_queues, mut session) = queues();
    run(&mut session, "create publication everything for all tables");
    run(&mut session, KEPT);
    for command in [
        "select queue.redrive('t'::regclass)",
        "select queue.redrive('bips')",
        "select queue.discard_dead_letters('bips')",
        "select queue.forget_producer('bips', 'p')",
        "select queue.forget_producer('t'::regclass, 'p')",
        "create table other (id int); drop table other",
        "create temp table other (id int); drop table other",
        "create view other as select 1; drop view other",
        "drop table t",
        "select queue.create('mail'), queue.send('mail', '{}'), queue.archive('mail', 1), queue.grant('mail', 'send', 'howdah_web')",
        "select queue.revoke('mail', 'send', 'howdah_web')",
        "delete from queue.a_mail",
        "select queue.purge_queue('bips')",
        "select queue.drop_queue('mail'), queue.drop_queue('bips')",
    ] {
        run(&mut session, command);
    }
    assert_eq!(number(&mut session, "select count(*) from queue.dead_letter"), 0);
    assert_eq!(number(&mut session, "select count(*) from queue.progress"), 0);
}

#[test]
fn a_table_is_dropped_whatever_holds_what_is_kept_of_it() {
    let (queues, mut session) = queues();
    run(&mut session, KEPT);
    let mut holder = queues.session();
    run(&mut session, "set lock_timeout = '1ms'");
    run(&mut session, "create table other (id int)");
    run(&mut holder, "begin; lock table queue.progress, queue.dead_letter, queue.queue, queue.listener");
    run(&mut session, "alter table other add column name text");
    run(&mut session, "create type s as (id int); alter type s add attribute name text; drop type s");
    run(&mut session, "drop table other");
    run(&mut session, "drop table t");
    run(&mut holder, "rollback");
    assert_eq!(number(&mut session, "select count(*) from queue.progress"), 1, "they were held");

    run(&mut session, "create table t (id int)");
    run(
        &mut session,
        "select queue.put_lines(into_table => 't', lines => 'bad', producer => 'p', sequence => 1)",
    );
    run(
        &mut holder,
        "begin; select from queue.progress for update; select from queue.dead_letter for update",
    );
    run(&mut session, "drop table t");
    run(&mut holder, "rollback");

    // A row that has come since the snapshot.
    run(&mut session, "create table t (id int)");
    run(&mut session, "begin isolation level repeatable read; select 1");
    run(
        &mut holder,
        "select queue.put_lines(into_table => 't', lines => 'bad', producer => 'p', sequence => 1)",
    );
    run(&mut session, "drop table t; commit");
    run(&mut session, "begin isolation level serializable; create table t (id int); drop table t; commit");
}

#[test]
fn many_objects_are_dropped_at_once() {
    let (_queues, mut session) = queues();
    run(&mut session, KEPT);
    run(
        &mut session,
        "create schema many;
         do $$ begin for number in 1..1500 loop execute format('create table many.t%s (id int primary key)', number);
         end loop; end $$",
    );
    run(&mut session, "drop table t; drop schema many cascade");
    assert_eq!(number(&mut session, "select count(*) from queue.progress"), 0);
}

#[test]
fn an_idle_executor_forgets_what_a_command_could_not() {
    let platform = howdah_tests::Platform::with(&[("howdah.queue_maintenance", "100ms")]);
    let mut session = platform.session();
    run(&mut session, "set lock_timeout = '10s'; create table t (id int)");
    run(
        &mut session,
        "select queue.put_lines(into_table => 't', lines => 'bad', producer => 'p', sequence => 1)",
    );
    let mut holder = platform.session();
    run(&mut holder, "begin; lock table queue.progress, queue.dead_letter");
    run(&mut session, "drop table t");
    run(&mut holder, "rollback");
    // A process that has just begun looks at once.
    run(&mut session, "select pg_terminate_backend(pid) from http.workers where kind = 'executor'");
    howdah_tests::wait_for("nothing is kept", || {
        number(
            &mut session,
            "select (select count(*) from queue.progress) + (select count(*) from queue.dead_letter)",
        ) == 0
    });
}
