//! Answers that are kept: nothing runs for them, and nobody gets one that is older than what somebody knows.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use howdah_tests::platform::{Platform, wait_for};
use howdah_tests::{Connection, Reply, bounds};

const ROUTES: &str = "
    create table book (id integer primary key, title text not null, owner text not null default 'all');
    insert into book select number, 'title ' || number from generate_series(1, 20) number;
    create table other (id integer);
    grant select on book, other to howdah_web;
    create function book(id integer) returns book language sql stable begin atomic select book from book where book.id = book.id and book.id = $1; end;
    create function books(first integer default 1, words text[] default '{}') returns setof book language plpgsql stable as
      'begin return query select * from book where id >= first and (words = ''{}'' or title = any (words)) order by id limit 3; end';
    create function mine() returns setof book language sql stable begin atomic select * from book where owner = http.cookie('who') order by id; end;
    create function greeting() returns text language sql stable return case when http.header_value('accept-language') = 'de' then 'Hallo' else 'Hello' end;
    create function clock() returns text language sql stable return now();
    create function turn(number bigint) returns void language internal immutable strict as 'pg_advisory_xact_lock_int8';
    create function slow(name text default '') returns text language plpgsql stable as
      'begin perform turn(1 + length(name) * 0); if name = ''bad'' then raise ''bad'' using errcode = ''PT409''; end if; return (select count(*) from other); end';
    select http.route('GET', '/books/{id}', 'book'), http.route('GET', '/books', 'books'), http.route('GET', '/mine', 'mine'),
      http.route('GET', '/greeting', 'greeting'), http.route('GET', '/clock', 'clock'), http.route('GET', '/slow', 'slow');
    select http.cache('GET', '/books/{id}'), http.cache('GET', '/books'), http.cache('GET', '/mine', vary => '{cookie:who}'),
      http.cache('GET', '/greeting'), http.cache('GET', '/clock'), http.cache('GET', '/slow')";

/// Different things that one client asks for.
const ASKED: usize = if cfg!(feature = "long") { 1_000_000 } else { 3000 };

fn platform() -> Platform {
    let platform = Platform::start();
    platform.sql(ROUTES);
    wait_for("the routes", || platform.get("/books/1").status == 200);
    platform
}

