//! Jobs: enqueued in a transaction, run exactly once.

use cluster::{Life, Shutdown};
use howdah_tests::platform::{Platform, wait_for};
use howdah_tests::queues::error;

/// A platform with a table that jobs write to, and a kind of jobs that do.
fn platform() -> Platform {
    let platform = Platform::with(&[]);
    platform.sql(
        "create table ran (number integer, attempt integer, by text default current_user);
         create function run(number integer, fails integer default 0) returns void language plpgsql as $$
         begin
           insert into ran select run.number, c.attempt from job.current() c;
           if (select c.attempt from job.current() c) <= fails then
             raise exception 'attempt % of % fails', (select c.attempt from job.current() c), number;
           end if;
         end $$;
         grant insert, select on ran to howdah_web;
         select job.define('run', 'run', attempts => 3, backoff => '10 ms');",
    );
    platform
}

#[test]
fn a_job_runs_once_after_the_commit_that_enqueues_it() {
    let platform = platform();
    let mut session = platform.session();
    session.batch_execute("begin; select job.enqueue('run', '{\"number\": 1}')").unwrap();
    platform.sql("select job.enqueue('run', '{\"number\": 2}')");
    wait_for("the other job", || platform.count("ran where number = 2 and by = 'howdah_web'") == 1);
    assert_eq!(platform.count("ran where number = 1"), 0);
    session.batch_execute("commit").unwrap();
    wait_for("the job", || platform.count("ran where number = 1 and attempt = 1") == 1);
    session.batch_execute("begin; select job.enqueue('run', '{\"number\": 3}'); rollback").unwrap();
    platform.sql("select job.enqueue('run', '{\"number\": 4}', at => now() + interval '200 ms')");
    wait_for("the delayed job", || platform.count("ran where number = 4") == 1);
    assert_eq!(platform.count("ran"), 3);
}

/// Hooks that a worker has from its start are not put there again by what a job calls: a hook that is its own next never ends.
#[test]
fn a_job_asks_for_a_route_again_and_again_and_its_process_stays() {
    let platform = platform();
    platform.sql(
        "create function page() returns text language sql stable return 'page';
         select http.route('GET', '/page', 'page');
         grant execute on function http.call(text, text, http.header[], bytea, text), http.explain(text, text, http.header[]) to howdah_web;
         create function look(number integer) returns void language plpgsql as $$
         begin
           insert into ran select look.number, c.status from http.call('GET', '/page') c;
           execute 'select ' || look.number;
           perform * from http.explain('GET', '/page');
         end $$;
         select job.define('look', 'look', attempts => 1)",
    );
    for number in 1..=6 {
        platform.sql(&format!("select job.enqueue('look', '{{\"number\": {number}}}')"));
        wait_for("the job", || platform.count("ran") == number || platform.count("job.dead_jobs") > 0);
    }
    assert_eq!(
        platform.count("ran where attempt = 200"),
        6,
        "{:?}",
        platform.value("select string_agg(error, ' ') from job.failures")
    );
    assert_eq!(platform.get("/page").text(), "page");
}

#[test]
fn many_are_enqueued_at_once_in_order_and_all_or_none() {
    let platform = platform();
    platform.sql("select job.pause('run')");
    platform.sql(
        "create table sent as
         select id, place from job.enqueue_many('run',
           array(select jsonb_build_object('number', n) from generate_series(1, 3000) n), priority => 'high')
         with ordinality s(id, place)",
    );
    assert_eq!(
        platform.count("sent cross join lateral job.find(id) f where (f.arguments->>'number')::int = place"),
        3000
    );
    assert_eq!(
        platform.count("(select lag(id) over (order by place) >= id as falls from sent) s where falls"),
        0
    );
    let mut session = platform.session();
    for arguments in [r#"array['{"number": 1}', '[]']::jsonb[]"#, "array[null]::jsonb[]", "null", "'{7}'"] {
        let refused = error(&mut session, &format!("select job.enqueue_many('run', {arguments})"));
        assert!(refused.contains("the arguments of a job are a JSON object"), "{arguments}: {refused}");
    }
    for arguments in ["7", "\"text\"", "null", "[{}]"] {
        let refused = error(&mut session, &format!("select job.enqueue('run', '{arguments}')"));
        assert!(refused.contains("the arguments of a job are a JSON object"), "{arguments}: {refused}");
    }
    // One that is so long that it is compressed, and none at all.
    platform.sql(
        "create table long as select jsonb_build_object('number', 3001, 'text', repeat('x', 100000)) as a;
         select job.enqueue('run', a - 'text' || '{\"fails\": 0}') from long;
         select job.enqueue_many('run', array(select a from long));
         select job.enqueue_many('run', '{}')",
    );
    assert_eq!(platform.count("job.dead_jobs"), 0);
    platform.sql("select job.resume('run')");
    wait_for("all", || platform.count("ran where number <= 3000") == 3000);
    wait_for("the long ones", || platform.count("ran where number = 3001") == 2);
}

