//! Lines of JSON into tables: every kind of table, whatever a table does with a row, and who may.

use std::time::Instant;

use cluster::postgres::Client;
use cluster::{Life, Shutdown};
use howdah_tests::abilities::brings_extension;
use howdah_tests::bounds;
use howdah_tests::queues::{Queues, error, number};

/// Puts lines into a table; counts of stored and rejected.
fn put(session: &mut Client, table: &str, lines: &str) -> (i64, i64) {
    let statement =
        format!("select stored, rejected from queue.put_lines(into_table => '{table}', lines => $1::text)");
    let row = session.query_one(&statement, &[&lines]).unwrap_or_else(|error| panic!("{table}: {error:?}"));
    (row.get(0), row.get(1))
}

/// The rows of a query, as text.
fn rows(session: &mut Client, query: &str) -> Vec<String> {
    let query = format!("select row::text from ({query}) row");
    session.query(&query, &[]).unwrap().iter().map(|row| row.get(0)).collect()
}

/// SQLSTATEs of the dead letters of a table.
fn states(session: &mut Client, table: &str) -> Vec<String> {
    let query = format!(
        "select sqlstate from queue.dead_letter where into_table = '{table}'::regclass order by ctid"
    );
    session.query(&query, &[]).unwrap().iter().map(|row| row.get(0)).collect()
}

fn start(sql: &str) -> (Queues, Client) {
    let queues = Queues::empty(&[]);
    queues.sql(&format!("create extension howdah; {sql}"));
    let session = queues.session();
    (queues, session)
}

#[test]
fn a_table_gets_defaults_generated_columns_identities_and_every_type() {
    let (_queues, mut session) = start(
        "create type mood as enum ('sad', 'ok');
         create domain small as int check (value < 100);
         create table t (
           id bigint generated always as identity, gone int, a int default 7, b text default 'x', double int generated always as (a * 2) stored,
           m mood, s small, n numeric(6, 2), ts timestamptz, d date, arr int[], j json, jb jsonb, by bytea, f float8, flag boolean,
           v varchar(3), r int4range, i interval, net inet, u uuid);
         alter table t drop column gone;
         set timezone = 'UTC'",
    );
    let lines = r#"{"a": "5", "m": "ok", "s": 1, "n": 12.345, "ts": "2020-02-06T05:48:34.664Z", "d": "2020-02-06", "arr": "{1,2}",
        "j": {"x" : [1, "\u20ac"]}, "jb": {"y": 1, "y": 2}, "by": "\\x6869", "f": 1.5e3, "flag": "yes", "v": "abc", "r": "[1,5)", "i": "1 day",
        "net": "::1", "u": "00000000-0000-0000-0000-00000000000A"}"#
        .replace('\n', " ")
        + "\n{}\n{\"a\": null, \"double\": 9, \"j\": \"text\", \"jb\": \"\\u00e9\"}\n{\"b\": \"y\", \"flag\": false}";
    session.batch_execute("set timezone = 'UTC'").unwrap();
    assert_eq!(put(&mut session, "t", &lines), (4, 0));
    let expected = [
        r#"(1,5,x,10,ok,1,12.35,"2020-02-06 05:48:34.664+00",2020-02-06,"{1,2}","{""x"" : [1, ""\\u20ac""]}","{""y"": 2}","\\x6869",1500,t,abc,"[1,5)","1 day",::1,00000000-0000-0000-0000-00000000000a)"#,
        "(2,7,x,14,,,,,,,,,,,,,,,,)",
        r#"(3,,x,,,,,,,,"""text""","""é""",,,,,,,,)"#,
        "(4,7,y,14,,,,,,,,,,,f,,,,,)",
    ];
    let mut stored = rows(&mut session, "select * from t order by id");
    stored.sort_by_key(|row| expected.iter().position(|expected| expected[3..] == row[3..]));
    for (row, expected) in stored.iter().zip(expected) {
        assert_eq!(row[3..], expected[3..]);
    }
}

