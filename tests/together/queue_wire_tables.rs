//! Lines over TCP into every kind of table: a line that is refused is a dead letter, and its neighbours are stored.

use howdah_tests::shippers::{Intake, bips};
use howdah_tests::{Platform, free_port, wait_for};

/// A table and what it refuses.
struct Case {
    /// What makes it, and lets `howdah_web` insert.
    sql: &'static str,
    table: &'static str,
    /// The SQLSTATE with which it refuses the line of userid 13.
    refuses_with: &'static str,
    /// What `queue.listeners` says of the way.
    way: &'static str,
}

const CASES: [Case; 8] = [
    Case {
        sql: "create table checked (userid bigint primary key check (userid <> 13), bip text not null);
              grant insert on checked to howdah_web",
        table: "checked",
        refuses_with: "23514",
        way: "COPY",
    },
    Case {
        sql: "create table known (userid bigint primary key);
              insert into known select generate_series(11, 20) except select 13;
              create table referring (userid bigint references known deferrable initially deferred);
              grant insert on referring to howdah_web",
        table: "referring",
        refuses_with: "23503",
        way: "COPY",
    },
    Case {
        sql: "create table parted (userid bigint, bip text) partition by range (userid);
              create table low partition of parted for values from (0) to (13);
              create table high partition of parted for values from (14) to (100);
              grant insert on parted to howdah_web",
        table: "parted",
        refuses_with: "23514",
        way: "COPY",
    },
    Case {
        sql: "create table guarded (userid bigint, bip text);
              alter table guarded enable row level security;
              create policy lucky on guarded for insert to howdah_web with check (userid <> 13);
              grant insert on guarded to howdah_web",
        table: "guarded",
        refuses_with: "42501",
        way: "insert … select: row-level security",
    },
    Case {
        sql: "create table base (userid bigint, bip text);
              create view lucky_base as select * from base where userid <> 13 with check option;
              grant insert on lucky_base to howdah_web",
        table: "lucky_base",
        refuses_with: "44000",
        way: "insert … select: a view",
    },
    Case {
        sql: "create table ruled (userid bigint check (userid <> 13), bip text);
              create rule shout as on insert to ruled do also notify ruled;
              grant insert on ruled to howdah_web",
        table: "ruled",
        refuses_with: "23514",
        way: "insert … select: rules",
    },
    Case {
        sql: "create table partly (userid bigint check (userid <> 13), hidden text default 'kept');
              grant insert (userid) on partly to howdah_web",
        table: "partly",
        refuses_with: "23514",
        way: "insert … select: privileges on columns",
    },
    // As Citus says it.
    Case {
        sql: "set allow_system_table_mods = on;
              create table pg_catalog.pg_dist_partition (logicalrelid regclass);
              grant select on pg_catalog.pg_dist_partition to public;
              create table spread (userid bigint check (userid <> 13), bip text);
              insert into pg_catalog.pg_dist_partition values ('spread');
              grant insert on spread to howdah_web",
        table: "spread",
        refuses_with: "23514",
        way: "insert … select: a distributed table",
    },
];

#[test]
fn each_kind_of_table_takes_lines_and_refuses_bad_ones_alone() {
    let mut platform = Platform::start();
    for case in CASES {
        platform = takes_and_refuses(platform, &case);
    }
}

#[test]
fn the_way_is_known_from_the_first_bucket_on() {
    let mut intake = Intake::with(&[], ", bucket_milliseconds => 0");
    for number in 1..=20 {
        intake.lines = free_port();
        intake.listen(", bucket_milliseconds => 0");
        intake.wait_until_bound();
        let mut shipper = intake.hello(&format!("p{number}"), 1);
        shipper.send(&bips(1, 1));
        shipper.wait_for_ack(1);
        assert_eq!(intake.view("way").as_deref(), Some("into the queue's segment"), "listener {number}");
        intake.platform.sql(&format!("select queue.unlisten({})", intake.lines));
    }
}

fn takes_and_refuses(platform: Platform, case: &Case) -> Platform {
    let Case { sql, table, refuses_with, way } = case;
    let lines = free_port();
    platform.sql(sql);
    platform.sql(&format!(
        "select queue.listen({lines}, into_table => '{table}', address => '127.0.0.1', bucket_milliseconds => 200)"
    ));
    let intake = Intake { platform, lines };
    intake.wait_until_bound();

    let mut shipper = intake.hello("p", 1);
    shipper.send(&bips(11, 15));
    let rejected = shipper.wait_for_ack(5);
    assert_eq!(rejected.len(), 1, "{table}: {rejected:?}");
    let reject = &rejected[0]["$reject"];
    assert_eq!(
        (reject["sequence"].as_i64(), reject["code"].as_str()),
        (Some(3), Some(*refuses_with)),
        "{table}"
    );
    assert_eq!(userids(&intake, table), "11,12,14,15");
    assert_eq!(intake.view("way").as_deref(), Some(*way), "{table}");

    assert_eq!(intake.pour(&[bips(16, 17), bips(13, 13), bips(18, 18)].concat()), b"");
    assert_eq!(userids(&intake, table), "11,12,14,15,16,17,18");
    let letters = format!(
        "queue.dead_letters where listener = {lines} and sqlstate = '{refuses_with}'
         and convert_from(line, 'UTF8') like '%\"userid\":13,%'"
    );
    assert_eq!(intake.platform.count(&letters), 2, "{table}");
    // The view is as old as 20 ms.
    wait_for(&format!("all lines of {table} are counted"), || {
        (intake.view("stored"), intake.view("rejected")) == (Some("7".into()), Some("2".into()))
    });
    intake.platform
}

fn userids(intake: &Intake, table: &str) -> String {
    let query = format!("select string_agg(userid::text, ',' order by userid) from {table}");
    intake.platform.value(&query).unwrap()
}
