//! Functions that return another value each time: they run in a gateway if they do nothing else, and no two requests get the same.

use std::collections::BTreeSet;

use howdah_tests::Connection;

use super::shared_transactions::{CONNECTIONS, platform, round};

const ROUNDS: usize = 12;

const SCHEMA: &str = "
create table item (id integer primary key, name text);
insert into item select i, 'n' || i from generate_series(1, 10000) i;
analyze item;
create sequence numbers;
create view numbered as select nextval('numbers') as number;
grant select on item, numbered to howdah_web;
grant usage on sequence numbers to howdah_web;
create function token() returns text language sql return md5(gen_random_uuid()::text);
create function token_of_token() returns text language sql return token() || '-';
create function quoted() returns text language sql as $$ select gen_random_uuid()::text $$;
create function stepwise() returns text language plpgsql as $$ begin return gen_random_uuid()::text; end $$;
create function named() returns text language sql begin atomic
  select name from item order by random() limit 1;
end;
create function numbering() returns text language sql begin atomic select number::text from numbered; end;
create function next_number() returns text language sql return nextval('numbers')::text;
create function again(n integer) returns text language sql return n::text;
create or replace function again(n integer) returns text language sql
  return case when n > 0 then again(n - 1) else random()::text end;
";

/// Bodies of functions of a route that do nothing but vary.
const VARYING: &[(&str, &str)] = &[
    ("uuid", "select gen_random_uuid()::text"),
    ("number", "select random()::text"),
    ("clock", "select clock_timestamp()::text || random()"),
    ("initplan", "select (select gen_random_uuid())::text"),
    ("initplan below", "select t from (select (select gen_random_uuid())::text as t offset 0) s"),
    ("cte", "with made as materialized (select gen_random_uuid() as id) select id::text from made"),
    (
        "twice the cte",
        "with made as (select gen_random_uuid() as id) select a.id::text from made a, made b where a.id = b.id",
    ),
    ("set", "select string_agg(gen_random_uuid()::text, ',') from generate_series(1, 3)"),
    ("function scan", "select t::text from gen_random_uuid() t"),
    ("values", "select v::text from (values (gen_random_uuid())) s(v)"),
    (
        "sorted",
        "select string_agg(i::text, ',') from (select i from generate_series(1, 40) i order by random()) s",
    ),
    (
        "union",
        "select string_agg(v, ',') from (select random()::text v union all select gen_random_uuid()::text) s",
    ),
    (
        "lateral",
        "select i.name || t from item i, lateral (select gen_random_uuid()::text t) s where i.id = 3",
    ),
    ("key", "select name || random() from item where id = (select 1 + floor(random() * 10000)::integer)"),
    ("correlated", "select (select gen_random_uuid()::text where i.id > 0) from item i where i.id = 7"),
    ("aggregate", "select max(random())::text from item where id < 3"),
    ("helper", "select token()"),
    ("helper of a helper", "select token_of_token()"),
    ("helper in an initplan", "select (select token())"),
];

/// Bodies that may do more: their functions stay with the executors.
const DOING_MORE: &[(&str, &str)] = &[
    ("sequence", "select nextval('numbers')::text"),
    ("current", "select coalesce(current_query(), '') || random()"),
    ("sequence behind a view", "select number::text from numbered"),
    ("helper that reads", "select named()"),
    ("helper behind a view", "select numbering()"),
    ("helper that writes", "select next_number()"),
    ("quoted helper", "select quoted()"),
    ("helper in PL/pgSQL", "select stepwise()"),
    ("itself", "select again(3)"),
    ("setting", "select set_config('app.x', random()::text, true)"),
    ("seed", "select setseed(0.5)::text || random()"),
    ("lock", "select pg_advisory_xact_lock(5)::text || random()"),
    ("sleep", "select pg_sleep(0)::text || random()"),
    ("id", "select txid_current()::text"),
    ("lock of rows", "select name || random() from item where id = 3 for share"),
];

#[test]
fn what_returns_another_value_each_time_runs_in_a_gateway_and_no_two_requests_get_the_same() {
    let platform = platform();
    platform.sql(SCHEMA);
    for (place, (_, body)) in VARYING.iter().chain(DOING_MORE).enumerate() {
        platform.sql(&format!(
            "create function vary_{place}() returns text language sql as $${body}$$;
             select http.route('POST', '/vary/{place}', 'vary_{place}'), http.route('GET', '/vary/{place}', 'vary_{place}');"
        ));
    }
    let mut busy = platform.connect();
    let mut connections: Vec<Connection> = (0..CONNECTIONS).map(|_| platform.connect()).collect();
    let mut kept_open = vec![0];
    for (place, (name, _)) in VARYING.iter().enumerate() {
        let mut seen = BTreeSet::new();
        for _ in 0..ROUNDS {
            for reply in round(&mut busy, &mut connections, |_| format!("/vary/{place}")) {
                assert_eq!(reply.status, 200, "{name}: {}", reply.text());
                assert!(seen.insert(reply.text()), "{name}: {} twice", reply.text());
            }
        }
        let inline = platform.inline_count(&format!("/vary/{place}"));
        kept_open.push(platform.log().matches("howdah keeps a plan").count());
        assert!(inline > CONNECTIONS * ROUNDS / 2, "{name} ran in the gateway {inline} times");
    }
    let several = kept_open.windows(2).filter(|counts| counts[1] > counts[0]).count();
    assert!(several > 8, "of {several} the plan stayed open");
    for (place, (name, _)) in DOING_MORE.iter().enumerate() {
        let path = format!("/vary/{}", place + VARYING.len());
        for _ in 0..12 {
            let reply = connections[0].request("POST", &path, &[], b"");
            assert!(matches!(reply.status, 200 | 403), "{name}: {}", reply.text());
        }
        assert_eq!(platform.inline_count(&path), 0, "{name} ran in the gateway");
    }
}
