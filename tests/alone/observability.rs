//! What the platform does can be seen, and the numbers are true.

use howdah_tests::abilities::brings_extension;
use howdah_tests::{Platform, wait_for};

const ROUTES: &str = "
    create table events (name text);
    grant select, insert on events to howdah_web;
    create function gate() returns text language plpgsql as
      $$ begin perform pg_advisory_xact_lock_shared(1); return 'passed'; end $$;
    create function note() returns void language sql as $$insert into events values ('event')$$;
    create function answer(status integer) returns http.response language sql immutable
      as 'select http.response(status)';
    create function fail() returns text language plpgsql as $$ begin raise 'failed' using errcode = 'XX999'; end $$;
    select http.route('GET', '/gate', 'gate'), http.route('POST', '/note', 'note'),
           http.route('GET', '/answer/{status}', 'answer'), http.route('GET', '/fail', 'fail'),
           http.handle('select http.response(''handled'') from request where path = ''/handled''', 'handled')";

#[test]
fn what_the_platform_does_can_be_seen() {
    let counts_statements = brings_extension("pg_stat_statements", "pg_stat_statements counts requests");
    let mut settings = vec![("howdah.lock_timeout", "60s")];
    if counts_statements {
        settings.push(("shared_preload_libraries", "howdah, pg_stat_statements"));
        settings.push(("pg_stat_statements.track", "all"));
    }
    let platform = Platform::with(&settings);
    platform.sql(ROUTES);
    activity_shows_the_route_while_it_runs(&platform);
    requests_write_in_either_process(&platform);
    if counts_statements {
        statements_are_counted(&platform);
    }
    what_executors_write_is_seen_by_autovacuum(&platform);
    the_views_count_truly(&platform);
    activity_shows_the_route_in_the_gateway(&platform);
    an_idle_platform_holds_nothing_back(&platform);
}

fn activity_shows_the_route_while_it_runs(platform: &Platform) {
    let mut gatekeeper = platform.session();
    gatekeeper.batch_execute("select pg_advisory_lock(1)").unwrap();
    let mut connection = platform.connect();
    connection.send("GET", "/gate", &[], b"");
    wait_for("the route is shown", || platform.running("GET /gate") == 1);
    let query = "select a.backend_type, a.state, a.wait_event_type, a.datname::text, a.usename::text
                 from pg_stat_activity a join http.workers w using (pid)
                 where a.query like '%GET /gate%' and w.busy_ms > 0";
    let row = platform.session().query_one(query, &[]).unwrap();
    let shown: Vec<Option<String>> = (0..5).map(|column| row.get(column)).collect();
    let superuser = platform.value("select rolname from pg_roles where oid = 10").unwrap();
    let expected = ["howdah executor", "active", "Lock", "app", &superuser].map(|text| Some(text.to_owned()));
    assert_eq!(shown, expected);
    let running = "select running from http.stats where pattern = '/gate'";
    assert_eq!(platform.value(running).as_deref(), Some("1"));
    gatekeeper.batch_execute("select pg_advisory_unlock(1)").unwrap();
    assert_eq!(connection.read_reply(false).unwrap().text(), "passed");
    wait_for("nothing is shown as running", || {
        platform.running("GET /gate") == 0 && platform.value(running).as_deref() == Some("0")
    });
}

fn activity_shows_the_route_in_the_gateway(platform: &Platform) {
    platform.sql(
        "grant pg_read_all_stats to howdah_web;
         create function shown() returns text language sql stable return
           (select backend_type || ' ' || query from pg_stat_activity where pid = pg_backend_pid());
         select http.route('GET', '/shown', 'shown')",
    );
    let mut connection = platform.connect();
    wait_for("it runs in the gateway", || {
        let text = connection.request("GET", "/shown", &[], b"").text();
        assert!(text.ends_with(" GET /shown"), "{text}");
        text == "howdah gateway GET /shown"
    });
}

fn requests_write_in_either_process(platform: &Platform) {
    for _ in 0..20 {
        assert_eq!(platform.post("/note", "text/plain", b"").status, 204);
        assert_eq!(platform.get("/handled").text(), "handled");
    }
    // By now it runs in the gateway: those that come together share a transaction.
    let mut connections = [(); 8].map(|()| platform.connect());
    for _ in 0..10 {
        connections.iter_mut().for_each(|connection| connection.send("GET", "/handled", &[], b""));
        for connection in &mut connections {
            assert_eq!(connection.read_reply(false).unwrap().text(), "handled");
        }
    }
}

