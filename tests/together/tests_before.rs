//! Where the tests of a deployment run: before it, in a new database, while nothing is locked, or in its transaction.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use howdah_tests::application::{Application, ITEMS, text};
use howdah_tests::platform::{DATABASE, Platform};

/// Takes longer than others may wait.
const SLOW: &str = "select pg_sleep(2.5);\nselect true;\n";

/// Reads and writes a table every 5 ms until `work` has ended.
fn while_asked(platform: &Platform, work: impl FnOnce()) {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for query in ["select count(*) from shop.item", "insert into shop.item (name) values ('more')"] {
            let (mut client, done) = (platform.cluster.connect(DATABASE).unwrap(), &done);
            scope.spawn(move || {
                while !done.load(Relaxed) {
                    client.batch_execute(query).unwrap();
                    thread::sleep(Duration::from_millis(5));
                }
            });
        }
        let _ended = Ended(&done);
        work();
    });
}

/// Sets a flag when it goes, by a panic as well.
struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Runs a task; what it prints.
fn succeeds(shop: &Application, task: &str, more: &[&str]) -> String {
    let output = shop.run(task, more);
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn tests_run_before_anything_is_locked_and_keep_nobody_waiting() {
    let shop = Application::of(&[ITEMS]);
    shop.ok("deploy");
    shop.write("migrations/002.sql", "alter table item add column weight int;\n");
    shop.write("tests/slow.sql", SLOW);
    while_asked(&shop.platform, || {
        let inside = shop.run("deploy", &["--locks", "1.5", "--tries", "2", "--tests", "inside"]);
        let told = text(&inside.stderr);
        assert!(told.contains("nothing is deployed after 2 tries: others were kept from"), "{told}");
        assert!(told.contains("; tests/slow.sql took 1."), "{told}");
        assert!(told.contains("s; see --tests\n"), "{told}");
        let before = succeeds(&shop, "deploy", &["--locks", "1.5"]);
        let passed = before.find("tests/slow.sql  passed in a new database").expect("it has run");
        assert!(passed < before.find("migrations/002.sql").unwrap(), "{before}");
    });
    assert!(shop.ok("deploy").contains("Nothing has changed"));
    // What has run elsewhere is kept for a rollback, which runs it in its transaction.
    shop.write("tests/slow.sql", "select false;\n");
    shop.write("functions/f.sql", "create function f() returns int language sql return 1;\n");
    let failed = shop.run("deploy", &[]);
    let told = text(&failed.stderr);
    assert!(told.contains("tests/slow.sql:1: this is not true"), "{told}");
    assert!(told.ends_with("Nothing of it was deployed.\n"), "{told}");
    succeeds(&shop, "deploy", &["--tests", "none"]);
    let back = shop.ok("rollback");
    assert!(back.contains("tests/slow.sql  passed\n"), "{back}");
    assert_eq!(shop.platform.value("select to_regprocedure('shop.f()')::text"), None);
}

#[test]
fn tests_of_what_is_live_run_in_the_transaction_alone() {
    let shop = Application::of(&[
        ITEMS,
        ("tests/empty.sql", "select count(*) = 0 from item;\n"),
        ("tests/live/rows.sql", "select count(*) = 0 from item where name = 'bad';\n"),
    ]);
    let first = shop.ok("deploy");
    assert!(first.contains("tests/empty.sql  passed in a new database\n"), "{first}");
    assert!(first.contains("tests/live/rows.sql  passed\n"), "{first}");
    shop.platform.sql("insert into shop.item (name) values ('bad')");
    shop.write("functions/f.sql", "create function f() returns int language sql return 1;\n");
    let refused = text(&shop.run("deploy", &[]).stderr);
    assert!(refused.contains("tests/live/rows.sql:1: this is not true"), "{refused}");
    shop.platform.sql("delete from shop.item; insert into shop.item (name) values ('good')");
    let planned = shop.ok("plan");
    assert!(planned.contains("tests/empty.sql  passed in a new database\n"), "{planned}");
    let inside = text(&shop.run("deploy", &["--tests", "inside"]).stderr);
    assert!(inside.contains("tests/empty.sql:1: this is not true"), "{inside}");
    shop.ok("deploy");
}

#[test]
fn without_a_server_on_this_machine_tests_run_inside() {
    let shop = Application::of(&[ITEMS, ("tests/one.sql", "select true;\n")]);
    let mut command = shop.command("deploy", "postgres", &[]);
    let output = command.env("PG_CONFIG", "/nowhere/pg_config").env_remove("HOWDAH_STAGE").output().unwrap();
    let told = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{told}");
    assert!(told.contains("no PostgreSQL with howdah is on this machine"), "{told}");
    assert!(told.contains("tests/one.sql  passed\n"), "{told}");
}

#[test]
fn a_folder_of_which_no_new_database_can_be_made_is_told() {
    let shop = Application::of(&[
        ITEMS,
        ("functions/f.sql", "create function f() returns int language sql return 1;\n"),
    ]);
    shop.ok("deploy");
    shop.write("migrations/002.sql", "alter table item add column n int default f();\n");
    shop.write("tests/one.sql", "select true;\n");
    let refused = text(&shop.run("deploy", &[]).stderr);
    assert!(refused.contains("migrations/002.sql:1: function f() does not exist"), "{refused}");
    assert!(refused.contains("this is in a new database"), "{refused}");
    assert!(refused.contains("no file of functions/ or views/ has run before a migration"), "{refused}");
    assert_eq!(refused.matches("Nothing of it was deployed.").count(), 1, "{refused}");
    succeeds(&shop, "deploy", &["--tests", "inside"]);
}

#[test]
fn what_keeps_a_folder_from_being_deployed_is_told_before_its_tests_run() {
    let shop = Application::of(&[ITEMS, ("tests/slow.sql", SLOW)]);
    shop.write("howdah.toml", "name = \"shop\"\nextensions = [\"nowhere\"]\n");
    let output = shop.run("deploy", &[]);
    assert!(text(&output.stderr).contains("howdah.toml: extensions are missing"), "{}", text(&output.stderr));
    assert!(!text(&output.stdout).contains("passed"), "{}", text(&output.stdout));
}

#[test]
fn only_a_test_is_taken_without_running() {
    let shop = Application::of(&[ITEMS]);
    shop.ok("deploy");
    let error = shop.platform.session().batch_execute(
        "select deploy.start('shop', json_build_object('functions/f.sql', encode(sha256('select 1'), 'hex')));
         select deploy.note_test('functions/f.sql', 'select 1')",
    );
    let error = error.expect_err("it is no test");
    assert_eq!(error.as_db_error().unwrap().message(), "functions/f.sql is no test");
}
