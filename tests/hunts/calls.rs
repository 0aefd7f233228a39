//! Every function of `http`, `queue` and `job` is called with nulls, extremes, huge and broken values, from SQL, from PL/pgSQL with
//! and without exception blocks, and by handlers in executors and inline, under time limits and cancels, with allocations that
//! fail: nothing but errors comes of it. The server does not restart, and no worker ends.

use std::fmt::Write;
use std::time::Duration;

use cluster::postgres::{Client, NoTls};
use howdah_tests::platform::wait_for;
use howdah_tests::{MemoryFaults, Platform};
use hunt::{Hunt, Rng};

const SHORT: Duration = Duration::from_secs(if cfg!(feature = "long") { 25 } else { 8 });
/// Calls of a round.
const CALLS: u32 = 60;
/// Calls that run in a gateway, at least.
const ENOUGH: u32 = if cfg!(feature = "long") { 20 } else { 3 };

/// These end or begin processes, or take them out of service, because they are asked to.
const ASKED_TO_END: [&str; 5] = ["drain", "undrain", "replace_gateways", "unlisten", "announce_extension"];

/// What values are made of, and how handlers call what a client sends.
const SCHEMA: &str = "
    create role caller; grant howdah_admin to caller; grant create on schema public to caller;
    create domain checked as text check (length(value) < 100000);
    create type pair as (id bigint, name text);
    create type odd as (a checked, b pair, c int[], d timestamptz, e numeric, f jsonb, g xid8);
    create table huge (name text, bytes bytea); alter table huge alter name set storage external,
      alter bytes set storage external;
    insert into huge select repeat('x', 24 << 20), decode(repeat('ff', 20 << 20), 'hex');
    grant select on huge to public;
    create table lines_of (id int primary key, name checked, note text);
    grant all on lines_of to public;
    set role caller;
    select queue.create('jobs'), queue.create('pairs', 'pair'), queue.create('odd', 'odd', max_reads => 2);
    reset role;
    create function run(statement text) returns text language plpgsql as $$
    declare result text;
    begin execute statement into result; return left(result, 100); end $$;
    create function run_caught(statement text) returns text language plpgsql as $$
    declare result text;
    begin
      for round in 1..2 loop
        begin execute statement into result;
        exception when query_canceled then raise; when others then result := sqlstate; end;
      end loop;
      return left(result, 100);
    end $$;
    create function look(statement text) returns text language plpgsql stable as $$
    declare result text;
    begin
      begin execute statement into result; exception when others then result := sqlstate; end;
      return left(result, 100);
    end $$;
    create function run_failing(statement text, after bigint) returns text language plpgsql as $$
    begin perform fail_allocation(after); return run(statement); end $$;
    alter function fail_allocation(bigint) stable; alter extension plpgsql add function fail_allocation(bigint);
    create function pid() returns int language sql stable return pg_backend_pid();
    set role caller; select job.define('jobs', 'pid', role => 'caller', backoff => '1 ms'), job.define('x', 'run', role => 'caller'); reset role;
    select http.route('POST', '/run', 'run', role => 'caller'), http.route('POST', '/caught', 'run_caught', role => 'caller'),
      http.route('POST', '/failing', 'run_failing', role => 'caller'),
      http.route('GET', '/look', 'look', role => 'caller'), http.route('GET', '/pid', 'pid')";

/// What a gateway runs: nothing is caught. It is replaced before each call, as one that was refused there stays out until then.
const GLANCE: &str = "
    create or replace function glance(statement text, after bigint default -1) returns text language plpgsql stable as $$
    declare result text;
    begin
      perform fail_allocation(after);
      execute statement into result;
      return left(result, 100);
    end $$;
    select http.route('GET', '/glance', 'glance', role => 'caller')";

/// A function, and the types of its arguments.
struct Function {
    name: String,
    arguments: Vec<String>,
}

fn functions(session: &mut Client) -> Vec<Function> {
    let rows = session
        .query(
            "select n.nspname, p.proname,
               array(select format_type(t, null) from unnest(p.proargtypes) with ordinality a(t, place) order by place)
             from pg_proc p join pg_namespace n on n.oid = p.pronamespace
             where n.nspname in ('http', 'queue', 'job') and p.prokind = 'f' order by p.oid",
            &[],
        )
        .expect("the functions");
    let known = rows.iter().map(|row| {
        let (schema, name): (String, String) = (row.get(0), row.get(1));
        (name.clone(), Function { name: format!("{schema}.{name}"), arguments: row.get(2) })
    });
    known.filter(|(name, _)| !ASKED_TO_END.contains(&name.as_str())).map(|(_, function)| function).collect()
}

