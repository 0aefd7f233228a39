//! Row types that follow another relation: views, children, partitions, tables of a type. Queued values are followed, or the
//! change is refused; none is read as null, or as another type's.

use cluster::postgres::{Client, SimpleQueryMessage};
use howdah_tests::abilities::brings_extension;
use howdah_tests::queues::Queues;

/// A row type that changes with something else, and how that is changed.
struct Kind {
    name: &'static str,
    made_by: &'static str,
    rename: &'static str,
    /// What brings one more column, `added`.
    add: &'static str,
    /// Changes the type of `id`, or removes it.
    retype: &'static str,
}

const KINDS: [Kind; 7] = [
    Kind {
        name: "a child",
        made_by: "create table parent (id bigint, name text); create table event () inherits (parent)",
        rename: "alter table parent rename column name to title",
        add: "alter table parent add column added int",
        retype: "alter table parent alter column id type text",
    },
    Kind {
        name: "a grandchild",
        made_by: "create table parent (id bigint, name text); create table child () inherits (parent);
                  create table event () inherits (child)",
        rename: "alter table parent rename column name to title",
        add: "alter table parent add column added int",
        retype: "alter table parent drop column id",
    },
    Kind {
        name: "a partition",
        made_by: "create table parent (id bigint, name text) partition by hash (name);
                  create table event partition of parent for values with (modulus 1, remainder 0)",
        rename: "alter table parent rename column name to title",
        add: "alter table parent add column added int",
        retype: "alter table parent alter column id type int",
    },
    Kind {
        name: "a table of a type",
        made_by: "create type parent as (id bigint, name text); create table event of parent",
        rename: "alter type parent rename attribute name to title cascade",
        add: "alter type parent add attribute added int cascade",
        retype: "alter type parent alter attribute id type text cascade",
    },
    Kind {
        name: "a view",
        made_by: "create view event as select 1::bigint as id, 'x'::text as name",
        rename: "alter view event rename column name to title",
        add: "create or replace view event as select 1::bigint as id, 'x'::text as name, 1 as added",
        retype: "alter view event rename column id to number",
    },
    Kind {
        name: "a materialized view",
        made_by: "create materialized view event as select 1::bigint as id, 'x'::text as name",
        rename: "alter materialized view event rename column name to title",
        add: "",
        retype: "alter materialized view event rename column id to number",
    },
    Kind {
        name: "a foreign table",
        made_by: "create extension postgres_fdw; create server far foreign data wrapper postgres_fdw;
                  create foreign table event (id bigint, name text) server far",
        rename: "alter foreign table event rename column name to title",
        add: "alter foreign table event add column added int",
        retype: "alter foreign table event alter column id type text",
    },
];

const PUT: &str = "select queue.put('q', row(1234567, 'one')::event)";
const TAKE: &str = "select * from queue.take('q', 10, null::event)";

#[test]
fn a_row_type_that_changes_with_another_relation_is_followed_or_the_change_is_refused() {
    let queues = Queues::start();
    for kind in &KINDS {
        if kind.made_by.contains("postgres_fdw") && !brings_extension("postgres_fdw", kind.name) {
            continue;
        }
        queues.sql("drop database if exists trial with (force)");
        queues.sql("create database trial");
        let mut session = queues.cluster.connect("trial").expect("a session");
        session.batch_execute("create extension howdah").unwrap();
        session.batch_execute(kind.made_by).unwrap();
        session.batch_execute("select queue.create('q', row_type => 'event')").unwrap();
        session.batch_execute(PUT).unwrap();
        for change in [kind.rename, kind.retype] {
            assert_eq!(state_of(&mut session, change), Some("2BP01".into()), "{}: {change}", kind.name);
        }
        let mut wanted = vec![Some("1234567".to_owned()), Some("one".to_owned())];
        if !kind.add.is_empty() {
            session.batch_execute(kind.add).unwrap_or_else(|error| panic!("{}: {error:?}", kind.name));
            wanted.push(None);
        }
        assert_eq!(rows(&mut session, TAKE), [wanted], "{}", kind.name);
        // There is nothing to be lost now.
        session.batch_execute(kind.rename).unwrap_or_else(|error| panic!("{}: {error:?}", kind.name));
        let put =
            "select queue.put('q', json_populate_record(null::event, '{\"id\": 7, \"title\": \"two\"}'))";
        session.batch_execute(put).unwrap_or_else(|error| panic!("{}: {error:?}", kind.name));
        let taken = rows(&mut session, "select id, title from queue.take('q', 10, null::event)");
        assert_eq!(taken, [[Some("7".to_owned()), Some("two".to_owned())]], "{}", kind.name);
    }
}

