//! Writes that say what they are to find: check and write are one step.

use std::thread;

use howdah_tests::Reply;
use howdah_tests::platform::{Platform, wait_for};

const ROUTES: &str = "
    create table item (id integer primary key, name text not null);
    create table history (item integer, name text);
    insert into item values (1, 'one'), (2, 'two');
    grant all on item, history to howdah_web;
    create function one(id integer) returns item language sql stable begin atomic select item from item where item.id = one.id; end;
    create function renamed(id integer, name text, pause float default 0) returns item language plpgsql as $$
      declare changed item;
      begin
        perform pg_sleep(pause);
        update item set name = renamed.name where item.id = renamed.id returning * into changed;
        if found then
          insert into history values (renamed.id, renamed.name);
        else
          insert into item values (renamed.id, renamed.name) returning * into changed;
        end if;
        return changed;
      end $$;
    create function removed(id integer) returns item language sql begin atomic delete from item where item.id = removed.id returning item; end;
    create function note(id integer, name text) returns void language sql begin atomic insert into history values (id, name); end;
    create function always(request http.request) returns text language plpgsql as $$
      begin
        if request.method <> 'GET' then insert into history values (0, request.method || ' ' || coalesce(request.id, '')); end if;
        return 'always ' || (http.current_request()).method;
      end $$;
    select http.route('GET', '/items/{id}', 'one'), http.route('PUT', '/items/{id}', 'renamed'), http.route('PATCH', '/items/{id}', 'renamed'),
           http.route('DELETE', '/items/{id}', 'removed'), http.route('POST', '/items/{id}', 'note'), http.route('*', '/always', 'always'),
           http.route('GET', '/free/{id}', 'one'), http.route('PUT', '/free/{id}', 'renamed'), http.route('PUT', '/alone/{id}', 'renamed');
    select http.validate('GET', '/items/{id}'), http.validate('*', '/always')";

fn platform() -> Platform {
    let platform = Platform::start();
    platform.sql(ROUTES);
    wait_for("the routes", || platform.get("/free/1").status == 200);
    platform
}

fn ask(platform: &Platform, method: &str, path: &str, headers: &[(&str, &str)]) -> Reply {
    platform.connect().request(method, path, headers, b"")
}

fn tag(platform: &Platform, path: &str) -> String {
    platform.get(path).header("etag").unwrap_or_else(|| panic!("{path} has a tag")).to_owned()
}

#[test]
fn a_write_is_done_only_to_what_its_client_has_seen() {
    let platform = platform();
    let first = tag(&platform, "/items/1");
    let weak = format!("W/{first}");
    let listed = format!("\"x,y\", {first}");
    // A table: what is said, of what is there and of what is not, and what it is answered with.
    for (name, value, there, missing) in [
        ("If-Match", &*first, 200, 412),
        ("If-Match", &listed, 200, 412),
        ("If-Match", "*", 200, 412),
        ("If-Match", "\"other\"", 412, 412),
        ("If-Match", &weak, 412, 412),
        ("If-Match", "", 412, 412),
        ("If-None-Match", "*", 412, 200),
        ("If-None-Match", &first, 412, 200),
        ("If-None-Match", &weak, 412, 200),
        ("If-None-Match", "\"other\"", 200, 200),
        // Nothing says when it was changed.
        ("If-Unmodified-Since", "Sat, 28 Nov 1998 12:00:00 GMT", 200, 200),
        // Of reads alone.
        ("If-Modified-Since", "Sat, 28 Nov 2099 12:00:00 GMT", 200, 200),
        ("If-Range", "\"other\"", 200, 200),
    ] {
        for (id, expected) in [(1, there), (9, missing)] {
            platform.sql(
                "truncate history; delete from item where id = 9; update item set name = 'one' where id = 1",
            );
            for method in ["PUT", "PATCH"] {
                let reply = ask(&platform, method, &format!("/items/{id}?name=one"), &[(name, value)]);
                if method == "PATCH" && id == 9 && missing == 200 {
                    // It has been made by the first.
                    continue;
                }
                assert_eq!(reply.status, expected, "{method} {id} {name}: {value}: {}", reply.text());
            }
            let noted = platform.count("history");
            let made = platform.count("item where id = 9");
            match (id, expected) {
                (_, 412) => assert_eq!((noted, made), (0, 0), "{name}: {value}"),
                (1, _) => assert_eq!((noted, made), (2, 0), "{name}: {value}"),
                _ => assert_eq!(made, 1, "{name}: {value}"),
            }
        }
    }
    // Both must hold, and several lines are one list.
    let put = |headers: &[(&str, &str)]| ask(&platform, "PUT", "/items/1?name=one", headers).status;
    assert_eq!(put(&[("If-Match", "\"x\""), ("If-Match", &first)]), 200);
    assert_eq!(put(&[("If-Match", &first), ("If-None-Match", "*")]), 412);
    // What was changed is another thing, and what it was before again is not.
    assert_eq!(ask(&platform, "PUT", "/items/1?name=uno", &[("If-Match", &first)]).status, 200);
    assert_eq!(put(&[("If-Match", &first)]), 412);
    assert_eq!(put(&[("If-Match", &tag(&platform, "/items/1"))]), 200);
    assert_eq!(put(&[("If-Match", &first)]), 200);
    // Whatever the method.
    assert_eq!(ask(&platform, "POST", "/items/1?name=n", &[("If-Match", "\"other\"")]).status, 412);
    assert_eq!(ask(&platform, "POST", "/items/1?name=n", &[("If-Match", &first)]).status, 204);
    assert_eq!(ask(&platform, "DELETE", "/items/1", &[("If-Match", "\"other\"")]).status, 412);
    assert_eq!(ask(&platform, "DELETE", "/items/1", &[("If-Match", &first)]).status, 200);
    assert_eq!(ask(&platform, "DELETE", "/items/1", &[("If-Match", &first)]).status, 412, "it is gone");
    // Where GET has no validators, nobody can say what is there.
    assert_eq!(ask(&platform, "PUT", "/free/2?name=two", &[("If-Match", "\"other\"")]).status, 200);
    assert_eq!(ask(&platform, "PUT", "/alone/2?name=two", &[("If-Match", "\"other\"")]).status, 200);
}

