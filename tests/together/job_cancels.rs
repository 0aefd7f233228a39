//! Whoever is told that a job is cancelled can rely on it: it does not happen, whatever becomes of its process.

use std::thread;

use cluster::postgres::Client;
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
        assert_eq!(platform.value(&format!("select job.cancel({id})")).as_deref(), Some("t"));
        crash(&platform, pid);
        wait_for("it is dead", || dead(&format!("and id = {id}")) == 1);
        platform.sql(&format!("insert into let_go values (true); select job.enqueue('{kind}')"));
        wait_for("another", || platform.count("ran where kind = 'deaf'") == round as i64 + 1);
        assert_eq!(dead(""), 2);
    }
}

/// Kills a process of the server, and waits until that is back.
fn crash(platform: &Platform, pid: i32) {
    let began = platform.began();
    // SAFETY: a signal to a process of the server that this test has started.
    unsafe { libc::kill(pid, libc::SIGKILL) };
    wait_for("the server is back", || {
        let session = platform.cluster.connect("app").ok();
        let back = session.and_then(|mut session| session.query_one(SERVER_BEGAN, &[]).ok());
        back.is_some_and(|row| row.get::<_, String>(0) != began)
    });
}

/// `wait` and `lock` are done, and `fail` has failed, once the test lets them go.
const HELD: &str = "
    create table let_go (now boolean);
    create table ran (job bigint);
    create table row_of (id integer primary key, n integer);
    insert into row_of values (1, 0);
    create function waits() returns void language plpgsql as $$
      begin
        while not exists (select from let_go) loop perform pg_sleep(0.01); end loop;
        insert into ran select id from job.current();
      end $$;
    create function locks() returns void language plpgsql as $$
      begin
        update row_of set n = n + 1 where id = 1;
        while not exists (select from let_go) loop perform pg_sleep(0.01); end loop;
        insert into ran select id from job.current();
      end $$;
    create function fails() returns void language plpgsql as $$
      begin
        while not exists (select from let_go) loop perform pg_sleep(0.01); end loop;
        raise exception 'not yet';
      end $$;
    grant select on let_go to howdah_web; grant insert on ran to howdah_web; grant select, update on row_of to howdah_web;
    select job.define('wait', 'waits'), job.define('lock', 'locks'), job.define('fail', 'fails', backoff => '1 hour')";

/// Enqueues a job and waits until it runs; its id.
fn running(platform: &Platform, kind: &str) -> i64 {
    let id = platform.value(&format!("truncate let_go; select job.enqueue('{kind}')::text")).unwrap();
    wait_for("it runs", || platform.count(&format!("job.running where id = {id}")) == 1);
    id.parse().unwrap()
}

fn waits_for_a_lock(platform: &Platform) -> bool {
    platform.count("pg_locks where locktype = 'advisory' and not granted") == 1
}

#[test]
fn a_cancel_that_is_rolled_back_has_cancelled_nothing() {
    let platform = Platform::start();
    platform.sql(HELD);
    let mut session = platform.session();
    let is_cancelled = |session: &mut Client, id: i64| {
        session.query_one("select job.cancel($1)", &[&id]).unwrap().get::<_, bool>(0)
    };
    // The transaction is rolled back, or a savepoint of it; the job would end meanwhile, and waits.
    for (before, after) in [("begin", "rollback"), ("begin; savepoint a", "rollback to a; commit")] {
        let id = running(&platform, "wait");
        session.batch_execute(before).unwrap();
        assert!(is_cancelled(&mut session, id));
        assert!(is_cancelled(&mut session, id), "it may be said twice");
        platform.sql("insert into let_go values (true)");
        wait_for("it waits with its commit", || waits_for_a_lock(&platform));
        assert_eq!(platform.count(&format!("ran where job = {id}")), 0);
        session.batch_execute(after).unwrap();
        wait_for("it is done", || platform.count(&format!("ran where job = {id}")) == 1);
    }
    assert_eq!(platform.count("job.dead_jobs"), 0);
    // It commits: the job that waits with its commit is undone, and so is one that runs.
    for is_let_go in [true, false] {
        let id = running(&platform, "wait");
        session.batch_execute("begin; savepoint a").unwrap();
        assert!(is_cancelled(&mut session, id));
        session.batch_execute("release a").unwrap();
        if is_let_go {
            platform.sql("insert into let_go values (true)");
            wait_for("it waits with its commit", || waits_for_a_lock(&platform));
        }
        session.batch_execute("commit").unwrap();
        wait_for("it is dead", || {
            platform.count(&format!("job.dead_jobs where id = {id} and reason = 'cancelled'")) == 1
        });
        assert_eq!(platform.count(&format!("ran where job = {id}")), 0);
    }
}

