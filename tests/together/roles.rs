//! A request is its role and nobody else; settings follow the role and the database.

use cluster::postgres::Client;
use howdah_tests::Platform;
use howdah_tests::abilities::is_at_least;
use howdah_tests::platform::wait_for;

/// Runs the SQL of the body as the request, and returns what the last statement of it says.
const RUN: &str = "
create function run(text) returns text language plpgsql as $$
declare result text;
begin execute $1 into result; return result; end $$;
create function run_command(text) returns text language plpgsql as $$
begin execute $1; return current_user || ' ' || session_user; end $$;
select http.route('POST', '/run', 'run');
select http.route('POST', '/command', 'run_command');";

fn run(platform: &Platform, path: &str, sql: &str) -> (u16, String) {
    let reply = platform.post(path, "text/plain", sql.as_bytes());
    (reply.status, reply.text())
}

#[test]
fn a_handler_cannot_become_somebody_else() {
    let platform = Platform::with(&[("howdah.min_executors", "1"), ("howdah.max_executors", "1")]);
    platform.sql(RUN);
    platform.sql(
        "create role other; grant other to howdah_web;
         create function become(role text) returns text language plpgsql as $$
         begin execute format('set role %I', role); return current_user; end $$;
         create function as_owner() returns text language plpgsql security definer as $$
         begin execute 'set session authorization postgres'; return current_user; end $$;
         create function with_setting() returns text language sql set work_mem = '1MB'
         as $$ select set_config('role', 'other', false) $$;
         create procedure commit_and_become() language plpgsql as $$
         begin commit; set role other; end $$",
    );
    let superuser = platform.value("select rolname from pg_roles where oid = 10").expect("a superuser");
    let commands = [
        "set role other".to_owned(),
        "set local role other".into(),
        "set role none".into(),
        "reset role".into(),
        format!("set role {superuser}"),
        "set session authorization default".into(),
        "reset session authorization".into(),
        format!("set session authorization {superuser}"),
        format!("set local session authorization {superuser}"),
        "do $x$ begin set role other; end $x$".into(),
        "do $x$ begin execute 'reset role'; end $x$".into(),
        "select become('other')".into(),
        "select as_owner()".into(),
        "select with_setting()".into(),
        "select set_config('role', 'other', false)".into(),
        "select set_config('role', 'none', true)".into(),
        format!("select set_config('session_authorization', '{superuser}', false)"),
        "call commit_and_become()".into(),
        "discard all".into(),
        "commit".into(),
        "begin".into(),
        "create role mine superuser".into(),
    ];
    for command in commands {
        let (status, text) = run(&platform, "/command", &command);
        assert!(status >= 400, "{command} passed: {text}");
        let (status, who) = run(&platform, "/command", "select 1");
        assert_eq!((status, who.as_str()), (200, "howdah_web howdah_web"), "after {command}");
    }
    for harmless in ["reset all", "set session characteristics as transaction isolation level serializable"] {
        assert_eq!(run(&platform, "/command", harmless), (200, "howdah_web howdah_web".into()), "{harmless}");
        let show = "select current_setting('transaction_isolation')";
        assert_eq!(run(&platform, "/run", show).1, "read committed");
    }
}

