//! A schema is changed by hand at random: whenever `pg_dump` writes it otherwise, that is told, and never else.

use std::collections::BTreeMap;
use std::time::Duration;

use hunt::{Hunt, Rng};

use super::deployments::Databases;
use crate::together::described::cases::{BASE, BEFORE, CASES};

const SHORT: Duration = Duration::from_secs(if cfg!(feature = "long") { 120 } else { 10 });
/// Changes that a hunt makes at least.
const LEAST: usize = if cfg!(feature = "long") { 200 } else { 20 };
/// Changes of a round.
const CHANGES: usize = 7;

/// Changes, and what takes each back.
const THERE_AND_BACK: &[(&str, &str)] = &[
    ("alter table item add extra int", "alter table item drop extra"),
    ("create table by_hand (n int primary key)", "drop table by_hand"),
    ("create view seen_by_hand as select 1 as one", "drop view seen_by_hand"),
    ("create function f() returns int language sql return 1", "drop function f()"),
    ("create type feeling as enum ('one')", "drop type feeling"),
    ("grant select on item to reader", "revoke select on item from reader"),
    ("grant update (name) on item to reader", "revoke update (name) on item from reader"),
    ("grant execute on function near to reader", "revoke execute on function near from reader"),
    ("grant usage on schema shop to reader", "revoke usage on schema shop from reader"),
    ("comment on table item is 'x'", "comment on table item is null"),
    ("alter table item disable trigger touches", "alter table item enable trigger touches"),
    ("create policy by_hand on item using (true)", "drop policy by_hand on item"),
    ("alter table item alter name set default 'b'", "alter table item alter name set default 'a'"),
    ("alter function near stable", "alter function near immutable"),
    ("alter table item rename price to cost", "alter table item rename cost to price"),
    ("alter table item set (fillfactor = 60)", "alter table item reset (fillfactor)"),
    ("alter table item alter name set statistics 9", "alter table item alter name set statistics -1"),
    ("alter table item replica identity full", "alter table item replica identity default"),
    ("alter table item owner to reader", "alter table item owner to shop_owner"),
    ("alter schema shop owner to reader", "alter schema shop owner to shop_owner"),
    ("drop index item_lower", "create unique index item_lower on item (lower(name))"),
    ("alter domain small set default 1", "alter domain small drop default"),
    ("alter sequence s increment 3", "alter sequence s increment 1"),
];

/// Statements that change rows and files, and no definition.
const OF_ROWS: &[&str] = &[
    "analyze",
    "insert into item (name) values (gen_random_uuid()::text)",
    "select nextval('s')",
    "refresh materialized view m",
    "reindex table item",
    "cluster item using item_pkey; alter table item set without cluster",
    "create table gone (n int); drop table gone",
    "alter table item add gone int; alter table item drop gone",
];

/// Changes that `pg_dump` does not write with a schema.
const UNWRITTEN: [&str; 5] =
    ["cast", "transform", "default privileges", "disable trigger all", "on index item_pkey"];

/// A database with everything of the cases, in migrations or in code.
fn made(databases: &mut Databases, random: &mut Rng) -> String {
    let name = databases.another();
    let mut files = BTreeMap::from([("migrations/0-base.sql".to_owned(), BASE.to_owned())]);
    databases.cluster.execute(&name, BEFORE.split_once(';').unwrap().1).unwrap();
    for (number, case) in CASES.iter().enumerate() {
        let path = case.name.replace(' ', "-");
        if case.is_superusers {
            databases.cluster.execute(&name, &format!("set search_path = shop; {}", case.made)).unwrap();
        } else if case.is_migrations || random.bool() {
            files.insert(format!("migrations/{}-{path}.sql", number + 1), case.made.to_owned());
        } else {
            files.insert(format!("functions/{path}.sql"), case.made.to_owned());
        }
    }
    databases.deploy(&name, &files).unwrap();
    name
}

/// A change that somebody might make.
fn any_change(random: &mut Rng, back: &mut Vec<&'static str>) -> &'static str {
    match random.u8(..4) {
        0 => random.choice(OF_ROWS).unwrap(),
        1 if !back.is_empty() => back.swap_remove(random.usize(..back.len())),
        1 | 2 => {
            let (change, undoes) = random.choice(THERE_AND_BACK).unwrap();
            back.push(undoes);
            change
        }
        _ => {
            let is_written = |change: &&str| !UNWRITTEN.iter().any(|part| change.contains(part));
            let changes = CASES.iter().flat_map(|case| case.changes).copied().filter(is_written);
            random.choice(changes.collect::<Vec<_>>()).unwrap()
        }
    }
}

#[test]
fn what_pg_dump_writes_otherwise_is_told_and_nothing_else() {
    let mut databases = Databases::start();
    databases.cluster.execute("postgres", BEFORE.split_once(';').unwrap().0).unwrap();
    let mut hunt = Hunt::begin("by hand", SHORT);
    let (mut differed, mut equal) = (0, 0);
    while let Some(mut random) = hunt.next_round_until(differed + equal >= LEAST) {
        let name = made(&mut databases, &mut random);
        let mut before = databases.schema(&name);
        let mut session = databases.cluster.connect(&name).unwrap();
        session.batch_execute("set search_path = shop").unwrap();
        let (mut back, mut history) = (Vec::new(), Vec::new());
        for _ in 0..CHANGES {
            let change = any_change(&mut random, &mut back);
            if session.batch_execute(change).is_err() {
                continue;
            }
            history.push(change);
            let now = databases.schema(&name);
            let told = session
                .query_one(
                    "select string_agg(d.object || ' ' || d.change, '; ') from deploy.drift('shop') d",
                    &[],
                )
                .unwrap();
            let told: Option<String> = told.get(0);
            let other: Vec<_> = now.iter().filter(|entry| !before.contains(entry)).collect();
            assert_eq!(
                now != before,
                told.is_some(),
                "{history:#?}\nTold: {told:?}\npg_dump writes {other:#?}"
            );
            match told {
                Some(_) => differed += 1,
                None => equal += 1,
            }
            // The next is compared with this. Code's object that is gone is no part of it any more, and a deployment would make it again.
            session.batch_execute("select deploy.note_shape('shop', true)").unwrap();
            before = now;
            let gone = "select exists (select from deploy.object where definition is null)";
            if session.query_one(gone, &[]).unwrap().get(0) {
                break;
            }
        }
        drop(session);
        databases.drop(&name);
    }
    println!("{differed} changes were told, after {equal} there was nothing to tell");
    assert!(differed > 3 && equal > 1);
}
