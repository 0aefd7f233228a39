//! The platform from its first start to its end. Needs the extension: `make test` builds it and names it.

mod builds;
mod dev;
mod dev_browser;
mod dev_in_chromium;
mod forms_in_chromium;
mod https;
mod testing;
mod webdriver;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use dev::interrupt;

/// A folder with an application, and the platform that runs in it. Stopped when dropped.
struct Platform {
    folder: tempfile::TempDir,
    port: u16,
}

impl Platform {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("app")).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Self { folder, port }
    }

    fn write(&self, name: &str, sql: &str) {
        fs::write(self.folder.path().join("app").join(name), sql).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_howdah"));
        command.args(arguments).current_dir(self.folder.path());
        // Where it keeps the user's development authority.
        command.env("XDG_DATA_HOME", self.folder.path().join("xdg"));
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs it and gives what it printed; it must succeed.
    fn ok(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn up(&self, more: &[&str]) -> Output {
        let port = self.port.to_string();
        self.run(&[&["up", "--app", "app", "--port", &port, "--detach"], more].concat())
    }

    fn query(&self, sql: &str) -> String {
        self.ok(&["psql", "-X", "-A", "-t", "-c", sql]).trim().to_owned()
    }

    /// Sends a GET, whose answer [`answer`] reads.
    fn ask(&self, path: &str) -> TcpStream {
        let mut client = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        write!(client, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        client
    }

    fn serves(&self) -> bool {
        TcpStream::connect(("127.0.0.1", self.port)).is_ok()
    }
}

impl Drop for Platform {
    fn drop(&mut self) {
        let _ = self.run(&["stop"]);
        if let Ok(target) = fs::read_link(self.folder.path().join(".howdah")) {
            let _ = fs::remove_dir_all(target);
        }
    }
}

/// All that comes, head and body.
fn answer(mut client: TcpStream) -> String {
    let mut response = String::new();
    client.read_to_string(&mut response).unwrap();
    response
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn an_application_is_loaded_once_kept_and_loaded_again_when_it_changes() {
    let platform = Platform::new();
    platform.write("1.sql", "-- try: curl localhost:9000/x\ncreate table loads (n int);\n");
    platform.write("2.sql", "insert into loads values (1);");
    let first = platform.up(&[]);
    assert!(first.status.success(), "{}", printed(&first));
    assert!(printed(&first).contains(&format!("curl localhost:{}/x", platform.port)));
    assert!(platform.serves());
    let printed_text = printed(&first);
    let psql = printed_text
        .lines()
        .map(str::trim)
        .find(|line| line.starts_with("psql \""))
        .expect("how to open psql");
    let opened =
        Command::new("sh").args(["-c", &format!("{psql} -X -A -t -c 'select count(*) from loads'")]).output();
    assert_eq!(printed(&opened.unwrap()).trim(), "1", "{psql}");

    let again = platform.up(&[]);
    assert!(again.status.success() && printed(&again).contains("runs here already"), "{}", printed(&again));
    assert_eq!(platform.query("select array_agg(n) from loads"), "{1}");

    platform.write("2.sql", "insert into loads values (2);");
    assert!(printed(&platform.up(&[])).contains("2.sql"));
    assert_eq!(platform.query("select array_agg(n) from loads"), "{1,2}");

    assert!(platform.ok(&["stop"]).contains("stopped"));
    assert!(!platform.serves());
    assert_eq!(platform.run(&["status"]).status.code(), Some(3));
    assert!(platform.up(&[]).status.success());
    assert_eq!(platform.query("select array_agg(n) from loads"), "{1,2}");
}

#[test]
fn a_broken_file_is_shown_with_its_line_and_leaves_nothing() {
    let platform = Platform::new();
    platform.write("1.sql", "create table half ();\n\nselekt 1;\n");
    let output = platform.up(&[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(printed(&output).contains("1.sql:3: syntax error"), "{}", printed(&output));
    assert_eq!(platform.run(&["status"]).status.code(), Some(3), "a platform that does not serve is stopped");
    platform.write("1.sql", "select 1;");
    assert!(platform.up(&[]).status.success());
    assert_eq!(platform.query("select to_regclass('half') is null"), "t");
}

#[test]
fn a_file_that_ends_its_transaction_is_told_that_something_may_be_left() {
    const NOTHING: &str = "Nothing of this file was kept";
    const UNKNOWN: &str = "The file ends its transaction itself: what stands before that may have been kept";
    let platform = Platform::new();
    let failed = |sql: &str| {
        platform.write("1.sql", sql);
        let output = platform.up(&[]);
        assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
        printed(&output)
    };
    for (sql, told) in [
        ("create table a (); commit; select 1/0;", UNKNOWN),
        ("create table b (); commit; begin; select 1/0;", UNKNOWN),
        (
            "create table c (x int unique deferrable initially deferred); insert into c values (1), (1);",
            NOTHING,
        ),
    ] {
        let said = failed(sql);
        assert!(said.contains(told), "{sql}: {said}");
        assert!(said.contains(NOTHING) != said.contains(UNKNOWN), "{sql}: {said}");
    }
    platform.write("1.sql", "select 1;");
    assert!(platform.up(&[]).status.success());
    let left =
        "select string_agg(relname, ',' order by relname) from pg_class where relname in ('a', 'b', 'c')";
    assert_eq!(platform.query(left), "a,b");
}

#[test]
fn status_shows_listeners_for_people_and_programs() {
    let platform = Platform::new();
    assert!(platform.up(&["--database", "my \"app\"", "--set", "work_mem=5MB"]).status.success());
    let port = platform.port.to_string();
    let text = platform.ok(&["status"]);
    assert!(text.contains("Database my \"app\"") && text.contains(&port), "{text}");
    let json: serde_json::Value = serde_json::from_str(&platform.ok(&["status", "--json"])).unwrap();
    let listeners = &json["served"]["my \"app\""]["listeners"];
    assert_eq!(listeners[0]["port"].to_string(), port, "{json:#}");
    assert_eq!(json["served"]["my \"app\""]["queue_listeners"], serde_json::json!([]), "{json:#}");
    assert_eq!(platform.query("show work_mem"), "5MB");
    assert_eq!(platform.query("show howdah.show_errors"), "on");
}

#[test]
fn status_shows_processes_routes_and_times() {
    let platform = Platform::new();
    platform.write(
        "slow.sql",
        "create function slow() returns text language plpgsql as
           $$ begin perform pg_sleep(0.02); return 'slow'; end $$;
         select http.route('GET', '/slow', 'slow'), http.route('GET', '/unused', 'slow');",
    );
    assert!(platform.up(&[]).status.success());
    for _ in 0..3 {
        assert!(answer(platform.ask("/slow")).starts_with("HTTP/1.1 200"));
    }
    assert!(answer(platform.ask("/nowhere")).starts_with("HTTP/1.1 404"));

    let json: serde_json::Value = serde_json::from_str(&platform.ok(&["status", "--json"])).unwrap();
    assert_eq!(json["databases"][0]["state"], "serving", "{json:#}");
    for kind in ["gateway", "executor"] {
        let mut workers = json["workers"].as_array().unwrap().iter();
        let runs = workers
            .any(|worker| worker["kind"] == kind && worker["state"] == "running" && worker["pid"].is_i64());
        assert!(runs, "{kind}: {json:#}");
    }
    let routes = json["served"]["app"]["stats"].as_array().unwrap();
    assert_eq!(routes.len(), 2, "{json:#}");
    let of = |pattern: &str| routes.iter().find(|route| route["pattern"] == pattern).unwrap();
    assert_eq!(
        (&of("/unused")["requests"], of("/unused")["mean_ms"].is_null()),
        (&0.into(), true),
        "{json:#}"
    );
    let route = of("/slow");
    assert_eq!((&route["kind"], &route["method"]), (&"route".into(), &"GET".into()), "{json:#}");
    assert_eq!((&route["requests"], &route["succeeded"]), (&3.into(), &3.into()), "{json:#}");
    let milliseconds = |column: &str| route[column].as_f64().unwrap_or_else(|| panic!("{column}: {json:#}"));
    for column in ["mean_ms", "p99_ms", "sql_mean_ms", "sql_max_ms"] {
        assert!(milliseconds(column) >= 20.0, "{column}: {json:#}");
    }
    let (queue, mean) = (milliseconds("queue_mean_ms"), milliseconds("mean_ms"));
    assert!(queue > 0.0 && queue <= milliseconds("queue_max_ms") && queue < mean, "{json:#}");

    let text = platform.ok(&["status"]);
    for title in ["Databases:", "Processes:", "Sizes:", "Listeners:", "Routes and handlers:"] {
        assert!(text.lines().any(|line| line == title), "{title} {text}");
    }
    let line = text.lines().find(|line| line.contains("/slow")).unwrap_or_else(|| panic!("{text}"));
    assert!(line.contains("GET"), "{line}");
    assert!(text.contains("queue_mean_ms") && text.contains("sql_mean_ms"), "{text}");
}

#[test]
fn another_port_replaces_the_earlier_one() {
    let mut platform = Platform::new();
    assert!(platform.up(&[]).status.success());
    platform.ok(&["stop"]);
    let earlier = std::mem::replace(&mut platform.port, Platform::new().port);
    assert!(platform.up(&[]).status.success());
    assert!(platform.serves());
    assert_eq!(
        platform.query("select array_agg(distinct port) from http.listeners"),
        format!("{{{}}}", platform.port)
    );
    assert!(TcpStream::connect(("127.0.0.1", earlier)).is_err());
}

#[test]
fn ctrl_c_stops_it_in_order_and_warnings_are_shown_until_then() {
    let platform = Platform::new();
    let port = platform.port.to_string();
    let mut up = platform.command(&["up", "--port", &port]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(up.stdout.take().unwrap()).lines().map(Result::unwrap);
    lines.find(|line| line.contains("Ctrl-C stops it")).unwrap();
    platform.ok(&["psql", "-c", "do $$ begin raise warning 'look here'; end $$"]);
    lines.find(|line| line.contains("WARNING:  look here")).unwrap();
    interrupt(&up);
    lines.find(|line| line.contains("Howdah has stopped")).unwrap();
    assert!(up.wait().unwrap().success());
    assert!(!platform.serves());
    let log = fs::read_to_string(data(&platform).join("log")).unwrap();
    assert!(log.contains("database system is shut down"), "{log}");
}

#[test]
fn a_start_that_waits_for_a_standby_says_so() {
    let platform = Platform::new();
    let port = platform.port.to_string();
    let more = ["--set", "synchronous_standby_names=nobody"];
    let mut up = platform.command(&[&["up", "--port", &port], &more[..]].concat());
    let mut up = up.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(up.stdout.take().unwrap()).lines().map(Result::unwrap);
    let said = lines.find(|line| line.contains("waits for a synchronous standby")).unwrap();
    assert!(said.contains("'nobody'"), "{said}");
    platform.ok(&[
        "psql",
        "-d",
        "postgres",
        "-c",
        "alter system set synchronous_standby_names = ''",
        "-c",
        "select pg_reload_conf()",
    ]);
    lines.find(|line| line.contains("Ctrl-C stops it")).unwrap();
    interrupt(&up);
    assert!(up.wait().unwrap().success());
}

#[test]
fn what_howdah_stop_ends_the_foreground_notices() {
    let platform = Platform::new();
    let port = platform.port.to_string();
    let mut up = platform.command(&["up", "--port", &port]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(up.stdout.take().unwrap()).lines().map(Result::unwrap);
    lines.find(|line| line.contains("Ctrl-C stops it")).unwrap();
    platform.ok(&["stop"]);
    lines.find(|line| line.contains("Howdah was stopped")).unwrap();
    assert!(up.wait().unwrap().success());
}

#[test]
fn a_request_that_runs_when_the_platform_is_stopped_is_answered() {
    let platform = Platform::new();
    platform.write(
        "slow.sql",
        "create function slow() returns text language sql volatile as
           $$ select pg_sleep(2); select 'answered' $$;
         select http.route('GET', '/slow', 'slow()');",
    );
    assert!(platform.up(&[]).status.success());
    let client = platform.ask("/slow");
    while platform.query("select count(*) from http.workers where kind = 'executor' and busy_ms > 0") == "0" {
    }
    platform.ok(&["stop"]);
    let response = answer(client);
    assert!(response.starts_with("HTTP/1.1 200") && response.ends_with("answered"), "{response}");
    assert!(platform.up(&[]).status.success(), "the next start serves again");
}

#[test]
fn a_request_that_takes_too_long_does_not_keep_the_platform_from_stopping() {
    let platform = Platform::new();
    platform.write(
        "slow.sql",
        "create function slow() returns text language sql volatile as $$ select pg_sleep(60)::text $$;
         select http.route('GET', '/slow', 'slow()');",
    );
    assert!(platform.up(&["--set", "howdah.drain_timeout=500ms"]).status.success());
    let client = platform.ask("/slow");
    while platform.query("select count(*) from http.workers where kind = 'executor' and busy_ms > 0") == "0" {
    }
    let begin = Instant::now();
    platform.ok(&["stop"]);
    assert!(begin.elapsed() < Duration::from_secs(10), "it took {:?}", begin.elapsed());
    assert!(!answer(client).starts_with("HTTP/1.1 200"));
    assert!(!platform.serves());
}

#[test]
fn settings_that_the_server_does_not_know_or_refuses_are_errors_at_the_start() {
    let platform = Platform::new();
    for (setting, words) in [
        ("howdah.log_rat=5", "there is no setting howdah.log_rat; is howdah.log_rate meant?"),
        ("howdah.max_body=lots", "howdah.max_body cannot be \"lots\""),
        ("howdah.trusted_proxies=bogus", "howdah.trusted_proxies cannot be \"bogus\""),
        ("wrok_mem=5MB", "wrok_mem"),
        ("work_mem=lots", "work_mem"),
    ] {
        let output = platform.up(&["--set", setting]);
        assert_eq!(output.status.code(), Some(1), "{setting}: {}", printed(&output));
        assert!(printed(&output).contains(words), "{setting}: {}", printed(&output));
        assert_eq!(platform.run(&["status"]).status.code(), Some(3), "{setting}: nothing runs");
    }
}

#[test]
fn settings_of_a_platform_that_runs_are_changed_or_wait_for_a_restart_which_finishes_what_runs() {
    let platform = Platform::new();
    platform.write(
        "slow.sql",
        "create function slow() returns text language sql volatile as
           $$ select pg_sleep(2); select 'answered' $$;
         select http.route('GET', '/slow', 'slow()');",
    );
    assert!(platform.up(&["--set", "maintenance_work_mem=77MB"]).status.success());
    let changed = platform.up(&["--set", "work_mem=7MB", "--set", "howdah.max_routes=99"]);
    assert!(changed.status.success(), "{}", printed(&changed));
    assert!(printed(&changed).contains("work_mem is 7MB now"), "{}", printed(&changed));
    assert!(
        printed(&changed).contains("howdah.max_routes will be 99 after howdah restart"),
        "{}",
        printed(&changed)
    );
    while platform.query("show work_mem") != "7MB" {}
    for (setting, words) in
        [("work_mem=lots", "work_mem cannot be \"lots\""), ("wrok_mem=1", "no setting wrok_mem")]
    {
        let refused = platform.up(&["--set", setting]);
        assert_eq!(refused.status.code(), Some(1), "{}", printed(&refused));
        assert!(printed(&refused).contains(words), "{}", printed(&refused));
    }
    let client = platform.ask("/slow");
    while platform.query("select count(*) from http.workers where kind = 'executor' and busy_ms > 0") == "0" {
    }
    let before = platform.query("select pg_postmaster_start_time()");
    assert!(platform.ok(&["restart"]).contains("restarted"));
    assert!(answer(client).ends_with("answered"));
    assert_ne!(platform.query("select pg_postmaster_start_time()"), before);
    for (name, value) in [("howdah.max_routes", "99"), ("work_mem", "7MB"), ("maintenance_work_mem", "77MB")]
    {
        assert_eq!(platform.query(&format!("show {name}")), value);
    }
    assert!(platform.serves(), "who has restarted it finds it serving");
    assert!(answer(platform.ask("/slow")).ends_with("answered"));
}

#[test]
fn options_of_psql_choose_another_database_of_the_same_server() {
    let platform = Platform::new();
    assert!(platform.up(&[]).status.success());
    let postgres = ["psql", "-X", "-A", "-t", "-d", "postgres", "-c", "select current_database()"];
    assert_eq!(platform.ok(&postgres).trim(), "postgres");
    assert_eq!(platform.query("select current_database()"), "app");
}

#[test]
fn requests_notices_and_errors_are_shown_in_the_terminal_unless_it_is_to_be_quiet() {
    let platform = Platform::new();
    platform.write(
        "hello.sql",
        "create function hello() returns text language plpgsql as
           $$ begin raise notice 'somebody greets'; return 'hello'; end $$;
         select http.route('POST', '/hello', 'hello'), http.route('GET', '/hello', 'hello');",
    );
    let port = platform.port.to_string();
    let start = |more: &[&str]| {
        let arguments = [&["up", "--app", "app", "--port", &port], more].concat();
        let mut up = platform.command(&arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(up.stdout.take().unwrap()).lines().map(Result::unwrap);
        lines.find(|line| line.contains("Ctrl-C stops it")).unwrap();
        assert!(answer(platform.ask("/hello?token=a")).ends_with("hello"));
        assert!(answer(platform.ask("/nowhere")).starts_with("HTTP/1.1 404"));
        platform.ok(&["psql", "-c", "do $$ begin raise warning 'the last line'; end $$"]);
        let shown: Vec<String> = lines.by_ref().take_while(|line| !line.contains("the last line")).collect();
        interrupt(&up);
        assert!(up.wait().unwrap().success());
        shown.join("\n")
    };
    let shown = start(&[]);
    for words in [
        "GET /hello 200 ",
        "GET /nowhere 404 ",
        "NOTICE:  somebody greets",
        "PL/pgSQL function hello() line 1",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let shown = start(&["--quiet"]);
    assert!(!shown.contains("/hello") && !shown.contains("NOTICE"), "{shown}");
}

#[test]
fn the_example_answers_as_it_was_published() {
    let platform = Platform::new();
    let users = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/users");
    let port = platform.port.to_string();
    let up = platform.run(&["up", "--app", users, "--port", &port, "--detach"]);
    assert!(up.status.success(), "{}", printed(&up));
    let found = answer(platform.ask("/users/johndoe"));
    assert!(found.contains("content-type: text/html") && found.ends_with("Hello, <b>John</b>!"), "{found}");
    let missing = answer(platform.ask("/test?q"));
    assert!(missing.starts_with("HTTP/1.1 404") && missing.contains(r#""query_string" : "q""#), "{missing}");
}

#[test]
fn the_guestbook_among_the_examples_is_deployed_with_its_tests() {
    let platform = Platform::new();
    let guestbook = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/guestbook");
    let port = platform.port.to_string();
    let told = platform.ok(&["up", "--app", guestbook, "--port", &port, "--detach"]);
    assert!(told.contains("tests/short_messages.sql  passed"), "{told}");
    let page = answer(platform.ask("/entries"));
    assert!(page.contains("<form") && !page.contains("<script"), "{page}");
}

#[test]
fn a_folder_with_a_manifest_is_deployed_and_status_shows_it() {
    let platform = Platform::new();
    let port = platform.port.to_string();
    platform.ok(&["new", "notes"]);
    let up = || platform.ok(&["up", "--app", "notes", "--port", &port, "--detach"]);
    assert!(up().contains("Deployed as number 1."));
    assert!(up().contains("Nothing has changed since deployment 1."));
    assert!(answer(platform.ask("/entries")).starts_with("HTTP/1.1 200"));
    let applications = |status: &str| {
        let status: serde_json::Value = serde_json::from_str(status).unwrap();
        let all = status.get("served").map_or(&status, |served| &served["app"]);
        all["deploy_applications"].clone()
    };
    let here = applications(&platform.ok(&["status", "--json"]));
    assert_eq!(
        (here[0]["application"].as_str(), here[0]["number"].as_i64()),
        (Some("notes"), Some(1)),
        "{here}"
    );
    platform.query("create role ada superuser; create role eve login; alter function notes.entries cost 7");
    let folder = platform.query("select current_setting('unix_socket_directories')");
    let there = |user: &str| {
        let to = format!("host={folder} user={user} dbname=app");
        applications(&platform.ok(&["status", "--to", &to, "--json"]))
    };
    assert_eq!(there("postgres")[0]["changed_by_hand"], 1);
    assert_eq!(there("eve"), serde_json::json!([]), "it is none that eve may deploy");
}

#[test]
fn jobs_are_shown_as_tables_and_as_json_to_whom_they_concern() {
    let platform = Platform::new();
    platform.write("app.sql", "select 1;");
    assert!(platform.up(&[]).status.success());
    platform.query(
        "create function fail(n int) returns void language plpgsql as 'begin raise ''number %'', n; end';
         create function work() returns void language sql as 'select 1';
         create role eve login;
         select job.define('fail', 'fail(int)', attempts => 1), job.define('work', 'work()');
         select job.enqueue('fail', '{\"n\": 7}'), job.enqueue('work')",
    );
    while platform.query("select count(*) from job.kinds where done = 1 or dead = 1") != "2" {}
    let told = platform.ok(&["jobs"]);
    for part in
        ["Database app", "fail ", "work ", "Running: none", "Failed attempts", "Dead jobs", "number 7"]
    {
        assert!(told.contains(part), "{part}\n{told}");
    }
    let json: serde_json::Value = serde_json::from_str(&platform.ok(&["jobs", "--json"])).unwrap();
    assert_eq!(
        (&json["kinds"][1]["done"], &json["dead"][0]["reason"]),
        (&1.into(), &"failed".into()),
        "{json}"
    );
    let folder = platform.query("select current_setting('unix_socket_directories')");
    let told = platform.ok(&["jobs", "--to", &format!("host={folder} user=eve dbname=app")]);
    assert!(told.contains("Jobs: none") && told.contains("Dead jobs, the latest first: none"), "{told}");
    assert!(platform.ok(&["status"]).contains("Jobs:"));
    assert!(platform.ok(&["jobs", "--schedules"]).contains("Schedules: none"));
    platform.query("select job.schedule('nightly', '15 3 * * *', 'work', time_zone => 'Asia/Kolkata')");
    let told = platform.ok(&["jobs", "--schedules", "--last", "2"]);
    for part in ["nightly", "15 3 * * *", "Asia/Kolkata", "Due next", "03:15:00"] {
        assert!(told.contains(part), "{part}\n{told}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&platform.ok(&["jobs", "--schedules", "--json", "--last", "2"])).unwrap();
    assert_eq!(json["schedules"][0]["schedule"], "nightly");
    assert_eq!(json["upcoming"].as_array().map(Vec::len), Some(2), "{json}");
}

#[test]
fn files_are_loaded_into_a_queue() {
    let platform = Platform::new();
    let lines = Platform::new().port;
    platform.write(
        "queue.sql",
        &format!(
            "create type t_bip as (userid bigint, bip text);
             select queue.create('bips', row_type => 't_bip');
             select queue.listen({lines}, queue => 'bips', address => 'localhost', token => 'secret');"
        ),
    );
    assert!(platform.up(&[]).status.success());
    platform.query("alter system set howdah.queue_dead_letters = 1");
    platform.query("select pg_reload_conf()");
    while platform.query("select count(*) from queue.listeners where bound is not null") == "0" {}
    platform.ok(&["generate", "bips", "--records", "5000", "--out", "bips.ndjson.gz"]);
    let to = format!("localhost:{lines}");
    let load = |more: &[&str]| platform.run(&[&["load", "--to", &to, "--token", "secret"], more].concat());

    let first = load(&["bips.ndjson.gz", "--queue", "bips"]);
    assert!(printed(&first).contains("Loaded 5,000 lines"), "{}", printed(&first));
    assert_eq!(platform.query("select queue_length from queue.metrics('bips')"), "5000");
    let again = load(&["bips.ndjson.gz", "--queue", "bips"]);
    assert!(again.status.success() && printed(&again).contains("has 5,000 lines"), "{}", printed(&again));

    fs::write(platform.folder.path().join("bad"), "{\"userid\": 1}\nbad\n{\"userid\": 2}\n").unwrap();
    let bad = load(&["bad"]);
    assert_eq!(bad.status.code(), Some(4), "{}", printed(&bad));
    assert!(printed(&bad).contains("bad line 2: "), "{}", printed(&bad));
    assert_eq!(platform.query("select queue_length from queue.metrics('bips')"), "5002");

    // There is a dead letter: no more are kept.
    fs::write(platform.folder.path().join("worse"), "bad\n{\"userid\": 3}\nbad\n").unwrap();
    let worse = load(&["worse"]);
    assert_eq!(worse.status.code(), Some(4), "{}", printed(&worse));
    assert!(printed(&worse).contains("2 of them are lost"), "{}", printed(&worse));
    assert_eq!(platform.query("select count(*) from queue.dead_letters"), "1");

    // Of several files each may grow, and others may be named beside them.
    let write = |name: &str, ids: &[i64]| {
        let lines: String =
            ids.iter().map(|id| format!("{{\"userid\": {id}, \"bip\": \"{name}\"}}\n")).collect();
        fs::write(platform.folder.path().join(name), lines).unwrap();
    };
    write("one", &[1, 2]);
    write("two", &[3]);
    assert!(printed(&load(&["one", "two"])).contains("Loaded 3 lines"));
    write("one", &[1, 2, 4]);
    write("three", &[5]);
    let grown = load(&["one", "two", "three"]);
    assert!(printed(&grown).contains("Loaded 2 lines") && printed(&grown).contains("3 were there before"));
    let stored =
        "select string_agg(userid::text, ',' order by userid) from queue.take('bips', 10000, null::t_bip)
                  where bip in ('one', 'two', 'three')";
    assert_eq!(platform.query(stored), "1,2,3,4,5");

    let stranger = platform.run(&["load", "bad", "--to", &to, "--token", "guessed"]);
    assert_eq!(stranger.status.code(), Some(1));
    assert!(printed(&stranger).contains("token"), "{}", printed(&stranger));
}

fn data(platform: &Platform) -> PathBuf {
    fs::canonicalize(platform.folder.path().join(".howdah")).unwrap()
}
