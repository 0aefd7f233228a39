//! What users have made runs as the role of the kind of jobs, at each step: when a plan is made, arguments are converted, rows are checked, a failure
//! is written down, and the transaction ends. And who may do what with jobs.

use std::collections::BTreeSet;

use howdah_tests::platform::{Platform, wait_for};
use howdah_tests::queues::error;

/// Functions of `mallory` that tell the log as whom they run, and what calls them; a function whose steps all call one.
const TELLTALES: &str = "
create role mallory; create role app; create role other;
create schema evil authorization mallory; grant all on schema evil to public;
set role mallory;
create function evil.tell(place text) returns boolean immutable language plpgsql as
  $$ begin raise log 'told: % as % of %', place, current_user, session_user; return true; end $$;
create domain evil.d as text check (evil.tell('domain'));
create table evil.item (id integer default (case when evil.tell('default') then 1 end), name evil.d,
  twice integer generated always as (case when evil.tell('generated') then 2 end) stored, check (evil.tell('check')));
create function evil.of_index(integer) returns boolean immutable language plpgsql as
  $$ begin return evil.tell('index'); end $$;
create index on evil.item (evil.of_index(id));
create function evil.see() returns trigger language plpgsql as $$ begin perform evil.tell(tg_name); return new; end $$;
create trigger before before insert on evil.item for each row execute function evil.see();
create constraint trigger deferred after insert on evil.item deferrable initially deferred
  for each row execute function evil.see();
grant insert, select on evil.item to app, other;
-- Found before those of PostgreSQL wherever this path is in force.
create function evil.clock_timestamp() returns timestamptz language plpgsql as
  $$ begin perform evil.tell('clock'); return pg_catalog.now(); end $$;
create function evil.equal(bigint, bigint) returns boolean language plpgsql as
  $$ begin perform evil.tell('operator'); return pg_catalog.int8eq($1, $2); end $$;
create operator evil.= (leftarg = bigint, rightarg = bigint, function = evil.equal);
reset role;
create function store(name evil.d, number integer default (case when evil.tell('argument') then 1 end)) returns void
language sql begin atomic insert into evil.item (name) values (store.name); end;
create function fail(name evil.d) returns void language plpgsql as
  $$ begin insert into evil.item (name) values (fail.name); raise exception 'no'; end $$;";

fn platform() -> Platform {
    let platform = Platform::with(&[
        ("howdah.min_job_executors", "1"),
        // One process, so that each job comes to what others have left.
        ("howdah.max_job_executors", "1"),
        // What is told is much.
        ("howdah.log_rate", "1000000"),
    ]);
    platform.sql(TELLTALES);
    platform
}

/// Where something was told, and as whom: `domain as app of postgres`.
fn told(platform: &Platform) -> BTreeSet<String> {
    let log = platform.log();
    log.lines().filter_map(|line| line.split_once("told: ")).map(|(_, what)| what.to_owned()).collect()
}

const PLACES: [&str; 8] =
    ["argument", "before", "check", "default", "deferred", "domain", "generated", "index"];

#[test]
fn what_a_job_does_is_done_as_the_role_of_its_kind() {
    for batch in [1, 50] {
        let platform = platform();
        // When the table was made.
        let before = told(&platform);
        platform.sql(&format!(
            "select job.define(kind, function, role => role, batch => {batch}, attempts => 2, backoff => '1 ms',
               search_path => 'evil, pg_catalog, public')
             from (values ('a', 'store', 'app'), ('b', 'store', 'other'), ('c', 'fail', 'app')) k (kind, function, role)"
        ));
        platform.sql(
            "select job.enqueue(kind, '{\"name\": \"n\"}', key => kind || number)
             from unnest(array['a', 'b', 'c']) kind, generate_series(1, 20) number order by number",
        );
        wait_for("jobs", || platform.count("evil.item") == 40);
        wait_for("dead jobs", || {
            platform.count("job.dead_jobs where kind = 'c' and reason = 'failed'") == 20
        });
        let told: BTreeSet<String> = told(&platform).difference(&before).cloned().collect();
        let roles: BTreeSet<&str> = told.iter().filter_map(|what| what.split(' ').nth(2)).collect();
        assert_eq!(roles, BTreeSet::from(["app", "other"]), "{batch}: {told:?}");
        for role in ["app", "other"] {
            for place in PLACES {
                let told = told.iter().any(|what| what.starts_with(&format!("{place} as {role} ")));
                assert!(told, "{place} as {role}, {batch}");
            }
        }
        // What Howdah asks by itself has names of PostgreSQL's own.
        let own = told.iter().find(|what| what.starts_with("clock") || what.starts_with("operator"));
        assert_eq!(own, None, "{batch}");
    }
}