#[test]
fn rows_are_in_the_order_of_their_lines_whatever_columns_these_have() {
    let (_queues, mut session) = start(
        "create domain short as text check (length(value) < 5);
         create table t (
           id bigint generated always as identity, n int, a text default 'd', b bigint default 7, c numeric(6, 2) default 1,
           d timestamptz default now(), e serial, f short default 'x', g int default 1 / 0, h jsonb, i varchar(3) default 'abc');
         create view v as select * from t",
    );
    let others = [
        "\"a\": \"a\"",
        "\"b\": 1",
        "\"c\": 2",
        "\"d\": null",
        "\"e\": 1",
        "\"f\": null",
        "\"h\": 3",
        "\"i\": null",
    ];
    let lines: Vec<String> = (0..40)
        .map(|n| match others.get(n % 9) {
            Some(other) => format!("{{\"n\": {n}, \"g\": 0, {other}}}"),
            None => format!("{{\"n\": {n}, \"g\": 0}}"),
        })
        .collect();
    for target in ["t", "v"] {
        assert_eq!(put(&mut session, target, &lines.join("\n")), (40, 0));
        let stored = session.query("select n from t order by id", &[]).unwrap();
        let stored: Vec<i32> = stored.iter().map(|row| row.get(0)).collect();
        assert_eq!(stored, (0..40).collect::<Vec<i32>>(), "into {target}");
        let values = "select n, a, b, c, d is null d, f, h, i from t where n < 10 order by id";
        let expected = [
            "(0,a,7,1.00,f,x,,abc)",
            "(1,d,1,1.00,f,x,,abc)",
            "(2,d,7,2.00,f,x,,abc)",
            "(3,d,7,1.00,t,x,,abc)",
            "(4,d,7,1.00,f,x,,abc)",
            "(5,d,7,1.00,f,,,abc)",
            "(6,d,7,1.00,f,x,3,abc)",
            "(7,d,7,1.00,f,x,,)",
            "(8,d,7,1.00,f,x,,abc)",
            "(9,a,7,1.00,f,x,,abc)",
        ];
        assert_eq!(rows(&mut session, values), expected, "into {target}");
        session.batch_execute("truncate t").unwrap();
    }
}

#[test]
fn how_far_a_producer_of_an_unlogged_table_is_outlives_a_crash_that_its_rows_do_not() {
    let (mut queues, mut session) = start("create unlogged table t (n int)");
    let put = "select stored, repeated from queue.put_lines(into_table => 't', lines => E'{\"n\": 1}\\n{\"n\": 2}\\n'::text,
        producer => 'meter-7', sequence => 1)";
    let counts = |session: &mut Client| {
        let row = session.query_one(put, &[]).unwrap();
        (row.get::<_, i64>(0), row.get::<_, i64>(1))
    };
    assert_eq!(counts(&mut session), (2, 0));
    drop(session);
    queues.cluster.restart(Shutdown::Immediate, Life::WithParent).unwrap();
    let mut session = queues.session();
    assert_eq!(number(&mut session, "select count(*) from t"), 0);
    assert_eq!(counts(&mut session), (0, 2));
    session.batch_execute("select queue.forget_producer('t'::regclass, 'meter-7')").unwrap();
    assert_eq!(counts(&mut session), (2, 0));
    assert_eq!(number(&mut session, "select count(*) from t"), 2);
}

