//! Row types of queues: what their owners have made runs as whoever sends, and never as the owner of the extension.

use cluster::postgres::Client;
use howdah_tests::queues::{Queues, error};
use howdah_tests::traps::{ran_as, set_up};

/// A queue of `admin` with a row, whose type belongs to `mallory`, who may send.
const QUEUE: &str = "
set role mallory; create type evil.t as (id integer);
set role admin; select queue.create('jobs', 'evil.t'), queue.grant('jobs', 'send', 'mallory');
select queue.put('jobs', row(1)::evil.t);
reset role";

fn queues() -> (Queues, Client) {
    let queues = Queues::empty(&[]);
    let mut session = queues.session();
    session.batch_execute("create extension howdah").unwrap();
    set_up(&mut session);
    (queues, session)
}

/// The role is the session's own, as is that of somebody who has connected.
fn run_as(queues: &Queues, role: &str, sql: &str) -> Result<(), String> {
    let mut session = queues.session();
    session.batch_execute(&format!("set session authorization {role}")).unwrap();
    session.batch_execute(sql).map_err(|error| format!("{error:?}"))
}

/// Domains whose constraints and defaults call the trap.
const DOMAINS: [&str; 4] = [
    "create domain evil.d as integer check (evil.trap(value))",
    "create domain evil.d as integer default evil.trap()",
    "create domain evil.d as integer default evil.trap() not null check (evil.trap(value))",
    "create domain evil.inner as integer check (evil.trap(value)); create domain evil.d as evil.inner",
];

#[test]
fn the_owner_of_a_row_type_gains_no_rights_by_a_domain_that_the_type_gets() {
    for domain in DOMAINS {
        let (queues, mut session) = queues();
        session.batch_execute(QUEUE).unwrap();
        let attack = format!("{domain}; alter type evil.t add attribute x evil.d");
        run_as(&queues, "mallory", &attack).unwrap();
        assert_eq!(ran_as(&mut session), [""; 0], "{domain}");
        // What they are for, they do: as whoever sends.
        run_as(&queues, "mallory", "select queue.put('jobs', row(2, 1)::evil.t)").unwrap();
        let taken = "select count(*), count(x) from queue.take('jobs', 9, null::evil.t)";
        let row = session.query_one(taken, &[]).unwrap();
        assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (2, 1), "{domain}");
        assert!(!ran_as(&mut session).contains(&"superuser".to_owned()), "{domain}");
    }
}

#[test]
fn analyze_runs_nothing_of_a_row_types_owner_as_the_owner_of_the_tables() {
    let (queues, mut session) = queues();
    run_as(
        &queues,
        "mallory",
        "create function evil.difference(integer, integer) returns double precision immutable language plpgsql as
           $$ begin perform evil.note(); return $2 - $1; end $$;
         create type evil.span as range (subtype = integer, subtype_diff = evil.difference);
         create domain evil.spans as evil.span; create type evil.t as (span evil.span)",
    )
    .unwrap();
    session
        .batch_execute("select queue.create('jobs', 'evil.t'), queue.grant('jobs', 'send', 'mallory')")
        .unwrap();
    run_as(&queues, "mallory", "alter type evil.t add attribute other evil.spans").unwrap();
    let put = "select queue.put('jobs', array(select row(evil.span(n, n + 5), evil.span(n, n + 7))::evil.t from generate_series(1, 100) n))";
    run_as(&queues, "mallory", put).unwrap();
    session.batch_execute("analyze queue.rows_1_1; analyze queue.rows_1_1 (span, other); analyze").unwrap();
    assert_eq!(ran_as(&mut session), [""; 0]);
}

