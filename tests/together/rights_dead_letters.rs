//! Dead letters and producers: whose they are is asked of the current user, and what is written of a row runs nothing of
//! somebody's as somebody else.

use cluster::postgres::Client;
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
fn a_row_that_is_buried_or_revived_runs_what_its_types_owner_has_made_as_the_owner() {
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
    assert_eq!(ran_as(&mut session), ["mallory"], "the cast");
    session
        .batch_execute(
            "set role mallory; alter type evil.t add attribute d evil.d; reset role;
             select queue.redrive('jobs')",
        )
        .unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(ran_as(&mut session), ["mallory"], "the domain");
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
    assert_eq!(ran_as(&mut session), ["howdah_web"], "the cast");
    session
        .batch_execute("alter type t add attribute d evil.d; select queue.redrive('jobs')")
        .unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(ran_as(&mut session), ["howdah_web"], "the domain");
    assert_eq!(number(&mut session, "select count(*) from queue.take('jobs', 9, null::t)"), 1);
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
