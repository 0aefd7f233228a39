//! A route with validators, and one whose answers are kept, answer as one without, whatever changes in between: for random requests under random
//! changes, as clients who see different rows.

use std::collections::HashMap;

use cluster::postgres::Client;
use howdah_tests::pipeline::Pipeline;
use howdah_tests::platform::{DATABASE, Platform, wait_for};

/// Requests.
const REQUESTS: usize = if cfg!(feature = "long") { 100_000 } else { 2000 };

const SCHEMA: &str = "
    create schema early; grant usage on schema early to howdah_web;
    create table item (id integer primary key, name text not null, price numeric default 1, made timestamptz default '2026-01-01 00:00Z', owner text default 'a');
    insert into item select number, 'n' || number, number from generate_series(1, 20) number;
    create type colour as enum ('red', 'blue');
    create table parts (id integer, colour colour) partition by range (id);
    create table low partition of parts for values from (0) to (10);
    create table high partition of parts for values from (10) to (20);
    create table spare (id integer, colour colour); insert into spare values (25, 'red');
    insert into parts values (1, 'red'), (11, 'blue');
    create view cheap as select id, name from item where price < 10;
    create materialized view summary as select count(*) as count from item;
    create role somebody; grant somebody to howdah_web;
    grant select on item, parts, cheap, summary to howdah_web;
    -- Another role, with rights, settings and rows of its own.
    create role reader; grant usage on schema early to reader; grant select on item, parts, cheap, summary to reader;
    alter role reader set app.owner = 'b';
    create function helper() returns text language sql stable return 'first';
    -- What returns a set is a part of its caller's plan, whose names mean what they meant when that was made, as in any prepared statement.
    create function one(id integer) returns setof item language sql stable as 'select * from public.item where item.id = one.id';
    create function below(price numeric) returns setof item language sql stable as 'select * from public.item where item.price < below.price order by id';
    create function all_parts() returns setof parts language sql stable as 'select * from parts order by id';
    create function of_view() returns jsonb language sql stable as 'select jsonb_agg(to_jsonb(c) order by id) from cheap c';
    create function of_summary() returns bigint language sql stable as 'select count from summary';
    create function of_helper() returns text language sql stable as 'select helper() || count(*) from item';
    -- A setting that was made up is empty in a process that has had it before, and null in others.
    create function of_setting() returns text language sql stable as $$ select coalesce(nullif(current_setting('app.name', true), ''), 'none') $$;
    create function of_times() returns text language sql stable as $$ select string_agg(made::text, ',' order by id) from item $$;
    create function of_rights() returns boolean language sql stable as $$ select has_table_privilege('howdah_web', 'public.item', 'select') and pg_has_role('somebody', 'usage') $$;
    create function since(since timestamptz default '2026-01-02') returns bigint language sql stable as 'select count(*) from item where made >= since';
    create function total() returns numeric language plpgsql stable as $$
      declare r record; result numeric := 0; begin
        for r in select price from public.item order by id loop
          result := result + r.price;
          if r.price > 15 then result := result + length(helper()); end if;
        end loop;
        return result;
      end $$;
    create function in_blocks(id integer default 3) returns text language plpgsql stable as $$
      declare found public.item; begin
        select * into found from public.item where item.id = in_blocks.id;
        if found.id is null then return 'none of ' || helper(); end if;
        return upper(found.name) || coalesce(current_setting('app.name', true), '') || found.made || total();
      end $$;
    create function of_time() returns text language sql stable as $$ select date_part('epoch', now() - now()) || ' ' || count(*) from item $$;";

const ROUTES: [(&str, &[&str]); 13] = [
    ("one", &["?id=1", "?id=2", "?id=99", "?id=x"]),
    ("below", &["?price=5", "?price=1.0", "?price=1.00", "?price=NaN"]),
    ("all_parts", &[""]),
    ("of_view", &[""]),
    ("of_summary", &[""]),
    ("of_helper", &["", "?x=1"]),
    ("of_setting", &[""]),
    ("of_times", &[""]),
    ("of_rights", &[""]),
    ("since", &["", "?since=2026-01-01", "?since=2026-01-01T00:00:00Z"]),
    ("total", &[""]),
    ("in_blocks", &["", "?id=1", "?id=99"]),
    ("of_time", &[""]),
];