#[test]
fn what_runs_at_commit_is_the_requests_role_too() {
    let platform = Platform::with(&[("howdah.min_executors", "1"), ("howdah.max_executors", "1")]);
    platform.sql(RUN);
    platform.sql(
        "create role app; create role helper; grant helper to app;
         create table thing (id int); create table seen (who text, session text, setting text, request text);
         grant all on thing to app; grant all on seen to public;
         create function look() returns trigger language plpgsql as $$
         begin
           insert into seen values (current_user, session_user, current_setting('my.tenant', true),
             (http.current_request()).path);
           return null;
         end $$;
         create constraint trigger late after insert on thing deferrable initially deferred
         for each row execute function look();
         create function add(id int) returns text language plpgsql as $$
         begin
           perform set_config('my.tenant', 'tenant ' || id, false);
           insert into thing values (id);
           return current_user;
         end $$;
         select http.route('POST', '/things', 'add', role => 'app');
         create function try_to_become() returns trigger language plpgsql as $$
         begin set role helper; return null; end $$;
         create table trap (id int); grant all on trap to app;
         create constraint trigger late after insert on trap deferrable initially deferred
         for each row execute function try_to_become();
         create function spring() returns void language sql as 'insert into trap values (1)';
         select http.route('POST', '/trap', 'spring', role => 'app');
         create function escalate() returns text language plpgsql as $$
         begin
           insert into public.seen values (current_user, session_user, 'held', null);
           perform set_config('session_authorization',
             (select rolname from pg_authid_names where oid = 10), false);
           return 'x';
         end $$;
         create view pg_authid_names as select oid, rolname from pg_roles;
         grant select on pg_authid_names to public;
         create function hold() returns text language plpgsql as $$
         begin
           execute 'declare held cursor with hold for select escalate()';
           return 'held';
         end $$;
         select http.route('POST', '/hold', 'hold', role => 'app');
         create function who() returns text language sql volatile as 'select current_user || session_user';
         select http.route('POST', '/who', 'who', role => 'app')",
    );
    assert_eq!(platform.post("/things?id=7", "text/plain", b"").text(), "app");
    assert_eq!(
        platform
            .value("select who || '|' || session || '|' || setting || '|' || request from seen")
            .as_deref(),
        Some("app|howdah_web|tenant 7|/things")
    );
    assert_eq!(platform.post("/trap", "text/plain", b"").status, 500, "the role is fixed");
    assert_eq!(platform.value("select count(*) from trap").as_deref(), Some("0"));

    platform.sql("delete from seen");
    platform.post("/hold", "text/plain", b"");
    assert_eq!(
        platform.value("select string_agg(who || session, ',') from seen"),
        None,
        "a held cursor ran at commit"
    );
    assert_eq!(platform.post("/who", "text/plain", b"").text(), "apphowdah_web");
}

#[test]
fn settings_of_role_and_database_apply_and_follow_changes() {
    let platform = Platform::with(&[
        ("howdah.min_executors", "1"),
        ("howdah.max_executors", "1"),
        ("work_mem", "5MB"),
        ("my.level", "file"),
    ]);
    platform.sql(
        "create role app; create role other;
         create function levels() returns text language plpgsql stable as $$
         begin return current_setting('work_mem') || ' ' || current_setting('my.level', true); end $$;
         select http.route('GET', '/app', 'levels', role => 'app');
         select http.route('GET', '/other', 'levels', role => 'other')",
    );
    let superuser = platform.value("select rolname from pg_roles where oid = 10").expect("a superuser");
    let steps = [
        ("select 1".to_owned(), "5MB file", "5MB file"),
        (format!("alter role {superuser} set my.level = 'superuser'"), "5MB file", "5MB file"),
        ("alter role all set my.level = 'all'".into(), "5MB all", "5MB all"),
        ("alter database app set my.level = 'database'".into(), "5MB database", "5MB database"),
        ("alter role app set my.level = 'role'".into(), "5MB role", "5MB database"),
        ("alter role app in database app set my.level = 'both'".into(), "5MB both", "5MB database"),
        ("alter role app in database postgres set my.level = 'elsewhere'".into(), "5MB both", "5MB database"),
        ("alter role app set work_mem = '6MB'".into(), "6MB both", "5MB database"),
        ("alter database app set work_mem = '7MB'".into(), "6MB both", "7MB database"),
        ("alter role app in database app reset all".into(), "6MB role", "7MB database"),
        ("alter role app reset all".into(), "7MB database", "7MB database"),
        ("alter database app reset all".into(), "5MB all", "5MB all"),
        ("alter role all reset all".into(), "5MB file", "5MB file"),
    ];
    // Several rounds: the endpoint's first requests run in an executor, later ones in the gateway.
    let mut both = [platform.connect(), platform.connect()];
    for (step, app, other) in steps {
        platform.sql(&step);
        for _ in 0..12 {
            assert_eq!(both[0].request("GET", "/app", &[], b"").text(), app, "app after {step}");
            assert_eq!(both[1].request("GET", "/other", &[], b"").text(), other, "other after {step}");
        }
    }
    // A worker that begins while the database has settings of its own forgets them with the database.
    platform.sql("alter database app set my.level = 'database'; alter database app set work_mem = '9MB'");
    platform.sql(&format!("alter role {superuser} set work_mem = '11MB'"));
    let before = platform.pids();
    platform.sql("select pg_terminate_backend(pid) from http.workers");
    wait_for("workers have come back", || {
        let now = platform.pids();
        now.len() == 2 && !now.iter().any(|pid| before.contains(pid))
    });
    platform.wait_until_served();
    assert_eq!(platform.get("/app").text(), "9MB database");
    platform.sql("alter database app reset all");
    assert_eq!(platform.get("/app").text(), "5MB file");
}