#[test]
fn a_row_that_a_constraint_or_a_trigger_refuses_is_a_dead_letter_and_its_neighbours_are_stored() {
    let (_queues, mut session) = start(
        "create table parent (id int primary key);
         insert into parent values (1);
         create table t (
           id int primary key, label text not null, check (id > 0),
           parent int references parent deferrable initially deferred,
           during int4range, exclude using gist (during with &&));
         create function refuse() returns trigger language plpgsql as $$ begin
           if new.label = 'refused' then raise exception 'no'; end if;
           if new.label = 'mine' then raise exception 'mine' using errcode = 'P0042'; end if;
           if new.label = 'skipped' then return null; end if;
           new.label := upper(new.label);
           return new; end $$;
         create trigger refuse before insert on t for each row execute function refuse();
         create table log (rows bigint);
         create function note() returns trigger language plpgsql as $$ begin
           insert into log select count(*) from new_rows; return null; end $$;
         create trigger note after insert on t referencing new table as new_rows execute function note()",
    );
    let mut lines: Vec<String> =
        (1..=1000).map(|id| format!("{{\"id\": {id}, \"label\": \"l\", \"parent\": 1}}")).collect();
    lines[99] = "{\"id\": 1, \"label\": \"twice\", \"parent\": 1}".into();
    lines[199] = "{\"id\": 200, \"label\": null, \"parent\": 1}".into();
    lines[299] = "{\"id\": -1, \"label\": \"l\", \"parent\": 1}".into();
    lines[399] = "{\"id\": 400, \"label\": \"l\", \"parent\": 2}".into();
    lines[499] = "{\"id\": 500, \"label\": \"refused\", \"parent\": 1}".into();
    lines[599] = "{\"id\": 600, \"label\": \"mine\", \"parent\": 1}".into();
    lines[699] = "{\"id\": 700, \"label\": \"skipped\", \"parent\": 1}".into();
    assert_eq!(put(&mut session, "t", &lines.join("\n")), (993, 6));
    assert_eq!(states(&mut session, "t"), ["23505", "23502", "23514", "23503", "P0001", "P0042"]);
    assert_eq!(number(&mut session, "select count(*) from t where label = 'L'"), 993);
    assert_eq!(number(&mut session, "select sum(rows)::bigint from log"), 993);
    let error: String = session
        .query_one("select error from queue.dead_letters where sqlstate = '23505'", &[])
        .unwrap()
        .get(0);
    assert!(error.contains("t_pkey") && error.contains("Key (id)=(1) already exists"), "{error}");
}

#[test]
fn more_bad_rows_than_are_worth_halving_for_cost_nothing_else() {
    let (_queues, mut session) = start("create table t (id int check (id % 3 <> 0))");
    let lines: String = (1..=3000).map(|id| format!("{{\"id\": {id}}}\n")).collect();
    let backend = number(&mut session, "select pg_backend_pid()::bigint");
    let before = most_memory(backend);
    assert_eq!(put(&mut session, "t", &lines), (2000, 1000));
    assert_eq!(number(&mut session, "select count(*) from t"), 2000);
    let more = most_memory(backend) - before;
    assert!(more < 30 << 10, "attempts that failed have kept {more} KiB");
}

/// KiB that a process has had at most.
fn most_memory(process: i64) -> i64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn partitions_get_their_rows() {
    let (_queues, mut session) = start(
        "create table t (id int, label text) partition by range (id);
         create table low partition of t for values from (0) to (10);
         create table high partition of t for values from (10) to (20)",
    );
    assert_eq!(
        put(&mut session, "t", "{\"id\": 1}\n{\"id\": 15}\n{\"id\": 25}\n{\"label\": \"x\", \"id\": 2}"),
        (3, 1)
    );
    assert_eq!(states(&mut session, "t"), ["23514"]);
    assert_eq!(
        rows(&mut session, "select tableoid::regclass, id from t order by id"),
        ["(low,1)", "(low,2)", "(high,15)"]
    );
}

#[test]
fn a_policy_refuses_a_row_and_its_neighbours_are_stored() {
    let (_queues, mut session) = start(
        "create table t (id int, owner text default current_user);
         alter table t enable row level security;
         create policy mine on t using (true) with check (owner = current_user and id < 100);
         create role writer; create role stranger;
         grant insert on t to writer",
    );
    session.batch_execute("set role writer").unwrap();
    let lines = "{\"id\": 1}\n{\"id\": 2, \"owner\": \"somebody\"}\n{\"id\": 3, \"owner\": \"writer\"}\n{\"id\": 100}";
    assert_eq!(put(&mut session, "t", lines), (2, 2));
    session.batch_execute("set role stranger").unwrap();
    let refused = error(&mut session, "select queue.put_lines(into_table => 't', lines => '{\"id\": 5}')");
    assert!(refused.starts_with("42501 permission denied for table public.t"), "{refused}");
    assert!(refused.contains("grant insert on public.t to stranger"), "{refused}");
    session.batch_execute("reset role").unwrap();
    assert_eq!(states(&mut session, "t"), ["42501", "42501"]);
    // The owner of the table sends again what was refused for other reasons.
    assert_eq!(put(&mut session, "t", "{\"id\": \"none\"}"), (0, 1));
    assert_eq!(number(&mut session, "select queue.redrive('t'::regclass)"), 0);
    assert_eq!(states(&mut session, "t"), ["42501", "42501", "22P02"]);
    assert_eq!(rows(&mut session, "select * from t order by id"), ["(1,writer)", "(3,writer)"]);
}

