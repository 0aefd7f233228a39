//! Errors become responses: SQLSTATE to status, as problem documents, and no worker ends by one.

use std::thread;

use howdah_tests::http2::Http2;
use howdah_tests::platform::wait_for;
use howdah_tests::{Platform, Reply};

const SCHEMA: &str = r#"
create table parent (id int primary key);
create table item (
  id int primary key, parent int references parent, name text not null default 'x',
  amount int check (amount > 0));
insert into item values (1, null, 'one', 1);
create table hidden (id int);
grant select, insert, update on item, parent to howdah_web;

create function fail(code text, note text default 'told') returns text language plpgsql stable as $$
begin
  raise exception using errcode = code, message = 'message of ' || note, detail = 'detail of ' || note,
    hint = 'hint of ' || note;
end $$;
select http.route('*', '/fail/{code}', 'fail');
create function add(id int, parent int default null, name text default 'x', amount int default 1) returns void
language sql begin atomic
  insert into item values (id, parent, name, amount);
end;
select http.route('POST', '/items', 'add');
create function quotient(a int, b int) returns int language sql immutable return a / b;
select http.route('GET', '/quotient/{a}/{b}', 'quotient');
create function peek() returns text language sql stable as 'select id::text from hidden';
select http.route('GET', '/hidden', 'peek');
create function locked_away() returns text language sql stable as 'select ''x''';
revoke execute on function locked_away() from public;
select http.route('GET', '/locked-away', 'locked_away');
create schema vault;
create table vault.gold (id int);
create function vault_peek() returns text language plpgsql stable as 'begin return (select id from vault.gold); end';
select http.route('GET', '/vault', 'vault_peek');
create function answer(status int) returns http.response language sql stable return http.response('body', status);
select http.route('GET', '/answer', 'answer');
create function with_header(name text, value text) returns http.response language sql stable
return http.response('body', headers => array[http.header(name, value)]);
select http.route('POST', '/with-header', 'with_header');
create function keep_then_break() returns http.response language sql
as $$ insert into parent values (77) returning http.response('kept?', 999) $$;
select http.route('POST', '/keep-then-break', 'keep_then_break');
"#;

fn problem(reply: &Reply) -> serde_json::Value {
    assert_eq!(reply.header("content-type"), Some("application/problem+json"), "{}", reply.text());
    let document = reply.json();
    assert_eq!(document["status"], reply.status);
    assert_eq!(document["request_id"].as_str(), reply.header("x-request-id"));
    assert!(document["title"].as_str().is_some_and(|title| !title.is_empty()));
    document
}

