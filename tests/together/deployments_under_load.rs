//! Deployments while requests run, that are killed, and that turn out to be wrong.

use std::io::Write;
use std::net::TcpStream;
use std::process::Command;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::thread;
use std::time::Duration;

use howdah_tests::application::{Application, ITEMS, text};
use howdah_tests::client::Connection;
use howdah_tests::platform::DATABASE;
use howdah_tests::{free_port, wait_for};

/// Deployments that are killed.
const KILLS: u64 = if cfg!(feature = "long") { 200 } else { 10 };

#[test]
fn a_deployment_that_is_killed_leaves_the_old_or_the_new_whole() {
    let shop = Application::of(&[
        ITEMS,
        (
            "functions/agree.sql",
            "create function agree() returns text language sql stable as 'select one() || '' '' || two()';\n",
        ),
    ]);
    let version = |number: usize| {
        shop.write(
            &format!("migrations/{}.sql", number + 1),
            &format!("alter table item add column c{number} int;\n"),
        );
        for name in ["one", "two"] {
            shop.write(
                &format!("functions/{name}.sql"),
                &format!("create function {name}() returns int language sql stable as 'select {number}';\n"),
            );
        }
        shop.write(
            "routes.sql",
            &format!(
                "select http.route('GET', '/both', 'agree');\nselect http.route('GET', '/v{number}', 'one');\n"
            ),
        );
    };
    version(1);
    shop.ok("deploy");
    let seen = "select shop.one() || ' ' || shop.two() || ' ' || (select string_agg(pattern, ' ') from http.route where pattern like '/v%')
        || ' ' || (select max(number) from deploy.deployment) || ' ' || (select count(*) - 3 from pg_attribute where attrelid = 'shop.item'::regclass and attnum > 0)";
    let (done, answers) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Relaxed) {
                    // The server may be starting again.
                    let mut connection = Connection::try_open(shop.platform.port);
                    while let Some(reply) =
                        connection.as_mut().and_then(|connection| connection.try_request("GET", "/both", b""))
                        && !done.load(Relaxed)
                    {
                        if reply.status == 200 {
                            let text = reply.text();
                            assert!(text.split_once(' ').is_some_and(|(one, two)| one == two), "{text}");
                            answers.fetch_add(1, Relaxed);
                        }
                        thread::sleep(Duration::from_millis(2));
                    }
                    thread::sleep(Duration::from_millis(20));
                }
            });
        }
        let _ended = Ended(&done);
        let mut number = 1;
        for kill in 0..KILLS {
            version(number + 1);
            let mut deploying = shop
                .command("deploy", "postgres", &[])
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null())
                .spawn()
                .unwrap();
            thread::sleep(Duration::from_millis(10 + kill * 12 % 240));
            let its = "pg_stat_activity where application_name = 'howdah deploy'";
            match kill % 10 {
                // The server: all of its processes end, and it recovers from what is on disk.
                4 => {
                    let pids = shop.platform.value(&format!("select string_agg(pid::text, ' ') from {its}"));
                    for pid in pids.unwrap_or_default().split_whitespace() {
                        Command::new("kill").args(["-9", pid]).status().unwrap();
                    }
                }
                kill if kill % 2 == 0 => drop(deploying.kill()),
                _ => shop.platform.sql(&format!("select pg_terminate_backend(pid) from {its}")),
            }
            deploying.wait().unwrap();
            // After a crash the server is gone before it says so, and takes nobody until it has recovered.
            let ask = |query: &str| {
                let mut session = shop.platform.cluster.connect(DATABASE).ok()?;
                session.query_one(query, &[]).ok()?.get::<_, Option<String>>(0)
            };
            let ended = format!("select count(*)::text from {its}");
            wait_for("its session has ended", || ask(&ended).as_deref() == Some("0"));
            let mut now = None;
            wait_for("it says what is there", || {
                now = ask(seen);
                now.is_some()
            });
            let now = now.unwrap_or_default();
            let whole = |number: usize| format!("{number} {number} /v{number} {number} {number}");
            assert!(now == whole(number) || now == whole(number + 1), "killed at {kill}: {now}");
            if now == whole(number + 1) {
                number += 1;
            }
        }
        version(number + 1);
        shop.ok("deploy");
        wait_for("requests are answered", || answers.load(Relaxed) > 20);
    });
    assert!(answers.into_inner() > 20);
}

