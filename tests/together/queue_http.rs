//! Queues over HTTP: lines in, batches out, answers that wait.

use std::io::Write;
use std::time::{Duration, Instant};

use howdah_tests::bounds;
use howdah_tests::client::allow_as_many_files_as_possible;
use howdah_tests::{Connection, Platform, Reply, wait_for};
use serde_json::{Value, json};

const SCHEMA: &str = "
    create type bip as (userid bigint, bip text);
    select queue.create('bips', row_type => 'bip'), queue.create('mail'), queue.create('secret');
    select queue.grant(name, permission, 'howdah_web')
    from unnest(array['bips', 'mail']) name, unnest(array['send', 'take']) permission;
    select queue.serve();
    create function fast() returns text language sql stable return 'fast';
    select http.route('GET', '/fast', 'fast')";

fn platform() -> Platform {
    let platform = Platform::with(&[("howdah.min_executors", "2"), ("howdah.max_executors", "2")]);
    platform.sql(SCHEMA);
    platform
}

fn post(platform: &Platform, path: &str) -> Reply {
    platform.post(path, "text/plain", b"")
}

fn send(platform: &Platform, path: &str, lines: &str) -> Value {
    let reply = platform.post(path, "application/x-ndjson", lines.as_bytes());
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()
}

#[test]
fn lines_go_in_and_batches_come_out() {
    let platform = platform();
    lines_are_stored_and_bad_ones_named(&platform);
    compressed_bodies_are_inflated(&platform);
    a_producer_sends_nothing_twice(&platform);
    a_producer_out_of_turn_is_answered_with_409(&platform);
    a_large_body_is_stored_in_parts(&platform);
    a_batch_is_leased_until_it_is_acknowledged(&platform);
    a_batch_of_scattered_rows_comes_back_in_a_body(&platform);
    messages_are_read_as_well(&platform);
    rights_are_those_of_the_role(&platform);
    nonsense_is_refused(&platform);
}

fn lines_are_stored_and_bad_ones_named(platform: &Platform) {
    let answer = send(
        platform,
        "/queues/bips",
        "{\"userid\": 1, \"bip\": \"a\"}\n{\"userid\": \"x\"}\n\n{\"userid\": 2}",
    );
    assert_eq!(
        (&answer["received"], &answer["stored"], &answer["rejected"]),
        (&json!(3), &json!(2), &json!(1))
    );
    assert_eq!((&answer["errors"][0]["line"], &answer["errors"][0]["code"]), (&json!(2), &json!("22P02")));
    let taken = post(platform, "/queues/bips/take?qty=10").json();
    assert_eq!(taken["rows"], json!([{"userid": 1, "bip": "a"}, {"userid": 2, "bip": null}]));
    assert_eq!(post(platform, "/queues/bips/take").json(), json!({"rows": []}));
}