fn statements_are_counted(platform: &Platform) {
    platform.sql("create extension pg_stat_statements");
    let calls = |like: &str| {
        let query =
            format!("select coalesce(sum(calls), 0) from pg_stat_statements where query like '{like}'");
        platform.value(&query).unwrap()
    };
    assert_eq!(calls("insert into events%"), "20");
    // In executors at first, in the gateway later.
    assert_eq!(calls("select http.response(%) from request where path = %"), "100");
}

fn what_executors_write_is_seen_by_autovacuum(platform: &Platform) {
    let inserted =
        "select n_tup_ins || ' ' || n_mod_since_analyze from pg_stat_user_tables where relname = 'events'";
    wait_for("the statistics have the rows", || platform.value(inserted).as_deref() == Some("20 20"));
}

fn the_views_count_truly(platform: &Platform) {
    let mut connection = platform.connect();
    for (path, times) in [("/answer/200", 20), ("/answer/302", 3), ("/answer/404", 4), ("/answer/503", 2)] {
        for _ in 0..times {
            connection.request("GET", path, &[], b"");
        }
    }
    for _ in 0..2 {
        assert_eq!(connection.request("GET", "/fail", &[], b"").status, 500);
    }
    let stats = "select requests, succeeded, redirected, client_errors, server_errors, inline, running,
                        p50_ms > 0 and p99_ms >= p50_ms and mean_ms > 0 and sql_max_ms > 0
                 from http.stats where pattern = '/answer/{status}' and method = 'GET' and kind = 'route'";
    let row = platform.session().query_one(stats, &[]).unwrap();
    let counts: Vec<i64> = (0..5).map(|column| row.get(column)).collect();
    assert_eq!(counts, [29, 20, 3, 4, 2]);
    assert!((1..29).contains(&row.get::<_, i64>(5)), "none, or all, have run in the gateway");
    assert_eq!((row.get::<_, i32>(6), row.get::<_, Option<bool>>(7)), (0, Some(true)));
    let handler = "select requests from http.stats where kind = 'handler' and pattern = 'handled'";
    assert_eq!(platform.value(handler).as_deref(), Some("100"));

    let errors = "select sum(errors) from http.workers where kind = 'executor'";
    assert!(platform.value(errors).unwrap().parse::<i64>().unwrap() >= 2);
    wait_for("the gateway counts its connections", || {
        let query = "select connections from http.workers where kind = 'gateway'";
        platform.value(query).as_deref() == Some("1")
    });
    wait_for("the gateway counts its requests", || {
        // 20 notes, 100 handled, 29 answers, 2 failures, the gate.
        let query = "select requests from http.workers where kind = 'gateway'";
        platform.value(query).as_deref() == Some("152")
    });
    let databases = "select name || ' ' || state || ' ' || gateways_wanted || ' ' || gateways || ' '
                       || (executors_wanted = executors) || ' ' || waiting from http.databases";
    wait_for("the executors that are wanted", || {
        platform.value(databases).as_deref() == Some("app serving 1 1 true 0")
    });
    wait_for("both views agree on the executors", || {
        let running = "(select count(*) from http.workers where kind = 'executor' and state = 'running')";
        platform.count(&format!("http.databases where executors = {running}")) == 1
    });
    assert_eq!(platform.count("http.sizes where have = current_setting(setting)::bigint"), 4);
}

fn an_idle_platform_holds_nothing_back(platform: &Platform) {
    let all = platform.count("pg_stat_activity where backend_type like 'howdah%'");
    assert!(all >= 4, "supervisor, gateway and executors, not {all}");
    let idle = "pg_stat_activity where backend_type like 'howdah%' and backend_xmin is null
                and backend_xid is null and xact_start is null";
    wait_for("no snapshot is held", || platform.count(idle) == all);
    let workers = "pg_stat_activity where backend_type ~ 'howdah (gateway|executor)' and state = 'idle'";
    assert_eq!(platform.count(workers), all - 1);
}
