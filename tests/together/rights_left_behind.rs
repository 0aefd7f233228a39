//! What a session or a request leaves behind, temporary schemas and connections, is nobody else's way to another's rights.

use howdah_tests::abilities::brings_extension;
use howdah_tests::queues::{BIP, Queues, error};
use howdah_tests::{Platform, wait_for};

/// A session that has a temporary schema, and searches it.
const TEMPORARY: &str = "create temp table scratch (i integer); set search_path = public, pg_temp;";

#[test]
fn a_search_path_is_registered_without_the_schema_of_a_session() {
    let platform = Platform::start();
    platform.sql(BIP);
    platform.sql(&format!(
        "{TEMPORARY}
         create function greet() returns text language sql as $$ select concat('hello', ' world') $$;
         select queue.create('bips', 't_bip');
         select http.handle($$ select concat('hello', ' ') || 'there' from request where path = '/handler' $$);
         select http.route('GET', '/route', 'greet');
         select queue.listen(4327, 'bips', address => '127.0.0.1')",
    ));
    for table in ["http.route", "http.handler", "queue.listener"] {
        let path = platform.value(&format!("select search_path from {table}"));
        assert_eq!(path.as_deref(), Some("public, pg_temp"), "{table}");
    }
    let mut session = platform.session();
    session.batch_execute(TEMPORARY).unwrap();
    let own: String =
        session.query_one("select pg_my_temp_schema()::regnamespace::text", &[]).unwrap().get(0);
    for path in [own.clone(), format!("public, \"{own}\""), own.to_uppercase(), "pg_toast_temp_3".into()] {
        for statement in [
            format!("select http.route('GET', '/other', 'greet', search_path => 'public,{path}')"),
            format!("select http.handle('select 1::text from request', 'other', search_path => '{path}')"),
            format!("select queue.listen(4328, 'bips', search_path => '{path}, public')"),
        ] {
            let error = error(&mut session, &statement);
            assert!(
                error.starts_with("22023") && error.contains("another session's"),
                "{statement}: {error}"
            );
        }
    }
}

#[test]
fn a_stored_search_path_leads_to_no_session() {
    let platform = Platform::start();
    platform.sql(
        "create role mallory login;
         select http.handle($$ select concat('hello ', current_user) from request where path = '/' $$, role => 'postgres');",
    );
    // As older versions have stored it: wherever a session may be.
    platform.sql(
        "update http.handler set search_path =
           (select 'public, ' || string_agg('pg_temp_' || n, ', ') from generate_series(0, 150) n) || ', pg_temp'",
    );
    let mut mallory = platform.session();
    mallory
        .batch_execute(
            "set session authorization mallory;
             create function pg_temp.concat(text, text) returns text language sql as $$ select 'taken over'::text $$;
             create function pg_temp.concat(text, name) returns text language sql as $$ select 'taken over'::text $$;",
        )
        .unwrap();
    for _ in 0..20 {
        assert_eq!(platform.get("/").text(), "hello postgres");
    }
}

#[test]
fn nothing_that_is_temporary_is_registered() {
    let queues = Queues::start();
    let mut session = queues.session();
    session
        .batch_execute(&format!(
            "{TEMPORARY}
             create function pg_temp.f() returns text language sql as $$ select 'x' $$;
             create view pg_temp.seen as select * from scratch; create type pg_temp.part as (a integer);
             create table pg_temp.target (a integer)"
        ))
        .unwrap();
    let own: String =
        session.query_one("select pg_my_temp_schema()::regnamespace::text", &[]).unwrap().get(0);
    for statement in [
        "select http.route('GET', '/temp', 'pg_temp.f')".to_owned(),
        format!("select http.route('GET', '/temp', '{own}.f()')"),
        "select http.handle('select i::text from scratch, request')".into(),
        "select http.handle('select i::text from pg_temp.seen, request')".into(),
        "select queue.create('temp', 'pg_temp.part')".into(),
        "select queue.create('temp', 'scratch')".into(),
        "select queue.listen(4328, into_table => 'pg_temp.target')".into(),
    ] {
        let error = error(&mut session, &statement);
        assert!(error.starts_with("42809") && error.contains("temporary"), "{statement}: {error}");
    }
}

