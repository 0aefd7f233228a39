//! What is dropped and made again, what would outlast its file, and routes that requests would find broken.

use std::fs;
use std::thread;

use howdah_tests::application::{Application, ITEMS};
use howdah_tests::wait_for;

const FUNCTION: (&str, &str) =
    ("functions/one.sql", "create function one() returns int language sql immutable return 1;\n");

#[test]
fn comments_stay_on_what_is_made_again_unless_its_file_has_others() {
    let shop = Application::of(&[
        ITEMS,
        FUNCTION,
        ("views/v.sql", "create view v as select id, name from item;\ncomment on view v is 'of the file';\n"),
        ("views/w.sql", "create view w as select id from v;\n"),
        ("functions/agg.sql", "create aggregate agg(*) (sfunc = int8inc, stype = bigint, initcond = '0');\n"),
        ("views/d.sql", "create domain d as int;\n"),
    ]);
    shop.ok("deploy");
    shop.platform.sql(
        "comment on view shop.w is 'it''s'; comment on column shop.w.id is 'a \\ b'; comment on function shop.one() is 'f';
         comment on aggregate shop.agg(*) is 'a'; comment on domain shop.d is 'd'; comment on view shop.v is 'by hand'",
    );
    shop.write(
        "views/v.sql",
        "create view v as select id from item;\ncomment on view v is 'of the new file';\n",
    );
    shop.write(
        "functions/one.sql",
        "create function one() returns bigint language sql immutable return 1;\n",
    );
    shop.write(
        "functions/agg.sql",
        "create aggregate agg(*) (sfunc = int4inc, stype = int, initcond = '0');\n",
    );
    shop.write("views/d.sql", "create domain d as bigint;\n");
    shop.ok("deploy");
    let comments = "select concat_ws(' ', obj_description('shop.w'::regclass), col_description('shop.w'::regclass, 1),
        obj_description('shop.one()'::regprocedure), obj_description((select oid from pg_proc where proname = 'agg')),
        obj_description('shop.d'::regtype), obj_description('shop.v'::regclass))";
    assert_eq!(shop.value(comments), "it's a \\ b f a d of the new file");
    assert_eq!(shop.value("select pg_typeof(shop.one())::text"), "bigint");
}

#[test]
fn options_that_a_view_was_given_by_hand_stay_and_stay_told() {
    let shop = Application::of(&[
        ITEMS,
        ("views/v.sql", "create view v with (security_barrier) as select id, name from item;\n"),
        ("views/w.sql", "create view w as select id from v;\n"),
    ]);
    shop.ok("deploy");
    shop.platform.sql(
        "alter view shop.v set (security_invoker = true, check_option = local); alter view shop.w set (security_invoker = true)",
    );
    let options = "select string_agg(relname || ' ' || reloptions::text, ' ' order by relname) from pg_class where relnamespace = 'shop'::regnamespace and relkind = 'v'";
    let drift = "select string_agg(object, ' ') from deploy.drift('shop')";
    for text in [
        // Replaced; dropped, with what depends on it; twice.
        "create view v with (security_barrier) as select id, name, 1 as more from item;\n",
        "create view v with (security_barrier) as select id, 1 as more from item;\n",
        "create view v with (security_barrier) as select id, 2 as less from item;\n",
    ] {
        shop.write("views/v.sql", text);
        shop.ok("deploy");
        assert_eq!(
            shop.value(options),
            "v {security_barrier=true,security_invoker=true,check_option=local} w {security_invoker=true}"
        );
        assert_eq!(shop.value(drift), "view shop.v view shop.w");
    }
    shop.platform.sql("alter view shop.v reset (security_invoker, check_option); alter view shop.w reset (security_invoker)");
    assert_eq!(shop.value(drift), "");
}