/// A text in a statement is read when the statement is analysed, and by whom it is kept.
#[test]
fn texts_in_statements_follow_the_settings_of_role_and_server() {
    let platform = Platform::with(&[
        ("howdah.min_executors", "1"),
        ("howdah.max_executors", "1"),
        ("howdah.inline_threshold", "100000"),
        ("TimeZone", "UTC"),
    ]);
    let text = "(timestamptz '2026-12-01 00:00' at time zone 'UTC')::text";
    platform.sql(&format!(
        "create role app;
         create function unfolded() returns text stable language sql as $$ select {text} $$;
         create function called() returns text stable language plpgsql as $$ begin return {text}; end $$;
         select http.route(method, '/' || name, name, role => 'app')
         from unnest(array['unfolded', 'called']) name, unnest(array['GET', 'POST']) method;
         select http.handle($$ select {text} from request where path = '/handler' $$, role => 'app')"
    ));
    let steps = [
        ("select 1", "2026-12-01 00:00:00"),
        ("alter role app set TimeZone = 'Asia/Tokyo'", "2026-11-30 15:00:00"),
        ("alter role app reset TimeZone", "2026-12-01 00:00:00"),
        ("alter system set TimeZone = 'Asia/Karachi'", "2026-11-30 19:00:00"),
    ];
    let ask = |method: &str, path: &str| platform.connect().request(method, path, &[], b"").text();
    for (step, expected) in steps {
        platform.sql(step);
        platform.sql("select pg_reload_conf()");
        for method in ["GET", "POST"] {
            for path in ["/unfolded", "/called", "/handler"] {
                if step.starts_with("alter system") {
                    wait_for(&format!("{method} {path} follows {step}"), || ask(method, path) == expected);
                }
                for _ in 0..12 {
                    assert_eq!(ask(method, path), expected, "{method} {path} after {step}");
                }
            }
        }
    }
}

#[test]
fn only_members_register_for_a_role_and_only_admins_register() {
    let platform = Platform::start();
    platform.sql(
        "create role app; create role stranger; create role admin in role howdah_admin;
         create function hello() returns text language sql stable as 'select current_user::text';
         grant create on database app to admin",
    );
    let mut session = platform.session();
    session.batch_execute("set session authorization stranger").expect("a stranger");
    for refused in [
        "select http.route('GET', '/a', 'hello')",
        "select http.unroute('GET', '/a')",
        "select http.handle('select http.response(200) from request')",
        "select http.unhandle('default')",
        "select http.listen(1)",
        "select http.unlisten(1)",
        "insert into http.route values ('GET', '/a', 'hello()', 'app', 'public')",
        "delete from http.route",
        "truncate http.handler",
        "update http.listener set port = 1",
        "select * from http.route",
        "select * from http.stats",
        "select * from http.workers",
        "select queue.listen(1, queue => 'jobs')",
        "select queue.unlisten(1)",
        "create temp table t (i int); create trigger t after insert on t for each statement execute function http.configuration_changed()",
    ] {
        let error = session.batch_execute(refused).expect_err(refused);
        assert_eq!(error.code().map(|code| code.code()), Some("42501"), "{refused}: {error:?}");
        session.batch_execute("rollback").expect("an end");
    }
    let mut session = platform.session();
    session.batch_execute("set session authorization admin").expect("an admin");
    session.batch_execute("select http.route('GET', '/web', 'hello')").expect("a route");
    for refused in [
        "select http.route('GET', '/app', 'hello', role => 'app')",
        "select http.handle('select http.response(current_user::text) from request', role => 'app')",
        "select http.route('GET', '/super', 'hello', role => (select rolname::text from pg_roles where oid = 10))",
        "insert into http.route values ('GET', '/a', 'hello()', 'app', 'public')",
    ] {
        let error = session.batch_execute(refused).expect_err(refused);
        assert_eq!(error.code().map(|code| code.code()), Some("42501"), "{refused}: {error:?}");
    }
    platform.sql("grant app to admin");
    session.batch_execute("select http.route('GET', '/app', 'hello', role => 'app')").expect("a route");
    assert_eq!(platform.get("/web").text(), "howdah_web");
    assert_eq!(platform.get("/app").text(), "app");
}

