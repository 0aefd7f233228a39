//! What PL/pgSQL has compiled for one, and what PostgreSQL has planned of a domain's constraints, is not the next one's.

use std::io::Write;
use std::net::TcpStream;

use cluster::postgres::Client;
use howdah_tests::abilities::brings_extension;
use howdah_tests::queues::{Queues, error, number};
use howdah_tests::{Platform, free_port, wait_for};

/// One process of each kind, so that every request comes to what others have left.
fn one_process() -> Platform {
    one_process_that_loads("howdah")
}

/// The same, where the server loads these libraries.
fn one_process_that_loads(libraries: &str) -> Platform {
    Platform::with(&[
        ("shared_preload_libraries", libraries),
        ("howdah.gateways", "1"),
        ("howdah.min_executors", "1"),
        ("howdah.max_executors", "1"),
        ("howdah.min_ingest_executors", "1"),
        ("howdah.max_ingest_executors", "1"),
        ("howdah.inline_threshold", "100000"),
    ])
}

/// Whether there is plpgsql_check, whose functions compile others' and tell nobody.
fn brings_checker() -> bool {
    brings_extension("plpgsql_check", "what a checker of functions has compiled")
}

/// The checker comes with the server, or with the first request or statement that calls it.
const CHECKER_LOADS: [&str; 2] = ["howdah", "plpgsql_check, howdah"];

/// Functions of `victim`, and a schema of `mallory` in which their types are domains of its own, whose checks tell who runs them.
const TYPES: &str = "
create role victim; create role mallory;
create schema vic authorization victim; create schema evil authorization mallory;
grant usage on schema vic, evil to public;
set role victim;
create function vic.greet(name text) returns text stable language plpgsql as
  $$ declare greeting text; begin greeting := 'Hello ' || name; return greeting; end $$;
create function vic.plain() returns text stable language plpgsql as
  $$ declare greeting text; begin greeting := 'Hello'; return greeting; end $$;
set role mallory;
create function evil.look(pg_catalog.text) returns boolean language plpgsql as
  $$ begin
    if current_user = 'victim' then raise 'a check of mallory''s runs as victim'; end if;
    return true;
  end $$;
create domain evil.text as pg_catalog.text check (evil.look(value));
create function evil.arm() returns pg_catalog.text stable language plpgsql as
  $$ begin
    perform set_config('search_path', 'evil, pg_catalog', true);
    perform vic.greet('x'::pg_catalog.text);
    return 'armed';
  end $$;
create function evil.validate() returns pg_catalog.text language plpgsql as
  $$ begin
    perform set_config('search_path', 'evil, pg_catalog', true);
    perform plpgsql_validator('vic.plain()'::regprocedure);
    return 'armed';
  end $$;
reset role;";

fn answer(platform: &Platform, method: &str, path: &str) -> (u16, String) {
    let reply = platform.connect().request(method, path, &[], b"");
    (reply.status, reply.text())
}

#[test]
fn types_of_variables_are_not_looked_up_in_the_path_of_another_roles_request() {
    let platform = one_process();
    platform.sql(TYPES);
    platform.sql(
        "select http.route(method, '/greet', 'vic.greet(text)', role => 'victim'), http.route(method, '/arm', 'evil.arm()')
         from unnest(array['GET', 'POST']) method",
    );
    for method in ["POST", "GET"] {
        // Enough of them to run in the gateway, too.
        for turn in 0..20 {
            assert_eq!(answer(&platform, method, "/arm"), (200, "armed".into()), "{method}, turn {turn}");
            let greeted = answer(&platform, method, "/greet?name=Ann");
            assert_eq!(greeted, (200, "Hello Ann".into()), "{method}, turn {turn}");
        }
    }
    let inline = platform.value("select min(inline) from http.stats where method = 'GET'");
    assert_ne!(inline.as_deref(), Some("0"), "none ran in the gateway");
}

