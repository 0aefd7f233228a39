//! Jobs that ran when the server crashed run alone first, and nobody waits for that without end.

use howdah_tests::platform::{Platform, SERVER_BEGAN, wait_for};

/// `hold` runs until it is let go; `work` is of no interest.
const KINDS: &str = "
    create table let_go (now boolean);
    create table ran (kind text);
    create function hold() returns void language plpgsql as $$
      begin
        while not exists (select from let_go) loop
          perform pg_sleep(0.01);
        end loop;
        insert into ran values ('hold');
      end $$;
    create function work() returns void language sql as $$ insert into ran values ('work') $$;
    grant select on let_go to howdah_web; grant insert on ran to howdah_web;
    select job.define('hold', 'hold', at_once => 2), job.define('work', 'work')";

/// Has two jobs run while their processes crash, and another wait. The postmaster sees both at once, and tells neither to end.
fn crash(platform: &Platform) {
    platform.sql("truncate let_go, ran; select job.enqueue('hold') from generate_series(1, 2)");
    wait_for("both run", || platform.count("job.running") == 2);
    let rows = platform.session().query("select pid from job.running", &[]).unwrap();
    let mut pids: Vec<i32> = rows.iter().map(|row| row.get(0)).collect();
    let postmaster = platform.cluster.pid().expect("a postmaster") as i32;
    let began = platform.began();
    pids.insert(0, postmaster);
    for (place, pid) in pids.iter().enumerate() {
        // SAFETY: signals to processes of the server that this test has started.
        unsafe { libc::kill(*pid, if place == 0 { libc::SIGSTOP } else { libc::SIGKILL }) };
    }
    // SAFETY: as above.
    unsafe { libc::kill(postmaster, libc::SIGCONT) };
    wait_for("the server is back", || {
        let back = platform
            .cluster
            .connect("app")
            .ok()
            .and_then(|mut session| session.query_one(SERVER_BEGAN, &[]).ok());
        back.is_some_and(|row| row.get::<_, String>(0) != began)
    });
    platform.sql("select job.enqueue('work')");
}

/// Lets all go, and waits until each has run once.
fn let_go(platform: &Platform) {
    platform.sql("insert into let_go values (true)");
    wait_for("all have run", || platform.count("ran") == 3);
    assert_eq!(platform.count("ran where kind = 'hold'"), 2);
}

#[test]
fn suspects_run_alone_for_a_time_and_others_see_what_they_wait_for() {
    let platform = Platform::with(&[("howdah.min_job_executors", "3"), ("howdah.max_job_executors", "4")]);
    platform.sql(KINDS);
    crash(&platform);
    let waits = "job.overview where kind = 'work'
        and remark = 'stopped: jobs that ran when the server crashed run alone first; others wait, 60 s at most'";
    wait_for("the reason", || platform.count(waits) == 1);
    wait_for("a suspect", || platform.count("job.running") == 1);
    assert_eq!(platform.count("ran"), 0);
    let said = "howdah runs each of the jobs that ran when the server crashed alone: others wait for that, 60 s at most";
    assert_eq!(platform.log().matches(said).count(), 1, "it is said once");
    // Nobody is to wait any more: what was not alone yet runs as others do.
    platform.set("howdah.job_crash_wait", "0");
    wait_for("the other job", || platform.count("ran") == 1);
    wait_for("both suspects", || platform.count("job.running") == 2);
    assert_eq!(platform.count(waits), 0);
    let_go(&platform);
    // Each is alone for its part of the time, then the others begin beside both.
    platform.set("howdah.job_crash_wait", "1s");
    crash(&platform);
    wait_for("the other job", || platform.count("ran where kind = 'work'") == 1);
    wait_for("both suspects", || platform.count("job.running") == 2);
    let_go(&platform);
    wait_for("nothing is held back", || platform.count("job.overview where remark is not null") == 0);
    assert_eq!(platform.count("job.failures"), 0, "nothing is charged");
}
