//! The body of an SQL function may run in place of its call, and nobody can tell.
//!
//! Each case is asked as a route, and as a call in a session; the two must agree.

use cluster::postgres::{self, SimpleQueryMessage};
use howdah_tests::abilities::is_built_for;
use howdah_tests::{Platform, wait_for};

/// What a call says: its value, or the SQLSTATE of its error.
fn call(session: &mut postgres::Client, expression: &str) -> Result<Option<String>, String> {
    match session.simple_query(&format!("select {expression}")) {
        Ok(messages) => Ok(messages.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        })),
        Err(error) => Err(error.code().map_or_else(String::new, |code| code.code().to_owned())),
    }
}

fn ask(platform: &Platform, path: &str) -> Result<Option<String>, String> {
    let reply = platform.post(path, "text/plain", b"");
    match reply.status {
        200 => Ok(Some(reply.text())),
        204 => Ok(None),
        _ => Err(reply.json()["sqlstate"].as_str().map_or_else(|| reply.text(), str::to_owned)),
    }
}

/// An argument that is equal to what its bytes are not.
const FOLDS: &str = "
create collation folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
create domain folded as text collate folded;
create function folds(name folded) returns text language sql stable as
  $$ select (item.name = folds.name)::text from item where id = 1 $$";

#[test]
fn a_body_answers_as_its_call_would() {
    let platform = Platform::start();
    platform.sql(
        r#"
create table item (id int primary key, name text); insert into item select i, 'n' || i from generate_series(1, 3) i;
create table log (line text); create sequence numbers;
grant all on item, log, numbers to howdah_web;
create domain short as varchar(3); create domain padded as char(5); create domain checked as text check (value <> 'bad');
create domain required as text not null; create domain nested as checked;
create domain anything as text; create domain later as text;
create function write_log(line text) returns text language sql volatile as 'insert into log values (line) returning line';

create function locks() returns text language sql stable as 'select name from item where id = 1 for update';
create function locks_volatile() returns text language sql volatile as 'select name from item where id = 1 for update';
create function stable_insert() returns text language sql stable as $$ insert into log values ('x') returning line $$;
create function stable_cte() returns text language sql stable as
  $$ with w as (insert into log values ('x') returning line) select line from w $$;
create function stable_nextval() returns text language sql stable as $$ select nextval('numbers')::text is not null || '' $$;
create function short() returns short language sql as $$ select 'too long'::varchar $$;
create function padded() returns padded language sql as $$ select 'ab'::bpchar $$;
create function padded_length() returns text language sql as $$ select octet_length(padded())::text $$;
create function checked() returns checked language sql as $$ select 'bad'::text $$;
create function nested() returns nested language sql as $$ select 'bad'::text $$;
create function required() returns required language sql as $$ select null::text $$;
create function required_empty() returns required language sql as $$ select 'x'::text where false $$;
create function required_of_domain() returns required language sql as $$ select null::required $$;
create function anything() returns anything language sql as $$ select 'x'::text $$;
create function later() returns later language sql as $$ select 'bad'::text $$;
create function several_rows() returns text language sql volatile as
  $$ select write_log(i::text) from generate_series(1, 3) i $$;
create function later_error() returns text language sql stable as
  $$ select (10 / (2 - i))::text from generate_series(1, 3) i $$;
create function srf() returns text language sql stable as $$ select unnest(array['a', 'b']) $$;
create function no_row() returns text language sql stable as $$ select name from item where id = 99 $$;
create function null_row() returns text language sql stable as $$ select null::text $$;
create function many_returned() returns text language sql as
  $$ insert into log select name from item returning line $$;
create function updates() returns text language sql as $$ update item set name = 'm' || id returning name $$;
create function two_statements() returns text language sql as
  $$ insert into log values ('first'); select line from log where line = 'first' limit 1 $$;
create function modifies_and_looks() returns text language sql as
  $$ with w as (insert into log values ('seen?') returning 1) select count(*)::text from log where line = 'seen?' $$;
create function calls_volatile_and_looks() returns text language sql as
  $$ select write_log('mine') || (select count(*) from log where line = 'mine') $$;
create function recursive(n int) returns text language sql stable as
  $$ select case when n = 0 then 'end' else recursive(n - 1) end $$;
create function counted(n int) returns text language sql stable as
  $$ with recursive t(i) as (select 1 union all select i + 1 from t where i < n) select sum(i)::text from t $$;
create function numbered(int, text) returns text language sql stable as $$ select $2 || $1 $$;
create function mixed(a int, b text) returns text language sql stable as $$ select mixed.b || $1 || a $$;
create function shadowed(name text) returns text language sql stable as
  $$ select name from item where id = 1 $$;
create function qualified(name text) returns text language sql stable as
  $$ select qualified.name from item where id = 1 $$;
create function of_table(id int) returns text language sql stable as
  $$ select name from item where item.id = of_table.id $$;
create function out_argument(a int, out result text) language sql stable as $$ select 'o' || a $$;
create function strict_one(a text) returns text language sql stable strict as $$ select coalesce(a, 'called') $$;
create function settings() returns text language sql stable set work_mem = '1MB' as $$ select current_setting('work_mem') $$;
create function definer() returns text language sql stable security definer as $$ select current_user::text $$;
create function literal() returns text language sql stable as $$ select 'plain' $$;
create function varying() returns text language sql stable as $$ select 'v'::varchar $$;
create function as_json() returns json language sql stable as $$ select json_build_object('a', 1) $$;
create function of_values() returns text language sql stable as $$ values ('v1'), ('v2') $$;
create function with_comment() returns text language sql stable as $$ select 'c'; -- the end $$;
create function of_union() returns text language sql stable as $$ select 'u' union all select 'w' $$;
create function error_inside() returns text language sql stable as $$ select (1 / 0)::text $$;
create function void_insert() returns void language sql as $$ insert into log values ('void') $$;
create function void_several() returns void language sql volatile as
  $$ select write_log(i::text), 'second column' from generate_series(1, 3) i $$;
create function void_returning() returns void language sql as
  $$ insert into log select name from item returning line, 1 $$;
create function void_in_subquery() returns void language sql volatile as $$ select (select write_log('in a subquery')) $$;
create function void_later_error() returns void language sql as
  $$ select write_log((10 / (2 - i))::text) from generate_series(1, 3) i $$;
create function void_stable() returns void language sql stable as $$ insert into log values ('x') $$;
create function void_nothing(id int) returns void language sql begin atomic
  update item set name = 'changed' where item.id = void_nothing.id; end;
create function truncates() returns text language sql as $$ truncate log; select 't' $$;
create function snapshots() returns text language sql volatile as
  $$ select (select count(*) from log)::text $$;
create function immutable_lie() returns text language sql immutable as $$ select count(*)::text from item $$;
create function atomic(id int) returns text language sql stable begin atomic
  select name from item where item.id = atomic.id; end;
create function atomic_return(a int) returns text language sql stable return 'r' || a || current_user;
create function atomic_two() returns text language sql begin atomic
  insert into log values ('two'); select line from log where line = 'two' limit 1; end;
create function atomic_empty() returns void language sql begin atomic end;
create function quoted("select" text, "Odd One" int) returns text language sql stable begin atomic
  select "select" || "Odd One" || quoted."select"; end;
set check_function_bodies = off;
create function void_of_two_columns() returns void language sql as $$ select (select id, name from item limit 1) $$;
create function scalar(id int) returns text language sql stable return (select name from item where item.id = scalar.id);
create function scalar_of_two() returns text language sql stable as $$ select (select name from item) $$;
create function scalar_of_two_columns() returns text language sql stable as $$ select (select id, name from item limit 1) $$;
create function scalar_of_values() returns text language sql stable as $$ select (values ('only')) $$;
create function scalar_of_number() returns text language sql stable as $$ select (select 'literal') $$;
create function scalar_limited() returns text language sql stable as $$ select (select name from item) limit 0 $$;
create function scalar_twice() returns text language sql stable as $$ select (select (select name from item where id = 3)) $$;
create function scalar_locks() returns text language sql as $$ select (select name from item where id = 1 for update) $$;
create function scalar_writes() returns text language sql as
  $$ select (with w as (insert into log values ('x') returning line) select line from w) $$;
create function limited() returns text language sql stable as $$ select name from item order by id desc limit 1 $$;
create function composite() returns item language sql stable as $$ select * from item where id = 1 $$;
create function responds() returns http.response language sql stable as $$ select http.response(name) from item where id = 1 $$;
create function responds_in_parts() returns http.response language sql stable as
  $$ select 200, 'text/x', null::http.header[], 'parts'::bytea $$;
"#,
    );
    let mut cases = vec![
        "locks()",
        "locks_volatile()",
        "stable_insert()",
        "stable_cte()",
        "stable_nextval()",
        "short()",
        "padded()",
        "padded_length()",
        "checked()",
        "nested()",
        "required()",
        "required_empty()",
        "required_of_domain()",
        "anything()",
        "later_error()",
        "srf()",
        "no_row()",
        "null_row()",
        "two_statements()",
        "modifies_and_looks()",
        "recursive(3)",
        "counted(4)",
        "mixed(1, 'b')",
        "shadowed('argument')",
        "qualified('argument')",
        "of_table(2)",
        "out_argument(3)",
        "strict_one('s')",
        "settings()",
        "literal()",
        "varying()",
        "as_json()",
        "of_values()",
        "with_comment()",
        "of_union()",
        "error_inside()",
        "snapshots()",
        "immutable_lie()",
        "atomic(2)",
        "atomic_return(5)",
        "atomic_two()",
        "quoted('q', 1)",
        "scalar(2)",
        "scalar(99)",
        "scalar_of_two()",
        "scalar_of_two_columns()",
        "scalar_of_values()",
        "scalar_of_number()",
        "scalar_limited()",
        "scalar_twice()",
        "scalar_locks()",
        "scalar_writes()",
        "limited()",
        "truncates()",
        "void_later_error()",
        "void_of_two_columns()",
        "void_stable()",
        "void_nothing(99)",
    ];
    let mut session = platform.session();
    if is_built_for(&mut session, FOLDS, "an argument of a collation of ICU") {
        cases.push("folds('N1')");
    }
    session.batch_execute("set session authorization howdah_web").expect("the role");
    for case in cases {
        let (name, rest) = case.split_once('(').expect("a call");
        let signature =
            platform.value(&format!("select oid::regprocedure::text from pg_proc where proname = '{name}'"));
        let names = platform.value(&format!(
            "select coalesce(string_agg(n, ','), '') from pg_proc, unnest(proargnames[1:pronargs]) n where proname = '{name}'"
        ));
        platform.sql(&format!("select http.route('POST', '/{name}', '{}')", signature.expect("a function")));
        let values = rest.trim_end_matches(')').split(", ").map(|value| value.trim_matches('\''));
        let query: Vec<String> = names
            .unwrap_or_default()
            .split(',')
            .zip(values)
            .filter(|(name, _)| !name.is_empty())
            .map(|(name, value)| format!("{}={value}", name.replace(' ', "+")))
            .collect();
        let path = format!("/{name}?{}", query.join("&"));
        // As long as the table is as it was: once as a call, rolled back, and twice as a route.
        session.batch_execute("begin").expect("begin");
        let expected = call(&mut session, case);
        session.batch_execute("rollback").expect("rollback");
        platform.sql("truncate log");
        let expected = expected.map(|value| value.filter(|value| !value.is_empty()));
        assert_eq!(ask(&platform, &path), expected, "{case}");
        platform.sql("truncate log");
        assert_eq!(ask(&platform, &path), expected, "{case}, once more");
        platform.sql("truncate log");
    }
    for case in [
        "several_rows()",
        "many_returned()",
        "calls_volatile_and_looks()",
        "void_insert()",
        "void_several()",
        "void_returning()",
        "void_in_subquery()",
    ] {
        let name = case.trim_end_matches("()");
        platform.sql(&format!("truncate log; select http.route('POST', '/{name}', '{case}')"));
        let written = || platform.value("select string_agg(line, ',') from log");
        let answer = (ask(&platform, &format!("/{name}")), written());
        platform.sql("truncate log");
        let called = call(&mut session, case).map(|value| value.filter(|value| !value.is_empty()));
        assert_ne!(written(), None, "{case}");
        assert_eq!(answer, (called, written()), "{case}");
    }
    for (case, expected) in [
        ("responds()", Ok(Some("n1".to_owned()))),
        ("responds_in_parts()", Ok(Some("parts".into()))),
        ("composite()", Ok(Some(r#"{"id":1,"name":"n1"}"#.into()))),
        ("atomic_empty()", Ok(None)),
    ] {
        let name = case.trim_end_matches("()");
        platform.sql(&format!("select http.route('POST', '/{name}', '{case}')"));
        assert_eq!(ask(&platform, &format!("/{name}")), expected, "{case}");
    }
    // What is decided when the plan is made must be decided again when it changes.
    platform.sql("select http.route('POST', '/later', 'later()')");
    assert_eq!(ask(&platform, "/later"), Ok(Some("bad".into())));
    platform.sql("alter domain later add constraint good check (value <> 'bad')");
    assert_eq!(ask(&platform, "/later"), Err("23514".into()));
    platform.sql("alter domain later drop constraint good");
    assert_eq!(ask(&platform, "/later"), Ok(Some("bad".into())));
    platform.sql("alter domain later set not null");
    assert_eq!(ask(&platform, "/later"), Ok(Some("bad".into())));
}

#[test]
fn a_handler_that_raises_feature_not_supported_runs_once() {
    let platform = Platform::start();
    platform.sql(
        "create sequence calls; grant all on calls to howdah_web;
         create function refuses() returns text language plpgsql as
           $$ begin perform nextval('calls'); raise 'not here' using errcode = '0A000'; end $$;
         select http.route('POST', '/refuses', 'refuses')",
    );
    for calls in 1..=3 {
        assert_eq!(ask(&platform, "/refuses"), Err("0A000".into()));
        assert_eq!(platform.value("select last_value from calls"), Some(calls.to_string()));
    }
}

#[test]
fn a_body_follows_what_changes_as_its_call_would() {
    let platform = Platform::start();
    platform.sql(
        "create table item (id int primary key, name text); insert into item values (1, 'one');
         grant select, insert on item to howdah_web;
         create function by_text(id int) returns text language sql stable as
           $$ select name from item where item.id = by_text.id $$;
         create function by_tree(id int) returns text language sql stable begin atomic
           select name from item where item.id = by_tree.id; end;
         create function adds(id int) returns text language sql as
           $$ insert into item values (id, 'added') returning name $$;
         set search_path = early, public;
         select http.route('POST', '/text', 'by_text'); select http.route('POST', '/tree', 'by_tree');
         reset search_path;
         select http.route('POST', '/add', 'adds');
         select http.handle($$ insert into item select right(path, 1)::int + 500, 'handled' from request
           where path ~ '^/handled' returning name $$, name => 'adds')",
    );
    let mut session = platform.session();
    session
        .batch_execute("set session authorization howdah_web; set search_path = early, public")
        .expect("the role");
    let mut check = |what: &str| {
        for (path, expression) in [("/text?id=1", "by_text(1)"), ("/tree?id=1", "by_tree(1)")] {
            for _ in 0..3 {
                assert_eq!(ask(&platform, path), call(&mut session, expression), "{path} after {what}");
            }
        }
    };
    check("the start");
    platform.sql("revoke usage on schema public from public");
    for path in ["/text?id=1", "/tree?id=1"] {
        assert_eq!(ask(&platform, path), Err("42501".into()), "{path} in a schema without rights");
    }
    platform.sql("grant usage on schema public to public");
    for change in [
        "alter table item add column extra int",
        "alter table item drop column extra",
        "alter table item rename column name to title",
        "alter table item rename column title to name",
        "begin; alter table item rename to old_item; create table item (id int, name text); \
         insert into item values (1, 'new'); grant select on item to howdah_web; commit",
        "drop table item",
        "alter table old_item rename to item",
        "create schema front; alter database app set search_path = front, public",
        "create table front.item (id int, name text); insert into front.item values (1, 'front'); \
         grant usage on schema front to howdah_web; grant select on front.item to howdah_web",
        "drop schema front cascade; alter database app reset search_path",
        "update item set name = 'changed'",
        "create or replace function by_text(id int) returns text language sql stable as 'select ''replaced'''",
        "create or replace function by_tree(id int) returns text language sql stable return 'replaced'",
        "create schema early; create table early.item (id int, name text); insert into early.item values (1, 'early'); \
         grant usage on schema early to howdah_web; grant select on early.item to howdah_web",
        "drop schema early cascade",
        "revoke execute on function by_text, by_tree from public",
        "grant execute on function by_text, by_tree to howdah_web",
        "alter function by_text(int) security definer",
        "alter function by_text(int) set work_mem = '1MB'",
        "alter function by_tree(int) strict",
        "drop function by_text; create function by_text(id int) returns text language sql as 'select ''anew'''",
    ] {
        platform.sql(change);
        check(change);
    }
    // A rule adds statements: all of them run, the answer stays the user's.
    platform.sql(
        "create table trace (line text); grant insert on trace to howdah_web;
         create function traced() returns text language sql as $$ update item set name = 'up' where id = 1 returning name $$;
         grant update on item to howdah_web; select http.route('POST', '/traced', 'traced')",
    );
    assert_eq!(ask(&platform, "/add?id=2"), Ok(Some("added".into())));
    assert_eq!(ask(&platform, "/traced"), Ok(Some("up".into())));
    assert_eq!(ask(&platform, "/handled1"), Ok(Some("handled".into())));
    platform.sql(
        "create rule also_insert as on insert to item do also insert into trace values ('insert');
         create rule also_update as on update to item do also insert into trace values ('update')",
    );
    assert_eq!(ask(&platform, "/add?id=3"), Ok(Some("added".into())));
    assert_eq!(ask(&platform, "/traced"), Ok(Some("up".into())));
    assert!(ask(&platform, "/handled2").is_err());
    assert_eq!(platform.value("select string_agg(line, ',') from trace").as_deref(), Some("insert,update"));
    platform.sql("create rule nothing as on insert to item do instead nothing");
    assert!(ask(&platform, "/add?id=4").is_err());
    assert!(ask(&platform, "/handled3").is_err());
    platform.sql("drop rule nothing on item; drop rule also_insert on item; drop rule also_update on item");
    assert_eq!(ask(&platform, "/add?id=5"), Ok(Some("added".into())));
    assert_eq!(ask(&platform, "/handled4"), Ok(Some("handled".into())));
    // Rewritten while a request waits for it, a table is read as it is afterwards.
    for path in ["/text?id=1", "/tree?id=1"] {
        platform.sql(
            "create or replace function by_text(id int) returns text language sql stable as
               'select name from item where item.id = by_text.id';
             create or replace function by_tree(id int) returns text language sql stable begin atomic
               select name from item where item.id = by_tree.id; end",
        );
        let mut writer = platform.session();
        let mut transaction = writer.transaction().expect("a transaction");
        transaction
            .batch_execute("alter table item add column rewritten float default random()")
            .expect("a rewrite");
        let mut connection = platform.connect();
        connection.send("POST", path, &[], b"");
        howdah_tests::platform::wait_for("the request waits", || {
            platform.value("select count(*) from pg_locks where not granted").as_deref() == Some("1")
        });
        transaction.commit().expect("a commit");
        let reply = connection.read_reply(false).expect("an answer");
        assert_eq!((reply.status, reply.text()), (200, "up".into()), "{path}");
        platform.sql("alter table item drop column rewritten");
    }
}

#[test]
fn a_body_sees_what_was_committed_while_it_waited_for_a_lock() {
    let platform = Platform::start();
    platform.sql(
        "create table seat (number int); insert into seat select generate_series(1, 9);
         grant select, insert on seat to howdah_web;
         create function book() returns text language sql volatile as
           $$ insert into seat select 10 where (select count(*) from seat) < 10 returning 'booked' $$;
         select http.route('POST', '/book', 'book')",
    );
    // Once, so that the plan is made; the seat is given back.
    assert_eq!(ask(&platform, "/book"), Ok(Some("booked".into())));
    platform.sql("delete from seat where number = 10");
    let mut holder = platform.session();
    holder.batch_execute("begin; lock table seat in share row exclusive mode").unwrap();
    let mut connection = platform.connect();
    connection.send("POST", "/book", &[], b"");
    wait_for("it waits", || platform.count("pg_locks where not granted") > 0);
    holder.batch_execute("insert into seat values (10); commit").unwrap();
    assert_eq!(connection.read_reply(false).expect("an answer").status, 204);
    assert_eq!(platform.value("select count(*) from seat").as_deref(), Some("10"));
}

#[test]
fn a_body_that_locks_once_a_view_does_fails_as_its_call_would() {
    let platform = Platform::start();
    platform.sql(
        "create table seat (name text); insert into seat values ('a1');
         create view seats as select name from seat; grant select on seats to howdah_web;
         create function by_text() returns text language sql stable as 'select name from seats';
         create function by_tree() returns text language sql stable begin atomic select name from seats; end;
         create function may_lock() returns text language sql begin atomic select name from seats; end;
         select http.route('POST', '/' || name, name) from unnest(array['by_text', 'by_tree', 'may_lock']) name",
    );
    let mut session = platform.session();
    session.batch_execute("set session authorization howdah_web").expect("the role");
    let mut check = |expected: Result<&str, &str>| {
        for name in ["by_text", "by_tree", "may_lock"] {
            let expected = if name == "may_lock" { Ok("a1") } else { expected };
            let expected = expected.map(|value| Some(value.to_owned())).map_err(str::to_owned);
            assert_eq!(call(&mut session, &format!("{name}()")), expected, "{name}");
            for _ in 0..3 {
                assert_eq!(ask(&platform, &format!("/{name}")), expected, "/{name}");
            }
        }
    };
    check(Ok("a1"));
    platform.sql("create or replace view seats as select name from seat for update");
    check(Err("0A000"));
    platform.sql("create or replace view seats as select name from seat");
    check(Ok("a1"));
}

#[test]
fn a_get_of_a_function_that_returns_nothing_says_so() {
    let platform = Platform::start();
    platform.sql(
        "create function nothing() returns void language sql stable as 'select 1 where false';
         select http.route('GET', '/nothing', 'nothing')",
    );
    for _ in 0..20 {
        assert_eq!(platform.get("/nothing").status, 204);
    }
}

#[test]
fn a_parsed_body_needs_no_right_to_the_schemas_that_it_names() {
    let platform = Platform::start();
    platform.sql(
        "create schema app; create table app.item (name text); insert into app.item values ('one');
         grant select, insert on app.item to howdah_web;
         create function by_tree() returns text language sql stable begin atomic select name from app.item; end;
         create function by_return() returns text language sql stable return (select name from app.item);
         create function adds() returns text language sql begin atomic
           insert into app.item values ('added') returning name; end;
         create function by_text() returns text language sql stable as 'select name from app.item';
         select http.route('POST', '/' || name, name) from unnest(array['by_tree', 'by_return', 'adds', 'by_text']) name",
    );
    let mut session = platform.session();
    session.batch_execute("set session authorization howdah_web").expect("the role");
    let mut check = |tree: Result<&str, &str>, text: Result<&str, &str>| {
        for (name, expected) in
            [("by_tree", tree), ("by_return", tree), ("adds", tree.map(|_| "added")), ("by_text", text)]
        {
            let expected = expected.map(|value| Some(value.to_owned())).map_err(str::to_owned);
            session.batch_execute("begin").expect("begin");
            assert_eq!(call(&mut session, &format!("{name}()")), expected, "{name}");
            session.batch_execute("rollback").expect("rollback");
            for _ in 0..3 {
                assert_eq!(ask(&platform, &format!("/{name}")), expected, "/{name}");
            }
        }
        platform.sql("delete from app.item where name = 'added'");
    };
    check(Ok("one"), Err("42501"));
    platform.sql("grant usage on schema app to howdah_web");
    check(Ok("one"), Ok("one"));
    platform.sql("revoke usage on schema app from howdah_web");
    check(Ok("one"), Err("42501"));
    platform.sql("revoke all on app.item from howdah_web");
    check(Err("42501"), Err("42501"));
}

#[test]
fn a_route_calls_what_its_functions_name_stands_for() {
    let platform = Platform::with(&[("howdah.min_executors", "1"), ("howdah.max_executors", "1")]);
    platform.sql(
        "create schema app; create schema next; grant usage on schema app, next to howdah_web;
         create function app.by_text() returns text language sql stable as $$ select 'first' $$;
         create function next.by_text() returns text language sql stable as $$ select 'second' $$;
         create function app.by_tree() returns text language sql stable return 'first';
         create function next.by_tree() returns text language sql stable return 'second';
         create function app.by_call() returns text language plpgsql stable as $$ begin return 'first'; end $$;
         create function next.by_call() returns text language plpgsql stable as $$ begin return 'second'; end $$;
         select http.route('POST', '/' || name, 'app.' || name) from unnest(array['by_text', 'by_tree', 'by_call']) name",
    );
    for path in ["/by_text", "/by_tree", "/by_call"] {
        assert_eq!(ask(&platform, path), Ok(Some("first".into())), "{path}");
        platform.sql("begin; alter schema app rename to old; alter schema next rename to app; commit");
        assert_eq!(ask(&platform, path), Ok(Some("second".into())), "{path}");
        platform.sql("alter schema app rename to next");
        assert_eq!(platform.post(path, "text/plain", b"").status, 500, "{path}");
        platform.sql("alter schema old rename to app");
        assert_eq!(ask(&platform, path), Ok(Some("first".into())), "{path}");
    }
}