#[test]
fn each_sqlstate_has_its_status() {
    let platform = Platform::start();
    platform.sql(SCHEMA);
    let pids = platform.pids();

    let statuses = [
        ("P0001", 400),
        ("22000", 400),
        ("22012", 400),
        ("2203G", 400),
        ("23502", 400),
        ("23514", 400),
        ("23505", 409),
        ("23503", 409),
        ("23P01", 409),
        ("42501", 403),
        ("57014", 504),
        ("53000", 503),
        ("53300", 503),
        ("55P03", 503),
        ("40001", 503),
        ("40P01", 503),
        ("PT400", 400),
        ("PT404", 404),
        ("PT418", 418),
        ("PT451", 451),
        ("PT999", 500),
        ("PT4XX", 500),
        ("42P01", 500),
        ("XX000", 500),
        ("XX001", 500),
        ("P0002", 500),
        ("0A000", 500),
        ("99999", 500),
        ("58030", 500),
    ];
    for method in ["GET", "POST"] {
        for (code, status) in statuses {
            let reply = platform.connect().request(method, &format!("/fail/{code}"), &[], b"");
            assert_eq!(reply.status, status, "{method} {code}: {}", reply.text());
            let document = problem(&reply);
            assert_eq!(document["sqlstate"], code);
            assert_eq!(document["detail"], "message of told", "{code}");
            assert_eq!(document["error_detail"], "detail of told", "{code}");
            assert_eq!(document["hint"], "hint of told", "{code}");
            assert_eq!(reply.header("retry-after").is_some(), status == 503, "{code}");
        }
    }

    let real = [
        ("POST", "/items", "id=1", 409, "23505"),
        ("POST", "/items", "id=2&parent=7", 409, "23503"),
        ("POST", "/items", "id=3&amount=-1", 400, "23514"),
        ("POST", "/items", "id=many", 400, "22P02"),
        ("GET", "/quotient/1/0", "", 400, "22012"),
        ("GET", "/hidden", "", 403, "42501"),
        ("GET", "/locked-away", "", 403, "42501"),
        ("GET", "/vault", "", 403, "42501"),
    ];
    for (method, path, form, status, code) in real {
        let form_type = [("Content-Type", "application/x-www-form-urlencoded")];
        let reply = platform.connect().request(method, path, &form_type, form.as_bytes());
        assert_eq!(
            (reply.status, &reply.json()["sqlstate"]),
            (status, &code.into()),
            "{path} {}",
            reply.text()
        );
        problem(&reply);
    }
    let null = platform.post("/items", "application/json", br#"{"id": 4, "name": null}"#);
    assert_eq!((null.status, problem(&null)["sqlstate"].as_str()), (400, Some("23502")), "{}", null.text());
    assert_eq!(platform.get("/nowhere").status, 404);
    problem(&platform.get("/nowhere"));

    assert!(platform.still_run(&pids), "a worker has ended");
}

#[test]
fn a_bad_parameter_is_named() {
    let platform = Platform::start();
    platform.sql(SCHEMA);
    platform.sql(
        "create domain even as int check (value % 2 = 0); create type mood as enum ('fine');
         create function typed(n int default 1, e even default 2, m mood default 'fine', u uuid default null,
           d date default null, r regclass default null, q tsquery default null, p jsonpath default null,
           i int[] default null, j jsonb default null, b bytea default null)
         returns text language sql stable return 'fine';
         select http.route('GET', '/typed', 'typed'); select http.route('POST', '/typed', 'typed')",
    );
    for bad in [
        "n=x",
        "n=99999999999",
        "e=3",
        "m=grumpy",
        "u=1",
        "d=2020-02-30",
        "r=no_such_table",
        "q=%26%26",
        "p=%24%5B",
        "i=1&i=x",
        "i=%7B1",
        "j=%7B",
        "b=%5Cxzz",
    ] {
        let reply = platform.get(&format!("/typed?{bad}"));
        assert_eq!(reply.status, 400, "{bad}: {}", reply.text());
        let name = format!("parameter {}: ", &bad[..1]);
        let detail = problem(&reply)["detail"].as_str().expect("a detail").to_owned();
        assert!(detail.starts_with(&name), "{bad}: {detail}");
    }
    let deep = format!("{{\"j\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(platform.post("/typed", "application/json", deep.as_bytes()).status, 400);
    let deep = format!("{{\"j\": {}", "[".repeat(100_000));
    assert_eq!(platform.post("/typed", "application/json", deep.as_bytes()).status, 400);
    let missing = platform.get("/quotient/1/");
    assert_eq!(missing.status, 404);
    let missing = platform.post("/items", "application/json", b"{}");
    assert_eq!(missing.status, 400);
    assert!(problem(&missing)["detail"].as_str().is_some_and(|detail| detail.contains("id is missing")));
}

#[test]
fn details_are_shown_with_show_errors_alone_and_logged_always() {
    let platform = Platform::with(&[("howdah.show_errors", "off"), ("howdah.log_min_duration", "0")]);
    platform.sql(SCHEMA);

    let told = platform.connect().request("GET", "/fail/23505", &[("X-Request-Id", "mine-17")], b"");
    assert_eq!(told.header("x-request-id"), Some("mine-17"));
    let document = problem(&told);
    assert_eq!(document["detail"], "message of told");
    assert_eq!(
        (&document["error_detail"], &document["hint"]),
        (&serde_json::Value::Null, &serde_json::Value::Null)
    );

    let kept =
        platform.connect().request("GET", "/fail/XX000?note=kept", &[("X-Request-Id", "mine-18")], b"");
    assert_eq!((kept.status, problem(&kept).get("detail")), (500, None));
    let named = platform.get("/quotient/x/1");
    assert_eq!(problem(&named)["sqlstate"], "22P02");

    for path in ["/hidden", "/locked-away", "/vault"] {
        let refused = platform.connect().request("GET", path, &[("X-Request-Id", &format!("id{path}"))], b"");
        assert_eq!((refused.status, problem(&refused).get("detail")), (403, None));
        assert!(problem(&refused).get("hint").is_none());
    }
    let log = platform.log();
    for line in [
        "message of kept",
        "detail of kept",
        "hint of kept",
        "http request mine-18 from 127.0.0.1: GET /fail/XX000",
        "http request mine-17 from 127.0.0.1: GET /fail/23505 answered 409 in",
        "http request id/hidden from 127.0.0.1: GET /hidden answered 403 in",
        "grant select on table public.hidden to howdah_web",
        "grant execute on function public.locked_away() to howdah_web",
        "grant usage on schema vault to howdah_web",
    ] {
        assert!(log.contains(line), "the log lacks: {line}\n{log}");
    }
}

#[test]
fn every_answer_has_the_id_that_its_handler_and_the_log_have() {
    for inline in ["on", "off"] {
        let platform = Platform::with(&[
            ("howdah.inline", inline),
            ("howdah.inline_threshold", "100000"),
            ("howdah.log_min_duration", "0"),
            ("howdah.log_rate", "1000"),
        ]);
        platform.sql(SCHEMA);
        platform.sql(
            "create function whose() returns text language sql stable return (http.current_request()).id;
             select http.route('*', '/whose', 'whose');
             create function own() returns http.response language sql stable
               return http.response((http.current_request()).id, headers => array[http.header('X-Request-ID', 'own')]);
             select http.route('GET', '/own', 'own')",
        );
        let id = |reply: &Reply| {
            assert_eq!(reply.all_headers("x-request-id").len(), 1, "{}", reply.text());
            reply.header("x-request-id").unwrap_or_default().to_owned()
        };
        let mut connection = platform.connect();
        let mut client = Http2::open(platform.port);
        let mut seen = Vec::new();
        for _ in 0..20 {
            let replies = ["GET", "POST"].map(|method| connection.request(method, "/whose", &[], b""));
            let stream = client.get("/whose");
            for reply in [&replies[..], &[client.wait(stream)]].concat() {
                assert_eq!((reply.status, reply.text()), (200, id(&reply)), "inline {inline}");
                assert_eq!(id(&reply).len(), 16);
                seen.push(id(&reply));
            }
        }
        let ran = platform.count("http.stats where pattern = '/whose' and inline > 0");
        assert_eq!(ran == 1, inline == "on");
        let log = platform.log();
        for id in &seen {
            assert_eq!(log.matches(&format!("http request {id} from 127.0.0.1: ")).count(), 1, "{id}\n{log}");
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 60, "no id comes twice");
        for (method, path, status) in [
            ("GET", "/whose", 200),
            ("HEAD", "/whose", 200),
            ("OPTIONS", "/items", 204),
            ("OPTIONS", "*", 204),
            ("GET", "/fail/XX000", 500),
            ("GET", "/nothing", 404),
            ("GET", "/items", 405),
            ("GET", "/%", 400),
        ] {
            let reply = platform.connect().request(method, path, &[("X-Request-Id", "sent-1")], b"");
            assert_eq!((reply.status, &*id(&reply)), (status, "sent-1"), "{method} {path}");
        }
        // What a handler puts there is its own affair.
        assert_eq!(id(&platform.get("/own")), "own");
    }
}

#[test]
fn warnings_and_errors_in_the_log_say_which_request_it_was_wherever_it_ran() {
    for inline in ["on", "off"] {
        let platform = Platform::with(&[("howdah.inline", inline), ("howdah.inline_threshold", "100000")]);
        platform.sql(SCHEMA);
        platform.sql(
            "create function warn() returns text language plpgsql stable as
               $$ begin raise warning 'beware'; return 'warned'; end $$;
             select http.route('GET', '/warn', 'warn')",
        );
        let mut connection = platform.connect();
        for number in 0..20 {
            for path in ["/warn", "/fail/22012"] {
                let id = format!("{}-{number}", &path[1..5]);
                connection.request("GET", path, &[("X-Request-Id", &id)], b"");
                let context = format!("http request {id} from 127.0.0.1: GET {path}");
                assert_eq!(platform.log().matches(&context).count(), 1, "inline {inline}: {context}");
            }
        }
        for pattern in ["/warn", "/fail/{code}"] {
            let ran = platform.count(&format!("http.stats where pattern = '{pattern}' and inline > 0"));
            assert_eq!(ran == 1, inline == "on", "{pattern}");
        }
    }
}

#[test]
fn a_refusal_names_the_missing_grant_with_show_errors() {
    let platform = Platform::start();
    platform.sql(SCHEMA);
    for (path, grant) in [
        ("/hidden", "grant select on table public.hidden to howdah_web"),
        ("/locked-away", "grant execute on function public.locked_away() to howdah_web"),
        ("/vault", "grant usage on schema vault to howdah_web"),
    ] {
        let document = problem(&platform.get(path));
        assert!(document["hint"].as_str().is_some_and(|hint| hint.contains(grant)), "{path}: {document}");
        platform.sql(grant);
        assert_ne!(platform.get(path).status, 403 + u16::from(path == "/vault"), "{path} after its grant");
    }
    // The next thing that is missing is named in turn.
    let document = problem(&platform.get("/vault"));
    assert!(document["hint"].as_str().is_some_and(|hint| hint.contains("grant select on table vault.gold")));
}

#[test]
fn a_refusal_names_no_table_of_what_was_caught_before() {
    let platform = Platform::with(&[("howdah.min_executors", "1"), ("howdah.max_executors", "1")]);
    platform.sql(
        "create table payroll (a int); create role other;
         create function caught() returns text language plpgsql volatile as $$ begin
           begin perform * from payroll; exception when insufficient_privilege then null; end; return 'caught'; end $$;
         create function refuse(what text) returns text language plpgsql volatile as $$ begin
           raise insufficient_privilege using message = 'permission denied for ' || what; end $$;
         create function caught_then_refuse(what text) returns text language plpgsql volatile as $$ begin
           perform caught(); return refuse(what); end $$;
         select http.route('POST', '/caught', 'caught'), http.route('POST', '/refuse', 'refuse', role => 'other'),
           http.route('POST', '/both', 'caught_then_refuse', role => 'other')",
    );
    for path in ["/refuse?what=table+payroll", "/refuse?what=function+zzz", "/both?what=function+zzz"] {
        assert_eq!(platform.post("/caught", "text/plain", b"").text(), "caught");
        let refused = platform.post(path, "text/plain", b"");
        let document = problem(&refused);
        assert!(refused.status == 403 && document.get("hint").is_none(), "{path}: {document}");
    }
    assert!(!platform.log().contains("missing: grant"));
}

#[test]
fn requests_slower_than_log_min_duration_are_logged() {
    let platform = Platform::with(&[("howdah.log_min_duration", "300ms")]);
    platform.sql(
        "create function nap(seconds float) returns text language sql as 'select ''x'' from pg_sleep(seconds)';
         select http.route('GET', '/nap', 'nap')",
    );
    platform.connect().request("GET", "/nap?seconds=0", &[("X-Request-Id", "quick")], b"");
    platform.connect().request("GET", "/nap?seconds=0.35", &[("X-Request-Id", "slow")], b"");
    let log = platform.log();
    assert!(log.contains("http request slow from 127.0.0.1: GET /nap answered 200 in"), "{log}");
    assert!(!log.contains("http request quick"), "{log}");
}

#[test]
fn odd_answers_end_no_worker_and_store_nothing() {
    let platform = Platform::start();
    platform.sql(SCHEMA);
    let pids = platform.pids();
    for (status, expected) in [
        (200, 200),
        (299, 299),
        (451, 451),
        (520, 520),
        (599, 599),
        (100, 500),
        (101, 500),
        (199, 500),
        (600, 500),
        (999, 500),
        (0, 500),
        (-1, 500),
        (70_000, 500),
        (65_736, 500),
        (i32::MAX, 500),
        (i32::MIN, 500),
    ] {
        let mut connection = platform.connect();
        let reply = connection.request("GET", &format!("/answer?status={status}"), &[], b"");
        assert_eq!(reply.status, expected, "{status}: {}", reply.text());
        if expected == 500 {
            assert!(
                problem(&reply)["detail"].as_str().is_some_and(|d| d.contains("status")),
                "{}",
                reply.text()
            );
        }
        assert_eq!(connection.request("GET", "/answer?status=200", &[], b"").text(), "body");
    }
    for status in [204, 304] {
        let mut connection = platform.connect();
        let reply = connection.request("GET", &format!("/answer?status={status}"), &[], b"");
        assert_eq!((reply.status, reply.text()), (status, String::new()));
        assert_eq!(connection.request("GET", "/answer?status=200", &[], b"").text(), "body");
    }
    for header in [
        r#"{"name": "x-a", "value": "b\r\nset-cookie: forged"}"#,
        r#"{"name": "x-a", "value": "b\nc"}"#,
        r#"{"name": "x\r\ny", "value": "b"}"#,
        r#"{"name": "", "value": "b"}"#,
        r#"{"name": "sp ace", "value": "b"}"#,
        r#"{"name": "x-ü", "value": "b"}"#,
    ] {
        let reply = platform.post("/with-header", "application/json", header.as_bytes());
        assert_eq!(reply.status, 500, "{header}");
        assert_eq!(reply.header("set-cookie"), None);
    }
    for header in [
        r#"{"name": "Content-Length", "value": "1"}"#,
        r#"{"name": "Transfer-Encoding", "value": "chunked"}"#,
        r#"{"name": "x-null", "value": null}"#,
    ] {
        let mut connection = platform.connect();
        let reply = connection.request(
            "POST",
            "/with-header",
            &[("Content-Type", "application/json")],
            header.as_bytes(),
        );
        assert_eq!((reply.status, reply.text()), (200, "body".into()), "{header}");
        assert_eq!(reply.all_headers("content-length"), ["4"]);
        assert_eq!(reply.header("transfer-encoding"), None);
        assert_eq!(connection.request("GET", "/answer?status=200", &[], b"").text(), "body");
    }
    let broken = platform.post("/keep-then-break", "text/plain", b"");
    assert_eq!(broken.status, 500);
    assert_eq!(platform.value("select count(*) from parent where id = 77").as_deref(), Some("0"));
    assert!(platform.still_run(&pids), "a worker has ended");
}

#[test]
fn what_fails_because_of_others_runs_once_more_as_a_whole() {
    let platform = Platform::start();
    platform.sql(
        "create sequence tries; create sequence refusals; create table note (try bigint);
         grant all on tries, refusals, note to howdah_web;
         create function second_time(code text) returns text language plpgsql as $$
         declare try bigint := nextval('tries');
         begin
           insert into note values (try);
           if try % 2 = 1 then raise exception using errcode = code; end if;
           return try;
         end $$;
         select http.route('POST', '/second', 'second_time');
         create function never(code text) returns text language plpgsql as $$
         begin perform nextval('refusals'); raise exception using errcode = code; end $$;
         select http.route('POST', '/never', 'never')",
    );
    for (round, code) in ["40001", "40P01"].iter().enumerate() {
        let reply = platform.post(&format!("/second?code={code}"), "text/plain", b"");
        assert_eq!((reply.status, reply.text()), (200, (2 * round + 2).to_string()));
        let reply = platform.post(&format!("/never?code={code}"), "text/plain", b"");
        assert_eq!((reply.status, reply.header("retry-after").is_some()), (503, true));
    }
    assert_eq!(
        platform.value("select string_agg(try::text, ',' order by try) from note").as_deref(),
        Some("2,4")
    );
    assert_eq!(platform.value("select last_value from refusals").as_deref(), Some("4"));
}

#[test]
fn an_error_is_logged_with_its_own_statement_alone() {
    let platform = Platform::with(&[("howdah.min_executors", "1"), ("howdah.max_executors", "1")]);
    platform.sql(
        "create function fails() returns text language plpgsql as $$ begin raise 'it fails'; end $$;
         create function half(number integer) returns integer language sql immutable return number / 2;
         select http.route('POST', '/fails', 'fails'), http.route('POST', '/half', 'half')",
    );
    assert_eq!(platform.post("/fails", "text/plain", b"").status, 400);
    // Before its statement runs.
    assert_eq!(platform.post("/half?number=one", "text/plain", b"").status, 400);
    let log = platform.log();
    let (first, second) = log.split_once("invalid input syntax for type integer").expect("two errors");
    assert!(first.contains("STATEMENT:  select public.fails()"), "{first}");
    assert!(second.contains("POST /half") && !second.contains("STATEMENT"), "{second}");
}

#[test]
fn a_real_deadlock_ends_well_for_both() {
    let platform = Platform::with(&[("deadlock_timeout", "50ms"), ("howdah.min_executors", "4")]);
    platform.sql(
        "create table account (id int primary key, amount int); insert into account values (1, 0), (2, 0);
         grant all on account to howdah_web;
         create sequence come; grant all on come to howdah_web;
         create function move(a int, b int) returns text language plpgsql as $$
         begin
           update account set amount = amount + 1 where id = a;
           -- Until the other has its account, too.
           perform nextval('come');
           while (select last_value from come) < 2 loop perform pg_sleep(0.01); end loop;
           update account set amount = amount + 1 where id = b;
           return 'moved';
         end $$;
         select http.route('POST', '/move', 'move')",
    );
    let statuses: Vec<u16> = thread::scope(|scope| {
        let both = ["/move?a=1&b=2", "/move?a=2&b=1"].map(|path| {
            let platform = &platform;
            scope.spawn(move || platform.post(path, "text/plain", b"").status)
        });
        both.into_iter().map(|one| one.join().expect("an answer")).collect()
    });
    assert_eq!(statuses, [200, 200]);
    assert_eq!(platform.value("select string_agg(amount::text, ',') from account").as_deref(), Some("2,2"));
    assert!(platform.log().contains("deadlock detected"), "the two did not meet");
}

#[test]
fn waiting_too_long_for_a_lock_or_for_time_is_answered() {
    let platform = Platform::with(&[
        ("howdah.lock_timeout", "100ms"),
        ("howdah.request_timeout", "500ms"),
        ("howdah.min_executors", "3"),
    ]);
    platform.sql(
        "create table thing (id int); grant select on thing to howdah_web;
         create function things() returns bigint language sql stable as 'select count(*) from thing';
         select http.route('GET', '/things', 'things');
         create function nap(seconds float) returns text language sql as 'select ''x'' from pg_sleep(seconds)';
         select http.route('GET', '/nap', 'nap');
         create role hasty; alter role hasty set statement_timeout = '100ms';
         select http.route('GET', '/hasty', 'nap', role => 'hasty')",
    );
    let pids = platform.pids();
    let mut session = platform.session();
    let mut transaction = session.transaction().expect("a transaction");
    transaction.batch_execute("lock table thing").expect("a lock");
    let locked = platform.get("/things");
    assert_eq!((locked.status, problem(&locked)["sqlstate"].as_str()), (503, Some("55P03")));
    assert!(locked.header("retry-after").is_some());
    transaction.rollback().expect("the lock is released");
    assert_eq!(platform.get("/things").text(), "0");

    let slow = platform.get("/nap?seconds=30");
    assert_eq!(slow.status, 504, "{}", slow.text());
    let hasty = platform.get("/hasty?seconds=0.4");
    assert_eq!(hasty.status, 504, "{}", hasty.text());
    assert_eq!(platform.get("/hasty?seconds=0").status, 200);
    wait_for("the sleep is cancelled", || {
        platform.value("select count(*) from pg_stat_activity where wait_event = 'PgSleep'").as_deref()
            == Some("0")
    });
    assert!(platform.still_run(&pids), "a worker has ended");
}

#[test]
fn a_message_that_quotes_what_a_handler_has_read_is_not_for_clients() {
    let platform = Platform::with(&[("howdah.show_errors", "off")]);
    platform.sql(
        "create table diary (entry text);
         insert into diary values ('top secret');
         create function entry() returns int language plpgsql security definer as
           $$ begin return (select entry::int from diary); end $$;
         create function entry_of(n int) returns int language sql as 'select n';
         select http.route('POST', '/entry', 'entry'), http.route('POST', '/entry/{n}', 'entry_of')",
    );
    let quoted = platform.post("/entry", "text/plain", b"");
    assert_eq!((quoted.status, quoted.json()["sqlstate"].as_str()), (400, Some("22P02")));
    assert!(!quoted.text().contains("secret"), "{}", quoted.text());
    let sent = platform.post("/entry/mine", "text/plain", b"");
    assert!(sent.status == 400 && sent.text().contains("mine"), "{}", sent.text());
    platform.set("howdah.show_errors", "on");
    wait_for("it is shown", || platform.post("/entry", "text/plain", b"").text().contains("secret"));
}

#[test]
fn a_long_message_is_cut_for_the_client_alike_whether_it_is_in_the_log_or_not() {
    let message = |log_rate: &str| {
        let platform = Platform::with(&[("howdah.log_rate", log_rate)]);
        platform.sql(
            "create function shout(text) returns text language plpgsql as
             $$ begin raise '%', $1 using detail = 'because ' || $1, hint = 'after ' || $1; end $$;
             select http.route('POST', '/shout', 'shout')",
        );
        let value = "ä".repeat(100_000);
        let documents = [0, 1].map(|_| problem(&platform.post("/shout", "text/plain", value.as_bytes())));
        let [first, second] = documents.map(|document| {
            ["detail", "error_detail", "hint"].map(|name| document[name].as_str().expect(name).to_owned())
        });
        assert_eq!(first, second);
        assert!(
            first.iter().all(|text| text.ends_with("ä...") && (2000..2100).contains(&text.len())),
            "{first:?}"
        );
        assert_eq!(problem(&platform.post("/shout", "text/plain", b"short"))["detail"], "short");
        first
    };
    assert_eq!(message("0"), message("-1"));
}
