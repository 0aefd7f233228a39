//! What goes wrong with lines over TCP: rights, tokens, networks, floods, stalls, listeners that go.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use howdah_tests::bounds;
use howdah_tests::shippers::{Intake, bip, bips};
use howdah_tests::wait_for;
use serde_json::json;

#[test]
fn a_listener_stores_nothing_that_its_role_may_not() {
    let intake = Intake::start();
    intake.platform.sql("create role clerk; grant clerk to current_user");
    intake.listen(", role => 'clerk'");
    let mut stream = intake.connect();
    stream.write_all(&bips(1, 3)).unwrap();
    wait_for("the view says so", || intake.view("failing").as_deref() == Some("t"));
    assert_eq!(intake.view("code").as_deref(), Some("42501"));
    assert!(intake.view("error").unwrap().contains("permission denied for queue bips"));
    assert_eq!(intake.rows(), 0);
    let refused = intake.try_hello(json!({"producer": "p", "v": 1})).err().unwrap();
    assert_eq!(refused["$error"]["code"], "42501", "{refused}");
    // What was received is kept, and stored as soon as that is possible.
    intake.platform.sql("select queue.grant('bips', 'send', 'clerk')");
    intake.wait_for_rows(3);
    wait_for("the view says so", || intake.view("failing").as_deref() == Some("f"));
    // A right that goes while a producer is connected ends its connection; nothing that was acknowledged is lost.
    let mut shipper = intake.hello("p", 1);
    intake.platform.sql("select queue.revoke('bips', 'send', 'clerk')");
    shipper.send(bip(4).as_bytes());
    assert_eq!(shipper.read().unwrap()["$error"]["code"], "42501");
    assert_eq!(intake.rows(), 3);
}

#[test]
fn tokens_and_networks_are_asked_for() {
    let intake = Intake::with(&[], ", token => 'open sesame'");
    let hello = |token: &str| json!({"producer": "p", "v": 1, "token": token});
    assert_eq!(intake.try_hello(hello("guess")).err().unwrap()["$error"]["code"], "28000");
    assert_eq!(intake.try_hello(json!({"producer": "p", "v": 1})).err().unwrap()["$error"]["code"], "28000");
    let mut shipper = intake.try_hello(hello("open sesame")).ok().unwrap();
    shipper.send(bip(1).as_bytes());
    shipper.wait_for_ack(1);
    assert_eq!(intake.pour(&bips(2, 9)), b"", "a plain client cannot bring a token");
    assert_eq!(intake.rows(), 1);
    assert_eq!(intake.platform.count("queue.listener where position('sesame' in listener::text) > 0"), 0);

    intake.listen(", allow => '{10.0.0.0/8, 192.168.1.1}'");
    wait_for("others are turned away", || {
        intake.pour(&bips(10, 19));
        intake.view("error").is_some_and(|error| error.contains("127.0.0.1"))
    });
    intake.take_all();
    intake.pour(&bips(20, 29));
    assert_eq!(intake.rows(), 0);
    intake.listen(", allow => '{10.0.0.0/8, 127.0.0.0/8}'");
    wait_for("they are let in", || {
        intake.pour(&bips(30, 30));
        intake.rows() > 0
    });
}