/// Ways in which a row type is made of what is temporary, and would go with it or lose attributes.
const PARTS: [&str; 8] = [
    "pg_temp.part",
    "pg_temp.part[]",
    "pg_temp.mood",
    "over",
    "nested",
    "nested[]",
    "span",
    "text collate pg_temp.plain",
];

const MADE_OF: &str = "
    create type pg_temp.part as (a integer); create type pg_temp.mood as enum ('good'); create collation pg_temp.plain from \"C\";
    create domain over as pg_temp.part; create type nested as (id integer, p pg_temp.mood);
    create type span as range (subtype = pg_temp.mood)";

#[test]
fn a_row_type_is_made_of_nothing_that_is_temporary() {
    let queues = Queues::start();
    queues.sql("create type clean as (id bigint, name text)");
    let mut session = queues.session();
    session.batch_execute(&format!("{TEMPORARY} {MADE_OF}")).unwrap();
    for part in PARTS {
        for make in ["create type event as (id bigint, p $)", "create table event (id bigint, p $)"] {
            let make = make.replace('$', part);
            session.batch_execute(&format!("begin; {make}")).unwrap();
            let error = error(&mut session, "select queue.create('q', 'event')");
            assert!(error.starts_with("42809") && error.contains("temporary"), "{make}: {error}");
            session.batch_execute("rollback").unwrap();
        }
    }
    session.batch_execute("select queue.create('q', 'clean')").unwrap();
}

#[test]
fn a_row_type_does_not_become_one_of_something_temporary() {
    let queues = Queues::start();
    queues.sql(
        "create type inner_row as (a integer); create type kind as (i inner_row[]); create type event as (id bigint, k kind);
         create table parent (id bigint); create table child () inherits (parent); create type bare as (id integer);
         select queue.create('q', 'event'), queue.create('p', 'child');
         select queue.put('q', row(7, null)::event)",
    );
    let mut session = queues.session();
    session.batch_execute(&format!("{TEMPORARY} {MADE_OF}; create temp table own (i integer)")).unwrap();
    for part in PARTS {
        for alter in [
            "alter type event add attribute y $",
            "alter type kind add attribute y $",
            "alter type inner_row add attribute y $",
            "alter table parent add column y $",
            "alter table child add column y $",
        ] {
            let alter = alter.replace('$', part);
            let refused = error(&mut session, &alter);
            let queue = if alter.starts_with("alter type") { "queue q" } else { "queue p" };
            assert!(
                refused.starts_with("42809") && refused.contains("temporary") && refused.contains(queue),
                "{alter}: {refused}"
            );
        }
        // What is no part of a queue's rows is nobody's business here.
        for alter in [
            "alter type bare add attribute y $; alter type bare drop attribute y",
            "alter table own add column y $; alter table own drop column y",
        ] {
            let alter = alter.replace('$', part);
            session.batch_execute(&alter).unwrap_or_else(|error| panic!("{alter}: {error:?}"));
        }
    }
    session.batch_execute("alter type event add attribute n text").unwrap();
    drop(session);
    wait_for("the session has ended", || {
        queues.number("select count(*) from pg_class where relname in ('own', 'scratch')") == 0
    });
    assert_eq!(queues.number("select id from queue.take('q', 10, null::event)"), 7);
}

#[test]
fn a_stored_route_calls_no_function_of_a_session() {
    let platform = Platform::start();
    platform.sql("create function f() returns text language sql as $$ select 'x' $$; select http.route('GET', '/temp', 'f', 'postgres')");
    let mut session = platform.session();
    session
        .batch_execute(&format!(
            "{TEMPORARY} create function pg_temp.f() returns text language sql as $$ select 'taken over' $$;
         update http.route set function = pg_my_temp_schema()::regnamespace || '.f()'",
        ))
        .unwrap();
    let reply = platform.get("/temp");
    assert_eq!(reply.status, 500, "{}", reply.text());
    let error = platform.value("select broken from http.stats where pattern = '/temp'").unwrap_or_default();
    assert!(error.contains("temporary"), "{error}");
}

