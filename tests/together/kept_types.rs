//! Functions that PostgreSQL finds by the types of values are seen though no plan names them: an answer that they have a part in is not kept if nobody
//! knows what they read.

use howdah_tests::platform::{Platform, wait_for};

const TYPES: &str = "
    create table other (id integer); insert into other values (1);
    -- Of other languages than SQL and PL/pgSQL nobody knows what they read.
    create type mood as enum ('sad', 'ok');
    create function mood_to_json(mood) returns json language internal stable strict as 'to_hex32';
    create cast (mood as json) with function mood_to_json(mood);
    create type rank as enum ('low', 'high');
    create function rank_compare(rank, rank) returns integer language internal stable strict as 'btoidcmp';
    create function rank_less(rank, rank) returns boolean language internal immutable strict as 'oidlt';
    create function rank_equal(rank, rank) returns boolean language internal immutable strict as 'oideq';
    create operator <# (leftarg = rank, rightarg = rank, function = rank_less);
    create operator =# (leftarg = rank, rightarg = rank, function = rank_equal);
    create operator class rank_ops default for type rank using btree as operator 1 <#, operator 3 =#, function 1 rank_compare(rank, rank);
    -- One by which nothing is compared unless it is asked for.
    create function number_compare(integer, integer) returns integer language internal stable strict as 'btint4cmp';
    create function number_less(integer, integer) returns boolean language internal immutable strict as 'int4lt';
    create operator <~ (leftarg = integer, rightarg = integer, function = number_less);
    create operator class number_ops for type integer using btree as operator 1 <~, operator 3 =, function 1 number_compare(integer, integer);
    create domain happy as mood;
    create type pair as (mood mood, id integer);
    create type plain as enum ('a', 'b');
    create table item (id integer, mood mood, rank rank, happy happy, pair pair, moods mood[], plain plain);
    insert into item values (1, 'ok', 'low', 'ok', row('ok', 1), '{ok}', 'a'), (2, 'sad', 'high', 'sad', row('ok', 2), '{sad}', 'b');
    grant select on item, other to howdah_web;";

/// Names, expressions, and the function of which nobody knows what it reads.
const SEEN: [(&str, &str, &str); 9] = [
    ("aggregated", "select json_agg(mood) from item", "mood_to_json"),
    ("aggregated_rows", "select json_agg(item) from item", "mood_to_json"),
    ("of_domain", "select json_agg(happy) from item", "mood_to_json"),
    ("of_array", "select json_agg(moods) from item", "mood_to_json"),
    ("of_pair", "select to_json(pair) from item where id = 1", "mood_to_json"),
    ("built", "select json_build_object('mood', mood) from item where id = 1", "mood_to_json"),
    ("sorted", "select string_agg(id::text, ',') from (select id from item order by rank) s", "rank_compare"),
    (
        "sorted_by",
        "select string_agg(id::text, ',') from (select id from item order by id using <~) s",
        "number_compare",
    ),
    ("aggregated_in_order", "select string_agg(id::text, ',' order by rank) from item", "rank_compare"),
];

const KNOWN: [(&str, &str); 3] = [
    ("of_plain", "select json_agg(plain order by plain) from item"),
    ("of_numbers", "select json_agg(id order by id) from item"),
    ("of_numbers_grouped", "select count(*) from (select id from item group by id) s"),
];

#[test]
fn functions_that_are_found_by_types_are_looked_for() {
    let platform = Platform::start();
    platform.sql(TYPES);
    let stat = |column: &str, name: &str| {
        platform
            .value(&format!("select {column} from http.stats where pattern = '/{name}'"))
            .unwrap_or_default()
    };
    let make = |name: &str, query: &str| {
        platform.sql(&format!(
            "create function {name}() returns text language sql stable as $$ select ({query})::text $$;
             select http.route('GET', '/{name}', '{name}'), http.cache('GET', '/{name}')"
        ));
        wait_for(&format!("the route {name}"), || platform.get(&format!("/{name}")).status == 200);
        (0..5).for_each(|_| drop(platform.get(&format!("/{name}"))));
    };
    for (name, query, function) in SEEN {
        make(name, query);
        let said = stat("not_remembered", name);
        assert_eq!(said, format!("it calls {function}(), which cannot be looked into"), "{name}");
        assert_eq!(stat("cached", name), "0", "{name}");
    }
    for (name, query) in KNOWN {
        make(name, query);
        wait_for(&format!("{name} is kept: {}", stat("not_remembered", name)), || {
            platform.get(&format!("/{name}"));
            stat("cached", name) != "0"
        });
    }
}
