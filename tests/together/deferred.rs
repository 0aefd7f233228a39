//! Deferrable constraints wait for the end in files, tests, seeds and calls, as they do in psql, whatever has run before in the transaction.

use std::fs;

use cluster::postgres::Client;
use howdah_tests::application::{Application, text};
use serde_json::Value;

/// Sequences of statements that are tried.
const ROUNDS: usize = if cfg!(feature = "long") { 2000 } else { 120 };

const TABLES: &str = "create table parent (id int primary key);
create table child (id int, parent int, constraint child_parent foreign key (parent) references parent deferrable initially deferred);
create table other (id int, parent int, constraint other_parent foreign key (parent) references parent deferrable);
create table place (n int, constraint place_n unique (n) deferrable initially deferred);
create table plain (n int, constraint twice unique (n));
create table named (n int, parent int, constraint twice foreign key (parent) references parent deferrable initially deferred);
create table logged (n int);
create function note() returns trigger language plpgsql as $$ begin insert into logged values (new.id); return new; end $$;
create constraint trigger noted after insert on child deferrable initially deferred for each row execute function note();
grant all on all tables in schema shop to howdah_web;
";

/// A child before its parent, which only a constraint that waits takes.
const CHILD_FIRST: &str = "insert into child values (1, 1);\ninsert into parent values (1);\n";

fn shop() -> Application {
    let shop = Application::of(&[
        ("migrations/001.sql", TABLES),
        // After another file, and with what it makes itself.
        (
            "migrations/002.sql",
            "insert into child values (10, 10);
             create table late (id int, parent int, constraint late_parent foreign key (parent) references parent deferrable initially deferred);
             insert into late values (1, 10);
             insert into parent values (10);\n",
        ),
        // PostgreSQL alters no table with triggers that wait.
        ("migrations/003.sql", "alter table child add column more int;\nalter table late add column more int;\n"),
        (
            "functions/order.sql",
            "create function add(first int) returns text language plpgsql as $$ begin
               insert into child values (first, first); insert into parent values (first); return 'done'; end $$;
             create function add_child(first int) returns text language sql volatile
               begin atomic insert into child values (first, first); select 'done'; end;\n",
        ),
        (
            "routes.sql",
            "select http.route('POST', '/add/{first}', 'add');\nselect http.route('POST', '/child/{first}', 'add_child');\n",
        ),
    ]);
    shop.ok("deploy");
    shop
}

#[test]
fn what_waits_for_the_end_waits_in_files_and_in_tests() {
    let shop = shop();
    shop.write(
        "tests/order.sql",
        &format!(
            "{CHILD_FIRST}
             select status = 200 from http.call('POST', '/add/2');
             select count(*) = 1 from logged where n = 2;
             insert into child values (3, 3);
             insert into parent values (3);
             create function test_one() returns void language sql begin atomic
               insert into child values (4, 4); insert into parent values (4); end;
             create function test_two() returns void language sql begin atomic
               insert into child values (5, 5); insert into parent values (5); end;\n"
        ),
    );
    shop.write("tests/second.sql", CHILD_FIRST);
    let output = shop.run("deploy", &["--tests", "inside"]);
    let deployed = text(&output.stdout) + &text(&output.stderr);
    assert!(deployed.contains("tests/second.sql  passed\n"), "{deployed}");
    // An error at the end is told of the file.
    shop.write("tests/second.sql", "insert into child values (7, 7);\n");
    let failed = text(&shop.run("plan", &["--tests", "inside"]).stderr);
    assert!(failed.contains("tests/second.sql:1: ") && failed.contains("child_parent"), "{failed}");
    shop.write(
        "tests/second.sql",
        "set constraints all immediate;\ninsert into child values (7, 7);\ninsert into parent values (7);\n",
    );
    let failed = text(&shop.run("plan", &["--tests", "inside"]).stderr);
    assert!(failed.contains("tests/second.sql:2: "), "{failed}");
    shop.remove("tests/second.sql");
    fs::create_dir_all(shop.folder.path().join("seeds")).unwrap();
    shop.write("seeds/010.sql", &CHILD_FIRST.replace('1', "20"));
    shop.write("seeds/020.sql", &CHILD_FIRST.replace('1', "21"));
    shop.ok("seed");
    assert_eq!(shop.value("select string_agg(n::text, ' ' order by n) from shop.logged"), "10 20 21");
}

