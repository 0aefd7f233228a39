//! Plans that come out the same whatever is asked for are made once, and others for each request.

use howdah_tests::abilities::brings_extension;
use howdah_tests::{Connection, Platform, wait_for};

const SCHEMA: &str = "
create table item (id integer primary key, status text not null, name text);
insert into item select i, case when i % 1000 = 0 then 'open' else 'done' end, 'n' || i from generate_series(1, 20000) i;
create index on item (status);
analyze item;
grant select on item to howdah_web;
create function page(after integer, n integer) returns table (id integer) language sql stable as $$
  select id from item where id > after order by id limit n $$;
create function times(n integer) returns table (id integer) language sql stable as $$
  select (select max(id) from item where id <= g) from generate_series(1, n) g $$;
create function found(status text) returns bigint language sql stable as $$
  select count(*) from item where item.status = found.status $$;
select http.route('GET', '/page/{after}/{n}', 'page'), http.route('GET', '/times/{n}', 'times'),
  http.route('GET', '/found/{status}', 'found');
";

fn platform(more: &[(&str, &str)]) -> Platform {
    let settings = [
        ("howdah.inline_deadline", "1s"),
        ("howdah.inline_threshold", "100000"),
        ("howdah.max_executors", "1"),
        ("autovacuum", "off"),
    ];
    let platform = Platform::with(&[&settings[..], more].concat());
    platform.sql(SCHEMA);
    platform
}

#[test]
fn a_plan_that_comes_out_the_same_is_made_once() {
    if !brings_extension("pg_stat_statements", "pg_stat_statements counts plans") {
        return;
    }
    let platform = platform(&[
        ("shared_preload_libraries", "howdah, pg_stat_statements"),
        ("pg_stat_statements.track_planning", "on"),
    ]);
    platform.sql("create extension pg_stat_statements");
    let mut client = platform.connect();
    for (path, query) in [
        ("/page/7/N", "select coalesce(json_agg(p), '[]') from page(7, N) p"),
        ("/times/N", "select coalesce(json_agg(t), '[]') from times(N) t"),
    ] {
        platform.sql("select pg_stat_statements_reset()");
        for turn in 0..200 {
            // As autovacuum does now and then.
            if turn == 80 || turn == 140 {
                platform.sql("analyze item");
            }
            let number = [20, 1, 5, 20, 30, 3, 2, 10][turn % 8].to_string();
            let reply = client.request("GET", &path.replace('N', &number), &[], b"");
            if turn % 16 < 8 {
                let wanted = platform.value(&query.replace('N', &number)).expect("an answer");
                let [told, wanted]: [serde_json::Value; 2] =
                    [reply.text(), wanted].map(|text| serde_json::from_str(&text).expect("JSON"));
                assert_eq!(told, wanted, "{path}");
            }
        }
        let counts = "select sum(plans) || ' ' || sum(calls) from pg_stat_statements where query ~ 'from (item|generate_series|public)'";
        let counts = platform.value(counts).expect("the statement");
        let (plans, calls) = counts.split_once(' ').expect("two numbers");
        let (plans, calls): (u32, u32) = (plans.parse().unwrap(), calls.parse().unwrap());
        assert!(calls >= 200 && plans < 60, "{path}: {plans} plans for {calls} requests");
    }
}

#[test]
fn a_request_for_which_another_plan_is_better_gets_it() {
    let platform = platform(&[]);
    let mut client = platform.connect();
    let ask = |client: &mut Connection, status: &str, times: usize, wanted: &str| {
        for _ in 0..times {
            assert_eq!(client.request("GET", &format!("/found/{status}"), &[], b"").text(), wanted);
        }
    };
    let scans = || {
        let query = "select seq_scan, idx_scan from pg_stat_user_tables where relname = 'item'";
        let row = platform.session().query_one(query, &[]).expect("the counters");
        (row.get::<_, i64>(0), row.get::<_, i64>(1))
    };
    // The whole table is read for these, and the plan for any values reads it as well.
    ask(&mut client, "done", 300, "19980");
    // Some of these find out that it is not theirs.
    ask(&mut client, "open", 150, "20");
    // They are reported once a second at most, after a request.
    let reported = |client: &mut Connection, least: i64| {
        wait_for("the counters", || {
            ask(client, "open", 1, "20");
            scans().1 >= least
        });
        scans()
    };
    let before = reported(&mut client, 1);
    ask(&mut client, "open", 200, "20");
    let after = reported(&mut client, before.1 + 150);
    assert!(after.0 <= before.0 + 20, "{before:?}, then {after:?}");
}