#[test]
fn a_cancel_and_the_job_that_wait_for_each_other_are_a_deadlock_and_the_loser_is_told() {
    let platform = Platform::with(&[("deadlock_timeout", "100ms")]);
    platform.sql(HELD);
    let mut session = platform.session();
    let id = running(&platform, "lock");
    session.batch_execute("begin").unwrap();
    session.query_one("select job.cancel($1)", &[&id]).unwrap();
    let ended = thread::spawn(move || {
        let update = session.execute("update row_of set n = 10 where id = 1", &[]);
        update.and_then(|_| session.batch_execute("commit"))
    });
    platform.sql("insert into let_go values (true)");
    let (is_dead, ran) = match ended.join().unwrap() {
        Ok(()) => (1, 0),
        Err(error) => {
            // The session was the one that was chosen, or the job, whose attempt has ended by that.
            let code = error.code().map_or("", |code| code.code());
            assert!(["40P01", "40001"].contains(&code), "{error}");
            (0, 1)
        }
    };
    wait_for("its end", || platform.count("job.kinds where waiting + running > 0") == 0);
    assert_eq!((platform.count("job.dead_jobs"), platform.count("ran")), (is_dead, ran));
}

#[test]
fn who_has_cancelled_an_attempt_that_fails_meanwhile_does_not_commit() {
    let platform = Platform::start();
    platform.sql(HELD);
    let mut session = platform.session();
    let id = running(&platform, "fail");
    session.batch_execute("begin; insert into row_of values (2, 0)").unwrap();
    session.query_one("select job.cancel($1)", &[&id]).unwrap();
    platform.sql("insert into let_go values (true)");
    wait_for("it has failed", || platform.count(&format!("job.failures where job = {id}")) == 1);
    let refused = session.batch_execute("commit").unwrap_err();
    assert_eq!(refused.code().map(|code| code.code()), Some("40001"), "{refused}");
    assert_eq!(platform.count("row_of where id = 2"), 0);
    assert_eq!(platform.value(&format!("select job.cancel({id})")).as_deref(), Some("t"), "it waits");
    // Nor is anything prepared that has cancelled one that runs.
    let id = running(&platform, "wait");
    session.batch_execute("begin").unwrap();
    session.query_one("select job.cancel($1)", &[&id]).unwrap();
    let refused = session.batch_execute("prepare transaction 'x'").unwrap_err();
    assert_eq!(refused.code().map(|code| code.code()), Some("0A000"), "{refused}");
    platform.sql("insert into let_go values (true)");
    wait_for("it is done", || platform.count(&format!("ran where job = {id}")) == 1);
}

#[test]
fn a_crash_before_the_commit_of_a_cancel_leaves_the_job() {
    let platform = Platform::start();
    platform.sql(HELD);
    let mut session = platform.session();
    let id = running(&platform, "wait");
    session.batch_execute("begin").unwrap();
    session.query_one("select job.cancel($1)", &[&id]).unwrap();
    let pid: i32 = session.query_one("select pg_backend_pid()", &[]).unwrap().get(0);
    crash(&platform, pid);
    platform.sql("insert into let_go values (true)");
    wait_for("it is done", || platform.count(&format!("ran where job = {id}")) == 1);
    assert_eq!(platform.count("job.dead_jobs"), 0);
}