fn compressed_bodies_are_inflated(platform: &Platform) {
    let lines: String = (0..1000).map(|n| format!("{{\"userid\": {n}, \"bip\": \"the same\"}}\n")).collect();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(lines.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let zstd = zstd::encode_all(lines.as_bytes(), 3).unwrap();
    let ask = |encoding: &str, body: &[u8]| {
        platform.connect().request("POST", "/queues/bips", &[("Content-Encoding", encoding)], body)
    };
    for (encoding, body) in [("gzip", &gzip), ("zstd", &zstd)] {
        assert_eq!(ask(encoding, body).json()["stored"], json!(1000), "{encoding}");
        let cut = ask(encoding, &body[..body.len() / 2]);
        assert_eq!(cut.status, 400, "{encoding}: {}", cut.text());
    }
    let bomb = zstd::encode_all(&vec![b'\n'; 65 << 20][..], 3).unwrap();
    let reply = ask("zstd", &bomb);
    assert!(reply.status == 400 && reply.text().contains("max_inflated_body"), "{}", reply.text());
    // A decoder would need 16 MB for what stands in it so far back.
    let mut wide = zstd::Encoder::new(Vec::new(), 3).unwrap();
    wide.window_log(24).unwrap();
    wide.write_all(lines.as_bytes()).unwrap();
    let reply = ask("zstd", &wide.finish().unwrap());
    assert!(reply.status == 400 && reply.text().contains("memory"), "{}", reply.text());
    let unknown = ask("br", b"x");
    assert!(unknown.status == 415 && unknown.text().contains("gzip or zstd"), "{}", unknown.text());
    assert_eq!(ask("Identity", b"{\"userid\": 1}").json()["stored"], json!(1));
    assert_eq!(
        platform.value("select count(*) from queue.take('bips', 5000, null::bip)").as_deref(),
        Some("2001")
    );
}

fn a_producer_sends_nothing_twice(platform: &Platform) {
    let path = "/queues/bips?producer=meter&epoch=1&sequence=1";
    let lines = "{\"userid\": 7}\n{\"userid\": 8}\n";
    assert_eq!(send(platform, path, lines)["sequence"], json!(2));
    let again = send(platform, path, lines);
    assert_eq!((&again["stored"], &again["repeated"], &again["sequence"]), (&json!(0), &json!(2), &json!(2)));
    assert_eq!(post(platform, "/queues/bips/take").json()["rows"].as_array().unwrap().len(), 2);
}

fn a_producer_out_of_turn_is_answered_with_409(platform: &Platform) {
    let path =
        |epoch: i32, sequence: i64| format!("/queues/bips?producer=turns&epoch={epoch}&sequence={sequence}");
    send(platform, &path(2, 1), "{}\n");
    for (path, reason) in [(path(1, 2), "epoch 1 is over"), (path(2, 4), "line 4 comes after line 1")] {
        let reply = platform.post(&path, "application/x-ndjson", b"{}\n");
        assert_eq!((reply.status, reply.header("content-type")), (409, Some("application/problem+json")));
        assert!(reply.json()["detail"].as_str().unwrap().contains(reason), "{}", reply.text());
    }
    assert_eq!(send(platform, &path(2, 2), "{}\n")["sequence"], json!(2));
    assert_eq!(post(platform, "/queues/bips/take").json()["rows"].as_array().unwrap().len(), 2);
}

fn a_large_body_is_stored_in_parts(platform: &Platform) {
    // More lines than a part has, and bad ones in the second and third.
    let mut lines: Vec<String> = (0..50_000).map(|n| format!("{{\"userid\": {n}}}\n")).collect();
    lines[25_000] = "bad\n".into();
    lines[49_999] = "bad at the end".into();
    let answer = send(platform, "/queues/bips?producer=large&sequence=1", &lines.concat());
    assert_eq!((&answer["stored"], &answer["sequence"]), (&json!(49_998), &json!(50_000)));
    let named: Vec<_> = answer["errors"].as_array().unwrap().iter().map(|error| &error["line"]).collect();
    assert_eq!(named, [&json!(25_001), &json!(50_000)]);
    let bad = send(platform, "/queues/bips", &"bad\n".repeat(30_000));
    assert_eq!((&bad["rejected"], bad["errors"].as_array().map(Vec::len)), (&json!(30_000), Some(100)));
    let again = send(platform, "/queues/bips?producer=large&sequence=1", &lines.concat());
    assert_eq!((&again["stored"], &again["repeated"]), (&json!(0), &json!(50_000)));
    let taken = "select count(*) || ' ' || count(distinct userid) from queue.take('bips', 100000, null::bip)";
    assert_eq!(platform.value(taken).as_deref(), Some("49998 49998"));
}

fn a_batch_is_leased_until_it_is_acknowledged(platform: &Platform) {
    let lines: String = (0..30).map(|n| format!("{{\"userid\": {n}}}\n")).collect();
    send(platform, "/queues/bips", &lines);
    let first = post(platform, "/queues/bips/read?qty=10&vt=1+hour").json();
    let rows = first["rows"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[3]["row"]["userid"], &rows[3]["read_ct"]), (10, &json!(3), &json!(1)));
    let batch = first["batch"].as_str().unwrap();
    let second = post(platform, &format!("/queues/bips/read?qty=10&vt=2&ack={batch}")).json();
    assert_eq!(second["rows"][0]["row"]["userid"], json!(10), "{second}");
    let third = post(platform, "/queues/bips/read?qty=100").json();
    assert_eq!(third["rows"].as_array().unwrap().len(), 10);
    let acknowledged =
        post(platform, &format!("/queues/bips/ack?batch={}", third["batch"].as_str().unwrap()));
    assert_eq!(acknowledged.json(), json!({"acknowledged": 10}));
    // The second batch was not acknowledged, so it comes back; an answer that waits sees that without a commit.
    let begin = Instant::now();
    let again = post(platform, "/queues/bips/read?qty=100&wait=10+s").json();
    bounds::LEASE_ENDS_FOR_WHO_WAITS.check(begin.elapsed());
    assert_eq!((again["rows"].as_array().unwrap().len(), &again["rows"][0]["read_ct"]), (10, &json!(2)));
    post(platform, &format!("/queues/bips/ack?batch={}", again["batch"].as_str().unwrap()));
    assert_eq!(post(platform, "/queues/bips/read").json(), json!({"batch": null, "rows": []}));
}

