//! Whoever is told that a job is cancelled can rely on it: it does not happen, whatever becomes of its process.

use std::thread;

use howdah_tests::platform::{Platform, SERVER_BEGAN, wait_for};

/// `commit` waits in its commit for a lock that the test has; `deaf` goes on when it is cancelled, until a row lets it go.
const KINDS: &str = "
    create table ran (kind text);
    create table let_go (now boolean);
    create table late (number integer);
    create function wait() returns trigger language plpgsql as $$
      begin
        perform pg_advisory_xact_lock_shared(7);
        return null;
      end $$;
    create constraint trigger wait after insert on late deferrable initially deferred
      for each row execute function wait();
    create function commits() returns void language sql as $$
      insert into late values (1);
      insert into ran values ('commit') $$;
    create function is_deaf() returns void language plpgsql as $$
      begin
        while not exists (select from let_go) loop
          begin
            perform pg_sleep(0.01);
          exception when query_canceled then null;
          end;
        end loop;
        insert into ran values ('deaf');
      end $$;
    grant insert on ran, late to howdah_web; grant select on let_go to howdah_web;
    select job.define('commit', 'commits'), job.define('deaf', 'is_deaf', timeout => null),
      job.define('together', 'is_deaf', timeout => null, batch => 5)";

#[test]
fn a_job_that_is_about_to_commit_is_done_and_its_cancel_says_so() {
    let platform = Platform::start();
    platform.sql(KINDS);
    let mut holder = platform.session();
    holder.batch_execute("select pg_advisory_lock(7)").unwrap();
    let id = platform.value("select job.enqueue('commit')").unwrap();
    wait_for("it is about to commit", || {
        platform.count("pg_locks where locktype = 'advisory' and objid = 7 and not granted") == 1
    });
    let mut session = platform.session();
    let query = format!("select job.cancel({id})");
    let cancels = thread::spawn(move || session.query_one(&query, &[]).map(|row| row.get::<_, bool>(0)));
    wait_for("the cancel", || {
        platform.count("pg_stat_activity where query like 'select job.cancel%' and pid <> pg_backend_pid() and backend_type = 'client backend'") == 1
    });
    holder.batch_execute("select pg_advisory_unlock(7)").unwrap();
    assert!(!cancels.join().unwrap().unwrap(), "it was done");
    wait_for("it has run", || platform.count("ran") == 1);
    assert_eq!(platform.count("job.dead_jobs"), 0);
}

#[test]
fn a_job_that_is_cancelled_does_not_happen_whatever_it_catches_and_however_its_process_ends() {
    let platform = Platform::with(&[("howdah.max_job_executors", "2")]);
    platform.sql(KINDS);
    for (round, kind) in ["deaf", "together"].into_iter().enumerate() {
        let dead = |more: &str| {
            platform.count(&format!("job.dead_jobs where kind = '{kind}' and reason = 'cancelled' {more}"))
        };
        // It catches the cancel, and ends well.
        let id = platform.value(&format!("truncate let_go; select job.enqueue('{kind}')")).unwrap();
        wait_for("it runs", || platform.count("job.running") == 1);
        assert_eq!(platform.value(&format!("select job.cancel({id})")).as_deref(), Some("t"));
        platform.sql("insert into let_go values (true)");
        wait_for("it is dead", || dead(&format!("and id = {id}")) == 1);
        // Its process is killed before anything is written down.
        let id = platform.value(&format!("truncate let_go; select job.enqueue('{kind}')")).unwrap();
        wait_for("it runs", || platform.count(&format!("job.running where id = {id}")) == 1);
        let pid: i32 = platform.value("select pid from job.running").unwrap().parse().unwrap();
        let began = platform.began();
        assert_eq!(platform.value(&format!("select job.cancel({id})")).as_deref(), Some("t"));
        // SAFETY: a signal to a process of the server that this test has started.
        unsafe { libc::kill(pid, libc::SIGKILL) };
        wait_for("the server is back", || {
            let session = platform.cluster.connect("app").ok();
            let back = session.and_then(|mut session| session.query_one(SERVER_BEGAN, &[]).ok());
            back.is_some_and(|row| row.get::<_, String>(0) != began)
        });
        wait_for("it is dead", || dead(&format!("and id = {id}")) == 1);
        platform.sql(&format!("insert into let_go values (true); select job.enqueue('{kind}')"));
        wait_for("another", || platform.count("ran where kind = 'deaf'") == round as i64 + 1);
        assert_eq!(dead(""), 2);
    }
}
