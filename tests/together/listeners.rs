//! Listeners: at commit, within bounds, and with what is wrong said to whoever asks.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

use howdah_tests::bounds;
use howdah_tests::{Connection, DATABASE, Platform, free_port, wait_for};

const ROUTES: &str = "
    create function hello() returns text language sql as $$select 'hello'$$;
    create function gate() returns text language plpgsql as
      $$ begin perform pg_advisory_xact_lock_shared(1); return 'passed'; end $$;
    select http.route('GET', '/hello', 'hello'), http.route('GET', '/gate', 'gate')";

#[test]
fn listeners_take_effect_at_commit_and_taken_ports_are_errors() {
    let platform = Platform::with(&[("howdah.databases", "app, other")]);
    platform.sql(ROUTES);
    listening_takes_effect_at_commit(&platform);
    a_port_of_another_process_is_an_error(&platform);
    a_port_of_another_database_is_an_error(&platform);
    a_port_of_another_cluster_is_an_error(&platform);
    what_fails_later_stands_in_the_view(&platform);
    the_setting_bounds_what_sql_may_bind(&platform);
    addresses_of_every_family_are_served(&platform);
    a_socket_of_another_process_is_an_error(&platform);
    a_socket_of_another_database_is_an_error(&platform);
}

fn listening_takes_effect_at_commit(platform: &Platform) {
    let port = free_port();
    let mut session = platform.session();
    session.batch_execute(&format!("begin; select http.listen({port})")).unwrap();
    // A request on the other port shows that the gateway has had its turn.
    assert_eq!(platform.get("/hello").text(), "hello");
    assert!(Connection::try_open(port).is_none(), "it listens before the commit");
    session.batch_execute("rollback").unwrap();
    assert_eq!(platform.get("/hello").text(), "hello");
    assert!(Connection::try_open(port).is_none(), "it listens after a rollback");

    let listen = format!("begin; select http.listen({port}); commit");
    session.batch_execute(&listen).unwrap();
    wait_for("it listens", || Connection::try_open(port).is_some());
    session.batch_execute(&listen).unwrap();
    assert_eq!(platform.count(&format!("http.listener where port = {port}")), 1);

    session.batch_execute(&format!("begin; select http.unlisten({port})")).unwrap();
    assert_eq!(Connection::open(port).request("GET", "/hello", &[], b"").text(), "hello");
    session.batch_execute("commit").unwrap();
    wait_for("it listens no more", || Connection::try_open(port).is_none());
    let again = platform.value(&format!("select http.unlisten({port})"));
    assert_eq!(again.as_deref(), Some("f"), "there was nothing to remove");
}

/// The message of the error that a statement raises.
fn error(platform: &Platform, database: &str, statement: &str) -> String {
    let mut session = platform.cluster.connect(database).unwrap();
    match session.batch_execute(statement) {
        Ok(()) => panic!("no error: {statement}"),
        Err(error) => error.as_db_error().map(|error| error.message().to_owned()).unwrap(),
    }
}

fn a_port_of_another_process_is_an_error(platform: &Platform) {
    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = stranger.local_addr().unwrap().port();
    let message = error(platform, DATABASE, &format!("select http.listen({port}, '127.0.0.1')"));
    assert!(message.contains(&port.to_string()) && message.contains("in use"), "{message}");
}

fn a_port_of_another_database_is_an_error(platform: &Platform) {
    platform.sql("create database other");
    let mut other = platform.cluster.connect("other").unwrap();
    other.batch_execute("create extension howdah").unwrap();
    let port = platform.port;
    for address in ["127.0.0.1", "localhost", ""] {
        let message = error(platform, "other", &format!("select http.listen({port}, '{address}')"));
        assert!(message.contains("the database app of this server"), "{message}");
    }
    let own = free_port();
    other.batch_execute(&format!("select http.listen({own}, '127.0.0.1')")).unwrap();
    wait_for("the other database listens", || Connection::try_open(own).is_some());
    let message = error(platform, DATABASE, &format!("select http.listen({own}, '127.0.0.1')"));
    assert!(message.contains("the database other of this server"), "{message}");
}