#[test]
fn a_call_leaves_what_waits_for_the_callers_end() {
    let shop = shop();
    let mut session = shop.platform.session();
    let mut ran = |statements: &str| {
        session.batch_execute("begin; set local search_path = shop, public").unwrap();
        let ran = session
            .batch_execute(statements)
            .map_err(|error| error.as_db_error().unwrap().message().to_owned());
        let _ = session.batch_execute("rollback");
        ran
    };
    let call = "select http.call('POST', '/add/30');";
    let failing = "do $$ begin if (select status from http.call('POST', '/child/31')) <> 409 then raise 'it was done'; end if; end $$;";
    let other_first = "insert into other values (1, 2); insert into parent values (2);";
    for good in [
        format!("{call} {CHILD_FIRST} set constraints all immediate"),
        format!("{failing} {CHILD_FIRST} set constraints all immediate"),
        format!(
            "set constraints all deferred; {call} {other_first} {CHILD_FIRST} set constraints all immediate"
        ),
        format!("set constraints other_parent deferred; {call} {other_first} set constraints all immediate"),
        format!("savepoint s; set constraints all immediate; rollback to s; {call} {CHILD_FIRST}"),
        // Triggers that the call has put off have run.
        format!(
            "{call} do $$ begin if (select count(*) from logged where n = 30) <> 1 then raise 'not yet'; end if; end $$"
        ),
    ] {
        assert_eq!(ran(&good), Ok(()), "{good}");
    }
    for wrong in [
        format!("set constraints all immediate; {call} {CHILD_FIRST}"),
        format!("set constraints child_parent immediate; {call} {CHILD_FIRST}"),
        format!("set constraints shop.child_parent immediate; {call} {CHILD_FIRST}"),
        format!("savepoint s; set constraints all immediate; release s; {call} {CHILD_FIRST}"),
        format!("set constraints all deferred; set constraints all immediate; {call} {CHILD_FIRST}"),
        format!("{call} {other_first}"),
        format!("insert into child values (1, 1); {call}"),
        format!("{call} insert into child values (1, 1); set constraints all immediate"),
    ] {
        let why = ran(&wrong).expect_err(&wrong);
        assert!(why.contains("violates foreign key constraint"), "{wrong}: {why}");
    }
}

/// The error of statements as psql runs them, where everything is looked at before it is undone.
fn by_psql(session: &mut Client, statements: &[String]) -> Option<String> {
    session.batch_execute("begin; set local role shop_owner; set local search_path = shop, public").unwrap();
    let mut all: Vec<&str> = statements.iter().map(String::as_str).collect();
    all.push("set constraints all immediate");
    let failed = all.iter().find_map(|statement| session.batch_execute(statement).err());
    session.batch_execute("rollback").unwrap();
    failed.map(|error| error.as_db_error().unwrap().message().to_owned())
}

fn by_test(session: &mut Client, statements: &[String]) -> Option<String> {
    let all = statements.join(";\n");
    let query = "select deploy.try_test('shop', $1)::text";
    let told: String = session.query_one(query, &[&all]).unwrap().get(0);
    let told: Value = serde_json::from_str(&told).unwrap();
    told["error"]["message"].as_str().map(str::to_owned)
}

#[test]
fn a_test_takes_and_refuses_what_psql_does() {
    let shop = shop();
    let mut session = shop.platform.session();
    let mut random = fastrand::Rng::with_seed(55);
    let (mut passed, mut failed) = (0, 0);
    for round in 0..ROUNDS {
        let statements: Vec<String> = (0..random.usize(2..7))
            .map(|_| {
                let number = random.u32(1..3);
                match random.u32(..9) {
                    0 | 1 => format!("insert into child values ({number}, {number})"),
                    2 => format!("insert into other values ({number}, {number})"),
                    3 => format!("insert into parent values ({number}) on conflict do nothing"),
                    4 => format!("insert into place values ({number})"),
                    5 => "update place set n = n + 1".to_owned(),
                    6 => format!("delete from place where n = {number}"),
                    7 => format!("delete from child where parent = {number}"),
                    _ => {
                        let names =
                            ["all", "child_parent", "other_parent", "shop.place_n", "child_parent, noted"];
                        let how = ["deferred", "immediate"];
                        let (name, how) = (random.choice(names).unwrap(), random.choice(how).unwrap());
                        format!("set constraints {name} {how}")
                    }
                }
            })
            .collect();
        let (wanted, got) = (by_psql(&mut session, &statements), by_test(&mut session, &statements));
        assert_eq!(got, wanted, "round {round}: {}", statements.join("; "));
        *if wanted.is_none() { &mut passed } else { &mut failed } += 1;
    }
    assert!(passed > ROUNDS / 10 && failed > ROUNDS / 10, "{passed} passed and {failed} failed");
}