#[test]
fn one_route_for_all_methods_is_asked_by_get() {
    let platform = platform();
    let tag = tag(&platform, "/always");
    for method in ["PUT", "DELETE", "PROPPATCH"] {
        platform.sql("truncate history");
        let unmet = ask(&platform, method, "/always", &[("If-Match", "\"x\""), ("X-Request-Id", "one")]);
        assert_eq!(unmet.status, 412, "{method}");
        assert_eq!(platform.count("history"), 0);
        let met = ask(&platform, method, "/always", &[("If-Match", &tag), ("X-Request-Id", "two")]);
        assert_eq!((met.status, met.text()), (200, format!("always {method}")));
        assert_eq!(platform.value("select name from history").unwrap(), format!("{method} two"));
    }
}

#[test]
fn of_fifty_that_are_equal_one_is_done() {
    let platform = platform();
    for round in 0..6 {
        platform.sql("truncate history");
        let tag = tag(&platform, "/items/1");
        let statuses: Vec<u16> = thread::scope(|scope| {
            let askers: Vec<_> = (0..50)
                .map(|number| {
                    let (platform, tag) = (&platform, &tag);
                    let path = format!("/items/1?name=by{round}-{number}");
                    scope.spawn(move || ask(platform, "PUT", &path, &[("If-Match", tag)]).status)
                })
                .collect();
            askers.into_iter().map(|asker| asker.join().unwrap()).collect()
        });
        let count = |status: u16| statuses.iter().filter(|&&other| other == status).count();
        assert_eq!((count(200), count(412)), (1, 49), "{statuses:?}");
        assert_eq!(platform.count("history"), 1);
    }
}

#[test]
fn what_somebody_else_changes_meanwhile_is_looked_at_again() {
    let platform = platform();
    let started = |count: i64| {
        wait_for("it sleeps", || platform.count("pg_stat_activity where wait_event = 'PgSleep'") == count);
    };
    for (change, expected) in [
        // The row that the client has seen, the one beside it, and a table that is written anew.
        ("update item set name = 'other' where id = 1", 412),
        ("delete from item where id = 1; insert into item values (1, 'other')", 412),
        ("update item set name = 'other' where id = 2", 200),
        ("update item set name = name where id = 1", 200),
        ("create table unrelated (id integer); drop table unrelated", 200),
    ] {
        platform.sql("update item set name = 'one' where id = 1");
        let tag = tag(&platform, "/items/1");
        let reply = thread::scope(|scope| {
            let path = "/items/1?name=mine&pause=0.4";
            let asker = scope.spawn(|| ask(&platform, "PUT", path, &[("If-Match", &tag)]));
            started(1);
            platform.sql(change);
            asker.join().unwrap()
        });
        assert_eq!(reply.status, expected, "{change}: {}", reply.text());
        let mine = platform.count("item where id = 1 and name = 'mine'");
        assert_eq!(mine, i64::from(expected == 200), "{change}");
    }
    // A table that is rewritten while it is waited for is not empty, and a lock that is held long costs as much as in any request.
    platform.sql("update item set name = 'one' where id = 1");
    let tag = tag(&platform, "/items/1");
    let mut session = platform.session();
    let mut rewriting = session.transaction().unwrap();
    rewriting.batch_execute("alter table item set unlogged").unwrap();
    let reply = thread::scope(|scope| {
        let asker = scope.spawn(|| ask(&platform, "PUT", "/items/1?name=mine", &[("If-Match", &tag)]));
        wait_for("it waits", || platform.count("pg_locks where not granted") > 0);
        rewriting.commit().unwrap();
        asker.join().unwrap()
    });
    assert_eq!(reply.status, 200, "{}", reply.text());
}

