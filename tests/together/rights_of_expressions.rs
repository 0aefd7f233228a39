//! What PostgreSQL has planned of a table's indexes and partitions for one is not the next one's.

use std::io::Write;
use std::net::TcpStream;

use cluster::postgres::Client;
use howdah_tests::queues::{Queues, number};
use howdah_tests::{Platform, free_port, wait_for};

/// One process of each kind, so that every request comes to what others have left.
fn one_process() -> Platform {
    Platform::with(&[
        ("howdah.gateways", "1"),
        ("howdah.min_executors", "1"),
        ("howdah.max_executors", "1"),
        ("howdah.min_ingest_executors", "1"),
        ("howdah.max_ingest_executors", "1"),
    ])
}

/// A function of `victim`, whose body means another one in the schema of `mallory`, which tells who runs it. `mallory` may not
/// read the victim's tables; to plan a statement with them it need not.
const NAMES: &str = "
create role victim; create role mallory;
create schema crm authorization victim; create schema evil authorization mallory;
grant usage on schema crm, evil to public;
create function crm.key_of(name text) returns text immutable language sql as $$ select lower(name) $$;
set role mallory;
create function evil.look() returns void language plpgsql as
  $$ begin
    if current_user = 'victim' or (select rolsuper from pg_catalog.pg_roles where rolname = current_user) then
      raise 'a function of mallory''s runs as %', current_user;
    end if;
  end $$;
create function evil.lower(text) returns text immutable language plpgsql as
  $$ begin perform evil.look(); return pg_catalog.lower($1); end $$;
create function evil.arm() returns void language plpgsql as
  $$ begin
    perform pg_catalog.set_config('search_path', 'evil, pg_catalog', true);
    begin perform from crm.customer; exception when insufficient_privilege then null; end;
    begin perform from crm.new; exception when insufficient_privilege or undefined_table then null; end;
    perform pg_get_partition_constraintdef('crm.part'::regclass);
  end $$;
create function evil.armed() returns text language plpgsql as $$ begin perform evil.arm(); return 'armed'; end $$;
reset role;";

/// Tables of `victim`, all with a `crm.part`, and what PostgreSQL plans of them once.
const TABLES: [(&str, &str); 4] = [
    (
        "an index's expression",
        "create table crm.customer (name text); create index on crm.customer (crm.key_of(name));
         create table crm.part (name text)",
    ),
    (
        "an index's condition",
        "create table crm.customer (name text); create index on crm.customer (name) where crm.key_of(name) <> '';
         create table crm.part (name text)",
    ),
    (
        "a key of partitions",
        "create table crm.customer (name text) partition by range ((crm.key_of(name)));
         create table crm.part partition of crm.customer for values from ('0') to ('zz')",
    ),
    (
        "a partition's bounds",
        "create table crm.whole (name text) partition by range ((crm.key_of(name)));
         create table crm.part partition of crm.whole for values from ('0') to ('zz');
         create view crm.customer as select * from crm.part",
    ),
];

fn post(platform: &Platform, path: &str) -> (u16, String) {
    let reply = platform.post(path, "text/plain", b"");
    (reply.status, reply.text())
}

#[test]
fn expressions_of_tables_are_not_planned_in_the_path_of_another_roles_request() {
    for (what, tables) in TABLES {
        let platform = one_process();
        platform.sql(NAMES);
        platform.sql(&format!(
            "set search_path = crm; {tables};
             grant insert on crm.customer to victim;
             create function crm.add(name text) returns text language plpgsql as
               $$ begin insert into customer (name) values ($1); return 'added'; end $$;
             select http.route('POST', '/add', 'crm.add', role => 'victim', search_path => 'crm'),
               http.route('POST', '/arm', 'evil.armed')"
        ));
        for turn in 0..3 {
            assert_eq!(post(&platform, "/arm"), (200, "armed".into()), "{what}, turn {turn}");
            assert_eq!(post(&platform, "/add?name=Ann"), (200, "added".into()), "{what}, turn {turn}");
        }
    }
}