#[test]
fn no_file_says_of_anothers_what_would_outlast_it() {
    let shop = Application::of(&[
        ITEMS,
        FUNCTION,
        (
            "views/v.sql",
            "create view v as select id from item;\nalter view v set (security_barrier = true);\n",
        ),
        ("functions/e.sql", "create type e as enum ('a');\nalter type e rename to f;\n"),
    ]);
    shop.ok("deploy");
    let before = shop.dump();
    for (path, text, told) in [
        (
            "functions/two.sql",
            "alter function one() set work_mem = '1MB';\n",
            "functions/two.sql alters function shop.one(), which functions/one.sql makes",
        ),
        (
            "grants.sql",
            "alter view v set (security_invoker);\n",
            "grants.sql alters view shop.v, which views/v.sql makes",
        ),
        (
            "functions/two.sql",
            "alter type f add value 'b';\n",
            "functions/two.sql alters type shop.f, which functions/e.sql makes",
        ),
        (
            "functions/two.sql",
            "do $$ begin alter function one() strict; end $$;\n",
            "alters function shop.one()",
        ),
        (
            "grants.sql",
            "alter default privileges revoke execute on functions from public;\n",
            "grants.sql says what rights later objects have",
        ),
    ] {
        shop.write(path, text);
        let error = shop.fails("deploy");
        assert!(error.contains(told), "{error}");
        shop.remove(path);
    }
    shop.write("migrations/2.sql", "\nalter view v set (security_invoker = true);\n");
    let error = shop.fails("deploy");
    assert!(
        error.contains("migrations/2.sql:2: migrations/2.sql alters view shop.v, which views/v.sql makes"),
        "{error}"
    );
    assert_eq!(shop.dump(), before);
    // Where it lasts, as it has to.
    shop.write("migrations/2.sql", "alter default privileges revoke execute on functions from public;\n");
    shop.write("functions/two.sql", "create function two() returns int language sql return 2;\n");
    shop.ok("deploy");
    assert_eq!(shop.value("select has_function_privilege('howdah_web', 'shop.two()', 'execute')"), "f");
}

#[test]
fn routes_that_requests_would_find_broken_stop_a_deployment() {
    let shop =
        Application::of(&[ITEMS, FUNCTION, ("routes.sql", "select http.route('GET', '/one', 'one');\n")]);
    shop.ok("deploy");
    let before = shop.dump();
    let broken = |change: (&str, &str), told: &str| {
        let (path, text) = change;
        shop.write(path, text);
        for task in ["plan", "deploy"] {
            let error = shop.fails(task);
            assert!(error.contains(told), "{error}");
        }
        shop.remove(path);
    };
    broken(
        ("grants.sql", "revoke execute on function one() from public;\n"),
        "routes.sql: route GET /one cannot be served as howdah_web: permission denied for function shop.one",
    );
    shop.platform.sql("create role shop_web; grant shop_web to shop_owner");
    shop.write("routes.sql", "select http.route('GET', '/one', 'one', role => 'shop_web');\n");
    let error = shop.fails("deploy");
    assert!(
        error.contains("route GET /one cannot be served as shop_web: permission denied for schema shop"),
        "{error}"
    );
    shop.write("routes.sql", "select http.route('GET', '/one', 'one');\n");
    assert_eq!(shop.dump(), before);
    assert!(shop.ok("deploy").contains("Nothing has changed"));
    shop.platform.sql("grant usage on schema shop to shop_web");
    shop.write("routes.sql", "select http.route('GET', '/one', 'one', role => 'shop_web');\n");
    shop.ok("deploy");
    assert_eq!(shop.platform.get("/one").text(), "1");
}

#[test]
fn a_changed_comment_is_accepted_and_a_changed_statement_is_not() {
    let shop = Application::of(&[ITEMS, FUNCTION]);
    shop.ok("deploy");
    assert!(shop.ok("accept").contains("no migration of shop that has run has changed"));
    shop.write(
        "migrations/1-item.sql",
        &format!("-- The items.\n\n{}  -- End.\n", ITEMS.1.replace(", name", ",\n  name")),
    );
    assert!(shop.fails("deploy").contains("if only comments have changed: howdah accept"));
    assert!(shop.ok("accept").contains("migrations/1-item.sql has the statements that have run"));
    shop.write("functions/one.sql", "create function one() returns int language sql immutable return 2;\n");
    shop.ok("deploy");
    let before = shop.dump();
    for text in [
        ITEMS.1.replace("text", "varchar"),
        ITEMS.1.replace("item", "\"Item\""),
        ITEMS.1.replace("grant", "--grant"),
        format!("{}select 1;\n", ITEMS.1),
        "create table (;\n".to_owned(),
    ] {
        shop.write("migrations/1-item.sql", &text);
        let error = shop.fails("accept");
        assert!(
            error.contains("has other statements than when it ran") || error.contains("syntax error"),
            "{error}"
        );
    }
    shop.platform.sql("create role mallory login");
    let by_mallory = shop.command("accept", "mallory", &[]).output().unwrap();
    assert_eq!(by_mallory.status.code(), Some(1));
    assert_eq!(shop.dump(), before);
}

