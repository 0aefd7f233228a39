//! Files of code that are changed and taken out again: what they make goes and comes, and what would last without them is refused.

use std::thread;
use std::time::Duration;

use howdah_tests::application::{Application, text};
use howdah_tests::wait_for;

const TABLE: (&str, &str) = (
    "migrations/001.sql",
    "create table t (a int not null, b int);\ncreate type mood as enum ('sad');\ncreate sequence own;\n",
);

#[test]
fn a_file_of_code_alters_nothing_that_a_migration_has_made() {
    let shop = Application::of(&[TABLE]);
    shop.ok("deploy");
    for (statement, what) in [
        ("alter table t enable row level security; create policy p on t using (true);", "table shop.t"),
        ("alter table t alter a set default 4;", "table shop.t"),
        ("alter table t add constraint z check (a > 0);", "table shop.t"),
        ("alter table t add primary key (a);", "table shop.t"),
        ("alter table t add column x int;", "table shop.t"),
        (
            "create unique index ux on t (a); alter table t add constraint ut unique using index ux;",
            "table shop.t",
        ),
        ("do $$ begin alter table t set (fillfactor = 50); end $$;", "table shop.t"),
        ("alter type mood add value 'glad';", "type shop.mood"),
        ("alter sequence own increment 5;", "sequence shop.own"),
    ] {
        shop.write("functions/f.sql", &format!("{statement}\n"));
        let refused = shop.fails("deploy");
        assert!(
            refused.contains(&format!("functions/f.sql alters {what}, which no file of code has made")),
            "{statement}: {refused}"
        );
        assert!(refused.contains("say it in a migration"), "{refused}");
    }
    // What it makes itself, in whatever part, it may alter.
    shop.write(
        "functions/f.sql",
        "create table own_one (id serial primary key, n int); alter table own_one enable row level security;
         alter sequence own_one_id_seq increment 5; alter table own_one alter n set default 3;
         create index by_n on own_one (n); alter index by_n set (fillfactor = 50);
         create view v as select a from t; alter view v set (security_invoker = true);
         create function f() returns int language sql return 1; alter function f() cost 5;
         create type pair as (a int); alter type pair add attribute b int;\n",
    );
    shop.ok("deploy");
    shop.write("migrations/002.sql", "alter table t enable row level security;\n");
    shop.ok("deploy");
}

#[test]
fn what_hangs_on_itself_or_on_other_files_is_made_anew() {
    let shop = Application::of(&[
        TABLE,
        (
            "functions/email.sql",
            "create function is_email(value text) returns boolean language sql immutable return value ~ '@';
             create domain email as text check (is_email(value));\n",
        ),
        ("functions/short.sql", "create domain short as text check (is_short(value));\n"),
        ("functions/is_short.sql", "create function is_short(value text) returns boolean language sql immutable return length(value) < 9;\n"),
        (
            "functions/tables.sql",
            "create function start() returns int language sql immutable return 1;
             create table dated (a int default start(), b int check (b < 5), up int, twice int generated always as (b + start()) stored);
             alter table dated add primary key (a), add foreign key (up) references dated;\n",
        ),
        ("functions/search.sql", "create text search configuration found (copy = english);\ncreate text search dictionary plain (template = simple);\n"),
    ]);
    shop.ok("deploy");
    shop.write(
        "functions/email.sql",
        "create function is_email(value text) returns boolean language sql immutable return value ~ '@.';
         create domain email as text check (is_email(value));\n",
    );
    shop.write("functions/is_short.sql", "create function is_short(word text) returns boolean language sql immutable return length(word) < 8;\n");
    shop.write(
        "functions/tables.sql",
        "create function start() returns bigint language sql immutable return 2;
         create table dated (a int default start(), b int check (b < 6), up int, twice int generated always as (b + start()) stored);
         alter table dated add primary key (a), add foreign key (up) references dated;\n",
    );
    shop.write("functions/search.sql", "create text search configuration found (copy = german);\ncreate text search dictionary plain (template = simple, stopwords = english);\n");
    shop.ok("deploy");
    assert_eq!(shop.value("select 'a@b'::shop.email"), "a@b");
    let wanted = Application::of(&[]);
    for path in [
        "migrations/001.sql",
        "functions/email.sql",
        "functions/short.sql",
        "functions/is_short.sql",
        "functions/tables.sql",
        "functions/search.sql",
    ] {
        wanted.write(path, &std::fs::read_to_string(shop.folder.path().join(path)).unwrap());
    }
    wanted.ok("deploy");
    let constraints = "select string_agg(conname || pg_get_constraintdef(oid), ' ' order by conname) from pg_constraint where connamespace = 'shop'::regnamespace";
    assert_eq!(shop.value(constraints), wanted.value(constraints));
    for path in ["email", "short", "is_short", "tables", "search"] {
        shop.remove(&format!("functions/{path}.sql"));
    }
    shop.ok("deploy");
    assert_eq!(
        shop.value("select count(*)::text from pg_proc where pronamespace = 'shop'::regnamespace"),
        "0"
    );
    assert_eq!(shop.value("select to_regclass('shop.dated')::text"), "");
    // A constraint of a migration's table is nobody's to drop.
    shop.write(
        "functions/f.sql",
        "create function small(n int) returns boolean language sql immutable return n < 5;\n",
    );
    shop.ok("deploy");
    shop.platform.sql("alter table shop.t add constraint by_hand check (shop.small(a))");
    shop.remove("functions/f.sql");
    let refused = text(&shop.run("deploy", &["--back"]).stderr);
    assert!(refused.contains("because table constraint by_hand on shop.t depends on it"), "{refused}");
}

#[test]
fn who_comes_after_a_deployment_in_a_queue_waits_no_longer_than_for_its_locks() {
    let shop = Application::of(&[TABLE]);
    shop.ok("deploy");
    shop.write("migrations/002.sql", "alter table t add column c int;\n");
    let mut holder = shop.platform.session();
    holder.batch_execute("begin; select * from shop.t").unwrap();
    let mut reader = shop.platform.session();
    thread::scope(|scope| {
        let waits = scope.spawn(|| {
            wait_for("the deployment waits", || {
                shop.platform.count("pg_locks where relation = 'shop.t'::regclass and mode = 'AccessExclusiveLock' and not granted") == 1
            });
            reader.batch_execute("select * from shop.t").unwrap();
        });
        // It would wait for a minute.
        let output = shop.run("deploy", &["--locks", "0.3", "--lock-timeout", "60", "--tries", "1"]);
        let told = text(&output.stderr);
        assert!(told.contains("others were kept from shop.t (AccessExclusiveLock) for 0.3 s, as it waited for that itself: postgres (process "), "{told}");
        assert!(told.contains("was in the way"), "{told}");
        waits.join().unwrap();
    });
    // Where nobody else waits it waits on.
    thread::scope(|scope| {
        let deployed =
            scope.spawn(|| shop.run("deploy", &["--locks", "0.3", "--lock-timeout", "60", "--tries", "1"]));
        thread::sleep(Duration::from_secs(1));
        holder.batch_execute("commit").unwrap();
        let deployed = deployed.join().unwrap();
        assert!(deployed.status.success(), "{}", text(&deployed.stderr));
    });
}
