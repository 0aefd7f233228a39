//! Lines of JSON over TCP into queues.

use std::io::Write;
use std::time::{Duration, Instant};

use howdah_tests::bounds;
use howdah_tests::shippers::{Intake, Shipper, bip, bips};
use howdah_tests::wait_for;
use serde_json::json;

#[test]
fn lines_become_rows() {
    let intake = Intake::start();
    plain_lines_are_stored(&intake);
    the_views_tell_of_it(&intake);
    every_cut_of_the_stream_gives_the_same_rows(&intake);
    lines_are_acknowledged(&intake);
    a_producer_resumes(&intake);
    an_older_epoch_is_fenced(&intake);
    a_hello_ends_older_epochs(&intake);
    bad_lines_are_named_and_their_neighbours_stored(&intake);
    what_is_foreign_is_closed(&intake);
    hellos_are_checked(&intake);
}

fn plain_lines_are_stored(intake: &Intake) {
    assert_eq!(intake.pour(&bips(1, 1000)), b"", "nothing is written to a plain connection");
    assert_eq!(intake.rows(), 1000, "all is committed when the server closes");
    assert_eq!(intake.take_all(), (1..=1000).collect::<Vec<_>>());
    // A connection that stays open is served, too.
    let mut stream = intake.connect();
    for number in 1..=3 {
        stream.write_all(bip(number).as_bytes()).unwrap();
        intake.wait_for_rows(number);
    }
    assert_eq!(intake.take_all(), [1, 2, 3]);
}

fn the_views_tell_of_it(intake: &Intake) {
    wait_for("the counts", || intake.view("stored").as_deref() == Some("1003"));
    let row = intake
        .view("concat_ws('|', queue, role, durability, received, rejected, refused, failing, error)")
        .unwrap();
    assert_eq!(row, "bips|howdah_web|commit|1003|0|0|f");
    assert_eq!(intake.view("way").as_deref(), Some("into the queue's segment"));
    let mut shipper = intake.hello("viewed", 7);
    shipper.send(&bips(1, 5));
    shipper.wait_for_ack(5);
    let seen =
        "select concat_ws('|', producer, epoch, sequence, received, stored, lag) from queue.connections";
    wait_for("the connection", || intake.platform.value(seen).as_deref() == Some("viewed|7|5|5|5|0"));
    drop(shipper);
    wait_for("it is gone", || intake.platform.count("queue.connections where producer = 'viewed'") == 0);
    intake.take_all();
}

fn every_cut_of_the_stream_gives_the_same_rows(intake: &Intake) {
    let stream = [b"\xef\xbb\xbf\n".as_slice(), &bips(1, 3), b"\r\n", bip(4).trim_end().as_bytes()].concat();
    for cut in (0..stream.len()).step_by(29) {
        let mut connection = intake.connect();
        connection.write_all(&stream[..cut]).unwrap();
        std::thread::sleep(Duration::from_millis(1));
        connection.write_all(&stream[cut..]).unwrap();
        connection.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(std::io::Read::read(&mut connection, &mut [0]).unwrap(), 0);
        assert_eq!(intake.take_all(), [1, 2, 3, 4], "cut at {cut}");
    }
}

fn lines_are_acknowledged(intake: &Intake) {
    let mut shipper = intake.hello("p1", 1);
    assert_eq!(shipper.sequence(), 0);
    assert_eq!(shipper.hello["v"], 1);
    assert!(shipper.hello["window"]["lines"].as_i64() > Some(0));
    shipper.send(&bips(1, 50));
    assert_eq!(shipper.wait_for_ack(50), [].as_slice() as &[serde_json::Value]);
    assert_eq!(intake.rows(), 50, "what is acknowledged is there");
    shipper.send(&bips(51, 60));
    shipper.finish();
    shipper.wait_for_ack(60);
    assert_eq!(shipper.read(), None, "the server closes when all is acknowledged");
    assert_eq!(intake.take_all(), (1..=60).collect::<Vec<_>>());
}

