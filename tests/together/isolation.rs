//! Nothing of one request reaches the next, although one process runs both.

use std::thread;

use howdah_tests::Platform;
use howdah_tests::platform::wait_for;

/// What a request leaves behind, and what the next one must see instead. `leave` runs as a command.
const LEFT: [(&str, &str, &str); 19] = [
    (
        "select set_config('my.session', 'left', false)",
        "coalesce(current_setting('my.session', true), '')",
        "",
    ),
    ("select set_config('my.local', 'left', true)", "coalesce(current_setting('my.local', true), '')", ""),
    ("set my.command = 'left'", "coalesce(current_setting('my.command', true), '')", ""),
    ("set work_mem = '99MB'", "current_setting('work_mem')", "4MB"),
    ("set session datestyle = 'German'", "current_date::text ~ '-'", "true"),
    ("set time zone 'Asia/Tokyo'", "current_setting('timezone') = 'Asia/Tokyo'", "false"),
    ("set search_path = left_behind", "current_setting('search_path')", "public, pg_temp"),
    ("set lock_timeout = '9s'", "current_setting('lock_timeout')", "2s"),
    ("set statement_timeout = '1ms'", "current_setting('statement_timeout')", "0"),
    (
        "set default_transaction_isolation = serializable",
        "current_setting('transaction_isolation')",
        "read committed",
    ),
    ("set transaction_isolation = 'read committed'", "current_setting('transaction_read_only')", "off"),
    ("create temp table left_table (i int)", "coalesce(to_regclass('left_table')::text, 'none')", "none"),
    (
        "create function pg_temp.left_function() returns int language sql as 'select 1'",
        "coalesce(to_regprocedure('pg_temp.left_function()')::text, 'none')",
        "none",
    ),
    ("prepare left_plan as select 1", "(select count(*) from pg_prepared_statements)::text", "0"),
    (
        "declare left_cursor cursor with hold for select 1",
        "(select count(*) from pg_cursors where name = 'left_cursor')::text",
        "0",
    ),
    ("select pg_advisory_lock(42)", "(select count(*) from pg_locks where locktype = 'advisory')::text", "0"),
    (
        "select pg_advisory_lock_shared(1, 2)",
        "(select count(*) from pg_locks where locktype = 'advisory')::text",
        "0",
    ),
    ("listen left_channel", "(select count(*) from pg_listening_channels())::text", "0"),
    ("select nextval('numbers')", "(select try_currval())", "none"),
];

#[test]
fn nothing_of_a_request_reaches_the_next_whether_it_succeeds_or_fails() {
    let platform = Platform::with(&[("howdah.min_executors", "1"), ("howdah.max_executors", "1")]);
    platform.sql(
        "create sequence numbers; grant all on numbers to howdah_web; grant temp on database app to howdah_web;
         create table counted (i int); grant all on counted to howdah_web;
         create function command(sql text, fail boolean default false) returns text language plpgsql as $$
         begin
           execute sql;
           if fail then raise exception 'as asked'; end if;
           return pg_backend_pid();
         end $$;
         create function look(sql text) returns text language plpgsql as $$
         declare result text; begin execute 'select ' || sql into result; return result; end $$;
         create function try_currval() returns text language plpgsql as $$
         begin return currval('numbers'); exception when object_not_in_prerequisite_state then return 'none'; end $$;
         select http.route('POST', '/command', 'command');
         select http.route('POST', '/look', 'look')",
    );
    let mut connection = platform.connect();
    let json = [("Content-Type", "application/json")];
    let mut ask = |path: &str, body: serde_json::Value| {
        let reply = connection.request("POST", path, &json, body.to_string().as_bytes());
        (reply.status, reply.text())
    };
    for (leave, look, expected) in LEFT {
        for fail in [false, true] {
            let (status, text) = ask("/command", serde_json::json!({"sql": leave, "fail": fail}));
            let refused = leave.starts_with("listen") || leave.starts_with("set statement_timeout");
            assert!(status == if fail { 400 } else { 200 } || refused, "{leave}: {status} {text}");
            let seen = ask("/look", serde_json::json!({"sql": look}));
            assert_eq!(seen, (200, expected.to_owned()), "after {leave}, failing: {fail}");
        }
    }
    // The second use of the same names must find nothing in its way.
    for (leave, ..) in LEFT {
        if leave.starts_with("create") || leave.starts_with("prepare") || leave.starts_with("declare") {
            assert_eq!(ask("/command", serde_json::json!({"sql": leave})).0, 200, "{leave} once more");
        }
    }
    // A lock left by a request would keep others out.
    assert_eq!(platform.value("select pg_try_advisory_lock(42)").as_deref(), Some("t"));
}