/// Only a policy of the target refuses a line. Anything else that is missing would refuse all of them.
#[test]
fn a_right_that_is_missing_makes_no_dead_letters_whatever_the_target() {
    let (queues, mut session) = start(
        "create table log (a int);
         create function note() returns trigger language plpgsql as $$ begin
           insert into log values (new.a); return new; end $$;
         create table numbered (id serial, a int);
         create table noted (a int);
         create trigger note before insert on noted for each row execute function note();
         create table partly (a int, b int);
         create trigger note before insert on partly for each row execute function note();
         create view seen as select a, 1 as b from log;
         create trigger note instead of insert on seen for each row execute function note();
         alter table numbered enable row level security;
         alter table noted enable row level security;
         create policy small on numbered with check (a < 100);
         create policy small on noted with check (a < 100);
         create role writer;
         grant insert on numbered, noted, seen to writer;
         grant insert (a) on partly to writer",
    );
    session.batch_execute("set role writer").unwrap();
    let lines = "{\"a\": 1}\n{\"a\": 100}\n{\"a\": 2}";
    let targets = [("numbered", 1), ("noted", 1), ("partly", 0), ("seen", 0)];
    let all_are_refused = |session: &mut Client, targets: &[(&str, i64)]| {
        for (target, _) in targets {
            let statement = format!("select queue.put_lines(into_table => '{target}', lines => '{lines}')");
            let refused = error(session, &statement);
            assert!(refused.starts_with("42501"), "{target}: {refused}");
        }
        assert_eq!(queues.number("select count(*) from queue.dead_letter"), 0);
    };
    all_are_refused(&mut session, &targets);
    queues.sql("grant usage on sequence numbered_id_seq to writer; grant insert on log to writer");
    // A policy on what a trigger writes is not one on the line.
    queues.sql("alter table log enable row level security");
    all_are_refused(&mut session, &targets[1..]);
    queues.sql("create policy all_rows on log with check (true)");
    for (target, rejected) in targets {
        assert_eq!(put(&mut session, target, lines), (3 - rejected, rejected), "{target}");
    }
    assert_eq!(states(&mut queues.session(), "numbered"), ["42501"]);
}

#[test]
fn privileges_on_columns_are_kept() {
    let (_queues, mut session) = start(
        "create table t (id int, secret text default 'none');
         create role writer; grant insert (id) on t to writer",
    );
    session.batch_execute("set role writer").unwrap();
    assert_eq!(put(&mut session, "t", "{\"id\": 1}"), (1, 0));
    let refused = error(
        &mut session,
        "select queue.put_lines(into_table => 't', lines => '{\"id\": 2, \"secret\": \"x\"}')",
    );
    assert!(refused.starts_with("42501 permission denied for table t"), "{refused}");
    session.batch_execute("reset role").unwrap();
    assert_eq!(rows(&mut session, "select * from t"), ["(1,none)"]);
    assert!(states(&mut session, "t").is_empty());
}

