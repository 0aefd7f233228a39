//! What has been committed is answered as committed, whatever fails after.

use howdah_tests::shippers::{Intake, bips};
use howdah_tests::{Connection, free_port, wait_for};

/// Each row leaves a function among the session's temporary objects, and a default that needs it; to give that up means to
/// lock `ledger`. Before it commits, a transaction waits for the test.
const SCHEMA: &str = "
    create table ledger (at int);
    create table bip (userid bigint);
    grant insert on bip to howdah_web;
    create function leave_something() returns trigger language plpgsql security definer as $$ begin
      execute 'create or replace function pg_temp.now() returns int language sql return 1';
      alter table ledger alter column at set default pg_temp.now();
      perform pg_advisory_xact_lock(1);
      return null; end $$;
    create trigger leave_something after insert on bip for each statement execute function leave_something();
    create function store() returns text language plpgsql as $$ begin
      insert into bip values (1); return 'stored'; end $$;
    select http.route('POST', '/store', 'store()')";

/// Sends something, and lets its commit through so that the table `ledger` cannot be locked right after it.
fn send_and_fail_after(intake: &Intake, send: impl FnOnce() + Send) {
    let mut gate = intake.platform.session();
    gate.batch_execute("select pg_advisory_lock(1)").unwrap();
    let mut reader = intake.platform.session();
    std::thread::scope(|scope| {
        let sender = scope.spawn(send);
        let waits = |what: &str| intake.platform.count(&format!("pg_locks where not granted and {what}")) > 0;
        wait_for("it is about to commit", || waits("locktype = 'advisory'"));
        let reader = scope.spawn(move || {
            reader.batch_execute("begin; lock table ledger in access share mode").unwrap();
            reader
        });
        wait_for("somebody wants to read", || waits("relation = 'ledger'::regclass"));
        gate.batch_execute("select pg_advisory_unlock(1)").unwrap();
        // It holds its lock until the answer has come, and what follows has failed.
        let reader = reader.join().unwrap();
        sender.join().unwrap();
        wait_for("something fails", || {
            intake.platform.log().contains("canceling statement due to lock timeout")
        });
        drop(reader);
    });
}

fn intake() -> Intake {
    let intake = Intake::with(&[("howdah.lock_timeout", "300ms")], "");
    intake.platform.sql(SCHEMA);
    intake
}

#[test]
fn plain_lines_that_are_committed_are_not_written_again() {
    let tables = Intake { lines: free_port(), ..intake() };
    let port = tables.lines;
    tables.platform.sql(&format!("select queue.listen({port}, into_table => 'bip', address => '127.0.0.1')"));
    tables.wait_until_bound();
    send_and_fail_after(&tables, || assert_eq!(tables.pour(&bips(1, 3)), b""));
    assert_eq!(tables.platform.count("bip"), 3);
    wait_for("the view has it", || tables.view("stored").as_deref() == Some("3"));
    assert_eq!(tables.view("failing").as_deref(), Some("f"));
    // Another process goes on.
    assert_eq!(tables.pour(&bips(4, 4)), b"");
    assert_eq!(tables.platform.count("bip"), 4);
}

#[test]
fn a_request_that_is_committed_is_answered_so() {
    let intake = intake();
    let port = intake.platform.port;
    send_and_fail_after(&intake, || {
        let reply = Connection::open(port).request("POST", "/store", &[], b"");
        assert_eq!((reply.status, reply.text().as_str()), (200, "stored"));
    });
    assert_eq!(intake.platform.count("bip"), 1);
}
