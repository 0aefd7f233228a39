//! What whoever writes the files of an application tries against whoever deploys it, and against the others.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use cluster::postgres::Client;
use howdah_tests::application::{Application, ITEMS};
use howdah_tests::wait_for;

/// An application whose author is mallory, deployed by a superuser.
fn application(files: &[(&str, &str)]) -> Application {
    let shop = Application::of(&[ITEMS]);
    shop.platform.sql("create role mallory login; create role bob login");
    files.iter().for_each(|(path, text)| shop.write(path, text));
    shop
}

/// Constraint triggers that put each other off when the first runs.
const PUT_OFF: &str = "create table u (x int); create table t (x int);
create function second() returns trigger language plpgsql as $$ begin
  if current_user = 'postgres' then execute 'alter role mallory superuser'; end if; return null; end $$;
create function first() returns trigger language plpgsql security definer as $$ begin
  begin perform 1 / 0; exception when others then null; end;
  set constraints all deferred; insert into shop.u values (1); return null; end $$;
create constraint trigger u after insert on u deferrable initially deferred for each row execute function second();
create constraint trigger t after insert on t deferrable initially deferred for each row execute function first();
grant insert on t, u to howdah_web;
";

#[test]
fn no_trigger_is_put_off_until_somebody_else_runs_it() {
    let refused = "SET CONSTRAINTS cannot be executed here";
    let shop = application(&[("migrations/2.sql", PUT_OFF)]);
    let is_safe =
        || shop.value("select (not rolsuper)::text from pg_roles where rolname = 'mallory'") == "true";
    let run = "set constraints all deferred; insert into t values (1);\n";
    for (path, text) in [("migrations/3.sql", run), ("functions/f.sql", run), ("tests/t.sql", run)] {
        shop.write(path, text);
        for task in ["plan", "deploy"] {
            assert!(shop.fails(task).contains(refused), "{path}");
            assert!(is_safe(), "{path}, {task}");
        }
        shop.remove(path);
    }
    shop.write(
        "functions/evil.sql",
        "create function evil() returns text language plpgsql as $$ begin set constraints all deferred; insert into shop.t values (1); return 'x'; end $$;\n",
    );
    shop.write("routes.sql", "select http.route('POST', '/evil', 'evil');\n");
    shop.ok("deploy");
    let mut session = shop.platform.session();
    session.batch_execute("begin").unwrap();
    let status: i32 =
        session.query_one("select status::int from http.call('POST', '/evil')", &[]).unwrap().get(0);
    assert!(status >= 400, "{status}");
    session.batch_execute("commit").unwrap();
    assert!(is_safe());
    // What the caller puts off is the caller's, before and after.
    session.batch_execute("begin; set constraints all deferred; select http.call('POST', '/nothing'); set constraints all deferred; commit").unwrap();
    assert_eq!(
        shop.platform.post("/evil", "text/plain", b"").status,
        200,
        "where it ends with the request, as the role"
    );
    assert!(is_safe());
}

#[test]
fn the_session_of_whoever_deploys_stays_as_it_is() {
    let shop = application(&[]);
    shop.ok("deploy");
    let mut session = shop.platform.session();
    session.batch_execute("prepare mine as select 'mine'; listen mine; select pg_advisory_lock(7)").unwrap();
    let kept = |session: &mut Client| -> String {
        let query = "select (select count(*) from pg_prepared_statements where name = 'mine' and statement like '%''mine''%') || ' '
              || (select string_agg(c, ',') from pg_listening_channels() c) || ' ' || (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid())";
        session.query_one(query, &[]).unwrap().get(0)
    };
    assert_eq!(kept(&mut session), "1 mine 1");
    for statement in [
        "deallocate mine",
        "deallocate all",
        "prepare yours as select 1",
        "execute mine",
        "listen yours",
        "unlisten *",
        "load 'plpgsql'",
        "select pg_advisory_lock(8)",
        "select pg_try_advisory_lock_shared(8, 9)",
        "select pg_advisory_unlock_all()",
    ] {
        let quoted = statement.replace('\'', "''");
        let text = format!("do $$ begin execute '{quoted}'; end $$;\n");
        for call in ["run", "test"] {
            let path = if call == "run" { "functions/f.sql" } else { "tests/f.sql" };
            session.batch_execute("begin").unwrap();
            let start = "select deploy.start('shop', pg_catalog.json_build_object($1::text, pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to($2, 'UTF8')), 'hex')))";
            session.execute(start, &[&path, &text]).unwrap();
            let answer: String = session
                .query_one(&format!("select deploy.{call}($1, $2)::text"), &[&path, &text])
                .unwrap()
                .get(0);
            assert!(
                answer.contains("this cannot") || answer.contains("a file cannot"),
                "{statement}: {answer}"
            );
            session.batch_execute("commit").unwrap();
        }
        assert_eq!(kept(&mut session), "1 mine 1", "{statement}");
    }
    let locks = "do $$ begin perform pg_advisory_xact_lock(8); end $$;\n";
    shop.write("functions/f.sql", locks);
    shop.ok("deploy");
}