#[test]
fn a_job_that_fails_is_undone_and_comes_again_until_its_last_attempt() {
    let platform = platform();
    platform.sql("select job.enqueue('run', '{\"number\": 1, \"fails\": 2}')");
    wait_for("the third attempt", || platform.count("ran where number = 1 and attempt = 3") == 1);
    assert_eq!(platform.count("ran"), 1);
    assert_eq!(
        platform.count("job.failures where sqlstate = 'P0001' and message like 'attempt % of 1 fails'"),
        2
    );
    platform.sql("select job.enqueue('run', '{\"number\": 2, \"fails\": 9}')");
    wait_for("it is dead", || platform.count("job.dead_jobs where attempts = 3 and reason = 'failed'") == 1);
    assert_eq!(platform.count("ran"), 1);
    assert_eq!(platform.count("job.failures"), 5);
    assert_eq!(
        platform.value("select arguments->>'number' || ' ' || message from job.dead_jobs").unwrap(),
        "2 attempt 3 of 2 fails"
    );
}

const SLEEP: &str = "
    create function sleep(seconds float, catches boolean default false) returns void language plpgsql as $$
    begin
      perform job.progress(0.4, 'asleep');
      begin
        perform pg_sleep(seconds);
      exception when query_canceled then
        if not catches then raise; end if;
      end;
      insert into ran values (99, 0);
    end $$;
    select job.define('sleep', 'sleep', attempts => 2, backoff => '10 ms', timeout => '300 ms'),
      job.define('long', 'sleep', attempts => 2);";

#[test]
fn what_takes_too_long_is_cancelled_and_undone_also_if_it_catches_that() {
    let platform = platform();
    platform.sql(SLEEP);
    for catches in [false, true] {
        platform.sql(&format!("select job.enqueue('sleep', '{{\"seconds\": 3, \"catches\": {catches}}}')"));
        wait_for("it is dead", || platform.count("job.dead_jobs where sqlstate = '57014'") == 1);
        platform.sql("select job.discard('sleep')");
    }
    assert_eq!(platform.count("ran"), 0);
}

#[test]
fn cancel_meets_the_job_that_it_names_whether_it_waits_or_runs() {
    let platform = platform();
    platform.sql(SLEEP);
    let enqueue = |at: &str| {
        let query = format!("select job.enqueue('long', '{{\"seconds\": 60}}', at => {at})::text");
        platform.value(&query).unwrap()
    };
    let running = enqueue("null");
    wait_for("it runs", || platform.count("job.running where progress = 0.4 and remark = 'asleep'") == 1);
    assert_eq!(platform.value(&format!("select state from job.find({running})")).unwrap(), "running");
    let later = enqueue("now() + interval '1 h'");
    assert_eq!(platform.value(&format!("select state from job.find({later})")).unwrap(), "delayed");
    for id in [&running, &later] {
        assert_eq!(platform.value(&format!("select job.cancel({id})::text")).unwrap(), "true");
    }
    wait_for("both are dead", || platform.count("job.dead_jobs where reason = 'cancelled'") == 2);
    assert_eq!(platform.value(&format!("select job.cancel({later})::text")).unwrap(), "false");
    assert_eq!(platform.count(&format!("job.find({later})")), 0);
    assert_eq!(platform.count("ran"), 0);
    // Again, with all attempts, and with its history.
    let again = platform.value(&format!("select job.redrive({running})::text")).unwrap();
    wait_for("it runs again", || {
        platform.count(&format!("job.running where id = {again} and attempt = 1")) == 1
    });
    assert_eq!(platform.value(&format!("select first_id::text from job.find({again})")).unwrap(), running);
    platform.sql(&format!("select job.cancel({again})"));
    wait_for("it is dead again", || {
        platform.count(&format!("job.dead_jobs where first_id = {running}")) == 1
    });
    assert_eq!(platform.value("select job.discard('long')::text").unwrap(), "2");
    assert_eq!(platform.count("job.failures"), 0);
}

