//! What runs as somebody else finds nothing temporary of the session's user, and makes nothing temporary there.

use cluster::postgres::Client;
use howdah_tests::queues::{Queues, error, number};
use howdah_tests::traps::{ran_as, set_up};

fn queues() -> (Queues, Client) {
    let queues = Queues::empty(&[]);
    let mut session = queues.session();
    run(&mut session, "create extension howdah");
    set_up(&mut session);
    (queues, session)
}

fn run(session: &mut Client, statements: &str) {
    session.batch_execute(statements).unwrap_or_else(|error| panic!("{statements}: {error:?}"));
}

/// The history of commands that an administrator keeps, and letters that alert somebody.
const HISTORY: &str = "
create table history (tag text); grant insert on history to public;
create function keep() returns event_trigger language plpgsql set search_path = public as $$
begin insert into history select command_tag from pg_event_trigger_ddl_commands(); end $$;
create event trigger keep on ddl_command_end execute function keep();
create function alert() returns trigger language plpgsql set search_path = public as $$
begin insert into history values ('letter'); return new; end $$;
create trigger alert after insert on queue.dead_letter for each row execute function alert();
set role mallory; create type evil.t as (a int); reset role;
select queue.create('jobs', 'evil.t', max_reads => 1);
select queue.grant('jobs', 'send', 'mallory'), queue.grant('jobs', 'take', 'mallory');
truncate history";

/// A temporary table of the same name. Its owner's own commands are written into it.
const TRAP: &str = "
set session authorization mallory;
create function evil.watch() returns trigger language plpgsql as 'begin perform evil.note(); return new; end';
create temporary table history (tag text); grant insert on history to public;
create trigger watch before insert on history for each row execute function evil.watch();";

#[test]
fn a_trigger_of_an_administrator_finds_no_temporary_table_of_who_alters_a_row_type() {
    let (_queues, mut session) = queues();
    run(&mut session, HISTORY);
    run(&mut session, TRAP);
    run(&mut session, "alter type evil.t add attribute b int");
    assert_eq!(number(&mut session, "select count(*) from history where tag = 'ALTER TYPE'"), 1, "its own");
    assert_eq!(number(&mut session, "select count(*) from history where tag = 'ALTER TABLE'"), 0);
    run(&mut session, "reset session authorization");
    assert_eq!(ran_as(&mut session), ["mallory"]);
    assert_eq!(number(&mut session, "select count(*) from public.history where tag = 'ALTER TABLE'"), 3);
}

#[test]
fn a_trigger_of_an_administrator_finds_no_temporary_table_of_who_creates_a_queue() {
    let (_queues, mut session) = queues();
    run(&mut session, HISTORY);
    run(&mut session, TRAP);
    run(&mut session, "reset session authorization; set session authorization admin");
    run(&mut session, "select queue.create('mail'), queue.drop_queue('mail')");
    run(&mut session, "reset session authorization");
    assert_eq!(ran_as(&mut session), ["mallory"]);
}

#[test]
fn a_trigger_of_an_administrator_finds_no_temporary_table_of_who_takes() {
    let (_queues, mut session) = queues();
    run(&mut session, HISTORY);
    run(&mut session, TRAP);
    run(&mut session, "select queue.put('jobs', row(1)::evil.t)");
    for _ in 0..2 {
        run(&mut session, "select queue.read('jobs', 1, '0 s', null::evil.t)");
    }
    run(&mut session, "reset session authorization");
    assert_eq!(ran_as(&mut session), ["mallory"]);
    assert_eq!(number(&mut session, "select count(*) from public.history where tag = 'letter'"), 1);
}

#[test]
fn a_trigger_of_an_administrator_has_no_variable_of_a_temporary_type() {
    let (queues, mut session) = queues();
    run(&mut session, HISTORY);
    run(
        &mut session,
        "create or replace function keep() returns event_trigger language plpgsql as $$
         declare tag text; begin tag := tg_tag; end $$",
    );
    let mut session = queues.session();
    run(
        &mut session,
        "set session authorization mallory;
         create domain pg_temp.text as pg_catalog.text check (evil.trap(value::pg_catalog.text));
         create type evil.another as (a int)",
    );
    run(&mut session, "alter type evil.t add attribute b int");
    run(&mut session, "reset session authorization");
    assert_eq!(ran_as(&mut session), ["mallory"]);
}