#[test]
fn a_route_that_is_anothers_by_now_stays() {
    let shop = application(&[
        (
            "routes.sql",
            "do $$ begin begin perform http.route('GET', '/squat', 'g'); raise 'x'; exception when others then null; end; end $$;\nselect http.route('GET', '/left', 'g');\n",
        ),
        ("functions/g.sql", "create function g() returns int language sql immutable return 1;\n"),
    ]);
    shop.ok("deploy");
    assert_eq!(shop.value("select count(*)::text from deploy.object where type = 'route'"), "1");
    shop.platform.sql("select http.unroute('GET', '/left')");
    let files = ["howdah.toml", "migrations/1-item.sql", "functions/g.sql", "routes.sql"];
    let texts = files.map(|path| std::fs::read_to_string(shop.folder.path().join(path)).unwrap());
    shop.write("howdah.toml", "name = \"other\"\n");
    shop.write(
        "routes.sql",
        "select http.route('GET', '/squat', 'g');\nselect http.route('GET', '/left', 'g');\n",
    );
    shop.ok("deploy");
    assert_eq!(shop.platform.get("/left").text(), "1");
    files.iter().zip(texts).for_each(|(path, text)| shop.write(path, &text));
    shop.write("routes.sql", "\n");
    shop.ok("deploy");
    assert_eq!((shop.platform.get("/left").status, shop.platform.get("/squat").status), (200, 200));
    assert_eq!(shop.value("select count(*)::text from deploy.counts('shop')"), "0");
}

#[test]
fn no_application_keeps_others_from_deploying() {
    let shop = application(&[
        (
            "functions/f.sql",
            "create domain d as text;\ncreate function f(n d) returns text language sql immutable return n;\n",
        ),
        ("routes.sql", "select http.route('GET', '/f/{n}', 'f');\n"),
    ]);
    shop.ok("deploy");
    shop.platform.sql(
        "grant execute on function shop.f(shop.d) to bob; drop function shop.f(shop.d); drop domain shop.d",
    );
    shop.write("howdah.toml", "name = \"other\"\n");
    shop.remove("functions/f.sql");
    shop.remove("routes.sql");
    shop.ok("deploy");
    shop.write("views/v.sql", "create view v as select id from item;\n");
    shop.ok("deploy");
    shop.ok("history");
    assert_eq!(shop.value("select count(*)::text from deploy.applications"), "2");
}

#[test]
fn what_runs_when_a_deployment_is_checked_deploys_nothing() {
    let trap = "set check_function_bodies = off;
create function boom(t text) returns bool language plpgsql as $$ begin perform deploy.start('shop', '{}', 'deploy', 'forged'); return true; end $$;
create domain trap as text check (boom(value));
create type comp as (a trap);
create function later() returns comp language sql as $$ select '(x)'::comp $$;\n";
    let shop = application(&[("functions/f.sql", trap)]);
    assert!(shop.fails("deploy").contains("a file that is deployed cannot deploy"));
    assert_eq!(shop.value("select count(*)::text from deploy.deployment"), "0");
    shop.write("functions/f.sql", "\n");
    shop.write("tests/t.sql", "do $$ begin raise 'over' using errcode = 'HDT00'; end $$;\nselect false;\n");
    assert!(shop.fails("deploy").contains("tests/t.sql:1: over"));
    shop.remove("tests/t.sql");
    shop.ok("deploy");
    let mut session = shop.platform.session();
    session.batch_execute("begin; savepoint s; select deploy.start('shop', '{}'); rollback to s").unwrap();
    for call in ["take_away()", "finish()", "plan()"] {
        let error = session.batch_execute(&format!("savepoint t; select deploy.{call}")).unwrap_err();
        assert!(error.as_db_error().unwrap().message().contains("was rolled back"), "{error:?}");
        session.batch_execute("rollback to t").unwrap();
    }
}

