//! A request that does not end when it is told to, and one that takes all memory: nobody else notices.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;
use std::time::Duration;

use howdah_tests::bounds;
use howdah_tests::{Platform, wait_for};

/// What a process has computed so far.
fn computed(pid: i32) -> Duration {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap();
    Duration::from_nanos(text.split_whitespace().next().unwrap().parse().unwrap())
}

/// Kilobytes that a process has of its own; 0 when it has ended.
fn memory(pid: i32) -> i64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("RssAnon:"));
    line.map_or(0, |line| line.split_whitespace().nth(1).unwrap().parse().unwrap())
}

#[test]
fn no_request_holds_a_gateway_for_longer_than_documented() {
    let documented = include_str!("../../docs/tuning.md");
    let words =
        format!("**{} ms of its own time are the longest", bounds::ANY_IN_A_GATEWAY.limit.as_millis());
    assert!(documented.contains(&words), "docs/tuning.md does not say: {words}");
    let platform = Platform::with(&[
        ("howdah.inline_threshold", "100000"),
        ("howdah.request_timeout", "300ms"),
        ("howdah.min_executors", "4"),
    ]);
    platform.sql(
        "create function fast() returns text language sql stable return 'fast';
         create function spin(kind text default 'none') returns text language plpgsql stable as
           $$ declare times bigint := 0; begin
             if kind = 'none' then return 'short'; end if;
             while times < 200000000 loop
               if kind = 'plain' then times := times + 1;
               else
                 begin
                   loop times := times + 1; end loop;
                 exception when query_canceled then times := times + 1;
                 end;
               end if;
             end loop;
             return 'long';
           end $$;
         select http.route('GET', '/fast', 'fast'), http.route('GET', '/spin', 'spin'),
                http.route('GET', '/catch', 'spin')",
    );
    let gateway = platform.worker("gateway");
    let mut connection = platform.connect();
    let inline = |pattern: &str| {
        let count = platform.value(&format!("select inline from http.stats where pattern = '{pattern}'"));
        count.unwrap().parse::<i64>().unwrap()
    };
    for (pattern, path) in [("/spin", "/spin?kind=plain"), ("/catch", "/catch?kind=catch")] {
        wait_for("the routes run in the gateway", || {
            assert_eq!(connection.request("GET", pattern, &[], b"").text(), "short");
            connection.request("GET", "/fast", &[], b"");
            inline(pattern) > 0 && inline("/fast") > 0
        });
        let mut spinner = platform.connect();
        let before = computed(gateway);
        spinner.send("GET", path, &[], b"");
        wait_for("an executor runs it", || platform.running(&format!("GET {pattern}")) == 1);
        let held = computed(gateway) - before;
        println!("{path}");
        bounds::ANY_IN_A_GATEWAY.check(held);
        assert_eq!(connection.request("GET", "/fast", &[], b"").text(), "fast");
        assert_eq!(spinner.read_reply(false).unwrap().status, 504);
    }
}

/// A join that takes long to plan and no time to run. No two of its tables are found by the same value: PostgreSQL 18 would
/// read one for both.
fn many_joins() -> String {
    let join = |n: usize| format!("join link l{n} on l{n}.a = l{}.{}", n / 2, ["b", "c"][n % 2]);
    let joins: Vec<_> = (2..=17).map(join).collect();
    format!(
        "create table link (a int primary key, b int, c int);
         create index on link (b); create index on link (c);
         grant select on link to howdah_web;
         create function fast() returns text language sql stable return 'fast';
         create function joined(key int default 0) returns bigint language plpgsql stable
           set join_collapse_limit = 20 set geqo = off as
           $$ begin return (select count(*) from link l1 {} where l1.a = key); end $$;
         select http.route('GET', '/fast', 'fast'), http.route('GET', '/joined', 'joined')",
        joins.join(" ")
    )
}