#[test]
fn views_and_rules_get_what_insert_would_give_them() {
    let (queues, mut session) = start(
        "create table base (id int, label text default 'base');
         create view simple as select id, label from base where id < 100 with check option;
         alter view simple alter label set default 'view';
         create view joined as select id, 'x' as constant from base;
         create function instead() returns trigger language plpgsql as $$ begin
           insert into base values (new.id, 'instead'); return new; end $$;
         create trigger instead instead of insert on joined for each row execute function instead();
         create table ruled (id int);
         create rule ruled as on insert to ruled do instead insert into base values (new.id, 'rule')",
    );
    assert_eq!(
        put(&mut session, "simple", "{\"id\": 1}\n{\"id\": 200}\n{\"id\": 2, \"label\": \"given\"}"),
        (2, 1)
    );
    assert_eq!(states(&mut session, "simple"), ["44000"]);
    assert_eq!(put(&mut session, "joined", "{\"id\": 3}"), (1, 0));
    put(&mut session, "ruled", "{\"id\": 4}");
    assert_eq!(
        rows(&mut session, "select * from base order by id"),
        ["(1,view)", "(2,given)", "(3,instead)", "(4,rule)"]
    );
    session.batch_execute("create sequence s").unwrap();
    let refused = error(&mut session, "select queue.put_lines(into_table => 's', lines => '{}')");
    assert!(refused.starts_with("42809 lines cannot be inserted into public.s"), "{refused}");
    drop(queues);
}

#[test]
fn a_producers_lines_go_into_a_table_once() {
    let (queues, mut session) = start("create table t (id int)");
    let put = |session: &mut Client, ids: std::ops::RangeInclusive<i64>, epoch: i32| -> [i64; 3] {
        let first = *ids.start();
        let lines: String = ids.map(|id| format!("{{\"id\": {id}}}\n")).collect();
        let row = session
            .query_one(
                "select stored, repeated, sequence from queue.put_lines(
                   into_table => 't', lines => $1::text, producer => 'p', epoch => $2, sequence => $3)",
                &[&lines, &epoch, &first],
            )
            .unwrap();
        [0, 1, 2].map(|place| row.get(place))
    };
    assert_eq!(put(&mut session, 1..=3, 1), [3, 0, 3]);
    assert_eq!(put(&mut session, 2..=5, 1), [2, 2, 5]);
    assert_eq!(put(&mut session, 6..=6, 2), [1, 0, 6]);
    let late = "select queue.put_lines(into_table => 't', lines => '{}', producer => 'p', epoch => 1, sequence => 7)";
    assert!(error(&mut session, late).starts_with("55000 producer p has begun epoch 2"));
    session.batch_execute("begin").unwrap();
    assert_eq!(put(&mut session, 7..=7, 2), [1, 0, 7]);
    session.batch_execute("rollback").unwrap();
    assert_eq!(put(&mut queues.session(), 7..=7, 2), [1, 0, 7]);
    assert_eq!(number(&mut session, "select count(*) from t"), 7);
}

#[test]
fn a_trigger_may_put_lines_itself_and_an_error_of_the_server_is_not_a_lines_fault() {
    let (_queues, mut session) = start(
        "create table inner_one (id int);
         create table outer_one (id int);
         create function pass_on() returns trigger language plpgsql as $$ begin
           perform queue.put_lines(into_table => 'inner_one', lines => format(E'{\"id\": %s}\\nbad', new.id)); return new; end $$;
         create trigger pass_on before insert on outer_one for each row execute function pass_on();
         create table broken (id int);
         create function fail() returns trigger language plpgsql as $$ begin
           raise exception 'later' using errcode = 'disk_full'; end $$;
         create trigger fail before insert on broken for each row execute function fail()",
    );
    assert_eq!(put(&mut session, "outer_one", "{\"id\": 1}\n{\"id\": 2}"), (2, 0));
    assert_eq!(number(&mut session, "select sum(id)::bigint from inner_one"), 3);
    assert_eq!(states(&mut session, "inner_one").len(), 2);
    let raised = error(&mut session, "select queue.put_lines(into_table => 'broken', lines => '{}')");
    assert!(raised.starts_with("53100 later"), "{raised}");
    assert!(states(&mut session, "broken").is_empty());
}