/// Expressions of a type, without the cast.
fn values(of_type: &str) -> &'static [&'static str] {
    match of_type {
        "text" | "character varying" | "name" => &[
            "''",
            "'jobs'",
            "'pairs'",
            "'odd'",
            "'POST'",
            "'/x/{y}'",
            "'x'",
            "'no such'",
            "repeat('\"{', 1000)",
            "repeat('x', 3000000)",
            "(select name from huge)",
            "E'\\x01\\u00ff'",
            "'{\"id\": 1}'",
            "'{\"id\":1}\n{'",
            "'select 1'",
            "'select * from huge'",
            "'pid'",
            "'run(text)'",
            "'caller'",
            "'enqueue'",
            "'high'",
            "'running'",
            "'replace'",
            "'postgres'",
        ],
        "text[]" => &[
            "'{}'",
            "'{{a,b},{c,d}}'",
            "'{null,a}'",
            "'[5:6]={GET,POST}'",
            "'[0:0][3:3]={{x}}'",
            "array['/a', '/{b}']",
            "array_fill('x'::text, array[100000])",
            "array[(select name from huge)]",
        ],
        "integer" => &["0", "-1", "1", "2147483647", "-2147483648", "65536", "80", "100000"],
        "smallint" => &["0", "-1", "32767", "-32768"],
        "bigint" => &["0", "-1", "1", "9223372036854775807", "-9223372036854775808", "4294967296"],
        "bigint[]" => &[
            "'{}'",
            "'{{1,2},{3,4}}'",
            "'{null,1}'",
            "'[-3:-2]={1,2}'",
            "'{9223372036854775807,-9223372036854775808}'",
            "array(select generate_series(1, 200000))",
        ],
        "integer[]" => &["'{}'", "'{{1},{2}}'", "'{null}'", "array(select generate_series(1, 100000))"],
        "double precision" | "real" | "numeric" => &["0", "-1", "'NaN'", "1e30", "'Infinity'", "'-Infinity'"],
        "interval" => &[
            "'0'",
            "'1 s'",
            "'-1 s'",
            "'178000000 years'",
            "'-178000000 years'",
            "'2147483647 days'",
            "'1 us'",
            "make_interval(secs => 1e12)",
        ],
        "timestamp with time zone" => {
            &["'infinity'", "'-infinity'", "'4713-01-01 BC'", "'294276-12-31'", "now()", "'epoch'"]
        }
        "jsonb" | "json" => &[
            "'null'",
            "'{}'",
            "'[]'",
            "'1'",
            "'\"x\"'",
            "'{\"a\": [1, {\"b\": null}]}'",
            "(repeat('[', 6000) || repeat(']', 6000))",
            "('{\"x\": \"' || repeat('y', 5000000) || '\"}')",
            "'{\"x\": 1e100000}'",
        ],
        "jsonb[]" => {
            &["'{}'", "array[null, '1']", "'{{1,2},{3,4}}'", "array_fill('{}'::jsonb, array[20000])"]
        }
        "bytea" => &["''", "'\\x00ff'", "(select bytes from huge)"],
        "boolean" => &["true", "false"],
        "oid" | "regclass" | "regtype" | "regrole" | "regproc" | "regprocedure" | "regnamespace" => {
            &["0", "4294967295", "1259", "16384", "10", "2200", "25"]
        }
        "inet" | "cidr" => &["'0.0.0.0/0'", "'::/0'", "'127.0.0.1/32'"],
        "cidr[]" | "inet[]" => {
            &["'{}'", "'{null}'", "array['10.0.0.0/8'::cidr, '::/0']", "'{{::/0},{::/0}}'"]
        }
        "uuid" => &["'00000000-0000-0000-0000-000000000000'"],
        "anyelement" | "anycompatible" | "record" | "anynonarray" => &[
            "null::pair",
            "row(1, 'x')::pair",
            "row(null, null)::pair",
            "row('x', null, '{1}', 'infinity', 'NaN', '{}', '1')::odd",
            "row(repeat('y', 90000), row(1, (select name from huge)), null, '-infinity', 1e300, '[]', null)::odd",
            "1",
            "'x'::text",
            "null::odd",
            "null::text",
            "now()",
            "row(1)",
            "(select h from huge h)",
        ],
        "anyarray" | "anycompatiblearray" => &[
            "array[row(1, 'x')::pair, null]",
            "'{}'::pair[]",
            "array[[row(1, 'x')::pair], [null]]",
            "array_fill(row(1, 'x')::pair, array[30000])",
            "array[1]",
            "null::odd[]",
            "array_fill(row('x', null, '{1}', 'infinity', 'NaN', '{}', '1')::odd, array[100], array[-5])",
        ],
        _ => &["null"],
    }
}