#[test]
fn an_application_is_made_of_nobody_elses_role_or_schema() {
    let shop = application(&[]);
    shop.ok("deploy");
    let long = "x".repeat(63);
    shop.platform.sql(&format!("create role {long} superuser; create role maker noinherit createrole; create role reader noinherit in role pg_read_all_data"));
    let mut session = shop.platform.session();
    for (arguments, told) in [
        ("'e', owner => 'shop_owner'", "role shop_owner owns another application"),
        ("'e', schema_name => 'shop'", "schema shop is another application's"),
        ("'e', schema_name => 'pg_catalog'", "schema pg_catalog is no application's"),
        ("'e', schema_name => 'public'", "schema public is no application's"),
        ("'e', schema_name => 'howdah_x'", "schema howdah_x is no application's"),
        ("'postgres'", "schema postgres is no application's"),
        ("'e', owner => 'pg_read_all_data'", "role pg_read_all_data"),
        ("'e', owner => 'howdah_web'", "role howdah_web"),
        ("'e', owner => 'postgres'", "role postgres"),
        ("'e', owner => 'mallory'", "mallory"),
        ("'e', owner => 'maker'", "role maker may do more"),
        ("'e', owner => 'reader'", "role reader may do more"),
        (&format!("'e', owner => '{long}y'"), "longer than 63 bytes"),
        (&format!("'{long}'"), "longer than 63 bytes"),
    ] {
        let error =
            session.batch_execute(&format!("select deploy.create_application({arguments})")).unwrap_err();
        assert!(error.as_db_error().unwrap().message().contains(told), "{arguments}: {error:?}");
    }
}

#[test]
fn no_application_changes_the_settings_of_the_role_that_all_run_as() {
    let shop = application(&[
        (
            "functions/f.sql",
            "create function f() returns text language plpgsql as $$ begin alter role howdah_web set statement_timeout = 1; return 'x'; end $$;\n",
        ),
        ("routes.sql", "select http.route('POST', '/f', 'f');\n"),
    ]);
    shop.ok("deploy");
    assert_eq!(shop.platform.post("/f", "text/plain", b"").status, 403);
    shop.platform.sql("grant shop_owner to mallory");
    let mut session = shop.platform.session();
    session.batch_execute("set session authorization mallory; set role howdah_web").unwrap();
    for statement in [
        "alter role howdah_web set statement_timeout = 1",
        "alter role current_user set statement_timeout = 1",
        "alter role session_user set statement_timeout = 1; alter role howdah_web reset all",
        "alter role howdah_web in database app set statement_timeout = 1",
        "do $$ begin execute 'alter role howdah_web set statement_timeout = 1'; end $$",
    ] {
        assert!(session.batch_execute(statement).is_err(), "{statement}");
    }
    assert_eq!(
        shop.value("select count(*)::text from pg_db_role_setting where setrole = 'howdah_web'::regrole"),
        "0"
    );
    shop.platform.sql("alter role howdah_web set statement_timeout = '9s'");
}