#[test]
fn what_is_temporary_is_there_again_whatever_has_become_of_the_command() {
    let (_queues, mut session) = queues();
    run(&mut session, HISTORY);
    run(&mut session, "create table queue.a_taken (id int)");
    run(&mut session, "create temporary table mine (id int); begin; create temporary table new (id int)");
    run(&mut session, "savepoint s; alter type evil.t add attribute b int; rollback to s");
    run(&mut session, "insert into new values (1); commit");
    assert!(error(&mut session, "select queue.create('taken')").starts_with("42P07"));
    run(&mut session, "insert into new values (2); insert into mine values (1)");
    assert_eq!(number(&mut session, "select count(*) from new"), 2);
    run(&mut session, "begin; create temporary table gone (id int)");
    assert!(error(&mut session, "select queue.create('taken')").starts_with("42P07"));
    run(&mut session, "rollback");
    assert_eq!(number(&mut session, "select count(*) from mine"), 1);
}

#[test]
fn a_temporary_table_that_is_open_stays_the_sessions_own() {
    let (_queues, mut session) = queues();
    // PostgreSQL reads its definition again within the command.
    run(
        &mut session,
        "create temporary table mine as select generate_series(1, 3) as id;
         create function touch() returns event_trigger language plpgsql as
           $$ begin update pg_class set reltuples = reltuples where relname = 'mine'; end $$;
         create event trigger touch on ddl_command_end execute function touch();
         create function look(id int) returns int language plpgsql as
           $$ begin perform queue.create('q' || id); return id; end $$;
         select look(id) from mine; insert into mine select look(id + 3) from mine; update mine set id = look(id + 6)",
    );
    assert_eq!(number(&mut session, "select count(*) from mine"), 6);
}

#[test]
fn a_check_that_runs_without_rights_leaves_nothing_temporary_in_the_session() {
    let (_queues, mut session) = queues();
    run(
        &mut session,
        "set role mallory;
         create function evil.leave(int) returns boolean language plpgsql as $$
         begin if current_user = 'howdah_nobody' then create domain pg_temp.text as int; end if; return true; end $$;
         create domain evil.d as int check (evil.leave(value)); create type evil.inner as (d evil.d);
         create type evil.t as (i evil.inner);
         reset role;
         select queue.create('jobs', 'evil.t', max_reads => 1);
         select queue.put('jobs', row(row(1)::evil.inner)::evil.t);
         select queue.read('jobs', 1, '0 s', null::evil.t)",
    );
    run(&mut session, "select queue.read('jobs', 1, '0 s', null::evil.t)");
    for temporary in ["", "create temporary table mine (id int)"] {
        run(&mut session, temporary);
        assert_eq!(number(&mut session, "select queue.redrive('jobs')"), 0);
        assert_eq!(number(&mut session, "select count(*) from pg_type where typname = 'text'"), 1);
    }
    run(&mut session, "insert into mine values (1)");
}

#[test]
fn a_trigger_of_an_administrator_makes_nothing_temporary_in_the_session() {
    let (_queues, mut session) = queues();
    run(&mut session, HISTORY);
    run(
        &mut session,
        "create or replace function alert() returns trigger language plpgsql as $$
         begin execute 'create or replace function pg_temp.f() returns int language sql as ''select 1'''; return new; end $$;
         create temporary table mine (id int);
         select queue.put('jobs', row(1)::evil.t); select queue.read('jobs', 1, '0 s', null::evil.t)",
    );
    let refused = error(&mut session, "select queue.read('jobs', 1, '0 s', null::evil.t)");
    assert!(refused.starts_with("42501 cannot create temporary objects"), "{refused}");
    run(&mut session, "insert into mine values (1)");
    run(&mut session, "discard temp");
    let refused = error(&mut session, "select queue.read('jobs', 1, '0 s', null::evil.t)");
    assert!(refused.starts_with("42501 cannot create temporary objects"), "{refused}");
}
