//! `howdah plan` and `howdah deploy`, as a user runs them.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::Instant;

use howdah_tests::application::{Application, ITEMS, dump, text};
use howdah_tests::bounds::{Bound, DEPLOYED_ONE_CHANGE, DEPLOYED_UNCHANGED};
use howdah_tests::wait_for;
use serde_json::Value;

#[test]
fn plan_leaves_nothing_and_says_what_deploy_does() {
    let shop = Application::of(&[
        ITEMS,
        (
            "views/a_cheap.sql",
            "create view cheap as select * from z_all where price < 10;\ngrant select on cheap to howdah_web;\n",
        ),
        ("views/z.sql", "create view z_all as select id, name, price from item;\n"),
        (
            "functions/names.sql",
            "create function names() returns text language sql stable return (select string_agg(name, ' ') from cheap);\n",
        ),
        ("routes.sql", "select http.route('GET', '/names', 'names');\n"),
        (
            "tests/t.sql",
            "insert into item (name, price) values ('pen', 1);\nselect convert_from(body, 'UTF8') = 'pen' from http.call('GET', '/names');\n",
        ),
    ]);
    let before = dump(&shop.platform, &[]);
    let planned = shop.ok("plan");
    assert_eq!(dump(&shop.platform, &[]), before);
    assert_eq!(shop.value("select count(*)::text from pg_roles where rolname = 'shop_owner'"), "0");
    let deployed = shop.ok("deploy");
    let steps = |text: &str| {
        let lines = text.lines().filter(|line| line.starts_with("  ") && !line.contains("locked:"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(steps(&planned), steps(&deployed));
    assert!(steps(&planned).len() == 8, "{planned}");
    assert_eq!(shop.platform.get("/names").status, 404, "no row is left of the test");
    assert_eq!(shop.value("select count(*)::text from shop.item"), "0");
    // Nothing changed, nothing done.
    let before = shop.dump();
    assert!(shop.ok("deploy").contains("Nothing has changed since deployment 1."));
    assert_eq!(shop.dump(), before);
}

#[test]
fn what_stands_in_the_way_of_a_migration_goes_and_comes_back() {
    let shop = Application::of(&[
        ITEMS,
        (
            "views/priced.sql",
            "create view priced as select id, price from item;\ngrant select on priced to howdah_web;\n",
        ),
        (
            "functions/dear.sql",
            "create function dear() returns setof priced language sql stable begin atomic select * from priced where price > 9; end;\n",
        ),
        ("routes.sql", "select http.route('GET', '/dear', 'dear');\n"),
    ]);
    shop.ok("deploy");
    shop.platform.sql("insert into shop.item (name, price) values ('lamp', 12.5)");
    assert_eq!(shop.platform.get("/dear").text(), r#"[{"id":1,"price":12.5}]"#);
    shop.write(
        "migrations/2-cents.sql",
        "alter table item alter column price type bigint using price * 100;\n",
    );
    shop.write("functions/dear.sql", "create function dear() returns setof priced language sql stable begin atomic select * from priced where price > 900; end;\n");
    let told = shop.ok("deploy");
    assert!(told.contains("locked: shop.item (AccessExclusiveLock, from migrations/2-cents.sql)"), "{told}");
    assert_eq!(shop.platform.get("/dear").text(), r#"[{"id":1,"price":1250}]"#);
    assert_eq!(shop.value("select has_table_privilege('howdah_web', 'shop.priced', 'select')::text"), "true");
    // A column that the view has goes.
    shop.write("migrations/3-name.sql", "alter table item drop column name;\n");
    shop.ok("deploy");
    // What nobody's file has made is in the way.
    shop.platform.sql("create view public.outside as select price from shop.item");
    shop.write("migrations/4-price.sql", "alter table item drop column price;\n");
    let error = shop.fails("deploy");
    assert!(
        error.contains("migrations/4-price.sql:1: cannot drop column price")
            && error.contains("view outside"),
        "{error}"
    );
    assert_eq!(shop.platform.get("/dear").text(), r#"[{"id":1,"price":1250}]"#);
}

#[test]
fn a_failing_migration_function_or_test_leaves_nothing() {
    let shop = Application::of(&[
        ITEMS,
        ("functions/one.sql", "create function one() returns int language sql immutable return 1;\n"),
        ("tests/one.sql", "select one() = 1;\n"),
    ]);
    shop.ok("deploy");
    let before = shop.dump();
    for (path, text, told) in [
        (
            "migrations/2.sql",
            "create table more (n int);\nalter table nothing add x int;\n",
            "migrations/2.sql:2: relation \"nothing\" does not exist",
        ),
        (
            "functions/one.sql",
            "create function one() returns int language sql immutable return 1;\ncreate function two() returns int language sql return nowhere();\n",
            "functions/one.sql:2: function nowhere() does not exist",
        ),
        (
            "functions/one.sql",
            "create function one() returns int language sql immutable return 2;\n",
            "tests/one.sql:1: this is not true",
        ),
        ("functions/one.sql", "\n", "tests/one.sql:1: function one() does not exist"),
        (
            "functions/two.sql",
            "create function one() returns int language sql immutable return 1;\n",
            "is made by",
        ),
        ("routes.sql", "select http.route('GET', '/one', 'three');\n", "routes.sql:1:"),
        (
            "views/v.sql",
            "create view v as select 1 as a;\ncommit;\n",
            "views/v.sql:2: a file cannot begin or end a transaction",
        ),
        ("migrations/0.sql", "select 1;\n", "migrations/0.sql: it comes late"),
        ("migrations/1-item.sql", "select 1;\n", "it has run and was changed"),
        ("schema.sql", "select 1;\n", "this is in none of"),
    ] {
        let path_before = fs::read_to_string(shop.folder.path().join(path)).ok();
        shop.write(path, text);
        for task in ["plan", "deploy"] {
            let error = shop.fails(task);
            assert!(error.contains(told), "{path}, {task}: {error}");
        }
        match path_before {
            Some(text) => shop.write(path, &text),
            None => shop.remove(path),
        }
    }
    assert_eq!(shop.dump(), before);
    assert!(shop.ok("deploy").contains("Nothing has changed"));
}

#[test]
fn two_people_with_other_settings_and_editors_make_the_same() {
    let files = [
        ITEMS,
        (
            "migrations/2-day.sql",
            "create table day (d date default '02/03/2026', t text default E'a\\\\b', i interval default '1 day', x bytea default '\\x41');\ninsert into day default values;\n",
        ),
        (
            "functions/f.sql",
            "create function f() returns text language sql stable as $$\n  select 'one\n\n  two'::text;\n$$;\ncomment on function f() is 'a\nb';\n",
        ),
        ("views/caf\u{e9}.sql", "create view v as select d, t from day where d > '01/02/2026'::date;\n"),
    ];
    let unix = Application::of(&files);
    unix.ok("deploy");
    let other = Application::of(&[]);
    for (path, text) in files {
        other.write(&path.replace('\u{e9}', "e\u{301}"), &format!("\u{feff}{}", text.replace('\n', "\r\n")));
    }
    other.platform.sql(
        "create role ada superuser login;
         alter role ada set DateStyle = 'German, DMY'; alter role ada set standard_conforming_strings = off; alter role ada set search_path = nowhere;
         alter role ada set check_function_bodies = off; alter role ada set quote_all_identifiers = on; alter role ada set TimeZone = 'Asia/Tokyo';
         alter role ada set bytea_output = 'escape'; alter role ada set IntervalStyle = 'iso_8601'; alter role ada set default_toast_compression = 'pglz';
         alter role ada set session_replication_role = 'replica'; alter role ada set role = 'howdah_admin'",
    );
    let mut command = other.command("deploy", "ada", &[]);
    command.envs([
        ("PGOPTIONS", "-c DateStyle=SQL,DMY -c lc_monetary=C"),
        ("LC_ALL", "tr_TR.UTF-8"),
        ("PGTZ", "America/Lima"),
    ]);
    let output = command.output().unwrap();
    assert!(!output.status.success(), "howdah_admin may not become the owner");
    other.platform.sql("alter role ada reset role");
    let output = other.command("deploy", "ada", &[]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(dump(&unix.platform, &["-n", "shop"]), dump(&other.platform, &["-n", "shop"]));
    let kept = "select string_agg(path || digest, ' ' order by path) from deploy.file";
    assert_eq!(unix.value(kept), other.value(kept));
}

#[test]
fn whoever_is_no_superuser_is_told_what_one_has_to_run_and_then_deploys() {
    let shop = Application::of(&[
        ITEMS,
        ("functions/one.sql", "create function one() returns int language sql immutable return 1;\n"),
        ("routes.sql", "select http.route('GET', '/one', 'one');\n"),
        ("tests/one.sql", "select status = 200 from http.call('GET', '/one');\n"),
    ]);
    shop.platform.sql("create role ada login");
    let output = shop.command("deploy", "ada", &[]).output().unwrap();
    let error = text(&output.stderr);
    let told: Vec<&str> = error.lines().filter(|line| line.starts_with("    ")).collect();
    assert_eq!(
        told,
        ["    select deploy.create_application('shop');", "    grant \"shop_owner\" to ada;"],
        "{error}"
    );
    shop.platform.sql(&told.concat());
    let output = shop.command("deploy", "ada", &["--json", "--message", "the first"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let all: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((all["outcome"].as_str(), all["number"].as_i64()), (Some("deployed"), Some(1)), "{all}");
    assert_eq!(shop.platform.get("/one").text(), "1");
    let history: Value =
        serde_json::from_slice(&shop.command("history", "ada", &["--json"]).output().unwrap().stdout)
            .unwrap();
    assert_eq!(
        (history["deployments"][0]["deployed_by"].as_str(), history["deployments"][0]["note"].as_str()),
        (Some("ada"), Some("the first"))
    );
    let refused = shop.command("deploy", "nobody_at_all", &[]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let nowhere = Command::new(howdah_tests::command())
        .args(["deploy", "--to", "staging", "--app"])
        .arg(shop.folder.path())
        .output()
        .unwrap();
    assert!(
        text(&nowhere.stderr).contains("neither a connection string nor an environment"),
        "{}",
        text(&nowhere.stderr)
    );
}

#[test]
fn who_holds_a_lock_has_it_undone_and_tried_again() {
    let shop = Application::of(&[ITEMS]);
    shop.ok("deploy");
    shop.write("migrations/2.sql", "create table other (n int);\nalter table item add column stars int;\n");
    let mut holder = shop.platform.session();
    holder.batch_execute("begin; select * from shop.item").unwrap();
    let output = shop.run("deploy", &["--lock-timeout", "0.1", "--tries", "2"]);
    let (told, error) = (text(&output.stdout), text(&output.stderr));
    let why = "migrations/2.sql: canceling statement due to lock timeout: postgres (process ";
    assert!(told.contains(&format!("Nothing was kept, as {why}")), "{told}");
    assert!(error.contains(why) && error.contains("idle in transaction since"), "{error}");
    assert!(error.contains("nothing is deployed after 2 tries"), "{error}");
    assert_eq!(shop.value("select to_regclass('shop.other') is null"), "t");
    // What keeps others waiting for long is undone.
    shop.write("migrations/3.sql", "select pg_sleep(60);\n");
    let mut other = shop.platform.session();
    holder.batch_execute("commit").unwrap();
    let long = thread::scope(|scope| {
        let waits = scope.spawn(|| {
            wait_for("it is locked", || {
                shop.platform
                    .count("pg_locks where mode = 'AccessExclusiveLock' and relation = 'shop.item'::regclass")
                    > 0
            });
            other.batch_execute("select * from shop.item").unwrap();
        });
        let long = shop.run("deploy", &["--locks", "0.3", "--tries", "1"]);
        waits.join().unwrap();
        long
    });
    assert!(
        text(&long.stderr).contains(
            "others were kept from shop.item (AccessExclusiveLock) for 0.3 s; migrations/3.sql took 0."
        ),
        "{}",
        text(&long.stderr)
    );
    shop.remove("migrations/3.sql");
    holder.batch_execute("begin; select * from shop.item").unwrap();
    let deploying = shop
        .command("deploy", "postgres", &["--lock-timeout", "0.1", "--tries", "100"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_for("it has waited", || shop.platform.count("pg_locks where not granted") > 0);
    holder.batch_execute("commit").unwrap();
    let output = deploying.wait_with_output().unwrap();
    assert!(
        output.status.success() && text(&output.stdout).contains("Deployed as number 2."),
        "{}",
        text(&output.stdout)
    );
}

#[test]
fn an_earlier_deployment_comes_back_without_its_folder_and_tables_stay() {
    let shop = Application::of(&[
        ITEMS,
        (
            "functions/names.sql",
            "create function names() returns text language sql stable return (select string_agg(name, ' ') from item);\n",
        ),
        ("routes.sql", "select http.route('GET', '/names', 'names');\n"),
        ("tests/names.sql", "select status = 404 from http.call('GET', '/names');\n"),
    ]);
    shop.ok("deploy");
    shop.write("migrations/2-stars.sql", "alter table item add column stars int default 3;\n");
    shop.write("functions/names.sql", "create function names() returns text language sql stable return (select string_agg(name || stars, ' ') from item);\n");
    shop.write(
        "functions/extra.sql",
        "create function extra() returns int language sql immutable return 1;\n",
    );
    shop.write("routes.sql", "select http.route('GET', '/starred', 'names');\n");
    shop.ok("deploy");
    shop.platform.sql("insert into shop.item (name) values ('lamp')");
    assert_eq!(shop.platform.get("/starred").text(), "lamp3");
    let back = |more: &[&str]| {
        let mut command = Command::new(howdah_tests::command());
        command
            .args(["rollback", "--name", "shop", "--locks", "60", "--to", &shop.to("postgres")])
            .args(more);
        command.output().unwrap()
    };
    // Its test says that there is nothing at /names, and there is a lamp by now.
    let failed = back(&[]);
    assert!(text(&failed.stderr).contains("tests/names.sql:1: this is not true"), "{}", text(&failed.stderr));
    let untested = back(&["--plan", "--no-tests"]);
    assert!(untested.status.success(), "{}", text(&untested.stderr));
    shop.platform.sql("delete from shop.item");
    let planned = back(&["--plan"]);
    assert!(
        text(&planned.stdout).contains("gone, as no file makes it any more: function shop.extra()"),
        "{}{}",
        text(&planned.stdout),
        text(&planned.stderr)
    );
    assert_eq!(shop.platform.get("/starred").status, 404, "there is nothing at the route");
    assert!(shop.platform.get("/starred").text().contains("there is nothing at"));
    let output = back(&["1", "--message", "stars were wrong"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    shop.platform.sql("insert into shop.item (name) values ('lamp')");
    assert_eq!(shop.platform.get("/names").text(), "lamp");
    assert!(shop.platform.get("/starred").text().contains("nothing answers"));
    assert_eq!(
        shop.value("select string_agg(number || kind, ' ' order by number) from deploy.history('shop')"),
        "1deploy 2deploy 3rollback"
    );
    assert_eq!(shop.value("select count(*)::text from pg_attribute where attrelid = 'shop.item'::regclass and attname = 'stars'"), "1");
    shop.platform.sql("delete from shop.item");
    // The folder is deployment 2 again.
    let error = shop.fails("deploy");
    assert!(error.contains("the folder is deployment 2 again"), "{error}");
    let output = shop.run("deploy", &["--back"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let wrong = back(&["9"]);
    assert!(text(&wrong.stderr).contains("see howdah history"), "{}", text(&wrong.stderr));
    let none = Command::new(howdah_tests::command())
        .args(["rollback", "--name", "none", "--to", &shop.to("postgres")])
        .output()
        .unwrap();
    assert!(text(&none.stderr).contains("there is no application none"), "{}", text(&none.stderr));
}

#[test]
fn two_hundred_files_are_deployed_soon() {
    let shop = Application::of(&[ITEMS]);
    for number in 0..100 {
        shop.write(&format!("functions/f{number}.sql"), &format!("create function f{number}(n int) returns text language sql stable return (select name from item where id = n);\n"));
        shop.write(
            &format!("views/v{number}.sql"),
            &format!("create view v{number} as select id, f{number}(id) as f from item;\ngrant select on v{number} to howdah_web;\n"),
        );
    }
    shop.write("routes.sql", "select http.route('GET', '/f/{n}', 'f7');\n");
    shop.ok("deploy");
    let timed = |bound: &Bound, told: &str| {
        let begun = Instant::now();
        let said = shop.ok("deploy");
        bound.check(begun.elapsed());
        assert!(said.contains(told), "{said}");
    };
    timed(&DEPLOYED_UNCHANGED, "Nothing has changed");
    shop.write(
        "functions/f7.sql",
        "create function f7(n int) returns text language sql stable return (select name || '!' from item where id = n);\n",
    );
    timed(&DEPLOYED_ONE_CHANGE, "  functions/f7.sql  ran: function shop.f7(integer)\n  routes.sql  ran\n");
}

#[test]
fn only_what_is_in_the_way_of_a_migration_goes_and_what_it_drops_comes_back() {
    let shop = Application::of(&[
        ("migrations/1.sql", "create table t (v text, n int);\ncreate table other (a int);\n"),
        (
            "functions/slug.sql",
            "create function slug(t text) returns text language sql immutable return lower(t);\n",
        ),
        ("functions/lost.sql", "create function lost() returns int language sql immutable return 1;\n"),
        ("views/of_t.sql", "create view of_t as select v, n from t;\n"),
        (
            "functions/sum_of_t.sql",
            "create function sum_of_t() returns bigint language sql stable return (select sum(n) from of_t);\n",
        ),
    ]);
    shop.ok("deploy");
    // An index that hangs on a function has nothing to do with the other table.
    shop.write("migrations/2.sql", "create index on other (slug(a::text));\n");
    shop.ok("deploy");
    shop.write("migrations/3.sql", "alter table t alter column n type bigint;\ndrop function lost();\n");
    let told = shop.ok("deploy");
    assert!(told.contains("functions/lost.sql  ran: function shop.lost()"), "{told}");
    assert!(told.contains("views/of_t.sql  ran") && told.contains("functions/sum_of_t.sql  ran"), "{told}");
    assert!(!told.contains("functions/slug.sql"), "{told}");
    shop.write("migrations/4.sql", "alter table t drop column n;\n");
    let error = shop.fails("deploy");
    assert!(error.starts_with("howdah: views/of_t.sql:1: column \"n\" does not exist"), "{error}");
    assert!(
        error.contains("note: this file has not changed; it ran again because what it uses has"),
        "{error}"
    );
    shop.write("migrations/4.sql", "set role postgres;\n");
    assert!(shop.fails("deploy").contains("migrations/4.sql:1: a file cannot become another role"));
}

#[test]
fn one_application_has_no_rights_of_another() {
    let shop = Application::of(&[ITEMS, ("routes.sql", "\n")]);
    shop.ok("deploy");
    shop.write("howdah.toml", "name = \"other\"\n");
    for text in [
        "insert into shop.item (name) values ('x');\n",
        "select * from shop.item;\n",
        "set local role howdah_web;\n",
    ] {
        shop.write("migrations/1-item.sql", text);
        let error = shop.fails("deploy");
        assert!(
            error.contains("permission denied") || error.contains("cannot become another role"),
            "{error}"
        );
    }
    shop.platform.sql("create schema taken; create table taken.t (n int)");
    shop.write("howdah.toml", "name = \"taken\"\n");
    assert!(shop.fails("deploy").contains("howdah adopt makes one of what is in it"));
    for (name, told) in [
        ("mine\"\nschema = \"shop", "there is a schema shop already"),
        ("mine\"\nschema = \"pg_catalog", "there is a schema"),
    ] {
        shop.write("howdah.toml", &format!("name = \"{name}\"\n"));
        assert!(shop.fails("deploy").contains(told));
        let error = shop.fails("adopt");
        assert!(error.contains("application's"), "{error}");
    }
}

#[test]
fn extensions_that_are_missing_are_named_and_who_deploys_already() {
    let shop = Application::of(&[ITEMS]);
    shop.write("howdah.toml", "name = \"shop\"\nextensions = [\"plpgsql\", \"no-such\"]\n");
    let error = shop.fails("deploy");
    assert!(
        error.contains("    create extension \"no-such\"; -- this server does not have its files"),
        "{error}"
    );
    shop.write("howdah.toml", "name = \"shop\"\nextensions = [\"plpgsql\"]\n");
    shop.ok("deploy");
    let mut other = shop.platform.session();
    other.batch_execute("begin; select deploy.start('shop', '{}')").unwrap();
    shop.write("views/v.sql", "create view v as select id from item;\n");
    let impatient = shop.run("deploy", &["--wait", "300ms"]);
    let (said, error) = (text(&impatient.stdout), text(&impatient.stderr));
    assert!(
        said.contains("shop is being deployed by postgres (process ") && said.contains("; waiting."),
        "{said}"
    );
    assert!(error.contains("gave up after 0.3 s"), "{error}");
    let waiting =
        shop.command("deploy", "postgres", &[]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    // Whoever waits has no transaction.
    let sessions = "pg_stat_activity where application_name = 'howdah deploy'";
    wait_for("it has tried", || shop.platform.count(sessions) > 0);
    wait_for("it has no session", || shop.platform.count(sessions) == 0);
    other.batch_execute("rollback").unwrap();
    let output = waiting.wait_with_output().unwrap();
    assert!(text(&output.stdout).contains("Deployed as number 2."), "{}", text(&output.stdout));
}

#[test]
fn programs_are_told_of_failures_too() {
    let shop = Application::of(&[ITEMS, ("routes.sql", "select http.route('GET', '/f', 'nowhere');\n")]);
    let output = shop.run("deploy", &["--json"]);
    assert_eq!(output.status.code(), Some(1));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["outcome"], "failed");
    assert!(told["error"].as_str().unwrap().starts_with("routes.sql:1: "), "{told}");
    for (text, why) in [
        (
            "select http.route('GET', '/f', 'f');\nselect http.route('GET', '/f', 'g');\n",
            "routes.sql:2: the route GET /f stands here twice",
        ),
        ("create table odd (n int);\n", "routes.sql:1: routes.sql makes table shop.odd"),
    ] {
        shop.write("routes.sql", text);
        shop.write("functions/f.sql", "create function f() returns int language sql immutable return 1;\ncreate function g() returns int language sql immutable return 1;\n");
        let error = shop.fails("deploy");
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn query_handlers_are_deployed_as_routes_are_and_nobody_replaces_those_of_others() {
    let pages = |name: &str, word: &str| {
        format!(
            "select http.handle($$ select '{word}' from request where path = '/{word}' $$, name => '{name}');\n"
        )
    };
    let shop = Application::of(&[("routes.sql", &(pages("front", "shop") + &pages("back", "store")))]);
    let refused = shop.fails("deploy");
    assert!(refused.contains("permission denied for function handle"), "{refused}");
    shop.write("howdah.toml", "name = \"shop\"\nhandlers = true\n");
    let refused = shop.fails("deploy");
    assert!(refused.contains("select deploy.create_application('shop', handlers => true);"), "{refused}");
    shop.platform.sql("select deploy.create_application('shop', handlers => true)");
    assert!(shop.ok("deploy").contains("ran: handler front, handler back"));
    assert_eq!(
        (shop.platform.get("/shop").text(), shop.platform.get("/store").text()),
        ("shop".into(), "store".into())
    );
    assert_eq!(shop.value("select string_agg(owner, ',') from http.handler"), "shop_owner,shop_owner");

    shop.write("routes.sql", &pages("front", "window"));
    let told = shop.ok("deploy");
    assert!(told.contains("ran: handler front") && told.contains("handler back"), "{told}");
    assert_eq!(
        (shop.platform.get("/window").text(), shop.platform.get("/store").status),
        ("window".into(), 404)
    );

    let drift = "select string_agg(object || ' ' || change, ', ') from deploy.drift('shop')";
    shop.platform.sql(
        "select http.handle('select ''mine''', 'mine'); update http.handler set priority = 7 where name = 'front'",
    );
    assert_eq!(shop.value(drift), "handler front was changed");
    shop.platform.sql("select http.handle('select ''changed''', 'front')");
    assert_eq!(shop.value("select owner from http.handler where name = 'front'"), "shop_owner");
    assert!(shop.ok("deploy").contains("Nothing has changed"));
    shop.write("routes.sql", &(pages("front", "window") + "\n"));
    shop.ok("deploy");
    assert_eq!((shop.platform.get("/window").text(), shop.value(drift)), ("window".into(), String::new()));

    shop.write("routes.sql", &(pages("front", "a") + &pages("front", "b")));
    assert!(shop.fails("deploy").contains("the handler front stands here twice"));
    shop.write("routes.sql", "select http.unhandle('mine');\n");
    assert!(shop.fails("deploy").contains("handler mine belongs to others"));
    shop.write("howdah.toml", "name = \"other\"\nhandlers = true\n");
    shop.platform.sql("select deploy.create_application('other', handlers => true)");
    for name in ["front", "mine"] {
        shop.write("routes.sql", &pages(name, "taken"));
        assert!(shop.fails("deploy").contains(&format!("handler {name} belongs to ")));
    }
    assert_eq!(shop.platform.get("/window").text(), "window");
}