#[test]
fn the_validator_compiles_nothing_for_who_calls_next() {
    let platform = one_process();
    platform.sql(TYPES);
    platform.sql(
        "select http.route('POST', '/plain', 'vic.plain()', role => 'victim'), http.route('POST', '/arm', 'evil.validate()')",
    );
    assert_eq!(answer(&platform, "POST", "/arm").0, 403);
    assert_eq!(answer(&platform, "POST", "/plain"), (200, "Hello".into()));
    // Whoever makes a function has it checked.
    platform.sql(
        "create function make() returns text language plpgsql as $$ begin
           create function pg_temp.made() returns int language plpgsql as 'begin return 1; end';
           return pg_temp.made();
         end $$;
         select http.route('POST', '/make', 'make()')",
    );
    assert_eq!(answer(&platform, "POST", "/make"), (200, "1".into()));
}

#[test]
fn a_checker_compiles_nothing_for_who_calls_next_and_ends_no_process() {
    if !brings_checker() {
        return;
    }
    for libraries in CHECKER_LOADS {
        let platform = one_process_that_loads(libraries);
        platform.sql(TYPES);
        platform.sql(
            "create extension plpgsql_check;
             create function evil.check() returns pg_catalog.text language plpgsql as
               $$ begin
                 perform set_config('search_path', 'evil, pg_catalog', true);
                 perform public.plpgsql_check_function('vic.plain()'::regprocedure);
                 return 'checked';
               end $$;
             select http.route('POST', '/plain', 'vic.plain()', role => 'victim'), http.route('POST', '/check', 'evil.check()')",
        );
        let workers = platform.pids();
        for turn in 0..3 {
            let checked = answer(&platform, "POST", "/check");
            assert_eq!(checked, (200, "checked".into()), "{libraries}, turn {turn}");
            let plain = answer(&platform, "POST", "/plain");
            assert_eq!(plain, (200, "Hello".into()), "{libraries}, turn {turn}");
        }
        assert!(platform.still_run(&workers), "{libraries}: a worker has ended");
    }
}

#[test]
fn types_of_variables_are_looked_up_in_the_search_path_of_each_route() {
    let platform = one_process();
    platform.sql(
        "set check_function_bodies = off;
         create schema a; create schema b; grant usage on schema a, b to public;
         create domain a.thing as int; create domain b.thing as text;
         create function kind() returns text stable language plpgsql as
           $$ declare it thing; begin it := '01'; return it::text; end $$;
         select http.route(method, '/' || path, 'public.kind', search_path => path)
         from unnest(array['a', 'b']) path, unnest(array['GET', 'POST']) method",
    );
    for method in ["POST", "GET"] {
        for turn in 0..20 {
            assert_eq!(answer(&platform, method, "/a"), (200, "1".into()), "{method}, turn {turn}");
            assert_eq!(answer(&platform, method, "/b"), (200, "01".into()), "{method}, turn {turn}");
        }
    }
}

#[test]
fn a_function_that_cannot_be_compiled_anew_is_an_error_until_it_can() {
    let platform = one_process();
    platform.sql(
        "set check_function_bodies = off;
         create schema a; grant usage on schema a to public; create domain a.thing as int;
         create function kind(int) returns boolean language plpgsql as
           $$ declare it thing; begin it := $1; return true; end $$;
         create domain checked as int check (public.kind(value));
         create function take(it checked) returns text language plpgsql as $$ begin return it; end $$;
         create function twice(it int) returns text language plpgsql as $$
           declare done int := 0;
           begin
             for turn in 1..2 loop
               begin perform it::public.checked; done := done + 1; exception when undefined_object then null; end;
             end loop;
             return done;
           end $$;
         select http.route('POST', '/' || name || '/' || path, 'public.' || name, search_path => path)
         from unnest(array['a', 'public']) path, unnest(array['take', 'twice']) name",
    );
    for turn in 0..3 {
        assert_eq!(answer(&platform, "POST", "/take/a?it=1"), (200, "1".into()), "turn {turn}");
        assert_eq!(answer(&platform, "POST", "/twice/a?it=1"), (200, "2".into()), "turn {turn}");
        assert_ne!(answer(&platform, "POST", "/take/public?it=1").0, 200, "turn {turn}");
        assert_eq!(answer(&platform, "POST", "/twice/public?it=1"), (200, "0".into()), "turn {turn}");
    }
}

