//! Requests that share a transaction, and the plans that stay open in it, answer as each would alone.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use howdah_tests::{Connection, Platform, Reply, wait_for};

pub(super) const CONNECTIONS: usize = 16;
const ROUNDS: usize = 12;
/// Values that requests ask for.
const KEYS: usize = 40;

/// Bodies of `shape_N(k integer) returns text`: each makes another plan.
const SHAPES: &[(&str, &str)] = &[
    ("index scan", "select name from items where id = k"),
    ("scalar subquery", "select (select name from items where id = k)"),
    (
        "two initplans, one of the other",
        "select (select name from items where id = (select min(id) from items where id > k))",
    ),
    (
        "scalar subquery of a join",
        "select (select i.name from items i join plain p on p.value = i.id where i.id = k limit 1)",
    ),
    ("index only scan", "select id::text from items where id = k"),
    (
        "bitmap scan",
        "select string_agg(id::text, ',' order by id) from items where grp = k % 7 or grp = k % 5",
    ),
    ("sequential scan", "select count(*)::text from plain where value = k"),
    (
        "nested loop",
        "select string_agg(i.name, ',' order by i.id) from items i join plain p on p.value = i.id where i.id between k and k + 3",
    ),
    ("sort and limit", "select name from items where grp = k % 7 order by name desc limit 1"),
    (
        "distinct",
        "select string_agg(v, ',') from (select distinct (id % 3)::text v from items where id < k order by v) d",
    ),
    (
        "append",
        "select string_agg(v, ',') from (select name v from items where id = k union all select name from items where id = k + 1) u",
    ),
    ("partitions pruned at start", "select coalesce(sum(amount), 0)::text from sales where region = k % 4"),
    (
        "partitions joined",
        "select coalesce(sum(s.amount), 0)::text from sales s join items i on i.grp = s.region where i.id = k",
    ),
    ("exists", "select (exists (select 1 from plain where value = k * 2))::text"),
    (
        "not in",
        "select count(*)::text from items where id < k and id not in (select value from plain where value < k / 2)",
    ),
    (
        "correlated",
        "select string_agg((select count(*) from plain p where p.value <= i.id and p.value > k)::text, ',' order by i.id) from items i where i.id between k and k + 2",
    ),
    ("function scan", "select string_agg(g::text, ',') from generate_series(k, k + 2) g"),
    (
        "function scan joined",
        "select string_agg(i.name, ',' order by i.id) from generate_series(k, k + 2) g join items i on i.id = g",
    ),
    (
        "materialized with",
        "with w as materialized (select id from items where id <= k) select count(*)::text from w a, w b where a.id = b.id",
    ),
    (
        "recursive with",
        "with recursive r(n) as (select k union all select n + 1 from r where n < k + 3) select string_agg(n::text, ',') from r",
    ),
    ("values", "select string_agg(c::text, ',') from (values (k), (k * 2)) v(c)"),
    (
        "group by having",
        "select string_agg(grp::text, ',' order by grp) from (select grp from items where id < k group by grp having count(*) > 2) g",
    ),
    (
        "window",
        "select string_agg(r::text, ',' order by r) from (select row_number() over (order by id) r from items where id between k and k + 4) w",
    ),
    (
        "lateral",
        "select string_agg(x.v::text, ',' order by x.v) from items i, lateral (select i.id + k as v) x where i.id < 4",
    ),
    (
        "except",
        "select string_agg(v::text, ',' order by v) from (select id v from items where id < k except select value from plain) e",
    ),
    ("unnest in the list", "select string_agg(u::text, ',') from (select unnest(array[k, k + 1]) u) s"),
    (
        "array subquery",
        "select array_to_string(array(select id from items where id > k order by id limit 3), ',')",
    ),
    ("nothing found", "select name from items where id = k + 100000"),
];

