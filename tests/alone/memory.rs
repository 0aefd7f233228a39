//! A million requests leave no process larger.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use howdah_tests::{Connection, Http2, Platform, Reply, wait_for};

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
    create function pause(seconds double precision) returns text language plpgsql as
      $$ begin perform pg_sleep(seconds); return 'paused'; end $$;
    create function upload(cover http.file) returns integer language sql as 'select length((cover).body)';
    create function conflict() returns text language plpgsql as
      $$ begin raise 'again' using errcode = '40001'; end $$;
    create function terminate() returns text language plpgsql security definer as
      $$ begin perform pg_terminate_backend(pg_backend_pid()), pg_sleep(1); return 'alive'; end $$;
    create role hurried;
    alter role hurried set statement_timeout = '10ms';
    select http.route('GET', '/users/{handle}', 'user_name'), http.route('POST', '/notes', 'note'),
           http.route('POST', '/again', 'again'), http.route('GET', '/fail', 'fail'),
           http.route('GET', '/large', 'large'), http.route('POST', '/size', 'size'),
           http.route('POST', '/temporary', 'temporary'), http.route('GET', '/pause/{seconds}', 'pause'),
           http.route('POST', '/upload', 'upload'), http.route('POST', '/conflict', 'conflict'),
           http.route('POST', '/terminate', 'terminate'), http.route('GET', '/late/{seconds}', 'pause', 'hurried'),
           http.handle('select http.response(name) from request join users on path = ''/'' || handle', 'users')";

const THREADS: u64 = 4;
/// Kilobytes by which a process may grow.
const GROWTH: i64 = 4096;

#[test]
fn a_million_requests_leave_no_process_larger() {
    let platform = Platform::with(&[
        ("howdah.min_executors", "3"),
        ("howdah.max_executors", "3"),
        ("howdah.queue_timeout", "1s"),
        ("howdah.request_timeout", "3s"),
    ]);
    platform.sql(ROUTES);
    let port = platform.port;
    send(port, 100_000);
    let before = memory(&platform);
    send(port, 900_000);
    expect_no_growth(&before, &memory(&platform));
    let workers = [platform.workers("gateway"), platform.workers("executor")].concat();
    assert_eq!(workers.len(), 4);
    assert!(workers.iter().all(|pid| before.contains_key(pid)), "a worker has been replaced");

    executors_end(&platform);
    let before = memory(&platform);
    (0..10).for_each(|_| executors_end(&platform));
    expect_no_growth(&before, &memory(&platform));
}

fn expect_no_growth(before: &Memory, after: &Memory) {
    for (pid, (title, size)) in after {
        let Some((_, earlier)) = before.get(pid) else { continue };
        let growth = size - earlier;
        println!("{title} ({pid}): {earlier} kB, then {growth:+} kB");
        assert!(growth < GROWTH, "{title} has grown by {growth} kB, from {earlier} kB");
    }
}

fn send(port: u16, requests: u64) {
    let sent = AtomicU64::new(0);
    thread::scope(|threads| {
        for _ in 0..THREADS {
            threads.spawn(|| {
                let mut client = Client { port, http1: Connection::open(port), http2: Http2::open(port) };
                loop {
                    let number = sent.fetch_add(1, Ordering::Relaxed);
                    if number >= requests {
                        return;
                    }
                    client.send(number);
                }
            });
        }
    });
}

/// Each executor ends while it runs a request, and another comes. At once only if the first has lived for a while.
fn executors_end(platform: &Platform) {
    let settled =
        "http.workers where kind = 'executor' and started < clock_timestamp() - interval '1 second'";
    wait_for("the executors have settled", || platform.count(settled) == 3);
    for _ in 0..3 {
        let reply = platform.post("/terminate", "text/plain", b"");
        assert_eq!(reply.status, 502, "{}", reply.text());
    }
    wait_for("other executors come", || platform.workers("executor").len() == 3);
}

/// A user with a connection of each protocol.
struct Client {
    port: u16,
    http1: Connection,
    http2: Http2,
}

impl Client {
    /// Mostly what applications do mostly, and now and then everything else.
    fn send(&mut self, number: u64) {
        let user = number % 1000 + 1;
        let (status, reply) = match number % 100 {
            0..9 => self.send_what_is_refused(number),
            9..20 => (204, self.post(&format!("/notes?name={number}"), TEXT, b"")),
            20..40 => match self.send_what_is_rare(number) {
                Some(answered) => answered,
                None => return,
            },
            40..45 => (200, self.get_by_http2(&format!("/users/user{user}"))),
            _ => (200, self.get(&format!("/users/user{user}"))),
        };
        assert_eq!(reply.status, status, "to request {number}: {}", reply.text());
    }

