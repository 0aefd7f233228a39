//! Tests of applications by `deploy.try_test()`: what they find, what they leave, and who may run them.

use cluster::postgres::Client;
use howdah_tests::abilities::brings_extension;
use howdah_tests::application::{deploy, dump};
use howdah_tests::platform::Platform;
use serde_json::{Value, json};

const FILES: [(&str, &str); 4] = [
    ("howdah.toml", "name = \"shop\"\n"),
    (
        "migrations/1-item.sql",
        "create table item (id int generated always as identity primary key, name text not null, parent int
           references item deferrable initially deferred);
         grant select, insert on item to howdah_web;
         insert into item (name) values ('chair');\n",
    ),
    (
        "functions/items.sql",
        "create function items() returns json language sql stable
         return (select coalesce(json_agg(name order by id), '[]') from item);
         create function add_item(name text) returns http.response language sql begin atomic
           insert into item (name) values (add_item.name); select http.redirect('/items'); end;\n",
    ),
    (
        "routes.sql",
        "select http.route('GET', '/items', 'items'); select http.route('POST', '/items', 'add_item');\n",
    ),
];

fn platform() -> Platform {
    let platform = Platform::start();
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in FILES {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    deploy(&platform, folder.path(), "'shop'");
    platform.sql("create role ada login; grant shop_owner to ada; create role eve login");
    platform
}

fn session(platform: &Platform, role: &str) -> Client {
    let mut session = platform.session();
    session.batch_execute(&format!("set session authorization {role}")).unwrap();
    session
}

fn try_test(session: &mut Client, text: &str, function: Option<&str>) -> Value {
    let query = "select deploy.try_test('shop', $1, $2)::text";
    let row =
        session.query_one(query, &[&text, &function]).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    serde_json::from_str(&row.get::<_, String>(0)).unwrap()
}

fn fails(session: &mut Client, text: &str) -> Value {
    let answer = try_test(session, text, None);
    assert!(answer.get("error").is_some(), "{text}: {answer:#}");
    answer["error"].clone()
}

fn passes(session: &mut Client, text: &str) -> Value {
    let answer = try_test(session, text, None);
    assert!(answer.get("error").is_none(), "{text}: {answer:#}");
    answer
}

/// All that a test may do, each with a word of how it ends.
const THOROUGH: [&str; 9] = [
    "insert into item (name) values ('table'); select count(*) = 2 from item;",
    "create table other (n int); insert into other values (1); alter table item add column price numeric;
     update item set price = 1; drop function items(); select true;",
    "create or replace function items() returns json language sql stable return '1'::json; select items()::text = '1';",
    "revoke select on item from howdah_web; grant update on item to public; comment on table item is 'x'; select true;",
    "create temp table passing (n int); insert into passing values (1); select n = 1 from passing;",
    "select status = 303 from http.call('POST', '/items', body => 'name=table',
       headers => array[http.header('Content-Type', 'application/x-www-form-urlencoded')]);
     select count(*) = 2 from item;",
    "insert into item (name, parent) values ('table', 1000);",
    "select false;",
    "set work_mem = '1MB'; notify shop, 'test'; select http.unroute('GET', '/items'); select true;",
];

#[test]
fn a_test_leaves_nothing_whatever_it_does_and_however_it_ends() {
    let platform = platform();
    // Numbers of sequences are used up.
    let everything = || {
        let lines = dump(&platform, &[]);
        lines.lines().filter(|line| !line.contains("item_id_seq', ")).collect::<Vec<_>>().join("\n")
    };
    let before = everything();
    let mut ada = session(&platform, "ada");
    ada.batch_execute("listen shop; set work_mem = '5MB'").unwrap();
    for text in THOROUGH {
        let answer = try_test(&mut ada, text, None);
        let is_to_fail = text.starts_with("insert into item (name, parent)") || text == "select false;";
        assert_eq!(answer.get("error").is_some(), is_to_fail, "{text}: {answer:#}");
        assert_eq!(everything(), before, "{text}");
    }
    let left = ada
        .query_one("select current_setting('work_mem'), to_regclass('pg_temp.passing') is null", &[])
        .unwrap();
    assert_eq!((left.get::<_, &str>(0), left.get::<_, bool>(1)), ("5MB", true));
    let number: i64 =
        ada.query_one("select count(*) from pg_prepared_statements where from_sql", &[]).unwrap().get(0);
    assert_eq!(number, 0);
}