const SCHEMA: &str = "
create table items (id integer primary key, grp integer, name text);
insert into items select i, i % 7, 'item ' || i from generate_series(1, 500) i;
create index on items (grp);
create table plain (value integer);
insert into plain select i from generate_series(0, 200, 3) i;
create table sales (region integer, amount integer) partition by list (region);
create table sales_0 partition of sales for values in (0);
create table sales_1 partition of sales for values in (1);
create table sales_2 partition of sales for values in (2, 3);
insert into sales select i % 4, i from generate_series(1, 100) i;
analyze;
grant select on all tables in schema public to howdah_web;
";

/// What SQL itself says to each key; none for null.
fn expected(platform: &Platform, shape: usize) -> Vec<Option<String>> {
    let answers = platform.value(&format!(
        "select json_agg(shape_{shape}(k) order by k) from generate_series(0, {}) k",
        KEYS - 1
    ));
    serde_json::from_str(&answers.expect("answers")).expect("texts and nulls")
}

/// Keeps the gateway busy while the requests of a round arrive, so that they are one batch.
const BUSY: &str = "
create function busy() returns text language sql stable as
$$ select count(*)::text from generate_series(1, 60000) $$;
select http.route('GET', '/busy', 'busy');
";

/// Sends one request on each connection behind one that takes a while, and reads all answers.
pub(super) fn round(
    busy: &mut Connection,
    connections: &mut [Connection],
    path: impl Fn(usize) -> String,
) -> Vec<Reply> {
    busy.send("GET", "/busy", &[], b"");
    for (place, connection) in connections.iter_mut().enumerate() {
        connection.send("GET", &path(place), &[], b"");
    }
    assert_eq!(busy.read_reply(false).expect("an answer").status, 200);
    connections.iter_mut().map(|connection| connection.read_reply(false).expect("an answer")).collect()
}

/// A platform on which requests of a turn share a transaction whatever the machine is doing.
pub(super) fn platform() -> Platform {
    platform_with("on")
}

fn platform_with(inline: &str) -> Platform {
    let platform = Platform::with(&[
        ("howdah.inline", inline),
        ("howdah.inline_deadline", "1s"),
        ("howdah.inline_threshold", "100000"),
        ("plan_cache_mode", "force_generic_plan"),
        // Says which plans stay open.
        ("log_min_messages", "debug2"),
    ]);
    platform.sql(BUSY);
    platform
}

#[test]
fn plans_that_stay_open_answer_every_request_with_its_own_parameters() {
    let platform = platform();
    platform.sql(SCHEMA);
    for (shape, (_, body)) in SHAPES.iter().enumerate() {
        platform.sql(&format!(
            "create function shape_{shape}(k integer) returns text language sql stable as $${body}$$;
             select http.route('GET', '/shape/{shape}/{{k}}', 'shape_{shape}');"
        ));
    }
    let mut busy = platform.connect();
    let mut connections: Vec<Connection> = (0..CONNECTIONS).map(|_| platform.connect()).collect();
    let mut kept_open = Vec::new();
    for (shape, (name, _)) in SHAPES.iter().enumerate() {
        let expected = expected(&platform, shape);
        for turn in 0..ROUNDS {
            let key = |place: usize| (place * 7 + turn * 3) % KEYS;
            let replies =
                round(&mut busy, &mut connections, |place| format!("/shape/{shape}/{}", key(place)));
            for (place, reply) in replies.iter().enumerate() {
                let answer = (reply.status == 200).then(|| reply.text());
                assert_eq!(answer, expected[key(place)], "{name}, key {}: {}", key(place), reply.text());
            }
        }
        let inline = platform.inline_count(&format!("/shape/{shape}/{{k}}"));
        assert_ne!(inline, 0, "{name} never ran in the gateway");
        kept_open.push(platform.log().matches("howdah keeps a plan").count());
        if *name == "index scan" {
            let times = kept_open[shape];
            assert!(0 < times && times < inline / 2, "{times} plans kept open for {inline} requests");
        }
    }
}