#[test]
fn a_command_that_alters_another_kind_of_relation_by_name_is_followed_as_well() {
    let queues = Queues::start();
    queues.sql("create table event (id bigint, name text); select queue.create('q', row_type => 'event')");
    queues.sql(PUT);
    let mut session = queues.session();
    for change in [
        "alter view event rename column name to title",
        "alter materialized view event rename column name to title",
        "alter foreign table event rename column name to title",
        "do $$ begin alter table event rename column name to title; end $$",
    ] {
        // PostgreSQL may refuse it by itself.
        let state = state_of(&mut session, change);
        assert!(state.is_some(), "{change}");
    }
    assert_eq!(rows(&mut session, TAKE), [[Some("1234567".to_owned()), Some("one".to_owned())]]);
}

#[test]
fn an_attribute_that_goes_with_its_domain_leaves_no_values_for_another_of_its_name() {
    let queues = Queues::start();
    queues.sql(
        "create domain label as text; create type event as (id bigint, name label);
         select queue.create('q', row_type => 'event')",
    );
    queues.sql(PUT);
    let mut session = queues.session();
    assert_eq!(state_of(&mut session, "drop domain label cascade"), Some("2BP01".into()));
    session.batch_execute(TAKE).unwrap();
    session.batch_execute("drop domain label cascade; alter type event add attribute name text").unwrap();
    session.batch_execute(PUT).unwrap();
    assert_eq!(rows(&mut session, TAKE), [[Some("1234567".to_owned()), Some("one".to_owned())]]);
}

/// What takes a column of the tables away takes the attribute away as well, and so nothing differs.
#[test]
fn nothing_that_is_dropped_takes_a_value_out_of_a_row_that_waits() {
    let queues = Queues::start();
    let citext = brings_extension("citext", "rows with an attribute of its type");
    if citext {
        queues.sql("create extension citext");
    }
    queues.sql(
        "create role other login; create schema theirs authorization other; create schema theirs_too;
         create type theirs.mood as enum ('good', 'bad'); alter type theirs.mood owner to other;
         create collation theirs_too.plain from \"C\";
         create domain theirs_too.feeling as theirs.mood",
    );
    let attributes = if citext { "m theirs.mood, t text, n citext" } else { "m theirs.mood, t text, n text" };
    queues.sql(&format!(
        "create type event as (id bigint, {attributes}, l theirs.mood[], c text collate theirs_too.plain, f theirs_too.feeling);
         select queue.create('q', row_type => 'event')"
    ));
    let put = "select queue.put('q', row(1, 'bad', 'text', 'name', '{good}', 'x', 'good')::event)";
    queues.sql(put);
    let mut session = queues.session();
    let mut drops = vec![
        "set role other; drop type theirs.mood cascade",
        "drop schema theirs cascade",
        "drop owned by other cascade",
        "drop collation theirs_too.plain cascade",
        "drop domain theirs_too.feeling cascade",
        "drop schema theirs_too cascade",
        // An attribute of the same name and type is another.
        "alter type event drop attribute t, add attribute t text",
        // Without their type rows cannot be read.
        "drop type event cascade",
        "drop function queue.row_type_2()",
    ];
    if citext {
        drops.push("drop extension citext cascade");
    }
    for drop in &drops {
        assert_eq!(state_of(&mut session, drop), Some("2BP01".into()), "{drop}");
        session.batch_execute("reset role").unwrap();
    }
    let text = |value: &str| Some(value.to_owned());
    let all = ["1", "bad", "text", "name", "{good}", "x", "good"].map(text);
    assert_eq!(rows(&mut session, TAKE), [all]);
    // There is nothing to be lost now.
    for drop in &drops[..4] {
        session.batch_execute(drop).unwrap_or_else(|error| panic!("{drop}: {error:?}"));
        session.batch_execute("reset role").unwrap();
    }
    session.batch_execute("alter type event drop attribute t, add attribute t text").unwrap();
    session
        .batch_execute(
            "select queue.put('q', json_populate_record(null::event, '{\"id\": 7, \"t\": \"two\"}'))",
        )
        .unwrap();
    let taken = rows(&mut session, "select id, t from queue.take('q', 10, null::event)");
    assert_eq!(taken, [[text("7"), text("two")]]);
    session.batch_execute("select queue.drop_queue('q'); drop type event").unwrap();
    session.batch_execute("drop extension howdah cascade").unwrap();
}

#[test]
fn what_others_drop_is_not_refused_for_a_queue_that_does_not_lose_by_it() {
    let queues = Queues::start();
    queues.sql(
        "create table parent (id bigint, name text);
         create table event (id bigint, name text); alter table event inherit parent;
         select queue.create('q', row_type => 'event')",
    );
    queues.sql(PUT);
    let mut session = queues.session();
    // The child has columns of its own.
    session.batch_execute("alter table parent drop column name").unwrap();
    session.batch_execute("create type mood as enum ('good'); create table other (m mood)").unwrap();
    session.batch_execute("drop type mood cascade; drop table other").unwrap();
    assert_eq!(rows(&mut session, TAKE), [[Some("1234567".to_owned()), Some("one".to_owned())]]);
}