fn argument(of_type: &str, random: &mut Rng) -> String {
    let is_poly = of_type.starts_with("any") || of_type == "record";
    if random.u8(..10) == 0 {
        return if is_poly { "null::pair".into() } else { format!("null::{of_type}") };
    }
    let values = values(of_type);
    let value = values[random.usize(..values.len())];
    if is_poly || value == "null" && of_type == "\"any\"" {
        value.into()
    } else {
        format!("({value})::{of_type}")
    }
}

/// A call with the last arguments left out at times.
fn call(function: &Function, random: &mut Rng) -> String {
    let count = match random.u8(..3) {
        0 => random.usize(..=function.arguments.len()),
        _ => function.arguments.len(),
    };
    let mut text = format!("select {}(", function.name);
    for (place, of_type) in function.arguments[..count].iter().enumerate() {
        let comma = if place == 0 { "" } else { ", " };
        let _ = write!(text, "{comma}{}", argument(of_type, random));
    }
    text.push(')');
    if random.bool() { text } else { format!("select x from {} x", text.trim_start_matches("select ")) }
}

/// Runs a statement in a session, which goes on.
fn in_session(session: &mut Client, statement: &str, random: &mut Rng) {
    let limit = if random.bool() { random.u32(1..30) } else { 1000 };
    let dollars = "$hunted$";
    let statement = match random.u8(..3) {
        0 => statement.to_owned(),
        1 => format!("do {dollars} begin perform run($$ {statement} $$); end {dollars}"),
        _ => format!("do {dollars} begin perform run_caught($$ {statement} $$); end {dollars}"),
    };
    let token = session.cancel_token();
    let canceller = (random.u8(..3) == 0).then(|| {
        let pause = Duration::from_micros(random.u64(..20_000));
        std::thread::spawn(move || {
            std::thread::sleep(pause);
            let _ = token.cancel_query(NoTls);
        })
    });
    let role = if random.bool() { "caller" } else { "none" };
    let want = want_of_memory(random);
    let begin = format!("begin; select {want}; set local statement_timeout = {limit}; set local role {role}");
    // A cancel may hit any of these.
    let ran = session.batch_execute(&begin).and_then(|()| session.batch_execute(&statement));
    if let Some(canceller) = canceller {
        canceller.join().expect("the cancel");
    }
    if let Err(error) = &ran {
        assert!(error.code().is_some(), "the session has gone: {error}\n{want} {statement}");
    }
    while session.batch_execute("rollback; select limit_memory(null), fail_allocation(-1)").is_err() {
        assert!(!session.is_closed(), "the session has gone\n{want} {statement}");
    }
}

/// What takes memory away from a session, once in a while.
fn want_of_memory(random: &mut Rng) -> String {
    match random.u8(..6) {
        0 | 1 => format!("fail_allocation({})", until_failure(random)),
        2 => format!("limit_memory({})", random.u32(..100 << 20)),
        _ => "null".into(),
    }
}

/// How many allocations succeed before one fails: as often fewer than ten as some thousands.
fn until_failure(random: &mut Rng) -> u64 {
    let most = 2 << random.u8(..14);
    random.u64(..most)
}

/// Has a handler run the statement; in the gateway if it is short.
fn in_a_handler(platform: &Platform, statement: &str, random: &mut Rng) {
    let handlers = [("POST", "/run"), ("POST", "/caught"), ("GET", "/look"), ("POST", "/failing")];
    let (method, path) = handlers[random.usize(..handlers.len())];
    let path =
        if path == "/failing" { format!("{path}?after={}", until_failure(random)) } else { path.into() };
    let mut connection = platform.connect();
    let reply = if random.bool() {
        connection.request(method, &path, &[("Content-Type", "text/plain")], statement.as_bytes())
    } else {
        // The statement is in the query, so that the body may be a form, which is broken.
        let path = format!("{path}{}statement=", if path.contains('?') { '&' } else { '?' });
        let path = statement.bytes().fold(path, |path, byte| format!("{path}%{byte:02x}"));
        let kind = FORMS[random.usize(..FORMS.len())];
        let body = FORM[..random.usize(..=FORM.len())].to_vec();
        connection.request(method, &path, &[("Content-Type", kind), ("Cookie", "a=\"b; c=d")], &body)
    };
    assert_ne!(reply.status, 502, "{}\n{path} {statement}", reply.text());
}

