//! Migrations that are no part of a deployment's transaction: indexes that are made concurrently and the like, and statements in batches.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use cluster::postgres::Client;
use howdah_tests::application::{Application, ITEMS, dump, text};
use howdah_tests::link::Link;
use howdah_tests::platform::{DATABASE, wait_for};

/// A shop with some items, deployed.
fn shop() -> Application {
    let shop = Application::of(&[
        ITEMS,
        (
            "functions/items.sql",
            "create function items() returns bigint language sql return (select count(*) from item);\n",
        ),
        ("routes.sql", "select http.route('GET', '/items', 'items');\n"),
    ]);
    shop.ok("deploy");
    shop.platform.sql(
        "create role ada login; grant shop_owner to ada;
         insert into shop.item (name, price) select 'item ' || n, n % 10 from generate_series(1, 2000) n",
    );
    shop
}

fn deploys(shop: &Application, user: &str) -> String {
    let output = shop.command("deploy", user, &[]).output().unwrap();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

fn begin(shop: &Application, user: &str) -> Child {
    shop.command("deploy", user, &[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Likewise, over a network.
fn begin_by(shop: &Application, link: &Link) -> Child {
    let to = format!("host=127.0.0.1 port={} user=ada dbname={DATABASE} sslmode=disable", link.port);
    let mut command = Command::new(howdah_tests::command());
    command.args(["deploy", "--app"]).arg(shop.folder.path()).args(["--to", &to]).env("HOWDAH_LOCKS", "60");
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until a query returns true.
fn await_that(shop: &Application, query: &str) {
    let begun = Instant::now();
    while shop.value(query) != "t" && shop.value(query) != "true" {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "{query}: {}",
            shop.value("select string_agg(query, e'\n') from pg_stat_activity")
        );
        thread::sleep(Duration::from_millis(10));
    }
}

fn is_valid(shop: &Application, index: &str) -> bool {
    shop.value(&format!(
        "select coalesce((select indisvalid and indisready from pg_index where indexrelid = to_regclass('shop.{index}')), false)::text"
    )) == "true"
}

/// Everything of the schema that is half.
fn half(shop: &Application) -> String {
    shop.value(
        "select coalesce(string_agg(indexrelid::regclass::text, ', '), '') from pg_index i
         join pg_class c on c.oid = i.indexrelid where not indisvalid and c.relkind = 'i' and relnamespace = 'shop'::regnamespace",
    )
}

/// A transaction that sees what was there before, for which what is made concurrently waits.
fn old_snapshot(shop: &Application) -> Client {
    let mut session = shop.platform.session();
    session.batch_execute("begin isolation level repeatable read; select count(*) from shop.item").unwrap();
    session
}

#[test]
fn steps_of_all_kinds_run_in_their_place_and_are_known() {
    let shop = shop();
    shop.write("migrations/2-index.sql", "create index concurrently item_name on item (name);\n");
    let plan = shop.ok("plan");
    assert!(
        plan.contains(
            "2-index.sql  runs outside of the transaction: create index concurrently item_name on item (name)"
        ),
        "{plan}"
    );
    assert!(!is_valid(&shop, "item_name"));
    let told = deploys(&shop, "ada");
    assert!(
        told.contains("2-index.sql  ran outside of the transaction") && told.contains("Deployed as number 2"),
        "{told}"
    );
    assert!(is_valid(&shop, "item_name"));
    assert_eq!(
        shop.value(
            "select pg_get_userbyid(relowner)::text from pg_class where oid = 'shop.item_name'::regclass"
        ),
        "shop_owner"
    );
    assert!(deploys(&shop, "ada").contains("Nothing has changed since deployment 2"));

    // A value that is used at once, by a migration and by code; and all the rest.
    shop.write("migrations/3-mood.sql", "create type mood as enum ('sad'); create table part (n int, m mood) partition by list (m);
       create table sad partition of part for values in ('sad'); create materialized view counted as select count(*) from item;\n");
    deploys(&shop, "ada");
    shop.write("migrations/4-mood.sql", "alter type mood add value 'happy' before 'sad';\n");
    shop.write("migrations/5-mood.sql", "create table happy partition of part for values in ('happy'); insert into part values (1, 'happy');\n");
    shop.write("migrations/6-detach.sql", "alter table part detach partition sad concurrently;\n");
    shop.write("migrations/7-drop.sql", "drop index concurrently item_name;\n");
    shop.write("migrations/8-price.sql", "alter table item add column half numeric;\n");
    shop.write("migrations/9-reindex.sql", "reindex table concurrently item;\n");
    shop.write("migrations/91-vacuum.sql", "-- Space for later rows.\nvacuum (analyze) item;\n");
    shop.write("functions/moods.sql", "create function moods() returns bigint language sql return (select count(*) from part where m = 'happy');\n");
    let plan = shop.run("plan", &[]);
    // Without the value, which a plan does not make, no partition has it.
    assert!(
        text(&plan.stderr).contains("5-mood.sql:1: invalid input value for enum"),
        "{}",
        text(&plan.stderr)
    );
    let told = deploys(&shop, "ada");
    let order: Vec<usize> = [
        "4-mood",
        "5-mood",
        "Deployed as number 4",
        "6-detach",
        "7-drop",
        "8-price",
        "9-reindex",
        "91-vacuum",
    ]
    .iter()
    .map(|word| told.rfind(word).unwrap_or_else(|| panic!("{word}: {told}")))
    .collect();
    assert!(order[..6].is_sorted(), "{told}");
    assert_eq!(shop.value("select shop.moods()::text"), "1");
    assert_eq!(
        shop.value("select count(*)::text from pg_inherits where inhrelid = 'shop.sad'::regclass"),
        "0"
    );
    assert_eq!(shop.value("select (to_regclass('shop.item_name') is null)::text"), "true");
    assert_eq!(shop.value("select count(*)::text from deploy.migration"), "10");
    assert_eq!(shop.value("select count(*)::text from deploy.step"), "0");
    assert_eq!(shop.value("select coalesce(string_agg(object, ', '), '') from deploy.drift('shop')"), "");
    assert!(deploys(&shop, "ada").contains("Nothing has changed"));

    // On a new database all of it is one transaction, and the schema is the same.
    let other = Application::of(&[]);
    for entry in ["migrations", "functions"] {
        for file in std::fs::read_dir(shop.folder.path().join(entry)).unwrap() {
            let file = file.unwrap();
            let path = format!("{entry}/{}", file.file_name().to_string_lossy());
            other.write(&path, &std::fs::read_to_string(file.path()).unwrap());
        }
    }
    other.write("routes.sql", "select http.route('GET', '/items', 'items');\n");
    assert!(other.ok("deploy").contains("Deployed as number 1"));
    // Which PostgreSQL adds where it detaches concurrently.
    shop.platform.sql("alter table shop.sad drop constraint sad_m_check");
    let schema = |shop: &Application| dump(&shop.platform, &["-n", "shop", "--schema-only"]);
    assert_eq!(schema(&other), schema(&shop));
}

#[test]
fn what_fails_leaves_nothing_half_and_its_place_is_told() {
    let shop = shop();
    shop.write(
        "migrations/2-unique.sql",
        "-- No price twice.\ncreate unique index concurrently item_price\n  on item (price);\n",
    );
    let told = shop.fails("deploy");
    assert!(
        told.contains("migrations/2-unique.sql:2: could not create unique index \"item_price\"")
            && told.contains("Key (price)=")
            && told.contains("Nothing of it was deployed."),
        "{told}"
    );
    assert_eq!(half(&shop), "");
    assert_eq!(shop.value("select path from deploy.steps"), "migrations/2-unique.sql");
    // It is said in another way, and then the other way round.
    shop.write(
        "migrations/2-unique.sql",
        "create unique index concurrently item_price on item (price) where price > 10;\n",
    );
    shop.ok("deploy");
    assert!(is_valid(&shop, "item_price"));
    assert_eq!(shop.value("select count(*)::text from deploy.steps"), "0");
    for (text, message) in [
        ("create index concurrently on item (name);\n", "an index that is made concurrently needs a name"),
        (
            "select 1; create index concurrently x on item (name);\n",
            "create index concurrently stands with other statements in a file",
        ),
        ("vacuum;\n", "a migration names the tables that it vacuums"),
        ("vacuum full item;\n", "a migration does not VACUUM FULL"),
        ("reindex (concurrently) database app;\n", "a migration reindexes an index, a table or the schema"),
        ("create index concurrently x on item (nothing);\n", "column \"nothing\" does not exist"),
        ("create index concurrently item_price on item (name);\n", "Deployed as number"),
        ("-- batches: 10\nupdate item set price = 1;\n", "write it as: -- batches: 1000 by entry.id"),
        (
            "-- batches: 10 by item.nothing\nupdate item set price = 1 where id between $1 and $2;\n",
            "there is no key item.nothing",
        ),
        (
            "-- batches: 10 by item.id\nupdate item set nothing = 1 where id between $1 and $2;\n",
            "migrations/3-x.sql:2: column \"nothing\"",
        ),
        ("-- batches: 10 by item.id\nselect 1;\n", "what runs in batches is an UPDATE"),
    ] {
        shop.write("migrations/3-x.sql", text);
        let output = shop.run("deploy", &[]);
        let told = howdah_tests::application::text(&output.stdout)
            + &howdah_tests::application::text(&output.stderr);
        assert!(told.contains(message), "{text}: {told}");
        assert_eq!(half(&shop), "", "{text}");
        if output.status.success() {
            return;
        }
    }
}

#[test]
fn whoever_is_killed_in_the_middle_is_followed_by_one_who_goes_on() {
    let shop = shop();
    for (number, kill) in
        ["client", "network", "backend", "owner's backend", "server"].into_iter().enumerate()
    {
        let index = format!("item_name_{number}");
        let step = format!("create index concurrently {index} on item (name);\n");
        shop.write(&format!("migrations/{}-index.sql", 10 * number + 12), &step);
        let more = format!("alter table item add column more_{number} int;\n");
        shop.write(&format!("migrations/{}-more.sql", 10 * number + 13), &more);
        let is_half = format!(
            "select exists (select from pg_index where indexrelid = to_regclass('shop.{index}') and not indisvalid)"
        );
        let old = old_snapshot(&shop);
        let link = Link::to(&shop.platform.cluster.socket().unwrap().join(".s.PGSQL.5432"));
        let mut deployer = if kill == "network" { begin_by(&shop, &link) } else { begin(&shop, "ada") };
        await_that(&shop, &is_half);
        match kill {
            "network" => link.cut(),
            "client" => {
                deployer.kill().unwrap();
                // Somebody else waits until the server has noticed.
                await_that(&shop, "select not exists (select from pg_stat_activity where usename = 'ada')");
            }
            "backend" => shop.platform.sql(
                "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'ada' and query not like 'create index%'",
            ),
            "owner's backend" => shop.platform.sql(
                "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'ada' and query like 'create index%'",
            ),
            _ => {
                let of_owner = shop.value("select pid::text from pg_stat_activity where usename = 'ada' and query like 'create index%'");
                // All backends end with it, and the server recovers.
                let killed = Command::new("sh").args(["-c", &format!("kill -9 {of_owner}")]).status();
                assert!(killed.unwrap().success());
            }
        }
        drop(old);
        let status = deployer.wait().unwrap();
        let mut told = String::new();
        deployer.stderr.take().unwrap().read_to_string(&mut told).unwrap();
        wait_for("the server", || shop.platform.cluster.connect(DATABASE).is_ok());
        // It may have ended by itself, as nothing was in its way any more.
        assert!(kill == "backend" || !status.success(), "{kill}: {told}");
        let said = deploys(&shop, "ada");
        assert!(is_valid(&shop, &index), "{kill}: {said}");
        assert_eq!(half(&shop), "", "{kill}");
        assert_eq!(shop.value("select count(*)::text from deploy.migration"), (2 * number + 3).to_string());
        assert_eq!(shop.value("select count(*)::text from deploy.step"), "0", "{kill}");
    }
}

#[test]
fn a_second_deployer_waits_without_a_snapshot_and_the_index_gets_done() {
    let shop = shop();
    shop.write("migrations/2-index.sql", "create index concurrently item_name on item (name);\n");
    let old = old_snapshot(&shop);
    let first = begin(&shop, "ada");
    await_that(
        &shop,
        "select exists (select from pg_index where indexrelid = to_regclass('shop.item_name') and not indisvalid)",
    );
    let second = begin(&shop, "postgres");
    thread::sleep(Duration::from_secs(1));
    // While it waits, the index is held up by the old transaction alone.
    drop(old);
    let first = first.wait_with_output().unwrap();
    let second = second.wait_with_output().unwrap();
    assert!(
        first.status.success() && second.status.success(),
        "{}{}",
        text(&first.stderr),
        text(&second.stderr)
    );
    assert!(
        text(&second.stdout).contains("shop is being deployed by ada (process"),
        "{}",
        text(&second.stdout)
    );
    assert!(
        text(&second.stdout).contains("Nothing has changed since deployment 2"),
        "{}",
        text(&second.stdout)
    );
    assert!(is_valid(&shop, "item_name"));
}

#[test]
fn ctrl_c_takes_away_what_is_half() {
    let shop = shop();
    shop.write("migrations/2-index.sql", "create index concurrently item_name on item (name);\n");
    let old = old_snapshot(&shop);
    let deployer = begin(&shop, "ada");
    await_that(
        &shop,
        "select exists (select from pg_index where indexrelid = to_regclass('shop.item_name') and not indisvalid)",
    );
    let signal = Command::new("sh").args(["-c", &format!("kill -INT {}", deployer.id())]).status();
    assert!(signal.unwrap().success());
    thread::sleep(Duration::from_millis(300));
    drop(old);
    let output = deployer.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    assert_eq!(half(&shop), "");
    assert!(!is_valid(&shop, "item_name"));
    shop.ok("deploy");
    assert!(is_valid(&shop, "item_name"));
}

#[test]
fn batches_run_once_each_and_go_on_where_they_were() {
    let shop = shop();
    shop.write(
        "migrations/2-half.sql",
        "alter table item add column half numeric, add column times int not null default 0;\n",
    );
    shop.write(
        "migrations/3-fill.sql",
        "-- batches: 100 by item.id, pause 20 ms, standby delay 10 s\nupdate item set half = price / 2, times = times + 1 where id between $1 and $2;\n",
    );
    shop.write(
        "functions/halves.sql",
        "create function halves() returns numeric language sql return (select sum(half) from item);\n",
    );
    let mut deployer = begin(&shop, "ada");
    await_that(&shop, "select coalesce((select keys >= 300 from deploy.step), false)");
    assert_eq!(
        shop.value("select count(*)::text from deploy.deployment"),
        "2",
        "the code is there before the last rows are"
    );
    deployer.kill().unwrap();
    deployer.wait().unwrap();
    shop.platform.sql("insert into shop.item (name, price) values ('late', 4)");
    let told = deploys(&shop, "ada");
    assert!(told.contains("3-fill.sql  ran outside of the transaction"), "{told}");
    assert!(told.contains("Nothing has changed since deployment 2"), "{told}");
    assert_eq!(
        shop.value(
            "select count(*)::text || ' ' || min(times)::text || ' ' || max(times)::text from shop.item"
        ),
        "2001 1 1"
    );
    assert_eq!(
        shop.value("select shop.halves()::text"),
        shop.value("select sum(price / 2)::text from shop.item")
    );
    assert_eq!(shop.value("select count(*)::text from deploy.step"), "0");
}

#[test]
fn what_runs_in_batches_runs_as_the_owner() {
    let shop = shop();
    shop.write(
        "functions/told.sql",
        "create function told() returns trigger language plpgsql as $$ begin
           if current_user <> 'shop_owner' then raise 'as %', current_user; end if;
           begin execute 'reset role'; exception when others then null; end;
           begin execute 'set session authorization default'; exception when others then null; end;
           if current_user <> 'shop_owner' or exists (select from pg_roles where rolname = current_user and rolsuper) then raise 'as %', current_user; end if;
           return new; end $$;
         create trigger told before update on item for each row execute function told();\n",
    );
    shop.write(
        "migrations/2-fill.sql",
        "-- batches: 500 by item.id\nupdate item set price = 1 where id between $1 and $2;\n",
    );
    shop.ok("deploy");
    let told = shop.ok("deploy");
    assert!(told.contains("Nothing has changed"), "{told}");
    shop.write(
        "migrations/3-fill.sql",
        "-- batches: 500 by item.id\nupdate item set price = 2 where id between $1 and $2;\n",
    );
    shop.ok("deploy");
    assert_eq!(shop.value("select sum(price)::text from shop.item"), "4000");
    // The functions are whoever's who may become the owner.
    shop.platform.sql("create role eve login");
    let mut eve = shop.platform.session();
    eve.batch_execute("set session authorization eve").unwrap();
    for call in [
        "deploy.step('shop', 'migrations/9.sql', 'vacuum item')",
        "deploy.begin_step('shop', 'migrations/9.sql', 'vacuum item')",
        "deploy.batch('shop', 'migrations/9.sql')",
        "deploy.end_step('shop', 'migrations/9.sql')",
        "deploy.forget_step('shop', 'migrations/9.sql')",
        "deploy.hold('shop')",
        "deploy.release('shop')",
    ] {
        let refused = eve.execute(&format!("select {call}"), &[]).unwrap_err();
        assert_eq!(refused.code().unwrap().code(), "42501", "{call}");
    }
    assert_eq!(eve.query("select from deploy.steps", &[]).unwrap().len(), 0);
    // Nobody notes as done what is not.
    let mut ada = shop.platform.session();
    ada.batch_execute("set session authorization ada").unwrap();
    ada.batch_execute(
        "select deploy.begin_step('shop', 'migrations/9.sql', 'create index concurrently nine on item (id)')",
    )
    .unwrap();
    let refused = ada.execute("select deploy.end_step('shop', 'migrations/9.sql')", &[]).unwrap_err();
    assert!(refused.as_db_error().unwrap().message().contains("is not done"));
    let refused = ada
        .execute("select deploy.begin_step('shop', 'migrations/9.sql', 'drop table item')", &[])
        .unwrap_err();
    assert!(refused.as_db_error().unwrap().message().contains("runs in the transaction"));
}

#[test]
fn a_session_that_has_held_an_application_leaves_nothing_when_it_ends() {
    let shop = shop();
    for _ in 0..5 {
        let mut session = shop.platform.session();
        session.batch_execute("select deploy.hold('shop')").unwrap();
        session.batch_execute("begin; select 1 / 0").unwrap_err();
        session.batch_execute("rollback").unwrap();
        let mut other = shop.platform.session();
        let refused = other.batch_execute("select deploy.hold('shop')").unwrap_err();
        assert_eq!(refused.code().unwrap().code(), "55P03");
        drop(session);
        await_that(
            &shop,
            "select not exists (select from pg_locks where locktype = 'object' and mode = 'ExclusiveLock')",
        );
    }
}

/// What tries to become the session's user, and to give it away.
const EVIL: &str = "create function evil(what text) returns boolean language plpgsql immutable as $$ begin
       begin perform set_config('role', 'none', false); exception when others then null; end;
       begin execute 'reset role'; exception when others then null; end;
       begin execute 'set session authorization default'; exception when others then null; end;
       begin execute 'alter role ada superuser'; exception when others then null; end;
       return true; end $$;";

#[test]
fn what_a_step_computes_stays_the_owner_even_if_a_superuser_deploys() {
    let shop = shop();
    shop.write(
        "migrations/2-evil.sql",
        &format!(
            "{EVIL} create domain evil_int as int check (evil('x' || value));
             create table part (v int) partition by range (v); create table part1 partition of part for values from (0) to (10);
             alter table part1 add check (v is null or evil('x'));\n"
        ),
    );
    shop.ok("deploy");
    let vacuums = "select vacuum_count::text from pg_stat_sys_tables where relname = 'pg_authid'";
    let before = shop.value(vacuums);
    // Before PostgreSQL restricts anything: while a predicate is read, and where a constraint is folded.
    shop.write(
        "migrations/3-index.sql",
        "create index concurrently i on item (id) where id <> all ('{-5}'::evil_int[]::int[]);\n",
    );
    shop.write("migrations/4-detach.sql", "alter table part detach partition part1 concurrently;\n");
    shop.write("migrations/5-vacuum.sql", "vacuum pg_catalog.pg_authid;\n");
    shop.run("deploy", &[]);
    shop.remove("migrations/3-index.sql");
    shop.run("deploy", &[]);
    assert_eq!(shop.value("select rolsuper::text from pg_roles where rolname = 'ada'"), "false");
    assert_eq!(shop.value(vacuums), before);
    // Whoever asks for it stays what it is, and no more.
    let mut session = shop.platform.session();
    session.batch_execute("set role ada; select deploy.keep_role()").unwrap();
    for word in [
        "reset role",
        "set role none",
        "set local role postgres",
        "set session authorization postgres",
        "discard all",
        "select set_config('role', 'none', false)",
    ] {
        assert!(session.batch_execute(word).is_err(), "{word}");
    }
    session.batch_execute("reset all").unwrap();
    // Nobody's function does that to who calls it.
    shop.platform.sql("create function shop.definer() returns void security definer language sql as 'select deploy.keep_role()'");
    let mut caller = shop.platform.session();
    assert!(caller.batch_execute("set role ada; reset role; select shop.definer()").is_err());
    caller.batch_execute("set role ada; reset role").unwrap();
    assert_eq!(session.query_one("select current_user::text", &[]).unwrap().get::<_, &str>(0), "ada");
}

#[test]
fn batches_come_to_an_end_whatever_the_keys_are() {
    let shop = shop();
    shop.write(
        "migrations/2-keys.sql",
        "create type pair as (a int, b int);
         create table chars (k char(5), n int default 0); insert into chars select 'abc' || x from generate_series(10, 19) x;
         create table bits (k bit(4), n int default 0); insert into bits select x::bit(4) from generate_series(0, 9) x;
         create table pairs (k pair, n int default 0);
         insert into pairs values ((1,1)), ((1,null)), ((1,null)), ((2,null)), ((3,3)), ((4,null)), ((5,5));
         create table same (k int, n int default 0); insert into same select x / 3 from generate_series(0, 9) x;\n",
    );
    shop.ok("deploy");
    for (number, table) in ["chars", "bits", "pairs", "same"].into_iter().enumerate() {
        shop.write(
            &format!("migrations/{}-fill.sql", number + 3),
            &format!("-- batches: 2 by {table}.k\nupdate {table} set n = n + 1 where k between $1 and $2;\n"),
        );
        shop.ok("deploy");
        assert_eq!(
            shop.value(&format!("select min(n)::text || ' ' || max(n)::text from shop.{table}")),
            "1 1",
            "{table}"
        );
    }
}

#[test]
fn a_deployment_that_fails_leaves_no_value_in_an_index() {
    let shop = Application::of(&[ITEMS]);
    shop.platform.sql("create role ada login");
    shop.write("migrations/2-old.sql", "create type old as enum ('a'); create table olds (v old); create index on olds (v); insert into olds values ('a'), ('a');\n");
    shop.ok("deploy");
    for (path, text) in [
        (
            "migrations/3.sql",
            "alter type old rename value 'a' to 'a2'; alter type old rename to older; alter type older rename to old;\n",
        ),
        ("migrations/4.sql", "select 1;\nalter type old add value 'b' before 'a2';\n"),
        ("migrations/5.sql", "insert into olds values ('b');\n"),
    ] {
        shop.write(path, text);
    }
    assert!(shop.fails("deploy").contains("unsafe use of new value"));
    shop.platform.sql("set enable_seqscan = off; insert into shop.olds values ('a'); select count(*) from shop.olds where v = 'a'");
}

#[test]
fn batches_leave_out_no_row_that_was_being_written_when_they_began() {
    let shop = shop();
    shop.write("migrations/2-half.sql", "alter table item add column half numeric;\n");
    deploys(&shop, "ada");
    let mut writer = shop.platform.session();
    // Behind the keys that a first batch sees, and not to be seen yet.
    writer
        .batch_execute(
            "begin; insert into shop.item (id, name, price) overriding system value values (-5, 'early', 10)",
        )
        .unwrap();
    shop.write(
        "migrations/3-fill.sql",
        "-- batches: 100 by item.id\nupdate item set half = price / 2 where id between $1 and $2;\n",
    );
    let deployer = begin(&shop, "ada");
    await_that(&shop, "select exists (select from deploy.step)");
    std::thread::sleep(std::time::Duration::from_secs(4));
    // A transaction that comes later is not waited for.
    let mut later = shop.platform.session();
    later.batch_execute("begin; insert into shop.item (name, price) values ('later', 10)").unwrap();
    writer.batch_execute("commit").unwrap();
    let told = deployer.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.contains("3-fill.sql: waits for postgres (process "), "{told}");
    later.batch_execute("rollback").unwrap();
    assert_eq!(shop.value("select count(*)::text from shop.item where half is null"), "0");
    assert_eq!(shop.value("select half::text from shop.item where name = 'early'"), "5.0000000000000000");
    // Waiting has an end.
    writer.batch_execute("begin; update shop.item set name = 'x' where id = 1").unwrap();
    shop.write(
        "migrations/4-again.sql",
        "-- batches: 100 by item.id\nupdate item set half = 0 where id between $1 and $2;\n",
    );
    let failed = shop.command("deploy", "ada", &["--wait", "0.5"]).output().unwrap();
    let told = String::from_utf8_lossy(&failed.stderr).into_owned();
    assert!(told.contains("4-again.sql: gave up after 0.5 s of waiting for postgres (process "), "{told}");
}