#[test]
fn who_has_planned_before_another_deployed_plans_again() {
    let shop = Application::of(&[FUNCTION]);
    shop.ok("deploy");
    let mut other = shop.platform.session();
    // A deployment looks at it between what is deployed and its begin.
    other.batch_execute("begin; lock table pg_catalog.pg_extension in access exclusive mode").unwrap();
    thread::scope(|scope| {
        shop.write("functions/two.sql", "create function two() returns int language sql return 2;\n");
        let late = scope.spawn(|| shop.run("deploy", &["--lock-timeout", "60"]));
        let waits =
            "pg_stat_activity where wait_event_type = 'Lock' and query like '%pg_available_extensions%'";
        wait_for("it waits", || shop.platform.count(waits) == 1);
        other
            .batch_execute(
                "do $$ declare text text := 'create function one() returns int language sql immutable return 7;';
                 begin
                   perform deploy.start('shop', json_build_object('functions/one.sql', encode(sha256(text::bytea), 'hex')));
                   perform deploy.run('functions/one.sql', text);
                   perform deploy.take_away();
                   assert (deploy.finish() -> 'problems')::text = '[]';
                 end $$;
                 commit",
            )
            .unwrap();
        let late = late.join().unwrap();
        let told = howdah_tests::application::text(&late.stdout);
        assert!(late.status.success() && told.contains("somebody else has just deployed"), "{told}");
    });
    assert_eq!(shop.value("select shop.one() || ' ' || shop.two()"), "1 2");
    assert_eq!(
        shop.value("select string_agg(number || kind, ' ' order by number) from deploy.deployment"),
        "1deploy 2deploy 3deploy"
    );
}

#[test]
fn a_right_to_all_of_a_schema_is_one_to_what_comes_later_and_what_is_taken_from_everybody_stays_taken() {
    let shop = Application::of(&[
        FUNCTION,
        ("grants.sql", "revoke execute on all functions in schema shop from public;\n"),
    ]);
    shop.ok("deploy");
    let may = |function: &str| {
        shop.value(&format!(
            "select has_function_privilege('howdah_web', 'shop.{function}()', 'execute')::text"
        ))
    };
    assert_eq!(may("one"), "false");
    let secret = "create function secret() returns int language sql security definer set search_path = shop, pg_temp return 1;\n";
    shop.write("views/secret.sql", secret);
    shop.ok("deploy");
    assert_eq!(may("secret"), "false", "a new function is everybody's");
    shop.remove("grants.sql");
    shop.ok("deploy");
    assert_eq!((may("one"), may("secret")), ("true".into(), "true".into()));

    // With its function it moves to a file that runs before the old one goes, and to one that runs after that has.
    let secret = format!("{secret}revoke all on function secret() from public;\n");
    shop.write("views/secret.sql", &secret);
    for path in ["functions/a.sql", "views/z.sql", "functions/b.sql"] {
        shop.ok("deploy");
        assert_eq!(may("secret"), "false", "before it moves to {path}");
        ["views/secret.sql", "functions/a.sql", "views/z.sql"].iter().for_each(|old| {
            let _ = fs::remove_file(shop.folder.path().join(old));
        });
        shop.write(path, &secret);
    }
    shop.ok("deploy");
    assert_eq!(may("secret"), "false");
    // Two say so, and then one.
    shop.write("grants.sql", "revoke all on function secret() from public;\n");
    shop.ok("deploy");
    shop.write("functions/b.sql", secret.lines().next().unwrap());
    shop.ok("deploy");
    assert_eq!(may("secret"), "false", "grants.sql says so still");
    // The one of them names nothing: it puts its statement together.
    let says = "do $$ begin execute format('revoke all on %s %I() from public', 'function', 'sec' || 'ret'); end $$;\n";
    shop.write("functions/says.sql", says);
    shop.ok("deploy");
    shop.remove("grants.sql");
    shop.ok("deploy");
    assert_eq!(may("secret"), "false", "functions/says.sql says so still");
}