#[test]
fn nothing_of_a_request_in_the_gateway_reaches_the_next() {
    nothing_reaches_the_next("on");
    nothing_reaches_the_next("transaction");
}

fn nothing_reaches_the_next(inline: &str) {
    let platform = Platform::with(&[
        ("howdah.inline", inline),
        ("howdah.inline_threshold", "100000"),
        ("howdah.inline_deadline", "1s"),
    ]);
    platform.sql(
        "create role one; create role two;
         create sequence numbers; grant all on numbers to one, two;
         create function leave() returns text language plpgsql stable as $$
         begin
           perform set_config('my.setting', 'left', false), set_config('work_mem', '99MB', false),
             set_config('search_path', 'left', false), pg_advisory_lock(7), pg_advisory_lock_shared(8);
           return current_user || pg_backend_pid();
         end $$;
         create function leave_and_fail() returns text language plpgsql stable as $$
         begin perform leave(); raise exception 'as asked'; end $$;
         create function look() returns text language plpgsql stable as $$
         begin
           return concat_ws('|', current_user, current_setting('my.setting', true), current_setting('work_mem'),
             current_setting('search_path'),
             (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()),
             pg_backend_pid());
         end $$;
         create function become() returns text language plpgsql stable as $$
         begin perform set_config('role', 'two', false); return current_user; end $$;
         select http.route('GET', '/leave', 'leave', role => 'one');
         select http.route('GET', '/fail', 'leave_and_fail', role => 'one');
         select http.route('GET', '/become', 'become', role => 'one');
         select http.route('GET', '/look', 'look', role => 'two')",
    );
    let gateway = platform.value("select pid from http.workers where kind = 'gateway'").expect("a gateway");
    let mut connection = platform.connect();
    let mut get = |path: &str| connection.request("GET", path, &[], b"");
    let mut seen = false;
    for _ in 0..40 {
        for (path, status) in [("/leave", 200), ("/fail", 400), ("/become", 500)] {
            assert_eq!(get(path).status, status, "{path}");
            let look = get("/look").text();
            let (rest, pid) = look.rsplit_once('|').expect("a pid");
            // Another request's locks may still be seen only where it runs now: nowhere.
            assert!(
                ["two||4MB|public, pg_temp|0", "two|4MB|public, pg_temp|0"].contains(&rest),
                "after {path}: {look}"
            );
            seen |= pid == gateway;
        }
    }
    assert!(seen, "no request ran in the gateway");
    assert!(get("/leave").text().ends_with(&gateway));
    // Requests that one turn of the loop reads share a transaction.
    let mut pipelined = platform.connect();
    for _ in 0..20 {
        for path in ["/leave", "/look", "/fail", "/look"] {
            pipelined.send_bytes(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes());
        }
    }
    for round in 0..80 {
        let reply = pipelined.read_reply(false).expect("an answer");
        if round % 2 == 1 {
            let text = reply.text();
            assert!(text.starts_with("two|") && text.contains("4MB|public, pg_temp|0"), "{text}");
        }
    }
}