/// Has the gateway run the statement, as far as it lets it. True if it did.
fn in_the_gateway(platform: &Platform, statement: &str, random: &mut Rng) -> bool {
    let ran_there = || {
        let count =
            platform.value("select coalesce(sum(inline), 0)::text from http.stats where pattern = '/glance'");
        count.expect("a count").parse::<u64>().expect("a number")
    };
    platform.sql(GLANCE);
    let mut connection = platform.connect();
    // What is to fail may wait in the gateway for whoever comes next.
    wait_for("reads run in the gateway", || {
        let before = ran_there();
        let reply = connection.request("GET", "/glance?statement=select+1", &[], b"");
        assert!(
            [(200, "1"), (503, &reply.text())].contains(&(reply.status, &reply.text())),
            "{}",
            reply.text()
        );
        reply.status == 200 && ran_there() > before
    });
    let before = ran_there();
    let after = if random.bool() { format!("&after={}", until_failure(random)) } else { String::new() };
    let path =
        statement.bytes().fold("/glance?statement=".to_owned(), |path, byte| format!("{path}%{byte:02x}"));
    let kind = FORMS[random.usize(..FORMS.len())];
    let body = &FORM[..random.usize(..=FORM.len())];
    let reply =
        connection.request("GET", &(path + &after), &[("Content-Type", kind), ("Cookie", "a=b; c=d")], body);
    assert_ne!(reply.status, 502, "{}\n{after} {statement}", reply.text());
    ran_there() > before
}

const FORMS: [&str; 4] = [
    "multipart/form-data; boundary=b",
    "multipart/form-data",
    "application/x-www-form-urlencoded",
    "application/json",
];
const FORM: &[u8] =
    b"--b\r\nContent-Disposition: form-data; name=\"x\"; filename=\"me\"\r\n\r\n\xff%zz&x=%00\r\n--b--\r\n";

#[test]
fn nothing_but_errors_comes_of_any_call() {
    let mut hunt = Hunt::begin("calls", SHORT);
    let platform = Platform::with(&[
        ("howdah.inline_threshold", "100000"),
        ("howdah.inline_extensions", "plpgsql"),
        ("howdah.request_timeout", "1s"),
        ("howdah.max_executors", "2"),
        ("max_connections", "50"),
    ]);
    let _tell = TellOfEnds(&platform);
    let _faults = MemoryFaults::install(&platform);
    platform.sql(SCHEMA);
    let mut session = platform.session();
    let functions = functions(&mut session);
    assert!(functions.len() > 60, "{}", functions.len());
    let all: Vec<_> = functions.iter().collect();
    let readers: Vec<_> = functions
        .iter()
        .filter(|function| function.name.starts_with("http.") && function.arguments == ["text"])
        .collect();
    wait_for("a read runs in the gateway", || {
        connection_pid(&platform).is_some_and(|pid| platform.workers("gateway").contains(&pid))
    });
    let began = platform.began();
    let life = platform.log().matches("database system is ready").count();
    let pids = platform.pids();
    let mut ran_inline = 0;
    while let Some(mut random) = hunt.next_round_until(ran_inline > ENOUGH) {
        for _ in 0..CALLS {
            // Those that read the request are few.
            let by_handler = random.bool();
            let chosen = if by_handler && random.bool() { &readers } else { &all };
            let statement = call(chosen[random.usize(..chosen.len())], &mut random);
            // An answer that waits because it is asked to waits for up to a minute.
            if by_handler && !statement.contains("answer_later") {
                // Values that take long to make are made in no gateway.
                if random.bool() && !["repeat(", "array_fill("].iter().any(|call| statement.contains(call)) {
                    ran_inline += u32::from(in_the_gateway(&platform, &statement, &mut random));
                } else {
                    in_a_handler(&platform, &statement, &mut random);
                }
            } else {
                in_session(&mut session, &statement, &mut random);
            }
        }
        assert_eq!(platform.began(), began);
        assert!(platform.still_run(&pids), "a worker has ended: {}", ends(&platform.log()));
    }
    println!("{ran_inline} calls ran in a gateway");
    let log = platform.log();
    assert_eq!(log.matches("database system is ready").count(), life, "{}", ends(&log));
    assert!(!log.contains("has left"), "{}", ends(&log));
    assert!(!log.contains("panic: "), "{}", ends(&log));
}

fn connection_pid(platform: &Platform) -> Option<i32> {
    platform.get("/pid").text().parse().ok()
}

/// Prints what the log says when the hunt has found something.
struct TellOfEnds<'a>(&'a Platform);

impl Drop for TellOfEnds<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Until the log has it.
            std::thread::sleep(Duration::from_secs(1));
            println!("{}", ends(&self.0.log()));
        }
    }
}

/// Lines of the log that tell of an end.
fn ends(log: &str) -> String {
    let words = ["terminated", "has left", "FATAL", "PANIC", "panic", "exited"];
    let lines = log.lines().filter(|line| words.iter().any(|word| line.contains(word)));
    lines.map(|line| format!("{}\n", &line[..line.len().min(500)])).collect()
}
