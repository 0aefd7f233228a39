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
    let document: Option<Value> = serde_json::from_slice(&reply.body).ok();
    document.map_or(Value::Null, |document| document["errors"].clone())
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
    // A text where a file has to be.
    platform.sql(
        "create function upload(n int, file http.file, files http.file[], raw bytea, number numeric) returns text language sql return 'done';
         select http.route('POST', '/upload', 'upload')",
    );
    let fields = b"n=x&file=text&files=one&files=two&raw=%5Cx0&number=NaN";
    let reply = platform.post("/upload", "application/x-www-form-urlencoded", fields);
    let named: Vec<Value> =
        errors(&reply).as_array().unwrap().iter().map(|error| error["parameter"].clone()).collect();
    assert_eq!((reply.status, named), (400, vec![json!("n"), json!("file"), json!("files"), json!("raw")]));
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

/// A table with each kind of constraint, with and without a comment, and a route that writes to it.
const CONSTRAINTS: &str = "
    create domain short as varchar(5);
    comment on domain short is 'At most five letters.';
    create domain letters as short constraint only_letters check (value ~ '^[a-z]*$') constraint no_x check (value !~ 'x');
    comment on constraint only_letters on domain letters is 'Letters alone.';
    create table owner (id int primary key);
    insert into owner values (1);
    create table thing (
      id int generated always as identity, code text not null, low int, high int, owner int references owner, place int4range, kind letters,
      constraint in_order check (low <= high), constraint one_code unique (code), constraint apart exclude using gist (place with &&));
    create unique index one_name on thing (lower(kind::text), (owner + 1));
    comment on constraint in_order on thing is 'From low to high.';
    comment on constraint one_code on thing is 'There is one of this code.';
    comment on constraint apart on thing is 'It is taken then.';
    comment on constraint thing_owner_fkey on thing is 'There is no such owner.';
    comment on index one_name is 'Each owner has one of a kind.';
    create table parted (part int, code text, constraint one_part unique (part, code)) partition by list (part);
    comment on constraint one_part on parted is 'Once in each part.';
    create table parted_1 partition of parted for values in (1);
    grant all on thing, parted, parted_1 to public; grant select on owner to public;
    create function put(code text, high int default null, low int default null, owner int default null, place int4range default null, kind letters default null)
      returns text language plpgsql as $$ begin
        insert into public.thing (code, low, high, owner, place, kind)
        values (nullif(put.code, ''), put.low, put.high, put.owner, put.place, put.kind); return 'put'; end $$;
    create function put_part(code text) returns text language sql as $$ insert into public.parted values (1, code); select 'put' $$;
    create function raises(code text, how text) returns text language plpgsql as $$ begin
        perform http.invalid('code', 'first');
        case how
          when 'column' then raise 'not this' using column = 'code';
          when 'chosen' then raise 'nor this' using column = 'how', errcode = 'PT409';
          when 'fault' then raise 'inside' using errcode = 'XX001', column = 'code';
          when 'caught' then begin perform http.invalid('how', 'caught'); raise 'x'; exception when others then null; end;
          when 'whole' then perform http.invalid(null, 'as a whole');
          when 'divided' then perform 1 / 0;
          when 'fetched' then perform http.invalid('how', message) from (values ('one'), ('two'), (null)) m (message) where message is not null;
          when 'many' then perform http.invalid('how', 'again') from generate_series(1, 1001);
          when 'null' then perform http.invalid('how', null);
        end case; return 'done'; end $$;
    select http.route('POST', '/things', 'put'), http.route('POST', '/parts', 'put_part'), http.route('POST', '/raised', 'raises')";

#[test]
fn a_constraint_is_of_the_parameter_that_is_named_as_its_column() {
    let platform = Platform::start();
    platform.sql(CONSTRAINTS);
    let post = |path: &str, fields: &str| {
        let reply = platform.post(path, "application/x-www-form-urlencoded", fields.as_bytes());
        (reply.status, errors(&reply))
    };
    assert_eq!(post("/things", "code=a&low=1&high=2&owner=1&place=[1,5)&kind=b").0, 200);
    assert_eq!(post("/parts", "code=a").0, 200);
    let missing = "null value in column \"code\" of relation \"thing\" violates not-null constraint";
    for (path, fields, status, parameter, message) in [
        ("/things", "code=", 400, "code", missing),
        ("/things", "code=b&low=2&high=1", 400, "low", "From low to high."),
        ("/things", "code=a", 409, "code", "There is one of this code."),
        ("/things", "code=c&owner=2", 409, "owner", "There is no such owner."),
        ("/things", "code=d&place=[2,3)", 409, "place", "It is taken then."),
        ("/things", "code=e&kind=b&owner=1", 409, "owner", "Each owner has one of a kind."),
        ("/things", "code=f&kind=1", 400, "kind", "Letters alone."),
        ("/things", "code=g&kind=ax", 400, "kind", "At most five letters."),
        ("/things", "code=h&kind=abcdef", 400, "kind", "At most five letters."),
        ("/parts", "code=a", 409, "code", "Once in each part."),
        ("/raised", "code=a&how=chosen", 409, "code", "first"),
    ] {
        let (answered, errors) = post(path, fields);
        assert_eq!((answered, &errors[0]["parameter"]), (status, &json!(parameter)), "{fields}: {errors}");
        assert_eq!(errors[0]["message"], json!(message), "{fields}");
    }
    assert_eq!((platform.count("thing"), platform.count("parted")), (1, 1));
}