/// What changes something, or nothing. `$n` is a number that grows, `$r` one of 1 to 20; what fails is nothing.
const CHANGES: &[&str] = &[
    "update item set name = 'n$n' where id = $r",
    "update item set price = $r where id = $r",
    "insert into item values (100 + $n, 'new')",
    "delete from item where id > 100",
    "update item set made = made + interval '$r hours' where id = $r",
    "update item set owner = case owner when 'a' then 'b' else 'a' end where id = $r",
    "begin; update item set name = 'gone' where id = 1; rollback",
    "update parts set id = (id + 10) % 20",
    "insert into parts values ($r % 10, 'blue')",
    "alter table parts attach partition spare for values from (20) to (30)",
    "alter table parts detach partition spare",
    "alter type colour rename value 'red' to 'green'",
    "alter type colour rename value 'green' to 'red'",
    "create or replace view cheap as select id, name from item where price < $r",
    "create or replace view cheap as select id, upper(name) as name from item where price < 10",
    "refresh materialized view summary",
    "create or replace function helper() returns text language sql stable return 'n$n'",
    "create or replace function helper() returns text language plpgsql stable as 'begin return ''p$n''; end'",
    "create or replace function helper() returns text language plpgsql stable as 'declare n bigint; begin select count(*) into n from parts; return n; end'",
    "create function early.helper() returns text language sql stable return 'early$n'",
    "drop function early.helper()",
    "create table early.item as select * from public.item where id < $r; grant select on early.item to howdah_web",
    "drop table early.item",
    "grant select on item to howdah_web",
    "revoke select on item from howdah_web",
    "grant somebody to howdah_web",
    "revoke somebody from howdah_web",
    "alter role howdah_web set app.name = 'n$n'",
    "alter role howdah_web reset app.name",
    "alter database app set app.name = 'd$n'",
    "alter role howdah_web set timezone = 'Asia/Tokyo'",
    "alter role howdah_web set timezone = 'UTC'",
    "alter role howdah_web set datestyle = 'German'",
    "alter role howdah_web reset datestyle",
    "alter table item enable row level security",
    "alter table item disable row level security",
    "drop policy if exists it on item; create policy it on item using (owner = 'a')",
    "drop policy if exists it on item; create policy it on item using (id < $r)",
    "drop policy if exists it on item; create policy it on item using (owner = http.cookie('who'))",
    "drop policy if exists it on item; create policy it on item using (owner = current_setting('app.owner', true))",
    "alter role howdah_web set app.owner = 'a'",
    "alter role reader set app.owner = 'a'",
    "alter role reader set app.owner = 'b'",
    "alter role reader set app.name = 'r$n'",
    "grant select on item to reader",
    "revoke select on item from reader",
    "drop policy if exists it on item; create policy it on item using (owner = case current_user when 'reader' then 'b' else 'a' end)",
    "alter role howdah_web set app.owner = 'b'",
    "alter table item add column more integer default $r",
    "alter table item drop column if exists more",
    "alter table item alter column price type numeric(10, 2)",
    "vacuum item",
    "vacuum full item",
    "analyze",
    "analyze item",
    "reindex table item",
    "reindex index item_pkey",
    "cluster item using item_pkey",
    "reindex table concurrently item",
    "create index if not exists by_price on item (price)",
    "drop index if exists by_price",
    "set track_counts = off; update item set name = 'u$n' where id = $r; set track_counts = on",
    "truncate parts",
    "truncate parts; insert into parts values ($r % 10, 'blue')",
    "create temporary table if not exists own_item as select id, 'mine' as name from public.item",
    "drop table if exists own_item",
    "begin; create temporary table parts on commit drop as select * from public.item; commit",
    "begin; create temporary table more (id integer); grant select on item to howdah_web; commit",
    "copy parts from program 'echo 3,red' with (format csv)",
];

/// Sends a change among others in one pipeline, mostly with maintenance, which may stand in front of it or behind it.
fn pipelined(pipeline: &mut Pipeline, random: &mut fastrand::Rng, change: &str) -> String {
    const BESIDE: [&str; 6] = [
        "analyze item",
        "reindex table item",
        "cluster item using item_pkey",
        "vacuum item",
        "select 1",
        "update parts set id = (id + 10) % 20",
    ];
    let mut statements: Vec<&str> =
        change.split("; ").filter(|one| !matches!(*one, "begin" | "commit" | "rollback")).collect();
    for _ in 0..random.u8(1..4) {
        statements.insert(random.usize(..=statements.len()), BESIDE[random.usize(..BESIDE.len())]);
    }
    let _ = pipeline.run(&statements);
    statements.join(" | ")
}

