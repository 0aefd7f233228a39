//! The body of a function with `begin atomic` or `return` means what it meant when the function was made, as in its call.

use howdah_tests::{Platform, wait_for};

/// Functions whose names are tables', and whose arguments have names that are columns', or become functions of the row.
const NAMED_ALIKE: &str = "
create schema shop; grant usage on schema shop to howdah_web;
create table shop.orders (id int primary key, customer text, item text);
insert into shop.orders values (1, 'ann', 'book'), (2, 'ben', 'pen'), (3, 'cem', 'cup');
grant all on shop.orders to howdah_web;
create function shop.orders(customer text) returns text language sql stable begin atomic
  select string_agg(item, ',') from shop.orders where orders.customer = $1; end;
create function shop.orders(customer text, id int) returns text language sql stable
  return (select string_agg(item, ',') from shop.orders where orders.customer = $1 and orders.id = $2);
create function shop.orders(id int) returns text language sql begin atomic
  delete from shop.orders where orders.id = $1 returning 'deleted ' || $1; end;
create function shop.orders(id int, item text) returns text language sql begin atomic
  insert into shop.orders values ($1, 'dan', $2) on conflict (id) do update set item = $2 returning orders.item; end;
create function shop.orders(wanted varchar) returns text language sql stable begin atomic
  select string_agg(item, ',') from shop.orders where item = $1; end;
select http.route('GET', '/of/{customer}', 'shop.orders(text)'); select http.route('GET', '/of/{customer}/{id}', 'shop.orders(text, int)');
select http.route('DELETE', '/{id}', 'shop.orders(int)'); select http.route('PUT', '/{id}', 'shop.orders(int, text)');
select http.route('GET', '/item/{wanted}', 'shop.orders(varchar)', search_path => 'public, shop')";

#[test]
fn an_argument_is_neither_a_column_of_its_name_nor_a_function_of_the_row() {
    let platform = Platform::start();
    platform.sql(NAMED_ALIKE);
    let mut connection = platform.connect();
    // Enough of them to run in the gateway, too.
    let mut ask = |method: &str, path: &str, body: &str| {
        let header = ("content-type", "application/x-www-form-urlencoded");
        let reply = connection.request(method, path, &[header], body.as_bytes());
        (reply.status, reply.text())
    };
    for _ in 0..20 {
        assert_eq!(ask("GET", "/of/ann", ""), (200, "book".into()));
        assert_eq!(ask("GET", "/of/ben/2", ""), (200, "pen".into()));
        assert_eq!(ask("GET", "/of/ben/3", "").0, 404);
        assert_eq!(ask("GET", "/item/cup", ""), (200, "cup".into()));
    }
    platform.sql(
        "create function public.wanted(shop.orders) returns text language plpgsql as
           $$ begin raise log 'ran as %', current_user; return 'book'; end $$",
    );
    for _ in 0..20 {
        assert_eq!(ask("GET", "/item/cup", ""), (200, "cup".into()));
    }
    assert!(!platform.log().contains("ran as"), "somebody's function ran");
    assert_eq!(ask("PUT", "/3", "item=can"), (200, "can".into()));
    assert_eq!(ask("DELETE", "/2", ""), (200, "deleted 2".into()));
    let left = platform.value("select string_agg(item, ',' order by id) from shop.orders");
    assert_eq!(left.as_deref(), Some("book,can"));
}

#[test]
fn a_name_in_a_parsed_body_is_not_looked_up_again_while_its_request_waits() {
    let platform = Platform::start();
    platform.sql(
        "create role tom; create schema early authorization tom; grant usage on schema early to public;
         create schema shop; grant usage on schema shop to howdah_web;
         create table shop.prices (code text, price int); insert into shop.prices values ('a', 1);
         grant select on shop.prices to howdah_web;
         create function shop.shown(int) returns text language sql immutable return 'price ' || $1;
         create function shop.waits() returns boolean language plpgsql as
           $$ begin perform pg_advisory_xact_lock_shared(7); return true; end $$;
         create domain shop.code as text check (shop.waits());
         create function shop.price(code shop.code) returns text language sql stable begin atomic
           select shop.shown(price) from shop.prices where prices.code = price.code::text; end;
         select http.route('POST', '/price', 'shop.price', search_path => 'early, shop')",
    );
    let ask = || {
        let mut connection = platform.connect();
        connection.send("POST", "/price?code=a", &[], b"");
        connection
    };
    let answer = |mut connection: howdah_tests::Connection| {
        let reply = connection.read_reply(false).expect("an answer");
        (reply.status, reply.text())
    };
    assert_eq!(answer(ask()), (200, "price 1".into()));
    let mut holder = platform.session();
    holder.batch_execute("select pg_advisory_lock(7)").unwrap();
    let waiting = ask();
    wait_for("it waits", || platform.count("pg_locks where not granted") > 0);
    platform.sql(
        "set role tom;
         create function early.shown(int) returns text language plpgsql as
           $$ begin raise log 'ran as %', current_user; return 'of tom'; end $$",
    );
    holder.batch_execute("select pg_advisory_unlock(7)").unwrap();
    assert_eq!(answer(waiting), (200, "price 1".into()));
    assert_eq!(answer(ask()), (200, "price 1".into()));
    assert!(!platform.log().contains("ran as"), "a function of tom's ran");
}

#[test]
fn a_constant_in_a_parsed_body_is_not_read_again_with_the_roles_settings() {
    let platform = Platform::start();
    platform.sql(
        "create role reader; alter role reader set timezone = 'Asia/Kolkata';
         alter role reader set datestyle = 'SQL, DMY'; alter role reader set array_nulls = off;
         create function moment() returns text language sql stable
           return extract(epoch from timestamptz '2026-01-02 00:00:00+00')::bigint::text;
         create function day() returns text language sql stable return (date '2026-02-01' - date '2026-01-02')::text;
         create function present() returns text language sql stable
           return cardinality(array_remove('{a,NULL}'::text[], null))::text;
         select http.route('GET', '/' || name, name, role => 'reader') from unnest(array['moment', 'day', 'present']) name",
    );
    for (path, expected) in [("/moment", "1767312000"), ("/day", "30"), ("/present", "1")] {
        assert_eq!(platform.get(path).text(), expected, "{path}");
    }
}

#[test]
fn a_parsed_body_stands_for_its_call_also_after_changes() {
    let platform = Platform::start();
    platform.sql(
        "create table item (name text); insert into item values ('one'); grant all on item to howdah_web;
         create function context() returns text language plpgsql as
           $$ declare stack text; begin get diagnostics stack = pg_context; return stack; end $$;
         create function selects() returns text language sql begin atomic select name || context() from item; end;
         create function is_scalar() returns text language sql return (select name || context() from item);
         create function updates() returns text language sql begin atomic
           update item set name = name returning name || context(); end;
         create function called() returns text language sql begin atomic select 1; select name || context() from item; end;
         select http.route('POST', '/' || name, name) from unnest(array['selects', 'is_scalar', 'updates', 'called']) name",
    );
    for change in ["select", "alter table item add column more int", "analyze item"] {
        platform.sql(change);
        for path in ["/selects", "/is_scalar", "/updates", "/called"] {
            let text = platform.post(path, "text/plain", b"").text();
            assert!(text.starts_with("onePL/pgSQL"), "{path}: {text}");
            assert_eq!(text.contains("SQL function \""), path == "/called", "{path} after {change}: {text}");
        }
    }
}