#[test]
fn a_kind_pauses_and_goes_on() {
    let platform = platform();
    assert_eq!(platform.value("select job.pause('run')::text").unwrap(), "true");
    platform.sql("select job.enqueue('run', '{\"number\": 1}'), job.enqueue('run', '{\"number\": 2}')");
    platform.sql("select job.define('other', 'run'), job.enqueue('other', '{\"number\": 3}')");
    wait_for("another kind's", || platform.count("ran where number = 3") == 1);
    let shown = platform.value("select format('%s wait, %s began, %s', waiting, begun, paused_at < now()) from job.kinds where kind = 'run'");
    assert_eq!(shown.as_deref(), Some("2 wait, 0 began, t"));
    assert_eq!(platform.value("select job.resume('run')::text").unwrap(), "true");
    wait_for("both", || platform.count("ran") == 3);
    assert_eq!(
        platform.count("job.kinds where kind = 'run' and done = 2 and waiting = 0 and running = 0"),
        1
    );
}

#[test]
fn jobs_say_when_they_come_again_and_when_never() {
    let platform = platform();
    platform.sql(
        "create function ask(again boolean) returns void language plpgsql as $$
         begin
           insert into ran values (1, 1);
           if again and (select attempt from job.current()) = 1 then perform job.retry('50 ms', 'not yet'); end if;
           if not again then perform job.give_up('never'); end if;
         end $$;
         select job.define('ask', 'ask', backoff => '1 h'), job.enqueue('ask', '{\"again\": true}'),
           job.enqueue('ask', '{\"again\": false}')",
    );
    wait_for("the second attempt", || platform.count("ran") == 1);
    wait_for("the other is dead", || {
        platform.count("job.dead_jobs where reason = 'given up' and message = 'never'") == 1
    });
    assert_eq!(platform.count("job.failures where sqlstate = 'JB001' and message = 'not yet'"), 1);
}

