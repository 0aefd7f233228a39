//! Any process can end at any moment.

use std::time::Instant;

use cluster::Life;
use howdah_tests::abilities::is_at_least;
use howdah_tests::bounds;
use howdah_tests::{Platform, wait_for};

const ROUTES: &str = "
    create function pid() returns integer language sql volatile return pg_backend_pid();
    create function gate(number integer) returns integer language plpgsql as
      $$ begin perform pg_advisory_xact_lock_shared(number); return pg_backend_pid(); end $$;
    create function compute() returns bigint language sql volatile return
      (select count(*) from generate_series(1, 1000000) a, generate_series(1, 1000000) b);
    create function sleep() returns text language sql volatile return pg_sleep(600)::text;
    select http.route('GET', '/pid', 'pid'), http.route('GET', '/gate/{number}', 'gate'),
           http.route('GET', '/compute', 'compute'), http.route('GET', '/sleep', 'sleep')";

#[test]
fn any_process_can_end_and_the_platform_serves() {
    let mut platform = Platform::with(&[
        ("howdah.lock_timeout", "20s"),
        ("howdah.min_executors", "3"),
        ("howdah.max_executors", "3"),
        ("howdah.route_share", "100"),
    ]);
    platform.sql(ROUTES);
    an_executor_is_terminated(&platform);
    a_gateway_is_terminated(&platform);
    the_supervisor_is_terminated(&platform);
    an_executor_is_killed(&platform);
    a_gateway_is_killed(&platform);
    the_postmaster_is_killed(&mut platform);
}

fn an_executor_is_terminated(platform: &Platform) {
    let mut gatekeeper = platform.session();
    gatekeeper.batch_execute("select pg_advisory_lock(1), pg_advisory_lock(2)").unwrap();
    let (mut victim, mut other, mut idle) = (platform.connect(), platform.connect(), platform.connect());
    assert_eq!(idle.request("GET", "/pid", &[], b"").status, 200);
    victim.send("GET", "/gate/1", &[], b"");
    wait_for("the first request waits", || waits_at(platform, 1).is_some());
    other.send("GET", "/gate/2", &[], b"");
    wait_for("the second request waits", || waits_at(platform, 2).is_some());
    let pid = waits_at(platform, 1).unwrap();
    platform.sql(&format!("select pg_terminate_backend({pid})"));
    let reply = victim.read_reply(false).unwrap();
    assert_eq!(reply.status, 502, "{}", reply.text());
    assert_eq!(victim.request("GET", "/pid", &[], b"").status, 200, "on the same connection");
    gatekeeper.batch_execute("select pg_advisory_unlock_all()").unwrap();
    assert_eq!(other.read_reply(false).unwrap().status, 200);
    assert_eq!(idle.request("GET", "/pid", &[], b"").status, 200);
    wait_for("another executor comes", || {
        let executors = platform.workers("executor");
        executors.len() == 3 && !executors.contains(&pid)
    });
}

/// The executor whose request waits for an advisory lock.
fn waits_at(platform: &Platform, number: i32) -> Option<i32> {
    let query =
        format!("select pid from pg_locks where locktype = 'advisory' and not granted and objid = {number}");
    platform.value(&query).map(|pid| pid.parse().unwrap())
}

fn a_gateway_is_terminated(platform: &Platform) {
    let mut connection = platform.connect();
    assert_eq!(connection.request("GET", "/pid", &[], b"").status, 200);
    let before = platform.workers("gateway");
    platform.sql(&format!("select pg_terminate_backend({})", before[0]));
    assert!(connection.is_closed());
    expect_served(platform);
    assert_ne!(platform.workers("gateway"), before);
}

fn the_supervisor_is_terminated(platform: &Platform) {
    let supervisor = "select pid from pg_stat_activity where backend_type = 'howdah supervisor'";
    let before = platform.value(supervisor).unwrap();
    let mut connection = platform.connect();
    let workers = (platform.workers("gateway"), platform.workers("executor"));
    platform.sql(&format!("select pg_terminate_backend({before})"));
    assert_eq!(connection.request("GET", "/pid", &[], b"").status, 200);
    wait_for("another supervisor", || platform.value(supervisor).is_some_and(|pid| pid != before));
    assert_eq!(connection.request("GET", "/pid", &[], b"").status, 200);
    assert_eq!(
        (platform.workers("gateway"), platform.workers("executor")),
        workers,
        "it carries on with them"
    );
    platform.sql(&format!("select pg_terminate_backend({})", workers.1[0]));
    wait_for("it replaces an executor", || {
        let executors = platform.workers("executor");
        executors.len() == 3 && !executors.contains(&workers.1[0])
    });
}

fn an_executor_is_killed(platform: &Platform) {
    let pid = platform.worker("executor");
    kill(pid);
    expect_restarted(platform, pid);
}

fn a_gateway_is_killed(platform: &Platform) {
    let pid = platform.worker("gateway");
    kill(pid);
    expect_restarted(platform, pid);
}

fn kill(pid: i32) {
    // SAFETY: no memory is involved; a process of the test's own server.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGKILL) }, 0);
}

/// PostgreSQL restarts all its processes, and the platform serves again.
fn expect_restarted(platform: &Platform, killed: i32) {
    wait_for("the server takes sessions again", || {
        platform.cluster.connect("postgres").is_ok_and(|mut session| {
            let query = format!("select count(*) from pg_stat_activity where pid = {killed}");
            session.query_one(&query, &[]).is_ok_and(|row| row.get::<_, i64>(0) == 0)
        })
    });
    expect_served(platform);
    wait_for("all executors come", || platform.workers("executor").len() == 3);
}

fn expect_served(platform: &Platform) {
    wait_for("the platform serves", || {
        howdah_tests::Connection::try_open(platform.port)
            .and_then(|mut connection| connection.try_request("GET", "/pid", b""))
            .is_some_and(|reply| reply.status == 200)
    });
}

fn the_postmaster_is_killed(platform: &mut Platform) {
    let [mut connection, mut computes, mut sleeps] = [(); 3].map(|()| platform.connect());
    assert_eq!(connection.request("GET", "/pid", &[], b"").status, 200);
    // One looks at nothing but its numbers.
    computes.send("GET", "/compute", &[], b"");
    sleeps.send("GET", "/sleep", &[], b"");
    wait_for("both run", || platform.running("GET /compute") == 1 && platform.running("GET /sleep") == 1);
    platform.cluster.kill().unwrap();
    let begin = Instant::now();
    wait_for("no process is left", || platform.cluster.processes().is_empty());
    bounds::NO_PROCESS_OUTLIVES.check(begin.elapsed());
    platform.cluster.start(Life::WithParent).unwrap();
    expect_served(platform);
}

#[test]
fn a_limit_of_the_server_for_transactions_ends_no_process_and_no_request() {
    if !is_at_least(17, "transaction_timeout") {
        return;
    }
    let platform = Platform::start();
    platform.sql(
        "create function nap(seconds float) returns integer language sql as
           'select pg_backend_pid() from pg_sleep(seconds)';
         create role hasty; alter role hasty set transaction_timeout = '200ms';
         select http.route('GET', '/hasty', 'nap', role => 'hasty')",
    );
    let pids = platform.pids();
    let reply = platform.get("/hasty?seconds=1");
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert!(platform.still_run(&pids));
}