#[test]
fn listening_is_checked() {
    let intake = Intake::start();
    let error = |statement: String| {
        let error = intake.platform.session().batch_execute(&statement).expect_err(&statement);
        let raised = error.as_db_error().unwrap();
        format!("{} {}", raised.code().code(), raised.message())
    };
    let (http, lines) = (intake.platform.port, intake.lines);
    assert!(error(format!("select queue.listen({http}, 'bips')")).starts_with("55006"));
    assert!(error(format!("select http.listen({lines})")).starts_with("55006"));
    assert!(error("select queue.listen(0, 'bips')".into()).starts_with("22023"));
    assert!(error("select queue.listen(4000)".into()).starts_with("22023"));
    assert!(error("select queue.listen(4000, 'bips', into_table => 'pg_class')".into()).starts_with("22023"));
    assert!(error("select queue.listen(4000, 'nothing')".into()).starts_with("42704"));
    assert!(
        error("select queue.listen(4000, 'bips', address => '10.1.2.3')".into()).contains("listen_addresses")
    );
    assert!(error("select queue.listen(4000, 'bips', durability => 'never')".into()).starts_with("23514"));
    let allow_null = error("select queue.listen(4000, 'bips', allow => array[null]::cidr[])".into());
    assert!(allow_null.starts_with("22004"), "{allow_null}");
    assert!(error("select queue.listen(4000, 'bips', allow => null)".into()).starts_with("22004"));
    assert!(error("update queue.listener set allow = array[null]::cidr[]".into()).starts_with("23514"));
    let large = error("select queue.listen(4000, 'bips', bucket_bytes => 20000000)".into());
    assert!(large.starts_with("22023") && large.contains("howdah.request_memory"), "{large}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    assert!(error(format!("select queue.listen({port}, 'bips')")).starts_with("55006"));
    intake.platform.sql(
        "create role boss login in role howdah_admin; set session authorization boss;
         select queue.listen(4001, 'bips')",
    );
    let role = intake.platform.value("select role from queue.listener where port = 4001");
    assert_eq!(role.as_deref(), Some("howdah_web"), "a listener has not the rights of an admin by accident");
}

#[test]
fn listeners_and_queues_may_go() {
    let intake = Intake::start();
    let mut shipper = intake.hello("p", 1);
    let mut plain = intake.connect();
    plain.write_all(&bips(1, 2)).unwrap();
    shipper.send(&bips(3, 4));
    shipper.wait_for_ack(2);
    intake.wait_for_rows(4);
    intake.platform.sql(&format!("select queue.unlisten({})", intake.lines));
    assert_eq!(shipper.read().unwrap()["$error"]["code"], "57P01");
    assert_eq!(plain.read(&mut [0]).unwrap(), 0, "closed");
    wait_for("nobody listens", || TcpStream::connect(("127.0.0.1", intake.lines)).is_err());
    wait_for("its executors leave", || intake.platform.count("http.workers where lane = 'ingest'") == 0);
    assert_eq!(intake.platform.count("queue.listeners"), 0);

    intake.listen("");
    intake.wait_until_bound();
    let mut shipper = intake.hello("p", 1);
    assert_eq!(shipper.sequence(), 2);
    intake.platform.sql("select queue.drop_queue('bips')");
    shipper.send(&bips(5, 5));
    assert_eq!(shipper.read().unwrap()["$error"]["code"], "42704");
    let mut plain = intake.connect();
    plain.write_all(&bips(1, 2)).unwrap();
    wait_for("the view says so", || intake.view("failing").as_deref() == Some("t"));
    intake.platform.sql("select queue.create('bips', row_type => 't_bip')");
    intake.platform.sql("select queue.grant('bips', 'send', 'howdah_web')");
    intake.wait_for_rows(2);
    drop(plain);
}

#[test]
fn what_was_read_goes_where_the_listener_sent_it_then() {
    let intake = Intake::start();
    intake.platform.sql("select queue.create('others', row_type => 't_bip')");
    let mut shipper = intake.hello("p", 1);
    let mut plain = intake.connect();
    let mut blocker = intake.platform.session();
    blocker.batch_execute("begin; lock queue.rows_1_1, queue.rows_1_2, queue.rows_1_3").unwrap();
    shipper.send(&bips(1, 3));
    plain.write_all(&bips(4, 6)).unwrap();
    wait_for("lines are read", || intake.view("received").as_deref() == Some("6"));
    let port = intake.lines;
    intake.platform.sql(&format!("select queue.listen({port}, queue => 'others', address => '127.0.0.1')"));
    // Meanwhile they are tried again.
    wait_for("the lock is not to be had", || intake.view("code").as_deref() == Some("55P03"));
    std::thread::sleep(Duration::from_millis(500));
    blocker.batch_execute("rollback").unwrap();
    shipper.wait_for_ack(3);
    assert_eq!(shipper.read().unwrap()["$error"]["code"], "57P01");
    assert_eq!(plain.read(&mut [0]).unwrap(), 0, "closed");
    assert_eq!(intake.take_all(), [1, 2, 3, 4, 5, 6]);
    let mut shipper = intake.hello("p", 1);
    assert_eq!(shipper.sequence(), 0, "another queue has numbers of its own");
    shipper.send(&bips(7, 7));
    shipper.wait_for_ack(1);
    let others = "select queue_length from queue.metrics('others')";
    assert_eq!(intake.platform.value(others).as_deref(), Some("1"));
    // What changes neither the place nor who may connect ends no connection.
    intake.platform.sql(&format!(
        "select queue.listen({port}, queue => 'others', address => '127.0.0.1', durability => 'memory')"
    ));
    std::thread::sleep(Duration::from_millis(200));
    shipper.send(&bips(8, 8));
    shipper.wait_for_ack(2);
}

#[test]
fn what_was_read_is_stored_although_nobody_listens_any_more() {
    // The time to drain is for requests, which their clients know to be unanswered.
    let intake = Intake::with(&[("howdah.drain_timeout", "1s")], ", bucket_rows => 1");
    let mut blocker = intake.platform.session();
    blocker.batch_execute("begin; lock queue.rows_1_1, queue.rows_1_2, queue.rows_1_3").unwrap();
    let mut plain = intake.connect();
    plain.write_all(&bips(1, 50)).unwrap();
    // A bucket is under way, the next is full, and the other lines have no place yet.
    wait_for("lines are read", || intake.view("received").as_deref() == Some("2"));
    intake.platform.sql(&format!("select queue.unlisten({})", intake.lines));
    wait_for("nobody listens", || TcpStream::connect(("127.0.0.1", intake.lines)).is_err());
    std::thread::sleep(Duration::from_millis(2500));
    blocker.batch_execute("rollback").unwrap();
    intake.wait_for_rows(50);
    assert_eq!(plain.read(&mut [0]).unwrap(), 0, "closed");
}

#[test]
fn a_server_that_stops_waits_no_longer_than_it_may_for_lines_that_cannot_be_stored() {
    let mut intake = Intake::with(&[("howdah.drain_timeout", "1s")], "");
    intake.platform.sql("select queue.revoke('bips', 'send', 'howdah_web')");
    let mut plain = intake.connect();
    plain.write_all(&bips(1, 3)).unwrap();
    wait_for("the view says so", || intake.view("failing").as_deref() == Some("t"));
    intake.platform.sql(&format!("select queue.unlisten({})", intake.lines));
    wait_for("nobody listens", || TcpStream::connect(("127.0.0.1", intake.lines)).is_err());
    let begin = Instant::now();
    intake.platform.cluster.stop(cluster::Shutdown::Fast).unwrap();
    bounds::STOP_WITH_LINES.check(begin.elapsed());
}

#[test]
fn a_table_takes_lines() {
    let intake = Intake::start();
    intake.platform.sql("create table bip (userid bigint primary key, bip text)");
    let port = howdah_tests::free_port();
    intake.platform.sql(&format!("select queue.listen({port}, into_table => 'bip', address => '127.0.0.1')"));
    let tables = Intake { lines: port, ..intake };
    tables.wait_until_bound();
    let mut stream = tables.connect();
    stream.write_all(&bips(1, 5)).unwrap();
    wait_for("the view says so", || tables.view("code").as_deref() == Some("42501"));
    tables.platform.sql("grant insert on bip to howdah_web");
    wait_for("rows", || tables.platform.count("bip") == 5);
    assert_eq!(tables.view("way").as_deref(), Some("COPY"));
    let mut shipper = tables.hello("p", 1);
    shipper.send(&bips(5, 7));
    let rejected = shipper.wait_for_ack(3);
    assert_eq!(rejected.len(), 1, "{rejected:?}");
    assert_eq!(rejected[0]["$reject"]["code"], "23505");
    assert_eq!(rejected[0]["$reject"]["sequence"], 1);
    assert_eq!(tables.platform.count("bip"), 7);
    assert_eq!(tables.hello("p", 1).sequence(), 3);
    tables.platform.sql("drop table bip");
    shipper.send(&bips(8, 8));
    assert_eq!(shipper.read().unwrap()["$error"]["code"], "42P01");
    let refused = tables.try_hello(json!({"producer": "p", "v": 1})).err().unwrap();
    assert_eq!(refused["$error"]["code"], "42P01", "{refused}");
}

#[test]
fn buckets_fit_into_the_memory_that_there_is() {
    let intake = Intake::with(&[("howdah.request_memory", "8MB")], "");
    let stored = "select bucket_bytes::text from queue.listener";
    assert_eq!(intake.platform.value(stored).unwrap(), (1 << 20).to_string());
    intake.pour(&bips(1, 10));
    assert_eq!(intake.rows(), 10);
    let listen = format!("select queue.listen({}, 'bips', longest_line => 3000000)", intake.lines);
    let error = intake.platform.session().batch_execute(&listen).unwrap_err();
    let hint = error.as_db_error().unwrap().hint().unwrap();
    assert!(hint.contains("set howdah.request_memory to 12 MB and restart"), "{hint}");
    let roomy = Intake::start();
    assert_eq!(roomy.platform.value(stored).unwrap(), (4 << 20).to_string());
}

#[test]
fn a_bucket_that_no_message_can_carry_ends_its_connection() {
    let intake = Intake::with(&[("howdah.request_memory", "8MB")], ", bucket_bytes => 500000");
    intake.platform.sql("update queue.listener set longest_line = 20000000");
    wait_for("the new terms", || intake.hello("p", 1).hello["longest_line"] == 20_000_000);
    let mut shipper = intake.hello("p", 1);
    let sender = std::thread::spawn(move || {
        shipper.send(format!("{{\"bip\":\"{}\"}}\n", "x".repeat(10 << 20)).as_bytes());
        shipper.read().unwrap()
    });
    let error = sender.join().unwrap();
    assert_eq!(error["$error"]["code"], "54000", "{error}");
}

#[test]
fn requests_are_served_beside_buckets_that_wait() {
    let settings =
        [("howdah.max_requests", "16"), ("howdah.max_ingest_executors", "2"), ("howdah.lock_timeout", "60s")];
    let intake = Intake::with(&settings, "");
    intake.platform.sql(
        "create function quick() returns text language sql volatile return 'ok';
         select http.route('GET', '/quick', 'quick')",
    );
    let mut shippers: Vec<_> = (0..24).map(|number| intake.hello(&format!("p{number}"), 1)).collect();
    let mut blocker = intake.platform.session();
    blocker.batch_execute("begin; lock queue.rows_1_1, queue.rows_1_2, queue.rows_1_3").unwrap();
    shippers.iter_mut().for_each(|shipper| assert!(shipper.send(&bips(1, 1))));
    wait_for("lines are read", || intake.view("received").as_deref() == Some("24"));
    let mut browser = intake.platform.connect();
    for _ in 0..20 {
        let begin = Instant::now();
        assert_eq!(browser.request("GET", "/quick", &[], b"").status, 200);
        bounds::REQUEST_BESIDE_BLOCKED_LINES.check(begin.elapsed());
    }
    blocker.batch_execute("rollback").unwrap();
    shippers.iter_mut().for_each(|shipper| assert!(shipper.wait_for_ack(1).is_empty()));
    assert_eq!(intake.rows(), 24);
}

#[test]
fn a_listener_says_when_a_line_counts_as_committed() {
    let intake = Intake::start();
    // What the role says is not what the listener says, nor does a trigger have a say.
    intake.platform.sql(
        "alter role howdah_web set synchronous_commit = 'local';
         create table bip (userid bigint, seen text);
         grant insert on bip to howdah_web;
         create function look() returns trigger language plpgsql as $$ begin
           new.seen := current_setting('synchronous_commit');
           perform set_config('synchronous_commit', 'local', false);
           return new; end $$;
         create trigger look before insert on bip for each row execute function look();",
    );
    let tables = Intake { lines: howdah_tests::free_port(), ..intake };
    let port = tables.lines;
    for (number, (durability, value)) in
        (1..).zip([("commit", "on"), ("memory", "off"), ("remote_apply", "remote_apply"), ("commit", "on")])
    {
        tables.platform.sql(&format!(
            "select queue.listen({port}, into_table => 'bip', address => '127.0.0.1',
                                 durability => '{durability}', bucket_rows => 1)"
        ));
        tables.wait_until_bound();
        assert_eq!(tables.pour(&bips(number * 10, number * 10 + 1)), b"");
        let seen =
            format!("select string_agg(seen, ' ') from bip where userid between {number}0 and {number}9");
        assert_eq!(tables.platform.value(&seen).unwrap(), format!("{value} {value}"));
    }
}