#[test]
fn connections_of_dblink_end_with_the_request() {
    if !brings_extension("dblink", "connections of dblink") {
        return;
    }
    let platform = Platform::with(&[("howdah.min_executors", "1"), ("howdah.max_executors", "1")]);
    let socket = platform.value("select current_setting('unix_socket_directories')").unwrap();
    platform.sql(&format!(
        "create extension dblink; create role may; create role other; create role far login;
         grant execute on function dblink_connect_u(text), dblink_connect_u(text, text) to may;
         create function connection() returns text language sql immutable as
           $$ select 'host={socket} user=far dbname=' || current_database() || ' port=' || current_setting('port') $$;
         create function open_named() returns text language plpgsql as $$
           begin perform dblink_connect_u('one', connection()), dblink_connect_u('two', connection());
             return (select u from dblink('one', 'select current_user::text') t (u text)); end $$;
         create function open_unnamed() returns text language plpgsql as $$
           begin perform dblink_connect_u(connection()); return dblink_exec('set work_mem = 1000'); end $$;
         create function open_and_fail() returns text language plpgsql as $$
           begin perform dblink_connect_u('one', connection()); raise exception 'failed'; end $$;
         create function speak(name text) returns text language plpgsql as $$
           begin return (select u from dblink(name, 'select current_user::text') t (u text)); end $$;
         create function speak_unnamed() returns text language plpgsql as $$
           begin return (select u from dblink('select current_user::text') t (u text)); end $$;
         create function connections() returns text[] language sql volatile as 'select dblink_get_connections()';
         select http.route('POST', '/' || f, f, case when f like 'open%' then 'may' else 'other' end)
         from unnest(array['open_named', 'open_unnamed', 'open_and_fail', 'speak', 'speak_unnamed', 'connections']) f"
    ));
    let ask = |path: &str| {
        let reply = platform.post(path, "text/plain", b"");
        (reply.status, reply.text())
    };
    let executors = platform.workers("executor");
    for _ in 0..2 {
        assert_eq!(ask("/open_named"), (200, "far".into()));
        assert_ne!(ask("/speak?name=one").0, 200);
        assert_ne!(ask("/speak?name=two").0, 200);
        assert_eq!(ask("/connections").0, 204);
        assert_eq!(ask("/open_unnamed"), (200, "SET".into()));
        assert_ne!(ask("/speak_unnamed").0, 200);
        assert_eq!(ask("/open_and_fail").0, 400);
        assert_eq!(ask("/connections").0, 204);
    }
    wait_for("the other ends are closed", || platform.count("pg_stat_activity where usename = 'far'") == 0);
    assert_eq!(platform.workers("executor"), executors, "the executor need not end");
}

#[test]
fn isn_is_strict_again_after_a_request() {
    if !brings_extension("isn", "how strict isn is") {
        return;
    }
    let platform = Platform::with(&[("howdah.min_executors", "1"), ("howdah.max_executors", "1")]);
    platform.sql(
        "create extension isn; create role careless; create role careful;
         create function relax(fail boolean default false) returns text language plpgsql as $$
           begin perform isn_weak(true); if fail then raise 'failed'; end if; return pg_backend_pid(); end $$;
         create function is_weak() returns text language plpgsql as
           $$ begin return isn_weak() || ' ' || pg_backend_pid(); end $$;
         select http.route('POST', '/relax', 'relax', role => 'careless'),
           http.route('POST', '/is_weak', 'is_weak', role => 'careful')",
    );
    let ask = |path: &str| platform.post(path, "text/plain", b"").text();
    let process = ask("/relax");
    assert_eq!(ask("/is_weak"), format!("false {process}"));
    ask("/relax?fail=true");
    assert_eq!(ask("/is_weak"), format!("false {process}"));
}