#[test]
fn types_of_variables_are_not_looked_up_in_the_path_of_another_listeners_triggers() {
    let platform = one_process();
    platform.sql(TYPES);
    platform.sql(
        "create table vic.lines (name text); alter table vic.lines owner to victim;
         create table evil.lines (name text); alter table evil.lines owner to mallory;
         create function vic.watch() returns trigger language plpgsql as
           $$ begin new.name := vic.greet(new.name); return new; end $$;
         create function evil.watch() returns trigger language plpgsql as
           $$ begin new.name := evil.arm(); return new; end $$;
         create trigger watch before insert on vic.lines for each row execute function vic.watch();
         create trigger watch before insert on evil.lines for each row execute function evil.watch()",
    );
    let port = free_port();
    for (schema, role, expected) in [("evil", "mallory", "armed"), ("vic", "victim", "Hello Ann")] {
        let way = format!("queue.listeners where port = {port} and bound is not null");
        platform.sql(&format!(
            "select queue.listen({port}, into_table => '{schema}.lines', role => '{role}', address => '127.0.0.1')"
        ));
        wait_for("the port takes lines", || platform.count(&way) == 1);
        wait_for("a line is stored or refused", || {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
            stream.write_all(b"{\"name\": \"Ann\"}\n").expect("a line");
            platform.count(&format!("{schema}.lines")) + platform.count("queue.dead_letter") > 0
        });
        let stored = platform.value(&format!("select min(name) from {schema}.lines"));
        assert_eq!(stored.as_deref(), Some(expected));
    }
    assert_eq!(platform.count("queue.dead_letter"), 0);
}

/// A function of the superuser's, and types of `mallory` whose checks have it called where `text` is a domain of mallory's: those of
/// 1 succeed then, those of 2 fail.
const SESSION: &str = "
create role mallory; create schema evil authorization mallory; grant usage on schema evil to public;
create function public.report() returns text language plpgsql as
  $$ declare line text; begin line := 'report'; return line; end $$;
set role mallory;
create function evil.boom(pg_catalog.text) returns boolean language plpgsql as
  $$ begin
    if (select rolsuper from pg_roles where rolname = current_user) then raise 'a check of mallory''s runs as superuser'; end if;
    return true;
  end $$;
create domain evil.text as pg_catalog.text check (evil.boom(value));
create function evil.arm(int) returns boolean immutable language plpgsql as
  $$ begin
    if current_user in ('howdah_nobody', 'mallory') then
      perform set_config('search_path', 'evil, pg_catalog', true);
      perform public.report();
      if $1 = 2 then raise 'refused' using errcode = '23514'; end if;
    end if;
    return true;
  end $$;
create domain evil.d as int check (evil.arm(value));
create type evil.t as (x evil.d[]);
reset role;";

fn queues() -> (Queues, Client) {
    queues_that_load("howdah")
}

fn queues_that_load(libraries: &str) -> (Queues, Client) {
    let queues = Queues::empty(&[("shared_preload_libraries", libraries)]);
    let mut session = queues.session();
    session.batch_execute("create extension howdah").unwrap();
    session.batch_execute(SESSION).unwrap_or_else(|error| panic!("{error:?}"));
    // What makes a function compiles it.
    session = queues.session();
    (queues, session)
}

/// The superuser calls its function; its own variables' types are not mallory's.
fn report(session: &mut Client, what: &str) {
    let report =
        session.query_one("select public.report()", &[]).unwrap_or_else(|error| panic!("{what}: {error:?}"));
    assert_eq!(report.get::<_, &str>(0), "report", "{what}");
}