#[test]
fn a_request_of_http_call_leaves_the_callers_session_and_constraints_alone() {
    let shop = application(&[
        ("migrations/2.sql", PUT_OFF),
        (
            "functions/f.sql",
            "create function read_only() returns text language plpgsql as $$ begin set constraints all deferred; insert into shop.u values (1);
               set transaction read only; return 'x'; end $$;
             create function at_once() returns text language plpgsql stable as $$ begin set constraints all immediate; return 'x'; end $$;
             create function prepares() returns text language plpgsql as $$ begin execute 'deallocate mine'; return 'x'; end $$;
             create function locks() returns text language plpgsql stable as $$ begin perform pg_advisory_unlock_all(); return 'x'; end $$;\n",
        ),
        (
            "routes.sql",
            "select http.route('POST', '/read_only', 'read_only');\nselect http.route('GET', '/at_once', 'at_once');\nselect http.route('POST', '/prepares', 'prepares');\nselect http.route('GET', '/locks', 'locks');\n",
        ),
    ]);
    shop.ok("deploy");
    shop.platform.sql("create table public.late (n int unique deferrable initially deferred)");
    let mut session = shop.platform.session();
    session.batch_execute("prepare mine as select 1; select pg_advisory_lock(7)").unwrap();
    for (method, path) in
        [("POST", "/read_only"), ("GET", "/at_once"), ("POST", "/prepares"), ("GET", "/locks")]
    {
        session.batch_execute("begin; insert into public.late values (1)").unwrap();
        let call = format!("select status::int from http.call('{method}', '{path}')");
        let status: i32 = session.query_one(&call, &[]).unwrap().get(0);
        // What it has put off itself runs at its end, as the role.
        assert!(status >= 400 || path == "/read_only", "{path}: {status}");
        session.batch_execute("rollback").unwrap();
        session.batch_execute(&format!("begin; {call}; commit")).unwrap();
        assert_eq!(
            shop.value("select (not rolsuper)::text from pg_roles where rolname = 'mallory'"),
            "true",
            "{path}"
        );
    }
    let kept = "select (select count(*) from pg_prepared_statements where name = 'mine') + (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid())";
    assert_eq!(session.query_one(kept, &[]).unwrap().get::<_, i64>(0), 2);
}

#[test]
fn a_schema_is_adopted_by_its_own_name_and_one_application_hides_no_other() {
    let shop = application(&[]);
    shop.ok("deploy");
    shop.platform.sql("create schema \"Shop\"; create table \"Shop\".t (n int)");
    shop.write("howdah.toml", "name = \"second\"\nschema = \"Shop\"\n");
    shop.write("migrations/1-item.sql", "create table t (n int);\n");
    shop.ok("adopt");
    let owners = "select string_agg(schemaname || ' ' || tableowner, ', ' order by schemaname) from pg_tables where schemaname ilike 'shop'";
    assert_eq!(shop.value(owners), "Shop second_owner, shop shop_owner");
    // A check so deep that nobody can print it.
    let deep = format!("{}x{}", "abs(".repeat(4900), ")".repeat(4900));
    shop.platform
        .sql(&format!("set max_stack_depth = '7MB'; create table \"Shop\".deep (x int, check ({deep} = 0))"));
    assert_eq!(
        shop.value("select string_agg(application, ' ' order by application) from deploy.applications"),
        "second shop"
    );
}

#[test]
fn a_loop_of_deployments_keeps_no_request_from_its_end() {
    let shop = application(&[
        (
            "functions/f.sql",
            "create function f() returns text language plpgsql as $$ begin perform pg_sleep(1.5); return 'x'; end $$;\n",
        ),
        ("routes.sql", "select http.route('POST', '/f', 'f');\n"),
    ]);
    shop.ok("deploy");
    shop.platform.sql("grant shop_owner to mallory");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut session = shop.platform.session();
            session.batch_execute("set session authorization mallory").unwrap();
            while !done.load(Relaxed) {
                // It may have to wait for too long.
                let _ = session.batch_execute(
                    "begin; select deploy.start('shop', json_build_object('functions/x.sql', encode(sha256('select 1'), 'hex')));
                     select deploy.run('functions/x.sql', 'select 1'); commit",
                );
                let _ = session.batch_execute("rollback");
            }
        });
        wait_for("the loop runs", || shop.platform.count("deploy.deployment") > 5);
        let reply = std::panic::catch_unwind(|| shop.platform.post("/f", "text/plain", b""));
        done.store(true, Relaxed);
        assert_eq!(reply.unwrap().status, 200);
    });
}

#[test]
fn whoever_raises_the_error_of_a_deployment_is_not_run_again() {
    let shop = application(&[
        ("migrations/2.sql", "create sequence runs;\ngrant usage on sequence runs to howdah_web;\n"),
        (
            "functions/f.sql",
            "create function f() returns text language plpgsql as $$ begin perform nextval('shop.runs'); raise 'x' using errcode = 'HDM01'; end $$;\n",
        ),
        ("routes.sql", "select http.route('POST', '/f', 'f');\n"),
    ]);
    shop.ok("deploy");
    assert_eq!(shop.platform.post("/f", "text/plain", b"").status, 500);
    assert_eq!(shop.value("select last_value::text from shop.runs"), "1");
}
