//! Who has an answer gets 304 without a run as long as nothing that it has read has changed, and not a moment longer.

use std::thread;

use cluster::{Life, Shutdown};
use howdah_tests::Reply;
use howdah_tests::platform::{DATABASE, Platform, wait_for};
use howdah_tests::pooler::Pooler;

const ROUTES: &str = "
    create table item (id integer primary key, name text not null, price numeric default 1, made timestamptz default '2026-01-01 00:00Z');
    insert into item values (1, 'one'), (2, 'two');
    create table other (id integer);
    create type colour as enum ('red', 'blue');
    create table parts (id integer, colour colour) partition by range (id);
    create table low partition of parts for values from (0) to (10);
    create table high partition of parts for values from (10) to (20);
    insert into parts values (1, 'red'), (11, 'blue');
    create view cheap as select id, name from item where price < 10;
    grant select on item, other, parts, cheap to howdah_web;
    create function one(id integer) returns item language sql stable begin atomic select item from item where item.id = one.id; end;
    create function named(name text) returns setof item language sql stable as 'select * from item where item.name = named.name order by id';
    create function all_parts() returns setof parts language sql stable as 'select * from parts order by id';
    create function of_view() returns setof cheap language sql stable begin atomic select * from cheap order by id; end;
    create function count_others() returns bigint language sql stable set work_mem = '4MB' as 'select count(*) from other';
    create function nested() returns text language sql stable return count_others() || ' others';
    create function shown() returns jsonb language sql stable as $$ select jsonb_agg(to_jsonb(i) order by id) from item i $$;
    create function since(since timestamptz) returns setof item language sql stable as 'select * from item where made >= since order by id';
    select http.route('GET', '/items/{id}', 'one'), http.route('GET', '/named/{name}', 'named'), http.route('GET', '/parts', 'all_parts'),
           http.route('GET', '/view', 'of_view'), http.route('GET', '/nested', 'nested'), http.route('GET', '/shown', 'shown'), http.route('GET', '/since', 'since');
    select http.validate(method, pattern) from http.route";

fn platform() -> Platform {
    let platform = Platform::start();
    platform.sql(ROUTES);
    wait_for("the routes", || platform.get("/since?since=2026-01-01").status == 200);
    platform
}

fn ask(platform: &Platform, path: &str, tag: &str) -> Reply {
    platform.connect().request("GET", path, &[("If-None-Match", tag)], b"")
}

fn remembered(platform: &Platform) -> i64 {
    platform.value("select sum(remembered) from http.stats").and_then(|sum| sum.parse().ok()).unwrap_or(0)
}

/// Asks until an answer comes without a run; its tag.
fn remember(platform: &Platform, path: &str) -> String {
    let first = platform.get(path);
    let tag = first.header("etag").unwrap_or_else(|| panic!("{path}: {}", first.text())).to_owned();
    let before = remembered(platform);
    // After one that has failed nobody asks an executor for a moment.
    wait_for(&format!("{path} is remembered"), || {
        assert_eq!(ask(platform, path, &tag).status, 304, "{path}");
        remembered(platform) > before
    });
    tag
}

