//! Workers come, go and return: databases that are served, commands that need them empty, sizes.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use howdah_tests::bounds;
use howdah_tests::platform::SOON;
use howdah_tests::{DATABASE, Platform, wait_for};

/// Databases made and dropped beside idle workers: all that was promised takes half a minute.
const DATABASES: usize = if cfg!(feature = "long") { 200 } else { 20 };

/// The first column of the first row of a query in the database `postgres`, which nobody serves.
fn outside(platform: &Platform, query: &str) -> Option<String> {
    let mut session = platform.cluster.connect("postgres").expect("a session");
    let row = session.query_opt(query, &[]).unwrap_or_else(|error| panic!("{error:?}\n{query}"))?;
    row.get(0)
}

/// Runs a command in the database `postgres`.
fn command(platform: &Platform, text: &str) -> Result<(), String> {
    let mut session = platform.cluster.connect("postgres").expect("a session");
    session.batch_execute(text).map_err(|error| {
        error.as_db_error().map_or_else(|| error.to_string(), |error| error.message().to_owned())
    })
}

/// Process ids of the workers of a kind, by pg_stat_activity.
fn workers(platform: &Platform, kind: &str) -> Vec<String> {
    let query = format!(
        "select string_agg(pid::text, ' ' order by pid) from pg_stat_activity
          where backend_type = 'howdah {kind}'"
    );
    let pids = outside(platform, &query).unwrap_or_default();
    pids.split_whitespace().map(str::to_owned).collect()
}

/// Waits until the database has a gateway and two executors, and its port answers.
fn wait_for_all(platform: &Platform) {
    wait_for("a gateway and two executors", || {
        let complete = "select count(*) filter (where kind = 'gateway') = 1
                           and count(*) filter (where kind = 'executor') = 2
                          from http.workers where state = 'running' and not leaving";
        let session = platform.cluster.connect(DATABASE);
        session.is_ok_and(|mut session| session.query_one(complete, &[]).is_ok_and(|row| row.get(0)))
    });
    platform.wait_until_served();
    assert_eq!(platform.get("/nothing").status, 404);
}

fn log(platform: &Platform) -> String {
    std::fs::read_to_string(platform.cluster.log()).expect("the log")
}

/// How often the log says something.
fn logged(platform: &Platform, text: &str) -> usize {
    log(platform).matches(text).count()
}

#[test]
fn an_idle_platform_holds_back_no_vacuum_and_no_barrier() {
    let platform = Platform::start();
    wait_for_all(&platform);
    wait_for("no worker holds back xmin", || {
        let held = "select count(*)::text from pg_stat_activity
                     where backend_type like 'howdah%' and (backend_xmin is not null or backend_xid is not null)";
        outside(&platform, held).as_deref() == Some("0")
    });

    let mut session = platform.cluster.connect("postgres").expect("a session");
    for _ in 0..DATABASES {
        for text in ["create database other", "drop database other"] {
            let begin = Instant::now();
            session.batch_execute(text).expect(text);
            bounds::DATABASE_MADE_AND_DROPPED.check(begin.elapsed());
        }
    }
}

#[test]
fn commands_that_need_the_database_empty_succeed_under_load_and_the_workers_return() {
    let platform = Platform::start();
    let folder = platform.cluster.data().join("tablespace");
    let tablespace = format!(
        "copy (select) to program 'mkdir {0} && cat > /dev/null'; create tablespace other location '{0}'",
        folder.display()
    );
    for statement in tablespace.split("; ") {
        command(&platform, statement).expect("a tablespace");
    }
    let done = AtomicBool::new(false);
    let answered = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| load(&platform, &done, &answered));
        }
        for text in [
            "create database copy template app",
            "alter database app rename to renamed",
            "alter database renamed rename to app",
            "alter database app set tablespace other",
            "drop database app",
            "create database app template copy",
            "drop database app with (force)",
            "alter database copy rename to app",
        ] {
            let result = command(&platform, text);
            if result.is_err() {
                done.store(true, Ordering::Relaxed);
            }
            assert_eq!(result, Ok(()), "{text}");
        }
        let before = answered.load(Ordering::Relaxed);
        wait_for("requests are answered again", || answered.load(Ordering::Relaxed) > before + 20);
        done.store(true, Ordering::Relaxed);
    });
    wait_for_all(&platform);
}