/// The name of such a batch is longer than a request's target may be.
fn a_batch_of_scattered_rows_comes_back_in_a_body(platform: &Platform) {
    send(platform, "/queues/bips", &"{}\n".repeat(8000));
    let every_second = "select count(*) from queue.ack('bips', array(
        select msg_id from queue.read('bips', 8000, '0 seconds', null::bip) where msg_id % 2 = 0))";
    assert_eq!(platform.value(every_second).as_deref(), Some("4000"));
    let read = |query: &str, kind: &str, body: &str| {
        let reply = platform.post(&format!("/queues/bips/read?qty=2000{query}"), kind, body.as_bytes());
        (reply.status, reply.text())
    };
    let batch_of = |text: &str| {
        let answer: Value = serde_json::from_str(text).expect("an answer");
        answer["batch"].as_str().expect("a batch").to_owned()
    };
    let first = batch_of(&read("", "text/plain", "").1);
    assert_eq!(first.split(',').count(), 2000);
    assert_eq!(read(&format!("&ack={first}"), "text/plain", "").0, 414);
    let (status, second) = read("", "application/x-www-form-urlencoded", &format!("ack={first}"));
    assert_eq!(status, 200, "{second}");
    let body = json!({"batch": batch_of(&second)}).to_string();
    let acknowledged = platform.post("/queues/bips/ack", "application/json", body.as_bytes());
    assert_eq!(acknowledged.json(), json!({"acknowledged": 2000}));
    assert_eq!(post(platform, "/queues/bips/read").json(), json!({"batch": null, "rows": []}));
}

fn messages_are_read_as_well(platform: &Platform) {
    send(platform, "/queues/mail", "{\"to\": \"ada\"}\n{\"to\": \"bob\"}\n");
    let read = post(platform, "/queues/mail/read?qty=1").json();
    assert_eq!(read["rows"][0]["message"], json!({"to": "ada"}));
    let acknowledge = format!("/queues/mail/ack?batch={}", read["batch"].as_str().unwrap());
    assert_eq!(post(platform, &acknowledge).json(), json!({"acknowledged": 1}));
    assert_eq!(post(platform, "/queues/mail/take").json()["rows"][0]["message"], json!({"to": "bob"}));
}

fn rights_are_those_of_the_role(platform: &Platform) {
    for path in [
        "/queues/secret",
        "/queues/secret/read",
        "/queues/secret/ack?batch=1-1:1",
        "/queues/secret/take",
        "/queues/secret/read?wait=5+s",
    ] {
        assert_eq!(platform.post(path, "text/plain", b"{}\n").status, 403, "{path}");
    }
    assert_eq!(platform.value("select queue_length from queue.metrics('secret')").as_deref(), Some("0"));
}