#[test]
fn slots_origins_and_backups_of_a_request_end_with_it() {
    let platform = Platform::with(&[
        ("howdah.min_executors", "1"),
        ("howdah.max_executors", "1"),
        ("wal_level", "logical"),
    ]);
    platform.sql(
        "create role replicating replication; create role other;
         grant execute on function pg_backup_start(text, boolean), pg_backup_stop(boolean) to replicating, other;
         grant execute on function pg_replication_origin_session_setup(text), pg_replication_origin_session_is_setup()
           to replicating, other;
         select pg_replication_origin_create('far');
         create function command(statement text, fail boolean default false) returns text language plpgsql as
           $$ begin execute statement; if fail then raise 'failed'; end if; return pg_backend_pid(); end $$;
         create function look() returns text language plpgsql as $$
         begin
           return (select count(*) from pg_replication_slots) || ' ' || pg_replication_origin_session_is_setup();
         end $$;
         create function stop() returns text language plpgsql as
           $$ begin return (select labelfile from pg_backup_stop(false)); end $$;
         select http.route('POST', '/command', 'command', role => 'replicating'), http.route('POST', '/look', 'look', role => 'other'),
           http.route('POST', '/stop', 'stop', role => 'other')",
    );
    let began = platform.began();
    let json = "application/json";
    for statement in [
        "select pg_create_physical_replication_slot('s', true, true)",
        "select pg_create_logical_replication_slot('s', 'pgoutput', true)",
        "select pg_replication_origin_session_setup('far')",
        "select pg_backup_start('label', true)",
    ] {
        for fail in [false, true] {
            let body = serde_json::json!({"statement": statement, "fail": fail}).to_string();
            let reply = platform.post("/command", json, body.as_bytes());
            assert_eq!(reply.status, if fail { 400 } else { 200 }, "{statement}: {}", reply.text());
            assert_eq!(platform.post("/look", json, b"").text(), "0 false", "{statement}");
            let stopped = platform.post("/stop", json, b"");
            assert_ne!(stopped.status, 200, "{statement}: {}", stopped.text());
        }
    }
    assert_eq!(platform.began(), began);
}

#[test]
fn what_is_made_in_a_numbered_temporary_schema_goes_with_the_request() {
    let platform = Platform::with(&[("howdah.max_executors", "1")]);
    platform.sql(
        "create role victim; create schema loot; grant usage, create on schema loot to public;
         create table loot.taken (who text); grant insert on loot.taken to public;
         create function loot.steal(v pg_catalog.text) returns boolean language plpgsql as
           $$ begin insert into loot.taken values (current_user); return true; end $$;
         create function make_schema() returns text language plpgsql as
           $$ begin create temporary table x (); drop table x; return 'made'; end $$;
         create function leave_domain() returns text language plpgsql as $$ begin
           if pg_my_temp_schema() = 0 then return 'another process'; end if;
           execute format('create domain %s.text as pg_catalog.text check (loot.steal(value))',
                          pg_my_temp_schema()::regnamespace);
           return 'left'; end $$;
         create function greet(name text) returns text language sql set search_path = public as
           $$ select ('Hello ' || name)::text $$;
         grant temporary on database app to howdah_web;
         select http.route('POST', '/make', 'make_schema'), http.route('POST', '/leave', 'leave_domain'),
           http.route('POST', '/greet', 'greet', role => 'victim')",
    );
    let post = |path| platform.post(path, "text/plain", b"").text();
    wait_for("a process with a schema makes the domain", || {
        assert_eq!(post("/make"), "made");
        post("/leave") == "left"
    });
    assert_eq!(post("/greet?name=Ann"), "Hello Ann");
    assert_eq!(platform.value("select string_agg(who, ', ') from loot.taken"), None);
    assert_eq!(platform.count("pg_type where typnamespace::regnamespace::text like 'pg_temp%'"), 0);
}

