//! What a commit has changed is known, whatever has changed it; and of what means nothing nobody hears.

use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::{Duration, Instant};

use howdah_tests::bounds;
use howdah_tests::pipeline::Pipeline;
use howdah_tests::platform::{Platform, wait_for};
use registry::commits::{Commits, Counter, Mark, Standing};

/// Tables of which each way changes some.
const TABLES: &str = "
    create table plain (id integer primary key, text text, parent integer references plain on delete cascade on update cascade);
    insert into plain select number, 'text' from generate_series(1, 5) number;
    create table beside (id integer);
    insert into beside values (1);
    create table parts (id integer, text text) partition by range (id);
    create table low partition of parts for values from (0) to (10);
    create table high partition of parts for values from (10) to (20);
    create table loose (id integer, text text);
    insert into parts values (1, 'one'), (11, 'eleven');
    create table child () inherits (plain);
    create materialized view summary as select count(*) from plain;
    create unlogged table fleeting (id integer);
    create table referring (id integer references plain on delete cascade on update set null);
    insert into referring values (3);
    create function copied() returns trigger language plpgsql as 'begin insert into beside values (new.id); return new; end';
    create table triggering (id integer); create trigger copied after insert on triggering for each row execute function copied();
    create table deferring (id integer); create constraint trigger copied after insert on deferring deferrable initially deferred
      for each row execute function copied();
    create role somebody;
    create function answer() returns integer language sql return 1;
    create view shown as select 1 as one;
    create type colour as enum ('red');
    create domain short as text check (length(value) < 10);
    create sequence numbers;";

struct Numbers {
    platform: Platform,
}

impl Numbers {
    fn new() -> Numbers {
        Numbers::with(&[("max_prepared_transactions", "20")])
    }

    fn with(settings: &[(&str, &str)]) -> Numbers {
        let platform = Platform::with(settings);
        platform.sql(TABLES);
        Numbers { platform }
    }

    fn of(&self, relation: &str) -> i64 {
        let argument = if relation.is_empty() { "null".into() } else { format!("'{relation}'::regclass") };
        let number = self.platform.value(&format!("select http.last_change({argument})"));
        number.and_then(|number| number.parse().ok()).expect("a number")
    }

    /// Whether it is another after some SQL.
    fn changes(&self, relation: &str, sql: &str) -> bool {
        let before = self.of(relation);
        self.platform.sql(sql);
        self.of(relation) != before
    }
}