#[test]
fn what_is_remembered_is_answered_without_a_run_until_something_changes() {
    let platform = platform();
    for (path, change, unchanging) in [
        ("/items/1", "update item set name = name || '!' where id = 1", "insert into other values (1)"),
        ("/named/two", "update item set price = price + 1 where id = 2", "vacuum item"),
        ("/parts", "update parts set id = id + 10 where id = 1", "analyze parts"),
        ("/parts", "insert into parts values (2, 'red')", "insert into other values (2)"),
        ("/parts", "alter type colour rename value 'red' to 'green'", "select 1"),
        (
            "/view",
            "create or replace view cheap as select id, upper(name) as name from item where price < 10",
            "insert into other values (3)",
        ),
        ("/view", "update item set name = name || '?'", "insert into other values (4)"),
        ("/nested", "insert into other values (5)", "update item set name = 'x'"),
        (
            "/nested",
            "create or replace function nested() returns text language sql stable return 'none'",
            "select 1",
        ),
        ("/shown", "delete from item where id = 2", "insert into other values (6)"),
        ("/since?since=2026-01-01T00:00:00Z", "insert into item values (3, 'three')", "vacuum full other"),
        (
            "/items/1",
            "alter role howdah_web set extra_float_digits = 0; alter table item alter column name set default 'x'; update item set price = 3",
            "select 1",
        ),
        (
            "/items/1",
            "begin; update item set name = 'prepared'; commit",
            "begin; update item set name = 'gone'; rollback",
        ),
    ] {
        let tag = remember(&platform, path);
        let before = remembered(&platform);
        platform.sql(unchanging);
        assert_eq!(ask(&platform, path, &tag).status, 304, "{path}: {unchanging}");
        assert_eq!(remembered(&platform), before + 1, "{path}: {unchanging}");
        assert_eq!(platform.connect().request("HEAD", path, &[("If-None-Match", &tag)], b"").status, 304);
        platform.sql(change);
        let changed = ask(&platform, path, &tag);
        assert_eq!(changed.status, 200, "{path}: {change}");
        assert_ne!(changed.header("etag"), Some(&*tag), "{path}: {change}");
    }
    // Who has something else gets it, and what is remembered stays.
    let tag = remember(&platform, "/items/1");
    let before = remembered(&platform);
    assert_eq!(ask(&platform, "/items/1", "\"other\"").status, 200);
    assert_eq!(ask(&platform, "/items/1", &format!("\"other\", {tag}")).status, 304);
    assert_eq!(remembered(&platform), before + 1);
    // Another argument is another answer, and a right that is gone another status.
    assert_eq!(ask(&platform, "/items/1?x=1", &tag).status, 304);
    platform.sql("revoke select on item from howdah_web");
    assert_eq!(ask(&platform, "/items/1", &tag).status, 403);
    platform.sql("grant select on item to howdah_web");
    remember(&platform, "/items/1");
    platform.sql("select http.unroute('GET', '/items/{id}')");
    wait_for("the route is gone", || ask(&platform, "/items/1", &tag).status == 404);
}