#[test]
fn what_runs_as_nobody_compiles_nothing_for_who_sends_a_dead_letter_again() {
    let (queues, mut session) = queues();
    session
        .batch_execute(
            "select queue.create('jobs', 'evil.t', max_reads => 1);
             select queue.put('jobs', row(array[1])::evil.t), queue.put('jobs', row(array[2])::evil.t);
             select queue.read('jobs', 2, '0 s', null::evil.t)",
        )
        .unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(number(&mut session, "select count(*) from queue.read('jobs', 2, '0 s', null::evil.t)"), 0);
    // One session has called the function before, one has not.
    let mut other = queues.session();
    report(&mut other, "before");
    let sent = "select queue.redrive('jobs', 1)";
    assert_eq!(number(&mut session, sent), 1);
    report(&mut session, "after it was sent");
    assert_eq!(number(&mut other, sent), 0);
    report(&mut other, "after it was refused");
    assert_eq!(number(&mut session, sent), 0);
    report(&mut session, "after it was refused");
}

#[test]
fn what_runs_as_a_tables_owner_compiles_nothing_for_who_sends_its_lines_again() {
    let (_queues, mut session) = queues();
    session
        .batch_execute(
            "set role mallory; create table evil.lines (x int);
             create function evil.watch() returns trigger language plpgsql as
               $$ begin raise 'not yet' using errcode = '23514'; end $$;
             create trigger watch before insert on evil.lines for each row execute function evil.watch();
             reset role;
             select queue.put_lines(into_table => 'evil.lines', lines => '{\"x\": 1}');
             create or replace function evil.watch() returns trigger language plpgsql as
               $$ begin perform evil.arm(new.x); return new; end $$",
        )
        .unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(number(&mut session, "select queue.redrive('evil.lines'::regclass)"), 1);
    report(&mut session, "after the lines");
}

#[test]
fn a_checker_that_a_tables_trigger_calls_compiles_nothing_for_who_sends_its_lines_again() {
    if !brings_checker() {
        return;
    }
    for libraries in CHECKER_LOADS {
        let (_queues, mut session) = queues_that_load(libraries);
        session
            .batch_execute(
                "create extension plpgsql_check;
                 set role mallory; create table evil.lines (x int);
                 create function evil.watch() returns trigger language plpgsql as
                   $$ begin raise 'not yet' using errcode = '23514'; end $$;
                 create trigger watch before insert on evil.lines for each row execute function evil.watch();
                 reset role;
                 select queue.put_lines(into_table => 'evil.lines', lines => E'{\"x\": 1}\n{\"x\": 2}\n{\"x\": 3}\n');
                 create or replace function evil.watch() returns trigger language plpgsql as
                   $$ begin
                     perform set_config('search_path', 'evil, pg_catalog', true);
                     perform public.plpgsql_check_function('public.report()'::regprocedure);
                     return new;
                   end $$",
            )
            .unwrap_or_else(|error| panic!("{error:?}"));
        for line in 1..=3 {
            let again = "select queue.redrive('evil.lines'::regclass, 1)";
            assert_eq!(number(&mut session, again), 1, "{libraries}, line {line}");
            report(&mut session, &format!("{libraries}, after line {line}"));
        }
    }
}

#[test]
fn what_runs_while_a_handler_is_registered_compiles_nothing_for_who_registers_it() {
    let (_queues, mut session) = queues();
    for value in [1, 2] {
        let handle = format!(
            "select http.handle('select (array_length(''{{{value}}}''::evil.d[], 1))::text', 'trap', role => 'mallory')"
        );
        match value {
            1 => session.batch_execute(&handle).unwrap_or_else(|error| panic!("{error:?}")),
            _ => assert!(error(&mut session, &handle).starts_with("23514")),
        }
        report(&mut session, "after it was registered");
    }
    // What the session has compiled for itself goes on, and a plugin that was there is there again.
    let validated = "select plpgsql_validator('public.report()'::regprocedure)";
    session.batch_execute(validated).unwrap_or_else(|error| panic!("{error:?}"));
}