#[test]
fn requests_that_fail_after_a_deployment_take_it_back() {
    let shop = Application::of(&[
        ("functions/f.sql", "create function f() returns int language sql stable return 1;\n"),
        ("routes.sql", "select http.route('GET', '/f', 'f');\n"),
    ]);
    shop.ok("deploy");
    // Nobody has tried it.
    shop.write(
        "functions/f.sql",
        "create function f() returns int language plpgsql stable as 'begin return (select count(*) from nowhere); end';\n",
    );
    let done = AtomicBool::new(false);
    let failed = thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Relaxed) {
                shop.platform.get("/f");
                thread::sleep(Duration::from_millis(5));
            }
        });
        let _ended = Ended(&done);
        shop.run("deploy", &["--watch", "60", "--undo-on-errors", "--json"])
    });
    let told: serde_json::Value = serde_json::from_slice(&failed.stdout).expect("one document");
    assert_eq!(told["outcome"], "undone");
    let error = text(&failed.stderr);
    assert_eq!(failed.status.code(), Some(1), "{error}");
    assert!(error.contains("requests fail under deployment 2:\n  GET /f: "), "{error}");
    assert!(error.contains("The code of deployment 1 is back."), "{error}");
    assert_eq!(shop.platform.get("/f").text(), "1");
    let quiet = shop.run("deploy", &["--back", "--watch", "0.3"]);
    assert!(quiet.status.success(), "{}", text(&quiet.stderr));

    // What somebody else has deployed since is not taken back with it.
    shop.write("functions/g.sql", "create function g() returns int language sql stable return 1;\n");
    let failed = thread::scope(|scope| {
        let watching = scope.spawn(|| shop.run("deploy", &["--watch", "60", "--undo-on-errors"]));
        let last = "select max(number) from deploy.deployment";
        wait_for("it is deployed", || shop.value(last) == "5");
        shop.write("functions/g.sql", "create function g() returns int language sql stable return 2;\n");
        shop.ok("deploy");
        while !watching.is_finished() {
            shop.platform.get("/f");
        }
        watching.join().expect("howdah")
    });
    let error = text(&failed.stderr);
    assert!(error.contains("shop is at deployment 6 by now, which came after 5"), "{error}");
    assert_eq!(shop.value("select shop.g()"), "2");
}

/// Says that it is over, after a failure as well.
struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

#[test]
fn no_request_sees_half_of_a_deployment_and_none_fails() {
    let shop = Application::of(&[
        ITEMS,
        (
            "functions/slowly.sql",
            "create function slowly() returns text language plpgsql as $$
           declare first int := one(); begin perform pg_sleep(0.01); return first || ' ' || two(); end $$;\n",
        ),
        (
            "functions/quick.sql",
            "create function quick() returns text language sql stable as 'select one() || '' '' || two()';\n",
        ),
        (
            "functions/add.sql",
            "create function add() returns text language sql as 'insert into item (name) values (''x'') returning one() || '' '' || two()';\n",
        ),
        (
            "routes.sql",
            "select http.route('GET', '/both', 'slowly');\nselect http.route('GET', '/quick', 'quick');\nselect http.route('POST', '/add', 'add');\n",
        ),
    ]);
    let version = |number: usize| {
        for name in ["one", "two"] {
            shop.write(&format!("functions/{name}.sql"), &format!("create function {name}() returns int language plpgsql stable as $$ begin return {number}; end $$;\n"));
        }
    };
    version(0);
    shop.ok("deploy");
    let done = AtomicBool::new(false);
    let (answers, added) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for place in 0..6 {
            let (shop, done, answers, added) = (&shop, &done, &answers, &added);
            scope.spawn(move || {
                let mut connection = shop.platform.connect();
                while !done.load(Relaxed) {
                    let (method, path) = [("GET", "/both"), ("GET", "/quick"), ("POST", "/add")][place % 3];
                    let reply = connection.request(method, path, &[], b"");
                    assert_eq!(reply.status, 200, "{}", reply.text());
                    let text = reply.text();
                    let (one, two) = text.split_once(' ').expect("two numbers");
                    assert_eq!(one, two, "{path}");
                    answers.fetch_add(1, Relaxed);
                    thread::sleep(Duration::from_millis(2));
                    added.fetch_add(usize::from(place % 3 == 2), Relaxed);
                }
            });
        }
        // Whatever fails here, the others end.
        let _ended = Ended(&done);
        for number in 1..=50 {
            version(number);
            if number % 5 == 0 {
                shop.write(
                    &format!("migrations/{}.sql", number + 1),
                    &format!("alter table item add column c{number} int default {number};\n"),
                );
            }
            shop.ok("deploy");
        }
    });
    let (answers, added) = (answers.into_inner(), added.into_inner());
    assert!(answers > 200, "{answers}");
    assert_eq!(shop.value("select count(*)::text from shop.item"), added.to_string(), "each once");
}