#[test]
fn what_cannot_be_known_is_run_each_time_and_says_why() {
    let platform = platform();
    platform.sql(
        "create function volatile_one() returns integer language plpgsql volatile as 'begin return 1; end';
         create function of_time() returns text language sql stable return date_trunc('century', now());
         create function of_day() returns date language sql stable return current_date;
         create function called_volatile() returns text language sql stable as 'select volatile_one()::text';
         create function random_one() returns text language sql volatile as 'select (random() * 0)::text';
         create sequence numbers; grant select on numbers to howdah_web;
         create function of_sequence() returns bigint language sql stable as 'select last_value from numbers';
         create function of_catalog() returns bigint language sql stable as 'select count(*) from pg_class where relname = ''item''';
         create function of_row() returns text language sql stable as 'select ctid::text from item where id = 1';
         create function sampled() returns bigint language sql stable as 'select count(*) from item tablesample system (100)';
         create function closed() returns name language internal stable as 'current_user';
         create function whole(request http.request) returns text language sql stable return request.path;
         create function requested() returns text language sql stable return (http.current_request()).path;
         create function on_day(day date) returns text language sql stable return day::text;
         create function cast_day(day text) returns text language sql stable return (day::date is null)::text;
         create function exact(amount positive) returns text language sql stable return amount::text;"
            .replace("create function exact", "create domain positive as integer check (value > 0); create function exact")
            .as_str(),
    );
    let routes = [
        ("of_time", "", "it calls now()"),
        ("of_day", "", "it asks for the time"),
        ("called_volatile", "", "it calls volatile_one(), which is volatile"),
        ("random_one", "", "it calls random(), which is volatile"),
        ("of_sequence", "", "it reads numbers"),
        ("of_catalog", "", "it reads the catalog pg_class"),
        ("of_row", "", "it reads a system column"),
        ("sampled", "", "it takes a sample of a table"),
        ("closed", "", "it calls closed(), which cannot be looked into"),
        ("whole", "", "it takes the whole request"),
        ("requested", "", "it calls current_request(), which cannot be looked into"),
        ("on_day", "?day=tomorrow", "a text may be another date tomorrow"),
        ("cast_day", "?day=2026-01-01", "it calls date_in()"),
        ("exact", "?amount=1", "a text may be another positive tomorrow"),
    ];
    for (function, ..) in routes {
        platform.sql(&format!(
            "select http.route('GET', '/{function}', '{function}'), http.validate('GET', '/{function}')"
        ));
    }
    for (function, query, reason) in routes {
        let path = format!("/{function}{query}");
        wait_for("the route", || platform.get(&path).status == 200);
        let tag = platform.get(&path).header("etag").unwrap().to_owned();
        for _ in 0..3 {
            assert_eq!(ask(&platform, &path, &tag).status, 304, "{path}");
        }
        let row = |column: &str| {
            platform.value(&format!("select {column} from http.stats where pattern = '/{function}'"))
        };
        assert_eq!(row("remembered"), Some("0".into()), "{path}");
        let said = row("not_remembered").unwrap_or_default();
        assert!(said.starts_with(reason), "{path}: {said}");
    }
    // What sets a cookie is for one client, also where it brings a tag of its own.
    platform.sql(
        "create function greets() returns http.response language sql stable return
           http.response('hello', headers => array[http.header('Set-Cookie', 'seen=yes'), http.header('ETag', '\"mine\"')]);
         select http.route('GET', '/greets', 'greets'), http.validate('GET', '/greets')",
    );
    wait_for("the route", || platform.get("/greets").status == 200);
    for _ in 0..5 {
        let greeted = ask(&platform, "/greets", "\"mine\"");
        assert_eq!((greeted.status, greeted.header("set-cookie").is_some()), (200, true));
    }
    // Nor is it known what a table of XML reads its texts as.
    platform.sql(
        "create function of_xml(text text) returns text language sql stable as $$
           select day::text from xmltable('/a' passing xmlparse(document '<a>' || text || '</a>') columns day date path '.') $$;
         select http.route('GET', '/of_xml', 'of_xml'), http.validate('GET', '/of_xml')",
    );
    wait_for("the route", || platform.get("/of_xml?text=today").status == 200);
    let tag = platform.get("/of_xml?text=today").header("etag").unwrap().to_owned();
    (0..3).for_each(|_| assert_eq!(ask(&platform, "/of_xml?text=today", &tag).status, 304));
    assert_eq!(
        platform.value("select remembered from http.stats where pattern = '/of_xml'"),
        Some("0".into())
    );
    // One that is known again says nothing.
    platform.sql("create or replace function of_time() returns text language sql stable return 'now'");
    remember(&platform, "/of_time");
    assert_eq!(platform.value("select not_remembered from http.stats where pattern = '/of_time'"), None);
    // A moment that is a date is one.
    remember(&platform, "/on_day?day=2026-01-01");
}