/// Both servers run as the same user, whom SO_REUSEPORT would let share the port unnoticed.
fn a_port_of_another_cluster_is_an_error(platform: &Platform) {
    let neighbour = Platform::start();
    let listen = format!("select http.listen({}, '127.0.0.1')", platform.port);
    let message = error(&neighbour, DATABASE, &listen);
    assert!(message.contains("in use"), "{message}");
    // Even a row written past the check takes nothing away.
    neighbour.sql(&format!("insert into http.listener values ({}, '127.0.0.1')", platform.port));
    let failed = format!("http.listeners where port = {} and error is not null", platform.port);
    wait_for("its view says so", || neighbour.count(&failed) == 1);
    for _ in 0..10 {
        assert_eq!(platform.get("/hello").text(), "hello");
    }
}

fn what_fails_later_stands_in_the_view(platform: &Platform) {
    let port = free_port();
    let mut session = platform.session();
    session.batch_execute(&format!("begin; select http.listen({port}, '127.0.0.1')")).unwrap();
    let stranger = TcpListener::bind(("127.0.0.1", port)).unwrap();
    session.batch_execute("commit").unwrap();
    let row = format!("select error from http.listeners where port = {port}");
    wait_for("the view has the error", || platform.value(&row).is_some_and(|error| error.contains("in use")));
    drop(stranger);
    wait_for("it listens", || Connection::try_open(port).is_some());
    let bound = "127.0.0.1 gateway";
    wait_for("the view has no error", || {
        let query = format!(
            "select l.bound || ' ' || w.kind from http.listeners l join http.workers w on w.pid = l.gateway
             where l.port = {port} and l.error is null"
        );
        platform.value(&query).as_deref() == Some(bound)
    });
    session.batch_execute(&format!("select http.unlisten({port})")).unwrap();
    wait_for("it listens no more", || Connection::try_open(port).is_none());
}

fn the_setting_bounds_what_sql_may_bind(platform: &Platform) {
    for address in ["0.0.0.0", "*", "::", "/tmp", "192.0.2.1", "no such host"] {
        let message = error(platform, DATABASE, &format!("select http.listen({}, '{address}')", free_port()));
        assert!(message.contains("howdah.listen_addresses"), "{address}: {message}");
    }
    for port in ["0", "-1", "65536", "null"] {
        error(platform, DATABASE, &format!("select http.listen({port})"));
    }
    platform.set("howdah.listen_addresses", "");
    wait_for("nothing listens", || Connection::try_open(platform.port).is_none());
    platform.set("howdah.listen_addresses", "localhost");
    wait_for("it listens again", || Connection::try_open(platform.port).is_some());
}

/// Lets SQL listen in the folder of the server's own sockets, and returns it.
fn allow_folder(platform: &Platform) -> String {
    let folder = platform.cluster.socket().unwrap().to_str().unwrap().to_owned();
    allow(platform, &format!("localhost, {folder}"));
    folder
}

fn allow(platform: &Platform, addresses: &str) {
    platform.set("howdah.listen_addresses", addresses);
    wait_for("the setting is in force", || {
        platform.value("show howdah.listen_addresses").as_deref() == Some(addresses)
    });
}

fn addresses_of_every_family_are_served(platform: &Platform) {
    let (port, folder) = (free_port(), allow_folder(platform));
    platform.sql(&format!("select http.listen({port})"));
    wait_for("it listens", || Connection::try_open(port).is_some());
    let path = format!("{folder}/.s.howdah.{port}");
    wait_for("it listens on the UNIX socket", || UnixStream::connect(&path).is_ok());
    expect_hello(UnixStream::connect(&path).unwrap());
    if TcpListener::bind("[::1]:0").is_ok() {
        expect_hello(TcpStream::connect(("::1", port)).unwrap());
    }
    platform.sql(&format!("select http.unlisten({port})"));
    wait_for("the UNIX socket is gone", || !Path::new(&path).exists());
}

