//! What was changed by hand since an application was deployed.

use std::fs;
use std::process::Command;

use howdah_tests::application::{Application, ITEMS, dump, text};
use howdah_tests::platform::{DATABASE, Platform};

#[test]
fn what_was_changed_by_hand_is_shown_and_nothing_after_a_restore() {
    let shop = Application::of(&[
        ITEMS,
        ("views/v.sql", "create view v as select id from item;\ngrant select on v to howdah_web;\n"),
        ("functions/one.sql", "create function one() returns int language sql immutable return 1;\ncreate function gone(n int) returns int language sql immutable return n;\n"),
        ("functions/kinds.sql", "create type mood as enum ('sad', 'glad');\ncreate domain small as int check (value < 10);\ncreate aggregate total (int) (sfunc = int4pl, stype = int);
           create function touch() returns trigger language plpgsql as $$ begin return new; end $$;
           create trigger touches before update on item for each row execute function touch();
           create policy everybody on item using (true);\n"),
        ("routes.sql", "select http.route('GET', '/one', 'one');\nselect http.route('GET', '/two', 'one');\n"),
    ]);
    shop.ok("deploy");
    let drift = |platform: &Platform| {
        platform.value("select coalesce(string_agg(object || ' ' || change, '; ' order by object), 'none') from deploy.drift('shop')").unwrap()
    };
    assert_eq!(drift(&shop.platform), "none");
    let restored = Platform::start();
    restored.sql("drop extension howdah cascade; create role shop_owner; create role late");
    let file = shop.folder.path().join("dump");
    fs::write(&file, dump(&shop.platform, &[])).unwrap();
    let psql = restored.cluster.installation().program("psql");
    let to = restored.cluster.connection_string(DATABASE).unwrap();
    let output = Command::new(psql)
        .args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", &to, "-f"])
        .arg(&file)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(drift(&restored), "none");
    shop.platform.sql(
        "create or replace function shop.one() returns int language sql immutable return 2; drop function shop.gone(int);
         revoke select on shop.v from howdah_web; select http.unroute('GET', '/two');
         alter type shop.mood add value 'mad'; alter table shop.item disable trigger touches; alter policy everybody on shop.item using (false);
         alter domain shop.small add check (value > 0)",
    );
    assert_eq!(
        drift(&shop.platform),
        "function shop.gone(integer) is gone; function shop.one() was changed; policy shop.item.everybody was changed; \
         route GET /two is gone; trigger shop.item.touches was changed; type shop.mood was changed; \
         type shop.small was changed; view shop.v was changed"
    );
    let shown = shop.ok("history");
    assert!(
        shown.contains("Changed by hand since:\n  function shop.one() (functions/one.sql) was changed")
            || shown.contains("function shop.one() (functions/one.sql) was changed"),
        "{shown}"
    );
}

#[test]
fn what_was_changed_by_hand_is_told_and_repaired() {
    let shop = Application::of(&[
        ITEMS,
        ("functions/f.sql", "create function f() returns int language sql immutable return 1;\n"),
        ("functions/g.sql", "create function g() returns int language sql immutable return 1;\n"),
        ("routes.sql", "select http.route('GET', '/f', 'f');\n"),
    ]);
    shop.ok("deploy");
    shop.platform.sql(
        "create or replace function shop.f() returns int language sql immutable return 2; drop function shop.g();
         alter table shop.item add column extra int; create index by_hand on shop.item (name); grant delete on shop.item to public;
         create function shop.new() returns int language sql immutable return 1; create table shop.fresh (n int);
         select http.route('GET', '/hand', 'shop.new')",
    );
    let drift = [
        "function shop.f() (functions/f.sql) was changed",
        "function shop.g() (functions/g.sql) is gone",
        "function shop.new() was made by hand",
        "route GET /hand was made by hand",
        "table shop.fresh was made by hand",
        "table shop.fresh, column n was made by hand",
        "table shop.fresh, rights was made by hand",
        "table shop.item, column extra was made by hand",
        "table shop.item, index by_hand was made by hand",
        "table shop.item, rights was changed",
    ];
    let told = |text: &str| {
        let (_, list) = text.split_once("(--repair runs its files again):\n").expect("drift is told");
        list.lines().filter_map(|line| line.strip_prefix("  ")).map(str::to_owned).collect::<Vec<_>>()
    };
    let said = shop.ok("deploy");
    assert!(said.contains("Nothing has changed since deployment 1."), "{said}");
    let mut sorted = told(&said);
    sorted.sort();
    assert_eq!(sorted, drift);
    // A deployment of something else leaves it as it is, but for what is gone.
    shop.write("functions/h.sql", "create function h() returns int language sql immutable return 1;\n");
    assert!(shop.ok("deploy").contains("functions/g.sql  ran: function shop.g()"));
    let mut sorted = told(&shop.ok("plan"));
    sorted.sort();
    assert_eq!(sorted, drift.into_iter().filter(|line| !line.contains("shop.g()")).collect::<Vec<_>>());
    let repaired = shop.run("deploy", &["--repair"]);
    assert!(
        text(&repaired.stdout).contains("functions/f.sql  ran: function shop.f()"),
        "{}",
        text(&repaired.stdout)
    );
    assert_eq!(shop.value("select shop.f()::text"), "1");
    let left = told(&shop.ok("deploy"));
    assert!(left.len() == 8 && !left.iter().any(|line| line.contains("functions/")), "{left:?}");
}

#[test]
fn settings_of_who_deploys_and_of_who_asks_make_no_drift() {
    const ALTERED: &str = "alter role postgres set quote_all_identifiers = on; alter role postgres set datestyle = 'German, DMY';
        alter role postgres set intervalstyle = 'sql_standard'; alter role postgres set bytea_output = 'escape';
        alter role postgres set extra_float_digits = -5; alter role postgres set timezone = 'Asia/Tokyo';
        alter role postgres set standard_conforming_strings = off";
    let files = [
        (
            "migrations/1.sql",
            "create table at (id int primary key, moment timestamptz default '2026-02-01 00:00+00', pause interval default '1 day 2 h', raw bytea default '\\x00ff', part float default 0.1234567890123);
             create index later on at (moment) where moment > '2026-02-01 00:00+00';\n",
        ),
        (
            "functions/f.sql",
            "create function f(at timestamptz default '2026-02-01 00:00+00', b bytea default '\\xff00', t text default 'a\\b') returns float language sql immutable return 0.1234567890123;\n",
        ),
        (
            "views/v.sql",
            "create view v as select id, date '2026-03-04' as day, interval '3 days 4 h' as pause, '\\xdead'::bytea as raw from at where moment > '2026-05-06 00:00+00';
             create type \"order\" as (at date);
             create domain early as date check (value < '2026-01-02');\n",
        ),
        ("grants.sql", "grant select (day) on v to howdah_web;\ngrant select on at to howdah_web;\nrevoke execute on function f(timestamptz, bytea, text) from public;\n"),
    ];
    for (before, after) in [(ALTERED, "alter role postgres reset all"), ("select", ALTERED)] {
        let shop = Application::of(&files);
        shop.platform.sql(before);
        shop.ok("deploy");
        let drift =
            "select coalesce(string_agg(object || ' ' || change, '; '), 'none') from deploy.drift('shop')";
        assert_eq!(shop.value(drift), "none");
        shop.platform.sql(after);
        assert_eq!(shop.value(drift), "none", "deployed by: {before}, asked by: {after}");
        assert_eq!(shop.value("select changed_by_hand::text from deploy.applications"), "0");
        shop.remove("grants.sql");
        let said = shop.ok("deploy");
        assert!(!said.contains("by hand"), "{said}");
        let may = "select has_table_privilege('howdah_web', 'shop.at', 'select')::text || has_column_privilege('howdah_web', 'shop.v', 'day', 'select')
            || has_function_privilege('howdah_web', 'shop.f(timestamptz, bytea, text)', 'execute')";
        assert_eq!(shop.value(may), "falsefalsetrue", "they are taken back and given back");
    }
}

#[test]
fn what_was_noted_in_other_words_is_compared_from_the_next_deployment_on() {
    let shop = Application::of(&[
        ITEMS,
        ("functions/f.sql", "create function f() returns int language sql immutable return 1;\n"),
    ]);
    shop.ok("deploy");
    // As 0.1.0 has left it.
    shop.platform.sql(
        "update deploy.shape set version = 15, definition = 'other words';
         insert into deploy.shape (application, object, definition, version) values ('shop', 'table shop.item, told once', '', 15);
         update deploy.object set definition = '15:' || md5('x');
         create index by_hand on shop.item (name)",
    );
    let drift = || {
        shop.value(
            "select coalesce(string_agg(object || ' ' || change, '; '), 'none') from deploy.drift('shop')",
        )
    };
    assert_eq!(drift(), "none");
    shop.write("functions/g.sql", "create function g() returns int language sql immutable return 1;\n");
    shop.ok("deploy");
    assert_eq!(drift(), "none");
    shop.platform.sql(
        "drop index shop.by_hand; create or replace function shop.f() returns int language sql immutable return 2",
    );
    assert_eq!(drift(), "table shop.item, index by_hand is gone; function shop.f() was changed");
}

#[test]
fn the_order_of_columns_is_told_where_none_has_come_or_gone() {
    let shop = Application::of(&[("migrations/1.sql", "create table t (a int, b int, c int);\n")]);
    shop.ok("deploy");
    let drift = || {
        shop.value(
            "select coalesce(string_agg(object || ' ' || change, '; '), 'none') from deploy.drift('shop')",
        )
    };
    shop.platform.sql("alter table shop.t drop b");
    assert_eq!(drift(), "table shop.t, column b is gone");
    shop.platform.sql("alter table shop.t add b int");
    assert_eq!(drift(), "table shop.t, order of columns was changed");
    shop.write("migrations/2.sql", "alter table t drop c;\nalter table t add c int;\n");
    shop.ok("deploy");
    assert_eq!(drift(), "none");
}