/// `table_to_xml` and its kin are PostgreSQL's own and stable, and run whatever a view calls.
#[test]
fn a_users_code_behind_a_function_of_postgresqls_leaves_nothing_and_gains_nothing() {
    let platform = Platform::with(&[("howdah.max_executors", "1")]);
    platform.sql(
        "create role evil; create schema evil authorization evil; grant usage on schema evil to public;
         grant temporary on database app to evil;
         set role evil;
         create table evil.written (n int); create table evil.log (who text, became text);
         create function evil.at_the_end() returns trigger language plpgsql as $$ begin
           insert into evil.log values (current_user, null);
           begin
             execute 'set session authorization postgres';
             insert into evil.log values (current_user, 'another');
           exception when others then insert into evil.log values (current_user, sqlstate);
           end;
           return null; end $$;
         create constraint trigger at_the_end after insert on evil.written deferrable initially deferred
           for each row execute function evil.at_the_end();
         create function evil.leave() returns int language plpgsql volatile as $$ begin
           insert into evil.written values (1);
           create temporary table leftover (n int);
           execute 'prepare leftover as select 1';
           perform pg_advisory_lock(1);
           return 1; end $$;
         create view evil.behind as select evil.leave() as n;
         create function evil.page() returns text language sql volatile as
           $$ select left(table_to_xml('evil.behind', true, true, '')::text, 4) $$;
         reset role;
         create function leftovers() returns text language sql as
           $$ select format('%s %s %s', (select count(*) from pg_prepared_statements),
                (select count(*) from pg_locks where locktype = 'advisory'), to_regclass('pg_temp.leftover')) $$;
         select http.route('POST', '/page', 'evil.page', role => 'evil'), http.route('POST', '/leftovers', 'leftovers')",
    );
    if platform.session().query("select '<a/>'::xml", &[]).is_err() {
        return println!("SKIPPED: table_to_xml: unsupported XML feature");
    }
    assert_eq!(platform.post("/page", "text/plain", b"").text(), "<beh");
    assert_eq!(platform.post("/leftovers", "text/plain", b"").text(), "0 0 ");
    let log = platform.value("select string_agg(concat_ws(' ', who, became), ', ') from evil.log");
    assert_eq!(log.as_deref(), Some("evil, evil 55P02"));
}

/// The planner computes constants in indexes of the tables that a statement reads, by functions of their owners, while requests share
/// a transaction of the gateway's: a cursor that is left open would run its query in that transaction's commit, as nobody's request.
#[test]
fn a_cursor_that_planning_has_left_open_runs_nothing() {
    const KEEPS_A_CURSOR: &str =
        "create role evil; create schema evil authorization evil; grant usage on schema evil to public;
         set role evil;
         create table evil.item (id int primary key, name text); insert into evil.item values (1, 'one');
         grant select on evil.item to public;
         create function evil.escalate() returns int language plpgsql volatile as $$ begin
           raise log 'the cursor runs as %, and % is current', session_user, current_user;
           perform set_config('session_authorization', 'postgres', false);
           raise log 'the cursor became %', session_user;
           return 1; end $$;
         create function evil.leave() returns void language plpgsql volatile as $$ begin
           if current_user = 'howdah_web' and not exists (select from pg_cursors where name = 'held') then
             raise log 'a cursor is left';
             execute 'declare held cursor with hold for select evil.escalate()';
           end if; end $$;
         create function evil.computed(n int) returns bool language plpgsql immutable as
           $$ begin perform evil.leave(); return true; end $$;
         create table evil.parts (n int) partition by list ((n + evil.computed(1)::int));
         create table evil.part partition of evil.parts for values in (1); reset role;";
    let ways = [
        // Whoever reads a stranger's table.
        (
            "select name from evil.item where item.id = $1",
            "drop index if exists evil.computed_one; create index computed_one on evil.item (name) where evil.computed(1)",
        ),
        (
            "select left(pg_get_partition_constraintdef('evil.part'::regclass), 0) || 'one'",
            "alter table evil.parts alter n set statistics 1; alter table evil.part alter n set statistics 1",
        ),
    ];
    for (statement, change) in ways {
        let platform = Platform::with(&[("howdah.inline_threshold", "100000")]);
        platform.sql(KEEPS_A_CURSOR);
        platform.sql(&format!(
            "create function item(id int) returns text language sql stable as $$ {statement} $$;
             select http.route('GET', '/item/{{id}}', 'item')"
        ));
        let mut client = platform.connect();
        let mut ask = || assert_eq!(client.request("GET", "/item/1", &[], b"").text(), "one");
        let inline = || platform.count("http.stats where pattern = '/item/{id}' and inline > 0") == 1;
        wait_for("the gateway runs it", || {
            (0..20).for_each(|_| ask());
            inline()
        });
        let is_left = || platform.log().contains("a cursor is left");
        let mut changes = 0;
        while changes < 5 || !is_left() && changes < 50 {
            changes += 1;
            platform.sql(change);
            (0..10).for_each(|_| ask());
        }
        assert!(is_left(), "{statement}: the planner computed nothing");
        assert!(!platform.log().contains("the cursor runs"), "{statement}: {}", platform.log());
    }
}

