//! A literal such as `'today'`, of which PostgreSQL makes a constant when it reads the statement, is a reason to keep no answer, wherever it stands.

use howdah_tests::platform::{Platform, wait_for};

const TABLES: &str = "
    create table slot (day date, note text);
    insert into slot values ('2026-01-01', 'first'), ('2999-01-01', 'last');
    create table hours (opens time with time zone);
    insert into hours values ('09:00+00');
    create type item as (id integer, day date);
    grant select on slot, hours to howdah_web;
    create function inner_day() returns date language sql stable as $$ select date 'today' $$;
    create function middle_day() returns date language sql stable as 'select inner_day()';
    create function inner_slots() returns setof slot language sql stable as $$ select * from slot where day >= 'today' $$;";

/// Names and functions whose answers move with the day.
const MOVING: [(&str, &str); 17] = [
    ("of_text", "returns bigint language sql stable as $$ select count(*) from slot where day >= 'today' $$"),
    ("of_rows", "returns setof slot language sql stable as $$ select * from slot where day >= 'today' $$"),
    (
        "as_definer",
        "returns bigint language sql stable security definer as $$ select count(*) from slot where day >= 'today' $$",
    ),
    (
        "with_setting",
        "returns bigint language sql stable set work_mem = '4MB' as $$ select count(*) from slot where day >= 'now' $$",
    ),
    ("inlined", "returns date language sql stable as 'select inner_day()'"),
    ("inlined_twice", "returns date language sql stable begin atomic select middle_day(); end"),
    (
        "inlined_rows",
        "returns bigint language sql stable begin atomic select count(*) from inner_slots(); end",
    ),
    ("folded", "returns integer language sql stable as $$ select 'tomorrow'::date - 'today'::date $$"),
    ("escaped", "returns date language sql stable as $$ select E'\\x74oday'::date $$"),
    (
        "of_array",
        "returns bigint language sql stable as $$ select count(*) from slot where day = any ('{2026-01-01,yesterday}') $$",
    ),
    (
        "of_range",
        "returns bigint language sql stable as $$ select count(*) from slot where day <@ '[today,)'::daterange $$",
    ),
    ("of_row", "returns date language sql stable as $$ select ('(1,today)'::item).day $$"),
    (
        "of_hours",
        "returns bigint language sql stable as $$ select count(*) from hours where opens < '12:00' $$",
    ),
    (
        "dynamic",
        "returns bigint language plpgsql stable as $$ declare n bigint; begin execute 'select count(*) from slot where day >= ''today''' into n; return n; end $$",
    ),
    (
        "in_a_statement",
        "returns bigint language plpgsql stable as $$ declare n bigint; begin select count(*) into n from slot where day >= 'today'; return n; end $$",
    ),
    (
        "in_an_expression",
        "returns text language plpgsql stable as $$ begin if date '2026-01-01' < 'today' then return 'after'; end if; return 'before'; end $$",
    ),
    (
        "inlined_in_an_expression",
        "returns date language plpgsql stable as $$ declare d date; begin d := inner_day(); return d; end $$",
    ),
];

/// Those that do not.
const STANDING: [(&str, &str); 5] = [
    ("of_words", "returns text language sql stable as $$ select 'Buy it today: ' || count(*) from slot $$"),
    (
        "of_names",
        "returns text language sql stable as $$ select today from (select note as today from slot limit 1) s $$",
    ),
    (
        "of_date",
        "returns bigint language sql stable as $$ select count(*) from slot where day >= '2026-11-29' $$",
    ),
    // What was stored as a tree was read when the function was made.
    (
        "of_tree",
        "returns bigint language sql stable begin atomic select count(*) from slot where day >= 'today'; end",
    ),
    (
        "in_words",
        "returns text language plpgsql stable as $$ begin return 'Nothing today, ' || (select count(*) from slot); end $$",
    ),
];

fn route(platform: &Platform, (name, rest): (&str, &str)) {
    platform.sql(&format!(
        "create function {name}() {rest};
         select http.route('GET', '/{name}', '{name}'), http.validate('GET', '/{name}'), http.cache('GET', '/{name}')"
    ));
    wait_for(&format!("the route {name}"), || platform.get(&format!("/{name}")).status == 200);
}

fn stats(platform: &Platform, column: &str, name: &str) -> String {
    let query = format!("select {column} from http.stats where pattern = '/{name}'");
    platform.value(&query).unwrap_or_default()
}

#[test]
fn an_answer_that_a_literal_moves_is_not_kept() {
    let platform = Platform::start();
    platform.sql(TABLES);
    for (name, rest) in MOVING {
        route(&platform, (name, rest));
        let mut client = platform.connect();
        (0..5).for_each(|_| assert_eq!(client.request("GET", &format!("/{name}"), &[], b"").status, 200));
        assert_eq!(stats(&platform, "cached || ' ' || shared", name), "0 0", "{name}");
        let said = stats(&platform, "not_remembered", name);
        assert!(said.starts_with("a text may be another"), "{name}: {said}");
    }
    for (name, rest) in STANDING {
        route(&platform, (name, rest));
        wait_for(&format!("{name} is kept: {}", stats(&platform, "not_remembered", name)), || {
            platform.get(&format!("/{name}"));
            stats(&platform, "cached", name) != "0"
        });
    }
    // What becomes a part of another is looked at anew when it is another.
    platform.sql("create or replace function inner_day() returns date language sql stable as $$ select date '2026-11-29' $$");
    wait_for("it stands", || {
        platform.get("/inlined");
        stats(&platform, "cached", "inlined") != "0"
    });
    // Where answers may be old it is kept, and says its age.
    platform.sql("select http.cache('GET', '/of_text', max_age => '1 hour')");
    wait_for("it is kept", || platform.get("/of_text").header("age").is_some());
}