fn a_producer_resumes(intake: &Intake) {
    let mut shipper = intake.hello("p1", 1);
    assert_eq!(shipper.sequence(), 60, "over takes and reconnects");
    shipper.send(&bips(61, 61));
    shipper.wait_for_ack(61);
    let other = intake.hello("p2", 1);
    assert_eq!(other.sequence(), 0, "each producer has numbers of its own");
    assert_eq!(intake.take_all(), [61]);
}

fn an_older_epoch_is_fenced(intake: &Intake) {
    let mut old = intake.hello("p1", 1);
    let mut new = intake.hello("p1", 2);
    assert_eq!(new.sequence(), 61);
    new.send(&bips(62, 62));
    new.wait_for_ack(62);
    old.send(&bips(1000, 1000));
    let error = old.read().unwrap();
    assert_eq!(error["$error"]["code"], "55000", "{error}");
    assert_eq!(old.read(), None);
    let error = intake.try_hello(json!({"producer": "p1", "epoch": 1, "v": 1})).err().unwrap();
    assert_eq!(error["$error"]["code"], "55000", "{error}");
    assert_eq!(intake.take_all(), [62]);
}

/// Also if the older one sends first: its lines would take the numbers of the newer one's.
fn a_hello_ends_older_epochs(intake: &Intake) {
    let platform = &intake.platform;
    platform.sql("create table bip (userid bigint); grant insert on bip to howdah_web");
    let table = howdah_tests::free_port();
    platform.sql(&format!("select queue.listen({table}, into_table => 'bip', address => '127.0.0.1')"));
    wait_for("the port takes lines", || {
        platform.count(&format!("queue.listeners where port = {table} and bound is not null")) == 1
    });
    for port in [intake.lines, table] {
        // A producer that has sent nothing, and one that has.
        for (epoch, last) in [(1, 0), (3, 1)] {
            let hello = |epoch: i32| {
                let stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
                Shipper::greet(stream, json!({"producer": "twins", "epoch": epoch, "v": 1})).unwrap()
            };
            let (mut old, mut new) = (hello(epoch), hello(epoch + 1));
            assert_eq!((old.sequence(), new.sequence()), (last, last));
            old.send(b"{\"userid\": 1}\n");
            let error = old.read().unwrap();
            assert_eq!(error["$error"]["code"], "55000", "{error}");
            new.send(b"{\"userid\": 2}\n");
            assert_eq!(new.wait_for_ack(last + 1), [].as_slice() as &[serde_json::Value]);
        }
    }
    assert_eq!(intake.take_all(), [2, 2]);
    assert_eq!(platform.value("select array_agg(userid)::text from bip").as_deref(), Some("{2,2}"));
    platform.sql(&format!("select queue.unlisten({table})"));
}

fn bad_lines_are_named_and_their_neighbours_stored(intake: &Intake) {
    let mut shipper = intake.hello("bad", 1);
    let long = format!("{{\"bip\":\"{}\"}}\n", "x".repeat(2 << 20));
    let lines = format!("{}\n{}nonsense\n{}{}", bip(1).trim_end(), bip(2), long, bip(3));
    shipper.send(lines.as_bytes());
    let before = shipper.wait_for_ack(5);
    let rejected: Vec<_> = before.iter().map(|line| &line["$reject"]).collect();
    assert_eq!(rejected.len(), 2, "{before:?}");
    assert_eq!((&rejected[0]["sequence"], &rejected[1]["sequence"]), (&json!(3), &json!(4)));
    assert!(rejected[1]["error"].as_str().unwrap().contains("long"), "{before:?}");
    assert_eq!(intake.take_all(), [1, 2, 3]);
    wait_for("the counts", || intake.view("rejected").as_deref() == Some("2"));
    let of_connection = "select rejected::text from queue.connections where producer = 'bad'";
    wait_for("its count", || intake.platform.value(of_connection).as_deref() == Some("2"));
}

