//! Taking a server out of service, restarting it and replacing its gateways: no request is lost and none runs twice.

use std::collections::HashSet;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;

use cluster::postgres::error::SqlState;
use cluster::{Life, Shutdown};
use howdah_tests::platform::wait_for;
use howdah_tests::{Connection, Platform, free_port};

const KEEP: &str = "
    create table kept (id bigint not null);
    create function keep(id bigint) returns void language plpgsql as
      $$ begin insert into kept values (id); end $$;
    create function hello() returns text language sql stable return 'hello';
    create function ready() returns http.response language sql stable
      return http.response(status => case when http.is_draining() then 503 else 200 end);
    grant insert on kept to howdah_web;
    select http.route('POST', '/keep/{id}', 'keep'), http.route('GET', '/hello', 'hello'),
      http.route('GET', '/ready', 'ready')";

/// Clients that send POSTs one after the other on connections that they keep, for as long as the server lets them.
#[derive(Default)]
struct Posters {
    next: AtomicUsize,
    over: AtomicBool,
    answered: Mutex<Vec<i64>>,
    /// Sent, and not answered.
    lost: Mutex<Vec<i64>>,
    others: Mutex<Vec<u16>>,
}

impl Posters {
    fn post(&self, port: u16) {
        while !self.over.load(SeqCst) {
            let Some(mut connection) = Connection::try_open(port) else {
                thread::yield_now();
                continue;
            };
            loop {
                let goes_on = self.post_one(&mut connection);
                if !goes_on || self.over.load(SeqCst) {
                    break;
                }
            }
        }
    }

    /// Whether the connection goes on.
    fn post_one(&self, connection: &mut Connection) -> bool {
        let id = self.next.fetch_add(1, SeqCst) as i64;
        let Some(reply) = connection.try_request("POST", &format!("/keep/{id}"), b"") else {
            self.lost.lock().unwrap().push(id);
            return false;
        };
        if reply.status == 204 {
            self.answered.lock().unwrap().push(id);
        } else {
            self.others.lock().unwrap().push(reply.status);
        }
        reply.header("connection") != Some("close")
    }

    fn count(&self) -> usize {
        self.answered.lock().unwrap().len()
    }

    /// Waits until so many more are answered.
    fn go_on(&self, more: usize) {
        let begin = self.count();
        wait_for("POSTs are answered", || self.count() >= begin + more);
    }

    /// Everything that was answered has been done once, and nothing else has been done.
    fn check(&self, platform: &Platform) {
        let rows = platform.session().query("select id from kept", &[]).unwrap();
        let kept: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
        let (answered, lost) = (self.answered.lock().unwrap(), self.lost.lock().unwrap());
        assert_eq!(*self.others.lock().unwrap(), [0; 0], "other answers");
        assert_eq!(*lost, [0; 0], "sent and not answered");
        assert_eq!(kept.len(), answered.len());
        assert_eq!(kept.into_iter().collect::<HashSet<_>>(), answered.iter().copied().collect());
    }
}

#[test]
fn a_server_is_drained_and_restarted_without_a_lost_or_doubled_post() {
    let mut platform = Platform::with(&[("howdah.gateways", "2"), ("max_worker_processes", "48")]);
    platform.sql(KEEP);
    let (posters, port) = (Posters::default(), platform.port);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| posters.post(port));
        }
        for _ in 0..2 {
            posters.go_on(200);
            let cut_off = platform.value("select http.drain()");
            assert_eq!(cut_off.as_deref(), Some("0"));
            assert_eq!(platform.value("select state from http.databases").as_deref(), Some("drained"));
            assert_eq!(platform.count("http.workers"), 0);
            platform.cluster.restart(Shutdown::Fast, Life::WithParent).unwrap();
        }
        posters.go_on(200);
        posters.over.store(true, SeqCst);
    });
    posters.check(&platform);
}

#[test]
fn gateways_are_replaced_without_a_lost_or_doubled_post() {
    let platform = Platform::with(&[("max_worker_processes", "48")]);
    platform.sql(KEEP);
    let (posters, port) = (Posters::default(), platform.port);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| posters.post(port));
        }
        for _ in 0..3 {
            posters.go_on(100);
            let before = platform.workers("gateway");
            assert_eq!(platform.value("select http.replace_gateways()").as_deref(), Some("1"));
            assert!(!platform.workers("gateway").contains(&before[0]));
        }
        posters.over.store(true, SeqCst);
    });
    posters.check(&platform);
}

/// Asks on a new connection; an error says how that failed.
fn ask(stream: io::Result<impl Read + Write>) -> Result<(), String> {
    let request = b"GET /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let mut stream = stream.map_err(|error| format!("connecting: {error}"))?;
    let mut answer = String::new();
    stream.write_all(request).map_err(|error| format!("sending: {error}"))?;
    stream.read_to_string(&mut answer).map_err(|error| format!("reading: {error} after {answer:?}"))?;
    if answer.starts_with("HTTP/1.1 200 ") { Ok(()) } else { Err(format!("answered: {answer:?}")) }
}