/// A table whose trigger raises an error for some rows, and how lines get into it.
const STATES: &str = "
    create function refuse() returns trigger language plpgsql as $$ begin
      if new.state ~ '^[0-9A-Z]{5}$' then raise exception 'refused' using errcode = new.state; end if;
      if new.state like 'log%' then execute format('insert into %I values (1)', new.state); end if;
      return new; end $$;
    create table copied (id int, state text);
    create trigger refuse before insert on copied for each row execute function refuse();
    create table inserted (id int, state text);
    create rule also as on insert to inserted do also notify inserted;
    create trigger refuse before insert on inserted for each row execute function refuse();
    create table after (id int, state text);
    create trigger refuse after insert on after for each row execute function refuse()";

/// Who writes RAISE refuses the row, whatever SQLSTATE it gets, but for those that say to try again.
#[test]
fn what_a_trigger_raises_by_itself_is_the_lines_fault_whatever_its_sqlstate() {
    let (_queues, mut session) = start(STATES);
    for table in ["copied", "inserted", "after"] {
        for state in ["P0001", "42P01", "42501", "XX000", "XX001", "0A000", "38000", "U0042", "2F005"] {
            // Alone, and between others.
            let alone = format!("{{\"id\": 1, \"state\": \"{state}\"}}");
            assert_eq!(put(&mut session, table, &alone), (0, 1), "{table}: {state}");
            let lines = format!(
                "{{\"id\": 1}}\n{{\"id\": 2, \"state\": \"x\"}}\n{alone}\n{{\"id\": 3, \"state\": \"y\"}}"
            );
            assert_eq!(put(&mut session, table, &lines), (3, 1), "{table}: {state}");
        }
        for state in ["40001", "53100", "55P03", "57014", "58030"] {
            let lines = format!("{{\"id\": 1}}\n{{\"state\": \"{state}\"}}");
            let put = format!("select queue.put_lines(into_table => '{table}', lines => '{lines}')");
            let raised = error(&mut session, &put);
            assert!(raised.starts_with(state), "{table}: {raised}");
        }
    }
}

/// An error of a class that may be the target's or a line's: the target has shown that it takes rows, or it has not.
#[test]
fn what_fails_alone_while_its_neighbours_are_stored_is_a_dead_letter() {
    let (queues, mut session) = start(STATES);
    session.batch_execute("create table log_a (id int)").unwrap();
    let lines: String = (0..2000)
        .map(|id| {
            let log = if [7, 900, 1999].contains(&id) { "log_b" } else { "log_a" };
            format!("{{\"id\": {id}, \"state\": \"{log}\"}}\n")
        })
        .collect();
    for table in ["copied", "inserted", "after"] {
        assert_eq!(put(&mut session, table, &lines), (1997, 3), "{table}");
        assert_eq!(states(&mut session, table), ["42P01", "42P01", "42P01"], "{table}");
        // Lines with other columns speak for the table as well.
        let other = "{\"id\": 1}\n{\"id\": 2, \"state\": \"log_b\"}";
        assert_eq!(put(&mut session, table, other), (1, 1), "{table}");
    }
    queues.sql("truncate queue.dead_letter; drop table log_a");
    for table in ["copied", "inserted", "after"] {
        let put = format!("select queue.put_lines(into_table => '{table}', lines => $1::text)");
        let failed = session.execute(&put, &[&lines]).expect_err("no row can be stored");
        assert_eq!(failed.code().map(|code| code.code()), Some("42P01"), "{table}");
    }
    assert_eq!(queues.number("select count(*) from queue.dead_letter"), 0);
    // A right that some rows need is no line's fault.
    queues.sql(
        "create table log_a (id int); create table log_b (id int); create role writer;
         grant insert on copied, inserted, after, log_a to writer",
    );
    session.batch_execute("set role writer").unwrap();
    for table in ["copied", "inserted", "after"] {
        let lines = "{\"state\": \"log_a\"}\n{\"state\": \"log_b\"}";
        let put = format!("select queue.put_lines(into_table => '{table}', lines => '{lines}')");
        let refused = error(&mut session, &put);
        assert!(refused.starts_with("42501 permission denied for table log_b"), "{table}: {refused}");
    }
    assert_eq!(queues.number("select count(*) from queue.dead_letter"), 0);
}