#[test]
fn a_column_that_a_table_gets_with_a_default_is_null_in_rows_that_were_there() {
    let queues = Queues::start();
    queues.sql(
        "create table event (id int, name text); select queue.create('q', row_type => 'event', max_reads => 1);
         insert into event values (3, 'stored');
         select queue.put('q', array[row(1, 'x')::event, row(2, null)::event]);
         alter table event add column c int default 5, add column d int",
    );
    let mut session = queues.session();
    let text = |value: &str| Some(value.to_owned());
    let wanted = [[text("1"), text("x"), None, None], [text("2"), None, None, None]];
    for look in [
        "select * from queue.peek('q', 10, null::event)",
        "select (p).* from queue.peek('q', 10, null::event) p",
        "select (\"row\").* from queue.read('q', 10, '0 seconds', null::event)",
        "select (jsonb_populate_record(null::event, l.message)).* from queue.dead_letters l order by 1",
    ] {
        if look.contains("dead_letters") {
            let again = "select * from queue.read('q', 10, '0 seconds', null::event)";
            assert!(rows(&mut session, again).is_empty(), "they were read as often as they may be");
        }
        assert_eq!(rows(&mut session, look), wanted, "{look}");
    }
    // A row of the table has the default, and takes it with it.
    session.batch_execute("select queue.put('q', e) from event e").unwrap();
    session
        .batch_execute(
            "create function put() returns trigger language plpgsql as $$ begin
               perform queue.put('q', old); return old; end $$;
             create trigger put before delete on event for each row execute function put(); delete from event",
        )
        .unwrap();
    let with_default = [text("3"), text("stored"), text("5"), None];
    assert_eq!(rows(&mut session, TAKE), [with_default.clone(), with_default]);
}

#[test]
fn values_whose_type_was_altered_where_nobody_saw_it_are_refused_and_not_null() {
    let queues = Queues::start();
    queues.sql("create type event as (id bigint, name text); select queue.create('q', row_type => 'event')");
    queues.sql(PUT);
    let mut session = queues.session();
    // As the apply of logical replication does.
    session.batch_execute("set session_replication_role = replica").unwrap();
    for (change, back) in [
        ("alter type event rename attribute id to number", "alter type event rename attribute number to id"),
        (
            "alter type event rename attribute name to title",
            "alter type event rename attribute title to name",
        ),
    ] {
        session.batch_execute(change).unwrap();
        for call in [
            "select * from queue.take('q', 10, null::event)",
            "select * from queue.peek('q', 10, null::event)",
            "select * from queue.read('q', 10, '1 hour', null::event)",
        ] {
            assert_eq!(state_of(&mut session, call), Some("42804".into()), "{change}; {call}");
        }
        session.batch_execute(back).unwrap();
    }
    assert_eq!(rows(&mut session, TAKE), [[Some("1234567".to_owned()), Some("one".to_owned())]]);
}

/// What enums, nested types, arrays of them, domains over them and ranges hold is as it was.
#[test]
fn types_of_columns_may_change_as_postgresql_lets_them() {
    let queues = Queues::start();
    queues.sql(
        "create type mood as enum ('sad', 'glad'); create type inner_row as (a int, b text);
         create domain checked as inner_row; create type span as range (subtype = int);
         create type event as (m mood, i inner_row, l inner_row[], d checked, s span);
         select queue.create('q', row_type => 'event')",
    );
    let put = "select queue.put('q', row('glad', row(1, 'x'), array[row(2, 'y')::inner_row], row(3, 'z')::inner_row, '[1,4)')::event)";
    queues.sql(put);
    let mut session = queues.session();
    session
        .batch_execute(
            "alter type mood rename value 'glad' to 'happy'; alter type mood add value 'best';
             alter type inner_row rename attribute a to first; alter type inner_row add attribute c int;
             alter type span rename to stretch",
        )
        .unwrap();
    // Stored values would have to change.
    let retype = "alter type inner_row alter attribute first type text";
    assert_eq!(state_of(&mut session, retype), Some("0A000".into()));
    let text = |value: &str| Some(value.to_owned());
    let taken = rows(
        &mut session,
        "select m, (i).first, (i).b, (l[1]).first, (d).first, s from queue.take('q', 10, null::event)",
    );
    assert_eq!(taken, [[text("happy"), text("1"), text("x"), text("2"), text("3"), text("[1,4)")]]);
}

fn state_of(session: &mut Client, statement: &str) -> Option<String> {
    let error = session.batch_execute(statement).err()?;
    Some(error.as_db_error().expect("an error of the server").code().code().to_owned())
}

fn rows(session: &mut Client, query: &str) -> Vec<Vec<Option<String>>> {
    let messages = session.simple_query(query).unwrap_or_else(|error| panic!("{error:?}\n{query}"));
    let row = |message: &SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => {
            Some((0..row.len()).map(|place| row.get(place).map(str::to_owned)).collect())
        }
        _ => None,
    };
    messages.iter().filter_map(row).collect()
}