fn nonsense_is_refused(platform: &Platform) {
    for path in [
        "/queues/bips/ack?batch=x",
        "/queues/bips/ack?batch=1-9999999999:1",
        "/queues/bips/ack?batch=1-2",
        "/queues/bips/ack?batch=1-2:",
        "/queues/bips/ack?batch=1-2:9999999999",
        "/queues/bips/ack?batch=1-60000000:1,900000000-1:1",
        "/queues/bips/ack?batch=1-5000:1,7000-13000:1",
        "/queues/bips/ack",
        "/queues/bips/read?qty=-1",
        "/queues/bips/read?qty=1000000",
        "/queues/bips/read?vt=never",
        "/queues/bips/read?vt=1+ms",
        "/queues/bips?producer=p&sequence=x",
        "/queues/bips?producer=p",
        "/queues/bips?producer=&sequence=1",
        "/queues/bips?producer=p&sequence=0",
        "/queues/bips?producer=p&sequence=-9223372036854775808",
        "/queues/bips?producer=p&sequence=9223372036854775807",
        "/queues/bips?producer=p&epoch=-1&sequence=1",
    ] {
        let reply = platform.post(path, "application/x-ndjson", b"{}\n{}\n");
        assert_eq!(reply.status, 400, "{path}: {}", reply.text());
    }
    // JSON's null is no way to take rows out by a read.
    send(platform, "/queues/bips", "{\"userid\": 1}\n");
    for body in [r#"{"vt": null, "wait": "1 second"}"#, r#"{"qty": null}"#] {
        let reply = platform.post("/queues/bips/read", "application/json", body.as_bytes());
        assert_eq!(reply.status, 400, "{body}: {}", reply.text());
    }
    assert_eq!(post(platform, "/queues/bips/take").json()["rows"].as_array().unwrap().len(), 1);
    for door in ["", "/read", "/ack?batch=1-2:1", "/take"] {
        assert_eq!(post(platform, &format!("/queues/none{door}")).status, 404, "{door}");
    }
}

#[test]
fn an_answer_that_waits_occupies_no_executor_and_comes_with_the_commit() {
    let platform = platform();
    let mut waiting: Vec<Connection> = (0..20)
        .map(|_| {
            let mut connection = platform.connect();
            connection.send("POST", "/queues/bips/read?qty=1&wait=30+s", &[], b"");
            connection
        })
        .collect();
    let is_idle = || platform.running("/read") == 0;
    wait_for("nobody runs", is_idle);
    let mut fast = platform.connect();
    for _ in 0..200 {
        let begin = Instant::now();
        assert_eq!(fast.request("GET", "/fast", &[], b"").text(), "fast");
        bounds::REQUEST_BESIDE_WAITING_ANSWERS.check(begin.elapsed());
    }
    let mut gone = platform.connect();
    gone.send("POST", "/queues/bips/read?qty=1&wait=30+s", &[], b"");
    drop(gone);
    for round in 0..20 {
        let begin = Instant::now();
        platform.sql(&format!("select queue.put('bips', row({round}, 'x')::bip)"));
        // Whoever it is that gets the row, it is one of them, and soon.
        let place = loop {
            let answered = waiting.iter_mut().position(|connection| connection.has_arrived());
            if let Some(place) = answered {
                break place;
            }
            bounds::ROW_REACHES_WHO_WAITS.check(begin.elapsed());
        };
        let answer = waiting.remove(place).read_reply(false).expect("an answer").json();
        assert_eq!(answer["rows"][0]["row"]["userid"], json!(round));
    }
}

#[test]
fn an_answer_comes_at_once_if_rows_are_free_behind_dead_ones() {
    let platform = platform();
    platform.sql(
        "update queue.queue set max_reads = 1 where name = 'mail';
         select count(*) from queue.send_batch('mail', array(select '\"dead\"'::jsonb from generate_series(1, 3000)));
         select count(*) from queue.read('mail', 0, 3000);
         select queue.send('mail', '\"free\"')",
    );
    let begin = Instant::now();
    let answer = post(&platform, "/queues/mail/read?qty=10&wait=30+s").json();
    bounds::READ_BEHIND_DEAD_LETTERS.check(begin.elapsed());
    assert_eq!(answer["rows"][0]["message"], json!("free"), "{answer}");
    assert_eq!(platform.count("queue.dead_letters"), 3000);
}