fn cached(platform: &Platform, pattern: &str) -> i64 {
    let value = platform.value(&format!("select cached from http.stats where pattern = '{pattern}'"));
    value.and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn ask(platform: &Platform, path: &str, headers: &[(&str, &str)]) -> Reply {
    platform.connect().request("GET", path, headers, b"")
}

/// Asks until the answer is one that was kept.
fn keep(platform: &Platform, pattern: &str, path: &str, headers: &[(&str, &str)]) -> Reply {
    let before = cached(platform, pattern);
    let mut reply = ask(platform, path, headers);
    wait_for(&format!("{path} is kept"), || {
        reply = ask(platform, path, headers);
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        cached(platform, pattern) > before
    });
    reply
}

#[test]
fn what_is_kept_is_answered_without_a_run_until_something_changes() {
    let platform = platform();
    let first = ask(&platform, "/books/1", &[]);
    let kept = keep(&platform, "/books/{id}", "/books/1", &[]);
    assert_eq!(kept.body, first.body);
    let names = ["content-type", "etag", "cache-control", "vary"];
    assert_eq!(names.map(|name| kept.header(name)), names.map(|name| first.header(name)));
    assert_eq!(kept.header("cache-control"), Some("no-cache"));
    let tag = kept.header("etag").unwrap();
    let head = platform.connect().request("HEAD", "/books/1", &[], b"");
    assert_eq!((head.status, head.header("etag"), head.body.len()), (200, Some(tag), 0));
    let unchanged = ask(&platform, "/books/1", &[("If-None-Match", tag)]);
    assert_eq!((unchanged.status, unchanged.header("etag")), (304, Some(tag)));
    assert_eq!(unchanged.header("cache-control"), Some("no-cache"));
    assert_eq!(ask(&platform, "/books/1", &[("If-None-Match", "\"other\"")]).body, first.body);
    assert_eq!(ask(&platform, "/books/1", &[("If-Match", "\"other\"")]).status, 412);
    for change in [
        "update book set title = 'changed' where id = 1",
        "delete from book where id = 2",
        "alter table book add column more text",
        "revoke select on book from howdah_web; grant select on book to howdah_web; update book set title = 'again' where id = 1",
    ] {
        let before = keep(&platform, "/books/{id}", "/books/1", &[]);
        platform.sql("insert into other values (1)");
        let count = cached(&platform, "/books/{id}");
        assert_eq!(ask(&platform, "/books/1", &[]).body, before.body);
        assert_eq!(cached(&platform, "/books/{id}"), count + 1, "{change}");
        platform.sql(change);
        let after = ask(&platform, "/books/1", &[]);
        let now = platform.value("select row_to_json(b) from book b where id = 1").unwrap();
        assert_eq!(after.text(), now, "{change}");
    }
    platform.sql("revoke select on book from howdah_web");
    assert_eq!(ask(&platform, "/books/1", &[]).status, 403);
}

#[test]
fn arguments_are_what_it_is_kept_by_and_nothing_else_is() {
    let platform = platform();
    let plain = keep(&platform, "/books", "/books", &[]);
    let count = cached(&platform, "/books");
    let mut client = platform.connect();
    for number in 0..ASKED {
        let path = format!("/books?unknown={number}&_={number}");
        assert_eq!(client.request("GET", &path, &[], b"").body, plain.body);
    }
    assert_eq!(cached(&platform, "/books"), count + ASKED as i64);
    // Each of them is asked for twice, so that the second may be what is kept of another.
    let paths = [
        "/books?first=4",
        "/books?first=%34",
        "/books?first=5",
        "/books?first=",
        "/books?words=title+7",
        "/books?words=title+7&words=title+8",
        "/books?words=title+8&words=title+7",
        "/books?words=title+7%26words%3Dtitle+8",
        "/books?first=4&words=title+7",
        "/books?words=title+7&first=4",
        "/books?words=",
    ];
    let plain = |path: &str| {
        let target = path.replace('\'', "''");
        platform.value(&format!("select convert_from((http.call('GET', '{target}')).body, 'UTF8')")).unwrap()
    };
    for _ in 0..3 {
        for path in paths {
            let reply = ask(&platform, path, &[]);
            assert_eq!((reply.status, reply.text()), (200, plain(path)), "{path}");
        }
    }
    for path in ["/books?first=x", "/books?first=%ff"] {
        (0..3).for_each(|_| assert_eq!(ask(&platform, path, &[]).status, 400));
    }
}

#[test]
fn what_vary_names_is_a_part_of_what_is_asked() {
    let platform = platform();
    platform.sql("update book set owner = 'ann' where id = 1; update book set owner = 'bob' where id = 2");
    for _ in 0..3 {
        for (cookie, title) in [("who=ann", "title 1"), ("who=bob", "title 2"), ("a=b; who=ann", "title 1")] {
            let reply = keep(&platform, "/mine", "/mine", &[("Cookie", cookie)]);
            assert!(reply.text().contains(title), "{cookie}: {}", reply.text());
            assert_eq!(
                (reply.header("cache-control"), reply.header("vary")),
                (Some("private, no-cache"), Some("cookie"))
            );
        }
        assert_eq!(ask(&platform, "/mine", &[]).text(), "[]");
    }
    // What vary does not name is not kept.
    for _ in 0..3 {
        for (language, greeting) in [("de", "Hallo"), ("en", "Hello")] {
            assert_eq!(ask(&platform, "/greeting", &[("Accept-Language", language)]).text(), greeting);
        }
    }
    let row = |pattern: &str| {
        platform.value(&format!(
            "select cached || ' ' || not_remembered from http.stats where pattern = '{pattern}'"
        ))
    };
    assert_eq!(
        row("/greeting"),
        Some("0 it takes the header accept-language, which vary does not name".into())
    );
    platform.sql("select http.cache('GET', '/greeting', '{header:Accept-Language}')");
    wait_for("it is known", || ask(&platform, "/greeting", &[]).header("vary") == Some("accept-language"));
    for (language, greeting) in [("de", "Hallo"), ("en", "Hello"), ("de", "Hallo")] {
        assert_eq!(
            keep(&platform, "/greeting", "/greeting", &[("Accept-Language", language)]).text(),
            greeting
        );
    }
    // Of several the first is named, also once another was.
    platform.sql("create or replace function greeting() returns text language sql stable return
                    case when http.header_value('accept-language') = 'de' then 'Hallo ' else 'Hello ' end || coalesce(http.cookie('name'), '')");
    wait_for("it is another", || {
        ask(&platform, "/greeting", &[("Cookie", "name=you")]).text() == "Hello you"
    });
    wait_for("it is said", || {
        assert_eq!(ask(&platform, "/greeting", &[]).text(), "Hello ");
        row("/greeting")
            .is_some_and(|row| row.ends_with(" it takes the cookie name, which vary does not name"))
    });
    (0..3).for_each(|_| assert_eq!(ask(&platform, "/clock", &[]).status, 200));
    assert_eq!(row("/clock"), Some("0 it calls now(), whose result changes without a commit".into()));
}

/// How many requests have arrived and are not answered.
fn in_flight(platform: &Platform) -> i64 {
    platform.value("select sum(in_flight) from http.databases").unwrap().parse().unwrap()
}

/// Sends requests for the slow route, which waits for a lock of the test's, and waits until all have come beside `others`.
fn send(platform: &Platform, path: &str, count: usize, others: i64) -> Vec<Connection> {
    let mut clients: Vec<_> = (0..count).map(|_| platform.connect()).collect();
    clients.iter_mut().for_each(|client| client.send("GET", path, &[], b""));
    wait_for("they have come", || in_flight(platform) == others + count as i64);
    clients
}

fn replies(clients: &mut [Connection]) -> Vec<(u16, String)> {
    let replies = clients.iter_mut().map(|client| client.read_reply(false).expect("an answer"));
    replies.map(|reply| (reply.status, reply.text())).collect()
}

#[test]
fn one_run_answers_many() {
    let platform = platform();
    let stats = |column: &str| {
        let value = platform.value(&format!("select {column} from http.stats where pattern = '/slow'"));
        value.unwrap().parse::<i64>().unwrap()
    };
    let (mut session, is_run) =
        (platform.session(), || wait_for("one runs", || platform.running("GET /slow") == 1));
    let mut hold = |is_held: bool| {
        let name = if is_held { "pg_advisory_lock" } else { "pg_advisory_unlock" };
        session.batch_execute(&format!("select {name}(1)")).unwrap();
    };
    ask(&platform, "/slow", &[]);
    platform.sql("insert into other values (1)");
    let runs = stats("requests - cached - remembered");
    hold(true);
    let mut clients = send(&platform, "/slow", 50, 0);
    hold(false);
    assert_eq!(replies(&mut clients), vec![(200, "1".to_owned()); 50]);
    assert_eq!((stats("requests - cached - remembered") - runs, stats("shared")), (1, 49));
    // Who asks after a commit waits for a run that has begun after it.
    platform.sql("insert into other values (2)");
    hold(true);
    let mut first = send(&platform, "/slow", 1, 0);
    is_run();
    platform.sql("insert into other values (3)");
    let mut later = send(&platform, "/slow", 10, 1);
    hold(false);
    assert!(["2", "3"].contains(&&*replies(&mut first)[0].1));
    assert_eq!(replies(&mut later), vec![(200, "3".to_owned()); 10]);
    // The first hangs up.
    platform.sql("insert into other values (4)");
    hold(true);
    let first = send(&platform, "/slow", 1, 0);
    is_run();
    let mut rest = send(&platform, "/slow", 49, 1);
    drop(first);
    wait_for("it has gone", || in_flight(&platform) == 49);
    hold(false);
    assert_eq!(replies(&mut rest), vec![(200, "4".to_owned()); 49]);
    // One whose first is cancelled by somebody else.
    platform.sql("insert into other values (5)");
    hold(true);
    let mut first = send(&platform, "/slow", 1, 0);
    is_run();
    let mut rest = send(&platform, "/slow", 5, 1);
    platform.sql("select pg_cancel_backend(pid) from pg_stat_activity where backend_type like 'howdah executor%' and query like '%GET /slow%' and state = 'active'");
    assert!(replies(&mut first)[0].0 >= 500);
    hold(false);
    assert_eq!(replies(&mut rest), vec![(200, "5".to_owned()); 5]);
    // An error is nobody else's: each has his own.
    hold(true);
    let mut clients = send(&platform, "/slow?name=bad", 6, 0);
    hold(false);
    let failed = replies(&mut clients);
    assert!(failed.iter().all(|(status, _)| *status == 409), "{failed:?}");
    let bodies: HashSet<_> = failed.iter().map(|(_, text)| text).collect();
    assert_eq!(bodies.len(), 6, "each names its own request");
}

#[test]
fn a_client_that_asks_for_all_takes_bounded_memory_and_no_other_route_s() {
    // In the gateway it would not pay to keep what is asked for twice.
    let platform =
        Platform::with(&[("howdah.max_cached", "256kB"), ("howdah.gateways", "1"), ("howdah.inline", "off")]);
    platform.sql(ROUTES);
    wait_for("the routes", || platform.get("/books/1").status == 200);
    platform.sql(
        "create function echo(value text) returns text language sql stable return value;
                  select http.route('GET', '/echo', 'echo'), http.cache('GET', '/echo')",
    );
    wait_for("the route", || platform.get("/echo?value=1").status == 200);
    keep(&platform, "/books/{id}", "/books/1", &[]);
    let mut client = platform.connect();
    let value = "x".repeat(500);
    for number in 0..ASKED {
        let path = format!("/echo?value={value}{}", number / 2);
        assert_eq!(client.request("GET", &path, &[], b"").status, 200);
    }
    assert!(cached(&platform, "/echo") > 500, "{}", cached(&platform, "/echo"));
    // It can be seen: what is kept, and what had to give way.
    let row = |columns: &str, pattern: &str| {
        let value = platform.value(&format!("select {columns} from http.stats where pattern = '{pattern}'"));
        value.unwrap().parse::<i64>().unwrap()
    };
    wait_for("the gateway says what it keeps", || {
        let kept = row("cached_bytes", "/echo");
        assert!(kept <= 256 << 10, "{kept}");
        kept > 200 << 10 && row("evicted", "/echo") > 500
    });
    assert!(row("missed", "/echo") > 1000 && row("missed", "/books/{id}") < 10);
    assert_eq!(row("evicted", "/books/{id}"), 0);
    // What was asked for once is there still, though everything else has gone.
    let count = cached(&platform, "/books/{id}");
    assert_eq!(platform.get("/books/1").status, 200);
    assert_eq!(cached(&platform, "/books/{id}"), count + 1);
    // A route keeps no more than it may.
    platform.sql("select http.cache('GET', '/echo', max_entries => 2)");
    wait_for("it is so", || {
        let before = cached(&platform, "/echo");
        (0..30)
            .for_each(|number| assert_eq!(platform.get(&format!("/echo?value={}", number % 3)).status, 200));
        cached(&platform, "/echo") == before
    });
    platform.sql("select http.cache('GET', '/echo', max_entries => 0)");
    wait_for("it is taken back", || platform.get("/echo?value=1").header("etag").is_none());
    wait_for("nothing is kept", || row("cached_bytes", "/echo") == 0);
    // A gateway takes with it what it has kept.
    keep(&platform, "/books/{id}", "/books/1", &[]);
    wait_for("it is kept", || row("cached_bytes", "/books/{id}") > 0);
    platform.sql(
        "select pg_terminate_backend(pid) from pg_stat_activity where backend_type like 'howdah gateway%'",
    );
    wait_for("it has gone", || row("cached_bytes", "/books/{id}") == 0);
}

#[test]
fn what_is_said_of_caching_is_checked() {
    let platform = platform();
    for (call, error) in [
        ("http.cache('POST', '/books')", "answers to POST are not kept"),
        ("http.cache('GET', '/nowhere')", "there is no route GET /nowhere"),
        ("http.cache('GET', '/books', '{lang}')", "\"lang\" is nothing that answers vary by"),
        ("http.cache('GET', '/books', '{query:lang}')", "\"query:lang\" is nothing that answers vary by"),
        ("http.cache('GET', '/books', '{header:}')", "\"header:\" is nothing that answers vary by"),
        ("http.cache('GET', '/books', array[null])", "\"\" is nothing that answers vary by"),
        ("http.cache('GET', '/books', max_entries => -1)", "max_entries is -1"),
        ("http.cache('GET', '/books', max_age => '0')", "max_age is from a second to 365 days"),
        ("http.cache('GET', '/books', max_age => '1.5 seconds')", "max_age is from a second to 365 days"),
        ("http.cache('GET', '/books', max_age => '366 days')", "max_age is from a second to 365 days"),
        (
            "http.cache('GET', '/books', (select array_agg('header:x' || n) from generate_series(1, 17) n))",
            "vary has 17 names, and 16 are the most",
        ),
    ] {
        let refused = platform.session().batch_execute(&format!("select {call}")).unwrap_err();
        let refused = refused.as_db_error().map_or_else(String::new, |error| error.message().to_owned());
        assert!(refused.contains(error), "{call}: {refused}");
    }
    // What is forgotten is run again, at once.
    keep(&platform, "/books/{id}", "/books/1", &[]);
    for pattern in ["'/books/{id}'", "null"] {
        keep(&platform, "/books/{id}", "/books/1", &[]);
        let count = cached(&platform, "/books/{id}");
        let routes = platform.value(&format!("select http.cache_clear({pattern})"));
        assert_eq!(routes.as_deref(), Some(if pattern == "null" { "6" } else { "1" }));
        ask(&platform, "/books/1", &[]);
        assert_eq!(cached(&platform, "/books/{id}"), count);
    }
    assert_eq!(platform.value("select http.cache_clear('/nowhere')"), Some("0".into()));
    // A route that is registered anew says nothing of it.
    platform.sql("select http.route('GET', '/books', 'books')");
    wait_for("it is so", || platform.get("/books").header("etag").is_none());
}

#[test]
fn what_depends_on_the_time_alone_is_kept_as_long_as_it_may_be_old() {
    let platform = platform();
    platform.sql(
        "create function until(day date) returns text language sql stable return $1 || ' ' || (select count(*) from other);
         create function chance() returns text language sql volatile return now()::text || random();
         create function named() returns text language plpgsql stable as
           'declare d date := ''today''; s text; begin select relname into s from pg_class where relname = ''other''; return d || s; end';
         create function lines() returns setof book language plpgsql stable as
           'begin return query select id, clock_timestamp()::text, owner from book where id = 1; end';
         select http.route('GET', '/until', 'until'), http.route('GET', '/chance', 'chance'), http.route('GET', '/named', 'named'),
           http.route('GET', '/lines', 'lines');
         select http.cache('GET', '/clock', max_age => '1 hour'), http.cache('GET', '/until', max_age => '1 hour'),
           http.cache('GET', '/chance', max_age => '1 hour'), http.cache('GET', '/named', max_age => '1 hour'),
           http.cache('GET', '/lines', max_age => '2 seconds', vary => '{cookie:who}')",
    );
    wait_for("the routes", || ask(&platform, "/lines", &[]).header("cache-control").is_some());
    let kept = keep(&platform, "/clock", "/clock", &[]);
    assert_eq!(ask(&platform, "/clock", &[]).body, kept.body);
    assert_eq!(kept.header("cache-control"), Some("max-age=3600"));
    let age = |reply: &Reply| reply.header("age").and_then(|age| age.parse::<u64>().ok());
    assert!(age(&kept).is_some_and(|age| age < 600), "{:?}", kept.header("age"));
    let known = ask(&platform, "/clock", &[("If-None-Match", kept.header("etag").unwrap())]);
    assert_eq!((known.status, known.header("cache-control")), (304, Some("max-age=3600")));
    assert!(age(&known).is_some(), "{:?}", known.header("age"));
    // A text that means another day tomorrow; a commit ends it at once.
    assert!(keep(&platform, "/until", "/until?day=today", &[]).text().ends_with(" 0"));
    platform.sql("insert into other values (1)");
    let anew = ask(&platform, "/until?day=today", &[]);
    assert!(anew.text().ends_with(" 1") && age(&anew).is_none(), "{} {:?}", anew.text(), age(&anew));
    // What does not depend on the time is as old as the last commit.
    let dated = keep(&platform, "/until", "/until?day=2026-11-28", &[]);
    assert_eq!((dated.text(), age(&dated)), ("2026-11-28 1".into(), None));
    // It is over when it may be no older.
    let first = keep(&platform, "/lines", "/lines", &[]);
    assert_eq!(first.header("cache-control"), Some("private, max-age=2"));
    wait_for("it is run again", || ask(&platform, "/lines", &[]).body != first.body);
    // Nobody outside may keep for others what depends on a cookie that vary does not name.
    platform.sql(
        "create function name_at() returns text language sql stable return http.cookie('name') || now();
         select http.route('GET', '/name_at', 'name_at'), http.cache('GET', '/name_at', max_age => '1 hour')",
    );
    wait_for("the route", || ask(&platform, "/name_at", &[("Cookie", "name=a")]).status == 200);
    for name in ["name=a", "name=b"].repeat(10) {
        let reply = ask(&platform, "/name_at", &[("Cookie", name)]);
        assert_eq!((reply.header("cache-control"), reply.header("age")), (Some("no-cache"), None));
    }
    // Nor does the time hide what else is in the way.
    for (path, reason) in
        [("/chance", "it calls random(), which is volatile"), ("/named", "it reads the catalog pg_class")]
    {
        (0..3).for_each(|_| assert_eq!(ask(&platform, path, &[]).status, 200));
        let said = platform.value(&format!(
            "select cached || ' ' || not_remembered from http.stats where pattern = '{path}'"
        ));
        assert_eq!(said, Some(format!("0 {reason}")));
    }
}

#[test]
fn a_route_that_cannot_be_kept_is_as_fast_as_one_that_is_not_to_be() {
    let platform = platform();
    platform.sql(
        "create function stamp() returns text language plpgsql volatile as 'begin return (select count(*) from book) || now()::text; end';
         select http.route('GET', '/plain/clock', 'clock'), http.route('GET', '/plain/stamp', 'stamp'),
           http.route('GET', '/cached/clock', 'clock'), http.route('GET', '/cached/stamp', 'stamp');
         select http.cache('GET', '/cached/clock'), http.cache('GET', '/cached/stamp')",
    );
    wait_for("the routes", || platform.get("/cached/stamp").status == 200);
    let mut connection = platform.connect();
    let mut hundred = |path: &str| {
        let begun = Instant::now();
        (0..100).for_each(|_| assert_eq!(connection.request("GET", path, &[], b"").status, 200));
        begun.elapsed()
    };
    // One in the gateway, one by an executor.
    for name in ["clock", "stamp"] {
        let (plain, cached) = (format!("/plain/{name}"), format!("/cached/{name}"));
        let mut times = [Duration::ZERO; 2];
        for round in 0..12 {
            let took = [hundred(&plain), hundred(&cached)];
            // Plans are made, and it is found out that it does not pay.
            if round > 1 {
                times.iter_mut().zip(took).for_each(|(sum, took)| *sum += took);
            }
        }
        bounds::NOT_KEPT.check_against(times[1], times[0].mul_f64(1.15));
    }
}

#[test]
fn who_finds_no_room_to_wait_runs_by_himself() {
    let platform = Platform::with(&[("howdah.max_waiting", "1MB"), ("howdah.gateways", "1")]);
    platform.sql(ROUTES);
    wait_for("the routes", || platform.get("/books/1").status == 200);
    assert_eq!(ask(&platform, "/slow", &[]).status, 200);
    platform.sql("insert into other values (1)");
    let mut session = platform.session();
    session.batch_execute("select pg_advisory_lock(1)").unwrap();
    let mut clients = send(&platform, "/slow", 230, 0);
    session.batch_execute("select pg_advisory_unlock(1)").unwrap();
    assert_eq!(replies(&mut clients), vec![(200, "1".to_owned()); 230]);
    let shared = platform.value("select shared from http.stats where pattern = '/slow'").unwrap();
    let shared: i64 = shared.parse().unwrap();
    assert!((100..220).contains(&shared), "{shared} have waited");
}