#[test]
fn expressions_of_tables_are_not_planned_in_the_path_of_another_listeners_trigger() {
    let platform = one_process();
    platform.sql(NAMES);
    platform.sql(&format!(
        "set search_path = crm; {};
         grant insert on crm.customer to victim;
         create table evil.lines (name text); alter table evil.lines owner to mallory;
         create function evil.watch() returns trigger language plpgsql as
           $$ begin perform evil.arm(); return new; end $$;
         create trigger watch before insert on evil.lines for each row execute function evil.watch()",
        TABLES[0].1
    ));
    for (table, role) in [("evil.lines", "mallory"), ("crm.customer", "victim")] {
        let port = free_port();
        let way = format!("queue.listeners where port = {port} and bound is not null");
        platform.sql(&format!(
            "select queue.listen({port}, into_table => '{table}', role => '{role}', address => '127.0.0.1')"
        ));
        wait_for("the port takes lines", || platform.count(&way) == 1);
        wait_for("a line is stored or refused", || {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
            stream.write_all(b"{\"name\": \"Ann\"}\n").expect("a line");
            platform.count(table) + platform.count("queue.dead_letter") > 0
        });
    }
    assert_eq!(platform.count("queue.dead_letter"), 0);
}

/// A session in which the superuser sends letters again whose domain is `mallory`'s.
fn session(queues: &Queues, tables: &str) -> Client {
    let mut session = queues.session();
    session
        .batch_execute(&format!(
            "create extension howdah; {NAMES}
             set search_path = crm; {tables}; reset search_path;
             set role mallory;
             create function evil.fits(text) returns boolean language plpgsql as
               $$ begin perform evil.arm(); return $1 <> 'bad' or current_user = 'howdah_nobody'; end $$;
             create domain evil.body as text check (evil.fits(value));
             create type evil.letter as (body evil.body);
             reset role;
             select queue.create('letters', 'evil.letter')"
        ))
        .unwrap_or_else(|error| panic!("{error:?}"));
    for _ in 0..3 {
        let refused = "select queue.put_lines('letters', E'{\"body\": \"bad\"}\n')";
        session.batch_execute(refused).unwrap_or_else(|error| panic!("{error:?}"));
    }
    queues.session()
}

const AGAIN: &str = "select queue.redrive('letters', 1)";

#[test]
fn expressions_of_tables_are_not_planned_for_who_sends_dead_letters_again() {
    for (what, tables) in TABLES {
        let queues = Queues::empty(&[]);
        let mut session = session(&queues, tables);
        for turn in 0..3 {
            assert_eq!(number(&mut session, AGAIN), 1, "{what}, turn {turn}");
            let added = session.batch_execute("insert into crm.customer (name) values ('Ann')");
            added.unwrap_or_else(|error| panic!("{what}, turn {turn}: {error:?}"));
        }
    }
}

/// Sends a letter again for each of the customers that it finds by an index.
const GOING_ON: &str = "select count(again) from (
    select queue.redrive('letters', 1) as again from crm.customer where crm.key_of(name) = '1x' and name > '' limit 5) found";

#[test]
fn a_statement_that_is_under_way_goes_on_when_expressions_of_its_tables_are_planned_anew() {
    for (what, tables) in TABLES {
        let queues = Queues::empty(&[]);
        let mut session = session(&queues, tables);
        session
            .batch_execute(
                "insert into crm.customer (name) select n::text || 'x' from generate_series(0, 9) n, generate_series(0, 9);
                 begin; set local enable_seqscan = off;
                 create table crm.new (name text); create index on crm.new (crm.key_of(name))",
            )
            .unwrap_or_else(|error| panic!("{what}: {error:?}"));
        for turn in 0..3 {
            assert_eq!(number(&mut session, GOING_ON), 5, "{what}, turn {turn}");
            for table in ["customer", "new"] {
                let added = session.batch_execute(&format!("insert into crm.{table} (name) values ('Ann')"));
                added.unwrap_or_else(|error| panic!("{what}, {table}, turn {turn}: {error:?}"));
            }
        }
        session.batch_execute("commit").unwrap_or_else(|error| panic!("{what}: {error:?}"));
    }
}