#[test]
fn an_admin_gains_no_rights_by_the_type_of_its_own_queue() {
    let (queues, mut session) = queues();
    run_as(
        &queues,
        "admin",
        "create schema own; create type own.t as (id integer, name text);
         create domain own.d as integer check (evil.trap(value));
         select queue.create('own', 'own.t'); select queue.put('own', row(1, 'a')::own.t);
         alter type own.t add attribute x own.d;
         alter type own.t add attribute list own.d[];
         select queue.purge_queue('own');
         alter type own.t drop attribute x; alter type own.t alter attribute id type own.d;
         alter type own.t rename attribute name to title; alter type own.t add attribute x own.d;
         select queue.put('own', row(1, 'a', null, 1)::own.t);
         select queue.drop_queue('own')",
    )
    .unwrap();
    assert!(!ran_as(&mut session).contains(&"superuser".to_owned()));
}

#[test]
fn the_owner_of_a_domain_sees_no_row_of_a_queue() {
    let (queues, mut session) = queues();
    run_as(&queues, "mallory", "create domain evil.d as integer").unwrap();
    run_as(
        &queues,
        "admin",
        "create schema own; create type own.t as (id evil.d); select queue.create('own', 'own.t');
         select queue.put('own', row(1)::own.t)",
    )
    .unwrap();
    run_as(&queues, "mallory", "alter domain evil.d add constraint c check (evil.trap(value))").unwrap();
    assert_eq!(ran_as(&mut session), [""; 0], "the constraint was shown the rows");
}

#[test]
fn a_queue_needs_the_right_to_its_row_type() {
    let (queues, _session) = queues();
    run_as(&queues, "mallory", "create type evil.t as (id int); revoke usage on type evil.t from public")
        .unwrap();
    let refused = run_as(&queues, "admin", "select queue.create('jobs', 'evil.t')").unwrap_err();
    assert!(refused.contains("permission denied for type evil.t"), "{refused}");
    run_as(&queues, "mallory", "grant usage on type evil.t to admin").unwrap();
    run_as(&queues, "admin", "select queue.create('jobs', 'evil.t')").unwrap();
}

#[test]
fn rows_with_domains_come_out_as_they_went_in() {
    let (_queues, mut session) = queues();
    session
        .batch_execute(
            "create domain price as numeric(6,2) check (value >= 0); create domain cheap as price check (value < 100);
             create domain code as text collate \"C\"; create domain flags as boolean[];
             create type part as (code code, price cheap);
             create type item as (id integer, code code, price cheap, flags flags, prices cheap[], part part, name varchar(5));
             select queue.create('items', 'item')",
        )
        .unwrap();
    let stored =
        "select string_agg(format('%s %s', attname, format_type(atttypid, atttypmod)), ', ' order by attnum)
                  from pg_attribute where attrelid = 'queue.rows_1_1'::regclass and attnum > 1";
    assert_eq!(
        session.query_one(stored, &[]).unwrap().get::<_, String>(0),
        "id integer, code text, price numeric(6,2), flags boolean[], prices cheap[], part part, name character varying(5)"
    );
    let row = "row(1, 'ä', 9.5, '{t,f}', '{1,2.25}', row('b', 3), 'abc')";
    session
        .batch_execute(&format!(
            "select queue.put('items', {row}::item);
             select queue.put_lines('items', '{{\"id\": 2, \"price\": \"99.999\"}}');
             select queue.put_lines('items', '{{\"id\": 3, \"price\": 42, \"flags\": \"{{t}}\"}}')"
        ))
        .unwrap();
    assert!(
        error(&mut session, "select queue.put('items', row(1, null, 100, null, null, null, null)::item)")
            .starts_with("23514")
    );
    let taken =
        session.query("select t::text from queue.take('items', 9, null::item) t order by id", &[]).unwrap();
    let taken: Vec<String> = taken.iter().map(|row| row.get(0)).collect();
    assert_eq!(taken, [r#"(1,ä,9.50,"{t,f}","{1.00,2.25}","(b,3.00)",abc)"#, "(3,,42.00,{t},,,)"]);
    let refused = "select sqlstate from queue.dead_letters";
    assert_eq!(session.query_one(refused, &[]).unwrap().get::<_, &str>(0), "23514");
}