fn a_socket_of_another_process_is_an_error(platform: &Platform) {
    let (port, folder) = (free_port(), allow_folder(platform));
    let path = format!("{folder}/.s.howdah.{port}");
    let listen = format!("select http.listen({port}, '{folder}')");
    let stranger = UnixListener::bind(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
    let message = error(platform, DATABASE, &listen);
    assert!(message.contains(&path) && message.contains("in use"), "{message}");
    assert_eq!(platform.count(&format!("http.listener where port = {port}")), 0);

    // What a process has left behind is nobody's.
    drop(stranger);
    platform.sql(&listen);
    wait_for("it listens on the UNIX socket", || UnixStream::connect(&path).is_ok());
    expect_hello(UnixStream::connect(&path).unwrap());
    platform.sql(&listen);
    platform.sql(&format!("select http.unlisten({port})"));
    wait_for("the UNIX socket is gone", || !Path::new(&path).exists());

    fs::write(&path, "no socket").unwrap();
    let message = error(platform, DATABASE, &listen);
    assert!(message.contains(&path) && message.contains("in use"), "{message}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "no socket");
    fs::remove_file(&path).unwrap();

    for (folder, reason) in [("/usr", "Permission denied"), ("/usr/no such folder", "No such file")] {
        allow(platform, &format!("localhost, {folder}"));
        let message = error(platform, DATABASE, &format!("select http.listen({port}, '{folder}')"));
        assert!(message.contains(folder) && message.contains(reason), "{message}");
    }
}

fn a_socket_of_another_database_is_an_error(platform: &Platform) {
    let (port, folder) = (free_port(), allow_folder(platform));
    let listen = format!("select http.listen({port}, '{folder}')");
    platform.sql(&listen);
    let path = format!("{folder}/.s.howdah.{port}");
    wait_for("it listens on the UNIX socket", || UnixStream::connect(&path).is_ok());
    let message = error(platform, "other", &listen);
    assert!(message.contains("the database app of this server"), "{message}");
}

/// What another process has is tried again after a second.
#[test]
fn an_address_that_the_gateways_themselves_had_is_bound_at_once() {
    let platform = Platform::with(&[("howdah.gateways", "2")]);
    let port = free_port();
    platform.sql(&format!("select http.listen({port})"));
    // What either of them had is bound at once; one that had nothing yet may find the other in its way.
    let both = format!("http.listeners where port = {port} and bound = '127.0.0.1' and error is null");
    wait_for("both listen", || platform.count(&both) == 2);
    let before = platform.log().len();
    for (addresses, bound) in [("*", "0.0.0.0"), ("localhost", "127.0.0.1")] {
        let begin = Instant::now();
        platform.set("howdah.listen_addresses", addresses);
        let here = format!("http.listeners where port = {port} and bound = '{bound}' and error is null");
        wait_for(bound, || platform.count(&here) == 2);
        bounds::LISTENER_FOLLOWS.check(begin.elapsed());
        assert!(Connection::try_open(port).is_some());
    }
    assert!(!platform.log()[before..].contains("howdah cannot listen"), "{}", platform.log());
}

#[test]
fn each_listener_shows_its_own_addresses_and_errors() {
    let platform = Platform::with(&[("howdah.gateways", "2")]);
    wait_for("both gateways", || platform.workers("gateway").len() == 2);
    let folder = platform.cluster.socket().unwrap().to_str().unwrap().to_owned();
    allow(&platform, &format!("127.0.0.1, {folder}"));
    let port = free_port();
    let socket = format!("{folder}/.s.howdah.{port}");
    let of_tcp = "127.0.0.1: 127.0.0.1 in 2, 0 errors".to_owned();
    let of_folder = format!("{folder}: {socket} in 2, 1 errors");
    let of_all = [": 127.0.0.1 in 2, 0 errors".to_owned(), format!(": {socket} in 2, 1 errors")];
    let shows = |expected: &[&String]| {
        wait_for(&format!("the view shows {expected:?}"), || {
            shown(&platform, port) == expected.iter().copied().cloned().collect()
        });
    };

    platform.sql(&format!("select http.listen({port}, '127.0.0.1'), http.listen({port}, '{folder}')"));
    shows(&[&of_tcp, &of_folder]);
    // A listener that wants what others have bound already.
    platform.sql(&format!("select http.listen({port})"));
    shows(&[&of_tcp, &of_folder, &of_all[0], &of_all[1]]);
    platform.sql(&format!("select http.unlisten({port}, '{folder}')"));
    shows(&[&of_tcp, &of_all[0], &of_all[1]]);
    // What is no longer wanted is no longer an error.
    allow(&platform, "127.0.0.1");
    shows(&[&of_tcp, &of_all[0]]);
}

/// What the view says of a port: for each listener and address, how many gateways and how many errors.
fn shown(platform: &Platform, port: u16) -> BTreeSet<String> {
    let query = format!(
        "select format('%s: %s in %s, %s errors', address, bound, count(distinct gateway), count(error))
         from http.listeners where port = {port} group by address, bound"
    );
    platform.session().query(&query, &[]).unwrap().iter().map(|row| row.get(0)).collect()
}

fn expect_hello(mut stream: impl Read + Write) {
    stream.write_all(b"GET /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\nhello"), "{answer}");
}

#[test]
fn what_runs_is_finished_within_the_drain_timeout() {
    let platform = Platform::with(&[
        ("howdah.gateways", "2"),
        ("howdah.lock_timeout", "60s"),
        ("howdah.drain_timeout", "20s"),
        ("howdah.min_executors", "5"),
        ("howdah.max_executors", "5"),
        ("howdah.route_share", "100"),
    ]);
    platform.sql(ROUTES);
    wait_for("both gateways", || platform.workers("gateway").len() == 2);
    let mut gatekeeper = platform.session();
    // As many as may run at the same time, and the others wait.
    let passing = |count: usize| -> Vec<Connection> {
        let mut connections: Vec<_> = (0..count).map(|_| platform.connect()).collect();
        connections.iter_mut().for_each(|connection| connection.send("GET", "/gate", &[], b""));
        wait_for("they run", || platform.running("GET /gate") == count.min(4) as i64);
        connections
    };

    gatekeeper.batch_execute("select pg_advisory_lock(1)").unwrap();
    let running = passing(3);
    platform.sql(&format!("select http.unlisten({})", platform.port));
    wait_for("it listens no more", || Connection::try_open(platform.port).is_none());
    gatekeeper.batch_execute("select pg_advisory_unlock(1)").unwrap();
    expect_passed(running);

    platform.sql(&format!("select http.listen({}, '127.0.0.1')", platform.port));
    let bound = "http.listeners where gateway is not null and error is null";
    wait_for("both gateways listen", || platform.count(bound) == 2);
    gatekeeper.batch_execute("select pg_advisory_lock(1)").unwrap();
    let running = passing(20);
    let holding = "http.workers where kind = 'gateway' and connections > 0";
    wait_for("both gateways hold connections", || platform.count(holding) == 2);
    platform.set("howdah.gateways", "1");
    wait_for("a gateway leaves", || platform.count("http.workers where kind = 'gateway' and leaving") == 1);
    assert_eq!(platform.running("GET /gate"), 4);
    gatekeeper.batch_execute("select pg_advisory_unlock(1)").unwrap();
    // Those of the gateway that stays could go on.
    for mut connection in running {
        assert_eq!(connection.read_reply(false).expect("what runs is finished").status, 200);
    }
    wait_for("the gateway is gone", || platform.workers("gateway").len() == 1);
    platform.wait_until_served();

    platform.set("howdah.drain_timeout", "300ms");
    wait_for("the setting is in force", || {
        platform.value("show howdah.drain_timeout").as_deref() == Some("300ms")
    });
    gatekeeper.batch_execute("select pg_advisory_lock(1)").unwrap();
    let mut running = passing(1);
    let begin = Instant::now();
    platform.sql(&format!("select http.unlisten({})", platform.port));
    assert!(running[0].read_reply(false).is_none(), "its time is over");
    assert!(begin.elapsed() >= Duration::from_millis(300));
    bounds::UNLISTEN_CUTS_OFF.check(begin.elapsed());
    wait_for("its query is cancelled", || platform.running("GET /gate") == 0);
}

fn expect_passed(connections: Vec<Connection>) {
    for mut connection in connections {
        let reply = connection.read_reply(false).expect("what runs is finished");
        assert_eq!((reply.status, reply.text()), (200, "passed".into()));
        assert!(connection.is_closed(), "the connection goes on");
    }
}

#[test]
fn a_host_name_is_not_asked_for_again_while_an_address_cannot_be_bound() {
    // Not the name that is known without asking.
    let platform = Platform::with(&[("howdah.listen_addresses", "127.0.0.1, LOCALHOST")]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let fails = format!("http.listeners where port = {port} and error is not null");
    let gateway = platform.worker("gateway");
    // What the gateway reads in two tries, and more.
    let read_while_it_fails = |address: &str| {
        platform.sql(&format!("insert into http.listener values ({port}, '{address}')"));
        wait_for("it cannot be bound", || platform.count(&fails) == 1);
        let before = bytes_read(gateway);
        std::thread::sleep(Duration::from_millis(2500));
        bytes_read(gateway) - before
    };
    let without_a_name = read_while_it_fails("127.0.0.1");
    platform.sql(&format!("delete from http.listener where port = {port}"));
    wait_for("it is gone", || platform.count(&fails) == 0);
    let read = read_while_it_fails("LOCALHOST");
    let hosts = std::fs::metadata("/etc/hosts").unwrap().len();
    assert!(
        read < without_a_name + hosts,
        "{read} bytes were read, {without_a_name} without a name: each look at the names takes {hosts} and more"
    );
    drop(taken);
    wait_for("it is tried again", || Connection::try_open(port).is_some());
    // Another name, and the setting, are looked up at once.
    platform.set("howdah.listen_addresses", "127.0.0.1, LocalHost");
    let other = free_port();
    platform.sql(&format!("insert into http.listener values ({other}, 'LocalHost')"));
    wait_for("it is served", || Connection::try_open(other).is_some());
}

/// Bytes that a process has read so far.
fn bytes_read(pid: i32) -> u64 {
    let io = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap();
    let line = io.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
    line.parse().unwrap()
}

#[test]
fn a_name_that_cannot_be_resolved_is_shown_and_keeps_nothing_else_from_listening() {
    let platform = Platform::with(&[("howdah.listen_addresses", "no-such-host.invalid, 127.0.0.1")]);
    platform.sql(ROUTES);
    let port = free_port();
    platform.sql(&format!("select http.listen({port})"));
    wait_for("it listens", || Connection::try_open(port).is_some());
    let error =
        format!("select error from http.listeners where port = {port} and bound = 'no-such-host.invalid'");
    wait_for("the view says why", || platform.value(&error).is_some_and(|error| error.contains("resolved")));
    // An address that comes later does not wait for the name either.
    allow(&platform, "127.0.0.1, no-such-host.invalid");
    assert_eq!(Connection::open(port).request("GET", "/hello", &[], b"").text(), "hello");
    allow(&platform, "127.0.0.1");
    wait_for("nobody misses it", || platform.value(&error).is_none());
}