    fn send_what_is_refused(&mut self, number: u64) -> (u16, Reply) {
        match number % 9 {
            0 => (400, self.get("/fail")),
            1 => (409, self.post("/again", TEXT, b"")),
            2 => (404, self.get("/nobody")),
            3 => (404, self.get("/users/nobody")),
            4 => (404, self.get_by_http2("/users/nobody")),
            5 => (400, self.post("/notes?other=none", TEXT, b"")),
            6 => (400, self.post("/upload", FILES, b"--XX\r\nContent-Disposition: form-data")),
            7 => (503, self.post("/conflict", TEXT, b"")),
            _ => (405, self.http1.request("DELETE", "/fail", &[], b"")),
        }
    }

    /// None if there is no answer to look at.
    fn send_what_is_rare(&mut self, number: u64) -> Option<(u16, Reply)> {
        let answered = match number % 20 {
            0..2 => (200, self.get("/large")),
            2..4 => (200, self.get_by_http2("/large")),
            4..6 => (200, self.post("/size", TEXT, &[b'x'; 20_000])),
            6..8 => (204, self.post("/notes", FORM, format!("name={number}").as_bytes())),
            8..10 => (200, self.post("/upload", FILES, &file())),
            10 if number % 1000 == 30 => (204, self.post("/temporary", TEXT, b"")),
            11 if number % 1000 == 31 => (504, self.get("/late/1")),
            12 if number % 1000 == 32 => return self.leave(),
            13 if number % 1000 == 33 => return self.speak_nonsense(),
            14 if number % 100_000 == 34 => return self.crowd(),
            _ => (200, self.get(&format!("/user{}", number % 999 + 1))),
        };
        Some(answered)
    }

    fn get(&mut self, path: &str) -> Reply {
        self.http1.request("GET", path, &[], b"")
    }

    fn get_by_http2(&mut self, path: &str) -> Reply {
        let stream = self.http2.get(path);
        self.http2.wait(stream)
    }

    fn post(&mut self, path: &str, content_type: &str, body: &[u8]) -> Reply {
        self.http1.request("POST", path, &[("Content-Type", content_type)], body)
    }

    /// Leaves while requests run, and comes back.
    fn leave<T>(&mut self) -> Option<T> {
        self.http1.send("GET", "/pause/0.001", &[], b"");
        self.http2.get("/pause/0.001").reset();
        let _left_behind = self.http2.get("/pause/0.001");
        self.http1 = Connection::open(self.port);
        self.http2 = Http2::open(self.port);
        None
    }

    fn speak_nonsense<T>(&self) -> Option<T> {
        let mut connection = Connection::open(self.port);
        connection.send_bytes(b"NONSENSE\r\n\r\n");
        assert_eq!(connection.read_reply(false).map(|reply| reply.status), Some(400));
        None
    }

    /// Asks for more at a time than one route may have, and for longer than a request may take.
    fn crowd<T>(&self) -> Option<T> {
        let mut connections = [(); 4].map(|()| Connection::open(self.port));
        connections.iter_mut().for_each(|connection| connection.send("GET", "/pause/60", &[], b""));
        let answers: BTreeSet<_> =
            connections.iter_mut().map(|connection| connection.read_reply(false).unwrap().status).collect();
        assert_eq!(answers, BTreeSet::from([503, 504]));
        None
    }
}

const TEXT: &str = "text/plain";
const FORM: &str = "application/x-www-form-urlencoded";
const FILES: &str = "multipart/form-data; boundary=XX";

/// A form with a file.
fn file() -> Vec<u8> {
    let head = b"--XX\r\nContent-Disposition: form-data; name=\"cover\"; filename=\"c.png\"\r\n\r\n";
    [head.as_slice(), &[b'x'; 20_000], b"\r\n--XX--\r\n"].concat()
}

/// Of each process its title, and what it has of its own in kilobytes.
type Memory = BTreeMap<i32, (String, i64)>;

/// What each process has of its own, in kilobytes, once all are idle.
fn memory(platform: &Platform) -> Memory {
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