#[test]
fn a_member_that_may_not_set_the_role_does_not_register_for_it() {
    // Before, a member may always become the role.
    if !is_at_least(16, "a membership without SET") {
        return;
    }
    let platform = Platform::start();
    platform.sql(
        "create role app; create role admin in role howdah_admin; grant create on database app to admin;
         grant app to admin with set false, inherit true;
         create function hello() returns text language sql stable as 'select current_user::text'",
    );
    let mut session = platform.session();
    session.batch_execute("set session authorization admin").expect("an admin");
    let route = "select http.route('GET', '/app', 'hello', role => 'app')";
    let error = session.batch_execute(route).expect_err("a route");
    assert_eq!(error.code().map(|code| code.code()), Some("42501"), "{error:?}");
    let hint = error.as_db_error().and_then(|error| error.hint()).unwrap_or_default();
    assert!(hint.starts_with("grant app to the role that registers with set true"), "{hint}");
    platform.sql("grant app to admin with set true");
    session.batch_execute(route).expect("a route");
    assert_eq!(platform.get("/app").text(), "app");
}

#[test]
fn nothing_of_an_admins_runs_as_anybody_else() {
    let platform = Platform::with(&[("howdah.min_executors", "1"), ("howdah.max_executors", "1")]);
    platform.sql(
        "create role admin in role howdah_admin; grant create on database app to admin;
         create function hello() returns text language sql stable as 'select current_user::text'",
    );
    let mut session = platform.session();
    session
        .batch_execute(
            "set session authorization admin;
             create schema evil; grant usage on schema evil to public;
             create table evil.loot (who text, path text); grant all on evil.loot to public;
             create function evil.take() returns boolean language plpgsql as $$
             begin
               insert into evil.loot values (current_user, current_setting('search_path'));
               return true;
             exception when others then return true;
             end $$;
             create function evil.equal(oid, oid) returns boolean language sql as 'select evil.take() and $1 operator(pg_catalog.=) $2';
             create operator evil.= (leftarg = oid, rightarg = oid, function = evil.equal);
             create function evil.equal(name, name) returns boolean language sql as 'select evil.take() and $1 operator(pg_catalog.=) $2';
             create operator evil.= (leftarg = name, rightarg = name, function = evil.equal);
             create function evil.equal(text, text) returns boolean language sql as 'select evil.take() and $1 operator(pg_catalog.=) $2';
             create operator evil.= (leftarg = text, rightarg = text, function = evil.equal);
             create function evil.alike(text, text) returns boolean language sql as 'select evil.take() and true';
             create operator evil.~~ (leftarg = text, rightarg = text, function = evil.alike);
             create function evil.set_config(text, text, boolean) returns text language sql as $$
               select evil.take(); select pg_catalog.set_config($1, $2, $3) $$;
             create function evil.current_database() returns name language sql as $$
               select evil.take(); select pg_catalog.current_database() $$;
             create domain evil.regprocedure as pg_catalog.regprocedure check (evil.take());
             create domain evil.regrole as pg_catalog.regrole check (evil.take());
             create domain evil.text as pg_catalog.text check (evil.take());
             create temp table text (i int);
             create domain pg_temp.regprocedure as pg_catalog.regprocedure check (evil.take());
             set search_path = evil, pg_catalog, public",
        )
        .expect("what an admin may do");
    for step in [
        "select http.route('GET', '/a', 'hello()')",
        "select http.route('GET', '/b', 'public.hello')",
        "select http.handle('select http.response(200) from request')",
        "select http.unroute('GET', '/b')",
        "select http.route('GET', '/c', 'hello', search_path => 'pg_temp, evil, pg_catalog, public')",
        "select http.route('GET', '/d', 'hello', search_path => '')",
    ] {
        // Some fail for what the path hides: they must only run nothing of it.
        let _ = session.batch_execute(step);
    }
    for path in ["/a", "/c", "/x", "/a"] {
        platform.get(path);
        // A change makes the workers read the tables and the role's settings under that endpoint's path.
        platform.sql("select http.route('GET', '/e', 'public.hello'); alter role howdah_web set my.x = 'y'");
    }
    assert_eq!(platform.get("/a").text(), "howdah_web");
    assert_eq!(
        platform.value("select string_agg(distinct who, ',') from evil.loot where who not in ('admin')"),
        None
    );
}