#[test]
fn planning_holds_a_gateway_for_no_longer_than_documented() {
    let platform = Platform::with(&[("howdah.inline_threshold", "100000"), ("howdah.max_executors", "1")]);
    platform.sql(&many_joins());
    let gateway = platform.worker("gateway");
    let mut connection = platform.connect();
    let mut longest = Duration::ZERO;
    // The gateway begins to plan it when executors have answered it some times.
    for _ in 0..40 {
        let before = computed(gateway);
        assert_eq!(connection.request("GET", "/joined", &[], b"").text(), "0");
        longest = longest.max(computed(gateway) - before);
        assert_eq!(connection.request("GET", "/fast", &[], b"").text(), "fast");
    }
    bounds::ANY_IN_A_GATEWAY.check(longest);
    let log = platform.log();
    assert!(log.contains("canceling statement"), "it was not planned in the gateway: {log}");
}

#[test]
fn an_executor_whose_request_catches_every_cancel_ends_and_the_others_go_on() {
    let platform = Platform::with(&[("howdah.request_timeout", "2s"), ("howdah.min_executors", "3")]);
    platform.sql(
        "create function fast() returns text language sql stable return 'fast';
         create function deaf() returns text language plpgsql as
           $$ begin
             loop
               begin perform pg_sleep(60); exception when query_canceled then null; end;
             end loop;
           end $$;
         select http.route('GET', '/fast', 'fast'), http.route('POST', '/deaf', 'deaf')",
    );
    // On a busy machine the first request may wait longer for its executor than it may run.
    wait_for("the executors are there", || platform.workers("executor").len() == 3);
    let before = platform.pids();
    let mut connection = platform.connect();
    assert_eq!(connection.request("GET", "/fast", &[], b"").text(), "fast");
    let reply = connection.request("POST", "/deaf", &[], b"");
    assert_eq!(reply.status, 504, "{}", reply.text());
    let deaf = platform.value("select pid from http.workers where kind = 'executor' and busy_ms > 0");
    let deaf: i32 = deaf.expect("an executor still runs it").parse().unwrap();
    wait_for("the executor ends", || {
        assert_eq!(connection.request("GET", "/fast", &[], b"").text(), "fast");
        !platform.workers("executor").contains(&deaf)
    });
    assert!(platform.log().contains("because its request went on for 5 s after it was cancelled"));
    let others: Vec<i32> = before.into_iter().filter(|&pid| pid != deaf).collect();
    assert!(platform.still_run(&others), "another process has ended");
    wait_for("another executor comes", || platform.workers("executor").len() >= 3);
}

/// Grows by a megabyte at a time, or by a gigabyte at once; or catches each error.
const GREEDY: &str = "
    create function fast() returns text language sql stable return 'fast';
    create function greedy(kind text) returns text language plpgsql as
      $$ declare pieces text[]; piece text; begin
        if kind = 'at once' then
          return length(repeat('x', 500000000) || repeat('y', 400000000));
        end if;
        loop
          begin
            for n in 1..100000 loop
              pieces := pieces || repeat(n::text, 200000);
            end loop;
          exception when query_canceled or others then
            if kind <> 'catches' then raise; end if;
          end;
        end loop;
      end $$;
    select http.route('GET', '/fast', 'fast'), http.route('POST', '/greedy/{kind}', 'greedy')";

const LIMIT_MB: i64 = 128;

fn greedy_platform() -> Platform {
    let limit = format!("{LIMIT_MB}MB");
    let platform = Platform::with(&[
        ("howdah.handler_memory", &limit),
        ("howdah.min_executors", "1"),
        ("howdah.max_executors", "1"),
    ]);
    platform.sql(GREEDY);
    platform
}

/// The most that a process has of its own while `work` runs, in kilobytes.
fn peak_of<T>(pid: i32, work: impl FnOnce() -> T) -> (T, i64) {
    let (over, peak) = (AtomicBool::new(false), AtomicI64::new(0));
    let result = thread::scope(|threads| {
        threads.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                peak.fetch_max(memory(pid), Ordering::Relaxed);
                thread::sleep(Duration::from_millis(1));
            }
        });
        let result = work();
        over.store(true, Ordering::Relaxed);
        result
    });
    (result, peak.into_inner())
}

