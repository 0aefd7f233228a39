//! Dead letters and producers: whose they are is asked of the current user, and what is written of a row runs nothing of
//! somebody's as somebody else.

use cluster::postgres::Client;
use howdah_tests::Platform;
use howdah_tests::abilities::brings_extension;
use howdah_tests::queues::{Queues, error, number};
use howdah_tests::traps::{ran_as, set_up};

fn queues() -> (Queues, Client) {
    let queues = Queues::empty(&[]);
    let mut session = queues.session();
    session.batch_execute("create extension howdah").unwrap();
    set_up(&mut session);
    (queues, session)
}

/// A type of `mallory` with what runs its functions when a row becomes JSON, and when JSON becomes a row.
const TYPE: &str = "
set role mallory;
create type evil.mood as enum ('fine');
create function evil.to_json(evil.mood) returns json immutable language plpgsql as
  $$ begin perform evil.note(); return '\"fine\"'; end $$;
create cast (evil.mood as json) with function evil.to_json(evil.mood);
create domain evil.d as integer check (evil.trap(value));
create type evil.t as (mood evil.mood, number integer);
reset role";

#[test]
fn a_row_that_is_buried_or_revived_runs_what_its_types_owner_has_made_as_nobody() {
    let (_queues, mut session) = queues();
    session.batch_execute(TYPE).unwrap();
    session
        .batch_execute(
            "select queue.create('jobs', 'evil.t', max_reads => 1);
             select queue.put('jobs', row('fine', 1)::evil.t);
             select queue.read('jobs', 1, '0 s', null::evil.t)",
        )
        .unwrap();
    assert_eq!(number(&mut session, "select count(*) from queue.read('jobs', 1, '0 s', null::evil.t)"), 0);
    assert_eq!(ran_as(&mut session), [""; 0], "the cast");
    session
        .batch_execute(
            "set role mallory; alter type evil.t add attribute d evil.d; reset role;
             select queue.redrive('jobs')",
        )
        .unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(ran_as(&mut session), [""; 0], "the domain");
    assert_eq!(number(&mut session, "select count(*) from queue.take('jobs', 9, null::evil.t)"), 1);
}

#[test]
fn a_row_with_types_of_others_runs_what_they_have_made_without_rights() {
    let (_queues, mut session) = queues();
    session.batch_execute(TYPE).unwrap();
    session
        .batch_execute(
            "create domain moods as evil.mood[]; create type nested as (moods moods); create type t as (nested nested);
             select queue.create('jobs', 't', max_reads => 1);
             select queue.put('jobs', row(row(array['fine'::evil.mood]))::t);
             select queue.read('jobs', 1, '0 s', null::t)",
        )
        .unwrap();
    assert_eq!(number(&mut session, "select count(*) from queue.read('jobs', 1, '0 s', null::t)"), 0);
    assert_eq!(ran_as(&mut session), [""; 0], "the cast");
    session
        .batch_execute("alter type t add attribute d evil.d[]; select queue.redrive('jobs')")
        .unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(ran_as(&mut session), [""; 0], "a domain without values");
    assert_eq!(number(&mut session, "select count(*) from queue.take('jobs', 9, null::t)"), 1);
}

#[test]
fn a_type_of_ones_own_that_calls_functions_of_others_runs_them_without_rights() {
    for domain in [
        "create domain d as text check (evil.fits(value))",
        "create domain d as text constraint by_operator check (value operator(evil.@@) '')",
        "create domain d as text check ((value::evil.d)::text <> '')",
        "create domain inner_d as text check (evil.fits(value)); create domain d as inner_d check (value <> '')",
    ] {
        let (_queues, mut session) = queues();
        let mut run = |statements: &str| {
            let ran = session.batch_execute(statements);
            ran.unwrap_or_else(|error| panic!("{domain}: {error:?}"));
        };
        run(&format!(
            "set role mallory;
             create function evil.fits(text) returns boolean language plpgsql as 'begin return $1 <> $$bad$$; end';
             create function evil.compare(text, text) returns boolean language sql as 'select evil.fits($1)';
             create operator evil.@@ (leftarg = text, rightarg = text, function = evil.compare);
             create domain evil.d as text check (evil.fits(value));
             reset role;
             {domain}; create type t as (d d);
             select queue.create('jobs', 't');
             select queue.put_lines('jobs', '{{\"d\": \"bad\"}}');
             set role mallory;
             create or replace function evil.fits(text) returns boolean language plpgsql as 'begin return evil.note(); end';
             reset role"
        ));
        run("select queue.redrive('jobs')");
        assert_eq!(number(&mut session, "select count(*) from queue.dead_letters"), 0, "{domain}");
        assert_eq!(ran_as(&mut session), ["howdah_nobody"], "{domain}");
    }
}