#[test]
fn functions_are_tests_of_their_own_and_find_what_the_file_has_put_in() {
    let platform = platform();
    let mut ada = session(&platform, "ada");
    let text = "insert into item (name) values ('table');

create function helper() returns int language sql return (select count(*) from item);
create function test_adds() returns boolean language sql begin atomic
  insert into item (name) values ('lamp');
  select helper() = 3;
end;
create function test_none_of_others() returns boolean language sql return helper() = 2;
create function test_with(n int) returns boolean language sql return false;
create function test_raises() returns void language plpgsql as $$
begin
  perform helper();
  perform 1 / 0;
end $$;
create function test_rows() returns setof boolean language sql return true;
create function test_deferred() returns void language sql begin atomic
  insert into item (name, parent) values ('shelf', 1000);
end;
";
    let answer = passes(&mut ada, text);
    let functions = ["test_adds", "test_none_of_others", "test_raises", "test_rows", "test_deferred"];
    assert_eq!(answer["functions"], json!(functions));
    for passing in ["test_adds", "test_none_of_others", "test_rows", "test_adds"] {
        assert!(try_test(&mut ada, text, Some(passing)).get("error").is_none(), "{passing}");
    }
    let raised = &try_test(&mut ada, text, Some("test_raises"))["error"];
    assert_eq!((&raised["message"], &raised["line"]), (&json!("division by zero"), &json!(13)), "{raised:#}");
    let deferred = &try_test(&mut ada, text, Some("test_deferred"))["error"];
    assert_eq!((&deferred["sqlstate"], &deferred["line"]), (&json!("23503"), &json!(16)), "{deferred:#}");
    let missing = &try_test(&mut ada, text, Some("helper"))["error"];
    assert_eq!(missing["message"], json!("the file makes no test helper()"));
}

#[test]
fn what_differs_is_told_and_computed_once() {
    let platform = platform();
    let mut ada = session(&platform, "ada");
    let difference = |operator: &str, got: Value, wanted: &str| json!([{ "operator": operator, "got": got, "wanted": wanted }]);
    let error = fails(&mut ada, "select 1 = 1;\nselect count(*) = 3 as three from item;");
    assert_eq!(error["differences"], difference("=", json!("1"), "3"), "{error:#}");
    assert_eq!(error["line"], json!(2));
    let error = fails(&mut ada, "select name, id > 5 from item;");
    assert_eq!(error["differences"], difference(">", json!("1"), "5"));
    let error = fails(&mut ada, "select parent is not distinct from 2 from item;");
    assert_eq!(error["differences"], difference("is not distinct from", json!(null), "2"));
    // Of several the ones that are not true, in the row that has failed.
    let error = fails(
        &mut ada,
        "insert into item (name) values ('lamp'); select id > 0 and name = 'chair' from item order by id;",
    );
    assert_eq!(error["differences"], difference("=", json!("lamp"), "chair"));
    // What runs again has found what was there before.
    let error = fails(
        &mut ada,
        "select (http.call('POST', '/items', body => 'name=table',
           headers => array[http.header('Content-Type', 'application/x-www-form-urlencoded')])).status = 200;",
    );
    assert_eq!(error["differences"], difference("=", json!("303"), "200"), "{error:#}");
    let error = fails(
        &mut ada,
        "with added as (insert into item (name) values ('lamp') returning 1) select count(*) = 2 from added;
         select count(*) = 5 from item;",
    );
    assert_eq!(error["differences"], difference("=", json!("1"), "2"), "{error:#}");
    for (text, sides) in [
        ("select *, false from item;", json!([])),
        ("create domain truth as boolean; select false::truth;", json!([])),
        ("select unnest(array[]::int[]) = 1;", json!([])),
        ("select count(*) = 99 having false;", json!([])),
        ("values (false);", json!([])),
        ("select not true;", json!([])),
        ("select false union select 1 = 2;", json!([])),
        ("select 1 = 2 group by 7;", json!([])),
        (
            "select count(*) = 2 from item group by name order by 1;",
            json!([{ "operator": "=", "got": "1", "wanted": "2" }]),
        ),
    ] {
        let error = fails(&mut ada, text);
        assert_eq!(error["differences"], sides, "{text}: {error:#}");
    }
    let long = fails(&mut ada, "select repeat('x', 1000000) = 'y';");
    assert!(long["differences"][0]["got"].as_str().unwrap().len() < 30_000);
}