#[test]
fn what_no_standby_has_is_not_acknowledged() {
    let intake = Intake::start();
    let mut shipper = intake.hello("p", 1);
    intake.platform.set("synchronous_standby_names", "nobody");
    let waiting = "pg_stat_activity where wait_event = 'SyncRep' and query like 'queue.listen%'";
    // The setting comes into force some time.
    let mut last = 0;
    wait_for("a commit waits", || {
        last += 1;
        shipper.send(&bips(last, last));
        std::thread::sleep(Duration::from_millis(100));
        intake.platform.count(waiting) == 1
    });
    let timeout = Some(Duration::from_millis(500));
    shipper.socket().set_read_timeout(timeout).unwrap();
    while shipper.read().is_some() {}
    let mut signals = ["pg_cancel_backend", "pg_terminate_backend"].into_iter().cycle();
    for _ in 0..4 {
        wait_for("the commit waits", || intake.platform.count(waiting) == 1);
        let signal = signals.next().unwrap();
        intake.platform.value(&format!("select string_agg({signal}(pid)::text, '') from {waiting}"));
        assert_eq!(shipper.read(), None, "after {signal}");
    }
    shipper.socket().set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    intake.platform.set("synchronous_standby_names", "");
    shipper.wait_for_ack(last);
    assert_eq!(intake.take_all(), (1..=last).collect::<Vec<_>>());
}