#[test]
fn a_checker_that_is_called_while_a_handler_is_registered_compiles_nothing_for_who_registers_it() {
    if !brings_checker() {
        return;
    }
    for libraries in CHECKER_LOADS {
        let (_queues, mut session) = queues_that_load(libraries);
        session
            .batch_execute(
                "create extension plpgsql_check;
                 create sequence checked; grant usage on checked to public;
                 set role mallory;
                 create function evil.check(int) returns boolean immutable language plpgsql as
                   $$ begin
                     if current_user = 'mallory' then
                       perform set_config('search_path', 'evil, pg_catalog', true);
                       perform public.plpgsql_check_function('public.report()'::regprocedure);
                       perform nextval('public.checked');
                     end if;
                     return true;
                   end $$;
                 create domain evil.checked as int check (evil.check(value));
                 reset role",
            )
            .unwrap_or_else(|error| panic!("{error:?}"));
        for turn in 0..3 {
            let before = number(&mut session, "select last_value + is_called::int from checked");
            session
                .batch_execute(
                    "select http.handle('select (array_length(''{1}''::evil.checked[], 1))::text', 'trap', role => 'mallory')",
                )
                .unwrap_or_else(|error| panic!("{libraries}, turn {turn}: {error:?}"));
            let after = number(&mut session, "select last_value + is_called::int from checked");
            assert!(after > before, "{libraries}, turn {turn}: nothing was checked");
            report(&mut session, &format!("{libraries}, turn {turn}"));
        }
    }
}

/// A domain whose check calls what only `may` may, and `other` may not.
const DOMAINS: &str = "
create role may; create role other; create schema own; grant usage on schema own to public;
create function own.lucky() returns int immutable language sql as 'select 42';
create function own.fits(int) returns boolean language plpgsql as 'begin return $1 < 50; end';
revoke execute on function own.lucky(), own.fits(int) from public;
grant execute on function own.lucky(), own.fits(int) to may;
create domain own.folded as int check (value <> own.lucky());
create domain own.called as int check (own.fits(value));
create function own.cast_folded(n int) returns text stable language plpgsql as $$ begin return n::own.folded; end $$;
create function own.cast_called(n int) returns text stable language plpgsql as $$ begin return n::own.called; end $$;
create function own.take_folded(n own.folded) returns text stable language plpgsql as $$ begin return n; end $$;
create function own.take_called(n own.called) returns text stable language plpgsql as $$ begin return n; end $$;
create function own.take_many(n own.folded[]) returns text stable language plpgsql as $$ begin return n[1]; end $$;
select http.route(method, '/' || role || '/' || name, 'own.' || name, role => role)
from unnest(array['cast_folded', 'cast_called', 'take_folded', 'take_called', 'take_many']) name,
  unnest(array['may', 'other']) role, unnest(array['GET', 'POST']) method;";

const NAMES: [&str; 5] = ["cast_folded", "cast_called", "take_folded", "take_called", "take_many"];

#[test]
fn constraints_of_domains_are_planned_for_each_role() {
    let platform = one_process();
    platform.sql(DOMAINS);
    for method in ["POST", "GET"] {
        for name in NAMES {
            let ask = |role: &str, n: i32| answer(&platform, method, &format!("/{role}/{name}?n={n}"));
            for turn in 0..12 {
                assert_eq!(ask("may", 1), (200, "1".into()), "{method} {name}, turn {turn}");
                assert_eq!(ask("other", 1).0, 403, "{method} {name}, turn {turn}");
                assert_eq!(ask("other", 42).0, 403, "{method} {name}, turn {turn}");
            }
        }
    }
}

#[test]
fn constraints_of_domains_outlive_neither_a_right_nor_a_function() {
    let platform = one_process();
    platform.sql(DOMAINS);
    let ask = |name: &str, n: i32| answer(&platform, "POST", &format!("/may/{name}?n={n}")).0;
    for name in NAMES {
        assert_eq!(ask(name, 1), 200, "{name}");
    }
    platform.sql("revoke execute on function own.lucky(), own.fits(int) from may");
    for name in NAMES {
        assert_eq!([ask(name, 1), ask(name, 42), ask(name, 99)], [403; 3], "{name} without the right");
    }
    platform.sql(
        "grant execute on function own.lucky(), own.fits(int) to may;
         create or replace function own.lucky() returns int immutable language sql as 'select 3';
         create or replace function own.fits(int) returns boolean language plpgsql as 'begin return $1 <> 3; end'",
    );
    for name in NAMES {
        assert_eq!(ask(name, 1), 200, "{name} with the right again");
        assert_ne!(ask(name, 3), 200, "{name} with a new function");
    }
}