#[test]
fn if_not_exists_keeps_what_the_file_says_and_what_hangs_on_a_table_follows_its_name() {
    let shop = Application::of(&[
        ITEMS,
        (
            "functions/i.sql",
            "create unique index if not exists by_name on item (name);\ncreate policy seen on item using (true);\n",
        ),
        ("grants.sql", "grant update (price) on item to howdah_web;\n"),
    ]);
    shop.ok("deploy");
    let there = || {
        shop.value(
            "select concat_ws(' ', (select indexdef from pg_indexes where indexname = 'by_name'),
               (select string_agg(tablename || '.' || policyname, ' ') from pg_policies where schemaname = 'shop'),
               (select string_agg(table_name || '.' || column_name, ' ') from information_schema.column_privileges
                where grantee = 'howdah_web' and privilege_type = 'UPDATE' and table_schema = 'shop'))",
        )
    };
    let expected = |table: &str, column: &str| {
        format!(
            "CREATE UNIQUE INDEX by_name ON shop.{table} USING btree (name) {table}.seen {table}.{column}"
        )
    };
    assert_eq!(there(), expected("item", "price"));
    // Each second change dropped it.
    for comment in ["-- one\n", "-- two\n", "-- three\n"] {
        shop.write(
            "functions/i.sql",
            &format!("{comment}create unique index if not exists by_name on item (name);\ncreate policy seen on item using (true);\n"),
        );
        shop.ok("deploy");
        assert_eq!(there(), expected("item", "price"), "{comment}");
    }
    shop.write(
        "migrations/2.sql",
        "alter table item rename to ware;\nalter table ware rename price to cost;\n",
    );
    shop.write("functions/i.sql", "create unique index if not exists by_name on ware (name);\ncreate policy seen on ware using (true);\n");
    shop.write("grants.sql", "grant update (cost) on ware to howdah_web;\n");
    shop.ok("deploy");
    assert_eq!(there(), expected("ware", "cost"));
    assert_eq!(shop.value("select count(*)::text from deploy.drift('shop')"), "0");
    shop.remove("functions/i.sql");
    shop.remove("grants.sql");
    shop.ok("deploy");
    assert_eq!(there(), "", "all of it goes with its files");
}

#[test]
fn nothing_is_dropped_unsaid_that_no_file_makes_again() {
    let shop = Application::of(&[
        ITEMS,
        ("functions/level.sql", "create type level as enum ('low', 'high');\n"),
        ("views/v.sql", "create view v as select id, name from item;\n"),
    ]);
    shop.ok("deploy");
    shop.platform.sql(
        "alter table shop.item add level shop.level; insert into shop.item (name, level) values ('tea', 'high');
         create schema other; create view other.names as select name from shop.item;
         create view shop.by_hand as select name from shop.item",
    );
    let cases = [
        (
            "functions/level.sql",
            "drop type if exists level cascade;\ncreate type level as enum ('low', 'middle', 'high');\n",
            "functions/level.sql would drop table column shop.item.level, which depends on what it drops",
        ),
        (
            "functions/x.sql",
            "drop view by_hand;\n",
            "functions/x.sql drops view shop.by_hand, which no file of code makes",
        ),
        (
            "migrations/2.sql",
            "alter table item drop name cascade;\n",
            "migrations/2.sql would drop view other.names, which is not in schema shop",
        ),
    ];
    for (path, text, why) in cases {
        let before = fs::read_to_string(shop.folder.path().join(path)).ok();
        shop.write(path, text);
        let said = shop.fails("deploy");
        assert!(said.contains(why), "{said}");
        match before {
            Some(before) => shop.write(path, &before),
            None => shop.remove(path),
        }
    }
    assert_eq!(shop.value("select level::text from shop.item"), "high");
    // Another file's is made again, and what hangs on what a migration drops is told.
    shop.platform.sql("drop view other.names");
    shop.write("views/w.sql", "drop view if exists v cascade;\ncreate view w as select 1 as one;\n");
    shop.ok("deploy");
    assert_eq!(shop.value("select count(*)::text from shop.v"), "1");
    shop.remove("views/w.sql");
    shop.write("views/v.sql", "create view v as select id from item;\n");
    shop.write("migrations/2.sql", "alter table item drop name cascade;\n");
    let said = shop.ok("plan");
    assert!(said.contains("drops view shop.by_hand"), "{said}");
    shop.ok("deploy");
    assert_eq!(shop.value("select count(*)::text from shop.v"), "1");
}