#[test]
fn a_cast_that_lacks_a_right_keeps_no_row_behind() {
    let (_queues, mut session) = queues();
    session
        .batch_execute(
            "create table secret (id integer); create type mood as enum ('fine');
             create function as_json(mood) returns json immutable language plpgsql as
               $$ begin perform from public.secret; return '1'; end $$;
             create cast (mood as json) with function as_json(mood);
             set role mallory; create type evil.t as (mood mood); reset role;
             select queue.create('jobs', 'evil.t', max_reads => 1);
             select queue.put('jobs', row('fine')::evil.t);
             select queue.read('jobs', 1, '0 s', null::evil.t)",
        )
        .unwrap();
    session.batch_execute("select queue.put('jobs', row('fine')::evil.t)").unwrap();
    assert_eq!(number(&mut session, "select count(*) from queue.read('jobs', 2, '0 s', null::evil.t)"), 1);
    assert_eq!(number(&mut session, "select count(*) from queue.dead_letters"), 1);
}

#[test]
fn operators_in_the_search_path_do_not_decide_whose_letters_and_producers_are() {
    let (_queues, mut session) = queues();
    session
        .batch_execute(
            "create table t (id int);
             select queue.put_lines(into_table => 't', lines => 'bad', producer => 'p', sequence => 1);
             set session authorization mallory;
             create function evil.equal(oid, oid) returns boolean language sql as 'select true';
             create operator evil.= (leftarg = oid, rightarg = oid, function = evil.equal);
             create function evil.equal(name, name) returns boolean language sql as 'select true';
             create operator evil.= (leftarg = name, rightarg = name, function = evil.equal);
             create function evil.pg_has_role(oid, text) returns boolean language sql as 'select true';
             create function evil.pg_has_role(name, text) returns boolean language sql as 'select true';
             create table evil.owned (id int);
             set search_path = evil, pg_catalog, public",
        )
        .unwrap();
    for attack in [
        "select queue.discard_dead_letters('public.t'::regclass)",
        "select queue.redrive('public.t'::regclass)",
        "select queue.forget_producer('public.t'::regclass, 'p')",
    ] {
        let refused = error(&mut session, attack);
        assert!(refused.starts_with("42501"), "{attack}: {refused}");
    }
    // What it owns is its own.
    session.batch_execute("select queue.discard_dead_letters('evil.owned'::regclass)").unwrap();
    session.batch_execute("reset session authorization; reset search_path").unwrap();
    assert_eq!(number(&mut session, "select count(*) from queue.dead_letter"), 1);
    assert_eq!(number(&mut session, "select count(*) from queue.progress"), 1);
    let gone = error(&mut session, "select queue.discard_dead_letters(4000000000::oid::regclass)");
    assert!(gone.starts_with("42P01"), "{gone}");
}

#[test]
fn a_query_of_somebody_sees_only_the_letters_that_are_its() {
    let (_queues, mut session) = queues();
    session
        .batch_execute(
            "create table t (id int); select queue.put_lines(into_table => 't', lines => 'secret');
             select queue.create('jobs', max_reads => 1); select queue.send('jobs', '\"secret\"')",
        )
        .unwrap();
    for _ in 0..2 {
        session.batch_execute("select queue.read('jobs', 0, 1)").unwrap();
    }
    session
        .batch_execute(
            "set session authorization mallory;
             create function evil.see(anyelement) returns boolean cost 0.0001 language plpgsql as
               $$ begin return evil.note(); end $$",
        )
        .unwrap();
    assert_eq!(number(&mut session, "select count(*) from queue.dead_letters where evil.see(error)"), 0);
    session.batch_execute("reset session authorization").unwrap();
    assert_eq!(number(&mut session, "select count(*) from queue.dead_letters"), 2);
    assert_eq!(ran_as(&mut session), [""; 0], "it saw a letter");
}