#[test]
fn requests_share_a_transaction_or_have_one_each_as_is_set() {
    for (inline_lane, shares) in [("on", true), ("transaction", false)] {
        let platform = platform_with(inline_lane);
        platform.sql(
            "create function moment() returns text language sql stable return now()::text;
             select http.route('GET', '/moment', 'moment')",
        );
        let mut busy = platform.connect();
        let mut connections: Vec<Connection> = (0..CONNECTIONS).map(|_| platform.connect()).collect();
        let mut fewest = CONNECTIONS;
        for turn in 0..ROUNDS {
            let before = platform.inline_count("/moment");
            let replies = round(&mut busy, &mut connections, |_| "/moment".to_owned());
            let moments: BTreeSet<String> = replies.iter().map(Reply::text).collect();
            // The first are for executors, to find out how long it takes.
            if turn > ROUNDS / 2 {
                assert_eq!(
                    platform.inline_count("/moment"),
                    before + CONNECTIONS,
                    "not all ran in the gateway"
                );
                fewest = fewest.min(moments.len());
            }
        }
        assert_eq!(fewest < CONNECTIONS, shares, "{fewest} transactions with {inline_lane}");
    }
}

#[test]
fn an_error_touches_its_own_request_alone() {
    let platform = platform();
    platform.sql(
        "create function divide(k integer) returns text language sql stable as $$ select (100 / k)::text $$;
         select http.route('GET', '/divide/{k}', 'divide');",
    );
    let mut busy = platform.connect();
    let mut connections: Vec<Connection> = (0..CONNECTIONS).map(|_| platform.connect()).collect();
    for turn in 0..ROUNDS {
        let key = |place: usize| (place + turn) % 5;
        let replies = round(&mut busy, &mut connections, |place| format!("/divide/{}", key(place)));
        for (place, reply) in replies.iter().enumerate() {
            match key(place) {
                0 => assert_eq!((reply.status, reply.json()["sqlstate"].as_str()), (400, Some("22012"))),
                divisor => assert_eq!((reply.status, reply.text()), (200, (100 / divisor).to_string())),
            }
        }
    }
    assert_ne!(platform.inline_count("/divide/{k}"), 0);
}

/// What a request can leave behind although it is declared to only read, by a volatile function that it calls;
/// what the next of the same role sees of it, and must see.
const LEFT: &[(&str, &str, &str)] = &[
    (
        "select set_config('my.setting', 'left', false)",
        "coalesce(current_setting('my.setting', true), '')",
        "",
    ),
    ("select set_config('my.local', 'left', true)", "coalesce(current_setting('my.local', true), '')", ""),
    ("set work_mem = '99MB'", "current_setting('work_mem')", "4MB"),
    ("set search_path = left_behind", "current_setting('search_path')", "public, pg_temp"),
    ("select pg_advisory_lock(1), pg_advisory_lock_shared(2, 2)", ADVISORY, "0"),
    ("select pg_advisory_xact_lock(3), pg_advisory_xact_lock_shared(4, 4)", ADVISORY, "0"),
    ("prepare left_plan as select 1", "(select count(*) from pg_prepared_statements)", "0"),
    ("declare left_cursor cursor for select 1", CURSORS, "0"),
    ("declare left_held cursor with hold for select 1", CURSORS, "0"),
    // It gets the lowest number that nobody has open.
    ("select lo_open(4711, x'40000'::integer)", "lo_open(4711, x'40000'::integer)", "0"),
];
const ADVISORY: &str =
    "(select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid())";
/// The query of whoever looks may have a portal of its own.
const CURSORS: &str = "(select count(*) from pg_cursors where name like 'left%')";
/// What a transaction that only reads refuses, whatever calls it.
const REFUSED: &[&str] = &[
    "create temp table left_table (i integer)",
    "set transaction read write",
    "set transaction isolation level serializable",
    "set role other",
    "select nextval('numbers')",
];