#[test]
fn a_route_whose_parameter_is_called_otherwise_takes_the_place_of_the_old_one() {
    let one = |name: &str| {
        format!(
            "create or replace function show({name} text) returns http.html language sql stable begin atomic select http.format('<p>%s', {name}); end;\n"
        )
    };
    let routes = |name: &str| {
        format!(
            "select http.route('GET', '/c/{{{name}}}/x', 'show'), http.cache('GET', '/c/{{{name}}}/x');
             select http.page('GET', '/c/{{{name}}}/x', 'show');
             select http.route('GET', '/c/new/x', 'hello');\n"
        )
    };
    let hello = "create function hello(request http.request) returns text language sql return 'hello';\n";
    let registered = "select string_agg(concat_ws(' ', type, array_to_string(names, ' ')), ', ' order by type, names) from deploy.registered";
    let shop = Application::of(&[
        ("functions/show.sql", &one("id")),
        ("functions/hello.sql", hello),
        ("routes.sql", &routes("id")),
    ]);
    shop.ok("deploy");
    assert_eq!(shop.platform.get("/c/7/x").text(), "<p>7");
    shop.write("functions/show.sql", &one("item_id"));
    shop.write("routes.sql", &routes("item_id"));
    let told = shop.ok("deploy");
    assert!(told.contains("route GET /c/{item_id}/x, page GET /c/{item_id}/x"), "{told}");
    assert_eq!(
        shop.value(registered),
        "page GET /c/{item_id}/x, route GET /c/new/x, route GET /c/{item_id}/x"
    );
    assert_eq!(shop.value(registered), shop.fresh().value(registered));
    assert_eq!(shop.platform.get("/c/8/x").text(), "<p>8");
    assert_eq!(shop.platform.get("/c/new/x").text(), "hello");

    // Another file has the old one now, which is as it was: nothing of it gives way.
    shop.write(
        "functions/more.sql",
        "select http.route('POST', '/c/{any}/x', 'hello'), http.route('GET', '/c/{any}/x', 'hello');\n",
    );
    let conflict = "GET /c/{any}/x matches the same paths as GET /c/{item_id}/x";
    let told = shop.fails("deploy");
    assert!(told.contains(conflict), "{told}");
    // The file that had it is gone.
    shop.remove("routes.sql");
    shop.ok("deploy");
    assert_eq!(shop.value(registered), "route GET /c/{any}/x, route POST /c/{any}/x");
    // Both are in one file.
    for both in [["any", "other"], ["other", "any"]] {
        let each = both.map(|name| format!("select http.route('GET', '/c/{{{name}}}/x', 'hello');\n"));
        shop.write("functions/more.sql", &each.concat());
        let told = shop.fails("deploy");
        assert!(told.contains(&format!("GET /c/{{{}}}/x matches the same paths as", both[1])), "{told}");
    }
    // Somebody has made one by hand.
    shop.platform.sql(
        "select http.unroute('GET', '/c/{any}/x'); select http.route('GET', '/c/{hand}/x', 'shop.hello')",
    );
    shop.write("functions/more.sql", "select http.route('GET', '/c/{other}/x', 'hello');\n");
    let told = shop.fails("deploy");
    assert!(told.contains("GET /c/{other}/x matches the same paths as GET /c/{hand}/x"), "{told}");
}