/// Sends requests until told to stop; a connection that ends or is refused is replaced.
fn load(platform: &Platform, done: &AtomicBool, answered: &AtomicU32) {
    use std::io::{Read, Write};
    while !done.load(Ordering::Relaxed) {
        let Ok(mut stream) = std::net::TcpStream::connect(("127.0.0.1", platform.port)) else {
            std::thread::park_timeout(Duration::from_millis(5));
            continue;
        };
        stream.set_read_timeout(Some(SOON)).expect("a timeout");
        let request = b"POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";
        let mut answer = [0; 4096];
        while !done.load(Ordering::Relaxed)
            && stream.write_all(request).is_ok()
            && stream.read(&mut answer).is_ok_and(|length| length > 0)
        {
            answered.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
fn a_command_that_fails_or_is_refused_leaves_the_database_served() {
    let platform = Platform::start();
    wait_for_all(&platform);

    // The command itself fails, after the workers have left.
    let failure = command(&platform, "create database copy template app lc_collate 'nonsense'").unwrap_err();
    assert!(failure.ends_with("locale name: \"nonsense\""), "{failure}");
    wait_for_all(&platform);

    // Its session is ended while another one keeps the database from being empty.
    let occupant = platform.session();
    std::thread::scope(|scope| {
        let drop = scope.spawn(|| command(&platform, "drop database app"));
        let dropping = "from pg_stat_activity where query = 'drop database app' and pid <> pg_backend_pid()";
        wait_for("the workers have left", || {
            workers(&platform, "gateway").is_empty() && workers(&platform, "executor").is_empty()
        });
        outside(&platform, &format!("select pg_terminate_backend(pid)::text {dropping}"));
        assert!(drop.join().expect("the thread").is_err());
    });
    drop(occupant);
    wait_for_all(&platform);

    // Who may not do it interrupts nobody.
    let before = (workers(&platform, "gateway"), workers(&platform, "executor"));
    command(&platform, "create role stranger login createdb").expect("a role");
    let mut session = platform.cluster.connect("postgres").expect("a session");
    session.batch_execute("set session authorization stranger").expect("a role");
    for text in ["drop database app", "alter database app rename to other", "create database x template app"]
    {
        assert!(session.batch_execute(text).is_err(), "{text}");
    }
    assert_eq!((workers(&platform, "gateway"), workers(&platform, "executor")), before);
}

#[test]
fn with_too_few_worker_processes_it_serves_and_says_what_to_raise() {
    let platform = Platform::with(&[("max_worker_processes", "4")]);
    wait_for("a gateway and an executor", || {
        (workers(&platform, "gateway").len(), workers(&platform, "executor").len()) == (1, 1)
    });
    assert_eq!(platform.get("/nothing").status, 404);
    // Itself, the launcher of logical replication, two for parallel queries, a gateway, 2 to 16 executors.
    let advice = "max_worker_processes is 4, too few for all workers; set it to 21 or more (7 for the fewest";
    assert_eq!(logged(&platform, advice), 1, "{}", log(&platform));
    let hint = platform.value("select hint from http.sizes where setting = 'max_worker_processes'");
    assert_eq!(hint.as_deref(), Some("Set max_worker_processes to 21 or more and restart the server."));
}

#[test]
fn databases_are_served_as_soon_as_they_can_be_and_no_longer() {
    let platform = Platform::with(&[("howdah.databases", "app, second")]);
    let state =
        |name: &str| platform.value(&format!("select state from http.databases where name = '{name}'"));
    let wait_for_state = |name: &str, expected: &str| {
        wait_for(&format!("{name} is {expected}"), || state(name).as_deref() == Some(expected));
    };
    wait_for_state("second", "missing");
    assert_eq!(logged(&platform, "database \"second\" does not exist"), 1);

    command(&platform, "create database second").expect("a database");
    wait_for_state("second", "no extension");
    platform.cluster.execute("second", "create extension howdah").expect("the extension");
    wait_for_state("second", "serving");
    platform.cluster.execute("second", "drop extension howdah").expect("no extension");
    wait_for_state("second", "no extension");

    // What cannot be served is said once for each change, not at each look.
    command(&platform, "create database latin encoding latin1 locale 'C' template template0")
        .expect("a database");
    command(&platform, "alter system set howdah.databases = 'latin, app'").expect("a setting");
    command(&platform, "select pg_reload_conf()").expect("a reload");
    wait_for_state("latin", "wrong encoding");
    wait_for("second is listed no more", || state("second").is_none());
    assert_eq!(logged(&platform, "its encoding is not UTF8"), 1);
    assert_eq!(logged(&platform, "\"second\" has no extension howdah"), 2, "{}", log(&platform));
    assert_eq!(platform.get("/nothing").status, 404);
}

#[test]
fn executors_grow_in_number_while_requests_wait() {
    let platform = Platform::with(&[("howdah.max_executors", "6"), ("howdah.route_share", "100")]);
    platform.sql(
        "create function public.slow() returns text volatile language sql
           return (select 'slept' from (select pg_sleep(1.5)) as slept);
         select http.route('POST', '/slow', 'public.slow()')",
    );
    wait_for_all(&platform);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| assert_eq!(platform.post("/slow", "text/plain", b"").status, 200));
        }
        wait_for("more executors", || workers(&platform, "executor").len() > 3);
        // Those that are too many now answer what they run first.
        platform.set("howdah.max_executors", "2");
    });
    wait_for("no more than two executors", || workers(&platform, "executor").len() == 2);
    assert_eq!(platform.post("/slow", "text/plain", b"").status, 200);
}