#[test]
fn nobody_becomes_another_after_a_commit_or_in_it() {
    let platform = Platform::start();
    platform.sql(
        "create function become(name text) returns text language plpgsql as $$ begin
           perform set_config(name, 'postgres', false); return session_user;
           exception when others then return sqlstate; end $$;
         create function by_clause() returns text language plpgsql set role = postgres as $$ begin return current_user; end $$;
         select http.route('POST', '/become', 'become'), http.route('POST', '/clause', 'by_clause')",
    );
    for name in ["role", "session_authorization"] {
        // It belongs to the start of a connection here: no security context has to hold for that.
        assert_eq!(
            platform.post(&format!("/become?name={name}"), "text/plain", b"").text(),
            "55P02",
            "{name}"
        );
    }
    assert_ne!(platform.post("/clause", "text/plain", b"").status, 200);
}

/// A worker without its signals could be neither cancelled nor stopped.
#[test]
fn what_a_handler_in_perl_has_signals_do_ends_with_its_request() {
    if !brings_extension("plperl", "signals that PL/Perl sets") {
        return;
    }
    let platform = Platform::with(&[("howdah.min_executors", "1"), ("howdah.max_executors", "1")]);
    platform.sql(
        "create extension plperl; alter role howdah_web set statement_timeout = '300ms';
         create function ignore(signal text) returns text language plperl as
           $$ $SIG{$_[0]} = 'IGNORE' if $_[0]; return 'ignored' $$;
         create function nap() returns text language sql as $$ select 'slept' from pg_sleep(2) $$;
         select http.route('POST', '/ignore', 'ignore'), http.route('POST', '/nap', 'nap')",
    );
    let post = |path: &str| platform.post(path, "text/plain", b"");
    for signal in ["TERM", "HUP", "INT", "USR1", "USR2", "ALRM"] {
        assert_eq!(post(&format!("/ignore?signal={signal}")).text(), "ignored");
        assert_eq!(post("/nap").status, 504, "{signal}: the time limit holds");
    }
    // Who leaves them alone keeps its process.
    post("/ignore?signal=");
    let before = platform.workers("executor");
    post("/ignore?signal=");
    assert_eq!(platform.workers("executor"), before);
}