/// The answer of `leave` and `look`: the start of the transaction, and what there was to see.
fn seen(reply: &Reply) -> (String, String) {
    assert_eq!(reply.status, 200, "{}", reply.text());
    let (transaction, seen) =
        reply.text().split_once('|').map(|(a, b)| (a.into(), b.into())).expect("two parts");
    (transaction, seen)
}

#[test]
fn what_a_request_leaves_behind_is_gone_for_the_next_of_its_transaction() {
    let platform = platform();
    platform.sql(
        "create role other; grant other to howdah_web;
         create sequence numbers; grant all on numbers to howdah_web; grant temp on database app to howdah_web;
         select lo_from_bytea(4711, 'left'); grant select on large object 4711 to howdah_web;
         create function command(sql text) returns void language plpgsql volatile as $$ begin execute sql; end $$;
         create function leave(sql text) returns text language plpgsql stable as $$
         begin perform command(sql); return extract(epoch from now()) || '|left'; end $$;
         create function look(sql text) returns text language plpgsql stable as $$
         declare result text;
         begin execute 'select ' || sql into result; return extract(epoch from now()) || '|' || result; end $$;
         select http.route('GET', '/leave', 'leave'), http.route('GET', '/look', 'look'),
           http.route('GET', '/refused', 'leave')",
    );
    let mut busy = platform.connect();
    let mut connections: Vec<Connection> = (0..CONNECTIONS).map(|_| platform.connect()).collect();
    for (leave, look, expected) in LEFT {
        let mut shared = 0;
        for _ in 0..ROUNDS {
            let replies = round(&mut busy, &mut connections, |place| match place % 2 {
                0 => format!("/leave?sql={}", encoded(leave)),
                _ => format!("/look?sql={}", encoded(look)),
            });
            let answers: Vec<_> = replies.iter().map(seen).collect();
            for pair in answers.chunks(2) {
                assert_eq!(pair[1].1, *expected, "after {leave}");
                shared += usize::from(pair[0].0 == pair[1].0);
            }
        }
        assert_ne!(shared, 0, "no two requests shared a transaction: {leave}");
    }
    for refused in REFUSED {
        for reply in round(&mut busy, &mut connections, |_| format!("/refused?sql={}", encoded(refused))) {
            assert!(reply.status >= 400, "{refused}: {} {}", reply.status, reply.text());
        }
    }
}

/// A value of a query string.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

/// A function that is declared stable and leaves a cursor open.
const LEAVES_A_CURSOR: &str = "create function leaves_a_cursor() returns text language plpgsql stable as $$
   declare
     rows cursor for select 'row';
     found text;
   begin
     open rows;
     fetch rows into found;
     return found;
   end $$;";

/// Asks for a path many times at once, so that some requests share a turn and its transaction. All answer `row`.
fn all_answer_row(platform: &Platform, path: &str) {
    wait_for("it runs in the gateway", || {
        assert_eq!(platform.get(path).text(), "row");
        platform.inline_count(path) > 0
    });
    let before = platform.inline_count(path);
    let mut connections: Vec<_> = (0..30).map(|_| platform.connect()).collect();
    for _ in 0..20 {
        connections.iter_mut().for_each(|connection| connection.send("GET", path, &[], b""));
        for connection in &mut connections {
            let reply = connection.read_reply(false).expect("an answer");
            assert_eq!((reply.status, reply.text()), (200, "row".into()));
        }
    }
    let ran = platform.inline_count(path) - before;
    assert!(ran > 300, "only {ran} ran in the gateway");
}

#[test]
fn a_cursor_that_is_left_open_is_gone_for_the_next_request() {
    let platform = Platform::start();
    platform.sql(&format!(
        "{LEAVES_A_CURSOR}
         select http.route('GET', '/cursor', 'leaves_a_cursor')"
    ));
    all_answer_row(&platform, "/cursor");
}

