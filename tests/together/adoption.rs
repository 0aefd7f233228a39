//! `howdah adopt`: what is there already becomes an application.

use howdah_tests::application::{Application, dump, text};

const MIGRATION: &str = "create type kind as enum ('tool', 'toy');
create domain amount as numeric(10, 2) check (value >= 0);
create table item (id int generated always as identity primary key, name text not null unique, kind kind default 'toy', price amount);
create index item_kind on item (kind, lower(name));
alter table item enable row level security;
";

/// A schema as somebody has made it by hand, with rows.
fn application() -> Application {
    let shop = Application::of(&[
        ("migrations/1.sql", MIGRATION),
        (
            "migrations/2.sql",
            "create table sale (item int references item, at timestamptz default now(), constraint sale_when check (at > '2020-01-01'));\n",
        ),
        (
            "views/priced.sql",
            "create view priced as select id::text as id, price from item;\ngrant select on priced to howdah_web;\n",
        ),
        (
            "functions/names.sql",
            "create function names() returns text language sql stable security definer set search_path = shop as $$ select string_agg(name, ' ' order by id) from item $$;\n",
        ),
        ("functions/few.sql", "create policy few on item using (id < 100);\n"),
        ("routes.sql", "select http.route('GET', '/names', 'names');\n"),
        (
            "tests/live/names.sql",
            "select convert_from(body, 'UTF8') = 'saw ball' from http.call('GET', '/names');\n",
        ),
    ]);
    shop.platform.sql("create role old");
    shop.platform.sql(&by_hand());
    shop
}

/// Statements of whoever has made it.
fn by_hand() -> String {
    format!(
        "create schema shop authorization old; set role old; set search_path = shop; {MIGRATION}
         create table sale (item int references item, at timestamptz default now(), constraint sale_when check (at > '2020-01-01'));
         create view priced as select id, price from item;
         create function names() returns int language sql stable return 1;
         create policy few on item using (id < 10);
         create table archive (n int); create view total as select count(*) from item;
         create function by_hand(n int) returns int language sql immutable security definer return n;
         insert into item (name, kind, price) values ('saw', 'tool', 9.5), ('ball', 'toy', 3);
         insert into sale (item) values (1), (2), (2);"
    )
}

#[test]
fn a_schema_with_rows_becomes_an_application_and_no_row_changes() {
    let shop = application();
    let rows = "select (select string_agg(i.xmin || ' ' || i.ctid || i::text, ',') from shop.item i) || (select string_agg(s.xmin || ' ' || s.ctid, ',') from shop.sale s)";
    let (rows_before, before) = (shop.value(rows), dump(&shop.platform, &[]));
    let planned = shop.run("adopt", &["--plan"]);
    assert!(planned.status.success(), "{}", text(&planned.stderr));
    assert_eq!(dump(&shop.platform, &[]), before);
    assert_eq!(shop.value("select count(*)::text from pg_roles where rolname = 'shop_owner'"), "0");
    let told = shop.ok("adopt");
    assert!(
        told.contains("  migrations/1.sql  was done already\n")
            && told.contains("table shop.archive stays, though no file makes it")
            && told.contains("view shop.total stays")
            && told.contains("function shop.by_hand(integer) stays")
            && told.contains(
                "shop.by_hand(integer) is SECURITY DEFINER: it ran as old, and runs as shop_owner from now on"
            )
            && !told.contains("column n stays")
            && !told.contains("names() stays")
            && told.ends_with("Adopted as number 1.\n"),
        "{told}"
    );
    assert_eq!(shop.value(rows), rows_before);
    assert_eq!(
        shop.value("select string_agg(distinct tableowner, ' ') || ' ' || nspowner::regrole from pg_tables, pg_namespace where schemaname = 'shop' and nspname = 'shop' group by nspowner"),
        "shop_owner shop_owner"
    );
    assert_eq!(
        shop.value("select string_agg(distinct proowner::regrole || ' ' || typowner::regrole, ', ') from pg_proc, pg_type where pronamespace = 'shop'::regnamespace and typnamespace = 'shop'::regnamespace and typname in ('kind', 'amount')"),
        "shop_owner shop_owner"
    );
    assert_eq!(shop.platform.get("/names").text(), "saw ball");
    assert!(shop.ok("deploy").contains("Nothing has changed since deployment 1."));
    // What is a file's now goes with it.
    shop.remove("functions/few.sql");
    shop.write("migrations/3.sql", "alter table item alter price type numeric;\n");
    shop.ok("deploy");
    assert_eq!(shop.value("select count(*)::text from pg_policy"), "0");
    assert!(shop.fails("adopt").contains("is an application of this database already"));
}

