//! An application of many files and routes: one change of it is soon deployed, and keeps nobody waiting.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use howdah_tests::application::{Application, ITEMS, text};
use howdah_tests::bounds::{self, BESIDE_DEPLOYMENT, DEPLOYED_MANY_ROUTES};
use howdah_tests::platform::{DATABASE, Platform};

/// Files with functions; each has two routes.
fn files() -> usize {
    if bounds::counts() { 500 } else { 40 }
}

fn function(number: usize, more: &str) -> String {
    format!(
        "create function read{number}(id int) returns json language sql stable
         return (select json_build_object('id', i.id, 'name', i.name{more}) from item i where i.id = read{number}.id);
         create function write{number}(id int, name text default '') returns http.response language plpgsql
         as $$ begin return http.response(format('%s %s', id, name)); end $$;\n"
    )
}

/// A deployed application of many files.
fn shop() -> Application {
    let shop = Application::of(&[ITEMS]);
    let mut routes = String::new();
    for number in 0..files() {
        shop.write(&format!("functions/f{number}.sql"), &function(number, ""));
        routes += &format!(
            "select http.route('GET', '/f{number}/{{id}}', 'read{number}');\nselect http.route('POST', '/f{number}/{{id}}', 'write{number}');\n"
        );
    }
    shop.write("routes.sql", &routes);
    shop.ok("deploy");
    shop
}

#[test]
fn one_change_among_many_routes_is_deployed_soon() {
    let shop = shop();
    shop.write("functions/f7.sql", &function(7, ", 'more', 1"));
    let begun = Instant::now();
    let said = shop.ok("deploy");
    DEPLOYED_MANY_ROUTES.check(begun.elapsed());
    assert!(said.contains("functions/f7.sql  ran: function shop.read7(integer), function shop.write7(integer,text)\n  routes.sql  ran\n"), "{said}");
    // Lists are for people.
    assert!(said.contains("more (--json has all)\n"), "{said}");
}

/// How long a statement that runs every 5 ms takes at most, until `work` has ended.
fn longest(platform: &Platform, statement: &str, work: impl FnOnce()) -> Duration {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let (mut client, done) = (platform.cluster.connect(DATABASE).unwrap(), &done);
        let asking = scope.spawn(move || {
            let mut longest = Duration::ZERO;
            while !done.load(Relaxed) {
                let begun = Instant::now();
                client.batch_execute(statement).unwrap();
                longest = longest.max(begun.elapsed());
                thread::sleep(Duration::from_millis(5));
            }
            longest
        });
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        done.store(true, Relaxed);
        let longest = asking.join().unwrap();
        ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        longest
    })
}

#[test]
fn a_column_is_added_while_the_table_is_read_and_written() {
    let shop = shop();
    let seconds = if bounds::counts() { 20 } else { 1 };
    shop.write("tests/slow.sql", &format!("select pg_sleep({seconds});\n"));
    shop.write("migrations/2.sql", "alter table item add column weight int;\n");
    shop.write("functions/f7.sql", &function(7, ", 'weight', i.weight"));
    let locks = if bounds::counts() { "0.5" } else { "60" };
    let mut read = Duration::ZERO;
    let write = longest(&shop.platform, "insert into shop.item (name) values ('more')", || {
        read = longest(&shop.platform, "select count(*) from (select from shop.item limit 10) s", || {
            let output = shop.run("deploy", &["--locks", locks, "--tries", "3"]);
            let told = text(&output.stdout) + &text(&output.stderr);
            assert!(output.status.success(), "{told}");
            assert!(told.contains("tests/slow.sql  passed in a new database\n"), "{told}");
        });
    });
    BESIDE_DEPLOYMENT.check(read.max(write));
}