#[test]
fn what_a_view_has_come_to_call_leaves_nothing_either() {
    let platform = Platform::start();
    platform.sql(&format!(
        "{LEAVES_A_CURSOR}
         create view shown as select text 'row' as value;
         grant select on shown to howdah_web;
         create function show_view() returns text language sql stable as 'select value from shown';
         select http.route('GET', '/view', 'show_view')"
    ));
    all_answer_row(&platform, "/view");
    platform.sql("create or replace view shown as select leaves_a_cursor() as value");
    all_answer_row(&platform, "/view");
}

#[test]
fn a_cast_of_a_users_type_that_was_made_on_the_way_leaves_nothing_either() {
    let platform = Platform::start();
    platform.sql(&format!(
        "{LEAVES_A_CURSOR}
         create type mood as enum ('happy');
         create function mood_as_json(mood) returns json language plpgsql stable as
           $$ begin return to_json(leaves_a_cursor()); end $$;
         create cast (mood as json) with function mood_as_json(mood);
         create function show_mood() returns text language sql stable as
           $$ select to_json(lower('HAPPY')::mood) #>> '{{}}' $$;
         create function show_moods() returns text language sql stable as
           $$ select to_json(string_to_array('happy', ',')::mood[]) ->> 0 $$;
         select http.route('GET', '/mood', 'show_mood'), http.route('GET', '/moods', 'show_moods')"
    ));
    all_answer_row(&platform, "/mood");
    all_answer_row(&platform, "/moods");
}

#[test]
fn a_cast_that_somebody_has_made_of_our_types_leaves_nothing_either() {
    let platform = Platform::start();
    platform.sql(&format!(
        "{LEAVES_A_CURSOR}
         create function header_as_json(http.header) returns json language plpgsql stable as
           $$ begin return to_json(leaves_a_cursor()); end $$;
         create function show_header() returns text language sql stable as
           $$ select coalesce(j ->> 'value', j #>> '{{}}') from to_json(http.header('x-name', lower('ROW'))) j $$;
         select http.route('GET', '/header', 'show_header')"
    ));
    all_answer_row(&platform, "/header");
    platform.sql("create cast (http.header as json) with function header_as_json(http.header)");
    all_answer_row(&platform, "/header");
}

#[test]
fn a_view_that_a_function_is_given_the_name_of_leaves_nothing_either() {
    let platform = Platform::start();
    if platform.session().query("select '<a/>'::xml", &[]).is_err() {
        return println!("SKIPPED: table_to_xml: unsupported XML feature");
    }
    platform.sql(&format!(
        "{LEAVES_A_CURSOR}
         create view shown as select leaves_a_cursor() as value;
         grant select on shown to howdah_web;
         create function show_view() returns text language sql stable as
           $$ select substring(table_to_xml('shown', true, true, '')::text from '<value>(.*)</value>') $$;
         select http.route('GET', '/view', 'show_view')"
    ));
    all_answer_row(&platform, "/view");
}

#[test]
fn a_column_of_a_users_type_that_nobody_wants_leaves_nothing_either() {
    let platform = Platform::start();
    platform.sql(&format!(
        "{LEAVES_A_CURSOR}
         create domain checked as text check (leaves_a_cursor() = value);
         create function show_other() returns text language sql stable as
           $$ select other from json_to_record('{{\"other\": \"row\", \"unwanted\": \"row\"}}') as r (other text, unwanted checked) $$;
         select http.route('GET', '/other', 'show_other')"
    ));
    all_answer_row(&platform, "/other");
}

/// Keeps the gateway busy with requests for a path, so that it hardly sleeps, while something is done.
fn under_load(platform: &Platform, path: &str, work: impl FnOnce()) {
    const PIPELINED: usize = 50;
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut connection = platform.connect();
                while !over.load(Relaxed) {
                    (0..PIPELINED).for_each(|_| connection.send("GET", path, &[], b""));
                    (0..PIPELINED).for_each(|_| {
                        assert_eq!(connection.read_reply(false).expect("an answer").status, 200);
                    });
                }
            });
        }
        // A failure of the work must not leave the others going on.
        let result = catch_unwind(AssertUnwindSafe(work));
        over.store(true, Relaxed);
        result.unwrap_or_else(|panic| resume_unwind(panic));
    });
}