/// A check of a domain that names a table without its schema is harmless in PostgreSQL; here somebody else writes its values.
#[test]
fn who_manages_a_queue_runs_the_checks_of_its_type_as_itself_and_finds_its_own_temporary_objects() {
    let (_queues, mut session) = queues();
    session
        .batch_execute(
            "create table public.allowed (x int); insert into public.allowed values (1); grant select on public.allowed to public;
             create function is_allowed(int) returns boolean language plpgsql as
               $$ begin return exists (select from allowed where x = $1); end $$;
             create domain permitted as int check (is_allowed(value)); create type t as (d permitted[]);
             select queue.create('jobs', 't', max_reads => 1); select queue.grant('jobs', 'manage', 'mallory');
             select queue.put('jobs', row('{1}')::t);
             select queue.read('jobs', 1, '0 s', null::t)",
        )
        .unwrap_or_else(|error| panic!("{error:?}"));
    session
        .batch_execute(
            "select queue.read('jobs', 1, '0 s', null::t);
             set session authorization mallory;
             create temporary view allowed as select 1 as x where evil.note();
             grant select on allowed to public",
        )
        .unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(number(&mut session, "select queue.redrive('jobs')"), 1);
    session.batch_execute("reset session authorization").unwrap();
    assert_eq!(ran_as(&mut session), ["mallory"]);
}

/// Lines for `jobs` and for the table `evil.visit`, both mallory's, whose checks refuse them until a trap takes their place.
const LINES: &str = "
set role mallory;
create function evil.refuse(int) returns boolean language plpgsql as 'begin return false; end';
create domain evil.strict as int check (evil.refuse(value));
create type evil.t as (strict evil.strict, many evil.strict[]);
create table evil.visit (id int); create function evil.watch() returns trigger language plpgsql as
  $$ begin raise 'not yet' using errcode = '23514'; end $$;
create trigger watch before insert on evil.visit for each row execute function evil.watch();
reset role;
select queue.create('jobs', 'evil.t'); select queue.grant('jobs', 'send', 'mallory');
set role mallory;
select queue.put_lines('jobs', '{\"strict\": 1}'), queue.put_lines('jobs', '{\"many\": \"{1}\"}'),
  queue.put_lines(into_table => 'evil.visit', lines => '{\"id\": 1}');
create or replace function evil.refuse(int) returns boolean language plpgsql as 'begin return evil.note(); end';
create or replace function evil.watch() returns trigger language plpgsql as 'begin perform evil.note(); return new; end';
reset role";

#[test]
fn lines_that_are_sent_again_run_what_the_types_owner_has_made_as_nobody() {
    let (_queues, mut session) = queues();
    session.batch_execute(LINES).unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(number(&mut session, "select count(*) from queue.dead_letters"), 3);
    assert_eq!(number(&mut session, "select queue.redrive('jobs')"), 2);
    assert_eq!(ran_as(&mut session), ["howdah_nobody"]);
    assert_eq!(number(&mut session, "select count(*) from queue.take('jobs', 9, null::evil.t)"), 2);
}

#[test]
fn lines_that_are_inserted_again_run_what_the_tables_owner_has_made_as_the_owner() {
    let (_queues, mut session) = queues();
    session.batch_execute(LINES).unwrap_or_else(|error| panic!("{error:?}"));
    session.batch_execute("set role admin").unwrap();
    let refused = error(&mut session, "select queue.redrive('evil.visit'::regclass)");
    assert!(refused.starts_with("42501"), "{refused}");
    session.batch_execute("reset role").unwrap();
    assert_eq!(ran_as(&mut session), [""; 0]);
    assert_eq!(number(&mut session, "select queue.redrive('evil.visit'::regclass)"), 1);
    assert_eq!(ran_as(&mut session), ["mallory"]);
    assert_eq!(number(&mut session, "select count(*) from evil.visit"), 1);
}