fn what_is_foreign_is_closed(intake: &Intake) {
    let before: i64 = intake.view("refused").unwrap().parse().unwrap();
    assert_eq!(intake.pour(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n{\"userid\":1}\n"), b"");
    assert_eq!(intake.pour(b"[1]\n"), b"");
    wait_for("both are counted", || intake.view("refused").unwrap().parse::<i64>().unwrap() == before + 2);
    assert!(intake.view("error").unwrap().contains("first byte"));
    assert_eq!(intake.rows(), 0);
}

fn hellos_are_checked(intake: &Intake) {
    let refused = |fields| intake.try_hello(fields).err().expect("a refusal")["$error"]["code"].clone();
    assert_eq!(refused(json!({"producer": "p", "v": 2})), "0A000");
    assert_eq!(refused(json!({"v": 1})), "22023");
    assert_eq!(refused(json!({"producer": "p", "v": 1, "queue": "other"})), "42704");
    assert!(intake.try_hello(json!({"producer": "p", "v": 1, "queue": "bips"})).is_ok());
}

#[test]
fn latency_is_small_when_idle() {
    let intake = Intake::start();
    let mut shipper = intake.hello("slow", 1);
    let begin = Instant::now();
    for number in 1..=20 {
        shipper.send(bip(number).as_bytes());
        shipper.wait_for_ack(number);
    }
    bounds::LINES_WHEN_IDLE.check(begin.elapsed());
}

#[test]
fn a_listener_keeps_lines_and_what_has_no_column() {
    let intake = Intake::start();
    intake.platform.sql(
        "create type t_event as (id int, whole jsonb, rest jsonb);
         select queue.create('events', 't_event')",
    );
    let events = Intake { lines: howdah_tests::free_port(), ..intake };
    events.platform.sql(&format!(
        "select queue.listen({}, 'events', address => '127.0.0.1', rest_column => 'rest', line_column => 'whole')",
        events.lines
    ));
    events.wait_until_bound();
    events.pour(b"{\"id\": 1, \"page\": \"/\"}\n");
    let kept = "select concat_ws(' ', id, whole, rest) from queue.take('events', 10, null::t_event)";
    let expected = "1 {\"id\": 1, \"page\": \"/\"} {\"page\": \"/\"}";
    assert_eq!(events.platform.value(kept).as_deref(), Some(expected));
}

#[test]
fn a_bucket_waits_for_more_lines_until_it_is_full_or_late() {
    const PATIENCE: Duration = Duration::from_millis(1500);
    let intake = Intake::with(&[], ", bucket_milliseconds => 1500, bucket_rows => 10");
    let mut shipper = intake.hello("p", 1);
    let mut acknowledged = |first: i64, last: i64| {
        let begin = Instant::now();
        shipper.send(&bips(first, last));
        shipper.wait_for_ack(last);
        begin.elapsed()
    };
    acknowledged(1, 1);
    // Not after a pause: it waits for others.
    let alone = acknowledged(2, 2);
    assert!(alone > PATIENCE.mul_f64(0.9), "{alone:?}");
    bounds::BUCKET_AFTER_PATIENCE.check(alone);
    let full = acknowledged(3, 12);
    bounds::FULL_BUCKET.check(full);
}

#[test]
fn a_gateway_holds_no_more_connections_than_it_may() {
    let intake = Intake::with(&[("howdah.max_ingest_connections", "2")], "");
    let mut held = [intake.connect(), intake.connect()];
    held.iter_mut().for_each(|stream| stream.write_all(&bips(1, 1)).unwrap());
    intake.wait_for_rows(2);
    assert_eq!(intake.pour(&bips(2, 2)), b"");
    wait_for("it is counted", || intake.view("refused").as_deref() == Some("1"));
    assert!(intake.view("error").unwrap().contains("howdah.max_ingest_connections"));
    assert_eq!(intake.rows(), 2);
    drop(held);
    wait_for("there is room again", || {
        intake.pour(&bips(3, 3));
        intake.rows() == 3
    });
}

#[test]
fn no_more_is_read_than_the_window_of_a_client_and_what_came_with_it() {
    let intake = Intake::start();
    let mut shipper = intake.try_hello(json!({"producer": "p", "v": 1, "window": 10})).unwrap();
    assert_eq!(shipper.hello["window"]["lines"], 10);
    let mut blocker = intake.platform.session();
    blocker.batch_execute("begin; lock queue.rows_1_1, queue.rows_1_2, queue.rows_1_3").unwrap();
    shipper.send(&bips(1, 20));
    wait_for("lines are read", || intake.view("received").as_deref() == Some("20"));
    shipper.send(&bips(21, 1000));
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(
        intake.view("received").as_deref(),
        Some("20"),
        "the client has as many under way as it wants"
    );
    blocker.batch_execute("rollback").unwrap();
    shipper.wait_for_ack(1000);
    assert_eq!(intake.take_all(), (1..=1000).collect::<Vec<_>>());
}

#[test]
fn lines_come_by_a_unix_socket() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let intake = Intake::with(&[("howdah.listen_addresses", &format!("127.0.0.1, {path}"))], "");
    intake.platform.sql(&format!("select queue.listen({}, 'bips', address => '{path}')", intake.lines));
    let socket = folder.path().join(format!(".s.howdah.{}", intake.lines));
    wait_for("the socket is there", || socket.exists());
    let mut stream = std::os::unix::net::UnixStream::connect(&socket).unwrap();
    stream.write_all(&bips(1, 3)).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(std::io::Read::read(&mut stream, &mut [0]).unwrap(), 0, "closed when all is committed");
    assert_eq!(intake.take_all(), [1, 2, 3]);
}