/// What a default, a generated column, a check or a partition's key computes of a row.
#[test]
fn whatever_an_expression_of_the_table_raises_for_one_row_leaves_its_neighbours() {
    let (_queues, mut session) = start(
        "create table defaulted (id int default 1 / 0, b int);
         create table generated (id int, g int generated always as (10 / id) stored);
         create table checked (v text check (v::tsquery is not null));
         create table indexed (v text);
         create function query(text) returns tsquery immutable language sql return $1::tsquery;
         create index on indexed (query(v))",
    );
    for (table, good, bad, state) in [
        ("defaulted", r#"{"id": 1}"#, r#"{"b": 1}"#, "22012"),
        ("generated", r#"{"id": 1}"#, r#"{"id": 0}"#, "22012"),
        ("checked", r#"{"v": "a"}"#, r#"{"v": "&&"}"#, "42601"),
        ("indexed", r#"{"v": "a"}"#, r#"{"v": "&&"}"#, "42601"),
    ] {
        assert_eq!(put(&mut session, table, &format!("{good}\n{bad}\n{good}")), (2, 1), "{table}");
        assert_eq!(states(&mut session, table), [state], "{table}");
    }
}

#[test]
fn exactly_one_target_is_named() {
    let (_queues, mut session) = start("create table t (id int); select queue.create('q')");
    for arguments in ["lines => '{}'", "'q', '{}', into_table => 't'"] {
        let refused = error(&mut session, &format!("select queue.put_lines({arguments})"));
        assert!(refused.starts_with("22023 lines go into a queue or into a table"), "{refused}");
    }
}

#[test]
fn who_sees_the_dead_letters_of_a_table() {
    let (_queues, mut session) = start(
        "create role owner; create role other; create role admin in role howdah_admin;
         create table t (id int); alter table t owner to owner;
         select queue.put_lines(into_table => 't', lines => 'x')",
    );
    for (role, seen) in [("owner", 1), ("other", 0), ("admin", 1)] {
        session.batch_execute(&format!("set role {role}")).unwrap();
        let query =
            "select count(*) from queue.dead_letters where into_table = 't'::regclass and listener = 0";
        assert_eq!(number(&mut session, query), seen, "{role}");
        session.batch_execute("reset role").unwrap();
    }
}

#[test]
fn a_foreign_table_gets_rows_on_its_server() {
    if !brings_extension("postgres_fdw", "rows for a foreign table") {
        return;
    }
    let (queues, mut session) = start("create table far (id int primary key, label text default 'far')");
    let (folder, port) = {
        let row = session
            .query_one("select split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port')", &[])
            .unwrap();
        (row.get::<_, String>(0), row.get::<_, String>(1))
    };
    queues.sql(&format!(
        "create extension postgres_fdw;
         create server here foreign data wrapper postgres_fdw options (host '{folder}', port '{port}', dbname 'postgres');
         create user mapping for current_user server here;
         create foreign table near (id int, label text default 'near') server here options (table_name 'far')"
    ));
    assert_eq!(put(&mut session, "near", "{\"id\": 1}\n{\"id\": 1}\n{\"id\": 2, \"label\": \"x\"}"), (2, 1));
    assert_eq!(states(&mut session, "near"), ["23505"]);
    assert_eq!(rows(&mut session, "select * from far order by id"), ["(1,near)", "(2,x)"]);
}

#[test]
fn deferred_constraints_and_jsonb_are_checked_row_by_row_and_lines_are_kept_in_columns() {
    let (_queues, mut session) =
        start("create table t (id int, body jsonb, line json, unique (id) deferrable initially deferred)");
    let lines = "{\"id\": 1, \"x\": 1e400000}\n{\"id\": 1, \"x\": \"\\u20ac\"}\n{\"id\": 1}\n{\"id\": 2}";
    let row = session
        .query_one(
            "select stored, rejected from queue.put_lines(
               into_table => 't', lines => $1::text, rest_column => 'body', line_column => 'line')",
            &[&lines],
        )
        .unwrap();
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (2, 2));
    assert_eq!(states(&mut session, "t"), ["22003", "23505"]);
    let stored = rows(&mut session, "select id, body, line ->> 'id' from t order by id");
    assert_eq!(stored, ["(1,\"{\"\"x\"\": \"\"€\"\"}\",1)", "(2,{},2)"]);
}

#[test]
fn a_table_that_is_dropped_leaves_no_producer_and_no_letter() {
    let (_queues, mut session) = start(
        "create table t (id int);
         select queue.put_lines(into_table => 't', lines => 'x', producer => 'p', sequence => 1);
         drop table t",
    );
    assert_eq!(number(&mut session, "select count(*) from queue.progress"), 0);
    assert_eq!(number(&mut session, "select count(*) from queue.dead_letter"), 0);
    session.batch_execute("drop extension howdah").unwrap();
}

#[test]
fn lines_that_were_refused_go_into_their_table_when_the_reason_is_mended() {
    let (_queues, mut session) = start(
        "create role owner; create role other; grant create on schema public to owner;
         set role owner;
         create table t (id int check (id < 10), rest jsonb);
         select queue.put_lines(into_table => 't', lines => E'{\"id\": 1}\\n{\"id\": 20, \"x\": 1}\\nbad');
         alter table t drop constraint t_id_check",
    );
    session.batch_execute("set role other").unwrap();
    let refused = error(&mut session, "select queue.redrive('t'::regclass)");
    assert!(refused.starts_with("42501 must be owner of table public.t"), "{refused}");
    session.batch_execute("set role owner").unwrap();
    assert_eq!(number(&mut session, "select queue.redrive('t'::regclass, rest_column => 'rest')"), 1);
    assert_eq!(rows(&mut session, "select * from t order by id"), ["(1,)", "(20,\"{\"\"x\"\": 1}\")"]);
    assert_eq!(
        number(&mut session, "select count(*) from queue.dead_letters where into_table = 't'::regclass"),
        1
    );
}

#[test]
fn a_row_that_is_much_larger_as_text_than_as_a_line_is_written_soon_or_refused() {
    let (_queues, mut session) = start(
        "create table t (n int, j jsonb, a numeric[]);
         create view v as select * from t;
         create table l (n int, line jsonb)",
    );
    let numbers = |count: usize| vec!["1e131071"; count].join(",");
    let written = |count: usize| format!("{{\"j\": [{}]}}\n", numbers(count));
    // 52 MB as text.
    let begin = Instant::now();
    assert_eq!(put(&mut session, "t", &written(400)), (1, 0));
    bounds::LARGE_LINES.check(begin.elapsed());
    session.batch_execute("truncate t").unwrap();
    // 79 MB, by both ways into a table, in one value, in a part of one and in several.
    for large in [
        written(600),
        format!("{{\"a\": \"{{{}}}\"}}\n", numbers(600)),
        format!("{{\"a\": \"{{{}}}\", \"j\": [{}]}}\n", numbers(300), numbers(300)),
    ] {
        for table in ["t", "v"] {
            let lines = format!("{{\"n\": 1}}\n{large}{{\"n\": 2}}");
            assert_eq!(put(&mut session, table, &lines), (2, 1), "{table}: {}", &large[..40]);
        }
    }
    let kept = "select distinct sqlstate || ' ' || error as error from queue.dead_letter";
    let error = "54000 the row has more than 64 MB as text, and a table gets no more by lines";
    assert_eq!(rows(&mut session, kept), [format!("(\"{error}\")")]);
    assert_eq!(number(&mut session, "select count(*) from t where n is not null and j is null"), 12);
    // The whole line is a value as well.
    let whole =
        "select rejected from queue.put_lines(into_table => 'l', lines => $1::text, line_column => 'line')";
    let rejected: i64 = session.query_one(whole, &[&written(600)]).unwrap().get(0);
    assert_eq!(rejected, 1);
}