#[test]
fn settings_of_a_role_count_from_the_commit_of_their_transaction_also_of_a_prepared_one() {
    let platform = Platform::with(&[("max_prepared_transactions", "2")]);
    platform.sql(
        "create function tenant() returns text language sql stable return current_setting('my.tenant', true);
         create function tenant_in_an_executor() returns text language plpgsql volatile as
           $$ begin return current_setting('my.tenant', true); end $$;
         alter role howdah_web set my.tenant = 'one';
         select http.route('GET', '/tenant', 'tenant'), http.route('POST', '/tenant', 'tenant_in_an_executor')",
    );
    let mut connection = platform.connect();
    let mut expect = |tenant: &str| {
        // Enough for the gateway to run them itself.
        for _ in 0..20 {
            for method in ["GET", "POST"] {
                assert_eq!(connection.request(method, "/tenant", &[], b"").text(), tenant, "{method}");
            }
        }
    };
    expect("one");
    platform.sql("begin; alter role howdah_web set my.tenant = 'two'; prepare transaction 'two'");
    expect("one");
    platform.sql("commit prepared 'two'");
    expect("two");
    platform.sql(
        "begin; alter role howdah_web in database app set my.tenant = 'three'; prepare transaction 'three'",
    );
    platform.sql("rollback prepared 'three'");
    expect("two");
    platform.sql("begin; savepoint s; alter role howdah_web set my.tenant = 'four'; rollback to s; commit");
    expect("two");
    platform.sql("do $$ begin execute 'alter role howdah_web set my.tenant = five'; end $$");
    expect("five");
}

#[test]
fn what_the_owner_of_the_extension_grants_by_default_opens_nothing_of_it() {
    let platform = Platform::start();
    platform.sql("create role reader; create role \"Odd reader\"");
    platform.sql("create database other");
    let mut other = platform.cluster.connect("other").unwrap();
    other
        .batch_execute(
            "alter default privileges grant all on tables to reader, \"Odd reader\", public, howdah_admin;
             alter default privileges grant all on sequences to reader, public;
             alter default privileges grant all on functions to reader with grant option;
             alter default privileges grant all on types to \"Odd reader\";
             alter default privileges grant all on schemas to reader, public;
             create extension howdah",
        )
        .unwrap();
    // An access list that was changed may say no more than one that never was.
    let all = "
        select string_agg(concat_ws(' ', d.name, a.grantee::regrole, a.privilege_type, a.is_grantable), e'\\n' order by d.name, a.grantee, a.privilege_type)
        from (
          select n.nspname, coalesce(n.nspacl, acldefault('n', n.nspowner)) from pg_namespace n where nspname in ('http', 'queue')
          union all
          select c.oid::regclass::text, coalesce(c.relacl, acldefault(case c.relkind when 'S' then 's' else 'r' end::\"char\", c.relowner))
          from pg_class c where relkind <> 'i' and c.relnamespace in ('http'::regnamespace, 'queue'::regnamespace)
          union all
          select p.oid::regprocedure::text, coalesce(p.proacl, acldefault('f', p.proowner))
          from pg_proc p where p.pronamespace in ('http'::regnamespace, 'queue'::regnamespace)
          union all
          select t.oid::regtype::text, coalesce(t.typacl, acldefault('T', t.typowner))
          from pg_type t where t.typnamespace in ('http'::regnamespace, 'queue'::regnamespace)) d (name, acl)
        cross join lateral aclexplode(d.acl) a";
    let rights = |session: &mut Client| session.query_one(all, &[]).unwrap().get::<_, String>(0);
    let expected = rights(&mut platform.session());
    assert!(expected.contains("howdah_admin SELECT"));
    let got = rights(&mut other);
    let more: Vec<&str> = got.lines().filter(|line| !expected.lines().any(|known| known == *line)).collect();
    assert_eq!(more, Vec::<&str>::new());
    assert_eq!(got, expected);
}
