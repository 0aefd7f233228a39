//! All parameters of a request that are wrong are told at once, each as PostgreSQL has it.

use std::collections::BTreeMap;

use howdah_tests::{Platform, Reply};
use serde_json::{Value, json};

use super::argument_ways::{CASES, TYPES, encoded};

/// The message of PostgreSQL's for each text that is none of its type; nothing for one that is.
fn messages(platform: &Platform) -> BTreeMap<(&'static str, &'static str), Option<String>> {
    let mut session = platform.session();
    let each = CASES.iter().flat_map(|(of, texts)| texts.iter().map(move |text| (*of, *text)));
    let message = |(of, text): (&'static str, &'static str)| {
        let cast = format!("select '{}'::{of}", text.replace('\'', "''"));
        let error = session.batch_execute(&cast).err();
        ((of, text), error.map(|error| error.as_db_error().expect("PostgreSQL's").message().to_owned()))
    };
    each.map(message).collect()
}

fn errors(reply: &Reply) -> Value {
    let document: Value = serde_json::from_slice(&reply.body).expect("a problem document");
    document["errors"].clone()
}

#[test]
fn each_parameter_that_is_wrong_is_told_with_its_message() {
    let platform = Platform::start();
    platform.sql(TYPES);
    let arguments: Vec<String> =
        CASES.iter().enumerate().map(|(place, (of, _))| format!("a{place} {of}")).collect();
    platform.sql(&format!(
        "create function takes({}) returns text language sql stable as $$ select 'taken' $$;
         select http.route('GET', '/takes', 'takes'), http.route('POST', '/takes', 'takes')",
        arguments.join(", ")
    ));
    let messages = messages(&platform);
    let mut random = fastrand::Rng::with_seed(57);
    let (mut taken, mut most) = (0, 0);
    for round in 0..240 {
        // Some with one mistake, some with many.
        let share = [0.0, 0.02, 0.2, 1.0][round % 4];
        let (mut given, mut expected) = (Vec::new(), Vec::new());
        for (place, (of, texts)) in CASES.iter().enumerate() {
            let name = format!("a{place}");
            let texts = texts.iter().filter(|text| !text.is_empty());
            let (good, bad): (Vec<&str>, Vec<&str>) =
                texts.copied().partition(|text| messages[&(*of, *text)].is_none());
            if random.f64() < share / 4.0 {
                expected.push(json!({ "parameter": name, "message": "is missing" }));
                continue;
            }
            let is_bad = random.f64() < share && !bad.is_empty();
            let from = if is_bad { &bad } else { &good };
            let text = from[random.usize(..from.len())];
            if let Some(message) = &messages[&(*of, text)] {
                expected.push(json!({ "parameter": name, "message": message }));
            }
            given.push(format!("{name}={}", encoded(text)));
        }
        let fields = given.join("&");
        let reply = if round % 8 < 4 {
            platform.get(&format!("/takes?{fields}"))
        } else {
            platform.post("/takes", "application/x-www-form-urlencoded", fields.as_bytes())
        };
        if expected.is_empty() {
            assert_eq!((reply.status, reply.text().as_str()), (200, "taken"), "{fields}");
            taken += 1;
        } else {
            assert_eq!(reply.status, 400, "{fields}: {}", reply.text());
            assert_eq!(errors(&reply), json!(expected), "{fields}");
            most = most.max(expected.len());
        }
    }
    assert!(taken > 30 && most > 20, "{taken} were taken, and at most {most} were wrong");
}

