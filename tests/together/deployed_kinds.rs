//! Each kind of object that a file of an application can make: made, changed while others depend on it, taken away, brought back.

use cluster::postgres::SimpleQueryMessage;
use howdah_tests::application::{Application, ITEMS};

/// A kind of object, in a file of its own.
struct Case {
    kind: &'static str,
    /// The text of the file.
    made: &'static str,
    /// Another text.
    changed: &'static str,
    /// The text of a file that needs it; it never changes.
    dependent: &'static str,
    /// A query that tells one from the other, and what it returns.
    probe: &'static str,
    answers: [&'static str; 2],
    /// Whether anything is left of it.
    is_there: &'static str,
}

const CASES: &[Case] = &[
    Case {
        kind: "view",
        made: "create view v as select id, name from item;\ngrant select on v to howdah_web;\ncomment on view v is 'one';",
        changed: "create view v as select id::text as id, price from item;\ngrant select on v to howdah_web;\ncomment on view v is 'two';",
        dependent: "create view over as select id from v;",
        probe: "select obj_description('shop.v'::regclass) || (select format_type(atttypid, null) from pg_attribute where attrelid = 'shop.over'::regclass and attname = 'id')
                || has_table_privilege('howdah_web', 'shop.v', 'select')",
        answers: ["oneintegertrue", "twotexttrue"],
        is_there: "to_regclass('shop.v') is not null",
    },
    Case {
        kind: "materialized view",
        made: "create materialized view m as select id, 1 as n from item;\ncreate unique index m_id on m (id);",
        changed: "create materialized view m as select id, 2 as n, name from item;\ncreate unique index m_id on m (id, n);",
        dependent: "create view over as select sum(n) as n from m;",
        probe: "select n || ' ' || pg_get_indexdef('shop.m_id'::regclass) from shop.over",
        answers: [
            "1 CREATE UNIQUE INDEX m_id ON shop.m USING btree (id)",
            "2 CREATE UNIQUE INDEX m_id ON shop.m USING btree (id, n)",
        ],
        is_there: "to_regclass('shop.m') is not null or to_regclass('shop.m_id') is not null",
    },
    Case {
        kind: "function whose result changes",
        made: "create function f(n int) returns int language sql immutable return n;\nrevoke execute on function f from public;",
        changed: "create function f(n int) returns text language sql immutable return n || '!';\nrevoke execute on function f from public;",
        dependent: "create view over as select f(1) as n;\ncreate function g() returns text language sql stable return (select n::text from over);",
        probe: "select shop.g() || has_function_privilege('howdah_web', 'shop.f(int)', 'execute')",
        answers: ["1false", "1!false"],
        is_there: "to_regproc('shop.f') is not null",
    },
    Case {
        kind: "function whose arguments change",
        made: "create function f(n int) returns int language sql immutable return n;",
        changed: "create function f(n bigint, m int default 1) returns int language sql immutable return (n + m)::int;",
        dependent: "create function g() returns int language sql immutable return f(1);",
        probe: "select shop.g() || ' ' || (select string_agg(oid::regprocedure::text, ' ') from pg_proc where pronamespace = 'shop'::regnamespace and proname = 'f')",
        answers: ["1 shop.f(integer)", "2 shop.f(bigint,integer)"],
        is_there: "to_regproc('shop.f') is not null",
    },
    Case {
        kind: "procedure",
        made: "create procedure p(n int) language sql begin atomic update item set name = 'one' where id = n; end;",
        changed: "create procedure p(n bigint) language sql begin atomic update item set name = 'two' where id = n; end;",
        dependent: "create procedure over() language sql set search_path = shop as 'call p(1)';",
        probe: "call shop.over(); select name from shop.item",
        answers: ["one", "two"],
        is_there: "to_regproc('shop.p') is not null",
    },
    Case {
        kind: "aggregate",
        made: "create aggregate total (int) (sfunc = int4pl, stype = int, initcond = '0');",
        changed: "create aggregate total (int) (sfunc = int4pl, stype = int, initcond = '10');",
        dependent: "create view over as select total(id) as n from item;",
        probe: "select n::text from shop.over",
        answers: ["1", "11"],
        is_there: "to_regproc('shop.total') is not null",
    },
    Case {
        kind: "aggregate of rows",
        made: "create aggregate how_many (*) (sfunc = int8inc, stype = int8, initcond = '0');",
        changed: "create aggregate how_many (*) (sfunc = int8inc, stype = int8, initcond = '10');",
        dependent: "create view over as select how_many(*) as n from item;",
        probe: "select n::text from shop.over",
        answers: ["1", "11"],
        is_there: "to_regproc('shop.how_many') is not null",
    },
    Case {
        kind: "range type",
        made: "create type span as range (subtype = int);",
        changed: "create type span as range (subtype = bigint);",
        dependent: "create function spans() returns span language sql immutable return span(1, 2);",
        probe: "select rngsubtype::regtype::text from pg_range where rngtypid = 'shop.span'::regtype and shop.spans() is not null",
        answers: ["integer", "bigint"],
        is_there: "to_regtype('shop.span') is not null",
    },
    Case {
        kind: "statistics",
        made: "create statistics both_of (dependencies) on name, price from item;",
        changed: "create statistics both_of (mcv) on name, price from item;",
        dependent: "",
        probe: "select stxkind::text from pg_statistic_ext",
        answers: ["{f}", "{m}"],
        is_there: "exists (select from pg_statistic_ext)",
    },
    Case {
        kind: "composite type",
        made: "create type pair as (one int);",
        changed: "create type pair as (one int, two int);",
        dependent: "create function pairs() returns setof pair language sql stable as 'select null::pair';",
        probe: "select count(*)::text from pg_attribute where attrelid = 'shop.pair'::regclass and (select prorettype from pg_proc where oid = 'shop.pairs'::regproc) = 'shop.pair'::regtype",
        answers: ["1", "2"],
        is_there: "to_regtype('shop.pair') is not null",
    },
    Case {
        kind: "domain",
        made: "create domain small as int check (value < 10);",
        changed: "create domain small as int check (value < 100);",
        dependent: "create function least_small(n small) returns int language sql immutable return n;",
        probe: "select pg_get_constraintdef(oid) from pg_constraint where contypid = 'shop.small'::regtype and to_regproc('shop.least_small') is not null",
        answers: ["CHECK ((VALUE < 10))", "CHECK ((VALUE < 100))"],
        is_there: "to_regtype('shop.small') is not null",
    },
    Case {
        kind: "enum",
        made: "create type mood as enum ('sad', 'glad');",
        changed: "create type mood as enum ('sad', 'so', 'glad');",
        dependent: "create view over as select 'glad'::mood as mood;",
        probe: "select enum_range(mood)::text from shop.over",
        answers: ["{sad,glad}", "{sad,so,glad}"],
        is_there: "to_regtype('shop.mood') is not null",
    },
    Case {
        kind: "trigger",
        made: "create function touch() returns trigger language plpgsql as $$ begin new.name := 'one'; return new; end $$;\ncreate trigger touches before update on item for each row execute function touch();",
        changed: "create function touch() returns trigger language plpgsql as $$ begin new.name := 'two'; return new; end $$;\ncreate trigger touches before update of price on item for each row execute function touch();",
        dependent: "",
        probe: "update shop.item set price = 1; select name from shop.item",
        answers: ["one", "two"],
        is_there: "exists (select from pg_trigger where tgname = 'touches')",
    },
    Case {
        kind: "policy",
        made: "create policy few on item using (id > 1);",
        changed: "create policy few on item to howdah_web using (id > 2);",
        dependent: "",
        probe: "select pg_get_expr(polqual, polrelid) || polroles::regrole[]::text from pg_policy",
        answers: ["(id > 1){-}", "(id > 2){howdah_web}"],
        is_there: "exists (select from pg_policy)",
    },
    Case {
        kind: "policy by a function",
        made: "create function mine(n int) returns bool language sql stable return n > 1;\ncreate policy few on item using (mine(id));",
        changed: "create function mine(n bigint) returns bool language sql stable return n > 2;\ncreate policy few on item using (mine(id));",
        dependent: "",
        probe: "select pg_get_expr(polqual, polrelid) from pg_policy",
        answers: ["shop.mine(id)", "shop.mine((id)::bigint)"],
        is_there: "exists (select from pg_policy)",
    },
    Case {
        kind: "index",
        made: "create index item_name on item (name);",
        changed: "create index item_name on item (name, price);",
        dependent: "",
        probe: "select pg_get_indexdef('shop.item_name'::regclass)",
        answers: [
            "CREATE INDEX item_name ON shop.item USING btree (name)",
            "CREATE INDEX item_name ON shop.item USING btree (name, price)",
        ],
        is_there: "to_regclass('shop.item_name') is not null",
    },
    Case {
        kind: "sequence",
        made: "create sequence numbers start 5;",
        changed: "create sequence numbers start 7;",
        dependent: "create function next() returns bigint language sql volatile return nextval('numbers');",
        probe: "select seqstart::text from pg_sequence where seqrelid = 'shop.numbers'::regclass",
        answers: ["5", "7"],
        is_there: "to_regclass('shop.numbers') is not null",
    },
    Case {
        kind: "table without rows",
        made: "create table scratch (n int);",
        changed: "create table scratch (n int, m int);",
        dependent: "create view over as select * from scratch;",
        probe: "select count(*)::text from pg_attribute where attrelid = 'shop.over'::regclass",
        answers: ["1", "2"],
        is_there: "to_regclass('shop.scratch') is not null",
    },
    Case {
        kind: "operator",
        made: "create function near(a int, b int) returns bool language sql immutable return abs(a - b) < 2;\ncreate operator ~~~ (leftarg = int, rightarg = int, function = near);",
        changed: "create function near(a bigint, b bigint) returns bool language sql immutable return abs(a - b) < 3;\ncreate operator ~~~ (leftarg = bigint, rightarg = bigint, function = near);",
        dependent: "create view over as select id operator(shop.~~~) 3 as n from item;",
        probe: "select n::text from shop.over",
        answers: ["false", "true"],
        is_there: "exists (select from pg_operator where oprnamespace = 'shop'::regnamespace) or to_regproc('shop.near') is not null",
    },
    Case {
        kind: "cast between own types",
        made: "create type metre as (n int);\ncreate type foot as (n int);\ncreate function feet(m metre) returns foot language sql immutable return row(m.n * 3)::foot;\ncreate cast (metre as foot) with function feet(metre);",
        changed: "create type metre as (n int);\ncreate type foot as (n int);\ncreate function feet(m metre) returns foot language sql immutable return row(m.n * 4)::foot;\ncreate cast (metre as foot) with function feet(metre) as assignment;",
        dependent: "create function length() returns int language sql immutable return (row(1)::metre::foot).n;",
        probe: "select shop.length() || (select castcontext::text from pg_cast where castsource = 'shop.metre'::regtype)",
        answers: ["3e", "4a"],
        is_there: "to_regtype('shop.metre') is not null or to_regtype('shop.foot') is not null or to_regproc('shop.feet') is not null",
    },
    Case {
        kind: "rule",
        made: "create rule quietly as on delete to item do instead nothing;",
        changed: "create rule quietly as on delete to item where old.id > 5 do instead nothing;",
        dependent: "",
        probe: "select (ev_qual <> '<>')::text from pg_rewrite where rulename = 'quietly'",
        answers: ["false", "true"],
        is_there: "exists (select from pg_rewrite where rulename = 'quietly')",
    },
];

#[test]
fn each_kind_is_made_changed_taken_away_and_brought_back() {
    let shop = Application::of(&[ITEMS]);
    shop.ok("deploy");
    shop.platform.sql("insert into shop.item (name) values ('pen')");
    let mut session = shop.platform.session();
    let mut answer = |query: &str| {
        let told = session.simple_query(query).map_err(|error| format!("{error:?}"))?;
        let last = told.iter().rev().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or("null").to_owned()),
            _ => None,
        });
        last.ok_or_else(|| "no row".to_owned())
    };
    let mut wrong = Vec::new();
    for case in CASES {
        let is_there = || shop.value(&format!("select ({})::text", case.is_there)) == "true";
        let mut expect = |what: &str, is: bool| {
            if !is {
                wrong.push(format!("{}: {what}", case.kind));
            }
        };
        let mut deployed = |task: &str, what: &str| {
            let output = shop.run(task, if task == "rollback" { &[] } else { &["--back"] });
            expect(&format!("{what}: {}", String::from_utf8_lossy(&output.stderr)), output.status.success());
        };
        // The names say nothing of the order.
        shop.write("views/z.sql", case.made);
        shop.write("functions/a.sql", case.dependent);
        deployed("deploy", "made");
        let made = answer(case.probe);
        shop.write("views/z.sql", case.changed);
        deployed("deploy", "changed");
        let changed = answer(case.probe);
        shop.remove("views/z.sql");
        shop.remove("functions/a.sql");
        deployed("deploy", "gone");
        let gone = is_there();
        deployed("rollback", "back");
        let back = answer(case.probe);
        expect(&format!("made, {made:?}"), made.as_deref() == Ok(case.answers[0]));
        expect(&format!("changed, {changed:?}"), changed.as_deref() == Ok(case.answers[1]));
        expect("it is still there", !gone);
        expect(&format!("back, {back:?}"), back.as_deref() == Ok(case.answers[1]));
        let output = shop.run("deploy", &["--back"]);
        expect("gone again", output.status.success() && !is_there());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_would_lose_rows_is_an_error_that_names_it() {
    let shop = Application::of(&[
        ITEMS,
        ("functions/kept.sql", "create table kept (n int);\ncreate sequence numbers;\n"),
        ("functions/mood.sql", "create type mood as enum ('sad');\n"),
    ]);
    shop.ok("deploy");
    shop.platform.sql("alter table shop.item add mood shop.mood; grant all on shop.item to shop_owner");
    shop.write("functions/mood.sql", "create type mood as enum ('sad', 'glad');\n");
    let error = shop.fails("deploy");
    assert!(error.contains("column mood of table shop.item") || error.contains("shop.item.mood"), "{error}");
    shop.write("functions/mood.sql", "create type mood as enum ('sad');\n");
    shop.platform.sql("insert into shop.kept values (1)");
    for (text, told) in [
        (Some("create table kept (n bigint);\ncreate sequence numbers;\n"), "table shop.kept has rows"),
        (None, "table shop.kept has rows"),
    ] {
        match text {
            Some(text) => shop.write("functions/kept.sql", text),
            None => shop.remove("functions/kept.sql"),
        }
        let error = shop.fails("deploy");
        assert!(error.contains(told) && error.contains("migration"), "{error}");
    }
    shop.platform.sql("delete from shop.kept; select nextval('shop.numbers')");
    let error = shop.fails("deploy");
    assert!(error.contains("sequence shop.numbers has given numbers out"), "{error}");
    let left = "select to_regclass('shop.kept') || ' ' || to_regclass('shop.numbers')";
    assert_eq!(shop.value(left), "shop.kept shop.numbers");
}

#[test]
fn rights_that_no_file_declares_any_more_go_and_those_given_by_hand_stay() {
    let shop = Application::of(&[
        ITEMS,
        (
            "grants.sql",
            "grant select (price) on item to howdah_web;\ngrant select on dear to howdah_web;\nrevoke execute on function secret() from public;\n",
        ),
        ("views/dear.sql", "create view dear as select id, price from item where price > 9;\n"),
        (
            "functions/f.sql",
            "create function secret() returns int language sql immutable return 1;
             create function mine() returns int language sql immutable return 1;\nrevoke execute on function mine() from public;\ngrant execute on function mine() to howdah_web;
             create function open() returns int language sql immutable return 1;\n",
        ),
    ]);
    let rights = || {
        shop.value(
            "select concat_ws(' ', has_column_privilege('howdah_web', 'shop.item', 'price', 'select'), has_table_privilege('howdah_web', 'shop.dear', 'select'),
               has_function_privilege('late', 'shop.secret()', 'execute'), has_function_privilege('late', 'shop.mine()', 'execute'),
               has_function_privilege('howdah_web', 'shop.mine()', 'execute'), has_function_privilege('late', 'shop.open()', 'execute'),
               has_table_privilege('late', 'shop.dear', 'select with grant option'))",
        )
    };
    shop.platform.sql("create role late; revoke select on all tables in schema public from public");
    shop.ok("deploy");
    shop.platform.sql("revoke select on shop.item from howdah_web");
    shop.platform.sql("grant select (price) on shop.item to howdah_web");
    assert_eq!(rights(), "t t f f t t f");
    shop.platform.sql("grant select on shop.dear to late with grant option; revoke execute on function shop.open() from public");
    assert_eq!(rights(), "t t f f t f t");
    // Both must be dropped to be replaced.
    shop.write("views/dear.sql", "create view dear as select id::text as id from item where price > 9;\n");
    shop.write(
        "functions/f.sql",
        "create function secret() returns text language sql immutable return '1';
         create function mine() returns text language sql immutable return '1';\nrevoke execute on function mine() from public;
         create function open() returns text language sql immutable return '1';\n",
    );
    shop.ok("deploy");
    assert_eq!(rights(), "t t f f f f t");
    // Nothing is to be dropped.
    shop.write(
        "functions/f.sql",
        "create function secret() returns text language sql immutable return '2';
         create function mine() returns text language sql immutable return '2';
         create function open() returns text language sql immutable return '2';\n",
    );
    shop.write("grants.sql", "grant select on dear to howdah_web;\n");
    shop.ok("deploy");
    assert_eq!(rights(), "f t t t t f t");
    shop.remove("grants.sql");
    shop.ok("deploy");
    assert_eq!(rights(), "f f t t t f t");
    assert_eq!(shop.value("select count(*)::text from deploy.given"), "0");
}