fn change(
    (session, pipeline): (&mut Client, &mut Pipeline),
    random: &mut fastrand::Rng,
    number: &mut u32,
) -> String {
    *number += 1;
    let change = CHANGES[random.usize(..CHANGES.len())];
    let change = change.replace("$n", &number.to_string()).replace("$r", &random.u32(1..=20).to_string());
    if random.u8(..4) == 0 {
        return pipelined(pipeline, random, &change);
    }
    // Some fail, as what they make is there already.
    let statements: Vec<&str> =
        if change.starts_with("begin") { vec![&change] } else { change.split("; ").collect() };
    statements.iter().for_each(|statement| {
        let _ = session.batch_execute(statement);
    });
    change
}

#[test]
fn a_route_with_validators_answers_as_one_without() {
    let platform = Platform::start();
    platform.sql(SCHEMA);
    for (function, _) in ROUTES {
        for role in ["howdah_web", "reader"] {
            for prefix in ["plain", "tagged", "cached"] {
                platform.sql(&format!(
                    "select http.route('GET', '/{prefix}/{role}/{function}', 'public.{function}', role => '{role}', search_path => 'early, public')"
                ));
            }
            platform.sql(&format!(
                "select http.validate('GET', '/tagged/{role}/{function}'), http.cache('GET', '/cached/{role}/{function}', '{{cookie:who}}')"
            ));
        }
    }
    wait_for("the routes", || platform.get("/tagged/howdah_web/of_time").status == 200);
    let seed = std::env::var("HUNT_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(|| fastrand::u64(..));
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut session, mut connection) = (platform.session(), platform.connect());
    let mut pipeline = Pipeline::open(&platform, DATABASE);
    let (mut number, mut history) = (0, Vec::new());
    // The bodies of the tags that the client has, and the last of each path.
    let (mut bodies, mut tags) = (HashMap::new(), HashMap::<String, String>::new());
    let mut unchanged = 0;
    for asked in 0..REQUESTS {
        if random.u8(..10) == 0 {
            history.push(change((&mut session, &mut pipeline), &mut random, &mut number));
        }
        let (function, queries) = ROUTES[random.usize(..ROUTES.len())];
        let query = queries[random.usize(..queries.len())];
        let prefix = if random.bool() { "tagged" } else { "cached" };
        let role = if random.u8(..3) == 0 { "reader" } else { "howdah_web" };
        let path = format!("/{prefix}/{role}/{function}{query}");
        let cookie = ("Cookie", if random.bool() { "who=a" } else { "who=b" });
        let asked_for = format!("{path} {}", cookie.1);
        let tag = tags.get(&asked_for).map_or("\"none\"", String::as_str);
        // Who keeps nothing names no tag.
        let condition = Some(("If-None-Match", tag)).filter(|_| prefix == "tagged" || random.bool());
        let headers: Vec<_> = condition.into_iter().chain([cookie]).collect();
        let answer = connection.request("GET", &path, &headers, b"");
        let plain = connection.request("GET", &format!("/plain/{role}/{function}{query}"), &[cookie], b"");
        let told = || {
            format!(
                "seed {seed}, request {asked}, {path} after {:?}",
                history.iter().rev().take(5).collect::<Vec<_>>()
            )
        };
        if answer.status == 304 {
            unchanged += 1;
            assert_eq!(plain.status, 200, "{}", told());
            assert_eq!(bodies.get(tag), Some(&plain.body), "{}: {}", told(), plain.text());
        } else {
            assert_eq!(answer.status, plain.status, "{}: {}", told(), answer.text());
            if plain.status == 200 {
                assert_eq!(answer.text(), plain.text(), "{}", told());
                let tag = answer.header("etag").map(str::to_owned);
                assert!(tag.is_some() || prefix == "cached", "{}", told());
                if let Some(tag) = tag {
                    bodies.insert(tag.clone(), answer.body);
                    tags.insert(asked_for, tag);
                }
            }
        }
    }
    let remembered = platform.value("select sum(remembered) from http.stats").unwrap();
    let cached = platform.value("select sum(cached) from http.stats").unwrap();
    println!(
        "{unchanged} of {REQUESTS} are unchanged, {remembered} of them without a run; {cached} were kept"
    );
    assert!(cached.parse::<usize>().unwrap() > REQUESTS / 100, "{cached} were kept");
    assert!(remembered.parse::<usize>().unwrap() > REQUESTS / 50, "{remembered} without a run");
}