#[test]
fn who_interrupts_a_deployment_keeps_nothing_and_holds_nothing() {
    let shop = Application::of(&[ITEMS]);
    shop.ok("deploy");
    shop.write("migrations/2.sql", "alter table item add column n int;\nselect pg_sleep(600);\n");
    let sleeps = "pg_stat_activity where wait_event = 'PgSleep'";
    for signal in ["-INT", "-TERM", "-KILL"] {
        let deploying = shop
            .command("deploy", "postgres", &["--locks", "600"])
            .stderr(std::process::Stdio::piped())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        wait_for("it sleeps", || shop.platform.count(sleeps) == 1);
        Command::new("kill").args([signal, &deploying.id().to_string()]).status().unwrap();
        let output = deploying.wait_with_output().unwrap();
        if signal != "-KILL" {
            assert_eq!(output.status.code(), Some(1));
            assert!(text(&output.stderr).contains("interrupted; nothing of it was deployed"));
        }
        // Also if nobody could tell the server.
        wait_for("it sleeps no more", || shop.platform.count(sleeps) == 0);
    }
    assert_eq!(shop.platform.get("/nothing").status, 404);
    assert_eq!(shop.value("select max(number)::text from deploy.deployment"), "1");
}

#[test]
fn a_deployment_whose_watching_session_is_lost_is_watched_by_another() {
    let shop = Application::of(&[ITEMS]);
    shop.ok("deploy");
    shop.write("migrations/2.sql", "alter table item add column n int;\nselect pg_sleep(600);\n");
    let deploying = shop
        .command("deploy", "postgres", &["--locks", "1"])
        .stderr(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let sleeps = "pg_stat_activity where wait_event = 'PgSleep'";
    wait_for("it sleeps", || shop.platform.count(sleeps) == 1);
    // It shows its query in one moment of a few.
    let kill = "select count(pg_terminate_backend(pid))::text from pg_stat_activity where query like 'with k as materialized%'";
    wait_for("its watcher is killed", || shop.value(kill) == "1");
    // Who waits for the table gets it, as the deployment is cancelled for that.
    assert_eq!(shop.value("select count(*)::text from shop.item"), "0");
    wait_for("it is tried again", || shop.platform.count(sleeps) == 1);
    Command::new("kill").args(["-INT", &deploying.id().to_string()]).status().unwrap();
    let said = deploying.wait_with_output().unwrap().stderr;
    assert_eq!(text(&said).matches("another looks from now on").count(), 1, "{}", text(&said));
}

#[test]
fn lines_go_on_while_applications_are_deployed_and_none_is_written_by_two_of_them() {
    let function = |name: &str, number: usize| {
        (
            format!("functions/{name}.sql"),
            format!(
                "create function {name}() returns int language plpgsql as 'begin return {number}; end';\n"
            ),
        )
    };
    let shop = Application::of(&[
        (
            "migrations/1-visit.sql",
            "create table visit (n int, a int, b int);\ngrant insert on visit to howdah_web;\n",
        ),
        (
            "functions/note.sql",
            "create function note() returns trigger language plpgsql as $$
             begin
               new.a = shop.one();
               if new.n % 50 = 0 then perform pg_sleep(0.01); end if;
               new.b = shop.two();
               return new;
             end $$;
             create trigger note before insert on visit for each row execute function note();\n",
        ),
    ]);
    let deploy = |number| {
        for name in ["one", "two"] {
            let (path, text) = function(name, number);
            shop.write(&path, &text);
        }
        shop.ok("deploy");
    };
    deploy(0);
    let port = free_port();
    shop.platform
        .sql(&format!("select queue.listen({port}, into_table => 'shop.visit', address => '127.0.0.1')"));
    wait_for("the port is bound", || shop.platform.count("queue.listeners where bound is not null") == 1);
    let done = AtomicBool::new(false);
    let sent = thread::scope(|scope| {
        let sender = scope.spawn(|| {
            let mut socket = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
            let mut sent = 0;
            while !done.load(Relaxed) {
                sent += 1;
                socket.write_all(format!("{{\"n\": {sent}}}\n").as_bytes()).expect("what takes lines");
                thread::sleep(Duration::from_millis(1));
            }
            sent
        });
        (1..=10).for_each(deploy);
        done.store(true, Relaxed);
        sender.join().expect("the sender")
    });
    wait_for("all lines are there", || shop.platform.count("shop.visit") == sent);
    assert_eq!(shop.platform.count("shop.visit where a <> b"), 0);
    assert!(shop.value("select count(distinct a) from shop.visit").parse::<i64>().unwrap() > 5);
}

#[test]
fn who_waits_for_rows_that_a_deployment_has_changed_waits_no_longer_than_for_its_locks() {
    let shop = Application::of(&[ITEMS]);
    shop.ok("deploy");
    shop.platform.sql("insert into shop.item (name) values ('tea'), ('cake')");
    shop.write("migrations/2.sql", "update item set price = 1;\nselect pg_sleep(600);\n");
    let deploying = shop
        .command("deploy", "postgres", &["--locks", "0.3", "--tries", "1"])
        .stderr(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    wait_for("it sleeps", || shop.platform.count("pg_stat_activity where wait_event = 'PgSleep'") == 1);
    // It ends, as the deployment is cancelled for that.
    shop.platform.sql("update shop.item set name = 'scone' where name = 'cake'");
    let said = text(&deploying.wait_with_output().unwrap().stderr);
    assert!(said.contains("others were kept from rows of shop.item for 0.3 s"), "{said}");
    assert_eq!(shop.value("select count(*)::text from shop.item where price is null"), "2");
}

#[test]
fn a_command_that_stands_still_keeps_nobody_from_what_its_deployment_has_locked() {
    let shop = Application::of(&[ITEMS]);
    shop.ok("deploy");
    shop.write("migrations/2.sql", "alter table item add n int;\nselect pg_advisory_xact_lock(7);\n");
    let mut holder = shop.platform.session();
    holder.batch_execute("select pg_advisory_lock(7)").unwrap();
    let deploying = shop
        .command("deploy", "postgres", &["--locks", "1", "--lock-timeout", "60"])
        .stderr(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let waits = "pg_locks where locktype = 'advisory' and not granted";
    wait_for("it waits", || shop.platform.count(waits) == 1);
    let signal = |signal: &str| {
        Command::new("kill").args([signal, &deploying.id().to_string()]).status().unwrap();
    };
    signal("-STOP");
    holder.batch_execute("select pg_advisory_unlock(7)").unwrap();
    // The command is asleep, so nobody sees that others wait.
    assert_eq!(shop.value("select count(*)::text from shop.item"), "0");
    signal("-CONT");
    let output = deploying.wait_with_output().unwrap();
    assert!(output.status.success(), "it is tried again: {}", text(&output.stderr));
    assert_eq!(shop.value("select max(number)::text from deploy.deployment"), "2");
}