#[test]
fn rights_and_routes_come_before_conditions_and_each_runs_as_its_own_role() {
    let platform = platform();
    platform.sql(
        "create role reader; create role writer; grant usage on schema public to reader, writer;
         grant reader, writer to howdah_web;
         create table note (id integer primary key, text text); insert into note values (1, 'first');
         grant select on note to reader; grant insert, update on note to writer; grant select (id) on note to writer;
         alter role reader set app.name = 'reader';
         create function read_note(id integer) returns http.response language plpgsql as $$
           declare found_text text;
           begin
             if http.cookie('session') is null then raise exception using errcode = 'PT401', message = 'who are you'; end if;
             if http.cookie('session') = 'wrong' then return http.response('no', 403); end if;
             begin execute 'prepare left_behind as select 1'; exception when duplicate_prepared_statement then end;
             select n.text into found_text from note n where n.id = read_note.id;
             if found_text is null then return http.response('none', 404); end if;
             return http.response(current_user || ' ' || current_setting('app.name') || ' ' || found_text);
           end $$;
         create function write_note(id integer, text text) returns text language plpgsql as $$
           begin
             if exists (select from pg_prepared_statements) then raise 'something is left'; end if;
             update note n set text = write_note.text where n.id = write_note.id;
             return current_user || ' ' || coalesce(current_setting('app.name', true), '') || ' ' || current_setting('transaction_read_only');
           end $$;
         create function session_of_note() returns void language sql return null;
         select http.route('GET', '/notes/{id}', 'read_note', role => 'reader'), http.route('PUT', '/notes/{id}', 'write_note', role => 'writer'),
                http.validate('GET', '/notes/{id}')",
    );
    let cookie = ("Cookie", "session=right");
    let routed = || ask(&platform, "GET", "/notes/1", &[cookie]);
    wait_for("the route", || routed().status != 404);
    assert_eq!(routed().status, 200, "{}", routed().text());
    let seen = ask(&platform, "GET", "/notes/1", &[cookie]);
    assert_eq!(seen.text(), "reader reader first");
    let tag = seen.header("etag").unwrap().to_owned();
    let put = |headers: &[(&str, &str)]| ask(&platform, "PUT", "/notes/1?text=second", headers);
    assert_eq!(put(&[("If-Match", &tag)]).status, 401, "whoever may not read it learns nothing");
    assert_eq!(put(&[("If-Match", &tag), ("Cookie", "session=wrong")]).status, 403);
    assert_eq!(put(&[("If-Match", "\"x\""), cookie]).status, 412);
    let done = put(&[("If-Match", &tag), cookie]);
    assert_eq!((done.status, done.text().trim_end()), (200, "writer  off"));
    assert_eq!(put(&[("If-Match", &tag), cookie]).status, 412);
    // A right that is gone, then a function, then a route.
    platform.sql("revoke execute on function write_note from public");
    assert_eq!(put(&[("If-Match", "\"x\""), cookie]).status, 403);
    platform.sql("grant execute on function write_note to writer; revoke select on note from reader");
    assert_eq!(put(&[("If-Match", "\"x\""), cookie]).status, 403);
    platform.sql("grant select on note to reader; delete from note");
    assert_eq!(put(&[("If-Match", &tag), cookie]).status, 412);
    let fifth = ask(&platform, "PUT", "/notes/x?text=second", &[("If-Match", "\"x\""), cookie]);
    assert_eq!(fifth.status, 400, "{}", fifth.text());
    platform.sql("select http.unroute('PUT', '/notes/{id}')");
    wait_for("the route is gone", || put(&[("If-Match", "\"x\""), cookie]).status == 405);
}

#[test]
fn http_call_asks_conditions_too() {
    let platform = platform();
    let tag = tag(&platform, "/items/1");
    let call = |tag: &str| {
        platform.value(&format!(
            "select (http.call('PUT', '/items/1?name=called', headers => array[http.header('If-Match', '{tag}')])).status::text"
        )).unwrap()
    };
    assert_eq!((call("\"x\""), call(&tag), call(&tag)), ("412".into(), "200".into(), "412".into()));
}