#[test]
fn routes_that_were_asked_are_named_once() {
    let platform = platform();
    let mut ada = session(&platform, "ada");
    let text = "select status = 200 from http.call('GET', '/items?x=1'); select status = 200 from http.call('GET', '/items');
       select status = 404 from http.call('GET', '/nothing'); select status = 405 from http.call('PUT', '/items');";
    assert_eq!(passes(&mut ada, text)["called"], json!(["GET /items"]));
    assert_eq!(passes(&mut ada, "select true;")["called"], json!([]));
    assert_eq!(
        fails(&mut ada, "select status = 201 from http.call('GET', '/items');")["message"],
        json!("this is not true")
    );
}

#[test]
fn tests_of_pgtap_run() {
    let platform = platform();
    if !brings_extension("pgtap", "tests of pgTAP") {
        return;
    }
    platform.sql("create extension pgtap");
    let mut ada = session(&platform, "ada");
    let text = |name: &str| {
        format!(
            "select plan(3);
select is((select count(*)::int from item), 1, 'one item');
select has_table('shop', 'item', 'a table');
select is((select name from item), '{name}', 'its name');
select * from finish();"
        )
    };
    passes(&mut ada, &text("chair"));
    let error = fails(&mut ada, &text("lamp"));
    let message = error["message"].as_str().unwrap();
    assert!(message.starts_with("not ok 3 - its name") && message.contains("have: chair"), "{error:#}");
    assert_eq!(error["line"], json!(4));
    let error = fails(&mut ada, "select plan(2);\nselect ok(true, 'one');\nselect * from finish();");
    assert!(error["message"].as_str().unwrap().contains("planned 2 tests but ran 1"), "{error:#}");
    passes(
        &mut ada,
        "select plan(1); select todo('later', 1); select ok(false, 'one'); select * from finish();",
    );
    let functions = "select no_plan();
create function test_it() returns setof text language plpgsql as $$
begin
  return next is(1, 1, 'one');
  return next is(1, 2, 'two');
end $$;";
    assert_eq!(passes(&mut ada, functions)["functions"], json!(["test_it"]));
    let error = &try_test(&mut ada, functions, Some("test_it"))["error"];
    assert!(error["message"].as_str().unwrap().starts_with("not ok 2 - two"), "{error:#}");
}

#[test]
fn whoever_may_not_become_the_owner_tests_nothing() {
    let platform = platform();
    let mut eve = session(&platform, "eve");
    let refused = eve.execute("select deploy.try_test('shop', 'select true')", &[]).unwrap_err();
    assert_eq!(refused.code().unwrap().code(), "42501");
    let mut ada = session(&platform, "ada");
    let user = "select current_user = 'shop_owner' and session_user = 'ada';";
    passes(&mut ada, user);
    let error =
        fails(&mut ada, "reset session authorization; select deploy.try_test('shop', 'select true');");
    assert!(!error["message"].as_str().unwrap().is_empty());
    let error = fails(&mut ada, "select deploy.try_test('shop', 'select true');");
    assert_eq!(error["message"], json!("a file that is deployed cannot deploy"));
    let error = fails(&mut ada, "commit;");
    assert_eq!(error["message"], json!("a file cannot begin or end a transaction, or set a savepoint"));
    // What looks like passing is not.
    let error = fails(&mut ada, "do $$ begin raise exception 'passed' using errcode = 'HDT00'; end $$;");
    assert_eq!(error["message"], json!("passed"));
}