#[test]
fn what_is_not_as_the_migrations_make_it_is_told_and_nothing_changes() {
    let shop = application();
    shop.platform.sql(
        "alter table shop.item alter name drop not null; alter table shop.sale drop constraint sale_when;
         drop index shop.item_kind; alter type shop.kind add value 'book'; alter domain shop.amount set default 1;
         alter table shop.item alter kind drop default",
    );
    let before = dump(&shop.platform, &[]);
    let error = shop.fails("adopt");
    for told in [
        "table shop.item, column name is text, and would be text not null",
        "table shop.sale, constraint sale_when is missing: CHECK ((at > '2020-01-01",
        "table shop.item, index item_kind is missing: CREATE INDEX",
        "type shop.kind is tool, toy, book, and would be tool, toy",
        "type shop.amount is numeric(10,2) default 1 CHECK",
        "table shop.item, column kind is shop.kind, and would be shop.kind default 'toy'::shop.kind",
    ] {
        assert!(error.contains(told), "{told}: {error}");
    }
    assert_eq!(error.matches("\n  ").count(), 6, "{error}");
    assert_eq!(dump(&shop.platform, &[]), before);
    let nobody = shop.command("adopt", "postgres", &[]).args(["--to", "host=/nowhere"]).output().unwrap();
    assert!(!nobody.status.success());
}

/// More of what migrations make.
const MORE: &str =
    "create function twice(n int) returns int language sql immutable as $$\n  select n\n    * 2\n$$;
create view dear as select id, name from item where price > 9;
create function touch() returns trigger language plpgsql as $$ begin return new; end $$;
create trigger touches before update on item for each row execute function touch();
create policy own on item using (name = current_user);
create materialized view counted as select count(*) as n from item;
create unique index counted_n on counted (n);
comment on column item.price is 'in euros';
";

#[test]
fn what_migrations_make_besides_tables_is_compared_too() {
    let shop = application();
    shop.write("migrations/3.sql", MORE);
    shop.platform.sql(&format!("drop schema shop cascade; {} {MORE}", by_hand()));
    let planned = shop.run("adopt", &["--plan"]);
    assert!(planned.status.success(), "{}", text(&planned.stderr));
    for (change, told) in [
        ("drop policy own on item", "table shop.item, policy own is missing: for all to public using"),
        (
            "alter policy own on item using (true)",
            "table shop.item, policy own is for all to public using (true), and would be for all to public using ((name =",
        ),
        (
            "alter table item disable trigger touches",
            "EXECUTE FUNCTION shop.touch() disabled, and would be CREATE TRIGGER",
        ),
        (
            "alter table item disable row level security",
            "table shop.item is plain, and would be row security",
        ),
        ("drop trigger touches on item", "table shop.item, trigger touches is missing: CREATE TRIGGER"),
        (
            "create or replace function twice(n int) returns int language sql immutable as $$\n  select n\n    * 3\n$$",
            "      -    * 2\n      +    * 3\n",
        ),
        (
            "create or replace view dear as select id, name from item where price > 8",
            "view shop.dear is another:\n",
        ),
        ("alter view dear set (security_barrier)", "view shop.dear is another:\n"),
        ("drop index counted_n", "materialized view shop.counted, index counted_n is missing"),
        ("comment on column item.price is null", "comment 'in euros'"),
        (
            "alter table sale drop at, add at timestamptz default now(); alter table sale drop item, add item int references item, add constraint sale_when check (at > '2020-01-01')",
            "table shop.sale, order of columns is at, item, and would be item, at",
        ),
    ] {
        shop.platform.sql(&format!("drop schema shop cascade; {} {MORE} {change}", by_hand()));
        let error = shop.fails("adopt");
        assert!(
            error.contains("the database is not what the migrations make") && error.contains(told),
            "{change}: {error}"
        );
    }
    // Files of code make theirs again, whatever it was; and what they leave otherwise than migrations is right.
    shop.write(
        "functions/more.sql",
        "create or replace view dear as select id, name from item where price > 7;\n",
    );
    shop.platform
        .sql(&format!("drop schema shop cascade; {} {MORE} drop policy few on shop.item", by_hand()));
    let adopted = shop.ok("adopt");
    assert!(adopted.ends_with("Adopted as number 1.\n"), "{adopted}");
    assert_eq!(shop.value("select coalesce(string_agg(object || ' ' || change, '; '), '') from deploy.drift('shop') where object !~ 'by_hand|archive|total'"), "");
}