#[test]
fn what_runs_as_somebody_else_does_not_see_the_request() {
    let platform = Platform::start();
    platform.sql(
        "create role stranger; create schema theirs authorization stranger; grant usage on schema theirs to public;
         set role stranger; create table theirs.seen (token text); grant insert on theirs.seen to public;
         create function theirs.look(int) returns boolean language plpgsql as
           $$ begin insert into theirs.seen values (http.header_value('authorization')); return true; end $$;
         create domain theirs.d as int check (theirs.look(value)); create type theirs.t as (d theirs.d[]); reset role;
         select queue.create('jobs', 'theirs.t', max_reads => 1); select queue.grant('jobs', 'manage', 'howdah_web');
         select queue.put('jobs', row('{1}')::theirs.t);
         select queue.read('jobs', 1, '0 s', null::theirs.t)",
    );
    platform.sql(
        "select queue.read('jobs', 1, '0 s', null::theirs.t); truncate theirs.seen;
         create function again() returns text language sql as
           $$ select queue.redrive('jobs') || ' ' || http.header_value('authorization') $$;
         select http.route('POST', '/again', 'again')",
    );
    let mut connection = platform.connect();
    let reply = connection.request("POST", "/again", &[("Authorization", "Basic secret")], b"");
    assert_eq!((reply.status, reply.text()), (200, "1 Basic secret".into()));
    assert_eq!(
        platform.value("select string_agg(coalesce(token, 'none'), ' ') from theirs.seen").as_deref(),
        Some("none")
    );
}

/// Whoever sends letters again has them checked by a function of mallory's, which takes what it finds.
const TAKES: &str = "
create table secret (x text); insert into secret values ('secret');
set role mallory;
create function evil.take(int) returns boolean language plpgsql as $$
declare rows refcursor; name text; row record;
begin
  if current_user = 'howdah_nobody' then
    for name in select c.name from pg_cursors c loop
      rows := name;
      begin
        fetch rows into row;
        if row.x = 'secret' then perform nextval('evil.superuser'); end if;
      exception when others then null;
      end;
    end loop;
    begin set constraints all immediate; exception when insufficient_privilege then null; end;
  end if;
  return true;
end $$;
create domain evil.d as int check (evil.take(value)); create type evil.inner as (d evil.d);
create type evil.t as (i evil.inner);
reset role;
select queue.create('jobs', 'evil.t', max_reads => 1);
select queue.put('jobs', row(row(1)::evil.inner)::evil.t);
select queue.read('jobs', 1, '0 s', null::evil.t)";

#[test]
fn what_runs_without_rights_uses_no_cursor_of_the_session() {
    let (_queues, mut session) = queues();
    session.batch_execute(TAKES).unwrap_or_else(|error| panic!("{error:?}"));
    session.batch_execute("select queue.read('jobs', 1, '0 s', null::evil.t)").unwrap();
    for open in [
        "begin; declare c cursor for select x from secret; select queue.redrive('jobs')",
        "declare held cursor with hold for select x from secret; select queue.redrive('jobs')",
        "do $$ declare row record; begin
           for row in select x from secret, generate_series(1, 100) loop perform queue.redrive('jobs'); end loop;
         end $$",
    ] {
        let refused = error(&mut session, open);
        assert!(refused.starts_with("55000") && refused.contains("session of its own"), "{open}: {refused}");
        session.batch_execute("rollback; close all").unwrap();
    }
    assert_eq!(ran_as(&mut session), [""; 0]);
    assert_eq!(number(&mut session, "select queue.redrive('jobs')"), 1);
}

#[test]
fn what_runs_without_rights_uses_no_connection_of_the_session() {
    if !brings_extension("dblink", "connections of dblink while letters are sent again") {
        return;
    }
    let (queues, mut session) = queues();
    session.batch_execute(TAKES).unwrap_or_else(|error| panic!("{error:?}"));
    session
        .batch_execute("select queue.read('jobs', 1, '0 s', null::evil.t); create extension dblink")
        .unwrap();
    let options = queues.cluster.connection_string("postgres").unwrap();
    for name in ["", "'own', "] {
        session
            .batch_execute(&format!("select dblink_connect({name}$${options}$$)"))
            .unwrap_or_else(|error| panic!("{error:?}"));
        let refused = error(&mut session, "select queue.redrive('jobs')");
        assert!(refused.starts_with("55000") && refused.contains("dblink"), "{name}: {refused}");
        session.batch_execute(&format!("select dblink_disconnect({})", name.trim_end_matches(", "))).unwrap();
    }
    assert_eq!(number(&mut session, "select queue.redrive('jobs')"), 1);
}