#[test]
fn a_handler_refuses_parameters_and_nothing_of_it_is_kept() {
    let platform = Platform::start();
    platform.sql(CONSTRAINTS);
    let raised = |how: &str| {
        let fields = format!("code=a&how={how}");
        platform.post("/raised", "application/x-www-form-urlencoded", fields.as_bytes())
    };
    let first = json!({ "parameter": "code", "message": "first" });
    for (how, status, others) in [
        ("column", 400, vec![json!({ "parameter": "code", "message": "not this" })]),
        ("chosen", 409, vec![json!({ "parameter": "how", "message": "nor this" })]),
        ("caught", 422, vec![json!({ "parameter": "how", "message": "caught" })]),
        ("whole", 422, vec![json!({ "message": "as a whole" })]),
        ("divided", 400, vec![]),
        ("null", 400, vec![]),
        (
            "fetched",
            422,
            vec![
                json!({ "parameter": "how", "message": "one" }),
                json!({ "parameter": "how", "message": "two" }),
            ],
        ),
    ] {
        let reply = raised(how);
        let all: Vec<Value> = std::iter::once(first.clone()).chain(others).collect();
        assert_eq!((reply.status, errors(&reply)), (status, json!(all)), "{how}: {}", reply.text());
    }
    // Faults of the handler's own say nothing of the client.
    for (how, status) in [("fault", 500), ("many", 500)] {
        let reply = raised(how);
        assert_eq!((reply.status, errors(&reply)), (status, Value::Null), "{how}: {}", reply.text());
    }
    // A request that is refused is no error of the server's log.
    platform.sql(
        "create table kept (n int);
         create function writes(n int) returns text language plpgsql as $$
           begin insert into public.kept values (n); perform http.invalid('n', 'too dear') where n > 5; return '{}'; end $$;
         create function is_sly(n int) returns text language plpgsql stable as $$
           begin perform http.invalid('n', 'sly') where n > 5; return 'read'; end $$;
         grant select, insert on kept to public;
         select http.route('POST', '/writes', 'writes'), http.route('GET', '/sly', 'is_sly'), http.cache('GET', '/sly')",
    );
    let write =
        |n: i32| platform.post("/writes", "application/json", json!({ "n": n }).to_string().as_bytes());
    assert_eq!((write(6).status, write(5).status, write(7).status), (422, 200, 422));
    assert_eq!(platform.count("kept"), 1);
    assert!(!platform.log().contains("too dear"));
    for _ in 0..20 {
        let reply = platform.get("/sly?n=6");
        assert_eq!((reply.status, &errors(&reply)[0]["message"]), (422, &json!("sly")));
        assert_eq!(platform.get("/sly?n=5").text(), "read");
    }
    // At the commit, too, where nothing else could undo it.
    platform.sql(
        "create function refuse_late() returns trigger language plpgsql as $$ begin perform http.invalid('n', 'too late'); return null; end $$;
         create constraint trigger late after insert on kept deferrable initially deferred for each row when (new.n = 4)
           execute function refuse_late()",
    );
    let reply = write(4);
    assert_eq!(
        (reply.status, &errors(&reply)[0]),
        (422, &json!({ "parameter": "n", "message": "too late" })),
        "{}",
        reply.text()
    );
    assert_eq!((platform.count("kept"), write(3).status), (1, 200));
    assert_eq!(platform.count("kept"), 2);
    // By http.call, whose transaction goes on; and where no request runs.
    let called = r#"select string_agg(concat(r.status, convert_from(r.body, 'UTF8')::jsonb -> 'errors' -> 0 ->> 'message'), ' ')
        from (values (9), (1), (8)) n (n), http.call('POST', '/writes', array[http.header('content-type', 'application/json')],
          convert_to(json_build_object('n', n)::text, 'UTF8')) r"#;
    assert_eq!(platform.value(called).as_deref(), Some("422too dear 200 422too dear"));
    let error = platform.session().batch_execute("select http.invalid('n', 'x')").unwrap_err();
    assert_eq!(
        error.as_db_error().unwrap().message(),
        "no request runs here, so no parameter of it is invalid"
    );
}