#[test]
fn every_way_of_changing_rows_is_counted_for_the_tables_that_have_them() {
    let numbers = Numbers::new();
    let untouched = numbers.of("loose");
    for (way, changed) in [
        ("insert into plain values (10, 'ten')", "plain"),
        ("update plain set text = 'other' where id = 10", "plain"),
        ("delete from plain where id = 10", "plain"),
        ("merge into plain p using (values (20)) v(id) on p.id = v.id when not matched then insert values (20, 'twenty')", "plain"),
        ("merge into plain p using (values (20)) v(id) on p.id = v.id when matched then delete", "plain"),
        ("insert into plain values (1) on conflict (id) do update set text = 'again'", "plain"),
        ("with moved as (delete from plain where id = 5 returning id) insert into beside select id from moved", "plain"),
        ("insert into child values (30, 'child')", "child"),
        ("insert into child values (31, 'child')", "plain"),
        ("truncate beside", "beside"),
        ("copy beside from program 'echo 1'", "beside"),
        ("begin; create table copied_into (id integer); truncate beside; copy beside from program 'echo 1' with (freeze); commit", "beside"),
        // A trigger's, a deferred one's, a foreign key's.
        ("insert into triggering values (1)", "beside"),
        ("insert into deferring values (1)", "beside"),
        ("delete from plain where id = 3", "referring"),
        ("insert into referring values (4); update plain set id = 44 where id = 4", "referring"),
        ("set session_replication_role = replica; insert into plain values (50, 'fifty')", "plain"),
        // Partitions: moved rows change both, and the whole hears of each.
        ("update parts set id = 12 where id = 1", "low"),
        ("update parts set id = 2 where id = 12", "high"),
        ("insert into low values (3, 'three')", "parts"),
        ("insert into fleeting values (1)", "fleeting"),
        ("refresh materialized view summary", "summary"),
        ("refresh materialized view summary with no data", "summary"),
        ("refresh materialized view summary", "summary"),
        ("create unique index on summary (count); refresh materialized view concurrently summary; insert into plain values (60);
          refresh materialized view concurrently summary", "summary"),
        // In a function, in a block with a handler, in a savepoint that is kept.
        ("do $$ begin begin insert into plain values (70); exception when others then null; end; end $$", "plain"),
        ("begin; savepoint one; insert into plain values (71); release one; commit", "plain"),
        // Where nothing is counted, everything counts.
        ("set track_counts = off; insert into plain values (80)", "plain"),
        ("set track_counts = off; insert into plain values (81)", "low"),
        ("begin; set track_counts = off; insert into plain values (82); set track_counts = on; commit", "plain"),
        ("begin; set local track_counts = off; insert into plain values (83); set local track_counts = on; commit", "plain"),
        ("begin; declare c cursor for select 1; insert into plain values (84); commit", "plain"),
        ("create table made as select 1 as id", ""),
    ] {
        assert!(numbers.changes(changed, way), "{changed}: {way}");
    }
    assert!(numbers.of("loose") > untouched, "with track_counts off");
    // Where the server began with it off, a session's first transaction may turn it on.
    let numbers = Numbers::with(&[("track_counts", "off")]);
    for way in [
        "begin; insert into plain values (90); set track_counts = on; commit",
        "begin; insert into plain values (91); set local track_counts = on; commit",
    ] {
        assert!(numbers.changes("plain", way), "{way}");
    }
}

#[test]
fn a_prepared_transaction_is_counted_when_it_is_committed_and_not_before() {
    let numbers = Numbers::new();
    let many = (0..60).map(|number| format!("create table many_{number} (); ")).collect::<String>();
    numbers.platform.sql(&many);
    let insert_into_many =
        (0..60).map(|number| format!("insert into many_{number} default values; ")).collect::<String>();
    for (write, relation) in [
        ("insert into plain values (10)", "plain"),
        ("grant select on plain to somebody", ""),
        ("savepoint one; insert into plain values (11); release one", "plain"),
        ("set local track_counts = off; insert into plain values (12); set local track_counts = on", "plain"),
        // More than a mark can name.
        (&insert_into_many, "many_50"),
    ] {
        for end in ["rollback", "commit"] {
            let before = numbers.of(relation);
            numbers.platform.sql(&format!("begin; {write}; prepare transaction 'one'"));
            assert_eq!(numbers.of(relation), before, "{write}");
            numbers.platform.sql(&format!("{end} prepared 'one'"));
            // Nobody asks a transaction that is gone whether it was rolled back.
            assert_ne!(numbers.of(relation), before, "{write}");
        }
    }
    // One that fails as it is prepared, and one that has changed nothing.
    let before = numbers.of("plain");
    let mut session = numbers.platform.session();
    assert!(
        session
            .batch_execute(
                "begin; insert into plain values (20); listen something; prepare transaction 'one'"
            )
            .is_err()
    );
    session
        .batch_execute("rollback; begin; select pg_current_xact_id(); prepare transaction 'empty'")
        .unwrap();
    session.batch_execute("commit prepared 'empty'").unwrap();
    session.batch_execute("insert into beside values (3)").unwrap();
    assert_eq!(numbers.of("plain"), before);
    // More than may be prepared at a time, one after the other, and nobody asks.
    for number in 0..50 {
        numbers
            .platform
            .sql(&format!("begin; insert into plain values (100 + {number}); prepare transaction 'one'"));
        numbers.platform.sql("commit prepared 'one'");
    }
    assert!(numbers.of("plain") > before);
}

#[test]
fn every_change_of_what_names_and_rights_mean_is_counted() {
    let numbers = Numbers::new();
    for way in [
        "create table another (id integer)",
        "alter table plain add column more integer default 3",
        "alter table plain alter column more type bigint",
        "alter table plain enable row level security",
        "create policy all_of_it on plain using (true)",
        "alter policy all_of_it on plain using (id > 0)",
        "grant select on plain to somebody",
        "grant select (id) on plain to somebody",
        "revoke select on plain from somebody",
        "alter table plain owner to somebody",
        "create or replace function answer() returns integer language sql return 2",
        "alter function answer() stable",
        "revoke execute on function answer() from public",
        "drop function answer()",
        "create or replace view shown as select 2 as one",
        "alter type colour add value 'green'",
        "alter type colour rename value 'green' to 'blue'",
        "alter domain short drop constraint short_check",
        "grant usage on type colour to somebody",
        "create schema earlier",
        "create table earlier.plain (id integer)",
        "grant usage on schema earlier to somebody",
        "alter role somebody set work_mem = '8MB'",
        "alter database app set work_mem = '8MB'",
        "alter role somebody createdb",
        "grant somebody to howdah_web",
        "revoke somebody from howdah_web",
        "create cast (text as colour) with inout",
        "create operator === (leftarg = integer, rightarg = integer, function = int4eq)",
        "create collation bytes from \"C\"",
        "create text search configuration mine (copy = simple)",
        "alter table parts attach partition loose for values from (20) to (30)",
        "alter table parts detach partition loose",
        "alter table child no inherit plain",
        "create rule nothing as on insert to beside do instead nothing",
        "alter table triggering disable trigger copied",
        "alter sequence numbers increment 5",
        "comment on table plain is 'x'; create extension citext",
    ] {
        assert!(numbers.changes("", way), "{way}");
    }
    // Roles and their settings are those of all databases.
    let before = numbers.of("");
    let mut other = numbers.platform.cluster.connect("postgres").expect("a session");
    other.batch_execute("alter role somebody set work_mem = '9MB'").unwrap();
    assert_ne!(numbers.of(""), before, "by another database");
    let (names, rows) = (numbers.of(""), numbers.of("plain"));
    other.batch_execute("create table plain (id integer); insert into plain values (1)").unwrap();
    assert_eq!(
        (numbers.of(""), numbers.of("plain")),
        (names, rows),
        "another database has tables of its own"
    );
}

#[test]
fn what_changes_nothing_is_not_counted() {
    let numbers = Numbers::new();
    for way in [
        "select count(*) from plain",
        "select * from plain for update",
        "update plain set text = 'none' where false",
        "begin; insert into plain values (10); rollback",
        "begin; savepoint one; insert into plain values (10); rollback to one; insert into beside values (1); commit",
        "do $$ begin begin insert into plain values (10); raise 'no'; exception when others then null; end; end $$",
        "set track_counts = off; select 1; set track_counts = on",
        "vacuum plain",
        "vacuum full plain",
        "vacuum analyze",
        "analyze plain",
        "cluster plain using plain_pkey",
        "reindex table plain",
        "select nextval('numbers')",
        "comment on table plain is 'a comment'",
        "notify something",
    ] {
        let statements: Vec<&str> =
            if way.starts_with("begin") || way.starts_with("do") || way.starts_with("set") {
                vec![way]
            } else {
                way.split("; ").collect()
            };
        for relation in ["plain", ""] {
            let before = numbers.of(relation);
            statements.iter().for_each(|statement| numbers.platform.sql(statement));
            assert_eq!(numbers.of(relation), before, "{relation}: {way}");
        }
    }
}

/// Commands on temporary tables, and those that give a table another file.
const PRIVATE: [&str; 15] = [
    "create temporary table one (id serial primary key, text text default 'x' check (text <> ''), other integer unique references one)",
    "create table pg_temp.one as select * from plain",
    "select * into temporary one from plain",
    "create temporary table one (like plain including all); create index on one (text); insert into one values (1)",
    "create temporary table one (id integer); drop table one",
    "create temporary table one (id serial); begin; truncate one restart identity; drop table one; commit",
    "begin; create temporary table one on commit drop as select * from plain; commit",
    "begin; create temporary table one (id integer) on commit drop; insert into one values (1); commit; begin; create temporary table one (id integer) on commit drop; commit",
    "create temporary table one (id integer) on commit delete rows; insert into one values (1)",
    "do $$ begin create temporary table one (id integer); drop table one; end $$",
    "truncate beside",
    "truncate plain cascade",
    "do $$ begin execute 'truncate plain, referring'; end $$",
    "begin; create temporary table one as select answer() as id; truncate beside, low; insert into beside values (1); commit",
    "refresh materialized view summary; refresh materialized view summary with data",
];

/// The same with something else in it, or beside it.
const NOT_PRIVATE: [&str; 16] = [
    "begin; create temporary table one (id integer); grant select on plain to somebody; commit",
    "begin; create temporary table one (id integer); create table another_one (id integer); commit",
    "begin; truncate beside; alter table plain alter column text set statistics 5; commit",
    "begin; alter table beside rename to besides; truncate besides; alter table besides rename to beside; commit",
    "create temporary table one as select renames() as id",
    "begin; create temporary table one (id integer); truncate renaming; commit",
    "refresh materialized view refreshing",
    "create temporary table one () inherits (plain)",
    "begin; savepoint one; create temporary table one (id integer); rollback to one; create table another_two (id integer); commit",
    "begin; create table another_three (id integer); savepoint one; truncate beside; rollback to one; commit",
    "create table another_four (id integer); drop table another_four",
    "create index on beside (id)",
    "drop table child",
    "do $$ begin begin create temporary table one (id integer); raise 'no'; exception when others then create table another_five (id integer); end; end $$",
    "set allow_system_table_mods = on; create temporary table one as select renames_by_hand() as id",
    "set allow_system_table_mods = on; truncate changing_by_hand",
];

#[test]
fn what_a_session_does_to_temporary_tables_means_nothing_to_others() {
    let numbers = Numbers::new();
    numbers.platform.sql(
        "create function renames() returns integer language plpgsql as 'begin execute format(''alter table loose rename to loose_%s'', floor(random() * 1e9)::integer); return 1; end';
         create function renamed() returns trigger language plpgsql as 'begin alter table triggering rename to triggering_more; return null; end';
         create table renaming (id integer); create trigger renamed after truncate on renaming execute function renamed();
         create function refreshed() returns integer language plpgsql security definer as 'begin execute ''alter table deferring rename to deferring_more''; return 1; end';
         create materialized view refreshing as select refreshed() as id with no data;
         create function renames_by_hand() returns integer language plpgsql as 'begin update pg_class set relname = relname where relname = ''plain''; return 1; end';
         create function changed_by_hand() returns trigger language plpgsql as 'begin update pg_class set relname = relname where relname = ''plain''; return null; end';
         create table changing_by_hand (id integer); create trigger changed after truncate on changing_by_hand execute function changed_by_hand();
         truncate beside",
    );
    for way in PRIVATE {
        let (names, rows) = (numbers.of(""), numbers.of("loose"));
        // The session's end drops what is left.
        let mut session = numbers.platform.session();
        let statements: Vec<&str> = if way.starts_with("do") { vec![way] } else { way.split("; ").collect() };
        for statement in statements {
            session.batch_execute(statement).unwrap_or_else(|error| panic!("{way}: {statement}: {error:?}"));
        }
        let own = session.query_one("select pg_backend_pid()", &[]).unwrap().get::<_, i32>(0);
        drop(session);
        let is_gone = format!("select not exists (select from pg_stat_activity where pid = {own})");
        wait_for("the session has ended", || numbers.platform.value(&is_gone).as_deref() == Some("t"));
        assert_eq!((numbers.of(""), numbers.of("loose")), (names, rows), "{way}");
    }
    assert!(numbers.changes("beside", "truncate beside"), "its rows are counted");
    for way in NOT_PRIVATE {
        let before = numbers.of("");
        let mut session = numbers.platform.session();
        let statements: Vec<&str> = if way.starts_with("do") { vec![way] } else { way.split("; ").collect() };
        for statement in statements {
            session.batch_execute(statement).unwrap_or_else(|error| panic!("{way}: {statement}: {error:?}"));
        }
        assert_ne!(numbers.of(""), before, "{way}");
    }
}

/// What changes no name, and may be told between others.
const MAINTENANCE: [&str; 8] = [
    "analyze plain",
    "vacuum analyze plain",
    "reindex table plain",
    "reindex index plain_pkey",
    "reindex schema public",
    "cluster plain using plain_pkey",
    "reindex table concurrently beside",
    "vacuum full beside",
];

/// What changes one, and may be told as often as one likes.
const OF_NAMES: [&str; 3] = [
    "grant select on plain to somebody",
    "alter table plain enable row level security",
    "create or replace function answer() returns integer language sql return 3",
];

#[test]
fn what_stands_in_one_transaction_with_maintenance_is_counted() {
    let numbers = Numbers::new();
    numbers.platform.sql(
        "create index by_answer on beside (id);
         create function comments() returns void language plpgsql as 'begin execute ''comment on table public.plain is null''; end';
         create function indexes(id integer) returns integer language plpgsql immutable as 'begin perform public.comments(); return id; end';
         create function grants() returns void language plpgsql as 'begin execute ''grant select on public.plain to somebody''; end';
         create function granted(id integer) returns integer language plpgsql immutable as 'begin perform public.grants(); return id; end';
         create schema apart; create table apart.indexed (id integer); insert into apart.indexed values (1); create index indexed_by on apart.indexed (indexes(id));
         create table apart.granted (id integer); insert into apart.granted values (1); create index granted_by on apart.granted (granted(id))",
    );
    let mut session = Pipeline::open(&numbers.platform, "app");
    let mut count = 0;
    for maintenance in MAINTENANCE {
        let before = numbers.of("");
        session.run(&[maintenance]).unwrap();
        session.run(&["reindex table plain", "analyze plain", "select 1"]).unwrap();
        assert_eq!(numbers.of(""), before, "{maintenance}");
        for other in OF_NAMES {
            for statements in [[maintenance, other], [other, maintenance]] {
                let before = numbers.of("");
                // Some begin a transaction of their own, and are refused after others.
                match session.run(&statements) {
                    Ok(()) => assert_ne!(numbers.of(""), before, "{statements:?}"),
                    Err(error) => assert!(error.contains("pipeline"), "{statements:?}: {error}"),
                }
                count += 1;
            }
        }
    }
    assert_eq!(count, MAINTENANCE.len() * OF_NAMES.len() * 2);
    // A function of an index runs while that is made anew or looked at.
    for (maintenance, is_counted) in [
        ("reindex table apart.granted", true),
        ("analyze apart.granted", true),
        ("vacuum full apart.granted", true),
        ("cluster apart.granted using granted_by", true),
        ("reindex table concurrently apart.granted", true),
        ("reindex table apart.indexed", false),
        ("analyze apart.indexed", false),
    ] {
        let before = numbers.of("");
        numbers.platform.sql(maintenance);
        assert_eq!(numbers.of("") != before, is_counted, "{maintenance}");
    }
}

#[test]
fn what_the_function_of_an_index_does_is_counted_while_autovacuum_looks() {
    let numbers = Numbers::new();
    numbers.platform.sql(
        "create sequence looks;
         create function grants() returns void language plpgsql as
           $$ begin execute 'grant select on public.plain to somebody'; perform nextval('public.looks'); end $$;
         create function granted(id integer) returns integer language plpgsql immutable as 'begin perform public.grants(); return id; end';
         create table granted (id integer) with (autovacuum_analyze_threshold = 0, autovacuum_analyze_scale_factor = 0);
         create index on granted (granted(id)); insert into granted select generate_series(1, 10)",
    );
    let looks = || numbers.platform.count("generate_series(1, (select last_value from looks))");
    let (before, looked) = (numbers.of(""), looks());
    numbers.platform.set("autovacuum_naptime", "1s");
    wait_for("autovacuum has looked at the table", || {
        numbers.platform.count("pg_stat_all_tables where relname = 'granted' and autoanalyze_count > 0") > 0
    });
    assert!(looks() > looked, "it calls the function");
    assert_ne!(numbers.of(""), before);
}

#[test]
fn a_commit_pays_little_for_each_relation_that_it_has_changed() {
    let partitions = if bounds::counts() { 10_000 } else { 500 };
    let platform = Platform::with(&[("max_locks_per_transaction", "1024"), ("synchronous_commit", "off")]);
    let mut session = platform.session();
    session.batch_execute("create table parts (id integer) partition by list (id)").unwrap();
    for first in (0..partitions).step_by(500) {
        let create = format!(
            "do $$ begin for n in {first}..{} loop execute format('create table part_%s partition of parts for values in (%s)', n, n); end loop; end $$",
            first + 499
        );
        session.batch_execute(&create).unwrap();
    }
    // The quickest of some, with and without a count for each.
    let mut commit = |counts: &str| -> Duration {
        let mut took = (0..5).map(|_| {
            session.batch_execute(&format!("set track_counts = {counts}; begin")).unwrap();
            session
                .batch_execute(&format!("insert into parts select generate_series(0, {partitions} - 1)"))
                .unwrap();
            let begun = Instant::now();
            session.batch_execute("commit").unwrap();
            begun.elapsed()
        });
        let first = took.next().unwrap();
        took.fold(first, Duration::min)
    };
    let (without, with) = (commit("off"), commit("on"));
    let more = with.saturating_sub(without);
    println!("{partitions} partitions: {without:?} without counts, {with:?} with");
    bounds::COMMIT_OF_RELATIONS
        .check_against(more, bounds::COMMIT_OF_RELATIONS.limit * partitions as u32 / 1000);
}

#[test]
fn many_writers_of_one_relation_pay_little_for_counting_it() {
    const WRITERS: usize = 64;
    const COMMITS: u32 = 20_000;
    fn zeroed<T: Default>(count: usize) -> &'static [T] {
        std::iter::repeat_with(T::default).take(count).collect::<Vec<_>>().leak()
    }
    let counters: &[Counter] = zeroed(1 << 10);
    let marks: &[Mark] = zeroed(WRITERS);
    let commits = Commits::new(Box::leak(Box::new(AtomicU64::new(0))), counters, marks, zeroed(1));
    let things = [commits.thing("relation")];
    let begun = Instant::now();
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || {
                for number in 1..=COMMITS {
                    commits.mark(writer, number, &things);
                    commits.count(writer, &things);
                }
            });
        }
    });
    let took = begun.elapsed();
    assert!(commits.hold(commits.now(), &things, |_, _| Standing::Ends));
    assert_eq!(commits.last_change(things[0]).number(), u64::from(COMMITS) * WRITERS as u64);
    // Two processors share the work: a writer's own time is no more than the whole, over what each has of it.
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get()) as u32;
    let of_thousand = took * cores * 1000 / (COMMITS * WRITERS as u32);
    bounds::COMMIT_OF_RELATIONS.check(of_thousand);
}