/// How long executors above the minimum rest before they leave.
const REST: Duration = Duration::from_secs(60);

#[test]
fn executors_grow_to_the_maximum_and_no_further_and_go_back_after_their_rest() {
    let platform = Platform::with(&[("howdah.max_executors", "5"), ("howdah.route_share", "100")]);
    platform.sql(
        "create table locked (); grant select on locked to howdah_web;
         create function waits() returns bigint language sql volatile begin atomic select count(*) from locked; end;
         select http.route('POST', '/waits', 'waits()');
         alter role howdah_web set lock_timeout = '60s'",
    );
    wait_for_all(&platform);
    let mut locker = platform.session();
    locker.batch_execute("begin; lock table locked in access exclusive mode").expect("a lock");
    std::thread::scope(|scope| {
        let clients: Vec<_> =
            (0..8).map(|_| scope.spawn(|| platform.post("/waits", "text/plain", b"").status)).collect();
        wait_for("five executors run, or as many as one route may have", || {
            workers(&platform, "executor").len() == 5 && platform.running("POST /waits") >= 4
        });
        // Others wait, and the supervisor looks every 20 ms.
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(1) {
            assert_eq!(workers(&platform, "executor").len(), 5);
        }
        locker.batch_execute("rollback").expect("no lock any more");
        assert!(clients.into_iter().all(|client| client.join().expect("the thread") == 200));
    });
    let idle = Instant::now();
    if !cfg!(feature = "long") {
        assert_eq!(workers(&platform, "executor").len(), 5, "they rest first");
        return;
    }
    while idle.elapsed() < REST + SOON && workers(&platform, "executor").len() > 2 {
        std::thread::park_timeout(Duration::from_millis(500));
    }
    assert!(idle.elapsed() > REST / 2, "they have left at once");
    assert_eq!(workers(&platform, "executor").len(), 2);
    assert_eq!(platform.post("/waits", "text/plain", b"").status, 200);
}

#[test]
fn every_setting_has_the_prefix_and_nothing_else_may_have_it() {
    let platform = Platform::start();
    // What the library brings is in no category of PostgreSQL's own.
    let named = |like: &str| {
        platform.count(&format!("pg_settings where category = 'Customized Options' and name {like}"))
    };
    assert!(named("like 'howdah.%'") > 40);
    assert_eq!(named("!~ '^(howdah|plpgsql)[.]'"), 0);
    assert_eq!(platform.count("pg_settings where name like 'howdah%' and name not like 'howdah.%'"), 0);
    let mut session = platform.session();
    for scope in ["set", "alter role howdah_web set", "alter database app set", "alter system set"] {
        let error = session.batch_execute(&format!("{scope} howdah.nonsense = 1")).unwrap_err();
        let message = error.as_db_error().map_or("", |error| error.message());
        assert!(
            message.contains("parameter") && message.contains("\"howdah.nonsense\""),
            "{scope}: {error:?}"
        );
    }
    // They belong to the server.
    let error = session.batch_execute("set howdah.inline = off").unwrap_err();
    assert_eq!(error.code().map(|code| code.code()), Some("55P02"));
}