#[test]
fn a_request_that_takes_too_much_memory_gets_503_and_its_executor_gives_it_back() {
    let platform = greedy_platform();
    assert_eq!(platform.get("/fast").text(), "fast");
    let executor = platform.worker("executor");
    let before = memory(executor);
    let mut connection = platform.connect();
    for kind in ["slowly", "at%20once"] {
        let (reply, peak) =
            peak_of(executor, || connection.request("POST", &format!("/greedy/{kind}"), &[], b""));
        assert_eq!(reply.status, 503, "{}", reply.text());
        assert_eq!(reply.json()["sqlstate"], "53200");
        println!("{kind}: {} MB at the most", peak >> 10);
    }
    for _ in 0..if cfg!(feature = "long") { 30 } else { 8 } {
        let (reply, peak) = peak_of(executor, || connection.request("POST", "/greedy/slowly", &[], b""));
        assert_eq!((reply.status, &reply.json()["sqlstate"]), (503, &"53200".into()), "{}", reply.text());
        assert!(peak >> 10 < 4 * LIMIT_MB, "it took {} MB", peak >> 10);
    }
    assert_eq!(platform.workers("executor"), [executor], "the executor has ended");
    let kept = memory(executor) - before;
    assert!(kept >> 10 < LIMIT_MB / 4, "it has kept {} MB", kept >> 10);
    assert_eq!(connection.request("GET", "/fast", &[], b"").text(), "fast");
}

#[test]
fn a_request_that_catches_the_want_of_memory_ends_its_executor_and_nobody_elses() {
    let platform = greedy_platform();
    assert_eq!(platform.get("/fast").text(), "fast");
    let executor = platform.worker("executor");
    let gateway = platform.workers("gateway");
    let mut connection = platform.connect();
    let (reply, peak) = peak_of(executor, || connection.request("POST", "/greedy/catches", &[], b""));
    println!("{} MB at the most", peak >> 10);
    assert!([502, 503].contains(&reply.status), "{} {}", reply.status, reply.text());
    wait_for("another executor serves", || connection.request("GET", "/fast", &[], b"").status == 200);
    assert_eq!(platform.workers("gateway"), gateway, "the server has restarted");
}

/// Routes whose values take much more memory than their texts, where PostgreSQL looks for no cancel: zones that a client makes up,
/// 23 kB each, and values for each of which PostgreSQL makes room for a larger one.
const UNFOLDING: &str = "
    create type schedule as (days date[]);
    create function days(days date[]) returns int language sql stable return cardinality(days);
    create function schedule(schedule schedule) returns int language sql stable return cardinality((schedule).days);
    create function vectors(vectors tsvector[]) returns int language sql stable return cardinality(vectors);
    create function spans(spans int4multirange) returns boolean language sql stable return isempty(spans);
    create function cast_vectors(text) returns int language plpgsql stable as $$
    begin return cardinality($1::tsvector[]); end $$;
    create function rows(jsonb) returns bigint language sql stable
      return (select count(day) from jsonb_to_recordset($1) as x(day timestamptz));
    create function caught(text) returns text language plpgsql as $$
    begin
      return cardinality($1::tsvector[]);
    exception when out_of_memory or query_canceled then return 'caught';
    end $$;
    create function fast() returns text language sql stable return 'fast';
    select http.route('POST', '/days', 'days'), http.route('POST', '/schedule', 'schedule'),
      http.route('POST', '/vectors', 'vectors'), http.route('POST', '/spans', 'spans'), http.route('POST', '/rows', 'rows'),
      http.route('POST', '/cast', 'cast_vectors'), http.route('POST', '/caught', 'caught'), http.route('GET', '/fast', 'fast')";

/// A time in a zone that nobody has named before.
fn made_up_time(number: usize) -> String {
    let letter = |place: u32| char::from(b'a' + (number / 26_usize.pow(place) % 26) as u8);
    let name: String = (0..6).map(letter).collect();
    format!("2020-01-01 00:00 Q{name}+3")
}