#[test]
fn nobody_is_refused_when_there_are_fewer_gateways() {
    let platform = Platform::with(&[("howdah.gateways", "2"), ("max_worker_processes", "48")]);
    platform.sql(KEEP);
    let folder = platform.cluster.socket().unwrap().to_str().unwrap().to_owned();
    platform.set("howdah.listen_addresses", &format!("127.0.0.1, {folder}"));
    let port = free_port();
    wait_for("the folder is allowed", || {
        platform.session().batch_execute(&format!("select http.listen({port}, '{folder}')")).is_ok()
    });
    let path = format!("{folder}/.s.howdah.{port}");
    wait_for("it listens on the UNIX socket", || UnixStream::connect(&path).is_ok());
    let (over, asked, failed) = (AtomicBool::new(false), AtomicUsize::new(0), Mutex::new(Vec::new()));
    let count = |answered: Result<(), String>| {
        asked.fetch_add(1, SeqCst);
        failed.lock().unwrap().extend(answered.err());
    };
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !over.load(SeqCst) {
                    count(ask(UnixStream::connect(&path)).map_err(|error| format!("UNIX socket, {error}")));
                }
            });
            scope.spawn(|| {
                while !over.load(SeqCst) {
                    count(
                        ask(TcpStream::connect(("127.0.0.1", platform.port)))
                            .map_err(|error| format!("TCP, {error}")),
                    );
                }
            });
        }
        for gateways in [1, 2, 1, 2, 1] {
            let begin = asked.load(SeqCst);
            platform.set("howdah.gateways", &gateways.to_string());
            wait_for("so many gateways", || {
                platform.workers("gateway").len() == gateways
                    && platform.count("http.workers where leaving") == 0
            });
            wait_for("requests are answered", || asked.load(SeqCst) > begin + 50);
        }
        platform.sql("select http.replace_gateways()");
        over.store(true, SeqCst);
    });
    assert_eq!(*failed.lock().unwrap(), [""; 0], "of {}", asked.load(SeqCst));
}

#[test]
fn a_drain_is_announced_first_and_can_be_taken_back() {
    let platform = Platform::start();
    platform.sql(KEEP);
    let mut idle = platform.connect();
    assert_eq!(idle.request("GET", "/ready", &[], b"").status, 200);
    thread::scope(|scope| {
        let draining = scope.spawn(|| platform.value("select http.drain('3 seconds')"));
        wait_for("a balancer is told", || platform.get("/ready").status == 503);
        wait_for("responses say so, too", || {
            let reply = platform.get("/hello");
            assert_eq!(reply.status, 200);
            reply.header("connection") == Some("close")
        });
        assert_eq!(idle.request("GET", "/hello", &[], b"").header("connection"), Some("close"));
        assert_eq!(draining.join().unwrap().as_deref(), Some("0"));
    });
    assert!(Connection::try_open(platform.port).is_none());
    assert_eq!(platform.value("select http.undrain()").as_deref(), Some("t"));
    platform.wait_until_served();
    assert_eq!(platform.get("/ready").status, 200);
    assert_eq!(platform.value("select http.undrain()").as_deref(), Some("f"));
}

#[test]
fn what_takes_longer_than_the_drain_timeout_is_cut_off_counted_and_rolled_back() {
    let platform = Platform::with(&[("howdah.drain_timeout", "300ms")]);
    platform.sql(KEEP);
    platform.sql(
        "create function keep_slowly() returns void language plpgsql as
           $$ begin insert into kept values (1); perform pg_sleep(60); end $$;
         select http.route('POST', '/slowly', 'keep_slowly')",
    );
    let mut connection = platform.connect();
    connection.send("POST", "/slowly", &[], b"");
    wait_for("it runs", || platform.running("POST /slowly") == 1);
    wait_for("it is shown", || {
        platform.value("select in_flight from http.databases").as_deref() == Some("1")
    });
    assert_eq!(platform.value("select http.drain('0')").as_deref(), Some("1"));
    assert!(connection.read_reply(false).is_none());
    assert_eq!(platform.count("kept"), 0);
}

#[test]
fn administrators_drain_and_requests_do_not() {
    let platform = Platform::start();
    platform.sql(
        "create role administrator login in role howdah_admin;
         create role anybody login;
         grant howdah_admin to howdah_web;
         create function stop_it() returns bigint language sql volatile return http.drain('0');
         select http.route('POST', '/stop', 'stop_it')",
    );
    let reply = platform.post("/stop", "text/plain", b"");
    assert_eq!((reply.status, reply.json()["sqlstate"].as_str()), (500, Some("55000")), "{}", reply.text());
    platform.sql("set role administrator; select http.replace_gateways(), http.undrain()");
    for call in ["http.drain()", "http.undrain()", "http.replace_gateways()"] {
        let error =
            platform.session().batch_execute(&format!("set role anybody; select {call}")).unwrap_err();
        assert_eq!(error.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE), "{call}");
    }
}

#[test]
fn a_server_that_was_drained_stops_without_a_fatal_line() {
    let mut platform = Platform::start();
    platform.sql(KEEP);
    assert_eq!(platform.get("/hello").status, 200);
    platform.sql("select http.drain('0')");
    platform.cluster.stop(Shutdown::Fast).unwrap();
    let log = platform.log();
    assert!(log.contains("database system is shut down"), "{log}");
    // A session of the test's may have ended so.
    assert!(!log.contains("FATAL:  terminating background worker"), "{log}");
}
