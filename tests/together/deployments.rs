//! Deployments by the functions of schema `deploy`: what files may do, and what becomes of what they make.

use std::collections::BTreeMap;

use cluster::postgres::Client;
use howdah_tests::abilities::brings_extension;
use howdah_tests::platform::Platform;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

fn digest(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A platform with the application shop, and somebody who may deploy it.
fn platform() -> Platform {
    let platform = Platform::start();
    platform.sql(
        "create role ada login; create role eve login;
         select deploy.create_application('shop');
         select deploy.create_application('other');
         grant shop_owner to ada; grant other_owner to eve",
    );
    platform
}

fn session(platform: &Platform, role: &str) -> Client {
    let mut session = platform.session();
    session.batch_execute(&format!("set session authorization {role}")).unwrap();
    session
}

fn call(
    session: &mut Client,
    query: &str,
    arguments: &[&(dyn cluster::postgres::types::ToSql + Sync)],
) -> Value {
    let row = session.query_one(query, arguments).unwrap_or_else(|error| panic!("{error:?}\n{query}"));
    serde_json::from_str(&row.get::<_, String>(0)).unwrap()
}

fn run(session: &mut Client, path: &str, text: &str) -> Value {
    call(session, "select deploy.run($1, $2)::text", &[&path, &text])
}

fn start(session: &mut Client, files: &[(&str, &str)]) -> i32 {
    let files: BTreeMap<&str, String> = files.iter().map(|(path, text)| (*path, digest(text))).collect();
    let files = json!(files).to_string();
    session.query_one("select deploy.start('shop', $1::text::json)", &[&files]).expect("a deployment").get(0)
}

/// Runs all files in their order, drops what is stale, and commits.
fn deploy(session: &mut Client, files: &[(&str, &str)]) -> Vec<Value> {
    session.batch_execute("begin").unwrap();
    let known = call(session, "select deploy.state('shop')::text", &[]);
    start(session, files);
    let mut answers = Vec::new();
    let take_away = "select deploy.take_away()::text";
    for (path, text) in files.iter().filter(|(path, _)| *path != ROUTES.0) {
        if known["migrations"].get(*path).is_none() {
            answers.push(run(session, path, text));
        }
    }
    answers.push(call(session, take_away, &[]));
    for (path, text) in files.iter().filter(|(path, _)| *path == ROUTES.0) {
        answers.push(run(session, path, text));
    }
    answers.push(call(session, take_away, &[]));
    answers.push(call(session, "select deploy.finish()::text", &[]));
    session.batch_execute("commit").unwrap();
    answers
}

const NOTES: (&str, &str) = (
    "migrations/001-notes.sql",
    "create table note (id int generated always as identity, text text);\ngrant select, insert on note to howdah_web;\n",
);
const ROUTES: (&str, &str) = ("routes.sql", "select http.route('GET', '/notes', 'notes');\n");

#[test]
fn files_make_what_they_say_and_take_it_with_them() {
    let platform = platform();
    let mut ada = session(&platform, "ada");
    let notes = (
        "functions/notes.sql",
        "create function notes() returns setof note language sql stable as 'select * from note';\n",
    );
    let answers = deploy(&mut ada, &[NOTES, notes, ROUTES]);
    assert_eq!(answers[1]["made"], json!(["function shop.notes()"]), "{answers:?}");
    assert_eq!(answers[3]["made"], json!(["route GET /notes"]), "{answers:?}");
    assert_eq!(answers[5]["problems"], json!([]), "{answers:?}");
    assert_eq!(platform.get("/notes").text(), "[]");
    let owner = "select string_agg(distinct relowner::regrole::text, ' ') from pg_class where relnamespace = 'shop'::regnamespace";
    assert_eq!(platform.value(owner).as_deref(), Some("shop_owner"));

    // Replaced, with its old form gone; a route gone.
    let other = (
        "functions/notes.sql",
        "create function notes(above int default 0) returns setof note language sql stable\nas 'select * from note where id > above';\n",
    );
    let routes = ("routes.sql", "select http.route('GET', '/all', 'notes');\n");
    let answers = deploy(&mut ada, &[NOTES, other, routes]);
    assert_eq!(answers[1]["removed"], json!(["function shop.notes()"]), "{answers:?}");
    assert_eq!(answers[3]["removed"], json!(["route GET /notes"]), "{answers:?}");
    assert_eq!(answers[4]["problems"], json!([]), "{answers:?}");
    assert_eq!(platform.get("/all").text(), "[]");
    assert_eq!(platform.get("/notes").status, 404);

    let answers = deploy(&mut ada, &[NOTES]);
    assert_eq!(answers[0]["removed"].as_array().map(Vec::len), Some(2), "{answers:?}");
    assert_eq!(answers[2]["problems"], json!([]), "{answers:?}");
    assert_eq!(platform.get("/all").status, 404);
    let functions = "select count(*)::text from pg_proc where pronamespace = 'shop'::regnamespace";
    assert_eq!(platform.value(functions).as_deref(), Some("0"));
    let history = "select string_agg(number::text || deployed_by || files, ' ' order by number) from deploy.history('shop')";
    assert_eq!(platform.value(history).as_deref(), Some("1ada3 2ada3 3ada1"));
}

#[test]
fn errors_have_the_line_of_the_file() {
    let platform = platform();
    let mut ada = session(&platform, "ada");
    for (text, line, sqlstate) in [
        ("select 1;\n\nselekt 2;\n", 3, "42601"),
        (
            "-- a comment; with ' and é\nselect 'é';\ncreate view v as select missing from pg_class;\n",
            3,
            "42703",
        ),
        (
            "create function f() returns int language sql as $$\n  select 1;\n  select nothing;\n$$;\n",
            3,
            "42703",
        ),
        (
            "\ncreate function f() returns int language plpgsql as $$\nbegin\n  retrun 1;\nend $$;\n",
            4,
            "42601",
        ),
        ("select 1;\n/* a; /* b */ ; */ do $$\nbegin\n  raise 'no';\nend $$;\n", 2, "P0001"),
        ("select 1; begin;\n", 1, "0A000"),
        ("select 1;\ncommit;\n", 2, "0A000"),
        ("savepoint s;\n", 1, "0A000"),
        ("\nset role postgres;\n", 2, "0A000"),
        ("\nset session authorization postgres;\n", 2, "0A000"),
        ("do $$ begin\nset local role postgres; end $$;\n", 1, "42501"),
        ("select set_config('role', 'postgres', false);\n", 1, "42501"),
        ("select 1;\ncopy pg_class to stdout;\n", 2, "0A000"),
        ("create temp table t (n int);\n", 1, "42501"),
        ("select deploy.take_away();\n", 1, "55000"),
        ("create index concurrently i on note (id);\n", 1, "25001"),
        ("create table t (n int);\nalter system set work_mem = '1MB';\n", 2, "25001"),
        ("create role r;\n", 1, "42501"),
        ("create table other.t (n int);\n", 1, "42501"),
        ("create function http.evil() returns int language sql return 1;\n", 1, "42501"),
        ("create publication p for all tables;\n", 1, "42501"),
        (
            "insert into deploy.application (name, schema_name, owner) values ('x', 'x', 'postgres');\n",
            1,
            "42501",
        ),
    ] {
        ada.batch_execute("begin").unwrap();
        let files = [NOTES, ("functions/f.sql", text)];
        start(&mut ada, &files);
        assert!(run(&mut ada, NOTES.0, NOTES.1)["error"].is_null());
        let error = run(&mut ada, "functions/f.sql", text)["error"].clone();
        assert_eq!(
            (error["line"].as_u64(), error["sqlstate"].as_str()),
            (Some(line), Some(sqlstate)),
            "{text}{error:?}"
        );
        ada.batch_execute("rollback").unwrap();
    }
    assert_eq!(
        platform
            .value("select count(*)::text from pg_class where relnamespace = 'shop'::regnamespace")
            .as_deref(),
        Some("0")
    );
}

#[test]
fn whoever_may_deploy_one_application_touches_no_other() {
    let platform = platform();
    platform.sql(
        "create function page() returns text language sql immutable return 'mine';
         grant execute on function http.handle(text, text, integer, text, text), http.unhandle(text) to shop_owner;
         select http.route('GET', '/mine', 'page'); select http.handle('select ''theirs''', 'theirs')",
    );
    let mut ada = session(&platform, "ada");
    let files = json!({}).to_string();
    let refused =
        ada.query_one("select deploy.start('other', $1::text::json)", &[&files]).expect_err("other");
    assert_eq!(refused.code().map(|code| code.code()), Some("42501"));
    for query in [
        "select deploy.create_application('third')",
        "select deploy.drop_application('shop')",
        "insert into deploy.deployment values ('shop', 99, 'deploy', now(), 'x', null, null, '')",
        "select * from deploy.state('other')",
        "select * from deploy.history('other')",
        "select * from deploy.files('other', 1)",
        "select * from deploy.content",
        "select deploy.run('a', 'b')",
        "select deploy.test('a', 'b')",
        "select deploy.take_away()",
        "select deploy.finish()",
    ] {
        assert!(ada.batch_execute(query).is_err(), "{query}");
    }
    for (text, wrong) in [
        ("select http.route('GET', '/mine', 'f');", "belongs to postgres"),
        ("select http.unroute('GET', '/mine');", "belongs to postgres"),
        ("select http.route('GET', '/f', 'f', role => 'postgres');", "only if you are a member"),
        ("select http.handle('select ''x''', 'theirs');", "handler theirs belongs to others"),
        ("select http.unhandle('theirs');", "handler theirs belongs to others"),
        ("select http.handle('select ''x''', 'ours', role => 'postgres');", "only if you are a member"),
        ("select http.listen(9999);", "permission denied"),
        ("drop function public.page();", "must be owner"),
        (
            "create or replace function public.page() returns text language sql immutable return 'x';",
            "permission denied",
        ),
        // Each version says it in other words.
        ("alter role ada superuser;", ""),
        ("grant shop_owner to eve;", ""),
    ] {
        let text = format!("create function f() returns text language sql immutable return 'f';\n{text}\n");
        ada.batch_execute("begin").unwrap();
        start(&mut ada, &[("functions/f.sql", &text)]);
        let error = run(&mut ada, "functions/f.sql", &text)["error"].clone();
        assert!(error["message"].as_str().is_some_and(|message| message.contains(wrong)), "{text}{error:?}");
        ada.batch_execute("rollback").unwrap();
    }
    assert_eq!(platform.get("/mine").text(), "mine");
}

#[test]
fn what_a_file_leaves_in_the_session_does_not_run_as_the_deployer() {
    let platform = platform();
    // A superuser deploys, and the files are of somebody who would like to be one.
    let mut postgres = platform.session();
    platform.sql("create table public.seen (who text); grant insert, select on public.seen to public");
    let text = "create table note (n int);
        create function sees() returns trigger language plpgsql as $$ begin insert into public.seen values ('trigger ' || current_user); return null; end $$;
        create constraint trigger sees after insert on note deferrable initially deferred for each row execute function sees();
        insert into note values (1);
        create function who() returns text language plpgsql as $$ begin insert into public.seen values ('cursor ' || current_user); return 'x'; end $$;
        declare c cursor with hold for select who();
        set work_mem = '3MB';
        set search_path = shop;
        select set_config('DateStyle', 'German', false);
        create function lower(text) returns text language sql as $$ select 'evil' $$;\n";
    postgres.batch_execute("set DateStyle = 'SQL, DMY'; begin").unwrap();
    start(&mut postgres, &[("migrations/1.sql", text)]);
    let answer = run(&mut postgres, "migrations/1.sql", text);
    assert!(answer["error"].is_null(), "{answer:?}");
    postgres.batch_execute("commit").unwrap();
    let row = postgres
        .query_one(
            "select current_user || current_setting('work_mem') || current_setting('search_path') || current_setting('DateStyle') || lower('A'),
                    (select count(*) from pg_cursors where name = 'c'),
                    (select coalesce(string_agg(who, ', ' order by who), '') from seen)",
            &[],
        )
        .unwrap();
    let settings: String = row.get(0);
    assert!(settings.ends_with("SQL, DMYa") && settings.starts_with("postgres4MB"), "{settings}");
    assert_eq!(row.get::<_, i64>(1), 0);
    assert_eq!(row.get::<_, String>(2), "trigger shop_owner");
}

#[test]
fn one_deploys_at_a_time_and_the_other_is_told_who() {
    let platform = platform();
    platform.sql("grant shop_owner to eve");
    let (mut ada, mut eve) = (session(&platform, "ada"), session(&platform, "eve"));
    ada.batch_execute("begin").unwrap();
    start(&mut ada, &[]);
    let error = eve.batch_execute("select deploy.start('shop', '{}')").expect_err("ada is at it");
    let error = error.as_db_error().unwrap();
    assert_eq!(error.code().code(), "55P03");
    assert!(error.message().contains("is being deployed by"), "{error:?}");
    ada.batch_execute("rollback").unwrap();
    eve.batch_execute("begin").unwrap();
    assert_eq!(start(&mut eve, &[]), 1);
    eve.batch_execute("rollback").unwrap();
}

#[test]
fn tests_are_undone_and_must_be_true() {
    let platform = platform();
    let mut ada = session(&platform, "ada");
    let page = (
        "functions/page.sql",
        "create function page(n int) returns text language sql stable return 'n ' || n;\n",
    );
    let routes = ("routes.sql", "select http.route('GET', '/page', 'page');\n");
    let good = (
        "tests/good.sql",
        "insert into note (text) values ('t');\nselect status = 200, convert_from(body, 'UTF8') = 'n 3' from http.call('GET', '/page?n=3');\nselect count(*) = 1 from note;\n",
    );
    let bad = ("tests/bad.sql", "select true;\n\nselect status = 200 from http.call('GET', '/page?n=x');\n");
    ada.batch_execute("begin").unwrap();
    let files = [NOTES, page, routes, good, bad];
    start(&mut ada, &files);
    for (path, text) in &files[..3] {
        assert!(run(&mut ada, path, text)["error"].is_null());
    }
    let test = "select deploy.test($1, $2)::text";
    let passed = call(&mut ada, test, &[&good.0, &good.1]);
    assert_eq!(passed, json!({ "functions": [], "called": ["GET /page"] }));
    let failed = call(&mut ada, test, &[&bad.0, &bad.1])["error"].clone();
    assert_eq!(
        (failed["line"].as_u64(), failed["message"].as_str()),
        (Some(3), Some("this is not true")),
        "{failed:?}"
    );
    let finished = call(&mut ada, "select deploy.finish()::text", &[]);
    assert_eq!(finished["problems"], json!([{ "path": "tests/bad.sql", "message": "it has not run" }]));
    ada.batch_execute("commit").unwrap();
    assert_eq!(platform.value("select count(*)::text from shop.note").as_deref(), Some("0"));
}

#[test]
fn what_another_file_needs_goes_with_it_and_what_nobody_has_made_is_in_the_way() {
    let platform = platform();
    let mut ada = session(&platform, "ada");
    let view = ("views/a.sql", "create view a as select id, text from note;\n");
    let above = ("views/b.sql", "create view b as select id from a;\n");
    deploy(&mut ada, &[NOTES, view, above]);
    ada.batch_execute("begin").unwrap();
    let other = ("views/a.sql", "create view a as select text from note;\n");
    start(&mut ada, &[NOTES, other, above]);
    let error = run(&mut ada, other.0, other.1)["error"].clone();
    assert_eq!(error["sqlstate"], "42P16", "{error:?}");
    let taken = call(&mut ada, "select deploy.take_away($1)::text", &[&other.0]);
    let gone = json!({ "removed": ["view shop.b", "view shop.a"], "paths": ["views/b.sql"], "problems": [] });
    assert_eq!(taken, gone);
    assert!(run(&mut ada, other.0, other.1)["error"].is_null());
    ada.batch_execute("rollback").unwrap();

    platform.sql("create view public.outside as select * from shop.a");
    ada.batch_execute("begin").unwrap();
    start(&mut ada, &[NOTES, above]);
    let error = call(&mut ada, "select deploy.take_away()::text", &[])["error"].clone();
    assert!(error["message"].as_str().unwrap_or_default().contains("depends on it"), "{error:?}");
    ada.batch_execute("rollback").unwrap();
}

#[test]
fn a_function_whose_needs_are_gone_is_found() {
    let platform = platform();
    let mut ada = session(&platform, "ada");
    let low = ("functions/low.sql", "create function low() returns int language sql stable as 'select 1';\n");
    let high =
        ("functions/high.sql", "create function high() returns int language sql stable as 'select low()';\n");
    let answers = deploy(&mut ada, &[low, high]);
    assert_eq!(answers.last().unwrap()["problems"], json!([]));
    ada.batch_execute("begin").unwrap();
    start(&mut ada, &[high]);
    let taken = call(&mut ada, "select deploy.take_away()::text", &[]);
    assert_eq!(taken["removed"], json!(["function shop.low()"]));
    let finished = call(&mut ada, "select deploy.finish()::text", &[]);
    let problem = finished["problems"][0].clone();
    assert_eq!(problem["path"], "functions/high.sql", "{finished:?}");
    assert!(problem["message"].as_str().unwrap_or_default().contains("low()"), "{finished:?}");
    ada.batch_execute("rollback").unwrap();
}

#[test]
fn a_long_history_is_told_as_it_is_kept() {
    let platform = platform();
    platform.sql(
        "insert into deploy.deployment (application, number, kind, deployed_at, deployed_by, note, key, fingerprint)
         select 'shop', n, 'deploy', now(), 'ada', repeat('x', n), '', md5(n::text) from generate_series(1, 2000) n;
         insert into deploy.file (application, number, path, digest) select 'shop', 1, 'views/' || n || '.sql', n::text from generate_series(1, 2000) n;
         insert into deploy.content (application, digest, content) select 'shop', n::text, repeat(n::text, n) from generate_series(1, 2000) n",
    );
    let mut ada = session(&platform, "ada");
    let mut right = |query: &str| ada.query_one(query, &[]).unwrap().get::<_, i64>(0);
    assert_eq!(
        right(
            "select count(*) from deploy.history('shop') h
             where h.deployed_by = 'ada' and h.note = repeat('x', h.number) and h.fingerprint = md5(h.number::text)"
        ),
        2000
    );
    assert_eq!(
        right(
            "select count(*) from deploy.files('shop', 1) f
             where f.path = 'views/' || f.digest || '.sql' and f.content = repeat(f.digest, f.digest::int)"
        ),
        2000
    );
}

#[test]
fn functions_in_plpgsql_are_checked_where_somebody_can() {
    if !brings_extension("plpgsql_check", "that functions in PL/pgSQL are checked") {
        return;
    }
    let platform = platform();
    let functions = "create function early() returns int language plpgsql as $$ begin return (select count(*) from nowhere); end $$;
         create function forgiven() returns int language plpgsql as $$
           begin perform 'pragma:disable:check'; return (select count(*) from nowhere); end $$;
         create function touch() returns trigger language plpgsql as $$ begin new.missing := 1; return new; end $$;
         create trigger touches before insert on note for each row execute function touch();
         create function fine() returns int language plpgsql as $$ begin return 1; end $$;";
    let files = [NOTES, ("functions/f.sql", functions)];
    let mut ada = session(&platform, "ada");
    let finished = deploy(&mut ada, &files).pop().unwrap();
    assert_eq!(
        finished["unchecked"],
        json!(["shop.early()", "shop.fine()", "shop.forgiven()", "shop.touch()"])
    );
    assert_eq!(finished["problems"], json!([]));
    platform.sql("create schema tools; create extension plpgsql_check schema tools; grant usage on schema tools to shop_owner");
    let finished = deploy(&mut ada, &files).pop().unwrap();
    assert_eq!(finished["unchecked"], json!([]), "{finished}");
    let told: Vec<&str> =
        finished["problems"].as_array().unwrap().iter().map(|one| one["message"].as_str().unwrap()).collect();
    assert_eq!(
        told,
        [
            "function shop.early(), line 1 of its body: relation \"nowhere\" does not exist",
            "function shop.touch() on shop.note, line 1 of its body: record \"new\" has no field \"missing\"",
        ]
    );
    assert_eq!(finished["problems"][0]["path"], "functions/f.sql");
}

#[test]
fn a_plan_cannot_be_committed_and_sets_no_sequence() {
    let platform = platform();
    let mut ada = session(&platform, "ada");
    let text = "create sequence numbers;\nselect setval('numbers', 7);\n";
    ada.batch_execute("begin").unwrap();
    start(&mut ada, &[("migrations/1.sql", text)]);
    ada.batch_execute("select deploy.plan()").unwrap();
    let error = run(&mut ada, "migrations/1.sql", text)["error"].clone();
    assert_eq!(error["message"], "a plan does not call setval(): nothing would undo it");
    assert_eq!(error["line"], 2);
    let refused = ada.batch_execute("commit").unwrap_err();
    assert!(refused.as_db_error().unwrap().message().contains("only tried"), "{refused:?}");
    assert_eq!(platform.value("select count(*)::text from deploy.deployment").as_deref(), Some("0"));
    // The next transaction is none.
    deploy(&mut ada, &[("migrations/1.sql", text)]);
    assert_eq!(platform.value("select last_value::text from shop.numbers").as_deref(), Some("7"));
    ada.batch_execute("begin; select setval('shop.numbers', 9) where false; commit").unwrap();
}

#[test]
fn who_may_what_the_owner_may_not_is_told_and_what_a_failing_test_was_answered() {
    let platform = platform();
    let mut ada = session(&platform, "ada");
    for (text, told) in [
        ("create role more;\n", "permission denied to create role"),
        ("create type odd;\n", "must be superuser to create a base type"),
        ("create table public.mine (n int);\n", "permission denied for schema public"),
    ] {
        ada.batch_execute("begin").unwrap();
        start(&mut ada, &[("migrations/1.sql", text)]);
        let error = run(&mut ada, "migrations/1.sql", text)["error"].clone();
        assert!(error["message"].as_str().unwrap().contains(told), "{error}");
        assert!(error["hint"].as_str().unwrap().contains("superuser"), "{error}");
        ada.batch_execute("rollback").unwrap();
    }
    let test = "select 1 = 1;\nselect status = 200 from http.call('GET', '/nothing');\n";
    ada.batch_execute("begin").unwrap();
    start(&mut ada, &[("tests/t.sql", test)]);
    let failed =
        call(&mut ada, "select deploy.test($1, $2)::text", &[&"tests/t.sql", &test])["error"].clone();
    assert_eq!((failed["message"].as_str(), failed["line"].as_i64()), (Some("this is not true"), Some(2)));
    let detail = failed["detail"].as_str().unwrap();
    assert!(
        detail.starts_with("GET /nothing was answered with 404: ") && detail.contains("nothing answers GET"),
        "{detail}"
    );
    ada.batch_execute("rollback").unwrap();
}

#[test]
fn what_is_rewritten_and_which_rights_change_is_told() {
    let platform = platform();
    let mut ada = session(&platform, "ada");
    let view = (
        "views/v.sql",
        "create view v as select id from note;\ngrant select, insert on v to howdah_web;\nrevoke execute on function f() from public;\n",
    );
    let function = ("functions/f.sql", "create function f() returns int language sql stable return 1;\n");
    let answers = deploy(&mut ada, &[NOTES, function, view]);
    assert_eq!(
        answers.last().unwrap()["rights"],
        json!([
            "revoke EXECUTE on routine shop.f() from public",
            "grant INSERT, SELECT on table shop.note to howdah_web",
            "grant INSERT, SELECT on table shop.v to howdah_web",
        ])
    );
    let wider = ("migrations/002.sql", "alter table note alter id type bigint;\n");
    let view = ("views/v.sql", "create view v as select text from note;\n");
    ada.batch_execute("begin").unwrap();
    start(&mut ada, &[NOTES, wider, function, view]);
    call(&mut ada, "select deploy.take_away('views/v.sql')::text", &[]);
    let rewritten = run(&mut ada, wider.0, wider.1)["rewritten"].clone();
    assert!(rewritten[0]["table"].as_str().unwrap().starts_with("shop.note ("), "{rewritten}");
    run(&mut ada, view.0, view.1);
    let finished = call(&mut ada, "select deploy.finish()::text", &[]);
    ada.batch_execute("commit").unwrap();
    assert_eq!(
        finished["rights"],
        json!([
            "grant EXECUTE on routine shop.f() to public",
            "revoke INSERT, SELECT on table shop.v from howdah_web",
        ]),
        "{finished}"
    );
}