/// A route that reads one row, and runs in the gateway.
fn counter() -> Platform {
    let platform = platform();
    platform.sql(
        "create table counter as select 0 as n;
         grant select on counter to howdah_web;
         create function current_count() returns text language sql stable as 'select n::text from counter';
         select http.route('GET', '/count', 'current_count')",
    );
    wait_for("it runs in the gateway", || {
        platform.get("/count").status == 200 && platform.inline_count("/count") > 0
    });
    platform
}

#[test]
fn whoever_asks_after_a_commit_sees_it() {
    let platform = counter();
    let transactions = || -> usize {
        let commits = "select xact_commit from pg_stat_database where datname = current_database()";
        platform.value(commits).expect("the database").parse().expect("a number")
    };
    let (ran, committed) = (platform.inline_count("/count"), transactions());
    under_load(&platform, "/count", || {
        let mut session = platform.session();
        session.batch_execute("set synchronous_commit = off").unwrap();
        let mut connection = platform.connect();
        for number in 1..=1000 {
            session.execute("update counter set n = $1", &[&number]).unwrap();
            let reply = connection.request("GET", "/count", &[], b"");
            assert_eq!(reply.text(), number.to_string());
        }
    });
    let (ran, committed) = (platform.inline_count("/count") - ran, transactions() - committed);
    assert!(committed < ran / 2, "{ran} requests had {committed} transactions");
}

#[test]
fn a_shared_transaction_lets_nobody_wait() {
    let platform = counter();
    under_load(&platform, "/count", || {
        let mut session = platform.session();
        session.batch_execute("set lock_timeout = '1s'").unwrap();
        let age = "select coalesce(max(extract(epoch from clock_timestamp() - xact_start)), 0)::float8
                   from pg_stat_activity where backend_type like 'howdah gateway%'";
        for _ in 0..100 {
            let oldest: f64 = session.query_one(age, &[]).unwrap().get(0);
            assert!(oldest < 0.25, "a transaction is open for {oldest} s");
            session.batch_execute("begin; lock table counter; commit").unwrap();
        }
    });
    let open = "pg_stat_activity where backend_type like 'howdah gateway%' and (state <> 'idle' or xact_start is not null)";
    wait_for("nothing is open when nothing comes", || platform.count(open) == 0);
}

#[test]
fn requests_that_ask_for_the_id_of_their_transaction_have_one_each() {
    let platform = Platform::start();
    platform.sql(
        "create function own_id() returns text language sql stable return txid_current()::text;
         create function hidden_id() returns text language plpgsql stable as
           $$ begin return pg_current_xact_id()::text; end $$;
         create function no_id() returns text language sql stable return pg_current_xact_id_if_assigned()::text;
         select http.route('GET', '/own', 'own_id'), http.route('GET', '/hidden', 'hidden_id'),
           http.route('GET', '/none', 'no_id')",
    );
    for path in ["/own", "/hidden"] {
        let mut seen = BTreeSet::new();
        for _ in 0..30 {
            // At once: those that one turn of the gateway brings could share a transaction.
            let mut connections: Vec<Connection> = (0..10).map(|_| platform.connect()).collect();
            for (place, connection) in connections.iter_mut().enumerate() {
                connection.send("GET", if place % 2 == 0 { path } else { "/none" }, &[], b"");
            }
            for (place, connection) in connections.iter_mut().enumerate() {
                let reply = connection.read_reply(false).expect("an answer");
                if place % 2 == 0 {
                    assert_eq!(reply.status, 200, "{}", reply.text());
                    assert!(seen.insert(reply.text()), "{path}: {} twice", reply.text());
                } else {
                    assert_eq!(reply.status, 404, "{path}: {}", reply.text());
                }
            }
        }
    }
}
