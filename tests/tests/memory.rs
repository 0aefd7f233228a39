//! A million requests leave no process larger.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use howdah_tests::{Connection, Platform, wait_for};

const ROUTES: &str = "
    create table users (handle text primary key, name text not null);
    insert into users select 'user' || n, 'Name ' || n from generate_series(1, 1000) n;
    create table events (name text);
    grant select, insert on users to howdah_web;
    grant insert on events to howdah_web;
    create function user_name(handle text) returns text language sql stable
      return (select name from users where users.handle = user_name.handle);
    create function note(name text default 'none', other integer default 0) returns void language sql
      as 'insert into events values (name)';
    create function again() returns void language sql as $$insert into users values ('user1', 'again')$$;
    create function fail() returns text language plpgsql as
      $$ begin raise 'failed: %', repeat('x', 1000); end $$;
    create function large() returns text language sql as $$select repeat('x', 100000)$$;
    create function size(bytea) returns integer language sql as 'select length($1)';
    create function temporary() returns void language plpgsql as
      $$ begin create temporary table mine (number integer); end $$;
    create function pause() returns text language plpgsql as
      $$ begin perform pg_sleep(0.001); return 'paused'; end $$;
    select http.route('GET', '/users/{handle}', 'user_name'), http.route('POST', '/notes', 'note'),
           http.route('POST', '/again', 'again'), http.route('GET', '/fail', 'fail'),
           http.route('GET', '/large', 'large'), http.route('POST', '/size', 'size'),
           http.route('POST', '/temporary', 'temporary'), http.route('GET', '/pause', 'pause'),
           http.handle('select http.response(name) from request join users on path = ''/'' || handle', 'users')";

const THREADS: u64 = 4;
/// Kilobytes by which a process may grow.
const GROWTH: i64 = 4096;

#[test]
fn a_million_requests_leave_no_process_larger() {
    let platform = Platform::with(&[("howdah.min_executors", "3"), ("howdah.max_executors", "3")]);
    platform.sql(ROUTES);
    let port = platform.port;
    send(port, 100_000);
    let before = memory(&platform);
    send(port, 900_000);
    let after = memory(&platform);
    for (pid, (title, size)) in &after {
        let Some((_, earlier)) = before.get(pid) else { continue };
        let growth = size - earlier;
        println!("{title} ({pid}): {earlier} kB, then {growth:+} kB");
        assert!(growth < GROWTH, "{title} has grown by {growth} kB, from {earlier} kB");
    }
    let workers = [platform.workers("gateway"), platform.workers("executor")].concat();
    assert_eq!(workers.len(), 4);
    assert!(workers.iter().all(|pid| before.contains_key(pid)), "a worker has been replaced");
}

fn send(port: u16, requests: u64) {
    let sent = AtomicU64::new(0);
    thread::scope(|threads| {
        for _ in 0..THREADS {
            threads.spawn(|| {
                let mut connection = Connection::open(port);
                loop {
                    let number = sent.fetch_add(1, Ordering::Relaxed);
                    if number >= requests {
                        return;
                    }
                    one(port, &mut connection, number);
                }
            });
        }
    });
}

/// Mostly what applications do mostly, and now and then everything else.
fn one(port: u16, connection: &mut Connection, number: u64) {
    let body = [b'x'; 20_000];
    let (status, reply) = match number % 100 {
        0 => (400, connection.request("GET", "/fail", &[], b"")),
        1 => (200, connection.request("GET", "/large", &[], b"")),
        2 => (200, connection.request("POST", "/size", &[], &body)),
        3 => (409, connection.request("POST", "/again", &[], b"")),
        4 => (404, connection.request("GET", "/nobody", &[], b"")),
        5 => (404, connection.request("GET", "/users/nobody", &[], b"")),
        6 => (400, connection.request("POST", "/notes?other=none", &[], b"")),
        7 => (405, connection.request("DELETE", "/fail", &[], b"")),
        8 => (200, connection.request("GET", &format!("/user{}", number % 999 + 1), &[], b"")),
        9..20 => (204, connection.request("POST", &format!("/notes?name={number}"), &[], b"")),
        20 if number % 1000 == 20 => (204, connection.request("POST", "/temporary", &[], b"")),
        21 if number % 1000 == 21 => return leave(port, connection),
        22 if number % 1000 == 22 => return speak_nonsense(port),
        _ => (200, connection.request("GET", &format!("/users/user{}", number % 1000 + 1), &[], b"")),
    };
    assert_eq!(reply.status, status, "to request {number}: {}", reply.text());
}

/// Leaves while a request runs, and comes back.
fn leave(port: u16, connection: &mut Connection) {
    connection.send("GET", "/pause", &[], b"");
    *connection = Connection::open(port);
}

fn speak_nonsense(port: u16) {
    let mut connection = Connection::open(port);
    connection.send_bytes(b"NONSENSE\r\n\r\n");
    assert_eq!(connection.read_reply(false).map(|reply| reply.status), Some(400));
}

/// What each process has of its own, in kilobytes, once all are idle.
fn memory(platform: &Platform) -> BTreeMap<i32, (String, i64)> {
    wait_for("all workers are idle", || {
        platform
            .count("pg_stat_activity where backend_type ~ 'howdah (gateway|executor)' and state <> 'idle'")
            == 0
    });
    let own = |pid: u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let line = status.lines().find(|line| line.starts_with("RssAnon:"))?;
        line.split_whitespace().nth(1)?.parse::<i64>().ok()
    };
    let processes = platform.cluster.processes();
    processes
        .into_iter()
        .filter_map(|process| Some((process.pid as i32, (process.title, own(process.pid)?))))
        .collect()
}