#[test]
fn who_has_no_right_to_a_kind_can_neither_change_nor_see_its_jobs() {
    let platform = platform();
    platform.sql(
        "create role helper; grant howdah_admin to helper;
         select job.define('a', 'store', role => 'app');
         select job.grant('a', 'enqueue', 'other');
         select job.pause('a');
         create table id as select job.enqueue('a', '{\"name\": \"secret\"}', key => 'k') as id;
         grant select on id to public",
    );
    let mut session = platform.session();
    session.batch_execute("set role mallory").unwrap();
    for statement in [
        "select job.enqueue('a', '{}')",
        "select job.enqueue_many('a', array['{}'::jsonb])",
        "select job.enqueue_with_key('a', 'k', '{}')",
        "select job.cancel(id) from id",
        "select job.redrive('a')",
        "select job.discard('a')",
        "select job.pause('a')",
        "select job.resume('a')",
        "select job.grant('a', 'enqueue', 'mallory')",
        "select job.undefine('a', true)",
        "select job.define('mine', 'evil.see', role => 'app')",
        "select job.make_queue(1, 'high')",
        "select job.unmake(1)",
        "select job.purge(0)",
        "select job.follow(1, '')",
        "select job.note_oids()",
        "select job.note_failure(1, 1, 1, 1, now(), '', '', '', '', '')",
        "select from job.kind",
        "select from job.dead",
        "select from job.failure",
        "select from job.key",
        "insert into job.key (kind, key, job, holds) values (1, 'x', 1, 'time')",
    ] {
        let refused = error(&mut session, statement);
        assert!(refused.starts_with("42501"), "{statement}: {refused}");
    }
    let seen =
        "select (select count(*) from job.find((select id from id))) + (select count(*) from job.kinds)
                  + (select count(*) from job.overview) + (select count(*) from job.running)";
    let seen_as = |session: &mut cluster::postgres::Client, role: &str| -> i64 {
        session.batch_execute(&format!("reset role; set role {role}")).unwrap();
        session.query_one(seen, &[]).unwrap().get(0)
    };
    assert_eq!(seen_as(&mut session, "mallory"), 0);
    assert_eq!(seen_as(&mut session, "app"), 0);
    assert_eq!(seen_as(&mut session, "other"), 3);
    // One right is not another.
    assert!(error(&mut session, "select job.cancel(id) from id").starts_with("42501"));
    session.batch_execute("select job.enqueue('a', '{}')").unwrap();
    // howdah_admin defines kinds for roles that it is a member of, and no others.
    session.batch_execute("reset role; set role helper").unwrap();
    assert!(
        error(&mut session, "select job.define('mine', 'public.store', role => 'app')").starts_with("42501")
    );
    let superuser = error(&mut session, "select job.define('mine', 'public.store', role => session_user)");
    assert!(superuser.starts_with("42501"), "{superuser}");
}

/// A job that leaves its role, or what it has set, behind: the next one finds none of it.
#[test]
fn a_job_cannot_become_another_or_leave_anything_to_the_next() {
    for batch in [1, 50] {
        let platform = platform();
        platform.sql(&format!(
            "create table saw (role text, path text, memory text, locks bigint, here boolean);
             grant insert on saw to app, other;
             create function leave(how text) returns void language plpgsql as $$
             begin
               execute how;
             end $$;
             create function look() returns void language plpgsql as $$
             begin
               insert into public.saw values (current_user, current_setting('search_path'), current_setting('work_mem'),
                 (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid() and objid = 77),
                 to_regclass('pg_temp.here') is not null);
             end $$;
             select job.define('leave', 'leave', role => 'app', batch => {batch}, attempts => 1, priority => 'high'),
                    job.define('look', 'look', role => 'other', batch => {batch})"
        ));
        let ways = [
            "set role other",
            "set role postgres",
            "reset role",
            "set session authorization postgres",
            "set search_path = evil",
            "set local search_path = evil",
            "set work_mem = '77MB'",
            "select pg_advisory_lock(77)",
            "select pg_advisory_xact_lock(77)",
            "create temporary table here ()",
            "declare here cursor with hold for select 1",
            "commit",
            "rollback",
            "select 1/0",
        ];
        for way in ways {
            platform.sql(&format!(
                "select job.enqueue('leave', jsonb_build_object('how', $how${way}$how$)); select job.enqueue('look')"
            ));
        }
        wait_for("all", || platform.count("saw") == ways.len() as i64);
        let wrong = "saw where role <> 'other' or path ~ 'evil' or memory = '77MB' or locks > 0 or here";
        assert_eq!(platform.count(wrong), 0, "{batch}");
        // Nobody becomes another while a job runs, whoever the process is.
        assert_eq!(platform.count("job.dead_jobs where reason = 'failed'"), 7);
        assert_eq!(
            platform.count("job.failures where sqlstate = '55P02' and message ~ 'role|session_auth'"),
            4
        );
    }
}

#[test]
fn a_queue_that_somebody_has_made_under_the_name_of_one_of_jobs_is_never_theirs() {
    let platform = Platform::start();
    platform.sql(
        "create role maker; grant howdah_admin to maker; grant usage on schema job to maker;
         create function run() returns void language sql as '';
         select job.define('run', 'run');
         set role maker; select queue.create('job_1_high', 'job.entry'), queue.create('job_2_normal', 'job.entry')",
    );
    let mut session = platform.session();
    for call in ["job.enqueue('run', priority => 'high')", "job.define('other', 'run')"] {
        let refused = error(&mut session, &format!("select {call}"));
        assert!(
            refused.starts_with("42710") && refused.contains("exists, and is none of jobs"),
            "{call}: {refused}"
        );
    }
}