/// Calls each function of PostgreSQL's that is not volatile with names and numbers of a user's things, and says which have run
/// what is behind them. A sequence counts that: no error undoes it.
const RUN_BY_NAME: &str = r#"
    create schema evil;
    create sequence evil.runs;
    create function evil.run() returns int language plpgsql volatile as
      $$ begin perform nextval('evil.runs'); return 1; end $$;
    create view evil.thing as select evil.run() as n;
    create domain evil.domain as text check (evil.run() > 0);
    create type evil.row as (value evil.domain);
    create function evil.key(n int) returns int language plpgsql immutable as $$ begin return n + evil.run(); end $$;
    create table evil.parts (n int) partition by hash ((n + evil.key(1)));
    create table evil.part partition of evil.parts for values with (modulus 1, remainder 0);
    set check_function_bodies = off;
    create function evil.text() returns evil.domain[] language sql stable as $$ select '{x}'::evil.domain[] $$;
    create function evil.argument(type regtype, round int) returns text language sql stable as $$
      select case
        when type = any ('{text, name, varchar, bpchar}'::regtype[]) then
          format('%L::%s', coalesce((array['evil.thing', 'evil.domain', 'select * from evil.thing', 'evil', 'evil.row'])[round], 'x'), type)
        when type = 'cstring'::regtype then quote_literal(coalesce((array['x', '{x}', '[x,y]', 'evil', '(x)'])[round], 'x'))
        when type = 'oid'::regtype then
          (array['evil.thing'::regclass::oid, 'evil.domain'::regtype::oid, 'evil.run'::regproc::oid, 'evil'::regnamespace::oid,
                 'evil.row'::regtype::oid, 'evil.part'::regclass::oid, 'evil.parts'::regclass::oid,
                 'evil.text'::regproc::oid])[round]::text
        when type = 'regclass'::regtype then '''evil.thing''::regclass'
        when type = 'regtype'::regtype then '''evil.domain''::regtype'
        when type = 'regproc'::regtype then '''evil.run''::regproc'
        when type = 'regprocedure'::regtype then '''evil.run()''::regprocedure'
        when type = 'regnamespace'::regtype then '''evil''::regnamespace'
        when type = 'bool'::regtype then 'true'
        when type = any ('{int2, int4, int8, numeric, float4, float8}'::regtype[]) then '1::' || type
        when type = any ('{json, jsonb}'::regtype[]) then '''{"n": "x"}''::' || type
        when type::text in ('anyelement', 'anynonarray', 'anycompatible', '"any"', 'record') then 'null::evil.thing'
        when type = any ('{anyarray, anycompatiblearray}'::regtype[]) then '''{x}''::text[]'
        else 'null::' || type end $$;
    create function evil.runs() returns bigint language sql volatile return (select last_value + is_called::int from evil.runs);
    create function evil.found() returns setof text language plpgsql as $$
      declare called record; before bigint; begin
        for called in
          select p.oid, round, format('select pg_catalog.%I(%s)', proname,
                   (select string_agg(evil.argument(type::regtype, round), ', ' order by place)
                    from unnest(proargtypes) with ordinality a (type, place))) as call
          from pg_proc p, generate_series(1, 8) round
          where pronamespace = 'pg_catalog'::regnamespace and prokind = 'f' and provolatile <> 'v' and pronargs > 0
            and p.oid < 16384 and not 'internal'::regtype = any (proargtypes)
        loop
          if called.round in (6, 7) then
            -- What is kept of a partition's key is computed anew.
            alter table evil.parts alter n set statistics 1; alter table evil.part alter n set statistics 1;
          end if;
          before := evil.runs();
          begin execute called.call; exception when others then null; end;
          if evil.runs() <> before then return next called.oid || ' ' || called.call; end if;
        end loop;
      end $$"#;

#[test]
#[cfg_attr(not(feature = "long"), ignore = "it takes long: make test-long")]
fn functions_of_postgresqls_that_run_what_they_are_given_the_name_of_are_known() {
    let platform = Platform::start();
    platform.sql(RUN_BY_NAME);
    let source = include_str!("../../extension/request/src/effects.rs");
    let (_, list) = source.split_once("const BY_NAME").expect("the list");
    let (list, _) = list.split_once("];\n").expect("its end");
    let known: Vec<&str> = list.split(|character: char| !character.is_ascii_digit()).collect();
    let found = platform.session().query("select evil.found()", &[]).expect("who runs what");
    let found: Vec<String> = found.iter().map(|row| row.get(0)).collect();
    println!("{found:#?}");
    let unknown: Vec<_> =
        found.iter().filter(|line| !known.contains(&line.split(' ').next().unwrap_or_default())).collect();
    assert!(unknown.is_empty(), "not in BY_NAME of request/effects.rs: {unknown:#?}");
    assert!(found.len() >= 2, "{found:?}");
}
