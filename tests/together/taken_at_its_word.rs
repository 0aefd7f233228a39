//! What a kept answer does not see: the list of docs/caching.md, "What is taken at its word", shown item by item.

use howdah_tests::abilities;
use howdah_tests::platform::{Platform, wait_for};

fn route(platform: &Platform, name: &str, rest: &str) {
    platform.sql(&format!(
        "create function {name}() {rest};
         select http.route('GET', '/kept/{name}', '{name}'), http.cache('GET', '/kept/{name}'), http.route('GET', '/plain/{name}', '{name}')"
    ));
    wait_for(&format!("{name} is kept"), || {
        platform.get(&format!("/kept/{name}"));
        let cached = format!("select cached > 0 from http.stats where pattern = '/kept/{name}'");
        platform.value(&cached).as_deref() == Some("t")
    });
}

/// Whether an answer is kept that a run would not give any more.
fn is_old(platform: &Platform, name: &str) -> bool {
    let [kept, plain] = ["kept", "plain"].map(|way| platform.get(&format!("/{way}/{name}")).text());
    kept != plain
}

#[test]
fn what_lies_or_changes_without_a_commit_is_not_seen() {
    let platform = Platform::start();
    platform.sql(
        "create table item (id integer primary key, day date); insert into item values (1, '2026-01-01'), (2, '2026-01-02');
         create table other (id integer); insert into other values (1);
         grant select on item, other to howdah_web;
         create sequence numbers; select nextval('numbers'); grant select on numbers to howdah_web;
         create function last_of(sequence oid) returns bigint language internal immutable strict as 'pg_sequence_last_value'",
    );
    route(
        &platform,
        "lies",
        "returns bigint language sql stable begin atomic select sum(last_of(('numbers'::regclass::oid::bigint + id - id)::oid))::bigint from item; end",
    );
    assert!(!is_old(&platform, "lies"));
    platform.sql("select nextval('numbers')");
    assert!(is_old(&platform, "lies"), "what is declared immutable is not looked into");
    platform.sql("select http.cache_clear('/kept/lies')");
    wait_for("it is forgotten", || !is_old(&platform, "lies"));

    if abilities::brings_extension("pg_surgery", "rows that go without a commit") {
        platform.sql("create extension pg_surgery");
        route(
            &platform,
            "counted",
            "returns bigint language sql stable begin atomic select count(*) from item; end",
        );
        platform.sql("select heap_force_kill('item', array['(0,2)']::tid[])");
        assert!(is_old(&platform, "counted"), "nobody has told of the row that has gone");
        platform.sql("select http.cache_clear('/kept/counted')");
        wait_for("it is forgotten", || !is_old(&platform, "counted"));
    }

    // By the zone of today, which is not the one of another season everywhere.
    route(
        &platform,
        "hour",
        "returns numeric language sql stable as $$ select extract(hour from '12:00'::timetz) + count(*) * 0 from other $$",
    );

    // A superuser who writes catalogs by hand where others would not look for it.
    platform.sql(
        "create function writes() returns void language plpgsql as
           'begin perform set_config(''allow_system_table_mods'', ''on'', true); update pg_catalog.pg_class set relname = relname where relname = ''item''; end';
         create function indexes(id integer) returns integer language plpgsql immutable as 'begin perform public.writes(); return id; end';
         create index by_hand on other (indexes(id))",
    );
    let before = platform.value("select http.last_change()");
    platform.sql("reindex index by_hand");
    assert_eq!(platform.value("select http.last_change()"), before);
}