#[test]
fn what_is_wrong_leaves_nothing_and_shows_no_secret() {
    let platform = Platform::start();
    platform.sql(
        "create table seen (value text);
         create function is_seen(value text) returns boolean language plpgsql as $$
           begin insert into public.seen values (value); return value <> 'bad'; end $$;
         create domain looked_at as text check (is_seen(value));
         create function sign_up(n int, password int, comment looked_at, age int default 1) returns text
           language sql volatile as $$ select 'done' $$;
         grant select, insert on seen to public;
         select http.route('POST', '/sign-up', 'sign_up')",
    );
    let json = |body: &str| platform.post("/sign-up", "application/json", body.as_bytes());
    let reply = json(r#"{"n": "x", "password": "hunter2", "comment": "bad", "age": "y"}"#);
    assert_eq!(reply.status, 400);
    assert!(!reply.text().contains("hunter2"), "{}", reply.text());
    let named: Vec<Value> =
        errors(&reply).as_array().unwrap().iter().map(|error| error["parameter"].clone()).collect();
    assert_eq!(named, ["n", "password", "comment", "age"], "{}", reply.text());
    let detail = "parameter n: invalid input syntax for type integer: \"x\", and 3 more parameters are wrong";
    assert!(reply.text().contains(&detail.replace('"', "\\\"")), "{}", reply.text());
    // A domain's check that writes is undone, and nothing of it is in the log.
    assert_eq!(platform.count("seen"), 0);
    assert!(!platform.log().contains("hunter2"));
    let reply = json(r#"{"n": 1, "password": 7, "comment": "good", "age": [1]}"#);
    assert_eq!(errors(&reply).as_array().unwrap().len(), 1, "{}", reply.text());
    assert_eq!(json(r#"{"n": 1, "password": 7, "comment": "good"}"#).text(), "done");
    assert_eq!(platform.count("seen"), 1);
    // However long they are.
    let long = "x".repeat(100_000);
    let reply = json(&format!(r#"{{"n": "{long}", "password": 7, "comment": "good", "age": "{long}"}}"#));
    assert_eq!(errors(&reply).as_array().unwrap().len(), 2);
    assert!(reply.body.len() < 8_000, "{}", reply.body.len());
    // By http.call, inside of a transaction that goes on.
    let called = r#"select concat(status, convert_from(body, 'UTF8')::json -> 'errors' -> 2 ->> 'parameter', (select count(*) from seen))
        from http.call('POST', '/sign-up', array[http.header('content-type', 'application/json')], '{"n": "x", "age": "y"}')"#;
    assert_eq!(platform.value(called).as_deref(), Some("400comment1"));
}

/// Gateways run short reads by themselves, several in one transaction.
#[test]
fn a_gateway_tells_all_that_is_wrong_and_nobody_beside_notices() {
    for lane in ["on", "transaction"] {
        let platform = Platform::with(&[
            ("howdah.inline", lane),
            ("howdah.inline_deadline", "1s"),
            ("howdah.inline_threshold", "100000"),
        ]);
        platform.sql(
            "create table room (id int primary key, name text); insert into room values (1, 'one'), (2, 'two');
             grant select on room to public;
             create function room_name(id int, at date, n numeric) returns text language sql stable
             begin atomic select name from room where room.id = room_name.id; end;
             select http.route('GET', '/rooms/{id}', 'room_name')",
        );
        for _ in 0..300 {
            assert_eq!(platform.get("/rooms/1?at=2026-01-01&n=1").text(), "one");
        }
        let before = platform.inline_count("/rooms/{id}");
        for _ in 0..20 {
            let mut connections: Vec<_> = (0..8).map(|_| platform.connect()).collect();
            for (number, connection) in connections.iter_mut().enumerate() {
                let path = if number % 4 == 1 { "/rooms/2?at=x&n=y" } else { "/rooms/2?at=2026-01-01&n=1" };
                connection.send("GET", path, &[], b"");
            }
            for (number, connection) in connections.iter_mut().enumerate() {
                let reply = connection.read_reply(false).expect("an answer");
                if number % 4 == 1 {
                    let wrong = errors(&reply);
                    assert_eq!(wrong.as_array().map(Vec::len), Some(2), "{}", reply.text());
                } else {
                    assert_eq!((reply.status, reply.text().as_str()), (200, "two"), "{lane}");
                }
            }
        }
        assert!(platform.inline_count("/rooms/{id}") > before + 100, "{lane}: they ran in executors");
    }
}