#[test]
fn a_sender_is_told_how_many_lines_were_neither_stored_nor_kept() {
    let intake = Intake::with(&[("howdah.queue_dead_letters", "10")], "");
    intake.platform.sql("select queue.serve()");
    let mut shipper = intake.hello("p", 1);
    assert!(shipper.send(&b"bad\n".repeat(1000)));
    let mut dropped = 0;
    loop {
        let said = shipper.read().expect("an acknowledgement");
        dropped += said["dropped"].as_i64().unwrap_or_default();
        if said["$ack"] == 1000 {
            break;
        }
    }
    // Those of SQL and HTTP count as one listener.
    let by_http = intake.platform.post("/queues/bips", "application/x-ndjson", &b"bad\n".repeat(15)).json();
    let put = "select dropped from queue.put_lines('bips', E'bad\\n{}\\nbad')";
    let by_sql = intake.platform.value(put);
    let kept = "select string_agg(count, ' ') from
        (select count(*)::text from queue.dead_letters group by listener order by listener) counts";
    assert_eq!(dropped, 990);
    // Who sends without a hello is told nothing, and the listener's owner sees it.
    intake.connect().write_all(&b"{bad\n".repeat(7)).unwrap();
    wait_for("they are counted", || intake.view("dropped").as_deref() == Some("997"));
    assert_eq!(intake.view("rejected").as_deref(), Some("1007"));
    assert_eq!((by_http["rejected"].as_i64(), by_http["dropped"].as_i64()), (Some(15), Some(5)));
    assert_eq!(by_sql.as_deref(), Some("2"));
    assert_eq!(intake.platform.value(kept).as_deref(), Some("10 10"));
}

#[test]
fn a_producer_that_has_used_all_numbers_is_told_so() {
    let intake = Intake::start();
    intake.platform.sql(&format!(
        "select queue.put('bips', array[]::t_bip[], 'p', 1, {0} - 1);
         select queue.put('bips', array[row(null, 1, 1, 1, 'b', 'u')::t_bip], 'p', 1, {0})",
        i64::MAX - 3
    ));
    let mut shipper = intake.hello("p", 1);
    shipper.send(&bips(2, 3));
    shipper.wait_for_ack(i64::MAX - 1);
    shipper.send(bip(4).as_bytes());
    assert_eq!(shipper.read().expect("a line")["$error"]["code"], "55000");
    let refused = intake.try_hello(json!({"producer": "p", "v": 1})).err().expect("a refusal");
    assert_eq!(refused["$error"]["code"], "55000", "{refused}");
    assert_eq!(intake.take_all(), [1, 2, 3]);
}