const KIND: &str = "select job.define('tidy', 'tidy', attempts => 3);\n";

#[test]
fn kinds_of_jobs_come_and_go_with_the_folder() {
    let shop = Application::of(&[
        ITEMS,
        (
            "functions/tidy.sql",
            "create function tidy(n int default 0) returns void language sql as 'select 1';",
        ),
        ("jobs.sql", KIND),
    ]);
    assert!(shop.ok("deploy").contains("jobs.sql  ran: job tidy"));
    assert_eq!(
        shop.value("select owner || ' ' || role || ' ' || attempts from job.kind"),
        "shop_owner shop_owner 3"
    );
    shop.write("jobs.sql", &KIND.replace("3", "4"));
    shop.ok("deploy");
    assert_eq!(shop.value("select attempts from job.kind"), "4");
    // Nothing of it is told twice.
    assert!(shop.ok("deploy").contains("Nothing has changed"));
    shop.platform.sql("select job.define('tidy', 'shop.tidy', role => 'shop_owner', attempts => 9)");
    assert!(shop.run("status", &[]).status.success());
    assert_eq!(
        shop.value("select object || ' ' || change from deploy.drift('shop')"),
        "job tidy was changed"
    );
    shop.ok("deploy");
    // So do schedules.
    let schedule = |hour: u32| {
        format!(
            "{KIND}select job.schedule('nightly', '0 {hour} * * *', 'tidy', time_zone => 'UTC', priority => 'high');\n"
        )
    };
    shop.write("jobs.sql", &schedule(3));
    assert!(shop.ok("deploy").contains("schedule nightly"));
    assert!(shop.ok("deploy").contains("Nothing has changed"));
    let next = "select owner || ' ' || extract(hour from next_local) from job.schedules";
    assert_eq!(shop.value(next), "shop_owner 3");
    shop.write("jobs.sql", &schedule(4));
    shop.ok("deploy");
    assert_eq!(shop.value(next), "shop_owner 4");
    shop.platform.sql("update job.timetable set cron = '0 5 * * *'");
    assert_eq!(
        shop.value("select object || ' ' || change from deploy.drift('shop')"),
        "schedule nightly was changed"
    );
    shop.write("jobs.sql", &KIND.replace("3", "5"));
    assert!(shop.ok("deploy").contains("schedule nightly"));
    assert_eq!(shop.value("select count(*) from job.schedules"), "0");
    // One that has jobs does not go silently.
    shop.platform.sql("select job.pause('tidy')");
    shop.platform.sql("select job.enqueue('tidy')");
    shop.write("jobs.sql", "select 1;");
    assert!(shop.fails("deploy").contains("there are jobs of kind tidy, which is gone from the folder"));
    shop.platform.sql("select job.resume('tidy')");
    howdah_tests::platform::wait_for("it has run", || {
        shop.platform.count("job.kinds where waiting > 0 or running > 0") == 0
    });
    assert!(shop.ok("deploy").contains("job tidy"));
    assert_eq!(shop.value("select count(*) from job.kind"), "0");
    assert_eq!(shop.value("select count(*) from queue.queue"), "0");
}
