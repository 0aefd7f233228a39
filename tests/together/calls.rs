//! `http.call`: a request in the transaction of a session.

use cluster::postgres::Client;
use howdah_tests::platform::Platform;

/// Status and body of a call.
fn call(session: &mut Client, arguments: &str) -> (i32, String) {
    let query =
        format!("select status, coalesce(convert_from(body, 'UTF8'), '') from http.call({arguments})");
    let row = session.query_one(&query, &[]).unwrap_or_else(|error| panic!("{error:?}\n{query}"));
    (row.get(0), row.get(1))
}

fn error_of(session: &mut Client, text: &str) -> (String, String) {
    let error = session.batch_execute(text).expect_err(text);
    let error = error.as_db_error().unwrap_or_else(|| panic!("{text}: {error:?}"));
    (error.code().code().to_owned(), error.message().to_owned())
}

fn value(session: &mut Client, query: &str) -> String {
    session.query_one(query, &[]).unwrap_or_else(|error| panic!("{error:?}\n{query}")).get(0)
}

#[test]
fn it_sees_what_the_transaction_has_made_and_leaves_what_a_request_leaves() {
    let platform = Platform::start();
    let mut session = platform.session();
    session
        .batch_execute(
            "begin;
             create table note (text text);
             grant select, insert on note to howdah_web;
             create function notes() returns setof note language sql stable
             begin atomic select * from note; end;
             create function add_note(text text) returns note language sql
             begin atomic insert into note values (text) returning note; end;
             select http.route('GET', '/notes', 'notes');
             select http.route('POST', '/notes', 'add_note')",
        )
        .unwrap();
    assert_eq!(call(&mut session, "'GET', '/notes'"), (200, "[]".into()));
    let form = "array[http.header('Content-Type', 'application/x-www-form-urlencoded')]";
    assert_eq!(call(&mut session, &format!("'POST', '/notes', {form}, 'text=a'")).0, 200);
    assert_eq!(call(&mut session, "'GET', '/notes'"), (200, r#"[{"text":"a"}]"#.into()));
    assert_eq!(value(&mut session, "select text from note"), "a", "the caller sees it");
    assert_eq!(call(&mut session, "'GET', '/nothing'").0, 404);
    assert_eq!(call(&mut session, "'PUT', '/notes'").0, 405);
    assert_eq!(call(&mut session, "'OPTIONS', '/notes'").0, 204);
    assert_eq!(platform.get("/notes").status, 404, "nobody else does");
    session.batch_execute("rollback").unwrap();
    assert_eq!(call(&mut session, "'GET', '/notes'").0, 404);
}

#[test]
fn the_answer_is_that_of_a_worker() {
    let platform = Platform::start();
    platform.sql(
        "create function text_of(n int default 7) returns text language sql immutable return 'n ' || n;
         create function page(request http.request) returns http.html language sql stable
         return '<p>' || request.method || ' ' || request.path || ' ' || request.query_string || ' '
           || coalesce(http.header_value('X-Some'), '-') || ' ' || coalesce(http.cookie('c'), '-');
         create function seen(id int, r http.request) returns http.response language sql stable
         return http.response(body => json_build_object('id', id, 'host', http.header_value('host')), status => 202,
           headers => array[http.header('X-Other', 'o'), http.set_cookie('a', 'b')]);
         create function nothing() returns text language sql stable return null::text;
         create function fails() returns text language plpgsql as $$ begin raise 'no' using errcode = 'P0001'; end $$;
         create function divides(n int) returns int language sql stable return 1 / n;
         select http.route('GET', '/text', 'text_of'), http.route('GET', '/page/{*rest}', 'page'),
                http.route('GET', '/seen/{id}', 'seen'), http.route('GET', '/nothing', 'nothing'),
                http.route('GET', '/fails', 'fails'), http.route('GET', '/divides', 'divides');
         select http.handle($$ select 'handled ' || path from request where path like '/h/%' $$)",
    );
    let mut session = platform.session();
    let id = regex::Regex::new(r#""request_id":"[^"]*""#).unwrap();
    for path in [
        "/text",
        "/text?n=3",
        "/text?n=x",
        "/page/a%20b/c?q=%41",
        "/seen/4",
        "/seen/x",
        "/nothing",
        "/fails",
        "/divides?n=0",
        "/divides",
        "/h/1",
        "/elsewhere",
    ] {
        let sent = platform.get(path);
        let row = session
            .query_one(
                "select status, coalesce(convert_from(body, 'UTF8'), ''), coalesce(content_type, ''),
                        coalesce((select h.value from unnest(headers) h where h.name = 'x-other'), '')
                 from http.call('GET', $1, array[http.header('Host', $2)])",
                &[&path, &"localhost"],
            )
            .unwrap();
        let header = |name: &str| sent.header(name).unwrap_or_default().to_owned();
        let without_id = |text: &str| id.replace(text, "").into_owned();
        assert_eq!(row.get::<_, i32>(0), i32::from(sent.status), "{path}");
        assert_eq!(without_id(row.get(1)), without_id(&sent.text()), "{path}");
        assert_eq!(row.get::<_, String>(2), header("content-type"), "{path}");
        assert_eq!(row.get::<_, String>(3), header("x-other"), "{path}");
    }
}

#[test]
fn it_runs_as_the_routes_role_with_the_settings_of_that_alone() {
    let platform = Platform::start();
    platform.sql(
        "create role shop nologin;
         alter role shop set work_mem = '7MB';
         create schema shop authorization shop;
         create function shop.who() returns json language sql volatile as $$
           select json_build_object('user', current_user, 'path', current_setting('search_path'),
             'memory', current_setting('work_mem'), 'style', current_setting('DateStyle'), 'own', current_setting('my.own', true)) $$;
         create function shop.sets() returns text language sql volatile
         as $$ select set_config('my.own', 'left', false) || set_config('work_mem', '9MB', false) $$;
         create function shop.becomes() returns text language plpgsql as $$ begin reset role; return current_user; end $$;
         select http.route('GET', '/who', 'shop.who', role => 'shop', search_path => 'shop'),
                http.route('POST', '/sets', 'shop.sets', role => 'shop', search_path => 'shop'),
                http.route('POST', '/becomes', 'shop.becomes', role => 'shop', search_path => 'shop')",
    );
    let mut session = platform.session();
    session.batch_execute("set DateStyle = 'SQL, DMY'; set work_mem = '5MB'; set my.own = 'caller'").unwrap();
    let who: serde_json::Value = serde_json::from_str(&call(&mut session, "'GET', '/who'").1).unwrap();
    let expected: serde_json::Value = serde_json::from_str(&platform.get("/who").text()).unwrap();
    assert_eq!(who["user"], "shop");
    assert_eq!(who["memory"], "7MB");
    assert_eq!(who["path"], expected["path"]);
    assert_eq!(who["style"], expected["style"]);
    assert_ne!(who["own"], "caller");
    assert_eq!(call(&mut session, "'POST', '/sets'").0, 200);
    let after = "select current_user || current_setting('work_mem') || current_setting('my.own') || current_setting('DateStyle')";
    assert_eq!(value(&mut session, after), "postgres5MBcallerSQL, DMY");
    assert_ne!(call(&mut session, "'POST', '/becomes'").0, 200, "RESET ROLE");
}

#[test]
fn nobody_calls_it_who_may_not() {
    let platform = Platform::start();
    platform.sql(
        "create role shop nologin; create role deployer login; create role admin login in role howdah_admin;
         grant create on schema public to deployer;
         create function one() returns int language sql immutable return 1;
         create function calls() returns int language sql as $$ select (http.call('GET', '/one')).status $$;
         select http.route('GET', '/one', 'one', role => 'shop'), http.route('POST', '/calls', 'calls')",
    );
    let mut session = platform.session();
    let call_it = "select http.call('GET', '/one')";
    session.batch_execute("set role admin").unwrap();
    assert_eq!(error_of(&mut session, call_it).0, "42501", "howdah_admin has no EXECUTE");
    session
        .batch_execute(
            "reset role;
             grant execute on function http.call to deployer, howdah_web;
             create function counted(n int) returns int language sql immutable
             as $$ select n + (http.call('GET', '/one')).status $$;
             set role deployer",
        )
        .unwrap();
    let (code, message) = error_of(&mut session, call_it);
    assert_eq!((code.as_str(), message.contains("may become shop")), ("42501", true), "{message}");
    session.batch_execute("reset role; grant shop to deployer; set role deployer").unwrap();
    assert_eq!(call(&mut session, "'GET', '/one'"), (200, "1".into()));
    let restricted = "create table t (n int); insert into t values (1); create index on t (counted(n))";
    let (code, message) = error_of(&mut session, restricted);
    assert_eq!((code.as_str(), message.contains("security-restricted")), ("42501", true), "{message}");
    let answer = platform.post("/calls", "text/plain", b"");
    assert!(answer.text().contains("while a request is answered"), "{}", answer.text());
    for (arguments, wrong) in [
        ("'G T', '/one'", "is no method"),
        ("'GET', 'one'", "target"),
        ("'GET', '/one', array[http.header('a b', 'c')]", "header"),
        ("'GET', '/one', array[http.header('a', E'c\\nd')]", "header"),
        ("'GET', '/one', scheme => 'ftp'", "scheme"),
        ("null, '/one'", "method"),
    ] {
        let (_, message) = error_of(&mut session, &format!("select http.call({arguments})"));
        assert!(message.contains(wrong), "{arguments}: {message}");
    }
}

#[test]
fn an_error_is_the_answer_and_leaves_nothing() {
    let platform = Platform::start();
    platform.sql(
        "create table note (text text unique);
         grant select, insert on note to howdah_web;
         create function add_note(text text) returns text language plpgsql as $$
         begin insert into note values (text); perform 1 / length(text); return text; end $$;
         create function reads() returns text language plpgsql as $$ begin insert into note values ('r'); return 'r'; end $$;
         select http.route('POST', '/notes', 'add_note'), http.route('GET', '/reads', 'reads')",
    );
    let mut session = platform.session();
    let form = "array[http.header('Content-Type', 'application/x-www-form-urlencoded')]";
    session.batch_execute("begin; insert into note values ('before')").unwrap();
    let (status, text) = call(&mut session, &format!("'POST', '/notes', {form}, 'text='"));
    assert_eq!((status, text.contains("division by zero")), (400, true), "{text}");
    assert_eq!(call(&mut session, &format!("'POST', '/notes', {form}, 'text=before'")).0, 409);
    let (status, text) = call(&mut session, "'GET', '/reads'");
    assert!(status >= 400 && text.contains("read-only"), "{status} {text}");
    assert_eq!(call(&mut session, &format!("'POST', '/notes', {form}, 'text=c'")), (200, "c".into()));
    session.batch_execute("savepoint s").unwrap();
    assert_eq!(call(&mut session, &format!("'POST', '/notes', {form}, 'text=d'")), (200, "d".into()));
    session.batch_execute("rollback to s; insert into note values ('after'); commit").unwrap();
    let notes = value(&mut session, "select string_agg(text, ' ' order by text) from note");
    assert_eq!(notes, "after before c");
}

#[test]
fn cursors_locks_and_temporary_tables_of_the_caller_are_hidden_and_stay() {
    let platform = Platform::start();
    platform.sql(
        "create function looks() returns text language plpgsql as $$
         declare c refcursor; r record; seen text := '';
         begin
           for r in select name from pg_cursors loop seen := seen || r.name || ','; end loop;
           execute 'close all';
           c := 'kept';
           begin fetch next from c into r; seen := seen || 'kept'; exception when others then null; end;
           begin execute 'fetch next from kept'; seen := seen || 'kept'; exception when others then null; end;
           begin perform * from secret; seen := seen || 'secret'; exception when undefined_table then null; end;
           return seen;
         end $$;
         create function leaves() returns text language plpgsql as $$
         begin
           execute 'declare left_open cursor with hold for select current_user';
           return 'left';
         end $$;
         create function makes() returns text language plpgsql as $$ begin create temp table left_over (n int); return ''; end $$;
         select http.route('POST', '/looks', 'looks'), http.route('POST', '/leaves', 'leaves'), http.route('POST', '/makes', 'makes')",
    );
    let mut session = platform.session();
    let (status, message) = call(&mut session, "'POST', '/makes'");
    assert!(status >= 400 && message.contains("temporary"), "{status} {message}");
    session
        .batch_execute(
            "begin;
             create temp table secret as select generate_series(1, 3) as n;
             select pg_advisory_xact_lock(1);
             declare kept scroll cursor for select n from secret order by n;
             move 1 in kept;
             declare held cursor with hold for select n from secret order by n",
        )
        .unwrap();
    let (status, seen) = call(&mut session, "'POST', '/looks'");
    assert_eq!(
        (status, seen.replace("<unnamed portal 1>,", "")),
        (200, String::new()),
        "what the handler saw"
    );
    assert_eq!(call(&mut session, "'POST', '/leaves'"), (200, "left".into()));
    let (status, message) = call(&mut session, "'POST', '/makes'");
    assert!(status >= 400 && message.contains("temporary"), "{status} {message}");
    // In a loop, which has a cursor itself.
    session
        .batch_execute(
            "do $$ declare r record; n int := 0; begin
               for r in select (http.call('POST', '/looks')).status as s from generate_series(1, 3) loop n := n + r.s; end loop;
               for r in select s.n from secret s loop n := n + (http.call('POST', '/leaves')).status; end loop;
               if n <> 1200 then raise 'it is %', n; end if;
             end $$",
        )
        .unwrap();
    let fetched: i32 = session.query_one("fetch next from kept", &[]).unwrap().get(0);
    assert_eq!(fetched, 2);
    assert_eq!(
        value(
            &mut session,
            "select string_agg(name, ' ' order by name) from pg_cursors where name in ('kept', 'held', 'left_open')"
        ),
        "held kept"
    );
    assert_eq!(value(&mut session, "select count(*)::text from pg_locks where locktype = 'advisory'"), "1");
    session.batch_execute("commit").unwrap();
    let fetched: i32 = session.query_one("fetch next from held", &[]).unwrap().get(0);
    assert_eq!(fetched, 1);
    assert_eq!(value(&mut session, "select sum(n)::text from secret"), "6");
}

#[test]
fn deferred_triggers_run_as_who_has_caused_them() {
    let platform = Platform::start();
    platform.sql(
        "create table note (text text);
         create table seen (who text);
         grant select, insert on note, seen to howdah_web;
         create function sees() returns trigger language plpgsql as $$
         begin insert into seen values (new.text || ' ' || current_user); return null; end $$;
         create constraint trigger sees after insert on note deferrable initially deferred for each row execute function sees();
         create function add_note(text text) returns text language sql
         begin atomic insert into note values (text) returning text; end;
         select http.route('POST', '/notes/{text}', 'add_note')",
    );
    let mut session = platform.session();
    session.batch_execute("begin; insert into note values ('caller')").unwrap();
    assert_eq!(call(&mut session, "'POST', '/notes/request'").0, 200);
    let seen = "select string_agg(who, ', ' order by who) from seen";
    assert_eq!(value(&mut session, seen), "caller postgres, request howdah_web");
    session.batch_execute("savepoint s; insert into note values ('late')").unwrap();
    assert_eq!(call(&mut session, "'POST', '/notes/undone'").0, 200);
    session.batch_execute("rollback to s; commit").unwrap();
    assert_eq!(value(&mut session, seen), "caller postgres, request howdah_web");
}