#[test]
fn an_answer_waits_no_longer_than_it_was_told() {
    let platform = platform();
    let begin = Instant::now();
    let answer = post(&platform, "/queues/bips/read?wait=1500+ms").json();
    assert_eq!(answer, json!({"batch": null, "rows": []}));
    let took = begin.elapsed();
    assert!(took >= Duration::from_millis(1500), "{took:?}");
    bounds::WAITS_AS_TOLD.check(took);
    // The executor that looked first may be gone meanwhile.
    let reads = || platform.value("select requests from http.stats where pattern like '%/read'");
    let (before, mut connection) = (reads(), platform.connect());
    connection.send("POST", "/queues/bips/read?wait=30+s", &[], b"");
    wait_for("it waits", || reads() != before);
    platform.sql("select pg_terminate_backend(pid) from http.workers where kind = 'executor'");
    platform.sql("select queue.put('bips', row(1, 'x')::bip)");
    assert_eq!(connection.read_reply(false).expect("an answer").json()["rows"][0]["row"]["userid"], json!(1));
}

#[test]
#[cfg_attr(not(feature = "long"), ignore = "it takes a minute: make test-long")]
fn an_answer_waits_a_minute_at_most() {
    let platform = platform();
    let begin = Instant::now();
    assert_eq!(post(&platform, "/queues/bips/read?wait=2+h").json(), json!({"batch": null, "rows": []}));
    assert!(begin.elapsed() >= Duration::from_secs(59), "{:?}", begin.elapsed());
}

#[test]
fn what_failed_and_ran_again_does_not_wait_for_what_it_has_found() {
    let platform = platform();
    platform.sql(
        "create sequence tries; grant all on tries to howdah_web;
         create function found_the_second_time() returns text language plpgsql as $$
         begin
           if nextval('tries') = 1 then
             perform queue.answer_later('mail', queue.arrivals('mail'), 20000);
             raise 'once more' using errcode = '40001';
           end if;
           return (select count(*) from queue.read('mail', 3600, 10));
         end $$;
         select http.route('POST', '/found', 'found_the_second_time');
         select queue.send('mail', '{}')",
    );
    assert_eq!(post(&platform, "/found").text(), "1");
    assert_eq!(platform.value("select last_value from tries").as_deref(), Some("2"));
}

#[test]
fn whoever_says_that_it_has_looked_at_another_time_is_not_sent_to_look_for_ever() {
    let platform = platform();
    platform.sql(
        "select queue.send_batch('mail', array['1', '2', '3']::jsonb[]);
         create sequence looks; grant usage on sequence looks to public;
         create function look(arrivals bigint, any_row boolean) returns bigint language sql as
           $$ select queue.answer_later('mail', arrivals, 1000, any_row); select nextval('looks') $$;
         select http.route('POST', '/look', 'look')",
    );
    for arrivals in ["0", "1", "-1", "4294967296"] {
        for any_row in ["false", "true"] {
            platform.sql("alter sequence looks restart");
            let reply = post(&platform, &format!("/look?arrivals={arrivals}&any_row={any_row}"));
            assert_eq!(reply.status, 200, "{}", reply.text());
            let looks = platform.value("select last_value from looks").unwrap().parse::<i64>().unwrap();
            assert!(looks < 10, "{looks} looks for arrivals {arrivals}, any_row {any_row}");
        }
    }
}

#[test]
fn thousands_of_answers_that_wait_hold_up_nobody_when_a_row_comes() {
    const ANSWERS: usize = 6000;
    allow_as_many_files_as_possible();
    let platform = platform();
    let waiting: Vec<Connection> = (0..ANSWERS)
        .map(|_| {
            let mut connection = platform.connect();
            connection.send("POST", "/queues/bips/read?qty=1&wait=60+s", &[], b"");
            connection
        })
        .collect();
    let reads = "select coalesce(sum(requests), 0) >= 6000 from http.stats where pattern like '%/read'";
    wait_for("all have looked", || platform.value(reads).as_deref() == Some("t"));
    let mut fast = platform.connect();
    let mut slowest = Duration::ZERO;
    let begin = Instant::now();
    platform.sql("select queue.put('bips', row(1, 'x')::bip)");
    while begin.elapsed() < Duration::from_secs(3) {
        let asked = Instant::now();
        assert_eq!(fast.request("GET", "/fast", &[], b"").text(), "fast");
        slowest = slowest.max(asked.elapsed());
    }
    drop(waiting);
    bounds::REQUEST_BESIDE_WAITING_ANSWERS.check(slowest);
}