#[test]
fn values_that_take_too_much_memory_where_nothing_looks_for_a_cancel_get_503() {
    const COUNT: usize = 40_000;
    let limit = format!("{LIMIT_MB}MB");
    let platform = Platform::with(&[
        ("howdah.handler_memory", &limit),
        ("howdah.min_executors", "1"),
        ("howdah.max_executors", "1"),
    ]);
    platform.sql(UNFOLDING);
    let gateway = platform.workers("gateway");
    let times: Vec<_> = (0..COUNT).map(|number| format!("\"{}\"", made_up_time(number))).collect();
    let many = |part: &str| vec![part; 1_000_000].join(",");
    let escaped = |texts: &[String]| texts.join(",").replace('"', "\\\"");
    let rows = times.iter().map(|time| format!("{{\"day\":{time}}}")).collect::<Vec<_>>().join(",");
    let json = "application/json";
    let bodies = [
        ("/days", json, format!("{{\"days\":[{}]}}", times.join(","))),
        ("/days", json, format!("{{\"days\":\"{{{}}}\"}}", escaped(&times))),
        ("/schedule", json, {
            let literal = format!("(\"{{{}}}\")", times.join(",").replace('"', "\"\""));
            format!("{{\"schedule\":\"{}\"}}", literal.replace('"', "\\\""))
        }),
        ("/vectors", json, format!("{{\"vectors\":\"{{{}}}\"}}", many("a"))),
        ("/spans", json, format!("{{\"spans\":\"{{{}}}\"}}", many("[1,2)"))),
        ("/rows", json, format!("[{rows}]")),
        ("/cast", "text/plain", format!("{{{}}}", many("a"))),
        ("/caught", "text/plain", format!("{{{}}}", many("a"))),
    ];
    for (path, content_type, body) in bodies {
        wait_for("an executor serves", || {
            platform.get("/fast").status == 200 && platform.workers("executor").len() == 1
        });
        let executor = platform.worker("executor");
        let before = memory(executor);
        let (reply, peak) = peak_of(executor, || platform.post(path, content_type, body.as_bytes()));
        let peak = peak - before;
        println!("{path}, {} kB: {} MB at the most, {}", body.len() >> 10, peak >> 10, reply.text());
        assert_eq!(
            (reply.status, &reply.json()["sqlstate"]),
            (503, &"53200".into()),
            "{path}: {}",
            reply.text()
        );
        assert!(peak >> 10 < 3 * LIMIT_MB, "{path} took {} MB", peak >> 10);
    }
    assert_eq!(platform.workers("gateway"), gateway, "the server has restarted");
    assert_eq!(platform.post("/days", json, b"{\"days\":[\"2020-01-01\",null]}").text(), "2");
}

#[test]
fn a_long_message_of_an_error_is_copied_once_at_most() {
    const SIZE_MB: i64 = 64;
    let platform = Platform::with(&[
        ("howdah.min_executors", "1"),
        ("howdah.max_executors", "1"),
        ("howdah.log_rate", "0"),
    ]);
    platform.sql(&format!(
        "create function shout() returns text language plpgsql as
         $$ begin raise '%', repeat(E'\\x01', {SIZE_MB} << 20); end $$;
         select http.route('POST', '/shout', 'shout')"
    ));
    assert_eq!(platform.post("/shout", "text/plain", b"").status, 400);
    let executor = platform.worker("executor");
    let before = memory(executor);
    let (reply, peak) = peak_of(executor, || platform.post("/shout", "text/plain", b""));
    let taken = (peak - before) >> 10;
    println!("{taken} MB at the most");
    assert_eq!(reply.status, 400, "{}", reply.text());
    // The value, what PL/pgSQL and PostgreSQL make of it in buffers that grow twofold, and one copy.
    assert!(taken < 5 * SIZE_MB, "it took {taken} MB");
}