/// Resident memory of a process that is its own, in bytes.
fn memory(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

#[test]
fn stalls_and_floods_cost_bounded_memory_and_delay_nobody() {
    let intake = Intake::with(&[("howdah.ingest_memory", "16MB")], "");
    intake.platform.sql(
        "create function quick() returns text language sql stable return 'ok';
         select http.route('GET', '/quick', 'quick')",
    );
    let gateway = intake.platform.worker("gateway");
    let mut browser = intake.platform.connect();
    for _ in 0..50 {
        assert_eq!(browser.request("GET", "/quick", &[], b"").status, 200);
    }
    let before = memory(gateway);
    // Lines without an end, from clients that then fall silent.
    let stalled: Vec<TcpStream> = (0..40)
        .map(|_| {
            let mut stream = intake.connect();
            let _ = stream.write_all(&[b"{\"bip\":\"".as_slice(), &vec![b'x'; 900_000]].concat());
            stream
        })
        .collect();
    // Nothing can be written: floods fill what they may, and are read no more.
    let mut blocker = intake.platform.session();
    blocker.batch_execute("begin; lock queue.rows_1_1, queue.rows_1_2, queue.rows_1_3").unwrap();
    let floods: Vec<_> = (0..4)
        .map(|_| {
            let mut stream = intake.connect();
            stream.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
            let lines = bips(1, 1000);
            std::thread::spawn(move || (0..500).take_while(|_| stream.write_all(&lines).is_ok()).count())
        })
        .collect();
    let mut slowest = Duration::ZERO;
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(4) {
        let request = Instant::now();
        assert_eq!(browser.request("GET", "/quick", &[], b"").status, 200);
        slowest = slowest.max(request.elapsed());
        let grown = memory(gateway).saturating_sub(before);
        assert!(grown < 48 << 20, "the gateway has grown by {grown} bytes");
    }
    let sent: usize = floods.into_iter().map(|flood| flood.join().unwrap()).sum();
    assert!(sent < 2000, "a flood is held back");
    bounds::REQUEST_BESIDE_HELD_FLOODS.check(slowest);
    blocker.batch_execute("rollback").unwrap();
    wait_for("what was read is stored", || intake.rows() > 0);
    // A client that behaves is served beside those that stall.
    let mut shipper = intake.hello("quick", 1);
    shipper.send(bip(1).as_bytes());
    shipper.wait_for_ack(1);
    drop(stalled);
}

#[test]
fn requests_are_served_beside_a_flood() {
    let intake = Intake::start();
    intake.platform.sql(
        "create function quick() returns text language sql volatile return 'ok';
         select http.route('GET', '/quick', 'quick')",
    );
    let mut stream = intake.connect();
    let flood = std::thread::spawn(move || {
        let lines = bips(1, 10_000);
        for _ in 0..20 {
            stream.write_all(&lines).unwrap();
        }
    });
    let mut browser = intake.platform.connect();
    let mut times = Vec::new();
    while !flood.is_finished() {
        let begin = Instant::now();
        assert_eq!(browser.request("GET", "/quick", &[], b"").status, 200);
        times.push(begin.elapsed());
    }
    flood.join().unwrap();
    times.sort_unstable();
    let median = times[times.len() / 2];
    bounds::REQUEST_BESIDE_FLOOD.check(median);
    intake.wait_for_rows(200_000);
}