#[test]
fn a_kind_whose_function_is_gone_stops_alone_and_keeps_its_jobs() {
    let platform = platform();
    platform.sql("create function gone(number integer) returns void language sql as 'insert into ran values (number, 0)';
        select job.define('gone', 'gone'); drop function gone(integer);
        select job.enqueue('gone', '{\"number\": 1}'), job.enqueue('run', '{\"number\": 2}')");
    wait_for("the other", || platform.count("ran where number = 2") == 1);
    wait_for("the reason", || {
        platform.count("job.kinds where kind = 'gone' and stopped like '%gone(integer)%'") == 1
    });
    platform.sql("create function gone(number integer) returns void language sql as 'insert into ran values (number, 5)'");
    wait_for("it goes on", || platform.count("ran where number = 1 and attempt = 5") == 1);
    assert_eq!(platform.count("job.failures"), 0);
    wait_for("no reason", || platform.count("job.kinds where stopped is not null") == 0);
}

/// Intervals in which jobs ran.
const INTERVALS: &str = "
    create table span (kind text, began timestamptz, ended timestamptz);
    create function span(seconds float default 0.05) returns void language plpgsql as $$
    declare
      began timestamptz := clock_timestamp();
    begin
      perform pg_sleep(seconds);
      insert into span select c.kind, began, clock_timestamp() from job.current() c;
    end $$;
    grant insert on span to howdah_web;";

#[test]
fn kinds_hold_their_limits_over_all_executors() {
    let platform = Platform::with(&[("howdah.max_job_executors", "6")]);
    platform.sql(INTERVALS);
    platform.sql(
        "select job.define('two', 'span', at_once => 2), job.define('rate', 'span', per_second => 20),
           job.define('share', 'span');
         select job.enqueue('two') from generate_series(1, 20);
         select job.enqueue('rate', '{\"seconds\": 0}') from generate_series(1, 30);
         select job.enqueue('share') from generate_series(1, 60)",
    );
    wait_for("all", || platform.count("span") == 110);
    let most = |kind: &str| {
        let beside = "select count(*) from span other where other.kind = one.kind and other.began <= one.began and other.ended > one.began";
        platform.value(&format!("select max(({beside}))::text from span one where kind = '{kind}'")).unwrap()
    };
    assert_eq!(most("two"), "2");
    assert!(["1", "2", "3"].contains(&&*most("share")), "{} of 6 executors", most("share"));
    let within = "select count(*) from span other where other.kind = 'rate' and other.began >= one.began
        and other.began < one.began + interval '990 ms'";
    let most =
        platform.value(&format!("select max(({within}))::text from span one where kind = 'rate'")).unwrap();
    assert!(most.parse::<u32>().unwrap() <= 20, "{most} within a second");
    assert_eq!(platform.count("job.kinds where running > 0"), 0);
}

#[test]
fn slow_kinds_of_one_owner_leave_an_executor_to_another() {
    let platform = Platform::with(&[("howdah.max_job_executors", "4")]);
    platform.sql(
        "create table let_go (now boolean); create table ran (kind text);
         create function waits() returns void language plpgsql as $$
           begin
             while not exists (select from let_go) loop perform pg_sleep(0.01); end loop;
             insert into ran select kind from job.current();
           end $$;
         create function notes() returns void language sql as 'insert into ran select kind from job.current()';
         grant select on let_go to howdah_web; grant insert on ran to howdah_web;
         create role one; create role other; grant howdah_web, howdah_admin to one, other;
         set role one;
         select job.define('a', 'waits', role => 'howdah_web'), job.define('b', 'waits', role => 'howdah_web'),
           job.define('c', 'waits', role => 'howdah_web', at_once => 1000), job.define('d', 'waits', role => 'howdah_web');
         select job.enqueue(kind) from unnest(array['a', 'b', 'c', 'd']) kind, generate_series(1, 20)",
    );
    // All of them are there while nobody else has a kind.
    wait_for("all run", || platform.count("job.running") == 4);
    // What another has not committed takes nothing away.
    platform
        .sql("set role other; begin; select job.define('quick', 'notes', role => 'howdah_web'); rollback");
    platform.sql("insert into let_go values (true)");
    wait_for("all are done", || platform.count("ran") == 80);
    platform.sql("truncate let_go, ran; set role one; select job.enqueue(kind) from unnest(array['a', 'b', 'c', 'd']) kind, generate_series(1, 20)");
    wait_for("all run again", || platform.count("job.running") == 4);
    platform.sql("set role other; select job.define('quick', 'notes', role => 'howdah_web')");
    platform.sql("insert into let_go values (true)");
    wait_for("all are done", || platform.count("ran") == 80);
    platform.sql("truncate let_go, ran");
    platform.sql(
        "set role one; select job.enqueue(kind) from unnest(array['a', 'b', 'c', 'd']) kind, generate_series(1, 20)",
    );
    wait_for("all but one run", || platform.count("job.running") == 3);
    platform.sql("set role other; select job.enqueue('quick') from generate_series(1, 20)");
    wait_for("the other's are done", || platform.count("ran where kind = 'quick'") == 20);
    assert_eq!(platform.count("job.running"), 3);
    platform.sql("insert into let_go values (true)");
    wait_for("all are done", || platform.count("ran") == 100);
}

#[test]
fn kinds_for_which_there_is_no_room_wait_and_say_so() {
    let mut platform = Platform::with(&[("howdah.max_job_kinds", "2")]);
    platform.sql(INTERVALS);
    platform.sql("select job.define('a', 'span'), job.define('b', 'span')");
    let refused = error(&mut platform.session(), "select job.define('c', 'span')");
    assert!(refused.starts_with("53400"), "{refused}");
    platform.cluster.set("howdah.max_job_kinds", 1);
    platform.cluster.restart(Shutdown::Fast, Life::WithParent).unwrap();
    platform.sql("select job.enqueue('a'), job.enqueue('b')");
    wait_for("the one", || platform.count("span") == 1);
    wait_for("it says so", || {
        platform.count("job.kinds where kind = 'b' and stopped like '%howdah.max_job_kinds%'") == 1
    });
    platform.sql("select job.undefine('a')");
    wait_for("the other", || platform.count("span where kind = 'b'") == 1);
}

#[test]
fn history_is_bounded_however_often_a_job_fails_and_whatever_it_says() {
    let platform = platform();
    platform.sql(
        "create function shout() returns void language plpgsql as $$
           begin raise exception '%', repeat('x', 1000000) using detail = repeat('é', 1000000); end $$;
         select job.define('shout', 'shout', attempts => 1000000, backoff => '0', longest_backoff => '0'),
           job.enqueue('shout')",
    );
    wait_for("a hundred attempts", || platform.count("job.kinds where kind = 'shout' and failed > 100") == 1);
    platform.sql("select job.pause('shout')");
    wait_for("none runs", || platform.count("job.running") == 0);
    assert_eq!(platform.count("job.failures"), 10);
    assert_eq!(platform.count("job.failures where length(message) > 1003 or length(detail) > 1003"), 0);
    assert_eq!(
        platform
            .count("pg_class where oid = 'job.failure'::regclass and pg_total_relation_size(oid) < 1000000"),
        1
    );
}

#[test]
fn priorities_come_in_their_order_and_the_lowest_has_its_turn() {
    let platform = Platform::with(&[("howdah.max_job_executors", "1")]);
    platform.sql(INTERVALS);
    platform.sql(
        "select job.define('high', 'span', priority => 'high'), job.define('low', 'span', priority => 'low'),
           job.define('mixed', 'span');
         select job.pause(kind) from unnest('{high,low,mixed}'::text[]) kind;
         select job.enqueue(kind, '{\"seconds\": 0}') from unnest('{high,low,mixed}'::text[]) kind, generate_series(1, 64);
         select job.enqueue('mixed', '{\"seconds\": 0}', priority => 'low')",
    );
    platform.sql("update job.kind set paused_at = null");
    wait_for("all", || platform.count("span") == 193);
    // While the high ones run, of sixteen three are normal and one is low.
    let first = "(select kind from span order by began limit 64) first";
    let of = |kind: &str| platform.count(&format!("{first} where kind = '{kind}'"));
    assert_eq!((of("high"), of("mixed"), of("low")), (48, 12, 4));
}

#[test]
fn jobs_of_a_batch_share_a_transaction_and_fail_alone() {
    let platform = platform();
    platform.sql(
        "create table seen (number integer, tx xid8, held bigint, path text, advisory bigint);
         grant insert on seen to howdah_web;
         create function look(number integer) returns void language plpgsql as $$
         begin
           insert into seen select look.number, pg_current_xact_id(),
             (select count(*) from pg_cursors), current_setting('application_name', true),
             (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid());
           perform set_config('application_name', 'left', false);
           perform pg_advisory_lock(1), pg_advisory_xact_lock(2);
           if look.number % 10 = 3 and (select attempt from job.current()) = 1 then
             raise exception 'number %', look.number;
           end if;
           if to_regclass('pg_temp.t') is not null then
             raise exception 'a temporary table of another job';
           end if;
           if look.number = 97 then
             create temporary table t (a int);
           end if;
         end $$;
         select job.define('look', 'look', attempts => 2, backoff => '10 ms', batch => 16), job.pause('look');
         select job.enqueue('look', jsonb_build_object('number', i)) from generate_series(1, 100) i;
         select job.resume('look')",
    );
    wait_for("all have ended", || {
        platform.count("job.kinds where kind = 'look' and waiting = 0 and running = 0") == 1
    });
    assert_eq!(platform.count("(select distinct number from seen) s"), 100);
    assert_eq!(platform.count("seen"), 100);
    assert_eq!(platform.count("seen where held > 0 or path = 'left' or advisory > 0"), 0);
    assert_eq!(platform.count("job.failures where sqlstate = 'P0001'"), 10);
    let transactions: i64 =
        platform.value("select count(distinct tx)::text from seen").unwrap().parse().unwrap();
    assert!(transactions < 40, "{transactions} transactions");
    assert_eq!(platform.count("job.kinds where kind = 'look' and done = 100 and failed = 10"), 1);
}

#[test]
fn what_is_rolled_back_is_not_counted_among_those_that_wait() {
    let platform = platform();
    // In one transaction the job may begin before the pause is heard of.
    platform.sql("select job.pause('run')");
    platform.sql("select job.enqueue('run', '{\"number\": 1}')");
    let waits = |count: i64| {
        wait_for("they are counted", || {
            platform.count(&format!("job.kinds where kind = 'run' and waiting = {count}")) == 1
        });
    };
    waits(1);
    let mut session = platform.session();
    let many = "select job.enqueue_many('run', array_fill('{\"number\": 2}'::jsonb, array[300]))";
    session.batch_execute(&format!("begin; {many}; rollback")).unwrap();
    waits(1);
    session
        .batch_execute(&format!(
            "begin; savepoint one; {many}; savepoint two; {many}; release two; rollback to one; {many}; commit"
        ))
        .unwrap();
    waits(301);
    platform.sql("select job.resume('run')");
    wait_for("all have run", || platform.count("ran") == 301);
    waits(0);
}

#[test]
fn arguments_are_as_long_as_they_may_be_as_text() {
    let platform = platform();
    platform.sql("select job.pause('run')");
    platform.sql("select job.enqueue('run', jsonb_build_object('text', repeat('x', 1000000)))");
    let mut session = platform.session();
    // Short where they are stored, and long as text.
    let numbers = "jsonb_build_object('list', array_fill(1e100000, array[11]))";
    for arguments in ["jsonb_build_object('text', repeat('x', 1 << 20))", numbers] {
        for call in [
            format!("job.enqueue('run', {arguments})"),
            format!("job.enqueue_with_key('run', 'key', {arguments})"),
            format!("job.enqueue_many('run', array['{{}}', {arguments}])"),
            format!("job.schedule('daily', '@daily', 'run', {arguments})"),
        ] {
            let refused = error(&mut session, &format!("select {call}"));
            assert!(refused.starts_with("54000") && refused.contains("1048576 bytes"), "{call}: {refused}");
        }
    }
    assert_eq!(platform.count("job.kinds where kind = 'run' and waiting = 1"), 1);
    platform.set("howdah.job_longest_arguments", "2MB");
    wait_for("more is allowed", || {
        session.batch_execute(&format!("select job.enqueue('run', {numbers})")).is_ok()
    });
}

#[test]
fn a_job_of_a_batch_that_another_transaction_makes_fail_is_tried_again_and_not_charged() {
    let platform = platform();
    platform.sql(
        "create table tried (number integer); create sequence tries; grant usage on sequence tries to howdah_web;
         create function collides(number integer) returns void language plpgsql as $$
         begin
           if nextval('tries') <= 3 then
             raise exception using errcode = case number % 2 when 0 then '40P01' else '40001' end;
           end if;
           insert into tried values (number);
         end $$;
         grant insert on tried to howdah_web;
         select job.define('collides', 'collides', attempts => 1, batch => 10),
           job.enqueue_many('collides', array(select jsonb_build_object('number', n) from generate_series(1, 4) n))",
    );
    wait_for("all have run", || platform.count("tried") == 4);
    assert_eq!(platform.count("job.failures"), 0);
    assert_eq!(platform.count("job.dead_jobs"), 0);
}

#[test]
fn a_kind_that_may_have_all_executors_leaves_one_to_others() {
    let platform = Platform::with(&[("howdah.max_job_executors", "3"), ("howdah.min_job_executors", "3")]);
    platform.sql(
        "create table ran (kind text);
         create function hold() returns void language sql as 'select pg_advisory_xact_lock_shared(7)';
         create function work() returns void language sql as $$ insert into ran values ('work') $$;
         grant insert on ran to howdah_web;
         select job.define('hold', 'hold', at_once => 8), job.define('work', 'work', priority => 'high')",
    );
    let mut holder = platform.session();
    holder.batch_execute("select pg_advisory_lock(7)").unwrap();
    platform.sql("select job.enqueue('hold') from generate_series(1, 6)");
    wait_for("two are held", || platform.count("job.running") == 2);
    platform.sql("select job.enqueue('work')");
    wait_for("the other", || platform.count("ran") == 1);
    assert_eq!(platform.count("job.running"), 2);
    holder.batch_execute("select pg_advisory_unlock(7)").unwrap();
    wait_for("all", || platform.count("job.kinds where kind = 'hold' and done = 6") == 1);
}

#[test]
fn jobs_that_are_being_enqueued_when_executors_count_first_are_counted() {
    let platform = Platform::with(&[("howdah.jobs", "off")]);
    platform.sql(
        "create function run() returns void language sql as '';
         select job.define('paused', 'run'), job.pause('paused'), job.define('runs', 'run')",
    );
    let mut session = platform.session();
    session
        .batch_execute("begin; select job.enqueue_many('paused', array_fill('{}'::jsonb, array[300]))")
        .unwrap();
    platform.sql("select job.enqueue('runs')");
    platform.set("howdah.jobs", "on");
    wait_for("executors have counted", || platform.count("job.kinds where kind = 'runs' and done = 1") == 1);
    session.batch_execute("commit").unwrap();
    assert_eq!(platform.count("job.kinds where kind = 'paused' and waiting = 300"), 1);
}