#[test]
fn what_runs_as_somebody_else_uses_no_large_object_of_the_session() {
    let (_queues, mut session) = queues();
    session.batch_execute(TAKES).unwrap_or_else(|error| panic!("{error:?}"));
    session.batch_execute("select queue.read('jobs', 1, '0 s', null::evil.t)").unwrap();
    let open =
        "begin; select lo_open(lo_from_bytea(0, 'secret'), x'20000'::int); select queue.redrive('jobs')";
    let refused = error(&mut session, open);
    assert!(refused.starts_with("55000") && refused.contains("large objects"), "{refused}");
    session.batch_execute("rollback").unwrap();
    assert_eq!(number(&mut session, "select queue.redrive('jobs')"), 1);
}

#[test]
fn triggers_of_others_use_nothing_of_the_session_while_lines_are_inserted_again() {
    let (_queues, mut session) = queues();
    session.batch_execute(LINES).unwrap_or_else(|error| panic!("{error:?}"));
    let again = "select queue.redrive('evil.visit'::regclass)";
    for (open, what) in [
        ("begin; declare c cursor for select 1", "cursors"),
        ("begin; select lo_open(lo_from_bytea(0, 'secret'), x'20000'::int)", "large objects"),
    ] {
        session.batch_execute(open).unwrap();
        let refused = error(&mut session, again);
        assert!(refused.starts_with("55000") && refused.contains(what), "{open}: {refused}");
        session.batch_execute("rollback").unwrap();
    }
    let looped = format!(
        "do $$ declare row record; begin for row in select generate_series(1, 100) loop perform {}; end loop; end $$",
        &again[7..]
    );
    let refused = error(&mut session, &looped);
    assert!(refused.starts_with("55000"), "{refused}");
    assert_eq!(ran_as(&mut session), [""; 0]);
    assert_eq!(number(&mut session, again), 1);
    assert_eq!(ran_as(&mut session), ["mallory"]);
}

#[test]
fn what_the_planner_calls_for_a_handler_uses_nothing_of_the_session() {
    let (_queues, mut session) = queues();
    session.batch_execute(TAKES).unwrap_or_else(|error| panic!("{error:?}"));
    session
        .batch_execute(
            "create or replace function evil.take(int) returns boolean language plpgsql as
               $$ begin if current_user = 'howdah_web' then perform nextval('evil.howdah_web'); end if; return true; end $$",
        )
        .unwrap();
    let handle = "http.handle('select null::text where (1::int) = any (''{1}''::evil.d[])', name => 'h')";
    for open in ["declare c cursor for select 1", "select lo_open(lo_from_bytea(0, 'secret'), x'20000'::int)"]
    {
        session.batch_execute(&format!("begin; {open}")).unwrap();
        let refused = error(&mut session, &format!("select {handle}"));
        assert!(refused.starts_with("55000"), "{open}: {refused}");
        session.batch_execute("rollback").unwrap();
    }
    assert_eq!(ran_as(&mut session), [""; 0]);
    session.batch_execute(&format!("select {handle}")).unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(ran_as(&mut session), ["howdah_web"], "it does call it");
}

#[test]
fn what_runs_without_rights_fires_no_trigger_that_waits() {
    let (_queues, mut session) = queues();
    session.batch_execute(TAKES).unwrap_or_else(|error| panic!("{error:?}"));
    session
        .batch_execute(
            "select queue.read('jobs', 1, '0 s', null::evil.t);
             create table written (id int);
             create function look() returns trigger language plpgsql as
               $$ begin if current_user = 'howdah_nobody' then perform nextval('evil.howdah_nobody'); end if; return new; end $$;
             create constraint trigger look after insert on written deferrable initially deferred
               for each row execute function look();
             begin; insert into written values (1); select queue.redrive('jobs'); commit",
        )
        .unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(ran_as(&mut session), [""; 0]);
    assert_eq!(number(&mut session, "select count(*) from queue.dead_letters"), 0);
}