#[test]
fn rights_that_migrations_give_and_nobody_has_are_told() {
    let shop = application();
    shop.write("migrations/3.sql", "grant select on item to howdah_web;\ngrant update (name) on item to howdah_web;\nrevoke usage on type kind from public;\n");
    let told = shop.ok("adopt");
    assert!(
        told.contains("table shop.item lacks rights that the migrations give: howdah_web SELECT, howdah_web UPDATE of column name\n"),
        "{told}"
    );
}

#[test]
fn the_dump_of_a_schema_can_be_its_first_migration() {
    let shop = application();
    let text = dump(&shop.platform, &["-n", "shop", "-s", "-O", "-x"]);
    assert!(text.contains("CREATE SCHEMA shop;") && text.contains("CREATE FUNCTION shop.names()"), "{text}");
    for path in [
        "migrations/2.sql",
        "views/priced.sql",
        "functions/names.sql",
        "functions/few.sql",
        "tests/live/names.sql",
    ] {
        shop.remove(path);
    }
    shop.write("migrations/1.sql", &text);
    let told = shop.ok("adopt");
    assert!(told.ends_with("Adopted as number 1.\n") && !told.contains("stays"), "{told}");
    assert_eq!(shop.platform.get("/names").text(), "1");
    // And it makes the same in a new database.
    let new = Application::of(&[
        ("migrations/1.sql", &text),
        ("routes.sql", "select http.route('GET', '/names', 'names');\n"),
    ]);
    new.ok("deploy");
    assert_eq!(dump(&new.platform, &["-n", "shop", "-s", "-O", "-x"]), text);
}

#[test]
fn everything_in_the_schema_becomes_the_owners() {
    const MADE: &str =
        "create table part (id int, at date not null, primary key (id, at)) partition by range (at);
         create table part_1 partition of part for values from ('2026-01-01') to ('2027-01-01');
         create index part_at on part (at);
         create text search configuration words (copy = pg_catalog.simple);
         create text search dictionary plain (template = pg_catalog.simple);
         create type span as range (subtype = int);
         create collation plainly (locale = 'C');
         create statistics seen on id, at from part_1;
         create sequence counter;
         create aggregate total (int) (sfunc = int4pl, stype = int);
         create function same(int, text) returns boolean language sql immutable return true;
         create operator @@@ (leftarg = int, rightarg = text, function = same);
         create procedure act() language sql begin atomic select 1; end;
         create conversion ours for 'LATIN1' to 'UTF8' from iso8859_1_to_utf8;\n";
    let shop = Application::of(&[("migrations/1.sql", MADE)]);
    let operators = "create operator family shop.family using btree; create operator class shop.class for type text using btree family shop.family as operator 1 <;
         alter operator family shop.family using btree owner to old; alter operator class shop.class using btree owner to old";
    shop.platform.sql(&format!(
        "create role old; create schema shop authorization old; set role old; set search_path = shop; {MADE}; reset role; {operators}"
    ));
    assert!(dump(&shop.platform, &["-s", "-n", "shop"]).contains("OWNER TO old"));
    shop.ok("adopt");
    let left = dump(&shop.platform, &["-s", "-n", "shop"]);
    let left: Vec<_> = left.lines().filter(|line| line.contains("OWNER TO old")).collect();
    assert!(left.is_empty(), "{left:#?}");
    shop.write("migrations/2.sql", "alter table part add n int;\n");
    // A partitioned table of a file of code can be changed, and removed.
    let code = "create table of_code (id int, at date) partition by range (at);\n";
    shop.write("functions/p.sql", code);
    shop.ok("deploy");
    shop.write("functions/p.sql", &code.replace("id int", "id bigint"));
    shop.ok("deploy");
    shop.remove("functions/p.sql");
    shop.ok("deploy");
    assert_eq!(shop.value("select to_regclass('shop.of_code')"), "");
}