#[test]
fn a_client_that_asks_for_all_takes_bounded_memory() {
    // Room for a few dozen; and what is asked for twice pays outside of the gateway alone.
    let platform = Platform::with(&[("howdah.max_remembered", "32kB"), ("howdah.inline", "off")]);
    platform.sql(ROUTES);
    platform.sql("create function numbered(n integer default 0) returns setof item language sql stable as 'select * from item where id = 1';
                  select http.route('GET', '/numbered', 'numbered'), http.validate('GET', '/numbered')");
    wait_for("the routes", || platform.get("/numbered").status == 200);
    let tag = platform.get("/numbered").header("etag").unwrap().to_owned();
    let mut connection = platform.connect();
    let mut ask = |path: &str| connection.request("GET", path, &[("If-None-Match", &tag)], b"").status;
    // Each twice, so that it pays to remember it.
    for number in 0..4000 {
        assert_eq!(ask(&format!("/numbered?n={}", number / 2)), 304);
    }
    // The newest are there, the oldest are not.
    let before = remembered(&platform);
    for number in 1990..2000 {
        assert_eq!(ask(&format!("/numbered?n={number}")), 304);
    }
    let known = remembered(&platform) - before;
    assert_eq!(known, 10);
    for number in 0..10 {
        assert_eq!(ask(&format!("/numbered?n={number}")), 304);
    }
    assert_eq!(remembered(&platform) - before, known, "the oldest are gone");
    // With none nothing is remembered.
    platform.set("howdah.max_remembered", "0");
    wait_for("it is so", || {
        let before = remembered(&platform);
        (0..3).for_each(|_| assert_eq!(ask("/numbered"), 304));
        remembered(&platform) == before
    });
}

#[test]
fn what_an_answer_has_read_is_shown_and_why_it_is_not_remembered() {
    let platform = platform();
    platform.sql("create function closed_one() returns name language internal stable as 'current_user';
                  create function closed() returns text language plpgsql stable as 'begin return (select name from item where id = 1) || closed_one(); end';
                  select http.route('GET', '/closed', 'closed')");
    let explained = |path: &str| {
        platform
            .value(&format!(
                "select string_agg(what || coalesce(' ' || name, '') || coalesce(' ' || (last_change > http.last_change('other')), ''), ', ') from http.explain('GET', '{path}')"
            ))
            .unwrap()
    };
    assert_eq!(explained("/items/1"), "route GET /items/{id}, table public.item true, catalogs true");
    assert_eq!(
        explained("/parts"),
        "route GET /parts, table public.parts false, table public.low true, table public.high true, catalogs true"
    );
    // Of a function that is not inlined, too.
    assert_eq!(explained("/nested"), "route GET /nested, table public.other false, catalogs true");
    assert_eq!(
        explained("/closed"),
        "route GET /closed, table public.item true, catalogs true, not remembered it calls closed_one(), which cannot be looked into"
    );
    assert_eq!(explained("/items/x"), "route GET /items/{id}, not remembered it was answered with 400");
    assert_eq!(explained("/nowhere"), "route, not remembered it was answered with 404");
    // A number grows with each commit that changes the table.
    let number =
        || platform.value("select last_change from http.explain('GET', '/items/1') where what = 'table'");
    let before = number();
    platform.sql("insert into other values (1)");
    assert_eq!(number(), before);
    platform.sql("update item set name = 'x' where id = 1");
    assert_ne!(number(), before);
    let mut session = platform.session();
    let refused = howdah_tests::queues::error(&mut session, "select * from http.explain('POST', '/items/1')");
    assert!(refused.contains("only what reads can be explained"), "{refused}");
    session.batch_execute("create role eve; set role eve").unwrap();
    let refused = howdah_tests::queues::error(&mut session, "select * from http.explain('GET', '/items/1')");
    assert!(refused.contains("permission denied"), "{refused}");
}

/// Asks so often, each time to be answered without a run.
fn hits(platform: &Platform, path: &str, tag: &str, count: i64) {
    let before = remembered(platform);
    (0..count).for_each(|_| assert_eq!(ask(platform, path, tag).status, 304, "{path}"));
    assert_eq!(remembered(platform), before + count, "{path}");
}

#[test]
fn a_commit_that_waits_hinders_nobody_and_counts_when_it_can_be_seen() {
    let platform = Platform::with(&[("max_prepared_transactions", "5")]);
    platform.sql(ROUTES);
    wait_for("the routes", || platform.get("/since?since=2026-01-01").status == 200);
    // For a standby that is gone.
    platform.set("synchronous_standby_names", "nobody");
    let tag = remember(&platform, "/items/1");
    let mut last = 0;
    thread::scope(|scope| {
        let waiting = "pg_stat_activity where wait_event = 'SyncRep' and query like 'update item%'";
        // The setting comes into force some time.
        wait_for("a commit waits", || {
            last += 1;
            let change = format!("update item set name = 'waits{last}' where id = 1");
            let platform = &platform;
            scope.spawn(move || {
                let _ = platform.session().batch_execute(&change);
            });
            thread::sleep(std::time::Duration::from_millis(100));
            platform.count(waiting) > 0
        });
        let (tag, seen) = match ask(&platform, "/items/1", &tag) {
            reply if reply.status == 304 => (tag.clone(), "one".into()),
            reply => (reply.header("etag").unwrap().to_owned(), reply.text()),
        };
        remember(&platform, "/items/1");
        hits(&platform, "/items/1", &tag, 20);
        platform.set("synchronous_standby_names", "");
        wait_for("it is seen", || {
            let reply = ask(&platform, "/items/1", &tag);
            reply.status == 200 && reply.text() != seen
        });
    });
    // One that is prepared, for as long as anybody likes.
    let tag = remember(&platform, "/items/2");
    for end in ["rollback", "commit"] {
        platform.sql("begin; update item set name = 'prepared' where id = 2; prepare transaction 'one'");
        let tag = remember(&platform, "/items/2");
        hits(&platform, "/items/2", &tag, 20);
        platform.sql(&format!("{end} prepared 'one'"));
    }
    assert_eq!(ask(&platform, "/items/2", &tag).status, 200);
}

#[test]
fn what_was_prepared_before_a_start_counts_as_a_change_of_everything() {
    let mut platform = Platform::with(&[("max_prepared_transactions", "5")]);
    platform.sql(ROUTES);
    for how in [Shutdown::Fast, Shutdown::Immediate] {
        platform.sql("begin; update item set name = name || '!' where id = 2; prepare transaction 'one'");
        platform.cluster.restart(how, Life::WithParent).expect("it starts again");
        platform.wait_until_served();
        let tag = remember(&platform, "/items/2");
        hits(&platform, "/items/2", &tag, 5);
        let other = remember(&platform, "/parts");
        platform.sql("commit prepared 'one'");
        let before = remembered(&platform);
        assert_eq!(ask(&platform, "/items/2", &tag).status, 200);
        assert_eq!(ask(&platform, "/parts", &other).status, 304);
        assert_eq!(remembered(&platform), before, "nobody knew what it would change");
        remember(&platform, "/parts");
    }
}

#[test]
fn what_replication_applies_is_a_change() {
    let (publisher, subscriber) = (Platform::with(&[("wal_level", "logical")]), platform());
    publisher.sql("create table item (id integer primary key, name text not null, price numeric default 1, made timestamptz default '2026-01-01 00:00Z');
                   create publication items for table item");
    let connection = publisher.cluster.connection_string("app").expect("a socket").replace('\'', "''");
    subscriber.sql("truncate item");
    subscriber.sql(&format!("create subscription items connection '{connection}' publication items"));
    wait_for("it is in step", || subscriber.count("pg_subscription_rel where srsubstate <> 'r'") == 0);
    publisher.sql("insert into item values (1, 'first')");
    for number in 0..5 {
        wait_for("the row is there", || subscriber.count("item") == 1);
        let tag = remember(&subscriber, "/items/1");
        hits(&subscriber, "/items/1", &tag, 5);
        let name = format!("'n{number}'");
        publisher.sql(&format!("update item set name = {name}"));
        wait_for("it is applied", || subscriber.count(&format!("item where name = {name}")) == 1);
        assert_eq!(ask(&subscriber, "/items/1", &tag).status, 200, "{name}");
    }
    subscriber.sql("drop subscription items");
}

#[test]
fn answers_that_depend_on_headers_and_cookies_are_remembered_for_each_of_their_values() {
    let platform = platform();
    platform.sql(
        "create function greeted() returns text language sql stable as $$
           select case when http.cookie('session') is null then 'nobody' else
             http.cookie('session') || ' ' || coalesce(http.header_value('Accept-Language'), 'none') || ' ' || coalesce(http.query_value('q'), '') end
             || ' ' || (select count(*) from other) $$;
         create table of_session (owner text, text text); insert into of_session values ('ada', 'first'), ('bob', 'second');
         grant select on of_session to howdah_web; alter table of_session enable row level security;
         create policy own on of_session using (owner = http.cookie('session'));
         create function of_session() returns text language sql stable return (select coalesce(string_agg(text, ','), 'nothing') from of_session);
         select http.route('GET', '/greeted', 'greeted'), http.validate('GET', '/greeted'), http.route('GET', '/of_session', 'of_session'), http.validate('GET', '/of_session')",
    );
    wait_for("the route", || platform.get("/of_session").status == 200);
    let ask = |path: &str, headers: &[(&str, &str)], tag: &str| {
        platform.connect().request("GET", path, &[headers, &[("If-None-Match", tag)]].concat(), b"")
    };
    let clients: [&[(&str, &str)]; 6] = [
        &[],
        &[("Cookie", "session=ada")],
        &[("Cookie", "theme=dark; session=ada"), ("X-Other", "1")],
        &[("Cookie", "session=bob"), ("Accept-Language", "de")],
        &[("Cookie", "session=bob"), ("Accept-Language", "")],
        &[("Cookie", "session=bob")],
    ];
    for path in ["/greeted", "/greeted?q=1", "/of_session"] {
        for round in 0..3 {
            let mut tags = Vec::new();
            for headers in clients {
                let tag = ask(path, headers, "\"none\"").header("etag").unwrap().to_owned();
                tags.push(tag);
            }
            // More than once, as one makes known what the answers of another depend on.
            for (headers, tag) in clients.into_iter().zip(&tags).cycle().take(3 * clients.len()) {
                assert_eq!(ask(path, headers, tag).status, 304);
            }
            let before = remembered(&platform);
            for (headers, tag) in clients.into_iter().zip(&tags) {
                assert_eq!(ask(path, headers, tag).status, 304, "{path} {headers:?}");
                // What another has is not what this one would get.
                for other in tags.iter().filter(|other| *other != tag) {
                    assert_eq!(ask(path, headers, other).status, 200, "{path} {headers:?}");
                }
            }
            assert_eq!(remembered(&platform), before + clients.len() as i64, "{path} {round}");
            platform.sql("insert into other values (1); update of_session set text = text || '!'");
        }
    }
    let rows = "select string_agg(what || ' ' || name, ', ') from http.explain('GET', '/of_session') where what = 'request'";
    assert_eq!(platform.value(rows), Some("request cookie session".into()));
}

#[test]
fn what_comes_by_a_pooler_is_counted_in_whichever_session_it_runs() {
    let platform = platform();
    let folder = tempfile::tempdir().unwrap();
    let (_pooler, port) = Pooler::start(&platform.cluster, folder.path(), "extra_float_digits");
    let connect = || {
        let to = format!("host=127.0.0.1 port={port} user=postgres dbname={DATABASE} sslmode=disable");
        cluster::postgres::Client::connect(&to, cluster::postgres::NoTls).unwrap()
    };
    let mut clients = [connect(), connect(), connect()];
    for round in 0..30 {
        let tag = remember(&platform, "/items/1");
        hits(&platform, "/items/1", &tag, 2);
        let client = &mut clients[round % 3];
        // What one client sets stays in a session that is another's then.
        let counts = if round == 10 { "set track_counts = off; " } else { "" };
        client
            .batch_execute(&format!("{counts}begin; update item set name = 'n{round}' where id = 1; commit"))
            .unwrap();
        assert_eq!(ask(&platform, "/items/1", &tag).status, 200, "{round}");
    }
}

#[test]
fn an_answer_by_settings_of_before_a_reload_is_not_remembered() {
    let platform = platform();
    platform.sql(
        "create function zone() returns text language sql stable return current_setting('timezone') || (select count(*) from generate_series(1, 4000000));
         select http.route('GET', '/zone', 'zone'), http.validate('GET', '/zone')",
    );
    wait_for("the route", || platform.get("/zone").status == 200);
    platform.set("timezone", "Asia/Tokyo");
    wait_for("it is read", || platform.get("/zone").text().starts_with("Asia/Tokyo"));
    let tag = platform.get("/zone").header("etag").unwrap().to_owned();
    thread::scope(|scope| {
        let slow = scope.spawn(|| ask(&platform, "/zone", &tag).status);
        wait_for("it runs", || platform.running("GET /zone") > 0);
        platform.set("timezone", "Europe/Rome");
        assert_eq!(slow.join().unwrap(), 304, "by the settings with which it began");
    });
    wait_for("it is another", || platform.get("/zone").text().starts_with("Europe/Rome"));
    let reply = ask(&platform, "/zone", &tag);
    assert_eq!(reply.status, 200, "what was computed by the settings of before");
    remember(&platform, "/zone");
}