#[test]
fn a_write_in_a_get_is_refused_and_a_post_is_committed_before_its_response() {
    let platform = Platform::with(&[("howdah.min_executors", "1"), ("howdah.max_executors", "1")]);
    platform.sql(
        "create table parent (id int primary key);
         create table child (id int primary key, parent int references parent deferrable initially deferred);
         create sequence numbers;
         grant all on parent, child, numbers to howdah_web;
         create function add(id int) returns text language sql begin atomic
           insert into parent values (id) returning id::text; end;
         create function add_child(id int, parent int) returns text language sql begin atomic
           insert into child values (id, parent) returning pg_backend_pid()::text; end;
         create function add_in_plpgsql(id int) returns text language plpgsql as $$
         begin insert into parent values (id); return id; end $$;
         select http.route(method, '/parents/{id}', 'add') from unnest(array['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) method;
         select http.route('GET', '/plpgsql/{id}', 'add_in_plpgsql');
         select http.route('POST', '/children', 'add_child');
         create function next() returns text language sql as 'select nextval(''numbers'')::text';
         select http.route('GET', '/next', 'next'), http.route('PUT', '/next', 'next'), http.route('*', '/any', 'next');
         create function notify() returns text language plpgsql as $$
         begin create temp table t (i int); return 'x'; end $$;
         select http.route('GET', '/ddl', 'notify');
         select http.handle($$with made as (insert into parent select 1000 from request returning id)
           select http.response(id::text) from made$$, name => 'writes')",
    );
    let pids = platform.pids();
    let mut bystander = platform.connect();
    // What the path has besides GET and HEAD. A handler is asked for every method.
    let all = "DELETE, OPTIONS, PATCH, POST, PUT";
    for (path, others) in [
        ("/parents/1", all),
        ("/plpgsql/1", "OPTIONS"),
        ("/next", "OPTIONS, PUT"),
        ("/any", all),
        ("/handled", all),
    ] {
        for method in ["GET", "HEAD"] {
            let reply = platform.connect().request(method, path, &[], b"");
            assert_eq!(reply.status, 405, "{method} {path}: {}", reply.text());
            assert_eq!(reply.header("allow"), Some(others), "{method} {path}");
            if method == "GET" {
                assert!(reply.json()["detail"].as_str().is_some_and(|text| text.contains("needs POST")));
            }
        }
    }
    assert_eq!(platform.get("/ddl").status, 405);
    assert_eq!(platform.value("select count(*) from parent").as_deref(), Some("0"));

    let mut session = platform.session();
    let mut connection = platform.connect();
    for (id, method) in (1..).zip(["POST", "PUT", "PATCH", "DELETE"].repeat(25)) {
        let reply = connection.request(method, &format!("/parents/{id}"), &[], b"");
        assert_eq!((reply.status, reply.text()), (200, id.to_string()), "{method}");
        let row = session.query_one("select count(*) from parent where id = $1", &[&id]).expect("a row");
        assert_eq!(row.get::<_, i64>(0), 1, "{method} {id} is not there");
    }
    assert_eq!(platform.post("/handled", "text/plain", b"").text(), "1000");

    let good = platform.post("/children?id=1&parent=1", "text/plain", b"");
    assert_eq!(good.status, 200);
    let executor = good.text();
    for _ in 0..3 {
        let mut early = platform.connect();
        let late = platform.post("/children?id=2&parent=4711", "text/plain", b"");
        assert_eq!((late.status, late.json()["sqlstate"].as_str()), (409, Some("23503")), "{}", late.text());
        assert_eq!(platform.value("select count(*) from child").as_deref(), Some("1"));
        for connection in [&mut early, &mut bystander] {
            assert_eq!(connection.request("GET", "/parents/1", &[], b"").status, 405);
        }
    }
    assert_eq!(platform.post("/children?id=3&parent=1", "text/plain", b"").text(), executor);
    assert!(platform.still_run(&pids), "a worker has ended");
}

#[test]
fn a_worker_that_cannot_clean_up_ends_and_others_answer() {
    let platform = Platform::with(&[
        ("howdah.min_executors", "1"),
        ("howdah.max_executors", "1"),
        ("howdah.lock_timeout", "100ms"),
    ]);
    platform.sql(
        "grant temp on database app to howdah_web;
         create function makes_a_table() returns text language plpgsql as
           $$ begin create temp table left_table (i int); return 'made'; end $$;
         create function fails() returns text language plpgsql as $$ begin raise 'it fails'; end $$;
         create function harmless() returns text language plpgsql as $$ begin return 'fine'; end $$;
         select http.route('POST', '/makes', 'makes_a_table'), http.route('POST', '/fails', 'fails'),
           http.route('POST', '/harmless', 'harmless')",
    );
    let post = |path| platform.post(path, "text/plain", b"").status;
    assert_eq!(post("/makes"), 200);
    let mut holder = platform.session();
    for (path, status) in [("/fails", 400), ("/makes", 200), ("/fails", 400)] {
        // One that ends leaves its schema to another, which could not empty it.
        wait_for("one executor has made its table", || {
            platform.workers("executor").len() == 1 && post("/makes") == 200
        });
        let before = platform.workers("executor");
        // The schemas cannot be emptied while somebody holds them.
        holder
            .batch_execute(
                "begin; do $$ declare name text; begin
                   for name in select nspname from pg_namespace where nspname like 'pg\\_temp\\_%' loop
                     execute format('comment on schema %I is ''held''', name);
                   end loop; end $$",
            )
            .expect("a lock on the schemas");
        assert_eq!(post(path), status);
        // Nobody waits for what another has left.
        for _ in 0..5 {
            let reply = platform.post("/harmless", "text/plain", b"");
            assert_eq!(reply.status, 200, "after {path}: {}\n{}", reply.text(), platform.log());
        }
        assert_ne!(platform.workers("executor"), before, "after {path}");
        holder.batch_execute("rollback").expect("an end");
        assert_eq!(post("/makes"), 200);
    }
}

#[test]
fn an_executor_that_is_ended_while_it_cleans_up_has_answered_what_is_committed() {
    let platform = Platform::with(&[("howdah.max_executors", "1"), ("howdah.lock_timeout", "1min")]);
    platform.sql(
        "create table kept (id int);
         grant insert on kept to howdah_web; grant temporary on database app to howdah_web;
         create function keeps(id int) returns text language plpgsql as $$ begin
           create temporary table left_behind (i int); insert into kept values (id); return 'kept'; end $$;
         select http.route('POST', '/keep/{id}', 'keeps')",
    );
    let post = |id: i32| platform.post(&format!("/keep/{id}"), "text/plain", b"");
    assert_eq!(post(1).text(), "kept");
    let schema = platform.value("select nspname from pg_namespace where nspname like 'pg_temp_%'");
    let mut holder = platform.session();
    // The schema cannot be emptied while somebody holds it.
    let held = format!("begin; comment on schema {} is 'held'", schema.expect("a schema"));
    holder.batch_execute(&held).expect("a lock on the schema");
    let mut watcher = platform.session();
    let reply = thread::scope(|scope| {
        let poster = scope.spawn(|| post(2));
        let end = "select pg_terminate_backend(pid) from pg_stat_activity
                   where backend_type = 'howdah executor' and wait_event_type = 'Lock'";
        wait_for("it waits for the lock, and is ended", || {
            !watcher.query(end, &[]).expect("who waits").is_empty()
        });
        poster.join().expect("an answer")
    });
    assert_eq!((reply.status, reply.text().as_str()), (200, "kept"));
    assert_eq!(platform.count("kept"), 2);
    holder.batch_execute("rollback").expect("an end");
    wait_for("another executor answers", || post(3).status == 200);
}

/// Texts in statements that PL/pgSQL keeps are read once.
const READS: &str = "
    create or replace function opens() returns text stable language plpgsql as $$
    begin
      return (timestamptz '2026-12-01 00:00' at time zone 'UTC')::text || ' ' || (date '02/03/2026' - date '2026-01-01');
    end $$;";

#[test]
fn what_a_setting_has_made_of_a_text_is_not_the_next_requests() {
    let platform = Platform::with(&[
        ("howdah.min_executors", "1"),
        ("howdah.max_executors", "1"),
        ("howdah.inline_threshold", "100000"),
        ("howdah.inline_deadline", "1s"),
        ("TimeZone", "UTC"),
    ]);
    platform.sql(READS);
    platform.sql(
        "create function set_local(fail boolean default false) returns text language plpgsql stable as $$
         begin
           perform set_config('TimeZone', 'Asia/Tokyo', true), set_config('DateStyle', 'DMY', true), opens();
           if fail then raise exception 'as asked'; end if;
           return 'ok';
         end $$;
         create function set_all(fail boolean default false) returns text language plpgsql as $$
         begin
           set TimeZone = 'Asia/Tokyo'; set DateStyle = 'DMY';
           perform opens();
           if fail then raise exception 'as asked'; end if;
           return 'ok';
         end $$;
         select http.route(method, '/set_local', 'set_local'), http.route(method, '/opens', 'opens')
         from unnest(array['GET', 'POST']) method;
         select http.route('POST', '/set_all', 'set_all')",
    );
    let ask = |method: &str, path: &str| {
        let reply = platform.connect().request(method, path, &[], b"");
        (reply.status, reply.text())
    };
    for (method, path) in [("POST", "/set_local"), ("POST", "/set_all"), ("GET", "/set_local")] {
        for (fail, status) in [("false", 200), ("true", 400)] {
            for turn in 0..12 {
                // What was kept of it goes.
                platform.sql(READS);
                assert_eq!(ask(method, &format!("{path}?fail={fail}")).0, status, "{method} {path}");
                let opens = ask(method, "/opens");
                assert_eq!(opens, (200, "2026-12-01 00:00:00 33".into()), "{method} {path} {fail}, {turn}");
            }
        }
    }
    let inline = platform.value("select min(inline) from http.stats where method = 'GET'");
    assert_ne!(inline.as_deref(), Some("0"), "none ran in the gateway");
}

/// Names of types in a function that PL/pgSQL keeps are looked up once.
#[test]
fn a_type_that_a_request_has_made_and_that_is_gone_is_in_nobodys_function() {
    let platform = Platform::with(&[("howdah.min_executors", "1"), ("howdah.max_executors", "1")]);
    platform.sql(
        "grant temporary on database app to howdah_web;
         create schema first; grant usage, create on schema first to howdah_web;
         create domain amount as int;
         create function pay() returns text language plpgsql as
           $$ declare paid amount; begin paid := '03'; return paid; end $$;
         create function command(sql text, fail boolean default false) returns text language plpgsql as $$
         begin
           execute sql;
           perform pay();
           if fail then raise exception 'as asked'; end if;
           return 'ok';
         end $$;
         create function undo(sql text) returns text language plpgsql as $$
         begin
           begin perform command(sql, true); exception when raise_exception then null; end;
           return 'ok';
         end $$;
         select http.route('POST', '/' || name, 'public.' || name, search_path => 'first, public')
         from unnest(array['pay', 'command', 'undo']) name",
    );
    let post = |path: &str, body: &str| {
        let reply = platform.post(path, "application/x-www-form-urlencoded", body.as_bytes());
        (reply.status, reply.text())
    };
    // What runs first finds functions that are not compiled: their process is new, or their rows are.
    let anew = "alter function pay() cost 100";
    for (path, type_of, fail, status) in [
        ("/command", "pg_temp.amount", "false", 200),
        ("/command", "pg_temp.amount", "true", 400),
        ("/command", "first.amount", "true", 400),
        ("/undo", "pg_temp.amount", "false", 200),
        ("/undo", "first.amount", "false", 200),
    ] {
        platform.sql(anew);
        let fail = if path == "/undo" { String::new() } else { format!("&fail={fail}") };
        let (answered, text) = post(path, &format!("sql=create domain {type_of} as text{fail}"));
        assert_eq!(answered, status, "{path} {type_of}: {text}");
        for _ in 0..3 {
            assert_eq!(post("/pay", ""), (200, "3".into()), "{path} {type_of}{fail}");
        }
    }
}