#[test]
fn a_job_that_cancels_itself_does_not_happen_and_none_of_its_batch_is_cancelled_by_another() {
    let platform = Platform::start();
    platform.sql(
        "create table effect (job bigint, said boolean);
         create function own() returns void language plpgsql as $$
           begin
             insert into effect select id from job.current();
             perform job.cancel((select id from job.current()));
             perform pg_sleep(10);
           end $$;
         create function of_batch(victim bigint default null) returns void language plpgsql as $$
           begin
             insert into effect select id from job.current();
             if victim is not null then perform job.cancel(victim); end if;
           end $$;
         create table late (job bigint);
         create function too_late() returns trigger language plpgsql as $$
           begin insert into effect values (new.job, job.cancel(new.job)); return null; end $$;
         create constraint trigger late after insert on late deferrable initially deferred for each row execute function too_late();
         create function at_commit() returns void language sql as 'insert into late select id from job.current()';
         select job.define('own', 'own', role => 'postgres'), job.define('owns', 'own', role => 'postgres', batch => 10),
           job.define('batch', 'of_batch', role => 'postgres', batch => 10, attempts => 1),
           job.define('late', 'at_commit', role => 'postgres')",
    );
    platform.sql("select job.enqueue('own'), job.enqueue('owns')");
    wait_for("both are dead", || platform.count("job.dead_jobs where reason = 'cancelled'") == 2);
    assert_eq!(platform.count("effect"), 0);
    // Those before it and behind it run as they do; the one that asks has failed.
    platform.sql("select job.pause('batch')");
    platform.sql(
        "do $$ declare first bigint; last bigint; begin
           first := job.enqueue('batch');
           last := job.enqueue('batch', jsonb_build_object('victim', first));
           perform job.enqueue('batch', jsonb_build_object('victim', last + 2 * (last - first)));
           perform job.enqueue('batch');
         end $$",
    );
    platform.sql("select job.resume('batch')");
    wait_for("all have ended", || platform.count("job.kinds where waiting + running > 0") == 0);
    let dead = platform.count("job.dead_jobs where kind = 'batch' and sqlstate = '55000'");
    assert_eq!((dead, platform.count("effect")), (2, 2));
    // At its commit it is too late.
    platform.sql("truncate effect; select job.enqueue('late')");
    wait_for("it is done", || platform.count("effect where not said") == 1);
    assert_eq!(platform.count("job.dead_jobs where kind = 'late'"), 0);
}

#[test]
fn a_cancel_that_is_committed_outlives_a_crash_of_who_writes_it_down() {
    let platform = Platform::start();
    platform.sql(HELD);
    let id = running(&platform, "wait");
    let pid: i32 = platform.value("select pid::text from job.running").unwrap().parse().unwrap();
    let mut holder = platform.session();
    holder.batch_execute("begin; lock table job.dead in exclusive mode").unwrap();
    assert_eq!(platform.value(&format!("select job.cancel({id})")).as_deref(), Some("t"));
    wait_for("it is being written down", || {
        platform.count(&format!("pg_locks where pid = {pid} and not granted")) == 1
    });
    crash(&platform, pid);
    platform.sql("insert into let_go values (true)");
    wait_for("it is dead", || {
        platform.count(&format!("job.dead_jobs where id = {id} and reason = 'cancelled'")) == 1
    });
    assert_eq!(platform.count("ran"), 0);
}

#[test]
fn cancels_that_are_rolled_back_cost_no_attempt_however_short_locks_are_waited_for() {
    let platform = Platform::start();
    platform.sql(HELD);
    platform.sql(
        "alter role howdah_web set lock_timeout = '100ms'; select job.define('wait', 'waits', attempts => 1)",
    );
    let mut session = platform.session();
    let id = running(&platform, "wait");
    session.batch_execute("begin").unwrap();
    session.query_one("select job.cancel($1)", &[&id]).unwrap();
    platform.sql("insert into let_go values (true)");
    wait_for("it waits with its commit", || waits_for_a_lock(&platform));
    let for_long = "pg_locks where not granted and waitstart < clock_timestamp() - interval '150 ms'";
    wait_for("it waits for longer than its role would", || platform.count(for_long) == 1);
    session.batch_execute("rollback").unwrap();
    wait_for("it is done", || platform.count(&format!("ran where job = {id}")) == 1);
    assert_eq!(platform.count("job.dead_jobs"), 0);
}

#[test]
fn a_job_that_has_cancelled_itself_stays_cancelled_when_another_takes_its_cancel_back() {
    let platform = Platform::start();
    platform.sql(HELD);
    platform.sql(
        "create function own() returns void language plpgsql as $$
           begin
             insert into ran select id from job.current();
             while not exists (select from let_go) loop perform pg_sleep(0.01); end loop;
             begin
               perform job.cancel((select id from job.current()));
             exception when query_canceled then null;
             end;
           end $$;
         select job.define('own', 'own', role => 'postgres', attempts => 1)",
    );
    let mut session = platform.session();
    let id = running(&platform, "own");
    session.batch_execute("begin").unwrap();
    session.query_one("select job.cancel($1)", &[&id]).unwrap();
    platform.sql("insert into let_go values (true)");
    wait_for("it waits with its end, or has ended", || {
        waits_for_a_lock(&platform) || platform.count("job.running") == 0
    });
    session.batch_execute("rollback").unwrap();
    wait_for("it is dead", || {
        platform.count(&format!("job.dead_jobs where id = {id} and reason = 'cancelled'")) == 1
    });
    assert_eq!(platform.count("ran"), 0);
}
